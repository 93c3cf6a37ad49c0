"""The figures of the trained models are tried as those of the library are."""

from tests.attention_workbook.figures.conftest import assets, contexts, node, show  # noqa: F401
