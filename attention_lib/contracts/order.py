"""Contracts about order: who may read whom, and where positions come in."""

import torch
from torch import Tensor

from attention_lib._arguments import require_count, shape_of
from attention_lib.contracts._calls import (
    Attend,
    along_the_first_axis,
    movement,
    must_move,
    output_for,
    positions_from,
    replaced,
    require_inputs,
    require_poison,
    seeded,
)


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
    require_inputs(attend, queries, keys, values)
    require_poison(poison)
    len_q, len_k = queries.shape[-2], keys.shape[-2]
    before = output_for(attend, queries, keys, values)
    for last in range(len_q - 1):
        cut = max(0, last + 1 + len_k - len_q)  # first key of the future
        after = output_for(
            attend,
            replaced(queries, positions_from(len_q, last + 1, queries.device), poison),
            replaced(keys, positions_from(len_k, cut, keys.device), poison),
            replaced(values, positions_from(len_k, cut, values.device), poison),
        )
        moved = movement(before[..., : last + 1, :], after[..., : last + 1, :], tolerance)
        if moved:
            where, how = moved
            raise AssertionError(
                f"not causal: with every position after query {last} replaced, "
                f"the output of query {where[-2]} at {where} {how}"
            )
    _reads_an_earlier_one(attend, before, queries, keys, values, tolerance)


