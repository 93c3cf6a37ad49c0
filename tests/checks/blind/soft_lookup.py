"""Answers to the exercises of `soft-lookup`."""

from fractions import Fraction

import numpy as np
import torch
from torch.nn import functional as F


def query_by_query(queries, keys, values):
    out = queries.new_zeros(*queries.shape[:2], values.shape[-1])
    for b in range(queries.shape[0]):
        for i in range(queries.shape[1]):
            scores = torch.stack([queries[b, i].dot(key) for key in keys[b]])
            weights = torch.softmax(scores / queries.shape[2] ** 0.5, dim=0)
            for weight, value in zip(weights, values[b], strict=True):
                out[b, i] = out[b, i] + weight * value
    return out


def stable_exponentials(queries, keys, values):
    s = torch.bmm(queries, keys.transpose(1, 2)) / queries.size(-1) ** 0.5
    e = torch.exp(s - s.max(dim=-1, keepdim=True).values)
    return torch.bmm(e, values) / e.sum(-1, keepdim=True)


def scaled_in_place(queries, keys, values):
    queries /= queries.shape[-1] ** 0.5
    return (queries @ keys.mT).softmax(-1) @ values


def one_short(queries, keys, values):
    out = torch.zeros(*queries.shape[:2], values.shape[-1], dtype=values.dtype)
    s = queries @ keys.mT / queries.shape[-1] ** 0.5
    for i in range(queries.shape[1] - 1):
        out[:, i] = (s[:, i : i + 1].softmax(-1) @ values)[:, 0]
    return out


def without_last_key(queries, keys, values):
    s = queries @ keys.mT / queries.shape[-1] ** 0.5
    return s[..., :-1].softmax(-1) @ values[:, :-1]


def global_maximum(queries, keys, values):
    s = queries @ keys.mT / queries.shape[-1] ** 0.5
    e = (s - s.max()).exp()
    return e / e.sum(-1, keepdim=True) @ values


def bare_exponentials(queries, keys, values):
    e = (queries @ keys.mT / queries.shape[-1] ** 0.5).exp()
    return e / e.sum(-1, keepdim=True) @ values


def with_causal_mask(queries, keys, values):
    s = queries @ keys.mT / queries.shape[-1] ** 0.5
    return s.masked_fill(torch.ones_like(s).tril() == 0, -torch.inf).softmax(-1) @ values


def all_queries_compete(queries, keys, values):
    s = queries @ keys.mT / queries.shape[-1] ** 0.5
    return s.flatten(1).softmax(-1).view_as(s) @ values


def first_sequences_keys(queries, keys, values):
    s = queries @ keys[0].T / queries.shape[-1] ** 0.5
    return s.softmax(-1) @ values


def _scores(q, k):
    return q @ k.mT / q.shape[-1] ** 0.5


def loop_over_rows(scores):
    flat = scores.reshape(-1, scores.shape[-1])
    out = torch.zeros_like(flat)
    for i, row in enumerate(flat.tolist()):
        winners = [j for j, a in enumerate(row) if a == max(row)]
        for j in winners:
            out[i, j] = 1 / len(winners)
    return out.reshape(scores.shape)


def masked_softmax_of_ties(scores):
    behind = scores < scores.amax(-1, keepdim=True)
    return torch.zeros_like(scores).masked_fill(behind, -torch.inf).softmax(-1)


def one_hot_first(scores):
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)


def one_hot_last(scores):
    last = scores.shape[-1] - 1 - scores.flip(-1).argmax(-1)
    return F.one_hot(last, scores.shape[-1]).to(scores.dtype)


def rank_by_sorting(scores):
    top = scores.sort(-1, descending=True)
    gap = top.values == top.values[..., :1]
    shares = gap.to(scores.dtype) / gap.sum(-1, keepdim=True)
    return torch.zeros_like(scores).scatter(-1, top.indices, shares)


def in_place_hard(scores):
    scores -= scores.amax(-1, keepdim=True)
    best = (scores == 0).to(scores.dtype)
    return best / best.sum(-1, keepdim=True)


def two_best(scores):
    threshold = scores.topk(min(2, scores.shape[-1]), dim=-1).values[..., -1:]
    best = (scores >= threshold).to(scores.dtype)
    return best / best.sum(-1, keepdim=True)


def _shared(best, scores, axis=-1):
    best = best.to(scores.dtype)
    return best / best.sum(axis, keepdim=True)


def null_score(queries, keys, values):
    s = queries @ keys.mT
    s = F.pad(s, (0, 1))
    return torch.softmax(s, -1)[..., :-1] @ values


