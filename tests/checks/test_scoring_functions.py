"""The graders of "Score every pair": right answers in many styles, and what wrong ones hear."""

import math

import numpy as np
import pytest
import torch

from attention_lib import AdditiveScore, gaussian_scores, scaled_dot_scores
from attention_lib.checks import scoring_functions as check
from tests.checks.tables import judged


def test_crossing_of_the_circle_scores_as_long_does():
    crossing = 2 + math.sqrt(5)
    keys = torch.tensor([[3.0, 2.0], [crossing, 0.0]], dtype=torch.float64)
    scores = gaussian_scores(torch.tensor([[2.0, 0.0]], dtype=torch.float64), keys)
    torch.testing.assert_close(scores[0, 0], scores[0, 1])
    assert check.crossing_of_the_circle(crossing)


# Scaled dot products.


def by_loops(queries, keys):
    scores = torch.empty(len(queries), queries.shape[1], keys.shape[1], dtype=queries.dtype)
    for b in range(len(queries)):
        for i, q in enumerate(queries[b]):
            for j, k in enumerate(keys[b]):
                scores[b, i, j] = (q * k).sum() / len(q) ** 0.5
    return scores


def by_sums(queries, keys):
    return (queries[:, :, None] * keys[:, None]).sum(dim=-1) / np.sqrt(queries.shape[-1])


def by_bmm(queries, keys):
    return torch.bmm(queries, keys.transpose(1, 2)) * queries.size(-1) ** -0.5


def by_einsum(queries, keys):
    root = torch.tensor(float(queries.shape[-1])).sqrt()
    return torch.einsum("bqd,bkd->bqk", queries / root, keys)


def over(divisor):
    return lambda q, k: q @ k.mT / divisor(q, k)


SCALED = [
    (over(lambda q, k: 1), "not divided by the square root"),
    (over(lambda q, k: q.shape[-1]), "by d_k, not by its square root"),
    (over(lambda q, k: q.shape[-1] ** -0.5), "multiplied by the square root"),
    (over(lambda q, k: k.shape[1] ** 0.5), "root of the number of keys"),
    (over(lambda q, k: q.shape[1] ** 0.5), "root of the number of queries"),
    (over(lambda q, k: -(q.shape[-1] ** 0.5)), "a minus sign too many"),
    (lambda q, k: by_bmm(q, k).mT, "transposed"),
    (lambda q, k: by_bmm(k, q), "transposed"),
    (lambda q, k: by_bmm(q, k).softmax(-1), "these are the weights"),
    (lambda q, k: torch.einsum("bqd,bkd->bq", q, k) / q.shape[-1] ** 0.5, "of all keys are added"),
    (lambda q, k: q[:, :, None] * k[:, None] / q.shape[-1] ** 0.5, "not summed"),
    (lambda q, k: by_sums(q.mT, k.mT), "expected shape (1, 1, 3), got (1, 2, 2)"),
    (lambda q, k: by_bmm(q.mT, k.mT), "raised RuntimeError"),
    (lambda q, k: q @ k / q.shape[-1] ** 0.5, "the keys are not transposed"),
    (lambda q, k: torch.cosine_similarity(q[:, :, None], k[:, None], dim=-1), "the cosine"),
    (gaussian_scores, "the Gaussian's score"),
    (lambda q, k: by_bmm(q, k).abs(), "query 0, key "),
    (lambda q, k: by_bmm(q, k).round(), "query 0, key "),
    (lambda q, k: by_bmm(q.mul_(2), k), "changed its input"),
]


# The Gaussian by a product.


def half_squares(vectors):
    return (vectors * vectors).sum(dim=-1) / 2


def by_product(queries, keys):
    return queries @ keys.mT - half_squares(keys).unsqueeze(-2)


def one_coordinate_more(queries, keys):
    queries = torch.cat([queries, torch.ones_like(queries[..., :1])], dim=-1)
    keys = torch.cat([keys, -half_squares(keys).unsqueeze(-1)], dim=-1)
    return queries @ keys.mT


