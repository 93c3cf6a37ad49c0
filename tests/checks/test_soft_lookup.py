"""The graders of "Look up softly": right answers in many styles, wrong ones and what they hear."""

import math

import pytest
import torch
from torch.nn.functional import normalize, one_hot, scaled_dot_product_attention

from attention_lib import effective_keys
from attention_lib.checks import soft_lookup as check
from tests.checks.tables import judged

LAST_WEIGHTS = torch.tensor([0.75, 0.15, 0.07, 0.03], dtype=torch.float64)


def weights_at(temperature):
    """The weights .75 .15 .07 .03 belong to temperature 1; return those of another."""
    return torch.softmax(LAST_WEIGHTS.log() / temperature, dim=-1)


def test_temperatures_of_the_grader_are_those_of_the_weights():
    spread = effective_keys(weights_at(check.THREE_EFFECTIVE_KEYS)).item()
    largest = weights_at(check.LARGEST_IS_A_THIRD).max().item()
    assert (spread, largest) == (pytest.approx(3, abs=0.01), pytest.approx(1 / 3, abs=0.001))


# Attention, in the styles of different people.


def by_the_formula(queries, keys, values):
    return torch.softmax(queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1]), -1) @ values


def by_einsum(queries, keys, values):
    scores = torch.einsum("bqd,bkd->bqk", queries, keys) * keys.shape[-1] ** -0.5
    return torch.einsum("bqk,bkv->bqv", scores.softmax(dim=2), values)


def by_bmm_with_the_scale_first(queries, keys, values):
    weights = torch.bmm(queries / queries.size(-1) ** 0.5, keys.permute(0, 2, 1)).softmax(-1)
    return torch.bmm(weights, values)


def by_loops(queries, keys, values):
    batch = []
    for Q, K, V in zip(queries, keys, values, strict=True):
        rows = []
        for q in Q:
            scores = torch.stack([q.dot(k) for k in K]) / len(q) ** 0.5
            shares = (scores - scores.max()).exp()
            rows.append(sum(share * v for share, v in zip(shares / shares.sum(), V, strict=True)))
        batch.append(torch.stack(rows))
    return torch.stack(batch)


def by_numpy(queries, keys, values):
    scores = queries.numpy() @ keys.numpy().swapaxes(1, 2) / keys.shape[-1] ** 0.5
    shares = torch.from_numpy(scores - scores.max(axis=-1, keepdims=True)).exp()
    return (shares / shares.sum(-1, keepdim=True)) @ values


def exponentials(scores):
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def attending(weigh=lambda s: s.softmax(-1), scale=lambda q, k, v: q.shape[-1] ** -0.5):
    return lambda q, k, v: weigh(q @ k.mT * scale(q, k, v)) @ v


def other_scale(scale):
    return attending(scale=scale)


def as_a_pair(queries, keys, values):
    weights = torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, dim=-1)
    return weights @ values, weights


ATTENTION = [
    (other_scale(lambda q, k, v: 1), "not divided by the square root"),
    (other_scale(lambda q, k, v: 1 / q.shape[-1]), "by d_k, not by its square root"),
    (other_scale(lambda q, k, v: q.shape[-1] ** 0.5), "multiplied by the square root"),
    (other_scale(lambda q, k, v: k.shape[1] ** -0.5), "root of the number of keys"),
    (other_scale(lambda q, k, v: v.shape[-1] ** -0.5), "root of the values' width"),
    (other_scale(lambda q, k, v: -(q.shape[-1] ** -0.5)), "a minus sign too many"),
    (attending(lambda s: s.softmax(-2)), "over the queries (dim=-2)"),
    (attending(lambda s: s.softmax(1)), "over the queries (dim=-2)"),
    (attending(lambda s: s.softmax(0)), "over the first axis"),
    (attending(lambda s: s), "the softmax is missing"),
    (attending(torch.sigmoid), "a sigmoid of each score alone"),
    (attending(torch.exp), "not divided by their sum"),
    (attending(exponentials), "infinity over infinity is NaN"),
    (attending(lambda s: exponentials(s - s.max())), "largest score of the whole table"),
    (attending(lambda s: s.exp() / s.exp().sum(-1)), "keepdim=True"),
    (attending(lambda s: s.exp() / s.exp().sum()), "of the whole table, not of their row"),
    (attending(lambda s: s / s.sum(-1, keepdim=True)), "the exponentials are missing"),
    (attending(lambda s: s.log_softmax(-1)), "the logarithm of the weights"),
    (lambda q, k, v: torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1), "these are the weights"),
    (lambda q, k, v: q @ k.mT / q.shape[-1] ** 0.5, "these are the scores"),
    (lambda q, k, v: torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ k, "the keys are summed"),
    (lambda q, k, v: (q @ k.mT).softmax(-1) / q.shape[-1] ** 0.5 @ v, "weights are divided"),
    (lambda q, k, v: v.mean(1, keepdim=True).expand(-1, q.shape[1], -1), "plain mean"),
    (lambda q, k, v: by_the_formula(normalize(q, dim=-1), normalize(k, dim=-1), v), "query 0, "),
    (lambda q, k, v: -by_the_formula(q, k, v), "wrong sign"),
    (lambda q, k, v: by_the_formula(q, k, v).mT, "transposed"),
    (lambda q, k, v: by_the_formula(q, k, v)[:1], "expected shape"),
    (as_a_pair, "several things are returned; the first one alone is right"),
    (lambda q, k, v: as_a_pair(q, k, v)[::-1], "the second one alone is right"),
    (lambda q, k, v: torch.softmax(q @ k / q.shape[-1] ** 0.5, -1) @ v, "keys are not transposed"),
    (lambda q, k, v: q @ k @ v, "query 0, column 0: 11, should be 3.68"),
]


