"""What is done around the textbook's lines: padding is kept out, and PyTorch's kernel is called.

A reader may skip this module: :mod:`attention_lib.attention` shows what is computed.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib._arguments import can_read, is_grouped, require_bool, scores_shape
from attention_lib.masking import causal_mask, one_mask

HALF_PRECISION = (torch.float16, torch.bfloat16)


def checked(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None,
    mask: Tensor | None,
    causal: bool,
    *,
    same_width: bool,
) -> tuple[Tensor, Tensor | None, bool]:
    """Check the arguments; return the queries with all leading axes, one mask, and ``causal``."""
    shape = scores_shape(queries, keys, values, same_width=same_width)
    require_bool("causal", causal)
    mask, causal = one_mask(shape, queries.device, valid_lens, mask, causal=causal)
    if queries.shape[:-2] != shape[:-2]:
        queries = queries.expand(*shape[:-2], *queries.shape[-2:])
    return queries, mask, causal


def attention(
    attend: Callable[..., tuple[Tensor, Tensor]],
    score: Callable[[Tensor, Tensor], Tensor],
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None,
    causal: bool,
    *,
    need_weights: bool,
    dropout_p: float = 0.0,
    fused: Callable[..., Tensor] | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Keep padding out, and call ``attend``, or the kernel where no weights are needed.

    Arguments are checked; ``causal`` comes without a mask. ``fused`` is the kernel that computes
    the same output. Only scaled dot products have one.
    """
    keys, values = without_padding(keys, values, mask)
    # Some versions of the kernel divide by an axis of length 0, which ends the process.
    has_numbers = 0 not in (*queries.shape, *keys.shape, *values.shape)
    kernel = fused if has_numbers and not need_weights else None
    # PyTorch's is_causal shows the first query the first key: the same where both are as many.
    if causal and (kernel is None or queries.shape[-2] != keys.shape[-2]):
        mask = causal_mask(queries.shape[-2], keys.shape[-2], queries.device)
        mask, causal = mask[(None,) * (queries.dim() - 2)], False  # (..., len_q, len_k)
    if kernel is not None:
        return kernel(queries, keys, values, mask, causal, dropout_p=dropout_p), None
    if is_grouped(queries, keys):
        group_size = queries.shape[1] // keys.shape[1]
        keys, values = (x.repeat_interleave(group_size, dim=1) for x in (keys, values))
    dtype = queries.dtype
    in_float32 = fused is not None and dtype in HALF_PRECISION  # as the kernel computes, too
    if in_float32:
        queries, keys, values = queries.float(), keys.float(), values.float()
    output, weights = attend(score, queries, keys, values, mask, dropout_p)
    if in_float32:
        output, weights = output.to(dtype), weights.to(dtype)
    return output, weights if need_weights else None


def without_padding(
    keys: Tensor, values: Tensor, mask: Tensor | None, *, has_head_axis: bool = True
) -> tuple[Tensor, Tensor]:
    """Put 0 in place of the keys and values that no query of their sequence may see.

    Their weight is 0, but 0 times NaN is NaN. A mask may have an axis for heads that keys and
    values have not.
    """
    if mask is None:
        return keys, values
    visible_keys = mask.any(dim=-2).unsqueeze(-1)  # (..., len_k, 1)
    if mask.dim() == 4:
        visible_keys = visible_keys.any(dim=1, keepdim=has_head_axis)  # by any head
    if can_read(mask) and visible_keys.all():
        return keys, values
    padding = ~visible_keys
    return keys.masked_fill(padding, 0.0), values.masked_fill(padding, 0.0)


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
