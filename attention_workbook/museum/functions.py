"""Functions that are wrong in one line each."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.masking import causal_mask, masked_softmax
from attention_lib.positions import rotary_scores
from attention_lib.scoring import scaled_dot_scores
from attention_workbook.museum.right import (
    WINDOW,
    Pair,
    allowed,
    by_pytorch,
    in_cache,
    in_heads,
    in_window,
    right_attention,
    weighted_values,
    with_mask,
    with_positions,
)


def _filled(fill: float, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return weighted_values(scaled_dot_scores(queries, keys).masked_fill(~mask, fill), values)


@with_mask
def filled_with_zero(*call: Tensor) -> Pair:
    """Scores of masked keys become 0."""
    return _filled(0.0, *call)


@with_mask
def filled_with_a_millionth(*call: Tensor) -> Pair:
    """Masked scores become 10 to the power of −6, where −10 to the power of 6 was meant."""
    return _filled(-1e-6, *call)  # 1e-6 is a millionth; a million is 1e6


@with_mask
def filled_with_a_million(*call: Tensor) -> Pair:
    """Masked scores become −10 to the power of 6."""
    return _filled(-1e6, *call)


@with_mask
def filled_with_a_billion(*call: Tensor) -> Pair:
    """Masked scores become −10 to the power of 9."""
    return _filled(-1e9, *call)


@with_mask
def filled_with_the_lowest(*call: Tensor) -> Pair:
    """Masked scores become the lowest number of the dtype."""
    return _filled(torch.finfo(call[0].dtype).min, *call)


@with_mask
def nan_on_an_empty_row(*call: Tensor) -> Pair:
    """Masked scores become −∞, in rows with nothing to attend to as well."""
    return _filled(-torch.inf, *call)


@with_mask
def result_thrown_away(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """The tensor that masked_fill returns is not used."""
    scores = scaled_dot_scores(queries, keys)
    scores.masked_fill(~mask, -torch.inf)
    return weighted_values(scores, values)


@with_mask
def mask_the_other_way(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """True is taken for "hidden", where it means "may attend"."""
    return weighted_values(scaled_dot_scores(queries, keys), values, ~mask)


@with_mask
def mask_added(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """A mask of 0.0 and 1.0 is added to the scores."""
    return weighted_values(scaled_dot_scores(queries, keys) + mask.to(queries.dtype), values)


@with_mask
def masked_after_softmax(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """Weights are multiplied by the mask after the softmax."""
    weights = scaled_dot_scores(queries, keys).softmax(dim=-1) * mask
    return weights @ values, weights


@with_mask
def zero_times_nan(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """Values of masked keys are multiplied by a weight of 0, and nothing else hides them."""
    weights = masked_softmax(scaled_dot_scores(queries, keys.nan_to_num()), mask=mask)
    return weights @ values, weights


def masked_in_place(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """What is hidden is overwritten through a reshaped view."""
    rows = values.reshape(-1, values.shape[-1])
    if real is not None:
        rows[~real.reshape(-1)] = 0.0
    return right_attention(queries, keys, values, real, causal)


@with_mask
def mask_made_elsewhere(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """The mask leaves PyTorch, and comes back without a device."""
    mask = torch.tensor(mask.tolist())
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


@with_mask
def softmax_over_the_batch(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """The softmax runs over the first axis, which it guesses when it is given none."""
    scores = scaled_dot_scores(queries, keys).masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=0)
    return weights @ values, weights


@with_mask
def unscaled(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """The scores are not divided at all."""
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=1.0)


@with_mask
def divided_by_d(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """The scores are divided by d, without its root."""
    scale = 1 / queries.shape[-1]
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=scale)


@with_mask
def scaled_by_another_width(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """The divisor is √64, whatever the width of queries and keys."""
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=64**-0.5)


@with_mask
def divided_by_root_of_d_model(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """Each head divides by the root of the whole width, not of its own."""
    return in_heads(queries, keys, values, mask.unsqueeze(1), scale=queries.shape[-1] ** -0.5)


@with_mask
def values_from_the_keys(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """The values are taken from the keys."""
    return scaled_dot_product_attention(queries, keys, keys, mask=mask)


@with_mask
def dropout_in_evaluation(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """Dropout is on, whatever the mode."""
    return F.scaled_dot_product_attention(queries, keys, values, mask, dropout_p=0.1), None


def no_projections(*call: Any) -> Any:
    """Queries, keys and values are the tokens themselves."""
    return right_attention(*call)  # and no W_q, W_k, W_v before it


def future_only(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """PyTorch's function gets an upper triangle of True, as the layer would want it."""
    mask = allowed(queries, keys, real, False)
    if causal:
        mask = mask & ~causal_mask(queries.shape[-2], keys.shape[-2], keys.device)
    return by_pytorch(queries, keys, values, mask)


def upper_left(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The triangle starts in the upper left, where a cache needs the lower right."""
    mask = allowed(queries, keys, real, False)
    if causal:
        mask = mask & torch.ones_like(mask).tril()
    return by_pytorch(queries, keys, values, mask)


def left_padding_by_place(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Positions count places, with padding on the left."""
    places = torch.arange(keys.shape[-2], device=keys.device).unsqueeze(0)
    return with_positions(queries, keys, values, real, causal, places)


def window_with_one_more(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """A window of w keys counts w keys before the query, and its own on top."""
    return in_window(queries, keys, values, real, WINDOW + 1)


def cache_one_short(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The cache of a window keeps one key too few."""
    return in_cache(queries, keys, values, real, WINDOW - 1)  # the oldest key of the window is gone


@with_mask
def rotary_halves(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """Weights that were trained with pairs of neighbours run in code that pairs halves."""
    scores = rotary_scores(queries, keys, layout="halves")  # weights trained with pairs
    return weighted_values(scores, values, mask)


@with_mask
def view_for_transpose(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """Heads are split by a view alone, without the transpose."""

    def split(x: Tensor, num_heads: int) -> Tensor:
        return x.reshape(len(x), num_heads, x.shape[1], -1)

    return in_heads(queries, keys, values, mask.unsqueeze(1), split)


@with_mask
def batch_taken_for_heads(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """A mask (batch, len_q, len_k) meets scores with an axis for heads."""
    return in_heads(queries, keys, values, mask)  # (batch, …) is read as (num_heads, …)
