"""Answers to the exercises of `variance`."""

from fractions import Fraction

import numpy as np
import torch


def _divided(divisor):
    return lambda q, k, std: q @ k.mT / divisor(q, k, std)


def by_coordinates(queries, keys, std):
    total = 0
    for a, b in zip(queries.unbind(-1), keys.unbind(-1), strict=True):
        total = total + (a / std).unsqueeze(-1) * (b / std).unsqueeze(-2)
    return total / queries.shape[-1] ** 0.5


def damages_queries(queries, keys, std):
    queries /= std
    return queries @ keys.mT / (std * queries.shape[-1] ** 0.5)


def empirical(queries, keys, std):
    s = queries @ keys.mT
    return (s - s.mean()) / s.std()


def empirical_spread(queries, keys, std):
    return queries @ keys.mT / (queries.std() * keys.std() * queries.shape[-1] ** 0.5)


RIGHT = {
    "typical_score": {
        "int": 16,
        "numpy": np.sqrt(256),
        "0-d tensor": torch.tensor(16.0),
        "fraction": Fraction(16),
    },
    "unit_scores": {
        "unit vectors first": lambda q, k, std: (q / std) @ (k / std).mT / q.shape[-1] ** 0.5,
        "einsum": lambda q, k, std: (
            torch.einsum("...qd,...kd->...qk", q, k) / (std * std * q.shape[-1] ** 0.5)
        ),
        "loop over coordinates": by_coordinates,
        "root of the variance": lambda q, k, std: (
            torch.matmul(q, k.transpose(-1, -2)) * (q.shape[-1] * std**4) ** -0.5
        ),
    },
}

WRONG = {
    "broken_line": {"b": "b", "c": "c", "d": "d"},
    "typical_score": {
        "the variance": 256.0,
        "its fourth root": 4.0,
        "the scaled score": 1.0,
        "width over 2": 128.0,
        "root of twice the width": 512**0.5,
        "reciprocal": 1 / 16,
        "0, the mean": 0.0,
        "mean of the absolute score": 16 * (2 / 3.141592653589793) ** 0.5,
    },
    "largest_weights": {"b": "b", "c": "c", "d": "d"},
    "unit_scores": {
        "std forgotten": _divided(lambda q, k, s: q.shape[-1] ** 0.5),
        "std divided out once": _divided(lambda q, k, s: s * q.shape[-1] ** 0.5),
        "root of std": _divided(lambda q, k, s: (s * q.shape[-1]) ** 0.5),
        "std to the fourth": _divided(lambda q, k, s: s**4 * q.shape[-1] ** 0.5),
        "variance for its root": _divided(lambda q, k, s: s**4 * q.shape[-1]),
        "÷d for ÷√d": _divided(lambda q, k, s: s**2 * q.shape[-1]),
        "width forgotten": _divided(lambda q, k, s: s**2),
        "nothing divided": _divided(lambda q, k, s: 1),
        "2 std for std²": _divided(lambda q, k, s: 2 * s * q.shape[-1] ** 0.5),
        "√2 too much": _divided(lambda q, k, s: s**2 * (2 * q.shape[-1]) ** 0.5),
        "multiplied by std²": lambda q, k, s: q @ k.mT * s**2 / q.shape[-1] ** 0.5,
        "multiplied by the root": lambda q, k, s: q @ k.mT * q.shape[-1] ** 0.5 / s**2,
        "number of keys for the width": _divided(lambda q, k, s: s**2 * k.shape[-2] ** 0.5),
        "number of queries for the width": _divided(lambda q, k, s: s**2 * q.shape[-2] ** 0.5),
        "std squared under the root": _divided(lambda q, k, s: (s**2 * q.shape[-1]) ** 0.5),
        "fixed width of 64": _divided(lambda q, k, s: s**2 * 8),
        "standardised by its own spread": empirical,
        "measured std for the given": empirical_spread,
        "precedence: only std² divides": lambda q, k, s: q @ k.mT / s**2 * q.shape[-1] ** 0.5,
        "transposed table": lambda q, k, s: k @ q.mT / (s**2 * q.shape[-1] ** 0.5),
        "elementwise product": lambda q, k, s: (q * k) / (s**2 * q.shape[-1] ** 0.5),
        "softmax taken as well": lambda q, k, s: (q @ k.mT / (s**2 * q.shape[-1] ** 0.5)).softmax(
            -1
        ),
        "damages the queries": damages_queries,
        "minus the mean": lambda q, k, s: (q - q.mean()) @ k.mT / (s**2 * q.shape[-1] ** 0.5),
        "normalised vectors": lambda q, k, s: (
            torch.nn.functional.normalize(q, dim=-1)
            @ torch.nn.functional.normalize(k, dim=-1).mT
            * q.shape[-1] ** 0.5
        ),
    },
}
