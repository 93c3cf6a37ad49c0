"""Tables of queries (down) and keys (across); masked cells hatched grey, NaN red with crosses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, ListedColormap, Normalize, to_hex
from matplotlib.image import AxesImage
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import ScaledTranslation, blended_transform_factory
from numpy.typing import ArrayLike, NDArray

from attention_lib.palette import readable_on
from attention_lib.plots._arrays import (
    Floats,
    as_array,
    as_booleans,
    as_mask,
    as_strings,
    as_weights,
    require_axes,
)
from attention_lib.plots._text import (
    CellText,
    label_ticks,
    number_text,
    require_decimals,
    room_per_cell,
)
from attention_lib.plots.style import COLORS, ON_MAP, WEIGHT_MAP

__all__ = ["heatmap", "heatmap_grid", "mask_picture"]

Cell = tuple[float, float, float, float]  # x, y, width, height


def heatmap(
    ax: Axes,
    weights: ArrayLike,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    mask: ArrayLike | None = None,
    decimals: int | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw weights as a table of colours, from 0 to 1.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    weights : array
        Shape ``(len_q, len_k)``, numbers from 0 to 1. NaN is red, with crosses.
    queries, keys : sequence of str, optional
        The tokens, as labels; without them positions are numbered from 0.
    mask : array of bool, optional
        True = may attend; broadcasts to ``(len_q, len_k)``. Masked cells are hatched grey. In
        a masked cell whose weight is not 0 the weight's colour shows in the middle: a leak.
    decimals : int, optional
        Write each weight into its cell, with so many decimals.
    colorbar : bool
        Whether to draw the scale beside the table.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = heatmap(ax, [[0.75, 0.25], [0.5, 0.5]], ["a", "b"], ["a", "b"], decimals=2)
    >>> ax.images[0].get_array().tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    >>> plt.close(figure)
    """
    require_axes(ax)
    weights = as_weights(weights, "(len_q, len_k)")
    mask = as_mask(mask, weights.shape)
    # A weight of 1/8 lies between two colours of the map: rounding must not choose one.
    painted = weights.round(6)
    image = _draw_table(ax, painted, WEIGHT_MAP, Normalize(0, 1), ~mask & (weights == 0), decimals)
    for row, column in np.argwhere(~mask & (weights != 0)):
        _hatch(ax, [(column - 0.5, row - 0.5, 1, 1), (column + 0.3, row - 0.3, -0.6, 0.6)], "mask")
    _label_table(ax, weights.shape, queries, keys)
    if colorbar:
        _draw_colorbar(ax, image)
    return ax


def heatmap_grid(
    axes: NDArray[Any],
    weights: ArrayLike,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    mask: ArrayLike | None = None,
    titles: Sequence[str] | None = None,
    colorbar: bool = True,
) -> NDArray[Any]:
    """Draw several tables of weights with one scale from 0 to 1 for all of them.

    Parameters
    ----------
    axes : array of matplotlib.axes.Axes
        Where to draw, of any shape.
    weights : array
        Shape ``(num_heads, len_q, len_k)``: one table for each of the axes, row by row.
    queries, keys : sequence of str, optional
        The tokens, at the left and upper edge of the grid.
    mask : array of bool, optional
        True = may attend; broadcasts to the shape of ``weights``.
    titles : sequence of str, optional
        One for each table.
    colorbar : bool
        Whether to draw the one scale beside the grid.

    Returns
    -------
    numpy.ndarray
        The axes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, axes = plt.subplots(1, 2)
    >>> axes = heatmap_grid(axes, [[[0.75, 0.25]], [[0.5, 0.5]]], titles=["Head 1", "Head 2"])
    >>> [ax.images[0].get_clim() for ax in axes]
    [(0.0, 1.0), (0.0, 1.0)]
    >>> plt.close(figure)
    """
    axes = np.asarray(axes)
    for ax in axes.flat:
        require_axes(ax)
    weights = as_weights(weights, "(num_heads, len_q, len_k)")
    if len(weights) != axes.size:
        raise ValueError(f"weights: expected {axes.size} tables, one an Axes, got {len(weights)}")
    mask = as_mask(mask, weights.shape)
    titles = [""] * axes.size if titles is None else as_strings("titles", titles, axes.size)
    places = [ax.get_subplotspec() for ax in axes.flat]
    top = min(place.rowspan.start for place in places)
    left = min(place.colspan.start for place in places)
    for ax, table, allowed, title, place in zip(
        axes.flat, weights, mask, titles, places, strict=True
    ):
        heatmap(ax, table, queries, keys, mask=allowed, colorbar=False)
        if place.rowspan.start != top:
            ax.xaxis.set(ticks=[], label_text="")
        if place.colspan.start != left:
            ax.yaxis.set(ticks=[], label_text="")
        if title:
            ax.set_title(title)
    if colorbar:
        bar = ax.figure.colorbar(ax.images[0], ax=list(axes.flat), aspect=25, pad=0.02)
        _style_colorbar(bar)
    return axes


