"""Contracts in detail: tolerances, poisons, dtypes, shapes, and where a break is said to be."""

import copy
import inspect
import re
import warnings

import pytest
import torch
from torch import nn

import attention_contracts as contracts
from attention_contracts._call import Movement, movement, replaced
from attention_lib.attention import scaled_dot_product_attention
from attention_lib.masking import causal_mask, length_mask
from attention_lib.multihead import MultiHeadAttention, merge_heads, split_heads
from tests.attention_contracts.attentions import (
    BATCH,
    D_MODEL,
    EMPTY_LENS,
    LENGTH,
    NAN,
    NUM_HEADS,
    VALID_LENS,
    RemembersKeys,
    adds_the_next_query,
    always_drops,
    filled_with,
    identity_heads,
    mask_where_the_keys_are,
    masked_after_softmax,
    mean_of_the_row,
    normalised_over_the_batch,
    numbers,
    other_without_gradients,
    ours_causal,
    ours_multi_head,
    ours_padded,
    ours_with_an_empty_row,
    ours_with_lengths,
    prefers_the_first_key,
    projected,
    rotary,
    rotary_halves,
    torch_module,
    unmasked,
    unscaled,
    upper_left,
    window_of_3,
    with_padding,
    with_positions,
)
from tests.attention_contracts.test_tables import ASSERTS, check, name


@pytest.fixture
def x():
    return numbers(BATCH, LENGTH, D_MODEL)


def test_scaled_asks_the_head_that_has_the_first_coordinate(x):
    contracts.assert_scaled(identity_heads, x, x, x, scale=(D_MODEL / NUM_HEADS) ** -0.5)
    with pytest.raises(AssertionError, match=r"scores are scaled by 0\.4472"):
        contracts.assert_scaled(identity_heads, x, x, x)

    def heads_of_width_1(queries, keys, values):
        heads = [split_heads(x, D_MODEL) for x in (queries, keys, values)]
        return merge_heads(scaled_dot_product_attention(*heads)[0])

    contracts.assert_scaled(heads_of_width_1, x, x, x, scale=1.0)


def test_no_scale_is_read_off_what_dropout_leaves(x):
    for seed in range(20):
        torch.manual_seed(seed)
        with pytest.raises(contracts.NotTested, match="differs from call to call"):
            contracts.assert_scaled(always_drops, x, x, x)


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


def attend_to_others(queries, keys, values):
    """Return weights that are not those used, as soon as scores differ."""
    output, weights = ours_padded(queries, keys, values)
    return output, weights.roll(1, dims=-2)


TOLERANT = {
    contracts.assert_batch_independent: (ours_with_lengths, normalised_over_the_batch),
    contracts.assert_causal: (ours_causal, unmasked),
    contracts.assert_decodes_like_prefill: (ours_causal, upper_left),
    contracts.assert_differentiable: (unmasked, other_without_gradients),
    contracts.assert_padding_invariant: (ours_padded, unmasked),
    contracts.assert_padding_removable: (with_padding, mean_of_the_row),
    contracts.assert_permutation_equivariant: (unmasked, with_positions),
    contracts.assert_queries_independent: (unmasked, adds_the_next_query),
    contracts.assert_pure: (unmasked, RemembersKeys()),
    contracts.assert_rows_sum_to_one: (ours_padded, masked_after_softmax),
    contracts.assert_weights_explain_output: (ours_padded, attend_to_others),
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
    named = {getattr(contracts, name) for name in ASSERTS}
    taken = {x for x in named if "tolerance" in inspect.signature(x).parameters}
    assert taken == {*TOLERANT, contracts.assert_scaled}  # whose tolerance is of the factor


def test_no_gradient_is_missed_where_nothing_moves_beyond_the_tolerance(x):
    def hardly_reads_the_keys(queries, keys, values):
        return values + 1e-3 * unmasked(queries, keys.detach(), values)

    contracts.assert_differentiable(hardly_reads_the_keys, x, x, x, tolerance=0.1)
    with pytest.raises(AssertionError, match="keys move the output and get no gradient"):
        contracts.assert_differentiable(hardly_reads_the_keys, x, x, x)


ANYWHERE = {  # attentions that make what they need where their inputs are
    contracts.assert_causal: mask_where_the_keys_are,
    contracts.assert_decodes_like_prefill: mask_where_the_keys_are,
    contracts.assert_looks_around: projected,
    contracts.assert_mask_beats_any_score: ours_padded,
    contracts.assert_owns_parameters: torch_module(),
    contracts.assert_padding_invariant: ours_padded,
    contracts.assert_padding_removable: with_padding,
    contracts.assert_rotary_layout: rotary,
    contracts.assert_survives_empty_rows: ours_with_an_empty_row,
    contracts.assert_window: window_of_3,
    contracts.assert_batch_independent: ours_with_lengths,
}


@pytest.mark.parametrize("name", ASSERTS)
def test_what_is_made_is_made_where_the_inputs_are(name, x):
    """Not where PyTorch makes tensors by default, here a device that has no numbers."""
    contract = getattr(contracts, name)
    with torch.device("meta"):
        check(contract, ANYWHERE.get(contract, scaled_dot_product_attention), x)


@pytest.mark.parametrize("name", ASSERTS)
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

    def multiplies_by_zero(queries, keys, values):
        weights = ours_padded(queries, keys.nan_to_num(), values.nan_to_num())[1]
        return weights @ values

    contracts.assert_padding_invariant(multiplies_by_zero, x, x, x, VALID_LENS)
    with pytest.raises(AssertionError, match="became NaN or infinite"):
        contracts.assert_padding_invariant(multiplies_by_zero, x, x, x, VALID_LENS, poison=NAN)


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


def test_nobody_learns_from_an_empty_row(x):
    def huge_where_nothing_is_seen(queries, keys, values):
        output, _ = ours_with_an_empty_row(queries, keys, values)
        return torch.where(EMPTY_LENS[:, None, None] == 0, 1e30 * queries, output)

    contracts.assert_survives_empty_rows(huge_where_nothing_is_seen, x, x, x, EMPTY_LENS)


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
    moved = replaced(many, torch.tensor(True))
    assert (moved - many).min() > 1 - 1e-5


def test_no_guess_where_two_scales_are_one(x):
    """Of width 1 both the root and the width are 1: no scaling explains a factor of 1.03."""
    x = x[..., :1]
    with pytest.raises(AssertionError, match=r"scaled by 1\.03, expected 1 for d_k = 1"):
        contracts.assert_scaled(lambda q, k, v: unscaled(1.03 * q, k, v), x, x, x, tolerance=0.01)


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


def test_a_padded_call_that_proves_nothing_is_not_called_pure():
    def forgets_all_when_padded(queries, keys, values, real=None):
        output = unmasked(queries, keys, values)
        return output if real is None else torch.zeros_like(output)

    report = contracts.check(
        forgets_all_when_padded, padding=lambda lens, n: {"real": length_mask(lens, n)}
    )
    assert "inputs unchanged, no state" in {finding.name for finding in report.not_tested}


def test_a_method_train_of_the_module_is_not_run():
    class Learns(MultiHeadAttention):
        def train(self, data):
            raise RuntimeError("there is no data")

    module = Learns(D_MODEL, NUM_HEADS, dropout=0.5)
    module.training = module.attention.training = True
    assert not contracts.check(module).broken
    assert module.training and module.attention.training


def test_an_infinite_movement_is_called_infinite(x):
    after = x.clone()
    after[0, 1, 2] = torch.inf
    assert movement(x, after) == Movement((0, 1, 2), "became NaN or infinite")
