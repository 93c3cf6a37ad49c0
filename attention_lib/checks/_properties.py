"""What can be said of a wrong answer that is no known mistake: properties that it really has."""

from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any

import torch
from torch import Tensor

__all__ = ["property_of"]

Function = Callable[..., Any]
Case = tuple[Any, ...]
Agree = Callable[[object, object], bool]
LARGE = 60.0  # numbers whose exponentials leave little room in float32


def property_of(
    answer: Function, reference: Function, cases: Sequence[Case], names: Sequence[str], agree: Agree
) -> str:
    """Return a sentence that is true of a wrong answer in the cases, or an empty string.

    Parameters
    ----------
    answer, reference : callable
        The reader's function and the right one; a function may raise.
    cases : sequence of tuple
        Arguments.
    names : sequence of str
        What the arguments are called.
    agree : callable
        Whether two results are equal within rounding.

    Returns
    -------
    str

    Examples
    --------
    >>> agree = lambda a, b: a.shape == b.shape and bool(a.double().allclose(b.double()))
    >>> cases = [(torch.tensor([2.0, -1.0]), torch.tensor([5.0, 3.0]))]
    >>> property_of(lambda x, y: x, lambda x, y: x + y, cases, ["x", "y"], agree)
    '`y` has no effect.'
    """
    if len(names) < len(cases[0]):
        names = [f"argument {i + 1}" for i in range(len(cases[0]))]
    found = [_call(answer, case) for case in cases]
    right = [_call(reference, case) for case in cases]
    wrong = [i for i, pair in enumerate(zip(found, right, strict=True)) if not agree(*pair)]
    if not wrong:
        return ""
    for sentence, holds in _KINDS:
        if all(holds(*pair) for pair in zip(found, right, strict=True)):
            return sentence
    if all(isinstance(x, tuple | list) for x in (*found, *right)):
        if any(len(a) != len(b) for a, b in zip(found, right, strict=True)):
            return "not as many things come back as are asked for."
        return _of_parts(found, right, agree)
    if sentence := _of_arguments(reference, cases, found, names, agree):
        return sentence
    if sentence := _of_one_more(cases, found, right, names, agree):
        return sentence
    pairs = [
        (a, b)
        for a, b in zip(found, right, strict=True)
        if isinstance(a, Tensor) and isinstance(b, Tensor)
    ]
    first = found[wrong[0]]
    if isinstance(first, Exception):
        return _of_error(str(first))
    if len(pairs) < len(found) or any(
        a.is_complex() or _boolean(a) != _boolean(b) for a, b in pairs
    ):
        return ""
    if sentence := _of_changes(pairs, agree):
        return sentence
    if all(_same_axes(a, b) and _same_numbers(a, b, agree) for a, b in pairs):
        return "all the right numbers are there, in the wrong places."
    for sentence, holds in _LOOKS:
        if all(holds(found[i], right[i]) for i in wrong):
            return sentence
    if sentence := _of_sizes(cases, pairs, agree):
        return sentence
    return _of_runs(answer, reference, cases, found, right, names, wrong, agree)


def _of_parts(found: Sequence[Any], right: Sequence[Any], agree: Agree) -> str:
    """Say of several results which of them are right, or in what way all are wrong."""
    parts = range(min(map(len, right)))
    where = {
        i: [j for j in parts if all(agree(f[i], r[j]) for f, r in zip(found, right, strict=True))]
        for i in parts
    }
    if all(where.values()):
        return "the right things come back in the wrong order, or one of them twice."
    if not any(where.values()):
        pairs = [(f[i], r[i]) for f, r in zip(found, right, strict=True) for i in parts]
        if sentence := _of_changes(pairs, agree):
            return f"of each result: {sentence}"
        if not all(isinstance(x, Tensor) for pair in pairs for x in pair):
            return ""
        if all(_same_numbers(a, b, agree) for a, b in pairs):
            if all(_same_axes(a, b) for a, b in pairs):
                return "each result has the right numbers, in the wrong places."
            return "each result has the right numbers, in the wrong shape."
        if all(
            _same_numbers(_joined(f), _joined(r), agree) for f, r in zip(found, right, strict=True)
        ):
            return "every number is used once, but numbers stand in a result that is not theirs."
    return ""


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat([x.flatten() for x in parts])


