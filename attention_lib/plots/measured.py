"""Measurements: samples, runs and points, against what theory says of them."""

from functools import partial
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike, NDArray

from attention_lib.plots._arrays import as_array, as_finite, as_positive, as_strings, require_axes
from attention_lib.plots.style import COLORS, LABEL_SIZE, SERIES_DASHES, series

__all__ = ["curves", "histogram", "measurements"]

Log = Literal["", "x", "y", "xy"]
Ends = list[tuple[str, NDArray[np.float64]]]  # of lines, with their names


def histogram(ax: Axes, samples: ArrayLike, *, normal: tuple[float, float] | None = None) -> Axes:
    """Draw the density of samples, and the normal density they should have.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    samples : array
        Shape ``(rows,)``.
    normal : tuple of float, optional
        Mean and standard deviation of a normal density, drawn without a name: the caption says it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> samples = np.random.default_rng(0).normal(0, 100, size=20_000)
    >>> ax = histogram(ax, samples, normal=(0, 100))
    >>> plt.close(figure)
    """
    require_axes(ax)
    samples = as_finite("samples", samples, "(rows,)")
    heights, edges = np.histogram(samples, bins=60, density=True)
    ax.stairs(heights, edges, fill=True, color=COLORS["mask_line"], alpha=0.55)
    if normal is not None:
        mean, deviation = as_finite("normal", normal, "(2,)")
        as_positive("normal", deviation)
        x = np.linspace(edges[0], edges[-1], 400)
        density = np.exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
        ax.plot(x, density, color=COLORS["series_1"], linestyle="-")
    ax.set(ylabel="density", ylim=(0, None))
    return ax


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
    _finish(ax, log, x)
    return ax


def measurements(
    ax: Axes,
    x: ArrayLike,
    measured: ArrayLike,
    theory: ArrayLike | None = None,
    *,
    log: Log = "xy",
    names: tuple[str, str] = ("measured", "theory"),
) -> Axes:
    """Draw measured points against the line that theory draws.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    x, measured : array
        Shape ``(points,)``.
    theory : array, optional
        Shape ``(points,)``: what should have been measured.
    log : {"", "x", "y", "xy"}
        Which axes are logarithmic.
    names : tuple of str
        What is written at the end of the points and of the line, as in :func:`curves`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = measurements(ax, [1, 4, 16], [1.1, 3.9, 16.2], theory=[1, 4, 16])
    >>> plt.close(figure)
    """
    require_axes(ax)
    x = as_finite("x", x, "(points,)")
    measured = as_array("measured", measured, f"({len(x)},)")
    points_label, line_label = as_strings("names", names, 2)
    if theory is not None:
        theory = as_array("theory", theory, f"({len(x)},)")
        ax.plot(x, theory, color=COLORS["accent"], linestyle="--", linewidth=1.6, label=line_label)
    ax.plot(x, measured, "o", color=COLORS["series_1"], markersize=6, label=points_label)
    _finish(ax, log, x)
    return ax


def _name_lines(ax: Axes) -> None:
    """Write each line's name beside its end, joined to it by a stroke of its colour."""
    for old in [text for text in ax.texts if text.get_gid() == "name"]:
        old.remove()
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


def _finish(ax: Axes, log: str, x: NDArray[np.float64]) -> None:
    """Make the named axes logarithmic, with plain numbers at the ticks; add a grid and names."""
    if log not in ("", "x", "y", "xy"):
        raise ValueError(f'log: expected "", "x", "y" or "xy", got {log!r}')
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
