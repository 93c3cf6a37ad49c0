"""Softmax in one pass: keys are read in blocks, and the results of the blocks are merged."""

from functools import reduce
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_workbook.arguments import (
    broadcast,
    require_attention,
    require_count,
    require_mask,
    resolve_scale,
    shape_of,
)

__all__ = ["Tally", "attend_in_blocks", "merge", "read_block"]


class Tally(NamedTuple):
    r"""What is remembered of the keys that were read: three things a query.

    Parameters
    ----------
    largest : torch.Tensor
        The largest score :math:`m`, shape ``(..., len_q, 1)``; :math:`-\infty` before the first.
    normaliser : torch.Tensor
        :math:`\ell = \sum_i e^{a_i - m}`, shape ``(..., len_q, 1)``.
    total : torch.Tensor
        :math:`\sum_i e^{a_i - m}\,\mathbf v_i`, shape ``(..., len_q, d_v)``.

    Examples
    --------
    >>> one = Tally(torch.zeros(1, 1), torch.tensor([[2.0]]), torch.tensor([[6.0, 4.0]]))
    >>> one.output
    tensor([[3., 2.]])
    """

    largest: Tensor
    normaliser: Tensor
    total: Tensor

    @property
    def output(self) -> Tensor:
        """The output, were these all keys, shape ``(..., len_q, d_v)``; 0 where none was seen."""
        return self.total / self.normaliser.masked_fill(self.normaliser == 0, 1.0)


