"""The page of published numbers: each is computed anew, and so is how far texts disagree."""

import re

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

from attention_lib import (
    AdditiveScore,
    Attention,
    BilinearScore,
    MultiHeadAttention,
    causal_mask,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    masked_softmax,
    merge_heads,
    scaled_dot_product_attention,
    scaled_dot_scores,
    sinusoidal_positions,
    split_heads,
    window_mask,
)
from attention_lib.positions import rotary_frequencies, rotate_by_position
from attention_lib.scoring import alibi_slopes
from attention_workbook.cost import cache_bytes, latent_cache_bytes
from tests.strategies import numbers
from tests.test_truths import SIX_TOKENS
from website import ROOT

PAGE = (ROOT / "book" / "published-numbers.md").read_text(encoding="utf-8")
FIRST, _, SECOND = PAGE.partition("## Where texts disagree")


def rows(text):
    """Return the cells of every row of the tables in a text, without heads and rules."""
    found = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [cells for cells in found if not cells[0].startswith(("---", "What,", "Question"))]


def printed(text):
    """Return the numbers in a cell, and half a unit of the last digit of each."""
    words = re.findall(r"−?\d+(?:\.\d+)?", text)
    decimals = [len(word.partition(".")[2]) for word in words]
    halves = [0.5 * 10.0**-places * (places > 0) for places in decimals]
    return [float(word.replace("−", "-")) for word in words], halves


def projected(width=2):
    return [nn.Linear(3, width, bias=False)(SIX_TOKENS) for _ in range(3)]


def one_head():
    W_q, W_k, W_v = (torch.rand(3, 2) for _ in range(3))
    return scaled_dot_product_attention(SIX_TOKENS @ W_q, SIX_TOKENS @ W_k, SIX_TOKENS @ W_v)[0][1]


def causal_weights():
    queries, keys, _ = projected()
    return masked_softmax(scaled_dot_scores(queries, keys), mask=causal_mask(6))[2]


def two_heads():
    heads = (split_heads(x[None], 2) for x in projected())
    W_o = nn.Linear(2, 2)
    return W_o(merge_heads(scaled_dot_product_attention(*heads, mask=causal_mask(6))[0]))[0, -1]


def lecture():
    x = torch.randn(4, 8, 32)
    W_k, W_q = (nn.Linear(32, 16, bias=False) for _ in range(2))
    return W_q(x), W_k(x)


def lookup():
    keys, values = 10 * torch.eye(3)[[0, 1, 2, 2]], [[1.0, 0], [10, 0], [100, 5], [1000, 6]]
    return scaled_dot_product_attention(10 * torch.eye(3)[[2]], keys, torch.tensor(values))[0]


def equal_keys():
    keys, values = torch.ones(2, 10, 2), torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    queries, lengths = torch.randn(2, 1, 2), torch.tensor([2, 6])
    scores = [dot_scores, scaled_dot_scores, cosine_scores, gaussian_scores]
    scores += [BilinearScore(2, 2), AdditiveScore(2, 2, 8)]
    outputs = [Attention(score)(queries, keys, values, lengths)[0] for score in scores]
    assert all(torch.allclose(output, outputs[0], atol=1e-5) for output in outputs)
    return outputs[0]


def ten_equal():
    values = torch.arange(20.0).reshape(2, 10, 1)
    return scaled_dot_product_attention(torch.zeros(2, 1, 3), torch.ones(2, 10, 3), values)[0]


def yarn():
    turns = 2048 * rotary_frequencies(128) / (2 * torch.pi)
    pair = [int((turns > 32).sum()) - 1, int((turns > 1).sum())]  # whole, and not at all, as it is
    ramp = ((torch.arange(64) - pair[0]) / (pair[1] - pair[0])).clamp(0, 1)
    return rotary_frequencies(128).lerp(rotary_frequencies(128) / 10, ramp.double())[16:21]


def growing_base():
    return rotary_frequencies(128, base=10_000 * (10 * 16_384 / 2048 - 9) ** (128 / 126))[:5]


def empty_blocks():
    blocks = causal_mask(2048).view(16, 128, 16, 128).any(dim=3).any(dim=1)
    return 100 * (~blocks).double().mean()


def parameters():
    layer = MultiHeadAttention(512, 8, bias=True)
    return sum(parameter.numel() for parameter in layer.parameters())


def windows():
    of_a_token = torch.tensor([cache_bytes(1, num_kv_heads, d_k=128) for num_kv_heads in (32, 8)])
    tokens = torch.tensor([[32 * 32_768], [5 * 32_768 + 27 * 1024]])  # over all layers
    return (tokens * of_a_token).flatten() / 1e9


def three_caches():
    heads = [cache_bytes(48, num_kv_heads, d_k=86) for num_kv_heads in (24, 6)]
    return 8192e-9 * torch.tensor([*heads, latent_cache_bytes(48, 960, 64)])


