"""Attention: scores, masked softmax, weighted sum of the values; one pipeline for every score."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib._arguments import (
    broadcast_leading,
    require_queries_and_keys,
    require_values,
    shape_of,
)
from attention_lib._nonfinite import attend_with_care, tame, without_unseen
from attention_lib.masking import masked_softmax, resolve_mask
from attention_lib.scoring import AdditiveScore, resolve_scale, scaled_dot_scores

__all__ = [
    "AdditiveAttention",
    "Attention",
    "DotProductAttention",
    "scaled_dot_product_attention",
]


Score = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def scaled_dot_product_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
    need_weights: bool = True,
) -> tuple[Tensor, Tensor | None]:
    r"""Attend with scaled dot products, :math:`\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V`.

    Parameters
    ----------
    queries : torch.Tensor
        Shape ``(..., len_q, d_k)``.
    keys : torch.Tensor
        Shape ``(..., len_k, d_k)``.
    values : torch.Tensor
        Shape ``(..., len_k, d_v)``. The leading axes of all three broadcast; the first is
        the batch.
    valid_lens : torch.Tensor, optional
        Integers of shape ``(batch,)`` or ``(batch, len_q)``: how many keys, counted from
        the first, may be attended to.
    mask : torch.Tensor, optional
        Boolean, True = may attend; broadcasts to ``(..., len_q, len_k)``. With both given,
        a key must pass both.
    scale : float, optional
        The factor on the dot product; ``None`` means ``1 / sqrt(d_k)``.
    need_weights : bool
        ``False`` leaves the work to PyTorch's fused kernel, which never forms the weights.

    Returns
    -------
    output : torch.Tensor
        Shape ``(..., len_q, d_v)``. A query with nothing to attend to gets 0.
    weights : torch.Tensor or None
        Shape ``(..., len_q, len_k)``; ``None`` with ``need_weights=False``.

    Raises
    ------
    TypeError
        If a dtype does not fit; lengths given as ``mask`` or booleans as ``valid_lens``.
    ValueError
        If a rank, a shape, a length or a device does not fit.

    Notes
    -----
    Vaswani et al. (2017), equation 1. What stands at a masked position reaches neither the
    output nor a gradient, NaN and infinity included. To promise that, a call with a mask
    looks how large its numbers are (on a GPU this waits for the device). A NaN that a
    query may see makes its output NaN, and the gradients that come from this output.

    Examples
    --------
    >>> queries, keys = torch.zeros(1, 1, 2), torch.zeros(1, 3, 2)
    >>> values = torch.tensor([[[1.0], [3.0], [float("nan")]]])
    >>> output, weights = scaled_dot_product_attention(queries, keys, values, torch.tensor([2]))
    >>> output
    tensor([[[2.]]])
    >>> weights
    tensor([[[0.5000, 0.5000, 0.0000]]])
    """
    require_queries_and_keys(queries, keys)
    output, weights = _attend(
        partial(scaled_dot_scores, scale=scale),
        queries,
        keys,
        values,
        valid_lens,
        mask,
        fused_scale=None if need_weights else resolve_scale(scale, queries.shape[-1]),
    )
    return output, weights if need_weights else None


class Attention(nn.Module):
    """Attend with any score function.

    Parameters
    ----------
    score : callable
        ``score(queries, keys)`` returns scores ``(..., len_q, len_k)``; a function of
        :mod:`attention_lib.scoring` or a module with parameters. The score of a pair must
        depend on that query and that key alone.
    dropout : float
        Probability that a weight is dropped, in training only.

    Raises
    ------
    TypeError, ValueError
        In ``forward``: as :func:`scaled_dot_product_attention`.

    Examples
    --------
    >>> from attention_lib.scoring import gaussian_scores
    >>> attention = Attention(gaussian_scores)
    >>> output, weights = attention(torch.zeros(1, 2, 3), torch.zeros(1, 4, 3), torch.ones(1, 4, 5))
    >>> output.shape, weights.shape
    (torch.Size([1, 2, 5]), torch.Size([1, 2, 4]))
    """

    def __init__(self, score: Score, dropout: float = 0.0) -> None:
        super().__init__()
        if not callable(score):
            raise TypeError(f"score: expected a callable (queries, keys), got {score!r}")
        self.score = score
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Return ``(output, weights)``; the weights are those before dropout, or ``None``."""
        require_queries_and_keys(queries, keys, same_width=False)
        output, weights = _attend(
            self.score,
            queries,
            keys,
            values,
            valid_lens,
            mask,
            dropout_p=self.dropout.p if self.training else 0.0,
            fused_scale=None if need_weights else self._fused_scale(queries),
        )
        return output, weights if need_weights else None

    def _fused_scale(self, queries: Tensor) -> float | None:
        """Return the scale with which a fused kernel computes this score, if there is one."""
        return None


