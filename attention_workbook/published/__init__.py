"""Published models, and which contracts the causal models of a released library break.

:data:`MODELS` holds the sizes and the choices of published models, as ``models.toml`` lists them.
:class:`Census` shows the counts of ``census.json``.
"""

from attention_workbook.published.census import Census
from attention_workbook.published.models import MODELS, Model, Table

__all__ = ["MODELS", "Census", "Model", "Table"]
