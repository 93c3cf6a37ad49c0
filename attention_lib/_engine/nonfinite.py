"""NaN, infinity and overflow stay with the queries that may see them.

A matrix product multiplies every pair, and 0 times NaN is NaN, forward and backward: the weight 0
does not keep a masked NaN out of the output. So 0 takes the place of each vector that is not
finite, and the output of each query that may see such a vector is NaN.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib._arguments import numbers_in
from attention_lib._engine.visibility import Tensors

Score = Callable[[Tensor, Tensor], Tensor]


def largest_harmless(dtype: torch.dtype, width: int) -> float:
    """Return how large numbers may be so that no dot product of this width overflows."""
    limit: float = (torch.finfo(dtype).max / max(width, 1)) ** 0.5
    return limit


def are_harmless(tensors: Tensors) -> list[bool | None]:
    """Say of each tensor whether its dot products stay finite; ``None`` where nobody can look.

    One pass over the numbers, at the speed of memory, and one look at the result.
    """
    if torch.compiler.is_compiling():
        return [None, None, None]
    ends = [x.detach().aminmax() if x.numel() else x.new_zeros(2).unbind() for x in tensors]
    found = numbers_in(torch.stack([end for pair in ends for end in pair]))
    if found is None:
        return [None, None, None]
    limit = largest_harmless(computed_dtype(tensors[0]), max(x.shape[-1] for x in tensors))
    return [-limit <= found[i] and found[i + 1] <= limit for i in (0, 2, 4)]  # NaN is not


def computed_dtype(x: Tensor) -> torch.dtype:
    """Return the dtype of products with ``x``: that of autocast, where it is on."""
    device = x.device.type
    castable = x.dtype != torch.float64 and torch.amp.is_autocast_available(device)
    if castable and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return x.dtype


def without_unseen(mask: Tensor, tensors: Tensors) -> tuple[Tensors, bool | None]:
    """Return queries, keys and values, and whether they are harmless (``None``: unknown).

    In a tensor that is not harmless, 0 takes the place of the queries that see no key, or of the
    keys or values that no query sees.
    """
    harmless = are_harmless(tensors)
    if all(harmless):
        return tensors, True
    queries, keys, values = tensors
    mask = mask.expand(*mask.shape[:-1], keys.shape[-2])
    seeing, seen = mask.any(dim=-1).unsqueeze(-1), mask.any(dim=-2).unsqueeze(-1)
    queries = queries if harmless[0] else torch.where(seeing, queries, 0.0)
    keys = keys if harmless[1] else torch.where(seen, keys, 0.0)
    values = values if harmless[2] else torch.where(seen, values, 0.0)
    tensors = (queries, keys, values)
    if None in harmless:
        return tensors, None
    return tensors, all(are_harmless(tensors))


def isolate(tensors: Tensors, mask: Tensor, limit: float) -> tuple[Tensors, Tensor]:
    """Put 0 in place of each vector with a number beyond ``limit``, NaN among them.

    Also return which queries may see such a number, ``(..., len_q, 1)``: their output is lost.
    """
    queries, keys, values = tensors
    lost_queries = _beyond(limit, queries)  # (..., len_q, 1)
    lost_keys, lost_values = _beyond(limit, keys), _beyond(limit, values)  # (..., len_k, 1)
    mask = mask.expand(*mask.shape[:-1], keys.shape[-2])
    seen = torch.einsum("...qk,...ko->...qo", mask.float(), (lost_keys | lost_values).float())
    lost = (seen > 0) | (lost_queries & mask.any(dim=-1, keepdim=True))
    pairs = ((queries, lost_queries), (keys, lost_keys), (values, lost_values))
    queries, keys, values = (x.masked_fill(where, 0.0) for x, where in pairs)
    return (queries, keys, values), lost


def overflowing(score: Score, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
    """Say which queries may see a score that overflows, ``(..., len_q, 1)``.

    A score of -inf is a score like any other, unless a query sees no other.
    """
    with torch.no_grad():
        scores = score(queries, keys)
    too_large = (mask & ~(scores < torch.inf)).any(dim=-1, keepdim=True)
    finite = (mask & (scores > -torch.inf)).any(dim=-1, keepdim=True)
    return too_large | (mask.any(dim=-1, keepdim=True) & ~finite)


def _beyond(limit: float, x: Tensor) -> Tensor:
    """Say of each vector whether a number of it is NaN or larger than the limit."""
    if x.shape[-1] == 0:
        return x.new_zeros(*x.shape[:-1], 1, dtype=torch.bool)
    largest: Tensor = torch.linalg.vector_norm(x.detach(), torch.inf, dim=-1, keepdim=True)
    return ~(largest <= limit)
