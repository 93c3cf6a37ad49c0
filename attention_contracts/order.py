"""Contracts about order: who may read whom."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from attention_contracts._arguments import require_count, shape_of
from attention_contracts._call import FIRST, Attend, Call, called, output_of, require_poison
from attention_contracts._masks import within_length
from attention_contracts._report import Because, NotTested
from attention_contracts._subject import CACHES, Subject


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

    Examples
    --------
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_causal(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    Traceback (most recent call last):
        ...
    AssertionError: not causal: with every position after query 0 replaced, the output of ...
    """
    require_poison(poison)
    call = Call(attend, (queries, keys, values), tolerance)
    _sees_no_future(call, poison=poison)
    _reads_an_earlier_one(call)


def _sees_no_future(
    call: Call, places: Iterable[int] | None = None, *, poison: float | None = None
) -> None:
    len_q, len_k = call.lengths
    for query in range(len_q - 1) if places is None else places:
        future = slice(max(0, query + 1 + len_k - len_q), None)
        output = call.changed(slice(query + 1, None), future, future, poison=poison)
        if moved := call.moved(output, slice(query + 1)):
            raise AssertionError(
                f"not causal: with every position after query {query} replaced, {moved}"
            )


def _reads_an_earlier_one(call: Call) -> None:
    """Demand that the first position reaches another one: the control of contracts of order."""
    len_q, len_k = call.lengths
    first_keys = slice(max(1, 1 + len_k - len_q))
    earlier = call.changed(FIRST, first_keys, first_keys)
    call.moves(earlier, "no output moves when an earlier position changes", slice(1, None))


def _causality(subject: Subject) -> None:
    """Test real tokens of padded sequences as well: one mask may replace another."""
    subject.needs_causal()
    plain, *padded = subject.calls()
    _sees_no_future(plain, subject.places(every=130)[:-1])
    _reads_an_earlier_one(plain)
    if padded and subject.lengths[0] < 20:
        _sees_no_future(_real_outputs(padded[0], subject.lens))


def _real_outputs(call: Call, lens: Tensor) -> Call:
    """Return a call that gives 0 at padded places: where a window holds padding alone."""
    real = within_length(lens, call.lengths[1])
    real = real.reshape(len(real), *[1] * (call.inputs[0].dim() - 3), -1, 1)

    def attend(*tensors: Tensor) -> Tensor:
        return output_of(call.attend(*tensors), tensors[0]).where(real, 0.0)

    return Call(attend, call.inputs, single=call.single)


