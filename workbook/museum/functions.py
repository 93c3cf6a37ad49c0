"""Functions that are wrong in one line each. Their labels are in ``labels.json``."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.masking import causal_mask
from attention_lib.multihead import merge_heads, split_heads
from attention_lib.positions import rotary_scores
from attention_lib.scoring import scaled_dot_scores
from workbook.museum.exhibits import Attend, exhibit
from workbook.museum.right import (
    NUM_HEADS,
    WINDOW,
    Pair,
    Projected,
    allowed,
    cached_window,
    finished,
    fused,
    heads,
    in_cache,
    in_window,
    placed,
    positions_by_token,
    right_attention,
    rotary,
    windowed,
)


def _filled(fill: float) -> Attend:
    def attend(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
        hidden = ~allowed(queries, keys, real, causal)
        return finished(scaled_dot_scores(queries, keys).masked_fill(hidden, fill), values)

    return attend


@exhibit()
def filled_with_zero(*call: Any) -> Any:
    """Scores of masked keys become 0."""
    return _filled(0.0)(*call)


@exhibit()
def filled_with_a_millionth(*call: Any) -> Any:
    """Masked scores become 10 to the power of −6, where −10 to the power of 6 was meant."""
    return _filled(-1e-6)(*call)


@exhibit()
def filled_with_a_million(*call: Any) -> Any:
    """Masked scores become −10 to the power of 6."""
    return _filled(-1e6)(*call)


@exhibit()
def filled_with_a_billion(*call: Any) -> Any:
    """Masked scores become −10 to the power of 9."""
    return _filled(-1e9)(*call)


@exhibit()
def filled_with_the_lowest(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Any:
    """Masked scores become the lowest number of the dtype."""
    return _filled(torch.finfo(queries.dtype).min)(queries, keys, values, real, causal)


@exhibit()
def nan_on_an_empty_row(*call: Any) -> Any:
    """Masked scores become −∞, in rows with nothing to attend to as well."""
    return _filled(-torch.inf)(*call)


@exhibit()
def result_thrown_away(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """The tensor that masked_fill returns is not used."""
    scores = scaled_dot_scores(queries, keys)
    scores.masked_fill(~allowed(queries, keys, real, causal), -torch.inf)
    return finished(scores, values)


@exhibit()
def mask_the_other_way(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """True is taken for "hidden", where it means "may attend"."""
    shown = allowed(queries, keys, real, causal)
    return finished(scaled_dot_scores(queries, keys).masked_fill(shown, -torch.inf), values)


@exhibit()
def mask_added(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """A mask of 0.0 and 1.0 is added to the scores."""
    mask = allowed(queries, keys, real, causal).to(queries.dtype)
    return finished(scaled_dot_scores(queries, keys) + mask, values)


@exhibit()
def masked_after_softmax(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Weights are multiplied by the mask after the softmax."""
    weights = scaled_dot_scores(queries, keys).softmax(dim=-1)
    weights = weights * allowed(queries, keys, real, causal)
    return weights @ values, weights


