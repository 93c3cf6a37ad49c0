"""Graders for the chapter on softmax's gradient."""

from typing import Any

import torch

from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.saturation import softmax_jacobian

__all__ = [
    "query_gradient",
    "quiz",
    "slope_by_hand",
    "softmax_backward",
    "torn_norm",
    "zeros_at_twelve",
]

torn_norm = Number(
    "The norm of the Jacobian where two of sixteen keys have half of the weight each",
    0.5,
    tolerance=0.002,
    because="four entries of size 1/4: the root of 4/16.",
    mistakes=[
        (0.25, "0.25 is the size of one entry, or the sum of squares; take the root of the sum."),
        (0.0, "0 is the norm of a hard choice, with all weight on one key."),
        (15**0.5 / 16, "that is the norm of even weights over all sixteen keys.", 0.001),
        (2**-1.5, "the entries off the diagonal count as well.", 0.001),
        (1, "that is the sum of the sizes; the norm is the root of the sum of squares."),
        (1 / 16, "1/16 is the square of one entry; there are four, and a root."),
        (0.125, "square all four entries, not two, and take the root."),
        (0.5**0.5, "that is the length of the row of weights.", 0.001),
    ],
)

slope_by_hand = Number(
    "The derivative of the output by the query, for two keys of weight 0.75 and 0.25",
    -7.5,
    tolerance=0.01,
    because="0.75 · 0.25 · (10 − 20) · (3 + 1): raising the query favours the smaller value.",
    mistakes=[
        (7.5, "the size is right; the output moves to the first key's value, the smaller one."),
        (-10, "0.75 · 0.25, not a quarter: that is the product at equal weights."),
        (10, "0.75 · 0.25, not a quarter, and the output falls."),
        (-40, "the product p(1 − p) is missing: a decided choice lets little through."),
        (40, "the product p(1 − p) is missing, and the output falls."),
        (-3.75, "the keys differ by 3 − (−1) = 4."),
        (-30, "both weights count: multiply by 1 − p as well."),
        (2.5, "subtract the means: the covariance is of the spreads, not of the products."),
        (17.5, "that is the mean of the products; subtract the product of the means."),
        (-2.5, "the keys differ by 3 − (−1) = 4, and the weights multiply: 0.75 · 0.25."),
        (-1.875, "the factor of the keys is missing: 3 − (−1) = 4."),
        (12.5, "12.5 is the output itself; its derivative is asked for."),
    ],
)

zeros_at_twelve = Choice(
    "Two keys in float16, scores 12 apart: which derivatives of the winner's weight are exactly 0?",
    ["none", "the winner's own entry", "the loser's entry", "both entries"],
    "b",
    {
        "a": "the winner's weight is rounded to 1, and 1 − 1 is exactly 0.",
        "b": "1 minus 6 millionths is rounded to 1, while the loser's weight is still a number.",
        "c": "the loser's weight, 6 millionths, is larger than the smallest number of float16.",
        "d": "both are 0 from a gap of 18 on, where the loser's weight is rounded to 0.",
    },
)


