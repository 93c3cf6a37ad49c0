"""Contracts about positions: whether they are read, and what they turn."""

from functools import partial

import torch
from torch import Tensor

from attention_contracts._arguments import shape_of
from attention_contracts._call import Attend, Call, along, output_for
from attention_contracts._report import NotTested
from attention_contracts._subject import POSITIONS, Subject


def _reads_positions(subject: Subject) -> None:
    name = subject.argument(POSITIONS)
    if subject.adapted.maskable or not name:
        raise NotTested(f"no argument {', '.join(POSITIONS)}")
    call = subject.call()
    inputs = call.inputs[: 1 if call.single else 3]
    places = torch.arange(inputs[0].shape[-2], device=inputs[0].device)
    gap = places + 3 * (places >= len(places) // 2)
    original, with_gap = (
        output_for(partial(subject.attend, **{name: x}), *inputs) for x in (places, gap)
    )
    if not call.moved(with_gap, original=original):
        raise AssertionError(f"{name} are not read: with a gap of 3 between them no output moves")


SHIFT = 5


def _shifted(subject: Subject) -> None:
    """Move all positions alike. With rotary positions of a layer's own nothing may change."""
    if subject.adapted.shifted is None:
        raise NotTested("no rotary positions of a layer of transformers")
    call = subject.call()
    output = subject.call(function=subject.adapted.shifted(SHIFT)).original
    if moved := call.moved(output):
        raise AssertionError(
            f"with all positions moved by {SHIFT}, {moved}: are queries and keys both turned?"
        )


def assert_rotary_layout(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, *, layout: str = "pairs"
) -> None:
    """See that coordinates turn together only where the layout says so.

    A query along the first coordinate meets keys along another one. If the two are no pair, every
    score is 0 at every position. ``attend`` has no projections, and its score is a dot product of
    vectors that are turned by their positions; ``d_k`` is even and at least 4. The numbers of
    queries and keys are not used.

    Parameters
    ----------
    layout : str
        "pairs" turns coordinates 0 and 1 together, then 2 and 3, and so on; "halves" turns 0 with
        the first of the second half.

    Examples
    --------
    >>> def turned(x):
    ...     angle = torch.arange(x.shape[-2])[:, None]
    ...     left, right = x.chunk(2, dim=-1)
    ...     cos, sin = angle.cos(), angle.sin()
    ...     return torch.cat([left * cos - right * sin, left * sin + right * cos], dim=-1)
    >>> def attend(queries, keys, values):
    ...     return (turned(queries) @ turned(keys).mT).softmax(dim=-1) @ values
    >>> x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_rotary_layout(attend, x, x, x, layout="halves")
    >>> assert_rotary_layout(attend, x, x, x)
    Traceback (most recent call last):
        ...
    AssertionError: not the layout 'pairs': coordinates 0 and 2 turn together, and the output ...
    """
    call = Call(attend, (queries, keys, values))
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
            output = call.output(queries, along(keys, other, 10.0), values)
            if moved := call.moved(output, original=nothing):
                raise AssertionError(
                    f"not the layout {layout!r}: coordinates 0 and {other} turn together, and the "
                    f"output at {moved.where} {moved.how}"
                )
    output = call.output(queries, along(keys, partner, 10.0), values)
    reason = f"coordinates 0 and {partner} do not turn together: nothing is turned"
    call.moves(output, reason, original=nothing)


def _turns_queries_and_keys(subject: Subject) -> None:
    """A vector meets itself: turned twice alike, it has the same score at every position."""
    call = subject.bare()
    length = call.lengths[0]
    long = [length // 3, length // 2, length - 2, length - 1]
    places = [*range(1, length)] if length <= 16 else long
    scores = [score_of_own_key(call, place) for place in places]
    smaller = score_of_own_key(call, places[0], 0.5)
    largest = max(abs(score) for score in scores)
    if largest < 1e-3:
        raise NotTested("no query has a score with a key that is the same vector")
    if abs(scores[0] - 4 * smaller) > 0.01 * largest:
        raise NotTested("the score is no dot product: it does not grow as the product of lengths")
    if min(scores) < -0.01 * largest:
        place = places[scores.index(min(scores))]
        raise AssertionError(
            f"a vector turns away from itself: as query and key at position {place} it has a score "
            f"of {min(scores):.3g}, elsewhere of {largest:.3g}; are only queries or only keys "
            "turned?"
        )
    coordinates = range(min(4, call.inputs[1].shape[-1]))
    profiles = torch.tensor(
        [[score_of_own_key(call, place, 1.0, x) for place in places[:6]] for x in coordinates]
    )
    if (profiles / profiles[:, :1] - profiles[0] / profiles[0, 0]).abs().max() > 0.01:
        raise AssertionError(
            "a vector does not keep its length as it turns: its score with itself depends on its "
            "position, and on the coordinate that it lies along; are angles laid out for halves "
            "and turned in neighbours, or the reverse?"
        )
    if max(scores) - min(scores) > 0.01 * largest:
        raise NotTested("the score of a vector with itself depends on its position")
    before = [
        score_of_own_key(call, place, 1.0, coordinate, place - 1)
        for place in places
        for coordinate in coordinates[:2]
    ]
    if max(abs(score - scores[0]) for score in before) < 1e-3 * largest:
        raise NotTested(
            "nothing turns: a vector has the same score with itself one place before as at its own"
        )


def score_of_own_key(
    call: Call, place: int, size: float = 1.0, coordinate: int = 0, key: int | None = None
) -> float:
    """Return the score of a query with the same vector as key, at one position.

    It is read off the weight that this key gains, so what else stands beside the keys, a mask, a
    bias or a sink, does not matter.
    """
    scores = scores_along(call, place, size, coordinate, key)
    one_head = scores.abs().argmax(dim=-1, keepdim=True)
    return scores.gather(-1, one_head).mean().item()


def scores_along(
    call: Call, place: int, size: float, coordinate: int = 0, key: int | None = None
) -> Tensor:
    """Return the score of a key with its query along one coordinate, ``(batch, d_v)``.

    The key may stand at another place than the query. All other keys and queries are 0. The output
    at each coordinate is the weight of the key that its head reads; heads that do not see the
    coordinate find a score of 0.
    """
    queries, keys, values = (torch.zeros_like(x) for x in call.inputs)
    key = place if key is None else key
    values[..., key, :] = 1.0
    even = call.output(queries, keys, values)[..., place, :].double()
    queries[..., place, coordinate] = keys[..., key, coordinate] = size
    weights = call.output(queries, keys, values)[..., place, :].double()
    between = ((even > 0) & (even < 1) & (weights > 0) & (weights < 1)).all()
    if not between:
        raise NotTested("the output is no mixture of the values: they are projected, or masked")
    return (weights.logit() - even.logit()).flatten(0, -2)


def _keeps_values(subject: Subject) -> None:
    """Give all positions the same value, along one coordinate, and no scores."""
    call = subject.bare()
    queries, keys, values = (torch.zeros_like(x) for x in call.inputs)
    output = call.output(queries, keys, along(values, 0, 1.0)).abs()
    if not output.any():
        raise NotTested("no output moves with the values")
    reached = output > 1e-4 * output.amax()
    first = reached[..., :1, :]
    if not (reached & first).any(dim=-1).all():
        raise NotTested("not every output reads the values")
    wrong_pairs = (reached & ~first).any(dim=-1)
    if wrong_pairs.any():
        place = int(wrong_pairs.flatten(0, -2).any(dim=0).int().argmax())
        coordinate = int((reached & ~first)[..., place, :].flatten(0, -2).any(dim=0).int().argmax())
        raise AssertionError(
            f"the values are turned: all of them lie along coordinate 0, and the output of query "
            f"{place} has a share along coordinate {coordinate}, which that of query 0 has not"
        )


CONTRACTS = {
    "positions are read": _reads_positions,
    "positions shifted": _shifted,
    "queries turn as keys": _turns_queries_and_keys,
    "values stay": _keeps_values,
}
