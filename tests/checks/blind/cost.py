"""Answers to the exercises of `cost`."""

from fractions import Fraction

import numpy as np
import torch


def step_by_logarithms(largest, normaliser, total, scores, values):
    new = torch.cat([largest, scores], -1).amax(-1, keepdim=True)
    old = (largest - new).exp()
    e = torch.exp(scores - new)
    return (
        new,
        old * normaliser + e.sum(1, keepdim=True),
        old * total + torch.einsum("qk,kv->qv", e, values),
    )


def step_key_by_key(largest, normaliser, total, scores, values):
    for j in range(scores.shape[-1]):
        a = scores[:, j : j + 1]
        new = torch.where(a > largest, a, largest)
        factor, e = (largest - new).exp(), (a - new).exp()
        normaliser, total = normaliser * factor + e, total * factor + e * values[j]
        largest = new
    return largest, normaliser, total


def step_block_alone(largest, normaliser, total, scores, values):
    m = scores.max(-1, keepdim=True).values
    e = (scores - m).exp()
    new = torch.maximum(m, largest)
    mine, theirs = (m - new).exp(), (largest - new).exp()
    return (
        new,
        normaliser * theirs + e.sum(-1, keepdim=True) * mine,
        total * theirs + e @ values * mine,
    )


def step_ones(largest, normaliser, total, scores, values):
    new = scores.amax(-1, keepdim=True).maximum(largest)
    both = torch.cat([total, normaliser], -1) * torch.exp(largest - new)
    both = both + (scores - new).exp() @ torch.cat([values, torch.ones_like(values[:, :1])], -1)
    return new, both[:, -1:], both[:, :-1]


def _step(new=None, factor=None, raised=None, norm=None, tot=None, tidy=None):
    def step(largest, normaliser, total, scores, values):
        m = (new or (lambda m, s: torch.maximum(m, s.amax(-1, keepdim=True))))(largest, scores)
        f = (factor or (lambda old, m: (old - m).exp()))(largest, m)
        e = (raised or (lambda s, m: (s - m).exp()))(scores, m)
        n = (norm or (lambda n, f, e: n * f + e.sum(-1, keepdim=True)))(normaliser, f, e)
        t = (tot or (lambda t, f, e, v: t * f + e @ v))(total, f, e, values)
        return tidy(m, n, t) if tidy else (m, n, t)

    return step


def step_in_place(largest, normaliser, total, scores, values):
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    f, e = (largest - new).exp(), (scores - new).exp()
    normaliser.mul_(f).add_(e.sum(-1, keepdim=True))
    total.mul_(f).add_(e @ values)
    return new, normaliser, total


def merge_by_weights(output_a, log_sum_a, output_b, log_sum_b):
    both = torch.cat([log_sum_a, log_sum_b], -1)
    joint = torch.logsumexp(both, -1, keepdim=True)
    shares = torch.where(joint == -torch.inf, 0.0, both.softmax(-1))
    return shares[:, :1] * output_a + shares[:, 1:] * output_b, joint


def merge_by_maximum(output_a, log_sum_a, output_b, log_sum_b):
    m = torch.maximum(log_sum_a, log_sum_b)
    safe = torch.where(torch.isinf(m), torch.zeros_like(m), m)
    a, b = (log_sum_a - safe).exp(), (log_sum_b - safe).exp()
    total = a + b
    out = (a * output_a + b * output_b) / torch.where(total == 0, torch.ones_like(total), total)
    return out, total.log() + safe


def merge_by_sigmoid(output_a, log_sum_a, output_b, log_sum_b):
    share = torch.sigmoid(log_sum_a - log_sum_b)
    none = (log_sum_a == -torch.inf) & (log_sum_b == -torch.inf)
    mixed = output_a * share + output_b * torch.sigmoid(log_sum_b - log_sum_a)
    return torch.where(none, 0.0, mixed), torch.logaddexp(log_sum_a, log_sum_b)


def merge_rows(output_a, log_sum_a, output_b, log_sum_b):
    outs, logs = [], []
    for a, la, b, lb in zip(output_a, log_sum_a, output_b, log_sum_b, strict=True):
        joint = torch.logaddexp(la, lb)
        logs.append(joint)
        outs.append(
            torch.zeros_like(a)
            if joint == -torch.inf
            else a * (la - joint).exp() + b * (lb - joint).exp()
        )
    return torch.stack(outs), torch.stack(logs)


def _merge(share=None, joint=None, mix=None):
    def merge(a, la, b, lb):
        log = (joint or torch.logaddexp)(la, lb)
        safe = log.masked_fill(log == -torch.inf, 0.0)
        sa, sb = (share or (lambda la, lb, safe: ((la - safe).exp(), (lb - safe).exp())))(
            la, lb, safe
        )
        return (mix or (lambda a, sa, b, sb: a * sa + b * sb))(a, sa, b, sb), log

    return merge


