"""Attention against a loop that gives each query the keys it may see and no others."""

import copy
import itertools
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad

from attention_lib import (
    AdditiveAttention,
    Attention,
    BilinearScore,
    DotProductAttention,
    causal_mask,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    masked_softmax,
    scaled_dot_product_attention,
    scaled_dot_scores,
)
from attention_lib._nonfinite import attend_without_looking
from tests.strategies import (
    DTYPES,
    INF,
    NAN,
    assert_blames,
    assert_close,
    attend_by_loop,
    booleans,
    error,
    inputs,
    name_of,
    numbers,
    refusals,
    visible_by_loop,
)

# Every axis a different prime, so that no transpose can hide.
BATCH, LEN_Q, LEN_K, D, D_V, HIDDEN = 2, 5, 7, 3, 11, 13


def seeded(module):
    for seed, parameter in enumerate(module.parameters()):
        parameter.data = numbers(*parameter.shape, seed=seed + 20)
    return module


# name -> (attention, its score for the loop); the first three have a fused kernel
ATTENTIONS = {
    "function": (scaled_dot_product_attention, scaled_dot_scores),
    "dot product": (DotProductAttention(), scaled_dot_scores),
    "dot product, scale 0.3": (
        DotProductAttention(scale=0.3),
        lambda q, k: scaled_dot_scores(q, k, 0.3),
    ),
    "gaussian": (Attention(gaussian_scores), gaussian_scores),
    "cosine": (Attention(cosine_scores), cosine_scores),
    "bilinear": (Attention(seeded(BilinearScore(D, D))), seeded(BilinearScore(D, D))),
    "additive": (
        seeded(AdditiveAttention(D, D, HIDDEN)),
        seeded(AdditiveAttention(D, D, HIDDEN)).score,
    ),
}
FUSED = ("function", "dot product", "dot product, scale 0.3")

# name -> valid_lens, mask; the last three leave a query nothing to attend to
VISIBILITY = {
    "all": (None, None),
    "lengths": (torch.tensor([3, 7]), None),
    "lengths per query": (torch.tensor([[1, 2, 3, 5, 7], [7, 6, 5, 4, 1]]), None),
    "causal": (None, causal_mask(LEN_Q, LEN_K)),
    "lengths and causal": (torch.tensor([3, 7]), causal_mask(LEN_Q, LEN_K)),
    "a mask for each sequence": (None, booleans((BATCH, 1, LEN_K), seed=2, share=0.6)),
    "no key for one sequence": (torch.tensor([0, 7]), None),
    "no key for some queries": (torch.tensor([[0, 2, 0, 5, 7], [7, 0, 5, 4, 1]]), None),
    "no key in both": (torch.tensor([3, 7]), torch.arange(LEN_K) >= 3),
}


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
STRANGE = [(NAN, 0.0), (0.0, NAN), (INF, -INF), (-INF, INF), (LARGEST, LARGEST)]  # keys, values


def attend(name, tensors, valid_lens, mask, need_weights=True):
    return ATTENTIONS[name][0](*tensors, valid_lens, mask=mask, need_weights=need_weights)


def parameters(name):
    attention = ATTENTIONS[name][0]
    return list(attention.parameters()) if isinstance(attention, nn.Module) else []


def drawn(dtype=torch.float64):
    return inputs((BATCH, LEN_Q, D), (BATCH, LEN_K, D), (BATCH, LEN_K, D_V), dtype=dtype)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("visibility", VISIBILITY)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_equals_the_loop(name, visibility, need_weights):
    """Output, weights and the gradient of every input, on both paths."""
    valid_lens, mask = VISIBILITY[visibility]
    tensors = drawn()
    visible = visible_by_loop((BATCH, LEN_Q, LEN_K), valid_lens, mask)
    expected, expected_weights = attend_by_loop(ATTENTIONS[name][1], *tensors, visible)
    upstream = numbers(*expected.shape, seed=9)
    expected_gradients = torch.autograd.grad(expected, tensors, upstream)

    output, weights = attend(name, tensors, valid_lens, mask, need_weights)
    gradients = torch.autograd.grad(output, tensors, upstream)
    assert_close(output, expected)
    for gradient, expected_gradient in zip(gradients, expected_gradients, strict=True):
        assert_close(gradient, expected_gradient)
    if need_weights:
        assert_close(weights, expected_weights)
        assert not weights[~visible].any()
    else:
        assert weights is None


