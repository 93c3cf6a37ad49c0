"""Contracts hold for attentions that are right, PyTorch's own among them, and for no other."""

import copy
import inspect
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attention_contracts as contracts
from attention_lib.attention import AdditiveAttention, scaled_dot_product_attention
from attention_lib.masking import length_mask
from attention_lib.multihead import MultiHeadAttention
from tests.attention_contracts.attentions import (
    BATCH,
    D_MODEL,
    EMPTY_LENS,
    LENGTH,
    NUM_HEADS,
    REAL,
    VALID_LENS,
    KeepsWeights,
    KeepsWeightsDetached,
    Lazy,
    MakesALayer,
    MakesItOnce,
    RemembersKeys,
    adds_the_next_query,
    always_drops,
    averaged_heads,
    by_numpy,
    comes_back_to_the_cpu,
    cut_off,
    detached_keys,
    divided_by_d,
    filled_with_a_billion,
    filled_with_a_million,
    filled_with_infinity,
    filled_with_zero,
    identity_heads,
    ignores_the_queries,
    layer_with_a_mask_repeated,
    layer_with_a_mask_tiled,
    mask_on_the_cpu,
    mask_where_the_keys_are,
    masked_after_softmax,
    mean_of_the_row,
    mean_of_what_may_be_seen,
    mean_over_padding,
    nan_in_an_empty_row,
    nan_put_to_zero_after,
    nan_rows,
    normalised_over_the_batch,
    numbers,
    one_key_too_many,
    one_matrix_for_both,
    other_without_gradients,
    ours_additive,
    ours_causal,
    ours_causal_fused,
    ours_multi_head,
    ours_padded,
    ours_with_an_empty_row,
    ours_with_lengths,
    prefers_the_first_key,
    projected,
    random_by_a_hair,
    raw_scores,
    reads_the_keys,
    result_thrown_away,
    right_for_one_query,
    root_of_zero,
    rotary,
    rotary_by_place,
    rotary_halves,
    rotary_in_two_layouts,
    scaled_twice,
    scales_in_place,
    sines_by_place,
    swapped_heads,
    torch_causal,
    torch_module,
    torch_module_causal,
    torch_module_padded,
    torch_padded,
    torch_with_an_empty_row,
    torch_with_padding,
    unmasked,
    unscaled,
    upper_left,
    window_of_2,
    window_of_3,
    window_of_3_after_softmax,
    window_of_4,
    with_padding,
    with_positions,
    wrong_axis,
    wrong_reshape,
    wrong_reshape_back,
    zeroes_padding_in_place,
)


@pytest.fixture
def x():
    return numbers(BATCH, LENGTH, D_MODEL)


ASSERTS = [name for name in contracts.__all__ if name.startswith("assert_")]

# contract -> attentions of which it cannot say anything: nothing moves where something should
UNTESTED = {
    contracts.assert_causal: [lambda queries, keys, values: queries],
    contracts.assert_permutation_equivariant: [lambda queries, keys, values: queries],
    contracts.assert_queries_independent: [lambda queries, keys, values: values],
    contracts.assert_padding_invariant: [lambda queries, keys, values: unmasked(*[queries] * 3)],
    contracts.assert_decodes_like_prefill: [lambda queries, keys, values: queries],
    contracts.assert_rotary_layout: [unmasked, identity_heads],
    contracts.assert_mask_beats_any_score: [ours_multi_head],
    contracts.assert_scaled: [torch_module()],
    contracts.assert_weights_explain_output: [ours_multi_head],
    contracts.assert_batch_independent: [lambda queries, *_: torch.ones(queries.shape)],
    contracts.assert_pure: [lambda queries, *_: torch.ones(queries.shape)],
    contracts.assert_deterministic_in_eval: [lambda queries, *_: torch.ones(queries.shape)],
    contracts.assert_padding_removable: [lambda queries, *_: queries],
}

RIGHT = {
    contracts.assert_queries_independent: [
        ours_causal,
        torch_module(),
        F.scaled_dot_product_attention,
    ],
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
    contracts.assert_rotary_layout: [rotary],
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
    contracts.assert_queries_independent: [
        (wrong_reshape, r"queries are mixed: with query 0 replaced, the output of query \d"),
        (adds_the_next_query, r"queries are mixed"),
    ],
    contracts.assert_reads_queries: [(ignores_the_queries, r"the queries are not read")],
    contracts.assert_weights_explain_output: [
        (averaged_heads, r"not those that were used: .* are they averaged over heads"),
        (swapped_heads, r"not those that were used: at \(\d, \d, \d\) .* moved by \d"),
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


@pytest.mark.parametrize(
    ("contract", "attend"),
    [(contract, attend) for contract, rows in UNTESTED.items() for attend in rows],
    ids=name,
)
def test_where_nothing_moves_that_should_nothing_is_kept(contract, attend, x):
    with pytest.raises(contracts.NotTested):
        check(contract, attend, x)


@pytest.mark.parametrize(("contract", "attend", "message"), pairs(WRONG), ids=name)
def test_the_wrong_are_told(contract, attend, message, x):
    with pytest.raises(AssertionError) as raised:
        check(contract, attend, x)
    assert re.search(message, str(raised.value)), str(raised.value)


def test_every_contract_has_both_kinds():
    named = {getattr(contracts, name) for name in ASSERTS}
    assert named == set(RIGHT) == set(WRONG)


@pytest.mark.parametrize("name", ASSERTS)
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
