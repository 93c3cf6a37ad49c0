"""Attention: score each query against each key, softmax, and average the values."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from attention_lib._kernel import fused_attention, without_padding
from attention_lib.arguments import is_grouped, require_callable, scores_shape
from attention_lib.masking import causal_mask, masked_softmax, one_mask
from attention_lib.scoring import AdditiveScore, scaled_dot_scores

__all__ = [
    "AdditiveAttention",
    "Attention",
    "DotProductAttention",
    "attend",
    "scaled_dot_product_attention",
]

Score = Callable[[Tensor, Tensor], Tensor]
_HALF_PRECISION = (torch.float16, torch.bfloat16)


def attend(
    score: Score,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    dropout_p: float = 0.0,
) -> tuple[Tensor, Tensor]:
    r"""Attend as the textbook does, :math:`\mathrm{softmax}(\mathrm{score}(Q, K))\,V`.

    Every attention of this library runs these lines, except where PyTorch's fused kernel computes
    scaled dot products without weights.

    Parameters
    ----------
    score : callable
        ``score(queries, keys)`` returns scores ``(..., len_q, len_k)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)`` and ``(..., len_k, d_v)``.
    mask : torch.Tensor, optional
        Boolean, True = may attend; broadcasts to ``(..., len_q, len_k)``.
    dropout_p : float
        Probability that a weight is dropped; the others are divided by ``1 - dropout_p``.

    Returns
    -------
    output, weights : torch.Tensor
        Shapes ``(..., len_q, d_v)`` and ``(..., len_q, len_k)``; the weights before dropout.

    Examples
    --------
    >>> keys, values = torch.tensor([[1.0], [1.0]]), torch.tensor([[0.0], [6.0]])
    >>> output, weights = attend(scaled_dot_scores, keys[:1], keys, values)
    >>> output, weights
    (tensor([[3.]]), tensor([[0.5000, 0.5000]]))
    """
    scores = score(queries, keys)  # (..., len_q, len_k)
    weights = masked_softmax(scores, mask=mask)  # (..., len_q, len_k)
    dropped_out = torch.nn.functional.dropout(weights, dropout_p) if dropout_p else weights
    return dropped_out @ values, weights


def scaled_dot_product_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
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
        Shape ``(..., len_k, d_v)``. The leading axes of all three broadcast; the first is the
        batch. With four axes, ``(batch, num_heads, len, width)``, each head of keys and values
        may serve several neighbouring heads of the queries.
    valid_lens : torch.Tensor, optional
        Integers of shape ``(batch,)`` or ``(batch, len_q)``: how many keys, counted from
        the first, may be attended to.
    mask : torch.Tensor, optional
        Boolean, True = may attend; broadcasts to ``(..., len_q, len_k)``.
    causal : bool
        Whether each query may attend only to its own position and the ones before it, as under
        :func:`~attention_lib.masking.causal_mask`: the last query sees every key.
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
        If a rank, a shape, a length or a device does not fit. On a GPU, lengths out of range are
        not refused: it would have to wait until they are read.

    Notes
    -----
    Vaswani et al. (2017), equation 1. With lengths, a mask and ``causal``, a key must pass all.

    A key that no query of its sequence may see is padding: nothing there reaches the output or a
    gradient, not even NaN or infinity. Elsewhere arithmetic is PyTorch's, where a weight of 0 times
    NaN is NaN.

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
    shape = scores_shape(queries, keys, values)
    mask, causal = one_mask(shape, queries.device, valid_lens, mask, causal=causal)
    keys, values = without_padding(keys, values, mask)
    if queries.shape[:-2] != shape[:-2]:
        queries = queries.expand(*shape[:-1], -1)
    return _attend_by_dot_products(
        queries, keys, values, mask, causal, scale=scale, need_weights=need_weights
    )


def _attend_by_dot_products(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None,
    causal: bool,
    *,
    scale: float | None,
    dropout_p: float = 0.0,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:
    """Attend by the textbook's lines where weights are needed, else by PyTorch's kernel.

    Arguments are checked, padding is 0, and ``causal`` comes without a mask.
    """
    # Some versions of the kernel divide by an axis of length 0, which ends the process.
    if not need_weights and 0 not in (*queries.shape, *keys.shape, *values.shape):
        return fused_attention(
            queries, keys, values, mask, causal, scale=scale, dropout_p=dropout_p
        ), None
    mask = _triangle(queries, keys) if causal else mask
    keys, values = _of_query_heads(queries, keys, values)
    dtype, score = queries.dtype, partial(scaled_dot_scores, scale=scale)
    if dtype in _HALF_PRECISION:  # the kernel, too, computes in float32
        queries, keys, values = queries.float(), keys.float(), values.float()
    output, weights = attend(score, queries, keys, values, mask, dropout_p)
    if dtype in _HALF_PRECISION:
        output, weights = output.to(dtype), weights.to(dtype)
    return output, weights if need_weights else None


def _triangle(queries: Tensor, keys: Tensor) -> Tensor:
    """Return the causal mask with as many axes as the scores have."""
    mask = causal_mask(queries.shape[-2], keys.shape[-2], queries.device)
    return mask[(None,) * (queries.dim() - 2)]


def _of_query_heads(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Repeat grouped heads of keys and values for each head of the queries that they serve."""
    if not is_grouped(queries, keys):
        return keys, values
    group_size = queries.shape[1] // keys.shape[1]
    return keys.repeat_interleave(group_size, dim=1), values.repeat_interleave(group_size, dim=1)


