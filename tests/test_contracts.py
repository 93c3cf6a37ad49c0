"""Contracts hold for implementations that are right, PyTorch's own among them, and for no other."""

import copy
import inspect
import re
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention_lib import contracts
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


@pytest.fixture
def x():
    return numbers(BATCH, LENGTH, D_MODEL)


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


RIGHT = {
    contracts.assert_reads_queries: [scaled_dot_product_attention, ours_additive, torch_module()],
    contracts.assert_weights_explain_output: [ours_padded, identity_heads],
    contracts.assert_looks_around: [projected],
    contracts.assert_padding_removable: [with_padding, torch_with_padding, rotary_by_place],
    contracts.assert_survives_empty_rows: [
        ours_with_an_empty_row,
        torch_with_an_empty_row,
        mean_of_what_may_be_seen,
    ],
    contracts.assert_differentiable: [
        ours_padded,
        ours_multi_head,
        torch_module(),
        F.scaled_dot_product_attention,
        lambda queries, keys, values: unmasked(queries, queries, queries),
    ],
    contracts.assert_owns_parameters: [
        torch_module(),
        MultiHeadAttention(D_MODEL, NUM_HEADS),
        AdditiveAttention(D_MODEL, D_MODEL, 3),
        KeepsWeights(),
    ],
    contracts.assert_forgets: [
        ours_padded,
        ours_multi_head,
        torch_module(),
        F.scaled_dot_product_attention,
        KeepsWeightsDetached(),
    ],
    contracts.assert_device_independent: [
        scaled_dot_product_attention,
        mask_where_the_keys_are,
        F.scaled_dot_product_attention,
        torch_module(),
        MultiHeadAttention(D_MODEL, NUM_HEADS),
    ],
    contracts.assert_window: [window_of_3],
    contracts.assert_rotary_layout: [rotary, unmasked, identity_heads],
    contracts.assert_batch_independent: [ours_with_lengths, layer_with_a_mask_repeated],
    contracts.assert_decodes_like_prefill: [ours_causal, ours_causal_fused],
    contracts.assert_mask_beats_any_score: [ours_padded, torch_padded, filled_with_infinity],
    contracts.assert_reads_values: [ours_padded, ours_multi_head, unscaled, torch_module()],
    contracts.assert_scaled: [scaled_dot_product_attention, F.scaled_dot_product_attention],
    contracts.assert_causal: [
        ours_causal,
        ours_causal_fused,
        torch_causal,
        torch_module_causal,
    ],
    contracts.assert_padding_invariant: [
        ours_padded,
        ours_multi_head,
        ours_additive,
        torch_padded,
        torch_module_padded,
    ],
    contracts.assert_permutation_equivariant: [
        unmasked,
        F.scaled_dot_product_attention,
        torch_module(),
        lambda queries, keys, values: unmasked(queries, queries, queries),
    ],
    contracts.assert_rows_sum_to_one: [ours_padded, ours_multi_head, torch_module_padded],
    contracts.assert_pure: [ours_padded, ours_multi_head, torch_padded, torch_module(dropout=0.0)],
    contracts.assert_deterministic_in_eval: [
        torch_module(dropout=0.5),
        MultiHeadAttention(D_MODEL, NUM_HEADS, dropout=0.5),
        AdditiveAttention(D_MODEL, D_MODEL, 3, dropout=0.5),
    ],
}

