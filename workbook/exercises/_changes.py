"""What can be wrong with any function: one of its inputs, its result, or its result in some places.

The first two are texts of Python, which :class:`~workbook.exercises._edits.Source` puts into a
right solution. The third is repaired in the answer: where a repair of all its results gives the
right ones, what was repaired is what is wrong with it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
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
    for a, b in permutations(tensors, 2):
        if names.index(a) < names.index(b):
            yield f"{a}, {b} = {b}, {a}", f"`{a}` and `{b}` have changed places."
        yield f"{a} = {b}", f"`{b}` stands where `{a}` belongs."
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
    ("tensor", "{} is scaled to length 1, which it should not be.",
     "{0} / {0}.norm(dim=-1, keepdim=True)"),
    ("tensor", "{} is rounded to float32, which loses digits of float64.",
     "{0}.float().to({0}.dtype)"),
    ("int whole", "{} is one too small where it is used.", "{0} - 1"),
    ("int whole", "{} is one too large where it is used.", "{0} + 1"),
    ("float int", "{} has the wrong sign.", "-{0}"),
    ("float", "{} is used squared.", "{0} * {0}"),
    ("float", "{} is used upside down, 1 over it.", "1 / {0}"),
    *(("float int", f"{{}} is used as if it were always {n}.", f"type({{0}})({n})")
      for n in (0, 1, 2, 3, 4)),
]  # fmt: skip

# what follows the result of the right solution, and what to say of it
_SHAPES = [
    (".transpose(-2, -1)", "the result is transposed: its last two axes are swapped."),
    (".transpose(0, 1)", "the first two axes of the result are swapped."),
    (".transpose(1, 2)", "axes 1 and 2 of the result are swapped."),
    *(
        (f".unsqueeze({axis})", "the result has one axis of size 1 too many.")
        for axis in (0, 1, -1)
    ),
    (".flatten(1, 2)", "axes 1 and 2 of the result are joined into one."),
    ("[0]", "only the first entry of the first axis comes back."),
    ("[:1]", "only the first entry of the first axis comes back."),
    (".flip(-1)", "the last axis is in reverse order."),
]
_MASKS = [
    (".logical_not()", "True and False are swapped."),
    (" * 1", "True and False come back as 1 and 0: keep the booleans."),
    (" * 1.0", "True and False come back as 1 and 0: keep the booleans."),
    *((f".logical_{which}().float().log()", "a mask of 0 and −infinity comes back, to be added; "
       "True and False are asked for.") for which in ("and(torch.tensor(True))", "not")),
]  # fmt: skip
_NUMBERS = [
    (" * -1", "every number has the wrong sign."),
    *((f".sum({axis})", f"the result is summed along its {which} axis; no sum is asked for.")
      for axis, which in ((-1, "last"), (0, "first"))),
    (".softmax(-1)", "a softmax is taken once too often, at the end."),
    (".log()", "the logarithm is taken of the right result."),
    (".square()", "the square of the right result is taken."),
    (" + 1", "every number is one too large."),
    (".round()", "the numbers are rounded to whole ones."),
]  # fmt: skip


def results(dtype: torch.dtype) -> list[tuple[str, str]]:
    """Return what may follow a result of some dtype, with what each means.

    Examples
    --------
    >>> results(torch.bool)[0]
    ('.logical_not()', 'True and False are swapped.')
    """
    return [*(_MASKS if dtype == torch.bool else _NUMBERS), *_SHAPES]


def sizes(names: Sequence[str], case: Case) -> Iterator[tuple[Callable[[Case], float], str]]:
    """Yield numbers that come with the arguments, and what they are called: sizes, their roots.

    Examples
    --------
    >>> size, called = next(sizes(["x"], (torch.zeros(1, 2),)))
    >>> size((torch.zeros(3, 4),)), called
    (3.0, 'the size of axis 0 of `x`')
    """

    def size(i: int, back: int) -> Callable[[Case], float]:
        return lambda case: float(case[i].shape[back]) if case[i].dim() >= -back else 0.0

    def argument(i: int) -> Callable[[Case], float]:
        return lambda case: float(case[i])

    for i, x in enumerate(case):
        for axis in range(x.dim() if isinstance(x, Tensor) else 0):
            back = axis - x.dim()
            which = "the last axis" if back == -1 else f"axis {axis}"
            yield size(i, back), f"the size of {which} of `{names[i]}`"
        if _kind(x) in ("int", "float"):
            yield argument(i), f"`{names[i]}`"


@dataclass(frozen=True)
class Repair:
    """A repair of a wrong result, and what it says of the answer that needed it.

    Parameters
    ----------
    sentence : str
    mend : callable, optional
        ``mend(found, other, case)`` returns the result repaired; None where it does not apply.
    cells : callable, optional
        Instead, ``cells(found, other, case)``: where numbers are copied, which then prove nothing.
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


def _divided(found: Tensor, right: Tensor, case: Case) -> Tensor | None:
    if not is_weights(right):
        return None
    return (found / found.sum(dim=-1, keepdim=True)).where((right != 0).any(-1, True), found)


def _row_factors(found: Tensor, right: Tensor, case: Case) -> Tensor | None:
    if found.dim() < 1 or found.shape[-1] < 3 or not found.is_floating_point():
        return None
    factors = (found * right).sum(-1, True) / found.square().sum(-1, True)
    return found * factors.nan_to_num()  # 0/0 where a row is 0


def _not_finite(found: Tensor, right: Tensor, case: Case) -> Tensor:
    return ~found.isfinite() & right.isfinite()


def _masked(case: Case) -> bool:
    """Whether something can be hidden: a mask or lengths are among the arguments."""
    return any(_kind(x) in ("mask", "whole") for x in case)


def _empty_row(found: Tensor, right: Tensor, case: Case) -> Tensor:
    if right.dim() < 2 or not right.is_floating_point() or not right.any() or not _masked(case):
        return torch.zeros_like(right, dtype=torch.bool)
    return (right == 0).all(dim=-1, keepdim=True).expand_as(right)


def _large(found: Tensor, right: Tensor, case: Case) -> Tensor:
    numbers = [x.abs().nan_to_num(0, 0, 0).amax().item() for x in case if _floating(x)]
    return torch.full_like(right, max(numbers, default=0.0) > 60, dtype=torch.bool)


def _floating(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point() and x.numel() > 0


REPAIRS = [
    Repair("NaN or infinity comes back where a number should.", cells=_not_finite),
    Repair(
        "a row with nothing to attend to should be 0 everywhere, and yours is not.",
        cells=_empty_row,
    ),
    Repair("it is wrong for very large or very low numbers, such as 900 and −900.", cells=_large),
    Repair("the rows do not sum to 1; divided by their sums they would.", mend=_divided),
    Repair(
        "each row is right up to a factor, and each has a factor of its own.", mend=_row_factors
    ),
]
