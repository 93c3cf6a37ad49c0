"""What can be said of a wrong answer that no known mistakes explain: properties it really has.

Each is seen on the answer and on the right solution: how their numbers compare, and how they
respond where a part of the arguments changes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from workbook.exercises import _words as words
from workbook.exercises._changes import is_weights
from workbook.exercises._compare import agree, as_tensor, equal_cells, parts
from workbook.exercises._running import Failure, attempt, run

__all__ = ["broken", "responses"]

Function = Callable[..., Any]
Case = tuple[Any, ...]


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
        each = zip(parts(result), parts(target), strict=True)
        for n, (part, right_part) in enumerate(each, start=1):
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
    yield from [f"{where}{text}" for text in [*_wrong_places(wrong, axes), *_seen_in(wrong)][:1]]
    targets = [as_tensor(b) for _, b in pairs]
    weights = all(b is not None and is_weights(b) for b in targets)
    if weights and any(a.isfinite().all() and not is_weights(a) for a, _ in wrong[:1]):
        yield "the rows of the result do not sum to 1."


def _seen_in(wrong: Sequence[tuple[Tensor, Tensor]]) -> list[str]:
    return [text for text, holds in _LOOKS if all(holds(*pair) for pair in wrong)]


def _wrong_places(wrong: Sequence[tuple[Tensor, Tensor]], axes: Sequence[str]) -> Iterator[str]:
    """Say that mistakes stand at the first or the last index of an axis alone, or nowhere else."""
    if not wrong or len({a.dim() for a, _ in wrong}) > 1:
        return
    for back, name in enumerate(reversed(axes), start=1):
        if wrong[0][0].dim() < back or any(a.shape[-back] < 2 for a, _ in wrong):
            continue
        spoilt = [
            (~equal_cells(a, b)).transpose(-back, 0).reshape(a.shape[-back], -1).any(1)
            for a, b in wrong
        ]
        for end, called in ((0, f"{name} 0"), (-1, f"the last {name}")):
            others = [x[1:] if end == 0 else x[:-1] for x in spoilt]
            if not any(x.any() for x in others):
                yield f"only {called} is wrong."
            if not any(x[end] for x in spoilt) and all(x.all() for x in others):
                yield f"{called} is right, and no other {name} is."


def _numbers(test: Callable[[Tensor, Tensor], Any]) -> Callable[[Tensor, Tensor], bool]:
    return lambda a, b: b.dtype != torch.bool and bool(test(a.double(), b.double()))


def _booleans(test: Callable[[Tensor, Tensor], Any]) -> Callable[[Tensor, Tensor], bool]:
    return lambda a, b: b.dtype == torch.bool and b.dim() > 0 and bool(test(a, b))


def _same_numbers(a: Tensor, b: Tensor) -> bool:
    return b.numel() > 1 and bool(
        equal_cells(a.flatten().sort().values, b.flatten().sort().values).all()
    )


_LOOKS: list[tuple[str, Callable[[Tensor, Tensor], bool]]] = [
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

    def __init__(self, said: str, right: tuple[Tensor, Tensor], own: tuple[Tensor, Tensor]) -> None:
        self.said, self.right, self.own = said, right, own

    @property
    def factors(self) -> tuple[float | None, float | None]:
        """By which number each result is multiplied, if by one."""
        return _factor(*self.right), _factor(*self.own)

    def moved(self) -> tuple[Tensor, Tensor]:
        """Where the right result moves and the answer's stays, and the other way round."""
        (a, b), (c, d) = self.right, self.own
        right_moves, own_moves = ~equal_cells(a, b, 1e-3), ~equal_cells(c, d, 1e-3)
        right_stays, own_stays = equal_cells(a, b, 1e-6), equal_cells(c, d, 1e-6)
        return right_moves & own_stays, right_stays & own_moves


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
    result that is wrong, where there are several.

    Examples
    --------
    >>> cases = [(torch.tensor([2.0, -1.0]), torch.tensor([5.0, 3.0]))]
    >>> next(responses(lambda x, y: x * x, lambda x, y: x + y, ["x", "y"], cases, []))
    'changing `y` never changes the result.'
    """
    both = _Both(answer, right, part, cases[0])
    if not any(x is not None and x.any() for x in both.own(cases[:4])):
        return  # zeros do not respond
    for place, name in enumerate(names[: len(cases[0])]):
        changes = [*_changes(both, cases[:3], place, _whole(name))]
        moves = [(c.right[0], c.right[1], c.own[0], c.own[1]) for c in changes]
        stays = bool(moves) and all(agree(c, d) for _, _, c, d in moves)
        if stays and sum(not agree(a, b) for a, b, _, _ in moves) > 1:
            yield f"changing `{name}` never changes {both.called}."
            return
    for place, name in enumerate(names[: len(cases[0])]):
        yield from _scaled(name, both.called, [*_changes(both, cases[:4], place, _doubled(name))])
    for place, name in enumerate(names[: len(cases[0])]):
        for change in _changes(both, cases[:1], place, _slices(name)):
            for cells, does in zip(change.moved(), _DOES, strict=True):
                if cells.any():
                    at = words.place(cells.nonzero()[0].tolist(), axes)
                    at = f" {at[:1].lower()}{at[1:]}" if at else ""
                    yield f"if {change.said}, {both.called}{at} {does}"
                    return


_DOES = ("should change; yours stays.", "should stay; yours changes.")
Changes = Callable[[Any], Iterator[tuple[str, Any]]]


class _Both:
    """An answer, the right solution, and which of their results are compared."""

    def __init__(self, answer: Function, right: Function, part: int, case: Case) -> None:
        self.answer, self.right, self.part = answer, right, part
        several = len(parts(attempt(right, case))) > 1
        self.called = f"result number {part + 1}" if several else "the result"

    def own(self, cases: Sequence[Case]) -> list[Tensor | None]:
        """Return the answer's results for many cases in one run."""
        found = run(lambda *given: [attempt(self.answer, case) for case in given], tuple(cases))
        return [self.number(x) for x in ([found] * len(cases) if _failed(found) else found)]

    def number(self, result: Any) -> Tensor | None:
        """Return a result as decimals; None where it is no number."""
        several = [] if _failed(result) else parts(result)
        number = as_tensor(several[self.part]) if len(several) > self.part else None
        return None if number is None or number.is_complex() else number.double()