def _call(function: Function, case: Case) -> Any:
    try:
        return function(*(x.clone() if isinstance(x, Tensor) else x for x in case))
    except Exception as error:  # what a reader's code raises is a result, too
        return error


def _additive(found: Any, right: Any) -> bool:
    return (
        isinstance(found, Tensor)
        and isinstance(right, Tensor)
        and right.dtype == torch.bool
        and found.is_floating_point()
        and bool(((found == 0) | found.isneginf()).all())
        and bool(found.isneginf().any() or right.all())
    )


def _typed(found_is: Callable[[Tensor], bool], right_is: Callable[[Tensor], bool]) -> Any:
    def holds(found: Any, right: Any) -> bool:
        both = isinstance(found, Tensor) and isinstance(right, Tensor)
        return bool(both and found_is(found) and right_is(right))

    return holds


def _boolean(x: Tensor) -> bool:
    return x.dtype == torch.bool


def _whole(x: Tensor) -> bool:
    return not (x.is_floating_point() or x.is_complex() or _boolean(x))


_KINDS: list[tuple[str, Callable[[Any, Any], bool]]] = [
    (
        "one thing comes back where several are asked for: return them with commas between.",
        lambda found, right: isinstance(right, tuple) and isinstance(found, Tensor),
    ),
    (
        "a dictionary comes back: return its parts with commas between.",
        lambda found, right: isinstance(right, tuple) and isinstance(found, dict),
    ),
    (
        "a Python list comes back: torch.tensor or torch.stack makes it a tensor.",
        lambda found, right: isinstance(found, list) and isinstance(right, Tensor),
    ),
    (
        "a tuple comes back: torch.stack or torch.cat makes one tensor of its parts.",
        lambda found, right: (
            type(found) is tuple
            and isinstance(right, Tensor)
            and all(isinstance(x, Tensor) for x in found)
        ),
    ),
    (
        "`max` along an axis gives two things, the numbers and where they stand: take `.values`, "
        "or use `amax`.",
        lambda found, right: type(found).__name__ == "max" and isinstance(right, Tensor),
    ),
    (
        "that is a mask to add, 0 and −infinity; True and False are asked for.",
        _additive,
    ),
    (
        "True and False come back, where numbers are asked for.",
        _typed(_boolean, lambda x: not _boolean(x)),
    ),
    (
        "numbers come back, where True and False are asked for.",
        _typed(lambda x: not _boolean(x), _boolean),
    ),
    (
        "complex numbers come back; right ones are real.",
        _typed(torch.is_complex, lambda x: not x.is_complex()),
    ),
    (
        "right numbers would be whole; these are decimal numbers.",
        _typed(torch.is_floating_point, _whole),
    ),
    (
        "whole numbers come back; right ones would have decimals.",
        _typed(_whole, torch.is_floating_point),
    ),
]


