"""NaN, infinity and overflow: nothing reaches a query that may not see where they stand."""

import pytest
import torch
from torch import nn

from attention_lib import (
    AdditiveAttention,
    Attention,
    BilinearScore,
    causal_mask,
    dot_scores,
    gaussian_scores,
    scaled_dot_product_attention,
    scaled_dot_scores,
)
from tests.strategies import (
    DTYPES,
    INF,
    NAN,
    assert_close,
    name_of,
    numbers,
    visible_by_loop,
)
from tests.test_attention import (
    ATTENTIONS,
    BATCH,
    D_V,
    LEN_K,
    LEN_Q,
    D,
    attend,
    drawn,
    parameters,
)


def keys_from(*first):
    """Return (BATCH, LEN_K) booleans: the keys of each sequence from ``first`` on."""
    return torch.arange(LEN_K) >= torch.tensor(first).unsqueeze(-1)


# name -> valid_lens, mask, which keys hold NaN, infinity or huge numbers, (BATCH, LEN_K)
POISONED = {
    "padding": (torch.tensor([3, 7]), None, keys_from(3, 7)),
    "padding everywhere": (torch.tensor([0, 5]), None, keys_from(0, 5)),
    "padding by mask": (None, torch.arange(LEN_K) < 5, keys_from(5, 5)),
    "the future": (None, causal_mask(LEN_Q, LEN_K), keys_from(6, 4)),
    "the future and padding": (
        torch.tensor([2, 7]),
        causal_mask(LEN_Q, LEN_K),
        keys_from(2, 5),
    ),
    "lengths per query": (
        torch.tensor([[0, 2, 3, 2, 7], [7, 6, 5, 4, 1]]),
        None,
        keys_from(2, 4),
    ),
    "a key in the middle": (
        None,
        torch.arange(LEN_K) != torch.tensor([3, 3, 2, 3, 9]).unsqueeze(-1),
        torch.arange(LEN_K) == torch.tensor([[3], [2]]),
    ),
}
LARGEST = torch.finfo(torch.float64).max  # finite, but no product with it is
SPOILT = [(NAN, 0.0), (0.0, NAN), (INF, -INF), (LARGEST, LARGEST)]  # keys, values


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize(("in_keys", "in_values"), SPOILT)
@pytest.mark.parametrize("where", POISONED)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_masked_nan_and_infinity_reach_no_output_and_no_gradient(
    name, where, in_keys, in_values, need_weights
):
    """It reaches no output of a query that may not look there, and no gradient of such output."""
    valid_lens, mask, at = POISONED[where]
    visible = visible_by_loop((BATCH, LEN_Q, LEN_K), valid_lens, mask)
    clean = ~(visible & at.unsqueeze(1)).any(dim=-1)  # (BATCH, LEN_Q), sees nothing strange
    upstream = numbers(BATCH, LEN_Q, D_V, seed=8)[clean], numbers(BATCH, LEN_Q, LEN_K)[clean]

    def run(tensors):
        output, weights = attend(name, tensors, valid_lens, mask, need_weights)
        loss = (output[clean] * upstream[0]).sum()
        if need_weights:
            loss = loss + (weights[clean] * upstream[1]).sum()
        with torch.autograd.set_detect_anomaly(True):
            gradients = torch.autograd.grad(loss, (*tensors, *parameters(name)))
        return output, weights, gradients

    tensors = drawn()
    output, weights, gradients = run(tensors)
    poisoned = [x.detach().clone() for x in tensors]
    for x, strange in zip(poisoned[1:], (in_keys, in_values), strict=True):
        x[..., 1][at] = strange
    given = [x.clone() for x in poisoned]
    poisoned = [x.requires_grad_() for x in poisoned]
    got, got_weights, got_gradients = run(poisoned)

    assert_close(got[clean], output[clean])
    if need_weights:
        assert_close(got_weights[clean], weights[clean])
        assert not got_weights[~visible].any()
    for gradient, expected in zip(got_gradients, gradients, strict=True):
        assert_close(gradient, expected)
    for x, before in zip(poisoned, given, strict=True):
        assert torch.equal(x.detach().nan_to_num(), before.nan_to_num()), "changed in place"


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("share_of_largest", [1.0, 0.03])
def test_huge_masked_numbers_change_nothing(dtype, share_of_largest, need_weights):
    """Finite, but their products are not: in every dtype, in keys and in values."""
    lens, huge = torch.tensor([3, 7]), share_of_largest * torch.finfo(dtype).max
    clean = [10 * x.detach() for x in drawn(dtype)]
    poisoned = [x.clone() for x in clean]
    for x in poisoned[1:]:
        x[0, 3:] = huge
    results = []
    for tensors in (clean, poisoned):
        for x in tensors:
            x.requires_grad_()
        output, _ = scaled_dot_product_attention(*tensors, lens, need_weights=need_weights)
        results.append((output, *torch.autograd.grad(100 * output.sum(), tensors)))
    for found, expected in zip(*reversed(results), strict=True):
        assert_close(found, expected)


