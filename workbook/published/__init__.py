"""What others have printed, and what this library makes of the same inputs.

Three tables and a census. :data:`RESULTS` holds numbers that books, courses, papers and other
libraries have published, each with the inputs in a line and a function that computes them anew
with the parts of :mod:`attention_lib`. :data:`DISAGREEMENTS` holds the questions on which good
texts part, with a number that says how much it matters. :data:`MODELS` holds the sizes and the
choices of published models. :class:`Census` shows which contracts the causal models of a released
library break.
"""

from workbook.published.census import Census
from workbook.published.disagreements import DISAGREEMENTS
from workbook.published.libraries import LIBRARIES
from workbook.published.models import MODELS, Model
from workbook.published.serving import SERVING
from workbook.published.tables import Disagreement, Result, Table
from workbook.published.texts import TEXTS

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

RESULTS: list[Result] = [*TEXTS, *LIBRARIES, *SERVING]
