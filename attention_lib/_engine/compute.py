"""Prepare a call of attention, and choose who computes it: the fused kernel or the textbook."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from attention_lib._arguments import (
    broadcast,
    require_queries_and_keys,
    require_same_kind,
    shape_of,
)
from attention_lib._engine.derivatives import has_transforms
from attention_lib._engine.kernel import attend_by_kernel, for_each_head
from attention_lib._engine.nonfinite import (
    Score,
    are_harmless,
    computed_dtype,
    isolate,
    largest_harmless,
    overflowing,
    without_unseen,
)
from attention_lib._engine.visibility import (
    Tensors,
    Visible,
    resolve_visible,
    with_cut_keys,
    without_cut_keys,
    without_empty_rows,
)

Softmax = Callable[[Tensor], Tensor]
Textbook = Callable[[Score, Tensor, Tensor, Tensor, Softmax, float], tuple[Tensor, Tensor]]


class Prepared(NamedTuple):
    """Queries, keys and values less what no query sees, and what is known of them."""

    tensors: Tensors
    visible: Visible
    harmless: bool | None  # whether all products of the numbers stay finite; None: unknown


def knows_positions(score: Score) -> bool:
    """Say whether a score may depend on where a key stands: any may that does not deny it."""
    while isinstance(score, partial):
        score = score.func
    return bool(getattr(score, "knows_positions", True))


def prepare(
    tensors: Tensors,
    shape: tuple[int, ...],
    valid_lens: Tensor | None,
    mask: Tensor | None,
    *,
    cut: bool = True,
    per_head: bool = False,
) -> Prepared:
    """Join lengths and mask, for scores of ``shape``, and leave out what no query sees.

    ``cut`` allows to cut keys off; ``per_head`` says that ``shape`` has an axis for heads, its
    second, and the tensors have none yet.
    """
    visible = resolve_visible(shape, tensors[0].device, valid_lens, mask, cut=cut)
    visible, tensors = without_cut_keys(visible, tensors)
    if visible.mask is None:
        return Prepared(tensors, visible, True)
    any_head = visible.mask.any(dim=1) if per_head and visible.mask.dim() == 4 else visible.mask
    tensors, harmless = without_unseen(any_head, tensors)
    return Prepared(tensors, visible, harmless)


def prepare_heads(before: Prepared, tensors: Tensors) -> Prepared:
    """Return the same for the heads, ``(batch, num_heads, len, width)``, of projected tensors."""
    visible, harmless = before.visible, before.harmless
    mask = visible.mask
    if mask is not None and mask.dim() < 4:
        mask = (mask if mask.dim() == 3 else mask.unsqueeze(0)).unsqueeze(1)  # alike in every head
    if mask is not None and computed_dtype(tensors[0]) == torch.float16:
        found = are_harmless(tensors)  # a projection may have overflown
        harmless = None if None in found else all(found)
    return Prepared(tensors, visible._replace(mask=mask), harmless)


def compute(
    textbook: Textbook,
    score: Score,
    prepared: Prepared,
    shape: tuple[int, ...],
    *,
    dropout_p: float = 0.0,
    kernel_scale: float | None = None,
    need_weights: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Return output and weights; ``shape`` is that of the weights, keys that were cut off included.

    ``kernel_scale`` is the factor with which the kernel computes the same score, if it can.
    """
    len_k, values = shape[-1], prepared.tensors[2]
    shape = (*shape[:-1], prepared.visible.len_k)
    # Some versions of the kernel divide by an axis of length 0, which ends the process.
    fits_kernel = all((*shape, values.shape[-1])) and not has_transforms()
    if kernel_scale is not None and not need_weights and fits_kernel:
        return _by_kernel(prepared, shape, dropout_p, kernel_scale), None
    overwrite = kernel_scale is not None  # scores of the engine's own, which nobody else holds
    output, weights = _by_textbook(textbook, score, prepared, shape, dropout_p, overwrite)
    return output, with_cut_keys(weights, len_k) if need_weights else None


