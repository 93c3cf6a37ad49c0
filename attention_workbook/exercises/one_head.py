"""Graders for the exercises of the chapter on one head.

Examples
--------
>>> swapped_twice(0.5)
Not yet: the scores are 0.71 and 0, so the weights are not equal.
>>> head(lambda x, W_q, W_k, W_v: ((x @ W_q) @ (x @ W_k).mT).softmax(dim=-1) @ x @ W_v)
Not yet: the scale is missing: the scores are not divided by the root of the width.
"""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, makes, questions

__all__ = ["cross_head", "head", "quiz", "swapped_twice"]

swapped_twice, quiz = questions("one_head")

_normal, _double = draws(11), draws(12, torch.float64)
_STEEP = 300 * torch.tensor([[[1.0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]])
_CHOSEN = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0]])
_STEEP_CASE = {"where scores are in the thousands": (_STEEP, _CHOSEN, _CHOSEN, _normal(3, 2))}


def _matrices(d_model: int, d_k: int, d_v: int) -> tuple[Tensor, ...]:
    return _normal(d_model, d_k), _normal(d_model, d_k), _normal(d_model, d_v)


_SMALL = (
    torch.tensor([[2.0, 1.0]]),
    torch.tensor([[1.0, 0.0]]),
    torch.tensor([[1.0, 2.0, 3.0]]),
)


@exercise(
    axes="batch query column",
    cases=[
        (torch.tensor([[[1.0], [2.0]]]), *_SMALL),
        (_normal(2, 5, 7), *_matrices(7, 3, 2)),
        (_normal(3, 7, 5), *_matrices(5, 2, 11)),
        (_normal(1, 5, 3), *_matrices(3, 5, 2)),
        (_double(2, 3, 4), _double(4, 5), _double(4, 5), _double(4, 7)),
    ],
    special=_STEEP_CASE,
    rules=[
        # d_k is 3 and d_model 7: what has the one axis and not the other is made of words
        makes(
            lambda step, shape, stored: 3 not in shape or 7 in shape,
            case=(_normal(2, 5, 7), *_matrices(7, 3, 11)),
            sentence="the result is right, but queries or keys are made on the way. Combine `W_q` "
            "and `W_k` into one matrix first.",
        )
    ],
)
def head(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    """Return the output of one head, ``(batch, len, d_v)``."""
    queries = x @ W_q
    keys = x @ W_k
    values = x @ W_v
    scores = queries @ keys.mT / keys.shape[-1] ** 0.5
    weights = scores.softmax(dim=-1)
    return weights @ values


@exercise(
    part="my_cross_head",
    given=["my_lookup"],
    axes="batch query column",
    cases=[
        (torch.tensor([[[1.0]]]), torch.tensor([[[1.0], [2.0]]]), *_SMALL),
        (_normal(2, 3, 7), _normal(2, 5, 7), *_matrices(7, 3, 2)),
        (_normal(3, 7, 5), _normal(3, 2, 5), *_matrices(5, 2, 11)),
        (_double(2, 3, 4), _double(2, 5, 4), _double(4, 5), _double(4, 5), _double(4, 7)),
    ],
)
def cross_head(target: Tensor, source: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    """Return the output ``(batch, len_q, d_v)`` of a head in which ``target`` asks ``source``."""
    queries = target @ W_q
    keys = source @ W_k
    values = source @ W_v
    scores = queries @ keys.mT / keys.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ values
