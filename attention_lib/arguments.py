"""Refusals in words: each names the argument, what was expected and what came.

Only mistakes that people make, and that PyTorch would accept or explain badly, are looked for.
"""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

WITHOUT_FLOAT64 = {"mps"}  # types of devices


def shape_of(x: Tensor) -> str:
    """Return a shape as it is written in the book: ``(2, 3)``."""
    return str(tuple(x.shape))


def can_read(x: Tensor) -> bool:
    """Say whether reading a number makes nobody wait: on the CPU, outside of a traced graph."""
    return x.device.type == "cpu" and not torch.compiler.is_compiling()


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """Return the common shape, or ``None`` where there is none."""
    try:
        return tuple(torch.broadcast_shapes(*map(tuple, shapes)))  # type: ignore[no-untyped-call]
    except RuntimeError:
        return None


def broadcasts_to(shape: Sequence[int], full_shape: Sequence[int]) -> bool:
    """Say whether a tensor of the first shape can be expanded to the second."""
    sizes = zip(reversed(shape), reversed(full_shape), strict=False)
    return len(shape) <= len(full_shape) and all(size in (1, full) for size, full in sizes)


def float64_device(device: torch.device) -> torch.device:
    """Return the device itself, or the CPU where it has no float64."""
    return torch.device("cpu") if device.type in WITHOUT_FLOAT64 else device


