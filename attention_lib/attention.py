"""Attention: score each query against each key, softmax, and average the values."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from attention_lib._arguments import (
    require_all,
    require_flag,
    require_known,
    require_probability,
)
from attention_lib._engine.compute import compute, prepare
from attention_lib._signatures import AttentionLayer, knows_weights
from attention_lib.scoring import AdditiveScore, knows_positions, resolve_scale, scaled_dot_scores

__all__ = [
    "AdditiveAttention",
    "Attention",
    "DotProductAttention",
    "attend",
    "scaled_dot_product_attention",
]

Score = Callable[[Tensor, Tensor], Tensor]
Softmax = Callable[[Tensor], Tensor]


def attend(
    score: Score,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    softmax: Softmax,
    dropout_p: float = 0.0,
) -> tuple[Tensor, Tensor]:
    r"""Attend as the textbook does, :math:`\mathrm{softmax}(\mathrm{score}(Q, K))\,V`.

    Every attention of this library runs these lines, except where PyTorch's fused kernel computes
    a call without weights. ``_engine/compute.py`` prepares the arguments.

    Parameters
    ----------
    score : callable
        ``score(queries, keys)`` returns scores ``(..., len_q, len_k)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)`` and ``(..., len_k, d_v)``.
    softmax : callable
        Turns scores into weights over the last axis, with or without a mask.
    dropout_p : float
        Probability that a weight is dropped; the others are divided by ``1 - dropout_p``.

    Returns
    -------
    output, weights : torch.Tensor
        Shapes ``(..., len_q, d_v)`` and ``(..., len_q, len_k)``; the weights before dropout.

    Examples
    --------
    >>> keys, values = torch.tensor([[1.0], [1.0]]), torch.tensor([[0.0], [6.0]])
    >>> softmax = partial(torch.softmax, dim=-1)
    >>> output, weights = attend(scaled_dot_scores, keys[:1], keys, values, softmax)
    >>> output, weights
    (tensor([[3.]]), tensor([[0.5000, 0.5000]]))
    """
    scores = score(queries, keys)  # (..., len_q, len_k)
    weights = softmax(scores)  # (..., len_q, len_k)
    kept = torch.nn.functional.dropout(weights, dropout_p) if dropout_p else weights
    return kept @ values, weights


@knows_weights
def scaled_dot_product_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
    need_weights: bool = True,
    **others: object,
) -> tuple[Tensor, Tensor | None]:
    r"""Attend with scaled dot products, :math:`\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V`.

    Parameters
    ----------
    queries : torch.Tensor
        Shape ``(..., len_q, d_k)``.
    keys : torch.Tensor
        Shape ``(..., len_k, d_k)``.
    values : torch.Tensor
        Shape ``(..., len_k, d_v)``. The leading axes of all three broadcast; the first is the
        batch. With four axes, ``(batch, num_heads, len, width)``, each head of keys and values
        may serve several neighbouring heads of the queries.
    valid_lens : torch.Tensor, optional
        Integers of shape ``(batch,)`` or ``(batch, len_q)``: how many keys, counted from
        the first, may be attended to.
    mask : torch.Tensor, optional
        Boolean, True = may attend; broadcasts to ``(..., len_q, len_k)``. With both given,
        a key must pass both.
    scale : float, optional
        The factor on the dot product; ``None`` means ``1 / sqrt(d_k)``.
    need_weights : bool
        ``False`` leaves the work to PyTorch's fused kernel, which never forms the weights and
        has no second derivative.

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
    RuntimeError
        If a second derivative is taken with ``need_weights=False``.

    Notes
    -----
    Vaswani et al. (2017), equation 1. Nothing at a masked position reaches the output or a
    gradient, not even NaN or infinity. With a mask, a query that may attend to NaN or infinity gets
    the output NaN and sends no gradient back; other queries are unaffected. A number counts as
    infinite if its square overflows, and in float16 if a score computed from it overflows.

    A call with a mask reads the lengths, whether the mask hides anything, and how large the
    numbers are; on a GPU it has to wait for them. A causal mask, or a slice of one, is read once.
    In a traced graph (``torch.compile``) and under ``torch.func`` nothing is read. The result is
    the same there, but a length out of range is not refused.

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
    require_known(others)
    require_flag("need_weights", need_weights)
    shape = require_all(queries, keys, values)
    prepared = prepare((queries, keys, values), shape, valid_lens, mask)
    return compute(
        attend,
        partial(scaled_dot_scores, scale=scale),
        prepared,
        shape,
        kernel_scale=resolve_scale(scale, queries.shape[-1]),
        need_weights=need_weights,
    )


class Attention(nn.Module):
    """Attend with any score function.

    Parameters
    ----------
    score : callable
        ``score(queries, keys)`` returns scores ``(..., len_q, len_k)``; a function of
        :mod:`attention_lib.scoring` or a module with parameters. The score of a pair may
        depend on the query, the key and their positions, and on no other pair. An attribute
        ``knows_positions`` that is False says that it does not depend on positions; then it is
        not given the keys beyond the longest of ``valid_lens``.
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

    if TYPE_CHECKING:
        __call__: AttentionLayer

    def __init__(self, score: Score, dropout: float = 0.0) -> None:
        super().__init__()
        if not callable(score):
            raise TypeError(f"score: expected a callable (queries, keys), got {score!r}")
        require_probability("dropout", dropout)
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
        **others: object,
    ) -> tuple[Tensor, Tensor | None]:
        """Return ``(output, weights)``; the weights are those before dropout, or ``None``."""
        require_known(others)
        require_flag("need_weights", need_weights)
        shape = require_all(queries, keys, values, same_width=False)
        cut = not knows_positions(self.score)
        prepared = prepare((queries, keys, values), shape, valid_lens, mask, cut=cut)
        return compute(
            attend,
            self.score,
            prepared,
            shape,
            dropout_p=self.dropout.p if self.training else 0.0,
            kernel_scale=self.kernel_scale(queries),
            need_weights=need_weights,
        )

    def kernel_scale(self, queries: Tensor) -> float | None:
        """Return the factor on the dot product if PyTorch's kernel computes this score."""
        return None


class DotProductAttention(Attention):
    """Attend with scaled dot products.

    Parameters
    ----------
    dropout : float
        Probability that a weight is dropped, in training only.
    scale : float, optional
        The factor on the dot product; ``None`` means ``1 / sqrt(d_k)``.

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
        resolve_scale(scale, 1)
        super().__init__(partial(scaled_dot_scores, scale=scale), dropout)
        self.scale = scale

    def kernel_scale(self, queries: Tensor) -> float | None:
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
