"""What others have published, measured or proved, in the order in which the book cites it."""

import gc
import math
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention_lib import (
    AdditiveAttention,
    AdditiveScore,
    BilinearScore,
    MultiHeadAttention,
    causal_mask,
    dot_scores,
    entropy,
    gaussian_scores,
    generator,
    masked_softmax,
    sample_scores,
    scaled_dot_product_attention,
    scaled_dot_scores,
    softmax_jacobian,
)
from tests.strategies import assert_close, name_of, numbers

# What PyTorch itself does is stated for this version; ours is the same in all.
THIS_PYTORCH = pytest.mark.skipif(
    not torch.__version__.startswith("2.13."), reason="stated for PyTorch 2.13"
)

SIX_TOKENS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)

# d: mean of the largest weight, of entropy / ln 16 and of the Jacobian's Frobenius norm
UNSCALED = {
    1: (0.211, 0.876, 0.284),
    4: (0.430, 0.633, 0.322),
    16: (0.687, 0.324, 0.276),
    64: (0.850, 0.144, 0.172),
    256: (0.923, 0.070, 0.099),
    1024: (0.960, 0.034, 0.053),
}
SCALED = (0.25, 0.85, 0.305)  # "about", from d = 16 on

# The first whole gap at which half the smallest number of the dtype is no longer reached.
FIRST_GAP_WITHOUT_GRADIENT = {
    torch.float16: 18,
    torch.bfloat16: 93,
    torch.float32: 104,
    torch.float64: 746,
}


# --- multi-head attention on ones --------------------------------------------------------------


@pytest.mark.parametrize("mask", [None, causal_mask(4, 6)], ids=["all", "causal"])
@pytest.mark.parametrize("need_weights", [True, False])
def test_multi_head_attention_on_ones_gives_the_same_row_for_every_query(need_weights, mask):
    """Every output row is W_o W_v 1, whatever W_q, W_k and the mask."""
    torch.manual_seed(0)
    attention = MultiHeadAttention(100, 5, dropout=0.5).eval()
    x, y = torch.ones(2, 4, 100), torch.ones(2, 6, 100)
    output, _ = attention(x, y, y, torch.tensor([3, 2]), mask=mask, need_weights=need_weights)
    row = attention.W_o.weight @ attention.W_v.weight @ torch.ones(100)
    assert output.shape == (2, 4, 100)
    torch.testing.assert_close(output, row.expand(2, 4, 100), rtol=1e-5, atol=1e-5)
    assert row.std() > 0.1, "all rows equal would prove nothing"


def test_multi_head_attention_has_as_many_parameters_as_published():
    def count(module):
        return sum(parameter.numel() for parameter in module.parameters())

    assert count(MultiHeadAttention(100, 5)) == 40_000
    for num_heads in (1, 2, 4, 8):
        theirs = nn.MultiheadAttention(512, num_heads)
        ours = MultiHeadAttention(512, num_heads, bias=True)
        assert count(ours) == count(theirs) == 1_050_624


# --- six tokens, worked out in a book ----------------------------------------------------------


@pytest.mark.parametrize("need_weights", [True, False])
def test_six_tokens_have_the_published_scores_weights_and_output(need_weights):
    scores = dot_scores(SIX_TOKENS, SIX_TOKENS)[1]
    weights = masked_softmax(scores.unsqueeze(0))[0]
    output, given = scaled_dot_product_attention(
        SIX_TOKENS, SIX_TOKENS, SIX_TOKENS, scale=1.0, need_weights=need_weights
    )
    for found, published in (
        (scores, [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]),
        (weights, [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581]),
        (output[1], [0.4419, 0.6515, 0.5683]),
    ):
        torch.testing.assert_close(found, torch.tensor(published), rtol=0, atol=5.01e-5)
    assert given is None or torch.allclose(given[1], weights)


# --- derivatives in closed form ----------------------------------------------------------------


def test_derivative_of_attention_by_the_query_is_a_covariance():
    query, keys, values = numbers(1, 3), numbers(7, 3, seed=1), numbers(7, 5, seed=2)

    def output(query):
        return scaled_dot_product_attention(query, keys, values)[0][0]

    jacobian = torch.autograd.functional.jacobian(output, query)[:, 0]
    weights = scaled_dot_scores(query, keys).softmax(dim=-1)[0]
    covariance = (values - weights @ values).T @ (weights.unsqueeze(-1) * (keys - weights @ keys))
    assert_close(jacobian, covariance / math.sqrt(3), 1e-14)


# --- distance and product ----------------------------------------------------------------------


def test_gaussian_and_dot_scores_give_the_same_weights_if_keys_are_equally_long():
    queries, keys = numbers(5, 3), numbers(7, 3, seed=1)
    equally_long = 2 * keys / keys.norm(dim=-1, keepdim=True)

    def weights(score, keys):
        return masked_softmax(score(queries, keys))

    assert_close(weights(gaussian_scores, equally_long), weights(dot_scores, equally_long), 1e-14)
    difference = weights(gaussian_scores, keys) - weights(dot_scores, keys)
    assert difference.abs().max() > 0.1, "and not when they are not"


# --- saturation --------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "gap"), FIRST_GAP_WITHOUT_GRADIENT.items(), ids=name_of)
def test_gradient_of_softmax_is_exactly_0_from_the_gap_at_which_its_exponential_underflows(
    dtype, gap
):
    """Where exp(-gap) is below half the smallest positive number."""
    smallest = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    assert gap == math.ceil(-math.log(smallest) + math.log(2))
    for distance, expected in ((gap - 1, True), (gap, False)):
        scores = torch.tensor([[distance, 0.0]], dtype=dtype, requires_grad=True)
        masked_softmax(scores)[0, 0].backward()
        assert scores.grad.any() == expected