# contract -> (implementation that breaks it, what its message must say)
WRONG = {
    contracts.assert_reads_queries: [(ignores_the_queries, r"the queries are not read")],
    contracts.assert_weights_explain_output: [
        (averaged_heads, r"not those that were used: .* are they averaged over heads"),
        (swapped_heads, r"not those that were used: at \(\d, \d, \d\) .* moved by \d"),
        (mean_over_padding, r"not those that were used"),
    ],
    contracts.assert_looks_around: [
        (scaled_dot_product_attention, r"7 unrelated tokens of width 64 give themselves 0\.9"),
        (one_matrix_for_both, r"tokens look at themselves"),
    ],
    contracts.assert_padding_removable: [
        (
            sines_by_place,
            r"without its \d places of padding, the output of token \d of sequence \d",
        ),
        (mean_of_the_row, r"padding counts"),
    ],
    contracts.assert_survives_empty_rows: [
        (nan_in_an_empty_row, r"attend to in sequence 1, the output is NaN .* in sequence 1"),
        (nan_put_to_zero_after, r"the gradient of values is NaN or infinite in sequence 1"),
    ],
    contracts.assert_differentiable: [
        (detached_keys, r"keys move the output and get no gradient; is it detached\?"),
        (cut_off, r"queries move the output and get no gradient"),
        (by_numpy, r"with gradients recorded the call fails: Can't call numpy"),
        (scales_in_place, r"with gradients recorded the call fails: a leaf"),
        (other_without_gradients, r"depends on whether gradients are recorded: .* moved by \d"),
        (root_of_zero, r"the gradient of values is NaN or infinite"),
    ],
    contracts.assert_owns_parameters: [
        (MakesALayer(), r"learned but not owned: 2 tensors of shape \(10, 10\), \(10,\)"),
        (MakesItOnce(), r"learned but not owned: 2 tensors"),
        (Lazy(), r"W_q\.weight, W_q\.bias: no shape before the first call"),
    ],
    contracts.assert_forgets: [
        (KeepsWeights(), r"not forgotten: \d+ tensors of its graph .* stored on the module\?"),
    ],
    contracts.assert_device_independent: [
        (mask_on_the_cpu, r"tied to a device: elsewhere the call fails: .*device"),
        (by_numpy, r"tied to a device: elsewhere the call fails: .*numpy"),
        (comes_back_to_the_cpu, r"with inputs elsewhere the output is on cpu"),
    ],
    contracts.assert_window: [
        (window_of_4, r"a window of 3 holds 3 keys: the last query reads the key 3 places back"),
        (window_of_2, r"the last query does not read the key 2 places back"),
        (ours_causal, r"the last query reads the key 3 places back"),
        (window_of_3_after_softmax, r"the last query reads the key 3 places back"),
    ],
    contracts.assert_rotary_layout: [
        (rotary_halves, r"not the layout 'pairs': coordinates 0 and 5 turn together"),
        (rotary_in_two_layouts, r"not the layout 'pairs'"),
    ],
    contracts.assert_batch_independent: [
        (layer_with_a_mask_tiled, r"samples are mixed: .* output of sample \d at \(\d, \d, \d\)"),
        (normalised_over_the_batch, r"samples are mixed: .* moved by \d"),
    ],
    contracts.assert_decodes_like_prefill: [
        (upper_left, r"decoding differs: in a step of 1 from position 1, with 2 keys"),
        (right_for_one_query, r"decoding differs: in a step of 2 from position 2, with 4 keys"),
    ],
    contracts.assert_mask_beats_any_score: [
        (filled_with_a_billion, r"a score beats the mask: .* gives padding the weight 1"),
        (filled_with_a_million, r"a score beats the mask"),
        (unmasked, r"a score beats the mask"),
    ],
    contracts.assert_reads_values: [(reads_the_keys, r"the values are not read")],
    contracts.assert_scaled: [
        (unscaled, r"scaled by 1 \(no scaling\), expected 0\.3162 for d_k = 10"),
        (divided_by_d, r"scaled by 0\.1 \(division by d_k, not by its root\)"),
        (scaled_twice, r"scaled by 0\.1"),
    ],
    contracts.assert_causal: [
        (unmasked, r"not causal: with every position after query 0 .* output of query 0 at \(\d"),
        (one_key_too_many, r"after query 0 replaced, the output of query 0 at .* moved by \d"),
        (adds_the_next_query, r"after query 0 replaced, the output of query 0 at .* moved by \d"),
        (wrong_reshape, r"not causal: .* moved by \d"),
        (wrong_reshape_back, r"not causal: .* moved by \d"),
    ],
    contracts.assert_padding_invariant: [
        (unmasked, r"padding leaks: .* moved by \d"),
        (filled_with_zero, r"padding leaks: .* from position \d on replaced in sequence \d"),
        (result_thrown_away, r"padding leaks: .* moved by \d"),
        (mean_over_padding, r"padding leaks: .* moved by \d"),
    ],
    contracts.assert_permutation_equivariant: [
        (ours_causal, r"the order matters: .* output of query \d \(now at .*\) moved by \d"),
        (ours_padded, r"the order matters"),
        (with_positions, r"the order matters"),
        (prefers_the_first_key, r"the order matters"),
    ],
    contracts.assert_rows_sum_to_one: [
        (wrong_axis, r"the weights of row \(\d, \d\) sum to \d.*, neither 1 nor 0"),
        (masked_after_softmax, r"the weights of row \(\d, \d\) sum to 0\.\d+, neither 1 nor 0"),
        (raw_scores, r"a weight is -\d"),
        (nan_rows, r"a weight is nan"),
    ],
    contracts.assert_pure: [
        (scales_in_place, r"queries changed in the call: at \(\d, \d, \d\) it moved by \d"),
        (zeroes_padding_in_place, r"values changed in the call"),
        (RemembersKeys(), r"another output after a call in between: at .* it moved by \d"),
    ],
    contracts.assert_deterministic_in_eval: [
        (always_drops, r"random in evaluation mode: .* is dropout still on\?"),
        (random_by_a_hair, r"random in evaluation mode: .* moved by \d(\.\d+)?e-0[67]"),
    ],
}