@pytest.mark.parametrize("need_weights", [True, False])
def test_queries_and_keys_of_different_widths(need_weights):
    attention = seeded(AdditiveAttention(D + 1, D, HIDDEN))
    tensors = inputs((BATCH, LEN_Q, D + 1), (BATCH, LEN_K, D), (BATCH, LEN_K, D_V))
    expected, _ = attend_by_loop(
        attention.score, *tensors, visible_by_loop((BATCH, LEN_Q, LEN_K), torch.tensor([3, 7]))
    )
    found, _ = attention(*tensors, torch.tensor([3, 7]), need_weights=need_weights)
    assert_close(found, expected)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize(
    "leading",
    [((), (), ()), ((2, 3), (1, 3), (2, 1)), ((2, 1, 3), (1, 2, 1), (3,)), ((3,), (), (2, 1))],
    ids=str,
)
def test_leading_axes_broadcast(leading, need_weights):
    """None, two and three of them, some of length 1, some left out; a mask of each rank."""
    ends, upstream = ((LEN_Q, D), (LEN_K, D), (LEN_K, D_V)), numbers(LEN_Q, D_V, seed=9)
    tensors = inputs(*((*first, *last) for first, last in zip(leading, ends, strict=True)))
    shape = (*torch.broadcast_shapes(*leading), LEN_Q, LEN_K)
    masks = [booleans(shape[i:], seed=i, share=0.6) for i in range(len(shape))]
    masks += [None, booleans((*(1 for _ in shape[2:]), *shape[-2:]), seed=7, share=0.6)]
    lengths = [None] + [torch.arange(1, 1 + shape[0])] * (len(shape) > 2)
    for mask, lens in itertools.product(masks, lengths):
        visible = visible_by_loop(shape, lens, mask)
        expected, expected_weights = attend_by_loop(scaled_dot_scores, *tensors, visible)
        output, weights = attend("function", tensors, lens, mask, need_weights)
        assert_close(output, expected)
        assert weights is None or error(weights, expected_weights) < 1e-10
        for found, gradient in zip(
            torch.autograd.grad((output * upstream).sum(), tensors),
            torch.autograd.grad((expected * upstream).sum(), tensors),
            strict=True,
        ):
            assert_close(found, gradient)


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_layer_has_the_scale_it_was_made_with_and_drops_nothing_unless_told(need_weights):
    tensors = drawn()
    for scale in (None, 0.3):
        expected = scaled_dot_product_attention(*tensors, scale=scale)[0]
        layer = DotProductAttention(scale=scale).train()
        assert_close(layer(*tensors, need_weights=need_weights)[0], expected)
    layer = AdditiveAttention(D, D, HIDDEN).double().train()
    assert_close(*(layer(*tensors, need_weights=flag)[0] for flag in (True, need_weights)), 1e-12)


def count_from_the_last_key(queries, keys):
    """A score of places alone, which changes by more than a constant where keys are cut off."""
    places = torch.arange(keys.shape[-2], 0, -1, dtype=keys.dtype)
    return (1 / places).expand(*queries.shape[:-1], -1)


def test_a_score_that_counts_from_the_last_key_is_shown_all_of_them():
    """Lengths that are all alike: the only case in which the dot product sees fewer keys."""
    queries, keys, values = drawn()
    lens = torch.tensor([3, 3])
    scores = count_from_the_last_key(queries, keys)
    _, weights = Attention(count_from_the_last_key)(queries, keys, values, lens)
    assert_close(weights, masked_softmax(scores, lens))


@pytest.mark.parametrize("heads", [(), (2,)])
def test_keys_that_were_cut_off_get_their_weight_back(heads):
    """As many queries as keys, and more keys than are seen: the axes must not be taken for each
    other."""
    tensors = inputs(*[(BATCH, *heads, LEN_K, D)] * 3)
    for lens in (torch.tensor([3, 3]), torch.tensor([0, 0])):
        _, weights = scaled_dot_product_attention(*tensors, lens)
        assert weights.shape == (BATCH, *heads, LEN_K, LEN_K)
        assert not weights[..., int(lens[0]) :].any()


@pytest.mark.parametrize("mask", [None, booleans((LEN_Q, LEN_K), seed=3, share=0.5)])
def test_scores_that_somebody_keeps_are_not_written_into(mask):
    table = numbers(BATCH, LEN_Q, LEN_K, seed=4)
    kept = table.clone()
    Attention(partial(lambda table, queries, keys: table, table))(*drawn(), mask=mask)
    assert torch.equal(table, kept)


def test_weights_without_a_mask_have_gradients():
    tensors = drawn()
    _, weights = scaled_dot_product_attention(*tensors)
    expected = torch.softmax(scaled_dot_scores(*tensors[:2]), dim=-1)
    for found, gradient in zip(
        torch.autograd.grad(weights[..., 0].sum(), tensors[:2]),
        torch.autograd.grad(expected[..., 0].sum(), tensors[:2]),
        strict=True,
    ):
        assert_close(found, gradient)


