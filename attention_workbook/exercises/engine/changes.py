"""What can be wrong with any function: one of its inputs, its result, or its result in some places.

The first two are texts of Python, which :class:`~.edits.Source` puts into a right
solution. The third is repaired in the answer: where a repair of all its results gives the right
ones, what was repaired is what is wrong with it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

__all__ = ["REPAIRS", "Repair", "inputs", "is_weights", "results", "sizes"]

Case = tuple[Any, ...]


def inputs(names: Sequence[str], case: Case) -> Iterator[tuple[str, str]]:
    """Yield statements that change arguments, with what each means.

    Parameters
    ----------
    names : sequence of str
        What the arguments are called.
    case : tuple
        One set of arguments, to see of which kinds they are.

    Examples
    --------
    >>> next(inputs(["a", "b"], (torch.zeros(1), torch.ones(1))))
    ('a, b = b, a', '`a` and `b` have changed places.')
    """
    tensors = [name for name, x in zip(names, case, strict=False) if isinstance(x, Tensor)]
    for a, b in combinations(tensors, 2):
        yield f"{a}, {b} = {b}, {a}", f"`{a}` and `{b}` have changed places."
    for name, x in zip(names, case, strict=False):
        for kinds, sentence, change in _INPUTS:
            if _kind(x) in kinds.split():
                yield f"{name} = {change.format(name)}", sentence.format(f"`{name}`")


def _kind(x: Any) -> str:
    if isinstance(x, Tensor):
        return "mask" if x.dtype == torch.bool else "tensor" if x.is_floating_point() else "whole"
    return type(x).__name__


# kinds of arguments, what to say of the change, and the changed argument
_INPUTS = [
    ("tensor", "{} has the wrong sign.", "-{0}"),
    ("mask", "{} is turned round: True and False are swapped.", "~{0}"),
    ("tensor mask", "{} is transposed.", "{0}.transpose(-2, -1)"),
    ("tensor mask whole", "{} is read in reverse order along its last axis.", "{0}.flip(-1)"),
    ("tensor mask whole", "only index 0 of {} is used.", "{0}[:1].expand_as({0})"),
    (
        "tensor",
        "{} is scaled to length 1, which it should not be.",
        "{0} / {0}.norm(dim=-1, keepdim=True)",
    ),
    (
        "tensor",
        "{} is rounded to float32, which loses digits of float64.",
        "{0}.float().to({0}.dtype)",
    ),
    ("int whole", "{} is one too small where it is used.", "{0} - 1"),
    ("int whole", "{} is one too large where it is used.", "{0} + 1"),
    ("float int", "{} has the wrong sign.", "-{0}"),
    ("float", "{} enters with twice the power that it should have.", "{0} * {0}"),
    (
        "float",
        "{} enters upside down: multiplied where it should divide, or the other way round.",
        "1 / {0}",
    ),
]

# the same of a result: kinds, what to say, and what follows it
_RESULTS = [
    ("mask", "True and False are swapped.", ".logical_not()"),
    ("tensor", "that is 1 minus the right result.", ".neg().add(1)"),
    ("tensor", "a softmax is taken once too often, at the end.", ".softmax(-1)"),
    ("tensor", "the numbers are rounded to whole ones.", ".round()"),
    (
        "tensor mask whole",
        "the result is transposed: its last two axes are swapped.",
        ".transpose(-2, -1)",
    ),
    ("tensor mask whole", "the last axis is in reverse order.", ".flip(-1)"),
]


def results(result: Tensor) -> Iterator[tuple[str, str]]:
    """Yield what may follow a result like this one, with what each means.

    Examples
    --------
    >>> next(results(torch.tensor(True)))
    ('.logical_not()', 'True and False are swapped.')
    """
    for kinds, sentence, change in _RESULTS:
        if _kind(result) in kinds.split() and (result.dim() or "-1" not in change):
            yield change, sentence


_AXES = {-1: "the last axis", -2: "the last axis but one"}


def sizes(names: Sequence[str], case: Case) -> dict[str, float]:
    """Return the numbers that come with the arguments, sizes included, by what they are called.

    Examples
    --------
    >>> sizes(["x", "n"], (torch.zeros(4), 2))
    {'the size of the last axis of `x`': 4, '`n`': 2}
    """
    sizes_by_name: dict[str, float] = {}
    for name, x in zip(names, case, strict=False):
        if isinstance(x, Tensor):
            for axis, size in enumerate(x.shape, start=-x.dim()):
                axis_in_words = _AXES.get(axis, f"axis {axis}")
                sizes_by_name[f"the size of {axis_in_words} of `{name}`"] = size
        elif _kind(x) in ("int", "float"):
            sizes_by_name[f"`{name}`"] = x
    return sizes_by_name


@dataclass(frozen=True)
class Repair:
    """A repair of a wrong result, and what it says of the answer that needed it.

    Parameters
    ----------
    sentence : str
    mend : callable, optional
        ``mend(result, right, case)`` returns the result repaired; None where it does not apply.
    cells : callable, optional
        Instead, ``cells(result, right, case)``: where numbers are copied, which then prove nothing.
    """

    sentence: str
    mend: Callable[[Tensor, Tensor, Case], Tensor | None] | None = None
    cells: Callable[[Tensor, Tensor, Case], Tensor] | None = None


def is_weights(x: Tensor) -> bool:
    """Tell whether the rows of a result are weights: each sums to 1, or is 0.

    Examples
    --------
    >>> is_weights(torch.tensor([[0.5, 0.5], [0.0, 0.0]])), is_weights(torch.tensor([[2.0, 2.0]]))
    (True, False)
    """
    if x.dim() == 0 or not x.is_floating_point() or x.shape[-1] < 2:
        return False
    sums = x.sum(dim=-1)
    if not sums.any():
        return False
    return bool((((sums - 1).abs() < 1e-4) | (sums == 0)).all())


def _divided(result: Tensor, right: Tensor, case: Case) -> Tensor | None:
    if not is_weights(right):
        return None
    return (result / result.sum(dim=-1, keepdim=True)).where((right != 0).any(-1, True), result)


def _row_factors(result: Tensor, right: Tensor, case: Case) -> Tensor | None:
    if result.dim() < 1 or result.shape[-1] < 3 or not result.is_floating_point():
        return None
    factors = (result * right).sum(-1, True) / result.square().sum(-1, True)
    return (result * factors.nan_to_num()).where((right != 0).any(-1, True), result)


def _not_finite(result: Tensor, right: Tensor, case: Case) -> Tensor:
    return ~result.isfinite() & right.isfinite()


def _large(result: Tensor, right: Tensor, case: Case) -> Tensor:
    numbers = [x for x in case if isinstance(x, Tensor) and x.is_floating_point()]
    large = any(bool((x.abs().nan_to_num(0, 0, 0) > 60).any()) for x in numbers)
    return torch.full_like(right, large, dtype=torch.bool)


REPAIRS = [
    Repair("NaN or infinity comes back where a number should.", cells=_not_finite),
    Repair("it is wrong for very large or very low numbers.", cells=_large),
    Repair("the rows do not sum to 1; divided by their sums they would.", mend=_divided),
    Repair(
        "each row is right up to a factor, which is not the same everywhere.", mend=_row_factors
    ),
]
