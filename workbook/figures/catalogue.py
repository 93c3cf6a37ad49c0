"""Every figure by its name: those that compute what they show, and those of the trained models."""

from workbook import figures
from workbook.figures._figure import Figure
from workbook.figures.copying_heads import CopyingHeads
from workbook.figures.scissors import Scissors
from workbook.figures.sentence_reader import SentenceReader
from workbook.figures.walk import Walk
from workbook.figures.writer import Writer

__all__ = ["FIGURES"]

FIGURES: dict[str, type[Figure]] = {
    **{name: getattr(figures, name) for name in figures.__all__},
    "CopyingHeads": CopyingHeads,
    "Scissors": Scissors,
    "SentenceReader": SentenceReader,
    "Walk": Walk,
    "Writer": Writer,
}
