"""Multi-head attention against a loop over its heads, and against PyTorch's module."""

import copy
from functools import partial

import pytest
import torch
from torch import nn

from attention_lib import (
    AddNorm,
    Attention,
    BilinearScore,
    KeyValueCache,
    MultiHeadAttention,
    alibi_bias,
    causal_mask,
    gaussian_scores,
    merge_heads,
    rotary_scores,
    scaled_dot_product_attention,
    scaled_dot_scores,
    split_heads,
)
from attention_lib import rotate_by_position as rotate
from tests.strategies import (
    DTYPES,
    INF,
    NAN,
    assert_close,
    attend_by_loop,
    booleans,
    inputs,
    name_of,
    numbers,
    visible_by_loop,
)

# Every axis a different number, so that no transpose can hide.
BATCH, LEN_Q, LEN_K, HEADS, D_HEAD = 2, 5, 7, 6, 3
D_MODEL = HEADS * D_HEAD

# name -> valid_lens, mask; "per head" masks have four axes
VISIBILITY = {
    "all": (None, None),
    "lengths": (torch.tensor([3, 7]), None),
    "equal lengths": (torch.tensor([3, 3]), None),
    "lengths per query": (torch.tensor([[0, 2, 3, 5, 7], [7, 6, 0, 4, 1]]), None),
    "causal": (None, causal_mask(LEN_Q, LEN_K)),
    "keys": (None, booleans((LEN_K,), seed=3, share=0.6)),
    "lengths and causal": (torch.tensor([0, 7]), causal_mask(LEN_Q, LEN_K)),
    "per sequence": (None, booleans((BATCH, 1, LEN_K), seed=2, share=0.6)),
    "per sequence and query": (None, booleans((BATCH, LEN_Q, LEN_K), seed=2, share=0.6)),
    "per head": (None, booleans((1, HEADS, LEN_Q, LEN_K), seed=1, share=0.6)),
    "per head, all alike": (None, booleans((BATCH, 1, LEN_Q, LEN_K), seed=4, share=0.6)),
    "lengths and per head": (
        torch.tensor([2, 7]),
        booleans((BATCH, HEADS, 1, LEN_K), seed=5, share=0.7),
    ),
}

# num_kv_heads, bias
KINDS = [(None, False), (None, True), (3, True), (1, True)]


def module(num_kv_heads=None, bias=True, dropout=0.0, dtype=torch.float64):
    made = MultiHeadAttention(
        D_MODEL, HEADS, num_kv_heads=num_kv_heads, dropout=dropout, bias=bias
    ).to(dtype)
    for seed, parameter in enumerate(made.parameters()):
        parameter.data = numbers(*parameter.shape, seed=seed + 30, dtype=dtype) / D_MODEL**0.5
    return made


def drawn(dtype=torch.float64):
    shapes = ((BATCH, LEN_Q, D_MODEL), (BATCH, LEN_K, D_MODEL), (BATCH, LEN_K, D_MODEL))
    return inputs(*shapes, dtype=dtype)


def visible_in_heads(valid_lens, mask):
    """Return who may see whom, (BATCH, HEADS, LEN_Q, LEN_K)."""
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(1)
    return visible_by_loop((BATCH, HEADS, LEN_Q, LEN_K), valid_lens, mask)


def heads_by_loop(made, queries, keys, values, visible):
    """Run each head by itself on its rows of the weights, and add up what W_o makes of them."""
    outputs, weights = [], []
    for head in range(HEADS):
        shared = head // (HEADS // made.num_kv_heads)
        parts = []
        for layer, x, block in (
            (made.W_q, queries, head),
            (made.W_k, keys, shared),
            (made.W_v, values, shared),
        ):
            rows = slice(block * D_HEAD, (block + 1) * D_HEAD)
            bias = 0 if layer.bias is None else layer.bias[rows]
            parts.append(x @ layer.weight[rows].T + bias)
        output, shares = attend_by_loop(scaled_dot_scores, *parts, visible[:, head])
        columns = slice(head * D_HEAD, (head + 1) * D_HEAD)
        outputs.append(output @ made.W_o.weight[:, columns].T)
        weights.append(shares)
    bias = 0 if made.W_o.bias is None else made.W_o.bias
    return sum(outputs) + bias, torch.stack(weights, dim=1)


# --- split and merge -------------------------------------------------------------------------


