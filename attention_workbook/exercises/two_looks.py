"""Graders for the exercises of the chapter on two looks.

Examples
--------
>>> cut_by_hand(0.68)
Not yet: that is the weight without a cut. Now nothing tells it what to look for.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["cut_by_hand", "less_certain", "quiz", "second_cut", "two_looks"]

less_certain, cut_by_hand, second_cut, quiz = questions("two_looks")

_normal, _double = draws(13), draws(14, torch.float64)


def _two_heads(
    d_model: int, d_k: int, d_v: int, draw: Callable[..., Tensor] = _normal
) -> tuple[Tensor, ...]:
    first = draw(d_model, d_k), draw(d_model, d_k), draw(d_model, d_model)
    return *first, draw(d_model, d_k), draw(d_model, d_k), draw(d_model, d_v)


@exercise(
    given=["my_cross_head"],
    axes="batch query column",
    cases=[
        (torch.tensor([[[1.0], [2.0]]]), *(torch.tensor([[1.0]]) for _ in range(6))),
        (_normal(2, 5, 3), *_two_heads(3, 2, 1)),
        (_normal(1, 3, 5), *_two_heads(5, 2, 7)),
        (_double(3, 2, 4), *_two_heads(4, 3, 5, _double)),
    ],
    mistakes=[
        (
            "after_first = X + ",
            "after_first = ",
            "each word forgets what it was: add to X what it brings back.",
        ),
        (
            "after_first @ U_q",
            "X @ U_q",
            "the second queries are made from X: they ask as if nobody had looked yet.",
        ),
        ("after_first @ U_k", "X @ U_k", "the second keys are made from X, not from the sum."),
        ("after_first @ U_v", "X @ U_v", "the second values are made from X, not from the sum."),
        (
            {"after_first @ U_k": "X @ U_k", "after_first @ U_v": "X @ U_v"},
            "the second keys and values are made from X, not from the sum.",
        ),
        (
            {
                "after_first @ U_k": "(after_first - X) @ U_k",
                "after_first @ U_v": "(after_first - X) @ U_v",
            },
            "the second keys and values are made of what was brought back, without X.",
        ),
        ("after_first = X + ", "after_first = X + X + ", "X is added twice."),
        (
            {"after_first @ U_q": "after_first @ U_k", "after_first @ U_k": "after_first @ U_q"},
            "in the second layer the matrices of queries and keys have changed places.",
        ),
    ],
)
def two_looks(
    X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, U_q: Tensor, U_k: Tensor, U_v: Tensor
) -> Tensor:
    """Return the output of the second of two layers, ``(batch, len, d_v)``."""
    first = (X @ W_q) @ (X @ W_k).mT / W_k.shape[-1] ** 0.5
    after_first = X + first.softmax(dim=-1) @ (X @ W_v)
    second = (after_first @ U_q) @ (after_first @ U_k).mT / U_k.shape[-1] ** 0.5
    return second.softmax(dim=-1) @ (after_first @ U_v)