class Attention(nn.Module):
    """Attend with any score function.

    Parameters
    ----------
    score : callable
        ``score(queries, keys)`` returns scores ``(..., len_q, len_k)``; a function of
        :mod:`attention_lib.scoring` or a module with parameters. A bias is part of the score:
        ``lambda queries, keys: scaled_dot_scores(queries, keys) + bias``.
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

    same_width = False  # whether the score needs queries as wide as keys

    def __init__(self, score: Score, dropout: float = 0.0) -> None:
        super().__init__()
        require_callable("score", score, "queries, keys")
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
        causal: bool = False,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Return ``(output, weights)``; the weights are those before dropout, or ``None``."""
        shape = scores_shape(queries, keys, values, same_width=self.same_width)
        mask, causal = one_mask(shape, queries.device, valid_lens, mask, causal=causal)
        keys, values = without_padding(keys, values, mask)
        if queries.shape[:-2] != shape[:-2]:
            queries = queries.expand(*shape[:-1], -1)
        return self.compute(queries, keys, values, mask, causal, need_weights=need_weights)

    def compute(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        causal: bool,
        *,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend: arguments are checked, padding is 0, and ``causal`` comes without a mask."""
        mask = _triangle(queries, keys) if causal else mask
        keys, values = _of_query_heads(queries, keys, values)
        output, weights = attend(self.score, queries, keys, values, mask, self.dropout_p)
        return output, weights if need_weights else None

    @property
    def dropout_p(self) -> float:
        """The probability that a weight is dropped now: 0 in evaluation."""
        return self.dropout.p if self.training else 0.0

    def reset_parameters(self) -> None:
        """Draw the parameters of the score anew, if it has any."""
        reset_score = getattr(self.score, "reset_parameters", None)
        if reset_score is not None:
            reset_score()


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

    same_width = True

    def __init__(self, dropout: float = 0.0, scale: float | None = None) -> None:
        super().__init__(partial(scaled_dot_scores, scale=scale), dropout)
        self.scale = scale

    def compute(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        causal: bool,
        *,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend as :func:`scaled_dot_product_attention` does, with dropout."""
        return _attend_by_dot_products(
            queries,
            keys,
            values,
            mask,
            causal,
            scale=self.scale,
            dropout_p=self.dropout_p,
            need_weights=need_weights,
        )

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