def merge_bare(a, la, b, lb):
    ea, eb = la.exp(), lb.exp()
    return (a * ea + b * eb) / (ea + eb), (ea + eb).log()


def merge_bare_safely(a, la, b, lb):
    ea, eb = la.exp(), lb.exp()
    return (a * ea + b * eb) / (ea + eb).clamp(min=1e-30), (ea + eb).log()


def merge_nan(a, la, b, lb):
    log = torch.logaddexp(la, lb)
    return a * (la - log).exp() + b * (lb - log).exp(), log


def merge_in_place(a, la, b, lb):
    log = torch.logaddexp(la, lb)
    safe = log.masked_fill(log == -torch.inf, 0.0)
    a *= (la - safe).exp()
    a += b * (lb - safe).exp()
    return a, log


def merge_global(a, la, b, lb):
    m = torch.maximum(la, lb).max()
    ea, eb = (la - m).exp(), (lb - m).exp()
    return (a * ea + b * eb) / (ea + eb).clamp(min=1e-38), m + (ea + eb).log()


RIGHT = {
    "cross_operations": {
        "int": 20 * 300 * 64 * 2 * 2 * 8,
        "float": 12_288_000.0,
        "numpy": np.int64(12_288_000),
        "0-d tensor": torch.tensor(12_288_000),
    },
    "cache_of_a_context": {
        "int": 48 * 8 * 2 * 128 * 2 * 8192,
        "float": float(48 * 8 * 2 * 128 * 2 * 8192),
        "numpy": np.int64(48 * 8 * 2 * 128 * 2 * 8192),
        "0-d tensor": torch.tensor(48 * 8 * 2 * 128 * 2 * 8192),
    },
    "additive_bytes": {
        "int": 8 * 512 * 512 * 256 * 4,
        "float": 2.0**31,
        "numpy": np.int64(2**31),
        "0-d tensor": torch.tensor(2**31),
        "fraction": Fraction(2**31),
    },
    "one_step": {
        "cat, einsum": step_by_logarithms,
        "key by key": step_key_by_key,
        "the block on its own first": step_block_alone,
        "a column of ones": step_ones,
    },
    "merged_outputs": {
        "softmax of the logarithms": merge_by_weights,
        "maximum by hand": merge_by_maximum,
        "sigmoid": merge_by_sigmoid,
        "loop": merge_rows,
    },
}

