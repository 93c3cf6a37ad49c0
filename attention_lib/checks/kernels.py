"""Graders for the exercises of the chapter on kernels.

Examples
--------
>>> delta_reads(3).passed
True
>>> empty_support("a")
Not yet: a weighted mean of no values is 0 divided by 0.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named
from attention_lib.checks._questions import Choice, Number

__all__ = ["delta_reads", "empty_support", "leave_one_out", "regression"]

delta_reads = Number(
    "One unit key is written three times, with the values 1, 2 and 3. What does the delta rule "
    "(rate 1) read there afterwards?",
    3,
    because="each write replaces what the key held, so the last value stands: 3.",
    mistakes=[
        (6, "that is linear attention, which adds: 1 + 2 + 3."),
        (2, "that is the mean of the three, or the value before the last."),
        (1, "that is the first value; the later ones were written over it."),
        (0, "the memory is not erased: the last value stands."),
    ],
)

empty_support = Choice(
    "A boxcar kernel has no key within reach of the query. What should the estimate be?",
    [
        "0 divided by 0, whatever that gives",
        "the value of the nearest key",
        "nothing: weights 0, and the curve has a gap",
    ],
    "c",
    {
        "a": "a weighted mean of no values is 0 divided by 0.",
        "b": "that is another method; this kernel says that no key is near enough.",
        "c": "it is a row with nothing to attend to, and gets weights 0.",
    },
)


def _weights(queries: Tensor, keys: Tensor, bandwidth: float) -> Tensor:
    distances = (queries.unsqueeze(-1) - keys) / bandwidth  # (len_q, len_k)
    return torch.softmax(-distances.square() / 2, dim=-1)


def regression(answer: object) -> Verdict:
    """Grade Nadaraya-Watson regression with a Gaussian kernel.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, values, bandwidth)``: places ``(len_q,)`` and ``(len_k,)``, values
        ``(len_k,)``; returns the estimates ``(len_q,)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> regression(lambda queries, keys, values, bandwidth: values.mean().expand(len(queries)))
    Not yet: that is the mean of all values, wherever the query stands.
    """

    def by(score: Callable[[Tensor, float], Tensor], dim: int = -1) -> Callable[..., Tensor]:
        def estimate(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
            scores = score(queries.unsqueeze(-1) - keys, bandwidth)
            return torch.softmax(scores, dim=dim) @ values

        return estimate

    def unnormalised(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
        u = (queries.unsqueeze(-1) - keys) / bandwidth
        return torch.exp(-u.square() / 2) @ values

    mistakes: Named = [
        (
            lambda queries, keys, values, bandwidth: values.mean().expand(len(queries)),
            "that is the mean of all values, wherever the query stands.",
        ),
        (
            lambda queries, keys, values, bandwidth: values[
                (queries.unsqueeze(-1) - keys).abs().argmin(dim=-1)
            ],
            "that is the value of the nearest key: the limit of bandwidth 0.",
        ),
        (by(lambda d, h: -d.square() / 2), "the bandwidth has no effect."),
        (by(lambda d, h: -d.square() / 2 / h), "divide by the bandwidth before you square."),
        (by(lambda d, h: -(d / h).square()), "the Gaussian's exponent has a ½."),
        (by(lambda d, h: -(d * h).square() / 2), "multiplied by the bandwidth: divide by it."),
        (by(lambda d, h: (d / h).square() / 2), "the minus is missing: far keys get most."),
        (by(lambda d, h: -(d / h).abs()), "that is |u|, not u²/2."),
        (
            lambda q, k, v, h: torch.softmax(-((q.unsqueeze(-1) - k) / h).square() / 2, 0) @ v,
            "softmax runs over the queries; each query shares its weight among the keys.",
        ),
        (unnormalised, "the kernels are not divided by their sum, so they are no weights."),
        (
            lambda queries, keys, values, bandwidth: _weights(queries, keys, bandwidth),
            "these are the weights; the estimate is the values, summed with them.",
        ),
        (
            lambda queries, keys, values, bandwidth: _weights(queries, keys, bandwidth) @ keys,
            "the keys are averaged, not the values.",
        ),
    ]
    normal, double = draws(21), draws(22, torch.float64)
    cases = [
        (torch.tensor([0.0]), torch.tensor([-1.0, 2.0]), torch.tensor([3.0, 5.0]), 1.0),
        (normal(3), normal(5), normal(5), 0.5),
        (normal(7), 3 * normal(4), normal(4), 2.0),
        (double(2), double(11), double(11), 0.25),
        (torch.tensor([100.0]), normal(3), normal(3), 0.5),  # far off: exp(-u²/2) is 0
    ]
    return grade(answer, lambda q, k, v, h: _weights(q, k, h) @ v, cases, mistakes, axes=["query"])


def leave_one_out(answer: object) -> Verdict:
    """Grade the leave-one-out error of Gaussian kernel regression.

    Parameters
    ----------
    answer : callable
        ``answer(keys, values, bandwidth)``, both ``(len,)``; returns the mean squared error, a
        0-d tensor, where each value is estimated from the others.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def with_itself(keys, values, bandwidth):
    ...     return (_weights(keys, keys, bandwidth) @ values - values).square().mean()
    >>> leave_one_out(with_itself)
    Not yet: each value takes part in its own estimate. That is the training error.
    """

    def without(fill: float, power: int = 2, total: bool = False) -> Callable[..., Tensor]:
        def error(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
            scores = -((keys.unsqueeze(-1) - keys) / bandwidth).square() / 2
            scores = scores.masked_fill(torch.eye(len(keys), dtype=torch.bool), fill)
            missed = (torch.softmax(scores, dim=-1) @ values - values).abs() ** power
            return missed.sum() if total else missed.mean()

        return error

    def after_softmax(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
        weights = _weights(keys, keys, bandwidth) * (1 - torch.eye(len(keys)).to(keys))
        return (weights @ values - values).square().mean()

    def with_itself(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
        return (_weights(keys, keys, bandwidth) @ values - values).square().mean()

    mistakes: Named = [
        (
            with_itself,
            "each value takes part in its own estimate. That is the training error.",
        ),
        (without(-torch.inf, power=1), "that is the mean absolute error; square it."),
        (without(-torch.inf, total=True), "that is the sum of the errors, not their mean."),
        (
            lambda keys, values, bandwidth: without(-torch.inf)(keys, values, bandwidth).sqrt(),
            "that is the root of the mean squared error.",
        ),
        (
            after_softmax,
            "the own weight is removed after softmax, so the others no longer sum to 1.",
        ),
        (
            lambda keys, values, bandwidth: without(-torch.inf)(keys, values, 1.0),
            "the bandwidth has no effect.",
        ),
        (
            lambda keys, values, bandwidth: (values.mean() - values).square().mean(),
            "that is the variance of the values.",
        ),
    ]
    normal, double = draws(23), draws(24, torch.float64)
    cases = [
        (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([1.0, 2.0, 4.0]), 1.0),
        (normal(5), normal(5), 0.5),
        (3 * normal(11), normal(11), 2.0),
        (double(7), double(7), 0.75),
    ]
    return grade(answer, without(-torch.inf), cases, mistakes)
