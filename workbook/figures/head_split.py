"""Splitting into heads: where each number lands, with the right reshape and with the wrong one."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.palette import LIGHT
from workbook.figures._figure import Figure
from workbook.figures._markup import Markup, svg, tag
from workbook.figures._traits import OneOf, Switch, Whole

_LONGEST = 5
_WIDTHS = (4, 8, 12)


class HeadSplit(Figure):
    """The numbers of a matrix ``(len, d_model)``, and the head, position and column each goes to.

    The right way cuts the columns and swaps two axes,
    ``x.reshape(len, num_heads, d_k).transpose(0, 1)``; the wrong one reshapes straight to the
    same shape, ``x.reshape(num_heads, len, d_k)``.

    Parameters
    ----------
    length : int
        Number of positions, 2 to 5.
    d_model : int
        Width: 4, 8 or 12.
    num_heads : int
        Number of heads: 1, 2 or 4.
    wrong : bool
        Whether to reshape straight to the final shape.
    number : int
        The number to follow, counted from 0; the last one if it is too large.

    Examples
    --------
    >>> HeadSplit()
    HeadSplit(length=3, d_model=4, num_heads=2, wrong=True, number=4)
    """

    _script = "head_split.js"
    _title = "Splitting into heads"

    length = Whole(3, min=2, max=_LONGEST).tag(sync=True)
    d_model = OneOf(list(_WIDTHS), 4).tag(sync=True)
    num_heads = OneOf([1, 2, 4], 2).tag(sync=True)
    wrong = Switch(True).tag(sync=True)
    number = Whole(4, min=0, max=_LONGEST * _WIDTHS[-1] - 1).tag(sync=True)

    @property
    def _task(self) -> str:  # type: ignore[override]
        if (self._heads(self.wrong) != self._heads(False)).any():
            return "Choose the right way, and watch the numbers go home."
        return "Click a number, and say first in which head it will land."

    def _heads(self, wrong: bool) -> NDArray[Any]:
        numbers = np.arange(self.length * self.d_model)
        d_k = self.d_model // self.num_heads
        if wrong:
            return numbers.reshape(self.num_heads, self.length, d_k)
        return numbers.reshape(self.length, self.num_heads, d_k).transpose(1, 0, 2)

    def words(self) -> str:
        heads, right = self._heads(self.wrong), self._heads(False)
        number = min(self.number, heads.size - 1)
        head, position, column = (int(place[0]) for place in np.nonzero(heads == number))
        misplaced = int((heads != right).sum())
        way = "Straight to the final shape" if self.wrong else "Cut the columns, then swap the axes"
        if misplaced:
            verdict = f"{misplaced} of {heads.size} numbers are not where they belong."
        else:
            verdict = "Every number is where it belongs."
        return (
            f"{self.length} positions of width {self.d_model} in {self.num_heads} "
            f"head{'s' if self.num_heads > 1 else ''} of width {heads.shape[-1]}. {way}: number "
            f"{number} of position {number // self.d_model} lands in head {head} at position "
            f"{position}, column {column}. {verdict}"
        )

    def picture(self) -> Markup:
        heads, right = self._heads(self.wrong), self._heads(False)
        number = min(self.number, heads.size - 1)
        cell, left, top = 34, 96, 34
        owner = {int(n): head for head, table in enumerate(heads) for n in table.flat}

        def table(
            values: NDArray[Any], x: float, y: float, expected: NDArray[Any] | None = None
        ) -> Iterator[Markup]:
            for row, line in enumerate(values.tolist()):
                for column, value in enumerate(line):
                    place = {"x": x + column * cell, "y": y + row * cell}
                    stray = expected is not None and expected[row, column] != value
                    yield tag(
                        "rect",
                        **place,
                        width=cell - 3,
                        height=cell - 3,
                        rx=4,
                        fill=LIGHT[f"series_{(1, 4, 2, 3)[owner[value]]}"],
                        fill_opacity=0.4,
                        stroke=LIGHT["nan" if stray else "ink"],
                        stroke_width=2.5 if stray or value == number else 0,
                    )
                    middle = {"x": place["x"] + (cell - 3) / 2, "y": place["y"] + cell / 2 + 3}
                    bold = {"font_weight": 700 if value == number else 400}
                    yield tag(
                        "text", value, **middle, **bold, text_anchor="middle", fill=LIGHT["ink"]
                    )

        def label(text: str, x: float, y: float, anchor: str = "middle") -> Markup:
            return tag("text", text, x=x, y=y, text_anchor=anchor, fill=LIGHT["muted"])

        width = left + (self.d_model + self.num_heads - 1) * cell + 16
        below = top + self.length * cell + 44
        parts = [label("X", left - 16, top - 12, "end")]
        matrix = np.arange(heads.size).reshape(self.length, self.d_model)
        parts += table(matrix, left, top)
        for head, (values, expected) in enumerate(zip(heads, right, strict=True)):
            x = left + head * (values.shape[1] + 1) * cell
            parts.append(label(f"head {head}", x, below - 10, "start"))
            parts += table(values, x, below, expected)
        for row in range(self.length):
            for y in (top, below):
                parts.append(label(f"position {row}", left - 12, y + row * cell + 22, "end"))
        return svg(*parts, width=max(width, 320), height=below + self.length * cell + 12)
