"""Answers to the exercises of `kernels`."""

import math
from fractions import Fraction

import numpy as np
import torch


def by_loop(queries, keys, values, bandwidth):
    out = []
    for x in queries:
        scores = torch.stack([-(((x - k) / bandwidth) ** 2) / 2 for k in keys])
        e = (scores - scores.max()).exp()
        out.append((e * values).sum() / e.sum())
    return torch.stack(out)


def by_cdist(queries, keys, values, bandwidth):
    d = torch.cdist(queries.unsqueeze(1), keys.unsqueeze(1))
    return torch.softmax(-(d**2) / (2 * bandwidth**2), 1) @ values


def by_einsum(queries, keys, values, bandwidth):
    scores = torch.outer(queries, keys) - keys.square() / 2
    w = (scores / bandwidth**2).softmax(1)
    return torch.einsum("qk,k->q", w, values)


def by_logsumexp(queries, keys, values, bandwidth):
    s = -0.5 * ((queries.unsqueeze(-1) - keys.unsqueeze(0)) / bandwidth).pow(2)
    return (s - s.logsumexp(-1, keepdim=True)).exp().mul(values).sum(-1)


def _regression(score=None, soft=lambda s: s.softmax(-1), read=lambda w, v: w @ v):
    plain = lambda u, h: -(u / h).square() / 2  # noqa: E731

    def regression(queries, keys, values, bandwidth):
        u = queries[:, None] - keys
        return read(soft((score or plain)(u, bandwidth)), values)

    return regression


def divided(s):
    return s.exp() / s.exp().sum(-1, keepdim=True)


def in_place(queries, keys, values, bandwidth):
    keys /= bandwidth
    return (-((queries[:, None] / bandwidth - keys).square()) / 2).softmax(-1) @ values


def _square_scores(keys, bandwidth):
    return -((keys[:, None] - keys) / bandwidth).square() / 2


def out_by_loop(keys, values, bandwidth):
    total = 0.0
    for i in range(len(keys)):
        rest = torch.arange(len(keys)) != i
        w = torch.softmax(-(((keys[i] - keys[rest]) / bandwidth) ** 2) / 2, 0)
        total = total + (w @ values[rest] - values[i]) ** 2
    return total / len(keys)


def out_where(keys, values, bandwidth):
    diagonal = torch.eye(len(keys)).bool()
    s = torch.where(diagonal, -torch.inf, _square_scores(keys, bandwidth))
    return torch.nn.functional.mse_loss(s.softmax(-1) @ values, values)


def out_by_offdiagonal(keys, values, bandwidth):
    n = len(keys)
    others = torch.stack([torch.cat([torch.arange(i), torch.arange(i + 1, n)]) for i in range(n)])
    s = -((keys[:, None] - keys[others]) / bandwidth).square() / 2
    return ((s.softmax(-1) * values[others]).sum(-1) - values).pow(2).mean()


def out_numpy(keys, values, bandwidth):
    x, y = keys.double().numpy(), values.double().numpy()
    s = -(((x[:, None] - x) / bandwidth) ** 2) / 2
    np.fill_diagonal(s, -np.inf)
    e = np.exp(s - s.max(1, keepdims=True))
    return float((((e @ y) / e.sum(1) - y) ** 2).mean())


def _out(mask=None, error=None, scores=_square_scores, soft=lambda s: s.softmax(-1)):
    hide = lambda s: s.masked_fill(torch.eye(len(s)).bool(), -torch.inf)  # noqa: E731

    def leave(keys, values, bandwidth):
        estimate = soft((mask or hide)(scores(keys, bandwidth))) @ values
        return (error or (lambda e, v: (e - v).square().mean()))(estimate, values)

    return leave


def removed_afterwards(keys, values, bandwidth):
    w = _square_scores(keys, bandwidth).softmax(-1).fill_diagonal_(0)
    return (w @ values - values).square().mean()


def removed_and_divided(keys, values, bandwidth):
    w = _square_scores(keys, bandwidth).softmax(-1).fill_diagonal_(0)
    w = w / w.sum(-1, keepdim=True)
    return (w @ values - values).square().mean()


def in_place_values(keys, values, bandwidth):
    s = _square_scores(keys, bandwidth).fill_diagonal_(-torch.inf)
    values -= s.softmax(-1) @ values
    return values.square().mean()


def first_left_out(keys, values, bandwidth):
    s = -((keys[:1, None] - keys[1:]) / bandwidth).square() / 2
    return (s.softmax(-1) @ values[1:] - values[0]).square().mean()


def equal_keys_left_out(keys, values, bandwidth):
    same = keys[:, None] == keys
    s = _square_scores(keys, bandwidth).masked_fill(same, -torch.inf)
    return (s.softmax(-1) @ values - values).square().mean()


def neighbours_left_out(keys, values, bandwidth):
    near = torch.ones(len(keys), len(keys)).tril(1).triu(-1).bool()
    s = _square_scores(keys, bandwidth).masked_fill(near, -torch.inf)
    return (s.softmax(-1) @ values - values).square().mean()


RIGHT = {
    "regression": {
        "loop": by_loop,
        "cdist": by_cdist,
        "einsum": by_einsum,
        "logsumexp": by_logsumexp,
    },
    "leave_one_out": {
        "exponentials divided": _out(soft=divided),
        "loop": out_by_loop,
        "where": out_where,
        "the others' numbers": out_by_offdiagonal,
        "NumPy": out_numpy,
    },
    "delta_reads": {
        "int": 3,
        "float": 3.0,
        "numpy": np.float64(3),
        "0-d tensor": torch.tensor(3.0),
        "fraction": Fraction(3),
    },
}