def check(contract, attend, x, **options):
    if isinstance(attend, nn.Module):
        attend = copy.deepcopy(attend)  # what a test leaves on a module is for no other test
    if contract in (contracts.assert_padding_invariant, contracts.assert_mask_beats_any_score):
        options["valid_lens"] = VALID_LENS
    if contract is contracts.assert_survives_empty_rows:
        options["valid_lens"] = EMPTY_LENS
    if contract is contracts.assert_padding_removable:
        options["real"] = REAL
    if contract is contracts.assert_window:
        options["window"] = 3
    if contract is contracts.assert_looks_around:
        x = numbers(BATCH, LENGTH, 64)
    if contract is contracts.assert_batch_independent:
        masked = "mask" in attend.__name__
        mask = length_mask(VALID_LENS, x.shape[1]).expand(-1, x.shape[1], -1)
        contract(attend, x, x.clone(), x.clone(), mask if masked else VALID_LENS, **options)
        return
    contract(attend, x, x.clone(), x.clone(), **options)


def name(value):
    if isinstance(value, nn.Module):
        return type(value).__name__
    return getattr(value, "__name__", "says")


def pairs(table):
    return [(contract, *row) for contract, rows in table.items() for row in rows]


@pytest.mark.parametrize(
    ("contract", "attend"),
    [(contract, attend) for contract, rows in RIGHT.items() for attend in rows],
    ids=name,
)
def test_the_right_pass(contract, attend, x):
    check(contract, attend, x)


@pytest.mark.parametrize(("contract", "attend", "message"), pairs(WRONG), ids=name)
def test_the_wrong_are_told(contract, attend, message, x):
    with pytest.raises(AssertionError) as raised:
        check(contract, attend, x)
    assert re.search(message, str(raised.value)), str(raised.value)


def test_every_contract_has_both_kinds():
    named = {getattr(contracts, name) for name in contracts.__all__}
    assert named == set(RIGHT) == set(WRONG)


@pytest.mark.parametrize("name", contracts.__all__)
def test_no_contract_takes_what_is_no_attention(name, x):
    """Each says so in the same words, naming what was passed."""
    contract = getattr(contracts, name)
    extra = {
        "valid_lens": EMPTY_LENS,
        "real": REAL,
        "window": 3,
    }
    taken = inspect.signature(contract).parameters
    options = {key: value for key, value in extra.items() if key in taken}
    for wrong in ("attend", None, x):
        with pytest.raises(TypeError, match=r"attend: expected a (callable|torch\.nn\.Module)"):
            contract(wrong, x, x, x, **options)
    broken = MakesALayer() if "parameters" in name else unmasked
    with pytest.raises(TypeError, match=r"queries: expected a torch\.Tensor"):
        contract(broken, [1.0], x, x, **options)


def test_scaled_asks_the_head_that_has_the_first_coordinate(x):
    contracts.assert_scaled(identity_heads, x, x, x, scale=(D_MODEL / NUM_HEADS) ** -0.5)
    with pytest.raises(AssertionError, match=r"scores are scaled by 0\.4472"):
        contracts.assert_scaled(identity_heads, x, x, x)

    def heads_of_width_1(queries, keys, values):
        heads = [split_heads(x, D_MODEL) for x in (queries, keys, values)]
        return merge_heads(scaled_dot_product_attention(*heads)[0])

    contracts.assert_scaled(heads_of_width_1, x, x, x, scale=1.0)


def test_the_other_layout_can_be_the_right_one(x):
    contracts.assert_rotary_layout(rotary_halves, x, x, x, layout="halves")
    with pytest.raises(AssertionError, match="coordinates 0 and 1 turn together"):
        contracts.assert_rotary_layout(rotary, x, x, x, layout="halves")


def test_the_fast_path_is_seen():
    """PyTorch's encoder without gradients, in evaluation: padded outputs are 0."""
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(block, 1).eval()
    x, hidden = numbers(BATCH, LENGTH, 8), ~length_mask(VALID_LENS, LENGTH).squeeze(1)

    def attend(queries, keys, values):
        with warnings.catch_warnings(record=True):  # it calls itself a prototype
            warnings.simplefilter("always")
            return encoder(queries, src_key_padding_mask=hidden)

    with pytest.raises(AssertionError, match="depends on whether gradients are recorded"):
        contracts.assert_differentiable(attend, x, x, x)
    contracts.assert_differentiable(lambda q, k, v: encoder(q), x, x, x)


