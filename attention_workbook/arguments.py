"""Refusals in words: each names the argument, what was expected and what came."""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor


def shape_of(tensor: Tensor) -> str:
    """Return a shape as it is written in the book: ``(2, 3)``."""
    return str(tuple(tensor.shape))


def require_tensor(
    name: str, value: object, *, min_rank: int = 0, rank: int | None = None, axes: str = "..."
) -> None:
    """Refuse anything but a dense tensor with the right number of axes."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor {axes}, got {type(value).__name__}")
    if value.is_nested or value.layout != torch.strided:
        got = "a nested one" if value.is_nested else f"layout {value.layout}"
        raise TypeError(f"{name}: expected a dense tensor, got {got}")
    if rank is not None and value.dim() != rank:
        raise ValueError(f"{name}: expected {rank} axes {axes}, got shape {shape_of(value)}")
    if value.dim() < min_rank:
        raise ValueError(
            f"{name}: expected at least {min_rank} axes {axes}, got shape {shape_of(value)}"
        )


def require_float(name: str, value: Tensor, **shape: Any) -> None:
    """Refuse anything but a floating-point tensor of the wanted rank."""
    require_tensor(name, value, **shape)
    if not value.is_floating_point():
        raise TypeError(f"{name}: expected a floating-point tensor, got dtype {value.dtype}")
    if value.dtype.itemsize < 2:  # torch stores such numbers, and cannot add them
        raise TypeError(f"{name}: expected at least 16 bits a number, got dtype {value.dtype}")


def require_same_kind(first_name: str, first: Tensor, name: str, value: Tensor) -> None:
    """Refuse two tensors that differ in device, or in dtype where autocast does not even it out."""
    require_same_device(first_name, first, name, value)
    if value.dtype == first.dtype:
        return
    autocast = torch.is_autocast_enabled(value.device.type)  # it leaves float64 as it is
    if not autocast or torch.float64 in (first.dtype, value.dtype):
        raise TypeError(
            f"{name}: expected the dtype of {first_name}, {first.dtype}, got {value.dtype}"
        )


def require_same_device(first_name: str, first: Tensor, name: str, value: Tensor) -> None:
    """Refuse two tensors that live on different devices."""
    if value.device != first.device:
        raise ValueError(
            f"{name}: expected the device of {first_name}, {first.device}, got {value.device}"
        )


def require_parameter_kind(name: str, value: Tensor, parameter: Tensor) -> None:
    """Refuse a tensor that the module's parameters cannot multiply."""
    require_same_kind("the module's parameters", parameter, name, value)


def require_size(name: str, value: Tensor, axis: int, expected: int, meaning: str) -> None:
    """Refuse a tensor whose axis has not the expected length."""
    if value.shape[axis] != expected:
        raise ValueError(
            f"{name}: expected {expected} {meaning} on axis {axis}, got shape {shape_of(value)}"
        )


def require_count(name: str, value: object, minimum: int = 1) -> None:
    """Refuse anything but a whole number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, (int, torch.SymInt)):
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name}: expected at least {minimum}, got {value}")
    if isinstance(value, int) and value >= 2**63:  # no tensor has such an axis
        raise ValueError(f"{name}: expected fewer than 2**63, got {value}")


def require_positive(name: str, value: object) -> None:
    """Refuse a number that is not positive and finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: expected a positive number, got {value!r}")
    if not 0 < value < float("inf"):
        raise ValueError(f"{name}: expected a positive number, got {value!r}")


def require_flag(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, got {value!r}")


def require_attention(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[int, ...]:
    """Refuse queries, keys and values that do not fit; return the shape of their scores."""
    require_float("queries", queries, min_rank=2, axes="(..., len_q, d_k)")
    require_float("keys", keys, min_rank=2, axes="(..., len_k, d_k)")
    require_float("values", values, min_rank=2, axes="(..., len_k, d_v)")
    require_same_kind("queries", queries, "keys", keys)
    require_same_kind("keys", keys, "values", values)
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            "keys: expected the width of queries on the last axis, got "
            f"queries {shape_of(queries)} and keys {shape_of(keys)}"
        )
    if values.shape[-2] != keys.shape[-2]:
        raise ValueError(
            "values: expected one value a key (len_k on axis -2), got "
            f"keys {shape_of(keys)} and values {shape_of(values)}"
        )
    leading = broadcast(*(x.shape[:-2] for x in (queries, keys, values)))
    if leading is None:
        shapes = f"queries {shape_of(queries)}, keys {shape_of(keys)}, values {shape_of(values)}"
        raise ValueError(f"leading axes: expected shapes that broadcast, got {shapes}")
    return (*leading, queries.shape[-2], keys.shape[-2])


def require_mask(name: str, mask: Tensor, shape: Sequence[int] | None = None) -> None:
    """Refuse a mask that is not boolean, or does not broadcast to the shape of the scores."""
    require_tensor(name, mask, axes="of booleans")
    if mask.dtype != torch.bool:
        raise TypeError(f"{name}: expected booleans (True = may attend), got dtype {mask.dtype}")
    if shape is not None and broadcast(mask.shape, shape) != tuple(shape):
        raise ValueError(
            f"{name}: expected a shape that broadcasts to the scores' {tuple(shape)}, "
            f"got {shape_of(mask)}"
        )


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """Return the common shape, or ``None`` where there is none."""
    try:
        return tuple(torch.broadcast_shapes(*map(tuple, shapes)))  # type: ignore[no-untyped-call]
    except RuntimeError:
        return None


def resolve_scale(scale: float | None, d_k: int) -> float:
    """Return the factor on the dot product: ``1 / sqrt(d_k)`` unless one is given."""
    if scale is None:
        if not d_k:
            raise ValueError("queries: expected at least one feature on the last axis, got none")
        return 1.0 / math.sqrt(d_k)
    if isinstance(scale, bool) or not isinstance(scale, (int, float)):
        raise TypeError(f"scale: expected a number or None, got {scale!r}")
    if not math.isfinite(scale):
        raise ValueError(f"scale: expected a finite number, got {scale!r}")
    return float(scale)


def require_a(name: str, value: object, *kinds: type) -> None:
    """Refuse a value of any other kind."""
    if not isinstance(value, kinds):
        expected = _names(kinds)
        article = "an" if expected[0] in "AEIOUaeiou" else "a"
        raise TypeError(f"{name}: expected {article} {expected}, got {type(value).__name__}")


def require_each(name: str, values: object, *kinds: type, minimum: int = 1) -> list[Any]:
    """Return what an iterable holds; refuse a string for it, too few, and one of another kind."""
    single = isinstance(values, str) or getattr(values, "ndim", 1) == 0
    if single or not isinstance(values, Iterable):
        raise TypeError(f"{name}: expected a sequence of {_names(kinds)}, got {values!r}")
    items = [*values]
    for number, value in enumerate(items):
        if not isinstance(value, kinds):
            require_a(f"{name}[{number}]", value, *kinds)
    if len(items) < minimum:
        raise ValueError(f"{name}: expected at least {minimum}, got {len(items)}")
    return items


def _names(kinds: Sequence[type]) -> str:
    return " or ".join(kind.__name__ for kind in kinds)


def is_index(value: object, end: int) -> bool:
    """Say whether this is a whole number from 0 to before ``end``; True and 1.0 are none."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and value in range(end)
