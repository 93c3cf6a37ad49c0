"""Graders for the exercises of "Score every pair".

Examples
--------
>>> nearest(lambda q, k, v, bandwidth: (q @ k.mT / bandwidth**2).softmax(dim=-1) @ v).passed
False
>>> moved_keys("b")
Not yet: a moved key points in another direction.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_workbook.exercises import Rule, draws, exercise, makes, questions, without
from attention_workbook.exercises.engine.rules import Trace

__all__ = [
    "frugal_additive_scores",
    "moved_keys",
    "nearest",
    "quiz",
]

moved_keys, quiz = questions("scoring_functions")


_normal, _double = draws(0), draws(1, torch.float64)
_BATCH, _LEN_Q, _LEN_K, _WIDTH = 2, 31, 29, 23
_PAIRED = _BATCH * _LEN_Q * _LEN_K


def _lookup(
    random: Callable[..., Tensor], bandwidth: float, *sizes: int
) -> tuple[Tensor, Tensor, Tensor, float]:
    batch, len_q, len_k, d_k, d_v = sizes
    queries, keys = random(batch, len_q, d_k), random(batch, len_k, d_k)
    return queries, keys, random(batch, len_k, d_v), bandwidth


def _makes_few_differences(trace: Trace) -> bool:
    """Whether fewer numbers are subtracted than all pairs have, in steps or at once."""
    made = 0
    for step, shape, _ in trace.tensors:
        vectors = shape[-1:] == (_WIDTH,)
        if step in ("sub", "__rsub__", "subtract") or (step == "add" and vectors):
            made += math.prod(shape)
    return made < _PAIRED * _WIDTH


@exercise(
    part="my_nearest",
    given=["my_lookup"],
    axes="batch query column",
    cases=[
        (
            torch.tensor([[[0.0], [1.0]]]),
            torch.tensor([[[-2.0], [0.0], [1.0], [2.0]]]),
            torch.tensor([[[10.0], [20.0], [30.0], [40.0]]]),
            1.0,
        ),
        _lookup(_normal, 1.0, 2, 3, 5, 2, 7),
        _lookup(_normal, 2.0, 3, 5, 2, 3, 1),
        _lookup(_double, 0.5, 2, 7, 3, 5, 2),
    ],
    rules=[
        without(
            *("cdist", "pairwise_distance", "pdist"),
            sentence="the output is right, but PyTorch computes the distances. The task asks for "
            "products in their place.",
        ),
        Rule(
            "the output is right, but the differences of all pairs are made: for "
            f"{_BATCH} times {_LEN_Q} queries and {_LEN_K} keys of width {_WIDTH} they are "
            f"{_PAIRED * _WIDTH} numbers; a matrix product makes {_PAIRED}.",
            _makes_few_differences,
            case=_lookup(_normal, 1.0, _BATCH, _LEN_Q, _LEN_K, _WIDTH, 3),
            inside=True,
        ),
    ],
    mistakes=[
        (
            "-squares / 2",
            "-squares",
            "the key's whole squared length is subtracted; half of it belongs there.",
        ),
        (
            "-squares / 2",
            "squares / 2",
            "the sign of the new number: a long key has to lose by its own length.",
        ),
        (
            "-squares / 2",
            "-squares.sqrt() / 2",
            "the key's length is taken there, and not its square.",
        ),
        (
            "bandwidth**2",
            "bandwidth",
            "the distance is divided by the bandwidth before it is squared, so the scores are "
            "divided by the bandwidth's square.",
        ),
        (
            "wider_queries @ wider_keys.mT",
            "queries @ keys.mT",
            "that is the dot product's output. Softmax cancels the query's squared length, but "
            "not the keys'.",
        ),
        (
            "wider_queries @ wider_keys.mT",
            "-torch.cdist(queries, keys) / 2",
            "the distance is not squared.",
        ),
        (
            "torch.cat([queries, ones]",
            "torch.cat([queries / queries.shape[-1] ** 0.5, ones]",
            "the dot product is divided by the root of the width; here it stands as it is.",
        ),
    ],
)
def nearest(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    """Return the output of a lookup by distance, ``(batch, len_q, d_v)``."""
    ones = torch.ones_like(queries[..., :1])
    squares = keys.square().sum(dim=-1, keepdim=True)
    wider_queries = torch.cat([queries, ones], dim=-1)
    wider_keys = torch.cat([keys, -squares / 2], dim=-1)
    scores = wider_queries @ wider_keys.mT / bandwidth**2
    return scores.softmax(dim=-1) @ values


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