def two_coordinates_more(queries, keys):
    half_q, half_k = (half_squares(x).unsqueeze(-1) for x in (queries, keys))
    ones_q, ones_k = torch.ones_like(half_q), torch.ones_like(half_k)
    longer_q = torch.cat([queries, -ones_q, -half_q], dim=-1)
    return longer_q @ torch.cat([keys, half_k, ones_k], dim=-1).mT


def expanded(queries, keys):
    return by_product(queries, keys) - half_squares(queries).unsqueeze(-1)


def by_baddbmm(queries, keys):
    return torch.baddbmm(-half_squares(keys).unsqueeze(1), queries, keys.mT)


def sentence_by_sentence(queries, keys):
    return torch.stack([by_product(*pair) for pair in zip(queries, keys, strict=True)])


def query_by_query(queries, keys):
    rows = [(keys @ q.unsqueeze(-1)).squeeze(-1) - half_squares(keys) for q in queries.unbind(1)]
    return torch.stack(rows, dim=1)


def by_cdist(queries, keys):
    return -torch.cdist(queries, keys).square() / 2


def differences(queries, keys):
    return -half_squares(queries.unsqueeze(-2) - keys.unsqueeze(-3))


def negated_in_a_sum(queries, keys):
    return -half_squares(queries.unsqueeze(-2) + (-keys).unsqueeze(-3))


def loop_over_columns(queries, keys):
    columns = zip(queries.unbind(-1), keys.unbind(-1), strict=True)
    return sum(-0.5 * (q.unsqueeze(-1) - k.unsqueeze(-2)) ** 2 for q, k in columns)


def loop_of_differences(queries, keys):
    return torch.stack([-half_squares(q.unsqueeze(1) - keys) for q in queries.unbind(1)], dim=1)


def loop_over_keys(queries, keys):
    return torch.stack([-half_squares(queries - k.unsqueeze(1)) for k in keys.unbind(1)], dim=-1)


def loop_over_pairs(queries, keys):
    rows = [[-half_squares(q - k) for k in keys.unbind(1)] for q in queries.unbind(1)]
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=1)


def through_numpy(queries, keys):
    gaps = queries.numpy()[..., :, None, :] - keys.numpy()[..., None, :, :]
    return -torch.from_numpy((gaps**2).sum(-1)) / 2


def less(penalty):
    return lambda q, k: q @ k.mT - penalty(k.square().sum(-1)).unsqueeze(-2)


def doubling_the_keys(queries, keys):
    scores = by_product(queries, keys)
    keys *= 2
    return scores


GAUSSIAN = [
    (loop_of_differences, "one tensor after another"),
    (loop_over_keys, "one tensor after another"),
    (loop_over_columns, "one tensor after another"),
    (loop_over_pairs, "one tensor after another"),
    (through_numpy, "leaves PyTorch through .numpy()"),
    (differences, "in a tensor of 41354 numbers"),
    (negated_in_a_sum, "in a tensor of 41354 numbers"),
    (lambda q, k: q @ k.mT, "the dot product's weights"),
    (lambda q, k: q @ k.mT - half_squares(q).unsqueeze(-1), "the dot product's weights"),
    (scaled_dot_scores, "scaled dot product's weights"),
    (less(lambda squares: squares), "the whole squared length"),
    (less(lambda squares: -squares / 2), "is added"),
    (less(lambda squares: squares.sqrt() / 2), "half the length is subtracted"),
    (less(lambda squares: squares.sqrt()), "the length is subtracted"),
    (less(lambda squares: squares / 4), "a quarter"),
    (lambda q, k: 2 * expanded(q, k), "the 1/2 is missing"),
    (lambda q, k: -expanded(q, k), "the sign is turned"),
    (lambda q, k: -torch.cdist(q, k), "the distance is not squared"),
    (lambda q, k: expanded(q, k) / q.shape[-1] ** 0.5, "divided by the root of d_k"),
    (lambda q, k: q @ k.mT - half_squares(k), "unsqueeze(-2)"),
    (lambda q, k: q @ k.mT - half_squares(k).unsqueeze(-1), "They belong along the last one"),
    (lambda q, k: by_product(q, k).mT, "have changed places"),
    (lambda q, k: by_product(q, k)[..., :1], "expected shape"),
    (doubling_the_keys, "changed its input"),
    (torch.tensor([1.0]), "a function is expected"),
]


