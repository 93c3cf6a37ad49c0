"""How a grader works: run the reader's function beside a reference and known mistakes."""

import dis
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from attention_lib._arguments import shape_of
from attention_lib.checks._properties import property_of
from attention_lib.checks._verdict import Verdict

__all__ = ["Verdict", "difference", "grade", "is_unwritten"]

# How far two right answers may lie apart, absolutely and relatively: what is left of each dtype
# after sums in another order.
TOLERANCE = {
    torch.float64: 1e-7,
    torch.float32: 2e-5,
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
}
SHOWN = 16  # an input of at most so many numbers is shown as it is, a larger one as its shape

Case = tuple[Any, ...]
Mistakes = Sequence[tuple[Callable[..., object], str]]


def grade(
    answer: object,
    reference: Callable[..., object],
    cases: Sequence[Case],
    mistakes: Mistakes = (),
    *,
    axes: Sequence[str] = (),
    tolerance: float | None = None,
) -> Verdict:
    """Compare a function with a reference on several cases.

    Parameters
    ----------
    answer : callable
        The reader's function. ``...``, and a function whose body is ``return ...``, is an answer
        that nobody has written yet.
    reference : callable
        The right one; returns a tensor, or several.
    cases : sequence of tuple
        Arguments, tensors among them; each function gets copies of its own. Small cases first:
        the first that differs is shown.
    mistakes : sequence of (callable, str)
        Wrong functions that readers are known to write, and what to say of each. The one that
        does what the answer does in every case is named, also if the answer turns its NaN into 0;
        one that raises is known by its error.
        Mistakes of any function (a sign, a transpose, a factor) need no mention here.
    axes : sequence of str
        What the last axes of the result are called where a number is shown that is wrong.
    tolerance : float, optional
        Largest absolute and relative difference that still counts as equal; by default what the
        dtype's rounding explains.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> mean = lambda x: x.mean(dim=-1)
    >>> cases = [(torch.tensor([[1.0, 3.0]]),), (torch.tensor([[2.0, 2.0, 5.0]]),)]
    >>> grade(lambda x: x.sum(dim=-1) / x.shape[-1], mean, cases)
    Correct: 2 cases agree.
    >>> grade(lambda x: x.sum(dim=-1), mean, cases, [(lambda x: x.sum(-1), "that is the sum.")])
    Not yet: that is the sum.
    >>> grade(lambda x: x.amax(dim=-1), mean, cases, axes=["row"])
    Not yet: row 0: 3, should be 2. Given x = [[1, 3]].
    >>> grade(lambda x: ..., mean, cases)
    Write it, then run this cell.
    """
    if answer is ...:
        return Verdict.unwritten()
    if not callable(answer):
        return Verdict(False, f"a function is expected, not {type(answer).__name__}.")
    names = _argument_names(reference)
    outcomes: list[object] = []
    for case in cases:
        given = _copied(case)
        outcomes.append(_outcome(answer, given))
        if is_unwritten(answer, outcomes[-1]):
            return Verdict.unwritten()
        if not all(_same_tensor(*pair) for pair in zip(given, case, strict=True)):
            return Verdict(False, f"the function changed its input. {_shown(names, case)}")
    expected = [reference(*_copied(case)) for case in cases]

    def complaints(others: Iterable[object]) -> Iterator[str]:
        for pair in zip(outcomes, others, strict=True):
            yield difference(*pair, axes=axes, tolerance=tolerance)

    wrong = [(case, said) for case, said in zip(cases, complaints(expected), strict=True) if said]
    if not wrong:
        return Verdict(True, "1 case agrees." if len(cases) == 1 else f"{len(cases)} cases agree.")
    with warnings.catch_warnings(action="ignore"):  # the mistakes' own; the reader's were shown
        for patch in (_as_it_is, _without_nan):
            for mistake, sentence in [*mistakes, *_general(reference)]:
                if not any(complaints(patch(_outcome(mistake, _copied(case))) for case in cases)):
                    return Verdict(False, sentence)
    if sentence := _of_all(outcomes, expected, lambda others: not any(complaints(others))):
        return Verdict(False, sentence)
    case, complaint = wrong[0]
    said = property_of(answer, reference, cases, names, lambda a, b: not difference(a, b))
    more = f" {said[0].upper()}{said[1:]}" if said else ""
    return Verdict(False, f"{complaint}. {_shown(names, case)}{more}")


def is_unwritten(answer: object, outcome: object) -> bool:
    """Tell whether a function is still a stub, by what it gave.

    Examples
    --------
    >>> def stub(x):
    ...     return ...  # your turn
    >>> is_unwritten(stub, stub(1))
    True
    """
    if isinstance(outcome, (TypeError, AttributeError)):
        return "ellipsis" in str(outcome)  # a line of the stub still stands on a gap
    if isinstance(outcome, tuple):
        return any(part is ... for part in outcome)
    return outcome is ... or (outcome is None and _does_nothing(answer))


