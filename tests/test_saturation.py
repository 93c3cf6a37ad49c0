"""Jacobian, entropy and sampled scores against what is known of them."""

import math
from functools import partial

import pytest
import torch

from attention_lib import (
    effective_keys,
    entropy,
    masked_softmax,
    sample_scores,
    softmax_jacobian,
)
from attention_lib.notebook import generator
from tests.strategies import DTYPES, assert_close, inputs, name_of, numbers

# weights, entropy, effective number of keys, Jacobian: by hand
BY_HAND = [
    ([1.0, 0.0], 0.0, 1.0, [[0, 0], [0, 0]]),
    ([0.5, 0.5], math.log(2), 2.0, [[0.25, -0.25], [-0.25, 0.25]]),
    (
        [0.5, 0.25, 0.25],
        1.5 * math.log(2),
        2**1.5,
        [[0.25, -0.125, -0.125], [-0.125, 0.1875, -0.0625], [-0.125, -0.0625, 0.1875]],
    ),
]


# call, exception, argument that it names


@pytest.mark.parametrize(("weights", "nats", "keys", "jacobian"), BY_HAND, ids=name_of)
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_jacobian_entropy_and_effective_keys_are_those_computed_by_hand(
    weights, nats, keys, jacobian, dtype
):
    weights, jacobian = torch.tensor(weights, dtype=dtype), torch.tensor(jacobian, dtype=dtype)
    eps = 4 * torch.finfo(dtype).eps
    assert torch.equal(softmax_jacobian(weights), jacobian)
    assert entropy(weights).item() == pytest.approx(nats, abs=eps)
    assert effective_keys(weights).item() == pytest.approx(keys, rel=eps)
    assert entropy(weights).dtype == effective_keys(weights).dtype == dtype


def test_jacobian_is_the_derivative_of_softmax_in_every_row():
    scores = numbers(2, 3, 5)
    jacobian = softmax_jacobian(scores.softmax(dim=-1))
    assert jacobian.shape == (2, 3, 5, 5)
    for i in range(2):
        for j in range(3):
            expected = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), scores[i, j])
            assert_close(jacobian[i, j], expected, 1e-14)


def by_subtraction(weights):
    """The formula as it is written, which loses 1 - p where a weight is nearly 1."""
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


@pytest.mark.parametrize("len_k", [2, 16, 64])
def test_jacobian_is_accurate_for_nearly_one_hot_weights(len_k):
    """Unscaled rows of width 512 in float32, against the derivative in float64."""
    scores = sample_scores(512, len_k, 400, scale=1.0, generator=generator(0))
    true = softmax_jacobian(scores.double().softmax(dim=-1))
    live = (true > 1e-30).any(dim=(-2, -1))  # float32 holds the losers' weights

    def wrong(formula):
        found, expected = formula(scores[live].softmax(dim=-1)).double(), true[live]
        norms = (torch.linalg.matrix_norm(x) for x in (found - expected, expected))
        return torch.div(*norms)

    assert live.sum() > 300
    assert wrong(softmax_jacobian).max() < 1e-4
    assert (wrong(by_subtraction) > 0.1).double().mean() > 0.1


def test_entropy_is_the_sum_of_minus_p_log_p():
    weights = (3 * numbers(2, 7, 5)).softmax(dim=-1)
    keys = effective_keys(weights)
    assert entropy(weights).shape == keys.shape == (2, 7)
    assert (keys > 1).all() and (keys < 5).all()
    assert_close(keys.log(), entropy(weights), 1e-14)
    expected = [[-sum(p * math.log(p) for p in row) for row in rows] for rows in weights.tolist()]
    assert_close(entropy(weights), torch.tensor(expected, dtype=torch.float64), 1e-14)


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_1024_equal_weights_are_1024_effective_keys(dtype):
    assert effective_keys(torch.full((1024,), 1 / 1024, dtype=dtype)).item() == pytest.approx(1024)


def test_first_and_second_derivatives_are_right_and_inputs_stay_unchanged():
    (scores,) = inputs((3, 5))
    before = scores.clone()
    for function in (softmax_jacobian, entropy, effective_keys):
        of_scores = partial(lambda f, x: f(x.softmax(dim=-1)), function)
        assert torch.autograd.gradcheck(of_scores, scores)
        assert torch.autograd.gradgradcheck(of_scores, scores)
    assert torch.equal(scores, before)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # PyTorch's own
@pytest.mark.parametrize("function", [entropy, effective_keys])
def test_keys_of_weight_0_change_no_derivative_of_entropy(function):
    """Masked or too small for the dtype, as if the key were not there: both ways, and twice."""
    few, direction = numbers(2, 1, 3).requires_grad_(), numbers(2, 1, 3, seed=1)

    def of_all(scores):
        far, hidden = torch.full_like(scores[..., :1], -1000.0), torch.ones_like(scores[..., :1])
        mask = torch.tensor([True] * 4 + [False])
        return function(masked_softmax(torch.cat([scores, far, hidden], dim=-1), mask=mask))

    def of_few(scores):
        return function(scores.softmax(dim=-1))

    assert torch.equal(of_all(few), of_few(few))
    for derivative in (
        lambda f: torch.autograd.grad(f(few).sum(), few)[0],
        lambda f: torch.func.jvp(f, (few.detach(),), (direction,))[1],
        lambda f: torch.autograd.functional.hessian(lambda x: f(x).sum(), few),
        lambda f: torch.func.hessian(lambda x: f(x).sum())(few.detach()),
    ):
        assert_close(derivative(of_all), derivative(of_few), 1e-13)


@pytest.mark.parametrize(("d", "scale", "variance"), [(3, 1.0, 3), (64, 1.0, 64), (64, 0.125, 1)])
def test_sampled_scores_have_mean_0_and_variance_d_times_scale_squared(d, scale, variance):
    """Within four standard errors; the fourth moment of q.k is 3 d (d + 2)."""
    rows = 40_000
    scores = sample_scores(d, 3, rows, scale=scale, generator=generator(0)).double()
    assert scores.shape == (rows, 3)
    first = scores[:, 0]  # keys of one row share their query: columns are not independent
    assert abs(first.mean()) < 4 * math.sqrt(variance / rows)
    error = math.sqrt((3 * d * (d + 2) - d**2) * scale**4 / rows)
    assert abs(first.square().mean() - variance) < 4 * error


def test_keys_of_one_row_share_their_query():
    """So their squares are correlated: E[(q.k)^2 (q.l)^2] = E|q|^4 = d (d + 2), not d^2."""
    scores = sample_scores(2, 2, 40_000, scale=1.0, generator=generator(1)).double()
    squares = scores.square()
    assert (squares[:, 0] * squares[:, 1]).mean().item() == pytest.approx(8, abs=1)


def test_sampling_is_repeatable_and_draws_every_row():
    """More numbers than are drawn at once: 2^22 / (64 * 1024) = 64 rows at a time."""
    first, second = (
        sample_scores(1024, 64, 150, scale=1.0, generator=generator(3)) for _ in range(2)
    )
    assert first.shape == (150, 64) and torch.equal(first, second)
    assert len(first[:, 0].unique()) == 150
    other = sample_scores(1024, 64, 150, scale=0.5, generator=generator(3))
    assert torch.equal(other, first / 2)
    state = torch.random.get_rng_state()
    sample_scores(2, 3, 5, scale=1.0, generator=generator(0))
    assert torch.equal(torch.random.get_rng_state(), state)