# contract -> (an attention that is right, one that breaks it)
TOLERANT = {
    contracts.assert_batch_independent: (ours_with_lengths, normalised_over_the_batch),
    contracts.assert_causal: (ours_causal, unmasked),
    contracts.assert_decodes_like_prefill: (ours_causal, upper_left),
    contracts.assert_differentiable: (unmasked, other_without_gradients),
    contracts.assert_padding_invariant: (ours_padded, unmasked),
    contracts.assert_padding_removable: (with_padding, mean_of_the_row),
    contracts.assert_permutation_equivariant: (unmasked, with_positions),
    contracts.assert_pure: (unmasked, RemembersKeys()),
    contracts.assert_rows_sum_to_one: (ours_padded, masked_after_softmax),
    contracts.assert_weights_explain_output: (ours_padded, mean_over_padding),
}


@pytest.mark.parametrize("contract", TOLERANT, ids=name)
def test_what_moves_less_than_the_tolerance_stays(contract, x):
    """A thousandth of the output comes from an attention that breaks the contract."""

    def mostly_right(*given):
        right, wrong = (attend(*given) for attend in attends)
        if isinstance(right, tuple) and isinstance(wrong, tuple):
            return tuple(a.lerp(b, 1e-3) for a, b in zip(right, wrong, strict=True))
        right, wrong = (x[0] if isinstance(x, tuple) else x for x in (right, wrong))
        return right.lerp(wrong, 1e-3)

    for tolerance in (0.1, 1e-6, None):
        attends = copy.deepcopy(TOLERANT[contract])
        if tolerance == 0.1:
            check(contract, mostly_right, x, tolerance=tolerance)
        else:
            with pytest.raises(AssertionError, match=r"moved by|sum to"):
                check(contract, mostly_right, x, tolerance=tolerance)


def test_every_tolerance_is_tried():
    named = {getattr(contracts, name) for name in contracts.__all__}
    taken = {x for x in named if "tolerance" in inspect.signature(x).parameters}
    assert taken == {*TOLERANT, contracts.assert_scaled}  # whose tolerance is of the factor


def test_no_gradient_is_missed_where_nothing_moves_beyond_the_tolerance(x):
    def hardly_reads_the_keys(queries, keys, values):
        return values + 1e-3 * unmasked(queries, keys.detach(), values)

    contracts.assert_differentiable(hardly_reads_the_keys, x, x, x, tolerance=0.1)
    with pytest.raises(AssertionError, match="keys move the output and get no gradient"):
        contracts.assert_differentiable(hardly_reads_the_keys, x, x, x)


def test_the_tolerance_of_a_factor_is_relative(x):
    def nearly_scaled(queries, keys, values):
        return scaled_dot_product_attention(queries * 1.05, keys, values)

    contracts.assert_scaled(nearly_scaled, x, x, x, tolerance=0.06)
    contracts.assert_scaled(nearly_scaled, x, x, x, tolerance=0.0501)
    with pytest.raises(AssertionError, match=r"scaled by 0\.332, expected 0\.3162"):
        contracts.assert_scaled(nearly_scaled, x, x, x, tolerance=0.0499)


ANYWHERE = {  # attentions that make what they need where their inputs are
    contracts.assert_causal: mask_where_the_keys_are,
    contracts.assert_decodes_like_prefill: mask_where_the_keys_are,
    contracts.assert_looks_around: projected,
    contracts.assert_mask_beats_any_score: ours_padded,
    contracts.assert_owns_parameters: torch_module(),
    contracts.assert_padding_invariant: ours_padded,
    contracts.assert_padding_removable: with_padding,
    contracts.assert_rotary_layout: identity_heads,
    contracts.assert_survives_empty_rows: ours_with_an_empty_row,
    contracts.assert_window: window_of_3,
    contracts.assert_batch_independent: ours_with_lengths,
}


@pytest.mark.parametrize("name", contracts.__all__)
def test_what_is_made_is_made_where_the_inputs_are(name, x):
    """Not where PyTorch makes tensors by default, here a device that has no numbers."""
    contract = getattr(contracts, name)
    with torch.device("meta"):
        check(contract, ANYWHERE.get(contract, scaled_dot_product_attention), x)


