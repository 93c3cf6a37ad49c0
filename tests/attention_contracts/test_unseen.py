"""Attentions as they are found in public code, written down without a look at the contracts."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attention_contracts as contracts

LENGTH = 34  # most mistakes show in a few tokens


def triangle(len_q, len_k):
    return torch.ones(len_q, len_k, dtype=torch.bool).tril(len_k - len_q)


def turned(x, start=0):
    rates = 0.01 ** (torch.arange(x.shape[-1] // 2) / (x.shape[-1] // 2))
    angles = (start + torch.arange(x.shape[-2]))[:, None] * rates
    left, right = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


class Heads(nn.Module):
    """Four heads of width 8; subclasses say what happens between the projections."""

    kv_heads = 4

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.q_proj, self.o_proj = nn.Linear(32, 32), nn.Linear(32, 32)
        self.k_proj, self.v_proj = (nn.Linear(32, 8 * self.kv_heads) for _ in range(2))
        self.dropout = 0.1

    def split(self, x):
        return x.unflatten(-1, (-1, 8)).transpose(1, 2)

    def merge(self, x):
        return x.transpose(1, 2).flatten(-2)

    def forward(self, x):
        parts = (self.split(layer(x)) for layer in (self.q_proj, self.k_proj, self.v_proj))
        return self.o_proj(self.merge(self.mix(*parts)))

    def mix(self, q, k, v):
        return self.weights(q @ k.mT / 8**0.5) @ v

    def weights(self, scores):
        return scores.masked_fill(~triangle(*scores.shape[-2:]), -math.inf).softmax(-1)


# --- right ---------------------------------------------------------------------------------------


class InQueryChunks(Heads):
    def mix(self, q, k, v):
        rows = zip(q.split(5, dim=-2), triangle(q.shape[-2], k.shape[-2]).split(5), strict=True)
        parts = [F.scaled_dot_product_attention(x, k, v, seen) for x, seen in rows]
        return torch.cat(parts, dim=-2)


def online_softmax(queries, keys, values):
    largest = torch.full_like(queries[..., :1], -math.inf)
    total, output = torch.zeros_like(largest), torch.zeros_like(queries)
    for k, v in zip(keys.split(3, dim=-2), values.split(3, dim=-2), strict=True):
        scores = queries @ k.mT / queries.shape[-1] ** 0.5
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        share, old = (scores - new).exp(), (largest - new).exp()
        total, output, largest = total * old + share.sum(-1, True), output * old + share @ v, new
    return output / total


class Alibi(Heads):
    def weights(self, scores):
        keys = torch.arange(scores.shape[-1])
        slopes = 2.0 ** -torch.arange(1, 5)
        return super().weights(scores + slopes[:, None, None] * keys)


class MultiQuery(Heads):
    kv_heads = 1

    def mix(self, q, k, v):
        return super().mix(turned(q), turned(k).expand_as(q), v.expand_as(q))


def linear(queries, keys, values):
    q, k = F.elu(queries) + 1, F.elu(keys) + 1
    return q @ (k.mT @ values) / (q * k.sum(-2, keepdim=True)).sum(-1, keepdim=True)


def linear_causal(queries, keys, values):
    q, k = F.elu(queries) + 1, F.elu(keys) + 1
    states = (k[..., :, None] * values[..., None, :]).cumsum(-3)
    norm = (q * k.cumsum(-2)).sum(-1, keepdim=True)
    return (q[..., None, :] @ states).squeeze(-2) / norm


class Normalised(Heads):
    def mix(self, q, k, v):
        return (
            self.weights(10 * F.normalize(turned(q), dim=-1) @ F.normalize(turned(k), dim=-1).mT)
            @ v
        )


class Capped(Heads):
    def weights(self, scores):
        return super().weights(5 * (scores / 5).tanh())


class WindowAndFirst(Heads):
    def weights(self, scores):
        n = scores.shape[-1]
        near = triangle(n, n).triu(-3) | (triangle(n, n) & (torch.arange(n) < 2))
        return scores.masked_fill(~near, -math.inf).softmax(-1)


class Gated(Heads):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(32, 32)

    def forward(self, x):
        return super().forward(x) * self.gate(x).sigmoid()


class Differential(Heads):
    def mix(self, q, k, v):
        (q1, q2), (k1, k2) = q.chunk(2, dim=-1), k.chunk(2, dim=-1)
        first, second = (self.weights(a @ b.mT / 2) for a, b in ((q1, k1), (q2, k2)))
        return (first - 0.3 * second) @ v


class WithOffByOne(Heads):
    """Softmax with one more in the denominator, by the largest score and 0."""

    def weights(self, scores):
        scores = scores.masked_fill(~triangle(*scores.shape[-2:]), -math.inf)
        largest = scores.amax(-1, keepdim=True).clamp(min=0)
        share = (scores - largest).exp()
        return share / (share.sum(-1, keepdim=True) + (-largest).exp())


class Sigmoid(Heads):
    def weights(self, scores):
        scores = scores - math.log(scores.shape[-1])
        return scores.sigmoid() * triangle(*scores.shape[-2:])


class DropsWeights(Heads):
    def weights(self, scores):
        return F.dropout(super().weights(scores), self.dropout, self.training)


# --- broken --------------------------------------------------------------------------------------


class DiagonalOut(Heads):
    def weights(self, scores):
        hidden = torch.ones(scores.shape[-2:]).triu(0).bool()
        hidden[0, 0] = False
        return scores.masked_fill(hidden, -math.inf).softmax(-1)


class MergedByView(Heads):
    def merge(self, x):
        return x.reshape(len(x), x.shape[2], -1)


class SoftmaxWithoutAxis(Heads):
    def weights(self, scores):
        return scores.softmax(1)  # what nn.Softmax() takes of four axes


class AlwaysDropping(Heads):
    def weights(self, scores):
        return F.dropout(super().weights(scores), self.dropout)


class WholeWidth(Heads):
    def mix(self, q, k, v):
        return self.weights(q @ k.mT / 32**0.5) @ v


class TurnsValues(Heads):
    def mix(self, q, k, v):
        return super().mix(turned(q), turned(k), turned(v))


class TurnsQueries(Heads):
    def mix(self, q, k, v):
        return super().mix(turned(q), k, v)


class LateTriangle(Heads):
    """In blocks of 16, as kernels have; the last block forgets the triangle."""

    def weights(self, scores):
        n = scores.shape[-1]
        rows, columns = torch.arange(n)[:, None], torch.arange(n)
        last = (rows >= 32) & (columns >= 32)
        return scores.masked_fill(~(triangle(n, n) | last), -math.inf).softmax(-1)


class MaskedAfter(Heads):
    def weights(self, scores):
        return scores.softmax(-1) * triangle(*scores.shape[-2:])


class Averages(Heads):
    """Normalises its input over the positions."""

    def forward(self, x):
        return super().forward((x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True))


class KeepsTheFirst(Heads):
    """A mask that is made at the first call, and cut for shorter sequences from the wrong end."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", triangle(600, 600))

    def weights(self, scores):
        n = scores.shape[-1]
        return scores.masked_fill(~self.seen[-n:, :n], -math.inf).softmax(-1)