def query_gradient(answer: object) -> Verdict:
    """Grade the derivative of the output by the query.

    Parameters
    ----------
    answer : callable
        ``answer(query, keys, values)`` takes ``(d,)``, ``(len_k, d)`` and ``(len_k, d_v)`` and
        returns ``(d_v, d)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def unscaled(query, keys, values):
    ...     return values.T @ softmax_jacobian(torch.softmax(keys @ query, dim=-1)) @ keys
    >>> query_gradient(unscaled)
    Not yet: the scores are not divided by √d yet.
    """

    def covariance(
        inside: Any, outside: Any, weighting: Any = lambda p: p, centre: Any = True
    ) -> Any:
        def gradient(query: Any, keys: Any, values: Any) -> Any:
            d = query.shape[-1]
            p = torch.softmax(keys @ query * inside(d), dim=-1)
            share = weighting(p).unsqueeze(-1)
            spread_v = values - p @ values if centre else values
            return outside(d) * (share * spread_v).T @ keys

        return gradient

    def by_root(d: Any) -> Any:
        return d**-0.5

    def one(d: Any) -> Any:
        return 1.0

    def plain_means(query: Any, keys: Any, values: Any) -> Any:
        p = torch.softmax(keys @ query * by_root(len(query)), dim=-1).unsqueeze(-1)
        spread_v, spread_k = values - values.mean(dim=0), keys - keys.mean(dim=0)
        return by_root(len(query)) * (p * spread_v).T @ spread_k

    def squared_weights(query: Any, keys: Any, values: Any) -> Any:
        p = torch.softmax(keys @ query * by_root(len(query)), dim=-1)
        return by_root(len(query)) * (p.square().unsqueeze(-1) * (values - p @ values)).T @ keys

    def plain_covariance(query: Any, keys: Any, values: Any) -> Any:
        spread_v, spread_k = values - values.mean(dim=0), keys - keys.mean(dim=0)
        return by_root(len(query)) * spread_v.T @ spread_k / len(keys)

    def keys_as_values(query: Any, keys: Any, values: Any) -> Any:
        return reference(query, keys, keys)

    def weights_by_query(query: Any, keys: Any, values: Any) -> Any:
        p = torch.softmax(keys @ query * by_root(len(query)), dim=-1)
        return softmax_jacobian(p) @ keys * by_root(len(query))

    reference = covariance(by_root, by_root)
    mistakes = [
        (covariance(one, one), "the scores are not divided by √d yet."),
        (covariance(by_root, one), "the chain rule brings one more factor: the scores' 1/√d."),
        (covariance(one, by_root), "the weights need the scaled scores, too."),
        (
            covariance(by_root, lambda d: 1 / d),
            "the factor 1/√d comes once from the scores; that is 1/d.",
        ),
        (
            covariance(lambda d: 1 / d, lambda d: 1 / d),
            "divide the scores by the root of d, not by d.",
        ),
        (covariance(by_root, by_root, centre=False), "the means are not subtracted yet."),
        (
            covariance(by_root, by_root, lambda p: torch.ones_like(p)),
            "the sum over the keys is not weighted by p yet.",
        ),
        (plain_means, "the means to subtract are weighted by p, not plain."),
        (plain_covariance, "that ignores the weights: the query does not matter in it."),
        (squared_weights, "every key counts with p, not with its square."),
        (keys_as_values, "the keys stand where the values should."),
        (weights_by_query, "that is how the weights move; the values are still missing."),
        (
            lambda q, k, v: (v - _weights(q, k) @ v).T @ (k - _weights(q, k) @ k) / len(q) ** 0.5,
            "the sum over the keys is not weighted by p yet.",
        ),
        (
            lambda q, k, v: v.T @ (_weights(q, k) * (1 - _weights(q, k)) * k.T).T / len(q) ** 0.5,
            "only the diagonal of J is used; the entries off the diagonal count as well.",
        ),
        (
            lambda q, k, v: v.T @ torch.outer(_weights(q, k), _weights(q, k)) @ k / len(q) ** 0.5,
            "that is the product of the two means; it is what must be subtracted.",
        ),
        (
            lambda q, k, v: (
                v.T
                @ (torch.diag(_weights(q, k)) + torch.outer(_weights(q, k), _weights(q, k)))
                @ k
                / len(q) ** 0.5
            ),
            "the product of the means is added; it must be subtracted.",
        ),
        (
            lambda q, k, v: (
                ((v - _weights(q, k) @ v).T * _weights(q, k) ** 2)
                @ (k - _weights(q, k) @ k)
                / len(q) ** 0.5
            ),
            "every key counts with p, not with its square.",
        ),
        (
            lambda q, k, v: (
                torch.diag(_weights(q, k)) - torch.outer(_weights(q, k), _weights(q, k))
            ),
            "that is how the weights move with the scores; values and keys are missing.",
        ),
        (
            lambda q, k, v: (
                v.T @ (torch.diag(_weights(q, k)) - torch.outer(_weights(q, k), _weights(q, k)))
            ),
            "the keys are missing: that is what the output does when the scores move.",
        ),
        (
            lambda q, k, v: _weights(q, k) @ v,
            "that is the output itself; its derivative is asked for.",
        ),
        (
            lambda q, k, v: reference(q, k, v) * (len(q) / len(k)) ** 0.5,
            "that is divided by the root of the number of keys, not of d.",
        ),
        (
            lambda q, k, v: reference(q, k, v) * len(k) / (len(k) - 1),
            "n − 1 belongs to samples; the weights are known, and sum to 1.",
        ),
        (
            lambda q, k, v: (
                (_weights(q, k).unsqueeze(-1) * (v - v.mean(dim=0))).T @ k / len(q) ** 0.5
            ),
            "the means to subtract are weighted by p, not plain.",
        ),
        (
            lambda q, k, v: (
                (_weights(q, k) * (v - _weights(q, k) @ v)).T
                @ (k - _weights(q, k) @ k)
                / len(q) ** 0.5
            ),
            "the weights lie along the wrong axis: p[:, None] gives each key's row its weight.",
        ),
    ]
    generator = torch.Generator().manual_seed(0)

    def drawn(len_k: Any, d: Any, d_v: Any, size: Any = 1.0, dtype: Any = torch.float64) -> Any:
        shapes = [(d,), (len_k, d), (len_k, d_v)]
        return tuple(size * torch.randn(*x, generator=generator, dtype=dtype) for x in shapes)

    query, keys, _ = drawn(5, 3, 2)
    cases = [
        (torch.tensor([0.0]), torch.tensor([[1.0], [-1.0]]), torch.tensor([[20.0], [10.0]])),
        drawn(2, 3, 1),
        drawn(7, 5, 3),
        drawn(11, 2, 13, dtype=torch.float32),
        drawn(3, 17, 5),
        (query, keys, torch.full((5, 2), 3.0, dtype=torch.float64)),  # equal values: zero
        (30 * query, 30 * keys, torch.eye(5, dtype=torch.float64)),  # decided: almost zero
    ]
    return grade(answer, reference, cases, mistakes, axes=["value", "coordinate"])


