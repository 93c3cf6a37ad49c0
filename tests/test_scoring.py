"""Score functions against their formulas, one pair of vectors at a time."""

import copy
import math

import pytest
import torch

from attention_lib import (
    AdditiveScore,
    BilinearScore,
    alibi_bias,
    alibi_slopes,
    causal_mask,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    masked_softmax,
    scaled_dot_scores,
    soft_cap,
)
from tests.strategies import (
    DTYPES,
    INF,
    NAN,
    assert_blames,
    assert_close,
    inputs,
    name_of,
    numbers,
)

# Every axis a different prime, so that no transpose can hide.
LEN_Q, LEN_K, D, D_K, HIDDEN = 3, 5, 7, 11, 13


def bilinear(d_q=D, d_k=D, dtype=torch.float64):
    score = BilinearScore(d_q, d_k).to(dtype)
    score.W.data = numbers(d_q, d_k, seed=7, dtype=dtype)
    return score


def additive(d_q=D, d_k=D, dtype=torch.float64):
    score = AdditiveScore(d_q, d_k, HIDDEN).to(dtype)
    for seed, layer in enumerate((score.W_q, score.W_k, score.w_v)):
        layer.weight.data = numbers(*layer.weight.shape, seed=seed + 7, dtype=dtype) / 2
    return score


def dot(q, k):
    return sum(x * y for x, y in zip(q, k, strict=True))


def additive_formula(score, q, k):
    rows = zip(score.W_q.weight.tolist(), score.W_k.weight.tolist(), strict=True)
    hidden = [math.tanh(dot(row_q, q) + dot(row_k, k)) for row_q, row_k in rows]
    return dot(score.w_v.weight[0].tolist(), hidden)


def length(v):
    return math.sqrt(dot(v, v))


# name -> (score function, the formula for one query and one key in plain Python)
FORMULAS = {
    "dot": (dot_scores, dot),
    "scaled": (scaled_dot_scores, lambda q, k: dot(q, k) / math.sqrt(len(q))),
    "scaled by 0.3": (lambda q, k: scaled_dot_scores(q, k, 0.3), lambda q, k: 0.3 * dot(q, k)),
    "gaussian": (
        gaussian_scores,
        lambda q, k: -sum((x - y) ** 2 for x, y in zip(q, k, strict=True)) / 2,
    ),
    "gaussian of bandwidth 3": (
        lambda q, k: gaussian_scores(q, k, bandwidth=3),
        lambda q, k: -sum((x - y) ** 2 for x, y in zip(q, k, strict=True)) / (2 * 3**2),
    ),
    "cosine": (cosine_scores, lambda q, k: dot(q, k) / (length(q) * length(k))),
    "bilinear": (
        bilinear(),
        lambda q, k: dot(q, [dot(row, k) for row in bilinear().W.tolist()]),
    ),
    "additive": (additive(), lambda q, k: additive_formula(additive(), q, k)),
}


# call, exact scores worked out by hand
BY_HAND = [
    (dot_scores, [[1, 2]], [[3, 4], [-1, 0]], [[11, -1]]),
    (scaled_dot_scores, [[1, 1, 1, 1]], [[1, 2, 3, 4]], [[5]]),
    (lambda q, k: scaled_dot_scores(q, k, scale=-2), [[1, 2]], [[3, 4]], [[-22]]),
    (gaussian_scores, [[0, 0], [3, 4]], [[3, 4]], [[-12.5], [0]]),
    (lambda q, k: gaussian_scores(q, k, bandwidth=0.5), [[0, 0]], [[3, 4]], [[-50]]),
    (cosine_scores, [[3, 4]], [[6, 8], [-30, -40], [4, -3]], [[1, -1, 0]]),
    (cosine_scores, [[0, 0]], [[6, 8], [0, 0]], [[0, 0]]),
]


