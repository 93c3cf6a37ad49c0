"""Each exhibit is caught by a contract that its repaired form keeps; the right one by none."""

import re
from itertools import pairwise

import pytest
import torch

import attention_contracts as contracts
from attention_lib.attention import scaled_dot_product_attention
from attention_lib.masking import causal_mask
from attention_workbook import museum
from attention_workbook.exercises import write_a_contract
from attention_workbook.museum.right import allowed

# What a plain attention does not promise: it has no window, and no projections.
NO_PROMISE = {"assert_window", "assert_looks_around"}


@pytest.mark.parametrize("name", museum.EXHIBITS)
def test_each_exhibit_is_caught(name):
    """By the contract that its label names, whatever else catches it."""
    exhibit = museum.EXHIBITS[name]
    assert exhibit.caught_by().get(exhibit.contract), exhibit.caught_by()


def test_the_right_one_is_caught_by_none():
    broken = {name for name, said in museum.verdicts(museum.right_attention).items() if said}
    assert broken == NO_PROMISE


@pytest.mark.parametrize("contract", museum.CONTRACTS)
def test_each_contract_is_kept_by_a_repaired_one_and_broken_by_an_exhibit(contract):
    exhibits = museum.EXHIBITS.values()
    assert any(contract in exhibit.promised() for exhibit in exhibits)
    if contract != "assert_padding_invariant, NaN":
        assert any(contract in exhibit.caught_by() for exhibit in exhibits)


def test_every_contract_of_the_library_runs():
    names = {name.partition(",")[0] for name in museum.CONTRACTS}
    asserts = {name for name in contracts.__all__ if name.startswith("assert_")}
    assert names == asserts - {"assert_queries_independent"}  # check runs that one


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
    assert exhibit.repair and exhibit.symptom
    url = r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+"
    assert exhibit.thread in ("sources", "none") or re.fullmatch(url, exhibit.thread)


def test_contracts_tell_the_blind_rooms_apart():
    rooms = range(1, 1 + len(write_a_contract.ROOMS))
    broken = [
        frozenset(write_a_contract._broken_in(write_a_contract.blind_room(room))) for room in rooms
    ]
    assert all(broken) and len({*broken}) == len(broken)


def test_a_blind_room_takes_its_own_name_alone():
    for room, (name, other) in enumerate(pairwise(write_a_contract.ROOMS), 1):
        assert write_a_contract.name_the_defect(room, name)
        assert re.search(
            "breaks `.*`, and .* keeps it", repr(write_a_contract.name_the_defect(room, other))
        )
    assert "no exhibit" in repr(write_a_contract.name_the_defect(1, "a leak"))
    with pytest.raises(ValueError, match="from 1 to 8, got 9"):
        write_a_contract.blind_room(9)


def test_the_gallery_is_a_list_with_links():
    shown = museum.Gallery(["rotary_halves", "unscaled"])
    page = shown._repr_html_()
    assert page.count("<li>") == 2
    assert '<a href="https://github.com/huggingface/transformers/issues/25199">thread</a>' in page
    assert repr(shown).count("\n") == 1
    assert len(museum.Gallery().exhibits) == len(museum.EXHIBITS)
    assert museum.Gallery([]).exhibits == []


def test_the_matrix_marks_what_is_caught_kept_and_never_promised():
    matrix = museum.Matrix()
    assert list(matrix.letters.values()) == list(museum.CONTRACTS)
    for name, marks in matrix.marks.items():
        exhibit = museum.EXHIBITS[name]
        at = dict(zip(museum.CONTRACTS, marks, strict=True))
        assert [c for c in at if at[c] == "X"] == list(exhibit.caught_by())
        assert [c for c in at if at[c] != " "] == exhibit.promised()
        assert "X" in marks
    assert matrix._repr_html_().count("<tr>") == 1 + len(museum.EXHIBITS)


def test_other_attentions_can_be_judged():
    def one_key_ahead(queries, keys, values, real, causal):
        mask = allowed(queries, keys, real, False)
        if causal:
            mask = mask & torch.ones_like(mask).tril(1)
        return scaled_dot_product_attention(queries, keys, values, mask=mask)

    said = museum.verdicts(one_key_ahead)
    assert "not causal" in said["assert_causal"]
    assert not said["assert_padding_removable"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_right_one_is_the_librarys(dtype):
    x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    given = museum.right_attention(x, x, x, real, True)
    valid_lens = torch.tensor([5, 3])
    wanted = scaled_dot_product_attention(x, x, x, valid_lens, mask=causal_mask(5))
    for ours, theirs in zip(given, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