def _of_arguments(
    reference: Function,
    cases: Sequence[Case],
    found: Sequence[Any],
    names: Sequence[str],
    agree: Agree,
) -> str:
    """Say that the right function with other arguments does the same."""

    def same(change: Callable[[list[Any]], list[Any]]) -> bool:
        others = []
        for case, got in zip(cases, found, strict=True):
            others.append(_call(lambda *case: reference(*change(list(case))), case))
            if isinstance(others[-1], Exception) or not agree(got, others[-1]):
                return False
        return any(map(_says_something, others))

    def put(place: int, new: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
        return lambda case: [new(x) if i == place else x for i, x in enumerate(case)]

    def move(i: int, j: int, *, both: bool) -> Callable[[list[Any]], list[Any]]:
        def change(case: list[Any]) -> list[Any]:
            case[i], case[j] = case[j], (case[i] if both else case[j])
            return case

        return change

    tensors = [i for i, x in enumerate(cases[0]) if isinstance(x, Tensor)]
    for i, j in combinations(tensors, 2):
        if same(move(i, j, both=True)):
            return f"`{names[i]}` and `{names[j]}` are exchanged."
    for i, j in product(tensors, tensors):
        if i != j and same(move(i, j, both=False)):
            return f"`{names[j]}` stands where `{names[i]}` belongs."
    changes: list[tuple[str, Callable[[Tensor], Tensor]]] = [
        (
            "`{}` is turned round: True and False are swapped.",
            lambda x: ~x if _boolean(x) else x,
        ),
        ("`{}` has a minus sign too many.", lambda x: -x),
        ("`{}` is transposed.", lambda x: x.transpose(-2, -1)),
        (
            "`{}` has the right shape and the wrong order: reshape and view do not swap axes.",
            lambda x: x.reshape(x.transpose(-2, -1).shape).mT,
        ),
        ("only what stands first in `{0}` is read, `{0}[0]`.", lambda x: x[:1].expand_as(x)),
        ("`{}` is read from its end.", lambda x: x.flip(-1)),
    ]
    for i, (sentence, change) in product(tensors, changes):
        if same(put(i, change)):
            return sentence.format(names[i])
    if same(lambda case: [x[:1] if isinstance(x, Tensor) else x for x in case]):
        return "only what stands first is looked at, index 0 of the first axis."
    steps: list[tuple[str, Callable[[Any], Any]]] = [
        ("`{}` is one too small.", lambda x: x - 1),
        ("`{}` is one too large.", lambda x: x + 1),
        ("`{}` is taken the wrong way round: its sign.", lambda x: -x),
    ]
    fixed: list[tuple[str, Callable[[Any], Any]]] = [
        ("`{}` has no effect: it is taken to be 0.", lambda x: 0),
        ("`{}` has no effect: it is taken to be 1.", lambda x: 1),
        ("`{}` has no effect: it is taken to be 2.", lambda x: 2),
    ]
    for i, x in enumerate(cases[0]):
        if isinstance(x, int | float) and not isinstance(x, bool):
            differs = len({str(case[i]) for case in cases}) > 1
            for sentence, step in [*steps, *(fixed if differs else [])]:
                if same(put(i, step)):
                    return sentence.format(names[i])
    return ""


def _says_something(result: Any) -> bool:
    """Whether a result is more than zeros, False and NaN, which many mistakes have in common."""
    return not isinstance(result, Tensor) or bool(result.nan_to_num(0).any())


def _of_one_more(
    cases: Sequence[Case],
    found: Sequence[Any],
    right: Sequence[Any],
    names: Sequence[str],
    agree: Agree,
) -> str:
    """Say that an argument is added to the right result, or multiplied with it."""
    steps: list[tuple[str, Callable[[Tensor, Tensor], Tensor]]] = [
        ("`{}` is added to the right result.", torch.add),
        ("the right result is multiplied by `{}`, number by number.", torch.mul),
    ]
    for (sentence, step), (i, name) in product(steps, enumerate(names[: len(cases[0])])):
        others = [
            step(b, case[i]) if _alike(b, case[i]) else b
            for b, case in zip(right, cases, strict=True)
        ]
        if all(agree(*pair) for pair in zip(found, others, strict=True)):
            return sentence.format(name)
    return ""


def _alike(a: Any, b: Any) -> bool:
    both = isinstance(a, Tensor) and isinstance(b, Tensor)
    return both and a.shape == b.shape and not _boolean(a)


def _of_error(message: str) -> str:
    """Say what kind of error PyTorch reports."""
    if "must match the size of tensor b" in message or "broadcast" in message:
        return "two tensors meet whose axes, counted from the last, are not equally long."
    if "cannot be multiplied" in message or "batch2 tensor" in message:
        return (
            "in a matrix product, each row of the left meets a column of the right: they must be "
            "equally long."
        )
    if "view size is not compatible" in message:
        return "`view` cannot join axes that a transpose has moved: use `reshape`."
    if "invalid for input of size" in message:
        return "the sizes asked for do not hold all the numbers."
    if "Dimension out of range" in message:
        return "an axis is asked for that the tensor does not have: it has fewer."
    if "out of bounds" in message or "out of range" in message:
        return "an index counts past the end of its axis."
    return ""


_CHANGES: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("a softmax is taken of the right result.", lambda x: x.double().softmax(-1) if x.dim() else x),
    ("the exponential is taken of the right result.", lambda x: x.double().exp()),
    ("the logarithm is taken of the right result.", lambda x: x.double().log()),
    ("the size is right, the sign is lost.", lambda x: x.abs()),
    ("every negative number became 0.", lambda x: x.clamp(min=0)),
    ("every number is one too large.", lambda x: x + 1),
    ("every number is one too small.", lambda x: x - 1),
    (
        "one too many: the right result is summed along its last axis.",
        lambda x: x.sum(-1),
    ),
    ("the right result is summed along its first axis.", lambda x: x.sum(0)),
    (
        "the right result is averaged along its first axis.",
        lambda x: x.double().mean(0),
    ),
    ("only what stands first in the right result comes back.", lambda x: x[0]),
    ("the last axis is in reverse order.", lambda x: x.flip(-1)),
    ("the rows are in reverse order.", lambda x: x.flip(-2)),
    ("the first two axes are swapped.", lambda x: x.transpose(0, 1)),
    ("axes 1 and 2 are swapped.", lambda x: x.transpose(1, 2)),
    ("the first two axes are one.", lambda x: x.flatten(0, 1)),
    ("axes 1 and 2 are one.", lambda x: x.flatten(1, 2)),
    ("the last two axes are one.", lambda x: x.flatten(-2)),
]


