"""Graders for the chapter on many heads.

Examples
--------
>>> layer_parameters(3 * 512**2)
Not yet: W_o is forgotten: the matrix that joins the heads.
"""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["layer_parameters", "many_heads", "narrow_heads", "quiz"]

layer_parameters, narrow_heads, quiz = questions("multi_head")

_normal, _double = draws(21), draws(22, torch.float64)


def split(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(-2)


def _cut_straight(x: Tensor, num_heads: int) -> Tensor:
    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)


def _cut_unswapped(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (num_heads, -1))


def _cut_in_turns(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


_UNSWAPPED = (
    "the axis of the heads still stands behind that of the positions, so at each position heads "
    "look at heads. Swap the two axes."
)
_IN_TURNS = "a head gets every num_heads-th column, not a block of columns."
_EXCHANGED = (
    "the two sizes of the cut are exchanged: there are as many heads as one should have columns."
)
_STRAIGHT = (
    "heads are cut with a plain `reshape`, which gives a head stretches of the sentence, not "
    "columns."
)


def _tables(batch: int, len_q: int, len_k: int, d: int, num_heads: int) -> tuple[Tensor | int, ...]:
    """Return queries, keys and values of all heads, how many heads, and a mask of every third."""
    mask = torch.arange(len_q * len_k).reshape(len_q, len_k) % 3 > 0
    tables = _normal(batch, len_q, d), _normal(batch, len_k, d), _normal(batch, len_k, d)
    return *tables, num_heads, mask


@exercise(
    part="my_many_heads",
    given=[split, merge, "my_masked_softmax", "my_unit_scores"],
    axes="position column",
    cases=[
        _tables(1, 2, 2, 4, 2),
        _tables(2, 5, 3, 10, 5),
        _tables(3, 5, 7, 6, 2),
        _tables(2, 7, 5, 12, 3),
        _tables(2, 5, 5, 7, 1),
    ],
    special={
        "where a query may look at nothing": (
            *(_normal(1, 3, 4) for _ in range(3)),
            2,
            torch.tensor([[False, False, False], [True, False, False], [True, True, False]]),
        )
    },
    mistakes=[
        ("split", "_cut_unswapped", _UNSWAPPED),
        ({"split": "_cut_unswapped", ".transpose(1, 2)": ""}, _UNSWAPPED),
        ("split", "_cut_straight", _STRAIGHT),
        ("split", "_cut_in_turns", _IN_TURNS),
        ({"num_heads) for": "queries.shape[-1] // num_heads) for"}, _EXCHANGED),
        (
            "Q.shape[-1] ** 0.5",
            "queries.shape[-1] ** 0.5",
            "divide by the root of the width of one head, not of all together.",
        ),
        (
            ".transpose(1, 2).flatten(-2)",
            ".reshape(queries.shape)",
            "the heads are joined without swapping the axes back.",
        ),
        (
            {".masked_fill(~mask, -torch.inf)": "", ".masked_fill(~mask, 0.0)": ""},
            "the mask is not used.",
        ),
        (
            {".masked_fill(~mask, -torch.inf)": ""},
            "the mask comes after the softmax only, so the weights of a row do not sum to 1.",
        ),
        (
            "Q @ K.mT / Q.shape[-1] ** 0.5",
            "(queries @ keys.mT)[:, None] / queries.shape[-1] ** 0.5",
            "the scores are made before the cut, of the whole width: one map for all heads. Cut "
            "queries and keys, too.",
        ),
        (
            "Q.shape[-1] ** 0.5",
            "(Q.shape[-1] ** 0.5 * num_heads**2)",
            "the scores are divided by the square of the number of heads, too.",
        ),
    ],
)
def many_heads(
    queries: Tensor, keys: Tensor, values: Tensor, num_heads: int, mask: Tensor
) -> Tensor:
    """Return the outputs of all heads side by side, ``(batch, len_q, d_model)``."""
    Q, K, V = (split(x, num_heads) for x in (queries, keys, values))
    scores = Q @ K.mT / Q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)
    Z = weights @ V
    return Z.transpose(1, 2).flatten(-2)
