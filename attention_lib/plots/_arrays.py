"""What a picture is given, as arrays of numbers; all else is refused in words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def as_numpy(value: Any) -> Any:
    """Return a torch tensor, or those in a list, as numpy arrays; leave all else."""
    if isinstance(value, (list, tuple)):
        return [as_numpy(part) for part in value]
    if not hasattr(value, "detach"):
        return value
    value = value.detach().cpu()  # numpy knows no gradient, no other device, and no bfloat16
    return (value.double() if value.is_floating_point() else value).numpy()


def require_axes(ax: object) -> None:
    """Refuse what nothing can be drawn into, such as the numbers themselves."""
    if not isinstance(ax, Axes):
        raise TypeError(f"ax: expected a matplotlib.axes.Axes, got {type(ax).__name__}")


def as_array(name: str, value: ArrayLike, *shapes: str) -> Floats:
    """Return numbers as a new float64 array of one of the shapes, such as "(len_k, 2)"."""
    try:
        array = np.array(as_numpy(value))
    except ValueError:
        raise ValueError(f"{name}: expected shape {shapes[0]}, got a ragged list") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected real numbers, got {array.dtype}")
    if not any(_fits(array.shape, axes) for axes in shapes):
        raise ValueError(f"{name}: expected shape {' or '.join(shapes)}, got {array.shape}")
    return array.astype(float)


def _fits(shape: tuple[int, ...], axes: str) -> bool:
    """Say whether a shape is that of ``axes``, names or numbers; no axis may be empty."""
    expected = axes.strip("(,)").split(", ")
    return len(expected) == len(shape) and all(
        size > 0 and (not axis.isdigit() or size == int(axis))
        for axis, size in zip(expected, shape, strict=True)
    )


def as_finite(name: str, value: ArrayLike, *shapes: str) -> Floats:
    """Return numbers as :func:`as_array` does; refuse NaN and infinity."""
    array = as_array(name, value, *shapes)
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got NaN or infinity")
    return array


def as_weights(weights: ArrayLike, axes: str) -> Floats:
    """Return weights as an array; refuse what cannot be one."""
    numbers = as_array("weights", weights, axes)
    outside = numbers[(numbers < 0) | (numbers > 1.001)]  # a sum may round past 1
    if outside.size:
        raise ValueError(f"weights: expected numbers from 0 to 1, got {outside[0]:g}")
    return numbers


def as_booleans(mask: ArrayLike) -> NDArray[np.bool_]:
    """Return a mask as booleans; refuse numbers, whose meaning would be a guess."""
    allowed: NDArray[np.bool_] = np.asarray(as_numpy(mask))
    if allowed.dtype != bool:
        raise TypeError(f"mask: expected booleans (True = may attend), got {allowed.dtype}")
    return allowed


def as_mask(mask: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return a boolean mask of the expected shape; ``None`` hides nothing."""
    allowed = as_booleans(True if mask is None else mask)
    try:
        return np.broadcast_to(allowed, shape)
    except ValueError:
        raise ValueError(f"mask: expected shape {shape}, got {allowed.shape}") from None


def as_strings(name: str, texts: Sequence[str], size: int) -> list[str]:
    """Return a sequence of strings as a list; refuse what else it holds, and another length."""
    expected = f"{name}: expected a sequence of {size} strings, got {texts!r}"
    if not isinstance(texts, (Sequence, np.ndarray)) or not all(isinstance(x, str) for x in texts):
        raise TypeError(expected)
    if isinstance(texts, str) or len(texts) != size:
        raise ValueError(expected)
    return list(texts)
