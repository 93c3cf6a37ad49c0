"""Numbers that books and courses have printed."""

import torch
from torch import Tensor, nn

from attention_lib.attention import Attention, scaled_dot_product_attention
from attention_lib.masking import causal_mask, masked_softmax
from attention_lib.multihead import merge_heads, split_heads
from attention_lib.scoring import (
    AdditiveScore,
    BilinearScore,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    scaled_dot_scores,
)
from workbook.published.tables import Result, adding_to, numbers

__all__ = ["KARPATHY", "TEXTS", "karpathy"]

TEXTS: list[Result] = []
_result = adding_to(TEXTS)

RASCHKA = (
    "Raschka (2024), ch. 3",
    "https://github.com/rasbt/LLMs-from-scratch/blob/main/ch03/01_main-chapter-code/ch03.ipynb",
)
KARPATHY = (
    "Karpathy, “Let’s build GPT”",
    "https://github.com/karpathy/ng-video-lecture",
)
UVA = (
    "UvA, tutorial 6",
    "https://uvadlc-notebooks.readthedocs.io/en/latest/tutorial_notebooks/tutorial6/"
    "Transformers_and_MHAttention.html",
)
D2L = (
    "Dive into Deep Learning, ch. 11",
    "https://d2l.ai/chapter_attention-mechanisms-and-transformers/attention-scoring-functions.html",
)
SIX_TOKENS = (
    (0.43, 0.15, 0.89),
    (0.55, 0.87, 0.66),
    (0.57, 0.85, 0.64),
    (0.22, 0.58, 0.33),
    (0.77, 0.25, 0.10),
    (0.05, 0.80, 0.55),
)


@_result(
    "Weights of six tokens",
    *RASCHKA,
    "Q = K = X, six tokens of width 3, not scaled",
    numbers(
        [0.2098, 0.2006, 0.1981, 0.1242, 0.1220, 0.1452],
        [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581],
        [0.1390, 0.2369, 0.2326, 0.1242, 0.1108, 0.1565],
        [0.1435, 0.2074, 0.2046, 0.1462, 0.1263, 0.1720],
        [0.1526, 0.1958, 0.1975, 0.1367, 0.1879, 0.1295],
        [0.1385, 0.2184, 0.2128, 0.1420, 0.0988, 0.1896],
    ),
)
def _six_weights() -> Tensor:
    x = torch.tensor(SIX_TOKENS)
    return masked_softmax(dot_scores(x, x))


@_result(
    "Outputs of six tokens",
    *RASCHKA,
    "the same, V = X",
    numbers(
        [0.4421, 0.5931, 0.5790],
        [0.4419, 0.6515, 0.5683],
        [0.4431, 0.6496, 0.5671],
        [0.4304, 0.6298, 0.5510],
        [0.4671, 0.5910, 0.5266],
        [0.4177, 0.6503, 0.5645],
    ),
)
def _six_outputs() -> Tensor:
    x = torch.tensor(SIX_TOKENS)
    return scaled_dot_product_attention(x, x, x, scale=1.0)[0]


@_result(
    "One head with its matrices",
    *RASCHKA,
    "manual_seed(123); W_q, W_k, W_v = rand(3, 2)",
    numbers(
        [0.2996, 0.8053],
        [0.3061, 0.8210],
        [0.3058, 0.8203],
        [0.2948, 0.7939],
        [0.2927, 0.7891],
        [0.2990, 0.8040],
    ),
)
def _one_head() -> Tensor:
    torch.manual_seed(123)
    x = torch.tensor(SIX_TOKENS)
    W_q, W_k, W_v = (torch.rand(3, 2) for _ in range(3))
    return scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v)[0]


@_result(
    "Causal weights of one head",
    *RASCHKA,
    "manual_seed(789); three Linear(3, 2, bias=False)",
    numbers(
        [1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.5517, 0.4483, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.3800, 0.3097, 0.3103, 0.0000, 0.0000, 0.0000],
        [0.2758, 0.2460, 0.2462, 0.2319, 0.0000, 0.0000],
        [0.2175, 0.1983, 0.1984, 0.1888, 0.1971, 0.0000],
        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529],
    ),
)
def _causal_weights() -> Tensor:
    torch.manual_seed(789)
    queries, keys, _ = _projected(3, 2)
    return masked_softmax(scaled_dot_scores(queries, keys), mask=causal_mask(6))


@_result(
    "Two causal heads side by side",
    *RASCHKA,
    "manual_seed(123); twice three Linear(3, 2, bias=False)",
    numbers(
        [-0.4519, 0.2216, 0.4772, 0.1063],
        [-0.5874, 0.0058, 0.5891, 0.3257],
        [-0.6300, -0.0632, 0.6202, 0.3860],
        [-0.5675, -0.0843, 0.5478, 0.3589],
        [-0.5526, -0.0981, 0.5321, 0.3428],
        [-0.5299, -0.1081, 0.5077, 0.3493],
    ),
)
def _two_heads() -> Tensor:
    torch.manual_seed(123)
    heads = [_projected(3, 2) for _ in range(2)]
    mask = causal_mask(6)
    outputs = [scaled_dot_product_attention(*head, mask=mask)[0] for head in heads]
    return torch.cat(outputs, dim=-1)


@_result(
    "Two causal heads in one layer, with W_o",
    *RASCHKA,
    "manual_seed(123); three Linear(3, 2, bias=False), Linear(2, 2)",
    numbers(
        [0.3190, 0.4858],
        [0.2943, 0.3897],
        [0.2856, 0.3593],
        [0.2693, 0.3873],
        [0.2639, 0.3928],
        [0.2575, 0.4028],
    ),
)
def _layer() -> Tensor:
    torch.manual_seed(123)
    queries, keys, values = (split_heads(x[None], 2) for x in _projected(3, 2))
    W_o = nn.Linear(2, 2)
    output, _ = scaled_dot_product_attention(queries, keys, values, mask=causal_mask(6))
    return torch.as_tensor(W_o(merge_heads(output)))[0]


