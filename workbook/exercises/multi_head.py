"""Graders for the chapter on many heads.

Examples
--------
>>> merge(lambda x: x.reshape(x.shape[0], x.shape[2], -1))
Not yet: axes 1 and 2 are never swapped.
>>> layer_parameters(3 * 512**2)
Not yet: W_o is forgotten: the matrix that joins the heads.
>>> both_at_once(1)
Not yet: the weights of one head sum to 1 over the whole row: it cannot give 1 twice.
"""

import torch
from torch import Tensor

from workbook.exercises._cases import draws
from workbook.exercises._exercise import exercise
from workbook.exercises._questions import questions

__all__ = [
    "both_at_once",
    "layer_parameters",
    "merge",
    "multi_head",
    "quiz",
    "share_of_head",
]

both_at_once, layer_parameters, quiz = questions("multi_head")

_normal, _double = draws(21), draws(22, torch.float64)


def _count(*shape: int) -> Tensor:
    """Return 0, 1, 2 … in a shape: each number says where it was."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


@exercise(
    axes="position column",
    cases=[
        (_count(*shape),)
        for shape in [
            (1, 2, 2, 1), (1, 2, 3, 2), (2, 3, 5, 7), (3, 5, 2, 3), (2, 1, 7, 4), (1, 4, 3, 1),
        ]
    ],
    mistakes=[
        (
            "x.transpose(1, 2).flatten(-2)",
            "x.reshape(x.shape[0], x.shape[2], -1)",
            "axes 1 and 2 are never swapped.",
        ),
        (".flatten(-2)", "", "the last two axes are not yet joined."),
        (
            "x.transpose(1, 2)",
            "x.permute(0, 2, 3, 1)",
            "the heads are interleaved: column 0 of every head, then column 1; each head should "
            "be a block.",
        ),
        ("x.transpose(1, 2).flatten(-2)", "x.sum(dim=1)", "the heads are added up, not joined."),
        ("x.transpose(1, 2).flatten(-2)", "x.mean(dim=1)", "the heads are averaged, not joined."),
        ("x.transpose(1, 2)", "x.flip(1).transpose(1, 2)", "the heads stand in reverse order."),
    ],
)  # fmt: skip
def merge(x: Tensor) -> Tensor:
    """Return ``(batch, len, num_heads * d_k)``, each head a block of columns."""
    return x.transpose(1, 2).flatten(-2)


@exercise(
    axes="position column",
    cases=[
        (_count(1, 2, 1, 2), _count(4, 1), 1),
        (_normal(2, 3, 5, 7), _normal(21, 11), 2),
        (_normal(3, 5, 2, 3), _normal(15, 7), 1),
        (_normal(2, 4, 3, 2), _normal(8, 8), 0),
        (_normal(5, 3, 2, 4), _normal(12, 5), 1),
        (_double(1, 2, 3, 5), _double(10, 3), 1),
    ],
    mistakes=[
        (" @ rows", "", "`W_o` is missing: this is the output of the head before it."),
        ("i * d_v : (i + 1) * d_v", "i : i + d_v", "the block of `W_o` starts at row i · d_v."),
        ("i * d_v : (i + 1) * d_v", ":d_v", "every head gets the first rows of `W_o`."),
        (
            "i * d_v : (i + 1) * d_v",
            "i :: outputs.shape[1]",
            "the rows of `W_o` are taken in turns; the rows of a head are a block.",
        ),
        (
            lambda outputs, W_o, i: outputs.transpose(1, 2).flatten(-2) @ W_o,
            "that is the whole output, the sum over all heads.",
        ),
        ("outputs[:, i]", "outputs.mean(dim=1)", "the heads are averaged; take head `i` alone."),
        ("outputs[:, i]", "outputs.sum(dim=1)", "the heads are added up; take head `i` alone."),
    ],
)
def share_of_head(outputs: Tensor, W_o: Tensor, i: int) -> Tensor:
    """Return head ``i``'s part ``(batch, len, d_model)`` of ``merge(outputs) @ W_o``."""
    d_v = outputs.shape[-1]
    rows = W_o[i * d_v : (i + 1) * d_v]
    return outputs[:, i] @ rows


def _cut(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def _cut_straight(x: Tensor, num_heads: int) -> Tensor:
    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)


def _cut_in_turns(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


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
    mistakes=[
        ("_cut", "_cut_straight", _STRAIGHT),
        ("_cut", "_cut_in_turns", "a head gets every num_heads-th column, not a block of columns."),
        (
            "num_heads) for",
            "1) for",
            "nothing is cut into `num_heads`: that is one head of the whole width.",
        ),
        (
            "Z.transpose(1, 2).flatten(-2)",
            "Z.reshape(X.shape)",
            "the heads are joined without swapping the axes back.",
        ),
        ("Q.shape[-1]", "X.shape[-1]", "the scale is that of the whole width; it is a head's."),
        (" @ W_o", "", "`W_o` is missing: it mixes what the heads have found."),
        (
            "Q @ K.mT / Q.shape[-1] ** 0.5",
            "(Q @ K.mT / Q.shape[-1] ** 0.5).masked_fill("
            "torch.ones(X.shape[1], X.shape[1]).triu(1).bool(), -torch.inf)",
            "a causal mask hides later words; nothing is hidden here.",
        ),
    ],
)
def multi_head(
    X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, num_heads: int
) -> Tensor:
    """Return the output ``(batch, len, d_model)`` of a layer without a mask."""
    Q, K, V = (_cut(X @ W, num_heads) for W in (W_q, W_k, W_v))
    weights = (Q @ K.mT / Q.shape[-1] ** 0.5).softmax(dim=-1)
    Z = weights @ V
    return Z.transpose(1, 2).flatten(-2) @ W_o
