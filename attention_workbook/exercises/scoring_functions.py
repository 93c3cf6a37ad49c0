"""Graders for the exercises of "Score every pair".

Examples
--------
>>> scaled_scores(lambda queries, keys: queries @ keys.mT / keys.shape[-1])
Not yet: the scale is the width itself, and not its root.
>>> gaussian_by_product(lambda q, k: -(q[:, :, None] - k[:, None]).square().sum(dim=-1) / 2).passed
False
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_workbook.exercises import Rule, calls, draws, exercise, makes, questions, without
from attention_workbook.exercises.engine.cases import PAIRS, STEEP_PAIRS
from attention_workbook.exercises.engine.rules import Trace

__all__ = [
    "frugal_additive_scores",
    "gaussian_by_product",
    "moved_keys",
    "quiz",
    "scaled_scores",
]

moved_keys, quiz = questions("scoring_functions")


@exercise(
    axes="batch query key",
    cases=[*PAIRS, *STEEP_PAIRS],
    rules=[
        calls("einsum", "the result is right; the task asks for `torch.einsum`."),
        without(
            *("matmul", "bmm", "mm", "mT", "T"),
            sentence="the result is right, but `@` or `.mT` took part; the task asks for "
            "`torch.einsum` alone.",
        ),
    ],
    mistakes=[
        (
            "queries.shape[-1] ** 0.5",
            "2**0.5",
            "the root of 2 divides, whatever the width; take the root of the width.",
        ),
    ],
)
def scaled_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Return the scaled dot product of every query with every key, ``(batch, len_q, len_k)``."""
    return queries @ keys.mT / queries.shape[-1] ** 0.5


def _less_mean(scores: Tensor, *_: Tensor) -> Tensor:
    """Return scores without what softmax cancels: each row's mean becomes 0."""
    return scores - scores.mean(dim=-1, keepdim=True) if scores.dim() else scores


_normal, _double = draws(0), draws(1, torch.float64)
_BATCH, _LEN_Q, _LEN_K, _WIDTH = 2, 31, 29, 23
_PAIRED = _BATCH * _LEN_Q * _LEN_K


def _makes_few_differences(trace: Trace) -> bool:
    """Whether fewer numbers are subtracted than all pairs have, in steps or at once."""
    made = 0
    for step, shape, _ in trace.tensors:
        vectors = shape[-1:] == (_WIDTH,)
        if step in ("sub", "__rsub__", "subtract") or (step == "add" and vectors):
            made += math.prod(shape)
    return made < _PAIRED * _WIDTH


@exercise(
    normalise=_less_mean,
    normalised="With each row's mean subtracted",
    axes="batch query key",
    cases=PAIRS,
    rules=[
        without(
            *("cdist", "pairwise_distance", "pdist"),
            sentence="the weights are right, but PyTorch computes the distances. The task asks for "
            "a matrix product in their place.",
        ),
        Rule(
            "the weights are right, but the differences of all pairs are made: for "
            f"{_BATCH} times {_LEN_Q} queries and {_LEN_K} keys of width {_WIDTH} they are "
            f"{_PAIRED * _WIDTH} numbers; a matrix product makes {_PAIRED}.",
            _makes_few_differences,
            case=(_normal(_BATCH, _LEN_Q, _WIDTH), _normal(_BATCH, _LEN_K, _WIDTH)),
            inside=True,
        ),
    ],
    mistakes=[
        (
            " - squares[:, None] / 2",
            "",
            "these are the dot product's weights. Softmax cancels the query's squared length, but "
            "not the keys'.",
        ),
        (
            "squares[:, None]",
            "squares.sqrt()[:, None]",
            "the key's length is taken there, and not its square.",
        ),
        (
            "scores = queries @ keys.mT - squares[:, None] / 2",
            "scores = -torch.cdist(queries, keys) / 2",
            "the distance is not squared.",
        ),
        (
            "_less_mean(scores)",
            "_less_mean(scores.softmax(dim=-1))",
            "these are the weights. Scores are asked for; the softmax comes afterwards.",
        ),
        (
            "queries @ keys.mT",
            "queries @ keys.mT / keys.shape[-1] ** 0.5",
            "the dot product is divided by the root of the width; here it stands as it is.",
        ),
    ],
)
def gaussian_by_product(queries: Tensor, keys: Tensor) -> Tensor:
    """Return scores with the Gaussian's weights, ``(batch, len_q, len_k)``."""
    squares = keys.square().sum(dim=-1)
    scores = queries @ keys.mT - squares[:, None] / 2
    return _less_mean(scores)