@pytest.mark.parametrize("name", contracts.__all__)
def test_no_random_state_is_used_up(name, x):
    contract = getattr(contracts, name)
    before = torch.random.get_rng_state()
    check(contract, ANYWHERE.get(contract, scaled_dot_product_attention), x)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_lengths_are_of_sequences_not_of_heads():
    x = numbers(BATCH, 2, LENGTH, D_MODEL)  # (batch, heads, len, width)

    def a_key_more_for_head_1(queries, keys, values):
        seen = torch.arange(LENGTH) < (VALID_LENS[:, None] + torch.tensor([0, 1]))[..., None, None]
        return scaled_dot_product_attention(queries, keys, values, mask=seen)

    contracts.assert_padding_invariant(ours_padded, x, x, x, VALID_LENS)
    contracts.assert_mask_beats_any_score(ours_padded, x, x, x, VALID_LENS)
    contracts.assert_mask_beats_any_score(ours_with_an_empty_row, x, x, x, EMPTY_LENS)
    contracts.assert_survives_empty_rows(ours_with_an_empty_row, x, x, x, EMPTY_LENS)
    with pytest.raises(AssertionError, match=r"padding leaks: .* at \(\d, 1, \d, \d\) moved"):
        contracts.assert_padding_invariant(a_key_more_for_head_1, x, x, x, VALID_LENS)


