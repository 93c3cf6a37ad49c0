"""Graders for the exercises of the chapter on heads that copy."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = [
    "falls_back",
    "induction_score",
    "moved_letters",
    "quiz",
    "votes",
    "without_repetition",
]

falls_back, moved_letters, without_repetition, quiz = questions("copying_heads")

_normal, _double = draws(181), draws(182, torch.float64)
_other, _other_double = draws(183), draws(184, torch.float64)


def _text(
    letters: str, sharp: float, normal: Callable[..., Tensor] = _normal
) -> tuple[Tensor, Tensor]:
    """Return a text as numbers, and causal weights."""
    scores = sharp * normal(len(letters), len(letters))
    future = torch.ones(scores.shape, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
    return torch.tensor([ord(letter) - ord("a") for letter in letters]), weights


@exercise(
    cases=[
        (torch.tensor([0, 1, 0]), torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0.5, 0.25]])),
        _text("abcabca", 1.0),
        _text("zebrafishzebra", 2.0),
        _text("aabacaa", 0.5, _double),
        _text("abcabcx", 1.5),
    ],
    mistakes=[
        (
            "tokens.roll(1)",
            "tokens.roll(-1)",
            "a key is asked for the letter after it; it counts if the letter "
            "*before* it is the one "
            "that asks.",
        ),
        (
            {"tokens.roll(1)": "tokens", "[:, 0] = False": "[:, -1] = False"},
            "that is the weight on the same letter, not on the place after it.",
        ),
        (
            "[:, 0] = False",
            "[:, :0] = False",
            "place 0 has no letter before it; `roll` gives it the last one.",
        ),
        (
            "looks[asks].mean()",
            "looks.mean()",
            "places whose letter is new count as well; average over those that have something to "
            "find.",
        ),
        (
            "follows.tril()",
            "follows",
            "a letter that comes again later counts as if it had stood before: what lies ahead "
            "must be False.",
        ),
        (
            "looks[asks].mean()",
            "weights[follows].mean()",
            "a mean is taken of single weights; add up the weights of each place first.",
        ),
    ],
)
def induction_score(tokens: Tensor, weights: Tensor) -> Tensor:
    """Return the mean weight on places after an earlier copy of the letter that asks, a number."""
    follows = tokens[:, None] == tokens.roll(1)
    follows[:, 0] = False
    follows = follows.tril()
    looks = (weights * follows).sum(dim=-1)
    asks = follows.any(dim=-1)
    return looks[asks].mean()


@exercise(
    axes="part",
    cases=[
        (torch.eye(3)[:2], torch.tensor([[1.0, 0, 2], [3, 4, 0]]), 1),
        (_other(2, 5), _other(7, 5), 0),
        (_other_double(3, 5), _other_double(11, 5), 7),
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
