"""What can be wrong with any function: its inputs, its results, or some of the inputs' kinds.

A change repairs in reverse: if the right result, changed so, is the answer's result on every input,
the change is what is wrong with the answer, and everything else about it is right.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

__all__ = [
    "REPAIRS",
    "Input",
    "Output",
    "Repair",
    "elsewhere",
    "inputs",
    "is_weights",
    "outputs",
    "sizes",
]

Case = tuple[Any, ...]
Input = tuple[Callable[[list[Any]], list[Any]], str]
Output = tuple[Callable[[Any], Any], str]


@dataclass(frozen=True)
class Repair:
    """A repair of a wrong result, and what it says of the answer that needed it.

    Parameters
    ----------
    mend : callable
        ``mend(found, right, case)``; None where it does not apply.
    sentence : str
    copies : bool
        Whether it copies some of the right numbers, which then prove nothing.
    """

    mend: Callable[[Tensor, Tensor, Case], Tensor | None]
    sentence: str
    copies: bool = False


def elsewhere(cells: Callable[[Tensor, Tensor, Case], Tensor], sentence: str) -> Repair:
    """Return the repair that copies right numbers into some cells, and leaves the others alone.

    Examples
    --------
    >>> repair = elsewhere(lambda found, right, case: found > 5, "it is too large.")
    >>> repair.mend(torch.tensor([9, 2]), torch.tensor([1, 1]), ())
    tensor([1, 2])
    """
    return Repair(
        lambda found, right, case: torch.where(cells(found, right, case), right, found),
        sentence,
        copies=True,
    )


def inputs(names: Sequence[str], case: Case) -> Iterator[Input]:
    """Yield changes of the arguments, with what each means.

    Parameters
    ----------
    names : sequence of str
        What the arguments are called.
    case : tuple
        One set of arguments, to see which of them are tensors or numbers.

    Examples
    --------
    >>> change, sentence = next(inputs(["a", "b"], (torch.zeros(1), torch.ones(1))))
    >>> change([1, 2]), sentence
    ([2, 1], '`a` and `b` have changed places.')
    """
    tensors = [i for i, x in enumerate(case) if isinstance(x, Tensor)]
    for i, j in permutations(tensors, 2):
        if i < j:
            yield _moved(i, j, both=True), f"`{names[i]}` and `{names[j]}` have changed places."
        yield _moved(i, j, both=False), f"`{names[j]}` stands where `{names[i]}` belongs."
    for i in tensors:
        for sentence, change in _OF_TENSORS:
            yield _put(i, change), sentence.format(f"`{names[i]}`")
    yield (
        lambda case: [x[:1] if isinstance(x, Tensor) and x.dim() else x for x in case],
        "only index 0 of the first axis is looked at.",
    )
    for i, x in enumerate(case):
        if isinstance(x, int | float) and not isinstance(x, bool):
            for sentence, step in [*_OF_NUMBERS, *(_OF_FRACTIONS if isinstance(x, float) else [])]:
                yield _put(i, step), sentence.format(f"`{names[i]}`")


def outputs(kind: torch.dtype) -> Iterator[Output]:
    """Yield changes of a result of some dtype, with what each means.

    Examples
    --------
    >>> change, sentence = next(outputs(torch.float32))
    >>> change(torch.tensor([1.0, -2.0])), sentence
    (tensor([-1.,  2.]), 'every number has the wrong sign.')
    """
    special = _OF_BOOLEANS if kind == torch.bool else _OF_DECIMALS
    for sentence, change in [*special, *_OF_ALL]:
        yield change, sentence


def sizes(names: Sequence[str], case: Case) -> Iterator[tuple[Callable[[Case], float], str]]:
    """Yield numbers that come with the arguments, and what they are called: sizes, their roots.

    Examples
    --------
    >>> size, called = next(sizes(["x"], (torch.zeros(1, 2),)))
    >>> size((torch.zeros(3, 4),)), called
    (3.0, 'the size of axis 0 of `x`')
    """
    for i, x in enumerate(case):
        for axis in range(x.dim() if isinstance(x, Tensor) else 0):
            back = axis - x.dim()
            which = "the last axis" if back == -1 else f"axis {axis}"

            def size(case: Case, i: int = i, back: int = back) -> float:
                return float(case[i].shape[back])

            yield size, f"the size of {which} of `{names[i]}`"
        if isinstance(x, int | float) and not isinstance(x, bool):

            def argument(case: Case, i: int = i) -> float:
                return float(case[i])

            yield argument, f"`{names[i]}`"


def _moved(i: int, j: int, *, both: bool) -> Callable[[list[Any]], list[Any]]:
    def change(case: list[Any]) -> list[Any]:
        case[i], case[j] = case[j], (case[i] if both else case[j])
        return case

    return change


def _put(place: int, new: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    return lambda case: [new(x) if i == place else x for i, x in enumerate(case)]


_OF_TENSORS: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("{} has the wrong sign.", lambda x: -x),
    ("{} is turned round: True and False are swapped.", lambda x: ~x),
    ("{} is transposed.", lambda x: x.transpose(-2, -1)),
    ("{} is read in reverse order along its last axis.", lambda x: x.flip(-1)),
    ("only index 0 of {} is used.", lambda x: x[:1].expand_as(x)),
    ("the first entry along the last axis of {} is left out.", lambda x: x[..., 1:]),
    ("the last entry along the last axis of {} is left out.", lambda x: x[..., :-1]),
    ("the last row of {} is left out.", lambda x: x[..., :-1, :]),
    (
        "{} is scaled to length 1, which it should not be.",
        lambda x: x / x.norm(dim=-1, keepdim=True),
    ),
    ("{} is rounded to float32, which loses digits of float64.", lambda x: x.float().to(x.dtype)),
]  # fmt: skip
_OF_NUMBERS: list[tuple[str, Callable[[Any], Any]]] = [
    ("{} is one too small where it is used.", lambda x: x - 1),
    ("{} is one too large where it is used.", lambda x: x + 1),
    ("{} has the wrong sign.", lambda x: -x),
    ("{} is used as if it were always 1.", lambda x: type(x)(1)),
    ("{} is used as if it were always 2.", lambda x: type(x)(2)),
    ("{} is used as if it were always 0.", lambda x: type(x)(0)),
    ("{} is used as if it were always 3.", lambda x: type(x)(3)),
    ("{} is used as if it were always 4.", lambda x: type(x)(4)),
]
_OF_FRACTIONS: list[tuple[str, Callable[[Any], Any]]] = [
    ("{} is used squared.", lambda x: x * x),
    ("{} is used upside down, 1 over it.", lambda x: 1 / x),
]
_OF_ALL: list[tuple[str, Callable[[Tensor], Any]]] = [
    ("the result is transposed: its last two axes are swapped.", lambda x: x.transpose(-2, -1)),
    ("the first two axes of the result are swapped.", lambda x: x.transpose(0, 1)),
    ("axes 1 and 2 of the result are swapped.", lambda x: x.transpose(1, 2)),
    ("the result has one axis of size 1 too many.", lambda x: x.unsqueeze(0)),
    ("the result has one axis of size 1 too many.", lambda x: x.unsqueeze(1)),
    ("the result has one axis of size 1 too many.", lambda x: x.unsqueeze(-1)),
    ("an axis of size 1 is lost.", lambda x: x.squeeze()),
    ("the first two axes of the result are joined into one.", lambda x: x.flatten(0, 1)),
    ("axes 1 and 2 of the result are joined into one.", lambda x: x.flatten(1, 2)),
    ("the last two axes of the result are joined into one.", lambda x: x.flatten(-2)),
    ("the numbers stand in the right order, in a result of one axis.", lambda x: x.flatten()),
    ("only the first entry of the first axis comes back.", lambda x: x[0]),
    ("only the first entry of the first axis comes back.", lambda x: x[:1]),
    ("the last axis is in reverse order.", lambda x: x.flip(-1)),
    ("the rows are in reverse order.", lambda x: x.flip(-2)),
]
_OF_BOOLEANS: list[tuple[str, Callable[[Tensor], Any]]] = [
    ("True and False are swapped.", lambda x: ~x),
    ("True and False come back as 1 and 0: keep the booleans.", lambda x: x.float()),
    ("True and False come back as 1 and 0: keep the booleans.", lambda x: x.long()),
    ("a mask of 0 and −infinity comes back, to be added; True and False are asked for.",
     lambda x: torch.zeros(x.shape).masked_fill(~x, -torch.inf)),
    ("a mask of 0 and −infinity comes back, to be added; True and False are asked for.",
     lambda x: torch.zeros(x.shape).masked_fill(x, -torch.inf)),
]  # fmt: skip
_OF_DECIMALS: list[tuple[str, Callable[[Tensor], Any]]] = [
    ("every number has the wrong sign.", lambda x: -x),
    ("the result is summed along its last axis; no sum is asked for.", lambda x: x.sum(-1)),
    ("the result is averaged along its last axis; no mean is asked for.", lambda x: x.mean(-1)),
    ("the result is summed along its first axis; no sum is asked for.", lambda x: x.sum(0)),
    ("the result is averaged along its first axis; no mean is asked for.", lambda x: x.mean(0)),
    ("the mean of all numbers comes back, not the numbers.", lambda x: x.mean()),
    ("the sum of all numbers comes back, not the numbers.", lambda x: x.sum()),
    ("a softmax is taken once too often, at the end.", lambda x: x.softmax(-1)),
    ("the exponential is taken of the right result.", lambda x: x.exp()),
    ("the logarithm is taken of the right result.", lambda x: x.log()),
    ("the square of the right result is taken.", lambda x: x * x),
    ("the root of the right result is taken.", lambda x: x.sqrt()),
    ("the sign is lost: negative numbers became positive.", lambda x: x.abs()),
    ("every negative number became 0.", lambda x: x.clamp(min=0)),
    ("every number is one too large.", lambda x: x + 1),
    ("every number is one too small.", lambda x: x - 1),
    ("the numbers are rounded to whole ones.", lambda x: x.round()),
    ("the numbers are cut off to whole ones.", lambda x: x.floor()),
    ("each row is divided by its sum, which it should not be.", lambda x: x / x.sum(-1, True)),
]


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


def _hidden(found: Tensor, right: Tensor, case: Case) -> Tensor | None:
    return found.where(right != 0, 0.0) if is_weights(right) else None


def _hidden_and_divided(found: Tensor, right: Tensor, case: Case) -> Tensor | None:
    kept = _hidden(found, right, case)
    return None if kept is None else (kept / kept.sum(-1, True)).where(kept != 0, 0.0)


def _row_factors(found: Tensor, right: Tensor, case: Case) -> Tensor | None:
    if found.dim() < 1 or found.shape[-1] < 3 or not found.is_floating_point():
        return None
    return found * (found * right).sum(-1, True) / found.square().sum(-1, True)


def _row_shifts(found: Tensor, right: Tensor, case: Case) -> Tensor | None:
    if found.dim() < 1 or found.shape[-1] < 3 or not found.is_floating_point():
        return None
    return found + (right - found).mean(-1, True)


def _not_finite(found: Tensor, right: Tensor, case: Case) -> Tensor:
    return ~found.isfinite() & right.isfinite()


def _empty_row(found: Tensor, right: Tensor, case: Case) -> Tensor:
    if right.dim() < 2 or not right.is_floating_point() or not right.any():
        return torch.zeros_like(right, dtype=torch.bool)
    return (right == 0).all(dim=-1, keepdim=True).expand_as(right)


def _large(found: Tensor, right: Tensor, case: Case) -> Tensor:
    numbers = [x.abs().nan_to_num(0, 0, 0).amax().item() for x in case if _floating(x)]
    return torch.full_like(right, max(numbers, default=0.0) > 60, dtype=torch.bool)


def _double(found: Tensor, right: Tensor, case: Case) -> Tensor:
    double = any(x.dtype == torch.float64 for x in case if _floating(x))
    return torch.full_like(right, double, dtype=torch.bool)


def _several(found: Tensor, right: Tensor, case: Case) -> Tensor:
    several = any(x.shape[0] > 1 for x in case if _floating(x) and x.dim() > 2)
    return torch.full_like(right, several, dtype=torch.bool)


def _floating(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point() and x.numel() > 0


REPAIRS = [
    elsewhere(_not_finite, "NaN or infinity comes back where a number should."),
    elsewhere(
        _empty_row, "a row with nothing to attend to should be 0 everywhere, and yours is not."
    ),
    elsewhere(_large, "it is wrong for very large or very low numbers, such as 900 and −900."),
    Repair(_divided, "the rows do not sum to 1; divided by their sums they would."),
    Repair(_hidden, "places that are hidden should get exactly 0, and yours get more."),
    Repair(
        _hidden_and_divided,
        "places that are hidden get a share; it belongs to the places that are not.",
    ),
    elsewhere(_double, "float64 loses digits: the result should be as exact as its input."),
    elsewhere(
        _several, "it is right for a single item and wrong as soon as a batch holds several."
    ),
    Repair(_row_factors, "each row is right up to a factor, and each has a factor of its own."),
    Repair(_row_shifts, "in each row something is added to all numbers alike."),
]