def test_the_smallest_width_that_has_two_pairs():
    x = numbers(1, LENGTH, 4)
    contracts.assert_rotary_layout(rotary, x, x, x)
    with pytest.raises(AssertionError, match="coordinates 0 and 2 turn together"):
        contracts.assert_rotary_layout(rotary_halves, x, x, x)
    with pytest.raises(ValueError, match="queries: expected an even width of at least 4"):
        contracts.assert_rotary_layout(rotary, x[..., :2], x[..., :2], x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_other_dtypes(dtype, x):
    x = x.to(dtype)
    contracts.assert_causal(ours_causal, x, x, x)
    contracts.assert_padding_invariant(ours_padded, x, x, x, VALID_LENS)
    contracts.assert_rows_sum_to_one(ours_padded, x, x, x)
    with pytest.raises(AssertionError, match="not causal"):
        contracts.assert_causal(unmasked, x, x, x)


def test_poison_is_sharper(x):
    contracts.assert_padding_invariant(ours_padded, x, x, x, VALID_LENS, poison=NAN)
    contracts.assert_padding_invariant(ours_multi_head, x, x, x, VALID_LENS, poison=NAN)
    contracts.assert_causal(ours_causal, x, x, x, poison=NAN)

    def multiplies_by_zero(queries, keys, values):
        weights = ours_padded(queries, keys.nan_to_num(), values.nan_to_num())[1]
        return weights @ values

    contracts.assert_padding_invariant(multiplies_by_zero, x, x, x, VALID_LENS)
    with pytest.raises(AssertionError, match="became NaN or infinite"):
        contracts.assert_padding_invariant(multiplies_by_zero, x, x, x, VALID_LENS, poison=NAN)


def test_poison_goes_into_the_keys_too(x):
    def reads_no_later_value(queries, keys, values):
        shut = causal_mask(LENGTH).logical_not() * -1e9
        weights = torch.softmax(scores_of(queries, keys) + shut, dim=-1)
        rows = [weights[..., n : n + 1, : n + 1] @ values[..., : n + 1, :] for n in range(LENGTH)]
        return torch.cat(rows, dim=-2)

    contracts.assert_causal(reads_no_later_value, x, x, x)
    with pytest.raises(AssertionError, match="became NaN or infinite"):
        contracts.assert_causal(reads_no_later_value, x, x, x, poison=NAN)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_poison_goes_into_all_three(which, x):
    def adds_nothing_of_the_next(*tensors):
        return ours_causal(*tensors)[0] + 0 * tensors[which].roll(-1, dims=-2)

    contracts.assert_causal(adds_nothing_of_the_next, x, x, x)
    with pytest.raises(AssertionError, match="became NaN or infinite"):
        contracts.assert_causal(adds_nothing_of_the_next, x, x, x, poison=NAN)


def test_nan_that_stays_is_no_movement(x):
    """And where something else moves, it is that which is told."""

    def starts_with_nan(queries, keys, values):
        output = ours_causal(queries, keys, values)[0].clone()
        output[:, 0] = NAN
        return output

    def and_leaks_at_the_end(queries, keys, values):
        output = starts_with_nan(queries, keys, values)
        output[:, -2] += 0.01 * values[:, -1]
        return output

    contracts.assert_causal(starts_with_nan, x, x, x)
    with pytest.raises(AssertionError, match=rf"of query {LENGTH - 2} at"):
        contracts.assert_causal(and_leaks_at_the_end, x, x, x)


def test_the_weight_that_padding_gets_is_told(x):
    """Filled in with the score of all that may be seen: padding is as heavy as they are."""
    x = x.double()
    with pytest.raises(AssertionError, match=r"of sequence 1 gives padding the weight 0\.714;"):
        contracts.assert_mask_beats_any_score(filled_with(-1e12), x, x, x, VALID_LENS)


def test_one_sequence_without_a_batch(x):
    one = x[0]
    contracts.assert_causal(ours_causal, one, one, one)
    odd = one[:, :5]
    contracts.assert_weights_explain_output(scaled_dot_product_attention, odd, odd, odd)
    with pytest.raises(AssertionError, match="not causal"):
        contracts.assert_causal(unmasked, one, one, one)


def test_weights_of_heads_behind_two_leading_axes():
    x = numbers(2, 3, LENGTH, D_MODEL)

    def heads_side_by_side(queries, keys, values):
        tensors = (x.unflatten(-1, (NUM_HEADS, -1)) for x in (queries, keys, values))
        output, weights = scaled_dot_product_attention(*(x.transpose(-3, -2) for x in tensors))
        return output.transpose(-3, -2).flatten(-2), weights

    contracts.assert_weights_explain_output(heads_side_by_side, x, x, x)


def test_two_keys_are_enough_to_see_the_scale():
    x = numbers(1, 2, 4)
    contracts.assert_scaled(unmasked, x, x, x)
    with pytest.raises(AssertionError, match="no scaling"):
        contracts.assert_scaled(unscaled, x, x, x)


def test_an_input_that_changes_by_a_hair_has_changed():
    def adds_a_hair(queries, keys, values):
        queries += 1e-15
        return unmasked(queries, keys, values)

    x = numbers(BATCH, LENGTH, D_MODEL, dtype=torch.float64)
    with pytest.raises(AssertionError, match="queries changed in the call"):
        contracts.assert_pure(adds_a_hair, x, x, x)


def test_the_sequence_that_an_empty_row_spoils_is_told(x):
    def spoils_the_last(queries, keys, values):
        output, _ = ours_with_an_empty_row(queries, keys, values)
        spoilt = torch.arange(BATCH)[:, None, None] == BATCH - 1
        spoilt = spoilt & (torch.arange(LENGTH)[:, None] == 1)
        return torch.where(spoilt, NAN, output)

    with pytest.raises(AssertionError, match=rf"in sequence 1, .* in sequence {BATCH - 1}$"):
        contracts.assert_survives_empty_rows(spoils_the_last, x, x, x, EMPTY_LENS)


def test_nobody_learns_from_an_empty_row(x):
    def huge_where_nothing_is_seen(queries, keys, values):
        output, _ = ours_with_an_empty_row(queries, keys, values)
        return torch.where(EMPTY_LENS[:, None, None] == 0, 1e30 * queries, output)

    contracts.assert_survives_empty_rows(huge_where_nothing_is_seen, x, x, x, EMPTY_LENS)


def test_an_output_in_a_tuple_of_one_is_no_pair(x):
    with pytest.raises(TypeError, match="got no weights"):
        contracts.assert_rows_sum_to_one(lambda *tensors: (unmasked(*tensors),), x, x, x)


def test_causal_with_a_cache_is_lower_right():
    queries, memory = numbers(1, 2, 4), numbers(1, 5, 4, seed=1)
    contracts.assert_causal(ours_causal, queries, memory, memory)

    def one_key_more(queries, keys, values):
        mask = torch.ones(queries.shape[-2], keys.shape[-2], dtype=torch.bool).tril(3 + 1)
        return scaled_dot_product_attention(queries, keys, values, mask=mask)

    with pytest.raises(AssertionError, match="after query 0 replaced"):
        contracts.assert_causal(one_key_more, queries, memory, memory)


def test_permutation_with_other_lengths():
    queries, memory = numbers(1, 3, 4), numbers(1, 5, 4, seed=1)
    contracts.assert_permutation_equivariant(unmasked, queries, memory, memory)
    with pytest.raises(AssertionError, match="the order matters"):
        contracts.assert_permutation_equivariant(prefers_the_first_key, queries, memory, memory)
    with torch.device("meta"):
        contracts.assert_permutation_equivariant(unmasked, queries, memory, memory)


def test_more_queries_than_keys():
    """The first queries see nothing: the first key is in their future, too."""
    queries, memory = numbers(1, 5, 4), numbers(1, 3, 4, seed=1)
    contracts.assert_causal(ours_causal, queries, memory, memory)
    contracts.assert_differentiable(ours_causal, queries, memory, memory)
    contracts.assert_rows_sum_to_one(scaled_dot_product_attention, queries, memory, memory)

    def first_key_for_all(queries, keys, values):
        mask = causal_mask(queries.shape[-2], keys.shape[-2])
        mask[:, 0] = True
        return scaled_dot_product_attention(queries, keys, values, mask=mask)

    with pytest.raises(AssertionError, match="after query 0 replaced"):
        contracts.assert_causal(first_key_for_all, queries, memory, memory)


def test_the_query_that_an_order_moves_is_told():
    memory, seen = numbers(3, 7, 4), []

    def lifts_the_third(queries, keys, values):
        seen.append(queries)
        return unmasked(queries, keys, values) + (torch.arange(7) == 2)[:, None]

    with pytest.raises(AssertionError, match="the order matters") as raised:
        contracts.assert_permutation_equivariant(lifts_the_third, memory, memory, memory)
    told = re.search(r"of query (\d) \(now at \((\d), (\d), \d\)\)", str(raised.value))
    query, sample, now = map(int, told.groups())
    assert query != now
    assert torch.equal(seen[0][sample, query], seen[1][sample, now])


def test_a_window_is_of_values(x):
    """Who attends to the keys in a window and never to their values reads no window."""
    with pytest.raises(AssertionError, match="does not read the key 0 places back"):
        contracts.assert_window(lambda q, k, v: window_of_3(q, k, k), x, x, x, window=3)


def test_a_replacement_is_another_number():
    """However rare: what stood there may not come back."""
    many = numbers(100_000)
    moved = contracts._replaced(many, contracts._everywhere(many), None)
    assert (moved - many).min() > 1 - 1e-5


def test_a_slope_taken_inside_the_call_is_no_memory(x):
    def plus_its_slope(queries, keys, values):
        output = unmasked(queries, keys, values)
        if not output.requires_grad:
            return output
        return output + torch.autograd.grad(output.sum(), values, create_graph=True)[0]

    contracts.assert_forgets(plus_its_slope, x, x, x)


def test_what_depends_on_nothing_needs_no_gradient(x):
    contracts.assert_differentiable(lambda queries, *_: torch.ones(queries.shape), x, x, x)


def test_a_module_stays_where_it_is(x):
    module = MultiHeadAttention(D_MODEL, NUM_HEADS)
    contracts.assert_device_independent(module, x, x, x)
    assert {each.device.type for each in module.parameters()} == {"cpu"}


def test_no_guess_where_two_scales_are_one(x):
    """Of width 1 both the root and the width are 1: no scaling explains a factor of 1.03."""
    x = x[..., :1]
    with pytest.raises(AssertionError, match=r"scaled by 1\.03, expected 1 for d_k = 1"):
        contracts.assert_scaled(lambda q, k, v: unscaled(1.03 * q, k, v), x, x, x, tolerance=0.01)


def test_at_width_2_the_scales_differ(x):
    with pytest.raises(AssertionError, match=r"scaled by 1 \(no scaling\), expected 0\.7071"):
        contracts.assert_scaled(unscaled, x[..., :2], x[..., :2], x[..., :2])


def test_evaluation_mode_is_given_back(x):
    module = nn.Sequential(MultiHeadAttention(D_MODEL, NUM_HEADS, dropout=0.5))
    module.train()
    module[0].attention.eval()
    before = [part.training for part in module.modules()]
    contracts.assert_deterministic_in_eval(
        lambda queries, keys, values: module.eval()[0](queries, keys, values), x, x, x
    )
    module.train()
    module[0].attention.eval()
    contracts.assert_deterministic_in_eval(module[0], x, x, x)
    assert [part.training for part in module.modules()] == before
    state = torch.random.get_rng_state()
    contracts.assert_deterministic_in_eval(module[0], x, x, x)
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: contracts.assert_rows_sum_to_one(unmasked, x, x, x),
            TypeError,
            r"attend: expected \(output, weights\), got no weights",
        ),
        (
            lambda x: contracts.assert_causal(lambda *_: "output", x, x, x),
            TypeError,
            r"attend: expected an output",
        ),
        (
            lambda x: contracts.assert_causal(lambda q, k, v: v[..., :2, :], x, x, x),
            ValueError,
            r"attend: expected one output a query, 7 on axis -2, got \(3, 2, 10\)",
        ),
        (
            lambda x: contracts.assert_padding_invariant(unmasked, x, x, x, torch.tensor([1])),
            ValueError,
            r"valid_lens: expected one length a sequence, \(3,\)",
        ),
        (
            lambda x: contracts.assert_pure(unmasked, [1.0], x, x),
            TypeError,
            r"queries: expected a torch.Tensor",
        ),
        (
            lambda x: contracts.assert_pure(3, x, x, x),
            TypeError,
            r"attend: expected a callable \(queries, keys, values\), got 3",
        ),
        (
            lambda x: contracts.assert_causal(unmasked, x, x, x, poison="nan"),
            TypeError,
            r"poison: expected a number .* got 'nan'",
        ),
        (
            lambda x: contracts.assert_padding_invariant(
                unmasked, x, x, x, VALID_LENS, poison=True
            ),
            TypeError,
            r"poison: expected a number .* got True",
        ),
        (
            lambda x: contracts.assert_batch_independent(
                ours_with_lengths, x, x, x, VALID_LENS[:1]
            ),
            ValueError,
            r"for_each: expected 3 samples \(batch\), got shape \(1,\)",
        ),
        (
            lambda x: contracts.assert_decodes_like_prefill(unmasked, x[:, :2], x, x),
            ValueError,
            r"keys: expected 2 keys, one a query",
        ),
        (
            lambda x: contracts.assert_mask_beats_any_score(
                ours_padded, x.half(), x.half(), x.half(), VALID_LENS
            ),
            TypeError,
            r"queries: expected float32 or float64, got dtype torch.float16",
        ),
        (
            lambda x: contracts.assert_padding_removable(with_padding, x, x, x, VALID_LENS),
            TypeError,
            r"real: expected booleans \(True = may attend\), got dtype torch.int64",
        ),
        (
            lambda x: contracts.assert_padding_removable(with_padding, x, x, x, REAL[:1]),
            ValueError,
            r"real: expected one boolean a token, \(batch, len\), .* got \(1, 7\)",
        ),
        (
            lambda x: contracts.assert_survives_empty_rows(ours_padded, x, x, x, VALID_LENS),
            ValueError,
            r"valid_lens: expected a 0 among the lengths, got \[5, 2, 7\]",
        ),
        (
            lambda x: contracts.assert_owns_parameters(unmasked, x, x, x),
            TypeError,
            r"attend: expected a torch.nn.Module, got <function unmasked",
        ),
        (
            lambda x: contracts.assert_looks_around(unmasked, x, x[:, :2], x),
            ValueError,
            r"queries, keys, values: expected one shape, got \(3, 7, 10\), \(3, 2, 10\)",
        ),
        (
            lambda x: contracts.assert_looks_around(unmasked, x, x, x),
            TypeError,
            r"attend: expected \(output, weights\), got no weights",
        ),
        (
            lambda x: contracts.assert_weights_explain_output(unmasked, x, x, x),
            TypeError,
            r"attend: expected \(output, weights\), got no weights",
        ),
        (
            lambda x: contracts.assert_weights_explain_output(
                lambda q, k, v: (v, torch.ones(3, 4, 7, 7)), x, x, x
            ),
            ValueError,
            r"attend: expected weights \(\.\.\., len_q, len_k\), .* got \(3, 4, 7, 7\)",
        ),
        (
            lambda x: contracts.assert_window(window_of_3, x, x, x, window=7),
            ValueError,
            r"keys: expected more than 7 keys \(window\), got \(3, 7, 10\)",
        ),
        (
            lambda x: contracts.assert_window(window_of_3, x, x, x, window=2.0),
            TypeError,
            r"window: expected",
        ),
        (
            lambda x: contracts.assert_rotary_layout(rotary, x[..., :3], x[..., :3], x),
            ValueError,
            r"queries: expected an even width of at least 4, got \(3, 7, 3\)",
        ),
        (
            lambda x: contracts.assert_rotary_layout(rotary, x, x, x, layout="rows"),
            ValueError,
            r"layout: expected 'pairs' or 'halves', got 'rows'",
        ),
        (
            lambda x: contracts.assert_causal(lambda *_: torch.ones(3), x, x, x),
            TypeError,
            r"attend: expected an output \(\.\.\., len_q, d_v\), .* got \(3,\)",
        ),
        (
            lambda x: contracts.assert_causal(unmasked, x[0, 0], x, x),
            ValueError,
            r"queries: expected at least 2 axes \(\.\.\., len, width\), got shape \(10,\)",
        ),
        (
            lambda x: contracts.assert_padding_removable(with_padding, x[0], x[0], x[0], SQUARE),
            ValueError,
            r"real: expected one boolean a token, .* for queries \(7, 10\)",
        ),
        (
            lambda x: contracts.assert_padding_removable(with_padding, x[:, 1:], x, x, REAL),
            ValueError,
            r"real: expected one boolean a token, .* for queries \(3, 6, 10\)",
        ),
        (
            lambda x: contracts.assert_scaled(unscaled, x, x[:, :1], x[:, :1]),
            ValueError,
            r"keys: expected at least two keys",
        ),
    ],
)
def test_misuse_is_refused_in_words(call, error, message, x):
    with pytest.raises(error, match=message):
        call(x)
