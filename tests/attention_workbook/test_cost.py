"""What attention costs: formulas against measurements."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention_lib import MultiHeadAttention
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


def test_pytorchs_layer_is_counted_like_ours():
    layer = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
    [x] = drawn((1, 6, 8))
    found = cost.measured_cost(lambda x: layer(x, x, x, need_weights=False)[0], x)
    assert found.flops == sum(cost.layer_flops(6, 8, num_heads=2))
