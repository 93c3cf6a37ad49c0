"""Markup whose text is escaped: elements, and the still picture with its patterns and colours."""

import html
import math
from collections.abc import Sequence

import numpy as np

from attention_lib import palette


class Markup(str):
    """Text that is markup already; :func:`tag` escapes every other text."""


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """Return an HTML or SVG element as :class:`Markup`.

    Children and attribute values are escaped unless they are markup. ``class_`` becomes
    ``class`` and ``stroke_width`` becomes ``stroke-width``; an attribute that is None is left
    out. Floats are rounded to three decimals, so that the text is the same on every machine.

    Examples
    --------
    >>> tag("text", "<b>", x=0.1 + 0.2, text_anchor="end")
    '<text x="0.3" text-anchor="end">&lt;b&gt;</text>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(child if isinstance(child, Markup) else _escape(child) for child in children)
    return Markup(f"<{name}{pairs}>" if name == "img" else f"<{name}{pairs}>{inner}</{name}>")


def _escape(value: object) -> str:
    if isinstance(value, (float, np.floating)):
        value = f"{round(float(value), 3) + 0.0:.3f}".rstrip("0").rstrip(".")
    return html.escape(str(value))


def map_color(share: float, stops: Sequence[str] = palette.WEIGHT_MAP) -> str:
    """Return a map's colour at 0…1, as ``colorMap`` of ``_shared/colors.js`` does.

    Examples
    --------
    >>> map_color(0.0), map_color(0.025), map_color(1.0)
    ('#440154', '#460a5d', '#fde725')
    """
    place = min(max(float(share), 0.0), 1.0) * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    parts = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops[low : low + 2]]
    mixed = [math.floor(a + (place - low) * (b - a) + 0.5) for a, b in zip(*parts, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _pattern(name: str, ground: str, line: str, strokes: str) -> Markup:
    return tag(
        "pattern",
        tag("rect", width=8, height=8, fill=palette.LIGHT[ground]),
        tag("path", d=strokes, stroke=palette.LIGHT[line], stroke_width=1.2, fill="none"),
        id=name,
        width=8,
        height=8,
        patternUnits="userSpaceOnUse",
    )


_PATTERNS = tag(
    "defs",
    _pattern("masked", "mask", "mask_line", "M-2 2L2 -2M0 8L8 0M6 10L10 6"),
    _pattern("nan", "nan", "paper", "M2 2L6 6M6 2L2 6"),
)


def svg(*children: object, width: float, height: float) -> Markup:
    """Return a picture of this size on the palette's paper.

    ``url(#masked)`` and ``url(#nan)`` fill what is masked and what is not a number.
    """
    return tag(
        "svg",
        _PATTERNS,
        tag("rect", width=width, height=height, rx=10, fill=palette.LIGHT["paper"]),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        font_family="system-ui, sans-serif",
        font_size=13,
    )