# Additive scores in little memory.


def features(queries, keys, W_q, W_k):
    return (queries @ W_q.mT)[:, :, None] + (keys @ W_k.mT)[:, None]


def all_at_once(queries, keys, W_q, W_k, w_v):
    return torch.tanh(features(queries, keys, W_q, W_k)) @ w_v


def additive_of_products(queries, keys, W_q, W_k, w_v):
    keys = keys @ W_k.mT
    return torch.stack([(q[:, None] * keys).tanh() @ w_v for q in (queries @ W_q.mT).unbind(1)], 1)


def additive_by_queries(queries, keys, W_q, W_k, w_v):
    rows = [all_at_once(row, keys, W_q, W_k, w_v) for row in queries.split(1, dim=1)]
    return torch.cat(rows, dim=1)


def additive_by_keys(queries, keys, *matrices):
    return torch.cat([all_at_once(queries, key, *matrices) for key in keys.split(1, dim=1)], dim=-1)


def unit_by_unit(queries, keys, W_q, W_k, w_v):
    hidden = zip((queries @ W_q.T).unbind(-1), (keys @ W_k.T).unbind(-1), w_v, strict=True)
    return sum(w * torch.tanh(u.unsqueeze(-1) + v.unsqueeze(-2)) for u, v, w in hidden)


def pair_by_pair(queries, keys, W_q, W_k, w_v):
    asked, offered = queries @ W_q.T, keys @ W_k.T
    scores = queries.new_zeros(len(queries), queries.shape[1], keys.shape[1])
    for i in range(queries.shape[1]):
        for j in range(keys.shape[1]):
            scores[:, i, j] = torch.tanh(asked[:, i] + offered[:, j]) @ w_v
    return scores


def one_sequence_at_a_time(queries, keys, *matrices):
    pairs = zip(queries.split(1), keys.split(1), strict=True)
    return torch.cat([all_at_once(*pair, *matrices) for pair in pairs])


def additive_through_numpy(*arguments):
    queries, keys, W_q, W_k, w_v = (x.numpy() for x in arguments)
    hidden = np.tanh((queries @ W_q.T)[:, :, None] + (keys @ W_k.T)[:, None])
    return torch.from_numpy(hidden @ w_v)


def additive_through_lists(queries, keys, W_q, W_k, w_v):
    hidden = torch.tensor(queries.tolist(), dtype=queries.dtype)
    return unit_by_unit(hidden, keys, W_q, W_k, w_v)


def tanh_of_each_side(queries, keys, W_q, W_k, w_v):
    rows = torch.tanh(queries @ W_q.T) @ w_v  # (batch, len_q)
    columns = torch.tanh(keys @ W_k.T) @ w_v  # (batch, len_k)
    return rows[:, :, None] + columns[:, None, :]


def writes_into_w_v(queries, keys, W_q, W_k, w_v):
    scores = unit_by_unit(queries, keys, W_q, W_k, w_v)
    w_v.zero_()
    return scores


def varied(change):
    """Right scores of changed arguments."""
    return lambda *arguments: unit_by_unit(*change(*arguments))