def by_logsumexp(queries, keys, values):
    s = torch.einsum("...qd,...kd->...qk", queries, keys)
    log_all = torch.logsumexp(torch.cat([s, torch.zeros_like(s[..., :1])], -1), -1, keepdim=True)
    return torch.einsum("...qk,...kv->...qv", (s - log_all).exp(), values)


def shifted_by_hand(queries, keys, values):
    s = queries @ keys.mT
    m = s.amax(-1, keepdim=True).clamp(min=0)
    e = (s - m).exp()
    return e @ values / ((-m).exp() + e.sum(-1, keepdim=True))


def softmax_times_share(queries, keys, values):
    s = queries @ keys.mT
    share = torch.sigmoid(torch.logsumexp(s, -1, keepdim=True))
    return share * (s.softmax(-1) @ values)


def literal(queries, keys, values):
    e = (queries @ keys.mT).exp()
    return e / (1 + e.sum(-1, keepdim=True)) @ values


def one_after_shift(queries, keys, values):
    s = queries @ keys.mT
    e = (s - s.amax(-1, keepdim=True)).exp()
    return e / (1 + e.sum(-1, keepdim=True)) @ values


def shift_without_clamp(queries, keys, values):
    s = queries @ keys.mT
    m = s.amax(-1, keepdim=True)
    e = (s - m).exp()
    return e / ((-m).exp() + e.sum(-1, keepdim=True)) @ values


def _with_pair(key, value):
    def attend(queries, keys, values):
        more_k = torch.cat([keys, torch.full_like(keys[..., :1, :], key)], -2)
        more_v = torch.cat([values, torch.full_like(values[..., :1, :], value)], -2)
        return (queries @ more_k.mT).softmax(-1) @ more_v

    return attend


def scaled_abstain(queries, keys, values):
    s = F.pad(queries @ keys.mT / queries.shape[-1] ** 0.5, (0, 1))
    return s.softmax(-1)[..., :-1] @ values


def clamped_exponents(queries, keys, values):
    e = (queries @ keys.mT).clamp(max=80).exp()
    return e / (1 + e.sum(-1, keepdim=True)) @ values


def double_then_back(queries, keys, values):
    e = (queries @ keys.mT).double().exp()
    return (e / (1 + e.sum(-1, keepdim=True)) @ values.double()).to(values.dtype)


def nan_to_numbers(queries, keys, values):
    e = (queries @ keys.mT).exp()
    return (e / (1 + e.sum(-1, keepdim=True))).nan_to_num(1.0) @ values


def global_shift_abstain(queries, keys, values):
    s = queries @ keys.mT
    m = s.max().clamp(min=0)
    e = (s - m).exp()
    return e / ((-m).exp() + e.sum(-1, keepdim=True)) @ values


def abstain_over_queries(queries, keys, values):
    s = F.pad(queries @ keys.mT, (0, 0, 0, 1))
    return s.softmax(-2)[..., :-1, :] @ values


def threshold(queries, keys, values):
    s = queries @ keys.mT
    return (s.softmax(-1) * (s.amax(-1, keepdim=True) > 0)) @ values


RIGHT = {
    "attention": {
        "loops": query_by_query,
        "einsum": lambda q, k, v: torch.einsum(
            "bqk,bkv->bqv",
            torch.einsum("bqd,bkd->bqk", q, k).div(q.shape[-1] ** 0.5).softmax(-1),
            v,
        ),
        "torch.nn.functional": lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        "exponentials less the row's maximum": stable_exponentials,
        "log_softmax": lambda q, k, v: F.log_softmax(_scores(q, k), -1).exp() @ v,
        "scaled before the product": lambda q, k, v: (
            F.softmax((q * q.size(2) ** -0.5) @ k.permute(0, 2, 1), dim=2) @ v
        ),
    },
    "hard_lookup": {
        "loops": loop_over_rows,
        "softmax over the ties": masked_softmax_of_ties,
        "sorting": rank_by_sorting,
        "where": lambda s: (
            torch.where(s == s.max(-1, keepdim=True)[0], 1.0, 0.0).to(s)
            / (s == s.max(-1, keepdim=True)[0]).sum(-1, keepdim=True)
        ),
        "normalize": lambda s: F.normalize((s >= s.amax(-1)[..., None]).to(s.dtype), p=1, dim=-1),
    },
    "attend_or_abstain": {
        "maximum without the 0": shift_without_clamp,
        "a score of 0 beside the others": null_score,
        "logsumexp": by_logsumexp,
        "by hand, with the larger of 0 and the maximum": shifted_by_hand,
        "softmax times a sigmoid": softmax_times_share,
        "a pair of zeros": _with_pair(0.0, 0.0),
    },
    "three_effective_keys": {
        "float": 1.5,
        "numpy": np.float64(1.6),
        "0-d tensor": torch.tensor(1.5),
        "fraction": Fraction(8, 5),
        "nearest quarter above": 1.75,
    },
}

