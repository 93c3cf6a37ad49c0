"""What others have printed, and what this library makes of the same inputs.

Three tables and a census. :data:`RESULTS` holds numbers that books, courses, papers and other
libraries have published, each with the inputs in a line and a function that computes them anew
with the parts of :mod:`attention_lib`. :data:`DISAGREEMENTS` holds the questions on which good
texts part, with a number that says how much it matters. :data:`MODELS` holds the sizes and the
choices of published models. :class:`Census` shows which contracts the causal models of a released
library break.

``results.toml``, ``disagreements.toml``, ``models.toml`` and ``census.toml`` hold what others have
printed, and ``computed`` what this library makes of it.
"""

import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import torch

from attention_workbook.published import computed
from attention_workbook.published.census import Census
from attention_workbook.published.models import MODELS, Model
from attention_workbook.published.tables import Disagreement, Result, Table

__all__ = [
    "DISAGREEMENTS",
    "MODELS",
    "RESULTS",
    "Census",
    "Disagreement",
    "Model",
    "Result",
    "Table",
]


def _rows(name: str) -> list[dict[str, Any]]:
    file = Path(__file__).with_name(f"{name}.toml")
    return list(tomllib.loads(file.read_text(encoding="utf-8"))[name])


def _result(ours: str, theirs: str = "", numbers: Any = None, **row: Any) -> Result:
    published = getattr(computed, theirs) if theirs else partial(torch.tensor, numbers)
    return Result(**row, published=published, ours=getattr(computed, ours))


RESULTS = [_result(**row) for row in _rows("results")]
DISAGREEMENTS = [
    Disagreement(**row | {"measured": getattr(computed, row["measured"])})
    for row in _rows("disagreements")
]
