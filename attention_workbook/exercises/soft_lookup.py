"""Graders for the exercises of "Look up softly".

Examples
--------
>>> lookup(lambda queries, keys, values, temperature: (queries @ keys.mT).softmax(dim=-1) @ values)
Not yet: the temperature has no effect: it should divide the scores, before `exp`. (After ...)
>>> looking_elsewhere(4)
Not yet: the longest vector always finds itself: no shadow on it is longer than it is.
"""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions, without
from attention_workbook.exercises.engine.cases import PAIRS, SOFTMAXES, STEEP_PAIRS

__all__ = ["hard_lookup", "looking_elsewhere", "lookup", "quiz"]

looking_elsewhere, quiz = questions("soft_lookup")

_normal, _double = draws(6), draws(7, torch.float64)
_ONE_KEY = _normal(2, 5, 3), _normal(2, 1, 3)
# scores of 90 and 89.5, both too large for exp, which share the weight
_TWO_LARGE = (
    torch.tensor([[[180.0, 1.0]]]),
    torch.tensor([[[1.0, 0.0], [1.0, -1.0], [0.0, 0.0]]]),
    torch.tensor([[[1.0], [2.0], [5.0]]]),
    2.0,
)
_TEMPERATURES = [0.5, 3.0, 1.0, 5.0, 0.25, 2.0, 1.0, 0.5]


@exercise(
    part="my_lookup",
    axes="query column",
    rules=[
        without(
            *SOFTMAXES,
            sentence="the result is right, but a softmax of PyTorch made it; the task asks for "
            "`exp`, `sum` and a division.",
        )
    ],
    cases=[
        (
            torch.tensor([[[1.0, 2.0]]]),
            torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
            torch.tensor([[[1.0, 2.0, 3.0], [5.0, 0.0, -1.0]]]),
            2.0,
        ),
        *(
            (q, k, draws(i, k.dtype)(*k.shape[:2], 11 + i), _TEMPERATURES[i])
            for i, (q, k) in enumerate([*PAIRS, _ONE_KEY, *STEEP_PAIRS])
        ),
        _TWO_LARGE,
    ],
    mistakes=[
        (
            " / temperature",
            " / (temperature * queries.shape[-1] ** 0.5)",
            "the scores are also divided by the root of the width; here they are "
            "plain dot products.",
        ),
        (
            " / temperature",
            "",
            "the temperature has no effect: it should divide the scores, before `exp`. (After it, "
            "the division cancels.)",
        ),
    ],
)
def lookup(queries: Tensor, keys: Tensor, values: Tensor, temperature: float) -> Tensor:
    """Return the output ``(batch, len_q, d_v)`` of softmax(QKᵀ/temperature)V."""
    scores = queries @ keys.mT / temperature
    weights = scores.softmax(dim=-1)
    return weights @ values


@exercise(
    axes="query key",
    cases=[
        (torch.tensor([[[2.0, 0.4, -0.4, -1.2]]]),),
        (torch.tensor([[[1.0, 0.0, 1.0, 0.5], [3.0, 2.0, 1.0, 0.0]]]),),
        # ties, and scores that a person would take for a tie
        (torch.tensor([[[0.0, 0.0, 0.0], [1.0, 1.001, 0.999], [0.0, 1e-7, -1.0]]]),),
        (torch.tensor([[[0.0, 1e-10, -1.0], [5.0, 5.0, 5.0 + 1e-10]]], dtype=torch.float64),),
        (torch.tensor([[[0.0, 1e-35, -1.0], [3e34, 1e35, 0.0]]]),),
        (torch.tensor([[[900.0, 899.0, 900.0], [0.0, 0.0, 1.0], [-900.0, -901.0, -902.0]]]),),
        (torch.tensor([[[300.0, 100.0]], [[0.0, 0.0]]]),),
        (_normal(2, 3, 5).round(),),
        (2 * _normal(3, 1, 7),),
        (_double(1, 5, 2),),
    ],
    mistakes=[
        (
            "(scores == scores.amax(dim=-1, keepdim=True))",
            "torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])",
            "a tie is not shared: keys with equal scores have equal weights at every temperature.",
        ),
        (
            lambda scores: torch.nn.functional.one_hot(scores.argmax(dim=-1)),
            "`one_hot` makes only as many columns as its largest number needs: give it the number "
            "of keys, too. Then look at rows in which two keys tie.",
        ),
        (
            "best / best.sum(dim=-1, keepdim=True)",
            "best",
            "where two keys tie, the row sums to 2.",
        ),
        (
            "scores == scores.amax(dim=-1, keepdim=True)",
            "scores.abs() == scores.abs().amax(dim=-1, keepdim=True)",
            "the signs of the scores are lost: −3 is a worse score than 2.",
        ),
        (
            "scores == scores.amax(dim=-1, keepdim=True)",
            "scores.isclose(scores.amax(dim=-1, keepdim=True))",
            "scores that are only close count as a tie; however close, the larger takes all.",
        ),
        (lambda scores: scores.softmax(dim=-1), "that is temperature 1: every key has a share."),
        *(
            (
                lambda scores, t=t: (scores / t).softmax(dim=-1),
                "a small temperature is not 0: scores that lie close together share the weight, "
                "or the quotients are too large for `exp`.",
            )
            for t in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-9, 1e-10, 1e-12, 1e-30)
        ),
    ],
)
def hard_lookup(scores: Tensor) -> Tensor:
    """Return weights ``(..., len_q, len_k)``: the best keys of a row share it equally."""
    best = (scores == scores.amax(dim=-1, keepdim=True)).to(scores.dtype)
    return best / best.sum(dim=-1, keepdim=True)
