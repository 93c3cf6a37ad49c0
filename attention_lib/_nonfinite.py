"""What keeps NaN, infinity and numbers near it at masked positions out of output and gradients.

A matrix product multiplies every pair, and 0 times NaN is NaN, forward and backward: to give a
masked position the weight 0 is not enough.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib.masking import masked_softmax

__all__ = ["attend_with_care", "tame", "without_unseen"]


def tame(*tensors: Tensor) -> bool:
    """Say whether products of these numbers stay finite; NaN and infinity are not tame."""
    bounds = [bound for x in tensors if x.numel() for bound in x.detach().aminmax()]
    largest = 1e15  # its square, times any width and any sane gradient, is far below 3e38
    return not bounds or bool((torch.stack(bounds).float().abs() <= largest).all())


def without_unseen(
    mask: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Put 0 at queries that see no key, and at keys and values that no query sees."""
    mask = mask.expand(*mask.shape[:-1], keys.shape[-2])
    looking = mask.any(dim=-1).unsqueeze(-1)  # (..., len_q or 1, 1)
    seen = mask.any(dim=-2).unsqueeze(-1)  # (..., len_k, 1)
    keys, values = torch.where(seen, keys, 0.0), torch.where(seen, values, 0.0)
    return torch.where(looking, queries, 0.0), keys, values


def attend_with_care(
    score: Callable[[Tensor, Tensor], Tensor],
    drop: Callable[[Tensor], Tensor],
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
) -> tuple[Tensor, Tensor]:
    """Attend where a number that one query sees, and another may not, is not finite.

    The products run with 0 in place of what is not finite in keys, values and scores. What a
    query makes of the true numbers that it sees is computed apart, without gradients, and put
    in place of its output and weights.
    """
    strange_keys, strange_values = ~keys.isfinite(), ~values.isfinite()
    finite_keys = _replace(keys, strange_keys, 0.0)
    finite_values = _replace(values, strange_values, 0.0)
    scores = score(queries, finite_keys)  # (..., len_q, len_k)
    strange_scores = ~(scores < float("inf"))  # -inf is a score like any other: weight 0
    weights = masked_softmax(_replace(scores, strange_scores, 0.0), mask=mask)
    kept = drop(torch.ones_like(weights))
    output = (kept * weights) @ finite_values
    if not (strange_keys.any() or strange_values.any() or strange_scores.any()):
        return output, weights

    with torch.no_grad():
        seen_weights = masked_softmax(score(queries, keys), mask=mask)
        seen_output = (kept * seen_weights) @ finite_values
        visible = mask.to(values.dtype)
        rises = visible @ ((values == float("inf")) | values.isnan()).to(values.dtype)
        falls = visible @ ((values == -float("inf")) | values.isnan()).to(values.dtype)
        infinity = torch.full_like(seen_output, float("inf"))
        seen_output = torch.where(rises > 0, seen_output + infinity, seen_output)
        seen_output = torch.where(falls > 0, seen_output - infinity, seen_output)
        strange_scores = strange_scores | strange_keys.any(dim=-1).unsqueeze(-2)
        hit = (mask & strange_scores).any(dim=-1, keepdim=True)  # (..., len_q, 1)
        hit_output = hit | ~seen_output.isfinite()
    return _replace(output, hit_output, seen_output), _replace(weights, hit, seen_weights)


class _Replace(torch.autograd.Function):
    """Replace some entries; their gradient is NaN, or 0 where 0 comes back: nobody asked for it."""

    @staticmethod
    def forward(x: Tensor, replaced: Tensor, other: Tensor | float) -> Tensor:
        return torch.where(replaced, other, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (replaced,) = ctx.saved_tensors
        return torch.where(replaced & (grad != 0), float("nan"), grad), None, None


_replace: Callable[[Tensor, Tensor, Tensor | float], Tensor] = _Replace.apply
