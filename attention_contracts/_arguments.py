"""Refusals in words: each names the argument, what was expected and what came."""

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

INTEGER_DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


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


def require_count(name: str, value: object, minimum: int = 1) -> None:
    """Refuse anything but a whole number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, (int, torch.SymInt)):
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name}: expected at least {minimum}, got {value}")
    if isinstance(value, int) and value >= 2**63:  # no tensor has such an axis
        raise ValueError(f"{name}: expected fewer than 2**63, got {value}")


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
    if mask.dtype in INTEGER_DTYPES:
        raise TypeError(
            f"{name}: expected booleans (True = may attend), got dtype {mask.dtype}; integer "
            "lengths go to valid_lens=, and a 0/1 mask is written (tensor == 1) or (tensor == 0), "
            "as it means"
        )
    if mask.dtype != torch.bool:
        raise TypeError(
            f"{name}: expected booleans (True = may attend), got dtype {mask.dtype}; a float mask "
            "that is added to scores, 0 and -inf, is written (tensor == 0), and other numbers are "
            "part of a score"
        )


def require_a(name: str, value: object, *kinds: type) -> None:
    """Refuse a value of any other kind."""
    if not isinstance(value, kinds):
        wanted = _names(kinds)
        article = "an" if wanted[0] in "AEIOUaeiou" else "a"
        raise TypeError(f"{name}: expected {article} {wanted}, got {type(value).__name__}")


def _names(kinds: Sequence[type]) -> str:
    return " or ".join(kind.__name__ for kind in kinds)


def require_lengths(valid_lens: Tensor, len_k: int) -> None:
    """Refuse anything but lengths from 0 to ``len_k``."""
    require_tensor("valid_lens", valid_lens, axes="of integers, (batch,) or (batch, len_q)")
    if valid_lens.dtype == torch.bool:
        raise TypeError(
            "valid_lens: expected integer lengths, got booleans; a boolean tensor goes to mask="
        )
    if valid_lens.dtype not in INTEGER_DTYPES:
        raise TypeError(f"valid_lens: expected integer lengths, got dtype {valid_lens.dtype}")
    if valid_lens.dim() not in (1, 2):
        raise ValueError(
            f"valid_lens: expected shape (batch,) or (batch, len_q), got {shape_of(valid_lens)}"
        )
    if valid_lens.numel() and not 0 <= valid_lens.min() <= valid_lens.max() <= len_k:
        raise ValueError(
            f"valid_lens: expected lengths from 0 to len_k = {len_k}, "
            f"got lengths from {int(valid_lens.min())} to {int(valid_lens.max())}"
        )
