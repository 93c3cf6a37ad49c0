"""Attention: scores, masked softmax, weighted sum of the values; one pipeline for every score."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib._arguments import (
    broadcast,
    require_all,
    require_flag,
    require_probability,
    require_queries_and_keys,
    require_same_kind,
    shape_of,
)
from attention_lib._nonfinite import attend_with_care, attend_without_looking, tame, tamed
from attention_lib.masking import Visible, masked_softmax, opened, resolve_visible
from attention_lib.scoring import AdditiveScore, fast_or_plain, resolve_scale, scaled_dot_scores

__all__ = [
    "AdditiveAttention",
    "Attention",
    "DotProductAttention",
    "scaled_dot_product_attention",
]


Score = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Tensors = tuple[Tensor, Tensor, Tensor]  # queries, keys, values


def scaled_dot_product_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
    need_weights: bool = True,
) -> tuple[Tensor, Tensor | None]:
    r"""Attend with scaled dot products, :math:`\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V`.

    Parameters
    ----------
    queries : torch.Tensor
        Shape ``(..., len_q, d_k)``.
    keys : torch.Tensor
        Shape ``(..., len_k, d_k)``.
    values : torch.Tensor
        Shape ``(..., len_k, d_v)``. The leading axes of all three broadcast; the first is
        the batch.
    valid_lens : torch.Tensor, optional
        Integers of shape ``(batch,)`` or ``(batch, len_q)``: how many keys, counted from
        the first, may be attended to.
    mask : torch.Tensor, optional
        Boolean, True = may attend; broadcasts to ``(..., len_q, len_k)``. With both given,
        a key must pass both.
    scale : float, optional
        The factor on the dot product; ``None`` means ``1 / sqrt(d_k)``.
    need_weights : bool
        ``False`` leaves the work to PyTorch's fused kernel, which never forms the weights.

    Returns
    -------
    output : torch.Tensor
        Shape ``(..., len_q, d_v)``. A query with nothing to attend to gets 0.
    weights : torch.Tensor or None
        Shape ``(..., len_q, len_k)``; ``None`` with ``need_weights=False``.

    Raises
    ------
    TypeError
        If a dtype does not fit; lengths given as ``mask`` or booleans as ``valid_lens``.
    ValueError
        If a rank, a shape, a length or a device does not fit.

    Notes
    -----
    Vaswani et al. (2017), equation 1. What stands at a masked position reaches neither the
    output nor a gradient, NaN and infinity included. To promise that, a call with a mask
    looks once how large its numbers are. A NaN that a query may see makes its output NaN, and
    the gradients that come from this output.

    Three things are read, and on a GPU waited for: the lengths, whether a mask hides anything,
    and how large the numbers are (in float16, those of the scores, too, where they are not left to
    the fused kernel). A mask of :func:`~attention_lib.masking.causal_mask` is not
    read: it is known by being that very object, unchanged. In a graph that is traced
    (``torch.compile``, ``torch.export``) and under ``torch.func`` nothing is read: the promise
    is kept by other means, a length out of range is not refused, and with
    ``need_weights=False`` a query that may see NaN, infinity or a number beyond the root of
    the largest gets NaN in all its output.

    Examples
    --------
    >>> queries, keys = torch.zeros(1, 1, 2), torch.zeros(1, 3, 2)
    >>> values = torch.tensor([[[1.0], [3.0], [float("nan")]]])
    >>> output, weights = scaled_dot_product_attention(queries, keys, values, torch.tensor([2]))
    >>> output
    tensor([[[2.]]])
    >>> weights
    tensor([[[0.5000, 0.5000, 0.0000]]])
    """
    shape = require_all(queries, keys, values)
    require_flag("need_weights", need_weights)
    visible = resolve_visible(shape, queries.device, valid_lens, mask)
    score = partial(scaled_dot_scores, scale=scale)
    fused_scale = None if need_weights else resolve_scale(scale, queries.shape[-1])
    return attend(
        score,
        (queries, keys, values),
        visible,
        shape,
        fused_scale=fused_scale,
        need_weights=need_weights,
    )


class Attention(nn.Module):
    """Attend with any score function.

    Parameters
    ----------
    score : callable
        ``score(queries, keys)`` returns scores ``(..., len_q, len_k)``; a function of
        :mod:`attention_lib.scoring` or a module with parameters. The score of a pair must
        depend on that query and that key, and on where they stand, alone.
    dropout : float
        Probability that a weight is dropped, in training only.

    Raises
    ------
    TypeError, ValueError
        In ``forward``: as :func:`scaled_dot_product_attention`.

    Examples
    --------
    >>> from attention_lib.scoring import gaussian_scores
    >>> attention = Attention(gaussian_scores)
    >>> output, weights = attention(torch.zeros(1, 2, 3), torch.zeros(1, 4, 3), torch.ones(1, 4, 5))
    >>> output.shape, weights.shape
    (torch.Size([1, 2, 5]), torch.Size([1, 2, 4]))
    """

    def __init__(self, score: Score, dropout: float = 0.0) -> None:
        super().__init__()
        if not callable(score):
            raise TypeError(f"score: expected a callable (queries, keys), got {score!r}")
        require_probability("dropout", dropout)
        self.score = score
        self.dropout = nn.Dropout(dropout)

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
        """Return ``(output, weights)``; the weights are those before dropout, or ``None``."""
        shape = require_all(queries, keys, values, same_width=False)
        require_flag("need_weights", need_weights)
        visible = resolve_visible(
            shape, queries.device, valid_lens, mask, cut=self._knows_no_positions
        )
        dropout_p = self.dropout.p if self.training else 0.0
        fused_scale = None if need_weights else self._fused_scale(queries)
        return attend(
            self.score,
            (queries, keys, values),
            visible,
            shape,
            dropout_p=dropout_p,
            fused_scale=fused_scale,
            need_weights=need_weights,
        )

    _knows_no_positions = False  # a score may count them, from the first key or the last

    def _fused_scale(self, queries: Tensor) -> float | None:
        """Return the scale with which a fused kernel computes this score, if there is one."""
        return None


class DotProductAttention(Attention):
    """Attend with scaled dot products.

    Parameters
    ----------
    dropout : float
        Probability that a weight is dropped, in training only.
    scale : float, optional
        The factor on the dot product; ``None`` means ``1 / sqrt(d_k)``.

    Raises
    ------
    TypeError, ValueError
        In ``forward``: as :func:`scaled_dot_product_attention`.

    Notes
    -----
    Vaswani et al. (2017). The layer has no parameters.

    Examples
    --------
    >>> attention = DotProductAttention()
    >>> output, weights = attention(torch.zeros(2, 1, 3), torch.zeros(2, 4, 3), torch.ones(2, 4, 5))
    >>> output.shape, weights.shape
    (torch.Size([2, 1, 5]), torch.Size([2, 1, 4]))
    """

    _knows_no_positions = True

    def __init__(self, dropout: float = 0.0, scale: float | None = None) -> None:
        resolve_scale(scale, 1)
        super().__init__(partial(scaled_dot_scores, scale=scale), dropout)
        self.scale = scale

    def _fused_scale(self, queries: Tensor) -> float | None:
        return resolve_scale(self.scale, queries.shape[-1])

    def extra_repr(self) -> str:
        return "" if self.scale is None else f"scale={self.scale}"


class AdditiveAttention(Attention):
    """Attend with additive scores.

    Parameters
    ----------
    d_q, d_k : int
        Widths of queries and keys.
    num_hiddens : int
        Width of the hidden layer of the score.
    dropout : float
        Probability that a weight is dropped, in training only.

    Raises
    ------
    TypeError, ValueError
        In ``forward``: as :func:`scaled_dot_product_attention`.

    Notes
    -----
    Bahdanau, Cho, Bengio (2015).

    Examples
    --------
    >>> attention = AdditiveAttention(d_q=20, d_k=2, num_hiddens=8)
    >>> queries, keys, values = torch.ones(2, 1, 20), torch.ones(2, 10, 2), torch.ones(2, 10, 4)
    >>> output, weights = attention(queries, keys, values)
    >>> output.shape, weights.shape
    (torch.Size([2, 1, 4]), torch.Size([2, 1, 10]))
    """

    _knows_no_positions = True

    def __init__(self, d_q: int, d_k: int, num_hiddens: int, dropout: float = 0.0) -> None:
        super().__init__(AdditiveScore(d_q, d_k, num_hiddens), dropout)


def attend(
    score: Score,
    tensors: Tensors,
    visible: Visible,
    shape: tuple[int, ...],
    *,
    dropout_p: float = 0.0,
    fused_scale: float | None,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:
    """Run the pipeline on queries, keys and values that fit; ``shape`` is that of the scores."""
    are_tame: bool | None = True
    visible, tensors = without_cut_keys(visible, tensors)
    if visible.mask is not None:
        tensors, are_tame = tamed(visible.mask, tensors)
    output, weights = attend_tamed(
        score,
        tensors,
        visible,
        (*shape[:-1], visible.len_k),
        are_tame,
        dropout_p=dropout_p,
        fused_scale=fused_scale,
    )
    if weights is None or not need_weights:
        return output, None
    return output, with_cut_keys(weights, shape[-1])


def without_cut_keys(visible: Visible, tensors: Tensors) -> tuple[Visible, Tensors]:
    """Leave the keys and values alone that no query sees because they come after the last.

    Where there is a mask, it hides a few of them more: a number of keys that does not fill the
    processor's vectors takes the kernel up to twice as long.
    """
    queries, keys, values = tensors
    len_k = keys.shape[-2]
    if visible.len_k == len_k:
        return visible, tensors
    if visible.mask is not None:
        mask = visible.mask.expand(*visible.mask.shape[:-1], visible.len_k)
        full = min(-(-visible.len_k // FULL) * FULL, len_k)
        mask = F.pad(mask, (0, full - visible.len_k))
        visible = Visible(mask, full, visible.is_causal, visible.some_empty)
    return visible, (queries, keys[..., : visible.len_k, :], values[..., : visible.len_k, :])


FULL = 16  # numbers of float32 that fill the widest vector


def with_cut_keys(weights: Tensor, len_k: int) -> Tensor:
    """Give the keys that were cut off their weight, 0."""
    if weights.shape[-1] == len_k:
        return weights
    return F.pad(weights, (0, len_k - weights.shape[-1]))


def attend_tamed(
    score: Score,
    tensors: Tensors,
    visible: Visible,
    shape: tuple[int, ...],
    are_tame: bool | None,
    *,
    dropout_p: float,
    fused_scale: float | None,
) -> tuple[Tensor, Tensor | None]:
    """Run the pipeline on numbers that are tame, or may not be (``False``, ``None``: unknown).

    With ``fused_scale`` PyTorch's kernel does it, without weights; but not over an axis of length
    0, which makes some versions of it divide by 0 and end the process.
    """
    if fused_scale is not None and are_tame is not False and all((*shape, tensors[2].shape[-1])):
        return _fused(tensors, visible, shape, are_tame, dropout_p, fused_scale), None
    queries, keys, values = _for_each_head(tensors, shape)
    is_fresh = isinstance(score, partial) and score.func is scaled_dot_scores
    score, drop = partial(_scores, score, shape), partial(_drop, dropout_p)
    if visible.mask is not None and not are_tame:
        return attend_with_care(score, drop, queries, keys, values, visible.mask)
    scores = score(queries, keys)
    if visible.mask is not None and scores.dtype == torch.float16 and not tame(scores):
        return attend_with_care(score, drop, queries, keys, values, visible.mask)
    mask, empty = opened(visible)
    hidden = None if mask is None else ~mask
    weights = _weights(scores, hidden, empty, is_fresh)
    shown = weights if hidden is None else _masked_on_the_way_back(weights, hidden)
    narrow = torch.float16 in (weights.dtype, values.dtype)  # a sane gradient may overflow, too
    return drop(shown if narrow else weights) @ values, shown


def _scores(score: Score, shape: tuple[int, ...], queries: Tensor, keys: Tensor) -> Tensor:
    """Call the score function and hold it to its promise."""
    scores = score(queries, keys)
    if isinstance(scores, Tensor) and broadcast(scores.shape, shape) == shape:
        require_same_kind("queries", queries, "score", scores)
        return scores if scores.shape == shape else scores.expand(shape)
    got = shape_of(scores) if isinstance(scores, Tensor) else type(scores).__name__
    raise ValueError(f"score: expected scores of shape {shape} (..., len_q, len_k), got {got}")


def _weights(scores: Tensor, hidden: Tensor | None, empty: Tensor | None, is_fresh: bool) -> Tensor:
    """Turn scores into weights as masked_softmax does, in fewer passes over all pairs.

    Scores that nobody else holds are filled in place.
    """
    if hidden is None:
        return torch.softmax(scores, dim=-1)
    if empty is not None:  # an opened row must not show an infinite score that nobody may see
        scores, is_fresh = scores.masked_fill(empty, 0.0), True
    in_place = is_fresh and scores.is_contiguous()  # expanded, a score stands for several
    fill = scores.masked_fill_ if in_place else scores.masked_fill
    weights = torch.softmax(fill(hidden, float("-inf")), dim=-1)
    return weights if empty is None else weights.masked_fill(empty, 0.0)


def _masked_on_the_way_back(weights: Tensor, hidden: Tensor) -> Tensor:
    """Return the weights to the caller, who may send any gradient back, as log does at 0."""

    def masked(grad: Tensor | None) -> Tensor | None:
        return None if grad is None else grad.masked_fill(hidden, 0.0)

    if weights.requires_grad:
        weights = weights.view_as(weights)
        register: Callable[..., object] = weights.register_hook
        register(masked)
    return weights


def _drop(dropout_p: float, weights: Tensor) -> Tensor:
    return F.dropout(weights, dropout_p) if dropout_p else weights


def _fused(
    tensors: Tensors,
    visible: Visible,
    shape: tuple[int, ...],
    are_tame: bool | None,
    dropout_p: float,
    scale: float,
) -> Tensor:
    """Leave the work to PyTorch's kernel, and to plain steps the derivatives that it lacks."""
    if tensors[0].shape[-1] != tensors[1].shape[-1]:
        require_queries_and_keys(tensors[0], tensors[1])
    run = partial(_kernel, visible, shape, dropout_p, scale)
    if not (dropout_p or torch.compiler.is_compiling()):
        run = partial(fast_or_plain, run, partial(_plain, visible, shape, scale))
    if are_tame or visible.mask is None:
        return run(*tensors)
    return attend_without_looking(run, *_for_each_head(tensors, shape), visible.mask)


