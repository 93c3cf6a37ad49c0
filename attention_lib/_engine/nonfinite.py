"""Keep NaN, infinity and numbers whose products overflow in the rows that may see them.

A matrix product multiplies every pair, and 0 times NaN is NaN, forward and backward, so the weight
0 does not keep a masked NaN out of the output. Each vector with such a number is therefore replaced
by 0, and the output of each query that may see the vector is set to NaN.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib._arguments import numbers_in
from attention_lib._engine.visibility import Tensors

Score = Callable[[Tensor, Tensor], Tensor]


def product_dtype(x: Tensor) -> torch.dtype:
    """Return the dtype of products with ``x``: that of autocast, where it is on."""
    device = x.device.type
    castable = x.dtype != torch.float64 and torch.amp.is_autocast_available(device)
    if castable and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return x.dtype


def are_bounded(tensors: Tensors) -> list[bool | None]:
    """Say of each tensor whether its dot products stay finite; ``None`` if it cannot be read."""
    if torch.compiler.is_compiling():
        return [None, None, None]
    ends = [x.detach().aminmax() if x.numel() else x.new_zeros(2).unbind() for x in tensors]
    found = numbers_in(torch.stack([end for pair in ends for end in pair]))
    if found is None:
        return [None, None, None]
    width = max(1, *(x.shape[-1] for x in tensors))
    limit = (torch.finfo(product_dtype(tensors[0])).max / width) ** 0.5
    return [-limit <= found[i] and found[i + 1] <= limit for i in (0, 2, 4)]  # NaN is not


def isolate(
    tensors: Tensors, bounded: list[bool | None], mask: Tensor
) -> tuple[Tensors, Tensor | None]:
    """Replace by 0 each vector that contains NaN or infinity, or whose square overflows.

    Also return which queries may see such a vector, ``(..., len_q, 1)``, or ``None`` if none may.
    """
    dtype = product_dtype(tensors[0])
    # In float16 the squares of ordinary vectors overflow.
    limit = torch.inf if dtype == torch.float16 else torch.finfo(dtype).max ** 0.5
    finite = [
        None if known else _shorter_than(limit, x)  # (..., len, 1)
        for x, known in zip(tensors, bounded, strict=True)
    ]
    queries, keys, values = (
        x if fine is None else _with_zeros(fine, x) for x, fine in zip(tensors, finite, strict=True)
    )
    mask = mask.expand(*mask.shape[:-1], keys.shape[-2])
    sees_nan = torch.zeros_like(mask[..., :1])
    if finite[0] is not None:
        sees_nan = ~finite[0] & mask.any(dim=-1, keepdim=True)
    replaced = [~fine for fine in finite[1:] if fine is not None]  # keys, values or both
    if replaced:
        pairs = (replaced[0] | replaced[-1]).float()  # of key and value, (..., len_k, 1)
        sees_nan = sees_nan | (torch.einsum("...qk,...ko->...qo", mask.float(), pairs) > 0)
    return (queries, keys, values), None if numbers_in(sees_nan.any()) is False else sees_nan


def overflowing(score: Score, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
    """Say which queries may see a score that overflows, ``(..., len_q, 1)``.

    A score of -inf is allowed, unless the query sees no other score.
    """
    with torch.no_grad():
        scores = score(queries, keys)
    too_large = (mask & ~(scores < torch.inf)).any(dim=-1, keepdim=True)
    finite = (mask & (scores > -torch.inf)).any(dim=-1, keepdim=True)
    return too_large | (mask.any(dim=-1, keepdim=True) & ~finite)


def _with_zeros(fine: Tensor, x: Tensor) -> Tensor:
    """Replace the other vectors by 0, in the way that takes less time in all."""
    if torch.is_grad_enabled() and x.requires_grad:  # nan_to_num has a slow derivative
        return torch.where(fine, x, 0.0)
    return (x * fine).nan_to_num_()


def _shorter_than(limit: float, x: Tensor) -> Tensor:
    """Say of each vector whether it is shorter than the limit; one with NaN is not."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    length: Tensor = torch.linalg.vector_norm(x.detach(), dim=-1, keepdim=True, dtype=dtype)
    return length < limit
