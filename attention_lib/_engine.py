"""What is done around the textbook's lines: padding is kept out, and PyTorch's kernel is called.

A reader may skip this module: :mod:`attention_lib.attention` shows what is computed.
"""

import torch.nn.functional as F
from torch import Tensor

from attention_lib._arguments import can_read
from attention_lib.masking import causal_mask


def without_padding(
    keys: Tensor, values: Tensor, mask: Tensor | None, *, cut: bool, split: bool = True
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Put 0 in place of the keys and values that no query of their sequence may see.

    Their weight is 0, but 0 times NaN is NaN. With ``cut``, those at the end are left out instead;
    :func:`with_last_keys` gives them their weight. So is a mask that hides nothing else. Both
    happen on the CPU only: a GPU would have to wait until the mask is read. The heads of the mask
    have no axis in keys and values that are not ``split`` yet.
    """
    if mask is None:
        return keys, values, mask
    seen = mask.any(dim=-2).unsqueeze(-1)  # (..., len_k, 1)
    if mask.dim() == 4:
        seen = seen.any(dim=1, keepdim=split)  # by any head
    if can_read(mask):
        if seen.all():
            return keys, values, None if mask.all() else mask
        if cut and not seen[..., -1:, :].any():
            places = seen.reshape(-1, mask.shape[-1]).any(dim=0).nonzero()
            end = int(places[-1]) + 1 if len(places) else 0
            if not mask[..., :end].all():
                # The kernel takes up to twice as long where keys do not fill its vectors.
                end = min(-(-end // 16) * 16, keys.shape[-2])
            keys, values, seen = keys[..., :end, :], values[..., :end, :], seen[..., :end, :]
            mask = mask[..., :end]
            if mask.all():
                return keys, values, None
    padding = ~seen
    return keys.masked_fill(padding, 0.0), values.masked_fill(padding, 0.0), mask


def with_last_keys(weights: Tensor | None, len_k: int) -> Tensor | None:
    """Give keys that were left out the weight 0."""
    if weights is None or weights.shape[-1] == len_k:
        return weights
    return F.pad(weights, (0, len_k - weights.shape[-1]))


def is_grouped(queries: Tensor, keys: Tensor) -> bool:
    """Say whether each head of the keys serves several heads of the queries."""
    return queries.dim() == keys.dim() == 4 and keys.shape[1] not in (1, queries.shape[1])


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
    axes; ``causal`` comes without a mask.
    """
    len_q, len_k, leading = queries.shape[-2], keys.shape[-2], queries.shape[:-2]
    if causal and len_q != len_k:  # PyTorch's is_causal is another one then
        mask = causal_mask(len_q, len_k, queries.device) if len_q > 1 else None
        causal = False
    empty = None
    if mask is not None:
        # Kernels differ in what they make of a query without keys. It sees all of them here, and
        # its output, with its gradient, is set to 0.
        empty = ~mask.any(dim=-1, keepdim=True)  # (..., len_q, 1)
        if can_read(empty) and not empty.any():
            empty = None
        mask = mask if empty is None else mask | empty
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
    return output if empty is None else output.masked_fill(empty, 0.0)


def _with_four_axes(x: Tensor) -> Tensor:
    """Join or add leading axes until there are two of them."""
    if x.dim() > 4:
        return x.flatten(0, -4)
    return x if x.dim() == 4 else x[(None,) * (4 - x.dim())]