def statistics_of_saturation(d, scale):
    """Return mean and standard error of the three measures over 4000 rows of 16 keys."""
    scores = sample_scores(d, 16, 4000, scale=scale, generator=generator(d))
    weights = scores.softmax(dim=-1)
    measures = (
        weights.amax(dim=-1),
        entropy(weights) / math.log(16),
        softmax_jacobian(weights).flatten(1).norm(dim=-1),
    )
    return [(x.mean().item(), x.std().item() / math.sqrt(4000)) for x in measures]


@pytest.mark.parametrize("d", UNSCALED)
def test_unscaled_scores_saturate_as_published(d):
    """Both are means of 4000 rows: within four standard errors of their difference."""
    for (mean, error), published in zip(statistics_of_saturation(d, 1.0), UNSCALED[d], strict=True):
        assert abs(mean - published) < 4 * math.sqrt(2) * error + 0.0005


@pytest.mark.parametrize("d", [16, 1024])
def test_scaled_scores_saturate_alike_for_every_width(d):
    for (mean, error), published in zip(statistics_of_saturation(d, d**-0.5), SCALED, strict=True):
        assert abs(mean - published) < 0.005 + 4 * error


# --- PyTorch's own behaviour at the edges -------------------------------------------------------


@THIS_PYTORCH
def test_fully_masked_rows_are_0_here_and_nan_in_the_layer_of_pytorch():
    x, nothing = numbers(1, 3, 4, dtype=torch.float32), torch.zeros(1, 3, dtype=torch.bool)
    assert not F.scaled_dot_product_attention(x, x, x, attn_mask=nothing.unsqueeze(1)).any()
    theirs = nn.MultiheadAttention(4, 2, batch_first=True)
    output, weights = theirs(x, x, x, key_padding_mask=~nothing)
    assert output.isnan().all() and weights.isnan().all()
    with torch.no_grad():
        fast, _ = theirs.eval()(x, x, x, key_padding_mask=~nothing, need_weights=False)
    assert fast.isnan().all()
    ours = MultiHeadAttention.from_torch(theirs)
    for need_weights in (True, False):
        with torch.no_grad():
            output, _ = ours(x, x, x, mask=nothing, need_weights=need_weights)
        assert not output.any()


def test_true_means_attend_here_and_in_pytorchs_function_but_ignore_in_its_layer():
    x = numbers(1, 3, 4, dtype=torch.float32)
    mask = torch.tensor([[True, False, False], [True, False, True], [False, True, True]])
    expected = F.scaled_dot_product_attention(x, x, x, attn_mask=mask)
    torch.testing.assert_close(scaled_dot_product_attention(x, x, x, mask=mask)[0], expected)
    theirs = nn.MultiheadAttention(4, 2, batch_first=True)
    output, _ = MultiHeadAttention.from_torch(theirs)(x, x, x, mask=mask)
    torch.testing.assert_close(output, theirs(x, x, x, attn_mask=~mask)[0], rtol=1e-5, atol=1e-6)
    assert (output - theirs(x, x, x, attn_mask=mask)[0]).abs().max() > 1e-3


def test_causal_mask_is_aligned_lower_right_and_is_causal_of_pytorch_upper_left():
    queries, memory = numbers(1, 2, 3), numbers(1, 5, 3, seed=1)
    theirs = F.scaled_dot_product_attention(queries, memory, memory, is_causal=True)
    assert_close(theirs[:, 0], memory[:, 0], 1e-14)  # the first query sees the first key only
    upper_left = torch.ones(2, 5, dtype=torch.bool).tril()
    assert_close(scaled_dot_product_attention(queries, memory, memory, mask=upper_left)[0], theirs)
    ours, weights = scaled_dot_product_attention(queries, memory, memory, mask=causal_mask(2, 5))
    assert (weights[0] > 0).tolist() == [[True] * 4 + [False], [True] * 5]
    assert_close(ours[:, 1:], scaled_dot_product_attention(queries[:, 1:], memory, memory)[0])


# --- parameters and results -----------------------------------------------------------------------


def test_parameters_exist_before_the_first_batch_and_get_gradients():
    """No lazy layer: an optimiser that is built first trains them all, and a seed fixes them."""
    makers = (
        lambda: BilinearScore(4, 4),
        lambda: AdditiveScore(4, 4, 5),
        lambda: AdditiveAttention(4, 4, 5),
        lambda: MultiHeadAttention(4, 2, bias=True),
    )
    for make in makers:
        torch.manual_seed(0)
        module = make()
        torch.manual_seed(0)
        again = make()
        for ours, other in zip(module.parameters(), again.parameters(), strict=True):
            assert ours.numel() and torch.equal(ours, other)
        queries, keys = (numbers(1, n, 4, seed=n, dtype=torch.float32) for n in (3, 5))
        is_score = isinstance(module, (BilinearScore, AdditiveScore))
        result = module(queries, keys) if is_score else module(queries, keys, keys)[0]
        (result * numbers(*result.shape, dtype=torch.float32)).sum().backward()
        for name, parameter in module.named_parameters():
            if name != "W_k.bias":  # it adds the same to all scores of a query: no gradient
                assert parameter.grad.abs().max() > 1e-6, name


def test_layer_keeps_no_reference_to_the_weights_it_returned():
    attention = MultiHeadAttention(4, 2)
    x = numbers(1, 3, 4, dtype=torch.float32)
    output, weights = attention(x, x, x)
    gone = weakref.ref(weights)
    del output, weights
    gc.collect()
    assert gone() is None
