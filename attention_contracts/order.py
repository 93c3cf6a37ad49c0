"""Contracts about order: who may read whom, and where positions come in."""

from functools import partial

import torch

from attention_contracts._arguments import require_count, shape_of
from attention_contracts._attention import Subject, contract, itself, with_and_without_padding
from attention_contracts._call import FIRST, Call, along, asserting, output_for
from attention_contracts._report import NotTested, broken


@asserting
@contract("causality", needs=["causal"], test=with_and_without_padding)
def assert_causal(
    call: Call, *, poison: float | None = None, tolerance: float | None = None
) -> None:
    """Change the future and see that the past does not move.

    For each query in turn, everything after its position is replaced, in queries, keys and
    values; the outputs up to that query must stay. Positions are aligned to the lower right:
    the last query stands at the last key.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_causal(scaled_dot_product_attention, x, x, x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    AssertionError: not causal: with every position after query 0 replaced, the output of ...
    """
    len_q, len_k = call.lengths
    for last in range(len_q - 1):
        future = slice(max(0, last + 1 + len_k - len_q), None)
        after = call.changed(slice(last + 1, None), future, future, poison=poison)
        call.stays(after, "not causal", slice(last + 1), last=last)
    _reads_an_earlier_one(call)


def _reads_an_earlier_one(call: Call) -> None:
    """Demand that the first position reaches another one: the control of contracts of order."""
    len_q, len_k = call.lengths
    first = slice(max(1, 1 + len_k - len_q))
    earlier = call.changed(FIRST, first, first)
    call.moves(earlier, "no output moves when an earlier position changes", slice(1, None))


@contract("own position", needs=["causal", "three"])
def _sees_itself(call: Call) -> None:
    for place in range(call.lengths[0]):
        here = slice(place, place + 1)
        if not call.moved(call.changed(values=here), here):
            raise broken("a query does not see itself", place=place)


@asserting
@contract("step by step = whole", needs=["causal", "three"], strict=True)
def assert_decodes_like_prefill(call: Call, *, tolerance: float | None = None) -> None:
    """Go through a sequence step by step, with a cache, and see the outputs of the whole pass.

    A step gives the new queries with all keys and values up to their position; steps are of
    one position, then of two. ``attend`` makes its causal mask for the lengths that it gets.

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
    queries, keys, values = call.inputs
    length, len_k = call.lengths
    if len_k != length:
        raise ValueError(f"keys: expected {length} keys, one a query, got {shape_of(keys)}")
    for size in (1, 2):
        for start in range(0, length, size):
            at, end = slice(start, start + size), min(start + size, length)
            step = call.output(queries[..., at, :], keys[..., :end, :], values[..., :end, :])
            if moved := call.moved(step, before=call.before[..., at, :]):
                known = {"size": end - start, "start": start, "end": end, "how": moved[1]}
                raise broken("steps differ", query=start + moved[0][-2], **known)
    after = call.changed(keys=FIRST, values=FIRST)
    call.moves(after, "no output moves when the first key and its value change")


@contract("cached = whole", needs=["causal", "cache"], test=itself)
def _steps_with_a_cache(subject: Subject) -> None:
    """Give one input in steps, with the cache that comes back last."""
    name = subject.argument("cache")
    call = subject.call()
    x = call.inputs[0]
    for size in (1, 3):
        cache = None
        for start in range(0, x.shape[-2], size):
            at = slice(start, start + size)
            with torch.no_grad():
                result = subject.attend(x[..., at, :].clone(), **{name: cache})
            if not isinstance(result, tuple) or result[-1] is None:
                raise NotTested(f"no cache comes back in the last place when {name}=None is given")
            cache = result[-1]
            now, before = result[0], call.before[..., at, :]
            call.stays(now, "cached steps differ", before=before, size=now.shape[-2], start=start)


@asserting
@contract(
    "window",
    needs=["window"],
    test=lambda core, subject: core(subject.call(), window=subject.window),
)
def assert_window(call: Call, *, window: int) -> None:
    """Count the keys that the last query reads and see that they are the last ``window``.

    Parameters
    ----------
    window : int
        How many keys a query may read, its own included; fewer than there are.

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
    require_count("window", window)
    keys, len_k = call.inputs[1], call.lengths[1]
    if len_k <= window:
        raise ValueError(f"keys: expected more than {window} keys (window), got {shape_of(keys)}")
    for back in range(len_k):
        here = slice(len_k - 1 - back, len_k - back)
        after = call.changed(keys=None if back < window else here, values=here)
        read = call.moved(after, slice(-1, None))
        if bool(read) != (back < window):
            reads = "reads" if read else "does not read"
            raise broken("the window is another", window=window, reads=reads, back=back)


