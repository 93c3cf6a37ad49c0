"""Contracts hold for implementations that are right, PyTorch's own among them, and for no other."""

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention_lib import contracts
from attention_lib.attention import AdditiveAttention, scaled_dot_product_attention
from attention_lib.masking import causal_mask, length_mask
from attention_lib.multihead import MultiHeadAttention, merge_heads
from attention_lib.positions import PositionalEncoding

BATCH, LENGTH, D_MODEL, NUM_HEADS = 3, 7, 10, 2
VALID_LENS = torch.tensor([5, 2, 7])
NAN = float("nan")


def numbers(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


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


RIGHT = {
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
    ],
}


def check(contract, attend, x, **options):
    if contract in (contracts.assert_padding_invariant, contracts.assert_mask_beats_any_score):
        options["valid_lens"] = VALID_LENS
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
            lambda x: contracts.assert_scaled(unscaled, x, x[:, :1], x[:, :1]),
            ValueError,
            r"keys: expected at least two keys",
        ),
    ],
)
def test_misuse_is_refused_in_words(call, error, message, x):
    with pytest.raises(error, match=message):
        call(x)
