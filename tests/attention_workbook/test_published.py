"""The table of models, and the census."""

import pytest

from attention_workbook.published import MODELS, Census, Table
from attention_workbook.published.census import KINDS, RELEASES
from attention_workbook.published.census_page import page
from website import ROOT


def test_the_table_has_a_row_for_each_model_with_its_sources():
    table = Table(MODELS)
    assert len(repr(table).splitlines()) == len(MODELS)
    page = table._repr_html_()
    assert page.count("<tr>") == len(MODELS) + 1
    for model in MODELS:
        assert model.sizes in page and model.code in page


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
