"""Refusals in words: each names the argument, what was expected and what came."""

import sys
from typing import Any

import torch
from torch import Tensor

INTEGER_DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def shape_of(tensor: Tensor) -> str:
    """Return a shape as it is written in the book: ``(2, 3)``."""
    return str(tuple(tensor.shape))


def require_tensor(name: str, value: object, *, min_rank: int = 0, axes: str = "...") -> None:
    """Refuse anything but a tensor with enough axes."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor {axes}, got {type(value).__name__}")
    if value.dim() < min_rank:
        raise ValueError(
            f"{name}: expected at least {min_rank} axes {axes}, got shape {shape_of(value)}"
        )


def require_float(name: str, value: Tensor, **shape: Any) -> None:
    """Refuse anything but a floating-point tensor of the wanted rank."""
    require_tensor(name, value, **shape)
    if not value.is_floating_point():
        raise TypeError(f"{name}: expected a floating-point tensor, got dtype {value.dtype}")


def require_count(name: str, value: object, minimum: int = 1) -> None:
    """Refuse anything but a whole number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name}: expected at least {minimum}, got {value}")


def require_finite(name: str, value: object, *, what: str = "a number") -> None:
    """Refuse anything but a finite number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: expected {what}, got {value!r}")
    if not abs(value) <= sys.float_info.max:  # NaN is not
        raise ValueError(f"{name}: expected a finite number, got {value!r}")


def require_flag(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, got {value!r}")


def require_mask(name: str, mask: Tensor) -> None:
    """Refuse a mask that is not boolean."""
    require_tensor(name, mask, axes="of booleans")
    if mask.dtype != torch.bool:
        raise TypeError(f"{name}: expected booleans (True = may attend), got dtype {mask.dtype}")


def require_a(name: str, value: object, kind: type) -> None:
    """Refuse a value of any other kind."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}: expected a {kind.__name__}, got {type(value).__name__}")


def require_lengths(valid_lens: Tensor, len_k: int) -> None:
    """Refuse anything but one length a sequence, from 0 to ``len_k``."""
    require_tensor("valid_lens", valid_lens, axes="of integers, (batch,)")
    if valid_lens.dtype not in INTEGER_DTYPES:
        raise TypeError(f"valid_lens: expected integer lengths, got dtype {valid_lens.dtype}")
    if valid_lens.numel() and not 0 <= valid_lens.min() <= valid_lens.max() <= len_k:
        raise ValueError(
            f"valid_lens: expected lengths from 0 to len_k = {len_k}, "
            f"got lengths from {int(valid_lens.min())} to {int(valid_lens.max())}"
        )