def test_by_hand():
    """Two keys, scores 0 and ln 3: weights 1/4 and 3/4."""
    queries = torch.tensor([[2.0]])
    keys = torch.tensor([[0.0], [torch.tensor(3.0).log().item() / 2]])
    values = torch.tensor([[8.0, 0.0], [0.0, 8.0]])
    for need_weights in (True, False):
        output, weights = scaled_dot_product_attention(
            queries, keys, values, need_weights=need_weights
        )
        assert_close(output, torch.tensor([[2.0, 6.0]]), 1e-6)
    output, weights = scaled_dot_product_attention(queries, keys, values, scale=2.0)
    assert_close(weights, torch.tensor([[0.1, 0.9]]), 1e-6)  # ln 9
    output, weights = scaled_dot_product_attention(queries, keys, values, scale=0)
    assert weights.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", ATTENTIONS)
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_a_query_with_nothing_to_attend_to(dtype, name, need_weights):
    """Weights 0, output 0 and gradient 0; no NaN on the way, which anomaly mode would raise."""
    attention = copy.deepcopy(ATTENTIONS[name][0])
    if isinstance(attention, nn.Module):
        attention.to(dtype)
    tensors = drawn(dtype)
    queries, keys, values = tensors
    lens = torch.tensor([[0] * LEN_Q, [7, 0, 5, 4, 1]])
    for valid_lens, mask in ((lens, None), (None, lens.unsqueeze(-1) > torch.arange(LEN_K))):
        for x in tensors:
            x.grad = None
        with torch.autograd.set_detect_anomaly(True):
            output, weights = attention(*tensors, valid_lens, mask=mask, need_weights=need_weights)
            (output * numbers(*output.shape, seed=9, dtype=dtype)).sum().backward()
        assert output.dtype == dtype
        assert not output[0].any() and not output[1, 1].any()
        assert output[1, [0, 2, 3, 4]].all() and output.isfinite().all()
        assert not queries.grad[0].any() and not queries.grad[1, 1].any()
        assert not keys.grad[0].any() and not values.grad[0].any()
        assert values.grad[1].any()
        assert all(x.grad.isfinite().all() for x in tensors)
        if need_weights:
            assert weights.dtype == dtype
            assert not weights[0].any() and not weights[1, 1].any()


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize(("in_keys", "in_values"), STRANGE)
@pytest.mark.parametrize("where", POISONED)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_what_stands_at_a_masked_position(name, where, in_keys, in_values, need_weights):
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
def test_huge_numbers_at_a_masked_position(dtype, share_of_largest, need_weights):
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
def test_scores_of_finite_numbers_overflow(name, share_of_largest, dtype, need_weights):
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