def lookup(scores):
    best = (scores == scores.max(dim=-1, keepdim=True).values).float()
    return normalize(best, p=1, dim=-1)


def lookup_by_loops(scores):
    weights = torch.zeros_like(scores)
    for b, table in enumerate(scores):
        for i, row in enumerate(table):
            best = [j for j, score in enumerate(row) if score == max(row)]
            for j in best:
                weights[b, i, j] = 1 / len(best)
    return weights


def lookup_in_the_limit(scores):
    hidden = scores.masked_fill(scores < scores.amax(-1, keepdim=True), float("-inf"))
    return torch.softmax(torch.zeros_like(hidden).where(hidden > float("-inf"), hidden), dim=-1)


def lookup_of_differences(scores):
    best = (scores - scores.amax(-1, keepdim=True) >= 0).to(scores.dtype)
    return best / best.sum(dim=-1, keepdim=True)


def shared(best):
    return best / best.sum(dim=-1, keepdim=True)


def cold(temperature):
    return lambda scores: torch.softmax(scores / temperature, dim=-1)


def subtracting_in_place(scores):
    scores -= scores.amax(dim=-1, keepdim=True)
    return lookup(scores)


HARD = [
    *((cold(10.0**-n), f"a temperature of {10.0**-n:g} is not 0") for n in range(1, 10)),
    (lambda s: torch.softmax(s * 1e10, dim=-1), "1e-10 is not 0"),
    (lambda s: shared(s.isclose(s.amax(-1, keepdim=True))), "only close count as a tie"),
    (lambda s: shared(s.softmax(-1) == s.softmax(-1).amax(-1, keepdim=True)), "Softmax rounds"),
    (cold(1e-12), "a very small temperature is not 0"),
    (cold(1e-20), "a very small temperature is not 0"),
    (lambda s: torch.softmax(s * 1e30, dim=-1), "a very small temperature is not 0"),
    (cold(1e-38), "a very small temperature is not 0"),
    (lambda s: torch.softmax((s - s.amax(-1, keepdim=True)) / 1e-9, -1), "query "),
    (lambda s: one_hot(s.argmax(-1), s.shape[-1]).to(s.dtype), "a tie is not shared"),
    (lambda s: torch.zeros_like(s).scatter(-1, s.argmax(-1, True), 1), "a tie is not shared"),
    (lambda s: (s == s.amax(-1, keepdim=True)).float(), "the row sums to 2"),
    (lambda s: s == s.amax(-1, keepdim=True), "True and False mark the best"),
    (lambda s: shared(s == s.max()), "in the whole tensor"),
    (lambda s: shared(s == s.amax(-2, keepdim=True)), "down a column"),
    (lambda s: shared(s == s.amin(-1, keepdim=True)), "the worst key"),
    (lambda s: s.eq(s.amax(-1, True)) / s.eq(s.amax(-1, True)).sum(), "Divide each row"),
    (lambda s: torch.softmax(s, -1), "that is softmax itself"),
    (lambda s: s.softmax(-1).round(), "rounded to 0 and 1"),
    (lambda s: shared(s == s.amax(-1)), "an axis is lost"),
    (lambda s: s.argmax(-1), "where the best key stands"),
    (lambda s: s.amax(-1), "the best score, not"),
    (lambda s: s.argmax(), "expected shape"),
    (subtracting_in_place, "changed its input"),
    (lambda s: lookup(s)[..., :1], "expected shape"),
    (lambda s: -lookup(s), "wrong sign"),
    (torch.tensor([1.0]), "a function is expected"),
]  # fmt: skip


def append_a_pair(queries, keys, values, value=0.0, key=0.0):
    other = keys.new_full((*keys.shape[:-2], 1, keys.shape[-1]), key)
    extra = values.new_full((*values.shape[:-2], 1, values.shape[-1]), value)
    scores = queries @ torch.cat([keys, other], dim=-2).mT
    return torch.softmax(scores, dim=-1) @ torch.cat([values, extra], dim=-2)


