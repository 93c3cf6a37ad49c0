"""Attention against a loop that gives each query the keys it may see and no others."""

import copy
import itertools
from functools import partial

import pytest
import torch
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
    assert_close,
    attend_by_loop,
    booleans,
    error,
    inputs,
    name_of,
    numbers,
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
def test_attention_equals_a_loop_over_queries(name, visibility, need_weights):
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
@pytest.mark.parametrize("len_k", [LEN_Q, LEN_K, LEN_Q - 2, 1])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_causal_means_the_causal_mask(name, len_k, need_weights):
    """Alone, and with lengths that hide the last keys of all sequences."""
    attention = ATTENTIONS[name][0]
    tensors = inputs((BATCH, LEN_Q, D), (BATCH, len_k, D), (BATCH, len_k, D_V))
    for lens in (None, torch.tensor([1, 1]), torch.tensor([0, len_k])):
        found, expected = (
            attention(*tensors, lens, need_weights=need_weights, **given)
            for given in ({"causal": True}, {"mask": causal_mask(LEN_Q, len_k)})
        )
        assert_close(found[0], expected[0])
        assert not need_weights or error(found[1], expected[1]) < 1e-10


# Lengths, mask, and the keys that no query of their sequence may see, (BATCH, LEN_K)
PADDING = {
    "lengths": (torch.tensor([3, 7]), None, [3, 7]),
    "lengths that leave nothing": (torch.tensor([0, 5]), None, [0, 5]),
    "a mask": (None, torch.arange(LEN_K) < 5, [5, 5]),
    "lengths per query": (torch.tensor([[0, 2, 3, 2, 1], [7, 6, 5, 4, 1]]), None, [3, 7]),
    "lengths and causal": (torch.tensor([2, 7]), causal_mask(LEN_Q, LEN_K), [2, 7]),
}


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("number", [NAN, INF, torch.finfo(torch.float64).max])
@pytest.mark.parametrize("padding", PADDING)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_numbers_in_the_padding_reach_nothing(name, padding, number, need_weights):
    """No output and no gradient, of inputs and of parameters; and they stay where they are."""
    valid_lens, mask, first = PADDING[padding]
    at, results = torch.arange(LEN_K) >= torch.tensor(first).unsqueeze(-1), []
    for fill in (0.0, number):
        tensors = [x.detach().clone() for x in drawn()]
        tensors[1][at], tensors[2][at] = fill, fill
        before = [x.clone() for x in tensors]
        tensors = [x.requires_grad_() for x in tensors]
        with torch.autograd.set_detect_anomaly(True):
            output, weights = attend(name, tensors, valid_lens, mask, need_weights)
            loss = (output * numbers(*output.shape, seed=9)).sum()
            gradients = torch.autograd.grad(loss, (*tensors, *parameters(name)))
        results.append([output, *gradients] + ([weights] if need_weights else []))
        for x, was in zip(tensors, before, strict=True):
            assert torch.equal(x.detach().nan_to_num(), was.nan_to_num()), "changed in place"
    for found, expected in zip(*reversed(results), strict=True):
        assert_close(found, expected)


def test_padding_is_what_no_head_may_see():
    """A key that one head may see counts for it, and its NaN is arithmetic's for the others."""
    queries, keys, values = (x.detach() for x in inputs(*[(1, 2, 3, D)] * 3))
    mask = torch.ones(1, 2, 3, 3, dtype=torch.bool)
    mask[..., 2] = False
    for attention in (scaled_dot_product_attention, Attention(gaussian_scores)):
        expected, _ = attention(queries, keys, values, mask=mask)
        spoiled = keys.clone()
        spoiled[..., 2, :] = NAN
        assert_close(attention(queries, spoiled, values, mask=mask)[0], expected)
        mask[0, 0, 0, 2] = True
        assert attention(queries, spoiled, values, mask=mask)[0][0, 0, 0].isnan().all()
        mask[0, 0, 0, 2] = False


def test_without_weights_the_output_is_the_same_for_large_numbers_in_float16():
    """Scores of 160 000, which float16 cannot hold, and the kernel can."""
    queries = torch.full((1, 2, 2, 4), 400.0, dtype=torch.float16)
    keys = torch.cat([queries[..., :1, :], queries[..., 1:, :] / 8], dim=-2)
    values = numbers(1, 2, 2, 3, dtype=torch.float16)
    for options in ({"scale": 0.25}, {"causal": True}):
        outputs = [
            scaled_dot_product_attention(queries, keys, values, need_weights=need, **options)[0]
            for need in (True, False)
        ]
        assert outputs[0].isfinite().all() and torch.equal(*outputs)


@pytest.mark.parametrize("need_weights", [True, False])
def test_additive_attention_takes_queries_and_keys_of_different_widths(need_weights):
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
def test_attention_does_not_write_into_the_scores(mask):
    table = numbers(BATCH, LEN_Q, LEN_K, seed=4)
    kept = table.clone()
    Attention(partial(lambda table, queries, keys: table, table))(*drawn(), mask=mask)
    assert torch.equal(table, kept)


def test_weights_and_output_of_two_keys_computed_by_hand():
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
def test_a_query_without_visible_keys_gets_zero(dtype, name, need_weights):
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


POSITIONS = {
    "rotary": lambda q, k: rotary_scores(q, k),
    "rotary of another base": partial(rotary_scores, base=100.0),
    "ALiBi": lambda q, k: scaled_dot_scores(q, k) + alibi_bias(1, q.shape[-2], k.shape[-2])[0],
}


@pytest.mark.parametrize("name", POSITIONS)
def test_a_score_that_knows_positions_gets_all_keys(name):
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


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("visibility", ["all", "lengths", "causal"])
def test_one_head_of_keys_serves_several_heads_of_queries(visibility, need_weights):
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


def test_repr_shows_the_scale_if_one_is_given():
    """Its scale where one is given."""
    assert repr(DotProductAttention()).startswith("DotProductAttention(\n  (dropout)")
    assert repr(DotProductAttention(scale=0.3)).startswith("DotProductAttention(\n  scale=0.3\n")


def test_reset_parameters_draws_those_of_the_score():
    attention = AdditiveAttention(D, D, HIDDEN)
    for parameter in attention.parameters():
        parameter.data.fill_(NAN)
    attention.reset_parameters()
    assert all(parameter.isfinite().all() for parameter in attention.parameters())
    Attention(cosine_scores).reset_parameters()  # it has none


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


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", ATTENTIONS)
@pytest.mark.parametrize(
    ("batch", "len_q", "len_k", "d_v"), [(2, 5, 0, 3), (0, 5, 7, 3), (2, 0, 7, 3), (2, 5, 7, 0)]
)
def test_axes_of_length_zero_give_zeros_or_nothing(name, batch, len_q, len_k, d_v, need_weights):
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
def test_autocast_agrees_with_full_precision(name, need_weights):
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
def test_gradients_agree_with_finite_differences(name, need_weights):
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
    if name != "gaussian" and (need_weights or name not in FUSED):  # these have no second one
        assert torch.autograd.gradgradcheck(run, given)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=name_of)
def test_with_weights_half_precision_errs_no_more_than_the_kernel(dtype):
    x = [numbers(2, 4, 64, 32, seed=seed, dtype=dtype) for seed in range(3)]
    exact, _ = scaled_dot_product_attention(*(y.double() for y in x))
    errors = [
        error(scaled_dot_product_attention(*x, need_weights=need_weights)[0], exact)
        for need_weights in (True, False)
    ]
    assert errors[0] <= 1.5 * errors[1]
