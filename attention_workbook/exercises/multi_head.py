"""Graders for the chapter on many heads.

Examples
--------
>>> layer_parameters(3 * 512**2)
Not yet: W_o is forgotten: the matrix that joins the heads.
"""

import torch
from torch import Tensor

from attention_workbook.exercises import Rule, draws, exercise, questions, without

__all__ = ["layer_parameters", "many_heads", "multi_head", "narrow_heads", "quiz"]

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
_PRODUCTS = ["matmul", "einsum", "softmax", "bmm", "mm", "tensordot"]
_IN_TURNS = "a head gets every num_heads-th column, not a block of columns."
_STRAIGHT = (
    "heads are cut with a plain `reshape`, which gives a head stretches of the sentence, not "
    "columns."
)


@exercise(
    axes="position column",
    cases=[
        (_normal(*shape, d), *(_normal(d, d) / d**0.5 for _ in range(4)), num_heads)
        for *shape, d, num_heads in [(1, 2, 2, 2), (2, 3, 10, 5), (3, 5, 6, 2), (2, 7, 12, 3)]
    ]
    + [(_double(2, 5, 4), *(_double(4, 4) for _ in range(4)), 1)],
    rules=[
        without(
            *("split", "chunk", "transpose", "permute", "movedim", "swapaxes", "swapdims"),
            *("own.split", "own.merge", "attention_lib.split_heads", "attention_lib.merge_heads"),
            sentence="the result is right, but axes are split or swapped on the way. Split the "
            "matrices, and let `torch.einsum` do the rest.",
        ),
        Rule(
            "the result is right, but a loop takes one head after the other. One product makes "
            "the queries of all heads.",
            lambda trace: max(trace.called[f"torch.{name}"] for name in _PRODUCTS) < 12,
            case=(_normal(1, 2, 24), *(_normal(24, 24) for _ in range(4)), 12),
        ),
    ],
    mistakes=[
        ("split", "_cut_straight", _STRAIGHT),
        ("split", "_cut_in_turns", _IN_TURNS),
        (
            {"num_heads) for": "1) for", "Q.shape[-1]": "(X.shape[-1] // num_heads)"},
            "nothing is cut into `num_heads`: that is one head of the whole width.",
        ),
        (
            "Z.transpose(1, 2).flatten(-2)",
            "Z.reshape(X.shape)",
            "the heads are joined without swapping the axes back.",
        ),
        ("Q.shape[-1]", "num_heads", "the scale is the root of the number of heads, not of d_k."),
        ("dim=-1", "dim=1", "the softmax runs over the heads; keys lie along the last axis."),
        (
            "Z.transpose(1, 2).flatten(-2)",
            "Z.sum(dim=1).repeat(1, 1, num_heads)",
            "the heads are added up; put them side by side.",
        ),
        (
            {"X @ W": "X @ W.T", " @ W_o": " @ W_o.T"},
            "the matrices are transposed; apply them from the right, as in `X @ W_q`.",
        ),
        (" @ W_o", " @ W_o + X", "the input is added; the residual connection is not asked for."),
        (
            "split(X @ W, num_heads)",
            "(X[:, None] @ W.reshape(num_heads, X.shape[-1], -1))",
            "a plain `reshape` deals out rows; of `W_q`, `W_k` and `W_v` a head owns columns.",
        ),
        (
            "Q.shape[-1] ** 0.5",
            "8",
            "8 is the root of 64, the width in the chapter; the heads here have another.",
        ),
    ],
)
def multi_head(
    X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, num_heads: int
) -> Tensor:
    """Return the output ``(batch, len, d_model)`` of a layer without a mask."""
    Q, K, V = (split(X @ W, num_heads) for W in (W_q, W_k, W_v))
    weights = (Q @ K.mT / Q.shape[-1] ** 0.5).softmax(dim=-1)
    Z = weights @ V
    return Z.transpose(1, 2).flatten(-2) @ W_o


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
