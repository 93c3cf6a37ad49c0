"""Many heads: split the width, attend in every head by itself, join the outputs."""

from typing import Self

import torch
from torch import Tensor, nn

from attention_lib._arguments import (
    require_count,
    require_flag,
    require_float,
    require_parameter_kind,
    require_probability,
    require_queries_and_keys,
    require_size,
    require_values,
    shape_of,
)
from attention_lib._nonfinite import tamed
from attention_lib.attention import (
    DotProductAttention,
    attend_tamed,
    with_cut_keys,
    without_cut_keys,
)
from attention_lib.masking import Visible, resolve_visible

__all__ = ["AddNorm", "MultiHeadAttention", "merge_heads", "split_heads"]


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut the width into heads and give the heads an axis of their own.

    Head ``i`` gets the ``i``-th block of ``d_model / num_heads`` neighbouring columns. The
    width is cut first and the axes are swapped after: reshaping straight to the final
    shape has the same shape and mixes positions into heads.

    Parameters
    ----------
    x : torch.Tensor
        Shape ``(batch, len, d_model)``.
    num_heads : int
        Number of heads; divides ``d_model``.

    Returns
    -------
    torch.Tensor
        Shape ``(batch, num_heads, len, d_model / num_heads)``, a view of ``x``.

    Raises
    ------
    TypeError
        If ``x`` is no floating-point tensor or ``num_heads`` no whole number.
    ValueError
        If ``x`` has not three axes, or ``num_heads`` does not divide its width.

    Notes
    -----
    Vaswani et al. (2017), section 3.2.2.

    Examples
    --------
    >>> split_heads(torch.arange(12.0).reshape(1, 3, 4), num_heads=2)[0, 0]
    tensor([[0., 1.],
            [4., 5.],
            [8., 9.]])
    """
    require_float("x", x, rank=3, axes="(batch, len, d_model)")
    require_count("num_heads", num_heads)
    _require_divisible("the width of x", x.shape[-1], "num_heads", num_heads)
    batch, length, d_model = x.shape
    x = x.reshape(batch, length, num_heads, d_model // num_heads)
    return x.transpose(1, 2)  # (batch, num_heads, len, d_k)


def merge_heads(x: Tensor) -> Tensor:
    """Lay the heads side by side again; undoes :func:`split_heads`.

    Parameters
    ----------
    x : torch.Tensor
        Shape ``(batch, num_heads, len, d_k)``.

    Returns
    -------
    torch.Tensor
        Shape ``(batch, len, num_heads * d_k)``.

    Raises
    ------
    TypeError, ValueError
        If ``x`` is no floating-point tensor with four axes.

    Examples
    --------
    >>> x = torch.arange(12.0).reshape(1, 3, 4)
    >>> torch.equal(merge_heads(split_heads(x, 2)), x)
    True
    """
    require_float("x", x, rank=4, axes="(batch, num_heads, len, d_k)")
    return x.transpose(1, 2).flatten(-2)  # (batch, len, num_heads * d_k)


def _require_divisible(whole_name: str, whole: int, name: str, part: int) -> None:
    if whole % part:
        raise ValueError(f"{name}: expected a divisor of {whole_name}, {whole}, got {part}")


class MultiHeadAttention(nn.Module):
    r"""Attend in several heads at once and join their outputs.

    :math:`\mathrm{head}_i = \mathrm{attention}(QW_q^i, KW_k^i, VW_v^i)`, and the output is
    :math:`[\mathrm{head}_1, \ldots, \mathrm{head}_h]\,W_o`.

    Parameters
    ----------
    d_model : int
        Width of queries, keys, values and output.
    num_heads : int
        Number of query heads; divides ``d_model``.
    num_kv_heads : int, optional
        Number of key and value heads; divides ``num_heads``. Each serves
        ``num_heads / num_kv_heads`` neighbouring query heads. ``None`` means ``num_heads``.
    dropout : float
        Probability that a weight is dropped, in training only.
    bias : bool
        Whether the four projections have a bias.

    Attributes
    ----------
    W_q, W_k, W_v, W_o : torch.nn.Linear
        The projections; rows ``i * d_k`` to ``(i + 1) * d_k`` of a weight belong to head ``i``.

    Raises
    ------
    TypeError, ValueError
        If a size does not fit; in ``forward``: as
        :func:`~attention_lib.attention.scaled_dot_product_attention`.

    Notes
    -----
    Vaswani et al. (2017), section 3.2.2; shared key and value heads: Shazeer (2019),
    Ainslie et al. (2023).

    Examples
    --------
    >>> attention = MultiHeadAttention(d_model=8, num_heads=2)
    >>> x = torch.ones(3, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        require_count("d_model", d_model)
        require_count("num_heads", num_heads)
        require_count("num_kv_heads", num_kv_heads)
        require_flag("bias", bias)
        _require_divisible("d_model", d_model, "num_heads", num_heads)
        _require_divisible("num_heads", num_heads, "num_kv_heads", num_kv_heads)
        self.d_model = d_model
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        d_kv = d_model // num_heads * num_kv_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_kv, bias=bias)
        self.W_v = nn.Linear(d_model, d_kv, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.attention = DotProductAttention(dropout)
        for projection in (self.W_q, self.W_k, self.W_v, self.W_o):
            nn.init.xavier_uniform_(projection.weight)
            if bias:
                nn.init.zeros_(projection.bias)

    def extra_repr(self) -> str:
        shared = f", num_kv_heads={self.num_kv_heads}" * (self.num_kv_heads != self.num_heads)
        return f"d_model={self.d_model}, num_heads={self.num_heads}{shared}"

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend in every head.

        Parameters
        ----------
        queries : torch.Tensor
            Shape ``(batch, len_q, d_model)``.
        keys, values : torch.Tensor
            Shape ``(batch, len_k, d_model)``.
        valid_lens : torch.Tensor, optional
            Integers of shape ``(batch,)`` or ``(batch, len_q)``.
        mask : torch.Tensor, optional
            Boolean, True = may attend. Up to three axes, it broadcasts to
            ``(batch, len_q, len_k)`` and holds for every head; with four, it broadcasts to
            ``(batch, num_heads, len_q, len_k)``.
        need_weights : bool
            ``False`` leaves the work to PyTorch's fused kernel.

        Returns
        -------
        output : torch.Tensor
            Shape ``(batch, len_q, d_model)``.
        weights : torch.Tensor or None
            Shape ``(batch, num_heads, len_q, len_k)``, before dropout.
        """
        self._require_inputs(queries, keys, values)
        require_flag("need_weights", need_weights)
        len_k = keys.shape[1]
        visible = self._visible(queries, keys, valid_lens, mask)
        visible, tensors = without_cut_keys(visible, (queries, keys, values))
        are_tame: bool | None = True
        if visible.mask is not None:
            # Before the projections: they multiply every position, and so do their gradients.
            tensors, are_tame = tamed(visible.mask.any(dim=1), tensors)
        queries = split_heads(
            self.W_q(tensors[0]), self.num_heads
        )  # (batch, num_heads, len_q, d_k)
        keys = split_heads(self.W_k(tensors[1]), self.num_kv_heads)  # (batch, num_kv_heads, ...)
        values = split_heads(self.W_v(tensors[2]), self.num_kv_heads)
        shape = (queries.shape[0], self.num_heads, queries.shape[2], visible.len_k)
        dropout = self.attention.dropout
        output, weights = attend_tamed(
            self.attention.score,
            (queries, keys, values),
            visible,
            shape,
            are_tame,
            dropout_p=dropout.p if dropout.training else 0.0,
            fused_scale=None if need_weights else self.attention._fused_scale(queries),
        )
        output = self.W_o(merge_heads(output))
        if weights is None or not need_weights:
            return output, None
        return output, with_cut_keys(weights, len_k)

    def _require_inputs(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        inputs = {"queries": queries, "keys": keys, "values": values}
        for name, x in inputs.items():
            length = "len_q" if name == "queries" else "len_k"
            require_float(name, x, rank=3, axes=f"(batch, {length}, d_model)")
            require_size(name, x, -1, self.d_model, "features (d_model)")
            if type(self.W_q) is nn.Linear:  # what wraps or replaces it has its own kind
                require_parameter_kind(name, x, self.W_q.weight)
        require_queries_and_keys(queries, keys)
        require_values(keys, values)
        for name in ("keys", "values"):
            require_size(name, inputs[name], 0, queries.shape[0], "sequences (batch)")

    def _visible(
        self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None, mask: Tensor | None
    ) -> Visible:
        """Say who sees whom; the mask has four axes, ``(batch, num_heads, len_q, len_k)``."""
        batch, len_q, len_k = queries.shape[0], queries.shape[1], keys.shape[1]
        per_head = isinstance(mask, torch.Tensor) and mask.dim() == 4
        heads = (self.num_heads,) if per_head else ()
        shape = (batch, *heads, len_q, len_k)
        visible = resolve_visible(shape, queries.device, valid_lens, mask)
        if visible.mask is None or visible.mask.dim() == 4:
            return visible
        mask = visible.mask if visible.mask.dim() == 3 else visible.mask.unsqueeze(0)
        mask = mask.unsqueeze(1)  # the same in every head
        return Visible(mask, visible.len_k, visible.is_causal, visible.some_empty)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> Self:
        """Take over the weights of a ``torch.nn.MultiheadAttention``.

        Parameters
        ----------
        module : torch.nn.MultiheadAttention
            With stacked projections (keys and values as wide as the queries), with or
            without bias, batch first or not.

        Returns
        -------
        MultiHeadAttention
            A copy: same numbers, dtype, device, dropout and mode. It takes its input batch
            first whatever ``module.batch_first`` says, and its ``mask`` says who *may*
            attend where PyTorch's says who may not.

        Raises
        ------
        TypeError
            If ``module`` is no ``torch.nn.MultiheadAttention``.
        ValueError
            If it has other widths for keys or values, ``add_bias_kv`` or ``add_zero_attn``.

        Examples
        --------
        >>> theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        >>> ours = MultiHeadAttention.from_torch(theirs)
        >>> x = torch.ones(1, 3, 8)
        >>> torch.allclose(ours(x, x, x)[0], theirs(x, x, x)[0], atol=1e-6)
        True
        """
        if not isinstance(module, nn.MultiheadAttention):
            raise TypeError(
                f"module: expected a torch.nn.MultiheadAttention, got {type(module).__name__}"
            )
        if module.in_proj_weight is None:
            raise ValueError(
                "module: expected kdim and vdim equal to embed_dim "
                f"{module.embed_dim}, got kdim {module.kdim} and vdim {module.vdim}"
            )
        if module.bias_k is not None or module.add_zero_attn:
            raise ValueError("module: expected no add_bias_kv and no add_zero_attn")
        bias = module.in_proj_bias is not None
        with module.in_proj_weight.device:
            ours = cls(module.embed_dim, module.num_heads, dropout=module.dropout, bias=bias)
        ours.to(module.in_proj_weight.dtype)
        projections = (ours.W_q, ours.W_k, ours.W_v)
        weights = module.in_proj_weight.chunk(3)
        biases = module.in_proj_bias.chunk(3) if bias else ()
        with torch.no_grad():
            for projection, weight in zip(projections, weights, strict=True):
                projection.weight.copy_(weight)
            for projection, offset in zip(projections, biases, strict=False):
                projection.bias.copy_(offset)
            ours.W_o.load_state_dict(module.out_proj.state_dict())
        return ours.train(module.training)

    def to_torch(self, batch_first: bool = True) -> nn.MultiheadAttention:
        """Return a ``torch.nn.MultiheadAttention`` with the same weights.

        Parameters
        ----------
        batch_first : bool
            Whether the new module takes ``(batch, len, d_model)``.

        Returns
        -------
        torch.nn.MultiheadAttention
            A copy: same numbers, dtype, device, dropout and mode. Shared key and value heads
            are written out once for each query head they serve.

        Examples
        --------
        >>> ours = MultiHeadAttention(8, num_heads=4, num_kv_heads=2)
        >>> x = torch.ones(1, 3, 8)
        >>> torch.allclose(ours.to_torch()(x, x, x)[0], ours(x, x, x)[0], atol=1e-6)
        True
        """
        require_flag("batch_first", batch_first)
        bias = self.W_q.bias is not None
        theirs = nn.MultiheadAttention(
            self.d_model,
            self.num_heads,
            dropout=self.attention.dropout.p,
            bias=bias,
            batch_first=batch_first,
            device=self.W_q.weight.device,
            dtype=self.W_q.weight.dtype,
        )
        with torch.no_grad():
            stacked = [self.W_q.weight, *map(self._written_out, (self.W_k.weight, self.W_v.weight))]
            theirs.in_proj_weight.copy_(torch.cat(stacked))
            theirs.out_proj.weight.copy_(self.W_o.weight)
            if bias:
                stacked = [self.W_q.bias, *map(self._written_out, (self.W_k.bias, self.W_v.bias))]
                theirs.in_proj_bias.copy_(torch.cat(stacked))
                theirs.out_proj.bias.copy_(self.W_o.bias)
        return theirs.train(self.training)

    def _written_out(self, rows: Tensor) -> Tensor:
        """Repeat the rows of each key or value head for the query heads it serves."""
        heads = rows.reshape(self.num_kv_heads, -1, *rows.shape[1:])
        return heads.repeat_interleave(self.num_heads // self.num_kv_heads, dim=0).flatten(0, 1)


class AddNorm(nn.Module):
    """Add a sublayer's output to its input and normalise the sum.

    Parameters
    ----------
    d_model : int
        Width of the vectors.
    dropout : float
        Probability that a coordinate of the sublayer's output is dropped, in training only.

    Raises
    ------
    TypeError
        In ``forward``, if an argument is no floating-point tensor of the module's dtype.
    ValueError
        In ``forward``, if the width or the device is not the module's, or the shapes differ.

    Notes
    -----
    Layer normalisation: Ba, Kiros, Hinton (2016); after the sum, as in Vaswani et al. (2017),
    section 5.4.

    Examples
    --------
    >>> add_norm = AddNorm(4)
    >>> add_norm(torch.zeros(1, 2, 4), torch.ones(1, 2, 4)).shape
    torch.Size([1, 2, 4])
    """

    def __init__(self, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        require_count("d_model", d_model)
        require_probability("dropout", dropout)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, sublayer_output: Tensor) -> Tensor:
        """Return the normalised sum, in the shape of ``x``, ``(..., d_model)``."""
        for name, tensor in (("x", x), ("sublayer_output", sublayer_output)):
            require_float(name, tensor, min_rank=1, axes="(..., d_model)")
            require_parameter_kind(name, tensor, self.norm.weight)
        require_size("x", x, -1, self.norm.weight.shape[0], "features (d_model)")
        if sublayer_output.shape != x.shape:
            raise ValueError(
                f"sublayer_output: expected the shape of x, {shape_of(x)}, "
                f"got {shape_of(sublayer_output)}"
            )
        normalised: Tensor = self.norm(x + self.dropout(sublayer_output))
        return normalised
