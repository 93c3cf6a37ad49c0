"""What can be said of a wrong answer that no known mistakes explain: properties it really has.

Each is seen on the answer and on the right solution: how their numbers compare, and how they
respond where a part of the arguments changes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from attention_workbook.exercises.engine import words
from attention_workbook.exercises.engine.changes import is_weights
from attention_workbook.exercises.engine.compare import agree, as_tensor, equal_cells, parts
from attention_workbook.exercises.engine.running import Failure, attempt, run

__all__ = ["broken", "clock", "nearly_right", "responses"]

Function = Callable[..., Any]
Case = tuple[Any, ...]
SECONDS = 1
clock = getattr(time, "process_time", time.time)  # a busy machine may take longer


def broken(pairs: Sequence[tuple[Any, Any]], axes: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each property that an answer's results lack, gross ones first.

    Parameters
    ----------
    pairs : sequence of tuple
        For each case what came, of the right kind, and what should.
    axes : sequence of str
        What the last axes of a result are called.

    Examples
    --------
    >>> pairs = [(torch.tensor([4.0, 1.0]), torch.tensor([7.0, 3.0]))]
    >>> next(broken(pairs, ["key"]))
    'all numbers are too small.'
    """
    numbers, wrong = set(), []
    for result, target in pairs:
        pairs_of_parts = zip(parts(result), parts(target), strict=True)
        for n, (part, right_part) in enumerate(pairs_of_parts, start=1):
            if not agree(part, right_part):
                b = torch.as_tensor(right_part)
                a = as_tensor(part, b)
                numbers.add(n)
                wrong += [(a, b)] if a is not None else []
    if len(numbers) == 1 < len(parts(pairs[0][1])):
        yield f"of the results only number {numbers.pop()} is wrong."
    where = "" if all(not agree(*pair) for pair in pairs) else "where it is wrong, "
    if any((a != a).any() for a, _ in wrong[:1]):
        yield f"{where}some numbers are NaN."
    yield from [
        f"{where}{text}" for text in [*_wrong_places(wrong, axes), *_properties_of(wrong)][:1]
    ]
    targets = [as_tensor(b) for _, b in pairs]
    weights = all(b is not None and is_weights(b) for b in targets)
    if weights and any(a.isfinite().all() and not is_weights(a) for a, _ in wrong[:1]):
        yield "the rows of the result do not sum to 1."


NEAR = 0.02  # of a number: an error of rounding or of an approximation


def nearly_right(pairs: Sequence[tuple[Any, Any]]) -> str:
    """Say that results are right but for a small error; an empty string if they are not.

    Examples
    --------
    >>> nearly_right([(torch.tensor([4.0, 1.01]), torch.tensor([4.0, 1.0]))])
    'every number is nearly right. Is something rounded or approximated on the way, as a \
derivative by small steps is?'
    """
    errors: dict[bool, float] = {}  # the largest one in float64, and elsewhere
    fine_results = 0  # in float64
    for result, target in pairs:
        for part, right_part in zip(parts(result), parts(target), strict=True):
            b = torch.as_tensor(right_part)
            a = as_tensor(part, b)
            if a is None or a.shape != b.shape or not b.is_floating_point() or not b.numel():
                return ""
            is_fine = b.dtype == torch.float64
            error = ((a - b).abs() / (b.abs() + 0.05 * b.abs().max() + 1e-3)).max().item()
            errors[is_fine] = max(errors.get(is_fine, 0.0), error if error == error else 1.0)
            fine_results += is_fine
    if max(errors.values()) < NEAR:
        return (
            "every number is nearly right. Is something rounded or approximated on the way, as a "
            "derivative by small steps is?"
        )
    if len(errors) == 2 <= fine_results and errors[True] < NEAR:
        return (
            "it is nearly right in float64, and wrong in float32: a difference of two nearly equal "
            "numbers, as over a very small step, loses its digits there."
        )
    return ""


def _properties_of(wrong: Sequence[tuple[Tensor, Tensor]]) -> list[str]:
    return [text for text, holds in _PROPERTIES if all(holds(*pair) for pair in wrong)]


def _wrong_places(wrong: Sequence[tuple[Tensor, Tensor]], axes: Sequence[str]) -> Iterator[str]:
    """Say that mistakes stand at the first or the last index of an axis alone, or nowhere else."""
    if not wrong or len({a.dim() for a, _ in wrong}) > 1:
        return
    for back, name in enumerate(reversed(axes), start=1):
        if wrong[0][0].dim() < back or any(a.shape[-back] < 2 for a, _ in wrong):
            continue
        wrong_cells = [
            (~equal_cells(a, b)).transpose(-back, 0).reshape(a.shape[-back], -1).any(1)
            for a, b in wrong
        ]
        for end, place in ((0, f"{name} 0"), (-1, f"the last {name}")):
            other_cells = [x[1:] if end == 0 else x[:-1] for x in wrong_cells]
            if not any(x.any() for x in other_cells):
                yield f"only {place} is wrong."
            if not any(x[end] for x in wrong_cells) and all(x.all() for x in other_cells):
                yield f"{place} is right, and no other {name} is."


