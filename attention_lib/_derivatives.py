"""Scores whose first derivative takes less time or memory; further ones take a plain form."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from attention_lib._arguments import broadcast

Form = Callable[..., Tensor]


def fast_or_plain(fast: Form, plain: Form, *tensors: Tensor) -> Tensor:
    """Compute ``fast(*tensors)``; take the derivatives that it lacks from ``plain``, its equal.

    These are the second one, forward mode, ``torch.func`` and ``torch.compile``.
    """
    if torch.compiler.is_compiling() or has_transforms():
        return plain(*tensors)
    if not torch.is_grad_enabled() or not any(x.requires_grad for x in tensors):
        return fast(*tensors)
    return _fast_then_plain(fast, plain, *tensors)


def has_transforms() -> bool:
    """Say whether ``torch.func`` is at work, or forward mode."""
    return bool(torch._C._are_functorch_transforms_active()) or forward_ad._current_level >= 0


class _FastThenPlain(torch.autograd.Function):
    """Differentiate the fast form once; a derivative of that derivative takes the plain form."""

    @staticmethod
    def forward(ctx: Any, fast: Form, plain: Form, *tensors: Tensor) -> Tensor:
        with torch.enable_grad():
            inner = [x.detach().requires_grad_(x.requires_grad) for x in tensors]
            output = fast(*inner)
        ctx.save_for_backward(*tensors)
        ctx.plain, ctx.inner, ctx.output = plain, inner, output
        return output.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        output, inputs = ctx.output, ctx.inner
        create_graph = torch.is_grad_enabled()
        if create_graph:
            inputs = ctx.saved_tensors
            output = ctx.plain(*inputs).to(grad.dtype)
        wanted = [x for x in inputs if x.requires_grad]
        gradients = torch.autograd.grad(
            output, wanted, grad, retain_graph=True, create_graph=create_graph
        )
        found = iter(gradients)
        return None, None, *(next(found) if x.requires_grad else None for x in inputs)


_fast_then_plain: Form = _FastThenPlain.apply

BLOCK = 2**20  # hidden features of one block of queries: 4 MiB in float32


def additive_scores(queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    """Return ``tanh(query + key) @ direction`` for each pair, features a block at a time."""
    return fast_or_plain(_additive_in_blocks, _additive, queries, keys, direction)


def _additive(queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    features = torch.tanh(queries.unsqueeze(-2) + keys.unsqueeze(-3))
    return features @ direction.to(features.dtype)  # which autocast does in the first pass alone


def _additive_in_blocks(queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    leading = broadcast(queries.shape[:-2], keys.shape[:-2]) or ()
    len_q, (len_k, num_hiddens) = queries.shape[-2], keys.shape[-2:]
    if math.prod(leading) * len_q * len_k * num_hiddens <= BLOCK:
        return _additive(queries, keys, direction)
    queries = queries.expand(*leading, len_q, num_hiddens).reshape(-1, len_q, num_hiddens)
    keys = keys.expand(*leading, len_k, num_hiddens).reshape(-1, len_k, num_hiddens)
    return _in_blocks(queries, keys, direction).reshape(*leading, len_q, len_k)


def _blocks(queries: Tensor, keys: Tensor) -> Iterator[tuple[int, slice]]:
    """Yield a sequence and some of its queries, as many as make no more than ``BLOCK``."""
    rows = max(1, BLOCK // keys[0].numel())
    for sequence in range(len(queries)):
        for start in range(0, queries.shape[1], rows):
            yield sequence, slice(start, start + rows)


class _AdditiveInBlocks(torch.autograd.Function):
    """The additive score of ``(batch, len, num_hiddens)``, a few queries at a time."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys, direction)
        scores = [
            (queries[i, rows].unsqueeze(1) + keys[i]).tanh_() @ direction
            for i, rows in _blocks(queries, keys)
        ]
        return torch.cat(scores).reshape(*queries.shape[:2], keys.shape[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, direction = ctx.saved_tensors
        by_query, by_key = torch.empty_like(queries), torch.zeros_like(keys)
        by_direction = torch.zeros_like(direction)
        for i, rows in _blocks(queries, keys):
            own_grad = grad[i, rows].contiguous()  # (rows, len_k)
            features = (queries[i, rows].unsqueeze(1) + keys[i]).tanh_()
            by_direction += own_grad.flatten() @ features.flatten(0, 1)
            slopes = features.square_().neg_().add_(1.0).mul_(own_grad.unsqueeze(-1))
            by_query[i, rows] = slopes.sum(dim=1)
            by_key[i] += slopes.sum(dim=0)
        return by_query * direction, by_key * direction, by_direction


_in_blocks: Form = _AdditiveInBlocks.apply
