"""Many heads: split the width, attend in each head separately, join the outputs."""

from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor, nn

from attention_lib._kernel import without_padding
from attention_lib.arguments import (
    require_alike,
    require_callable,
    require_count,
    require_divisor,
    require_float,
    require_width,
    shape_of,
)
from attention_lib.attention import Attention, DotProductAttention, Score
from attention_lib.cache import KeyValueCache
from attention_lib.masking import combine_masks, one_mask, window_mask

__all__ = ["AddNorm", "MultiHeadAttention", "merge_heads", "split_heads"]


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Split the width into heads, with an axis of their own.

    A tensor ``(batch, len, d_model)`` becomes ``(batch, num_heads, len, d_model / num_heads)``, a
    view; another rank and a width that ``num_heads`` does not divide are refused. Head ``i`` gets
    the ``i``-th block of ``d_model / num_heads`` neighbouring columns. The width is split before
    the axes are swapped: reshaping directly to the final shape would mix positions into heads.
    Vaswani et al. (2017), section 3.2.2.

    Examples
    --------
    >>> split_heads(torch.arange(12.0).reshape(1, 3, 4), num_heads=2)[0, 0]
    tensor([[0., 1.],
            [4., 5.],
            [8., 9.]])
    """
    require_float("x", x, "(batch, len, d_model)", rank=3)
    require_count("num_heads", num_heads)
    require_divisor("num_heads", num_heads, "the width of x", x.shape[-1])
    batch, length, d_model = x.shape
    x = x.reshape(batch, length, num_heads, d_model // num_heads)
    return x.transpose(1, 2)  # (batch, num_heads, len, d_k)


def merge_heads(x: Tensor) -> Tensor:
    """Put the heads side by side again; the inverse of :func:`split_heads`.

    A tensor ``(batch, num_heads, len, d_k)`` gives ``(batch, len, num_heads * d_k)``; another rank
    is refused.

    Examples
    --------
    >>> x = torch.arange(12.0).reshape(1, 3, 4)
    >>> torch.equal(merge_heads(split_heads(x, 2)), x)
    True
    """
    require_float("x", x, "(batch, num_heads, len, d_k)", rank=4)
    return x.transpose(1, 2).flatten(-2)  # (batch, len, num_heads * d_k)


class MultiHeadAttention(nn.Module):
    r"""Attend in several heads at once and join their outputs.

    :math:`\mathrm{head}_i = \mathrm{attention}(QW_q^i, KW_k^i, VW_v^i)`, and the output is
    :math:`[\mathrm{head}_1, \ldots, \mathrm{head}_h]\,W_o`.

    Parameters
    ----------
    d_model : int
        Width of queries, keys, values and output.
    num_heads : int
        Number of query heads.
    d_k : int, optional
        Width of a head. ``None`` means ``d_model / num_heads``.
    num_kv_heads : int, optional
        Number of key and value heads, each for ``num_heads / num_kv_heads`` neighbouring query
        heads. ``None`` means ``num_heads``.
    score : callable, optional
        ``score(queries, keys)`` of the heads, ``(batch, num_heads, len, d_k)``, returns
        ``(batch, num_heads, len_q, len_k)``. ``None`` means scaled dot products. Keys arrive in
        the order of their positions, and the last query stands at the last key.
    rotary : callable, optional
        ``rotary(x, positions)`` rotates queries and keys, ``(batch, num_heads, len, d_k)``, by
        their positions, ``(len,)``: :func:`~attention_lib.positions.rotate_by_position`, or a
        ``functools.partial`` of it with another base or layout.
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
    >>> output, weights = attention(x, x, x, causal=True)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_k: int | None = None,
        num_kv_heads: int | None = None,
        score: Score | None = None,
        rotary: Callable[[Tensor, Tensor], Tensor] | None = None,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        require_count("d_model", d_model)
        require_count("num_heads", num_heads)
        require_count("num_kv_heads", num_kv_heads)
        require_divisor("num_kv_heads", num_kv_heads, "num_heads", num_heads)
        if d_k is None:
            require_divisor("num_heads", num_heads, "d_model", d_model)
            d_k = d_model // num_heads
        require_count("d_k", d_k)
        if rotary is not None:
            require_callable("rotary", rotary, "x, positions")
        self.d_model = d_model
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.rotary = rotary
        self.W_q = nn.Linear(d_model, num_heads * d_k, bias=bias)
        self.W_k = nn.Linear(d_model, num_kv_heads * d_k, bias=bias)
        self.W_v = nn.Linear(d_model, num_kv_heads * d_k, bias=bias)
        self.W_o = nn.Linear(num_heads * d_k, d_model, bias=bias)
        self.attention = (
            DotProductAttention(dropout) if score is None else Attention(score, dropout)
        )
        self.reset_parameters()
        self.register_load_state_dict_pre_hook(_refuse_torch_weights)  # type: ignore[no-untyped-call]

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
        causal: bool | None = None,
        need_weights: bool = True,
        cache: KeyValueCache | None = None,
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
        causal : bool, optional
            Whether each query may attend only to its own position and the ones before it; ``None``
            means: with a cache.
        need_weights : bool
            ``False`` leaves the work to PyTorch's fused kernel, unless the layer has a ``score``.
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
            counts the keys that the window of some query reaches, all without a window.
        """
        causal = self._require_fitting(queries, keys, values, valid_lens, causal, cache)
        batch, len_q, len_k = len(queries), queries.shape[1], keys.shape[1]
        num_earlier = 0 if cache is None else len(cache)
        shape = (batch, self.num_heads, len_q, num_earlier + len_k)
        mask = _with_head_axis(mask, batch, self.num_heads)
        mask, causal = one_mask(shape, queries.device, valid_lens, mask, causal=causal)
        if cache is None:  # before the projections, whose gradients NaN would reach
            keys, values = without_padding(keys, values, mask, has_head_axis=False)
        queries, keys, values = self._project(queries, keys, values, num_earlier)
        if cache is not None:
            # It keeps what no query of this chunk may see: one of a later chunk may.
            keys, values = cache.extend(keys, values, layer=self)
            mask, causal = _within_reach(mask, causal, len_q, keys, cache.window)
            keys, values = without_padding(keys, values, mask)
        output, weights = self.attention.compute(
            queries, keys, values, mask, causal, need_weights=need_weights
        )
        return self.W_o(merge_heads(output)), weights

    def _project(
        self, queries: Tensor, keys: Tensor, values: Tensor, first_key: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Project, split, and rotate by the positions; the last query stands at the last key."""
        queries = split_heads(self.W_q(queries), self.num_heads)  # (batch, num_heads, len_q, d_k)
        keys = split_heads(self.W_k(keys), self.num_kv_heads)  # (batch, num_kv_heads, len_k, d_k)
        values = split_heads(self.W_v(values), self.num_kv_heads)
        if self.rotary is not None:
            len_q, len_k = queries.shape[2], keys.shape[2]
            first_query = first_key + len_k - len_q
            positions = torch.arange(len_q, device=queries.device)
            queries = self.rotary(queries, positions + first_query)
            positions = torch.arange(len_k, device=keys.device)
            keys = self.rotary(keys, positions + first_key)
        return queries, keys, values

    def _require_fitting(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None,
        causal: bool | None,
        cache: KeyValueCache | None,
    ) -> bool:
        """Refuse what the layer cannot take; return whether attention is causal."""
        weight = self.W_q.weight
        for name, x in (("queries", queries), ("keys", keys), ("values", values)):
            require_float(name, x, "(batch, len, d_model)", rank=3)
            require_width(name, x, self.d_model, "d_model")
            require_alike("the layer's weights", weight, name, x)
            if len(x) != len(queries):
                raise ValueError(
                    f"{name}: expected the batch of queries, {len(queries)}, on the first axis, "
                    f"got shape {shape_of(x)}"
                )
        if keys.shape[1] != values.shape[1]:
            raise ValueError(
                "values: expected one value a key (len_k on axis -2), got "
                f"keys {shape_of(keys)} and values {shape_of(values)}"
            )
        if causal is not None and not isinstance(causal, bool):
            raise TypeError(f"causal: expected True, False or None, got {causal!r}")
        if cache is None:
            return bool(causal)
        if not isinstance(cache, KeyValueCache):
            raise TypeError(f"cache: expected a KeyValueCache, got {type(cache).__name__}")
        if causal is False:
            raise ValueError("causal: expected True or None with a cache, got False")
        if valid_lens is not None:
            raise ValueError(
                "valid_lens: expected None with a cache (prompts are padded on the left, and mask= "
                f"hides the padding), got {type(valid_lens).__name__}"
            )
        if keys.shape[1] != queries.shape[1]:
            raise ValueError(
                f"keys: expected the positions of the queries, {queries.shape[1]}, with a cache, "
                f"got {keys.shape[1]}"
            )
        return True

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
                f"module: expected kdim and vdim equal to embed_dim {module.embed_dim}, "
                f"got kdim {module.kdim} and vdim {module.vdim}"
            )
        for option, given in (
            ("add_bias_kv", module.bias_k is not None),
            ("add_zero_attn", module.add_zero_attn),
        ):
            if given:
                raise ValueError(f"module: expected no {option}, got {option}=True")
        bias = module.in_proj_bias is not None
        with module.in_proj_weight.device:
            ours = cls(module.embed_dim, module.num_heads, dropout=module.dropout, bias=bias)
        ours.to(module.in_proj_weight.dtype)
        # By attribute and not by the state dict, where weight_norm and its like have other names.
        for kind in ("weight", "bias") if bias else ("weight",):
            parts = [*getattr(module, f"in_proj_{kind}").chunk(3), getattr(module.out_proj, kind)]
            for layer, part in zip((ours.W_q, ours.W_k, ours.W_v, ours.W_o), parts, strict=True):
                with torch.no_grad():
                    getattr(layer, kind).copy_(part)
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
            If the layer has a score, rotary positions or a width ``d_k`` that PyTorch's layer
            does not have.

        Examples
        --------
        >>> ours = MultiHeadAttention(8, num_heads=4, num_kv_heads=2)
        >>> x = torch.ones(1, 3, 8)
        >>> torch.allclose(ours.to_torch()(x, x, x)[0], ours(x, x, x)[0], atol=1e-6)
        True
        """
        is_plain = isinstance(self.attention, DotProductAttention) and self.attention.scale is None
        if not is_plain or self.rotary is not None or self.W_q.out_features != self.d_model:
            raise ValueError(
                "layer: expected what torch.nn.MultiheadAttention has, too, "
                "got a score, a scale, rotary positions or a width of its own"
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
            stacked = [getattr(layer, kind).detach() for layer in (self.W_q, self.W_k, self.W_v)]
            stacked[1:] = [self._for_each_query_head(x) for x in stacked[1:]]
            state[f"in_proj_{kind}"] = torch.cat(stacked)
        theirs.load_state_dict(state)
        return theirs.train(self.training)

    def _for_each_query_head(self, rows: Tensor) -> Tensor:
        """Repeat the rows of each key or value head for the query heads that it serves."""
        heads = rows.reshape(self.num_kv_heads, -1, *rows.shape[1:])
        return heads.repeat_interleave(self.num_heads // self.num_kv_heads, dim=0).flatten(0, 1)


def _with_head_axis(mask: Tensor | None, batch: int, num_heads: int) -> Tensor | None:
    """Give a mask ``(batch, len_q, len_k)`` an axis for the heads; refuse PyTorch's, folded."""
    if not isinstance(mask, Tensor) or mask.dim() != 3:
        return mask
    if mask.shape[0] == batch * num_heads > batch:
        raise ValueError(
            f"mask: expected (batch, len_q, len_k) or four axes, got {shape_of(mask)}; PyTorch's "
            f"(batch * num_heads, len_q, len_k), where True hides, is written "
            f"~mask.unflatten(0, ({batch}, {num_heads}))"
        )
    return mask.unsqueeze(1)


