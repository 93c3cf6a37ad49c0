"""PyTorch's fused kernel, called where no weights are needed; and zeros in place of padding."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib.arguments import can_read, is_grouped


def without_padding(
    keys: Tensor, values: Tensor, mask: Tensor | None, *, has_head_axis: bool = True
) -> tuple[Tensor, Tensor]:
    """Put 0 in place of the keys and values that no query of their sequence may see.

    Their weight is 0, but 0 times NaN is NaN. A mask may have an axis for heads that keys and
    values have not.
    """
    if mask is None:
        return keys, values
    visible = mask.any(dim=-2).unsqueeze(-1)  # (..., len_k, 1)
    if mask.dim() == 4:
        visible = visible.any(dim=1, keepdim=has_head_axis)  # by any head
    # On a CPU two copies can take half as long as the attention itself.
    if can_read(visible) and (visible.all() or _are_moderate(keys, values)):
        return keys, values
    return keys.masked_fill(~visible, 0.0), values.masked_fill(~visible, 0.0)


def _are_moderate(*tensors: Tensor) -> bool:
    """Say whether no number is NaN or infinite, or so large that a product may be."""
    return all(
        torch.linalg.vector_norm(x.detach()).item() < torch.finfo(x.dtype).max ** 0.5
        for x in tensors
    )


def fused_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None,
    causal: bool,
    *,
    scale: float | None,
    dropout_p: float,
) -> Tensor:
    """Return the output of PyTorch's fused kernel, called in the form in which it is fastest.

    That form has four axes, ``(batch, num_heads, len, width)``. ``queries`` have all the leading
    axes; ``causal`` comes without a mask, for as many queries as keys.
    """
    leading = queries.shape[:-2]
    fully_masked = None
    if mask is not None:
        # Kernels differ in what they make of a query without keys. It sees all of them here, and
        # its output, with its gradient, is set to 0.
        fully_masked = ~mask.any(dim=-1, keepdim=True)  # (..., len_q, 1)
        if can_read(fully_masked) and not fully_masked.any():
            fully_masked = None
        mask = mask if fully_masked is None else mask | fully_masked
    grouped = is_grouped(queries, keys)
    if not grouped and not leading == keys.shape[:-2] == values.shape[:-2]:
        keys, values = (x.expand(*leading, *x.shape[-2:]) for x in (keys, values))
    if mask is not None and mask.dim() > 4:
        mask = mask.expand(*leading, *mask.shape[-2:])
    output = F.scaled_dot_product_attention(
        _with_four_axes(queries),
        _with_four_axes(keys),
        _with_four_axes(values),
        attn_mask=mask if mask is None else _with_four_axes(mask),
        dropout_p=dropout_p,
        is_causal=causal,
        scale=scale,
        enable_gqa=grouped,
    )
    if len(leading) != 2:
        output = output.reshape(*leading, *output.shape[-2:])
    return output if fully_masked is None else output.masked_fill(fully_masked, 0.0)


def _with_four_axes(x: Tensor) -> Tensor:
    """Join or add leading axes until there are two of them."""
    if x.dim() > 4:
        return x.flatten(0, -4)
    return x if x.dim() == 4 else x[(None,) * (4 - x.dim())]
