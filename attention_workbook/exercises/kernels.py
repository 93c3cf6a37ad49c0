"""Graders for the exercises of the chapter on kernels."""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["leave_one_out", "quiz", "regression"]

(quiz,) = questions("kernels")

_normal, _double = draws(21), draws(22, torch.float64)
_FORMS = [
    (
        "(distances / bandwidth).square()",
        "(distances.square() / bandwidth)",
        "the bandwidth is not squared: divide the distance by it before you square.",
    ),
    (
        "(distances / bandwidth).square() / 2",
        "(distances / bandwidth / 2).square()",
        "the 2 is squared along with the rest: (u/2)² is not u²/2.",
    ),
    (
        "(distances / bandwidth).square()",
        "distances.abs() / bandwidth**2",
        "the distance stands where its square belongs.",
    ),
]


@exercise(
    axes="query",
    cases=[
        (torch.tensor([0.0]), torch.tensor([-1.0, 2.0]), torch.tensor([3.0, 5.0]), 1.0),
        (_normal(3), _normal(5), _normal(5), 0.5),
        (_normal(7), 3 * _normal(4), _normal(4), 2.0),
        (_double(2), _double(11), _double(11), 0.25),
    ],
    special={
        "for a query that is very far from all keys (exponentials of its scores are 0)": (
            torch.tensor([0.0, 100.0]),
            _normal(3),
            5 + _normal(3),
            0.5,
        ),
    },
    mistakes=[
        *_FORMS,
        (
            lambda queries, keys, values, bandwidth: values.mean().expand(len(queries)),
            "that is the plain mean of the values, the same for every query.",
        ),
    ],
)
def regression(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    """Return an estimate for each query, ``(len_q,)``."""
    distances = queries[:, None] - keys
    return (-(distances / bandwidth).square() / 2).softmax(dim=-1) @ values


def _without(hidden: Tensor, weights: Tensor) -> Tensor:
    """Take weights away and make each row sum to 1 again."""
    left = weights.masked_fill(hidden, 0.0)
    return left / left.sum(dim=-1, keepdim=True)


@exercise(
    cases=[
        (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([1.0, 2.0, 4.0]), 1.0),
        (_normal(5), _normal(5), 0.5),
        (3 * _normal(11), _normal(11), 2.0),
        (_double(7), _double(7), 0.75),
    ],
    special={
        "where two measurements stand at one place": (
            torch.tensor([0.0, 1.0, 1.0, 2.0]),
            _normal(4),
            1.0,
        ),
        "where one key is very far from all others": (
            torch.tensor([0.0, 1.0, 100.0, 2.0]),
            _normal(4),
            0.5,
        ),
    },
    mistakes=[
        (
            ".square().mean()",
            ".square().mean().sqrt()",
            "the root of the mean squared error is taken.",
        ),
        *_FORMS,
        (
            ".square().mean()",
            ".square().sum() / (len(keys) - 1)",
            "the errors are divided by n − 1; take their mean over all n.",
        ),
        (
            {
                "torch.eye(len(keys), dtype=torch.bool)": "(distances * 0 == 0).triu()",
                ".softmax(dim=-1)": ".softmax(dim=-1).nan_to_num(0.0)",
            },
            "only earlier measurements are used; hide each one's own, and no other.",
        ),
        (
            "scores.masked_fill(itself, -torch.inf).softmax(dim=-1)",
            "_without(itself, scores.softmax(dim=-1))",
            "the mask comes after the softmax: a measurement that stands alone has no weight left "
            "to divide by. Mask the scores.",
        ),
    ],
)
def leave_one_out(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    """Return the mean squared error, 0-d, where each value is estimated from the others."""
    distances = keys[:, None] - keys
    itself = torch.eye(len(keys), dtype=torch.bool)
    scores = -(distances / bandwidth).square() / 2
    estimates = scores.masked_fill(itself, -torch.inf).softmax(dim=-1) @ values
    return (estimates - values).square().mean()