class DetachedKeys(Heads):
    def mix(self, q, k, v):
        return super().mix(q, k.detach(), v)


class SlidesTooFar(Heads):
    def weights(self, scores):
        near = triangle(*scores.shape[-2:]).triu(-4)  # five keys
        return scores.masked_fill(~near, -math.inf).softmax(-1)


RIGHT = {
    **{
        kind.__name__: (kind, {"causal": True})
        for kind in (InQueryChunks, Alibi, MultiQuery, Normalised, Capped, WindowAndFirst)
    },
    **{
        kind.__name__: (kind, {"causal": True})
        for kind in (Gated, Differential, WithOffByOne, Sigmoid, DropsWeights)
    },
    "online softmax": (lambda: online_softmax, {}),
    "linear": (lambda: linear, {}),
    "linear, causal": (lambda: linear_causal, {"causal": True}),
}
BROKEN = {
    DiagonalOut: "own position",
    MergedByView: "queries apart",
    SoftmaxWithoutAxis: "equal values",
    AlwaysDropping: "evaluation twice",
    WholeWidth: "scale",
    TurnsValues: "values stay",
    TurnsQueries: "queries turn as keys",
    LateTriangle: "causality",
    MaskedAfter: "causality",
    Averages: "causality",
    KeepsTheFirst: "causality",
    DetachedKeys: "gradients",
    SlidesTooFar: "window",
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_are_not_accused(name):
    make, options = RIGHT[name]
    report = contracts.check(make(), length=LENGTH, **options)
    assert not report.broken, str(report)
    assert len(report.kept) > 10


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_broken_ones_are_found(kind):
    options = {"window": 4} if kind is SlidesTooFar else {}
    report = contracts.check(
        kind(), causal=kind is not SoftmaxWithoutAxis, length=LENGTH, **options
    )
    assert BROKEN[kind] in {finding.name for finding in report.broken}, str(report)
