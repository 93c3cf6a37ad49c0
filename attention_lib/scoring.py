"""Score functions: how well does a key answer a query? One number for each pair.

Queries ``(..., len_q, d_k)`` and keys ``(..., len_k, d_k)`` give scores ``(..., len_q, len_k)``;
leading axes broadcast. A TypeError refuses what is no floating-point tensor and two dtypes, a
ValueError a rank, a width, a device or leading axes that do not fit.
"""

import math

import torch
from torch import Tensor, nn

from attention_lib.arguments import (
    float64_device,
    require_count,
    require_float,
    require_positive,
    require_queries_and_keys,
    require_width,
)

__all__ = [
    "AdditiveScore",
    "BilinearScore",
    "alibi_bias",
    "alibi_slopes",
    "cosine_scores",
    "dot_scores",
    "gaussian_scores",
    "scaled_dot_scores",
    "soft_cap",
]


def dot_scores(queries: Tensor, keys: Tensor) -> Tensor:
    r"""Score by the dot product, :math:`a(\mathbf q, \mathbf k) = \mathbf q^\top \mathbf k`.

    Queries ``(..., len_q, d_k)`` and keys ``(..., len_k, d_k)`` give ``(..., len_q, len_k)``;
    what does not fit is a TypeError or a ValueError. Luong, Pham, Manning (2015), "dot".

    Examples
    --------
    >>> queries = torch.tensor([[1.0, 2.0]])
    >>> keys = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    >>> dot_scores(queries, keys)
    tensor([[3., 8.]])
    """
    require_queries_and_keys(queries, keys)
    return queries @ keys.transpose(-2, -1)  # (..., len_q, len_k)


def scaled_dot_scores(queries: Tensor, keys: Tensor, scale: float | None = None) -> Tensor:
    r"""Score by the dot product divided by :math:`\sqrt{d_k}`.

    Shapes and errors as in :func:`dot_scores`. ``scale`` is the factor on the dot product;
    ``None`` means ``1 / sqrt(d_k)``. Vaswani et al. (2017), equation 1. The queries are scaled
    before the product, so that a large product does not overflow in float16 where the scaled score
    would fit.

    Examples
    --------
    >>> queries = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
    >>> scaled_dot_scores(queries, queries)
    tensor([[2.]])
    >>> scaled_dot_scores(queries, queries, scale=1.0)
    tensor([[4.]])
    """
    require_queries_and_keys(queries, keys)
    scale = 1 / math.sqrt(queries.shape[-1]) if scale is None else scale
    return queries * scale @ keys.transpose(-2, -1)  # (..., len_q, len_k)


def gaussian_scores(queries: Tensor, keys: Tensor, bandwidth: float = 1.0) -> Tensor:
    r"""Score by closeness, :math:`-\lVert\mathbf q-\mathbf k\rVert^2 / (2\,\text{bandwidth}^2)`.

    Shapes and errors as in :func:`dot_scores`. ``bandwidth``, positive, is the width of the kernel
    in the units of the keys: after softmax this is Nadaraya-Watson regression with a Gaussian
    kernel (Nadaraya, 1964; Watson, 1964). The distances are computed from differences, since a
    matrix product loses its digits when a query is near a key. There is no second derivative.

    Examples
    --------
    >>> queries = torch.tensor([[0.0, 0.0]])
    >>> keys = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    >>> gaussian_scores(queries, keys, bandwidth=5.0)
    tensor([[-0.0000, -0.5000]])
    """
    require_queries_and_keys(queries, keys)
    require_positive("bandwidth", bandwidth)
    wide = torch.promote_types(queries.dtype, torch.float32)  # cdist takes no half precision
    distances = torch.cdist(
        queries.to(wide), keys.to(wide), compute_mode="donot_use_mm_for_euclid_dist"
    )
    return (-((distances / bandwidth) ** 2) / 2).to(queries.dtype)  # (..., len_q, len_k)