def _by_kernel(
    prepared: Prepared, shape: tuple[int, ...], dropout_p: float, scale: float
) -> Tensor:
    (queries, keys, values), visible, harmless = prepared
    if queries.shape[-1] != keys.shape[-1]:
        require_queries_and_keys(queries, keys)
    if harmless or visible.mask is None:
        return attend_by_kernel(prepared.tensors, visible, shape, dropout_p, scale)
    tensors = (queries, for_each_head(keys, shape), for_each_head(values, shape))
    dtype = computed_dtype(queries)
    half = dtype == torch.float16  # a GPU sums its products in float32; a CPU has to be told
    limit = torch.finfo(dtype).max if half else largest_harmless(dtype, queries.shape[-1])
    tensors, lost = isolate(tensors, visible.mask, limit)
    wide = half and queries.device.type == "cpu"
    output = attend_by_kernel(tensors, visible, shape, dropout_p, scale, in_float32=wide)
    return output.masked_fill(lost, torch.nan)


def _by_textbook(
    textbook: Textbook,
    score: Score,
    prepared: Prepared,
    shape: tuple[int, ...],
    dropout_p: float,
    overwrite: bool,
) -> tuple[Tensor, Tensor]:
    (queries, keys, values), visible, harmless = prepared
    keys, values = for_each_head(keys, shape), for_each_head(values, shape)
    mask, empty = without_empty_rows(visible)
    hidden = None if mask is None else ~mask
    # The gradient of a weight is a product with a value, and may overflow.
    guard = not harmless or torch.float16 in (queries.dtype, values.dtype)
    softmax = partial(_masked_softmax, hidden, empty, overwrite, guard)
    score, lost = partial(_checked_score, score, shape), None
    if visible.mask is not None and not harmless:
        limit = torch.finfo(computed_dtype(queries)).max
        (queries, keys, values), lost = isolate((queries, keys, values), visible.mask, limit)
        lost = lost | overflowing(score, queries, keys, visible.mask)
        queries, score = torch.where(lost, 0.0, queries), partial(_filled_score, score, lost)
    output, weights = textbook(score, queries, keys, values, softmax, dropout_p)
    if hidden is not None:
        weights = _without_masked_gradient(weights, hidden)
    if lost is not None and visible.mask is not None:
        output = output.masked_fill(lost, torch.nan)
        weights = weights.masked_fill(lost & visible.mask, torch.nan)
    return output, weights


def _filled_score(score: Score, filled: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    return score(queries, keys).masked_fill(filled, 0.0)


def _checked_score(score: Score, shape: tuple[int, ...], queries: Tensor, keys: Tensor) -> Tensor:
    """Call the score function and refuse scores of another shape, dtype or device."""
    scores = score(queries, keys)
    if isinstance(scores, Tensor) and broadcast(scores.shape, shape) == shape:
        require_same_kind("queries", queries, "score", scores)
        return scores if scores.shape == shape else scores.expand(shape)
    got = shape_of(scores) if isinstance(scores, Tensor) else type(scores).__name__
    raise ValueError(f"score: expected scores of shape {shape} (..., len_q, len_k), got {got}")


def _masked_softmax(
    hidden: Tensor | None, empty: Tensor | None, overwrite: bool, guard: bool, scores: Tensor
) -> Tensor:
    """Turn scores into weights as masked_softmax does, in fewer passes over all pairs.

    ``hidden`` are the masked pairs, less the rows ``empty`` that see nothing. ``overwrite`` allows
    to fill the scores in place; ``guard`` stops gradients at masked pairs.
    """
    if hidden is None:
        return torch.softmax(scores, dim=-1)
    if empty is not None:  # an infinite score there would make the weights of the row NaN
        scores, overwrite = scores.masked_fill(empty, 0.0), True
    in_place = overwrite and scores.is_contiguous()  # an expanded score stands for several pairs
    fill = scores.masked_fill_ if in_place else scores.masked_fill
    weights = torch.softmax(fill(hidden, -torch.inf), dim=-1)
    weights = weights if empty is None else weights.masked_fill(empty, 0.0)
    return _without_masked_gradient(weights, hidden) if guard else weights


def _without_masked_gradient(weights: Tensor, hidden: Tensor) -> Tensor:
    """Stop the gradient at masked pairs: that of log, for one, is infinite at the weight 0."""

    def masked(grad: Tensor | None) -> Tensor | None:
        return None if grad is None else grad.masked_fill(hidden, 0.0)

    if weights.requires_grad:
        weights = weights.view_as(weights)
        register: Callable[..., object] = weights.register_hook
        register(masked)
    return weights
