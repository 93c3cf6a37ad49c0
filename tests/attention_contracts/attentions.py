"""Attentions that are right, and attentions that break something, for the tests of contracts."""

import torch
import torch.nn.functional as F
from torch import nn

from attention_lib.attention import AdditiveAttention, scaled_dot_product_attention
from attention_lib.masking import causal_mask, length_mask, window_mask
from attention_lib.multihead import MultiHeadAttention, merge_heads, split_heads
from attention_lib.positions import (
    PositionalEncoding,
    rotary_scores,
    rotate_by_position,
    sinusoidal_positions,
)

BATCH, LENGTH, D_MODEL, NUM_HEADS = 3, 7, 10, 2
VALID_LENS, EMPTY_LENS = torch.tensor([5, 2, 7]), torch.tensor([5, 0, 7])
REAL = torch.arange(7) >= 7 - VALID_LENS.unsqueeze(-1)  # padding on the left
SQUARE = torch.ones(7, 7, dtype=torch.bool)
NAN = float("nan")


def numbers(*shape, seed=0, dtype=torch.float32):
    seeded = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=seeded, device="cpu").to(dtype)


def scores_of(queries, keys):
    return queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5


# --- implementations that are right -------------------------------------------------------------


def ours_causal(queries, keys, values):
    mask = causal_mask(queries.shape[-2], keys.shape[-2])
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


def ours_causal_fused(queries, keys, values):
    mask = causal_mask(queries.shape[-2], keys.shape[-2])
    return scaled_dot_product_attention(queries, keys, values, mask=mask, need_weights=False)


def torch_causal(queries, keys, values):
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)


def ours_padded(queries, keys, values):
    return scaled_dot_product_attention(queries, keys, values, VALID_LENS)


def torch_padded(queries, keys, values):
    mask = length_mask(VALID_LENS, keys.shape[-2])
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def torch_module(**options):
    torch.manual_seed(0)
    return nn.MultiheadAttention(D_MODEL, NUM_HEADS, batch_first=True, **options)


def torch_module_causal(queries, keys, values):
    hidden = ~causal_mask(queries.shape[-2], keys.shape[-2])  # True = hidden, in this module
    return torch_module()(queries, keys, values, attn_mask=hidden)


def torch_module_padded(queries, keys, values):
    hidden = ~length_mask(VALID_LENS, keys.shape[-2]).squeeze(1)
    return torch_module()(queries, keys, values, key_padding_mask=hidden)


def ours_multi_head(queries, keys, values):
    torch.manual_seed(0)
    return MultiHeadAttention(D_MODEL, NUM_HEADS)(queries, keys, values, VALID_LENS)


def ours_additive(queries, keys, values):
    torch.manual_seed(0)
    return AdditiveAttention(D_MODEL, D_MODEL, 3)(queries, keys, values, VALID_LENS)


# --- implementations that break something ----------------------------------------------------


def unmasked(queries, keys, values):
    return scores_of(queries, keys).softmax(dim=-1) @ values


def one_key_too_many(queries, keys, values):
    mask = torch.ones(queries.shape[-2], keys.shape[-2], dtype=torch.bool).tril(1)
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


def adds_the_next_query(queries, keys, values):
    """Causal in keys and values; the future comes in by the queries."""
    return ours_causal(queries, keys, values)[0] + queries.roll(-1, dims=-2)


