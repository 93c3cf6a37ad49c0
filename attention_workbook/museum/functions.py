"""Functions that are wrong in one line each. Their labels are in ``labels.json``."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.masking import causal_mask, masked_softmax
from attention_lib.positions import rotary_scores
from attention_lib.scoring import scaled_dot_scores
from attention_workbook.museum.exhibits import exhibit, masked
from attention_workbook.museum.right import (
    WINDOW,
    Pair,
    Projected,
    allowed,
    by_pytorch,
    cached_window,
    fused,
    heads,
    in_cache,
    in_heads,
    in_window,
    positions_by_token,
    right_attention,
    rotary,
    weighted_values,
    windowed,
    with_positions,
)


def _filled(fill: float, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return weighted_values(scaled_dot_scores(queries, keys).masked_fill(~mask, fill), values)


@masked()
def filled_with_zero(*call: Tensor) -> Pair:
    return _filled(0.0, *call)


@masked()
def filled_with_a_millionth(*call: Tensor) -> Pair:
    return _filled(-1e-6, *call)  # 1e-6 is a millionth; a million is 1e6


@masked()
def filled_with_a_million(*call: Tensor) -> Pair:
    return _filled(-1e6, *call)


@masked()
def filled_with_a_billion(*call: Tensor) -> Pair:
    return _filled(-1e9, *call)


@masked()
def filled_with_the_lowest(*call: Tensor) -> Pair:
    return _filled(torch.finfo(call[0].dtype).min, *call)


@masked()
def nan_on_an_empty_row(*call: Tensor) -> Pair:
    return _filled(-torch.inf, *call)


@masked()
def result_thrown_away(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    scores = scaled_dot_scores(queries, keys)
    scores.masked_fill(~mask, -torch.inf)
    return weighted_values(scores, values)


@masked()
def mask_the_other_way(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return weighted_values(scaled_dot_scores(queries, keys), values, ~mask)


@masked()
def mask_added(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return weighted_values(scaled_dot_scores(queries, keys) + mask.to(queries.dtype), values)


@masked()
def masked_after_softmax(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    weights = scaled_dot_scores(queries, keys).softmax(dim=-1) * mask
    return weights @ values, weights


@masked()
def zero_times_nan(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    weights = masked_softmax(scaled_dot_scores(queries, keys.nan_to_num()), mask=mask)
    return weights @ values, weights


@exhibit()
def masked_in_place(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    rows = values.reshape(-1, values.shape[-1])
    if real is not None:
        rows[~real.reshape(-1)] = 0.0
    return right_attention(queries, keys, values, real, causal)


@masked()
def mask_made_elsewhere(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    mask = torch.tensor(mask.tolist())
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


@masked()
def softmax_over_the_batch(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    scores = scaled_dot_scores(queries, keys).masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=0)
    return weights @ values, weights


@masked()
def unscaled(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=1.0)


@masked()
def divided_by_d(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    scale = 1 / queries.shape[-1]
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=scale)


@masked()
def scaled_by_another_width(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=64**-0.5)


@masked(heads, num_heads=2)
def divided_by_root_of_d_model(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return in_heads(queries, keys, values, mask.unsqueeze(1), scale=queries.shape[-1] ** -0.5)


@masked()
def values_from_the_keys(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return scaled_dot_product_attention(queries, keys, keys, mask=mask)


@masked(fused)
def dropout_in_evaluation(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return F.scaled_dot_product_attention(queries, keys, values, mask, dropout_p=0.1), None


@exhibit(Projected, widths=(64, 64, 64))
def no_projections(*call: Any) -> Any:
    return right_attention(*call)  # and no W_q, W_k, W_v before it


@exhibit(fused)
def future_only(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    mask = allowed(queries, keys, real, False)
    if causal:
        mask = mask & ~causal_mask(queries.shape[-2], keys.shape[-2], keys.device)
    return by_pytorch(queries, keys, values, mask)


@exhibit(fused)
def upper_left(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    mask = allowed(queries, keys, real, False)
    if causal:
        mask = mask & torch.ones_like(mask).tril()
    return by_pytorch(queries, keys, values, mask)


@exhibit(positions_by_token)
def left_padding_by_place(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    places = torch.arange(keys.shape[-2], device=keys.device).unsqueeze(0)
    return with_positions(queries, keys, values, real, causal, places)


@exhibit(windowed)
def window_with_one_more(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    return in_window(queries, keys, values, real, WINDOW + 1)


@exhibit(cached_window)
def cache_one_short(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    return in_cache(queries, keys, values, real, WINDOW - 1)  # the oldest key of the window is gone


@masked(rotary)
def rotary_halves(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    scores = rotary_scores(queries, keys, layout="halves")  # weights trained with pairs
    return weighted_values(scores, values, mask)


@masked(heads, num_heads=2)
def view_for_transpose(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    def split(x: Tensor, num_heads: int) -> Tensor:
        return x.reshape(len(x), num_heads, x.shape[1], -1)

    return in_heads(queries, keys, values, mask.unsqueeze(1), split)


@masked(heads, num_heads=2, batch=2)
def batch_taken_for_heads(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return in_heads(queries, keys, values, mask)  # (batch, …) is read as (num_heads, …)