OVERFLOWING = {
    "function": lambda d: scaled_dot_product_attention,
    "dot": lambda d: Attention(dot_scores),
    "scaled dot": lambda d: Attention(scaled_dot_scores),
    "gaussian": lambda d: Attention(gaussian_scores),
    "bilinear": lambda d: Attention(BilinearScore(d, d)),
    "additive": lambda d: AdditiveAttention(d, d, 3),
}


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=name_of)
@pytest.mark.parametrize("share_of_largest", [1.0, 300 / 65504], ids=["largest", "300"])
@pytest.mark.parametrize("name", OVERFLOWING)
def test_an_overflow_stays_in_its_own_query(name, share_of_largest, dtype, need_weights):
    """In a query that others do not ask for, and with a key that they may not see."""
    torch.manual_seed(0)
    attention, d, huge = OVERFLOWING[name](64), 64, share_of_largest * torch.finfo(dtype).max
    if isinstance(attention, nn.Module):
        attention.to(dtype)
    mask = torch.tensor([[True, True, False], [True, True, True], [False, False, False]])
    results = []
    for big in (1.0, huge):
        tensors = [numbers(1, 3, d, seed=i, dtype=dtype) for i in range(3)]
        tensors[0][:, 1:], tensors[1][:, 2], tensors[2][:, 2] = big, big, big
        for x in tensors:
            x.requires_grad_()
        output, weights = attention(*tensors, mask=mask, need_weights=need_weights)
        assert not output[:, 2].any()
        if need_weights:
            assert not weights[:, ~mask].any(), "a masked key has weight"
        loss = output[:, 0].sum() + (0 if weights is None else weights[0, 0, 0])
        results.append((output[:, 0], *torch.autograd.grad(loss, tensors)))
        assert not any(x[:, 2].any() for x in results[-1][1:]), "the hidden have a gradient"
    for found, expected in zip(*reversed(results), strict=True):
        assert_close(found, expected)


LENGTHS_OF_NOTHING = {
    "some": torch.tensor([[7, 0, 3, 2, 1], [7, 7, 7, 0, 0]]),
    "all": torch.zeros(BATCH, LEN_Q, dtype=torch.int64),
}


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("which", LENGTHS_OF_NOTHING)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_nan_query_without_visible_keys_reaches_no_output_and_no_gradient(
    name, which, need_weights
):
    """As a padded query: it gets 0, and its NaN reaches no gradient; with all keys cut off, too."""
    lens = LENGTHS_OF_NOTHING[which]
    tensors = [x.detach().clone() for x in drawn()]
    tensors[0][lens == 0] = NAN
    for x in tensors:
        x.requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        output, _ = attend(name, tensors, lens, None, need_weights)
        gradients = torch.autograd.grad(output.sum(), (*tensors, *parameters(name)))
    assert output.isfinite().all() and not output[lens == 0].any()
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][lens == 0].any()


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("number", [NAN, INF])
@pytest.mark.parametrize("which", [0, 1, 2], ids=["queries", "keys", "values"])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_query_that_may_see_nan_gets_nan_in_its_own_row_alone(name, which, number, need_weights):
    """Output and weights of all other queries, and every gradient of theirs, are as without it."""
    mask, results = causal_mask(LEN_Q, LEN_K), []
    for put in (0.0, number):
        tensors = [x.detach().clone() for x in drawn()]
        tensors[which][0, -1, 1] = put  # only the last query sees the last key
        for x in tensors:
            x.requires_grad_()
        output, weights = attend(name, tensors, None, mask, need_weights)
        found = [output] if weights is None else [output, weights]
        others = [x.flatten(0, 1)[torch.arange(10) != 4] for x in found]
        loss = sum((x * numbers(*x.shape, seed=9)).sum() for x in others)
        results.append([*others, *torch.autograd.grad(loss, (*tensors, *parameters(name)))])
    assert output[0, -1].isnan().all()
    assert weights is None or weights[0, -1].isnan().all()
    assert sum(x.isnan().any().item() for x in results[1]) == 0
    for found, expected in zip(*reversed(results), strict=True):
        if found.shape != tensors[which].shape:  # there, the spoilt vector itself is another
            assert_close(found, expected)


