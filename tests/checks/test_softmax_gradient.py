"""The graders of "Keep the gradient alive": the right answer passes, known mistakes are named."""

import numpy as np
import torch

from attention_lib.checks import softmax_gradient as check
from attention_lib.saturation import entropy, softmax_jacobian
from tests.checks.tables import judged


def scaled(query, keys):
    return torch.softmax(keys @ query / len(query) ** 0.5, dim=-1)


def slope(query, keys, values):
    p = scaled(query, keys)
    return values.T @ softmax_jacobian(p) @ keys / len(query) ** 0.5


def slope_by_spreads(query, keys, values):
    p = scaled(query, keys)
    spread_v, spread_k = values - p @ values, keys - p @ keys
    return torch.einsum("n,nv,nk->vk", p, spread_v, spread_k) / len(query) ** 0.5


def slope_by_loop(query, keys, values):
    p = scaled(query, keys)
    output, total = p @ values, torch.zeros(values.shape[1], len(query), dtype=keys.dtype)
    for share, key, value in zip(p, keys, values, strict=True):
        total += share * torch.outer(value - output, key)
    return total * len(query) ** -0.5


def slope_by_autograd(query, keys, values):
    def lookup(query):
        return scaled(query, keys) @ values

    return torch.autograd.functional.jacobian(lookup, query)


def slope_of_moments(query, keys, values):
    p = scaled(query, keys)
    together = (values * p.unsqueeze(-1)).T @ keys
    return (together - torch.outer(p @ values, p @ keys)) / len(query) ** 0.5


def slope_with_weights_along_the_values(query, keys, values):
    p = scaled(query, keys)
    return (p * (values - p @ values)).T @ (keys - p @ keys) / len(query) ** 0.5


def backward(weights, gradient):
    return weights * (gradient - (weights * gradient).sum(dim=-1, keepdim=True))


def backward_by_autograd(weights, gradient):
    scores = weights.log().requires_grad_()
    torch.softmax(scores, dim=-1).backward(gradient)
    return scores.grad


def backward_by_matrix(weights, gradient):
    return torch.einsum("...ij,...j->...i", softmax_jacobian(weights), gradient)


def backward_in_two_terms(weights, gradient):
    product = weights * gradient
    return product - weights * product.sum(-1, keepdim=True)


def backward_by_einsum(weights, gradient):
    return weights * (gradient - torch.einsum("...i,...i->...", weights, gradient)[..., None])


RIGHT = [
    (check.torn_norm, 0.5),
    (check.torn_norm, torch.tensor(0.25).sqrt()),
    (check.torn_norm, np.float64(0.5)),
    (check.slope_by_hand, -7.5),
    (check.slope_by_hand, torch.tensor(-7.5)),
    (check.zeros_at_twelve, "b"),
    (check.zeros_at_twelve, "B"),
    (check.query_gradient, slope),
    (check.query_gradient, slope_by_spreads),
    (check.query_gradient, slope_by_loop),
    (check.query_gradient, slope_by_autograd),
    (check.query_gradient, slope_of_moments),
    (check.softmax_backward, backward),
    (check.softmax_backward, backward_by_autograd),
    (check.softmax_backward, backward_by_matrix),
    (check.softmax_backward, backward_in_two_terms),
    (check.softmax_backward, backward_by_einsum),
]