def difference(
    result: object, expected: object, *, axes: Sequence[str] = (), tolerance: float | None = None
) -> str:
    """Say where a result is not what is expected; an empty string where it is.

    Parameters
    ----------
    result, expected : object
        Tensors, numbers, tuples of them, or errors that were raised.
    axes : sequence of str
        Names of the last axes.
    tolerance : float, optional
        As for :func:`grade`.

    Returns
    -------
    str

    Examples
    --------
    >>> table = torch.tensor([[True, False], [True, True]])
    >>> difference(torch.ones(2, 2).bool(), table, axes=["row", "key"])
    'row 0, key 1: True, should be False'
    """
    if isinstance(expected, Exception) or isinstance(result, Exception):
        return "" if _signature(result) == _signature(expected) else _raised(result)
    if isinstance(expected, tuple):
        return _difference_of_tuples(result, expected, axes, tolerance)
    target = _tensor(expected)
    if target is None:
        return "there is nothing to compare with"
    found = _tensor(result, target)
    if found is None:
        wanted = "True or False" if target.dtype == torch.bool and not target.dim() else "a tensor"
        return f"{wanted} is expected, not {_kind(result)}"
    if found.shape != target.shape:
        return f"expected shape {shape_of(target)}, got {shape_of(found)}"
    if _family(found) != _family(target):
        return f"expected dtype {target.dtype}, got {found.dtype}"
    wrong = ~_close(found, target, tolerance)
    if not wrong.any():
        return ""
    new_nan = wrong & found.isnan()
    place = tuple((new_nan if new_nan.any() else wrong).nonzero()[0].tolist())
    got, should = _two_numbers(found[place].item(), target[place].item())
    where = _place(place, axes)
    return f"{where}{got}, should be {should}"


