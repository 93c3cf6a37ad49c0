"""Each exhibit is caught by a contract that its repaired form keeps; the right one by none."""

import re

import pytest
import torch

from attention_lib import contracts, museum
from attention_lib.attention import scaled_dot_product_attention
from attention_lib.masking import causal_mask

# What must catch each exhibit, whatever else does.
CAUGHT_BY = {
    "filled_with_zero": "assert_padding_invariant",
    "filled_with_a_millionth": "assert_padding_invariant",
    "filled_with_a_million": "assert_mask_beats_any_score",
    "filled_with_a_billion": "assert_mask_beats_any_score",
    "filled_with_the_lowest": "assert_padding_invariant",
    "nan_on_an_empty_row": "assert_survives_empty_rows",
    "result_thrown_away": "assert_padding_invariant",
    "mask_the_other_way": "assert_padding_invariant",
    "mask_added": "assert_padding_invariant",
    "masked_after_softmax": "assert_rows_sum_to_one",
    "zero_times_nan": "assert_padding_invariant, NaN",
    "masked_in_place": "assert_pure",
    "mask_made_elsewhere": "assert_device_independent",
    "softmax_over_the_batch": "assert_rows_sum_to_one",
    "unscaled": "assert_scaled",
    "divided_by_d": "assert_scaled",
    "scaled_by_another_width": "assert_scaled",
    "divided_by_root_of_d_model": "assert_scaled",
    "values_from_the_keys": "assert_reads_values",
    "dropout_in_evaluation": "assert_deterministic_in_eval",
    "weights_after_dropout": "assert_rows_sum_to_one",
    "additive_without_tanh": "assert_reads_queries",
    "sizes_written_in": "assert_reads_queries",
    "matrices_swapped": "assert_reads_queries",
    "no_projections": "assert_looks_around",
    "norm_made_in_forward": "assert_owns_parameters",
    "layers_made_late": "assert_owns_parameters",
    "weights_kept": "assert_forgets",
    "cache_never_emptied": "assert_pure",
    "padding_mask_added": "assert_padding_invariant",
    "hint_without_mask": "assert_causal",
    "hint_over_mask": "assert_padding_invariant",
    "masks_tiled": "assert_batch_independent",
    "batch_first_forgotten": "assert_batch_independent",
    "heads_averaged": "assert_weights_explain_output",
    "future_only": "assert_causal",
    "upper_left": "assert_decodes_like_prefill",
    "fast_path": "assert_differentiable",
    "left_padding_by_place": "assert_padding_removable",
    "window_with_one_more": "assert_window",
    "cache_one_short": "assert_decodes_like_prefill",
    "rotary_halves": "assert_rotary_layout",
    "view_for_transpose": "assert_causal",
    "batch_taken_for_heads": "assert_batch_independent",
}
# What a plain attention does not promise: it has no window, and no projections.
NO_PROMISE = {"assert_window", "assert_looks_around"}


@pytest.mark.parametrize("name", museum.EXHIBITS)
def test_each_exhibit_is_caught(name):
    caught = museum.EXHIBITS[name].caught_by()
    assert caught.get(CAUGHT_BY[name]), caught


def test_every_exhibit_has_its_contract():
    assert list(CAUGHT_BY) == list(museum.EXHIBITS)


def test_the_right_one_is_caught_by_none():
    broken = {name for name, said in museum.verdicts(museum.attention).items() if said}
    assert broken == NO_PROMISE


@pytest.mark.parametrize("contract", museum.CONTRACTS)
def test_each_contract_is_kept_by_a_repaired_one_and_broken_by_an_exhibit(contract):
    exhibits = museum.EXHIBITS.values()
    assert any(contract in exhibit.promised() for exhibit in exhibits)
    if contract != "assert_padding_invariant, NaN":
        assert any(contract in exhibit.caught_by() for exhibit in exhibits)


def test_every_contract_of_the_library_runs():
    names = {name.partition(",")[0] for name in museum.CONTRACTS}
    assert names == set(contracts.__all__)


def test_a_complaint_says_what_the_contract_says():
    caught = museum.EXHIBITS["window_with_one_more"].caught_by()
    assert caught == {
        "assert_window": "a window of 3 holds 3 keys: the last query reads the key 3 places back"
    }


def test_an_error_is_a_finding():
    said = museum.EXHIBITS["sizes_written_in"].caught_by()
    assert set(said) == set(museum.EXHIBITS["sizes_written_in"].promised())
    assert "expected 2 features (d_q)" in said["assert_pure"]


@pytest.mark.parametrize("exhibit", museum.EXHIBITS.values(), ids=lambda exhibit: exhibit.name)
def test_labels_are_whole(exhibit):
    assert exhibit.wrong.endswith(".") and exhibit.wrong[0].isupper()
    assert exhibit.repair and exhibit.seen
    url = r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+"
    assert exhibit.thread in ("sources", "none") or re.fullmatch(url, exhibit.thread)


def test_a_label_must_be_whole():
    with pytest.raises(ValueError, match="its docstring is no label"):

        @museum._exhibit()
        def nameless(*call):
            """Something is wrong."""


def test_other_attentions_can_be_judged():
    def one_key_ahead(queries, keys, values, real, causal):
        mask = museum._allowed(queries, keys, real, False)
        if causal:
            mask = mask & torch.ones_like(mask).tril(1)
        return scaled_dot_product_attention(queries, keys, values, mask=mask)

    said = museum.verdicts(one_key_ahead)
    assert "not causal" in said["assert_causal"]
    assert not said["assert_padding_removable"]


def test_what_is_no_attention_is_refused():
    with pytest.raises(TypeError, match="attend: expected a callable"):
        museum.verdicts("attention")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_right_one_is_the_librarys(dtype):
    x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    given = museum.attention(x, x, x, real, True)
    valid_lens = torch.tensor([5, 3])
    wanted = scaled_dot_product_attention(x, x, x, valid_lens, mask=causal_mask(5))
    for ours, theirs in zip(given, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
