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
    for sentence, holds in _KINDS:
        if all(holds(*pair) for pair in zip(found, right, strict=True)):
            return sentence
    if all(isinstance(x, tuple | list) and len(x) for x in (*found, *right)):
        if len({len(x) for x in (*found, *right)}) > 1:
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
    wrong = [i for i, pair in enumerate(zip(found, right, strict=True)) if not agree(*pair)]
    first = found[wrong[0]]
    if isinstance(first, Exception):
        return _of_error(str(first))
    if len(pairs) < len(found) or any(_boolean(a) != _boolean(b) for a, b in pairs):
        return ""
    for sentence, same in _CHANGES:
        if all(agree(a, same(b)) for a, b in pairs):
            return sentence
    if all(sorted(a.shape) == sorted(b.shape) and _same_numbers(a, b) for a, b in pairs):
        return "all the right numbers are there, in the wrong places."
    for sentence, holds in _LOOKS:
        if all(holds(found[i], right[i]) for i in wrong):
            return sentence
    if sentence := _of_sizes(cases, pairs, agree):
        return sentence
    return _of_runs(answer, reference, cases, found, right, names, wrong, agree)


def _of_parts(found: Sequence[Any], right: Sequence[Any], agree: Agree) -> str:
    """Say of several results which of them are right, or in what way all are wrong."""
    parts = range(len(right[0]))
    where = {
        i: [j for j in parts if all(agree(f[i], r[j]) for f, r in zip(found, right, strict=True))]
        for i in parts
    }
    if all(where.values()):
        return "the right things come back in the wrong order, or one of them twice."
    if not any(where.values()):
        pairs = [(f[i], r[i]) for f, r in zip(found, right, strict=True) for i in parts]
        for sentence, same in _CHANGES:
            if all(agree(a, same(b)) for a, b in pairs):
                return f"of each result: {sentence}"
        if all(isinstance(a, Tensor) and _same_numbers(a, b) for a, b in pairs):
            return "each result has the right numbers, in the wrong places."
        if all(
            _same_numbers(torch.cat([x.flatten() for x in f]), torch.cat([x.flatten() for x in r]))
            for f, r in zip(found, right, strict=True)
        ):
            return "every number is used once, but numbers stand in a result that is not theirs."
    return ""


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
    )


def _typed(found_is: Callable[[Tensor], bool], right_is: Callable[[Tensor], bool]) -> Any:
    def holds(found: Any, right: Any) -> bool:
        both = isinstance(found, Tensor) and isinstance(right, Tensor)
        return bool(both and found_is(found) and right_is(right))

    return holds


def _boolean(x: Tensor) -> bool:
    return x.dtype == torch.bool


def _whole(x: Tensor) -> bool:
    return not x.is_floating_point() and not _boolean(x)


