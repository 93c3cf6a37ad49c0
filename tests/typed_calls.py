"""Calls for the type checker, which ``make lint`` runs; nothing here is executed.

The first pass. Each of the others is wrong and must be flagged: a ``type: ignore`` that is not
needed is an error.
"""

import torch
from torch import Tensor, nn

from attention_lib import (
    AdditiveScore,
    Attention,
    MultiHeadAttention,
    PositionalEncoding,
    causal_mask,
    combine_masks,
    dot_scores,
    entropy,
    gaussian_scores,
    generator,
    length_mask,
    masked_softmax,
    notebook,
    scaled_dot_product_attention,
    scaled_dot_scores,
    show,
    sinusoidal_positions,
    split_heads,
)


def right_calls(x: Tensor, lens: Tensor) -> None:
    scores: Tensor = scaled_dot_scores(x, x, scale=None)
    weights: Tensor = masked_softmax(scores, lens, mask=causal_mask(3, 4))
    mask: Tensor | None = combine_masks(None, length_mask(lens, 4))
    pair: tuple[Tensor, Tensor | None] = scaled_dot_product_attention(x, x, x, scale=0.5)
    layer: nn.Module = MultiHeadAttention(4, 2, bias=True)
    attend: nn.Module = Attention(AdditiveScore(4, 4, 8), dropout=0.1)
    encoded: Tensor = PositionalEncoding(4).forward(x)
    where: torch.device = notebook.device()
    drawn = torch.rand(3, generator=generator(0))
    show(drawn.to(where), decimals=2)
    print(weights, mask, pair, layer, attend, encoded)


def wrong_calls(x: Tensor, lens: Tensor) -> None:
    dot_scores([[1.0]], x)  # type: ignore[arg-type]
    gaussian_scores(x, x, bandwidth="wide")  # type: ignore[arg-type]
    masked_softmax(x, [1, 2])  # type: ignore[arg-type]
    masked_softmax(x, None, causal_mask(3))  # type: ignore[call-arg]
    masked_softmax(x, mask=True)  # type: ignore[arg-type]
    length_mask(lens, 4.0)  # type: ignore[arg-type]
    causal_mask("3")  # type: ignore[arg-type]
    scaled_dot_product_attention(x, x)  # type: ignore[call-arg]
    scaled_dot_product_attention(x, x, x, valid_len=lens)  # type: ignore[call-arg]
    MultiHeadAttention(4, 2.0)  # type: ignore[arg-type]
    MultiHeadAttention(4, 2, 1)  # type: ignore[call-arg]
    Attention(3)  # type: ignore[arg-type]
    sinusoidal_positions(3, None)  # type: ignore[arg-type]
    entropy(weights=[0.5, 0.5])  # type: ignore[arg-type]
    split_heads(x, "2")  # type: ignore[arg-type]
    print(masked_softmax(x).shapes)  # type: ignore[attr-defined]
    scaled_dot_product_attention(x, x, x, need_weights=False)[1].sum()  # type: ignore[union-attr]
    generator("seed")  # type: ignore[arg-type]
    show([1.0])  # type: ignore[arg-type]
