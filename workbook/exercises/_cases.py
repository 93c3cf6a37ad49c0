"""What graders ask a function to be right about: cases that no shortcut survives.

Each argument is drawn on its own, no two sizes are equal, and among the numbers stand a query of
zeros, scores of 900 and −900, a row of 900 beside a row of 0, and float64. The seeds are fixed
and are no reader's: a grader says the same on every machine, whatever ATTENTION_SEED_SHIFT is.
"""

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["draws", "memories", "pairs", "rows_of_scores"]


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


def pairs() -> list[tuple[Tensor, Tensor]]:
    """Return queries ``(batch, len_q, d_k)`` and keys ``(batch, len_k, d_k)``, small ones first.

    Examples
    --------
    >>> [tuple(keys.shape) for _, keys in pairs()][:2]
    [(1, 3, 2), (2, 7, 5)]
    """
    normal, double = draws(1), draws(2, torch.float64)
    return [
        (torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, 0.0], [0.0, 1.0], [3.0, -1.0]]])),
        (normal(2, 3, 5), normal(2, 7, 5)),
        (normal(3, 1, 2), 3 * normal(3, 5, 2)),
        (torch.zeros(1, 2, 3), normal(1, 5, 3)),
        (double(2, 5, 7), double(2, 3, 7)),
    ]


def memories() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Return queries, keys and values ``(batch, len_k, d_v)``, small ones first.

    The scores of the last two cases reach 900 and −900, divided by the root of ``d_k`` or not,
    and are whole numbers: their weights are 0, 1 or a share, however they are summed.

    Examples
    --------
    >>> queries, keys, _ = memories()[-1]
    >>> (queries @ keys.mT).amax().item()
    1800.0
    """
    normal, double = draws(3), draws(4, torch.float64)
    d_v = [3, 11, 2, 7, 5]
    steep = torch.tensor([[[1800.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0, -1800.0, 0.0, 0.0]]])
    keys = torch.tensor(
        [[[1.0, 0, 0, 1], [0, 1, 0, 0], [1, 1, 0, 0], [-1, 1, 1, 0], [-1, 1, 0, 0]]]
    )
    return [
        (
            torch.tensor([[[1.0, 2.0]]]),
            torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
            torch.tensor([[[1.0, 2.0, 3.0], [5.0, 0.0, -1.0]]]),
        ),
        *(
            (q, k, draws(5 + i)(*k.shape[:2], d_v[i]).to(k.dtype))
            for i, (q, k) in enumerate(pairs())
        ),
        (normal(2, 5, 3), normal(2, 1, 3), normal(2, 1, 2)),
        (steep, keys, normal(1, 5, 3)),
        (steep.double(), keys.double(), double(1, 5, 2)),
    ]


def rows_of_scores() -> list[tuple[Tensor]]:
    """Return scores ``(batch, len_q, len_k)``, small ones first; ties and near ties among them.

    In float64 two scores lie 1e-10 apart, in float32 1e-7, and 1 and 1.001 as a person would
    take them for a tie; rows at 900, at 0 and at −900 stand side by side.

    Examples
    --------
    >>> rows_of_scores()[0]
    (tensor([[[ 2.0000,  0.4000, -0.4000, -1.2000]]]),)
    """
    normal, double = draws(6), draws(7, torch.float64)
    return [
        (torch.tensor([[[2.0, 0.4, -0.4, -1.2]]]),),
        (torch.tensor([[[1.0, 0.0, 1.0, 0.5], [3.0, 2.0, 1.0, 0.0]]]),),
        (torch.tensor([[[0.0, 0.0, 0.0], [1.0, 1.001, 0.999], [0.0, 1e-7, -1.0]]]),),
        (torch.tensor([[[0.0, 1e-10, -1.0], [5.0, 5.0, 5.0 + 1e-10]]], dtype=torch.float64),),
        (torch.tensor([[[900.0, 899.0, 900.0], [0.0, 0.0, 1.0], [-900.0, -901.0, -902.0]]]),),
        (torch.tensor([[[300.0, 100.0]], [[0.0, 0.0]]]),),
        (normal(2, 3, 5).round(),),
        (2 * normal(3, 1, 7),),
        (double(1, 5, 2),),
    ]
