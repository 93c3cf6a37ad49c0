"""Graders for the exercises of the chapter on where the square root ends."""

import math

import torch
from torch import Tensor

from attention_lib.masking import causal_mask
from attention_workbook.exercises import draws, exercise, questions

__all__ = ["growing_weights", "longer_row", "quiz", "row_variance"]

longer_row, row_variance, quiz = questions("variance_limits")

_normal = draws(53)


@exercise(
    axes="query key",
    cases=[
        (torch.tensor([[1.0, 5.0], [1.0, 2.0]]), causal_mask(2)),
        (_normal(5, 5), causal_mask(5)),
        (_normal(3, 7), torch.arange(7) < torch.tensor([[7], [3], [1]])),
        (_normal(7, 7), causal_mask(7)),
    ],
    mistakes=[
        (
            "mask.sum(dim=-1, keepdim=True)",
            "torch.full((len(scores), 1), scores.shape[-1])",
            "the factor is the same in all rows: count the keys that a row may see.",
        ),
        ("visible.log()", "visible.log().sqrt()", "the factor is ln n here, not its root."),
        ("visible.log()", "visible", "the factor is the logarithm of the number of keys."),
        (" * visible.log()", "", "the scores are not multiplied by ln n."),
        (
            "visible.log()",
            "visible.log2()",
            "the logarithm is taken to base 2; ln is the natural one.",
        ),
        (
            "visible.log()",
            "(2 * visible.log()).sqrt()",
            "√(2 ln n) is how the largest score grows; the factor is ln n here.",
        ),
        (
            "visible.log()",
            "visible.log1p()",
            "the factor is ln(n + 1). A factor of 0 does no harm: a single key gets 1 anyway.",
        ),
        (
            " * visible.log()",
            " / visible.log()",
            "the scores are divided by ln n; multiply them by it.",
        ),
    ],
)
def growing_weights(scores: Tensor, mask: Tensor) -> Tensor:
    """Return a masked softmax whose scores were multiplied by ln n, n the keys a row may see."""
    visible = mask.sum(dim=-1, keepdim=True).to(scores.dtype)
    return (scores * visible.log()).masked_fill(~mask, -math.inf).softmax(dim=-1)
