"""Graders for the exercises of the chapter on scores after training."""

import math

import torch
from torch import Tensor

from attention_lib.masking import causal_mask
from attention_workbook.exercises import draws, exercise, makes, questions

__all__ = ["gain_for_half", "growing_weights", "qk_norm_scores", "quiz", "softmax_with_sink"]

gain_for_half, quiz = questions("after_training")

_normal, _double = draws(51), draws(52, torch.float64)
_rows = draws(53)


@exercise(
    axes="query key",
    cases=[
        (torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0], [2.0, 2.0]]), 1.5),
        (_normal(5, 3), _normal(7, 3), 10.0),
        (2 * _normal(4, 64), 3 * _normal(3, 64), 4.0),
        (_normal(2, 3, 5, 3), _normal(2, 3, 7, 3), 0.5),
        (_double(3, 2), _double(5, 2), 100.0),
    ],
    special={
        "where queries are long and keys are short": (
            1000 * _normal(3, 7),
            0.001 * _normal(4, 7),
            3.0,
        ),
    },
    mistakes=[
        (" / queries.norm(dim=-1, keepdim=True)", "", "the queries keep their lengths."),
        (" / keys.norm(dim=-1, keepdim=True)", "", "the keys keep their lengths: a long one wins."),
        (
            lambda queries, keys, gain: gain * (queries @ keys.mT / gain).tanh(),
            "that is a soft cap: it bounds the scores, and the lengths still count.",
        ),
    ],
)
def qk_norm_scores(queries: Tensor, keys: Tensor, gain: float) -> Tensor:
    """Return ``gain`` times the cosine of each query with each key."""
    unit_queries = queries / queries.norm(dim=-1, keepdim=True)
    unit_keys = keys / keys.norm(dim=-1, keepdim=True)
    return gain * (unit_queries @ unit_keys.mT)


@exercise(
    axes="query key",
    cases=[
        (torch.tensor([[1.0, 0.0]]),),
        (torch.tensor([[-3.0, -5.0, -4.0], [2.0, 2.0, 0.0]]),),
        (4 * _normal(2, 3, 5),),
        (_double(7),),
    ],
    special={
        "where scores are in the hundreds": (
            torch.tensor([[900.0, 899.0, 0.0], [-900.0, -899.0, -950.0]]),
        ),
        "where a whole row is −∞": (torch.tensor([[-math.inf] * 3, [0.0, 0.0, 0.0]]),),
    },
    rules=[
        makes(
            lambda step, shape, stored: shape[-1:] != (8,),
            case=(_normal(2, 3, 7),),
            sentence="the result is right, but a key is appended on the way. Give the sink its "
            "term in the denominator instead.",
        )
    ],
    mistakes=[
        (
            lambda scores: scores.softmax(dim=-1).nan_to_num(0.0),
            "the rows still sum to 1: the sink's 1 is missing in the denominator.",
        ),
        (
            lambda scores: scores.softmax(dim=-1).nan_to_num(0.0) / 2,
            "1 is added after the softmax, when the sum is 1 already: every row is halved. The "
            "sink's 1 stands among the exponentials.",
        ),
        (
            lambda scores: scores.exp() / scores.exp().sum(dim=-1, keepdim=True),
            "e to the power of a large score is infinite: subtract the row's largest first. And "
            "the rows sum to 1: the sink's 1 is missing in the denominator.",
        ),
        (
            lambda scores: scores.softmax(dim=-1),
            "the rows still sum to 1: nothing is left over.",
        ),
        (
            lambda scores: scores.exp() / (1 + scores.exp().sum(dim=-1, keepdim=True)),
            "e to the power of a large score is infinite: subtract the row's largest first, and "
            "the sink's term with it.",
        ),
        (torch.sigmoid, "each key is weighed against the sink alone; all of a row share with it."),
        (
            "(-top).exp()",
            "1",
            "the largest score is subtracted from the keys only; the sink's 0 needs it, too.",
        ),
        (
            ".clamp(min=0)",
            "",
            "a row of −∞ becomes NaN, and nothing provides for it.",
        ),
    ],
)
def softmax_with_sink(scores: Tensor) -> Tensor:
    """Return the weights of a softmax with one more key of score 0, that key left out."""
    top = scores.amax(dim=-1, keepdim=True).clamp(min=0)
    powers = (scores - top).exp()
    return powers / (powers.sum(dim=-1, keepdim=True) + (-top).exp())


@exercise(
    axes="query key",
    cases=[
        (torch.tensor([[1.0, 5.0], [1.0, 2.0]]), causal_mask(2)),
        (_rows(5, 5), causal_mask(5)),
        (_rows(3, 7), torch.arange(7) < torch.tensor([[7], [3], [1]])),
        (_rows(7, 7), causal_mask(7)),
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
