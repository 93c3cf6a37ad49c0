"""What others have printed, and what this library makes of the same inputs.

Two tables. :data:`RESULTS` holds numbers that books, courses, papers and other libraries have
published, each with the inputs in a line and a function that computes them anew with the parts
of :mod:`attention_lib`. :data:`DISAGREEMENTS` holds the questions on which good texts part, with
a number that says how much it matters.
"""

import html
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib._arguments import require_each
from attention_lib.attention import Attention, scaled_dot_product_attention
from attention_lib.cost import cache_bytes, latent_cache_bytes
from attention_lib.masking import causal_mask, masked_softmax, window_mask
from attention_lib.multihead import MultiHeadAttention, merge_heads, split_heads
from attention_lib.positions import (
    rotary_frequencies,
    rotate_by_position,
    sinusoidal_positions,
)
from attention_lib.scoring import (
    AdditiveScore,
    BilinearScore,
    alibi_slopes,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    scaled_dot_scores,
)

__all__ = ["DISAGREEMENTS", "RESULTS", "Disagreement", "Result", "Table"]


@dataclass(frozen=True)
class Result:
    """A published result, and how to compute it.

    Parameters
    ----------
    name : str
        What is computed.
    source, link : str
        Who published it, and where it can be read.
    inputs : str
        The inputs, in a line.
    published : callable
        Returns the published numbers; where a source gives a computation instead of numbers,
        runs it.
    ours : callable
        Returns the same from this library, in the same shape.
    tolerance : float
        Half a unit of the last printed digit, and what float32 rounds.

    Examples
    --------
    >>> six_tokens = RESULTS[0]
    >>> six_tokens.name
    'Weights of six tokens'
    >>> six_tokens.difference() < six_tokens.tolerance
    True
    """

    name: str
    source: str
    link: str
    inputs: str
    published: Callable[[], Tensor]
    ours: Callable[[], Tensor]
    tolerance: float

    def difference(self) -> float:
        """Return the largest absolute difference; infinite if the shapes or a NaN differ."""
        theirs, mine = self._both()
        if theirs.shape != mine.shape or not torch.equal(theirs.isnan(), mine.isnan()):
            return math.inf
        return float((theirs.double() - mine.double()).abs().nan_to_num().max())

    def one_number(self) -> tuple[float, float]:
        """Return a published number and ours: those that differ most, if more than rounding."""
        theirs, mine = (x.double().flatten() for x in self._both())
        apart = (theirs - mine).abs()
        place = int(apart.argmax()) if apart.max() > 1e-6 else int(theirs.abs().argmax())
        return float(theirs[place]), float(mine[place])

    def _both(self) -> tuple[Tensor, Tensor]:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):  # sources seed it for all
            return self.published(), self.ours()

    # As a row of a table, whose number is the difference.

    _heads = (
        "What",
        "Published by, for these inputs",
        "A number",
        "Ours",
        "Tolerance",
        "Difference",
    )
    _number = difference

    def _line(self, difference: float) -> str:
        told = _rounded_up(difference, self.tolerance)
        return f"{self.name} | {self.source} | differs by at most {told}"

    def _cells(self, difference: float) -> list[str]:
        return [
            html.escape(self.name),
            f"{_linked(self.source, self.link)}<br><code>{html.escape(self.inputs)}</code>",
            *map(_written, self.one_number()),
            _short(self.tolerance),
            _rounded_up(difference, self.tolerance),
        ]


@dataclass(frozen=True)
class Disagreement:
    """A question that texts answer in two ways.

    Parameters
    ----------
    question : str
        What is asked.
    ours, theirs : str
        The answer of this book and the other one, each with who gives it.
    link : str
        Where the other answer can be read.
    measure, measured : str, callable
        A number that says how far apart the two are, in words, and what computes it.

    Examples
    --------
    >>> window = next(d for d in DISAGREEMENTS if "window" in d.question)
    >>> window.gap()
    1.0
    """

    question: str
    ours: str
    theirs: str
    link: str
    measure: str
    measured: Callable[[], float]

    def gap(self) -> float:
        """Return how far apart the two answers are, on one example."""
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            return self.measured()

    # As a row of a table, whose number is the gap.

    _heads = ("Question", "Here", "Elsewhere", "How far apart")
    _number = gap

    def _line(self, gap: float) -> str:
        return f"{self.question} | {self.measure}: {gap:.3g}"

    def _cells(self, gap: float) -> list[str]:
        return [
            html.escape(self.question),
            html.escape(self.ours),
            _linked(self.theirs, self.link),
            f"{html.escape(self.measure)}: {gap:.3g}",
        ]


