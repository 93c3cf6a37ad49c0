"""The graders of "Read heatmaps": the right answer passes, each known mistake is named."""

import pytest
import torch

from attention_lib.checks import heatmaps as check


def largest(weights):
    return weights.amax(dim=-1)


def sure(weights, real):
    return (largest(weights) * real.unsqueeze(1)).sum(dim=(0, 2)) / real.sum()


def sure_by_sentence(weights, real):
    sums = (largest(weights) * real.unsqueeze(1)).sum(dim=2)
    return (sums / real.sum(dim=1, keepdim=True)).mean(dim=0)


def product(mix, layers=lambda weights: weights):
    def answer(weights):
        total = torch.eye(weights.shape[-1])
        for layer in layers(weights):
            total = mix(layer, torch.eye(len(layer))) @ total
        return total

    return answer


def half(layer, identity):
    return (layer + identity) / 2


RIGHT = [
    (check.brightest_cell, 0.3),
    (check.sureness, sure),
    (check.rollout, product(half)),
]

# grader, wrong answer, what must be said of it
WRONG = [
    (check.brightest_cell, 1.0, "colour bar"),
    (check.brightest_cell, 0.2, "width of the range"),
    (check.brightest_cell, 0.1, "darkest"),
    (check.brightest_cell, 0.25, "too small"),
    (check.sureness, lambda w, real: largest(w).mean(dim=(0, 2)), "padded queries still count"),
    (
        check.sureness,
        lambda w, real: (largest(w) * real.unsqueeze(1)).mean(dim=(0, 2)),
        "number of real tokens",
    ),
    (check.sureness, sure_by_sentence, "mean of each sentence's mean"),
    (check.sureness, lambda w, real: sure(w, real).mean(), "one number for all heads"),
    (check.sureness, lambda w, real: sure(w, ~real), "largest difference"),
    (check.rollout, lambda w: w.mean(dim=0), "layers follow one another"),
    (check.rollout, product(lambda layer, identity: layer), "residual path"),
    (check.rollout, product(lambda layer, identity: layer + identity), "sum to more than 1"),
    (check.rollout, product(half, lambda w: w.flip(0)), "order is reversed"),
    (check.rollout, lambda w: w[0], "largest difference"),
]


@pytest.mark.parametrize(("grader", "answer"), RIGHT)
def test_the_right_answer_passes(grader, answer):
    assert grader(answer)


@pytest.mark.parametrize(("grader", "answer", "said"), WRONG)
def test_the_mistake_is_named(grader, answer, said):
    verdict = grader(answer)
    assert not verdict
    assert said in verdict.message
