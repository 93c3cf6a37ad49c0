"""Graders for the chapter on masks."""

import torch
from torch import Tensor

from attention_lib import masking
from attention_workbook.exercises import draws, exercise, questions, without

__all__ = ["key_padding", "lowest_loss", "masked_softmax", "packed_mask", "quiz"]

lowest_loss, quiz = questions("masking")


@exercise(
    axes="sequence key",
    cases=[
        (torch.tensor([2, 3]), 4),
        (torch.tensor([1, 5, 0]), 5),
        (torch.tensor([2]), 3),
        (torch.tensor([4, 1, 3, 2, 0], dtype=torch.int32), 7),
    ],
    mistakes=[
        (
            ">=",
            "<",
            "True stands at the real keys. The layer ignores the keys where its mask is True.",
        ),
    ],
)
def key_padding(valid_lens: Tensor, len_k: int) -> Tensor:
    """Return the padding mask of ``nn.MultiheadAttention``, ``(batch, len_k)``, True = ignore."""
    return torch.arange(len_k) >= valid_lens[:, None]


_LOW = torch.tensor([[-3e30, -3e30, 5.0], [0.0, 1.0, 900.0]])


def _spoiled() -> tuple[Tensor, Tensor]:
    """Return scores with NaN and infinity where they are hidden."""
    scores = draws(14)(2, 3, 5)
    scores[..., 3], scores[0, 0, 4] = torch.nan, torch.inf
    return scores, torch.arange(5) < 3


def _scores_and_masks() -> list[tuple[Tensor, Tensor]]:
    """Return scores with masks that broadcast to them, empty rows and scores of 900 among them."""
    normal, double = draws(11), draws(12, torch.float64)
    some = torch.arange(7) % 3 != draws(13)(2, 3, 5, 1).sign().long() + 1
    return [
        (torch.tensor([[1.0, 0.0, 2.0]]), torch.tensor([[True, True, False]])),
        (torch.tensor([[1.0, 2.0], [0.0, 3.0]]), torch.tensor([[False, False], [True, False]])),
        (torch.zeros(2, 3), torch.zeros(3, dtype=torch.bool)),
        (torch.tensor([[900.0, 0.0, 900.0], [900.0, 899.0, 0.0]]), masking.causal_mask(2, 3)),
        (normal(3, 5, 2), masking.length_mask(torch.tensor([2, 0, 1]), 2)),
        (normal(2, 3, 5, 7), some),
        (double(2, 5, 5), masking.causal_mask(5)),
        (normal(1, 7, 3), torch.ones(1, 1, 3, dtype=torch.bool)),
    ]


@exercise(
    part="my_masked_softmax",
    axes="query key",
    cases=_scores_and_masks(),
    special={
        "where a hidden score is NaN or infinity": _spoiled(),
        "where all scores of a row that may be seen are very low": (
            _LOW,
            torch.tensor([[True, True, False], [True, True, False]]),
        ),
        "where scores are very low in float64": (
            _LOW.double() * 1e200,
            torch.tensor([[True, True, False], [False, False, False]]),
        ),
    },
    rules=[
        without(
            "own.masked_softmax_by_hand",
            sentence="the result is right, but `masked_softmax_by_hand` made it. Write the steps "
            "yourself.",
        ),
        without(
            "attention_lib.masked_softmax",
            sentence="the result is right, but the library's `masked_softmax` made it. Write the "
            "steps yourself.",
        ),
    ],
    mistakes=[
        (
            ".masked_fill(~mask, 0.0)",
            ".nan_to_num(1 / scores.shape[-1])",
            "a row with nothing to look at shares its weight among its keys; it should be 0.",
        ),
        (
            ".masked_fill(~mask, 0.0)",
            "",
            "a row with nothing to attend to is NaN; it should be 0. Write the 0: a product "
            "with it stays NaN.",
        ),
        (
            {
                "scores.masked_fill(~mask, -torch.inf)": "(scores * mask)",
                ".masked_fill(~mask, 0.0)": "",
            },
            "hidden scores become 0, and `exp(0)` is 1; hidden NaN stays NaN.",
        ),
    ],
)
def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Return weights ``(..., len_q, len_k)``: 0 where hidden, and in a row with no key at all."""
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)


@exercise(
    axes="query key",
    cases=[
        (torch.tensor([[0, 0, 0, 1, 1]]),),
        (torch.tensor([[0, 1, 1, 1], [0, 0, 1, 1]]),),
        (torch.tensor([[7, 7, 2, 2, 2, 4]]),),
        (torch.tensor([[3], [5], [3]]),),
        (torch.tensor([[9, 8, 7], [4, 4, 4]]),),
        (torch.tensor([[6, 6, 6, 6, 6, 0, 0]]),),
    ],
)
def packed_mask(documents: Tensor) -> Tensor:
    """Return the causal mask ``(batch, length, length)`` that keeps documents apart."""
    return (documents[:, :, None] == documents[:, None, :]).tril()