def _of_changes(pairs: Sequence[tuple[Any, Any]], agree: Agree) -> str:
    """Say what was done to the right results."""
    for sentence, change in _CHANGES:
        others = [_call(change, (b,)) for _, b in pairs]
        if (
            not any(isinstance(x, Exception) for x in others)
            and all(agree(a, x) for (a, _), x in zip(pairs, others, strict=True))
            and any(map(_says_something, others))
        ):
            return sentence
    return ""


def _same_axes(found: Tensor, right: Tensor) -> bool:
    return sorted(found.shape) == sorted(right.shape)


def _same_numbers(found: Tensor, right: Tensor, agree: Agree) -> bool:
    """Whether the numbers are equal in any order; True and False are so too easily."""
    if found.is_complex() or _boolean(right):
        return False
    return agree(found.flatten().sort().values, right.flatten().sort().values)


def _shaped(test: Callable[[Tensor, Tensor], Any]) -> Callable[[Any, Any], bool]:
    return lambda found, right: found.shape == right.shape and bool(test(found, right))


def _floats(test: Callable[[Tensor, Tensor], Any]) -> Callable[[Any, Any], bool]:
    return _shaped(lambda a, b: b.is_floating_point() and test(a.double(), b.double()))


def _rows_sum(x: Tensor) -> bool:
    sums = x.sum(dim=-1)
    return bool(((sums - 1).abs() < 1e-4).any() and (((sums - 1).abs() < 1e-4) | (sums == 0)).all())


_LOOKS: list[tuple[str, Callable[[Any, Any], bool]]] = [
    ("nothing is True.", _shaped(lambda a, b: _boolean(b) and not a.any())),
    ("everything is True.", _shaped(lambda a, b: _boolean(b) and a.all())),
    (
        "nothing is True that should not be, but some of what should be True is missing.",
        _shaped(lambda a, b: _boolean(b) and not (a & ~b).any()),
    ),
    (
        "all that should be True is True, but more is.",
        _shaped(lambda a, b: _boolean(b) and not (b & ~a).any()),
    ),
    (
        "an axis is missing, or was summed away.",
        lambda a, b: a.dim() < b.dim(),
    ),
    (
        "there is an axis too many.",
        lambda a, b: a.dim() > b.dim(),
    ),
    (
        "NaN: infinity over infinity, 0 over 0 or 0 times infinity.",
        _floats(lambda a, b: (a.isnan() & ~b.isnan()).any()),
    ),
    (
        "nearly right: something small is added, or the numbers are rounded on the way.",
        _floats(lambda a, b: torch.isclose(a, b, rtol=3e-3, atol=3e-3, equal_nan=True).all()),
    ),
    (
        "all are 0.",
        _floats(lambda a, b: not a.any()),
    ),
    (
        "the rows do not sum to 1, as weights do.",
        _floats(lambda a, b: a.dim() > 0 and _rows_sum(b) and not _rows_sum(a)),
    ),
]


