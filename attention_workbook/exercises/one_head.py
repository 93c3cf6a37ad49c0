"""Graders for the exercises of the chapter on one head.

Examples
--------
>>> exchanged_twice(0.5)
Not yet: the scores are 0.71 and 0, so the weights are not equal.
>>> head(lambda x, W_q, W_k, W_v: ((x @ W_q) @ (x @ W_k).mT).softmax(dim=-1) @ x @ W_v)
Not yet: the scale is missing: nothing is divided by the root of the width.
"""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, makes, questions

__all__ = ["cross_head", "exchanged_twice", "head", "head_from_ids", "quiz"]

exchanged_twice, quiz = questions("one_head")

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


_IDS = [
    torch.tensor([[5, 2, 1, 0, 0], [1, 3, 1, 4, 0]]),
    torch.tensor([[3, 1, 2]]),
    torch.tensor([[1, 1, 0, 0, 0, 0, 0]]),
]


@exercise(
    axes="batch query column",
    cases=[
        (_IDS[0], _normal(6, 3), _normal(5, 3), *_matrices(3, 2, 4)),
        (_IDS[1], _normal(4, 5), _normal(3, 5), *_matrices(5, 3, 2)),
        (_IDS[2], _normal(2, 3), _normal(7, 3), *_matrices(3, 3, 3)),
    ],
    mistakes=[
        (
            {".masked_fill(~seen, -torch.inf)": "", ".masked_fill(~seen, 0.0)": ""},
            "padding is looked at: hand over the mask.",
        ),
        (
            "@ (X @ W_v)",
            "@ (table[ids] @ W_v)",
            "the values lack the positions; they are made of the same sums as queries and keys.",
        ),
        (
            "[:, None, :]",
            "[:, :, None]",
            "the mask hides the queries that are padding; it is the keys that are not to be read.",
        ),
        (
            "table[ids] + places",
            "table[ids] * table.shape[-1] ** 0.5 + places",
            "the rows of `table` are multiplied by the root of the width, as in some models; here "
            "they are added as they are.",
        ),
    ],
)
def head_from_ids(
    ids: Tensor, table: Tensor, places: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Tensor:
    """Return the output of one head, ``(batch, len, d_v)``, for ids ``(batch, len)``."""
    X = table[ids] + places
    seen = (ids != 0)[:, None, :]
    scores = (X @ W_q) @ (X @ W_k).mT / W_k.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, -torch.inf).softmax(dim=-1).masked_fill(~seen, 0.0)
    return weights @ (X @ W_v)
