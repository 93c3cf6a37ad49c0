"""One function a picture: each takes an Axes and arrays, draws, and returns the Axes.

The look

- :func:`use_style`: the book's type, sizes and colours, set once before the first figure.

Tables of queries (down) and keys (across); masked cells hatched grey, NaN red with crosses

- :func:`heatmap`: weights, on one scale from 0 to 1.
- :func:`heatmap_grid`: several heads or variants side by side, with one scale for all.
- :func:`scores_heatmap`: scores, or any signed table, on a scale symmetric about 0.
- :func:`mask_picture`: a boolean mask: which query may attend to which key.
- :func:`number_table`: numbers in cells, coloured by where they came from.

One query

- :func:`attention_diagram`: query, keys, weights, values, output: who goes where, how much.
- :func:`weight_bars`: a row of weights as bars, from 0 to 1.
- :func:`weight_stems`: thousands of weights as thin lines.
- :func:`mixture`: values as points in the plane, and the output inside their convex hull.
- :func:`score_field`: a score function over the plane of keys, for one query.

Measurements

- :func:`histogram`: samples against the normal density they should have.
- :func:`curves`: one line a setting; of several runs the median and the whole range.
- :func:`measurements`: points with bounds against the line that theory draws.

Shapes

- :func:`tensor_boxes`: tensors as boxes of their shapes, from step to step.

They compose: rows of one table may be score functions, panels may be temperatures; titles, limits
and axis labels are changed on the Axes. Arrays are numpy arrays, lists, or torch tensors of any
dtype, on any device, with or without a gradient; they are never changed. Tokens are drawn as
plain text, ``$`` and all; other texts may hold mathematics, ``$d_k$``.
"""

import warnings

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, Normalize, to_hex, to_rgb
from matplotlib.patches import FancyBboxPatch, Patch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from attention_lib.palette import LIGHT as COLORS
from attention_lib.palette import SCORE_MAP as SCORE_STOPS
from attention_lib.palette import WEIGHT_MAP as WEIGHT_STOPS

__all__ = [
    "SCORE_MAP",
    "WEIGHT_MAP",
    "attention_diagram",
    "curves",
    "heatmap",
    "heatmap_grid",
    "histogram",
    "mask_picture",
    "measurements",
    "mixture",
    "number_table",
    "score_field",
    "scores_heatmap",
    "tensor_boxes",
    "use_style",
    "weight_bars",
    "weight_stems",
]

WEIGHT_MAP = LinearSegmentedColormap.from_list("attention-weights", WEIGHT_STOPS)
SCORE_MAP = LinearSegmentedColormap.from_list("attention-scores", SCORE_STOPS)

