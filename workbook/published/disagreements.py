"""Questions on which good texts part."""

import torch
import torch.nn.functional as F

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.cost import cache_bytes
from attention_lib.masking import causal_mask, masked_softmax, window_mask
from attention_lib.positions import (
    rotate_by_position,
)
from attention_lib.scoring import (
    dot_scores,
    scaled_dot_scores,
)
from workbook.published.libraries import FUNCTION, LAYER, float64
from workbook.published.tables import Disagreement
from workbook.published.texts import KARPATHY, karpathy

__all__ = ["DISAGREEMENTS"]


def _scaled_or_not() -> float:
    queries, keys = karpathy()
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
    queries, keys, values = (float64(1, 4, 3, seed=s) for s in range(3))
    mask = causal_mask(4)
    ours = scaled_dot_product_attention(queries, keys, values, mask=mask)[0]
    return float(
        (scaled_dot_product_attention(queries, keys, values, mask=~mask)[0] - ours).abs().max()
    )


def _model_or_head() -> float:
    queries, keys = float64(64, 1, 64), float64(64, 16, 64, seed=1)
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


def _eight_or_sixteen() -> float:
    eight, sixteen = (cache_bytes(126, num_kv_heads, d_k=128) for num_kv_heads in (8, 16))
    return (sixteen - eight) * 128_000 / 1e9


DISAGREEMENTS: list[Disagreement] = [
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
    Disagreement(
        "How many key heads has Llama 3.1 405B?",
        "8, as its configuration says: 66.1 GB for 128\u202f000 tokens",
        "16, by the 123.05 GB (GiB, so 132.1 GB) in a post of its first day",
        "https://github.com/huggingface/blog/issues/2345",
        "GB that lie between them",
        _eight_or_sixteen,
    ),
]