@pytest.mark.parametrize("need_weights", [True, False])
def test_gradients_of_a_row_with_a_visible_nan_are_0(need_weights):
    tensors = [x.detach().clone() for x in drawn()]
    tensors[2][0, -1, 1] = NAN
    tensors = [x.requires_grad_() for x in tensors]
    output, _ = attend("function", tensors, None, causal_mask(LEN_Q, LEN_K), need_weights)
    gradients = torch.autograd.grad(output.sum(), tensors)
    assert all(x.isfinite().all() for x in gradients) and not gradients[0][0, -1].any()


def within_reach(queries, keys):
    """Score as a kernel of bounded support."""
    distances = (queries.unsqueeze(-2) - keys.unsqueeze(-3)).abs().sum(dim=-1)
    return (-distances).masked_fill(distances > 3.5, -INF)


def test_a_visible_score_of_minus_infinity_gives_weight_0():
    """Beside a NaN in the padding, weights and gradients stay."""
    lens, results = torch.tensor([5, 3]), []
    for strange in (0.0, NAN):
        tensors = [x.detach().clone() for x in drawn()]
        tensors[1][1, 3:] = tensors[2][0, 5:] = strange
        for x in tensors:
            x.requires_grad_()
        output, weights = Attention(within_reach)(*tensors, lens)
        loss = (output * numbers(*output.shape, seed=9)).sum()
        results.append((output, weights, *torch.autograd.grad(loss, tensors)))
    assert (results[0][1][0, :, :5] == 0).any(), "no key is out of reach: nothing is tested"
    for with_zero, with_nan in zip(*results, strict=True):
        assert_close(with_nan, with_zero)


def test_an_overflow_of_a_query_without_visible_keys_reaches_no_gradient():
    """inf / inf in its scores, and 0 * NaN on the way back: in no gradient of the other query."""

    def saturating(queries, keys):
        distances = (queries.unsqueeze(-2) - keys.unsqueeze(-3)).pow(2).sum(dim=-1)
        return -distances / (1 + distances)

    mask, results = torch.tensor([[True, True, True], [False, False, False]]), []
    for big in (1.0, 300.0):
        queries, keys, values = (numbers(1, n, D, seed=n, dtype=torch.float16) for n in (2, 3, 3))
        queries[:, 1] = big
        tensors = [x.requires_grad_() for x in (queries, keys, values)]
        output, weights = Attention(saturating)(*tensors, mask=mask)
        results.append((output, weights, *torch.autograd.grad(output.sum(), tensors)))
    for found, expected in zip(*reversed(results), strict=True):
        assert_close(found, expected)


def test_a_query_whose_scores_are_all_minus_infinity_is_nan_alone():
    """Softmax over nothing but -inf is NaN: in this query alone, and in no gradient of another."""
    mask = torch.tensor([[True, True, False], [False, False, True], [True, True, True]])
    results = []
    for big in (1.0, 300.0):
        queries, keys, values = (numbers(1, 3, D, seed=i, dtype=torch.float16) for i in range(3))
        queries[:, 1], keys[:, 2], queries[:, 2] = big, -big, 0.0
        tensors = [x.requires_grad_() for x in (queries, keys, values)]
        output, weights = scaled_dot_product_attention(*tensors, mask=mask)
        gradients = torch.autograd.grad(output[:, 0].sum() + weights[0, 0, 0], tensors)
        results.append((output[:, [0, 2]], weights[:, [0, 2]], *gradients))
    assert output[:, 1].isnan().all() and weights[0, 1].isnan().tolist() == [False, False, True]
    for found, expected in zip(*reversed(results), strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_number_whose_square_overflows_counts_as_infinite(need_weights):
    """Here one that only the last query of the first sequence may see."""
    tensors = [x.detach() for x in drawn(torch.float32)]
    tensors[1][0, -1] = 1e30
    output, _ = attend("function", tensors, None, causal_mask(LEN_Q, LEN_K), need_weights)
    lost = output.isnan().any(dim=-1)
    assert lost[0, -1] and lost.sum() == 1