def _numbers(test: Callable[[Tensor, Tensor], Any]) -> Callable[[Tensor, Tensor], bool]:
    return lambda a, b: b.dtype != torch.bool and bool(test(a.double(), b.double()))


def _booleans(test: Callable[[Tensor, Tensor], Any]) -> Callable[[Tensor, Tensor], bool]:
    return lambda a, b: b.dtype == torch.bool and b.dim() > 0 and bool(test(a, b))


def _same_numbers(a: Tensor, b: Tensor) -> bool:
    return b.numel() > 1 and bool(
        equal_cells(a.flatten().sort().values, b.flatten().sort().values).all()
    )


_PROPERTIES: list[tuple[str, Callable[[Tensor, Tensor], bool]]] = [
    ("some True is missing, and no False is.", _booleans(lambda a, b: not (a & ~b).any())),
    ("there is too much True, and none is missing.", _booleans(lambda a, b: not (b & ~a).any())),
    ("all numbers are 0.", _numbers(lambda a, b: not a.any())),
    ("all the right numbers are there, in the wrong places.", _numbers(_same_numbers)),
    ("all numbers are too large.", _numbers(lambda a, b: (a > b).all())),
    ("all numbers are too small.", _numbers(lambda a, b: (a < b).all())),
    ("some numbers are too large, and none is too small.", _numbers(lambda a, b: (a >= b).all())),
    ("some numbers are too small, and none is too large.", _numbers(lambda a, b: (a <= b).all())),
]


class _Change:
    """A change of one argument, and how the right result and the answer's respond to it."""

    def __init__(
        self, description: str, right: tuple[Tensor, Tensor], answers: tuple[Tensor, Tensor]
    ) -> None:
        self.description, self.right, self.answers = description, right, answers

    @property
    def factors(self) -> tuple[float | None, float | None]:
        """By which number each result is multiplied, if by one."""
        return _factor(*self.right), _factor(*self.answers)

    def moved(self) -> tuple[Tensor, Tensor]:
        """Where the right result moves and the answer's stays, and the other way round."""
        right_moves = ~equal_cells(*self.right, 1e-3)
        answer_moves = ~equal_cells(*self.answers, 1e-3)
        right_stays, answer_stays = (equal_cells(*x, 1e-6) for x in (self.right, self.answers))
        return right_moves & answer_stays, right_stays & answer_moves


def responses(
    answer: Function,
    right: Function,
    names: Sequence[str],
    cases: Sequence[Case],
    axes: Sequence[str],
    part: int = 0,
) -> Iterator[str]:
    """Yield how an answer responds to a change of its arguments, where the right one does not.

    The first of the cases is the one that the verdict shows, and ``part`` counts, from 0, the
    result that is wrong, where there are several. After a second no other change is tried.

    Examples
    --------
    >>> cases = [(torch.tensor([2.0, -1.0]), torch.tensor([5.0, 3.0]))]
    >>> next(responses(lambda x, y: x * x, lambda x, y: x + y, ["x", "y"], cases, []))
    'changing `y` never changes the result.'
    """
    end = clock() + SECONDS
    comparison = _Comparison(answer, right, part, cases[0])
    if not any(x is not None and x.any() for x in comparison.answers(cases[:4])):
        return  # zeros do not respond
    result = comparison.result
    for place, name in enumerate(names[: len(cases[0])]):
        if clock() > end:
            return
        changes = [*_changes(comparison, cases[:3], place, _whole(name))]
        stays = bool(changes) and all(agree(*change.answers) for change in changes)
        if stays and sum(not agree(*change.right) for change in changes) > 1:
            yield f"changing `{name}` never changes {result}."
            return
    for place, name in enumerate(names[: len(cases[0])]):
        if clock() > end:
            return
        yield from _scaled(name, result, [*_changes(comparison, cases[:4], place, _doubled(name))])
    for place, name in enumerate(names[: len(cases[0])]):
        if clock() > end:
            return
        for change in _changes(comparison, cases[:1], place, _slices(name)):
            for cells, response in zip(change.moved(), _RESPONSES, strict=True):
                if cells.any():
                    at = words.place(cells.nonzero()[0].tolist(), axes)
                    at = f" {at[:1].lower()}{at[1:]}" if at else ""
                    yield f"if {change.description}, {result}{at} {response}"
                    return


_RESPONSES = ("should change; yours stays.", "should stay; yours changes.")
Changes = Callable[[Any], Iterator[tuple[str, Any]]]


