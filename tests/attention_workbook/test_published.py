"""The table of models."""

from attention_workbook.published import MODELS, Table


def test_the_table_has_a_row_for_each_model_with_its_sources():
    table = Table(MODELS)
    assert len(repr(table).splitlines()) == len(MODELS)
    page = table._repr_html_()
    assert page.count("<tr>") == len(MODELS) + 1
    for model in MODELS:
        assert model.sizes in page and model.code in page
