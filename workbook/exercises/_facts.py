"""What can be said of a wrong answer that no known mistakes explain: properties it really has."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from workbook.exercises._changes import is_weights
from workbook.exercises._compare import agree, as_tensor, equal_cells
from workbook.exercises._running import call

__all__ = ["Trial", "broken"]

Function = Callable[..., Any]
Case = tuple[Any, ...]


@dataclass
class Trial:
    """An answer that returned something of the right kind, and wrong, for some of the cases."""

    answer: Function
    right: Function
    names: Sequence[str]
    cases: Sequence[Case]
    found: Sequence[Any]
    expected: Sequence[Any]
    axes: Sequence[str] = ()
    tolerance: float | None = None

    def tensors(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield what came and what should, in the cases where they differ."""
        for found, expected in zip(self.found, self.expected, strict=True):
            if not agree(found, expected, self.tolerance):
                parts = zip(found, expected, strict=True) if isinstance(expected, tuple) else ()
                for a, b in parts or [(found, expected)]:
                    target = as_tensor(b)
                    result = as_tensor(a, target)
                    if target is not None and result is not None:
                        yield result, target


def broken(trial: Trial) -> Iterator[str]:
    """Yield a sentence for each property that the answer lacks, gross ones first.

    Examples
    --------
    >>> cases = [(torch.tensor([2.0, -1.0]), torch.tensor([5.0, 3.0]))]
    >>> found, right = [torch.tensor([4.0, 1.0])], [torch.tensor([7.0, 0.0])]
    >>> trial = Trial(lambda x, y: x * x, lambda x, y: x + y, ["x", "y"], cases, found, right)
    >>> next(broken(trial))
    'changing `y` never changes the result.'
    """
    for sentence, holds in _LOOKS:
        if all(holds(*pair) for pair in trial.tensors()):
            yield sentence
            break
    lost = any(is_weights(b) and not is_weights(a) for a, b in trial.tensors())
    if lost and all(is_weights(b) for b in map(as_tensor, trial.expected) if b is not None):
        yield "the rows of the result do not sum to 1."
    yield from _of_runs(trial)
    yield from _of_places(trial)


def _floats(test: Callable[[Tensor, Tensor], Any]) -> Callable[[Tensor, Tensor], bool]:
    return lambda a, b: b.is_floating_point() and bool(test(a.double(), b.double()))


def _booleans(test: Callable[[Tensor, Tensor], Any]) -> Callable[[Tensor, Tensor], bool]:
    return lambda a, b: b.dtype == torch.bool and b.dim() > 0 and bool(test(a, b))


def _same_numbers(a: Tensor, b: Tensor) -> bool:
    return b.numel() > 1 and bool(
        equal_cells(a.flatten().sort().values, b.flatten().sort().values).all()
    )


_LOOKS: list[tuple[str, Callable[[Tensor, Tensor], bool]]] = [
    ("nothing is True.", _booleans(lambda a, b: not a.any())),
    ("everything is True.", _booleans(lambda a, b: a.all())),
    ("some True is missing, and no False is.", _booleans(lambda a, b: not (a & ~b).any())),
    ("there is too much True, and none is missing.", _booleans(lambda a, b: not (b & ~a).any())),
    ("all numbers are 0.", _floats(lambda a, b: not a.any())),
    ("all numbers are NaN.", _floats(lambda a, b: a.isnan().all())),
    ("some numbers are NaN.", _floats(lambda a, b: (a.isnan() & ~b.isnan()).any())),
    (
        "it is nearly right: something small is added, or numbers are rounded on the way.",
        _floats(lambda a, b: torch.isclose(a, b, rtol=3e-3, atol=3e-3).all()),
    ),
    (
        "the sizes of the numbers are right, and some of the signs are not.",
        _floats(lambda a, b: equal_cells(a.abs(), b.abs(), 1e-4).all()),
    ),
    ("all the right numbers are there, in the wrong places.", _floats(_same_numbers)),
    ("all numbers are too large.", _floats(lambda a, b: (a >= b).all())),
    ("all numbers are too small.", _floats(lambda a, b: (a <= b).all())),
]


def _of_runs(trial: Trial) -> Iterator[str]:
    """Say what other runs of the answer show: chance, an argument unread, mixed batches."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        again = [call(trial.answer, case) for case in trial.cases]
    if not all(agree(a, b) for a, b in zip(again, trial.found, strict=True)):
        yield "two calls with the same arguments give different results."
        return
    for i, name in enumerate(trial.names[: len(trial.cases[0])]):
        if _unread(trial, trial.answer, trial.found, i) and not _unread(
            trial, trial.right, trial.expected, i
        ):
            yield f"changing `{name}` never changes the result."
    for case, found, expected in zip(trial.cases, trial.found, trial.expected, strict=True):
        if _mixes(trial.answer, case, found) and not _mixes(trial.right, case, expected):
            yield "the items of a batch mix: what stands in one changes the result of another."
            return


def _unread(trial: Trial, function: Function, results: Sequence[Any], place: int) -> bool:
    """Whether other values of an argument never change the result."""
    for case, result in zip(trial.cases, results, strict=True):
        for change in _OTHERS:
            try:
                other = change(case[place])
            except (RuntimeError, TypeError):
                continue
            changed = (*case[:place], other, *case[place + 1 :])
            if not agree(call(function, changed), result):
                return False
    return True


_OTHERS: list[Callable[[Any], Any]] = [
    lambda x: x.flip(-1) if isinstance(x, Tensor) else x + 1,
    lambda x: x.roll(1) if isinstance(x, Tensor) else 2 * x,
    lambda x: torch.zeros_like(x) if isinstance(x, Tensor) else x,
]


def _mixes(function: Function, case: Case, result: Any) -> bool:
    """Whether the first item of a batch gets something else when the others are like it."""
    sizes = {x.shape[:1] for x in case if isinstance(x, Tensor)}
    if len(sizes) != 1 or not isinstance(result, Tensor) or result.dim() < 2:
        return False
    if result.shape[:1] not in sizes:
        return False
    first = tuple(x[:1].expand_as(x) if isinstance(x, Tensor) else x for x in case)
    alike = call(function, first)
    return (
        isinstance(alike, Tensor)
        and alike.shape == result.shape
        and not agree(alike[:1], result[:1])
    )


def _of_places(trial: Trial) -> Iterator[str]:
    """Say where along a named axis the answer is right, if it is so only there."""
    pairs = [(a, b) for a, b in trial.tensors() if a.shape == b.shape]
    for back, name in enumerate(reversed([*trial.axes]), start=1):
        wrong = []
        for a, b in pairs:
            if a.dim() >= back:
                cells = ~equal_cells(a, b, trial.tolerance)
                wrong.append(
                    cells.movedim(-back, 0).flatten(1).any(dim=1) if a.dim() > 1 else cells
                )
        wrong = [w for w in wrong if len(w) > 1]
        if not wrong:
            continue
        if all(w[1:].all() and not w[0] for w in wrong):
            yield f"it is right for the first {name} alone."
        elif all(w[0] and not w[1:].any() for w in wrong):
            yield f"it is wrong for the first {name} alone."
        elif all(w[-1] and not w[:-1].any() for w in wrong):
            yield f"it is wrong for the last {name} alone."
        elif all(w[:-1].all() and not w[-1] for w in wrong):
            yield f"it is right for the last {name} alone."