def softmax_backward(answer: object) -> Verdict:
    """Grade the product of the Jacobian with a gradient, without forming the Jacobian.

    Parameters
    ----------
    answer : callable
        ``answer(weights, gradient)`` takes two ``(..., len_k)`` and returns ``(..., len_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> softmax_backward(lambda weights, gradient: weights * gradient)
    Not yet: that is the diagonal alone; what one key gains the others must lose.
    """

    def reference(weights: Any, gradient: Any) -> Any:
        return (softmax_jacobian(weights) @ gradient.unsqueeze(-1)).squeeze(-1)

    def for_all_rows(weights: Any, gradient: Any) -> Any:
        return weights * (gradient - (weights * gradient).sum())

    def plain_mean(weights: Any, gradient: Any) -> Any:
        return weights * (gradient - gradient.mean(dim=-1, keepdim=True))

    def plain_sum(weights: Any, gradient: Any) -> Any:
        return weights * (gradient - gradient.sum(dim=-1, keepdim=True))

    def no_weight_in_front(weights: Any, gradient: Any) -> Any:
        return gradient - (weights * gradient).sum(dim=-1, keepdim=True)

    def added(weights: Any, gradient: Any) -> Any:
        return weights * (gradient + (weights * gradient).sum(dim=-1, keepdim=True))

    def softmax_again(weights: Any, gradient: Any) -> Any:
        return reference(torch.softmax(weights, dim=-1), gradient)

    def softmax_of_gradient(weights: Any, gradient: Any) -> Any:
        return reference(torch.softmax(gradient, dim=-1), gradient)

    def no_gradient(weights: Any, gradient: Any) -> Any:
        return weights * (1 - weights)

    def entropies(weights: Any, gradient: Any) -> Any:
        return weights * (weights.log() + torch.special.entr(weights).sum(dim=-1, keepdim=True))

    def no_weights(weights: Any, gradient: Any) -> Any:
        return gradient - gradient.mean(dim=-1, keepdim=True)

    def logistic(weights: Any, gradient: Any) -> Any:
        return weights * (1 - weights) * gradient

    def along_the_first_axis(weights: Any, gradient: Any) -> Any:
        return weights * (gradient - (weights * gradient).sum(dim=0, keepdim=True))

    mistakes = [
        (
            lambda weights, gradient: weights * gradient,
            "that is the diagonal alone; what one key gains the others must lose.",
        ),
        (
            logistic,
            "that is the diagonal of J times g; the entries off the diagonal count as well.",
        ),
        (for_all_rows, "the sum runs over all rows; each row has its own."),
        (along_the_first_axis, "the sum runs along the wrong axis: the keys are the last."),
        (plain_mean, "the mean to subtract is weighted by p, not plain."),
        (plain_sum, "the sum to subtract is weighted by p, not plain."),
        (no_weight_in_front, "the weight in front is missing: a key without share moves nothing."),
        (added, "the mean is subtracted, not added."),
        (softmax_again, "the weights are softmax's output already: do not apply it again."),
        (softmax_of_gradient, "the weights are given; the softmax of the gradient is not needed."),
        (no_gradient, "the gradient has no effect yet."),
        (entropies, "the gradient has no effect yet: that is made of the weights alone."),
        (no_weights, "the weights have no effect yet."),
        (
            lambda p, g: p * (g - (p * g).sum(dim=-2, keepdim=True)),
            "the sum runs along the wrong axis: the keys are the last.",
        ),
        (
            lambda p, g: p * (g - (p * g).mean(dim=-1, keepdim=True)),
            "the weights sum to 1 already: do not divide the sum by the number of keys.",
        ),
        (lambda p, g: p * g - (p * g).sum(dim=-1, keepdim=True), "the sum is not multiplied by p."),
        (
            lambda p, g: p * g - p**2 * g.sum(dim=-1, keepdim=True),
            "the weight of each key in the sum is its own: sum p · g, not g.",
        ),
        (
            lambda p, g: p * (g - (p**2 * g).sum(dim=-1, keepdim=True)),
            "the weights in the sum are squared.",
        ),
        (lambda p, g: p - g, "that is the gradient of cross-entropy; here g may be any gradient."),
        (
            lambda p, g: g * (p - (p * g).sum(dim=-1, keepdim=True)),
            "weights and gradient have changed places in front of the sum.",
        ),
        (
            lambda p, g: torch.diag_embed(p) - p[..., None] * p[..., None, :],
            "that is J itself; it is to be multiplied by g.",
        ),
        (
            lambda p, g: p * (g - (p * g).sum(dim=-1)),
            "the sum of each row lost its axis: keepdim=True keeps it.",
        ),
        (
            lambda p, g: p - torch.nn.functional.one_hot(g.argmax(dim=-1), g.shape[-1]),
            "that is the gradient of cross-entropy; here g may be any gradient.",
        ),
        (
            lambda p, g: reference(p, g) / p.shape[-1] ** 0.5,
            "the result is divided by a root; softmax itself scales nothing.",
        ),
    ]
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: Any, dtype: Any = torch.float32) -> Any:
        scores, gradient = (torch.randn(*shape, generator=generator, dtype=dtype) for _ in "ab")
        return torch.softmax(2 * scores, dim=-1), 3 * gradient

    hard = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    cases = [
        (torch.tensor([[0.75, 0.25]]), torch.tensor([[2.0, -2.0]])),
        (hard, torch.tensor([[5.0, -300.0, 1.0], [900.0, 0.0, 7.0]])),
        drawn(5, 7),
        (drawn(3, 4)[0], torch.ones(3, 4)),  # what is added to all scores changes nothing
        drawn(2, 3, 11),
        drawn(3, 13, dtype=torch.float64),
        drawn(6),
    ]
    return grade(answer, reference, cases, mistakes, axes=["row", "key"])


