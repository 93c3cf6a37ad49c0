"""Numbers that papers, posts and tests have printed of caches and of long texts."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.cost import cache_bytes, latent_cache_bytes
from attention_lib.masking import causal_mask, window_mask
from attention_lib.positions import rotary_frequencies
from workbook.published.libraries import float64
from workbook.published.tables import Result, adding_to, numbers

__all__ = ["SERVING"]

SERVING: list[Result] = []
_result = adding_to(SERVING)

DEEPSEEK_V2 = ("DeepSeek-AI (2024), DeepSeek-V2", "https://arxiv.org/abs/2405.04434")
VLLM = ("Kwon et al. (2023), section 3", "https://arxiv.org/abs/2309.06180")
LLAMA = ("Hugging Face on Llama 3.1", "https://huggingface.co/blog/llama31")
ROPE = (
    "Hugging Face’s test of rotary positions",
    "https://github.com/huggingface/transformers/blob/main/tests/utils/test_modeling_rope_utils.py",
)


def _in_gib(num_layers: int) -> Tensor:
    """Return what 1024, 16 000 and 128 000 tokens leave; the post calls 2³⁰ bytes a GB."""
    of_a_token = cache_bytes(num_layers, num_kv_heads=8, d_k=128, dtype=torch.float16)
    return torch.tensor([1024, 16_000, 128_000]) * of_a_token / 2**30


@_result(
    "Cache of one token of OPT 13B, in kB",
    *VLLM,
    "float16, 40 layers of width 5120; 1024 bytes a kB",
    numbers([800.0]),
    0.5,
)
def _opt_token() -> Tensor:
    return torch.tensor([cache_bytes(40, 40, d_k=128, dtype=torch.float16) / 2**10])


@_result(
    "Cache of OPT 13B when it is full, in GB",
    *VLLM,
    "the same for 2048 tokens; 2³⁰ bytes a GB",
    numbers([1.6]),
    0.051,
)
def _opt_full() -> Tensor:
    return torch.tensor([2048 * cache_bytes(40, 40, d_k=128, dtype=torch.float16) / 2**30])


@_result(
    "Cache of Llama 3.1 8B, in GB",
    *LLAMA,
    "float16, 1k, 16k and 128k tokens",
    numbers(0.125, 1.95, 15.62),
    5.1e-3,
)
def _llama_8b() -> Tensor:
    return _in_gib(32)


@_result(
    "Cache of Llama 3.1 70B, in GB",
    *LLAMA,
    "float16, 1k, 16k and 128k tokens",
    numbers(0.313, 4.88, 39.06),
    5.1e-3,
)
def _llama_70b() -> Tensor:
    return _in_gib(80)


@_result(
    "Latent attention’s cache, in pairs of a key and a value",
    *DEEPSEEK_V2,
    "latent vector of 512, rotated key of 64, heads of 128",
    numbers([2.25]),
    5.1e-3,
)
def _groups() -> Tensor:
    return torch.tensor([latent_cache_bytes(1, 512, 64) / cache_bytes(1, 1, d_k=128)])


@_result(
    "By how much its cache is smaller than DeepSeek 67B’s, in per cent",
    *DEEPSEEK_V2,
    "60 layers in 6 bits, against 95 layers with 8 key heads in 16 bits",
    numbers([93.3]),
    0.051,
)
def _smaller() -> Tensor:
    left = latent_cache_bytes(60, 512, 64) * 6 / 16 / cache_bytes(95, 8, d_k=128)
    return torch.tensor([100 * (1 - left)])


@_result(
    "Three caches of 8192 tokens in GB, and the first over the last",
    "Raschka, ch. 4, latent attention",
    "https://github.com/rasbt/LLMs-from-scratch/tree/main/ch04/05_mla",
    "48 layers; 24 heads of 86, then 6, then one vector of 1024",
    numbers(3.25, 0.81, 0.81, 4.03),
    5.1e-3,
)
def _three_caches() -> Tensor:
    heads = [8192 * cache_bytes(48, num_kv_heads, d_k=86) for num_kv_heads in (24, 6)]
    latent = 8192 * latent_cache_bytes(48, 960, 64)  # 1024 in all
    return torch.tensor([*heads, latent, 1e9 * heads[0] / latent]) / 1e9


@_result(
    "Tokens that the last layer can know of, in thousands",
    "Jiang et al. (2023), Mistral 7B",
    "https://arxiv.org/abs/2310.06825",
    "32 layers, windows of 4096",
    numbers([131.0]),
    0.5,
)
def _span() -> Tensor:
    seen = window_mask(1, 8192, window=4096)
    return torch.tensor([(32 * (int(seen.sum()) - 1) + 1) / 1000])  # its own key is seen each time


@_result(
    "Frequencies of YaRN where its ramp begins",
    *ROPE,
    "width 128, factor 10 from 2048 positions, 32 and 1 turns: pairs 16 to 20",
    numbers(0.1, 0.083479, 0.069590, 0.057925, 0.048136),
    5.1e-7,
)
def _yarn() -> Tensor:
    plain = rotary_frequencies(128)
    turns = torch.tensor([32.0, 1.0], dtype=torch.float64)  # in the 2048 positions of training
    start, end = 64 * torch.log(2048 / (2 * math.pi * turns)) / math.log(10_000)
    ramp = (torch.arange(64) - start.floor()) / (end.ceil() - start.floor())
    return plain.lerp(plain / 10, ramp.clamp(0, 1))[16:21]


@_result(
    "Frequencies with a base that grows with the text",
    *ROPE,
    "width 128, factor 10 from 2048 positions, at 16\u202f384: the first five",
    numbers(1.0, 0.80931, 0.65498, 0.53008, 0.42900),
    5.1e-6,
)
def _dynamic() -> Tensor:
    longer = 10 * 16_384 / 2048 - 9
    return rotary_frequencies(128, base=10_000 * longer ** (128 / 126))[:5]


@_result(
    "Three new queries and a cache",
    "PyTorch’s causal_lower_right",
    "https://docs.pytorch.org/docs/stable/nn.attention.bias.html",
    "queries (1, 1, 3, 4), keys and values (1, 1, 7, 4)",
    lambda: _theirs(*_new()),
    1e-12,
)
def _chunk() -> Tensor:
    return scaled_dot_product_attention(*_new(), mask=causal_mask(3, 7))[0]


def _theirs(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    mask = causal_lower_right(3, 7)
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def _new() -> list[Tensor]:
    return [float64(1, 1, length, 4, seed=seed) for seed, length in enumerate((3, 7, 7))]
