"""Refusals in words, written once: each names the argument, what was expected and what came."""

import sys
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

INTEGER_DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def numbers_in(tensor: Tensor) -> Any:
    """Return the numbers of a tensor as Python numbers, or ``None`` if they cannot be read.

    They cannot while a graph is traced (``torch.compile``, ``torch.export``), under
    ``torch.func``, or in meta and fake tensors.
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return None
    try:
        return tensor.tolist()
    except RuntimeError:  # meta and fake tensors have different messages
        return None


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


def require_finite(name: str, value: object, *, what: str = "a number") -> None:
    """Refuse anything but a finite number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: expected {what}, got {value!r}")
    if not abs(value) <= sys.float_info.max:  # NaN is not
        raise ValueError(f"{name}: expected a finite number, got {value!r}")


def require_probability(name: str, value: object) -> None:
    """Refuse anything but a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: expected a probability from 0 to 1, got {value!r}")
    if not 0 <= value <= 1:  # NaN is not
        raise ValueError(f"{name}: expected a probability from 0 to 1, got {value!r}")


def require_flag(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, got {value!r}")


def require_device(name: str, value: object) -> None:
    """Refuse anything but a device or its name; ``None`` is the default device."""
    if value is None or isinstance(value, torch.device):
        return
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise TypeError(f"{name}: expected a torch.device, got {value!r}")
    try:
        torch.device(value)
    except RuntimeError:
        raise ValueError(f"{name}: expected a torch.device, got {value!r}") from None


def require_float_dtype(name: str, value: object) -> None:
    """Refuse anything but a floating-point dtype; ``None`` is the default dtype."""
    if value is not None and not (isinstance(value, torch.dtype) and value.is_floating_point):
        raise TypeError(f"{name}: expected a floating-point torch.dtype, got {value!r}")


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """Return the common shape, or ``None`` where there is none."""
    if all(shape == shapes[0] for shape in shapes):
        return tuple(shapes[0])
    common: list[int] = []
    for sizes in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        longer = [size for size in sizes if size != 1]
        if any(size != longer[0] for size in longer):
            return None
        common.append(longer[0] if longer else 1)
    return tuple(reversed(common))


def broadcast_leading(
    named_tensors: Sequence[tuple[str, Tensor]], trailing: int
) -> tuple[int, ...]:
    """Return the common leading shape of ``(name, tensor)`` pairs, less their ``trailing`` axes."""
    leading = broadcast(*[tensor.shape[:-trailing] for _, tensor in named_tensors])
    if leading is None:
        got = ", ".join(f"{name} {shape_of(tensor)}" for name, tensor in named_tensors)
        raise ValueError(f"leading axes: expected shapes that broadcast, got {got}")
    return leading


def require_queries_and_keys(
    queries: Tensor, keys: Tensor, *, same_width: bool = True, grouped: bool = False
) -> None:
    """Refuse queries and keys that no score function can compare.

    With ``grouped``, each head of the keys may serve several heads of the queries.
    """
    require_float("queries", queries, min_rank=2, axes="(..., len_q, d_k)")
    require_float("keys", keys, min_rank=2, axes="(..., len_k, d_k)")
    require_same_kind("queries", queries, "keys", keys)
    for name, tensor in (("queries", queries), ("keys", keys)):
        if tensor.shape[-1] == 0:
            raise ValueError(f"{name}: expected at least one feature, got {shape_of(tensor)}")
    if same_width and queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            "keys: expected the width of queries on the last axis, got "
            f"queries {shape_of(queries)} and keys {shape_of(keys)}"
        )
    leading = _leading_of_heads if grouped else _leading
    leading([("queries", queries), ("keys", keys)])


def require_all(
    queries: Tensor, keys: Tensor, values: Tensor, *, same_width: bool = True
) -> tuple[int, ...]:
    """Refuse queries, keys and values that do not fit; return the scores' shape."""
    if not _fit(queries, keys, values):  # the words, or the unusual shapes
        require_queries_and_keys(queries, keys, same_width=same_width, grouped=True)
        require_values(keys, values)
    leading = _leading_of_heads([("queries", queries), ("keys", keys), ("values", values)])
    return (*leading, queries.shape[-2], keys.shape[-2])


def _leading(named_tensors: Sequence[tuple[str, Tensor]]) -> tuple[int, ...]:
    return broadcast_leading(named_tensors, trailing=2)


def _leading_of_heads(named_tensors: Sequence[tuple[str, Tensor]]) -> tuple[int, ...]:
    """Return the leading axes of the scores; a head of keys may serve several of queries."""
    queries, *others = (x for _, x in named_tensors)
    same_heads = all(x.shape[:-2] == queries.shape[:-2] for x in others)
    if same_heads or queries.dim() != 4 or any(x.dim() != 4 for x in others):
        return _leading(named_tensors)
    num_heads, num_kv_heads = queries.shape[1], others[0].shape[1]
    alike = all(x.shape[1] == num_kv_heads for x in others)
    if not alike or num_kv_heads < 2 or num_heads % num_kv_heads:
        return _leading(named_tensors)
    return _leading([(name, x[:, :1]) for name, x in named_tensors])[0], num_heads