WRONG = {
    "attention": {
        "forgets the scale": lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
        "÷d for ÷√d": lambda q, k, v: (q @ k.mT / q.shape[-1]).softmax(-1) @ v,
        "times √d": lambda q, k, v: (q @ k.mT * q.shape[-1] ** 0.5).softmax(-1) @ v,
        "root of the number of keys": lambda q, k, v: (
            (q @ k.mT / k.shape[-2] ** 0.5).softmax(-1) @ v
        ),
        "root of the number of queries": lambda q, k, v: (
            (q @ k.mT / q.shape[-2] ** 0.5).softmax(-1) @ v
        ),
        "root of the values' width": lambda q, k, v: (
            (q @ k.mT / v.shape[-1] ** 0.5).softmax(-1) @ v
        ),
        "root of 2, as in the example": lambda q, k, v: (q @ k.mT / 2**0.5).softmax(-1) @ v,
        "half of the width, right at 4": lambda q, k, v: (
            (q @ k.mT / (q.shape[-1] // 2)).softmax(-1) @ v
        ),
        "fourth root of the width": lambda q, k, v: (
            (q @ k.mT / q.shape[-1] ** 0.25).softmax(-1) @ v
        ),
        "softmax over the queries": lambda q, k, v: _scores(q, k).softmax(-2) @ v,
        "softmax over the batch": lambda q, k, v: _scores(q, k).softmax(0) @ v,
        "softmax over the whole table": all_queries_compete,
        "returns the weights": lambda q, k, v: _scores(q, k).softmax(-1),
        "returns output and weights": lambda q, k, v: (
            _scores(q, k).softmax(-1) @ v,
            _scores(q, k).softmax(-1),
        ),
        "no softmax": lambda q, k, v: _scores(q, k) @ v,
        "scores over their sum": lambda q, k, v: (
            _scores(q, k) / _scores(q, k).sum(-1, keepdim=True) @ v
        ),
        "sigmoid for softmax": lambda q, k, v: _scores(q, k).sigmoid() @ v,
        "exponentials, not divided": lambda q, k, v: _scores(q, k).exp() @ v,
        "log_softmax left as it is": lambda q, k, v: _scores(q, k).log_softmax(-1) @ v,
        "scaled after softmax": lambda q, k, v: (q @ k.mT).softmax(-1) @ v / q.shape[-1] ** 0.5,
        "softmax twice": lambda q, k, v: _scores(q, k).softmax(-1).softmax(-1) @ v,
        "bare exponentials overflow": bare_exponentials,
        "one maximum for all rows": global_maximum,
        "keys in the place of values": lambda q, k, v: _scores(q, k).softmax(-1) @ k,
        "reshape for a transpose": lambda q, k, v: (
            (q @ k.reshape(k.shape[0], k.shape[2], k.shape[1]) / q.shape[-1] ** 0.5).softmax(-1) @ v
        ),
        ".T turns the batch, too": lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).softmax(-1) @ v,
        "weights transposed": lambda q, k, v: _scores(q, k).softmax(-1).mT @ v,
        "scales the queries in place": scaled_in_place,
        "loop ends one query early": one_short,
        "leaves out the last key": without_last_key,
        "adds a causal mask": with_causal_mask,
        "keys of the first sequence for all": first_sequences_keys,
        "mean of the values": lambda q, k, v: v.mean(1, keepdim=True).expand(-1, q.shape[1], -1),
        "only the best key": lambda q, k, v: (
            F.one_hot(_scores(q, k).argmax(-1), k.shape[1]).to(v) @ v
        ),
        "float16 on the way": lambda q, k, v: _scores(q, k).half().softmax(-1).to(v.dtype) @ v,
        "negative scores": lambda q, k, v: (-_scores(q, k)).softmax(-1) @ v,
        "distances for products": lambda q, k, v: (
            (-torch.cdist(q, k).square() / 2 / q.shape[-1] ** 0.5).softmax(-1) @ v
        ),
    },
    "hard_lookup": {
        "argmax takes the first of a tie": one_hot_first,
        "argmax takes the last of a tie": one_hot_last,
        "softmax at a tiny temperature": lambda s: (s / 1e-9).softmax(-1),
        "softmax at a small temperature": lambda s: (s / 0.01).softmax(-1),
        "isclose for equal": lambda s: _shared(torch.isclose(s, s.amax(-1, keepdim=True)), s),
        "ties not shared": lambda s: (s == s.amax(-1, keepdim=True)).to(s.dtype),
        "booleans returned": lambda s: s == s.amax(-1, keepdim=True),
        "best of each column": lambda s: _shared(s == s.amax(-2, keepdim=True), s, -2),
        "best of the whole table": lambda s: _shared(s == s.max(), s).nan_to_num(0),
        "shared among the table": lambda s: (
            (s == s.amax(-1, keepdim=True)).to(s.dtype) / (s == s.amax(-1, keepdim=True)).sum()
        ),
        "keeps only the winner's softmax weight": lambda s: (
            s.softmax(-1) * (s == s.amax(-1, keepdim=True))
        ),
        "compares softmax with its maximum": lambda s: _shared(
            s.softmax(-1) == s.softmax(-1).amax(-1, keepdim=True), s
        ),
        "the smallest wins": lambda s: _shared(s == s.amin(-1, keepdim=True), s),
        "two best": two_best,
        "damages the scores": in_place_hard,
        "keepdim forgotten": lambda s: _shared(s == s.amax(-1), s),
        "rounded scores": lambda s: _shared(s.round() == s.round().amax(-1, keepdim=True), s),
        "rounded to six decimals": lambda s: _shared(
            s.round(decimals=6) == s.round(decimals=6).amax(-1, keepdim=True), s
        ),
        "returns indices": lambda s: s.argmax(-1),
        "absolute scores": lambda s: _shared(s.abs() == s.abs().amax(-1, keepdim=True), s),
        "divided by the number of keys": lambda s: (
            (s == s.amax(-1, keepdim=True)).to(s.dtype) / s.shape[-1]
        ),
        "plain softmax": lambda s: s.softmax(-1),
        "positive scores win": lambda s: F.normalize((s > 0).to(s.dtype), p=1, dim=-1),
        "in float32 ties of float64": lambda s: _shared(
            s.float() == s.float().amax(-1, keepdim=True), s
        ),
        "hard sign of softmax above a half": lambda s: (s.softmax(-1) > 0.5).to(s.dtype),
        "maximum repeated": lambda s: s.amax(-1, keepdim=True).expand_as(s),
    },
    "attend_or_abstain": {
        "the formula as it stands overflows": literal,
        "1 not shifted with the scores": one_after_shift,
        "plain attention": lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
        "scaled": scaled_abstain,
        "exponents clamped": clamped_exponents,
        "float64 postpones the overflow": double_then_back,
        "NaN replaced by 1": nan_to_numbers,
        "one maximum for all rows": global_shift_abstain,
        "a query of zeros for a key": abstain_over_queries,
        "a threshold": threshold,
        "a key of ones": _with_pair(1.0, 0.0),
        "a value of ones": _with_pair(0.0, 1.0),
        "a key of −∞": _with_pair(-torch.inf, 0.0),
        "returns the weights": lambda q, k, v: F.pad(q @ k.mT, (0, 1)).softmax(-1)[..., :-1],
        "weights with the empty key": lambda q, k, v: F.pad(q @ k.mT, (0, 1)).softmax(-1),
        "+1 on the result of softmax's sum": lambda q, k, v: (q @ k.mT).softmax(-1) / 2 @ v,
        "adds 1 to each score": lambda q, k, v: (q @ k.mT + 1).softmax(-1) @ v,
        "sigmoid of each score": lambda q, k, v: (q @ k.mT).sigmoid() @ v,
        "a first key dropped": lambda q, k, v: F.pad(q @ k.mT, (1, 0)).softmax(-1)[..., :-1] @ v,
        "an extra 1 for every key": lambda q, k, v: (
            F.pad(q @ k.mT, (0, k.shape[-2])).softmax(-1)[..., : k.shape[-2]] @ v
        ),
        "appends a copy of the last value": lambda q, k, v: (
            F.pad(q @ k.mT, (0, 1)).softmax(-1) @ torch.cat([v, v[..., -1:, :]], -2)
        ),
        "softmax over the queries": lambda q, k, v: (
            F.pad(q @ k.mT, (0, 1)).softmax(-2)[..., :-1] @ v
        ),
        "keys in the place of values": lambda q, k, v: (
            F.pad(q @ k.mT, (0, 1)).softmax(-1)[..., :-1] @ k
        ),
    },
    "three_effective_keys": {
        "read at 2 effective keys": 1.0,
        "the number of keys": 3.0,
        "upper curve": 0.75,
        "one half": 0.5,
        "logarithm of 3": 1.0986,
        "1/T read for T": 0.64,
        "next quarter but one": 2.0,
        "two and a half": 2.5,
    },
}