def _argument_names(function: Callable[..., object]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _does_nothing(function: object) -> bool:
    """Whether a function's code only returns a constant."""
    code = getattr(inspect.unwrap(cast(Callable[..., object], function)), "__code__", None)
    steps = {step.opname for step in dis.get_instructions(code)} if code else {"?"}
    return steps <= {"RESUME", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "NOP"}


def _copied(case: Case) -> Case:
    return tuple(x.clone() if isinstance(x, Tensor) else x for x in case)


def _same_tensor(given: object, original: object) -> bool:
    if not (isinstance(given, Tensor) and isinstance(original, Tensor)):
        return True
    return given.shape == original.shape and torch.equal(
        given.detach().nan_to_num(), original.nan_to_num()
    )


def _outcome(function: Callable[..., object], case: Case) -> object:
    """Return what a function returns or raises."""
    try:
        return function(*case)
    except Exception as error:  # whatever the reader's code raises is shown to the reader
        return error


def _as_it_is(outcome: object) -> object:
    return outcome


def _without_nan(outcome: object) -> object:
    """Return an outcome with 0 for NaN, a patch that hides a mistake and does not mend it."""
    return outcome.nan_to_num(0.0) if isinstance(outcome, Tensor) else outcome


def _signature(outcome: object) -> object:
    return (type(outcome), str(outcome)) if isinstance(outcome, Exception) else None


def _raised(outcome: object) -> str:
    if isinstance(outcome, Exception):
        return f"it raised {type(outcome).__name__}: {str(outcome).strip().rstrip('.')}"
    return "it raised nothing"


def _tensor(result: object, target: Tensor | None = None) -> Tensor | None:
    """Return a tensor, an array or a number as a tensor; None if it is something else."""
    if isinstance(result, Tensor):
        return result.detach().cpu()
    if result is None or isinstance(result, (str, bytes, list, tuple, dict)):
        return None
    try:
        found: Tensor = torch.as_tensor(result)
    except (TypeError, ValueError, RuntimeError):
        return None
    whole = isinstance(result, int) and not isinstance(result, bool)
    if whole and target is not None and target.is_floating_point():
        return found.to(target.dtype)  # 0 is as good as 0.0
    return found


def _family(x: Tensor) -> str:
    if x.dtype == torch.bool:
        return "booleans"
    return "real" if x.is_floating_point() else "complex" if x.is_complex() else "whole"


def _close(found: Tensor, target: Tensor, tolerance: float | None) -> Tensor:
    if not target.is_floating_point():
        return found == target
    if tolerance is None:
        tolerance = max(TOLERANCE[x.dtype] for x in (found, target))
    return torch.isclose(
        found.double(), target.double(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def _difference_of_tuples(
    result: object, expected: tuple[object, ...], axes: Sequence[str], tolerance: float | None
) -> str:
    if not isinstance(result, (tuple, list)) or len(result) != len(expected):
        return f"{len(expected)} results are expected, not {_kind(result)}"
    for number, pair in enumerate(zip(result, expected, strict=True)):
        if said := difference(*pair, axes=axes, tolerance=tolerance):
            return f"in result {number}, {said}"
    return ""


def _kind(result: object) -> str:
    if result is None:
        return "None (is the return missing?)"
    if isinstance(result, (tuple, list)):
        return f"a {type(result).__name__} of {len(result)}"
    return type(result).__name__


def _two_numbers(got: Any, should: Any) -> tuple[str, str]:
    """Write two numbers with as few digits as show that they differ."""
    if isinstance(got, bool) or isinstance(should, bool):
        return str(got), str(should)
    for digits in range(3, 18):
        pair = _number(got, digits), _number(should, digits)
        if pair[0] != pair[1]:
            break
    return pair


def _number(x: Any, digits: int) -> str:
    text = f"{x:.{digits}g}"
    return {"nan": "NaN", "inf": "infinity", "-inf": "−infinity"}.get(text, text)


def _place(place: tuple[int, ...], axes: Sequence[str]) -> str:
    """Say where an entry stands: "batch 1, query 0, key 2: "."""
    if not place:
        return ""
    if not axes:
        return f"at [{', '.join(map(str, place))}]: "
    names = [*["batch"] * (len(place) - len(axes)), *axes][-len(place) :]
    return ", ".join(f"{name} {i}" for name, i in zip(names, place, strict=True)) + ": "


def _shown(names: Sequence[str], case: Case) -> str:
    """Say what a case gave: its numbers where they are short, else its shapes."""

    def given(write: Callable[[Tensor], str]) -> str:
        arguments = zip(names, case, strict=False)
        said = [
            f"{name} {write(x) if isinstance(x, Tensor) else f'= {_called(x, name)}'}"
            for name, x in arguments
        ]
        return f"Given {', '.join(said)}."

    if sum(x.numel() for x in case if isinstance(x, Tensor)) <= SHOWN:
        numbers = given(lambda x: f"= {_listed(x)}")
        if len(numbers) <= 160:
            return numbers
    return given(lambda x: f"of shape {shape_of(x)}")


def _called(x: object, argument: str) -> str:
    """Write an argument that is no tensor: a function by its name, if it has one of its own."""
    if not isinstance(name := getattr(x, "__name__", None), str):
        return str(x)
    return "a function of ours" if name in ("<lambda>", argument) else name


def _listed(x: Tensor) -> str:
    if x.dim():
        return f"[{', '.join(map(_listed, x))}]"
    for digits in range(1, 18):  # as few as tell the number from its neighbours
        text = _number(x.item(), digits) if x.is_floating_point() else str(x.item())
        if not x.is_floating_point() or not x.isfinite() or torch.tensor(float(text)).to(x) == x:
            break
    return text


def _general(reference: Callable[..., object]) -> Mistakes:
    """Return mistakes that can be made with any function, as variants of the right one."""

    def variant(applies: Callable[[Tensor], bool], change: Callable[[Tensor], Tensor]) -> Any:
        def wrong(*case: object) -> object:
            right = reference(*case)
            return change(right) if isinstance(right, Tensor) and applies(right) else None

        return wrong

    def boolean(x: Tensor) -> bool:
        return x.dtype == torch.bool

    numbers = "right, but as numbers 0 and 1: expected dtype torch.bool."
    return [
        (variant(boolean, torch.logical_not), "True and False are swapped."),
        (variant(torch.is_floating_point, torch.neg), "every number has the wrong sign."),
        (
            variant(lambda x: x.dim() > 1, lambda x: x.transpose(-2, -1)),
            "the result is transposed: its last two axes are swapped.",
        ),
        (variant(boolean, lambda x: x.float()), numbers),
        (variant(boolean, lambda x: x.long()), numbers),
    ]


def _of_all(
    outcomes: list[Any], expected: list[object], agree: Callable[[list[object]], bool]
) -> str:
    """Say what holds of every result, if something does: a tuple, an axis of 1, a factor."""
    if all(isinstance(outcome, (tuple, list)) for outcome in outcomes):
        for member, which in enumerate(("first", "second", "third")):
            parts = [outcome[member] if len(outcome) > member else None for outcome in outcomes]
            if not any(difference(*pair) for pair in zip(parts, expected, strict=True)):
                return f"several things are returned; the {which} one alone is right."
    pairs = [
        (found.detach(), target)
        for found, target in zip(outcomes, expected, strict=True)
        if isinstance(found, Tensor) and isinstance(target, Tensor)
    ]
    if len(pairs) < len(outcomes):
        return ""
    found, target = pairs[0]
    if not any(difference(a.squeeze(), b.squeeze()) for a, b in pairs):
        return (
            f"the numbers are right, their shape is not: expected shape {shape_of(target)}, "
            f"got {shape_of(found)}."
        )
    factor = _common_factor(pairs)
    if factor is not None and agree([factor * target for _, target in pairs]):
        return f"every number is {factor:.4g} times what it should be."
    return ""


def _common_factor(pairs: list[tuple[Tensor, Tensor]]) -> float | None:
    """Return the factor that best explains all results, or None."""
    if any(
        a.shape != b.shape or not a.is_floating_point() or not b.is_floating_point()
        for a, b in pairs
    ):
        return None
    found, target = (torch.cat([pair[i].double().flatten() for pair in pairs]) for i in (0, 1))
    factor = (found @ target / target.square().sum()).item()
    return factor if 1e-4 < abs(factor) < 1e4 and abs(factor - 1) > 1e-3 else None
