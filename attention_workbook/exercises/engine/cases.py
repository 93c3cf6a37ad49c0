"""What graders ask a function to be right about: cases that no shortcut survives.

Each argument is drawn on its own, no two sizes are equal, and among the numbers stand a query of
zeros, scores of 180 and −180, a row of 180 beside a row of 0, and float64. The seeds are fixed
and are no reader's: a grader says the same on every machine, whatever ATTENTION_SEED_SHIFT is.
"""

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["PAIRS", "SOFTMAXES", "STEEP_PAIRS", "draws"]

# functions of PyTorch that take a softmax
SOFTMAXES = [
    *("softmax", "special_softmax", "log_softmax", "special_log_softmax", "softmin"),
    *("gumbel_softmax", "scaled_dot_product_attention", "multi_head_attention_forward"),
]


def draws(seed: int = 0, dtype: torch.dtype = torch.float32) -> Callable[..., Tensor]:
    """Return a function that draws normal numbers of a shape, the same on every machine.

    Examples
    --------
    >>> normal = draws(3)
    >>> normal(2, 5).shape, torch.equal(draws(3)(4), draws(3)(4))
    (torch.Size([2, 5]), True)
    """
    seeded = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(shape, generator=seeded, dtype=dtype)


_normal, _double = draws(1), draws(2, torch.float64)

# queries (batch, len_q, d_k) and keys (batch, len_k, d_k), small ones first
PAIRS: list[tuple[Tensor, Tensor]] = [
    (torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, 0.0], [0.0, 1.0], [3.0, -1.0]]])),
    (_normal(2, 3, 5), _normal(2, 7, 5)),
    (_normal(3, 1, 2), 3 * _normal(3, 5, 2)),
    (torch.zeros(1, 2, 3), _normal(1, 5, 3)),
    (_double(2, 5, 7), _double(2, 3, 7)),
]

# Scores that reach 180 and −180, or ten times as far in float64: each too large for `exp` in its
# dtype, and small enough that `exp(scores - logsumexp(scores))` is right to rounding.
_STEEP = torch.tensor([[[180.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0, -180.0, 0.0, 0.0]]])
# Neither the first nor the last score of a steep row is its largest.
_KEYS = torch.tensor([[[-1.0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0], [1, 1, 0, 0], [-1, 1, 0, 0]]])
STEEP_PAIRS = [(_STEEP, _KEYS), (10 * _STEEP.double(), _KEYS.double())]
