"""Attention, one idea a module. In reading order:

- :mod:`~attention_lib.scoring`: how well does a key answer a query?
- :mod:`~attention_lib.masking`: which keys may a query attend to, and a softmax that obeys.
- :mod:`~attention_lib.attention`: scores, masked softmax, weighted sum of the values.
- :mod:`~attention_lib.cache`: keys and values kept between calls, to decode step by step.
- :mod:`~attention_lib.multihead`: split the width, attend in every head, join the outputs.
- :mod:`~attention_lib.positions`: sines and cosines, added or as rotations, that tell the order.
- :mod:`~attention_lib.saturation`: how concentrated weights are, and the gradient they leave.
- :mod:`~attention_lib.palette`: the colours, the same in every picture.
- :mod:`~attention_lib.plots`: one function a picture (needs matplotlib).
- :mod:`~attention_lib.notebook`: what every chapter starts with.
- :mod:`~attention_lib.arguments`: refusals in words, for the library and the workbook.
"""

import importlib
import types
import typing

from attention_lib.attention import (
    AdditiveAttention,
    Attention,
    DotProductAttention,
    scaled_dot_product_attention,
)
from attention_lib.cache import KeyValueCache
from attention_lib.masking import (
    causal_mask,
    combine_masks,
    document_mask,
    length_mask,
    masked_softmax,
    padding_mask,
    window_mask,
)
from attention_lib.multihead import AddNorm, MultiHeadAttention, merge_heads, split_heads
from attention_lib.notebook import device, generator, show
from attention_lib.positions import (
    PositionalEncoding,
    rotary_frequencies,
    rotary_scores,
    rotate_by_position,
    sinusoidal_positions,
)
from attention_lib.saturation import effective_keys, entropy, sample_scores, softmax_jacobian
from attention_lib.scoring import (
    AdditiveScore,
    BilinearScore,
    alibi_bias,
    alibi_slopes,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    scaled_dot_scores,
    soft_cap,
)

__all__ = [
    "AddNorm",
    "AdditiveAttention",
    "AdditiveScore",
    "Attention",
    "BilinearScore",
    "DotProductAttention",
    "KeyValueCache",
    "MultiHeadAttention",
    "PositionalEncoding",
    "alibi_bias",
    "alibi_slopes",
    "causal_mask",
    "combine_masks",
    "cosine_scores",
    "device",
    "document_mask",
    "dot_scores",
    "effective_keys",
    "entropy",
    "gaussian_scores",
    "generator",
    "length_mask",
    "masked_softmax",
    "merge_heads",
    "padding_mask",
    "rotary_frequencies",
    "rotary_scores",
    "rotate_by_position",
    "sample_scores",
    "scaled_dot_product_attention",
    "scaled_dot_scores",
    "show",
    "sinusoidal_positions",
    "soft_cap",
    "softmax_jacobian",
    "split_heads",
    "window_mask",
]

__version__ = "0.1.0"

_LOADED_WHEN_NEEDED = ("palette", "plots")


if not typing.TYPE_CHECKING:  # a checker must go on refusing names that are not there

    def __getattr__(name: str) -> types.ModuleType:
        """Load a module when it is first asked for, as in ``attention_lib.plots``."""
        if name in _LOADED_WHEN_NEEDED:
            return importlib.import_module(f"attention_lib.{name}")
        raise AttributeError(f"module 'attention_lib' has no attribute {name!r}")
