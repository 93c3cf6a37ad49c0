"""The heads of a reader in the figure of any heads."""

from typing import Any

from attention_workbook.figures import HeatmapExplorer
from attention_workbook.figures._arrays import plain
from attention_workbook.reader.network import Reader, read
from attention_workbook.reader.training import load_reader

__all__ = ["explore"]


def explore(text: str, reader: Reader | None = None, **cell: Any) -> HeatmapExplorer:
    """Return the figure of all heads of a trained reader, by name, on a sentence.

    Parameters
    ----------
    text : str
        A sentence that the reader can read, with "it" in it once.
    reader : Reader, optional
        Any trained reader; by default that of the book.
    cell : int
        Where to begin; by default at *it* in the pointing head, which comes last.

    Examples
    --------
    >>> figure = explore("The ball broke the table because it was too weak.")
    >>> figure.head_names[1], figure.head_names[-1]
    ('head 1.2', 'pointing head')
    """
    reading = read(load_reader() if reader is None else reader, text)
    tables = [plain(head).round(3) for layer in reading.weights for head in layer]
    names = [
        f"head {layer}.{head}"
        for layer, heads in enumerate(reading.weights[:-1], 1)
        for head in range(1, len(heads) + 1)
    ]
    start = {"head": len(names), "query": reading.it, "key": reading.meant} | cell
    return HeatmapExplorer(tables, reading.words, head_names=[*names, "pointing head"], **start)
