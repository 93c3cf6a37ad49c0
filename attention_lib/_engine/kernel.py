"""PyTorch's fused kernel, called in the form in which it is fastest."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib._engine.visibility import Tensors, Visible, without_empty_rows


def is_grouped(keys: Tensor, shape: tuple[int, ...]) -> bool:
    """Say whether each head of the keys serves several heads of the queries."""
    few = keys.dim() == 4 and 1 < keys.shape[1] < shape[1]
    return True if few else False  # noqa: SIM210  a compiler's symbol is no bool


def for_each_head(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Repeat each head of keys or values for the query heads that it serves."""
    if not is_grouped(x, shape):
        return x
    return x.repeat_interleave(shape[1] // x.shape[1], dim=1)


def attend_by_kernel(
    tensors: Tensors,
    visible: Visible,
    shape: tuple[int, ...],
    dropout_p: float,
    scale: float,
    *,
    in_float32: bool = False,
) -> Tensor:
    """Return the output for scores of ``shape``.

    The kernel gets ``(batch, num_heads, len, width)`` and no row that sees nothing: its result
    for such a row differs from version to version.
    """
    leading, grouped = shape[:-2], is_grouped(tensors[1], shape)
    mask, empty = without_empty_rows(visible)
    queries, keys, values = (_over_heads(x, leading, grouped) for x in tensors)
    if mask is not None and mask.dim() > 3 and len(leading) > 2:
        mask = mask.expand(*leading, *mask.shape[-2:]).flatten(0, len(leading) - 2)
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(0)
    call = partial(
        F.scaled_dot_product_attention,
        attn_mask=None if visible.is_causal else mask,
        dropout_p=dropout_p,
        is_causal=visible.is_causal,
        scale=scale,
        enable_gqa=grouped,
    )
    if in_float32:
        with torch.autocast(queries.device.type, enabled=False):
            output = call(queries.float(), keys.float(), values.float()).half()
    else:
        output = call(queries, keys, values)
    if output.requires_grad and not torch.compiler.is_compiling():
        register: Callable[..., object] = output.register_hook
        register(_refuse_second_derivative)
    if len(leading) != 2:
        output = output.reshape(*leading, *output.shape[-2:])
    return output if empty is None else output.masked_fill(empty, 0.0)


def _over_heads(x: Tensor, leading: tuple[int, ...], grouped: bool) -> Tensor:
    """Give a tensor two leading axes; grouped heads stay as few as they are."""
    if grouped:
        return x.expand(leading[0], *x.shape[1:])
    if x.shape[:-2] != leading:
        x = x.expand(*leading, *x.shape[-2:])
    if len(leading) > 2:
        return x.flatten(0, len(leading) - 2)
    return x if len(leading) == 2 else x[(None,) * (2 - len(leading))]


def _refuse_second_derivative(grad: Tensor) -> None:
    if torch.is_grad_enabled():  # create_graph=True
        raise RuntimeError(
            "need_weights: expected True for a second derivative (create_graph=True), got False; "
            "the fused kernel, which computes attention without weights, has only a first one"
        )