@pytest.mark.parametrize("seen_by", [(BATCH, LEN_Q, LEN_K), (BATCH, 1, LEN_K), (1, 1)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_in_a_graph_that_knows_no_numbers(dtype, seen_by):
    """NaN for those who may see what is not finite, or has no square: for nobody else."""
    mask, given = booleans(seen_by, seed=4, share=0.6), [x.detach() for x in drawn(dtype)]
    clean = [x.clone() for x in given]
    root = torch.tensor(torch.finfo(dtype).max, dtype=dtype)
    root = root if dtype == torch.float16 else root.sqrt() * 0.99
    given[1][0, 0, 2] = clean[1][0, 0, 2] = -root  # the largest that may stand
    given[1][0, 3, 1], given[1][1, 6, 0], given[2][1, 2, 0] = NAN, INF, 2 * root
    clean[1][0, 3], clean[1][1, 6], clean[1][1, 2] = 0, 0, 0  # whole vectors count as 0
    clean[2][0, 3], clean[2][1, 6], clean[2][1, 2] = 0, 0, 0
    visible = mask.expand(BATCH, LEN_Q, LEN_K)
    hit = torch.stack([visible[0, :, 3], visible[1, :, 2] | visible[1, :, 6]])

    def attend(queries, keys, values):
        return (queries.double() @ keys.double().mT).tanh().to(dtype) @ values

    for x in (*given, *clean):
        x.requires_grad_()
    output, expected = attend_without_looking(attend, *given, mask), attend(*clean)
    assert output[hit].isnan().all() and torch.equal(output[~hit], expected[~hit])
    for upstream in (~hit, torch.ones_like(hit)):  # asked for by the clean alone, by everybody
        gradients = [
            torch.autograd.grad(
                y, x, upstream.unsqueeze(-1).expand_as(y).to(dtype), retain_graph=True
            )
            for y, x in ((output, given), (expected, clean))
        ]
        kept = [x.isfinite().all() for x in gradients[0]]
        assert all(kept) if not (upstream & hit).any() else not any(kept)
    assert torch.equal(gradients[0][0][~hit], gradients[1][0][~hit])


def test_in_a_graph_that_knows_no_numbers_the_largest_of_float16_may_stand():
    """A number beyond it is infinity; in keys and in values."""
    largest = torch.full((1, 1, 1), torch.finfo(torch.float16).max, dtype=torch.float16)
    mask = torch.ones(1, 1, dtype=torch.bool)
    for bigger, expected in ((largest, largest), (2 * largest, torch.full_like(largest, NAN))):
        for tensors in ((bigger, largest), (largest, bigger)):
            output = attend_without_looking(lambda q, k, v: largest, largest, *tensors, mask)
            assert output.equal(expected) or (output.isnan() & expected.isnan()).all()


def test_padding_costs_one_call_of_the_score():
    """However many of its keys hold NaN; a key that a query may see costs one more."""
    calls = []

    def counted(queries, keys):
        calls.append(keys.shape)
        return dot_scores(queries, keys)

    queries, keys, values = (x.detach().clone() for x in drawn())
    keys[0, 3:] = values[0, 3:] = NAN
    Attention(counted)(queries, keys, values, torch.tensor([3, 7]))
    assert calls == [(BATCH, LEN_K, D)]
    keys[1, 2] = NAN
    Attention(counted)(queries, keys, values, torch.tensor([3, 7]))
    assert calls[1:] == [(BATCH, LEN_K, D)] * 2


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_visible_nan_is_seen(name, need_weights):
    """In exactly the outputs of the queries that may look there, and in their gradients."""
    mask = causal_mask(LEN_Q, LEN_K)
    clean = torch.tensor([True] * 4 + [False])  # only the last query sees the last key
    for which in ("keys", "values"):
        tensors = [x.detach().clone() for x in drawn()]
        tensors[1 if which == "keys" else 2][0, -1, 1] = NAN
        for x in tensors:
            x.requires_grad_()
        output, weights = attend(name, tensors, None, mask, need_weights)
        assert output[1].isfinite().all() and output[0, clean].isfinite().all()
        if which == "keys":
            assert output[0, -1].isnan().all()
        else:
            assert output[0, -1].isnan().tolist() == [i == 1 for i in range(D_V)]
        if need_weights:
            assert weights[0, -1].isnan().all() == (which == "keys")
            assert weights[0, :-1].isfinite().all() and weights[1].isfinite().all()
        gradients = torch.autograd.grad(output.sum(), tensors)
        assert gradients[0][0, -1].isnan().all(), "hidden from the query that saw it"
        assert gradients[0][0, :-1].isfinite().all()
        assert all(gradient[1].isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_visible_infinity_is_seen_for_what_it_is(need_weights):
    """+inf and -inf in the values, and a NaN beside them that only others may see."""
    queries, keys, values = (x.detach().clone() for x in drawn())
    values[0, 0, 0], values[0, 1, 1], values[0, 2] = INF, -INF, NAN
    mask = torch.ones(BATCH, LEN_Q, LEN_K, dtype=torch.bool)
    mask[:, :-1, 2] = False  # the last query sees the NaN
    output, _ = scaled_dot_product_attention(
        queries, keys, values, mask=mask, need_weights=need_weights
    )
    assert (output[0, :-1, 0] == INF).all() and (output[0, :-1, 1] == -INF).all()
    assert output[0, :-1, 2:].isfinite().all() and output[0, -1].isnan().all()


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_visible_key_of_minus_infinity_gets_no_weight(need_weights):
    """Its score is -inf for a positive query: a score like any other, exp(-inf) = 0."""
    queries, keys, values = torch.ones(1, 1, 1), torch.zeros(1, 3, 1), torch.ones(1, 3, 2)
    keys[0, 0], keys[0, 2] = -INF, NAN
    values[0, 0] = 9.0
    output, weights = scaled_dot_product_attention(
        queries, keys, values, torch.tensor([2]), need_weights=need_weights
    )
    assert output.tolist() == [[[1.0, 1.0]]]
    assert weights is None or weights.tolist() == [[[0.0, 1.0, 0.0]]]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_nan_query_with_nothing_to_attend_to(name, need_weights):
    """As a padded query: it gets 0, and its NaN reaches no gradient."""
    lens = torch.tensor([[7, 0, 3, 2, 1], [7, 7, 7, 0, 0]])
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
def test_a_visible_nan_query_is_seen(need_weights):
    queries, keys, values = (x.detach().clone() for x in drawn())
    queries[0, 2, 1] = NAN
    tensors = [x.requires_grad_() for x in (queries, keys, values)]
    output, _ = scaled_dot_product_attention(
        *tensors, torch.tensor([3, 7]), need_weights=need_weights
    )
    rows = output.isnan().all(dim=-1)
    assert rows[0, 2] and rows.sum() == 1 and output.isnan().sum() == D_V
    gradients = torch.autograd.grad(output[~rows].sum(), tensors)
    assert all(gradient.isfinite().all() for gradient in gradients), "the others asked for none"


@pytest.mark.parametrize("name", ATTENTIONS)
@pytest.mark.parametrize("need_weights", [True, False])
def test_nothing_given_is_changed(name, need_weights):
    """Leaves, views of another tensor, the lengths and the mask; with and without NaN."""
    base = numbers(BATCH, LEN_K, D + D_V)
    lens, mask = torch.tensor([0, 5]), causal_mask(LEN_Q, LEN_K)
    for strange in (0.0, NAN):
        base[1, -1] = strange
        leaf = numbers(BATCH, LEN_Q, D).requires_grad_()
        before = [x.clone() for x in (base, leaf.detach(), lens, mask)]
        output, _ = attend(name, (leaf, base[..., :D], base[..., D:]), lens, mask, need_weights)
        output.sum().backward()
        for x, was in zip((base, leaf.detach(), lens, mask), before, strict=True):
            assert torch.equal(x.nan_to_num(), was.nan_to_num())


def test_what_the_module_says_of_itself():
    """Its scale where one is given."""
    assert repr(DotProductAttention()).startswith("DotProductAttention(\n  (dropout)")
    assert repr(DotProductAttention(scale=0.3)).startswith("DotProductAttention(\n  scale=0.3\n")


@pytest.mark.parametrize("name", ["dot product", "bilinear", "additive"])
def test_nothing_is_stored_on_the_module(name):
    attention = ATTENTIONS[name][0]
    before = {key: set(vars(module)) for key, module in attention.named_modules()}
    attend(name, drawn(), torch.tensor([0, 5]), None)
    for key, module in attention.named_modules():
        assert set(vars(module)) == before[key]
        kept = [value for value in vars(module).values() if isinstance(value, torch.Tensor)]
        assert not kept and not module._buffers


DROPPING = {
    "dot product": lambda p: DotProductAttention(dropout=p),
    "gaussian": lambda p: Attention(gaussian_scores, dropout=p),
    "additive": lambda p: seeded(AdditiveAttention(D, D, HIDDEN, dropout=p)),
}


@pytest.mark.parametrize("poisoned", [False, True])
@pytest.mark.parametrize("name", DROPPING)
def test_weights_are_those_before_dropout(name, poisoned):
    """The output is that of dropped weights, each 0 or scaled up; the returned row sums to 1."""
    tensors = [x.detach() for x in drawn()]
    tensors[2] = torch.eye(LEN_K, dtype=torch.float64).expand(BATCH, -1, -1).clone()
    if poisoned:
        tensors[2][:, 5:] = NAN
    lens = torch.tensor([5, 0])
    attention = DROPPING[name](0.5)
    torch.manual_seed(0)
    output, weights = attention(*tensors, lens)
    assert_close(weights[0].sum(dim=-1), torch.ones(LEN_Q).double(), 1e-12)
    assert not weights[1].any() and not output[1].any()
    assert_close(weights, attention.eval()(*tensors, lens)[1], 1e-12)
    dropped = output == 0
    assert_close(torch.where(dropped, 0.0, 2 * weights), output, 1e-12)
    assert 0 < dropped[0, :, :5].sum() < 5 * LEN_Q


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", DROPPING)
def test_dropout_acts_in_training_only(name, need_weights):
    tensors = [x.detach() for x in drawn()]
    arguments = {"valid_lens": torch.tensor([5, 7]), "need_weights": need_weights}
    attention, without = DROPPING[name](0.5), DROPPING[name](0.0)
    expected = without(*tensors, **arguments)[0]
    assert_close(attention.eval()(*tensors, **arguments)[0], expected, 1e-12)
    attention.train()
    torch.manual_seed(0)
    first, second = (attention(*tensors, **arguments)[0] for _ in range(2))
    assert (first - expected).abs().max() > 0.01 and (first - second).abs().max() > 0.01
    assert_close(DROPPING[name](1.0)(*tensors, **arguments)[0], torch.zeros_like(expected), 0)


def test_a_gradient_with_a_graph_of_its_own_knows_what_was_dropped():
    """Against PyTorch's kernel, which draws the same weights to drop from the same seed."""

    def derivatives(attend, queries, keys, values):
        torch.manual_seed(1)
        output = attend(queries, keys, values)
        first = torch.autograd.grad(output.sum(), values, create_graph=True)[0]
        return output, first, *torch.autograd.grad(first.square().sum(), (queries, keys))

    layer, kernel = DotProductAttention(0.5), partial(F.scaled_dot_product_attention, dropout_p=0.5)
    found = derivatives(lambda *tensors: layer(*tensors, need_weights=False)[0], *drawn())
    for ours, theirs in zip(found, derivatives(kernel, *drawn()), strict=True):
        assert_close(ours, theirs, 1e-12)


@pytest.fixture
def kernel_calls(monkeypatch):
    """Count the calls of PyTorch's kernel."""
    calls, kernel = [], F.scaled_dot_product_attention

    def counted(*tensors, **options):
        calls.append(options | {"shapes": [tuple(x.shape) for x in tensors]})
        return kernel(*tensors, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    return calls


def test_the_kernel_is_shown_no_row_with_nothing_to_attend_to(kernel_calls):
    """What it makes of one has changed from version to version: NaN, a mean, or 0."""
    lens = torch.tensor([[0, 2, 0, 5, 7], [7, 0, 5, 4, 1]])
    scaled_dot_product_attention(*drawn(), lens, need_weights=False)
    assert kernel_calls[0]["attn_mask"].any(dim=-1).all()


def test_the_kernel_is_told_of_a_causal_mask_and_not_shown_it(kernel_calls):
    """Some of PyTorch's kernels refuse to be given both."""
    scaled_dot_product_attention(
        *inputs(*[(BATCH, LEN_Q, D)] * 3), mask=causal_mask(LEN_Q), need_weights=False
    )
    assert kernel_calls[0]["is_causal"] and kernel_calls[0]["attn_mask"] is None


@pytest.mark.parametrize(
    "leading", [((), ()), ((2,), ()), ((2, 3), (3,)), ((3, 3), (3,)), ((2, 1, 3), (5, 1))], ids=str
)
def test_the_kernel_is_shown_two_leading_axes(leading, kernel_calls):
    """The form in which it is fastest; lengths of 3, which a leading axis may have too."""
    queries, others = ((*axes, 3, D) for axes in leading)
    scaled_dot_product_attention(*inputs(queries, others, others), need_weights=False)
    batch, heads, *_ = kernel_calls[0]["shapes"][0]
    assert kernel_calls[0]["shapes"] == [(batch, heads, 3, D)] * 3
    assert batch * heads == torch.empty(torch.broadcast_shapes(*leading)).numel()


@pytest.mark.parametrize("visibility", ["all", "lengths", "causal", "no key for one sequence"])
@pytest.mark.parametrize("name", FUSED)
def test_without_weights_the_kernel_does_the_work(name, visibility, kernel_calls):
    attend(name, drawn(), *VISIBILITY[visibility], need_weights=True)
    assert not kernel_calls
    attend(name, drawn(), *VISIBILITY[visibility], need_weights=False)
    assert len(kernel_calls) == 1


@pytest.mark.parametrize("which", [0, 1, 2], ids=["queries", "keys", "values"])
def test_nan_that_nobody_sees_leaves_the_work_to_the_kernel(which, kernel_calls):
    """And NaN that a query may see takes it away: the kernel would spread it."""
    tensors = [x.detach().clone() for x in drawn()]
    lens = torch.tensor([[3, 0, 2, 1, 3], [7, 7, 7, 7, 7]])
    tensors[which][0, 1 if which == 0 else slice(3, None)] = NAN
    scaled_dot_product_attention(*tensors, lens, need_weights=False)
    assert len(kernel_calls) == 1
    tensors[which][0, 0] = NAN
    scaled_dot_product_attention(*tensors, lens, need_weights=False)
    assert len(kernel_calls) == 1


def test_the_kernel_drops_in_training_only(kernel_calls):
    attention = DotProductAttention(dropout=0.25)
    attention(*drawn(), need_weights=False)
    attention.eval()(*drawn(), need_weights=False)
    assert [call["dropout_p"] for call in kernel_calls] == [0.25, 0.0]


def test_other_scores_never_call_the_kernel(kernel_calls):
    for name in ATTENTIONS.keys() - FUSED:
        attend(name, drawn(), None, None, need_weights=False)
    assert not kernel_calls


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", ATTENTIONS)
@pytest.mark.parametrize(
    ("batch", "len_q", "len_k", "d_v"), [(2, 5, 0, 3), (0, 5, 7, 3), (2, 0, 7, 3), (2, 5, 7, 0)]
)
def test_axes_of_length_zero(name, batch, len_q, len_k, d_v, need_weights):
    """Nothing to attend to gives 0; nothing to compute gives nothing."""
    tensors = inputs((batch, len_q, D), (batch, len_k, D), (batch, len_k, d_v))
    for valid_lens, mask in (
        (None, None),
        (torch.zeros(batch, dtype=torch.int64), None),
        (None, torch.ones(len_q, len_k, dtype=torch.bool)),
    ):
        output, weights = attend(name, tensors, valid_lens, mask, need_weights)
        assert output.shape == (batch, len_q, d_v)
        assert len_k or not output.any()
        assert weights is None or weights.shape == (batch, len_q, len_k)
        gradients = torch.autograd.grad(output.sum(), tensors, allow_unused=True)
        assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_autocast(name, need_weights):
    """Close to full precision, with and without a mask, forward and backward, dtypes mixed."""
    attention = copy.deepcopy(ATTENTIONS[name][0])
    if isinstance(attention, nn.Module):
        attention.float()
    tensors = drawn(torch.float32)
    for valid_lens in (None, torch.tensor([0, 5])):
        for strange in (0.0, NAN) if valid_lens is not None else (0.0,):
            given = [x.detach().clone() for x in tensors]
            given[1][1, 5:] = given[2][1, 5:] = strange
            expected = attention(*given, valid_lens)[0]
            for cast in (given[0], given[0].bfloat16()):
                queries = cast.clone().requires_grad_()
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    output, _ = attention(
                        queries, *given[1:], valid_lens, need_weights=need_weights
                    )
                output.float().sum().backward()
                assert_close(output.float(), expected, 0.05)
                assert queries.grad.isfinite().all()


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_gradients_with_a_fully_masked_row(name, need_weights):
    """Analytic against numeric, of inputs and parameters; the kernel's own too."""
    lens = torch.tensor([[0, 2, 3], [7, 0, 1]])
    tensors = inputs((BATCH, 3, D), (BATCH, LEN_K, D), (1, LEN_K, 2))

    def run(queries, keys, values, *_):
        output, weights = ATTENTIONS[name][0](
            queries, keys, values, lens, need_weights=need_weights
        )
        return output if weights is None else (output, weights)

    given = (*tensors, *parameters(name))
    assert torch.autograd.gradcheck(run, given)
    if need_weights or name not in FUSED:  # the fused kernels have no second derivative
        assert torch.autograd.gradgradcheck(run, given)


def test_gradients_around_a_masked_nan():
    """The path that goes around NaN has the derivatives of the one that does not."""
    lens = torch.tensor([[0, 2, 3], [5, 0, 1]])
    queries, keys, values = inputs((BATCH, 3, D), (BATCH, LEN_K, D), (BATCH, LEN_K, 2))
    at = torch.arange(LEN_K).unsqueeze(-1) >= torch.tensor([[[3]], [[5]]])

    def run(queries, keys, values):
        keys, values = keys.masked_fill(at, NAN), values.masked_fill(at, NAN)
        return scaled_dot_product_attention(queries, keys, values, lens)

    assert torch.autograd.gradcheck(run, (queries, keys, values))
    assert torch.autograd.gradgradcheck(run, (queries, keys, values))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's, of its own parts
@pytest.mark.parametrize("pace", [0.0, 1.0, -2.5])
def test_forward_mode_around_a_visible_nan(pace):
    """Its slope is NaN where the number is, unless nothing moves; the others keep theirs."""
    slopes = []
    for strange in (0.0, NAN):
        queries, keys, values = (x.detach().clone() for x in drawn())
        values[0, -1, 1] = strange
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(queries, torch.full_like(queries, pace))
            output, _ = scaled_dot_product_attention(
                dual, keys, values, mask=causal_mask(LEN_Q, LEN_K)
            )
            output, slope = forward_ad.unpack_dual(output)
        slopes.append(slope)
    hit = output.isnan()
    assert hit.nonzero().tolist() == [[0, LEN_Q - 1, 1]]
    assert slopes[1][hit].isnan().all() if pace else not slopes[1].any()
    assert_close(slopes[1][~hit], slopes[0][~hit])


def test_any_function_of_two_vectors_is_a_score():
    def negative_city_block(queries, keys):
        return -(queries.unsqueeze(-2) - keys.unsqueeze(-3)).abs().sum(dim=-1)

    tensors = drawn()
    output, weights = Attention(negative_city_block)(*tensors, torch.tensor([3, 7]))
    visible = visible_by_loop((BATCH, LEN_Q, LEN_K), torch.tensor([3, 7]))
    expected, expected_weights = attend_by_loop(negative_city_block, *tensors, visible)
    assert_close(output, expected)
    assert_close(weights, expected_weights)


def within_reach(queries, keys):
    """Score as a kernel of bounded support."""
    distances = (queries.unsqueeze(-2) - keys.unsqueeze(-3)).abs().sum(dim=-1)
    return (-distances).masked_fill(distances > 3.5, -INF)


def test_a_score_of_minus_infinity_is_a_score():
    """Beside a NaN in the padding it keeps weights and gradient."""
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


def test_a_nan_query_where_zero_is_out_of_reach_of_every_key():
    """What is computed in its place has no weights either: no other query hears of it."""
    queries, keys, values = (x.detach().clone() for x in drawn())
    queries, keys = queries + 9, keys + 9
    queries[0, 2] = NAN
    tensors = [x.requires_grad_() for x in (queries, keys, values)]
    output, _ = Attention(within_reach)(*tensors, torch.tensor([5, 7]))
    clean = ~output.isnan().any(dim=-1)
    assert clean[0].tolist() == [True, True, False, True, True] and clean[1].all()
    gradients = torch.autograd.grad(output[clean].sum(), tensors)
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_a_score_that_overflows_on_its_way_in_a_query_with_nothing_to_attend_to():
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


def test_every_score_of_a_query_overflows_to_minus_infinity():
    """Softmax over nothing but -inf is NaN: in this query alone, and in no gradient of another."""
    mask = torch.tensor([[True, True, False], [False, False, True], [True, True, True]])
    results = []
    for big in (1.0, 1e200):
        queries, keys, values = (numbers(1, 3, D, seed=seed) for seed in range(3))
        queries[:, 1], keys[:, 2], queries[:, 2] = big, -big, 0.0
        tensors = [x.requires_grad_() for x in (queries, keys, values)]
        output, weights = scaled_dot_product_attention(*tensors, mask=mask)
        gradients = torch.autograd.grad(output[:, 0].sum() + weights[0, 0, 0], tensors)
        results.append((output[:, [0, 2]], weights[:, [0, 2]], *gradients))
    assert output[:, 1].isnan().all() and weights[0, 1].isnan().tolist() == [False, False, True]
    for found, expected in zip(*reversed(results), strict=True):
        assert_close(found, expected)


def test_the_pieces_compose_to_the_whole():
    queries, keys, values = drawn()
    lens = torch.tensor([3, 7])
    weights = masked_softmax(scaled_dot_scores(queries, keys), lens)
    output, given = scaled_dot_product_attention(queries, keys, values, lens)
    assert torch.equal(given, weights) and torch.equal(output, weights @ values)


q, k, v = torch.ones(2, 3, 4), torch.ones(2, 5, 4), torch.ones(2, 5, 6)

# call, exception, argument that it names (what every attention refuses is in test_arguments.py)
REFUSED = [
    (lambda: Attention("dot"), TypeError, "score"),
    (
        lambda: Attention(lambda q, k: q @ k.mT @ k)(q, k, v),
        ValueError,
        "score",
    ),
    (lambda: Attention(lambda q, k: 1.0)(q, k, v), ValueError, "score"),
    (lambda: Attention(dot_scores, dropout=1.5), ValueError, "dropout"),
    (lambda: DotProductAttention(dropout=-0.1), ValueError, "dropout"),
    (lambda: AdditiveAttention(4, 4, 3, dropout=2), ValueError, "dropout"),
    (
        lambda: DotProductAttention(scale="1")(q, k, v),
        TypeError,
        "scale",
    ),
    (
        lambda: scaled_dot_product_attention(q, k, v, scale=NAN, need_weights=False),
        ValueError,
        "scale",
    ),
    (
        lambda: DotProductAttention()(q, k[..., :3], v, need_weights=False),
        ValueError,
        "keys",
    ),
    (lambda: AdditiveAttention(4, 0, 3), ValueError, "d_k"),
    (
        lambda: AdditiveAttention(4, 3, 3)(q, k, v),
        ValueError,
        "keys",
    ),
    (
        lambda: AdditiveAttention(4, 4, 3).double()(q, k, v),
        TypeError,
        "queries",
    ),
]


@pytest.mark.parametrize(("call", "exception", "argument"), refusals(REFUSED))
def test_refused(call, exception, argument):
    assert_blames(call, exception, argument)
