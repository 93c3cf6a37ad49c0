"""What keeps NaN, infinity and numbers near it at masked positions out of output and gradients.

A matrix product multiplies every pair, and 0 times NaN is NaN, forward and backward: to give a
masked position the weight 0 is not enough.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib._arguments import numbers_in
from attention_lib.masking import masked_softmax

__all__ = ["attend_with_care", "attend_without_looking", "tame", "tamed"]


def tame(x: Tensor) -> bool | None:
    """Say whether products of these numbers stay finite; ``None`` where that cannot be known.

    NaN and infinity are not tame. One look at each number, at the speed of memory.
    """
    largest = 1e15  # its square, times any width and any sane gradient, is far below 3e38
    if not x.numel():
        return True
    low, high = map(numbers_in, x.detach().aminmax())
    return None if low is None else bool(-largest <= low and high <= largest)  # NaN is not


def tamed(
    mask: Tensor, tensors: tuple[Tensor, Tensor, Tensor]
) -> tuple[tuple[Tensor, Tensor, Tensor], bool | None]:
    """Return queries, keys and values, and whether they are tame.

    In what is not, 0 takes the place of queries that see no key, and of keys and values that
    no query sees.
    """
    queries, keys, values = tensors
    are_tame = [tame(x) for x in tensors]
    if all(are_tame):
        return tensors, True
    mask = mask.expand(*mask.shape[:-1], keys.shape[-2])
    if not are_tame[0]:
        queries = torch.where(mask.any(dim=-1).unsqueeze(-1), queries, 0.0)
    seen = mask.any(dim=-2).unsqueeze(-1)  # (..., len_k, 1)
    if not are_tame[1]:
        keys = torch.where(seen, keys, 0.0)
    if not are_tame[2]:
        values = torch.where(seen, values, 0.0)
    tensors = (queries, keys, values)
    if None in are_tame:
        return tensors, None
    return tensors, all(known or tame(x) for known, x in zip(are_tame, tensors, strict=True))


def attend_with_care(
    score: Callable[[Tensor, Tensor], Tensor],
    drop: Callable[[Tensor], Tensor],
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
) -> tuple[Tensor, Tensor]:
    """Attend where a number that one query sees, and another may not, is not finite.

    The products run with 0 in place of what is not finite in keys and values, and in place of
    queries that are not, see a score that is not, or see nothing: what a score makes of them on
    its way may not be finite, either. What a query makes of the true numbers that it sees is
    computed apart, without gradients, and put in place of its output and weights.
    """
    strange_queries, strange_keys, strange_values = (~x.isfinite() for x in (queries, keys, values))
    scores = score(queries, keys)  # (..., len_q, len_k)
    strange_scores = ~(scores < float("inf"))  # -inf is a score like any other: weight 0,
    some = (mask & (scores > -float("inf"))).any(dim=-1, keepdim=True)  # but where all are -inf
    strange_scores = strange_scores | (mask & ~some)
    strange = (strange_queries, strange_keys, strange_values, strange_scores)
    if numbers_in(torch.stack([x.any() for x in strange]).any()) is False:
        weights = masked_softmax(scores, mask=mask)
        return drop(weights) @ values, weights

    seen_scores = scores.detach()
    strange_scores = strange_scores | strange_keys.any(dim=-1).unsqueeze(-2)
    hit = (mask & strange_scores).any(dim=-1, keepdim=True)  # (..., len_q, 1)
    hit = hit | strange_queries.any(dim=-1, keepdim=True)
    out_of_play = hit | ~mask.any(dim=-1, keepdim=True)
    finite_queries = _replace(queries.expand(*hit.shape[:-1], -1), out_of_play, 0.0)
    finite_keys = _replace(keys, strange_keys, 0.0)
    finite_values = _replace(values, strange_values, 0.0)
    scores = score(finite_queries, finite_keys)
    weights = masked_softmax(_replace(scores, hit, 0.0), mask=mask)
    kept = drop(torch.ones_like(weights))
    output = (kept * weights) @ finite_values
    with torch.no_grad():
        seen_weights = masked_softmax(seen_scores, mask=mask)
        seen_output = (kept * seen_weights) @ finite_values
        visible = mask.expand(*mask.shape[:-1], keys.shape[-2]).to(values.dtype)
        rises = visible @ ((values == float("inf")) | values.isnan()).to(values.dtype)
        falls = visible @ ((values == -float("inf")) | values.isnan()).to(values.dtype)
        infinity = torch.full_like(seen_output, float("inf"))
        seen_output = torch.where(rises > 0, seen_output + infinity, seen_output)
        seen_output = torch.where(falls > 0, seen_output - infinity, seen_output)
        hit_output = hit | ~seen_output.isfinite()
    return _replace(output, hit_output, seen_output), _replace(weights, hit, seen_weights)


def attend_without_looking(
    attend: Callable[[Tensor, Tensor, Tensor], Tensor],
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
) -> Tensor:
    """Attend, in a graph that knows no numbers, where a number may not be finite.

    A key or value that is not finite, or too large for products of it to be, counts as 0; the
    output of each query that may see it is NaN.
    """
    largest = torch.finfo(keys.dtype).max ** (0.5 if keys.dtype != torch.float16 else 1.0)
    strange = ~((keys.abs() <= largest).all(dim=-1) & (values.abs() <= largest).all(dim=-1))
    out_of_play = strange.unsqueeze(-1)  # (..., len_k, 1)
    keys, values = keys.masked_fill(out_of_play, 0.0), values.masked_fill(out_of_play, 0.0)
    mask = mask.expand(*mask.shape[:-1], keys.shape[-2])
    hit = mask.to(values.dtype) @ out_of_play.to(values.dtype) > 0  # (..., len_q or 1, 1)
    return _replace(attend(queries, keys, values), hit, float("nan"))


class _Replace(torch.autograd.Function):
    """Replace some entries; their gradient is NaN, or 0 where 0 comes back: nobody asked for it."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, replaced: Tensor, other: Tensor | float) -> Tensor:
        return torch.where(replaced, other, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])
        ctx.save_for_forward(inputs[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (replaced,) = ctx.saved_tensors
        return torch.where(replaced & (grad != 0), float("nan"), grad), None, None


class _ReplaceInForwardModeToo(_Replace):
    """The same where a compiler, which takes no ``jvp``, does not look."""

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: None) -> Tensor:
        (replaced,) = ctx.saved_tensors
        return torch.where(replaced & (tangent != 0), float("nan"), tangent)


def _replace(x: Tensor, replaced: Tensor, other: Tensor | float) -> Tensor:
    function = _Replace if torch.compiler.is_compiling() else _ReplaceInForwardModeToo
    apply: Callable[[Tensor, Tensor, Tensor | float], Tensor] = function.apply
    return apply(x, replaced, other)
