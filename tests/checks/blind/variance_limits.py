"""Answers to the exercises of `variance-limits`."""

import math
from fractions import Fraction

import numpy as np
import torch
from torch.nn import functional as F


def norms_by_loop(queries, keys, gain):
    if queries.dim() > 2:
        pairs = zip(queries, keys, strict=True)
        return torch.stack([norms_by_loop(q, k, gain) for q, k in pairs])
    unit = [[x / (x @ x).sqrt() for x in rows] for rows in (queries, keys)]
    return torch.stack([torch.stack([gain * (q @ k) for k in unit[1]]) for q in unit[0]])


def _normed(norm_q=None, norm_k=None, gain_of=lambda g, q, k: g, product=lambda q, k: q @ k.mT):
    unit = lambda x: x / x.norm(dim=-1, keepdim=True)  # noqa: E731

    def scores(queries, keys, gain):
        q, k = (norm_q or unit)(queries), (norm_k or unit)(keys)
        return gain_of(gain, queries, keys) * product(q, k)

    return scores


def normed_in_place(queries, keys, gain):
    queries /= queries.norm(dim=-1, keepdim=True)
    keys /= keys.norm(dim=-1, keepdim=True)
    return gain * queries @ keys.mT


def sink_by_key(scores):
    zero = torch.zeros_like(scores[..., :1])
    return torch.softmax(torch.cat([scores, zero], -1), -1)[..., :-1]


def sink_by_logarithm(scores):
    zero = torch.zeros_like(scores[..., :1])
    top = torch.maximum(scores.amax(-1, keepdim=True), zero)
    log_all = top + ((scores - top).exp().sum(-1, keepdim=True) + (zero - top).exp()).log()
    return (scores - log_all).exp()


def sink_by_softplus(scores):
    log_all = F.softplus(torch.logsumexp(scores, -1, keepdim=True))
    return torch.exp(scores - log_all)


def sink_by_rows(scores):
    flat = scores.reshape(-1, scores.shape[-1])
    rows = []
    for row in flat:
        m = max(0.0, float(row.max()))
        e = (row - m).exp()
        rows.append(e / (e.sum() + math.exp(-m)))
    return torch.stack(rows).reshape(scores.shape)


def _sink(top, one=lambda m: (-m).exp(), axis=-1):
    def sink(scores):
        m = top(scores)
        e = (scores - m).exp()
        return e / (e.sum(axis, keepdim=True) + one(m))

    return sink


def sink_in_place(scores):
    m = scores.amax(-1, keepdim=True).clamp(min=0)
    scores -= m
    scores.exp_()
    return scores / (scores.sum(-1, keepdim=True) + (-m).exp())


RIGHT = {
    "row_variance": {
        "float": 2.25,
        "numpy": np.float64(36 / 16),
        "0-d tensor": torch.tensor(2.25),
        "fraction": Fraction(9, 4),
    },
    "gain_for_half": {
        "float": math.log(1000) / 2,
        "numpy": np.log(1000) / 2,
        "0-d tensor": torch.tensor(1000.0).log() / 2,
        "rounded": 3.45,
    },
    "qk_norm_scores": {
        "normalize": lambda q, k, g: g * F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT,
        "cosine_similarity": lambda q, k, g: (
            g * F.cosine_similarity(q.unsqueeze(-2), k.unsqueeze(-3), dim=-1)
        ),
        "einsum": lambda q, k, g: (
            torch.einsum("...qd,...kd->...qk", q, k)
            * g
            / torch.einsum("...q,...k->...qk", q.norm(dim=-1), k.norm(dim=-1))
        ),
        "loops": norms_by_loop,
        "squares and roots": lambda q, k, g: (
            (q * q.pow(2).sum(-1, keepdim=True).rsqrt() * g)
            @ (k * k.pow(2).sum(-1, keepdim=True).rsqrt()).transpose(-1, -2)
        ),
    },
    "softmax_with_sink": {
        "a key of score 0": sink_by_key,
        "logarithms": sink_by_logarithm,
        "softplus": sink_by_softplus,
        "row by row": sink_by_rows,
    },
}

