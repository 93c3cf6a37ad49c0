"""Texts in a picture: numbers, tokens along an axis, and their sizes and fonts."""

import warnings
from collections.abc import Sequence

import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.backend_bases import RendererBase
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from attention_lib.plots._arrays import as_strings
from attention_lib.plots.style import FONT, LABEL_SIZE, TEXT_SIZE


def require_decimals(decimals: object) -> None:
    """Refuse what cannot be a number of decimals; ``None`` writes no number."""
    is_whole = isinstance(decimals, int) and not isinstance(decimals, bool) and decimals >= 0
    if decimals is not None and not is_whole:
        raise ValueError(f"decimals: expected None or a whole number from 0 on, got {decimals!r}")


def number_text(number: float, decimals: int) -> str:
    """Write a number with fixed decimals."""
    return "NaN" if np.isnan(number) else f"{round(number, decimals):.{decimals}f}"


def room_per_cell(ax: Axes, rows: int, columns: int) -> float:
    """Return about how many points a square cell has."""
    box = ax.get_position(original=True)
    points = 72 / ax.figure.dpi
    width = points * ax.figure.bbox.width * box.width
    height = points * ax.figure.bbox.height * box.height
    return 0.7 * min(width / columns, height / rows)  # labels, title and scale take the rest


class CellText(Text):
    """A text in the middle of a cell, as large as fits there once the picture is laid out."""

    def draw(self, renderer: RendererBase) -> None:
        """Fit the type into the cell as it stands now, and draw it."""
        corners = self.axes.transData.transform([(0, 0), (1, 1)])  # type: ignore[union-attr]
        cell_width, cell_height = abs(corners[1] - corners[0])
        self.set_fontsize(TEXT_SIZE)
        text = self.get_window_extent(renderer)
        fits = min(1, 0.9 * cell_width / text.width, 0.8 * cell_height / text.height)
        self.set_fontsize(TEXT_SIZE * fits)
        super().draw(renderer)


def label_ticks(
    axis: XAxis | YAxis, name: str, tokens: Sequence[str] | None, size: int, room: float
) -> None:
    """Write tokens, or positions, along an axis, as large as they fit."""
    if tokens is None:
        digits = len(str(size - 1)) if isinstance(axis, XAxis) else 1
        apart = LABEL_SIZE * 0.62 * digits + 1
        most = int(np.clip(1.2 * size * room / apart, 1, min(size, 12)))
        axis.set_major_locator(MaxNLocator(nbins=most, integer=True, steps=[1, 2, 5, 10]))
        return
    texts, family = drawable(name, tokens, size)
    points = float(np.clip(room, 6, LABEL_SIZE))
    every = int(np.ceil(points / room))
    axis.set_ticks(
        range(0, size, every), texts[::every], fontsize=points, family=family, parse_math=False
    )
    too_long = 0.62 * points * max(map(len, texts)) > every * room
    if isinstance(axis, XAxis) and too_long:
        if room < 2 * LABEL_SIZE:
            axis.set_tick_params(rotation=90)
            return
        top = axis.get_ticks_position() == "top"
        for label in axis.get_ticklabels():
            label.set(rotation=45, rotation_mode="anchor", ha="left" if top else "right")


def drawable(name: str, tokens: Sequence[str], size: int) -> tuple[list[str], list[str]]:
    """Return tokens as texts, and the fonts that have their characters.

    matplotlib brings no Chinese, Japanese or Korean type. An installed font is used where one
    has the characters; where none has, they are written as code points, and a warning says so.
    """
    texts = [
        token.replace("\n", "↵").replace("\t", "⇥") for token in as_strings(name, tokens, size)
    ]
    missing = sorted({char for text in texts for char in text if not _has(_bundled_font(), char)})
    if not missing:
        return texts, [FONT]
    fonts = font_manager.fontManager.ttflist
    for entry in sorted(
        fonts, key=lambda entry: ("Sans" not in entry.name, "SC" not in entry.name, entry.name)
    ):
        if all(_has(entry.fname, char) for char in missing):
            return texts, [FONT, entry.name]
    codes = {char: f"U+{ord(char):04X}" for char in missing}
    warnings.warn(
        f"{name}: no installed font has {' '.join(missing)}; drawn as {' '.join(codes.values())}. "
        "Install one (for Chinese: Noto Sans CJK), or label with Latin letters.",
        stacklevel=4,
    )
    written = [text.translate({ord(char): codes[char] for char in codes}) for text in texts]
    return written, [FONT]


def _bundled_font() -> str:
    return font_manager.findfont(FONT, fallback_to_default=False)


def _has(path: str, char: str) -> bool:
    """Say whether a font can draw a character; the font of last resort draws boxes only."""
    font = font_manager.get_font(path)
    usable = font.scalable and "LastResort" not in font.postscript_name
    return usable and font.get_char_index(ord(char)) != 0
