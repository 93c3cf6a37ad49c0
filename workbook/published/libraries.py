"""Numbers that libraries, their tests and their configurations hold."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.cost import cache_bytes, latent_cache_bytes
from attention_lib.masking import causal_mask
from attention_lib.multihead import MultiHeadAttention, merge_heads, split_heads
from attention_lib.positions import (
    rotary_frequencies,
    rotate_by_position,
    sinusoidal_positions,
)
from attention_lib.scoring import (
    alibi_slopes,
)
from workbook.published.tables import Result, adding_to, numbers

__all__ = ["FUNCTION", "LAYER", "LIBRARIES", "float64"]

LIBRARIES: list[Result] = []
_result = adding_to(LIBRARIES)


@_result(
    "Rotary positions, pairs",
    "Stanford CS336, assignment 1",
    "https://github.com/stanford-cs336/assignment1-basics/blob/main/tests/_snapshots/test_rope.npz",
    "manual_seed(4); randn(4, 12, 64), row 1, four numbers",
    numbers(0.15002725, -0.07208671, -0.19782162, 0.52186924),
    1e-6,
)
def _rope_course() -> Tensor:
    torch.manual_seed(4)
    return rotate_by_position(torch.randn(4, 12, 64))[0, 1, :4]


@_result(
    "Rotary positions of RoFormer",
    "Hugging Face’s test of RoFormer",
    "https://github.com/huggingface/transformers/blob/main/tests/models/roformer/"
    "test_modeling_roformer.py",
    "arange(2·12·16·64) / 100 as (2, 12, 16, 64), rows 1 and 5",
    numbers(
        [-0.2012, 0.8897, 0.0263, 0.9401, 0.2074, 0.9463, 0.3481, 0.9343],
        [3.9859, -2.1580, -0.7984, -4.4904, -4.1181, -2.0252, -4.4782, 1.1253],
    ),
    1e-4,  # the test's own
)
def _rope_roformer() -> Tensor:
    x = torch.arange(2 * 12 * 16 * 64).reshape(2, 12, 16, 64) / 100
    return rotate_by_position(x)[0, 0, [1, 5], :8]


@_result(
    "Rotary frequencies",
    "Hugging Face’s test of rotary positions",
    "https://github.com/huggingface/transformers/blob/main/tests/utils/test_modeling_rope_utils.py",
    "width 128, base 10\u202f000: the first four, and the last",
    numbers(1.0, 0.86596, 0.74989, 0.64938, 1.1548e-4),
    5.1e-6,
)
def _frequencies() -> Tensor:
    return rotary_frequencies(128)[[0, 1, 2, 3, -1]]


@_result(
    "Sines of added positions",
    "Hugging Face’s test of RoFormer",
    "https://github.com/huggingface/transformers/blob/main/tests/models/roformer/"
    "test_modeling_roformer.py",
    "512 positions of width 512: rows 0 to 2, the first five sines",
    numbers(
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.8415, 0.8219, 0.8020, 0.7819, 0.7617],
        [0.9093, 0.9364, 0.9581, 0.9749, 0.9870],
    ),
)
def _sines() -> Tensor:
    return sinusoidal_positions(512, 512)[:3, 0:10:2]


@_result(
    "Slopes of ALiBi for twelve heads",
    "Press et al. (2022), the authors’ code",
    "https://github.com/ofirpress/attention_with_linear_biases",
    "those of 8 heads, then every other one of 16",
    numbers(
        *(0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625),
        *(0.7071, 0.3536, 0.1768, 0.0884),
    ),
)
def _slopes() -> Tensor:
    return alibi_slopes(12)


@_result(
    "How much of a causal mask is empty blocks",
    "PyTorch’s test of FlexAttention",
    "https://github.com/pytorch/pytorch/blob/main/test/inductor/test_flex_attention.py",
    "2048 × 2048 in blocks of 128, in per cent",
    numbers([46.88]),
    5.1e-3,
)
def _sparsity() -> Tensor:
    blocks = causal_mask(2048).view(16, 128, 16, 128)
    return 100 * torch.mean((~blocks.any(dim=3).any(dim=1)).float()).reshape(1)


@_result(
    "Bytes of cache for one token, bfloat16",
    "DeepSeek-AI (2025), table 1",
    "https://arxiv.org/abs/2505.09343",
    "Qwen-2.5 72B, Llama-3.1 405B, DeepSeek-V3, in kB",
    numbers(327.680, 516.096, 70.272),
    5e-4,
)
def _cache() -> Tensor:
    grouped = [cache_bytes(num_layers, num_kv_heads=8, d_k=128) for num_layers in (80, 126)]
    latent = latent_cache_bytes(num_layers=61, d_latent=512, d_rotary=64)
    return torch.tensor([*grouped, latent]) * 1e-3


@_result(
    "A cache of 32\u202f768 tokens, in GB",
    "Raschka, ch. 4, sliding windows",
    "https://github.com/rasbt/LLMs-from-scratch/tree/main/ch04/06_swa",
    "32 layers, width 4096; all heads, 8 of 32, windows of 1024 in 27 layers, both",
    numbers(17.18, 4.29, 3.14, 0.78),
    5.1e-3,
)
def _cache_of_windows() -> Tensor:
    of_a_token = torch.tensor([cache_bytes(1, num_kv_heads, d_k=128) for num_kv_heads in (32, 8)])
    kept = torch.tensor([[32 * 32_768], [5 * 32_768 + 27 * 1024]])  # tokens, over all layers
    return (kept * of_a_token).flatten() / 1e9


PYTORCH = "https://docs.pytorch.org/docs/stable/generated/"
FUNCTION = PYTORCH + "torch.nn.functional.scaled_dot_product_attention.html"
LAYER = PYTORCH + "torch.nn.MultiheadAttention.html"


def float64(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@_result(
    "A row that sees nothing gets 0",
    "PyTorch’s function",
    FUNCTION,
    "four queries, the second masked everywhere",
    lambda: F.scaled_dot_product_attention(
        float64(1, 4, 3),
        float64(1, 4, 3, seed=1),
        float64(1, 4, 3, seed=2),
        attn_mask=_one_row_empty(),
    ),
    1e-12,
)
def _empty_row() -> Tensor:
    tensors = [float64(1, 4, 3, seed=s) for s in range(3)]
    return scaled_dot_product_attention(*tensors, mask=_one_row_empty())[0]


def _one_row_empty() -> Tensor:
    return (torch.arange(4) != 1)[:, None].expand(4, 4)


def _their_layer(**options: Any) -> Tensor:
    layer, x = _layer_and_inputs(**options)
    return torch.as_tensor(layer(x, x, x)[0])


def _layer_and_inputs(**options: Any) -> tuple[nn.MultiheadAttention, Tensor]:
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(12, 3, bias=False, batch_first=True, **options).double()
    return layer.eval(), float64(2, 5, 12)


@_result(
    "The layer with several heads",
    "PyTorch’s layer",
    LAYER,
    "width 12, 3 heads, the same matrices",
    _their_layer,
    1e-12,
)
def _our_layer() -> Tensor:
    theirs, x = _layer_and_inputs()
    ours = MultiHeadAttention(12, 3).double().eval()
    for part, weight in zip("qkv", theirs.in_proj_weight.chunk(3), strict=True):
        getattr(ours, f"W_{part}").weight.copy_(weight)
    ours.W_o.weight.copy_(theirs.out_proj.weight)
    return torch.as_tensor(ours(x, x, x)[0])


@_result(
    "A sink: one more key and value of zeros",
    "PyTorch’s layer, add_zero_attn=True",
    LAYER,
    "width 12, 3 heads, the same matrices",
    lambda: _their_layer(add_zero_attn=True),
    1e-12,
)
def _sink() -> Tensor:
    theirs, x = _layer_and_inputs(add_zero_attn=True)
    heads = [split_heads(x @ W.T, 3) for W in theirs.in_proj_weight.chunk(3)]
    queries, keys, values = heads[0], *(F.pad(h, (0, 0, 0, 1)) for h in heads[1:])
    output, _ = scaled_dot_product_attention(queries, keys, values)
    return merge_heads(output) @ theirs.out_proj.weight.T


@_result(
    "Four query heads that share two key heads",
    "PyTorch’s function, enable_gqa=True",
    FUNCTION,
    "queries (1, 4, 5, 3), keys and values (1, 2, 5, 3)",
    lambda: F.scaled_dot_product_attention(
        float64(1, 4, 5, 3), float64(1, 2, 5, 3), float64(1, 2, 5, 3, seed=1), enable_gqa=True
    ),
    1e-12,
)
def _grouped() -> Tensor:
    keys, values = float64(1, 2, 5, 3), float64(1, 2, 5, 3, seed=1)
    both = [x.repeat_interleave(2, dim=1) for x in (keys, values)]
    return scaled_dot_product_attention(float64(1, 4, 5, 3), *both)[0]


@_result(
    "Parameters of a layer of width 512",
    "PyTorch’s layer",
    LAYER,
    "1, 2, 4 and 8 heads, with bias",
    lambda: torch.tensor([_count(nn.MultiheadAttention(512, h)) for h in (1, 2, 4, 8)]),
    0.5,
)
def _parameters() -> Tensor:
    return torch.tensor([_count(MultiHeadAttention(512, h, bias=True)) for h in (1, 2, 4, 8)])


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