class DotProductAttention(Attention):
    """Attend with scaled dot products.

    Parameters
    ----------
    dropout : float
        Probability that a weight is dropped, in training only.
    scale : float, optional
        The factor on the dot product; ``None`` means ``1 / sqrt(d_k)``.

    Raises
    ------
    TypeError, ValueError
        In ``forward``: as :func:`scaled_dot_product_attention`.

    Notes
    -----
    Vaswani et al. (2017). The layer has no parameters.

    Examples
    --------
    >>> attention = DotProductAttention()
    >>> output, weights = attention(torch.zeros(2, 1, 3), torch.zeros(2, 4, 3), torch.ones(2, 4, 5))
    >>> output.shape, weights.shape
    (torch.Size([2, 1, 5]), torch.Size([2, 1, 4]))
    """

    def __init__(self, dropout: float = 0.0, scale: float | None = None) -> None:
        super().__init__(partial(scaled_dot_scores, scale=scale), dropout)
        self.scale = scale

    def _fused_scale(self, queries: Tensor) -> float | None:
        return resolve_scale(self.scale, queries.shape[-1])

    def extra_repr(self) -> str:
        return "" if self.scale is None else f"scale={self.scale}"


class AdditiveAttention(Attention):
    """Attend with additive scores.

    Parameters
    ----------
    d_q, d_k : int
        Widths of queries and keys.
    num_hiddens : int
        Width of the hidden layer of the score.
    dropout : float
        Probability that a weight is dropped, in training only.

    Raises
    ------
    TypeError, ValueError
        In ``forward``: as :func:`scaled_dot_product_attention`.

    Notes
    -----
    Bahdanau, Cho, Bengio (2015).

    Examples
    --------
    >>> attention = AdditiveAttention(d_q=20, d_k=2, num_hiddens=8)
    >>> queries, keys, values = torch.ones(2, 1, 20), torch.ones(2, 10, 2), torch.ones(2, 10, 4)
    >>> output, weights = attention(queries, keys, values)
    >>> output.shape, weights.shape
    (torch.Size([2, 1, 4]), torch.Size([2, 1, 10]))
    """

    def __init__(self, d_q: int, d_k: int, num_hiddens: int, dropout: float = 0.0) -> None:
        super().__init__(AdditiveScore(d_q, d_k, num_hiddens), dropout)


def _attend(
    score: Score,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None,
    mask: Tensor | None,
    *,
    dropout_p: float = 0.0,
    fused_scale: float | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Run the pipeline; with ``fused_scale`` PyTorch's kernel does it, without weights."""
    require_values(keys, values)
    leading = broadcast_leading(
        [("queries", queries), ("keys", keys), ("values", values)], trailing=2
    )
    shape = (*leading, queries.shape[-2], keys.shape[-2])  # (..., len_q, len_k)
    mask = resolve_mask(shape, queries.device, valid_lens, mask)
    score, drop = partial(_scores, score, shape), partial(_drop, dropout_p)
    if mask is not None and not tame(queries, keys, values):
        queries, keys, values = without_unseen(mask, queries, keys, values)
        if not tame(queries, keys, values):
            return attend_with_care(score, drop, queries, keys, values, mask)
    if fused_scale is not None:
        return _fused(queries, keys, values, mask, leading, dropout_p, fused_scale), None
    weights = masked_softmax(score(queries, keys), mask=mask)
    return drop(weights) @ values, weights


def _scores(score: Score, shape: tuple[int, ...], queries: Tensor, keys: Tensor) -> Tensor:
    """Call the score function and hold it to its promise."""
    scores = score(queries, keys)
    try:
        return scores.expand(shape)
    except (AttributeError, RuntimeError):
        got = shape_of(scores) if isinstance(scores, Tensor) else type(scores).__name__
        raise ValueError(
            f"score: expected scores of shape {shape} (..., len_q, len_k), got {got}"
        ) from None


def _drop(dropout_p: float, weights: Tensor) -> Tensor:
    return F.dropout(weights, dropout_p) if dropout_p else weights


def _fused(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None,
    leading: tuple[int, ...],
    dropout_p: float,
    scale: float,
) -> Tensor:
    """Call PyTorch's kernel; a row with nothing to attend to gives 0 in every version of it."""
    require_queries_and_keys(queries, keys)
    tensors = [x.expand(*leading, *x.shape[-2:]) for x in (queries, keys, values)]
    empty = None
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)  # (..., len_q, 1)
        if empty.any():
            mask = mask | empty
        else:
            empty = None
    added = max(0, 2 - len(leading))  # the fast kernels want (batch, num_heads, len, width)
    for _ in range(added):
        tensors = [x.unsqueeze(-3) for x in tensors]
        mask = mask.unsqueeze(-3) if mask is not None else None
    output = F.scaled_dot_product_attention(
        tensors[0], tensors[1], tensors[2], attn_mask=mask, dropout_p=dropout_p, scale=scale
    )
    for _ in range(added):
        output = output.squeeze(-3)
    return output if empty is None else output.masked_fill(empty, 0.0)
