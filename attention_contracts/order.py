"""Contracts about order: who may read whom."""

from functools import partial

import torch
from torch import Tensor

from attention_contracts._arguments import require_count, shape_of
from attention_contracts._call import (
    FIRST,
    Attend,
    Call,
    called,
    output_of,
    require_poison,
)
from attention_contracts._report import Contract, NotTested
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

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, with its masks bound, returns the output, alone or first
        in a tuple.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    poison : float, optional
        What replaces the future; ``None`` means other random numbers. Attentions do not promise
        that NaN stays behind a causal mask: a weight of 0 times NaN is NaN.
    tolerance : float, optional
        Largest difference, absolute and relative, that is no movement; ``None`` means
        ``torch.testing``'s for the dtype.

    Raises
    ------
    AssertionError
        If the contract is broken.
    NotTested
        If no output moves when an earlier position changes.

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


def _sees_no_future(call: Call, *, poison: float | None = None) -> None:
    len_q, len_k = call.lengths
    for query in range(len_q - 1):
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


def _causality(subject: Subject) -> str:
    """Test short sequences, padded ones if a mask may replace another, and one long sequence."""
    subject.needs_causal()
    calls = [subject.call()]
    if subject.takes_padding:
        calls.append(subject.call(subject.lens))
    if subject.long is not None:
        long = subject.long.call()
        long.inputs = subject.long.draw(subject.long.lengths[0], 1)
        calls.append(long)
    for call in calls:
        _sees_no_future(call)
    _reads_an_earlier_one(calls[0])
    return f"everything after each query was replaced, {subject.bound()}"


def _own_position(subject: Subject) -> None:
    subject.needs_causal()
    call = subject.apart()
    for place in range(call.lengths[0]):
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

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)`` makes its causal mask for the lengths that it gets. It
        returns the output, alone or first in a tuple.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len, d_k)``, ``(..., len, d_k)``, ``(..., len, d_v)``.
    tolerance : float, optional
        Largest difference, absolute and relative, that is no movement; ``None`` means
        ``torch.testing``'s for the dtype.

    Raises
    ------
    AssertionError
        If the contract is broken.
    NotTested
        If no output moves when the first key and its value change.

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


def _decodes_like_prefill(call: Call) -> None:
    queries, keys, values = call.inputs
    length, len_k = call.lengths
    if len_k != length:
        raise ValueError(f"keys: expected {length} keys, one a query, got {shape_of(keys)}")
    for size in (1, 2):
        for start in range(0, length, size):
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
    _decodes_like_prefill(subject.call())


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
                raise AssertionError(
                    f"decoding differs: in a step of {now.shape[-2]} with {start} tokens in the "
                    f"cache, the output of query {moved.query} of the step {moved.how}"
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
    attend : callable
        ``attend(queries, keys, values)``, with its masks bound, returns the output, alone or first
        in a tuple.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    window : int
        How many keys a query may read, its own included; fewer than there are.

    Raises
    ------
    AssertionError
        If the contract is broken.

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


def _has_window(call: Call, window: int) -> None:
    len_k = call.lengths[1]
    for distance in range(len_k):
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
    longer = subject if subject.lengths[0] > subject.window else subject.long
    if longer is None or longer.lengths[0] <= subject.window:
        raise NotTested(f"no sequence of more than {subject.window} keys could be given")
    call = longer.call()
    call.inputs = longer.draw(longer.lengths[0], 1)
    _has_window(call, subject.window)
    return f"each of {longer.lengths[0]} keys was replaced"


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
        ``attend(queries, keys, values)``, with its masks bound, returns the output, alone or first
        in a tuple.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        Largest difference, absolute and relative, that is no movement; ``None`` means
        ``torch.testing``'s for the dtype.

    Raises
    ------
    AssertionError
        If the contract is broken.
    NotTested
        If no output moves when its query changes.

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_queries_independent(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    _keeps_queries_apart(Call(attend, (queries, keys, values), tolerance))


def _keeps_queries_apart(call: Call) -> None:
    changed = call.original.clone()
    for query in range(call.lengths[0]):
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

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, with its masks bound, returns the output, alone or first
        in a tuple.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        Largest difference, absolute and relative, that is no movement; ``None`` means
        ``torch.testing``'s for the dtype.

    Raises
    ------
    AssertionError
        If the contract is broken.
    NotTested
        If no output moves when an earlier position changes.

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_permutation_equivariant(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    _ignores_the_order(Call(attend, (queries, keys, values), tolerance))


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


MIXED = (
    "positions are mixed: heads split or merged by a reshape without a transpose, or a softmax "
    "over the wrong axis; or queries are averaged on purpose, as Nyström's landmarks are"
)
CONTRACTS = (
    Contract(
        "causality",
        _causality,
        how="everything after each query was replaced",
        means="the mask is missing, inverted, or applied in the wrong place",
        chapter="mask-failures",
    ),
    Contract(
        "own position",
        _own_position,
        how="the value at each query's own place was replaced",
        means="the triangle leaves its diagonal out",
        chapter="masking",
    ),
    Contract(
        "step by step = whole",
        _step_by_step,
        how="the last queries were given with all keys so far",
        means="the triangle starts in the upper left, as is_causal=True of PyTorch's function "
        "does; a cache needs the lower right",
        chapter="masks-in-use",
        strict=True,
    ),
    Contract(
        "cached = whole",
        _cached,
        how="the tokens were given in steps, with the cache that came back",
        means="positions do not count what is in the cache, or the triangle starts in the upper "
        "left",
        chapter="masks-in-use",
    ),
    Contract(
        "window",
        _window,
        how="keys further and further back were replaced",
        means="the window counts its own key twice, or not",
        chapter="masks-in-use",
    ),
    Contract(
        "queries apart",
        lambda subject: _keeps_queries_apart(subject.apart()),
        how="each query was replaced alone",
        means=MIXED,
        chapter="modern-block",
    ),
    Contract(
        "permutation",
        _permutation,
        how="queries and keys were shuffled",
        means="positions are mixed",
        chapter="positions",
        excuse="positions inside, or a mask? {}",
    ),
)