def mask_picture(
    ax: Axes,
    mask: ArrayLike,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
) -> Axes:
    """Draw a boolean mask: which query (down) may attend (filled) to which key (across).

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    mask : array of bool
        Shape ``(len_q, len_k)``, True = may attend.
    queries, keys
        As in :func:`heatmap`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = mask_picture(ax, [[True, False], [True, True]])
    >>> ax.images[0].get_array().mask.tolist()  # masked there, masked here
    [[False, True], [False, False]]
    >>> plt.close(figure)
    """
    require_axes(ax)
    allowed = as_array("mask", as_booleans(mask), "(len_q, len_k)") == 1
    ax.set_facecolor(COLORS["accent"])  # no weight yet; masked cells cover it
    _draw_table(
        ax, allowed.astype(float), ListedColormap(["none"]), Normalize(0, 1), ~allowed, None
    )
    _label_table(ax, allowed.shape, queries, keys)
    return ax


def _draw_table(
    ax: Axes,
    table: Floats,
    cmap: Colormap,
    norm: Normalize,
    hidden: NDArray[np.bool_],
    decimals: int | None,
) -> AxesImage:
    """Draw a table of colours with its hatched, missing and numbered cells; return the image."""
    require_decimals(decimals)
    rows, columns = table.shape
    missing = np.isnan(table) & ~hidden
    visible = np.ma.array(table, mask=hidden | missing)
    image = ax.imshow(visible, cmap=cmap, norm=norm, interpolation="none")
    _hatch(ax, _cells(hidden), "mask")
    _hatch(ax, _cells(missing), "nan")
    if decimals is not None:
        for row, column in np.argwhere(~hidden):
            painted = cmap(norm(table[row, column]))
            ground = COLORS["nan"] if missing[row, column] else to_hex(painted)
            number = CellText(
                *(column, row, number_text(table[row, column], decimals)),
                gid=None if missing[row, column] else ON_MAP,
                ha="center",
                va="center",
                color=readable_on(ground),
                bbox={"facecolor": ground, "edgecolor": "none", "pad": 0},  # between crosses
            )
            number.set_in_layout(False)
            ax.add_artist(number)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    if max(rows, columns) <= 32:  # hairlines between the cells, where there is room for them
        ax.set_xticks(np.arange(1, columns) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, rows) - 0.5, minor=True)
        ax.grid(which="minor", color=COLORS["paper"], linewidth=1.2)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    return image


def _label_table(
    ax: Axes, shape: tuple[int, ...], queries: Sequence[str] | None, keys: Sequence[str] | None
) -> None:
    """Write the queries down and the keys across, each in their colour."""
    room = room_per_cell(ax, *shape)
    label_ticks(ax.yaxis, "queries", queries, shape[0], room)
    label_ticks(ax.xaxis, "keys", keys, shape[1], room)
    ax.set_ylabel("queries", color=COLORS["query"])
    ax.set_xlabel("keys", color=COLORS["key"])


def _draw_colorbar(ax: Axes, image: AxesImage) -> None:
    """Draw the scale at the right edge: as high as the picture, of one width in inches."""
    inches_from_edge = ax.figure.dpi_scale_trans + ScaledTranslation(1, 0, ax.transAxes)  # type: ignore[arg-type]
    across = blended_transform_factory(inches_from_edge, ax.transAxes)
    place = ax.inset_axes((0.12, 0, 0.12, 1), transform=across)
    _style_colorbar(ax.figure.colorbar(image, cax=place))


def _style_colorbar(bar: Colorbar) -> None:
    """Write the ends and the middle of a scale (the ends alone where it is short)."""
    rows, columns = np.shape(bar.mappable.get_array())  # type: ignore[arg-type]
    ticks = np.linspace(*bar.mappable.get_clim(), 2 if rows < 0.3 * columns else 3).tolist()
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks])
    bar.set_label("weight")


def _cells(where: NDArray[np.bool_]) -> list[Cell]:
    """Return the rectangles ``(x, y, width, height)`` of a table's marked cells."""
    return [(column - 0.5, row - 0.5, 1, 1) for row, column in np.argwhere(where)]


def _hatch(ax: Axes, rectangles: list[Cell], kind: str) -> None:
    """Cover rectangles with the hatching of ``mask`` or ``nan``; a negative width cuts a hole."""
    if not rectangles:
        return
    corners = [
        [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)]
        for x, y, width, height in rectangles
    ]
    line, pattern = {"mask": ("mask_line", "////"), "nan": ("paper", "xx")}[kind]
    outline = Path.make_compound_path(*(Path(points, closed=True) for points in corners))
    patch = PathPatch(outline, facecolor=COLORS[kind], edgecolor=COLORS[line], hatch=pattern)
    patch.set(linewidth=0, zorder=0.4, gid=kind)  # over the image, under the hairlines
    ax.add_patch(patch)
