"""Graders for the exercises of "Look up softly".

Examples
--------
>>> attention(lambda queries, keys, values: (queries @ keys.mT).softmax(dim=-1) @ values)
Not yet: the scale is missing: nothing is divided by the root of the width.
>>> three_effective_keys(0.4)
Not yet: that is too small.
>>> quiz(15, "a", ...)
1. Correct: the exponentials are 3 and 1, the weights 3/4 and 1/4, so the output is 7.5 + 7.5 = 15.
2. Not yet: the scores do go to 0, but e to the power of 0 is 1: all weights become equal.
3. No key fits: every score of a query is −100. What does attention return?
   a) 0, or nearly 0: every exponential is tiny.
   b) An error, as a dictionary does.
   c) The mean of the values.
"""

import torch
from torch import Tensor

from workbook.exercises._cases import memories, rows_of_scores
from workbook.exercises._exercise import exercise
from workbook.exercises._questions import questions

__all__ = ["attend_or_abstain", "attention", "hard_lookup", "quiz", "three_effective_keys"]

three_effective_keys, quiz = questions("soft_lookup")


@exercise(
    axes="query column",
    cases=memories(),
    mistakes=[
        (" @ values", "", "these are the weights; the output is the values, summed with them."),
        (".softmax(dim=-1) @ values", "",
         "these are the scores, and only the first of three steps."),
        ("queries.shape[-1]", "values.shape[-1]", "the width of the values sets the scale."),
        (
            {" / queries.shape[-1] ** 0.5": "",
             ".softmax(dim=-1)": ".softmax(dim=-1) / queries.shape[-1] ** 0.5"},
            "the weights are divided by the root of the width; it is the scores that need a scale.",
        ),
        (
            "queries @ keys.mT",
            "torch.cdist(queries, keys)",
            "distances are taken, and formula (1) has dot products.",
        ),
    ],
)  # fmt: skip
def attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the output ``(batch, len_q, d_v)`` of softmax(QKᵀ/√d)V."""
    return (queries @ keys.mT / queries.shape[-1] ** 0.5).softmax(dim=-1) @ values


@exercise(
    axes="query key",
    cases=[*rows_of_scores(), (torch.tensor([[[0.0, 1e-35, -1.0], [3e34, 1e35, 0.0]]]),)],
    mistakes=[
        (
            "(scores == scores.amax(dim=-1, keepdim=True))",
            "torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])",
            "a tie is not shared: keys with equal scores have equal weights at every temperature.",
        ),
        (
            "best / best.sum(dim=-1, keepdim=True)",
            "best",
            "where two keys tie, the row sums to 2.",
        ),
        (
            "scores.amax(dim=-1, keepdim=True)",
            "scores.amax()",
            "the best key is sought in the whole tensor, and each query has its own.",
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


def _with_one(scores: Tensor) -> Tensor:
    """Return softmax with one more score, 0, whose weight is dropped."""
    return torch.nn.functional.pad(scores, (0, 1)).softmax(dim=-1)[..., :-1]


def _naive(scores: Tensor) -> Tensor:
    return torch.div(scores.exp(), 1 + scores.exp().sum(dim=-1, keepdim=True))


def _shifted_alike(scores: Tensor) -> Tensor:
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return torch.div(powers, 1 + powers.sum(dim=-1, keepdim=True))


def _one_for_each_key(scores: Tensor) -> Tensor:
    return torch.nn.functional.pad(scores, (0, scores.shape[-1])).softmax(dim=-1)[
        ..., : scores.shape[-1]
    ]


def _memories_with_bad_keys() -> list[tuple[Tensor, ...]]:
    keys = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    values = torch.tensor([[[1.0], [2.0], [3.0]]])
    queries = [[[0.0, 0.0], [1.0, -1.0]], [[-9.0, -9.0]], [[200.0, 100.0]], [[-90.0, 30.0]]]
    return [*((torch.tensor([rows]), keys, values) for rows in queries), *memories()]


@exercise(
    axes="query column",
    cases=_memories_with_bad_keys(),
    mistakes=[
        (
            "_with_one(scores)",
            "scores.softmax(dim=-1)",
            "there is no 1 in the denominator: the rows still sum to 1, and nothing is left over.",
        ),
        (
            "_with_one(scores)",
            "_naive(scores)",
            "formula (2) is written out, and `exp` of a score in the hundreds is infinity. Which "
            "pair of key and value would add the 1 inside `softmax`?",
        ),
        (
            "_with_one(scores)",
            "_shifted_alike(scores)",
            "after a row's largest score m is subtracted, the added 1 has to become exp(−m).",
        ),
        (
            "_with_one(scores)",
            "_one_for_each_key(scores)",
            "a 1 is added for every key; the denominator has only one.",
        ),
        (
            "queries @ keys.mT",
            "queries @ keys.mT / queries.shape[-1] ** 0.5",
            "the scores are divided by the root of the width; here they are plain dot products.",
        ),
        (
            "return ",
            "return (1 - _with_one(scores).sum(dim=-1, keepdim=True)) + ",
            "the added value is not zero: it adds to the output.",
        ),
    ],
)
def attend_or_abstain(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the output ``(batch, len_q, d_v)`` where a 1 is added to the denominator."""
    scores = queries @ keys.mT
    return _with_one(scores) @ values
