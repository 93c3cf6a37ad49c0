"""What this library computes for each published number and for each disagreement of texts.

``results.toml`` and ``disagreements.toml`` name these functions. Each draws its inputs as its
source does, so some of them seed PyTorch's shared generator.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib.attention import Attention, scaled_dot_product_attention
from attention_lib.masking import causal_mask, masked_softmax, window_mask
from attention_lib.multihead import MultiHeadAttention, merge_heads, split_heads
from attention_lib.positions import rotary_frequencies, rotate_by_position, sinusoidal_positions
from attention_lib.scoring import (
    AdditiveScore,
    BilinearScore,
    alibi_slopes,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    scaled_dot_scores,
)
from attention_workbook.cost import cache_bytes, latent_cache_bytes

SIX_TOKENS = (
    (0.43, 0.15, 0.89),
    (0.55, 0.87, 0.66),
    (0.57, 0.85, 0.64),
    (0.22, 0.58, 0.33),
    (0.77, 0.25, 0.10),
    (0.05, 0.80, 0.55),
)

# Books and courses.


def six_weights() -> Tensor:
    x = torch.tensor(SIX_TOKENS)
    return masked_softmax(dot_scores(x, x))


def six_outputs() -> Tensor:
    x = torch.tensor(SIX_TOKENS)
    return scaled_dot_product_attention(x, x, x, scale=1.0)[0]


def one_head() -> Tensor:
    torch.manual_seed(123)
    x = torch.tensor(SIX_TOKENS)
    W_q, W_k, W_v = (torch.rand(3, 2) for _ in range(3))
    return scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v)[0]


def causal_weights() -> Tensor:
    torch.manual_seed(789)
    queries, keys, _ = _projected(3, 2)
    return masked_softmax(scaled_dot_scores(queries, keys), mask=causal_mask(6))


def two_heads() -> Tensor:
    torch.manual_seed(123)
    heads = [_projected(3, 2) for _ in range(2)]
    mask = causal_mask(6)
    outputs = [scaled_dot_product_attention(*head, mask=mask)[0] for head in heads]
    return torch.cat(outputs, dim=-1)


def two_heads_in_a_layer() -> Tensor:
    torch.manual_seed(123)
    queries, keys, values = (split_heads(x[None], 2) for x in _projected(3, 2))
    W_o = nn.Linear(2, 2)
    output, _ = scaled_dot_product_attention(queries, keys, values, mask=causal_mask(6))
    return torch.as_tensor(W_o(merge_heads(output)))[0]


def _projected(d_in: int, d_out: int) -> list[Tensor]:
    """Return queries, keys and values of the six tokens, by three new layers."""
    layers = [nn.Linear(d_in, d_out, bias=False) for _ in range(3)]
    return [layer(torch.tensor(SIX_TOKENS)) for layer in layers]


def uva_weights() -> Tensor:
    torch.manual_seed(42)
    queries, keys, _ = (torch.randn(3, 2) for _ in range(3))
    return masked_softmax(scaled_dot_scores(queries, keys))


def uva_outputs() -> Tensor:
    torch.manual_seed(42)
    return scaled_dot_product_attention(*(torch.randn(3, 2) for _ in range(3)))[0]


def eight_tokens() -> Tensor:
    queries, keys = karpathy()
    return masked_softmax(dot_scores(queries, keys), mask=causal_mask(8))[0]


def karpathy() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1337)
    x = torch.randn(4, 8, 32)
    W_k, W_q, _ = (nn.Linear(32, 16, bias=False) for _ in range(3))
    return W_q(x), W_k(x)


def variances() -> Tensor:
    karpathy()
    keys, queries = torch.randn(4, 8, 16), torch.randn(4, 8, 16)
    return torch.stack([keys.var(), queries.var(), scaled_dot_scores(queries, keys).var()])


def sharpened() -> Tensor:
    scores = torch.tensor([0.1, -0.2, 0.3, -0.2, 0.5])
    return masked_softmax(torch.stack([scores, 8 * scores]))


def lookups() -> Tensor:
    keys = 10 * torch.eye(3)[[0, 1, 2, 2]]
    values = torch.tensor([[1.0, 0], [10, 0], [100, 5], [1000, 6]])
    queries = torch.tensor([[0.0, 10, 0], [0, 0, 10], [10, 10, 0]])
    return scaled_dot_product_attention(queries, keys, values)[0]


def equal_keys() -> Tensor:
    keys, values = torch.ones(2, 10, 2), torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    queries, lengths = torch.randn(2, 1, 2), torch.tensor([2, 6])
    scores = [dot_scores, scaled_dot_scores, cosine_scores, gaussian_scores]
    scores += [BilinearScore(2, 2), AdditiveScore(2, 2, 8)]
    return torch.stack([Attention(score)(queries, keys, values, lengths)[0] for score in scores])


def ten_equal() -> Tensor:
    values = torch.arange(20.0).reshape(2, 10, 1)
    return scaled_dot_product_attention(torch.zeros(2, 1, 3), torch.ones(2, 10, 3), values)[0]


# Libraries, their tests and their configurations.


def rope_course() -> Tensor:
    torch.manual_seed(4)
    return rotate_by_position(torch.randn(4, 12, 64))[0, 1, :4]


def rope_roformer() -> Tensor:
    x = torch.arange(2 * 12 * 16 * 64).reshape(2, 12, 16, 64) / 100
    return rotate_by_position(x)[0, 0, [1, 5], :8]


def frequencies() -> Tensor:
    return rotary_frequencies(128)[[0, 1, 2, 3, -1]]


def sines() -> Tensor:
    return sinusoidal_positions(512, 512)[:3, 0:10:2]


def slopes() -> Tensor:
    return alibi_slopes(12)


def sparsity() -> Tensor:
    blocks = causal_mask(2048).view(16, 128, 16, 128)
    return 100 * torch.mean((~blocks.any(dim=3).any(dim=1)).float()).reshape(1)


def cache_of_a_token() -> Tensor:
    shared = [cache_bytes(num_layers, num_kv_heads=8, d_k=128) for num_layers in (80, 126)]
    latent = latent_cache_bytes(num_layers=61, d_latent=512, d_rotary=64)
    return torch.tensor([*shared, latent]) * 1e-3


def cache_of_windows() -> Tensor:
    of_a_token = torch.tensor([cache_bytes(1, num_kv_heads, d_k=128) for num_kv_heads in (32, 8)])
    kept = torch.tensor([[32 * 32_768], [5 * 32_768 + 27 * 1024]])  # tokens, over all layers
    return (kept * of_a_token).flatten() / 1e9


def float64(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def empty_row() -> Tensor:
    tensors = [float64(1, 4, 3, seed=s) for s in range(3)]
    return scaled_dot_product_attention(*tensors, mask=_one_row_empty())[0]


def _one_row_empty() -> Tensor:
    return (torch.arange(4) != 1)[:, None].expand(4, 4)


def their_empty_row() -> Tensor:
    queries, keys, values = (float64(1, 4, 3, seed=s) for s in range(3))
    mask = _one_row_empty()
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def their_layer(**options: Any) -> Tensor:
    layer, x = _layer_and_inputs(**options)
    return torch.as_tensor(layer(x, x, x)[0])


def their_layer_with_sink() -> Tensor:
    return their_layer(add_zero_attn=True)


def _layer_and_inputs(**options: Any) -> tuple[nn.MultiheadAttention, Tensor]:
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(12, 3, bias=False, batch_first=True, **options).double()
    return layer.eval(), float64(2, 5, 12)


def our_layer() -> Tensor:
    theirs, x = _layer_and_inputs()
    ours = MultiHeadAttention(12, 3).double().eval()
    for part, weight in zip("qkv", theirs.in_proj_weight.chunk(3), strict=True):
        getattr(ours, f"W_{part}").weight.copy_(weight)
    ours.W_o.weight.copy_(theirs.out_proj.weight)
    return torch.as_tensor(ours(x, x, x)[0])


def zero_sink() -> Tensor:
    theirs, x = _layer_and_inputs(add_zero_attn=True)
    heads = [split_heads(x @ W.T, 3) for W in theirs.in_proj_weight.chunk(3)]
    queries, keys, values = heads[0], *(F.pad(h, (0, 0, 0, 1)) for h in heads[1:])
    output, _ = scaled_dot_product_attention(queries, keys, values)
    return merge_heads(output) @ theirs.out_proj.weight.T


def their_grouped() -> Tensor:
    keys, values = float64(1, 2, 5, 3), float64(1, 2, 5, 3, seed=1)
    return F.scaled_dot_product_attention(float64(1, 4, 5, 3), keys, values, enable_gqa=True)


def grouped() -> Tensor:
    keys, values = float64(1, 2, 5, 3), float64(1, 2, 5, 3, seed=1)
    both = [x.repeat_interleave(2, dim=1) for x in (keys, values)]
    return scaled_dot_product_attention(float64(1, 4, 5, 3), *both)[0]


def their_parameters() -> Tensor:
    return torch.tensor([_count(nn.MultiheadAttention(512, h)) for h in (1, 2, 4, 8)])


def parameters() -> Tensor:
    return torch.tensor([_count(MultiHeadAttention(512, h, bias=True)) for h in (1, 2, 4, 8)])


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


# Caches and long texts.


def _in_gib(num_layers: int) -> Tensor:
    """Return what 1024, 16 000 and 128 000 tokens leave; the post calls 2³⁰ bytes a GB."""
    of_a_token = cache_bytes(num_layers, num_kv_heads=8, d_k=128, dtype=torch.float16)
    return torch.tensor([1024, 16_000, 128_000]) * of_a_token / 2**30


def opt_token() -> Tensor:
    return torch.tensor([cache_bytes(40, 40, d_k=128, dtype=torch.float16) / 2**10])


def opt_full() -> Tensor:
    return torch.tensor([2048 * cache_bytes(40, 40, d_k=128, dtype=torch.float16) / 2**30])


def llama_8b() -> Tensor:
    return _in_gib(32)


def llama_70b() -> Tensor:
    return _in_gib(80)


def groups() -> Tensor:
    return torch.tensor([latent_cache_bytes(1, 512, 64) / cache_bytes(1, 1, d_k=128)])


def smaller() -> Tensor:
    left = latent_cache_bytes(60, 512, 64) * 6 / 16 / cache_bytes(95, 8, d_k=128)
    return torch.tensor([100 * (1 - left)])


def three_caches() -> Tensor:
    heads = [8192 * cache_bytes(48, num_kv_heads, d_k=86) for num_kv_heads in (24, 6)]
    latent = 8192 * latent_cache_bytes(48, 960, 64)  # 1024 in all
    return torch.tensor([*heads, latent, 1e9 * heads[0] / latent]) / 1e9


def span() -> Tensor:
    seen = window_mask(1, 8192, window=4096)
    return torch.tensor([(32 * (int(seen.sum()) - 1) + 1) / 1000])  # its own key is seen each time


def yarn() -> Tensor:
    plain = rotary_frequencies(128)
    turns = torch.tensor([32.0, 1.0], dtype=torch.float64)  # in the 2048 positions of training
    start, end = 64 * torch.log(2048 / (2 * math.pi * turns)) / math.log(10_000)
    ramp = (torch.arange(64) - start.floor()) / (end.ceil() - start.floor())
    return plain.lerp(plain / 10, ramp.clamp(0, 1))[16:21]


def dynamic() -> Tensor:
    longer = 10 * 16_384 / 2048 - 9
    return rotary_frequencies(128, base=10_000 * longer ** (128 / 126))[:5]


def chunk() -> Tensor:
    return scaled_dot_product_attention(*_new(), mask=causal_mask(3, 7))[0]


def their_chunk() -> Tensor:
    from torch.nn.attention.bias import causal_lower_right  # brings half of torch.compile

    queries, keys, values = _new()
    mask = causal_lower_right(3, 7)
    return torch.as_tensor(F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask))


def _new() -> list[Tensor]:
    return [float64(1, 1, length, 4, seed=seed) for seed, length in enumerate((3, 7, 7))]


# How far apart the answers are where texts disagree.


def scaled_or_not() -> float:
    queries, keys = karpathy()
    mask = causal_mask(8)
    plain = masked_softmax(dot_scores(queries, keys), mask=mask)
    scaled = masked_softmax(scaled_dot_scores(queries, keys), mask=mask)
    return float((plain - scaled).abs().max())


def pairs_or_halves() -> float:
    x = torch.randn(4, 12, 64, generator=torch.Generator().manual_seed(4))
    return float((rotate_by_position(x) - rotate_by_position(x, layout="halves")).abs().max())


def window_or_one_more() -> float:
    return float(window_mask(8, window=4)[-1].sum() - window_mask(8, window=3)[-1].sum())


def polarity() -> float:
    queries, keys, values = (float64(1, 4, 3, seed=s) for s in range(3))
    mask = causal_mask(4)
    ours = scaled_dot_product_attention(queries, keys, values, mask=mask)[0]
    return float(
        (scaled_dot_product_attention(queries, keys, values, mask=~mask)[0] - ours).abs().max()
    )


def model_or_head() -> float:
    queries, keys = float64(64, 1, 64), float64(64, 16, 64, seed=1)
    ours = masked_softmax(scaled_dot_scores(queries, keys)).amax(dim=-1).mean()
    theirs = masked_softmax(scaled_dot_scores(queries, keys, 512**-0.5)).amax(dim=-1).mean()
    return float(ours - theirs)


def before_or_after_dropout() -> float:
    torch.manual_seed(0)
    dropped = F.dropout(torch.full((64, 4), 1 / 4), 0.1)  # all four kept: 4 / 3.6
    return float((dropped.sum(dim=-1) - 1).abs().min())


def corner() -> float:
    upper_left = torch.ones(2, 5, dtype=torch.bool).tril()
    return float(causal_mask(2, 5)[0].sum() - upper_left[0].sum())


def infinity_or_a_billion() -> float:
    weights = torch.softmax(torch.full((4,), -1e9), dim=-1)
    empty = masked_softmax(torch.zeros(1, 4), mask=torch.zeros(1, 4, dtype=torch.bool))[0]
    return float((weights - empty).max())


def sink_in_or_out() -> float:
    scores, sink = torch.zeros(1, 4), torch.zeros(1, 1)
    with_sink = torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1)[:, :-1]
    return float((masked_softmax(scores + sink) - with_sink).sum())


def eight_or_sixteen() -> float:
    eight, sixteen = (cache_bytes(126, num_kv_heads, d_k=128) for num_kv_heads in (8, 16))
    return (sixteen - eight) * 128_000 / 1e9