def read_block(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tally:
    """Read one block of keys and values.

    Parameters
    ----------
    queries : torch.Tensor
        Shape ``(..., len_q, d_k)``.
    keys, values : torch.Tensor
        Shapes ``(..., len_k, d_k)`` and ``(..., len_k, d_v)``; ``len_k`` may be 0.
    mask : torch.Tensor, optional
        Boolean, True = may attend; broadcasts to ``(..., len_q, len_k)``.
    scale : float, optional
        The factor on the dot product; ``None`` means ``1 / sqrt(d_k)``.

    Returns
    -------
    Tally
        In float32, or in float64 where that comes in: half precision would lose what is summed.

    Notes
    -----
    Milakov and Gimelshein (2018). Keys and values that no query here may attend to count as 0,
    whatever stands there, NaN included.

    Examples
    --------
    >>> queries, keys = torch.zeros(1, 2), torch.ones(3, 2)
    >>> read_block(queries, keys, torch.tensor([[1.0], [2.0], [6.0]])).output
    tensor([[3.]])
    """
    mask = fitting_mask(queries, keys, values, mask)
    keys, values = cleaned(keys, values, mask)
    scores = masked_scores(queries, keys, mask, resolve_scale(scale, queries.shape[-1]))
    largest = F.pad(scores.detach(), (0, 1), value=float("-inf")).amax(dim=-1, keepdim=True)
    powers = torch.exp(scores - finite(largest))  # the largest is a constant to the gradient
    return Tally(largest, powers.sum(dim=-1, keepdim=True), powers @ values)


def merge(*tallies: Tally) -> Tally:
    r"""Join what was read of several blocks, in any order.

    Each tally is multiplied by :math:`e^{m_\text{its own} - m_\text{of all}}`, so that all count
    from the same largest score.

    Parameters
    ----------
    *tallies : Tally
        At least one; of the same queries.

    Returns
    -------
    Tally
        To rounding, that of all their keys at once.

    Notes
    -----
    Milakov and Gimelshein (2018); Dao et al. (2022).

    Examples
    --------
    >>> queries, keys = torch.zeros(1, 2), torch.ones(3, 2)
    >>> values = torch.tensor([[1.0], [2.0], [6.0]])
    >>> blocks = [read_block(queries, keys[i:j], values[i:j]) for i, j in ((0, 1), (1, 3))]
    >>> merge(*blocks).output
    tensor([[3.]])
    """
    if not tallies:
        raise ValueError("tallies: expected at least one, got none")
    for tally in tallies:
        if not isinstance(tally, Tally):
            raise TypeError(f"tallies: expected Tally, got {type(tally).__name__}")
        if not all(isinstance(part, Tensor) for part in tally):
            raise TypeError(f"tallies: expected three tensors in each, got {tally}")
        shapes = tally.total.shape, tallies[0].total.shape
        if shapes[0][-2:] != shapes[1][-2:] or broadcast(*shapes) is None:
            raise ValueError(
                "tallies: expected totals of one shape, got "
                f"{shape_of(tallies[0].total)} and {shape_of(tally.total)}"
            )
    return reduce(_merge_two, tallies)


def _merge_two(a: Tally, b: Tally) -> Tally:
    largest = torch.maximum(a.largest, b.largest)
    of_a, of_b = (torch.exp(x.largest - finite(largest)) for x in (a, b))  # 0 for an empty one
    return Tally(
        largest,
        a.normaliser * of_a + b.normaliser * of_b,
        a.total * of_a + b.total * of_b,
    )


def attend_in_blocks(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    block_size: int,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attend with scaled dot products, with never more than a block of scores at once.

    Parameters
    ----------
    queries : torch.Tensor
        Shape ``(..., len_q, d_k)``.
    keys, values : torch.Tensor
        Shapes ``(..., len_k, d_k)`` and ``(..., len_k, d_v)``.
    block_size : int
        Keys in a block; the last may have fewer.
    mask, scale
        As in :func:`read_block`.

    Returns
    -------
    torch.Tensor
        Shape ``(..., len_q, d_v)``; a query with nothing to attend to gets 0.

    Notes
    -----
    Rabe and Staats (2021). With gradients, PyTorch keeps every block for the way back;
    :func:`~attention_lib.scaled_dot_product_attention` with ``need_weights=False`` does not.

    Examples
    --------
    >>> queries, keys = torch.zeros(1, 2), torch.ones(3, 2)
    >>> values = torch.tensor([[1.0], [2.0], [6.0]])
    >>> attend_in_blocks(queries, keys, values, block_size=2)
    tensor([[3.]])
    """
    require_count("block_size", block_size)
    mask = fitting_mask(queries, keys, values, mask)
    len_k = keys.shape[-2]
    mask = None if mask is None else mask.expand(*mask.shape[:-1], len_k)
    tallies: tuple[Tally, ...] = ()
    for start in range(0, max(len_k, 1), block_size):
        places = slice(start, start + block_size)
        block_mask = None if mask is None else mask[..., places]
        block = keys[..., places, :], values[..., places, :]
        tallies = (merge(*tallies, read_block(queries, *block, mask=block_mask, scale=scale)),)
    [tally] = tallies
    return tally.output.to(values.dtype)


def fitting_mask(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
) -> Tensor | None:
    """Refuse tensors that do not fit, and a mask that does not fit them; give it two axes."""
    shape = require_attention(queries, keys, values)
    if mask is None:
        return None
    require_mask("mask", mask, shape)
    return mask if mask.dim() >= 2 else mask[(None,) * (2 - mask.dim())]


def cleaned(keys: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return keys and values in at least float32, with 0 where no query may look."""
    wide = torch.promote_types(keys.dtype, torch.float32)
    keys, values = keys.to(wide), values.to(wide)
    if mask is None:
        return keys, values
    visible = mask.expand(*mask.shape[:-1], keys.shape[-2]).any(dim=-2).unsqueeze(-1)
    return torch.where(visible, keys, 0.0), torch.where(visible, values, 0.0)


def masked_scores(queries: Tensor, keys: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Return the scores of cleaned keys, -inf where the mask hides."""
    scores = (queries.to(keys.dtype) * scale) @ keys.mT
    return scores if mask is None else scores.masked_fill(~mask, float("-inf"))


def finite(largest: Tensor) -> Tensor:
    """Put 0 in place of the largest score of no key, so that its differences stay -inf."""
    return largest.masked_fill(largest == float("-inf"), 0.0)