_KINDS: list[tuple[str, Callable[[Any, Any], bool]]] = [
    (
        "one thing comes back where several are asked for: return them with commas between.",
        lambda found, right: isinstance(right, tuple) and isinstance(found, Tensor),
    ),
    (
        "a dictionary comes back: return its parts with commas between.",
        lambda found, right: isinstance(found, dict),
    ),
    (
        "not as many things come back as are asked for.",
        lambda found, right: (
            isinstance(found, tuple | list)
            and isinstance(right, tuple)
            and len(found) != len(right)
        ),
    ),
    (
        "a Python list comes back: torch.tensor or torch.stack makes it a tensor.",
        lambda found, right: isinstance(found, list) and isinstance(right, Tensor),
    ),
    (
        "a tuple comes back: torch.stack or torch.cat makes one tensor of its parts.",
        lambda found, right: type(found) is tuple and isinstance(right, Tensor),
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
        _typed(torch.is_floating_point, _boolean),
    ),
    ("numbers come back, where True and False are asked for.", _typed(_whole, _boolean)),
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
            others.append(_call(reference, tuple(change(list(case)))))
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
            lambda x: ~x if _boolean(x) else x[:0],
        ),
        ("`{}` has a minus sign too many.", lambda x: -x),
        ("`{}` is transposed.", lambda x: x.mT),
        (
            "`{}` has the right shape and the wrong order: reshape and view do not swap axes.",
            lambda x: x.reshape(x.mT.shape).mT if x.dim() > 1 and min(x.shape[-2:]) > 1 else x,
        ),
        ("only what stands first in `{0}` is read, `{0}[0]`.", lambda x: x[:1].expand_as(x)),
        ("`{}` is read from its end.", lambda x: x.flip(-1)),
    ]
    for i, (sentence, change) in product(tensors, changes):
        try:
            if same(put(i, change)):
                return str(sentence.format(names[i]))
        except (TypeError, RuntimeError):
            continue
    if tensors and same(lambda case: [x[:1] if isinstance(x, Tensor) else x for x in case]):
        return "only what stands first is looked at, index 0 of the first axis."
    scalars = [i for i, x in enumerate(cases[0]) if isinstance(x, int | float)]
    steps: list[tuple[str, Callable[[Any], Any]]] = [
        ("`{}` is one too small.", lambda x: x - 1),
        ("`{}` is one too large.", lambda x: x + 1),
        ("`{}` is taken the wrong way round: its sign.", lambda x: -x),
        ("`{}` has no effect: it is taken to be 0.", lambda x: 0),
        ("`{}` has no effect: it is taken to be 1.", lambda x: 1),
        ("`{}` has no effect: it is taken to be 2.", lambda x: 2),
    ]
    for i, (sentence, step) in product(scalars, steps):
        if same(put(i, step)):
            return str(sentence.format(names[i]))
    return ""


def _says_something(result: Any) -> bool:
    """Whether a result is more than zeros and NaN, which many mistakes have in common."""
    if isinstance(result, tuple | list):
        return any(map(_says_something, result))
    return not isinstance(result, Tensor) or _boolean(result) or bool(result.nan_to_num(0).any())


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
    return both and a.shape == b.shape and a.is_floating_point() and b.is_floating_point()


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
    if "out of bounds" in message or "out of range" in message:
        return "an index counts along the wrong axis, which is shorter."
    return ""


def _all_but(dim: int, change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: change(x) if x.dim() >= dim else x.new_empty(0)


_CHANGES: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("a softmax is taken of the right result.", _all_but(1, lambda x: x.double().softmax(-1))),
    ("the exponential is taken of the right result.", lambda x: x.double().exp()),
    ("the logarithm is taken of the right result.", lambda x: x.double().log()),
    ("the size is right, the sign is lost.", lambda x: x if _boolean(x) else x.abs()),
    ("every negative number became 0.", lambda x: x if _boolean(x) else x.clamp(min=0)),
    ("every number is one too large.", lambda x: x if _boolean(x) else x + 1),
    ("every number is one too small.", lambda x: x if _boolean(x) else x - 1),
    (
        "one too many: the right result is summed along its last axis.",
        _all_but(1, lambda x: x.sum(-1)),
    ),
    ("the right result is summed along its first axis.", _all_but(1, lambda x: x.sum(0))),
    (
        "the right result is averaged along its first axis.",
        _all_but(1, lambda x: x.double().mean(0)),
    ),
    ("only what stands first in the right result comes back.", _all_but(1, lambda x: x[0])),
    ("the last axis is in reverse order.", _all_but(1, lambda x: x.flip(-1))),
    ("the rows are in reverse order.", _all_but(2, lambda x: x.flip(-2))),
    ("the first two axes are swapped.", _all_but(2, lambda x: x.transpose(0, 1))),
    ("axes 1 and 2 are swapped.", _all_but(3, lambda x: x.transpose(1, 2))),
    ("the first two axes are one.", _all_but(2, lambda x: x.flatten(0, 1))),
    ("axes 1 and 2 are one.", _all_but(3, lambda x: x.flatten(1, 2))),
    ("the last two axes are one.", _all_but(2, lambda x: x.flatten(-2))),
]


