"""The graders of "Look up softly": the right answer passes, each known mistake is named."""

import pytest
import torch

from attention_lib import effective_keys
from attention_lib.checks import soft_lookup as check

LAST_WEIGHTS = torch.tensor([0.75, 0.15, 0.07, 0.03], dtype=torch.float64)


def weights_at(temperature):
    """The weights .75 .15 .07 .03 belong to temperature 1; return those of another."""
    return torch.softmax(LAST_WEIGHTS.log() / temperature, dim=-1)


def test_temperatures_of_the_grader_are_those_of_the_weights():
    spread = effective_keys(weights_at(check.THREE_EFFECTIVE_KEYS)).item()
    largest = weights_at(check.LARGEST_IS_A_THIRD).max().item()
    assert (spread, largest) == (pytest.approx(3, abs=0.01), pytest.approx(1 / 3, abs=0.001))


@pytest.mark.parametrize("answer", [1.4, 1.57, 1.7])
def test_three_effective_keys_accepts_what_can_be_read(answer):
    assert check.three_effective_keys(answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (5.6, "one third"),
        (3, "number of keys"),
        (1.0, "too small"),
        (9.0, "too large"),
        ("1.5", "a number is expected"),
    ],
)
def test_three_effective_keys_names_the_mistake(answer, said):
    verdict = check.three_effective_keys(answer)
    assert not verdict
    assert said in verdict.message


def lookup(scores):
    best = (scores == scores.max(dim=-1, keepdim=True).values).float()
    return torch.nn.functional.normalize(best, p=1, dim=-1)


def first_of_the_best(scores):
    weights = torch.zeros_like(scores)
    return weights.scatter(-1, scores.argmax(dim=-1, keepdim=True), 1.0)


def not_normalised(scores):
    return (scores == scores.amax(dim=-1, keepdim=True)).float()


def best_of_all(scores):
    best = (scores == scores.max()).float()
    return best / best.sum(dim=-1, keepdim=True)


def best_of_a_column(scores):
    best = (scores == scores.amax(dim=-2, keepdim=True)).float()
    return best / best.sum(dim=-1, keepdim=True)


def divided_by_all(scores):
    best = not_normalised(scores)
    return best / best.sum()


def cold_softmax(temperature):
    return lambda scores: torch.softmax(scores / temperature, dim=-1)


def in_place(scores):
    scores -= scores.amax(dim=-1, keepdim=True)
    return lookup(scores)


def test_hard_lookup_passes():
    assert check.hard_lookup(lookup)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (first_of_the_best, "a tie is not shared"),
        (not_normalised, "sums to 2"),
        (best_of_all, "in the whole tensor"),
        (best_of_a_column, "down a column"),
        (divided_by_all, "Divide each row"),
        (cold_softmax(0.1), "0.1 is not 0"),
        (cold_softmax(0.01), "0.01 is not 0"),
        (cold_softmax(0.001), "0.001 is not 0"),
        (cold_softmax(1e-6), "1e-06 is not 0"),
        (in_place, "changed its input"),
        (lambda scores: torch.softmax(scores, dim=-1), "the largest difference"),
        (lambda scores: lookup(scores)[..., :1], "expected shape"),
        (lambda scores: lookup(scores).bool(), "expected dtype"),
        (lambda scores: scores.argmax(), "expected shape"),
        (lambda scores: None, "a tensor is expected"),
        (torch.tensor([1.0]), "a function is expected"),
    ],
)
def test_hard_lookup_names_the_mistake(answer, said):
    verdict = check.hard_lookup(answer)
    assert not verdict
    assert said in verdict.message


def append_a_pair(queries, keys, values, value=0.0, key=0.0):
    other = keys.new_full((*keys.shape[:-2], 1, keys.shape[-1]), key)
    extra = values.new_full((*values.shape[:-2], 1, values.shape[-1]), value)
    scores = queries @ torch.cat([keys, other], dim=-2).mT
    return torch.softmax(scores, dim=-1) @ torch.cat([values, extra], dim=-2)


def shift_the_one(queries, keys, values):
    scores = queries @ keys.mT
    largest = scores.amax(dim=-1, keepdim=True).clamp(min=0.0)
    exponentials = (scores - largest).exp()
    return exponentials / ((-largest).exp() + exponentials.sum(dim=-1, keepdim=True)) @ values


def plain(queries, keys, values):
    return torch.softmax(queries @ keys.mT, dim=-1) @ values


def overflow(queries, keys, values):
    exponentials = (queries @ keys.mT).exp()
    return exponentials / (1.0 + exponentials.sum(dim=-1, keepdim=True)) @ values


def forget_to_shift_the_one(queries, keys, values):
    scores = queries @ keys.mT
    exponentials = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return exponentials / (1.0 + exponentials.sum(dim=-1, keepdim=True)) @ values


def divide_by_the_root(queries, keys, values):
    return append_a_pair(queries / keys.shape[-1] ** 0.5, keys, values)


def cut_off(queries, keys, values):
    exponentials = (queries @ keys.mT).clamp(max=80.0).exp()
    return exponentials / (1.0 + exponentials.sum(dim=-1, keepdim=True)) @ values


def drop_small_weights(queries, keys, values):
    weights = torch.softmax(queries @ keys.mT, dim=-1)
    return torch.where(weights > 0.5, weights, 0.0) @ values


@pytest.mark.parametrize("answer", [append_a_pair, shift_the_one])
def test_attend_or_abstain_passes(answer):
    assert check.attend_or_abstain(answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (plain, "it always answers"),
        (overflow, "infinity over infinity is NaN"),
        (forget_to_shift_the_one, "the 1 must shrink"),
        (divide_by_the_root, "plain dot products"),
        (lambda *memory: append_a_pair(*memory, value=1.0), "value of ones"),
        (lambda *memory: append_a_pair(*memory, key=1.0), "added key is a vector of ones"),
        (lambda q, k, v: (1 + (-q @ k.mT).exp()).reciprocal() @ v, "a sigmoid for each key"),
        (cut_off, "cut off at a largest one"),
        (drop_small_weights, "the largest difference"),
        (lambda queries, keys, values: queries.zero_() @ keys.mT @ values, "changed its input"),
        (lambda queries, keys: queries, "TypeError"),
    ],
)
def test_attend_or_abstain_names_the_mistake(answer, said):
    verdict = check.attend_or_abstain(answer)
    assert not verdict
    assert said in verdict.message
