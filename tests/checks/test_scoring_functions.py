"""The graders of "Score every pair": the right answer passes, each known mistake is named."""

import math

import pytest
import torch

from attention_lib import AdditiveScore, gaussian_scores, scaled_dot_scores
from attention_lib.checks import scoring_functions as check


@pytest.mark.parametrize("answer", [4.15, 4.236, 2 + math.sqrt(5), 4.3])
def test_crossing_of_the_circle_accepts_what_can_be_read(answer):
    assert check.crossing_of_the_circle(answer)


def test_crossing_of_the_circle_scores_as_long_does():
    crossing = 2 + math.sqrt(5)
    keys = torch.tensor([[3.0, 2.0], [crossing, 0.0]], dtype=torch.float64)
    scores = gaussian_scores(torch.tensor([[2.0, 0.0]], dtype=torch.float64), keys)
    torch.testing.assert_close(scores[0, 0], scores[0, 1])
    assert check.crossing_of_the_circle(crossing)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (3, "dot product's contour"),
        (3.6, "around the origin"),
        (-0.24, "crossing on the left"),
        (2.24, "that is the distance"),
        (1.0, "too small"),
        (9.0, "too large"),
        ("4.2", "a number is expected"),
    ],
)
def test_crossing_of_the_circle_names_the_mistake(answer, said):
    verdict = check.crossing_of_the_circle(answer)
    assert not verdict
    assert said in verdict.message


def half_squares(vectors):
    return (vectors * vectors).sum(dim=-1) / 2


def by_product(queries, keys):
    return queries @ keys.mT - half_squares(keys).unsqueeze(-2)


def one_coordinate_more(queries, keys):
    queries = torch.cat([queries, torch.ones_like(queries[..., :1])], dim=-1)
    keys = torch.cat([keys, -half_squares(keys).unsqueeze(-1)], dim=-1)
    return queries @ keys.mT


def expanded(queries, keys):
    return by_product(queries, keys) - half_squares(queries).unsqueeze(-1)


def without_the_query(queries, keys):
    return queries @ keys.mT - half_squares(queries).unsqueeze(-1)


def whole_square(queries, keys):
    return by_product(queries, keys) - half_squares(keys).unsqueeze(-2)


def added(queries, keys):
    return queries @ keys.mT + half_squares(keys).unsqueeze(-2)


def not_squared(queries, keys):
    return queries @ keys.mT - keys.norm(dim=-1).unsqueeze(-2) / 2


def differences(queries, keys):
    return -half_squares(queries.unsqueeze(-2) - keys.unsqueeze(-3))


def in_place(queries, keys):
    scores = by_product(queries, keys)
    keys *= 2
    return scores


@pytest.mark.parametrize("answer", [by_product, one_coordinate_more, expanded])
def test_gaussian_by_product_passes(answer):
    assert check.gaussian_by_product(answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda queries, keys: queries @ keys.mT, "dot product's weights"),
        (without_the_query, "dot product's weights"),
        (whole_square, "the whole squared length"),
        (added, "is added"),
        (not_squared, "half the length is subtracted"),
        (differences, "a tensor of 210 numbers; 84 are enough"),
        (gaussian_scores, "a tensor of 210 numbers"),
        (in_place, "changed its input"),
        (scaled_dot_scores, "the largest difference"),
        (lambda queries, keys: queries @ keys.mT - half_squares(keys), "RuntimeError"),
        (lambda queries, keys: by_product(queries, keys)[..., :1], "expected shape"),
        (lambda queries, keys: None, "a tensor is expected"),
        (torch.tensor([1.0]), "a function is expected"),
    ],
)
def test_gaussian_by_product_names_the_mistake(answer, said):
    verdict = check.gaussian_by_product(answer)
    assert not verdict
    assert said in verdict.message


def features(queries, keys, W_q, W_k):
    return (queries @ W_q.mT)[:, :, None] + (keys @ W_k.mT)[:, None]


def all_at_once(queries, keys, W_q, W_k, w_v):
    return torch.tanh(features(queries, keys, W_q, W_k)) @ w_v


def query_by_query(queries, keys, W_q, W_k, w_v):
    rows = [all_at_once(row, keys, W_q, W_k, w_v) for row in queries.split(1, dim=1)]
    return torch.cat(rows, dim=1)


def unit_by_unit(queries, keys, W_q, W_k, w_v):
    hidden = zip((queries @ W_q.T).unbind(-1), (keys @ W_k.T).unbind(-1), w_v, strict=True)
    return sum(w * torch.tanh(u.unsqueeze(-1) + v.unsqueeze(-2)) for u, v, w in hidden)


def one_sequence_at_a_time(queries, keys, *matrices):
    pairs = zip(queries.split(1), keys.split(1), strict=True)
    return torch.cat([all_at_once(*pair, *matrices) for pair in pairs])


def tanh_of_each_side(queries, keys, W_q, W_k, w_v):
    rows = torch.tanh(queries @ W_q.T) @ w_v  # (batch, len_q)
    columns = torch.tanh(keys @ W_k.T) @ w_v  # (batch, len_k)
    return rows[:, :, None] + columns[:, None, :]


def writes_into_w_v(queries, keys, W_q, W_k, w_v):
    scores = query_by_query(queries, keys, W_q, W_k, w_v)
    w_v.zero_()
    return scores


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (lambda x: x + x.sum(), 5),
        (lambda x: torch.outer(x, x).sum(), 25),  # made on the way
        (lambda x: x.expand(100, 5), 5),  # a view takes no memory
        (lambda x: x.expand(100, 5) + 0, 500),
        (lambda x: x.sort(), 5),  # two tensors at once
    ],
)
def test_largest_tensor_is_what_is_held_in_memory(function, numbers):
    assert check.largest_tensor(function, torch.ones(5)) == numbers


def test_the_reference_is_the_librarys_score():
    layer = AdditiveScore(d_q=3, d_k=2, num_hiddens=11)
    seeded = torch.Generator().manual_seed(1)
    queries, keys = (torch.randn(shape, generator=seeded) for shape in [(2, 7, 3), (2, 5, 2)])
    parameters = (layer.W_q.weight, layer.W_k.weight, layer.w_v.weight[0])
    torch.testing.assert_close(check._additive(queries, keys, *parameters), layer(queries, keys))


@pytest.mark.parametrize("answer", [query_by_query, unit_by_unit])
def test_frugal_additive_scores_passes(answer):
    assert check.frugal_additive_scores(answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (all_at_once, "a tensor of 770 numbers; 154 are enough"),
        (one_sequence_at_a_time, "a tensor of 385 numbers"),
        (lambda q, k, W_q, W_k, w_v: features(q, k, W_q, W_k) @ w_v, "the tanh is missing"),
        (lambda q, k, W_q, W_k, w_v: (features(q, k, W_q, W_k) @ w_v).tanh(), "comes after w_v"),
        (lambda q, k, W_q, W_k, w_v: features(q, k, W_q, W_k).tanh().sum(-1), "w_v is not used"),
        (tanh_of_each_side, "of each side alone"),
        (lambda q, k, W_q, W_k, w_v: all_at_once(q, k, W_k, W_q, w_v), "RuntimeError"),
        (lambda q, k, W_q, W_k, w_v: query_by_query(q, k, W_q, W_k, -w_v), "largest difference"),
        (writes_into_w_v, "changed its input"),
        (lambda *arguments: query_by_query(*arguments).mT, "expected shape"),
        (None, "a function is expected"),
    ],
)
def test_frugal_additive_scores_names_the_mistake(answer, said):
    verdict = check.frugal_additive_scores(answer)
    assert not verdict
    assert said in verdict.message