def _same_numbers(found: Tensor, right: Tensor) -> bool:
    if found.numel() != right.numel() or _boolean(right) or found.numel() < 2:
        return False
    a, b = (x.double().flatten().sort().values for x in (found, right))
    return bool(torch.isclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True).all())


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
    if any(a.shape != b.shape or not b.is_floating_point() for a, b in pairs):
        return ""
    factors = []
    for a, b in pairs:
        x, y = a.double().flatten(), b.double().flatten()
        factor = (x @ y / (y @ y)).item() if y.any() and y.isfinite().all() else float("nan")
        if factor == factor and not agree(a, b.double() * factor):
            return ""
        factors.append(factor)
    known = [i for i, factor in enumerate(factors) if factor == factor]
    tensors = [i for i, x in enumerate(cases[0]) if isinstance(x, Tensor)]
    for i in tensors if len(known) > 1 else []:
        for axis, power in product(range(cases[0][i].dim()), (1.0, 0.5, 2.0, -1.0, -0.5, -2.0)):
            try:
                sizes = [cases[n][i].shape[axis] ** power for n in known]
            except IndexError:
                continue
            if all(abs(factors[n] / s - 1) < 1e-3 for n, s in zip(known, sizes, strict=True)):
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
    if not all(agree(a, b) for a, b in zip(found, again, strict=True) if isinstance(a, Tensor)):
        return "two runs on the same input differ: there is something random in it."
    for i, name in enumerate(names):
        runs = [
            [[_call(f, _changed(case, i, change)) for f in (answer, reference)] for case in cases]
            for change in _OTHERS
        ]
        still = all(
            isinstance(got, Tensor) and agree(got, before)
            for run in runs
            for (got, _), before in zip(run, found, strict=True)
        )
        moved = any(
            isinstance(should, Tensor) and not agree(should, before)
            for run in runs
            for (_, should), before in zip(run, right, strict=True)
        )
        if still and moved:
            return f"`{name}` has no effect."
    for place in wrong:
        same_shape = getattr(found[place], "shape", 0) == getattr(right[place], "shape", 1)
        if (
            same_shape
            and _mixes(answer, cases[place], found[place], agree)
            and not _mixes(reference, cases[place], right[place], agree)
        ):
            return "what stands in one row of the first axis changes the result of another."
    if wrong[0] > 0:
        large = [
            any(
                x.is_floating_point() and x.numel() and x.nan_to_num(0, 0, 0).abs().max() > LARGE
                for x in case
                if isinstance(x, Tensor)
            )
            for case in cases
        ]
        if all(large[i] for i in wrong):
            return "right for numbers of ordinary size, wrong where they are large."
    return ""


_OTHERS: list[Callable[[Tensor], Tensor]] = [
    lambda x: x.flip(-1),
    lambda x: x.roll(1, 0),
    torch.zeros_like,
    lambda x: x + 0.5 * x if x.is_floating_point() else x.clamp(max=1) if not _boolean(x) else ~x,
]


def _changed(case: Case, place: int, change: Callable[[Tensor], Tensor]) -> Case:
    return tuple(
        change(x) if n == place and isinstance(x, Tensor) else x for n, x in enumerate(case)
    )


def _mixes(function: Function, case: Case, result: Any, agree: Agree) -> bool:
    """Whether the first of a batch gets something else when it is alone."""
    tensors = [x for x in case if isinstance(x, Tensor)]
    if not tensors or not all(x.dim() == tensors[0].dim() for x in tensors):
        return False
    length = tensors[0].shape[0]
    if length < 2 or any(x.shape[0] != length for x in tensors) or not isinstance(result, Tensor):
        return False
    alone = _call(function, tuple(x[:1] if isinstance(x, Tensor) else x for x in case))
    return isinstance(alone, Tensor) and result.dim() > 0 and not agree(alone, result[:1])
