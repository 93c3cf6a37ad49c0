"""Every figure by its name: those that compute what they show, and those of the trained models."""

from attention_workbook import figures
from attention_workbook.figures._figure import Figure
from attention_workbook.figures.copying_heads import CopyingHeads
from attention_workbook.figures.scissors import Scissors
from attention_workbook.figures.sentence_reader import SentenceReader
from attention_workbook.figures.walk import Walk
from attention_workbook.figures.writer import Writer

__all__ = ["FIGURES"]

FIGURES: dict[str, type[Figure]] = {
    **{name: getattr(figures, name) for name in figures.__all__},
    "CopyingHeads": CopyingHeads,
    "Scissors": Scissors,
    "SentenceReader": SentenceReader,
    "Walk": Walk,
    "Writer": Writer,
}