def _of_sizes(cases: Sequence[Case], pairs: Sequence[tuple[Tensor, Tensor]], agree: Agree) -> str:
    """Say that the result is a size too large: d times, √n times, or as small."""
    if any(a.shape != b.shape for a, b in pairs):
        return ""
    factors = []
    for a, b in pairs:
        x, y = (z[b.isfinite()].double() for z in (a, b))
        factor = (x @ y / (y @ y)).item()
        if not agree(a, b.double() * factor if factor == factor else b):
            return ""
        factors.append(factor)
    known = [i for i, factor in enumerate(factors) if factor == factor]
    tensors = [i for i, x in enumerate(cases[0]) if isinstance(x, Tensor)]
    for i in tensors:
        for axis, power in product(range(cases[0][i].dim()), (1.0, 0.5, 2.0, -1.0, -0.5, -2.0)):
            try:
                sizes = [cases[n][i].shape[axis] ** power for n in known]
            except (AttributeError, IndexError, ZeroDivisionError):  # no tensor, axis or size there
                continue
            if len(set(sizes)) > 1 and all(
                abs(factors[n] - s) < 1e-3 * s for n, s in zip(known, sizes, strict=True)
            ):
                how = {1.0: "a size", 0.5: "the root of a size", 2.0: "the square of a size"}
                verb = "multiplied" if power > 0 else "divided"
                return (
                    f"the right result is {verb} by {how[abs(power)]}, that of axis {axis} "
                    f"of argument {i + 1}."
                )
    return ""


def _of_runs(
    answer: Function,
    reference: Function,
    cases: Sequence[Case],
    found: Sequence[Any],
    right: Sequence[Any],
    names: Sequence[str],
    wrong: Sequence[int],
    agree: Agree,
) -> str:
    """Say what other runs of the answer show: chance, an argument unread, mixed batches."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        again = [_call(answer, case) for case in cases]
    if not all(agree(a, b) for a, b in zip(found, again, strict=True)):
        return "two runs on the same input differ: there is something random in it."
    for i, name in enumerate(names):
        runs = [
            [[_call(_on(f, i, change), case) for f in (answer, reference)] for case in cases]
            for change in _OTHERS
        ]
        still = all(
            agree(got, before) for run in runs for (got, _), before in zip(run, found, strict=True)
        )
        moved = any(
            isinstance(should, Tensor) and not agree(should, before)
            for run in runs
            for (_, should), before in zip(run, right, strict=True)
        )
        if still and moved:
            return f"`{name}` has no effect."
    for place in wrong:
        if (
            found[place].shape == right[place].shape
            and _mixes(answer, cases[place], found[place], agree)
            and not _mixes(reference, cases[place], right[place], agree)
        ):
            return "what stands in one row of the first axis changes the result of another."
    sizes = [max(map(_largest, case), default=0.0) for case in cases]
    fine = [size for i, size in enumerate(sizes) if i not in wrong]
    if fine and min(sizes[i] for i in wrong) > max(LARGE, *fine):
        return "right for numbers of ordinary size, wrong where they are large."
    return ""


def _largest(x: object) -> float:
    if not isinstance(x, Tensor) or not x.is_floating_point() or not x.numel():
        return 0.0
    return x.nan_to_num(0, 0, 0).abs().max().item()


_OTHERS: list[Callable[[Tensor], Tensor]] = [
    lambda x: x.flip(-1),
    lambda x: x.roll(1),
    torch.zeros_like,
    lambda x: x + 0.5 * x if x.is_floating_point() else x.clamp(max=1) if not _boolean(x) else ~x,
]


def _on(function: Function, place: int, change: Callable[[Tensor], Tensor]) -> Function:
    """Return a function that changes the tensor in one place before it does its work."""
    return lambda *case: function(
        *(change(x) if n == place and isinstance(x, Tensor) else x for n, x in enumerate(case))
    )


def _mixes(function: Function, case: Case, result: Tensor, agree: Agree) -> bool:
    """Whether the first of a batch gets something else when the others are like it."""
    alike = _call(
        lambda *case: function(*(x[:1].expand_as(x) if isinstance(x, Tensor) else x for x in case)),
        case,
    )
    return (
        len({x.shape[:1] for x in case if isinstance(x, Tensor)}) == 1
        and isinstance(alike, Tensor)
        and alike.shape == result.shape != ()
        and not agree(alike[:1], result[:1])
    )
