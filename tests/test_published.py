"""What others have printed, computed anew."""

import dataclasses

import pytest
import torch

from attention_lib.published import DISAGREEMENTS, RESULTS, Table, _short


def by_name(row):
    return getattr(row, "name", None) or row.question


@pytest.mark.parametrize("result", RESULTS, ids=by_name)
def test_ours_is_what_was_published(result):
    assert result.difference() <= result.tolerance


@pytest.mark.parametrize("result", RESULTS, ids=by_name)
def test_a_change_in_the_last_printed_digit_is_seen(result):
    """Of any single number: a tolerance that lets it pass would prove nothing."""
    with torch.no_grad():
        published = result.published().double().contiguous()
    for index in range(published.numel()):
        other = published.clone()
        other.view(-1)[index] += 3 * result.tolerance
        changed = dataclasses.replace(result, published=lambda other=other: other)
        assert changed.difference() > result.tolerance


def test_another_shape_and_a_nan_are_never_close():
    result = RESULTS[0]
    for other in (result.published()[0], result.published().log() * float("nan")):
        changed = dataclasses.replace(result, published=lambda other=other: other)
        assert changed.difference() == float("inf")


def test_no_result_moves_the_generator_of_all():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    for result in RESULTS:
        result.difference()
    for disagreement in DISAGREEMENTS:
        disagreement.gap()
    assert torch.equal(before, torch.get_rng_state())


def test_there_are_enough_and_each_is_told_once():
    assert len(RESULTS) >= 20
    assert len({result.name for result in RESULTS}) == len(RESULTS)
    for row in (*RESULTS, *DISAGREEMENTS):
        assert row.link.startswith("https://"), by_name(row)


@pytest.mark.parametrize("disagreement", DISAGREEMENTS, ids=by_name)
def test_texts_that_disagree_lie_apart(disagreement):
    assert abs(disagreement.gap()) > 0.05
    assert disagreement.ours != disagreement.theirs


@pytest.mark.parametrize("rows", [RESULTS, DISAGREEMENTS], ids=["results", "disagreements"])
def test_a_table_has_a_row_for_each(rows):
    table = Table(rows)
    assert len(repr(table).splitlines()) == len(rows)
    page = table._repr_html_()
    assert page.count("<tr>") == len(rows) + 1
    assert "nan" not in page and "inf" not in page
    for row in rows:
        assert row.link in page


def test_differences_are_told_in_few_steps():
    """So that the last bit of another processor's rounding does not change the page."""
    result = RESULTS[0]
    cases = {0.0: "1e−5", 3e-9: "1e−5", 4.9e-5: "5e−5", 5.002e-5: "5e−5", 5.2e-5: "1e−4", 3.0: "5"}
    for difference, told in cases.items():
        ours = dataclasses.replace(
            result,
            published=lambda: torch.zeros(1, dtype=torch.float64),
            ours=lambda difference=difference: torch.tensor([difference], dtype=torch.float64),
        )
        assert repr(Table([ours])).endswith(f"differs by at most {told}")


@pytest.mark.parametrize("result", RESULTS, ids=by_name)
def test_no_difference_is_told_as_more_than_its_tolerance(result):
    """A reader who compares the two columns would think that the comparison failed."""
    assert repr(Table([result])).endswith(tuple(_steps_up_to(result.tolerance)))


def _steps_up_to(tolerance):
    for power in range(-14, 1):
        for step in (1, 2, 5):
            if step * 10.0**power <= 1.001 * tolerance:
                yield f"at most {_short(step * 10.0**power)}"
