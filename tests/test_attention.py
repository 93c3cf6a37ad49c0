"""Attention against a loop that gives each query the keys it may see and no others."""

import copy
import itertools
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention_lib import (
    AdditiveAttention,
    Attention,
    BilinearScore,
    DotProductAttention,
    MultiHeadAttention,
    alibi_bias,
    causal_mask,
    cosine_scores,
    cost,
    dot_scores,
    gaussian_scores,
    masked_softmax,
    rotary_scores,
    scaled_dot_product_attention,
    scaled_dot_scores,
)
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
SPOILT = [(NAN, 0.0), (0.0, NAN), (INF, -INF), (LARGEST, LARGEST)]  # keys, values


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


@pytest.mark.parametrize("mask", [None, booleans((LEN_Q, LEN_K), seed=3, share=0.5)])
def test_scores_that_somebody_keeps_are_not_written_into(mask):
    table = numbers(BATCH, LEN_Q, LEN_K, seed=4)
    kept = table.clone()
    Attention(partial(lambda table, queries, keys: table, table))(*drawn(), mask=mask)
    assert torch.equal(table, kept)


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
def test_a_query_that_sees_nothing_gets_zero(dtype, name, need_weights):
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
@pytest.mark.parametrize(("in_keys", "in_values"), SPOILT)
@pytest.mark.parametrize("where", POISONED)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_masked_numbers_reach_nothing(name, where, in_keys, in_values, need_weights):
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
def test_a_nan_query_that_sees_nothing_reaches_nothing(name, which, need_weights):
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
def test_a_visible_nan_sends_no_gradient_back(need_weights):
    tensors = [x.detach().clone() for x in drawn()]
    tensors[2][0, -1, 1] = NAN
    tensors = [x.requires_grad_() for x in tensors]
    output, _ = attend("function", tensors, None, causal_mask(LEN_Q, LEN_K), need_weights)
    gradients = torch.autograd.grad(output.sum(), tensors)
    assert all(x.isfinite().all() for x in gradients) and not gradients[0][0, -1].any()