ADDITIVE = [
    (additive_through_numpy, "leaves PyTorch through .numpy()"),
    (additive_through_lists, "leaves PyTorch through .tolist()"),
    (all_at_once, "a tensor of 770 numbers is made; 154 are enough"),
    (one_sequence_at_a_time, "a tensor of 385 numbers"),
    (lambda q, k, W_q, W_k, w_v: features(q, k, W_q, W_k) @ w_v, "the tanh is missing"),
    (lambda q, k, W_q, W_k, w_v: (features(q, k, W_q, W_k) @ w_v).tanh(), "comes after w_v"),
    (lambda q, k, W_q, W_k, w_v: features(q, k, W_q, W_k).tanh().sum(-1), "w_v is not used"),
    (lambda q, k, W_q, W_k, w_v: features(q, k, W_q, W_k).tanh().mean(-1), "query 0, key 0"),
    (lambda q, k, W_q, W_k, w_v: features(q, k, W_q, W_k).sigmoid() @ w_v, "sigmoid stands"),
    (lambda q, k, W_q, W_k, w_v: features(q, k, W_q, W_k).relu() @ w_v, "relu stands"),
    (tanh_of_each_side, "of each side alone"),
    (additive_of_products, "they are added"),
    (varied(lambda q, k, W_q, W_k, w_v: (q, k, W_q, W_k, -w_v)), "the wrong sign"),
    (varied(lambda q, k, W_q, W_k, w_v: (q, k, W_q, -W_k, w_v)), "subtracted inside the tanh"),
    (varied(lambda q, k, W_q, W_k, w_v: (q, k, W_q, 0 * W_k, w_v)), "the key's part is missing"),
    (varied(lambda q, k, W_q, W_k, w_v: (0 * q, k, W_q, W_k, w_v)), "the query's part is missing"),
    (varied(lambda q, k, W_q, W_k, w_v: (q, k, W_q, W_k, w_v / len(w_v))), "the mean of the"),
    (varied(lambda q, k, W_q, W_k, w_v: (q, k, W_q, W_k, w_v / len(w_v) ** 0.5)), "not scaled"),
    (varied(lambda q, k, W_q, W_k, w_v: (q, k, W_k, W_q, w_v)), "W_q and W_k have changed"),
    (lambda *arguments: unit_by_unit(*arguments).softmax(-1), "these are the weights"),
    (lambda *arguments: unit_by_unit(*arguments).mT, "transposed"),
    (writes_into_w_v, "changed its input"),
    (None, "a function is expected"),
]


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


def test_what_watches_leaves_no_trace():
    check.gaussian_by_product(through_numpy)
    assert torch.ones(2).numpy().sum() == 2
    assert torch.ones(2).tolist() == [1, 1]
    assert "numpy" not in vars(torch.Tensor)


def test_the_reference_is_the_librarys_score():
    layer = AdditiveScore(d_q=3, d_k=2, num_hiddens=11)
    seeded = torch.Generator().manual_seed(1)
    queries, keys = (torch.randn(shape, generator=seeded) for shape in [(2, 7, 3), (2, 5, 2)])
    parameters = (layer.W_q.weight, layer.W_k.weight, layer.w_v.weight[0])
    torch.testing.assert_close(check._additive(queries, keys, *parameters), layer(queries, keys))


test_right, test_wrong = judged(
    [
        *((check.scaled_scores, answer) for answer in (by_loops, by_sums, by_bmm, by_einsum)),
        (check.scaled_scores, scaled_dot_scores),
        (check.gaussian_by_product, by_product),
        (check.gaussian_by_product, one_coordinate_more),
        (check.gaussian_by_product, two_coordinates_more),
        (check.gaussian_by_product, expanded),
        (check.gaussian_by_product, by_baddbmm),
        (check.gaussian_by_product, sentence_by_sentence),
        (check.gaussian_by_product, query_by_query),
        (check.gaussian_by_product, by_cdist),
        (check.frugal_additive_scores, additive_by_queries),
        (check.frugal_additive_scores, additive_by_keys),
        (check.frugal_additive_scores, unit_by_unit),
        (check.frugal_additive_scores, pair_by_pair),
        *((check.crossing_of_the_circle, x) for x in (4.15, 4.236, np.float32(4.3))),
        (check.choice_of_score, "b"),
    ],
    [
        *((check.scaled_scores, *row) for row in SCALED),
        *((check.gaussian_by_product, *row) for row in GAUSSIAN),
        *((check.frugal_additive_scores, *row) for row in ADDITIVE),
        (check.crossing_of_the_circle, 3, "dot product's contour"),
        (check.crossing_of_the_circle, 3.6, "around the origin"),
        (check.crossing_of_the_circle, -0.24, "crossing on the left"),
        (check.crossing_of_the_circle, 2.24, "that is the distance"),
        (check.crossing_of_the_circle, 7, "take its root first"),
        (check.crossing_of_the_circle, 1.0, "too small"),
        (check.crossing_of_the_circle, 9.0, "too large"),
        (check.crossing_of_the_circle, "4.2", "a number is expected"),
        (check.choice_of_score, "a", "equally wide"),
        (check.choice_of_score, "c", "hidden features"),
        (check.choice_of_score, "d", "nothing in it is learned"),
    ],
)
