"""Graders for the exercises of the chapter on softmax's gradient."""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, makes, questions

__all__ = [
    "query_gradient",
    "quiz",
    "slope_by_hand",
    "softmax_backward",
    "torn_norm",
]

slope_by_hand, torn_norm, quiz = questions("softmax_gradient")

_normal, _double = draws(41), draws(42, torch.float64)


def _drawn(len_k: int, d: int, d_v: int) -> tuple[Tensor, Tensor, Tensor]:
    return _double(d), _double(len_k, d), _double(len_k, d_v)


@exercise(
    axes="value coordinate",
    cases=[
        (torch.tensor([0.0]), torch.tensor([[1.0], [-1.0]]), torch.tensor([[20.0], [10.0]])),
        _drawn(2, 3, 1),
        _drawn(7, 5, 3),
        (_normal(2), _normal(11, 2), _normal(11, 13)),
        _drawn(3, 17, 5),
    ],
    special={
        "where all values are equal": (_double(3), _double(5, 3), torch.full((5, 2), 3.0).double()),
        "where one key has nearly all the weight": (
            30 * _double(3),
            30 * _double(5, 3),
            torch.eye(5).double(),
        ),
    },
    mistakes=[
        ("query / root", "query", "the weights need scaled scores: divide by √d before softmax."),
        (
            "(keys - p @ keys) / root",
            "(keys - p @ keys)",
            "the chain rule brings one more factor, 1/√d.",
        ),
        (
            {"p @ values": "values.mean(dim=0)", "p @ keys": "keys.mean(dim=0)"},
            "the means to subtract are weighted by p, not plain.",
        ),
        (
            {"values - p @ values": "values", "keys - p @ keys": "keys"},
            "no mean is subtracted: that is the mean of the products, and not their covariance.",
        ),
        ("p[:, None] * ", "", "the sum over the keys is not weighted by p yet."),
        (
            "len(query) ** 0.5",
            "values.shape[-1] ** 0.5",
            "the root is that of the values' width; scores are divided by that of the keys' width.",
        ),
        (
            "(keys - p @ keys)",
            "(p[:, None] * (keys - p @ keys))",
            "the weights enter twice: each key's product of spreads has one factor p.",
        ),
    ],
)
def query_gradient(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the derivative of the output by the query, ``(d_v, d)``."""
    root = len(query) ** 0.5
    p = (keys @ query / root).softmax(dim=0)
    weighted = p[:, None] * (values - p @ values)
    return weighted.T @ (keys - p @ keys) / root


def _weights_and_gradient(*shape: int) -> tuple[Tensor, Tensor]:
    return (2 * _double(*shape)).softmax(dim=-1), 3 * _double(*shape)


@exercise(
    axes="row key",
    cases=[
        (torch.tensor([[0.75, 0.25]]), torch.tensor([[2.0, -2.0]])),
        ((2 * _normal(5, 7)).softmax(dim=-1), _normal(5, 7)),
        _weights_and_gradient(2, 3, 11),
        _weights_and_gradient(3, 13),
        _weights_and_gradient(6),
    ],
    rules=[
        makes(
            lambda step, shape, stored: shape[-2:] != (13, 13),
            case=_weights_and_gradient(3, 13),
            sentence="the result is right, but the matrix `J` is made. Sums along the last axis "
            "are enough.",
        )
    ],
    special={
        "where a weight is exactly 1 or 0": (
            torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]),
            torch.tensor([[5.0, -300.0, 1.0], [900.0, 0.0, 7.0]]),
        ),
        "where the gradient is the same for all keys": (
            _normal(3, 4).softmax(dim=-1),
            torch.ones(3, 4),
        ),
    },
    mistakes=[
        (
            "weights * (gradient -",
            "(weights * gradient -",
            "the sum, too, is to be multiplied by the weights.",
        ),
        (
            "(weights * gradient).sum(dim=-1, keepdim=True)",
            "weights * gradient",
            "that is the diagonal of `J` alone: a weight depends on the other scores of its row, "
            "too.",
        ),
    ],
)
def softmax_backward(weights: Tensor, gradient: Tensor) -> Tensor:
    """Return the Jacobian of softmax times a gradient, ``(..., len_k)``."""
    return weights * (gradient - (weights * gradient).sum(dim=-1, keepdim=True))
