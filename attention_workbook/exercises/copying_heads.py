"""Graders for the exercises of the chapter on heads that copy."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["induction_score", "places_back", "quiz", "without_repetition"]

places_back, without_repetition, quiz = questions("copying_heads")

_normal, _double = draws(181), draws(182, torch.float64)


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