def append_a_score(queries, keys, values):
    scores = torch.nn.functional.pad(queries @ keys.mT, (0, 1))
    return torch.softmax(scores, dim=-1)[..., :-1] @ values


def shift_the_one(queries, keys, values):
    scores = queries @ keys.mT
    largest = scores.amax(dim=-1, keepdim=True).clamp(min=0.0)
    shares = (scores - largest).exp()
    return shares / ((-largest).exp() + shares.sum(dim=-1, keepdim=True)) @ values


def by_logsumexp(queries, keys, values):
    scores = queries @ keys.mT
    none = torch.zeros_like(scores[..., :1])
    return (scores - torch.cat([scores, none], -1).logsumexp(-1, keepdim=True)).exp() @ values


def one_sentence_at_a_time(*memory):
    return torch.stack([append_a_pair(*each) for each in zip(*memory, strict=True)])


def by_pytorch(queries, keys, values):
    other, extra = torch.zeros_like(keys[:, :1]), torch.zeros_like(values[:, :1])
    keys, values = torch.cat([other, keys], 1), torch.cat([extra, values], 1)
    return scaled_dot_product_attention(queries, keys, values, scale=1.0)


def abstaining(weigh):
    return lambda q, k, v: weigh(q @ k.mT) @ v


def over_one_more(scores, one=1.0):
    return scores.exp() / (one + scores.exp().sum(dim=-1, keepdim=True))


def forget_to_shift_the_one(scores):
    return over_one_more(scores - scores.amax(dim=-1, keepdim=True))


def one_largest_for_all(scores):
    return over_one_more(scores - scores.max(), (-scores.max()).exp())


ABSTAIN = [
    (abstaining(lambda s: over_one_more(s.double()).to(s.dtype)), "float64 only moves the border"),
    (abstaining(one_largest_for_all), "one maximum was taken"),
    (abstaining(lambda s: s.softmax(-1)), "still sum to 1"),
    (attending(), "it always answers"),
    (abstaining(over_one_more), "infinity over infinity is NaN"),
    (abstaining(forget_to_shift_the_one), "becomes exp(−m)"),
    (lambda q, k, v: append_a_pair(q / k.shape[-1] ** 0.5, k, v), "plain dot products"),
    (lambda *memory: append_a_pair(*memory, value=1.0), "a value of ones"),
    (lambda *memory: append_a_pair(*memory, key=1.0), "a vector of ones"),
    (abstaining(lambda s: (1 + (-s).exp()).reciprocal()), "a sigmoid of each"),
    (abstaining(lambda s: over_one_more(s.clamp(max=80.0))), "cut off at a largest one"),
    (abstaining(lambda s: s.softmax(-1).where(s.softmax(-1) > 0.5, 0)), "query 0, column 0: 0"),
    (abstaining(lambda s: s.softmax(-1) * (s.amax(-1, True) > 0)), "sums to 1 or to 0"),
    (lambda q, k, v: append_a_score(q, k, v).mT, "transposed"),
    (lambda q, k, v: (q @ k.mT).softmax(-1), "expected shape (1, 2, 1), got (1, 2, 3)"),
    (lambda q, k, v: q.zero_() @ k.mT @ v, "changed its input"),
    (lambda queries, keys: queries, "TypeError"),
]

test_right, test_wrong = judged(
    [
        *((check.attention, answer) for answer in (by_the_formula, by_einsum, by_loops, by_numpy)),
        (check.attention, by_bmm_with_the_scale_first),
        (check.attention, scaled_dot_product_attention),
        (check.hard_lookup, lookup),
        (check.hard_lookup, lookup_by_loops),
        (check.hard_lookup, lookup_in_the_limit),
        (check.hard_lookup, lookup_of_differences),
        (check.hard_lookup, lambda scores: lookup(scores).double()),
        (check.attend_or_abstain, append_a_pair),
        (check.attend_or_abstain, append_a_score),
        (check.attend_or_abstain, shift_the_one),
        (check.attend_or_abstain, by_logsumexp),
        (check.attend_or_abstain, one_sentence_at_a_time),
        (check.attend_or_abstain, by_pytorch),
        *((check.three_effective_keys, t) for t in (1.4, 1.57, 1.7, torch.tensor(1.56))),
    ],
    [
        *((check.attention, *row) for row in ATTENTION),
        *((check.hard_lookup, *row) for row in HARD),
        *((check.attend_or_abstain, *row) for row in ABSTAIN),
        (check.three_effective_keys, 5.6, "one third"),
        (check.three_effective_keys, 3, "number of keys"),
        (check.three_effective_keys, 3.1, "too large"),
        (check.three_effective_keys, 0.64, "one over the temperature"),
        (check.three_effective_keys, 1.0, "what was given"),
        (check.three_effective_keys, 9.0, "too large"),
        (check.three_effective_keys, "1.5", "a number is expected"),
    ],
)