def cosine_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Score by the cosine of the angle between query and key, from -1 to 1.

    Shapes and errors as in :func:`dot_scores`. A vector of length zero has no direction and scores
    0 with everything. This is the score of query-key normalisation, Henry et al. (2020), before
    its learned scale.

    Examples
    --------
    >>> queries = torch.tensor([[3.0, 4.0]])
    >>> keys = torch.tensor([[30.0, 40.0], [-4.0, 3.0], [0.0, 0.0]])
    >>> cosine_scores(queries, keys)
    tensor([[1., 0., 0.]])
    """
    require_queries_and_keys(queries, keys)
    wide = torch.promote_types(queries.dtype, torch.float32)  # float16 overflows in a length
    scores = dot_scores(_directions(queries.to(wide)), _directions(keys.to(wide)))
    return scores.to(queries.dtype)  # (..., len_q, len_k)


def _directions(vectors: Tensor) -> Tensor:
    """Divide each vector by its length; a zero vector stays zero."""
    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / lengths.masked_fill(lengths == 0, 1.0)


def soft_cap(scores: Tensor, cap: float) -> Tensor:
    r"""Bound scores smoothly, :math:`\text{cap}\cdot\tanh(a/\text{cap})`, in their own shape.

    Small scores stay as they are; no score leaves ``-cap`` to ``cap``, so no weight can be more
    than ``exp(2 cap)`` times another. Masks come after it. ``scores`` that are not floating-point
    and a ``cap`` that is not positive are refused. Gemma Team (2024), section 2, with cap 50.

    Examples
    --------
    >>> soft_cap(torch.tensor([0.0, 1.0, 1000.0]), cap=50.0)
    tensor([ 0.0000,  0.9999, 50.0000])
    """
    require_float("scores", scores)
    require_positive("cap", cap)
    return torch.tanh(scores / cap) * cap


def alibi_slopes(num_heads: int) -> Tensor:
    r"""Return how much each head's score falls a position of distance, ``(num_heads,)``.

    For a power of two they are :math:`2^{-8i/h}`, for head :math:`i = 1 \ldots h`. For other
    numbers of heads, those of the next lower power of two come first, then every second one
    of the next higher power. They are on the CPU. Press, Smith, Lewis (2022), section 3.

    Examples
    --------
    >>> alibi_slopes(4)
    tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """
    return _slopes(num_heads, torch.device("cpu"))


def _slopes(num_heads: int, device: torch.device) -> Tensor:
    require_count("num_heads", num_heads)
    power = 2 ** int(math.log2(num_heads))  # the largest that is not above num_heads
    head_index = torch.arange(num_heads, dtype=torch.float64, device=float64_device(device))
    of_power, between = 8 * (head_index[:power] + 1), 8 * head_index[: num_heads - power] + 4
    slopes = torch.exp2(-torch.cat([of_power, between]) / power)
    return slopes.to(torch.get_default_dtype()).to(device)


def alibi_bias(
    num_heads: int,
    len_q: int,
    len_k: int | None = None,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    r"""Return what ALiBi adds to a score, :math:`-\text{slope}\cdot\lvert i-j\rvert`.

    The shape is ``(num_heads, len_q, len_k)``; ``len_k=None`` means ``len_q``. Each head prefers
    near keys, to its own degree. As in :func:`~attention_lib.masking.causal_mask`, the last query
    stands at the last key. ``dtype``, by default the default dtype, must be that of the scores.

    Press, Smith, Lewis (2022). Softmax does not see what is added to a whole row: to add
    ``slope * j`` for key ``j``, as their code does, is the same under a causal mask.

    Examples
    --------
    >>> alibi_bias(num_heads=8, len_q=1, len_k=3)[0]
    tensor([[-1.0000, -0.5000, -0.0000]])
    """
    len_k = len_q if len_k is None else len_k
    query_positions = torch.arange(len_k - len_q, len_k, device=device).unsqueeze(-1)
    distances = (query_positions - torch.arange(len_k, device=device)).abs()  # (len_q, len_k)
    slopes = _slopes(num_heads, distances.device)[:, None, None]  # (num_heads, 1, 1)
    return (-slopes * distances).to(dtype or slopes.dtype)


class BilinearScore(nn.Module):
    r"""Score by a learned matrix ``W``, ``(d_q, d_k)``: :math:`\mathbf q^\top \mathbf W \mathbf k`.

    Queries have width ``d_q`` and keys ``d_k``; else shapes and errors are those of
    :func:`dot_scores`. Luong, Pham, Manning (2015), "general".

    Examples
    --------
    >>> score = BilinearScore(d_q=3, d_k=5)
    >>> score(torch.ones(2, 3), torch.ones(7, 5)).shape
    torch.Size([2, 7])
    """

    def __init__(self, d_q: int, d_k: int) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(d_q, d_k))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the matrix anew, Xavier uniform."""
        nn.init.xavier_uniform_(self.W)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Score ``(..., len_q, d_q)`` against ``(..., len_k, d_k)``: ``(..., len_q, len_k)``."""
        require_queries_and_keys(queries, keys, same_width=False)
        require_width("queries", queries, self.W.shape[0], "d_q")
        require_width("keys", keys, self.W.shape[1], "d_k")
        return dot_scores(queries @ self.W, keys)

    def extra_repr(self) -> str:
        d_q, d_k = self.W.shape
        return f"d_q={d_q}, d_k={d_k}"


class AdditiveScore(nn.Module):
    r"""Score by a small network without bias.

    :math:`a(\mathbf q,\mathbf k)=\mathbf w_v^\top\tanh(\mathbf W_q\mathbf q+\mathbf W_k\mathbf k)`,
    with ``W_q``, ``d_q -> num_hiddens``, ``W_k``, ``d_k -> num_hiddens``, and ``w_v``,
    ``num_hiddens -> 1``. Queries have width ``d_q`` and keys ``d_k``; else shapes and errors are
    those of :func:`dot_scores`. The hidden features of all pairs take
    ``batch * len_q * len_k * num_hiddens`` numbers. Bahdanau, Cho, Bengio (2015), appendix A.1.2.

    Examples
    --------
    >>> score = AdditiveScore(d_q=3, d_k=5, num_hiddens=8)
    >>> score(torch.ones(2, 3), torch.ones(7, 5)).shape
    torch.Size([2, 7])
    """

    def __init__(self, d_q: int, d_k: int, num_hiddens: int) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_q, num_hiddens, bias=False)
        self.W_k = nn.Linear(d_k, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)

    def reset_parameters(self) -> None:
        """Draw the three matrices anew, as ``torch.nn.Linear`` does."""
        for layer in (self.W_q, self.W_k, self.w_v):
            layer.reset_parameters()

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Score ``(..., len_q, d_q)`` against ``(..., len_k, d_k)``: ``(..., len_q, len_k)``."""
        require_queries_and_keys(queries, keys, same_width=False)
        require_width("queries", queries, self.W_q.in_features, "d_q")
        require_width("keys", keys, self.W_k.in_features, "d_k")
        hidden_q = self.W_q(queries).unsqueeze(-2)  # (..., len_q, 1, num_hiddens)
        hidden_k = self.W_k(keys).unsqueeze(-3)  # (..., 1, len_k, num_hiddens)
        scores: Tensor = self.w_v(torch.tanh(hidden_q + hidden_k)).squeeze(-1)
        return scores  # (..., len_q, len_k)