def test_split_heads_computed_by_hand():
    x = torch.arange(24.0).reshape(2, 3, 4)
    heads = split_heads(x, 2)
    assert heads[0].tolist() == [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]]
    assert heads[1, 0].tolist() == [[12, 13], [16, 17], [20, 21]]


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6])
def test_merge_heads_undoes_split_heads(num_heads):
    x = numbers(2, 5, 6)
    heads = split_heads(x, num_heads)
    assert heads.shape == (2, num_heads, 5, 6 // num_heads)
    for head in range(num_heads):
        width = 6 // num_heads
        assert torch.equal(heads[:, head], x[..., head * width : (head + 1) * width])
    assert heads.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert torch.equal(merge_heads(heads), x)
    assert torch.equal(split_heads(merge_heads(heads), num_heads), heads)


# --- the layer -------------------------------------------------------------------------------


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize(("num_kv_heads", "bias"), KINDS)
@pytest.mark.parametrize("visibility", VISIBILITY)
def test_the_layer_equals_a_loop_over_its_heads(visibility, num_kv_heads, bias, need_weights):
    """Output, weights per head, and the gradients of every input and parameter."""
    made, tensors = module(num_kv_heads, bias), drawn()
    valid_lens, mask = VISIBILITY[visibility]
    expected, expected_weights = heads_by_loop(made, *tensors, visible_in_heads(valid_lens, mask))
    output, weights = made(*tensors, valid_lens, mask=mask, need_weights=need_weights)
    assert_close(output, expected)
    if need_weights:
        assert_close(weights, expected_weights)
    else:
        assert weights is None
    upstream, given = numbers(*expected.shape, seed=9), (*tensors, *made.parameters())
    gradients = torch.autograd.grad(output, given, upstream)
    expected_gradients = torch.autograd.grad(expected, given, upstream)
    for gradient, expected_gradient in zip(gradients, expected_gradients, strict=True):
        assert_close(gradient, expected_gradient)


def test_repr_names_fewer_key_and_value_heads():
    assert "d_model=6, num_heads=3\n" in repr(MultiHeadAttention(6, 3))
    assert "num_heads=3, num_kv_heads=1\n" in repr(MultiHeadAttention(6, 3, num_kv_heads=1))


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_a_query_with_nothing_to_attend_to_returns_the_bias(dtype, need_weights):
    made, tensors = module(dtype=dtype), drawn(dtype)
    lens = torch.tensor([[0] * LEN_Q, [7, 0, 3, 2, 1]])
    with torch.autograd.set_detect_anomaly(True):
        output, weights = made(*tensors, lens, need_weights=need_weights)
        output.sum().backward()
    bias = made.W_o.bias.detach()
    assert output.dtype == dtype
    assert torch.equal(output[0], bias.expand(LEN_Q, -1)) and torch.equal(output[1, 1], bias)
    assert (output[1, 0] - bias).any()
    assert weights is None or not (weights[0].any() or weights[1, :, 1].any())
    queries, keys, values = tensors
    assert not queries.grad[0].any() and not queries.grad[1, 1].any()
    assert not keys.grad[0].any() and not values.grad[0].any() and values.grad[1].any()
    assert all(x.grad.isfinite().all() for x in (*tensors, *made.parameters()))


LARGEST = torch.finfo(torch.float64).max


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("filler", [NAN, INF, -INF, LARGEST])
@pytest.mark.parametrize(("num_kv_heads", "bias"), KINDS[:3])
def test_padding_reaches_no_output_and_no_gradient(num_kv_heads, bias, filler, need_weights):
    made = module(num_kv_heads, bias)
    lens = torch.tensor([[3, 2, 3, 0, 1], [0] * LEN_Q])
    cases = {
        "lengths": (torch.tensor([3, 0]), None, lens[:, :1]),
        "lengths per query": (lens, None, lens.max(dim=1, keepdim=True).values),
        "mask of keys": (None, torch.arange(LEN_K) < 3, torch.tensor([[3], [3]])),
        "mask per head": (
            None,
            (booleans((BATCH, HEADS, LEN_Q, LEN_K), 1, 0.5)) & (torch.arange(LEN_K) < 4),
            torch.tensor([[4], [4]]),
        ),
    }
    for valid_lens, mask, first in cases.values():
        padding = torch.arange(LEN_K) >= first  # (BATCH, LEN_K)
        results = []
        for fill in (0.0, filler):
            tensors = [x.detach().clone() for x in drawn()]
            if fill:
                tensors[1][padding], tensors[2][padding] = fill, fill
            for x in tensors:
                x.requires_grad_()
            with torch.autograd.set_detect_anomaly(True):
                output, weights = made(*tensors, valid_lens, mask=mask, need_weights=need_weights)
                loss = (output * numbers(*output.shape, seed=9)).sum()
                gradients = torch.autograd.grad(loss, (*tensors, *made.parameters()))
            results.append((output, *([] if weights is None else [weights]), *gradients))
        for clean, poisoned in zip(*results, strict=True):
            assert_close(poisoned, clean)


def test_weights_are_those_before_dropout_and_dropout_acts_in_training_only():
    made, tensors = module(dropout=0.5), [x.detach() for x in drawn()]
    lens = torch.tensor([5, 0])
    torch.manual_seed(0)
    first, weights = made(*tensors, lens)
    second, _ = made(*tensors, lens)
    evaluated, same_weights = made.eval()(*tensors, lens)
    assert_close(weights[0].sum(dim=-1), torch.ones(HEADS, LEN_Q).double(), 1e-12)
    assert not weights[1].any()
    assert_close(weights, same_weights, 1e-12)
    assert (first - second).abs().max() > 0.01 and (first - evaluated).abs().max() > 0.01
    assert_close(evaluated, module()(*tensors, lens)[0], 1e-12)
    for need_weights in (True, False):
        assert_close(made(*tensors, lens, need_weights=need_weights)[0], evaluated)


@pytest.mark.parametrize(
    ("batch", "len_q", "len_k"), [(0, LEN_Q, LEN_K), (BATCH, 0, LEN_K), (BATCH, LEN_Q, 0)]
)
@pytest.mark.parametrize("need_weights", [True, False])
def test_axes_of_length_zero_give_the_bias_or_nothing(batch, len_q, len_k, need_weights):
    made = module()
    tensors = inputs((batch, len_q, D_MODEL), (batch, len_k, D_MODEL), (batch, len_k, D_MODEL))
    for lens in (None, torch.zeros(batch, dtype=torch.int64)):
        output, weights = made(*tensors, lens, need_weights=need_weights)
        assert output.shape == (batch, len_q, D_MODEL)
        assert weights is None or weights.shape == (batch, HEADS, len_q, len_k)
        if not len_k:
            assert torch.equal(output, made.W_o.bias.expand(output.shape))
        output.sum().backward()
        assert all(p.grad.isfinite().all() for p in made.parameters())


@pytest.mark.parametrize("need_weights", [True, False])
def test_autocast_agrees_with_full_precision(need_weights):
    made, tensors = module(dtype=torch.float32), drawn(torch.float32)
    lens = torch.tensor([0, 5])
    expected = made(*tensors, lens)[0]
    for queries in (tensors[0], tensors[0].bfloat16()):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output, _ = made(queries, *tensors[1:], lens, need_weights=need_weights)
        assert output.dtype == torch.bfloat16
        assert_close(output.float(), expected, 0.05)
        output.float().sum().backward()
    assert all(p.grad.isfinite().all() for p in made.parameters())


@pytest.mark.parametrize("num_kv_heads", [None, 1])
def test_gradients_agree_with_finite_differences(num_kv_heads):
    made = MultiHeadAttention(4, 2, num_kv_heads=num_kv_heads, bias=True).double()
    tensors = inputs((BATCH, 2, 4), (BATCH, 3, 4), (BATCH, 3, 4))
    lens = torch.tensor([[0, 2], [3, 1]])
    given = (*tensors, *made.parameters())
    for need_weights in (True, False):

        def run(queries, keys, values, *_, need_weights=need_weights):
            output, weights = made(queries, keys, values, lens, need_weights=need_weights)
            return output if weights is None else (output, weights)

        assert torch.autograd.gradcheck(run, given)
    assert torch.autograd.gradgradcheck(lambda q, k, v: made(q, k, v, lens)[0], tensors)


# --- a score of its own ----------------------------------------------------------------------

SCORES = {
    "rotary": rotary_scores,
    "rotary with options": partial(rotary_scores, base=50.0, layout="halves", scale=0.4),
    "ALiBi": lambda q, k: scaled_dot_scores(q, k) + bias_of(q, k),
    "gaussian": gaussian_scores,
    "bilinear": BilinearScore(4, 4).double(),
}


def bias_of(queries, keys):
    return alibi_bias(HEADS, queries.shape[-2], keys.shape[-2]).to(queries)


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(
    "visibility", ["all", "lengths", "equal lengths", "causal", "lengths and per head"]
)
@pytest.mark.parametrize("score", SCORES)
def test_a_custom_score_gets_each_head_with_all_keys(score, visibility, replaced):
    """Also where no query sees the last keys: positions are counted from the last of all."""
    width = 4 * HEADS
    valid_lens, mask = VISIBILITY[visibility]
    queries, keys, values = inputs((BATCH, LEN_Q, width), *[(BATCH, LEN_K, width)] * 2)
    made = MultiHeadAttention(width, HEADS, score=None if replaced else SCORES[score]).double()
    if replaced:
        made.attention = Attention(SCORES[score])
    scores = SCORES[score](*(split_heads(x, HEADS) for x in (made.W_q(queries), made.W_k(keys))))
    expected_weights = visible_in_heads(valid_lens, mask) * scores.exp()
    expected_weights = expected_weights / expected_weights.sum(-1, keepdim=True).clamp(min=1e-30)
    expected = made.W_o(merge_heads(expected_weights @ split_heads(made.W_v(values), HEADS)))
    output, weights = made(queries, keys, values, valid_lens, mask=mask)
    assert_close(output, expected)
    assert_close(weights, expected_weights)
    assert_close(made(queries, keys, values, valid_lens, mask=mask, need_weights=False)[0], output)


@pytest.mark.parametrize("options", [{}, {"base": 50.0, "layout": "halves"}], ids=str)
@pytest.mark.parametrize("visibility", VISIBILITY)
def test_rotary_positions_turn_queries_and_keys(visibility, options):
    """As rotary scores, which know where the keys stand; also where the last ones are left out."""
    valid_lens, mask = VISIBILITY[visibility]
    width = 4 * HEADS
    tensors = inputs((BATCH, LEN_Q, width), *[(BATCH, LEN_K, width)] * 2)
    made = MultiHeadAttention(width, HEADS, num_kv_heads=3, rotary=partial(rotate, **options))
    other = MultiHeadAttention(
        width, HEADS, num_kv_heads=3, score=partial(rotary_scores, **options)
    )
    other.load_state_dict(made.state_dict())
    expected, expected_weights = other.double()(*tensors, valid_lens, mask=mask)
    output, weights = made.double()(*tensors, valid_lens, mask=mask)
    assert_close(output, expected)
    assert_close(weights, expected_weights)
    assert_close(made(*tensors, valid_lens, mask=mask, need_weights=False)[0], expected)


def test_the_width_of_a_head_may_be_chosen():
    """gpt-oss, for example, has 64 heads of width 64 in a model of width 2,880."""
    made = MultiHeadAttention(10, 4, num_kv_heads=2, d_k=3, bias=True)
    assert made.W_q.weight.shape == (12, 10) and made.W_k.weight.shape == (6, 10)
    assert made.W_v.weight.shape == (6, 10) and made.W_o.weight.shape == (10, 12)
    x = numbers(2, 5, 10, dtype=torch.float32)
    output, weights = made(x, x, x, causal=True)
    heads = split_heads(made.W_q(x), 4), split_heads(made.W_k(x), 2), split_heads(made.W_v(x), 2)
    expected, _ = scaled_dot_product_attention(*heads, causal=True)
    assert output.shape == x.shape and weights.shape == (2, 4, 5, 5)
    assert_close(output, made.W_o(merge_heads(expected)))


def test_weights_of_pytorchs_layer_are_sent_to_from_torch():
    model = nn.Sequential(MultiHeadAttention(6, 2, bias=True))
    theirs = nn.Sequential(nn.MultiheadAttention(6, 2))
    with pytest.raises(RuntimeError, match="from_torch"):
        model.load_state_dict(theirs.state_dict())
    copy.deepcopy(model).load_state_dict(model.state_dict())


@pytest.mark.parametrize(
    "options", [{"score": gaussian_scores}, {"rotary": rotate}, {"d_k": 5}], ids="".join
)
def test_to_torch_refuses_what_pytorchs_layer_lacks(options):
    with pytest.raises(ValueError, match=r"layer: expected what torch\.nn\.MultiheadAttention has"):
        MultiHeadAttention(8, 2, **options).to_torch()


def test_reset_parameters_draws_new_parameters():
    """As after ``to_empty``; biases become 0."""
    with torch.device("meta"):
        model = nn.Sequential(MultiHeadAttention(6, 2, bias=True), AddNorm(6))
    model.to_empty(device="cpu")
    for parameter in model.parameters():
        parameter.data.fill_(NAN)
    attention, add_norm = model
    for layer in model:  # model.apply would reset the layers inside them as well
        layer.reset_parameters()
    assert all(p.isfinite().all() for p in model.parameters())
    assert not attention.W_q.bias.any() and attention.W_q.weight.abs().max() <= (6 / 12) ** 0.5
    assert add_norm.norm.weight.eq(1).all()


def test_causal_is_false_by_default_and_true_with_a_cache():
    made, x = module(), numbers(1, 4, D_MODEL)
    both_ways, causal = (made(x, x, x, causal=given)[0] for given in (False, True))
    assert torch.equal(made(x, x, x)[0], both_ways) and (both_ways - causal).abs().max() > 0.01
    with torch.no_grad():
        for given in (None, True):
            output, _ = made(x, x, x, causal=given, cache=KeyValueCache())
            assert_close(output, causal)


# --- PyTorch's module ------------------------------------------------------------------------

# bias, batch_first, dropout, training, dtype
THEIRS = [
    (True, True, 0.0, True, torch.float64),
    (False, True, 0.0, False, torch.float64),
    (True, False, 0.25, False, torch.float32),
    (False, False, 0.25, True, torch.float32),
    (True, True, 0.5, False, torch.bfloat16),
    (True, False, 0.0, True, torch.float16),
]


def theirs(bias=True, batch_first=True, dropout=0.0, training=False, dtype=torch.float64, **more):
    made = nn.MultiheadAttention(
        D_MODEL, HEADS, dropout=dropout, bias=bias, batch_first=batch_first, **more
    ).to(dtype)
    for seed, parameter in enumerate(made.parameters()):
        parameter.data = numbers(*parameter.shape, seed=seed + 40, dtype=dtype) / D_MODEL**0.5
    return made.train(training)


def call_theirs(made, queries, keys, values):
    tensors = (queries, keys, values)
    if made.batch_first:
        return made(*tensors, average_attn_weights=False)
    output, weights = made(*(x.transpose(0, 1) for x in tensors), average_attn_weights=False)
    return output.transpose(0, 1), weights


@pytest.mark.parametrize(
    ("bias", "batch_first", "dropout", "training", "dtype"), THEIRS, ids=name_of
)
def test_from_torch_agrees_with_the_layer_it_copies(bias, batch_first, dropout, training, dtype):
    made = theirs(bias, batch_first, dropout, training, dtype)
    ours = MultiHeadAttention.from_torch(made)
    assert ours.training == training and ours.attention.training == training
    assert ours.attention.dropout.p == dropout
    assert (ours.d_model, ours.num_heads, ours.num_kv_heads) == (D_MODEL, HEADS, HEADS)
    assert (ours.W_q.bias is not None) == bias == (ours.W_o.bias is not None)
    assert {p.dtype for p in ours.parameters()} == {dtype}
    assert not {p.data_ptr() for p in made.parameters()} & {p.data_ptr() for p in ours.parameters()}
    tensors = [x.detach() for x in drawn(dtype)]
    output, weights = ours.eval()(*tensors)
    expected, expected_weights = call_theirs(made.eval(), *tensors)
    assert_close(output, expected)
    assert_close(weights, expected_weights)


@pytest.mark.parametrize("parameter", ["in_proj_weight", "out_proj.weight"])
def test_from_torch_takes_the_weights_that_weight_norm_computes(parameter):
    made = theirs()
    owner, _, name = parameter.rpartition(".")
    nn.utils.parametrizations.weight_norm(made.get_submodule(owner), name)
    tensors = [x.detach() for x in drawn()]
    expected, _ = call_theirs(made, *tensors)
    assert_close(MultiHeadAttention.from_torch(made)(*tensors)[0], expected)


def test_to_torch_keeps_the_device_and_puts_the_batch_first():
    made = module().to("meta").to_torch()
    assert made.batch_first and all(p.device.type == "meta" for p in made.parameters())


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize(("num_kv_heads", "bias"), KINDS)
def test_to_torch_agrees_with_the_layer_it_copies(num_kv_heads, bias, batch_first):
    ours = module(num_kv_heads, bias)
    made = ours.to_torch(batch_first=batch_first)
    assert isinstance(made, nn.MultiheadAttention) and made.batch_first == batch_first
    tensors = [x.detach() for x in drawn()]
    output, weights = ours(*tensors)
    expected, expected_weights = call_theirs(made, *tensors)
    assert_close(output, expected)
    assert_close(weights, expected_weights)
    pointers = {p.data_ptr() for p in made.parameters()}
    assert not pointers & {p.data_ptr() for p in ours.parameters()}


def test_from_torch_takes_a_frozen_subclass_and_trains_it():
    class Named(nn.MultiheadAttention):
        pass

    ours = MultiHeadAttention.from_torch(Named(6, 2).requires_grad_(False))
    assert all(p.requires_grad for p in ours.parameters())
