"""Graders for the chapter on masks."""

import torch
from torch import Tensor

from attention_lib import masking
from workbook.exercises import draws, exercise, questions, without

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


def _scores_and_masks() -> list[tuple[Tensor, Tensor]]:
    """Return scores with masks that broadcast to them: empty rows, NaN, 900 and very low rows."""
    normal, double = draws(11), draws(12, torch.float64)
    inf, nan = torch.inf, torch.nan
    spoiled = normal(2, 3, 5)
    spoiled[..., 3], spoiled[0, 0, 4] = nan, inf
    low = torch.tensor([[-3e30, -3e30, 5.0], [0.0, 1.0, 900.0]])
    three_of_five = torch.arange(5) < 3
    some = torch.arange(7) % 3 != draws(13)(2, 3, 5, 1).sign().long() + 1
    return [
        (torch.tensor([[1.0, 0.0, 2.0]]), torch.tensor([[True, True, False]])),
        (torch.tensor([[1.0, 2.0], [0.0, 3.0]]), torch.tensor([[False, False], [True, False]])),
        (torch.zeros(2, 3), torch.zeros(3, dtype=torch.bool)),
        (spoiled, three_of_five),
        (low, torch.tensor([[True, True, False], [True, True, False]])),
        (low.double() * 1e200, torch.tensor([[True, True, False], [False, False, False]])),
        (torch.tensor([[900.0, 0.0, 900.0], [900.0, 899.0, 0.0]]), masking.causal_mask(2, 3)),
        (normal(3, 5, 2), masking.length_mask(torch.tensor([2, 0, 1]), 2)),
        (normal(2, 3, 5, 7), some),
        (double(2, 5, 5), masking.causal_mask(5)),
        (normal(1, 7, 3), torch.ones(1, 1, 3, dtype=torch.bool)),
    ]


@exercise(
    axes="query key",
    cases=_scores_and_masks(),
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
            "",
            "rows with nothing to attend to are forgotten: they should be 0.",
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
