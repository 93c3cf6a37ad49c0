"""Lines: one a setting or a run, each with its name at its end."""

from functools import partial
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike, NDArray

from attention_lib.plots._arrays import as_array, as_finite, require_axes
from attention_lib.plots.style import LABEL_SIZE, SERIES_DASHES, series

__all__ = ["curves", "finish_axes"]

Log = Literal["", "x", "y", "xy"]
Ends = list[tuple[str, NDArray[np.float64]]]  # of lines, with their names


def curves(ax: Axes, x: ArrayLike, curves: dict[str, ArrayLike], *, log: Log = "") -> Axes:
    """Draw one line a setting; of several runs, their median and their whole range.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    x : array
        Shape ``(points,)``.
    curves : dict of str to array
        For each label one run, shape ``(points,)``, or several, ``(runs, points)``. The label
        is written at the line's end, unless it begins with an underscore.
    log : {"", "x", "y", "xy"}
        Which axes are logarithmic.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = curves(ax, [1, 4, 16], {"three runs": [[3, 2, 1], [4, 3, 2], [5, 1, 0]]}, log="x")
    >>> ax.lines[0].get_ydata().tolist()
    [4.0, 2.0, 1.0]
    >>> plt.close(figure)
    """
    require_axes(ax)
    x = as_finite("x", x, "(points,)")
    if not isinstance(curves, dict) or not curves:
        raise TypeError(f"curves: expected a dict of labels and numbers, got {curves!r}")
    for number, (label, runs) in enumerate(curves.items()):
        name = f"curves[{label!r}]"
        runs = as_array(name, runs, f"({len(x)},)", f"(runs, {len(x)})").reshape(-1, len(x))
        color = series(len(curves))[number]
        line_style = {"color": color, "linestyle": SERIES_DASHES[number % len(SERIES_DASHES)]}
        line_style |= {"marker": "o", "markersize": 5} if len(x) <= 16 else {}
        ax.plot(x, np.median(runs, axis=0), label=label, **line_style)
        if len(runs) > 1:
            ax.fill_between(x, runs.min(axis=0), runs.max(axis=0), color=color, alpha=0.18, lw=0)
    return finish_axes(ax, x, log)


def finish_axes(ax: Axes, x: ArrayLike, log: Log = "") -> Axes:
    """Scale the axes of a picture of lines, add a grid, and write each line's name at its end.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        With lines, whose labels are their names.
    x : array
        Shape ``(points,)``. Powers of two become the ticks of a logarithmic axis.
    log : {"", "x", "y", "xy"}
        Which axes are logarithmic; their ticks have plain numbers.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> lines = ax.plot([1, 4, 16], [1, 2, 4], label="root")
    >>> finish_axes(ax, [1, 4, 16], log="x").texts[0].get_text()
    'root'
    >>> plt.close(figure)
    """
    if log not in ("", "x", "y", "xy"):
        raise ValueError(f'log: expected "", "x", "y" or "xy", got {log!r}')
    x = np.asarray(x)
    for which in log:
        axis = ax.xaxis if which == "x" else ax.yaxis
        low, high = axis.get_data_interval()
        if low <= 0:
            raise ValueError(f"log: expected positive numbers on the {which} axis, got {low:g}")
        ax.set(**{f"{which}scale": "log"})
        if which == "x" and (np.log2(x) % 1 == 0).all():  # powers of two are ticks themselves
            axis.set_major_locator(FixedLocator(np.unique(x)[:: -(-len(x) // 8)].tolist()))
        elif high < 100 * low:  # less than two decades: their ends alone would be few ticks
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(NullLocator())
        if high < 1e5 and low > 1e-4:
            axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    ax.grid()
    _name_lines(ax)
    return ax


def _name_lines(ax: Axes) -> None:
    """Write each line's name beside its end, joined to it by a stroke of its colour."""
    for old_name in [text for text in ax.texts if text.get_gid() == "name"]:
        old_name.remove()
    named: Ends = []
    for line in ax.lines:
        name, points = str(line.get_label()), np.asarray(line.get_xydata())
        points = points[np.isfinite(points).all(axis=1)]
        if name.startswith("_") or not len(points):
            continue
        stroke = {"arrowstyle": "-", "color": line.get_color(), "linewidth": 1.2, "shrinkA": 2}
        ax.annotate(
            *(name, points[-1], (0, 0)),
            textcoords=partial(_beside, ax, named, len(named)),
            va="center",
            fontsize=LABEL_SIZE,
            arrowprops={**stroke, "shrinkB": 4, "relpos": (0, 0.5)},
            annotation_clip=False,
            gid="name",
        )
        named.append((name, points[-1]))


def _beside(ax: Axes, named: Ends, number: int, _: object) -> Affine2D:
    """Return the place of a name: level with its line's end, or apart from names it would touch."""
    unit = ax.figure.dpi / 72
    ends = ax.transData.transform([end for _, end in named])
    sizes = np.array([1.2 * name.count("\n") + 1.4 for name, _ in named]) * LABEL_SIZE * unit
    order = np.lexsort((-np.arange(len(named)), ends[:, 1].round()))  # as high: the first above
    middles = np.cumsum(sizes[order]) - sizes[order] / 2
    free = ends[order, 1] - middles  # may not fall from one name to the next
    rising = (np.maximum.accumulate(free) + np.minimum.accumulate(free[::-1])[::-1]) / 2
    low, high = ax.bbox.y0, max(ax.bbox.y0, ax.bbox.y1 - sizes.sum())
    ends[order, 1] = middles + np.clip(rising, low, high)
    return Affine2D().translate(ends[number, 0] + 16 * unit, ends[number, 1])