def _weights(query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return torch.softmax(keys @ query / len(query) ** 0.5, dim=0)


quiz = Quiz(
    Choice(
        "A weight is 0.999, and the others share the rest. How much of a gradient does softmax "
        "let through to its score?",
        ["About 0.999 of it.", "About 0.001 of it.", "Exactly none."],
        "b",
        {
            "a": "the entry of the Jacobian is p(1 − p), not p.",
            "b": "p(1 − p) = 0.999 · 0.001. A winner that is nearly sure hardly moves.",
            "c": "it is small, and only rounding can make it exactly 0.",
        },
    ),
    Choice(
        "Without scaling the width grows from 16 to 1024. What happens to the gradient that a "
        "query receives?",
        [
            "It shrinks in every row.",
            "It vanishes in most rows and is larger in a few.",
            "It grows in every row.",
        ],
        "b",
        {
            "a": "the mean over rows even grows.",
            "b": "the median falls towards 0, while rare rows in which two keys race get spikes.",
            "c": "in most rows one key has won, and nothing is left to move.",
        },
    ),
    Choice(
        "In float16 the winner leads by 12. Which entries of the Jacobian are exactly 0?",
        ["None.", "The winner's own.", "All of them."],
        "b",
        {
            "a": "the winner's weight rounds to 1, and 1 − 1 is 0.",
            "b": "its weight rounds to 1, but the others are still larger than float16's smallest.",
            "c": "the small weights are about 6 · 10⁻⁶, which float16 still holds.",
        },
    ),
)
