"""Every figure with sliders, by its name: those of the library and those of the trained models."""

from attention_lib import widgets
from attention_lib.widgets._figure import Figure
from workbook.copying.copying_heads import CopyingHeads
from workbook.reader.sentence_reader import SentenceReader
from workbook.reader.walk import Walk
from workbook.writer.writer import Writer

__all__ = ["FIGURES"]

FIGURES: dict[str, type[Figure]] = {
    **{name: getattr(widgets, name) for name in widgets.__all__},
    "CopyingHeads": CopyingHeads,
    "SentenceReader": SentenceReader,
    "Walk": Walk,
    "Writer": Writer,
}