@asserting
@contract("queries apart", needs=["three"])
def assert_queries_independent(call: Call, *, tolerance: float | None = None) -> None:
    """Change one query and see that its output moves, and no other.

    It holds with every mask and with every kind of positions. Heads that are split by a reshape
    alone break it, and a softmax over the queries.
    """
    changed = call.before.clone()
    for query in range(call.lengths[0]):
        here = slice(query, query + 1)
        after = call.changed(here)
        changed[..., here, :] = after[..., here, :]
        after[..., here, :] = call.before[..., here, :]
        call.stays(after, "queries are mixed", number=query)
    call.moves(changed, "no output moves when its query changes")


@asserting
@contract("permutation", needs=["no order"], excuse="an order may be meant")
def assert_permutation_equivariant(call: Call, *, tolerance: float | None = None) -> None:
    """Shuffle the queries and see the output shuffled alike; shuffle the memory and see nothing.

    Attention without positions and without a causal mask treats its keys as a set. Where
    there are as many queries as keys, both are shuffled alike, so that self-attention of one
    sequence can be tested too.
    """
    len_q, len_k = call.lengths
    order_q, order_k = (
        torch.randperm(n, generator=torch.Generator().manual_seed(0), device="cpu")
        for n in (len_q, len_k)
    )
    before = call.before[..., order_q.to(call.before.device), :]
    orders = zip(call.inputs, (order_q, order_k, order_k), strict=True)
    after = call.output(*(x[..., order.to(x.device), :] for x, order in orders))
    if moved := call.moved(after, before=before):
        where, how = moved
        query = order_q[where[-2]].item()
        raise broken("the order matters", query=query, where=where, how=how)
    _reads_an_earlier_one(call)


@contract("positions are read", needs=["positions"], test=itself)
def _reads_positions(subject: Subject) -> None:
    name = subject.argument("positions")
    call = subject.call()
    inputs = call.inputs[: 1 if call.single else 3]
    places = torch.arange(inputs[0].shape[-2], device=inputs[0].device)
    gap = places + 3 * (places >= len(places) // 2)
    given, other = (
        output_for(partial(subject.attend, **{name: x}), *inputs) for x in (places, gap)
    )
    if not call.moved(other, before=given):
        raise broken("positions are not read", name=name)


@asserting
def assert_rotary_layout(call: Call, *, layout: str = "pairs") -> None:
    """See that coordinates turn together only where the layout says so.

    A query along the first coordinate meets keys along another one. If the two are no pair, every
    score is 0 at every position. ``attend`` has no projections, and its score is a dot product of
    vectors that are turned by their positions; ``d_k`` is even and at least 4. The numbers of
    queries and keys are not used.

    Parameters
    ----------
    layout : str
        As in :func:`~attention_lib.positions.rotate_by_position`: that of the weights.

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
    queries, keys, values = call.inputs
    d_k = queries.shape[-1]
    if d_k % 2 or d_k < 4:
        raise ValueError(f"queries: expected an even width of at least 4, got {shape_of(queries)}")
    if layout not in ("pairs", "halves"):
        raise ValueError(f"layout: expected 'pairs' or 'halves', got {layout!r}")
    partner = 1 if layout == "pairs" else d_k // 2
    queries = along(queries, 0, 10.0)
    nothing = call.output(queries, torch.zeros_like(keys), values)
    for other in range(1, d_k):
        if other != partner:
            after = call.output(queries, along(keys, other, 10.0), values)
            call.stays(after, "not the layout", before=nothing, layout=layout, other=other)
    after = call.output(queries, along(keys, partner, 10.0), values)
    reason = f"coordinates 0 and {partner} do not turn together: nothing is turned"
    call.moves(after, reason, before=nothing)