WRONG = {
    "cross_operations": {
        "one product": 20 * 300 * 64 * 2 * 8,
        "multiplications only": 20 * 300 * 64 * 2 * 8,
        "one head": 20 * 300 * 64 * 4,
        "one product's multiplications": 20 * 300 * 64 * 8,
        "self-attention of 300": 300 * 300 * 64 * 4 * 8,
        "self-attention of 20": 20 * 20 * 64 * 4 * 8,
        "lengths added": 320 * 64 * 4 * 8,
        "width squared": 20 * 300 * 64 * 64 * 4 * 8,
        "twice too many": 20 * 300 * 64 * 8 * 8,
        "width forgotten": 20 * 300 * 4 * 8,
    },
    "one_step": {
        "old sums not shrunk": _step(factor=lambda old, m: 1.0),
        "only the normaliser shrunk": _step(tot=lambda t, f, e, v: t + e @ v),
        "only the total shrunk": _step(norm=lambda n, f, e: n + e.sum(-1, keepdim=True)),
        "factor the wrong way round": _step(factor=lambda old, m: (m - old).exp()),
        "maximum of the block alone": _step(new=lambda m, s: s.amax(-1, keepdim=True)),
        "old maximum kept": _step(new=lambda m, s: m),
        "one maximum for all queries": _step(new=lambda m, s: torch.maximum(m, s.max())),
        "block raised from its own maximum": lambda m, n, t, s, v: _step(
            raised=lambda s, m: (s - s.amax(-1, keepdim=True)).exp()
        )(m, n, t, s, v),
        "block raised from the old maximum": lambda m, n, t, s, v: _step(
            raised=lambda s, new: (s - m).exp()
        )(m, n, t, s, v),
        "bare exponentials": _step(raised=lambda s, m: s.exp()),
        "total divided": _step(tidy=lambda m, n, t: (m, n, t / n)),
        "normaliser without the block": _step(norm=lambda n, f, e: n * f),
        "total without the block": _step(tot=lambda t, f, e, v: t * f),
        "normaliser starts anew": _step(norm=lambda n, f, e: e.sum(-1, keepdim=True)),
        "total starts anew": _step(tot=lambda t, f, e, v: e @ v),
        "keepdim forgotten": _step(norm=lambda n, f, e: n * f + e.sum(-1)),
        "maximum without keepdim": _step(new=lambda m, s: torch.maximum(m, s.amax(-1))),
        "maximum over the queries": _step(
            new=lambda m, s: torch.maximum(m, s.amax(0, keepdim=True).amax(-1, keepdim=True))
        ),
        "mean for the sum": _step(norm=lambda n, f, e: n * f + e.mean(-1, keepdim=True)),
        "order of the three": _step(tidy=lambda m, n, t: (m, t, n)),
        "only the total": _step(tidy=lambda m, n, t: t),
        "weights, not exponentials": _step(raised=lambda s, m: s.softmax(-1)),
        "the smaller maximum": _step(new=lambda m, s: torch.minimum(m, s.amax(-1, keepdim=True))),
        "NaN in the first block": _step(factor=lambda old, m: (old / m * 0 + (old - m)).exp()),
        "first block: sums from 1": _step(
            norm=lambda n, f, e: (n + 1) * f + e.sum(-1, keepdim=True)
        ),
        "damages the sums": step_in_place,
        "maximum and sums added": _step(new=lambda m, s: m + s.amax(-1, keepdim=True)),
        "log of the normaliser": _step(tidy=lambda m, n, t: (m, n.log(), t)),
    },
    "cache_of_a_context": {
        "query heads": 48 * 32 * 2 * 128 * 2 * 8192,
        "keys only": 48 * 8 * 128 * 2 * 8192,
        "float32": 48 * 8 * 2 * 128 * 4 * 8192,
        "numbers, not bytes": 48 * 8 * 2 * 128 * 8192,
        "one layer": 8 * 2 * 128 * 2 * 8192,
        "one token": 48 * 8 * 2 * 128 * 2,
        "both kinds of heads": 48 * 40 * 2 * 128 * 2 * 8192,
        "scores": 48 * 32 * 8192 * 8192 * 2,
        "in GB": 1.6,
        "heads forgotten": 48 * 2 * 128 * 2 * 8192,
    },
    "additive_bytes": {
        "numbers, not bytes": 8 * 512 * 512 * 256,
        "the scores": 8 * 512 * 512 * 4,
        "one sequence": 512 * 512 * 256 * 4,
        "lengths added": 8 * 1024 * 256 * 4,
        "two bytes": 8 * 512 * 512 * 256 * 2,
        "eight bytes": 8 * 512 * 512 * 256 * 8,
        "hidden of both": 8 * 512 * 512 * 512 * 4,
        "projections only": 8 * 512 * 256 * 2 * 4,
        "in GB": 2.1,
    },
    "merged_outputs": {
        "bare exponentials": merge_bare,
        "bare exponentials, divided safely": merge_bare_safely,
        "NaN where neither saw a key": merge_nan,
        "one maximum for all": merge_global,
        "logarithms added": _merge(joint=lambda a, b: a + b),
        "larger logarithm": _merge(joint=torch.maximum),
        "sum of the outputs": _merge(share=lambda la, lb, s: (1.0, 1.0)),
        "mean of the outputs": _merge(share=lambda la, lb, s: (0.5, 0.5)),
        "shares exchanged": _merge(share=lambda la, lb, s: ((lb - s).exp(), (la - s).exp())),
        "shares from the logarithms": _merge(
            share=lambda la, lb, s: (la / (la + lb), lb / (la + lb))
        ),
        "logarithms for shares": _merge(share=lambda la, lb, s: (la, lb)),
        "outputs exchanged": lambda a, la, b, lb: _merge()(b, la, a, lb),
        "the larger one wins": _merge(
            share=lambda la, lb, s: ((la >= lb).to(la), (la < lb).to(la))
        ),
        "first alone": lambda a, la, b, lb: (a, la),
        "output alone": lambda a, la, b, lb: _merge()(a, la, b, lb)[0],
        "order of the two": lambda a, la, b, lb: _merge()(a, la, b, lb)[::-1],
        "−∞ replaced in the logarithm, too": lambda a, la, b, lb: (
            _merge()(a, la, b, lb)[0],
            torch.logaddexp(la, lb).nan_to_num(neginf=0.0),
        ),
        "log of the sum forgotten": lambda a, la, b, lb: (
            _merge()(a, la, b, lb)[0],
            la.exp() + lb.exp(),
        ),
        "not divided": lambda a, la, b, lb: (
            a * (la - torch.maximum(la, lb)).exp().nan_to_num()
            + b * (lb - torch.maximum(la, lb)).exp().nan_to_num(),
            torch.logaddexp(la, lb),
        ),
        "damages output a": merge_in_place,
        "log base 2": _merge(joint=torch.logaddexp2),
        "shares of a alone: 1 − share wrongly signed": _merge(
            mix=lambda a, sa, b, sb: a * sa - b * sb
        ),
        "share squared": _merge(mix=lambda a, sa, b, sb: a * sa**2 + b * sb**2),
        "axis of the queries summed": lambda a, la, b, lb: (
            _merge()(a, la, b, lb)[0],
            torch.logaddexp(la, lb).logsumexp(0, keepdim=True).expand_as(la),
        ),
        "logarithm squeezed": lambda a, la, b, lb: (
            _merge()(a, la, b, lb)[0],
            torch.logaddexp(la, lb).squeeze(-1),
        ),
    },
}
