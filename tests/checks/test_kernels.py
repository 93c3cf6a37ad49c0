"""The graders of "Smooth with a kernel": right answers in many styles, and wrong ones."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from attention_lib.checks import kernels as check
from tests.checks.tables import judged

# Regression.


def smoothed(queries, keys, values, bandwidth):
    return gaussian(queries, keys, bandwidth).softmax(dim=-1) @ values


def gaussian(queries, keys, bandwidth):
    return -((queries[:, None] - keys) / bandwidth).square() / 2


def by_loop(queries, keys, values, bandwidth):
    estimates = []
    for query in queries:
        scores = -(((query - keys) / bandwidth) ** 2) / 2
        shares = (scores - scores.max()).exp()
        estimates.append((shares * values).sum() / shares.sum())
    return torch.stack(estimates)


def by_numpy(queries, keys, values, bandwidth):
    scores = -(((queries.numpy()[:, None] - keys.numpy()) / bandwidth) ** 2) / 2
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares @ values.numpy() / shares.sum(axis=1)


def by_einsum(queries, keys, values, bandwidth):
    weights = gaussian(queries, keys, bandwidth).softmax(dim=1)
    return torch.einsum("qk,k->q", weights, values)


def by_cat(queries, keys, values, bandwidth):
    rows = [smoothed(query[None], keys, values, bandwidth) for query in queries]
    return torch.cat(rows)


def in_float64(queries, keys, values, bandwidth):
    return smoothed(queries.double(), keys.double(), values.double(), bandwidth)


def by_distances(queries, keys, values, bandwidth):
    apart = torch.cdist(queries[:, None], keys[:, None])
    return (-apart.square() / (2 * bandwidth**2)).softmax(dim=-1) @ values


def scored(score, dim=-1):
    def estimate(queries, keys, values, bandwidth):
        return score(queries[:, None] - keys, bandwidth).softmax(dim=dim) @ values

    return estimate


def shared(kernel, more=0):
    def estimate(queries, keys, values, bandwidth):
        shares = kernel((queries[:, None] - keys) / bandwidth)
        return shares @ values / (shares.sum(dim=-1) + more)

    return estimate


def bell(u):
    return (-u.square() / 2).exp()


def bells(queries, keys, bandwidth):
    return bell((queries[:, None] - keys) / bandwidth)


REGRESSION = [
    (scored(lambda d, h: -((d / h) ** 2)), "has a ½"),
    (scored(lambda d, h: -(d**2) / 2), "bandwidth has no effect"),
    (scored(lambda d, h: -(d**2) / (2 * h)), "before you square"),
    (scored(lambda d, h: -((d * h) ** 2) / 2), "multiplied by the bandwidth"),
    (scored(lambda d, h: (d / h) ** 2 / 2), "the minus is missing"),
    (scored(lambda d, h: -(d / h).abs()), "|u|, not"),
    (scored(lambda d, h: -(d / h).abs() / 2), "|u|/2, not"),
    (scored(lambda d, h: -((d / h / 2) ** 2) / 2), "the bandwidth is doubled"),
    (scored(lambda d, h: -((d / h) ** 2) / 2, dim=0), "over the queries"),
    (shared(bell), "0 over 0 is NaN"),
    (shared(bell, 1e-9), "added to the sum"),
    (shared(lambda u: (u.abs() < 1).float().to(u)), "the boxcar"),
    (shared(lambda u: (1 - u.abs()).relu()), "the triangle"),
    (shared(lambda u: (1 - u**2).relu()), "Epanechnikov"),
    (lambda q, k, v, h: bells(q, k, h) @ v, "not divided by their sum"),
    (lambda q, k, v, h: bells(q, k, h) @ v / len(k), "by the number of keys"),
    (lambda q, k, v, h: bells(q, k, h) @ v / bells(q, k, h).sum(), "over all queries"),
    (lambda q, k, v, h: bells(q, k, h) @ v / (h * math.sqrt(2 * math.pi)), "as a density"),
    (lambda q, k, v, h: (q[:, None] * k / h).softmax(-1) @ v, "a dot product"),
    (lambda q, k, v, h: v[(q[:, None] - k).abs().argmin(1)], "nearest key"),
    (lambda q, k, v, h: v.mean().expand(len(q)), "the mean of all values"),
    (lambda q, k, v, h: gaussian(q, k, h).softmax(-1), "these are the weights"),
    (lambda q, k, v, h: gaussian(q, k, h).softmax(-1) @ k, "the keys are averaged"),
    (lambda q, k, v, h: (-(((q - k) / h) ** 2) / 2).softmax(-1) @ v, "along the same axis"),
    (lambda q, k, v, h: (-(((q - k[:, None]) / h) ** 2) / 2).softmax(-1) @ v, "keys go down"),
    (lambda *case: smoothed(*case)[:, None], "their shape is not"),
    (lambda *case: smoothed(*case).tolist(), "Python list"),
    (lambda q, k, v, h: smoothed(q, k, v.sub_(v.mean()), h), "changed its input"),
]


# Leave one out.


def missed(keys, values, bandwidth, fill=-torch.inf):
    scores = gaussian(keys, keys, bandwidth).fill_diagonal_(fill)
    return scores.softmax(dim=-1) @ values - values


def error(keys, values, bandwidth):
    return missed(keys, values, bandwidth).square().mean()


def error_by_loop(keys, values, bandwidth):
    total = 0
    for i, (key, value) in enumerate(zip(keys, values, strict=True)):
        others, known = (
            torch.cat([keys[:i], keys[i + 1 :]]),
            torch.cat([values[:i], values[i + 1 :]]),
        )
        total += (smoothed(key[None], others, known, bandwidth) - value) ** 2
    return total.squeeze() / len(keys)


def error_by_one_fit(keys, values, bandwidth):
    weights = gaussian(keys, keys, bandwidth).softmax(dim=-1)
    return ((values - weights @ values) / (1 - weights.diagonal())).square().mean()


def error_by_numpy(keys, values, bandwidth):
    scores = gaussian(keys, keys, bandwidth).numpy()
    np.fill_diagonal(scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    estimates = shares @ values.numpy() / shares.sum(axis=1)
    return np.mean((estimates - values.numpy()) ** 2)


def error_by_pytorch(keys, values, bandwidth):
    return F.mse_loss(missed(keys, values, bandwidth) + values, values)


def error_as_a_number(keys, values, bandwidth):
    return error(keys.double(), values.double(), bandwidth).item()


def error_of(score):
    def found(keys, values, bandwidth):
        scores = score(keys[:, None] - keys, bandwidth).fill_diagonal_(-torch.inf)
        return (scores.softmax(dim=-1) @ values - values).square().mean()

    return found


def removed_late(keys, values, bandwidth):
    weights = gaussian(keys, keys, bandwidth).softmax(dim=-1).fill_diagonal_(0)
    return (weights @ values - values).square().mean()


LEFT_OUT = [
    (lambda k, v, h: (smoothed(k, k, v, h) - v).square().mean(), "the training error"),
    (lambda k, v, h: missed(k, v, h, fill=0).square().mean(), "in its own estimate"),
    (removed_late, "removed after softmax"),
    (lambda k, v, h: missed(k, v, h).abs().mean(), "mean absolute error"),
    (lambda k, v, h: missed(k, v, h).square().sum(), "the sum of the errors"),
    (lambda k, v, h: missed(k, v, h).square().sum() / (len(k) - 1), "by one less"),
    (lambda k, v, h: error(k, v, h).sqrt(), "the root of the mean"),
    (lambda k, v, h: missed(k, v, h).mean(), "both signs cancel"),
    (lambda k, v, h: missed(k, v, h).square().median(), "the median"),
    (lambda k, v, h: missed(k, v, h).square().max(), "the largest error"),
    (lambda k, v, h: missed(k, v, h).square(), "one error for each value"),
    (lambda k, v, h: missed(k, v, h)[0] ** 2, "the first value's error"),
    (lambda k, v, h: missed(k, v, h) + v, "these are the estimates"),
    (lambda k, v, h: error(k, v, 1.0), "bandwidth has no effect"),
    (error_of(lambda d, h: -(d**2) / 2 / h), "before you square"),
    (error_of(lambda d, h: -((d / h) ** 2)), "has a ½"),
    (error_of(lambda d, h: (d / h) ** 2 / 2), "the minus is missing"),
    (error_of(lambda d, h: -(d / h).abs()), "|u|, not"),
    (error_of(lambda d, h: 0 * d), "plain mean of the others"),
    (lambda k, v, h: v.var(correction=0), "the variance of the values"),
    (lambda k, v, h: v.var(), "the variance of the values"),
    (lambda k, v, h: torch.tensor(0.0), "by itself alone"),
    (lambda k, v, h: error(k, k, h), "`keys` stands where `values` belongs"),
    (lambda k, v, h: error(k, v, h) / 2, "0.5 times"),
]

RIGHT = [
    *[(check.regression, answer) for answer in (smoothed, by_loop, by_numpy, by_einsum, by_cat)],
    *[(check.regression, answer) for answer in (in_float64, by_distances)],
    *[(check.leave_one_out, answer) for answer in (error, error_by_loop, error_by_one_fit)],
    *[(check.leave_one_out, answer) for answer in (error_by_numpy, error_by_pytorch)],
    (check.leave_one_out, error_as_a_number),
    (check.empty_support, "c"),
]

WRONG = [
    *[(check.regression, *row) for row in REGRESSION],
    *[(check.leave_one_out, *row) for row in LEFT_OUT],
    (check.empty_support, "a", "0 divided by 0"),
    (check.empty_support, "b", "another method"),
    (check.empty_support, "d", "is expected"),
]

test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)


def test_the_delta_rule_reads_what_was_written_last():
    key, memory = torch.tensor([0.6, 0.8]), torch.zeros(1, 2)
    for value in (1.0, 2.0, 3.0):
        memory += torch.outer(torch.tensor([value]) - memory @ key, key)
    assert check.delta_reads((memory @ key).item())