@exhibit()
def zero_times_nan(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """Values of masked keys are multiplied by a weight of 0, and nothing else hides them."""
    _, weights = right_attention(queries, keys.nan_to_num(), values.nan_to_num(), real, causal)
    assert weights is not None
    return weights @ values, weights


@exhibit()
def masked_in_place(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """What is hidden is overwritten through a reshaped view."""
    rows = values.reshape(-1, values.shape[-1])
    if real is not None:
        rows[~real.reshape(-1)] = 0.0
    return right_attention(queries, keys, values, real, causal)


@exhibit()
def mask_made_elsewhere(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """The mask leaves PyTorch, and comes back without a device."""
    mask = torch.tensor(allowed(queries, keys, real, causal).tolist())
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


@exhibit()
def softmax_over_the_batch(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """The softmax runs over the first axis, which it guesses when it is given none."""
    hidden = ~allowed(queries, keys, real, causal)
    weights = scaled_dot_scores(queries, keys).masked_fill(hidden, -torch.inf).softmax(dim=0)
    return weights @ values, weights


@exhibit()
def unscaled(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The scores are not divided at all."""
    mask = allowed(queries, keys, real, causal)
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=1.0)


@exhibit()
def divided_by_d(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The scores are divided by d, without its root."""
    mask, scale = allowed(queries, keys, real, causal), 1 / queries.shape[-1]
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=scale)


@exhibit()
def scaled_by_another_width(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """The divisor is √64, whatever the width of queries and keys."""
    mask = allowed(queries, keys, real, causal)
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=64**-0.5)


@exhibit(heads, num_heads=2)
def divided_by_root_of_d_model(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Each head divides by the root of the whole width, not of its own."""
    parts = [split_heads(x, NUM_HEADS) for x in (queries, keys, values)]
    mask, scale = allowed(queries, keys, real, causal).unsqueeze(1), queries.shape[-1] ** -0.5
    output, weights = scaled_dot_product_attention(*parts, mask=mask, scale=scale)
    return merge_heads(output), weights


@exhibit()
def values_from_the_keys(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """The values are taken from the keys."""
    return right_attention(queries, keys, keys, real, causal)


@exhibit(fused)
def dropout_in_evaluation(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Dropout is on, whatever the mode."""
    mask = allowed(queries, keys, real, causal)
    return F.scaled_dot_product_attention(queries, keys, values, mask, dropout_p=0.1), None


@exhibit(Projected, widths=(64, 64, 64))
def no_projections(*call: Any) -> Any:
    """Queries, keys and values are the tokens themselves."""
    return right_attention(*call)


@exhibit(fused)
def future_only(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """PyTorch's function gets an upper triangle of True, as the layer would want it."""
    mask = allowed(queries, keys, real, False)
    if causal:
        mask = mask & ~causal_mask(queries.shape[-2], keys.shape[-2], keys.device)
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask), None


@exhibit(fused)
def upper_left(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The triangle starts in the upper left, where a cache needs the lower right."""
    mask = allowed(queries, keys, real, False)
    if causal:
        mask = mask & torch.ones_like(mask).tril()
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask), None


@exhibit(positions_by_token)
def left_padding_by_place(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Positions count places, with padding on the left."""
    places = torch.arange(keys.shape[-2], device=keys.device).unsqueeze(0)
    return placed(queries, keys, values, real, causal, places)


@exhibit(windowed)
def window_with_one_more(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """A window of w keys counts w keys before the query, and its own on top."""
    return in_window(queries, keys, values, real, WINDOW + 1)


@exhibit(cached_window)
def cache_one_short(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The cache of a window keeps one key too few."""
    return in_cache(queries, keys, values, real, WINDOW - 1)


@exhibit(rotary)
def rotary_halves(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """Weights that were trained with pairs of neighbours run in code that pairs halves."""
    hidden = ~allowed(queries, keys, real, causal)
    scores = rotary_scores(queries, keys, layout="halves").masked_fill(hidden, -torch.inf)
    return finished(scores, values)


@exhibit(heads, num_heads=2)
def view_for_transpose(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Heads are split by a view alone, without the transpose."""
    parts = [x.reshape(len(x), NUM_HEADS, x.shape[1], -1) for x in (queries, keys, values)]
    mask = allowed(queries, keys, real, causal).unsqueeze(1)
    output, weights = scaled_dot_product_attention(*parts, mask=mask)
    return merge_heads(output), weights


@exhibit(heads, num_heads=2, batch=2)
def batch_taken_for_heads(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """A mask (batch, len_q, len_k) meets scores with an axis for heads."""
    parts = [split_heads(x, NUM_HEADS) for x in (queries, keys, values)]
    mask = allowed(queries, keys, real, causal)
    output, weights = scaled_dot_product_attention(*parts, mask=mask)
    return merge_heads(output), weights
