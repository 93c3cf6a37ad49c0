"""What others have printed, computed anew."""

import dataclasses

import pytest
import torch

from attention_workbook.published import DISAGREEMENTS, MODELS, RESULTS, Census, Table
from attention_workbook.published.census import KINDS, RELEASES
from attention_workbook.published.census_page import page
from attention_workbook.published.tables import _short
from website import ROOT


def by_name(row):
    return getattr(row, "name", None) or row.question


@pytest.mark.parametrize("result", RESULTS, ids=by_name)
def test_library_reproduces_the_published_numbers(result):
    assert result.difference() <= result.tolerance


@pytest.mark.parametrize("result", RESULTS, ids=by_name)
def test_change_in_the_last_published_digit_is_detected(result):
    """Of any single number: a tolerance that lets it pass would prove nothing."""
    with torch.no_grad():
        published = result.published().double().contiguous()
    for index in range(published.numel()):
        other = published.clone()
        other.view(-1)[index] += 3 * result.tolerance
        changed = dataclasses.replace(result, published=lambda other=other: other)
        assert changed.difference() > result.tolerance


def test_difference_to_another_shape_or_nan_is_infinite():
    result = RESULTS[0]
    for other in (result.published()[0], result.published().log() * float("nan")):
        changed = dataclasses.replace(result, published=lambda other=other: other)
        assert changed.difference() == float("inf")


def test_results_do_not_move_the_global_random_numbers():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    for result in RESULTS:
        result.difference()
    for disagreement in DISAGREEMENTS:
        disagreement.gap()
    assert torch.equal(before, torch.get_rng_state())


def test_there_are_at_least_20_results_with_names_and_links_of_their_own():
    assert len(RESULTS) >= 20
    assert len({result.name for result in RESULTS}) == len(RESULTS)
    for row in (*RESULTS, *DISAGREEMENTS):
        assert row.link.startswith("https://"), by_name(row)


@pytest.mark.parametrize("disagreement", DISAGREEMENTS, ids=by_name)
def test_texts_that_disagree_differ_by_more_than_rounding(disagreement):
    assert abs(disagreement.gap()) > 0.05
    assert disagreement.ours != disagreement.theirs


@pytest.mark.parametrize("rows", [RESULTS, DISAGREEMENTS, MODELS])
def test_table_has_one_row_for_each_result(rows):
    table = Table(rows)
    assert len(repr(table).splitlines()) == len(rows)
    page = table._repr_html_()
    assert page.count("<tr>") == len(rows) + 1
    assert "nan" not in page and "inf" not in page
    for row in rows:
        assert (row.sizes if rows is MODELS else row.link) in page


def test_printed_differences_are_rounded_up_to_coarse_steps():
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
def test_printed_difference_never_exceeds_the_tolerance(result):
    """A reader who compares the two columns would think that the comparison failed."""
    assert repr(Table([result])).endswith(tuple(_steps_up_to(result.tolerance)))


def _steps_up_to(tolerance):
    for power in range(-14, 1):
        for step in (1, 2, 5):
            if step * 10.0**power <= 1.001 * tolerance:
                yield f"at most {_short(step * 10.0**power)}"


@pytest.mark.parametrize("version", RELEASES)
def test_census_gives_every_broken_model_one_kind(version):
    census = Census(version)
    listed = [name for names in census.kinds.values() for name in names]
    assert len(listed) == len({model for model, _ in census.broken})
    assert repr(census).splitlines()[0] in census._repr_html_()


def test_every_judged_model_is_broken_in_a_release():
    broken = {model for version in RELEASES for model, _ in Census(version).broken}
    for kind in KINDS:
        assert {
            name if "Model" in name else f"{name}ForCausalLM" for name in kind["models"]
        } <= broken


def test_the_page_of_the_census_is_written_from_its_tables():
    assert (ROOT / "book" / "census.md").read_text(encoding="utf-8") == page()


def test_the_census_accuses_nobody_without_a_public_report():
    rows = [line for line in page().splitlines() if "**broken**" in line and line.startswith("| ")]
    assert rows
    cells = [cell for row in rows for cell in row.split(" | ") if "**broken**" in cell]
    assert all("](https://github.com/" in cell for cell in cells)