def _own_position(subject: Subject) -> None:
    subject.needs_causal()
    call = subject.apart()
    queries, keys, values = call.inputs
    # Small scores: in a steep softmax a position may rightly weigh next to nothing.
    call = replace(call, inputs=(queries * 0.01, keys, values))
    for place in subject.places():
        key_slice = slice(place, place + 1)
        if not call.moved(call.changed(values=key_slice), key_slice):
            raise AssertionError(
                f"a query does not see itself: with the value at position {place} replaced, the "
                f"output of query {place} is the same"
            )


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

    Examples
    --------
    >>> def attend(queries, keys, values):
    ...     len_q, len_k = queries.shape[-2], keys.shape[-2]
    ...     mask = torch.ones(len_q, len_k, dtype=torch.bool).tril(len_k - len_q)
    ...     return torch.nn.functional.scaled_dot_product_attention(queries, keys, values, mask)
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_decodes_like_prefill(attend, x, x, x)
    """
    call = Call(attend, (queries, keys, values), tolerance)
    _decodes_like_prefill(call)


def _decodes_like_prefill(call: Call, first: int = 0) -> None:
    queries, keys, values = call.inputs
    length, len_k = call.lengths
    if len_k != length:
        raise ValueError(f"keys: expected {length} keys, one a query, got {shape_of(keys)}")
    for size in (1, 2):
        for start in range(first, length, size):
            at, end = slice(start, start + size), min(start + size, length)
            step = call.output(queries[..., at, :], keys[..., :end, :], values[..., :end, :])
            if moved := call.moved(step, original=call.original[..., at, :]):
                raise AssertionError(
                    f"decoding differs: in a step of {end - start} from position {start}, with "
                    f"{end} keys in the cache, the output of query {start + moved.query} "
                    f"{moved.how}"
                )
    output = call.changed(keys=FIRST, values=FIRST)
    call.moves(output, "no output moves when the first key and its value change")


def _step_by_step(subject: Subject) -> None:
    subject.needs_causal()
    if subject.adapted.single:
        raise NotTested("a single input: there are as many queries as keys")
    _decodes_like_prefill(subject.call(), max(0, subject.lengths[0] - 16))


def cause_of_step(start: int, size: int) -> str:
    """Return what usually makes a cache differ first at this step."""
    if start > 2 * size:
        return f"a window of about {start} keys in the cache is one key short, or one too long"
    slots = "empty slots of the cache are read, or the new token is not among its keys"
    order = "positions do not count what is in the cache, or the triangle starts in the upper left"
    return f"{order}; or {slots}" if start else slots


def _cached(subject: Subject) -> None:
    """Give one input in steps, with the cache that comes back."""
    subject.needs_causal()
    name = subject.argument(CACHES)
    if not subject.adapted.single or not (name or subject.adapted.step):
        raise NotTested(f"no single input with an argument {', '.join(CACHES)}")
    call = subject.call()
    x = call.inputs[0]
    for size in (1, 3):
        cache = None
        for start in range(0, x.shape[-2], size):
            at = slice(start, start + size)
            now, cache = _step(subject, name, x[..., at, :].clone(), cache, start)
            if moved := call.moved(now, original=call.original[..., at, :]):
                raise Because(
                    f"decoding differs: in a step of {now.shape[-2]} with {start} tokens in the "
                    f"cache, the output of query {moved.query} of the step {moved.how}",
                    cause_of_step(start, size),
                )


def _step(
    subject: Subject, name: str, x: Tensor, cache: object, start: int
) -> tuple[Tensor, object]:
    if subject.adapted.step is not None:
        end = start + x.shape[-2]
        allowed = subject.allowed(x.shape[-2], end, x.device)
        with torch.no_grad():
            return subject.adapted.step(x, cache, allowed)
    result = called(partial(subject.attend, **{name: cache}), x)
    if not isinstance(result, tuple) or result[-1] is None:
        raise NotTested(f"no cache comes back in the last place when {name}=None is given")
    return output_of(result, x), result[-1]


def assert_window(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, *, window: int
) -> None:
    """Count the keys that the last query reads and see that they are the last ``window``.

    Parameters
    ----------
    window : int
        How many keys a query may read, its own included; fewer than there are.

    Examples
    --------
    >>> def attend(queries, keys, values):
    ...     mask = torch.ones(5, 5, dtype=torch.bool).tril().triu(-1)
    ...     return torch.nn.functional.scaled_dot_product_attention(queries, keys, values, mask)
    >>> x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_window(attend, x, x, x, window=2)
    >>> assert_window(attend, x, x, x, window=3)
    Traceback (most recent call last):
        ...
    AssertionError: a window of 3 holds 3 keys: the last query does not read the key 2 places back
    """
    call = Call(attend, (queries, keys, values))
    require_count("window", window)
    if call.lengths[1] <= window:
        raise ValueError(f"keys: expected more than {window} keys (window), got {shape_of(keys)}")
    _has_window(call, window)


def _has_window(call: Call, window: int, *, every: bool = True) -> None:
    len_k = call.lengths[1]
    edges = {0, 1, window // 2, window - 2, window - 1, window, window + 1, len_k - 1}
    for distance in range(len_k) if every else sorted(x for x in edges if 0 <= x < len_k):
        key_slice = slice(len_k - 1 - distance, len_k - distance)
        output = call.changed(keys=None if distance < window else key_slice, values=key_slice)
        read = call.moved(output, slice(-1, None))
        if bool(read) != (distance < window):
            reads = "reads" if read else "does not read"
            raise AssertionError(
                f"a window of {window} holds {window} keys: the last query {reads} the key "
                f"{distance} places back"
            )


def _window(subject: Subject) -> str:
    if subject.window is None:
        raise NotTested("no window= was given")
    length = subject.lengths[0]
    if length <= subject.window:
        raise NotTested(f"no sequence of more than {subject.window} keys could be given: length=")
    call = subject.call()
    _has_window(call, subject.window, every=length <= 130)
    if subject.causal:
        return "keys further and further back were replaced"
    read = [
        place
        for place in subject.places(every=130)
        if call.moved(call.changed(values=slice(place, place + 1)), FIRST)
    ]
    if max(read, default=0) not in (0, subject.window - 1):
        raise AssertionError(
            f"a window of {subject.window} keys has none on its right, or as many as on its left: "
            f"the first query reads the key {max(read)} places after it; causal=True if later keys "
            "are not to be read"
        )
    right = max(read, default=0)
    return f"keys further and further back were replaced, and {right} on the right are read"


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

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_queries_independent(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    _keeps_queries_apart(Call(attend, (queries, keys, values), tolerance))


def _keeps_queries_apart(call: Call, places: Iterable[int] | None = None) -> None:
    changed = call.original.clone()
    for query in range(call.lengths[0]) if places is None else places:
        query_slice = slice(query, query + 1)
        output = call.changed(query_slice)
        changed[..., query_slice, :] = output[..., query_slice, :]
        output[..., query_slice, :] = call.original[..., query_slice, :]
        if moved := call.moved(output):
            raise AssertionError(f"queries are mixed: with query {query} replaced, {moved}")
    call.moves(changed, "no output moves when its query changes")


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

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_permutation_equivariant(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    _ignores_the_order(Call(attend, (queries, keys, values), tolerance))


def _apart(subject: Subject) -> None:
    call = subject.apart()
    try:
        _keeps_queries_apart(call, subject.places())
    except AssertionError as mixed:
        queries, keys, values = call.inputs
        if queries.shape != keys.shape:
            raise
        exchanged = Call(lambda q, k, v: call.attend(k, q, v), (queries, keys, values))
        try:
            _keeps_queries_apart(exchanged, subject.places())
        except (AssertionError, NotTested):
            raise mixed from None
        raise Because(
            f"queries and keys are exchanged: {mixed}, and with queries in the keys' place only "
            "their own outputs move",
            "what is called query is used as key, and what is called key as query",
        ) from None


def _ignores_the_order(call: Call) -> None:
    order_q, order_k = (
        torch.randperm(n, generator=torch.Generator().manual_seed(0), device="cpu")
        for n in call.lengths
    )
    expected = call.original[..., order_q.to(call.original.device), :]
    orders = zip(call.inputs, (order_q, order_k, order_k), strict=True)
    output = call.output(*(x[..., order.to(x.device), :] for x, order in orders))
    if moved := call.moved(output, original=expected):
        raise AssertionError(
            "the order matters: with queries and memory shuffled, the output of query "
            f"{order_q[moved.query].item()} (now at {moved.where}) {moved.how}"
        )
    _reads_an_earlier_one(call)


def _permutation(subject: Subject) -> None:
    if subject.causal or subject.window is not None:
        raise NotTested("a mask orders the keys")
    _ignores_the_order(subject.call())


def _sees_order(subject: Subject) -> None:
    """Shuffle all tokens but the last, and see whether its output notices."""
    call = subject.call()
    length = call.lengths[1]
    order = torch.arange(length, device=call.inputs[1].device)
    order[:-1] = order[:-1].roll(length // 2)
    shuffled = call.output(*(x[..., order, :] for x in call.inputs))
    _reads_an_earlier_one(call)
    reason = "no order is seen: with all tokens before it shuffled, the last output is the same"
    call.moves(shuffled, reason, slice(-1, None))


CONTRACTS = {
    "causality": _causality,
    "own position": _own_position,
    "step by step = whole": _step_by_step,
    "cached = whole": _cached,
    "window": _window,
    "queries apart": _apart,
    "permutation": _permutation,
    "order is seen": _sees_order,
}