def _fit(queries: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Say whether all three fit, by the quick look that is enough if their shapes are alike."""
    if not (type(queries) is type(keys) is type(values) is Tensor and queries.dim() >= 2):
        return False
    if queries.is_nested or keys.is_nested or values.is_nested:  # these have no shape
        return False
    return (
        queries.dtype == keys.dtype == values.dtype
        and queries.layout == keys.layout == values.layout == torch.strided
        and queries.is_floating_point()
        and queries.dtype.itemsize > 1
        and queries.device == keys.device == values.device
        and queries.shape[:-2] == keys.shape[:-2] == values.shape[:-2]
        and queries.shape[-1] == keys.shape[-1] > 0
        and keys.shape[-2] == values.shape[-2]
    )


def require_values(keys: Tensor, values: Tensor) -> None:
    """Refuse values that do not pair up with the keys."""
    require_float("values", values, min_rank=2, axes="(..., len_k, d_v)")
    require_same_kind("keys", keys, "values", values)
    if values.shape[-2] != keys.shape[-2]:
        raise ValueError(
            "values: expected one value a key (len_k on axis -2), got "
            f"keys {shape_of(keys)} and values {shape_of(values)}"
        )
    broadcast_leading([("keys", keys), ("values", values)], trailing=2)


def require_lengths(valid_lens: Tensor, len_k: int) -> tuple[int, int] | None:
    """Refuse anything but lengths; return the shortest and the longest, if they can be read."""
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
    if not valid_lens.numel():
        return None
    found = numbers_in(torch.stack(valid_lens.aminmax()))
    if found is None:
        return None
    shortest, longest = found
    if shortest < 0 or longest > len_k:
        raise ValueError(
            f"valid_lens: expected lengths from 0 to len_k = {len_k}, "
            f"got lengths from {shortest} to {longest}"
        )
    return shortest, longest


def require_lengths_for(
    shape: Sequence[int], device: torch.device, valid_lens: Tensor
) -> tuple[int, int] | None:
    """Refuse lengths that do not fit scores of ``shape``; return the shortest and the longest."""
    require_tensor("valid_lens", valid_lens, axes="of integers, (batch,) or (batch, len_q)")
    _require_device_of_scores("valid_lens", valid_lens, device)
    bounds = require_lengths(valid_lens, shape[-1])
    if len(shape) < 3:
        raise ValueError(
            f"valid_lens: expected scores with a batch axis, got scores {tuple(shape)}"
        )
    if tuple(valid_lens.shape) != (shape[0], shape[-2])[: valid_lens.dim()]:
        raise ValueError(
            f"valid_lens: expected shape ({shape[0]},) or ({shape[0]}, {shape[-2]}) for "
            f"scores {tuple(shape)}, got {shape_of(valid_lens)}"
        )
    return bounds


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


def require_mask_for(shape: Sequence[int], device: torch.device, mask: Tensor) -> None:
    """Refuse a mask that does not fit scores of ``shape``."""
    require_mask("mask", mask)
    _require_device_of_scores("mask", mask, device)
    if mask.shape == tuple(shape[-mask.dim() :]):
        return
    if broadcast(mask.shape, shape) != tuple(shape):
        raise ValueError(
            f"mask: expected a shape that broadcasts to the scores' {tuple(shape)}, "
            f"got {shape_of(mask)}"
        )


def _require_device_of_scores(name: str, value: Tensor, device: torch.device) -> None:
    if value.device != device:
        raise ValueError(f"{name}: expected the device of the scores, {device}, got {value.device}")


_PYTORCH_HABITS = {
    "is_causal": "causal attention is mask=causal_mask(len_q, len_k)",
    "attn_mask": "a mask of booleans, True = may attend, goes to mask=",
    "key_padding_mask": "how many keys are valid goes to valid_lens=, or a mask of booleans to "
    "mask=, where True means may attend: mask=~key_padding_mask.unsqueeze(1)",
    "dropout_p": "dropout is an argument of the layer: DotProductAttention(dropout=0.1)",
    "enable_gqa": "fewer heads of keys and values are known by their shape",
    "average_attn_weights": "the weights are those of each head: weights.mean(dim=1)",
}


def require_known(given: dict[str, object]) -> None:
    """Refuse arguments that attention does not have, PyTorch's in words."""
    for name in given:
        hint = _PYTORCH_HABITS.get(name)
        more = "" if hint is None else f"; {hint}"
        raise TypeError(
            f"{name}: expected an argument among queries, keys, values, valid_lens, mask and "
            f"need_weights, got {name}={type(given[name]).__name__}{more}"
        )


def require_a(name: str, value: object, *kinds: type) -> None:
    """Refuse a value of any other kind."""
    if not isinstance(value, kinds):
        wanted = _names(kinds)
        article = "an" if wanted[0] in "AEIOUaeiou" else "a"
        raise TypeError(f"{name}: expected {article} {wanted}, got {type(value).__name__}")


def require_each(name: str, values: object, *kinds: type, minimum: int = 1) -> list[Any]:
    """Return what an iterable holds; refuse a string for it, too few, and one of another kind."""
    single = isinstance(values, str) or getattr(values, "ndim", 1) == 0
    if single or not isinstance(values, Iterable):
        raise TypeError(f"{name}: expected a sequence of {_names(kinds)}, got {values!r}")
    found = [*values]
    for number, value in enumerate(found):
        if not isinstance(value, kinds):
            require_a(f"{name}[{number}]", value, *kinds)
    if len(found) < minimum:
        raise ValueError(f"{name}: expected at least {minimum}, got {len(found)}")
    return found


def _names(kinds: Sequence[type]) -> str:
    return " or ".join(kind.__name__ for kind in kinds)


def is_index(value: object, end: int) -> bool:
    """Say whether this is a whole number from 0 to before ``end``; True and 1.0 are none."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and value in range(end)