def require_tensor(
    name: str, x: object, axes: str = "...", *, rank: int | None = None, min_rank: int = 0
) -> None:
    """Refuse anything but a tensor of the wanted rank."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor {axes}, got {type(x).__name__}")
    if rank is not None and x.dim() != rank:
        raise ValueError(f"{name}: expected {rank} axes {axes}, got shape {shape_of(x)}")
    if x.dim() < min_rank:
        raise ValueError(
            f"{name}: expected at least {min_rank} axes {axes}, got shape {shape_of(x)}"
        )


def require_float(
    name: str, x: Tensor, axes: str = "...", *, rank: int | None = None, min_rank: int = 0
) -> None:
    """Refuse anything but a floating-point tensor of the wanted rank."""
    require_tensor(name, x, axes, rank=rank, min_rank=min_rank)
    if not x.is_floating_point():
        raise TypeError(f"{name}: expected a floating-point tensor, got dtype {x.dtype}")


def require_ids(name: str, x: Tensor, axes: str) -> None:
    """Refuse anything but a tensor of integers."""
    require_tensor(name, x, f"of integers, {axes}")
    if x.dtype == torch.bool or x.is_floating_point():
        raise TypeError(f"{name}: expected a tensor of integers, got dtype {x.dtype}")


def require_width(name: str, x: Tensor, size: int, meaning: str) -> None:
    """Refuse a tensor whose last axis does not have the expected length."""
    if x.shape[-1] != size:
        raise ValueError(
            f"{name}: expected {size} features ({meaning}) on the last axis, "
            f"got shape {shape_of(x)}"
        )


def require_device(other: str, device: torch.device, name: str, x: Tensor) -> None:
    """Refuse a tensor on another device."""
    if x.device != device:
        raise ValueError(f"{name}: expected the device of {other}, {device}, got {x.device}")


def require_alike(other: str, first: Tensor, name: str, x: Tensor) -> None:
    """Refuse two tensors that differ in device, or in dtype where autocast does not even it out."""
    require_device(other, first.device, name, x)
    if x.dtype != first.dtype and not torch.is_autocast_enabled(x.device.type):
        raise TypeError(f"{name}: expected the dtype of {other}, {first.dtype}, got {x.dtype}")


def require_bool(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, got {value!r}")


def require_count(name: str, value: Any, minimum: int | None = 1) -> None:
    """Refuse anything but a whole number of at least ``minimum``; ``None`` means any."""
    if isinstance(value, bool) or not isinstance(value, (int, torch.SymInt, Integral)):
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    if minimum is not None and value < minimum:
        raise ValueError(f"{name}: expected at least {minimum}, got {value}")


def require_even(name: str, width: int) -> None:
    """Refuse a width that is not made of pairs."""
    require_count(name, width, minimum=2)
    if width % 2:
        raise ValueError(f"{name}: expected an even number (pairs of coordinates), got {width}")


def require_divisor(name: str, part: int, whole_name: str, whole: int) -> None:
    """Refuse a number of parts that does not divide the whole."""
    if part <= 0 or whole % part:
        raise ValueError(f"{name}: expected a divisor of {whole_name}, {whole}, got {part}")


def require_positive(name: str, value: float) -> None:
    """Refuse a number that is not positive and finite."""
    if not 0 < value < float("inf"):
        raise ValueError(f"{name}: expected a positive number, got {value!r}")


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


def require_callable(name: str, value: object, parameters: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise TypeError(f"{name}: expected a callable ({parameters}), got {value!r}")


def require_queries_and_keys(queries: Tensor, keys: Tensor, *, same_width: bool = True) -> None:
    """Refuse queries and keys that no score function can compare."""
    _require_comparable(queries, keys, same_width)
    if queries.shape[:-2] != keys.shape[:-2]:
        _common_leading_axes(queries=queries, keys=keys)


def scores_shape(
    queries: Tensor, keys: Tensor, values: Tensor, *, same_width: bool = True
) -> tuple[int, ...]:
    """Refuse queries, keys and values that do not fit; return ``(..., len_q, len_k)``.

    With four axes, each head of keys and values may serve several heads of the queries.
    """
    _require_comparable(queries, keys, same_width)
    require_float("values", values, "(..., len_k, d_v)", min_rank=2)
    require_alike("keys", keys, "values", values)
    if values.shape[-2] != keys.shape[-2]:
        raise ValueError(
            "values: expected one value a key (len_k on axis -2), got "
            f"keys {shape_of(keys)} and values {shape_of(values)}"
        )
    leading: Sequence[int] = queries.shape[:-2]
    if not leading == keys.shape[:-2] == values.shape[:-2]:
        leading = _common_leading_axes(queries=queries, keys=keys, values=values)
    return (*leading, queries.shape[-2], keys.shape[-2])


def _require_comparable(queries: Tensor, keys: Tensor, same_width: bool) -> None:
    require_float("queries", queries, "(..., len_q, d_k)", min_rank=2)
    require_float("keys", keys, "(..., len_k, d_k)", min_rank=2)
    require_alike("queries", queries, "keys", keys)
    if queries.shape[-1] == 0:
        raise ValueError(
            f"queries: expected at least one feature on the last axis, got {shape_of(queries)}"
        )
    if same_width and queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            "keys: expected the width of queries on the last axis, got "
            f"queries {shape_of(queries)} and keys {shape_of(keys)}"
        )


def _common_leading_axes(**tensors: Tensor) -> tuple[int, ...]:
    """Return the leading axes to which all broadcast; grouped heads stand for all heads."""
    first, *others = tensors.values()
    shapes: list[Sequence[int]] = [x.shape[:-2] for x in others]
    if len(others) == 2 and all(is_grouped(first, x) for x in others) and shapes[0] == shapes[1]:
        shapes = [(len(x), 1) for x in others]
    common = broadcast(first.shape[:-2], *shapes)
    if common is None:
        shown = ", ".join(f"{name} {shape_of(x)}" for name, x in tensors.items())
        raise ValueError(f"leading axes: expected shapes that broadcast, got {shown}")
    return common


def is_grouped(queries: Tensor, keys: Tensor) -> bool:
    """Say whether each head of the keys serves several heads of the queries."""
    if not queries.dim() == keys.dim() == 4 or keys.shape[1] in (0, 1, queries.shape[1]):
        return False
    return queries.shape[1] % keys.shape[1] == 0


def require_lengths(valid_lens: Tensor, len_k: int) -> None:
    """Refuse anything but lengths from 0 to ``len_k``.

    On a GPU and in a traced graph they are not read: that would make the device wait.
    """
    axes = "(batch,) or (batch, len_q)"
    require_tensor("valid_lens", valid_lens, f"of integers, {axes}")
    if valid_lens.dtype == torch.bool:
        raise TypeError(
            "valid_lens: expected integer lengths (a boolean tensor goes to mask=), got booleans"
        )
    if valid_lens.is_floating_point():
        raise TypeError(f"valid_lens: expected integer lengths, got dtype {valid_lens.dtype}")
    if valid_lens.dim() not in (1, 2):
        raise ValueError(f"valid_lens: expected shape {axes}, got {shape_of(valid_lens)}")
    if valid_lens.numel() and can_read(valid_lens):
        shortest, longest = (int(x) for x in valid_lens.aminmax())
        if shortest < 0 or longest > len_k:
            raise ValueError(
                f"valid_lens: expected lengths from 0 to len_k = {len_k}, "
                f"got lengths from {shortest} to {longest}"
            )


def require_mask(name: str, mask: Tensor) -> None:
    """Refuse a mask that is not boolean."""
    require_tensor(name, mask, "of booleans")
    if mask.is_floating_point():
        raise TypeError(
            f"{name}: expected booleans, True = may attend (a mask of 0 and -inf is written "
            "(tensor == 0), and a bias is part of a score: "
            f"Attention(lambda q, k: scaled_dot_scores(q, k) + bias)), got dtype {mask.dtype}"
        )
    if mask.dtype != torch.bool:
        raise TypeError(
            f"{name}: expected booleans, True = may attend (integer lengths go to valid_lens=, and "
            "a 0/1 mask is written (tensor == 1) or (tensor == 0), as it means), "
            f"got dtype {mask.dtype}"
        )
