"""The graders of "Divide by √d": the right answer passes, each known mistake is named."""

import math

import numpy as np
import pytest
import torch

from attention_lib.checks import variance as check
from attention_lib.notebook import generator
from attention_lib.scoring import dot_scores
from tests.checks.tables import judged

# A wrong answer turns all axes; PyTorch says so once a process, in whichever test comes first.
pytestmark = pytest.mark.filterwarnings("ignore:The use of `x.T`:UserWarning")


def divided(divisor):
    return lambda q, k, std: dot_scores(q, k) / divisor(q.shape[-1], std)


def by_loops(queries, keys, std):
    scores = torch.empty(*queries.shape[:-1], keys.shape[-2], dtype=queries.dtype)
    for query in range(queries.shape[-2]):
        for key in range(keys.shape[-2]):
            products = queries[..., query, :] * keys[..., key, :]
            scores[..., query, key] = products.sum(dim=-1)
    return scores / (std * std * math.sqrt(queries.shape[-1]))


# grader -> answers that are right
RIGHT = [
    (check.broken_line, "a"),
    (check.broken_line, "A "),
    (check.typical_score, 16),
    (check.typical_score, 256**0.5),
    (check.typical_score, torch.tensor(256.0).sqrt()),
    (check.typical_score, np.sqrt(256)),
    (check.largest_weights, "a"),
    (check.unit_scores, divided(lambda d, std: std**2 * d**0.5)),
    (check.unit_scores, lambda q, k, std: (q / std) @ (k / std).mT / q.shape[-1] ** 0.5),
    (
        check.unit_scores,
        lambda q, k, std: torch.einsum("...id,...jd->...ij", q, k) / std**2 * q.size(-1) ** -0.5,
    ),
    (check.unit_scores, by_loops),
]

# grader, wrong answer, what must be said of it
WRONG = [
    (check.broken_line, "b", "earlier line"),
    (check.broken_line, "c", "still independent"),
    (check.broken_line, "d", "no assumption"),
    (check.broken_line, 1, "is expected"),
    (check.typical_score, 256, "is the variance"),
    (check.typical_score, 512**0.5, "gap between two"),
    (check.typical_score, 512, "variance of a gap"),
    (check.typical_score, 128, "not half"),
    (check.typical_score, 1, "after division"),
    (check.typical_score, 1 / 16, "not the score"),
    (check.typical_score, 20, "too large"),
    (check.typical_score, -16, "too small"),
    (check.typical_score, float("nan"), "NaN"),
    (check.typical_score, "16", "a number is expected"),
    (check.largest_weights, "b", "largest"),
    (check.largest_weights, "c", "reverse"),
    (check.largest_weights, "d", "variance 1"),
    (check.unit_scores, divided(lambda d, std: 1), "nothing is divided"),
    (check.unit_scores, divided(lambda d, std: d**0.5), "no effect"),
    (check.unit_scores, divided(lambda d, std: std * d**0.5), "not enough"),
    (check.unit_scores, divided(lambda d, std: std**4 * d), "square root"),
    (check.unit_scores, divided(lambda d, std: std**2 * d), "by its square root"),
    (check.unit_scores, divided(lambda d, std: std**2), "not divided by the square root"),
    (check.unit_scores, divided(lambda d, std: std**4 * d**0.5), "is in the variance"),
    (check.unit_scores, divided(lambda d, std: (std * d) ** 0.5), "leave the root"),
    (check.unit_scores, divided(lambda d, std: -(std**2) * d**0.5), "a minus sign"),
    (check.unit_scores, lambda q, k, std: dot_scores(q, k) / (std**2 * len(q) ** 0.5), "queries"),
    (check.unit_scores, lambda q, k, std: dot_scores(k, q) / (std**2 * q.shape[-1] ** 0.5),
        "transposed"),
    (check.unit_scores, lambda q, k, std: dot_scores(q, k) / dot_scores(q, k).std(), "other rows"),
    (check.unit_scores, divided(lambda d, std: std**3), "should be"),
    (check.unit_scores, lambda q, k, std: q @ k.T / (std**2 * q.shape[-1] ** 0.5),
        "turns all axes"),
    (check.unit_scores, lambda q, k, std: q.mul_(0.5) @ k.mT, "changed its input"),
]  # fmt: skip


test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)


def test_the_right_divisor_gives_variance_one():
    """The grader's reference does what the exercise says, for normal numbers."""
    for d, std in ((3, 2.0), (64, 0.5)):
        drawn = torch.randn(2, 200_000, d, generator=generator(d), dtype=torch.float64) * std
        scores = (drawn[0] * drawn[1]).sum(dim=-1) / (std**2 * d**0.5)
        bound = 6 * scores.square().std().item() / len(scores) ** 0.5
        assert bound < 0.05
        assert abs(scores.square().mean() - 1) < bound