WRONG = {
    "row_variance": {
        "not divided": 36.0,
        "divided once by 4": 9.0,
        "length, not squared": 6 / 4,
        "1, as on average": 1.0,
        "length over width": 6 / 16,
        "root": 1.5,
        "width over length": 16 / 36,
        "16": 16.0,
        "both": 36 * 16 / 16,
    },
    "longer_row": {"a": "a", "c": "c", "d": "d"},
    "gain_for_half": {
        "not halved": math.log(1000),
        "log of 1001 keys": math.log(1001) / 2 + 0.5,
        "log base 10": 1.5,
        "log base 2": math.log2(1000) / 2,
        "root": 1000**0.5,
        "√(2 ln n)": math.sqrt(2 * math.log(1000)),
        "a quarter": math.log(1000) / 4,
        "half": 0.5,
        "log of half of the keys": math.log(500) / 2,
    },
    "qk_norm_scores": {
        "one length for all rows": _normed(lambda q: q / q.norm(), lambda k: k / k.norm()),
        "queries only": _normed(norm_k=lambda k: k),
        "keys only": _normed(norm_q=lambda q: q),
        "no normalisation": _normed(lambda q: q, lambda k: k),
        "gain forgotten": _normed(gain_of=lambda g, q, k: 1),
        "gain squared": _normed(gain_of=lambda g, q, k: g * g),
        "divided by the gain": _normed(gain_of=lambda g, q, k: 1 / g),
        "divided by √d as well": _normed(gain_of=lambda g, q, k: g / q.shape[-1] ** 0.5),
        "times √d": _normed(gain_of=lambda g, q, k: g * q.shape[-1] ** 0.5),
        "coordinates normalised, not rows": _normed(
            lambda q: q / q.norm(dim=-2, keepdim=True), lambda k: k / k.norm(dim=-2, keepdim=True)
        ),
        "squared lengths": _normed(
            lambda q: q / q.square().sum(-1, keepdim=True),
            lambda k: k / k.square().sum(-1, keepdim=True),
        ),
        "sum of absolute values": _normed(
            lambda q: F.normalize(q, p=1, dim=-1), lambda k: F.normalize(k, p=1, dim=-1)
        ),
        "largest coordinate": _normed(
            lambda q: q / q.abs().amax(-1, keepdim=True),
            lambda k: k / k.abs().amax(-1, keepdim=True),
        ),
        "root mean square": _normed(
            lambda q: q / q.square().mean(-1, keepdim=True).sqrt(),
            lambda k: k / k.square().mean(-1, keepdim=True).sqrt(),
        ),
        "layer norm": _normed(
            lambda q: F.layer_norm(q, q.shape[-1:]), lambda k: F.layer_norm(k, k.shape[-1:])
        ),
        "keepdim forgotten": lambda q, k, g: g * (q / q.norm(dim=-1)) @ (k / k.norm(dim=-1)).mT,
        "centred as well": _normed(
            lambda q: F.normalize(q - q.mean(-1, keepdim=True), dim=-1),
            lambda k: F.normalize(k - k.mean(-1, keepdim=True), dim=-1),
        ),
        "scores clamped": lambda q, k, g: (q @ k.mT).clamp(-g, g),
        "scores over their maximum": lambda q, k, g: (
            g * (q @ k.mT) / (q @ k.mT).abs().amax(-1, keepdim=True)
        ),
        "scores normalised by row": lambda q, k, g: g * F.normalize(q @ k.mT, dim=-1),
        "tanh": lambda q, k, g: g * (q @ k.mT / g).tanh(),
        "softmax taken as well": lambda q, k, g: _normed()(q, k, g).softmax(-1),
        "lengths crossed": lambda q, k, g: (
            g * q @ k.mT / (q.norm(dim=-1).unsqueeze(-2) * k.norm(dim=-1).unsqueeze(-1))
        ),
        "lengths added": lambda q, k, g: (
            g * q @ k.mT / (q.norm(dim=-1).unsqueeze(-1) + k.norm(dim=-1).unsqueeze(-2))
        ),
        "damages queries and keys": normed_in_place,
        "gain 10": _normed(gain_of=lambda g, q, k: 10),
        "transposed table": lambda q, k, g: _normed()(k, q, g),
    },
    "softmax_with_sink": {
        "1 not shifted": _sink(lambda s: s.amax(-1, keepdim=True).clamp(min=0), one=lambda m: 1.0),
        "1 not shifted, maximum without 0": _sink(
            lambda s: s.amax(-1, keepdim=True), one=lambda m: 1.0
        ),
        "maximum without the 0": _sink(lambda s: s.amax(-1, keepdim=True)),
        "shifted the wrong way": _sink(
            lambda s: s.amax(-1, keepdim=True).clamp(min=0), one=lambda m: m.exp()
        ),
        "nothing subtracted": _sink(lambda s: 0.0, one=lambda m: 1.0),
        "plain softmax": lambda s: s.softmax(-1),
        "plain softmax, NaN to 0": lambda s: s.softmax(-1).nan_to_num(0),
        "one maximum for all rows": _sink(lambda s: s.max().clamp(min=0)),
        "smallest score": _sink(lambda s: s.amin(-1, keepdim=True).clamp(min=0)),
        "clamp of every score": lambda s: (
            s.clamp(max=80).exp() / (1 + s.clamp(max=80).exp().sum(-1, keepdim=True))
        ),
        "scores clamped from below": lambda s: sink_by_key(s.clamp(min=0)),
        "maximum clamped from above": _sink(lambda s: s.amax(-1, keepdim=True).clamp(max=0)),
        "mean of the row": _sink(lambda s: s.mean(-1, keepdim=True)),
        "sum over the queries": _sink(lambda s: s.amax(-1, keepdim=True).clamp(min=0), axis=-2),
        "maximum over the queries": _sink(lambda s: s.amax(-2, keepdim=True).clamp(min=0)),
        "sink's weight kept": lambda s: torch.cat([s, torch.zeros_like(s[..., :1])], -1).softmax(
            -1
        ),
        "first key dropped": lambda s: torch.cat([s, torch.zeros_like(s[..., :1])], -1).softmax(-1)[
            ..., 1:
        ],
        "sink without a share": lambda s: (
            sink_by_key(s) / sink_by_key(s).sum(-1, keepdim=True).clamp(min=1e-30)
        ),
        "sink score 1": lambda s: torch.cat([s, torch.ones_like(s[..., :1])], -1).softmax(-1)[
            ..., :-1
        ],
        "a sink for every key": lambda s: s.sigmoid(),
        "half": lambda s: s.softmax(-1) / 2,
        "float64": lambda s: (s.double().exp() / (1 + s.double().exp().sum(-1, keepdim=True))).to(
            s.dtype
        ),
        "e for 1": _sink(
            lambda s: s.amax(-1, keepdim=True).clamp(min=0), one=lambda m: (1 - m).exp()
        ),
        "absolute maximum": _sink(lambda s: s.abs().amax(-1, keepdim=True)),
        "damages the scores": sink_in_place,
        "logarithms returned": lambda s: sink_by_key(s).log(),
        "keepdim forgotten": lambda s: (
            (s - s.amax(-1).clamp(min=0)).exp() / ((s - s.amax(-1).clamp(min=0)).exp().sum(-1) + 1)
        ),
    },
}
