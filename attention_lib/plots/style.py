"""The look of the pictures: the book's colours, type and sizes."""

from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap, to_hex

from attention_lib import palette
from attention_lib.plots.vector import use_vectors

__all__ = ["WEIGHT_MAP", "use_style"]

COLORS = palette.LIGHT
WEIGHT_MAP = LinearSegmentedColormap.from_list("attention-weights", palette.WEIGHT_MAP)

ON_MAP = "on-map"  # gid of what stands on a colour map: in the dark it keeps its colour
FONT = "DejaVu Sans"  # comes with matplotlib, so that every machine draws the same
TEXT_SIZE, LABEL_SIZE = 12, 11  # points: still readable when a figure is 320 pixels wide
SERIES = [COLORS[f"series_{number}"] for number in (1, 2, 3, 4)]
SERIES_DASHES: list[Any] = ["-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5))]

STYLE: dict[Any, Any] = {
    "figure.dpi": 144,
    "figure.figsize": (5.6, 3.5),
    "figure.facecolor": COLORS["paper"],
    "figure.constrained_layout.use": True,
    "font.family": [FONT],
    "font.size": TEXT_SIZE,
    "text.color": COLORS["ink"],
    "axes.facecolor": COLORS["paper"],
    "axes.edgecolor": COLORS["muted"],
    "axes.labelcolor": COLORS["ink"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 13,
    "axes.titlepad": 10,
    "axes.labelpad": 6,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=SERIES, linestyle=SERIES_DASHES),
    "grid.color": COLORS["grid"],
    "xtick.color": COLORS["muted"],
    "ytick.color": COLORS["muted"],
    "xtick.labelcolor": COLORS["ink"],
    "ytick.labelcolor": COLORS["ink"],
    "xtick.labelsize": LABEL_SIZE,
    "ytick.labelsize": LABEL_SIZE,
    "lines.linewidth": 2.2,
    "lines.solid_capstyle": "round",
}


def use_style() -> None:
    """Give matplotlib the book's look: its colours, type and sizes, the same on every machine.

    Notebooks then show figures as SVG, whose text is text and whose colours follow light and dark.

    Examples
    --------
    >>> use_style()
    >>> mpl.rcParams["figure.dpi"]
    144.0
    """
    mpl.rcdefaults()
    mpl.rcParams.update(STYLE)
    use_vectors()


def series(count: int) -> list[str]:
    """Return so many colours in order, as far apart as the palette's allow."""
    if count == len(SERIES) + 1:
        return [*SERIES, COLORS["muted"]]
    if count > len(SERIES):
        ramp = LinearSegmentedColormap.from_list("series", SERIES)
        return [to_hex(ramp(place)) for place in np.linspace(0, 1, count)]
    return [SERIES[round(place)] for place in np.linspace(0, len(SERIES) - 1, count)]