def _sides(random: Callable[..., Tensor], *sizes: int) -> tuple[Tensor, ...]:
    batch, len_q, len_k, d_q, d_k, num_hiddens = sizes
    matrices = (random(num_hiddens, d_q), random(num_hiddens, d_k), random(num_hiddens))
    return (random(batch, len_q, d_q), random(batch, len_k, d_k), *matrices)


@exercise(
    axes="batch query key",
    cases=[
        _sides(_normal, 1, 1, 2, 2, 1, 2),
        _sides(_normal, 2, 7, 5, 3, 2, 11),
        _sides(_double, 2, 3, 7, 5, 2, 11),
        _sides(_normal, 1, 2, 5, 3, 4, 7),
    ],
    special={
        "where hidden features are large": (
            100 * _normal(3, 1, 5),
            900 * _normal(3, 3, 7),
            _normal(2, 5),
            _normal(2, 7),
            _normal(2),
        ),
    },
    rules=[
        makes(
            lambda step, shape, stored: stored <= 2 * 7 * 11,  # batch × len_q × num_hiddens
            case=_sides(_normal, 2, 7, 5, 3, 2, 11),
            sentence="the numbers are right, but a tensor of more than batch × len_q × num_hiddens "
            "numbers is made: more than 154 for 2 times 7 queries, 5 keys and 11 hidden units.",
        )
    ],
    mistakes=[
        (" @ w_v", " @ w_v.abs()", "`w_v` has lost its signs; use its numbers as they are."),
        (
            ".tanh()",
            "",
            "the tanh is missing, so the query moves all scores of its row by the same amount.",
        ),
        (
            {".tanh()": "", "dim=-1)": "dim=-1).tanh()"},
            "the tanh comes after `w_v`. It belongs to each hidden feature, before "
            "they are summed.",
        ),
        (
            "(hidden_q + key[:, None]).tanh()",
            "(hidden_q.tanh() + key[:, None].tanh())",
            "the tanh is taken of each side alone. It belongs to their sum: query and key must "
            "meet inside it.",
        ),
        (
            "(hidden_q + key[:, None])",
            "(hidden_q * key[:, None])",
            "query and key are multiplied inside the tanh; they are to be added.",
        ),
        (".tanh()", ".relu()", "relu stands where tanh is asked for."),
        (".tanh()", ".sigmoid()", "sigmoid stands where tanh is asked for."),
        (
            " @ w_v",
            "[..., 1:] @ w_v[1:]",
            "the first hidden feature is left out; the loop must run over all of them.",
        ),
        (
            " @ w_v",
            "[..., :-1] @ w_v[:-1]",
            "the last hidden feature is left out; the loop must run over all of them.",
        ),
        (
            " @ w_v",
            "[..., -1:] @ w_v[-1:]",
            "only the last hidden feature counts; add them up, one after the other.",
        ),
    ],
)
def frugal_additive_scores(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """Return additive scores ``(batch, len_q, len_k)``."""
    hidden_q = queries @ W_q.T
    hidden_k = keys @ W_k.T
    columns = [(hidden_q + key[:, None]).tanh() @ w_v for key in hidden_k.unbind(1)]
    return torch.stack(columns, dim=-1)