def wrong_reshape(queries, keys, values):
    """Causal in every head, but positions were mixed into heads before."""
    shape = (len(queries), NUM_HEADS, queries.shape[1], D_MODEL // NUM_HEADS)
    return merge_heads(ours_causal(*(x.reshape(shape) for x in (queries, keys, values)))[0])


def wrong_reshape_back(queries, keys, values):
    """Split rightly, joined without swapping the axes back."""
    shape = (len(queries), queries.shape[1], NUM_HEADS, D_MODEL // NUM_HEADS)
    heads = (x.reshape(shape).transpose(1, 2) for x in (queries, keys, values))
    return ours_causal(*heads)[0].reshape(queries.shape)


def filled_with_zero(queries, keys, values):
    mask = length_mask(VALID_LENS, keys.shape[-2])
    return scores_of(queries, keys).masked_fill(~mask, 0.0).softmax(dim=-1) @ values


def result_thrown_away(queries, keys, values):
    scores = scores_of(queries, keys)
    scores.masked_fill(~length_mask(VALID_LENS, keys.shape[-2]), float("-inf"))
    return scores.softmax(dim=-1) @ values


def mean_over_padding(queries, keys, values):
    """Masked weights are right; the output is then centred over all positions."""
    output, weights = ours_padded(queries, keys, values)
    return output - values.mean(dim=-2, keepdim=True), weights


def with_positions(queries, keys, values):
    encode = PositionalEncoding(D_MODEL)
    return scaled_dot_product_attention(queries, encode(keys), values)


def prefers_the_first_key(queries, keys, values):
    bias = torch.zeros(keys.shape[-2])
    bias[0] = 1.0
    return (scores_of(queries, keys) + bias).softmax(dim=-1) @ values


def wrong_axis(queries, keys, values):
    weights = scores_of(queries, keys).softmax(dim=0)
    return weights @ values, weights


def masked_after_softmax(queries, keys, values):
    weights = scores_of(queries, keys).softmax(dim=-1) * length_mask(VALID_LENS, keys.shape[-2])
    return weights @ values, weights


def raw_scores(queries, keys, values):
    weights = scores_of(queries, keys)
    return weights @ values, weights


def nan_rows(queries, keys, values):
    empty = torch.zeros(1, keys.shape[-2], dtype=torch.bool)
    weights = scores_of(queries, keys).masked_fill(~empty, float("-inf")).softmax(dim=-1)
    return weights @ values, weights


def scales_in_place(queries, keys, values):
    queries /= queries.shape[-1] ** 0.5
    return (queries @ keys.transpose(-2, -1)).softmax(dim=-1) @ values


def zeroes_padding_in_place(queries, keys, values):
    values[~length_mask(VALID_LENS, keys.shape[-2]).squeeze(1)] = 0.0
    return ours_padded(queries, keys, values)


class RemembersKeys(nn.Module):
    """Keeps the keys and values of every call, as a cache that nobody empties."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, queries, keys, values):
        self.seen.append((keys, values))
        keys, values = (torch.cat(parts, dim=-2) for parts in zip(*self.seen, strict=True))
        return scaled_dot_product_attention(queries, keys, values)


def always_drops(queries, keys, values):
    return F.scaled_dot_product_attention(queries, keys, values, dropout_p=0.5)


def random_by_a_hair(queries, keys, values):
    return unmasked(queries, keys, values) + 1e-6 * torch.rand(values.shape)


def mean_of_what_may_be_seen(queries, keys, values):
    """Every query gets the same; neither queries nor keys are read."""
    real = length_mask(EMPTY_LENS, keys.shape[-2])
    shares = real / real.sum(dim=-1, keepdim=True).clamp(min=1)
    return (shares @ values).expand(-1, queries.shape[-2], -1)


def ours_with_lengths(queries, keys, values, valid_lens=None):
    return scaled_dot_product_attention(queries, keys, values, valid_lens)


def layer_with_a_mask_repeated(queries, keys, values, mask):
    """One mask a head, in the order in which PyTorch's layer reads them: sample by sample."""
    hidden = ~mask.repeat_interleave(NUM_HEADS, dim=0)
    return torch_module()(queries, keys, values, attn_mask=hidden)


def layer_with_a_mask_tiled(queries, keys, values, mask):
    """In the wrong order: a sample gets its neighbours' masks."""
    return torch_module()(queries, keys, values, attn_mask=~mask.repeat(NUM_HEADS, 1, 1))


def normalised_over_the_batch(queries, keys, values, *_):
    return scaled_dot_product_attention(queries, keys - keys.mean(dim=0), values)


def upper_left(queries, keys, values):
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)


def right_for_one_query(queries, keys, values):
    """A cache that leaves the mask out: right as long as each step has one query."""
    if queries.shape[-2] == keys.shape[-2]:
        return ours_causal(queries, keys, values)
    return scaled_dot_product_attention(queries, keys, values)


def filled_with(fill):
    def attend(queries, keys, values):
        hidden = ~length_mask(VALID_LENS, keys.shape[-2])
        return scores_of(queries, keys).masked_fill(hidden, fill).softmax(dim=-1) @ values

    return attend


filled_with_a_billion, filled_with_a_million = filled_with(-1e9), filled_with(-1e6)
filled_with_infinity = filled_with(-float("inf"))


def unscaled(queries, keys, values):
    return (queries @ keys.mT).softmax(dim=-1) @ values


def divided_by_d(queries, keys, values):
    return (queries @ keys.mT / queries.shape[-1]).softmax(dim=-1) @ values


def scaled_twice(queries, keys, values):
    return scaled_dot_product_attention(queries / queries.shape[-1] ** 0.5, keys, values)


def reads_the_keys(queries, keys, values):
    return scaled_dot_product_attention(queries, keys, keys)


def ignores_the_queries(queries, keys, values):
    """An additive score without tanh: what the query adds is the same for all keys."""
    scores = queries.sum(dim=-1, keepdim=True) + keys.sum(dim=-1).unsqueeze(-2)
    return scores.softmax(dim=-1) @ values


def identity_heads(queries, keys, values):
    heads = [split_heads(x, NUM_HEADS) for x in (queries, keys, values)]
    output, weights = scaled_dot_product_attention(*heads)
    return merge_heads(output), weights


def averaged_heads(queries, keys, values):
    output, weights = identity_heads(queries, keys, values)
    return output, weights.mean(dim=1)


def swapped_heads(queries, keys, values):
    output, weights = identity_heads(queries, keys, values)
    return output, weights.flip(1)


def projected(queries, keys, values):
    maps = [numbers(64, 64, seed=seed) / 8 for seed in (1, 2)]
    return scaled_dot_product_attention(queries @ maps[0], keys @ maps[1], values)


def one_matrix_for_both(queries, keys, values):
    shared = numbers(64, 64, seed=1) / 8
    return scaled_dot_product_attention(queries @ shared, keys @ shared, values)


def with_padding(queries, keys, values, real):
    return scaled_dot_product_attention(queries, keys, values, mask=real.unsqueeze(1))


def torch_with_padding(queries, keys, values, real):
    return torch_module()(queries, keys, values, key_padding_mask=~real)


def rotary_by_place(queries, keys, values, real):
    scores = rotary_scores(queries, keys)
    return scores.masked_fill(~real.unsqueeze(1), -torch.inf).softmax(dim=-1) @ values


def sines_by_place(queries, keys, values, real):
    waves = sinusoidal_positions(keys.shape[1], D_MODEL)
    return with_padding(queries + waves, keys + waves, values, real)


def mean_of_the_row(queries, keys, values, real):
    output, _ = with_padding(queries, keys, values, real)
    return output - queries.mean(dim=1, keepdim=True)


def ours_with_an_empty_row(queries, keys, values):
    return scaled_dot_product_attention(queries, keys, values, EMPTY_LENS)


def torch_with_an_empty_row(queries, keys, values):
    return F.scaled_dot_product_attention(
        queries, keys, values, attn_mask=length_mask(EMPTY_LENS, keys.shape[-2])
    )


def nan_in_an_empty_row(queries, keys, values):
    hidden = ~length_mask(EMPTY_LENS, keys.shape[-2])
    return scores_of(queries, keys).masked_fill(hidden, -torch.inf).softmax(dim=-1) @ values


def nan_put_to_zero_after(queries, keys, values):
    """Finite outputs, and NaN gradients."""
    return nan_in_an_empty_row(queries, keys, values).nan_to_num()


def detached_keys(queries, keys, values):
    return scaled_dot_product_attention(queries, keys.detach(), values)


def cut_off(queries, keys, values):
    return scaled_dot_product_attention(queries, keys, values)[0].detach()


def by_numpy(queries, keys, values):
    return torch.from_numpy(unmasked(queries, keys, values).numpy())


def other_without_gradients(queries, keys, values):
    output = unmasked(queries, keys, values)
    return output if torch.is_grad_enabled() else output.masked_fill(output < 0, 0.0)


def root_of_zero(queries, keys, values):
    """The length of a vector of zeros has no slope."""
    return unmasked(queries, keys, values) * (values * 0).square().sum().sqrt()


class MakesALayer(nn.Module):
    def forward(self, queries, keys, values):
        return unmasked(nn.Linear(D_MODEL, D_MODEL)(queries), keys, values)


class MakesItOnce(nn.Module):
    def forward(self, queries, keys, values):
        if not hasattr(self, "W_q"):
            self.W_q = nn.Linear(D_MODEL, D_MODEL)
        return unmasked(self.W_q(queries), keys, values)


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_q = nn.LazyLinear(D_MODEL)

    def forward(self, queries, keys, values):
        return unmasked(self.W_q(queries), keys, values)


class KeepsWeights(nn.Module):
    def forward(self, queries, keys, values):
        output, self.weights = scaled_dot_product_attention(queries, keys, values)
        return output


class KeepsWeightsDetached(nn.Module):
    def forward(self, queries, keys, values):
        output, weights = scaled_dot_product_attention(queries, keys, values)
        self.weights = weights.detach()
        return output


def mask_on_the_cpu(queries, keys, values):
    mask = torch.ones(queries.shape[-2], keys.shape[-2], dtype=torch.bool).tril()
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


def comes_back_to_the_cpu(queries, keys, values):
    return torch.zeros(queries.shape)


def mask_where_the_keys_are(queries, keys, values):
    mask = causal_mask(queries.shape[-2], keys.shape[-2], keys.device)
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


def window_of(size):
    def attend(queries, keys, values):
        mask = window_mask(queries.shape[-2], keys.shape[-2], window=size, device=keys.device)
        return scaled_dot_product_attention(queries, keys, values, mask=mask)

    return attend


window_of_2, window_of_3, window_of_4 = map(window_of, (2, 3, 4))


def window_of_3_after_softmax(queries, keys, values):
    """Beyond the window no value is read, and one key still takes its share."""
    weights = window_of_4(queries, keys, values)[1]
    return (weights * window_mask(queries.shape[-2], keys.shape[-2], window=3)) @ values


def rotary(queries, keys, values):
    return rotary_scores(queries, keys).softmax(dim=-1) @ values


def rotary_halves(queries, keys, values):
    return rotary_scores(queries, keys, layout="halves").softmax(dim=-1) @ values


def rotary_in_two_layouts(queries, keys, values):
    turned = rotate_by_position(queries) @ rotate_by_position(keys, layout="halves").mT
    return turned.softmax(dim=-1) @ values