class Table:
    """Results or disagreements as a table: HTML in a notebook, text elsewhere.

    Parameters
    ----------
    rows : iterable of Result or Disagreement
        All of one kind. They are computed when the table is made.

    Raises
    ------
    TypeError
        If these are other rows, or rows of both kinds.

    Examples
    --------
    >>> print(Table(RESULTS[:1]))
    Weights of six tokens | Raschka (2024), ch. 3 | differs by at most 5e−5
    """

    def __init__(self, rows: Iterable[Result | Disagreement]) -> None:
        rows = require_each("rows", rows, Result, Disagreement, minimum=0)
        if len({*map(type, rows)}) > 1:
            raise TypeError("rows: expected all of one kind, got Result and Disagreement")
        self.rows = [(row, row._number()) for row in rows]

    def __repr__(self) -> str:
        return "\n".join(row._line(number) for row, number in self.rows)

    def _repr_html_(self) -> str:
        heads = self.rows[0][0]._heads if self.rows else ()
        head = "".join(f'<th scope="col">{text}</th>' for text in heads)
        cells = [row._cells(number) for row, number in self.rows]
        body = "".join(
            f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{c}</td>" for c in others) + "</tr>"
            for first, *others in cells
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _linked(text: str, link: str) -> str:
    return f'<a href="{html.escape(link)}">{html.escape(text)}</a>'


def _rounded_up(difference: float, tolerance: float) -> str:
    """Return a difference as no other processor's rounding changes it.

    It becomes 1, 2 or 5 times a power of ten, and what lies far below the tolerance is not told
    apart.
    """
    if difference == math.inf:
        return "∞"  # the shapes differ, or where NaN stands
    difference = max(difference, tolerance / 5.2)
    power: float = 10.0 ** math.floor(math.log10(difference))
    step = next(step for step in (1, 2, 5, 10) if difference <= 1.005 * step * power)
    return _short(step * power)


def _written(number: float) -> str:
    """Return a number as the book writes it: .19815, 46.875, −2.158."""
    text = f"{number:.5g}" if abs(number) < 1 else f"{number:.3f}".rstrip("0").rstrip(".")
    return text.replace("0.", ".", abs(number) < 1).replace("-", "−")


def _short(number: float) -> str:
    return f"{number:.0e}".replace("e-0", "e-").replace("-", "−") if number < 0.1 else f"{number:g}"


# ----------------------------------------------------------------------------------- the results

RESULTS: list[Result] = []


def _numbers(*numbers: Any) -> Callable[[], Tensor]:
    return lambda: torch.tensor(numbers if len(numbers) > 1 else numbers[0])


def _result(
    name: str,
    source: str,
    link: str,
    inputs: str,
    published: Callable[[], Tensor],
    tolerance: float = 5.1e-5,  # four decimals
) -> Callable[[Callable[[], Tensor]], Callable[[], Tensor]]:
    """Put the function below into the table."""

    def put(ours: Callable[[], Tensor]) -> Callable[[], Tensor]:
        RESULTS.append(Result(name, source, link, inputs, published, ours, tolerance))
        return ours

    return put


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
    _numbers(
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
    _numbers(
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
    _numbers(
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
    _numbers(
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
    _numbers(
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
    _numbers(
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
    _numbers([0.4028, 0.2886, 0.3086], [0.3538, 0.3069, 0.3393], [0.1303, 0.4630, 0.4067]),
)
def _uva_weights() -> Tensor:
    torch.manual_seed(42)
    queries, keys, _ = (torch.randn(3, 2) for _ in range(3))
    return masked_softmax(scaled_dot_scores(queries, keys))


@_result(
    "Outputs of three queries",
    *UVA,
    "the same",
    _numbers([0.5698, -0.1520], [0.5379, -0.0265], [0.2246, 0.5556]),
)
def _uva_outputs() -> Tensor:
    torch.manual_seed(42)
    return scaled_dot_product_attention(*(torch.randn(3, 2) for _ in range(3)))[0]


@_result(
    "Causal weights of eight tokens",
    *KARPATHY,
    "manual_seed(1337); x = randn(4, 8, 32), Linear(32, 16, bias=False), not scaled",
    _numbers(
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
    queries, keys = _karpathy()
    return masked_softmax(dot_scores(queries, keys), mask=causal_mask(8))[0]


def _karpathy() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1337)
    x = torch.randn(4, 8, 32)
    W_k, W_q, _ = (nn.Linear(32, 16, bias=False) for _ in range(3))
    return W_q(x), W_k(x)


@_result(
    "Variance of k, of q and of scaled scores",
    *KARPATHY,
    "drawn on: k, then q = randn(4, 8, 16)",
    _numbers(1.0449, 1.0700, 1.0918),
)
def _variances() -> Tensor:
    _karpathy()
    keys, queries = torch.randn(4, 8, 16), torch.randn(4, 8, 16)
    return torch.stack([keys.var(), queries.var(), scaled_dot_scores(queries, keys).var()])


@_result(
    "Five scores, and eight times as large",
    *KARPATHY,
    "[.1, −.2, .3, −.2, .5], times 1 and times 8",
    _numbers([0.1925, 0.1426, 0.2351, 0.1426, 0.2872], [0.0326, 0.0030, 0.1615, 0.0030, 0.8000]),
)
def _sharpened() -> Tensor:
    scores = torch.tensor([0.1, -0.2, 0.3, -0.2, 0.5])
    return masked_softmax(torch.stack([scores, 8 * scores]))


@_result(
    "Three lookups that can be done by hand",
    "TensorFlow’s transformer tutorial (2019)",
    "https://github.com/tensorflow/docs/blob/r2.2/site/en/tutorials/text/transformer.ipynb",
    "k = 10·[e1, e2, e3, e3], v = [[1, 0], [10, 0], [100, 5], [1000, 6]]",
    _numbers([10.0, 0.0], [550.0, 5.5], [5.5, 0.0]),
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
    _numbers([[[4.5]], [[14.5]]]),
    1e-5,
)
def _ten_equal() -> Tensor:
    values = torch.arange(20.0).reshape(2, 10, 1)
    return scaled_dot_product_attention(torch.zeros(2, 1, 3), torch.ones(2, 10, 3), values)[0]


@_result(
    "Rotary positions, pairs",
    "Stanford CS336, assignment 1",
    "https://github.com/stanford-cs336/assignment1-basics/blob/main/tests/_snapshots/test_rope.npz",
    "manual_seed(4); randn(4, 12, 64), row 1, four numbers",
    _numbers(0.15002725, -0.07208671, -0.19782162, 0.52186924),
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
    _numbers(
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
    _numbers(1.0, 0.86596, 0.74989, 0.64938, 1.1548e-4),
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
    _numbers(
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
    _numbers(
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
    _numbers([46.88]),
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
    _numbers(327.680, 516.096, 70.272),
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
    _numbers(17.18, 4.29, 3.14, 0.78),
    5.1e-3,
)
def _cache_of_windows() -> Tensor:
    of_a_token = torch.tensor([cache_bytes(1, num_kv_heads, d_k=128) for num_kv_heads in (32, 8)])
    kept = torch.tensor([[32 * 32_768], [5 * 32_768 + 27 * 1024]])  # tokens, over all layers
    return (kept * of_a_token).flatten() / 1e9


PYTORCH = "https://docs.pytorch.org/docs/stable/generated/"
FUNCTION = PYTORCH + "torch.nn.functional.scaled_dot_product_attention.html"
LAYER = PYTORCH + "torch.nn.MultiheadAttention.html"


def _float64(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@_result(
    "A row that sees nothing gets 0",
    "PyTorch’s function",
    FUNCTION,
    "four queries, the second masked everywhere",
    lambda: F.scaled_dot_product_attention(
        _float64(1, 4, 3),
        _float64(1, 4, 3, seed=1),
        _float64(1, 4, 3, seed=2),
        attn_mask=_one_row_empty(),
    ),
    1e-12,
)
def _empty_row() -> Tensor:
    tensors = [_float64(1, 4, 3, seed=s) for s in range(3)]
    return scaled_dot_product_attention(*tensors, mask=_one_row_empty())[0]


def _one_row_empty() -> Tensor:
    return (torch.arange(4) != 1)[:, None].expand(4, 4)


def _their_layer(**options: Any) -> Tensor:
    layer, x = _layer_and_inputs(**options)
    return torch.as_tensor(layer(x, x, x)[0])


def _layer_and_inputs(**options: Any) -> tuple[nn.MultiheadAttention, Tensor]:
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(12, 3, bias=False, batch_first=True, **options).double()
    return layer.eval(), _float64(2, 5, 12)


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
        _float64(1, 4, 5, 3), _float64(1, 2, 5, 3), _float64(1, 2, 5, 3, seed=1), enable_gqa=True
    ),
    1e-12,
)
def _grouped() -> Tensor:
    keys, values = _float64(1, 2, 5, 3), _float64(1, 2, 5, 3, seed=1)
    both = [x.repeat_interleave(2, dim=1) for x in (keys, values)]
    return scaled_dot_product_attention(_float64(1, 4, 5, 3), *both)[0]


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


# ------------------------------------------------------------------------- where texts disagree


def _scaled_or_not() -> float:
    queries, keys = _karpathy()
    mask = causal_mask(8)
    plain = masked_softmax(dot_scores(queries, keys), mask=mask)
    scaled = masked_softmax(scaled_dot_scores(queries, keys), mask=mask)
    return float((plain - scaled).abs().max())


def _pairs_or_halves() -> float:
    x = torch.randn(4, 12, 64, generator=torch.Generator().manual_seed(4))
    return float((rotate_by_position(x) - rotate_by_position(x, layout="halves")).abs().max())


def _window() -> float:
    return float(window_mask(8, window=4)[-1].sum() - window_mask(8, window=3)[-1].sum())


def _polarity() -> float:
    queries, keys, values = (_float64(1, 4, 3, seed=s) for s in range(3))
    mask = causal_mask(4)
    ours = scaled_dot_product_attention(queries, keys, values, mask=mask)[0]
    return float(
        (scaled_dot_product_attention(queries, keys, values, mask=~mask)[0] - ours).abs().max()
    )


def _model_or_head() -> float:
    queries, keys = _float64(64, 1, 64), _float64(64, 16, 64, seed=1)
    ours = masked_softmax(scaled_dot_scores(queries, keys)).amax(dim=-1).mean()
    theirs = masked_softmax(scaled_dot_scores(queries, keys, 512**-0.5)).amax(dim=-1).mean()
    return float(ours - theirs)


def _before_or_after_dropout() -> float:
    torch.manual_seed(0)
    dropped = F.dropout(torch.full((64, 4), 1 / 4), 0.1)  # all four kept: 4 / 3.6
    return float((dropped.sum(dim=-1) - 1).abs().min())


def _corner() -> float:
    upper_left = torch.ones(2, 5, dtype=torch.bool).tril()
    return float(causal_mask(2, 5)[0].sum() - upper_left[0].sum())


def _fill() -> float:
    weights = torch.softmax(torch.full((4,), -1e9), dim=-1)
    empty = masked_softmax(torch.zeros(1, 4), mask=torch.zeros(1, 4, dtype=torch.bool))[0]
    return float((weights - empty).max())


def _sink_in_or_out() -> float:
    scores, sink = torch.zeros(1, 4), torch.zeros(1, 1)
    with_sink = torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1)[:, :-1]
    return float((masked_softmax(scores + sink) - with_sink).sum())


DISAGREEMENTS = [
    Disagreement(
        "Are scores divided by √d?",
        "yes (Vaswani et al.)",
        "not in Karpathy’s first head, nor in Luong et al.",
        KARPATHY[1],
        "largest change of a weight",
        _scaled_or_not,
    ),
    Disagreement(
        "Which width stands under the root?",
        "a head’s: so many products are summed",
        "the model’s, in code where d_model and d_k have one name",
        "https://github.com/karpathy/ng-video-lecture/pull/6",
        "the mean largest weight falls by",
        _model_or_head,
    ),
    Disagreement(
        "What does True in a mask mean?",
        "may attend, as in PyTorch’s function",
        "must not, in nn.MultiheadAttention",
        LAYER,
        "largest change of an output",
        _polarity,
    ),
    Disagreement(
        "What stands in for −∞?",
        "−∞, and weight 0 where nothing may be seen",
        "−10⁹ or the dtype’s smallest: an empty row is then uniform",
        "https://nlp.seas.harvard.edu/annotated-transformer/",
        "weight that each of 4 hidden keys gets",
        _fill,
    ),
    Disagreement(
        "How many keys does a window of w hold?",
        "w, the query’s own included",
        "w before it and its own, so w + 1",
        "https://github.com/huggingface/transformers/pull/39408",
        "keys more that a query sees",
        _window,
    ),
    Disagreement(
        "Fewer queries than keys: where does the causal mask end?",
        "lower right: the last query sees every key",
        "upper left, PyTorch’s is_causal",
        FUNCTION,
        "keys that the first of 2 queries loses, of 5",
        _corner,
    ),
    Disagreement(
        "Which coordinates does a rotary position turn together?",
        "neighbours, (0, 1), (2, 3) (RoFormer)",
        "halves, (0, d/2), (1, d/2 + 1) (GPT-NeoX, Llama in Hugging Face)",
        "https://github.com/huggingface/transformers/issues/25199",
        "largest change of a coordinate",
        _pairs_or_halves,
    ),
    Disagreement(
        "Are weights returned before or after dropout?",
        "before: rows sum to 1",
        "after, in nn.MultiheadAttention while it trains",
        "https://github.com/pytorch/pytorch/issues/42929",
        "smallest error of a row’s sum",
        _before_or_after_dropout,
    ),
    Disagreement(
        "How does a learned sink enter the softmax?",
        "as one more term of the sum: rows add up to less than 1",
        "added to every score, where softmax cancels it",
        "https://github.com/huggingface/transformers/issues/41026",
        "weight that the sink should get beside 4 keys",
        _sink_in_or_out,
    ),
]
