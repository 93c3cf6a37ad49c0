"""What can be said of a wrong answer that no known mistakes explain: properties it really has."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from workbook.exercises._changes import is_weights
from workbook.exercises._compare import agree, as_tensor, equal_cells, parts
from workbook.exercises._running import copied, run

__all__ = ["broken"]

Function = Callable[..., Any]
Case = tuple[Any, ...]


def broken(
    answer: Function,
    right: Function,
    names: Sequence[str],
    cases: Sequence[Case],
    pairs: Sequence[tuple[Any, Any]],
) -> Iterator[str]:
    """Yield a sentence for each property that an answer lacks, gross ones first.

    Parameters
    ----------
    answer, right : callable
    names : sequence of str
        What the answer calls its arguments.
    cases : sequence of tuple
    pairs : sequence of tuple
        For each case what came, of the right kind, and what should.

    Examples
    --------
    >>> cases = [(torch.tensor([2.0, -1.0]), torch.tensor([5.0, 3.0]))]
    >>> pairs = [(torch.tensor([4.0, 1.0]), torch.tensor([7.0, 0.0]))]
    >>> next(broken(lambda x, y: x * x, lambda x, y: x + y, ["x", "y"], cases, pairs))
    'changing `y` never changes the result.'
    """
    numbers, looked = set(), []
    for result, target in pairs:
        each = zip(parts(result), parts(target), strict=True)
        for n, (part, right_part) in enumerate(each, start=1):
            if not agree(part, right_part):
                b = torch.as_tensor(right_part)
                a = as_tensor(part, b)
                numbers.add(n)
                looked += [(a, b)] if a is not None else []
    if len(numbers) == 1 < len(parts(pairs[0][1])):
        yield f"of the results only number {numbers.pop()} is wrong."
    if any((a != a).any() for a, _ in looked[:1]):
        yield "some numbers are NaN."
    said = (text for text, holds in _LOOKS if all(holds(*pair) for pair in looked))
    yield from [*said][:1]
    targets = [as_tensor(b) for _, b in pairs]
    if all(b is not None and is_weights(b) for b in targets) and not all(
        is_weights(a) for a, _ in looked
    ):
        yield "the rows of the result do not sum to 1."
    for place, name in enumerate(names[: len(cases[0])]):
        if _unread(answer, cases, [a for a, _ in pairs], place) and not _unread(
            right, cases, [b for _, b in pairs], place
        ):
            yield f"changing `{name}` never changes the result."


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
    ("some numbers are too large, and none is too small.", _numbers(lambda a, b: (a >= b).all())),
    ("some numbers are too small, and none is too large.", _numbers(lambda a, b: (a <= b).all())),
]


def _unread(function: Function, cases: Sequence[Case], results: Sequence[Any], place: int) -> bool:
    """Whether other values of an argument never change the result."""
    for case, result in zip(cases, results, strict=True):
        for change in _OTHERS:
            try:
                other = change(case[place])
            except (RuntimeError, TypeError):
                continue
            changed = (*case[:place], other, *case[place + 1 :])
            if not agree(run(function, copied(changed)), result):
                return False
    return True


_OTHERS: list[Callable[[Any], Any]] = [
    lambda x: x.flip(-1) if isinstance(x, Tensor) else x + 1,
    lambda x: x.roll(1) if isinstance(x, Tensor) else 2 * x,
    lambda x: torch.zeros_like(x) if isinstance(x, Tensor) else x,
]