def _projected(d_in: int, d_out: int) -> list[Tensor]:
    """Return queries, keys and values of the six tokens, by three new layers."""
    layers = [nn.Linear(d_in, d_out, bias=False) for _ in range(3)]
    return [layer(torch.tensor(SIX_TOKENS)) for layer in layers]


@_result(
    "Weights of three queries",
    *UVA,
    "manual_seed(42); q, k, v = randn(3, 2)",
    numbers([0.4028, 0.2886, 0.3086], [0.3538, 0.3069, 0.3393], [0.1303, 0.4630, 0.4067]),
)
def _uva_weights() -> Tensor:
    torch.manual_seed(42)
    queries, keys, _ = (torch.randn(3, 2) for _ in range(3))
    return masked_softmax(scaled_dot_scores(queries, keys))


@_result(
    "Outputs of three queries",
    *UVA,
    "the same",
    numbers([0.5698, -0.1520], [0.5379, -0.0265], [0.2246, 0.5556]),
)
def _uva_outputs() -> Tensor:
    torch.manual_seed(42)
    return scaled_dot_product_attention(*(torch.randn(3, 2) for _ in range(3)))[0]


@_result(
    "Causal weights of eight tokens",
    *KARPATHY,
    "manual_seed(1337); x = randn(4, 8, 32), Linear(32, 16, bias=False), not scaled",
    numbers(
        [1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.1574, 0.8426, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.2088, 0.1646, 0.6266, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.5792, 0.1187, 0.1889, 0.1131, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.0294, 0.1052, 0.0469, 0.0276, 0.7909, 0.0000, 0.0000, 0.0000],
        [0.0176, 0.2689, 0.0215, 0.0089, 0.6812, 0.0019, 0.0000, 0.0000],
        [0.1691, 0.4066, 0.0438, 0.0416, 0.1048, 0.2012, 0.0329, 0.0000],
        [0.0210, 0.0843, 0.0555, 0.2297, 0.0573, 0.0709, 0.2423, 0.2391],
    ),
)
def _eight_tokens() -> Tensor:
    queries, keys = karpathy()
    return masked_softmax(dot_scores(queries, keys), mask=causal_mask(8))[0]


def karpathy() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1337)
    x = torch.randn(4, 8, 32)
    W_k, W_q, _ = (nn.Linear(32, 16, bias=False) for _ in range(3))
    return W_q(x), W_k(x)


@_result(
    "Variance of k, of q and of scaled scores",
    *KARPATHY,
    "drawn on: k, then q = randn(4, 8, 16)",
    numbers(1.0449, 1.0700, 1.0918),
)
def _variances() -> Tensor:
    karpathy()
    keys, queries = torch.randn(4, 8, 16), torch.randn(4, 8, 16)
    return torch.stack([keys.var(), queries.var(), scaled_dot_scores(queries, keys).var()])


@_result(
    "Five scores, and eight times as large",
    *KARPATHY,
    "[.1, −.2, .3, −.2, .5], times 1 and times 8",
    numbers([0.1925, 0.1426, 0.2351, 0.1426, 0.2872], [0.0326, 0.0030, 0.1615, 0.0030, 0.8000]),
)
def _sharpened() -> Tensor:
    scores = torch.tensor([0.1, -0.2, 0.3, -0.2, 0.5])
    return masked_softmax(torch.stack([scores, 8 * scores]))


@_result(
    "Three lookups that can be done by hand",
    "TensorFlow’s transformer tutorial (2019)",
    "https://github.com/tensorflow/docs/blob/r2.2/site/en/tutorials/text/transformer.ipynb",
    "k = 10·[e1, e2, e3, e3], v = [[1, 0], [10, 0], [100, 5], [1000, 6]]",
    numbers([10.0, 0.0], [550.0, 5.5], [5.5, 0.0]),
    1e-4,
)
def _lookups() -> Tensor:
    keys = 10 * torch.eye(3)[[0, 1, 2, 2]]
    values = torch.tensor([[1.0, 0], [10, 0], [100, 5], [1000, 6]])
    queries = torch.tensor([[0.0, 10, 0], [0, 0, 10], [10, 10, 0]])
    return scaled_dot_product_attention(queries, keys, values)[0]


@_result(
    "Equal keys give the mean of the visible values, under six scores",
    *D2L,
    "keys ones(2, 10, 2), values arange(40), lengths 2 and 6",
    lambda: torch.tensor([[[2.0, 3, 4, 5]], [[10, 11, 12, 13]]]).expand(6, 2, 1, 4),
    1e-5,
)
def _equal_keys() -> Tensor:
    keys, values = torch.ones(2, 10, 2), torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    queries, lengths = torch.randn(2, 1, 2), torch.tensor([2, 6])
    scores = [dot_scores, scaled_dot_scores, cosine_scores, gaussian_scores]
    scores += [BilinearScore(2, 2), AdditiveScore(2, 2, 8)]
    return torch.stack([Attention(score)(queries, keys, values, lengths)[0] for score in scores])


@_result(
    "Ten equal weights on 0 … 19",
    *D2L,
    "0.1 · ones(2, 1, 10) and arange(20).reshape(2, 10, 1)",
    numbers([[[4.5]], [[14.5]]]),
    1e-5,
)
def _ten_equal() -> Tensor:
    values = torch.arange(20.0).reshape(2, 10, 1)
    return scaled_dot_product_attention(torch.zeros(2, 1, 3), torch.ones(2, 10, 3), values)[0]
