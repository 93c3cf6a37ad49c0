"""Contracts: behaviours that any attention must show, whoever wrote it.

Each function takes a callable ``attend(queries, keys, values)`` that returns the output, or a
pair of output and weights; bind what else it needs first:

>>> from attention_lib.attention import scaled_dot_product_attention
>>> from attention_lib.masking import causal_mask
>>> def attend(queries, keys, values):
...     mask = causal_mask(queries.shape[-2], keys.shape[-2])
...     return scaled_dot_product_attention(queries, keys, values, mask=mask)
>>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
>>> assert_causal(attend, x, x, x)

A broken contract raises an ``AssertionError`` that says what moved, where and by how much.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attention_lib._arguments import require_float, shape_of
from attention_lib.masking import length_mask

__all__ = [
    "assert_causal",
    "assert_deterministic_in_eval",
    "assert_padding_invariant",
    "assert_permutation_equivariant",
    "assert_pure",
    "assert_rows_sum_to_one",
]

Attend = Callable[[Tensor, Tensor, Tensor], Any]  # returns the output, or (output, weights)


def assert_causal(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    poison: float | None = None,
    tolerance: float | None = None,
) -> None:
    """Change the future and see that the past does not move.

    For each query in turn, everything after its position is replaced, in queries, keys and
    values; the outputs up to that query must stay. Positions are aligned to the lower right:
    the last query stands at the last key.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, its causal mask bound.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    poison : float, optional
        What replaces the future; ``None`` means other random numbers. ``float("nan")`` is
        the sharper test: a kernel that multiplies the future by 0 fails it.
    tolerance : float, optional
        Largest difference, absolute and relative, that is no movement; ``None`` means
        ``torch.testing``'s for the dtype.

    Raises
    ------
    AssertionError
        If an output moves.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_causal(scaled_dot_product_attention, x, x, x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    AssertionError: not causal: with every position after query 0 replaced, the output of ...
    """
    _require_inputs(queries, keys, values)
    len_q, len_k = queries.shape[-2], keys.shape[-2]
    before = _output(attend, queries, keys, values)
    for last in range(len_q - 1):
        cut = max(0, last + 1 + len_k - len_q)  # first key of the future
        after = _output(
            attend,
            _replaced(queries, _from(len_q, last + 1, queries.device), poison),
            _replaced(keys, _from(len_k, cut, keys.device), poison),
            _replaced(values, _from(len_k, cut, values.device), poison),
        )
        moved = _moved(before[..., : last + 1, :], after[..., : last + 1, :], tolerance)
        if moved:
            where, how = moved
            raise AssertionError(
                f"not causal: with every position after query {last} replaced, "
                f"the output of query {where[-2]} at {where} {how}"
            )


def assert_padding_invariant(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor,
    *,
    poison: float | None = None,
    tolerance: float | None = None,
) -> None:
    """Change what stands in the padding and see that no output moves.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, its lengths or padding mask bound.
    queries, keys, values : torch.Tensor
        Shapes ``(batch, ..., len_q, d_k)``, ``(batch, ..., len_k, d_k)``,
        ``(batch, ..., len_k, d_v)``.
    valid_lens : torch.Tensor
        Integers of shape ``(batch,)``: keys from there on are padding.
    poison : float, optional
        What replaces the padding; ``None`` means other random numbers. ``float("nan")`` is
        the sharper test.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If an output moves.
    ValueError
        If ``valid_lens`` has not one length a sequence.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> valid_lens = torch.tensor([2])
    >>> def attend(queries, keys, values):
    ...     return scaled_dot_product_attention(queries, keys, values, valid_lens)
    >>> x = torch.ones(1, 3, 4)
    >>> assert_padding_invariant(attend, x, x, x, valid_lens, poison=float("nan"))
    """
    _require_inputs(queries, keys, values)
    valid = length_mask(valid_lens, keys.shape[-2]).squeeze(-2)  # (batch, len_k)
    if valid_lens.dim() != 1 or valid_lens.shape[0] != keys.shape[0] or keys.dim() < 3:
        raise ValueError(
            f"valid_lens: expected one length a sequence, ({keys.shape[0]},), for keys "
            f"{shape_of(keys)}, got {shape_of(valid_lens)}"
        )
    padding = ~valid.reshape(len(valid), *[1] * (keys.dim() - 3), -1)  # (batch, ..., len_k)
    before = _output(attend, queries, keys, values)
    replaced = [_replaced(x, padding.unsqueeze(-1), poison) for x in (keys, values)]
    moved = _moved(before, _output(attend, queries, *replaced), tolerance)
    if moved:
        where, how = moved
        length = valid_lens[where[0]].item()
        raise AssertionError(
            f"padding leaks: with the keys and values from position {length} on replaced in "
            f"sequence {where[0]}, the output of query {where[-2]} at {where} {how}"
        )


def assert_permutation_equivariant(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """Shuffle the queries and see the output shuffled alike; shuffle the memory and see nothing.

    Attention without positions and without a causal mask treats its keys as a set. Where
    there are as many queries as keys, both are shuffled alike, so that self-attention of one
    sequence can be tested too.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If an output differs from the shuffled one.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_permutation_equivariant(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(queries, keys, values)
    len_q, len_k = queries.shape[-2], keys.shape[-2]
    order_q = torch.randperm(len_q, generator=_generator()).to(queries.device)
    order_k = order_q
    if len_q != len_k:
        order_k = torch.randperm(len_k, generator=_generator()).to(keys.device)
    before = _output(attend, queries, keys, values)[..., order_q, :]
    after = _output(
        attend, queries[..., order_q, :], keys[..., order_k, :], values[..., order_k, :]
    )
    moved = _moved(before, after, tolerance)
    if moved:
        where, how = moved
        query = order_q[where[-2]].item()
        raise AssertionError(
            f"the order matters: with queries and memory shuffled, the output of query {query} "
            f"(now at {where}) {how}"
        )


def assert_rows_sum_to_one(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """See that weights are shares: none negative, each row summing to 1, or all 0 if masked.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``; returns ``(output, weights)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If a weight is negative or NaN, or a row has another sum.
    TypeError
        If ``attend`` returns no weights.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_rows_sum_to_one(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(queries, keys, values)
    result = _call(attend, queries, keys, values)
    weights = result[1] if isinstance(result, tuple) and len(result) > 1 else None
    if not isinstance(weights, torch.Tensor):
        raise TypeError("attend: expected (output, weights), got no weights")
    lowest = weights.amin().item()
    if not lowest >= 0:  # NaN is not
        raise AssertionError(f"a weight is {lowest:.3g}; weights are shares, from 0 to 1")
    sums = weights.double().sum(dim=-1, keepdim=True)  # (..., len_q, 1)
    moved = _moved((sums != 0).double().to(weights.dtype), sums.to(weights.dtype), tolerance)
    if moved:
        where = moved[0][:-1]
        raise AssertionError(
            f"the weights of row {where} sum to {sums[where].item():.6g}, neither 1 nor 0"
        )


def assert_pure(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """See that a call changes none of its inputs, and depends on no call before it.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If an input changes, or the same call gives another output later.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_pure(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(queries, keys, values)
    named = {"queries": queries, "keys": keys, "values": values}
    given = {name: x.clone() for name, x in named.items()}
    before = _output(attend, *given.values())
    for name, x in named.items():
        moved = _moved(x, given[name], 0.0)
        if moved:
            raise AssertionError(f"{name} changed in the call: at {moved[0]} it {moved[1]}")
    everywhere = torch.ones((), dtype=torch.bool)
    _output(attend, *[_replaced(x, everywhere.to(x.device), None) for x in named.values()])
    moved = _moved(before, _output(attend, *[x.clone() for x in named.values()]), tolerance)
    if moved:
        raise AssertionError(
            "the same call gave another output after a call in between: "
            f"at {moved[0]} it {moved[1]}"
        )


def assert_deterministic_in_eval(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor
) -> None:
    """See that nothing is random in evaluation mode.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``. A ``torch.nn.Module`` is put in evaluation mode for
        the test, and back after; bind nothing around it, or put it there yourself.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.

    Raises
    ------
    AssertionError
        If two calls with different random states differ at all.

    Examples
    --------
    >>> from attention_lib.attention import DotProductAttention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_deterministic_in_eval(DotProductAttention(dropout=0.5), x, x, x)
    """
    _require_inputs(queries, keys, values)
    modules = list(attend.modules()) if isinstance(attend, nn.Module) else []
    modes = [module.training for module in modules]
    devices = [queries.device] if queries.is_cuda else []
    try:
        for module in modules:
            module.training = False
        outputs = []
        for seed in (0, 1):
            with torch.random.fork_rng(devices):
                torch.manual_seed(seed)
                outputs.append(_output(attend, queries, keys, values))
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
    moved = _moved(outputs[0], outputs[1], 0.0)
    if moved:
        raise AssertionError(
            f"random in evaluation mode: with another random state the output at {moved[0]} "
            f"{moved[1]}; is dropout still on?"
        )


def _require_inputs(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    for name, x in (("queries", queries), ("keys", keys), ("values", values)):
        require_float(name, x, min_rank=2, axes="(..., len, width)")


def _call(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> Any:
    with torch.no_grad():
        return attend(queries, keys, values)


def _output(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    result = _call(attend, queries, keys, values)
    output = result[0] if isinstance(result, tuple) else result
    if not isinstance(output, torch.Tensor) or output.dim() < 2:
        raise TypeError("attend: expected an output (..., len_q, d_v), or (output, weights)")
    if output.shape[-2] != queries.shape[-2]:
        raise ValueError(
            f"attend: expected one output a query, {queries.shape[-2]} on axis -2, "
            f"got {shape_of(output)}"
        )
    return output.clone()


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _from(length: int, start: int, device: torch.device) -> Tensor:
    """Return True at the positions from ``start`` on, shape ``(length, 1)``."""
    return (torch.arange(length, device=device) >= start).unsqueeze(-1)


def _replaced(x: Tensor, where: Tensor, poison: float | None) -> Tensor:
    """Return a copy with other numbers at the positions where ``where`` is True."""
    if poison is not None:
        return x.masked_fill(where, poison)
    # At least 1 away from what stood there: no replacement can happen to be the same.
    other = torch.randn(x.shape, generator=_generator()).to(x)
    return torch.where(where, x + 1 + other.abs() * 3, x)


def _moved(
    before: Tensor, after: Tensor, tolerance: float | None
) -> tuple[tuple[int, ...], str] | None:
    """Return where the largest movement beyond the tolerance is, and its size in words."""
    try:
        torch.testing.assert_close(after, before, equal_nan=True, rtol=tolerance, atol=tolerance)
    except AssertionError:
        change = (after.double() - before.double()).abs()
        change = change.masked_fill(after.isnan() & before.isnan(), 0.0)
        change = change.nan_to_num(nan=float("inf"))
        place = torch.unravel_index(change.argmax(), change.shape)
        size = change.max().item()
        how = "became NaN or infinite" if size == float("inf") else f"moved by {size:.3g}"
        return tuple(int(i) for i in place), how
    return None