# In the order of the page, each with the seed that its source sets.
COMPUTED = [
    (0, lambda: masked_softmax(dot_scores(SIX_TOKENS, SIX_TOKENS))[1]),
    (0, lambda: scaled_dot_product_attention(*[SIX_TOKENS] * 3, scale=1.0)[0][1]),
    (123, one_head),
    (789, causal_weights),
    (123, two_heads),
    (42, lambda: masked_softmax(scaled_dot_scores(torch.randn(3, 2), torch.randn(3, 2)))[2]),
    (42, lambda: scaled_dot_product_attention(*(torch.randn(3, 2) for _ in range(3)))[0][2]),
    (1337, lambda: masked_softmax(dot_scores(*lecture()), mask=causal_mask(8))[0, 4]),
    (0, lambda: masked_softmax(8 * torch.tensor([[0.1, -0.2, 0.3, -0.2, 0.5]]))),
    (0, lookup),
    (0, equal_keys),
    (0, ten_equal),
    (4, lambda: rotate_by_position(torch.randn(4, 12, 64))[0, 1, :4]),
    (0, lambda: rotate_by_position(torch.arange(12288.0).view(12, 16, 64) / 100)[0, 1, :8]),
    (0, lambda: rotary_frequencies(128)[:4]),
    (0, yarn),
    (0, growing_base),
    (0, lambda: sinusoidal_positions(3, 512)[2, 0:10:2]),
    (0, lambda: alibi_slopes(12)[-4:]),
    (0, empty_blocks),
    (0, lambda: (32 * (window_mask(1, 8192, window=4096).sum() - 1) + 1) // 1000),
    (0, parameters),
    (0, lambda: torch.tensor([cache_bytes(n, 8, 128) for n in (80, 126)] + [70_272]) / 1000),
    (0, windows),
    (0, three_caches),
    (0, lambda: 2048 * cache_bytes(40, 40, 128) / 2**30),
    (0, lambda: torch.tensor([1024, 16_000, 128_000]) * cache_bytes(32, 8, 128) / 2**30),
    (0, lambda: latent_cache_bytes(1, 512, 64) / cache_bytes(1, 1, 128)),
]


@pytest.mark.parametrize(("cells", "computed"), [*zip(rows(FIRST), COMPUTED, strict=True)])
def test_a_published_number_comes_out_to_half_a_unit_of_its_last_digit(cells, computed):
    seed, ours = computed
    torch.manual_seed(seed)
    expected, halves = printed(cells[-1])
    with torch.no_grad():
        found = torch.as_tensor(ours()).double().flatten().tolist()
    assert len(found) == len(expected)
    for x, y, half in zip(found, expected, halves, strict=True):
        assert abs(x - y) <= half + 2e-6 * abs(y)  # and what float32 rounds


def scaled_or_not():
    torch.manual_seed(1337)
    queries, keys = lecture()
    weights = [masked_softmax(score(queries, keys), mask=causal_mask(8)) for score in DOTS]
    return (weights[0] - weights[1]).abs().max()


DOTS = (dot_scores, scaled_dot_scores)


def model_or_head():
    queries, keys = numbers(64, 1, 64), numbers(64, 16, 64, seed=1)
    largest = [
        masked_softmax(scaled_dot_scores(queries, keys, scale)).amax(dim=-1).mean()
        for scale in (64**-0.5, 512**-0.5)
    ]
    return largest[0] - largest[1]


def polarity():
    tensors = [numbers(1, 4, 3, seed=seed) for seed in range(3)]
    mask = causal_mask(4)
    outputs = [scaled_dot_product_attention(*tensors, mask=one)[0] for one in (mask, ~mask)]
    return (outputs[0] - outputs[1]).abs().max()


def pairs_or_halves():
    x = torch.randn(4, 12, 64, generator=torch.Generator().manual_seed(4))
    return (rotate_by_position(x) - rotate_by_position(x, layout="halves")).abs().max()


def after_dropout():
    torch.manual_seed(0)
    return (dropout(torch.full((64, 4), 1 / 4), 0.1).sum(dim=-1) - 1).abs().min()


def upper_left():
    return causal_mask(2, 5)[0].sum() - torch.ones(2, 5).tril()[0].sum()


GAPS = [
    scaled_or_not,
    model_or_head,
    polarity,
    lambda: torch.full((1, 4), -1e9).softmax(dim=-1).max(),
    lambda: window_mask(8, window=4)[-1].sum() - window_mask(8, window=3)[-1].sum(),
    upper_left,
    pairs_or_halves,
    after_dropout,
    lambda: torch.zeros(1, 5).softmax(dim=-1)[0, -1],
    lambda: (cache_bytes(126, 16, 128) - cache_bytes(126, 8, 128)) * 128_000 / 1e9,
]


@pytest.mark.parametrize(("cells", "gap"), [*zip(rows(SECOND), GAPS, strict=True)])
def test_texts_that_disagree_are_as_far_apart_as_the_page_says(cells, gap):
    with torch.no_grad():
        found = float(gap())
    assert any(abs(found - told) <= 0.005 * told + 0.0006 for told in printed(cells[-1])[0])