WRONG = {
    "regression": {
        "exponentials divided": _regression(soft=divided),
        "exponentials divided, NaN to 0": _regression(soft=lambda s: divided(s).nan_to_num(0)),
        "exponentials divided, a little added": _regression(
            soft=lambda s: s.exp() / (s.exp().sum(-1, keepdim=True) + 1e-12)
        ),
        "not divided": _regression(soft=lambda s: s.exp()),
        "density's factor": _regression(soft=lambda s: s.exp() / math.sqrt(2 * math.pi)),
        "half forgotten": _regression(lambda u, h: -(u / h).square()),
        "bandwidth not squared": _regression(lambda u, h: -u.square() / h / 2),
        "bandwidth forgotten": _regression(lambda u, h: -u.square() / 2),
        "bandwidth multiplied": _regression(lambda u, h: -(u * h).square() / 2),
        "distance not squared": _regression(lambda u, h: -(u / h).abs() / 2),
        "Laplace kernel": _regression(lambda u, h: -(u / h).abs()),
        "sign forgotten": _regression(lambda u, h: (u / h).square() / 2),
        "bandwidth inside the half": _regression(lambda u, h: -(u / (2 * h)).square()),
        "boxcar": _regression(lambda u, h: torch.where((u / h).abs() < 1, 0.0, -torch.inf)),
        "product of query and key": lambda q, k, v, h: (torch.outer(q, k) / h).softmax(-1) @ v,
        "nearest key": _regression(
            soft=lambda s: torch.nn.functional.one_hot(s.argmax(-1), s.shape[-1]).to(s)
        ),
        "softmax over the queries": _regression(soft=lambda s: s.softmax(0)),
        "softmax over the table": _regression(soft=lambda s: s.flatten().softmax(0).view_as(s)),
        "one maximum for all": _regression(soft=lambda s: divided(s - s.max())),
        "weights": _regression(read=lambda w, v: w),
        "mean of weight times value": _regression(read=lambda w, v: (w * v).mean(-1)),
        "keys for values": lambda q, k, v, h: _regression()(q, k, k, h),
        "queries and keys exchanged": lambda q, k, v, h: (
            (-((k[:, None] - q) / h).square() / 2).softmax(-1).mT @ v
        ),
        "transposed table": lambda q, k, v, h: (
            (-((k[:, None] - q) / h).square() / 2).softmax(-1) @ v[: len(q)]
        ),
        "damages the keys": in_place,
        "mean of the values": lambda q, k, v, h: v.mean().expand(len(q)),
        "clamped exponent": _regression(lambda u, h: (-(u / h).square() / 2).clamp(min=-50)),
        "bandwidth to the fourth": _regression(lambda u, h: -(u / h**2).square() / 2),
        "a column": lambda q, k, v, h: _regression()(q, k, v, h)[:, None],
    },
    "leave_one_out": {
        "nothing left out": _out(mask=lambda s: s),
        "removed after softmax": removed_afterwards,
        "filled with 0": _out(mask=lambda s: s.masked_fill(torch.eye(len(s)).bool(), 0.0)),
        "filled with −10": _out(mask=lambda s: s.masked_fill(torch.eye(len(s)).bool(), -10.0)),
        "only itself": _out(mask=lambda s: s.masked_fill(~torch.eye(len(s)).bool(), -torch.inf)),
        "root": _out(error=lambda e, v: (e - v).square().mean().sqrt()),
        "sum": _out(error=lambda e, v: (e - v).square().sum()),
        "half": _out(error=lambda e, v: (e - v).square().mean() / 2),
        "absolute": _out(error=lambda e, v: (e - v).abs().mean()),
        "largest": _out(error=lambda e, v: (e - v).square().max()),
        "mean before the square": _out(error=lambda e, v: (e - v).mean().square()),
        "not averaged": _out(error=lambda e, v: (e - v).square()),
        "estimate": _out(error=lambda e, v: e),
        "n − 1": _out(error=lambda e, v: (e - v).square().sum() / (len(v) - 1)),
        "share of the variance": _out(error=lambda e, v: (e - v).square().mean() / v.var()),
        "half forgotten": _out(scores=lambda k, h: 2 * _square_scores(k, h)),
        "bandwidth not squared": _out(scores=lambda k, h: -(k[:, None] - k).square() / h / 2),
        "bandwidth forgotten": _out(scores=lambda k, h: _square_scores(k, 1.0)),
        "distance not squared": _out(scores=lambda k, h: -(k[:, None] - k).abs() / h / 2),
        "sign forgotten": _out(scores=lambda k, h: -_square_scores(k, h)),
        "softmax over the queries": _out(soft=lambda s: s.softmax(0)),
        "causal": _out(mask=lambda s: s.masked_fill(torch.ones_like(s).triu().bool(), -torch.inf)),
        "one column, not the diagonal": _out(
            mask=lambda s: s.masked_fill(torch.arange(len(s)) == 0, -torch.inf)
        ),
        "other diagonal": _out(
            mask=lambda s: s.masked_fill(torch.eye(len(s)).bool().flip(0), -torch.inf)
        ),
        "first only": first_left_out,
        "equal keys left out": equal_keys_left_out,
        "neighbours left out": neighbours_left_out,
        "damages the values": in_place_values,
        "keys predicted": lambda k, v, h: _out()(k, k, h),
        "error against the key": _out(error=lambda e, v: (e - v.flip(0)).square().mean()),
    },
    "empty_support": {"a": "a", "b": "b"},
    "delta_reads": {
        "sum": 6,
        "mean": 2,
        "first": 1,
        "2 − 1 + 3": 4,
        "half way": 2.5,
        "nothing": 0,
        "last difference": 1.0,
        "product": 6.0,
        "alternating": 2.0,
    },
}