class _Comparison:
    """An answer, the right solution, and which of their results are compared."""

    def __init__(self, answer: Function, right: Function, part: int, case: Case) -> None:
        self.answer, self.right, self.part = answer, right, part
        several = len(parts(attempt(right, case))) > 1
        self.result = f"result number {part + 1}" if several else "the result"  # in words

    def answers(self, cases: Sequence[Case]) -> list[Tensor | None]:
        """Return the answer's results for many cases in one run."""
        results = run(lambda *given: [attempt(self.answer, case) for case in given], tuple(cases))
        return [self.number(x) for x in ([results] * len(cases) if _failed(results) else results)]

    def number(self, result: Any) -> Tensor | None:
        """Return a result as decimals; None where it is no number."""
        several = [] if _failed(result) else parts(result)
        number = as_tensor(several[self.part]) if len(several) > self.part else None
        return None if number is None or number.is_complex() else number.double()


def _failed(result: Any) -> bool:
    return isinstance(result, Failure)


def _changes(
    comparison: _Comparison, cases: Sequence[Case], place: int, changes: Changes
) -> Iterator[_Change]:
    """Yield the changes of one argument that leave both results numbers of one shape."""
    pairs: list[tuple[str, Case, Case]] = []  # how cases differ, and both
    for case in cases:
        for description, changed in changes(case[place]):
            pairs.append((description, case, (*case[:place], changed, *case[place + 1 :])))
    answers = comparison.answers([case for _, *pair in pairs for case in pair])
    for i, (description, *pair) in enumerate(pairs):
        right = [comparison.number(attempt(comparison.right, case)) for case in pair]
        own = answers[2 * i : 2 * i + 2]
        if _same_shapes(*right, *own):
            yield _Change(description, tuple(right), tuple(own))  # type: ignore[arg-type]


def _same_shapes(*results: Tensor | None) -> bool:
    return all(x is not None and x.shape == results[0].shape for x in results)  # type: ignore


def _whole(name: str) -> Changes:
    def changes(x: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(x, Tensor):
            other = [~x] if x.dtype == torch.bool else [x + 10, -3 * x]
            yield from ((name, y) for y in (x.flip(-1), x.roll(1), torch.zeros_like(x), *other))
        elif isinstance(x, int | float) and not isinstance(x, bool):
            yield from [(name, x + 1), (name, 2 * x)]

    return changes


def _doubled(name: str) -> Changes:
    def changes(x: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(x, float) or (isinstance(x, Tensor) and x.is_floating_point()):
            yield name, 2 * x

    return changes


def _slices(name: str) -> Changes:
    """Change the first or the last of the slices along an axis."""

    def changes(x: Any) -> Iterator[tuple[str, Any]]:
        for axis in range(x.dim()) if isinstance(x, Tensor) else ():
            for index in (0, -1) if x.shape[axis] > 1 else ():
                changed = x.clone()
                part = changed.select(axis, index)
                is_boolean = x.dtype == torch.bool
                amount = 0.37 if x.is_floating_point() else 1  # an odd one: no coincidences
                part.copy_(~part if is_boolean else part + amount)
                code = f"`{name}[{', '.join([':'] * axis + [str(index)])}]`"
                yield (
                    f"{code} is turned round" if is_boolean else f"{amount} is added to {code}",
                    changed,
                )

    return changes


def _factor(before: Tensor, after: Tensor) -> float | None:
    """By which number a result is multiplied; None if not by one."""
    size = before.norm()
    if not size.isfinite() or size == 0:
        return None
    direction, changed_direction = before / size, after / size
    factor = (direction * changed_direction).sum()
    return factor.item() if equal_cells(changed_direction, factor * direction, 1e-4).all() else None


def _scaled(name: str, result: str, changes: Sequence[_Change]) -> Iterator[str]:
    """Say by how much a result grows with an argument, if it should grow by another factor."""
    factors = [change.factors for change in changes if change.answers[0].isfinite().all()]
    right = [a for a, _ in factors if a is not None]
    if len(right) < max(1, len(factors) - 1) or max(right) - min(right) > 1e-3:
        return
    own = [b for a, b in factors if a is not None]
    if all(b is not None and abs(b - right[0]) < 1e-3 for b in own):
        return
    known = [b for b in own if b is not None]
    is_constant = len(known) == len(own) and max(known) - min(known) < 1e-3
    yours = _factor_in_words(known[0]) if is_constant else "does not simply grow or shrink with it"
    yield f"if `{name}` doubles, {result} {_factor_in_words(right[0], 'should')}; yours {yours}."


def _factor_in_words(factor: float, should: str = "") -> str:
    if abs(factor - 1) < 1e-3:
        return f"{should} stay".strip() if should else "stays"
    verb = "be multiplied" if should else "is multiplied"
    return f"{should} {verb} by {words.number(round(factor, 4))}".strip()
