"""The graders of "Divide by √d": the right answer passes, each known mistake is named."""

import pytest

from attention_lib.checks import variance as check
from attention_lib.scoring import cosine_scores


def divided(queries, keys, divisor):
    return queries @ keys.T / divisor


def normalised(x, dim=-1):
    return x / x.norm(dim=dim, keepdim=True)


# grader -> answers that are right
RIGHT = [
    (check.typical_score, 16),
    (check.typical_score, 256**0.5),
    (check.unit_scores, lambda q, k, std: divided(q, k, std**2 * q.shape[-1] ** 0.5)),
    (check.unit_scores, lambda q, k, std: (q / std) @ (k / std).T / q.shape[-1] ** 0.5),
    (check.qk_norm_scores, lambda q, k, gain: gain * cosine_scores(q, k)),
    (check.qk_norm_scores, lambda q, k, gain: gain * normalised(q) @ normalised(k).T),
]

# grader, wrong answer, what must be said of it
WRONG = [
    (check.typical_score, 256, "is the variance"),
    (check.typical_score, 1, "after division"),
    (check.typical_score, 1 / 16, "not the score"),
    (check.typical_score, 20, "too large"),
    (check.typical_score, "16", "a number is expected"),
    (check.unit_scores, lambda q, k, std: divided(q, k, 1), "nothing is divided"),
    (check.unit_scores, lambda q, k, std: divided(q, k, q.shape[-1] ** 0.5), "no effect"),
    (check.unit_scores, lambda q, k, std: divided(q, k, std * q.shape[-1] ** 0.5), "not enough"),
    (check.unit_scores, lambda q, k, std: divided(q, k, std**4 * q.shape[-1]), "square root"),
    (check.unit_scores, lambda q, k, std: divided(q, k, std**3), "largest difference"),
    (check.unit_scores, lambda q, k, std: q.mul_(0.5) @ k.T, "changed its input"),
    (
        check.qk_norm_scores,
        lambda q, k, gain: gain * divided(q, k, q.norm() * k.norm()),
        "whole matrix",
    ),
    (check.qk_norm_scores, lambda q, k, g: g * normalised(q, -2) @ normalised(k, -2).T, "columns"),
    (check.qk_norm_scores, lambda q, k, gain: gain * normalised(q) @ k.T, "keys keep"),
    (check.qk_norm_scores, lambda q, k, gain: gain * q @ normalised(k).T, "queries keep"),
    (check.qk_norm_scores, lambda q, k, g: g * cosine_scores(q, k) / q.shape[-1] ** 0.5, "root"),
    (check.qk_norm_scores, lambda q, k, gain: cosine_scores(q, k), "gain has no effect"),
    (check.qk_norm_scores, lambda q, k, gain: gain * q @ k.T, "largest difference"),
]


@pytest.mark.parametrize(("grader", "answer"), RIGHT)
def test_the_right_answer_passes(grader, answer):
    assert grader(answer)


@pytest.mark.parametrize(("grader", "answer", "said"), WRONG)
def test_the_mistake_is_named(grader, answer, said):
    verdict = grader(answer)
    assert not verdict
    assert said in verdict.message
