"""What attention costs: formulas against measurements, blocks against the whole softmax."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attention_lib import MultiHeadAttention, causal_mask, length_mask, scaled_dot_product_attention
from attention_workbook import cost

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
CLOSE = {torch.float64: 1e-12, torch.float32: 3e-6, torch.bfloat16: 2e-2, torch.float16: 2e-3}


def drawn(*shapes, dtype=torch.float32, seed=0):
    seeded = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=seeded, dtype=torch.float64).to(dtype) for shape in shapes]


def textbook(queries, keys, values):
    scores = (queries * queries.shape[-1] ** -0.5) @ keys.mT
    return torch.softmax(scores, dim=-1) @ values


# Formulas against measurements.


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("sizes", [(2, 3, 5, 7, 11, 13), (1, 1, 4, 4, 4, 4), (1, 2, 1, 64, 8, 8)])
def test_formula_of_attention_agrees_with_the_measured_cost(sizes, dtype):
    batch, num_heads, len_q, len_k, d_k, d_v = sizes
    leading = batch, num_heads
    tensors = drawn((*leading, len_q, d_k), (*leading, len_k, d_k), (*leading, len_k, d_v))
    tensors = [x.to(dtype) for x in tensors]
    formula = cost.attention_cost(
        len_q, len_k, d_k, d_v, num_heads=num_heads, batch=batch, dtype=dtype
    )
    assert cost.measured_cost(textbook, *tensors) == formula


def test_the_fused_kernel_moves_and_keeps_what_its_formula_says():
    for dtype, length in itertools.product((torch.float32, torch.float64), (16, 64)):
        tensors = drawn(*[(2, 3, length, 8)] * 3, dtype=dtype)
        found = cost.measured_cost(F.scaled_dot_product_attention, *tensors)
        formula = cost.attention_cost(
            length, length, 8, num_heads=3, batch=2, dtype=dtype, fused=True
        )
        assert found.flops == formula.flops
        assert 0 <= found.moved - formula.moved < 64  # a kernel may hold a seed or two
        assert 0 <= found.kept - formula.kept < 64


def test_cost_of_four_tokens_is_that_computed_by_hand():
    plain, fused = (cost.attention_cost(4, 4, 4, fused=which) for which in (False, True))
    assert plain.flops == fused.flops == 2 * (4 * 4 * (4 + 4))
    assert plain.moved == 4 * (2 * 16 + 4 * 16 + 4 * 16)  # scaling, inputs and output, pairs
    assert plain.kept == 4 * (3 * 16 + 16)
    assert fused.moved == fused.kept == 4 * (4 * 16 + 4)


def test_formula_of_a_layer_agrees_with_the_measured_cost():
    for num_heads, num_kv_heads in ((4, 4), (4, 2), (4, 1)):
        layer = MultiHeadAttention(24, num_heads, num_kv_heads=num_kv_heads)
        [x] = drawn((3, 10, 24))
        found = cost.measured_cost(lambda x, layer=layer: layer(x, x, x)[0], x).flops
        formula = cost.layer_flops(10, 24, num_heads=num_heads, num_kv_heads=num_kv_heads, batch=3)
        assert found == sum(formula)


def test_projections_and_attention_cost_the_same_at_a_length_of_twice_the_width():
    for width in (16, 64, 512):
        projections, attention = cost.layer_flops(2 * width, width)
        assert projections == attention


@pytest.mark.parametrize(
    ("layers", "kv_heads", "d_k", "published"),
    [
        (32, 32, 128, 524_288),  # Llama 2 7B
        (32, 8, 128, 131_072),  # Llama 3 8B
        (80, 8, 128, 327_680),  # Qwen2.5 72B
        (126, 8, 128, 516_096),  # Llama 3.1 405B
    ],
)
def test_cache_sizes_are_those_published(layers, kv_heads, d_k, published):
    assert cost.cache_bytes(layers, kv_heads, d_k) == published
    assert cost.cache_bytes(layers, kv_heads, d_k, dtype=torch.float32) == 2 * published


def test_latent_cache_size_is_that_published():
    assert cost.latent_cache_bytes(61, 512, 64) == 70_272  # DeepSeek-V3


def test_views_move_nothing_and_writing_in_place_does():
    [x] = drawn((6, 4))
    assert cost.measured_cost(lambda x: x.reshape(4, 6).mT[None], x).moved == 0
    assert cost.measured_cost(lambda x: x.detach().add_(x.detach()), x).moved == 3 * x.nbytes


def test_tensors_that_share_memory_are_counted_once():
    three = torch.zeros(3, 2, 4, 4)
    assert cost.measured_cost(textbook, *three) == cost.attention_cost(4, 4, 4, batch=2)
    assert cost.measured_cost(lambda x: (x * x).mT @ x, three).kept == 2 * three.nbytes


def test_measuring_leaves_its_inputs_unchanged():
    [x] = drawn((3, 3))
    cost.measured_cost(torch.exp, x)
    cost.peak_bytes(torch.exp, x)
    assert not x.requires_grad and x.grad is None
    assert cost.measured_cost(lambda i: i + 1, torch.arange(3)).kept == 0  # whole numbers, too


def test_peak_counts_the_tensors_alive_at_the_same_time():
    [x] = drawn((100,), dtype=torch.float32)
    assert cost.peak_bytes(lambda x: x + 1, x) == 800
    assert cost.peak_bytes(lambda x: (x + 1) * 2, x) == 1200
    with torch.no_grad():
        one_by_one = cost.peak_bytes(lambda x: [(x + i).sum() for i in range(5)], x)
    assert one_by_one == 400 + 400 + 5 * 4


def test_fitted_exponent_of_powers_and_of_scattered_costs():
    sizes = [64, 128, 256, 512]
    found = cost.fitted_exponent(sizes, [3 * n**2 for n in sizes])
    assert found.power == pytest.approx(2) and found.spread == pytest.approx(0, abs=1e-9)
    shaken = cost.fitted_exponent(sizes, [n * f for n, f in zip(sizes, (1, 2, 1, 2), strict=True)])
    assert shaken.spread > 0.25
    assert str(cost.fitted_exponent(sizes, sizes)) == "1.00 ± 0.00"


def test_spread_of_the_fitted_exponent_is_the_standard_error_of_least_squares():
    x, y = [1.0, 2.0, 3.0, 5.0], [1.1, 1.9, 3.2, 4.8]
    design = torch.tensor([[1.0, a] for a in x], dtype=torch.float64)
    target = torch.tensor(y, dtype=torch.float64)
    beta = torch.linalg.lstsq(design, target[:, None]).solution[:, 0]
    rest = (target - design @ beta).square().sum() / 2
    expected = (rest * torch.linalg.inv(design.T @ design)[1, 1]).sqrt()
    found = cost.fitted_exponent([math.exp(a) for a in x], [math.exp(b) for b in y])
    assert found.power == pytest.approx(beta[1].item())
    assert found.spread == pytest.approx(expected.item())


# Blocks against the whole.


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_blocks_of_any_size_merged_in_any_order_give_the_whole_softmax(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    len_k = data.draw(st.integers(1, 17))
    seed = data.draw(st.integers(0, 2**20))
    factor = data.draw(st.sampled_from([1.0, 30.0]))
    queries, keys, values = drawn((2, 3, 5), (2, len_k, 5), (2, len_k, 7), dtype=dtype, seed=seed)
    queries = queries * factor
    mask = None
    if data.draw(st.booleans()):  # rows without a key come up often among so few
        seeded = torch.Generator().manual_seed(seed + 1)
        mask = torch.rand(2, 3, len_k, generator=seeded) < data.draw(
            st.sampled_from([0.0, 0.3, 0.8])
        )
    # the same place twice is an empty block
    edges = sorted(data.draw(st.lists(st.integers(0, len_k), max_size=6)))
    stretches = list(itertools.pairwise([0, *edges, len_k]))
    blocks = [
        cost.read_block(
            queries, keys[:, i:j], values[:, i:j], mask=None if mask is None else mask[..., i:j]
        )
        for i, j in data.draw(st.permutations(stretches))
    ]
    while len(blocks) > 1:  # in any bracketing, too
        place = data.draw(st.integers(0, len(blocks) - 2))
        blocks[place : place + 2] = [cost.merge(*blocks[place : place + 2])]
    wide = [x.double() for x in (queries, keys, values)]
    whole, _ = scaled_dot_product_attention(*wide, mask=mask)
    found = blocks[0].output
    assert found.dtype == torch.promote_types(dtype, torch.float32)
    close = 1e-12 if dtype == torch.float64 else 1e-5 * factor  # summed in float32 at least
    torch.testing.assert_close(found.double(), whole, atol=close, rtol=close)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block_size", [1, 3, 7, 100])
def test_attention_in_blocks_forward_and_backward(dtype, block_size):
    shapes = (2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4), (2, 3, 5, 4)
    *tensors, back = drawn(*shapes, dtype=dtype)
    mask = length_mask(torch.tensor([4, 0]), 7).unsqueeze(1) & causal_mask(5, 7)
    tensors = [x.requires_grad_() for x in tensors]
    output = cost.attend_in_blocks(*tensors, block_size, mask=mask)
    whole, _ = scaled_dot_product_attention(*tensors, mask=mask)
    assert output.dtype == dtype and (output[1] == 0).all()
    close = CLOSE[dtype]
    torch.testing.assert_close(output, whole, atol=close, rtol=close)
    for ours, theirs in zip(
        torch.autograd.grad(output, tensors, back),
        torch.autograd.grad(whole, tensors, back),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, atol=4 * close, rtol=4 * close)


def test_gradients_are_those_of_differences():
    tensors = [x.requires_grad_() for x in drawn(*[(1, 4, 3)] * 3, dtype=torch.float64)]
    mask = torch.tensor([[True, True, False, False], [False] * 4, [True] * 4, [False] * 3 + [True]])
    assert torch.autograd.gradcheck(
        lambda *given: cost.attend_in_blocks(*given, 3, mask=mask), tensors
    )


def test_blocks_survive_scores_of_900_and_empty_blocks():
    queries, keys = torch.tensor([[900.0]]), torch.tensor([[1.0], [-1.0], [1.0]])
    values = torch.tensor([[2.0], [5.0], [4.0]])
    assert cost.attend_in_blocks(queries, keys, values, 1, scale=1.0).item() == 3.0
    nothing = cost.read_block(queries, keys[:0], values[:0])
    assert nothing.largest.item() == -math.inf and nothing.normaliser.item() == 0
    assert nothing.output.item() == 0
    assert cost.attend_in_blocks(queries, keys[:0], values[:0], 2).item() == 0
    assert cost.merge(nothing, nothing).output.item() == 0
    whole = cost.read_block(queries, keys, values)
    for a, b in zip(cost.merge(nothing, whole, nothing), whole, strict=True):
        assert torch.equal(a, b)


def test_nan_and_infinity_in_padding_reach_neither_output_nor_gradients():
    queries, keys, values = drawn((2, 3, 4), (2, 6, 4), (2, 6, 5))
    mask = length_mask(torch.tensor([4, 2]), 6)
    clean = cost.attend_in_blocks(queries, keys, values, 2, mask=mask)
    for spoil in (float("nan"), float("inf"), -float("inf")):
        bad_keys, bad_values = (x.masked_fill(~mask.mT, spoil) for x in (keys, values))
        tensors = [x.requires_grad_() for x in (queries.clone(), bad_keys, bad_values)]
        found = cost.attend_in_blocks(*tensors, 2, mask=mask)
        assert torch.equal(found, clean)
        assert all(g.isfinite().all() for g in torch.autograd.grad(found.sum(), tensors))


def test_masks_with_fewer_axes_broadcast():
    queries, keys, values = drawn((2, 3, 4), (2, 6, 4), (2, 6, 5))
    one = torch.tensor([True, False, True, True, False, True])
    for mask in (one, one[None], one.expand(3, 6), torch.ones(3, 1, dtype=torch.bool)):
        found = cost.attend_in_blocks(queries, keys, values, 4, mask=mask)
        whole, _ = scaled_dot_product_attention(queries, keys, values, mask=mask)
        torch.testing.assert_close(found, whole)


def test_small_blocks_need_less_memory_and_the_scale_is_used():
    queries, keys, values = drawn((1, 64, 4), (1, 512, 4), (1, 512, 4))
    found = cost.attend_in_blocks(queries, keys, values, 64, scale=1.0)
    whole, _ = scaled_dot_product_attention(queries, keys, values, scale=1.0)
    torch.testing.assert_close(found, whole)
    with torch.no_grad():
        small, large = (
            cost.peak_bytes(
                lambda *x, size=size: cost.attend_in_blocks(*(y.detach() for y in x), size),
                queries,
                keys,
                values,
            )
            for size in (16, 512)
        )
    assert small < large / 2


def test_pytorchs_layer_is_counted_like_ours():
    layer = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
    [x] = drawn((1, 6, 8))
    found = cost.measured_cost(lambda x: layer(x, x, x, need_weights=False)[0], x)
    assert found.flops == sum(cost.layer_flops(6, 8, num_heads=2))


# Across processes: tests/nightly/test_cost_ring.py.


def test_ring_without_processes_says_how_to_start_them():
    with pytest.raises(RuntimeError, match=r"torch\.distributed\.run"):
        cost.ring_attention(*torch.ones(3, 2, 5, 4))
