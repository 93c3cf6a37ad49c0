"""The graders of "Where the square root ends": right answers pass, known mistakes are named."""

import math

import numpy as np
import torch
from torch.nn.functional import normalize, rms_norm

from attention_lib.checks import variance_limits as check
from attention_lib.scoring import cosine_scores
from tests.checks.tables import judged


def unit(x, dim=-1):
    return x / x.norm(dim=dim, keepdim=True)


def unit_by_function(x):
    return normalize(x, dim=-1)


def normed_and_scaled(queries, keys, gain):
    width = queries.shape[-1:]
    return gain * rms_norm(queries, width) @ rms_norm(keys, width).mT / queries.shape[-1] ** 0.5


def by_pairs(queries, keys, gain):
    return gain * torch.cosine_similarity(queries.unsqueeze(-2), keys.unsqueeze(-3), dim=-1)


def divided_after(queries, keys, gain):
    lengths = queries.norm(dim=-1).unsqueeze(-1) * keys.norm(dim=-1).unsqueeze(-2)
    return gain * (queries @ keys.mT) / lengths


def appended(scores):
    zeros = torch.zeros_like(scores[..., :1])
    return torch.softmax(torch.cat([zeros, scores], dim=-1), dim=-1)[..., 1:]


def shifted(scores, most=None, one=None):
    most = scores.amax(dim=-1, keepdim=True).clamp(min=0) if most is None else most(scores)
    powers = (scores - most).exp()
    return powers / (powers.sum(dim=-1, keepdim=True) + ((-most).exp() if one is None else one))


def by_sigmoid(scores):
    norm = scores.logsumexp(dim=-1, keepdim=True)
    return torch.where(norm.isinf(), 0, (scores - norm).exp() * norm.sigmoid())


def by_log(scores):
    with_sink = torch.cat([scores, torch.zeros_like(scores[..., :1])], dim=-1)
    return (scores - with_sink.logsumexp(dim=-1, keepdim=True)).exp()


RIGHT = [
    (check.row_variance, 2.25),
    (check.row_variance, torch.tensor(36.0) / 16),
    (check.row_variance, np.float32(2.25)),
    (check.longer_row, "b"),
    (check.gain_for_half, math.log(1000) / 2),
    (check.gain_for_half, 3.45),
    (check.gain_for_half, torch.tensor(1000.0).log() / 2),
    (check.qk_norm_scores, lambda q, k, gain: gain * cosine_scores(q, k)),
    (check.qk_norm_scores, lambda q, k, gain: gain * unit(q) @ unit(k).mT),
    (check.qk_norm_scores, lambda q, k, gain: unit_by_function(gain * q) @ unit_by_function(k).mT
        * gain),
    (check.qk_norm_scores, by_pairs),
    (check.qk_norm_scores, divided_after),
    (check.softmax_with_sink, appended),
    (check.softmax_with_sink, shifted),
    (check.softmax_with_sink, by_sigmoid),
    (check.softmax_with_sink, by_log),
]  # fmt: skip

# grader, wrong answer, what must be said of it
WRONG = [
    (check.row_variance, 36, "before the division"),
    (check.row_variance, 9, "by 16"),
    (check.row_variance, 1.5, "standard deviation"),
    (check.row_variance, 1, "over all queries"),
    (check.row_variance, 16, "over all queries"),
    (check.row_variance, 6, "its square"),
    (check.row_variance, 0.375, "squared: 36"),
    (check.row_variance, 2, "too small"),
    (check.longer_row, "a", "of one score"),
    (check.longer_row, "c", "rises faster"),
    (check.longer_row, "d", "another reason"),
    (check.gain_for_half, math.log(1000), "2g apart"),
    (check.gain_for_half, math.log2(1000) / 2, "natural logarithm"),
    (check.gain_for_half, math.log10(1000) / 2, "natural logarithm"),
    (check.gain_for_half, 1000, "must be"),
    (check.gain_for_half, 500, "logarithm first"),
    (check.gain_for_half, math.log(500), "then the half"),
    (check.gain_for_half, 0.5, "not the gain"),
    (check.gain_for_half, 3.4, "too small"),
    (check.qk_norm_scores, lambda q, k, g: g * q @ k.mT / (q.norm() * k.norm()), "whole matrix"),
    (check.qk_norm_scores, lambda q, k, g: g * unit(q, -2) @ unit(k, -2).mT, "columns"),
    (check.qk_norm_scores, lambda q, k, g: g * normalize(q) @ normalize(k).mT, "dim=-1"),
    (check.qk_norm_scores, normed_and_scaled, "not of their mean"),
    (check.qk_norm_scores, lambda q, k, g: g * unit(q) @ k.mT, "keys keep"),
    (check.qk_norm_scores, lambda q, k, g: g * q @ unit(k).mT, "queries keep"),
    (check.qk_norm_scores, lambda q, k, g: g * cosine_scores(q, k) / q.shape[-1] ** 0.5, "root"),
    (check.qk_norm_scores, lambda q, k, g: cosine_scores(q, k), "gain has no effect"),
    (check.qk_norm_scores, lambda q, k, g: g**2 * cosine_scores(q, k), "twice"),
    (check.qk_norm_scores, lambda q, k, g: g * q @ k.mT, "no vector"),
    (check.qk_norm_scores, lambda q, k, g: (q @ k.mT).clamp(-g, g), "cuts the scores"),
    (check.qk_norm_scores, lambda q, k, g: -g * cosine_scores(q, k), "wrong sign"),
    (check.qk_norm_scores, lambda q, k, g: g * cosine_scores(k, q), "transposed"),
    (check.qk_norm_scores, lambda q, k, g: g + cosine_scores(q, k), "the gain is added"),
    (check.softmax_with_sink, lambda s: torch.softmax(s, dim=-1), "sum to 1"),
    (check.softmax_with_sink, lambda s: s.exp() / (1 + s.exp().sum(-1, keepdim=True)),
        "infinity over infinity"),
    (check.softmax_with_sink, lambda s: shifted(s, one=1), "exp(−m)"),
    (check.softmax_with_sink, lambda s: shifted(s, lambda s: s.amax(-1, keepdim=True), 1),
        "exp(−m)"),
    (check.softmax_with_sink, lambda s: shifted(s, lambda s: s.amax(-1, keepdim=True)), "NaN"),
    (check.softmax_with_sink, lambda s: shifted(s, lambda s: s.max().clamp(min=0)),
        "each row has its own"),
    (check.softmax_with_sink, lambda s: shifted(s, one=s.amax(-1, keepdim=True).clamp(min=0).exp()),
        "wrong sign"),
    (check.softmax_with_sink,
        lambda s: torch.softmax(torch.cat([s, 0 * s[..., :1].nan_to_num()], -1), -1), "drop it"),
    (check.softmax_with_sink,
        lambda s: torch.softmax(torch.cat([s, 0 * s[..., :1].nan_to_num()], -1), -1)[..., 1:],
        "moved by one"),
    (check.softmax_with_sink, lambda s: torch.softmax(s, dim=0), "should be"),
    (check.softmax_with_sink, lambda s: s.sigmoid(), "a sigmoid of each score alone"),
]  # fmt: skip


test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)


def test_the_gain_is_the_one_of_the_bound():
    gain, len_k = check.gain_for_half.right, 1001
    scores = torch.full((len_k,), -gain, dtype=torch.float64)
    scores[0] = gain
    assert math.isclose(torch.softmax(scores, dim=0)[0].item(), 0.5, rel_tol=1e-12)