@pytest.mark.parametrize(("score", "queries", "keys", "expected"), BY_HAND, ids=name_of)
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_scores_computed_by_hand(score, queries, keys, expected, dtype):
    queries, keys, expected = (torch.tensor(x, dtype=dtype) for x in (queries, keys, expected))
    scores = score(queries, keys)
    assert scores.dtype == dtype
    torch.testing.assert_close(scores, expected, rtol=2 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("name", FORMULAS)
def test_scores_agree_with_their_formulas(name):
    score, formula = FORMULAS[name]
    queries, keys = numbers(LEN_Q, D), numbers(LEN_K, D, seed=1)
    expected = [[formula(q, k) for k in keys.tolist()] for q in queries.tolist()]
    assert_close(score(queries, keys), torch.tensor(expected, dtype=torch.float64), 1e-13)


def test_learned_scores_take_queries_and_keys_of_different_widths():
    queries, keys = numbers(LEN_Q, D), numbers(LEN_K, D_K, seed=1)
    rows = bilinear(D, D_K).W.tolist()
    formulas = {
        bilinear(D, D_K): lambda q, k: dot(q, [dot(row, k) for row in rows]),
        additive(D, D_K): lambda q, k: additive_formula(additive(D, D_K), q, k),
    }
    for score, formula in formulas.items():
        expected = [[formula(q, k) for k in keys.tolist()] for q in queries.tolist()]
        assert_close(score(queries, keys), torch.tensor(expected, dtype=torch.float64), 1e-13)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize(
    ("leading_q", "leading_k", "leading"),
    [((2,), (2,), (2,)), ((2, 1), (3,), (2, 3)), ((), (2, 3), (2, 3)), ((1, 3), (2, 1), (2, 3))],
    ids=str,
)
def test_leading_axes_broadcast(name, leading_q, leading_k, leading):
    score = FORMULAS[name][0]
    queries, keys = numbers(*leading_q, LEN_Q, D), numbers(*leading_k, LEN_K, D, seed=1)
    scores = score(queries, keys)
    assert scores.shape == (*leading, LEN_Q, LEN_K)
    queries, keys = queries.expand(*leading, -1, -1), keys.expand(*leading, -1, -1)
    for index in torch.cartesian_prod(*map(torch.arange, leading)).reshape(-1, len(leading)):
        at = tuple(index.tolist())
        assert_close(scores[at], score(queries[at], keys[at]), 1e-13)


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients_agree_with_finite_differences(name):
    queries, keys = inputs((2, LEN_Q, D), (1, LEN_K, D))
    score = FORMULAS[name][0]
    parameters = list(score.parameters()) if isinstance(score, torch.nn.Module) else []

    def run(queries, keys, *parameters):
        return score(queries, keys)

    assert torch.autograd.gradcheck(run, (queries, keys, *parameters))
    if "gaussian" not in name:  # torch.cdist has no second one
        assert torch.autograd.gradgradcheck(run, (queries, keys, *parameters))


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize(("len_q", "len_k"), [(0, LEN_K), (LEN_Q, 0), (0, 0)])
def test_no_queries_or_no_keys_give_no_scores(name, len_q, len_k):
    scores = FORMULAS[name][0](numbers(2, len_q, D), numbers(2, len_k, D))
    assert scores.shape == (2, len_q, len_k)


@pytest.mark.parametrize("name", FORMULAS)
def test_autocast_evens_out_dtypes_that_are_refused_without(name):
    """Mixed dtypes are refused, but where autocast evens them out."""
    score = FORMULAS[name][0]
    queries, keys = numbers(LEN_Q, D), numbers(LEN_K, D, seed=1)
    expected = score(queries, keys)
    score = copy.deepcopy(score).float() if isinstance(score, torch.nn.Module) else score
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_close(score(queries.float(), keys.float()).double(), expected, 0.1)
        assert_close(score(queries.bfloat16(), keys.float()).double(), expected, 0.1)
    assert_blames(lambda: score(queries.float(), keys.bfloat16()), TypeError, "keys")


def test_scaling_comes_before_the_product():
    """In float16 the product, 100 * 100 * 16, overflows; divided by sqrt(16) it does not."""
    x = torch.full((1, 16), 100.0, dtype=torch.float16)
    assert dot_scores(x, x).isinf().all()
    assert scaled_dot_scores(x, x).item() == 40_000


@pytest.mark.parametrize("bandwidth", [1, 2, 0.5])
@pytest.mark.parametrize("length", [1, 40])
def test_gaussian_loses_no_digits_far_from_the_origin(length, bandwidth):
    """|q|^2 + |k|^2 - 2 q.k would give 0 or noise here, and PyTorch takes it for over 25 keys."""
    queries = 10_000 + torch.arange(length).unsqueeze(-1) / 8
    exact = gaussian_scores(queries.double(), queries.double() + 0.125, bandwidth)
    assert torch.equal(gaussian_scores(queries, queries + 0.125, bandwidth), exact.float())
    assert exact[0, 0].item() == -((0.125 / bandwidth) ** 2) / 2


def test_the_cosine_of_a_vector_too_long_for_float16_with_itself_is_1():
    x = torch.full((1, 4), 40_000.0, dtype=torch.float16)
    assert cosine_scores(x, x).item() == 1.0


def test_cosine_of_a_zero_vector_has_a_finite_gradient():
    queries, keys = torch.zeros(1, D, requires_grad=True), torch.ones(2, D, requires_grad=True)
    cosine_scores(queries, keys).sum().backward()
    assert queries.grad.isfinite().all() and not keys.grad.any()


@pytest.mark.parametrize("score", [bilinear(), additive()], ids=lambda score: type(score).__name__)
def test_reset_parameters_draws_new_parameters(score):
    for parameter in score.parameters():
        parameter.data.fill_(NAN)
    score.reset_parameters()
    assert all(parameter.isfinite().all() for parameter in score.parameters())


def test_a_bilinear_score_says_its_widths():
    assert repr(BilinearScore(3, 5)) == "BilinearScore(d_q=3, d_k=5)"


# --- what is done to scores ------------------------------------------------------------------

# Published: fairseq's transformer with ALiBi, and the paper's section 3.
SLOPES = {
    1: [2**-8],
    4: [2**-2, 2**-4, 2**-6, 2**-8],
    8: [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8],
    12: [2**-i for i in range(1, 9)] + [0.7071, 0.3536, 0.1768, 0.0884],
    16: [2 ** (-i / 2) for i in range(1, 17)],
}


@pytest.mark.parametrize("num_heads", SLOPES)
def test_alibi_slopes_are_those_published(num_heads):
    assert alibi_slopes(num_heads).tolist() == pytest.approx(SLOPES[num_heads], abs=5e-5)


@pytest.mark.parametrize(("len_q", "len_k"), [(5, 5), (1, 4), (3, 7), (4, 2), (0, 3), (3, 0)])
def test_alibi_bias_is_minus_slope_times_distance(len_q, len_k):
    bias = alibi_bias(8, len_q, len_k)
    assert bias.shape == (8, len_q, len_k)
    assert alibi_bias(8, len_q, len_k, device="meta").device.type == "meta"
    assert torch.equal(alibi_bias(8, len_q, len_k, dtype=torch.float16), bias.half())
    for head, slope in enumerate(SLOPES[8]):
        for query in range(len_q):
            for key in range(len_k):
                distance = abs(query + len_k - len_q - key)
                assert bias[head, query, key].item() == -slope * distance


def test_alibi_gives_the_weights_of_its_authors_form():
    """They add slope * j for key j; softmax does not see the difference under a causal mask."""
    scores, slopes = numbers(8, 5, 5), alibi_slopes(8)[:, None, None]
    ours = masked_softmax(scores + alibi_bias(8, 5), mask=causal_mask(5))
    theirs = masked_softmax(scores + slopes * torch.arange(5), mask=causal_mask(5))
    assert_close(ours, theirs, 1e-12)


def test_soft_cap_agrees_with_its_formula():
    scores = torch.tensor([-INF, -60.0, -1e-3, 0.0, 3.0, 50.0, INF], dtype=torch.float64)
    expected = [50 * math.tanh(x / 50) for x in scores.tolist()]
    assert soft_cap(scores, 50).tolist() == pytest.approx(expected, rel=1e-12)