def _plain(
    visible: Visible,
    shape: tuple[int, ...],
    scale: float,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
) -> Tensor:
    """Compute what the kernel does, in steps that have every derivative."""
    queries, keys, values = _for_each_head((queries, keys, values), shape)
    scores = scaled_dot_scores(queries, keys, scale)
    return masked_softmax(scores.expand(shape), mask=visible.mask) @ values


def _kernel(
    visible: Visible,
    shape: tuple[int, ...],
    dropout_p: float,
    scale: float,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
) -> Tensor:
    """Call PyTorch's kernel as it is fastest, with ``(batch, num_heads, len, width)``.

    It is shown no row with nothing to attend to: what it makes of one differs by version.
    """
    leading, tensors = shape[:-2], [queries, keys, values]
    mask, empty = opened(visible)
    grouped = _is_grouped(keys, shape)
    if not grouped:
        tensors = [
            x if x.shape[:-2] == leading else x.expand(*leading, *x.shape[-2:]) for x in tensors
        ]
    added, joined = (None,) * (2 - len(leading)), len(leading) - 2
    if added:
        tensors = [x[added] for x in tensors]
    if joined > 0:
        tensors = [x.flatten(0, joined) for x in tensors]
    if mask is not None and mask.dim() > 3:
        mask = mask.expand(*leading, *mask.shape[-2:]).flatten(0, joined) if joined > 0 else mask
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(0)
    output = F.scaled_dot_product_attention(
        tensors[0],
        tensors[1],
        tensors[2],
        attn_mask=None if visible.is_causal else mask,
        dropout_p=dropout_p,
        is_causal=visible.is_causal,
        scale=scale,
        enable_gqa=grouped,
    )
    if added or joined > 0:
        output = output.reshape(*leading, *output.shape[-2:])
    return output if empty is None else output.masked_fill(empty, 0.0)


def _is_grouped(keys: Tensor, shape: tuple[int, ...]) -> bool:
    """Say whether each head of the keys serves several of the queries."""
    few = keys.dim() == 4 and 1 < keys.shape[1] < shape[1]
    return True if few else False  # noqa: SIM210  a compiler's symbol is no bool


def _for_each_head(tensors: Tensors, shape: tuple[int, ...]) -> Tensors:
    """Repeat each head of keys and values for the query heads that it serves."""
    queries, keys, values = tensors
    if not _is_grouped(keys, shape):
        return tensors
    times = shape[1] // keys.shape[1]
    return queries, keys.repeat_interleave(times, dim=1), values.repeat_interleave(times, dim=1)
