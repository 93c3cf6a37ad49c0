"""Prepare a call of attention, and compute it by the fused kernel or by the textbook's lines."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib._arguments import (
    broadcast,
    require_queries_and_keys,
    require_same_kind,
    shape_of,
)
from attention_lib._derivatives import has_transforms
from attention_lib._engine.nonfinite import Score, are_bounded, isolate, overflowing, product_dtype
from attention_lib._engine.visibility import (
    Tensors,
    Visible,
    resolve_visible,
    without_cut_keys,
    without_empty_rows,
)

Softmax = Callable[[Tensor], Tensor]
Textbook = Callable[[Score, Tensor, Tensor, Tensor, Softmax, float], tuple[Tensor, Tensor]]


class Prepared(NamedTuple):
    """Queries, keys and values with 0 in place of vectors that are not finite, and their mask."""

    tensors: Tensors
    visible: Visible
    sees_nan: Tensor | None = None  # the queries whose output is NaN, (..., len_q, 1)
    may_overflow: bool = False  # in float16: a score may be too large


def prepare(
    tensors: Tensors,
    shape: tuple[int, ...],
    valid_lens: Tensor | None,
    mask: Tensor | None,
    *,
    cut: bool = True,
) -> Prepared:
    """Join lengths and mask for scores of ``shape``, and replace vectors that are not finite.

    With ``cut``, keys beyond the longest length are left out.
    """
    visible = resolve_visible(shape, tensors[0].device, valid_lens, mask, cut=cut)
    visible, tensors = without_cut_keys(visible, tensors)
    return _without_nonfinite(Prepared(tensors, visible), shape)


def prepare_heads(inputs: Prepared, tensors: Tensors, shape: tuple[int, ...]) -> Prepared:
    """Prepare the heads, ``(batch, num_heads, len, width)``, projected from prepared inputs."""
    prepared = inputs._replace(tensors=tensors)
    is_half = product_dtype(tensors[0]) == torch.float16  # the projections may have overflowed
    return _without_nonfinite(prepared, shape) if is_half else prepared


def _without_nonfinite(prepared: Prepared, shape: tuple[int, ...]) -> Prepared:
    """Replace vectors that are not finite by 0, and note which queries may see them.

    Without a mask every query sees every key, and NaN reaches all rows by itself.
    """
    (queries, keys, values), visible, sees_nan, _ = prepared
    if visible.mask is None:
        return prepared
    bounded = are_bounded(prepared.tensors)
    if all(bounded):
        return prepared._replace(may_overflow=False)
    tensors = (queries, _for_each_head(keys, shape), _for_each_head(values, shape))
    tensors, found = isolate(tensors, bounded, visible.mask)
    if found is not None:
        sees_nan = found if sees_nan is None else sees_nan | found
    return Prepared(tensors, visible, sees_nan, product_dtype(queries) == torch.float16)


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
    """Return output and weights, of ``shape``, in which keys that were cut off have the weight 0.

    If the score is a dot product with a factor, the factor is ``kernel_scale``.
    """
    len_k, (queries, keys, values) = shape[-1], prepared.tensors
    shape = (*shape[:-1], prepared.visible.len_k)
    # Some versions of the kernel divide by an axis of length 0, which ends the process.
    fits_kernel = all((*shape, values.shape[-1])) and not has_transforms()
    if kernel_scale is None or need_weights or not fits_kernel:
        own_scores = kernel_scale is not None  # of this library, and so not used elsewhere
        output, weights = _by_textbook(textbook, score, prepared, shape, dropout_p, own_scores)
        cut_off = len_k - weights.shape[-1]  # number of keys
        weights = F.pad(weights, (0, cut_off)) if cut_off else weights
        return output, weights if need_weights else None
    if queries.shape[-1] != keys.shape[-1]:
        require_queries_and_keys(queries, keys)
    return _by_kernel(prepared, shape, dropout_p, kernel_scale), None


def _is_grouped(keys: Tensor, shape: tuple[int, ...]) -> bool:
    """Say whether each head of the keys serves several heads of the queries."""
    few = keys.dim() == 4 and 1 < keys.shape[1] < shape[1]
    return True if few else False  # noqa: SIM210  a compiler's symbol is no bool


def _for_each_head(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Repeat each head of keys or values for the query heads that it serves."""
    return x.repeat_interleave(shape[1] // x.shape[1], dim=1) if _is_grouped(x, shape) else x


def _by_kernel(
    prepared: Prepared, shape: tuple[int, ...], dropout_p: float, scale: float
) -> Tensor:
    """Return the output of PyTorch's kernel, called in the form in which it is fastest.

    The kernel gets ``(batch, num_heads, len, width)``, and each query sees some key, because the
    kernel's result for an empty row differs from version to version.
    """
    visible, sees_nan, leading = prepared.visible, prepared.sees_nan, shape[:-2]
    mask, empty = without_empty_rows(visible)
    if mask is not None and mask.dim() > 2:
        joined = mask.dim() > 3 and len(leading) > 2
        mask = _with_two_leading_axes(mask, leading if joined else mask.shape[:-2])
    grouped = _is_grouped(prepared.tensors[1], shape)
    queries, keys, values = (
        _with_two_leading_axes(x, (leading[0], x.shape[1]) if grouped else leading)
        for x in prepared.tensors
    )
    call = partial(
        F.scaled_dot_product_attention,
        attn_mask=None if visible.is_causal else mask,
        dropout_p=dropout_p,
        is_causal=visible.is_causal,
        scale=scale,
        enable_gqa=grouped,
    )
    if prepared.may_overflow:
        with torch.autocast(queries.device.type, enabled=False):
            output = call(queries.float(), keys.float(), values.float()).half()
    else:
        output = call(queries, keys, values)
    if output.requires_grad and not torch.compiler.is_compiling():
        output.register_hook(_refuse_second_derivative)  # type: ignore[no-untyped-call]
    if len(leading) != 2:
        output = output.reshape(*leading, *output.shape[-2:])
    output = output if empty is None else output.masked_fill(empty, 0.0)
    return output if sees_nan is None else torch.where(sees_nan, torch.nan, output)


def _with_two_leading_axes(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """Broadcast the leading axes to ``leading``, then join or add axes until there are two."""
    if x.shape[:-2] != leading:
        x = x.expand(*leading, *x.shape[-2:])
    if len(leading) > 2:
        return x.flatten(0, len(leading) - 2)
    return x if len(leading) == 2 else x[(None,) * (2 - len(leading))]


def _refuse_second_derivative(grad: Tensor) -> None:
    if torch.is_grad_enabled():  # create_graph=True
        raise RuntimeError(
            "need_weights: expected True for a second derivative (create_graph=True), got False; "
            "the fused kernel, which computes attention without weights, has only a first one"
        )


def _by_textbook(
    textbook: Textbook,
    score: Score,
    prepared: Prepared,
    shape: tuple[int, ...],
    dropout_p: float,
    own_scores: bool,
) -> tuple[Tensor, Tensor]:
    (queries, keys, values), visible, sees_nan, may_overflow = prepared
    seen, keys, values = visible.mask, _for_each_head(keys, shape), _for_each_head(values, shape)
    score = partial(_checked_score, score, shape)
    if seen is not None and may_overflow:  # a query whose output will be NaN sees no key
        found = overflowing(score, queries, keys, seen)
        sees_nan = found if sees_nan is None else sees_nan | found
        visible = visible._replace(mask=seen & ~sees_nan, some_empty=True)
        queries = torch.where((seen & ~sees_nan).any(dim=-1, keepdim=True), queries, 0.0)
    mask, empty = without_empty_rows(visible)
    hidden = None if mask is None else ~mask
    # In float16 the gradient of a weight, a product with a value, may overflow.
    stop_gradient = product_dtype(queries) == torch.float16
    softmax = partial(_masked_softmax, hidden, empty, own_scores, stop_gradient)
    output, weights = textbook(score, queries, keys, values, softmax, dropout_p)
    if hidden is not None:
        weights = _without_masked_gradient(weights, hidden)
    if sees_nan is not None and seen is not None:
        output = torch.where(sees_nan, torch.nan, output)
        weights = weights.masked_fill(sees_nan & seen, torch.nan)
    return output, weights


def _checked_score(score: Score, shape: tuple[int, ...], queries: Tensor, keys: Tensor) -> Tensor:
    """Call the score function and refuse scores of another shape, dtype or device."""
    scores = score(queries, keys)
    if isinstance(scores, Tensor) and broadcast(scores.shape, shape) == shape:
        require_same_kind("queries", queries, "score", scores)
        return scores if scores.shape == shape else scores.expand(shape)
    got = shape_of(scores) if isinstance(scores, Tensor) else type(scores).__name__
    raise ValueError(f"score: expected scores of shape {shape} (..., len_q, len_k), got {got}")


def _masked_softmax(
    hidden: Tensor | None, empty: Tensor | None, in_place: bool, stop: bool, scores: Tensor
) -> Tensor:
    """Turn scores into weights as masked_softmax does, in fewer passes over all pairs.

    ``hidden`` are the masked pairs, except in the rows ``empty``, which see no key. With
    ``in_place`` the scores may be overwritten; with ``stop`` masked pairs get no gradient.
    """
    if hidden is None:
        return torch.softmax(scores, dim=-1)
    if empty is not None:  # an infinite score would make the weights of the row NaN
        scores, in_place = scores.masked_fill(empty, 0.0), True
    in_place = in_place and scores.is_contiguous()  # an expanded score stands for several pairs
    fill = scores.masked_fill_ if in_place else scores.masked_fill
    weights = torch.softmax(fill(hidden, -torch.inf), dim=-1)
    weights = weights if empty is None else weights.masked_fill(empty, 0.0)
    return _without_masked_gradient(weights, hidden) if stop else weights


def _without_masked_gradient(weights: Tensor, hidden: Tensor) -> Tensor:
    """Stop the gradient at masked pairs, where that of a logarithm, for example, is infinite."""

    def masked(grad: Tensor | None) -> Tensor | None:
        return None if grad is None else grad.masked_fill(hidden, 0.0)

    if weights.requires_grad:
        weights = weights.view_as(weights)
        weights.register_hook(masked)  # type: ignore[no-untyped-call]
    return weights
