"""The graders of "One head": the right answer passes, each known mistake is named."""

import pytest
import torch

from attention_lib.checks import one_head as check


def keys_mask(target_ids, source_ids):
    return (source_ids != 0).unsqueeze(-2).expand(-1, target_ids.shape[1], -1)


def queries_mask(target_ids, source_ids):
    return (target_ids != 0).unsqueeze(-1).expand(-1, -1, source_ids.shape[1])


def turned(positions, delta, *, speeds=None, sign=1):
    d_model = positions.shape[-1]
    even = torch.arange(0, d_model, 2, dtype=positions.dtype)
    angle = sign * delta * (10000.0 ** (-even / d_model) if speeds is None else speeds(d_model))
    sin, cos = positions[:, 0::2], positions[:, 1::2]
    moved = [sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()]
    return torch.stack(moved, dim=-1).flatten(-2)


def one_speed(d_model):
    return torch.ones(d_model // 2, dtype=torch.float64)


def half_speeds(d_model):
    return 10000.0 ** (-torch.arange(d_model // 2, dtype=torch.float64) / d_model)


RIGHT = [(check.masked_cells, 10), (check.cross_mask, keys_mask), (check.shifted, turned)]

# grader, wrong answer, what must be said of it
WRONG = [
    (check.masked_cells, 16, "padded queries"),
    (check.masked_cells, 4, "real queries must not"),
    (check.masked_cells, 2, "padded places"),
    (check.masked_cells, 15, "may be attended to"),
    (check.masked_cells, 25, "too large"),
    (check.cross_mask, queries_mask, "queries' padding"),
    (check.cross_mask, lambda target, source: ~keys_mask(target, source), "upside down"),
    (
        check.cross_mask,
        lambda target, source: keys_mask(target, source) & queries_mask(target, source),
        "need no mask",
    ),
    (check.cross_mask, lambda target, source: (source != 0).unsqueeze(1), "spell out the shape"),
    (check.cross_mask, lambda target, source: keys_mask(target, source).int(), "expected dtype"),
    (check.shifted, lambda positions, delta: positions, "nothing is turned"),
    (check.shifted, lambda p, delta: turned(p, delta, speeds=one_speed), "the same speed"),
    (check.shifted, lambda p, delta: turned(p, delta, sign=-1), "backwards"),
    (check.shifted, lambda p, delta: turned(p, delta, speeds=half_speeds), "-2j/d"),
    (check.shifted, lambda p, delta: p.roll(-delta, dims=0), "rolling"),
    (check.shifted, lambda p, delta: p * delta, "largest difference"),
]


@pytest.mark.parametrize(("grader", "answer"), RIGHT)
def test_the_right_answer_passes(grader, answer):
    assert grader(answer)


@pytest.mark.parametrize(("grader", "answer", "said"), WRONG)
def test_the_mistake_is_named(grader, answer, said):
    verdict = grader(answer)
    assert not verdict
    assert said in verdict.message
