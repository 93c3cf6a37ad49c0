"""Which query may see which key: lengths and masks joined into one mask, as small as possible."""

from collections.abc import Sequence
from typing import NamedTuple
from weakref import ref

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib._arguments import numbers_in, require_lengths_for, require_mask_for

Tensors = tuple[Tensor, Tensor, Tensor]  # queries, keys, values


class Visible(NamedTuple):
    """Which query may see which key, and facts about the mask that cost no further reading."""

    mask: Tensor | None  # broadcasts to (..., len_q, len_k); None where everything is seen
    len_k: int  # no query sees a key from here on
    is_causal: bool = False  # the mask is the one that PyTorch's kernel calls is_causal
    some_empty: bool = False  # there may be a query that sees no key


def up_to(valid_lens: Tensor, len_k: int) -> Tensor:
    """Return the mask of lengths, ``(batch, 1 or len_q, len_k)``."""
    if valid_lens.dim() == 1:
        valid_lens = valid_lens.unsqueeze(-1)  # (batch, 1)
    positions = torch.arange(len_k, device=valid_lens.device)  # (len_k,)
    return positions < valid_lens.unsqueeze(-1)


def resolve_visible(
    shape: Sequence[int],
    device: torch.device,
    valid_lens: Tensor | None,
    mask: Tensor | None,
    *,
    cut: bool = True,
) -> Visible:
    """Join lengths and mask into one mask, or none if they hide nothing.

    ``shape`` is that of the scores, ``(..., len_q, len_k)``; its first axis is the batch of
    ``valid_lens``. With ``cut``, keys beyond the longest length are left out; a score that counts
    positions from the last key needs all of them. Only the shortest and the longest length are
    read, and whether the mask hides anything; a causal mask is read once.
    """
    len_q, len_k = shape[-2:]
    mask = mask_over_pairs(mask, shape, device)
    is_causal = mask is not None and mask.shape[-2:] == (len_q, len_k) and known_causal(mask)
    if mask is not None and (numbers_in(mask.all()) if not is_causal else len_q == 1):
        mask, is_causal = None, False
    every_row_sees_a_key = mask is None or (is_causal and len_q <= len_k)
    shortest = longest = len_k
    if valid_lens is not None:
        shortest, longest = require_lengths_for(shape, device, valid_lens) or (0, len_k)
        longest = longest if cut else len_k
        if mask is not None and mask.shape[-1] > longest:
            mask = mask[..., :longest]
        if shortest < longest:
            lengths = lengths_over_pairs(up_to(valid_lens, longest), shape)
            mask = lengths if mask is None else mask & lengths
    is_causal = is_causal and len_q == len_k == longest == shortest
    some_empty = shortest == 0 or not every_row_sees_a_key
    return Visible(mask, longest, is_causal, some_empty)


def lengths_over_pairs(lengths: Tensor, shape: Sequence[int]) -> Tensor:
    """Insert axes, such as that of the heads, between batch and queries of a length mask."""
    inner = (1,) * (len(shape) - 3)
    return lengths.reshape(lengths.shape[0], *inner, *lengths.shape[1:])


def mask_over_pairs(
    mask: Tensor | None, shape: Sequence[int], device: torch.device
) -> Tensor | None:
    """Refuse a mask that does not fit scores of ``shape``; give it at least two axes."""
    if mask is None:
        return None
    require_mask_for(shape, device, mask)
    return mask if mask.dim() >= 2 else mask[(None,) * (2 - mask.dim())]


# id of a mask -> the mask, its version when it was read, whether it was causal
_READ_BEFORE: dict[int, tuple[ref[Tensor], int, bool]] = {}


def remember_causal(mask: Tensor, is_causal: bool) -> bool:
    """Remember whether a mask is causal, until the mask is written to; return ``is_causal``."""
    key = id(mask)
    _READ_BEFORE[key] = ref(mask, lambda _: _READ_BEFORE.pop(key, None)), mask._version, is_causal
    return is_causal


def known_causal(mask: Tensor) -> bool:
    """Say whether a mask is causal, aligned to the lower right; read it only once.

    A slice, such as ``buffer[:length, :length]``, is recognised by the tensor it was cut from.
    """
    if torch.compiler.is_compiling():
        return False
    whole = mask if mask._base is None else mask._base
    if whole.is_inference() or not whole.is_contiguous():
        return False
    other = any(x.dim() < 2 or x.shape[:-2].numel() != 1 for x in (mask, whole))
    if other or mask.stride()[-2:] != whole.stride()[-2:] or not _is_causal(whole):
        return False
    (len_q, len_k), (rows, columns) = whole.shape[-2:], mask.shape[-2:]
    row, column = divmod(int(mask.storage_offset() - whole.storage_offset()), max(len_k, 1))
    inside = row + rows <= len_q and column + columns <= len_k
    # The last query of the slice sees up to the last key of the slice, and no further.
    return inside and row + rows - len_q == column + columns - len_k


def _is_causal(mask: Tensor) -> bool:
    known = _READ_BEFORE.get(id(mask))
    if known is not None and known[0]() is mask and known[1] == mask._version:
        return known[2]
    len_q, len_k = mask.shape[-2:]
    same = numbers_in((mask == torch.ones_like(mask).tril(len_k - len_q)).all())
    return False if same is None else remember_causal(mask, same)


def without_cut_keys(visible: Visible, tensors: Tensors) -> tuple[Visible, Tensors]:
    """Leave out the keys and values from ``visible.len_k`` on, which no query sees.

    With a mask, a few of these keys stay, masked, because the kernel takes up to twice as long if
    the keys do not fill the processor's vectors. If no key is left, the queries become 0, so that
    NaN in them reaches no gradient.
    """
    queries, keys, values = tensors
    len_k = keys.shape[-2]
    if visible.len_k == 0:
        queries = queries.masked_fill(torch.ones_like(queries, dtype=torch.bool), 0.0)
        return visible, (queries, keys[..., :0, :], values[..., :0, :])
    if visible.len_k == len_k:
        return visible, tensors
    if visible.mask is not None:
        mask = visible.mask.expand(*visible.mask.shape[:-1], visible.len_k)
        full = min(-(-visible.len_k // 16) * 16, len_k)  # 16 numbers fill the widest vector
        visible = visible._replace(mask=F.pad(mask, (0, full - visible.len_k)), len_k=full)
    return visible, (queries, keys[..., : visible.len_k, :], values[..., : visible.len_k, :])


def without_empty_rows(visible: Visible) -> tuple[Tensor | None, Tensor | None]:
    """Let each query that sees no key see all of them; return this mask and those queries.

    A softmax over no key would be NaN. Over all keys it is finite, and the caller sets the row to
    0 afterwards. Without such queries, ``None`` is returned for them.
    """
    if visible.mask is None or not visible.some_empty:
        return visible.mask, None
    sees = visible.mask.any(dim=-1, keepdim=True)  # (..., len_q or 1, 1)
    if numbers_in(sees.all()):
        return visible.mask, None
    return visible.mask | ~sees, ~sees
