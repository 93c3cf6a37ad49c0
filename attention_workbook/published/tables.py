"""A published result, a disagreement between texts, and the table that shows either."""

import html
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_workbook.arguments import require_each
from attention_workbook.published.models import Model

__all__ = ["Disagreement", "Result", "Table"]


@dataclass(frozen=True)
class Result:
    """A published result, and how to compute it.

    Parameters
    ----------
    name : str
        What is computed.
    source, link : str
        Who published it, and where it can be read.
    inputs : str
        The inputs, in a line.
    published : callable
        Returns the published numbers; where a source gives a computation instead of numbers,
        runs it.
    ours : callable
        Returns the same from this library, in the same shape.
    tolerance : float
        Half a unit of the last printed digit, and what float32 rounds.

    Examples
    --------
    >>> from attention_workbook.published import RESULTS
    >>> six_tokens = RESULTS[0]
    >>> six_tokens.name
    'Weights of six tokens'
    >>> six_tokens.difference() < six_tokens.tolerance
    True
    """

    name: str
    source: str
    link: str
    inputs: str
    published: Callable[[], Tensor]
    ours: Callable[[], Tensor]
    tolerance: float

    def difference(self) -> float:
        """Return the largest absolute difference; infinite if the shapes or a NaN differ."""
        theirs, ours = self._two_sides()
        if theirs.shape != ours.shape or not torch.equal(theirs.isnan(), ours.isnan()):
            return math.inf
        return float((theirs.double() - ours.double()).abs().nan_to_num().max())

    def one_number(self) -> tuple[float, float]:
        """Return a published number and ours: those that differ most, if more than rounding."""
        theirs, ours = (x.double().flatten() for x in self._two_sides())
        apart = (theirs - ours).abs()
        place = int(apart.argmax()) if apart.max() > 1e-6 else int(theirs.abs().argmax())
        return float(theirs[place]), float(ours[place])

    def _two_sides(self) -> tuple[Tensor, Tensor]:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):  # sources seed it for all
            return self.published(), self.ours()

    # As a row of a table, whose number is the difference.

    _heads = (
        "What",
        "Published by, for these inputs",
        "A number",
        "Ours",
        "Tolerance",
        "Difference",
    )
    _number = difference

    def _line(self, difference: float) -> str:
        bound = _rounded_up(difference, self.tolerance)
        return f"{self.name} | {self.source} | differs by at most {bound}"

    def _cells(self, difference: float) -> list[str]:
        return [
            html.escape(self.name),
            f"{_linked(self.source, self.link)}<br><code>{html.escape(self.inputs)}</code>",
            *map(_written, self.one_number()),
            _short(self.tolerance),
            _rounded_up(difference, self.tolerance),
        ]


@dataclass(frozen=True)
class Disagreement:
    """A question that texts answer in two ways.

    Parameters
    ----------
    question : str
        What is asked.
    ours, theirs : str
        The answer of this book and the other one, each with who gives it.
    link : str
        Where the other answer can be read.
    measure, measured : str, callable
        A number that says how far apart the two are, in words, and what computes it.

    Examples
    --------
    >>> from attention_workbook.published import DISAGREEMENTS
    >>> window = next(d for d in DISAGREEMENTS if "window" in d.question)
    >>> window.gap()
    1.0
    """

    question: str
    ours: str
    theirs: str
    link: str
    measure: str
    measured: Callable[[], float]

    def gap(self) -> float:
        """Return how far apart the two answers are, on one example."""
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            return self.measured()

    # As a row of a table, whose number is the gap.

    _heads = ("Question", "Here", "Elsewhere", "How far apart")
    _number = gap

    def _line(self, gap: float) -> str:
        return f"{self.question} | {self.measure}: {gap:.3g}"

    def _cells(self, gap: float) -> list[str]:
        return [
            html.escape(self.question),
            html.escape(self.ours),
            _linked(self.theirs, self.link),
            f"{html.escape(self.measure)}: {gap:.3g}",
        ]


class Table:
    """Results, disagreements or models as a table: HTML in a notebook, text elsewhere.

    Parameters
    ----------
    rows : iterable of Result, Disagreement or Model
        All of one kind. They are computed when the table is made.

    Raises
    ------
    TypeError
        If these are other rows, or rows of both kinds.

    Examples
    --------
    >>> from attention_workbook.published import RESULTS
    >>> print(Table(RESULTS[:1]))
    Weights of six tokens | Raschka (2024), ch. 3 | differs by at most 5e−5
    """

    def __init__(self, rows: Iterable[Result | Disagreement | Model]) -> None:
        rows = require_each("rows", rows, Result, Disagreement, Model, minimum=0)
        kinds = sorted({type(row).__name__ for row in rows})
        if len(kinds) > 1:
            raise TypeError(f"rows: expected all of one kind, got {' and '.join(kinds)}")
        self.rows = [(row, row._number()) for row in rows]

    def __repr__(self) -> str:
        return "\n".join(row._line(number) for row, number in self.rows)

    def _repr_html_(self) -> str:
        heads = self.rows[0][0]._heads if self.rows else ()
        head = "".join(f'<th scope="col">{text}</th>' for text in heads)
        cells = [row._cells(number) for row, number in self.rows]
        body = "".join(
            f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{c}</td>" for c in others) + "</tr>"
            for first, *others in cells
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _linked(text: str, link: str) -> str:
    return f'<a href="{html.escape(link)}">{html.escape(text)}</a>'


def _rounded_up(difference: float, tolerance: float) -> str:
    """Return a difference as no other processor's rounding changes it.

    It becomes 1, 2 or 5 times a power of ten, and what lies far below the tolerance is not told
    apart.
    """
    if difference == math.inf:
        return "∞"  # the shapes differ, or where NaN stands
    difference = max(difference, tolerance / 5.2)
    power: float = 10.0 ** math.floor(math.log10(difference))
    step = next(step for step in (1, 2, 5, 10) if difference <= 1.005 * step * power)
    return _short(step * power)


def _written(number: float) -> str:
    """Return a number as the book writes it: .19815, 46.875, −2.158."""
    text = f"{number:.5g}" if abs(number) < 1 else f"{number:.3f}".rstrip("0").rstrip(".")
    return text.replace("0.", ".", abs(number) < 1).replace("-", "−")


def _short(number: float) -> str:
    return f"{number:.0e}".replace("e-0", "e-").replace("-", "−") if number < 0.1 else f"{number:g}"
