"""Graders for the exercises of the chapter that compares scores."""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["distance_score", "moved_keys", "quiz", "wider_vectors"]

distance_score, moved_keys, quiz = questions("compare_scores")

_normal, _double = draws(23), draws(24, torch.float64)


@exercise(
    axes="row column",
    cases=[
        (torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0], [3.0, 2.0]])),
        (_normal(3, 2), _normal(5, 2)),
        (_double(2, 7), _double(3, 7)),
    ],
    mistakes=[
        (
            ".sum(dim=-1, keepdim=True) / 2",
            ".sum(dim=-1, keepdim=True)",
            "the squared length is halved in the squared distance's formula.",
        ),
        (
            "-keys.square()",
            "keys.square()",
            "long keys are to lose weight: their squared length is taken away.",
        ),
        (
            ".square().sum(dim=-1, keepdim=True)",
            ".norm(dim=-1, keepdim=True)",
            "that is the length; its square is needed.",
        ),
    ],
)
def wider_vectors(queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Return queries and keys with one coordinate more, whose products give Gaussian weights."""
    ones = torch.ones_like(queries[:, :1])
    penalties = -keys.square().sum(dim=-1, keepdim=True) / 2
    return torch.cat([queries, ones], dim=-1), torch.cat([keys, penalties], dim=-1)
