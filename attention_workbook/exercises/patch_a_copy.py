"""Graders for the exercises of the chapter that breaks and moves a copy."""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["falls_back", "moved_letters", "quiz", "votes"]

falls_back, moved_letters, quiz = questions("patch_a_copy")

_normal, _double = draws(183), draws(184, torch.float64)


@exercise(
    axes="part",
    cases=[
        (torch.eye(3)[:2], torch.tensor([[1.0, 0, 2], [3, 4, 0]]), 1),
        (_normal(2, 5), _normal(7, 5), 0),
        (_double(3, 5), _double(11, 5), 7),
    ],
    mistakes=[
        (
            " - votes.mean(dim=-1)",
            "",
            "that is the vote itself; take away the mean of the same part's votes for all letters.",
        ),
        (
            "votes.mean(dim=-1)",
            "votes.mean(dim=0)[letter]",
            "that is the mean over the parts; take it over the letters, for each part by itself.",
        ),
        (
            "parts @ W_u.mT",
            "(parts @ W_u.mT).softmax(dim=-1)",
            "softmax is not linear: votes are scores, before it.",
        ),
        (
            "votes.mean(dim=-1)",
            "(votes.sum(dim=-1) - votes[:, letter]) / (votes.shape[-1] - 1)",
            "that is the mean of the other letters; take it over all, this one included.",
        ),
        (
            "votes.mean(dim=-1)",
            "votes.sort(dim=-1).values[:, (votes.shape[-1] - 1) // 2]",
            "that is the median of the votes; take their mean.",
        ),
        (
            "votes[:, letter] - votes.mean(dim=-1)",
            "votes.mean(dim=-1) - votes[:, letter]",
            "the sign: vote minus mean, not mean minus vote.",
        ),
    ],
)
def votes(parts: Tensor, W_u: Tensor, letter: int) -> Tensor:
    """Return each part's score of a letter above its mean score, ``(parts,)``."""
    votes = parts @ W_u.mT  # (parts, letters)
    return votes[:, letter] - votes.mean(dim=-1)