# grader, wrong answer, what must be said of it
WRONG = [
    (check.torn_norm, 0.25, "root of the sum"),
    (check.torn_norm, 0.0, "hard choice"),
    (check.torn_norm, 15**0.5 / 16, "even weights"),
    (check.torn_norm, 2**-1.5, "off the diagonal"),
    (check.torn_norm, 1, "sum of squares"),
    (check.torn_norm, 0.5**0.5, "row of weights"),
    (check.torn_norm, 0.9, "too large"),
    (check.torn_norm, float("nan"), "NaN"),
    (check.slope_by_hand, 7.5, "smaller one"),
    (check.slope_by_hand, -10, "not a quarter"),
    (check.slope_by_hand, -40, "p(1 − p)"),
    (check.slope_by_hand, -3.75, "3 − (−1)"),
    (check.slope_by_hand, -30, "1 − p"),
    (check.slope_by_hand, 2.5, "of the spreads"),
    (check.slope_by_hand, 17.5, "product of the means"),
    (check.slope_by_hand, 12.5, "output itself"),
    (check.slope_by_hand, -7, "too large"),
    (check.zeros_at_twelve, "a", "rounded to 1"),
    (check.zeros_at_twelve, "c", "smallest number"),
    (check.zeros_at_twelve, "d", "18"),
    (check.zeros_at_twelve, "e", "is expected"),
    (check.query_gradient, lambda q, k, v: slope(q * len(q) ** 0.5, k, v) * len(q) ** 0.5,
        "not divided"),
    (check.query_gradient, lambda q, k, v: slope(q, k, v) * len(q) ** 0.5, "one more factor"),
    (check.query_gradient, lambda q, k, v: slope(q * len(q) ** 0.5, k, v), "scaled scores"),
    (check.query_gradient, lambda q, k, v: slope(q, k, v) / len(q) ** 0.5, "that is 1/d"),
    (check.query_gradient, lambda q, k, v: slope(q / len(q) ** 0.5, k, v) / len(q) ** 0.5,
        "not by d"),
    (check.query_gradient, lambda q, k, v: (v * scaled(q, k)[:, None]).T @ k / len(q) ** 0.5,
        "means are not subtracted"),
    (check.query_gradient, lambda q, k, v: (v - scaled(q, k) @ v).T @ k / len(q) ** 0.5,
        "not weighted by p"),
    (check.query_gradient,
        lambda q, k, v: (scaled(q, k)[:, None] * (v - v.mean(0))).T @ (k - k.mean(0))
        / len(q) ** 0.5, "not plain"),
    (check.query_gradient,
        lambda q, k, v: (v - v.mean(0)).T @ (k - k.mean(0)) / len(k) / len(q) ** 0.5,
        "ignores the weights"),
    (check.query_gradient,
        lambda q, k, v: (scaled(q, k)[:, None].square() * (v - scaled(q, k) @ v)).T @ k
        / len(q) ** 0.5, "not with its square"),
    (check.query_gradient, lambda q, k, v: slope(q, k, k), "where the values should"),
    (check.query_gradient, lambda q, k, v: slope(q, k, v).T, "transposed"),
    (check.query_gradient, lambda q, k, v: -slope(q, k, v), "wrong sign"),
    (check.query_gradient, lambda q, k, v: softmax_jacobian(scaled(q, k)) @ k / len(q) ** 0.5,
        "values are still missing"),
    (check.query_gradient,
        lambda q, k, v: torch.outer(scaled(q, k) @ v, scaled(q, k) @ k) / len(q) ** 0.5,
        "product of the two means"),
    (check.query_gradient, lambda q, k, v: softmax_jacobian(scaled(q, k)),
        "values and keys are missing"),
    (check.query_gradient, lambda q, k, v: v.T @ softmax_jacobian(scaled(q, k)),
        "the keys are missing"),
    (check.query_gradient, slope_with_weights_along_the_values, "p[:, None]"),
    (check.query_gradient, lambda q, k, v: slope(q, k, v).sum(), "expected shape"),
    (check.softmax_backward, lambda w, g: w * g, "diagonal alone"),
    (check.softmax_backward, lambda w, g: w * (1 - w) * g, "diagonal of J times g"),
    (check.softmax_backward, lambda w, g: w * (g - (w * g).sum()), "all rows"),
    (check.softmax_backward, lambda w, g: w * (g - (w * g).sum(0, keepdim=True)), "wrong axis"),
    (check.softmax_backward, lambda w, g: w * (g - g.mean(-1, keepdim=True)), "weighted by p"),
    (check.softmax_backward, lambda w, g: w * (g - g.sum(-1, keepdim=True)), "weighted by p"),
    (check.softmax_backward, lambda w, g: g - (w * g).sum(-1, keepdim=True), "in front"),
    (check.softmax_backward, lambda w, g: w * (g + (w * g).sum(-1, keepdim=True)), "not added"),
    (check.softmax_backward, lambda w, g: backward(torch.softmax(w, -1), g), "already"),
    (check.softmax_backward, lambda w, g: backward(torch.softmax(g, -1), g), "not needed"),
    (check.softmax_backward, lambda w, g: w * (1 - w), "gradient has no effect"),
    (check.softmax_backward, lambda w, g: w * (w.log() + entropy(w).unsqueeze(-1)),
        "gradient has no effect"),
    (check.softmax_backward, lambda w, g: g - g.mean(-1, keepdim=True), "weights have no effect"),
    (check.softmax_backward, lambda w, g: w * (g - w * g.sum(-1, keepdim=True)),
        "sum p · g, not g"),
    (check.softmax_backward, lambda w, g: w * g - w * (w * (w * g)).sum(-1, keepdim=True),
        "in the sum are squared"),
    (check.softmax_backward, lambda gradient, weights: backward(weights, gradient),
        "changed places"),
    (check.softmax_backward, lambda w, g: softmax_jacobian(w), "J itself"),
    (check.softmax_backward, lambda w, g: -backward(w, g), "wrong sign"),
    (check.softmax_backward, lambda w, g: g, "should be"),
    (check.softmax_backward, lambda w, g: w, "should be"),
    (check.softmax_backward, lambda w, g: backward(w, g).sum(-1), "expected shape"),
    (check.softmax_backward, lambda w, g: w @ g, "raised RuntimeError"),
]  # fmt: skip


test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)


def test_the_numbers_are_those_of_the_mathematics():
    torn = torch.tensor([0.5, 0.5] + [0.0] * 14, dtype=torch.float64)
    assert check.torn_norm(torch.linalg.matrix_norm(softmax_jacobian(torn)))
    # weights .75 and .25 come of a gap of ln 3; keys 3 and -1 give it at the query (ln 3) / 4
    query = torch.tensor([3.0]).log() / 4
    keys, values = torch.tensor([[3.0], [-1.0]]), torch.tensor([[10.0], [20.0]])
    assert check.slope_by_hand(slope_by_autograd(query, keys, values))


def test_the_zeros_are_those_of_the_processor():
    pair = torch.tensor([12, 0], dtype=torch.float16, requires_grad=True)
    torch.softmax(pair, dim=-1)[0].backward()
    assert (pair.grad == 0).tolist() == [True, False]
