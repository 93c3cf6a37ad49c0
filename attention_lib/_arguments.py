"""Refusals in words: each names the argument, what was expected and what came.

Only mistakes that people make, and that PyTorch would accept or explain badly, are looked for.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NoReturn

import torch
from torch import Tensor

WITHOUT_FLOAT64 = {"mps"}  # types of devices

# The problem -> the exception, and what was expected
REFUSALS: dict[str, tuple[type[Exception], str]] = {
    "no tensor": (TypeError, "a torch.Tensor {axes}"),
    "no float": (TypeError, "a floating-point tensor"),
    "rank": (ValueError, "{rank} axes {axes}"),
    "minimum rank": (ValueError, "at least {rank} axes {axes}"),
    "width": (ValueError, "{size} features ({meaning}) on the last axis"),
    "no feature": (ValueError, "at least one feature on the last axis"),
    "shape": (ValueError, "the shape of {other}, {shape}"),
    "device": (ValueError, "the device of {other}, {device}"),
    "dtype": (TypeError, "the dtype of {other}, {dtype}"),
    "keys' width": (ValueError, "the width of queries on the last axis"),
    "values' length": (ValueError, "one value a key (len_k on axis -2)"),
    "batch": (ValueError, "the batch of queries, {batch}, on the first axis"),
    "leading axes": (ValueError, "shapes that broadcast"),
    "lengths of floats": (TypeError, "integer lengths"),
    "lengths of booleans": (TypeError, "integer lengths (a boolean tensor goes to mask=)"),
    "lengths' shape": (ValueError, "shape {shape}"),
    "lengths' batch": (ValueError, "scores with a batch axis"),
    "lengths' range": (ValueError, "lengths from 0 to len_k = {len_k}"),
    "mask of integers": (
        TypeError,
        "booleans, True = may attend (integer lengths go to valid_lens=, and a 0/1 mask is "
        "written (tensor == 1) or (tensor == 0), as it means)",
    ),
    "mask of floats": (
        TypeError,
        "booleans, True = may attend (a mask of 0 and -inf is written (tensor == 0), and a bias "
        "is part of a score: Attention(lambda q, k: scaled_dot_scores(q, k) + bias))",
    ),
    "mask's shape": (ValueError, "a shape that broadcasts to the scores' {shape}"),
    "positions' shape": (ValueError, "a shape that broadcasts to (..., length) of x, {shape}"),
    "masks' shapes": (ValueError, "a shape that broadcasts with the masks before it, {shape}"),
    "ids": (TypeError, "a tensor of integers"),
    "no count": (TypeError, "a whole number"),
    "no bool": (TypeError, "True or False"),
    "count": (ValueError, "at least {minimum}"),
    "no divisor": (ValueError, "a divisor of {whole_name}, {whole}"),
    "odd": (ValueError, "an even number (pairs of coordinates)"),
    "too long": (ValueError, "at most max_len = {max_len} positions"),
    "one layer": (ValueError, "one cache for each layer"),
    "length": (ValueError, "at most len(cache) = {length}"),
    "forgotten": (ValueError, "a position whose window of {window} keys is still held"),
    "gradient": (ValueError, "a call without gradients, under torch.no_grad()"),
    "positions": (ValueError, "the positions of the queries, {len_q}, with a cache"),
    "lengths with a cache": (
        ValueError,
        "None with a cache (prompts are padded on the left, and mask= hides the padding)",
    ),
    "not positive": (ValueError, "a positive number"),
    "choice": (ValueError, "{choices}"),
    "stacked": (ValueError, "kdim and vdim equal to embed_dim {embed_dim}"),
    "no extra key": (ValueError, "no add_bias_kv and no add_zero_attn"),
    "own weights": (
        RuntimeError,
        "W_q, W_k, W_v and W_o (MultiHeadAttention.from_torch(module) takes PyTorch's layer)",
    ),
    "plain": (ValueError, "what torch.nn.MultiheadAttention has, too"),
    "no callable": (TypeError, "a callable ({axes})"),
    "kind": (TypeError, "a {kind}"),
}


def refuse(problem: str, name: str, got: object, **words: object) -> NoReturn:
    """Raise the exception of the table, with its sentence."""
    exception, expected = REFUSALS[problem]
    raise exception(f"{name}: expected {expected.format(**words)}, got {got}")


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


def require_tensor(
    name: str, x: object, axes: str = "...", *, rank: int | None = None, min_rank: int = 0
) -> None:
    """Refuse anything but a tensor of the wanted rank."""
    if not isinstance(x, torch.Tensor):
        refuse("no tensor", name, type(x).__name__, axes=axes)
    if rank is not None and x.dim() != rank:
        refuse("rank", name, f"shape {shape_of(x)}", rank=rank, axes=axes)
    if x.dim() < min_rank:
        refuse("minimum rank", name, f"shape {shape_of(x)}", rank=min_rank, axes=axes)


def require_float(
    name: str, x: Tensor, axes: str = "...", *, rank: int | None = None, min_rank: int = 0
) -> None:
    """Refuse anything but a floating-point tensor of the wanted rank."""
    require_tensor(name, x, axes, rank=rank, min_rank=min_rank)
    if not x.is_floating_point():
        refuse("no float", name, f"dtype {x.dtype}")


def require_width(name: str, x: Tensor, size: int, meaning: str) -> None:
    """Refuse a tensor whose last axis does not have the expected length."""
    if x.shape[-1] != size:
        refuse("width", name, f"shape {shape_of(x)}", size=size, meaning=meaning)


def require_device(other: str, device: torch.device, name: str, x: Tensor) -> None:
    """Refuse a tensor on another device."""
    if x.device != device:
        refuse("device", name, x.device, other=other, device=device)


def require_alike(other: str, first: Tensor, name: str, x: Tensor) -> None:
    """Refuse two tensors that differ in device, or in dtype where autocast does not even it out."""
    require_device(other, first.device, name, x)
    if x.dtype != first.dtype and not torch.is_autocast_enabled(x.device.type):
        refuse("dtype", name, x.dtype, other=other, dtype=first.dtype)


def require_bool(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        refuse("no bool", name, repr(value))


def require_count(name: str, value: Any, minimum: int | None = 1) -> None:
    """Refuse anything but a whole number of at least ``minimum``; ``None`` means any."""
    if isinstance(value, bool) or not isinstance(value, (int, torch.SymInt, Integral)):
        refuse("no count", name, repr(value))
    if minimum is not None and value < minimum:
        refuse("count", name, value, minimum=minimum)


def _divides(part: int, whole: int) -> bool:
    return part > 0 and whole % part == 0


def require_divisor(name: str, part: int, whole_name: str, whole: int) -> None:
    """Refuse a number of parts that does not divide the whole."""
    if not _divides(part, whole):
        refuse("no divisor", name, part, whole_name=whole_name, whole=whole)


def require_positive(name: str, value: float) -> None:
    """Refuse a number that is not positive and finite."""
    if not 0 < value < float("inf"):
        refuse("not positive", name, repr(value))


def float64_device(device: torch.device) -> torch.device:
    """Return the device itself, or the CPU where it has no float64."""
    return torch.device("cpu") if device.type in WITHOUT_FLOAT64 else device


def require_queries_and_keys(queries: Tensor, keys: Tensor, *, same_width: bool = True) -> None:
    """Refuse queries and keys that no score function can compare."""
    _require_comparable(queries, keys, same_width)
    if queries.shape[:-2] != keys.shape[:-2]:
        _common_leading_axes(queries=queries, keys=keys)


def _require_comparable(queries: Tensor, keys: Tensor, same_width: bool) -> None:
    require_float("queries", queries, "(..., len_q, d_k)", min_rank=2)
    require_float("keys", keys, "(..., len_k, d_k)", min_rank=2)
    require_alike("queries", queries, "keys", keys)
    if queries.shape[-1] == 0:
        refuse("no feature", "queries", shape_of(queries))
    if same_width and queries.shape[-1] != keys.shape[-1]:
        got = f"queries {shape_of(queries)} and keys {shape_of(keys)}"
        refuse("keys' width", "keys", got)


def _common_leading_axes(**tensors: Tensor) -> tuple[int, ...]:
    """Return the leading axes to which all broadcast; grouped heads stand for all heads."""
    first, *others = tensors.values()
    shapes: list[Sequence[int]] = [x.shape[:-2] for x in others]
    if len(others) == 2 and all(is_grouped(first, x) for x in others) and shapes[0] == shapes[1]:
        shapes = [(len(x), 1) for x in others]
    common = broadcast(first.shape[:-2], *shapes)
    if common is None:
        got = ", ".join(f"{name} {shape_of(x)}" for name, x in tensors.items())
        refuse("leading axes", "leading axes", got)
    return common


def is_grouped(queries: Tensor, keys: Tensor) -> bool:
    """Say whether each head of the keys serves several heads of the queries."""
    if not queries.dim() == keys.dim() == 4 or keys.shape[1] in (1, queries.shape[1]):
        return False
    return _divides(keys.shape[1], queries.shape[1])


def scores_shape(
    queries: Tensor, keys: Tensor, values: Tensor, *, same_width: bool
) -> tuple[int, ...]:
    """Refuse queries, keys and values that do not fit; return ``(..., len_q, len_k)``.

    With four axes, each head of keys and values may serve several heads of the queries.
    """
    _require_comparable(queries, keys, same_width)
    require_float("values", values, "(..., len_k, d_v)", min_rank=2)
    require_alike("keys", keys, "values", values)
    if values.shape[-2] != keys.shape[-2]:
        got = f"keys {shape_of(keys)} and values {shape_of(values)}"
        refuse("values' length", "values", got)
    leading: Sequence[int] = queries.shape[:-2]
    if not leading == keys.shape[:-2] == values.shape[:-2]:
        leading = _common_leading_axes(queries=queries, keys=keys, values=values)
    return (*leading, queries.shape[-2], keys.shape[-2])


def require_lengths(valid_lens: Tensor, len_k: int) -> None:
    """Refuse anything but lengths from 0 to ``len_k``.

    On a GPU and in a traced graph they are not read: that would make the device wait.
    """
    axes = "(batch,) or (batch, len_q)"
    require_tensor("valid_lens", valid_lens, f"of integers, {axes}")
    if valid_lens.dtype == torch.bool:
        refuse("lengths of booleans", "valid_lens", "booleans")
    if valid_lens.is_floating_point():
        refuse("lengths of floats", "valid_lens", f"dtype {valid_lens.dtype}")
    if valid_lens.dim() not in (1, 2):
        refuse("lengths' shape", "valid_lens", shape_of(valid_lens), shape=axes)
    if valid_lens.numel() and can_read(valid_lens):
        shortest, longest = (int(x) for x in valid_lens.aminmax())
        if shortest < 0 or longest > len_k:
            got = f"lengths from {shortest} to {longest}"
            refuse("lengths' range", "valid_lens", got, len_k=len_k)


def require_mask(name: str, mask: Tensor) -> None:
    """Refuse a mask that is not boolean."""
    require_tensor(name, mask, "of booleans")
    if mask.dtype != torch.bool:
        kind = "floats" if mask.is_floating_point() else "integers"
        refuse(f"mask of {kind}", name, f"dtype {mask.dtype}")