def _failed(result: Any) -> bool:
    return isinstance(result, Failure)


def _changes(both: _Both, cases: Sequence[Case], place: int, changes: Changes) -> Iterator[_Change]:
    """Yield the changes of one argument that leave both results numbers of one shape."""
    asked: list[tuple[str, Case, Case]] = []
    for case in cases:
        for said, other in changes(case[place]):
            asked.append((said, case, (*case[:place], other, *case[place + 1 :])))
    own = both.own([case for _, before, after in asked for case in (before, after)])
    for i, (said, *pair) in enumerate(asked):
        rights = [both.number(attempt(both.right, case)) for case in pair]
        if _alike(*rights, *own[2 * i : 2 * i + 2]):
            yield _Change(said, tuple(rights), tuple(own[2 * i : 2 * i + 2]))  # type: ignore[arg-type]


def _alike(*results: Tensor | None) -> bool:
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
                other = x.clone()
                part = other.select(axis, index)
                turned = x.dtype == torch.bool
                amount = 0.37 if x.is_floating_point() else 1  # an odd one: no coincidences
                part.copy_(~part if turned else part + amount)
                code = f"`{name}[{', '.join([':'] * axis + [str(index)])}]`"
                yield f"{code} is turned round" if turned else f"{amount} is added to {code}", other

    return changes


def _factor(before: Tensor, after: Tensor) -> float | None:
    """By which number a result is multiplied; None if not by one."""
    size = before.norm()
    if not size.isfinite() or size == 0:
        return None
    one, other = before / size, after / size
    factor = (one * other).sum()
    return factor.item() if equal_cells(other, factor * one, 1e-4).all() else None


def _scaled(name: str, called: str, changes: Sequence[_Change]) -> Iterator[str]:
    """Say by how much a result grows with an argument, if it should grow by another factor."""
    factors = [change.factors for change in changes if change.own[0].isfinite().all()]
    should = [a for a, _ in factors if a is not None]
    if len(should) < max(1, len(factors) - 1) or max(should) - min(should) > 1e-3:
        return
    is_ = [b for a, b in factors if a is not None]
    if all(b is not None and abs(b - should[0]) < 1e-3 for b in is_):
        return
    known = [b for b in is_ if b is not None]
    one = len(known) == len(is_) and max(known) - min(known) < 1e-3
    yours = _by(known[0]) if one else "does not simply grow or shrink with it"
    yield f"if `{name}` doubles, {called} {_by(should[0], 'should')}; yours {yours}."


def _by(factor: float, should: str = "") -> str:
    if abs(factor - 1) < 1e-3:
        return f"{should} stay".strip() if should else "stays"
    verb = "be multiplied" if should else "is multiplied"
    return f"{should} {verb} by {words.number(round(factor, 4))}".strip()
