"""When two results count as equal."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attention_workbook.exercises.engine.running import Failure
from attention_workbook.exercises.engine.words import type_of

__all__ = ["agree", "as_tensor", "difference", "equal_cells", "parts", "wrong_kind"]

# How far two right answers may lie apart, absolutely and relatively: what is left of each dtype
# after sums in another order.
TOLERANCE = {
    torch.float64: 1e-7,
    torch.float32: 2e-5,
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
}


def as_tensor(result: Any, target: Tensor | None = None) -> Tensor | None:
    """Return a tensor, an array or a number as a tensor; None if it is something else.

    Examples
    --------
    >>> as_tensor(3), as_tensor(3, torch.tensor(0.5)), as_tensor("3")
    (tensor(3), tensor(3.), None)
    """
    if isinstance(result, Tensor):
        return result.detach().cpu()
    if result is None or isinstance(result, str | bytes | list | tuple | dict | type(...)):
        return None
    try:
        tensor: Tensor = torch.as_tensor(result)
    except (TypeError, ValueError, RuntimeError):
        return None
    is_whole = isinstance(result, int) and not isinstance(result, bool)
    if is_whole and target is not None and target.is_floating_point():
        return tensor.to(target.dtype)  # 0 is as good as 0.0
    return tensor


def parts(result: Any) -> Sequence[Any]:
    """Return several results as they are, and a single one as the only one of a tuple.

    Examples
    --------
    >>> parts((1, 2)), parts(3)
    ((1, 2), (3,))
    """
    return result if isinstance(result, tuple | list) else (result,)


def wrong_kind(result: Any, expected: Any) -> str:
    """Say that a result is of the wrong type, dtype or shape; an empty string if it is not.

    Examples
    --------
    >>> wrong_kind(torch.zeros(2, 3), torch.zeros(3, 2))
    'a result of shape (3, 2) is expected, and yours has shape (2, 3).'
    >>> wrong_kind(None, True)
    'your function returns None; is the `return` missing?'
    """
    if isinstance(result, Failure):
        return result.sentence()
    if result is None:
        return "your function returns None; is the `return` missing?"
    if isinstance(expected, tuple):
        if not isinstance(result, tuple | list) or len(result) != len(expected):
            return f"{len(expected)} results are expected, and {_type_in_words(result)} comes back."
        parts = zip(result, expected, strict=True)
        complaints = [(i, wrong_kind(*pair)) for i, pair in enumerate(parts, start=1)]
        return next((f"of the results, number {i}: {text}" for i, text in complaints if text), "")
    target = as_tensor(expected)
    if target is None:
        raise TypeError(f"a right solution returned {type(expected).__name__}")
    tensor = as_tensor(result, target)
    if tensor is None:
        expected_kind = _kind_in_words(target)
        return f"{expected_kind} is expected, and {_type_in_words(result)} comes back."
    if tensor.shape != target.shape:
        return (
            f"a result of shape {tuple(target.shape)} is expected, and yours has shape "
            f"{tuple(tensor.shape)}."
        )
    if _family(tensor) != _family(target):
        return f"{_FAMILIES[_family(target)]} are expected, and {_FAMILIES[_family(tensor)]} come."
    return ""


def equal_cells(result: Tensor, target: Tensor, tolerance: float | None = None) -> Tensor:
    """Tell for each number of two tensors of one shape whether they are equal but for rounding.

    NaN equals NaN, so that two wrong answers can be the same; no right result holds NaN.

    Examples
    --------
    >>> equal_cells(torch.tensor([1.0, torch.nan]), torch.tensor([1.000001, 0.0]))
    tensor([ True, False])
    """
    if not target.is_floating_point() or not result.is_floating_point():
        return result == target
    if tolerance is None:
        tolerance = max(TOLERANCE[x.dtype] for x in (result, target))
    return torch.isclose(
        result.double(), target.double(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def agree(result: Any, expected: Any, tolerance: float | None = None) -> bool:
    """Tell whether a result is what is expected, but for rounding.

    Examples
    --------
    >>> agree(1, torch.tensor(1.0)), agree(torch.ones(2), torch.ones(3))
    (True, False)
    """
    if isinstance(expected, Failure):
        return False  # a variant of the right solution that stops
    if wrong_kind(result, expected):
        return False
    if isinstance(expected, tuple):
        return all(agree(*pair, tolerance) for pair in zip(result, expected, strict=True))
    target = as_tensor(expected)
    tensor = as_tensor(result, target)
    return (
        target is not None
        and tensor is not None
        and bool(equal_cells(tensor, target, tolerance).all())
    )


def difference(result: Any, expected: Any) -> tuple[tuple[int, ...], Any, Any]:
    """Return where two results of one kind differ first, and the two numbers there.

    Examples
    --------
    >>> difference(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
    ((1,), 2.0, 3.0)
    """
    pairs = zip(parts(result), parts(expected), strict=True)
    result, expected = next(pair for pair in pairs if not agree(*pair))
    target = as_tensor(expected)
    assert target is not None
    tensor = as_tensor(result, target)
    assert tensor is not None
    differs = ~equal_cells(tensor, target)
    nan = differs & tensor.isnan()
    index = tuple((nan if nan.any() else differs).nonzero()[0].tolist())
    return index, tensor[index].item(), target[index].item()


_FAMILIES = {
    "booleans": "True and False",
    "real": "decimal numbers",
    "complex": "complex numbers",
    "whole": "whole numbers",
}


def _family(x: Tensor) -> str:
    if x.dtype == torch.bool:
        return "booleans"
    return "real" if x.is_floating_point() else "complex" if x.is_complex() else "whole"


def _kind_in_words(target: Tensor) -> str:
    if target.dim():
        return "a tensor"
    return "True or False" if target.dtype == torch.bool else "a number"


def _type_in_words(result: Any) -> str:
    if isinstance(result, tuple | list | dict):
        return f"{type_of(result)} of {len(result)}"
    return type_of(result)