FONT = "DejaVu Sans"  # comes with matplotlib, so that every machine draws the same
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
MINUS = "\N{MINUS SIGN}"
TEXT_SIZE, LABEL_SIZE = 12, 11  # points: still readable when a figure is 320 pixels wide
SERIES = [COLORS[f"series_{number}"] for number in (1, 2, 3, 4)]
SERIES_DASHES = ["-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5))]

HALO = [withStroke(linewidth=3, foreground=COLORS["paper"])]  # keeps text readable on lines

STYLE = {
    "figure.dpi": 144,
    "figure.figsize": (5.6, 3.5),
    "figure.facecolor": COLORS["paper"],
    "figure.constrained_layout.use": True,
    "savefig.dpi": "figure",
    "font.family": [FONT],
    "font.size": TEXT_SIZE,
    "mathtext.fontset": "dejavusans",
    "text.color": COLORS["ink"],
    "axes.facecolor": COLORS["paper"],
    "axes.edgecolor": COLORS["muted"],
    "axes.labelcolor": COLORS["ink"],
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 13,
    "axes.titlepad": 10,
    "axes.labelpad": 6,
    "axes.axisbelow": True,
    "axes.prop_cycle": mpl.cycler(color=SERIES, linestyle=SERIES_DASHES),
    "grid.color": COLORS["grid"],
    "grid.linewidth": 0.8,
    "xtick.color": COLORS["muted"],
    "ytick.color": COLORS["muted"],
    "xtick.labelcolor": COLORS["ink"],
    "ytick.labelcolor": COLORS["ink"],
    "xtick.labelsize": LABEL_SIZE,
    "ytick.labelsize": LABEL_SIZE,
    "lines.linewidth": 2.2,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": LABEL_SIZE,
    "image.cmap": "viridis",
    "hatch.linewidth": 1.0,
}


def use_style():
    """Give matplotlib the book's look: its colours, type and sizes, the same on every machine.

    Examples
    --------
    >>> use_style()
    >>> mpl.rcParams["figure.dpi"]
    144.0
    """
    mpl.rcdefaults()
    mpl.rcParams.update(STYLE)


def heatmap(ax, weights, queries=None, keys=None, *, mask=None, decimals=None, colorbar=True):
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

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = heatmap(ax, [[0.75, 0.25], [0.5, 0.5]], ["a", "b"], ["a", "b"], decimals=2)
    >>> ax.images[0].get_array().tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    >>> plt.close(figure)
    """
    weights = _weights(weights, "(len_q, len_k)")
    mask = _mask(mask, weights.shape)
    image = _draw_table(ax, weights, WEIGHT_MAP, Normalize(0, 1), ~mask & (weights == 0), decimals)
    for row, column in np.argwhere(~mask & (weights != 0)):
        _hatch(ax, [(column - 0.5, row - 0.5, 1, 1), (column + 0.3, row - 0.3, -0.6, 0.6)], "mask")
    _label_table(ax, weights.shape, queries, keys)
    if colorbar:
        _draw_colorbar(ax, image, "weight")
    return ax


def heatmap_grid(
    axes, weights, queries=None, keys=None, *, mask=None, titles=None, decimals=None, colorbar=True
):
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
    decimals : int, optional
        Write each weight into its cell, with so many decimals.
    colorbar : bool
        Whether to draw the one scale beside the grid.

    Returns
    -------
    numpy.ndarray
        The axes.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

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
    weights = _weights(weights, "(num_heads, len_q, len_k)")
    if len(weights) != axes.size:
        raise ValueError(f"weights: expected {axes.size} tables, one an Axes, got {len(weights)}")
    mask = _mask(mask, weights.shape)
    titles = [None] * axes.size if titles is None else _as_many("titles", titles, axes.size)
    places = [ax.get_subplotspec() for ax in axes.flat]
    top = min(place.rowspan.start for place in places)
    left = min(place.colspan.start for place in places)
    for ax, table, allowed, title, place in zip(
        axes.flat, weights, mask, titles, places, strict=True
    ):
        heatmap(ax, table, queries, keys, mask=allowed, decimals=decimals, colorbar=False)
        if place.rowspan.start != top:
            ax.xaxis.set(ticks=[], label_text="")
        if place.colspan.start != left:
            ax.yaxis.set(ticks=[], label_text="")
        if title is not None:
            ax.set_title(title)
    if colorbar:
        _style_colorbar(
            ax.figure.colorbar(ax.images[0], ax=list(axes.flat), aspect=25, pad=0.02), "weight"
        )
    return axes


def scores_heatmap(
    ax,
    scores,
    queries=None,
    keys=None,
    *,
    mask=None,
    decimals=None,
    colorbar=True,
    limit=None,
    meaning="score",
):
    """Draw scores, or any signed table, as colours: white at 0, both signs on one scale.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    scores : array
        Shape ``(len_q, len_k)``. Minus infinity is masked; NaN is red, with crosses.
    queries, keys : sequence of str, optional
        The tokens, as labels; without them positions are numbered from 0.
    mask : array of bool, optional
        True = may attend; broadcasts to ``(len_q, len_k)``. Masked cells are hatched grey.
    decimals : int, optional
        Write each score into its cell, with so many decimals.
    colorbar : bool
        Whether to draw the scale beside the table.
    limit : float, optional
        The scale runs from ``-limit`` to ``limit``; without it, to the largest size shown.
    meaning : str
        What the numbers are, written at the scale.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = scores_heatmap(ax, [[2.0, -3.0], [0.5, float("-inf")]])
    >>> ax.images[0].get_clim()
    (-3.0, 3.0)
    >>> plt.close(figure)
    """
    scores = _array("scores", scores, "(len_q, len_k)")
    if np.isposinf(scores).any():
        raise ValueError("scores: expected numbers below infinity, got inf")
    hidden = ~_mask(mask, scores.shape) | np.isneginf(scores)
    largest = np.abs(scores[~hidden & ~np.isnan(scores)]).max(initial=0)
    limit = _positive("limit", largest or 1.0 if limit is None else limit)
    scores = np.where(hidden, 0.0, scores)
    image = _draw_table(ax, scores, SCORE_MAP, Normalize(-limit, limit), hidden, decimals)
    _label_table(ax, scores.shape, queries, keys)
    if colorbar:
        _draw_colorbar(ax, image, meaning, extend="both" if largest > limit else "neither")
    return ax


def mask_picture(ax, mask, queries=None, keys=None, *, legend=True):
    """Draw a boolean mask: which query (down) may attend to which key (across).

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    mask : array of bool
        Shape ``(len_q, len_k)``, True = may attend.
    queries, keys : sequence of str, optional
        The tokens, as labels; without them positions are numbered from 0.
    legend : bool
        Whether to say below the table what the two kinds of cell mean.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = mask_picture(ax, [[True, False], [True, True]])
    >>> ax.images[0].get_array().mask.tolist()  # masked there, masked here
    [[False, True], [False, False]]
    >>> plt.close(figure)
    """
    allowed = _array("mask", _booleans(mask), "(len_q, len_k)") == 1
    kept = ListedColormap([COLORS["weight"]])
    _draw_table(ax, allowed.astype(float), kept, Normalize(0, 1), ~allowed, None)
    _label_table(ax, allowed.shape, queries, keys)
    if legend:
        swatch = {"facecolor": COLORS["mask"], "edgecolor": COLORS["mask_line"], "hatch": "/////"}
        meanings = [
            Patch(facecolor=COLORS["weight"], label="may attend"),
            Patch(**swatch, linewidth=0, label="masked"),
        ]
        ax.legend(handles=meanings, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2)
    return ax


def number_table(ax, numbers, groups=None, rows=None, columns=None, *, decimals=0):
    """Draw numbers in cells; cells of one group have one colour.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    numbers : array
        Shape ``(rows, columns)``.
    groups : array of int, optional
        Same shape: where each number came from (its head, say), counted from 0.
    rows, columns : sequence of str, optional
        Labels at the left and at the top.
    decimals : int
        Decimals of the numbers.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = number_table(ax, [[0, 1, 2, 3]], groups=[[0, 0, 1, 1]])
    >>> [text.get_text() for text in ax.texts]
    ['0', '1', '2', '3']
    >>> plt.close(figure)
    """
    numbers = _array("numbers", numbers, "(rows, columns)")
    if groups is None:
        groups, colors = np.zeros(numbers.shape), [COLORS["surface"]]
    else:
        groups = _array("groups", groups, "(rows, columns)")
        if groups.shape != numbers.shape:
            raise ValueError(f"groups: expected shape {numbers.shape}, got {groups.shape}")
        if (groups < 0).any() or (groups % 1 != 0).any():
            raise ValueError("groups: expected whole numbers counted from 0")
        colors = _series(int(groups.max()) + 1)
    nothing = np.zeros(numbers.shape, dtype=bool)
    scale = Normalize(-0.5, len(colors) - 0.5)
    _draw_table(ax, groups, ListedColormap(colors), scale, nothing, decimals, numbers)
    room = _room_per_cell(ax, *numbers.shape)
    for axis, name, tokens, size in (
        (ax.yaxis, "rows", rows, numbers.shape[0]),
        (ax.xaxis, "columns", columns, numbers.shape[1]),
    ):
        _label_ticks(axis, name, [""] * size if tokens is None else tokens, size, room)
    return ax


def attention_diagram(ax, weights, keys=None, values=None, *, query="q", output="Σ αᵢ vᵢ"):
    """Draw attention as one picture: a query meets keys, weights flow, values mix.

    The memory is a list of key-value pairs, one a row. The query is compared with every key;
    the bars are the weights; the output is fed by every value, through a line as thick as its
    weight.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw; its axis is switched off.
    weights : array
        Shape ``(len_k,)``, numbers from 0 to 1.
    keys, values : sequence of str, optional
        What is written on the keys and on the values; numbered without them.
    query, output : str
        What is written on the query and on the output.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = attention_diagram(ax, [0.75, 0.15, 0.10], values=["red", "green", "blue"])
    >>> plt.close(figure)
    """
    weights = _weights(weights, "(len_k,)", _finite)
    size = len(weights)
    subscripts = [str(number).translate(SUBSCRIPTS) for number in range(1, size + 1)]
    keys = [f"k{number}" for number in subscripts] if keys is None else keys
    values = [f"v{number}" for number in subscripts] if values is None else values
    middle = (size - 1) / 2
    for row, weight in enumerate(weights):
        ax.plot(
            (4.6, 7.4), (row, row), color=COLORS["grid"], linestyle="-", linewidth=1.2, zorder=0
        )
        _flow(ax, (1.8, middle), (2.8, row), COLORS["muted"], 1.2)
        _flow(ax, (9.2, row), (10.2, middle), COLORS["weight"], 0.8 + 9 * weight)
        ax.add_patch(Rectangle((5.1, row - 0.2), 1.8, 0.4, color=COLORS["mask"], zorder=1))
        ax.add_patch(
            Rectangle((5.1, row - 0.2), 1.8 * weight, 0.4, color=COLORS["weight"], zorder=2)
        )
        ax.text(6.0, row - 0.24, _number(weight, 2), ha="center", va="bottom", fontsize=10)
    _boxes(ax, 0.0, [middle], "query", [query], "query")
    _boxes(ax, 2.8, range(size), "keys", keys, "key")
    _boxes(ax, 7.4, range(size), "values", values, "value")
    _boxes(ax, 10.2, [middle], "output", [output], "output")
    for x, row, title, role in (
        (0.9, middle, "query", "query"),
        (3.7, 0, "keys", "key"),
        (6.0, 0, "weights", "weight"),
        (8.3, 0, "values", "value"),
        (11.1, middle, "output", "output"),
    ):
        ax.text(x, row - 0.68, title, ha="center", va="bottom", color=COLORS[role])
    ax.set(xlim=(-0.1, 12.1), ylim=(size - 0.5, -1.2), aspect="equal")
    ax.axis("off")
    return ax


def weight_bars(ax, weights, keys=None, *, mask=None, decimals=2):
    """Draw one row of weights as bars, on an axis from 0 to 1.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    weights : array
        Shape ``(len_k,)``, numbers from 0 to 1. NaN is a full bar, red with crosses.
    keys : sequence of str, optional
        The tokens, as labels; without them positions are numbered from 0.
    mask : array of bool, optional
        True = may attend; shape ``(len_k,)``. Masked places are hatched grey.
    decimals : int, optional
        Decimals written above each bar; ``None`` writes none.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = weight_bars(ax, [0.75, 0.15, 0.07, 0.03], ["a", "b", "c", "d"])
    >>> [float(bar.get_height()) for bar in ax.containers[0]]
    [0.75, 0.15, 0.07, 0.03]
    >>> plt.close(figure)
    """
    weights = _weights(weights, "(len_k,)")
    mask = _mask(mask, weights.shape)
    size = len(weights)
    missing = np.isnan(weights)
    ax.bar(np.arange(size), np.nan_to_num(weights), width=0.72, color=COLORS["weight"])
    _hatch(ax, [(position - 0.5, 0, 1, 1) for position in np.flatnonzero(~mask)], "mask")
    _hatch(ax, [(position - 0.36, 0, 0.72, 1) for position in np.flatnonzero(missing)], "nan")
    room = _room_per_cell(ax, None, size)
    if decimals is not None:
        for position in np.flatnonzero(mask | (weights != 0)):
            ax.annotate(
                _number(weights[position], decimals),
                (position, 1.0 if missing[position] else weights[position]),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=_fitting_size(room, decimals + 2),
            )
    ax.set(xlim=(-0.6, size - 0.4), ylim=(0, 1), yticks=(0, 0.5, 1), ylabel="weight")
    ax.grid(axis="y")
    ax.tick_params(length=0)
    _label_ticks(ax.xaxis, "keys", keys, size, room)
    ax.set_xlabel("keys", color=COLORS["key"])
    return ax


def weight_stems(ax, weights, *, top=1.0):
    """Draw thousands of weights as thin lines, and say how large the largest is.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    weights : array
        Shape ``(len_k,)``, numbers from 0 to 1.
    top : float
        Where the axis ends. Below 1 it magnifies, which the axis label then says.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = weight_stems(ax, [0.0, 0.998, 0.002, 0.0])
    >>> ax.texts[0].get_text()
    'largest: 0.998'
    >>> plt.close(figure)
    """
    weights = _weights(weights, "(len_k,)", _finite)
    top = _positive("top", top)
    if weights.max() > top:
        raise ValueError(f"weights: expected numbers from 0 to top = {top:g}, got {weights.max()}")
    positions = np.arange(len(weights))
    ax.vlines(positions, 0, weights, color=COLORS["weight"], linewidth=1.2)
    largest = int(weights.argmax())
    on_the_left = largest < len(weights) / 2
    height = weights[largest]
    ax.annotate(
        f"largest: {height:.3f}" if height >= 0.1 else f"largest: {height:.2g}",
        (largest, height),
        xytext=(6 if on_the_left else -6, -2),
        textcoords="offset points",
        ha="left" if on_the_left else "right",
        va="top",
        fontsize=LABEL_SIZE,
        path_effects=HALO,
    )
    margin = 0.02 * len(weights)
    magnified = "" if top == 1 else f" (0 to {top:g})"
    ax.set(xlim=(-margin, len(weights) - 1 + margin), ylim=(0, top), ylabel=f"weight{magnified}")
    ax.set_xlabel("keys", color=COLORS["key"])
    ax.grid(axis="y")
    return ax


def mixture(ax, values, weights, output, labels=None):
    """Draw values in the plane, their convex hull, and the output that the weights mix.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    values : array
        Shape ``(len_k, 2)``.
    weights : array
        Shape ``(len_k,)``, numbers from 0 to 1: the size of each point, and the thickness of
        its line to the output.
    output : array
        Shape ``(2,)``, or ``(steps, 2)`` for a trail that ends at the output of ``weights``.
    labels : sequence of str, optional
        Names of the values.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = mixture(ax, [[0, 0], [4, 0], [0, 4]], [0.5, 0.25, 0.25], [1.0, 1.0])
    >>> plt.close(figure)
    """
    values = _finite("values", values, "(len_k, 2)")
    weights = _weights(weights, "(len_k,)", _finite)
    if len(weights) != len(values):
        raise ValueError(
            f"weights: expected one for each of {len(values)} values, got {len(weights)}"
        )
    trail = _finite("output", output, "(2,)", "(steps, 2)").reshape(-1, 2)
    end = trail[-1]
    ax.add_patch(
        Polygon(_convex_hull(values), facecolor=COLORS["surface"], edgecolor=COLORS["muted"])
    ).set(linewidth=1, linestyle=(0, (3, 2)), zorder=0.6)
    for value, weight in zip(values, weights, strict=True):
        ax.plot(
            *np.transpose([value, end]),
            color=COLORS["weight"],
            linestyle="-",
            linewidth=0.5 + 8 * weight,
            solid_capstyle="butt",
            zorder=1,
        )
    edge = {"edgecolor": COLORS["paper"], "linewidth": 1.2}
    ax.scatter(*values.T, s=50 + 350 * weights, color=COLORS["value"], zorder=3, **edge)
    if len(trail) > 1:
        ax.plot(*trail.T, color=COLORS["output"], linestyle="-", marker="o", markersize=4, zorder=4)
    ax.scatter(*end, s=130, marker="D", color=COLORS["output"], zorder=5, **edge)
    center = values.mean(axis=0)
    heaviest = values[weights.argmax()]
    aside = end - heaviest if len(trail) == 1 else (end - trail[0])[::-1] * (1, -1)
    _name_point(ax, "output", end, aside, 12, COLORS["output"])
    texts, family = _drawable(
        "labels", [""] * len(values) if labels is None else labels, len(values)
    )
    for text, value, weight in zip(texts, values, weights, strict=True):
        distance = 8 + 8 * np.sqrt(weight)
        _name_point(ax, text, value, value - center, distance, COLORS["value"], family)
    ax.set_aspect("equal")
    ax.margins(0.2)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.grid()
    return ax


def score_field(ax, x, y, scores, *, query=None, keys=None, labels=None, limit=None):
    """Draw a score function over the plane of keys, for one query.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    x, y : array
        Shapes ``(len_x,)`` and ``(len_y,)``, rising: the coordinates of the keys.
    scores : array
        Shape ``(len_y, len_x)``: the score of the query with the key at each place.
    query : array, optional
        Shape ``(2,)``; drawn as an arrow from the origin.
    keys : array, optional
        Shape ``(len_k, 2)``; drawn as points.
    labels : sequence of str, optional
        Names of the keys.
    limit : float, optional
        The scale runs from ``-limit`` to ``limit``; without it, to the largest size.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> x = np.linspace(-2, 2, 41)
    >>> ax = score_field(ax, x, x, x[None, :] + 0.5 * x[:, None], query=[1.0, 0.5])
    >>> plt.close(figure)
    """
    x, y = _finite("x", x, "(len_x,)"), _finite("y", y, "(len_y,)")
    scores = _finite("scores", scores, "(len_y, len_x)")
    for name, coordinates in (("x", x), ("y", y)):
        if len(coordinates) < 2 or not (np.diff(coordinates) > 0).all():
            raise ValueError(f"{name}: expected two or more rising numbers")
    if scores.shape != (len(y), len(x)):
        raise ValueError(f"scores: expected shape {(len(y), len(x))}, got {scores.shape}")
    limit = _positive("limit", np.abs(scores).max() or 1.0 if limit is None else limit)
    image = ax.pcolormesh(x, y, scores, cmap=SCORE_MAP, vmin=-limit, vmax=limit, shading="gouraud")
    lines = {"colors": COLORS["ink"], "linewidths": 0.7, "linestyles": "solid", "alpha": 0.45}
    ax.contour(x, y, scores, levels=np.linspace(-limit, limit, 17), **lines)
    halo = {"edgecolor": COLORS["paper"], "linewidth": 1.2, "zorder": 4}
    if keys is not None:
        keys = _finite("keys", keys, "(len_k, 2)")
        ax.scatter(*keys.T, s=80, color=COLORS["key"], **halo)
        names = [""] * len(keys) if labels is None else labels
        texts, family = _drawable("labels", names, len(keys))
        for text, key in zip(texts, keys, strict=True):
            _name_point(ax, text, key, (1, 1), 6, COLORS["key"], family)
    if query is not None:
        query = _finite("query", query, "(2,)")
        arrow = {"arrowstyle": "-|>,head_width=0.35,head_length=0.7", "shrinkA": 0, "shrinkB": 0}
        arrow |= {"linewidth": 3, "color": COLORS["query"], "zorder": 5, "path_effects": HALO}
        ax.annotate("", query, (0, 0), arrowprops=arrow)
        _name_point(ax, "query", (0, 0), -query, 6, COLORS["query"])
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), aspect="equal")
    ax.spines[:].set_visible(False)
    _draw_colorbar(ax, image, "score")
    return ax


def histogram(ax, samples, *, normal=None, bins=60):
    """Draw the density of samples, and the normal density they should have.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    samples : array
        Shape ``(rows,)``.
    normal : tuple of float, optional
        Mean and standard deviation of the normal density to draw.
    bins : int
        Number of bars.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> samples = np.random.default_rng(0).normal(0, 100, size=20_000)
    >>> ax = histogram(ax, samples, normal=(0, 100))
    >>> plt.close(figure)
    """
    samples = _finite("samples", samples, "(rows,)")
    heights, edges = np.histogram(samples, bins=bins, density=True)
    ax.stairs(heights, edges, fill=True, color=COLORS["mask_line"], alpha=0.55, label="samples")
    if normal is not None:
        mean, deviation = _finite("normal", normal, "(2,)")
        _positive("normal", deviation)
        x = np.linspace(edges[0], edges[-1], 400)
        density = np.exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
        name = f"N({mean:g}, {deviation:g}²)"
        ax.plot(x, density, color=COLORS["series_1"], linestyle="-", label=name)
        ax.legend()
    ax.set(ylabel="density", ylim=(0, None))
    return ax


def curves(ax, x, curves, *, log=""):
    """Draw one line a setting; of several runs, their median and their whole range.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    x : array
        Shape ``(points,)``.
    curves : dict of str to array
        For each label one run, shape ``(points,)``, or several, ``(runs, points)``.
    log : {"", "x", "y", "xy"}
        Which axes are logarithmic.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = curves(ax, [1, 4, 16], {"three runs": [[3, 2, 1], [4, 3, 2], [5, 1, 0]]}, log="x")
    >>> ax.lines[0].get_ydata().tolist()
    [4.0, 2.0, 1.0]
    >>> plt.close(figure)
    """
    x = _finite("x", x, "(points,)")
    if not isinstance(curves, dict) or not curves:
        raise TypeError("curves: expected a dict that gives each label its numbers")
    for number, (label, runs) in enumerate(curves.items()):
        name = f"curves[{label!r}]"
        runs = _array(name, runs, "(points,)", "(runs, points)")
        if runs.shape[-1] != len(x):
            raise ValueError(f"{name}: expected {len(x)} points, as x has, got shape {runs.shape}")
        runs = runs.reshape(-1, len(x))
        color = _series(len(curves))[number]
        look = {"color": color, "linestyle": SERIES_DASHES[number % len(SERIES_DASHES)]}
        look |= {"marker": "o", "markersize": 5} if len(x) <= 16 else {}
        ax.plot(x, np.median(runs, axis=0), label=label, **look)
        if len(runs) > 1:
            ax.fill_between(x, runs.min(axis=0), runs.max(axis=0), color=color, alpha=0.18, lw=0)
    _scale_axes(ax, log, x)
    ax.grid()
    ax.legend()
    return ax


def measurements(ax, x, measured, theory=None, *, bounds=None, log="xy"):
    """Draw measured points, with bounds, against the line that theory draws.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    x, measured : array
        Shape ``(points,)``.
    theory : array, optional
        Shape ``(points,)``: what should have been measured.
    bounds : array, optional
        Shape ``(2, points)``: lower and upper bound of each point.
    log : {"", "x", "y", "xy"}
        Which axes are logarithmic.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = measurements(ax, [1, 4, 16], [1.1, 3.9, 16.2], theory=[1, 4, 16])
    >>> plt.close(figure)
    """
    x = _finite("x", x, "(points,)")
    measured = _array("measured", measured, "(points,)")
    if measured.shape != x.shape:
        raise ValueError(f"measured: expected {len(x)} points, as x has, got {len(measured)}")
    if theory is not None:
        theory = _array("theory", theory, "(points,)")
        if theory.shape != x.shape:
            raise ValueError(f"theory: expected {len(x)} points, as x has, got {len(theory)}")
        ax.plot(x, theory, color=COLORS["accent"], linestyle="--", linewidth=1.6, label="theory")
    if bounds is not None:
        bounds = _array("bounds", bounds, "(2, points)")
        if bounds.shape != (2, len(x)):
            raise ValueError(f"bounds: expected shape {(2, len(x))}, got {bounds.shape}")
        ax.vlines(x, *bounds, color=COLORS["series_2"], linewidth=5, alpha=0.35, label="bounds")
    ax.plot(x, measured, "o", color=COLORS["series_1"], markersize=6, label="measured")
    _scale_axes(ax, log, x)
    ax.grid()
    ax.legend()
    return ax


def tensor_boxes(ax, tensors, steps=None):
    """Draw tensors as boxes of their shapes, from step to step.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw; its axis is switched off.
    tensors : sequence of (str, tuple of int, str)
        Name, shape and colour (a name of the palette) of each tensor. The last axis runs
        across, the one before it down, and those before are sheets behind one another. Sizes
        are drawn on a logarithmic scale.
    steps : sequence of str, optional
        What happens between one tensor and the next, written over the arrows, a word a line.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong kind, shape or range; the message names it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> before, after = ("x", (5, 512), "query"), ("heads", (8, 5, 64), "query")
    >>> ax = tensor_boxes(ax, [before, after], steps=["split_heads"])
    >>> plt.close(figure)
    """
    tensors = list(tensors)
    if not tensors:
        raise ValueError("tensors: expected at least one")
    steps = [""] * (len(tensors) - 1) if steps is None else steps
    steps = [step.replace(" ", "\n") for step in _as_many("steps", steps, len(tensors) - 1)]
    letter = 0.2  # width of a letter, in units of the drawing
    box_end = text_end = None
    texts = []
    for tensor, step in zip(tensors, ["", *steps], strict=True):
        if len(tensor) != 3 or not isinstance(tensor[1], tuple):
            raise ValueError(f"tensors: expected (name, shape, colour), got {tensor!r}")
        name, shape, role = tensor
        if len(shape) < 2 or not all(isinstance(size, int) and size > 0 for size in shape):
            raise ValueError(f"tensors: expected sizes of two or more axes for {name}, got {shape}")
        if role not in COLORS:
            raise ValueError(f"tensors: expected a colour of the palette for {name}, got {role!r}")
        height, width = (0.25 * np.log2(1 + size) for size in shape[-2:])
        behind = min(int(np.prod(shape[:-2])), 8) - 1
        depth = 0.1 * behind
        label = " × ".join(map(str, shape))
        half_box, half_text = (width + depth) / 2, letter * max(len(label), 1.1 * len(name)) / 2
        if box_end is None:
            middle = max(half_box, half_text)
        else:
            gap = max(0.7, letter * max(map(len, step.split("\n"))) + 0.3)
            middle = max(box_end + gap + half_box, text_end + 2 * letter + half_text)
        left, reach = middle - half_box, (height + depth) / 2
        for sheet in range(behind, -1, -1):
            corner = (left + 0.1 * sheet, 0.1 * sheet - reach)
            box = Rectangle(corner, width, height, facecolor=COLORS[role])
            ax.add_patch(box).set_edgecolor(COLORS["paper"])
        texts.append((middle, reach + 0.12, name, "bottom", COLORS[role]))
        texts.append((middle, -reach - 0.12, label, "top", COLORS["ink"]))
        if box_end is not None:
            arrow = {"arrowstyle": "-|>", "color": COLORS["muted"], "linewidth": 1.4}
            ax.annotate("", (left - 0.08, 0), (box_end + 0.08, 0), arrowprops=arrow)
            texts.append(((box_end + left) / 2, 0.1, step, "bottom", COLORS["ink"]))
        box_end, text_end = middle + half_box, middle + half_text
    tallest = max(y for _, y, *_ in texts) + 0.6
    end = max(box_end, text_end)
    ax.set(xlim=(-0.1, end + 0.1), ylim=(-tallest, tallest), aspect="equal")
    ax.axis("off")
    points = min(LABEL_SIZE, letter * _room_per_cell(ax, None, end + 0.2) / 0.62)
    for place, y, text, side, color in texts:
        ax.text(place, y, text, ha="center", va=side, color=color, fontsize=points)
    return ax


def _draw_table(ax, table, cmap, norm, hidden, decimals, numbers=None):
    """Draw a table of colours with its hatched, missing and numbered cells; return the image."""
    rows, columns = table.shape
    numbers = table if numbers is None else numbers
    missing = np.isnan(table) & ~hidden
    shown = np.ma.array(table, mask=hidden | missing)
    image = ax.imshow(shown, cmap=cmap, norm=norm, interpolation="nearest")
    _hatch(ax, _cells(hidden), "mask")
    _hatch(ax, _cells(missing), "nan")
    if decimals is not None:
        size = _fitting_size(_room_per_cell(ax, rows, columns), decimals + 2)
        for row, column in np.argwhere(~hidden):
            ground = COLORS["nan"] if missing[row, column] else cmap(norm(table[row, column]))
            ax.text(
                *(column, row, _number(numbers[row, column], decimals)),
                ha="center",
                va="center",
                fontsize=size,
                color=_readable_on(ground),
                bbox={"facecolor": ground, "edgecolor": "none", "pad": 1.5},  # between crosses
            )
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    if max(rows, columns) <= 32:  # hairlines between the cells, where there is room for them
        ax.set_xticks(np.arange(1, columns) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, rows) - 0.5, minor=True)
        ax.grid(which="minor", color=COLORS["paper"], linewidth=1.2)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    return image


def _label_table(ax, shape, queries, keys):
    """Write the queries down and the keys across, each in their colour."""
    room = _room_per_cell(ax, *shape)
    _label_ticks(ax.yaxis, "queries", queries, shape[0], room)
    _label_ticks(ax.xaxis, "keys", keys, shape[1], room)
    ax.set_ylabel("queries", color=COLORS["query"])
    ax.set_xlabel("keys", color=COLORS["key"])


def _draw_colorbar(ax, image, meaning, extend="neither"):
    """Draw the scale at the right edge: as high as the picture, of one width in inches."""
    inches_from_edge = ax.figure.dpi_scale_trans + ScaledTranslation(1, 0, ax.transAxes)
    across = blended_transform_factory(inches_from_edge, ax.transAxes)
    place = ax.inset_axes((0.12, 0, 0.12, 1), transform=across)
    _style_colorbar(ax.figure.colorbar(image, cax=place, extend=extend), meaning)


def _style_colorbar(bar, meaning):
    """Write the ends and the middle of a scale (the ends alone where it is short)."""
    rows, columns = bar.mappable.get_array().shape
    ticks = np.linspace(*bar.mappable.get_clim(), 2 if rows < 0.3 * columns else 3)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    bar.set_ticks(ticks, labels=[f"{tick:.3g}".replace("-", MINUS) for tick in ticks])
    bar.set_label(meaning)


def _cells(where):
    """Return the rectangles ``(x, y, width, height)`` of a table's marked cells."""
    return [(column - 0.5, row - 0.5, 1, 1) for row, column in np.argwhere(where)]


def _hatch(ax, rectangles, kind):
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


def _number(number, decimals):
    """Write a number with fixed decimals; a rounded-away minus sign goes as well."""
    if isinstance(decimals, bool) or not isinstance(decimals, int) or decimals < 0:
        raise ValueError(f"decimals: expected None or a whole number from 0 on, got {decimals!r}")
    text = f"{round(number, decimals) + 0.0:.{decimals}f}"
    return "NaN" if np.isnan(number) else text.replace("-", MINUS)


def _readable_on(ground):
    """Return the one of ink and paper that stands out better on a colour."""

    def luminance(color):
        return np.array(to_rgb(color)) ** 2.2 @ (0.2126, 0.7152, 0.0722)

    def contrast(color):
        dark, light = sorted((luminance(color), luminance(ground)))
        return (light + 0.05) / (dark + 0.05)

    return max((COLORS["ink"], COLORS["paper"]), key=contrast)


def _series(count):
    """Return so many colours in order, as far apart as the palette's four allow."""
    if count > len(SERIES):
        ramp = LinearSegmentedColormap.from_list("series", SERIES)
        return [to_hex(ramp(place)) for place in np.linspace(0, 1, count)]
    return [SERIES[round(place)] for place in np.linspace(0, len(SERIES) - 1, count)]


def _room_per_cell(ax, rows, columns):
    """Return about how many points a square cell has; without ``rows``, a column."""
    box = ax.get_position(original=True)
    width, height = 72 * ax.figure.get_size_inches() * (box.width, box.height)
    if rows is None:
        return 0.9 * width / columns
    return 0.7 * min(width / columns, height / rows)  # labels, title and scale take the rest


def _fitting_size(room, characters):
    """Return a type size at which so many characters fit into so many points."""
    return min(TEXT_SIZE, 0.9 * room / (0.62 * characters))


def _label_ticks(axis, name, tokens, size, room):
    """Write tokens, or positions, along an axis, as large as they fit."""
    if tokens is None:
        axis.set_major_locator(MaxNLocator(nbins=min(size, 12), integer=True, steps=[1, 2, 5, 10]))
        return
    texts, family = _drawable(name, tokens, size)
    points = float(np.clip(room, 6, LABEL_SIZE))
    every = int(np.ceil(points / room))
    axis.set_ticks(
        range(0, size, every), texts[::every], fontsize=points, family=family, parse_math=False
    )
    too_long = 0.62 * points * max(map(len, texts)) > every * room
    if axis.axis_name == "x" and too_long:
        if room < 2 * LABEL_SIZE:
            axis.set_tick_params(rotation=90)
            return
        top = axis.get_ticks_position() == "top"
        for label in axis.get_ticklabels():
            label.set(rotation=45, rotation_mode="anchor", ha="left" if top else "right")


def _flow(ax, start, end, color, width):
    """Draw a line that leaves and arrives level."""
    half = (start[0] + end[0]) / 2
    path = Path([start, (half, start[1]), (half, end[1]), end], [1, 4, 4, 4])
    line = PathPatch(path, facecolor="none", edgecolor=color, linewidth=width, capstyle="round")
    ax.add_patch(line).set_zorder(0.5)


def _boxes(ax, x, rows, name, tokens, role):
    """Draw the rounded boxes of one column, with what is written on them."""
    texts, family = _drawable(name, tokens, len(rows))
    for row, text in zip(rows, texts, strict=True):
        box = FancyBboxPatch((x + 0.15, row - 0.2), 1.5, 0.4, boxstyle="round,pad=0.15")
        box.set(facecolor=COLORS[role], edgecolor="none", zorder=3)
        ax.add_patch(box)
        size = min(TEXT_SIZE, 90 / max(len(text), 1))
        ax.text(
            *(x + 0.9, row, text),
            ha="center",
            va="center_baseline",
            fontsize=size,
            color=_readable_on(COLORS[role]),
            family=family,
            parse_math=False,
            zorder=4,
        )


def _name_point(ax, text, point, direction, distance, color, family=None):
    """Write a name beside a point, so many points of type away in a direction."""
    direction = np.asarray(direction) / (np.linalg.norm(direction) or 1.0)
    ax.annotate(
        text,
        point,
        xytext=direction * distance,
        textcoords="offset points",
        ha=("center", "left", "right")[int(np.round(direction[0]))],
        va=("center", "bottom", "top")[int(np.round(direction[1]))],
        color=color,
        family=family,
        parse_math=False,
        path_effects=HALO,
        zorder=6,
    )


def _convex_hull(points):
    """Return the corners of the convex hull of points in the plane (monotone chain)."""

    def chain(points):
        corners = []
        for point in points:
            while len(corners) > 1 and _turn(*corners[-2:], point) <= 0:
                corners.pop()
            corners.append(point)
        return corners[:-1]

    points = sorted(map(tuple, points))
    return chain(points) + chain(points[::-1]) or points[:1]


def _turn(first, second, third):
    """Return twice the area of a triangle: positive where the corners turn to the left."""
    (a, b), (c, d) = np.subtract(second, first), np.subtract(third, first)
    return a * d - b * c


def _scale_axes(ax, log, x):
    """Make the named axes logarithmic, with plain numbers at the ticks."""
    if log not in ("", "x", "y", "xy"):
        raise ValueError(f'log: expected "", "x", "y" or "xy", got {log!r}')
    for which in log:
        axis = ax.xaxis if which == "x" else ax.yaxis
        low, high = axis.get_data_interval()
        if low <= 0:
            raise ValueError(f"log: expected positive numbers on the {which} axis, got {low:g}")
        ax.set(**{f"{which}scale": "log"})
        if which == "x" and (np.log2(x) % 1 == 0).all():  # powers of two are ticks themselves
            axis.set_major_locator(FixedLocator(np.unique(x)[:: -(-len(x) // 8)]))
        elif high < 100 * low:  # less than two decades: their ends alone would be few ticks
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(NullLocator())
        if high < 1e5 and low > 1e-4:
            axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))


def _drawable(name, tokens, size):
    """Return tokens as texts, and the fonts that have their characters.

    matplotlib brings no Chinese, Japanese or Korean type. An installed font is used where one
    has the characters; where none has, they are written as code points, and a warning says so.
    """
    texts = [
        str(token).replace("\n", "↵").replace("\t", "⇥") for token in _as_many(name, tokens, size)
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
    return [text.translate(str.maketrans(codes)) for text in texts], [FONT]


def _bundled_font():
    return font_manager.findfont(FONT, fallback_to_default=False)


def _has(path, char):
    """Say whether a font can draw a character; the font of last resort draws boxes only."""
    font = font_manager.get_font(path)
    usable = font.scalable and "LastResort" not in font.postscript_name
    return usable and font.get_char_index(ord(char)) != 0


def _as_many(name, texts, size):
    """Return a sequence of strings as a list; refuse one of another length."""
    if isinstance(texts, str) or len(texts) != size:
        raise ValueError(f"{name}: expected a sequence of {size} strings, got {texts!r}")
    return list(texts)


def _positive(name, number):
    """Return a number; refuse one that is not positive and finite."""
    if not 0 < number < np.inf:
        raise ValueError(f"{name}: expected a positive number, got {number!r}")
    return float(number)


def _plain(value):
    """Return a torch tensor, or those in a list, as numpy arrays; leave all else."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if not hasattr(value, "detach"):
        return value
    value = value.detach().cpu()  # numpy knows no gradient, no other device, and no bfloat16
    return (value.double() if value.is_floating_point() else value).numpy()


def _array(name, value, *shapes):
    """Return numbers as a new float64 array of one of the shapes, such as "(len_k, 2)"."""
    try:
        array = np.array(_plain(value))
    except ValueError:
        raise ValueError(f"{name}: expected shape {shapes[0]}, got a ragged list") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected real numbers, got {array.dtype}")
    if not any(_fits(array.shape, axes) for axes in shapes):
        raise ValueError(f"{name}: expected shape {' or '.join(shapes)}, got {array.shape}")
    return array.astype(float)


def _fits(shape, axes):
    """Say whether a shape is that of ``axes``, names or numbers; no axis may be empty."""
    wanted = axes.strip("(,)").split(", ")
    return len(wanted) == len(shape) and all(
        size > 0 and (not axis.isdigit() or size == int(axis))
        for axis, size in zip(wanted, shape, strict=True)
    )


def _finite(name, value, *shapes):
    """Return numbers as :func:`_array` does; refuse NaN and infinity."""
    array = _array(name, value, *shapes)
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got NaN or infinity")
    return array


def _weights(weights, axes, array=_array):
    """Return weights as an array; refuse what cannot be one."""
    weights = array("weights", weights, axes)
    outside = weights[(weights < 0) | (weights > 1.001)]  # a sum may round past 1
    if outside.size:
        raise ValueError(f"weights: expected numbers from 0 to 1, got {outside[0]:g}")
    return weights


def _booleans(mask):
    """Return a mask as booleans; refuse numbers, whose meaning would be a guess."""
    mask = np.asarray(_plain(mask))
    if mask.dtype != bool:
        raise TypeError(f"mask: expected booleans (True = may attend), got {mask.dtype}")
    return mask


def _mask(mask, shape):
    """Return a boolean mask of the wanted shape; ``None`` keeps everything."""
    mask = _booleans(True if mask is None else mask)
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(f"mask: expected shape {shape}, got {mask.shape}") from None
