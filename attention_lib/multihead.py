"""Many heads: split the width, attend in each head separately, join the outputs."""

from functools import partial
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn

from attention_lib._arguments import (
    require_a,
    require_count,
    require_flag,
    require_float,
    require_known,
    require_mask_for,
    require_parameter_kind,
    require_probability,
    require_queries_and_keys,
    require_size,
    require_values,
    shape_of,
)
from attention_lib._engine.compute import compute, prepare, prepare_heads
from attention_lib._signatures import CachedLayer
from attention_lib.attention import Attention, DotProductAttention, Score, attend
from attention_lib.cache import KeyValueCache
from attention_lib.positions import rotary_options, rotate_by_position
from attention_lib.scoring import knows_positions, resolve_scale, scaled_dot_scores

__all__ = ["AddNorm", "MultiHeadAttention", "merge_heads", "split_heads"]


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Split the width into heads, with an axis of their own.

    Head ``i`` gets the ``i``-th block of ``d_model / num_heads`` neighbouring columns. The
    width is split before the axes are swapped: reshaping directly to the final shape would mix
    positions into heads.

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
    TypeError, ValueError
        If ``x`` is not a floating-point tensor with three axes, or ``num_heads`` not a divisor of
        its width.

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
    return _split(x, num_heads)


def _split(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    x = x.reshape(batch, length, num_heads, d_model // num_heads)
    return x.transpose(1, 2)  # (batch, num_heads, len, d_k)


def merge_heads(x: Tensor) -> Tensor:
    """Put the heads side by side again; the inverse of :func:`split_heads`.

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
        If ``x`` is not a floating-point tensor with four axes.

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
        Number of key and value heads, each for ``num_heads / num_kv_heads`` neighbouring query
        heads. ``None`` means ``num_heads``.
    score : callable, optional
        ``score(queries, keys)`` of the heads, ``(batch, num_heads, len, d_k)``, returns
        ``(batch, num_heads, len_q, len_k)``. ``None`` means scaled dot products. Keys arrive in
        the order of their positions, and the last query stands at the last key. For
        :func:`~attention_lib.positions.rotary_scores`, also in a ``functools.partial``, the layer
        rotates queries and keys first, and the fused kernel can do the rest.
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
        If a size does not fit; in ``forward``, as ``scaled_dot_product_attention``.

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

    if TYPE_CHECKING:
        __call__: CachedLayer

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        score: Score | None = None,
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
        self.attention: Attention = DotProductAttention(dropout)
        if score is not None:
            self.attention = Attention(score, dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the projections anew, Xavier uniform; biases become 0."""
        for projection in (self.W_q, self.W_k, self.W_v, self.W_o):
            nn.init.xavier_uniform_(projection.weight)
            if projection.bias is not None:
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
        cache: KeyValueCache | None = None,
        **others: object,
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
        cache : KeyValueCache, optional
            The keys and values of earlier calls. Queries, keys and values are then those of the
            next ``len_q`` positions, attention is causal, and ``mask`` has a column for each
            position so far, ``len(cache) + len_q``. Prompts of unequal length are padded on the
            left, and every call hides the padding by ``mask``.

        Returns
        -------
        output : torch.Tensor
            Shape ``(batch, len_q, d_model)``.
        weights : torch.Tensor or None
            Shape ``(batch, num_heads, len_q, len_k)``, before dropout. With a cache ``len_k``
            counts the keys that it still holds.
        """
        require_known(others)
        require_flag("need_weights", need_weights)
        self._require_inputs(queries, keys, values)
        batch, len_q, len_k = queries.shape[0], queries.shape[1], keys.shape[1]
        shape = (batch, self.num_heads, len_q, len_k)
        if cache is None:
            first_query, first_key = len_k - len_q, 0  # the last query stands at the last key
            if isinstance(mask, Tensor) and mask.dim() == 3:  # alike in every head
                require_mask_for((batch, len_q, len_k), queries.device, mask)
                mask = mask.unsqueeze(1)
            # Keys at the end may be left out; of a rotary score, the layer counts the positions.
            score = self.attention.score
            cut = not knows_positions(score) or rotary_options(score) is not None
            # Before the projections, because these and their gradients multiply every position.
            tensors, masked = (queries, keys, values), mask is not None or valid_lens is not None
            if masked:  # by an axis for the heads
                tensors = queries.unsqueeze(1), keys.unsqueeze(1), values.unsqueeze(1)
            inputs = prepare(tensors, shape, valid_lens, mask, cut=cut)
            if masked:
                queries, keys, values = (x.squeeze(1) for x in inputs.tensors)
        else:
            require_a("cache", cache, KeyValueCache)
            mask = cache.mask_for(self, shape, queries.device, valid_lens, mask)
            first_query = first_key = len(cache)
        queries = _split(self.W_q(queries), self.num_heads)  # (batch, num_heads, len_q, d_k)
        keys = _split(self.W_k(keys), self.num_kv_heads)  # (batch, num_kv_heads, ...)
        values = _split(self.W_v(values), self.num_kv_heads)
        score, scale, queries, keys = self._rotated(queries, keys, first_query, first_key)
        if cache is None:
            heads = prepare_heads(inputs, (queries, keys, values), shape)
        else:
            keys, values = cache.extend(keys, values)
            shape = (*shape[:-1], keys.shape[-2])
            heads = prepare((queries, keys, values), shape, None, mask)
        dropout = self.attention.dropout
        output, weights = compute(
            attend,
            score,
            heads,
            shape,
            dropout_p=dropout.p if dropout.training else 0.0,
            kernel_scale=scale,
            need_weights=need_weights,
        )
        has_nan = heads.sees_nan is not None or heads.may_overflow
        return self._joined(merge_heads(output), has_nan), weights

    def _require_inputs(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        inputs = {"queries": queries, "keys": keys, "values": values}
        if queries is keys is values:
            del inputs["keys"], inputs["values"]
        for name, x in inputs.items():
            length = "len_q" if name == "queries" else "len_k"
            require_float(name, x, rank=3, axes=f"(batch, {length}, d_model)")
            require_size(name, x, -1, self.d_model, "features (d_model)")
            if type(self.W_q) is nn.Linear:  # what wraps or replaces it has its own kind
                require_parameter_kind(name, x, self.W_q.weight)
        if len(inputs) > 1:
            require_queries_and_keys(queries, keys)
            require_values(keys, values)
            for name in ("keys", "values"):
                require_size(name, inputs[name], 0, queries.shape[0], "sequences (batch)")

    def _rotated(
        self, queries: Tensor, keys: Tensor, first_query: int, first_key: int
    ) -> tuple[Score, float | None, Tensor, Tensor]:
        """Return score, scale of the fused kernel, queries and keys; for rotary scores, rotated."""
        score, scale = self.attention.score, self.attention.kernel_scale(queries)
        options = rotary_options(score)
        if options is None:
            return score, scale, queries, keys
        scale = resolve_scale(options.pop("scale", None), queries.shape[-1])
        positions = torch.arange(first_query, first_query + queries.shape[2], device=queries.device)
        queries = rotate_by_position(queries, positions, **options)
        positions = torch.arange(first_key, first_key + keys.shape[2], device=keys.device)
        keys = rotate_by_position(keys, positions, **options)
        return partial(scaled_dot_scores, scale=scale), scale, queries, keys

    def _joined(self, output: Tensor, has_nan: bool) -> Tensor:
        """Apply W_o; a NaN of one query reaches its own output, but not the gradient of W_o."""
        nan = output.isnan().any(dim=-1, keepdim=True) if has_nan else None  # (batch, len_q, 1)
        joined: Tensor = self.W_o(output if nan is None else output.masked_fill(nan, 0.0))
        return joined if nan is None else joined.masked_fill(nan, torch.nan)

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
            A copy: same numbers, dtype, device, dropout and mode. It takes the batch first, and
            True in its ``mask`` means "may attend", where PyTorch's means "may not".

        Raises
        ------
        TypeError, ValueError
            If ``module`` is not a ``torch.nn.MultiheadAttention``, or has other widths for keys or
            values, ``add_bias_kv`` or ``add_zero_attn``.

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
        state = {f"W_o.{kind}": x for kind, x in module.out_proj.state_dict().items()}
        for kind in ("weight", "bias") if bias else ("weight",):
            parts = getattr(module, f"in_proj_{kind}").chunk(3)
            state |= {f"W_{name}.{kind}": x for name, x in zip("qkv", parts, strict=True)}
        ours.to(module.in_proj_weight.dtype).load_state_dict(state)
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
            are repeated for each query head that they serve.

        Raises
        ------
        ValueError
            If the layer has a score of its own, which PyTorch's layer could not compute.

        Examples
        --------
        >>> ours = MultiHeadAttention(8, num_heads=4, num_kv_heads=2)
        >>> x = torch.ones(1, 3, 8)
        >>> torch.allclose(ours.to_torch()(x, x, x)[0], ours(x, x, x)[0], atol=1e-6)
        True
        """
        require_flag("batch_first", batch_first)
        if getattr(self.attention, "scale", 0.0) is not None:  # of DotProductAttention() it is None
            raise ValueError(
                "score: expected scaled dot products, as torch.nn.MultiheadAttention computes "
                "them, got a score of its own"
            )
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
        state = {f"out_proj.{kind}": x for kind, x in self.W_o.state_dict().items()}
        for kind in ("weight", "bias") if bias else ("weight",):
            rows = [getattr(layer, kind).detach() for layer in (self.W_q, self.W_k, self.W_v)]
            rows[1:] = [self._for_each_query_head(x) for x in rows[1:]]
            state[f"in_proj_{kind}"] = torch.cat(rows)
        theirs.load_state_dict(state)
        return theirs.train(self.training)

    def _for_each_query_head(self, rows: Tensor) -> Tensor:
        """Repeat the rows of each key or value head for the query heads that it serves."""
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
    TypeError, ValueError
        In ``forward``, if dtype, width or device are not the module's, or the shapes differ.

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

    def reset_parameters(self) -> None:
        """Set the gains of the normalisation to 1 and its offsets to 0."""
        self.norm.reset_parameters()

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
