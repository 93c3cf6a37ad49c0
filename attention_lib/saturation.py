"""Saturation: how concentrated weights are, and how much gradient they let through.

Weights are rows ``(..., len_k)`` that sum to 1. A TypeError refuses what is no floating-point
tensor, a ValueError what has no axis.
"""

import torch
from torch import Tensor

from attention_lib.arguments import require_count, require_float

__all__ = ["effective_keys", "entropy", "sample_scores", "softmax_jacobian"]


def softmax_jacobian(weights: Tensor) -> Tensor:
    r"""Return the derivative of softmax, :math:`\mathrm{diag}(\mathbf p)-\mathbf p\mathbf p^\top`.

    Weights ``(..., len_k)`` give ``(..., len_k, len_k)``: entry ``i, j`` is the derivative of
    :math:`p_i = e^{a_i}/\sum_l e^{a_l}` by score :math:`a_j`. The diagonal, :math:`p_i(1-p_i)`, is
    computed as the sum of :math:`p_i p_j` over the other keys: to subtract a weight near 1 from 1
    would leave only its rounding error.

    Examples
    --------
    >>> softmax_jacobian(torch.tensor([0.5, 0.5]))
    tensor([[ 0.2500, -0.2500],
            [-0.2500,  0.2500]])
    """
    require_float("weights", weights, "(..., len_k)", min_rank=1)
    products = weights.unsqueeze(-1) * weights.unsqueeze(-2)
    off_diagonal = products - torch.diag_embed(products.diagonal(dim1=-2, dim2=-1))
    return torch.diag_embed(off_diagonal.sum(dim=-1)) - off_diagonal


def entropy(weights: Tensor) -> Tensor:
    r"""Return the entropy of each row, :math:`-\sum_i p_i \ln p_i`, in nats.

    Weights ``(..., len_k)`` give ``(...)``: 0 where one key has all the weight, ``ln len_k`` where
    all share it. A weight of 0 contributes nothing, to the gradient either: the infinite slope of
    :math:`-p \ln p` at 0, times the zero derivative of softmax, would be NaN.

    Examples
    --------
    >>> entropy(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
    tensor([0.0000, 0.6931])
    """
    require_float("weights", weights, "(..., len_k)", min_rank=1)
    contributions: Tensor = torch.special.entr(weights.masked_fill(weights == 0, 1.0))  # 0 for both
    return contributions.sum(dim=-1)


def effective_keys(weights: Tensor) -> Tensor:
    r"""Return the number of equally weighted keys that would have the same entropy.

    Weights ``(..., len_k)`` give their perplexity :math:`e^{\text{entropy}}`, ``(...)``, from 1 to
    ``len_k``.

    Examples
    --------
    >>> effective_keys(torch.tensor([0.25, 0.25, 0.25, 0.25]))
    tensor(4.)
    """
    require_float("weights", weights, "(..., len_k)", min_rank=1)
    wide = torch.promote_types(weights.dtype, torch.float32)  # exp magnifies what rounding leaves
    return entropy(weights.to(wide)).exp().to(weights.dtype)


def sample_scores(
    d: int, len_k: int, rows: int, *, scale: float, generator: torch.Generator
) -> Tensor:
    """Draw the scores of ``rows`` random queries, each with ``len_k`` random keys of its own.

    Every coordinate of queries and keys, of width ``d``, is independent and standard normal. The
    scores have shape ``(rows, len_k)`` and the default dtype, and ``generator`` and they are on the
    CPU. ``scale`` is the factor on the dot product: ``1.0`` leaves its variance at ``d``,
    ``d**-0.5`` brings it to 1. Sizes that are not whole numbers of at least 1 are refused.

    Examples
    --------
    >>> seeded = torch.Generator().manual_seed(0)
    >>> scores = sample_scores(64, len_k=16, rows=1000, scale=64**-0.5, generator=seeded)
    >>> scores.shape, round(scores.var().item())
    (torch.Size([1000, 16]), 1)
    """
    for name, count in (("d", d), ("len_k", len_k), ("rows", rows)):
        require_count(name, count)
    scores = []
    # A few rows at a time: the keys of all rows at once would take rows * len_k * d numbers.
    step = max(1, 2**22 // (len_k * d))
    for start in range(0, rows, step):
        num_rows = min(step, rows - start)
        queries = torch.randn(num_rows, d, 1, generator=generator)
        keys = torch.randn(num_rows, len_k, d, generator=generator)
        scores.append((keys @ queries).squeeze(-1))
    return torch.cat(scores) * scale