def _within_reach(
    mask: Tensor | None, causal: bool, len_q: int, keys: Tensor, window: int | None
) -> tuple[Tensor | None, bool]:
    """Cut a mask over all positions to the keys of a cache, and hide what is out of a window."""
    num_visible = keys.shape[2]
    if mask is not None and mask.shape[-1] > 1:  # one column may stand for all
        mask = mask[..., mask.shape[-1] - num_visible :]
    if window is None or num_visible <= window:
        return mask, causal
    in_window = window_mask(len_q, num_visible, window=window, device=keys.device)
    return combine_masks(mask, in_window[None, None]), False


def _refuse_torch_weights(_: nn.Module, state: dict[str, Any], prefix: str, *rest: Any) -> None:
    """Refuse the weights of PyTorch's layer, which are stacked, and say who takes them."""
    if f"{prefix}in_proj_weight" in state:
        raise RuntimeError(
            "state_dict: expected W_q, W_k, W_v and W_o (MultiHeadAttention.from_torch(module) "
            f"takes PyTorch's layer), got {prefix}in_proj_weight of torch.nn.MultiheadAttention"
        )


class AddNorm(nn.Module):
    """Add a sublayer's output to its input and normalise the sum.

    Both have shape ``(..., d_model)``; another width and two shapes are refused. In training only,
    coordinates of the sublayer's output are dropped with probability ``dropout``. Layer
    normalisation: Ba, Kiros, Hinton (2016); after the sum, as in Vaswani et al. (2017),
    section 5.4.

    Examples
    --------
    >>> add_norm = AddNorm(4)
    >>> add_norm(torch.zeros(1, 2, 4), torch.ones(1, 2, 4)).shape
    torch.Size([1, 2, 4])
    """

    def __init__(self, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model)

    def reset_parameters(self) -> None:
        """Set the gains of the normalisation to 1 and its offsets to 0."""
        self.norm.reset_parameters()

    def forward(self, x: Tensor, sublayer_output: Tensor) -> Tensor:
        """Return the normalised sum, in the shape of ``x``, ``(..., d_model)``."""
        require_float("x", x, "(..., d_model)", min_rank=1)
        require_float("sublayer_output", sublayer_output, "(..., d_model)", min_rank=1)
        require_width("x", x, self.norm.weight.shape[0], "d_model")
        if sublayer_output.shape != x.shape:
            raise ValueError(
                f"sublayer_output: expected the shape of x, {shape_of(x)}, "
                f"got {shape_of(sublayer_output)}"
            )
        normalised: Tensor = self.norm(x + self.dropout(sublayer_output))
        return normalised