@pytest.mark.parametrize("need_weights", [True, False])
def test_finite_float16_padding_of_any_size_changes_nothing(need_weights):
    """In a layer, too: there the projection of the padding overflows."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(64, 4).half()
    for attention, parameters in ((scaled_dot_product_attention, []), (layer, layer.parameters())):
        parameters, results = list(parameters), []
        for size in (1.0, 3e4, 65504.0):
            queries, keys = (numbers(2, 5, 64, seed=seed, dtype=torch.float16) for seed in (3, 4))
            keys[0, 3:] = size
            given = queries.requires_grad_(), keys.requires_grad_()
            output, _ = attention(
                queries, keys, keys, torch.tensor([3, 5]), need_weights=need_weights
            )
            results.append([output, *torch.autograd.grad(output.sum(), [*given, *parameters])])
        for found in results[1:]:
            for ours, expected in zip(found, results[0], strict=True):
                assert_close(ours, expected)


def test_a_visible_nan_costs_the_kernel_no_more_memory(kernel_calls):
    """The kernel still does the work, and no tensor of all pairs is made for each head."""
    queries, keys, values = (numbers(2, 4, 512, 3) for _ in range(3))
    values[0, 0, 0, 0] = NAN
    peak = cost.peak_bytes(fused, queries, keys, values, torch.tensor([400, 512]))
    assert len(kernel_calls) == 1 and peak < 2 * 4 * 512 * 512  # a byte a pair would be more


def fused(queries, keys, values, valid_lens):
    return scaled_dot_product_attention(queries, keys, values, valid_lens, need_weights=False)[0]


def test_a_second_derivative_without_weights_is_refused_in_words():
    tensors = drawn()
    output = fused(*tensors, torch.tensor([3, 7]))
    with pytest.raises(RuntimeError, match="need_weights: expected True for a second derivative"):
        torch.autograd.grad(output.sum(), tensors, create_graph=True)


POSITIONS = {
    "rotary": lambda q, k: rotary_scores(q, k),
    "rotary of another base": partial(rotary_scores, base=100.0),
    "ALiBi": lambda q, k: scaled_dot_scores(q, k) + alibi_bias(1, q.shape[-2], k.shape[-2])[0],
}


@pytest.mark.parametrize("name", POSITIONS)
def test_a_score_that_knows_positions_is_shown_all_keys(name):
    """Those behind the longest length, too; and in a layer whose inner attention has the score."""
    queries, keys, values = inputs((BATCH, LEN_Q, 4), (BATCH, LEN_K, 4), (BATCH, LEN_K, 4))
    lens, score = torch.tensor([3, 3]), POSITIONS[name]
    _, weights = Attention(score)(queries, keys, values, lens)
    assert_close(weights, masked_softmax(score(queries, keys), lens))
    layer = MultiHeadAttention(4, 1).double()
    layer.attention = Attention(score)
    projected = layer.W_q(queries), layer.W_k(keys)
    _, weights = layer(queries, keys, values, lens)
    assert_close(weights[:, 0], masked_softmax(score(*projected), lens))


def test_a_score_may_say_that_it_knows_no_positions():
    lengths = []

    def score(queries, keys):
        lengths.append(keys.shape[-2])
        return dot_scores(queries, keys)

    for knows in (True, False):
        score.knows_positions = knows
        Attention(score)(*drawn(), torch.tensor([3, 3]))
    assert lengths == [LEN_K, 3]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("visibility", ["all", "lengths", "causal"])
def test_each_head_of_the_keys_may_serve_several_of_the_queries(visibility, need_weights):
    queries, keys, values = inputs((2, 6, LEN_Q, D), (2, 3, LEN_K, D), (2, 3, LEN_K, D_V))
    valid_lens, mask = VISIBILITY[visibility]
    repeated = [x.repeat_interleave(2, dim=1) for x in (keys, values)]
    for attention in (scaled_dot_product_attention, Attention(gaussian_scores)):
        found, expected = (
            attention(queries, *others, valid_lens, mask=mask, need_weights=need_weights)
            for others in ((keys, values), repeated)
        )
        assert_close(found[0], expected[0])
        assert not need_weights or error(found[1], expected[1]) < 1e-10


HABITS = {
    "is_causal": (True, "mask=causal_mask"),
    "attn_mask": (torch.ones(LEN_Q, LEN_K), "goes to mask="),
    "key_padding_mask": (torch.ones(BATCH, LEN_K, dtype=torch.bool), "valid_lens="),
    "valid_len": (torch.tensor([3, 7]), "expected an argument among"),
}


@pytest.mark.parametrize("habit", HABITS)
def test_pytorchs_arguments_are_answered_with_ours(habit):
    value, hint = HABITS[habit]
    for attention in (
        scaled_dot_product_attention,
        Attention(dot_scores),
        MultiHeadAttention(D, 1),
    ):
        with pytest.raises(TypeError, match=f"{habit}: expected an argument") as refused:
            attention(*drawn(), **{habit: value})
        assert hint in str(refused.value)


def test_a_mask_to_be_added_is_refused_in_words():
    with pytest.raises(TypeError, match=r"mask: expected booleans .* is written \(tensor == 0\)"):
        scaled_dot_product_attention(*drawn(), mask=torch.zeros(LEN_Q, LEN_K))


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


def test_a_slice_of_a_causal_buffer_is_known_to_be_causal(kernel_calls):
    """The most common idiom, ``self.mask[:length, :length]``; a slice elsewhere is not causal."""
    buffer = torch.ones(9, 9, dtype=torch.bool).tril()
    x = inputs(*[(BATCH, LEN_Q, D)] * 3)
    for mask in (buffer[:LEN_Q, :LEN_Q], buffer.view(1, 9, 9)[:, :LEN_Q, :LEN_Q], buffer[2:7, 2:7]):
        scaled_dot_product_attention(*x, mask=mask, need_weights=False)
    for mask in (buffer[1:6, :LEN_Q], buffer[:LEN_Q, 1:6], buffer.T[:LEN_Q, :LEN_Q]):
        scaled_dot_product_attention(*x, mask=mask, need_weights=False)
    assert [call["is_causal"] for call in kernel_calls] == [True] * 3 + [False] * 3
    buffer[0, 1] = True
    scaled_dot_product_attention(*x, mask=buffer[:LEN_Q, :LEN_Q], need_weights=False)
    assert not kernel_calls[-1]["is_causal"]


@pytest.mark.parametrize("visibility", ["all", "lengths", "causal", "no key for one sequence"])
@pytest.mark.parametrize("name", FUSED)
def test_without_weights_the_kernel_does_the_work(name, visibility, kernel_calls):
    attend(name, drawn(), *VISIBILITY[visibility], need_weights=True)
    assert not kernel_calls
    attend(name, drawn(), *VISIBILITY[visibility], need_weights=False)
    assert len(kernel_calls) == 1


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


def within_reach(queries, keys):
    """Score as a kernel of bounded support."""
    distances = (queries.unsqueeze(-2) - keys.unsqueeze(-3)).abs().sum(dim=-1)
    return (-distances).masked_fill(distances > 3.5, -INF)


def test_a_score_of_minus_infinity_is_no_overflow():
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


def test_a_score_that_overflows_for_a_query_that_sees_nothing():
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