def assert_decodes_like_prefill(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """Go through a sequence step by step, with a cache, and see the outputs of the whole pass.

    A step gives the new queries with all keys and values up to their position; steps are of
    one position, then of two.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, which makes its causal mask for the lengths that it
        gets.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len, d_k)``, ``(..., len, d_k)``, ``(..., len, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If a step gives another output than the whole pass.
    ValueError
        If there are not as many keys as queries.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> from attention_lib.masking import causal_mask
    >>> def attend(queries, keys, values):
    ...     mask = causal_mask(queries.shape[-2], keys.shape[-2])
    ...     return scaled_dot_product_attention(queries, keys, values, mask=mask)
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_decodes_like_prefill(attend, x, x, x)
    """
    require_inputs(attend, queries, keys, values)
    length = queries.shape[-2]
    if keys.shape[-2] != length:
        raise ValueError(f"keys: expected {length} keys, one a query, got {shape_of(keys)}")
    whole = output_for(attend, queries, keys, values)
    for size in (1, 2):
        for start in range(0, length, size):
            end = min(start + size, length)
            step = output_for(
                attend, queries[..., start:end, :], keys[..., :end, :], values[..., :end, :]
            )
            moved = movement(whole[..., start:end, :], step, tolerance)
            if moved:
                where, how = moved
                raise AssertionError(
                    f"decoding differs: in a step of {end - start} from position {start}, with "
                    f"{end} keys in the cache, the output of query {start + where[-2]} {how}"
                )
    first = ~positions_from(length, 1, keys.device)
    must_move(
        whole,
        output_for(attend, queries, replaced(keys, first, None), replaced(values, first, None)),
        "no output moves when the first key and its value change",
        tolerance,
    )


def assert_window(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, *, window: int
) -> None:
    """Count the keys that the last query reads and see that they are the last ``window``.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, its window bound.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``, more keys than
        the window holds.
    window : int
        How many keys a query may read, its own included.

    Raises
    ------
    AssertionError
        If the last query reads a key beyond, or does not read one of them.
    ValueError
        If there are not more keys than the window holds.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> from attention_lib.masking import window_mask
    >>> def attend(queries, keys, values):
    ...     mask = window_mask(queries.shape[-2], keys.shape[-2], window=2)
    ...     return scaled_dot_product_attention(queries, keys, values, mask=mask)
    >>> x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_window(attend, x, x, x, window=2)
    >>> assert_window(attend, x, x, x, window=3)
    Traceback (most recent call last):
        ...
    AssertionError: a window of 3 holds 3 keys: the last query does not read the key 2 places back
    """
    require_inputs(attend, queries, keys, values)
    require_count("window", window)
    len_k = keys.shape[-2]
    if len_k <= window:
        raise ValueError(f"keys: expected more than {window} keys (window), got {shape_of(keys)}")
    before = output_for(attend, queries, keys, values)[..., -1:, :]
    for back in range(len_k):
        where = (torch.arange(len_k, device=keys.device) == len_k - 1 - back).unsqueeze(-1)
        others = [keys if back < window else replaced(keys, where, None)]
        others.append(replaced(values, where, None))
        read = movement(before, output_for(attend, queries, *others)[..., -1:, :], None)
        if bool(read) != (back < window):
            raise AssertionError(
                f"a window of {window} holds {window} keys: the last query "
                f"{'reads' if read else 'does not read'} the key {back} places back"
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
    require_inputs(attend, queries, keys, values)
    len_q, len_k = queries.shape[-2], keys.shape[-2]
    order_q = torch.randperm(len_q, generator=seeded(), device="cpu").to(queries.device)
    order_k = order_q
    if len_q != len_k:
        order_k = torch.randperm(len_k, generator=seeded(), device="cpu").to(keys.device)
    before = output_for(attend, queries, keys, values)[..., order_q, :]
    after = output_for(
        attend, queries[..., order_q, :], keys[..., order_k, :], values[..., order_k, :]
    )
    moved = movement(before, after, tolerance)
    if moved:
        where, how = moved
        query = order_q[where[-2]].item()
        raise AssertionError(
            f"the order matters: with queries and memory shuffled, the output of query {query} "
            f"(now at {where}) {how}"
        )
    whole = output_for(attend, queries, keys, values)
    _reads_an_earlier_one(attend, whole, queries, keys, values, tolerance)


def assert_rotary_layout(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, *, layout: str = "pairs"
) -> None:
    """See that coordinates turn together only where the layout says so.

    A query along the first coordinate meets keys along another one. If the two are no pair, every
    score is 0 at every position. An attention that turns nothing cannot be tested.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)`` without projections; its score a dot product of vectors
        that are turned by their positions.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``, with
        ``d_k`` even and at least 4; the numbers of queries and keys are not used.
    layout : str
        As in :func:`~attention_lib.positions.rotate_by_position`: that of the weights.

    Raises
    ------
    AssertionError
        If coordinates of different pairs meet.
    ValueError
        If the width or the layout is none.

    Examples
    --------
    >>> from attention_lib.positions import rotary_scores
    >>> def attend(queries, keys, values):
    ...     return rotary_scores(queries, keys, layout="halves").softmax(dim=-1) @ values
    >>> x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_rotary_layout(attend, x, x, x, layout="halves")
    >>> assert_rotary_layout(attend, x, x, x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    AssertionError: not the layout 'pairs': coordinates 0 and 2 turn together, and the output ...
    """
    require_inputs(attend, queries, keys, values)
    d_k = queries.shape[-1]
    if d_k % 2 or d_k < 4:
        raise ValueError(f"queries: expected an even width of at least 4, got {shape_of(queries)}")
    if layout not in ("pairs", "halves"):
        raise ValueError(f"layout: expected 'pairs' or 'halves', got {layout!r}")
    partner = 1 if layout == "pairs" else d_k // 2
    queries = along_the_first_axis(queries, 10.0)
    nothing = torch.zeros_like(keys)
    even = output_for(attend, queries, nothing, values)
    for other in range(1, d_k):
        if other == partner:
            continue
        along = nothing.clone()
        along[..., other] = 10.0
        moved = movement(even, output_for(attend, queries, along, values), None)
        if moved:
            raise AssertionError(
                f"not the layout {layout!r}: coordinates 0 and {other} turn together, and the "
                f"output at {moved[0]} {moved[1]}"
            )
    along = nothing.clone()
    along[..., partner] = 10.0
    must_move(
        even,
        output_for(attend, queries, along, values),
        f"coordinates 0 and {partner} do not turn together either: nothing is turned",
    )


def _reads_an_earlier_one(
    attend: Attend,
    before: Tensor,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    tolerance: float | None,
) -> None:
    """Demand that the first position reaches another one: the control of contracts of order."""
    len_q, len_k = queries.shape[-2], keys.shape[-2]
    earlier = [queries, keys, values]
    for number, x in enumerate(earlier):
        start = 1 if number == 0 else max(1, 1 + len_k - len_q)
        earlier[number] = replaced(x, ~positions_from(x.shape[-2], start, x.device), None)
    must_move(
        before[..., 1:, :],
        output_for(attend, *earlier)[..., 1:, :],
        "no output moves when an earlier position changes",
        tolerance,
    )


def assert_queries_independent(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """Change one query and see that its output moves, and no other.

    It holds with every mask and with every kind of positions. Heads that are split by a reshape
    alone break it, and a softmax over the queries.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, the three independent of each other.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If the output of another query moves.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_queries_independent(scaled_dot_product_attention, x, x, x)
    """
    require_inputs(attend, queries, keys, values)
    length = queries.shape[-2]
    before = output_for(attend, queries, keys, values)
    changed = before.clone()
    for query in range(length):
        here = (torch.arange(length, device=queries.device) == query).unsqueeze(-1)
        after = output_for(attend, replaced(queries, here, None), keys, values)
        moved = movement(before, torch.where(here, before, after), tolerance)
        if moved:
            where, how = moved
            raise AssertionError(
                f"queries are mixed: with query {query} replaced, the output of query {where[-2]} "
                f"at {where} {how}"
            )
        changed = torch.where(here, after, changed)
    must_move(before, changed, "no output moves when its query changes", tolerance)
