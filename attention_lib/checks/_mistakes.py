"""Mistakes that people make with scores, softmax and attention, as functions to compare with."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

__all__ = ["Named", "dot", "of_attention", "of_scaled_scores", "of_softmax", "scaled"]

Function = Callable[..., Any]
Named = list[tuple[Function, str]]


def of_softmax(rows: str = "queries") -> Named:
    """Return ways to turn scores ``(..., len_q, len_k)`` into weights that are not softmax's.

    Examples
    --------
    >>> wrong, sentence = of_softmax()[0]
    >>> wrong(torch.zeros(2, 4)).sum().item(), sentence
    (4.0, 'softmax runs over the queries (dim=-2). Keys lie along the last axis: dim=-1.')
    """
    return [
        (
            partial(torch.softmax, dim=-2),
            f"softmax runs over the {rows} (dim=-2). Keys lie along the last axis: dim=-1.",
        ),
        (
            partial(torch.softmax, dim=0),
            "softmax runs over the first axis (dim=0). Keys lie along the last one: dim=-1.",
        ),
        (
            _over_all,
            f"one softmax is taken over the whole table. Each of the {rows} has its own.",
        ),
        (lambda scores: scores, "the softmax is missing: these are the scores."),
        (torch.sigmoid, "that is a sigmoid of each score alone; softmax compares all keys."),
        (partial(torch.log_softmax, dim=-1), "that is the logarithm of the weights."),
        (torch.exp, "the exponentials are not divided by their sum."),
        (
            lambda scores: scores.exp() / scores.exp().sum(dim=-1, keepdim=True),
            "e to the power of a large score is infinity, and infinity over infinity is NaN. "
            "Subtract each row's largest score first, or leave it to torch.softmax.",
        ),
        (
            lambda scores: _shifted(scores, scores.max()),
            "the largest score of the whole table is subtracted. A row far below it becomes 0 "
            "over 0: subtract each row's own.",
        ),
        (_without_keepdim, "the sum of each row lost its axis: keepdim=True keeps it."),
        (
            lambda scores: scores.exp() / scores.exp().sum(),
            "the exponentials are divided by the sum of the whole table, not of their row.",
        ),
        (
            lambda scores: scores / scores.sum(dim=-1, keepdim=True),
            "each score is divided by the sum of the scores: the exponentials are missing.",
        ),
        (
            lambda scores: torch.softmax(-scores, dim=-1),
            "the scores have a minus sign too many: the worst key wins.",
        ),
    ]


def of_scaled_scores() -> Named:
    """Return scores of queries and keys that are not the scaled dot product.

    Examples
    --------
    >>> wrong, sentence = of_scaled_scores()[0]
    >>> wrong(torch.ones(2, 4), torch.ones(3, 4))[0, 0].item(), sentence
    (4.0, 'the scores are not divided by the square root of d_k.')
    """

    def over(divisor: Callable[[Tensor, Tensor], float]) -> Function:
        return lambda queries, keys: dot(queries, keys) / divisor(queries, keys)

    return [
        (dot, "the scores are not divided by the square root of d_k."),
        (over(lambda q, k: q.shape[-1]), "the scores are divided by d_k, not by its square root."),
        (
            over(lambda q, k: q.shape[-1] ** -0.5),
            "the scores are multiplied by the square root of d_k, not divided.",
        ),
        (
            over(lambda q, k: k.shape[-2] ** 0.5),
            "the scores are divided by the square root of the number of keys, not of d_k.",
        ),
        (
            over(lambda q, k: q.shape[-2] ** 0.5),
            "the scores are divided by the square root of the number of queries, not of d_k.",
        ),
        (
            over(lambda q, k: q.shape[-1] ** 0.25),
            "the scores are divided by the fourth root of d_k, not by its square root.",
        ),
        (
            lambda q, k: -dot(q, k) / q.shape[-1] ** 0.5,
            "the scores have a minus sign too many: the worst key wins.",
        ),
        (
            lambda q, k: q @ k / math.sqrt(q.shape[-1]),
            "the keys are not transposed: each row of the queries meets columns of the keys.",
        ),
        (
            lambda q, k: -(q.unsqueeze(-2) - k.unsqueeze(-3)).square().sum(dim=-1) / 2,
            "that is the Gaussian's score; a dot product is asked for.",
        ),
        (
            lambda q, k: _unit(q) @ _unit(k).transpose(-2, -1),
            "that is the cosine: the lengths of query and key are divided out.",
        ),
    ]


def of_attention() -> Named:
    """Return outputs of queries, keys and values that are not attention's.

    Every mistake with the scores and with softmax is among them, carried through to the output.

    Examples
    --------
    >>> len(of_attention()) > len(of_scaled_scores()) + len(of_softmax())
    True
    """

    def with_scores(scores: Function) -> Function:
        return lambda q, k, v: torch.softmax(scores(q, k), dim=-1) @ v

    def with_weights(weights: Function) -> Function:
        return lambda q, k, v: weights(scaled(q, k)) @ v

    return [
        *((with_scores(scores), sentence) for scores, sentence in of_scaled_scores()),
        *((with_weights(weights), sentence) for weights, sentence in of_softmax()),
        (
            lambda q, k, v: torch.softmax(scaled(q, k), dim=-1),
            "these are the weights. The output is the values, summed with these weights.",
        ),
        (lambda q, k, v: scaled(q, k), "these are the scores: softmax and the values are missing."),
        (
            lambda q, k, v: torch.softmax(scaled(q, k), dim=-1) @ k,
            "the keys are summed. What is summed is the values.",
        ),
        (
            lambda q, k, v: torch.softmax(dot(q, k), dim=-1) / q.shape[-1] ** 0.5 @ v,
            "the weights are divided by the root of d_k; it is the scores that are divided, "
            "before softmax.",
        ),
        (
            lambda q, k, v: torch.softmax(dot(q, k) / v.shape[-1] ** 0.5, dim=-1) @ v,
            "the scores are divided by the root of the values' width. It is the keys' that counts.",
        ),
        (
            lambda q, k, v: v.mean(dim=-2, keepdim=True).expand(*q.shape[:-1], -1),
            "that is the plain mean of the values, the same for every query.",
        ),
    ]


def dot(queries: Tensor, keys: Tensor) -> Tensor:
    """Return plain dot products.

    Examples
    --------
    >>> dot(torch.ones(1, 4), torch.ones(2, 4))
    tensor([[4., 4.]])
    """
    return queries @ keys.transpose(-2, -1)


def scaled(queries: Tensor, keys: Tensor) -> Tensor:
    """Return scaled dot products.

    Examples
    --------
    >>> scaled(torch.ones(1, 4), torch.ones(2, 4))
    tensor([[2., 2.]])
    """
    return dot(queries, keys) / math.sqrt(queries.shape[-1])


def _unit(x: Tensor) -> Tensor:
    return torch.nn.functional.normalize(x, dim=-1)


def _over_all(scores: Tensor) -> Tensor:
    return torch.softmax(scores.flatten(-2), dim=-1).view_as(scores)


def _shifted(scores: Tensor, by: Tensor) -> Tensor:
    exponentials = (scores - by).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def _without_keepdim(scores: Tensor) -> Tensor:
    exponentials = scores.exp()
    return exponentials / exponentials.sum(dim=-1)
