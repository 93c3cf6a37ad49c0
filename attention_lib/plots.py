"""One function a picture: each takes arrays and an Axes, draws, and returns the Axes.

- :func:`use_style`: the book's look, called once before the first figure.
- :func:`heatmap`: weights as a table of colours, queries down and keys across, always 0 to 1.
- :func:`weight_bars`: one row of weights as bars, always 0 to 1.

Arrays are numpy arrays, lists, or torch tensors of any dtype, on any device, with or without a
gradient; they are never changed. Tokens are drawn as plain text, ``$`` and all.
"""

import warnings

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from attention_lib.palette import LIGHT as COLORS
from attention_lib.palette import SCORE_MAP as SCORE_STOPS
from attention_lib.palette import WEIGHT_MAP as WEIGHT_STOPS

__all__ = ["SCORE_MAP", "WEIGHT_MAP", "heatmap", "use_style", "weight_bars"]

WEIGHT_MAP = LinearSegmentedColormap.from_list("attention-weights", WEIGHT_STOPS)
SCORE_MAP = LinearSegmentedColormap.from_list("attention-scores", SCORE_STOPS)

FONT = "DejaVu Sans"  # comes with matplotlib, so that every machine draws the same
TEXT_SIZE, LABEL_SIZE = 12, 11  # points: still readable when a figure is 320 pixels wide
SERIES = [COLORS[f"series_{number}"] for number in (1, 2, 3, 4)]
SERIES_DASHES = ["-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5))]

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
    """Draw weights as a table of colours: queries down, keys across, colours from 0 to 1.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    weights : array
        Shape ``(len_q, len_k)``, numbers from 0 to 1. NaN has its own colour, with crosses.
    queries, keys : sequence of str, optional
        The tokens, as labels; without them positions are numbered from 0.
    mask : array of bool, optional
        True = may attend; broadcasts to ``(len_q, len_k)``. Masked cells are hatched grey. A
        masked cell whose weight is not 0 keeps its colour under the hatching: a leak.
    decimals : int, optional
        Write each weight into its cell with so many decimals.
    colorbar : bool
        Whether to draw the scale beside the picture.

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
    weights = _weights("weights", weights, "(len_q, len_k)")
    return _draw_table(
        ax, weights, WEIGHT_MAP, Normalize(0, 1), queries, keys, mask, decimals, colorbar, "weight"
    )


def weight_bars(ax, weights, labels=None, *, mask=None, decimals=2):
    """Draw one row of weights as bars, on an axis from 0 to 1.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    weights : array
        Shape ``(len_k,)``, numbers from 0 to 1. NaN is a full bar in its own colour.
    labels : sequence of str, optional
        The tokens of the keys; without them positions are numbered from 0.
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
    weights = _weights("weights", weights, "(len_k,)")
    mask = _mask(mask, weights.shape)
    size = len(weights)
    ax.bar(np.arange(size), np.nan_to_num(weights), width=0.72, color=COLORS["weight"])
    for position in np.flatnonzero(~mask):
        _hatch(ax, [(position - 0.5, 0, 1, 1)], "mask")
    for position in np.flatnonzero(np.isnan(weights)):
        _hatch(ax, [(position - 0.36, 0, 0.72, 1)], "nan")
    if decimals is not None:
        for position in np.flatnonzero(mask | (weights != 0)):
            weight = weights[position]
            ax.annotate(
                _number(weight, decimals),
                (position, 1.0 if np.isnan(weight) else weight),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=_fitting_size(ax, size, decimals + 2),
            )
    ax.set(xlim=(-0.6, size - 0.4), ylim=(0, 1), yticks=(0, 0.5, 1), ylabel="weight")
    ax.grid(axis="y")
    ax.tick_params(length=0)
    _label_axis(ax, "x", labels, size, "labels", "key")
    return ax


def _draw_table(ax, table, cmap, norm, queries, keys, mask, decimals, colorbar, meaning):
    """Draw what all tables of queries and keys share."""
    len_q, len_k = table.shape
    mask = _mask(mask, table.shape)
    hidden = ~mask & (table == 0)
    missing = np.isnan(table)
    shown = np.ma.array(table, mask=hidden | missing)
    image = ax.imshow(shown, cmap=cmap, norm=norm, interpolation="nearest")
    _hatch(ax, _cells(hidden), "mask")
    _hatch(ax, _cells(missing), "nan")
    for row, column in np.argwhere(~mask & ~hidden):
        _hatch(ax, [(column - 0.5, row - 0.5, 1, 1), (column + 0.3, row - 0.3, -0.6, 0.6)], "mask")
    if decimals is not None:
        size = _fitting_size(ax, max(len_q, len_k), decimals + 2)
        for row, column in np.argwhere(~hidden):
            number = table[row, column]
            ground = COLORS["nan"] if np.isnan(number) else cmap(norm(number))
            ax.text(
                *(column, row, _number(number, decimals)),
                ha="center",
                va="center",
                fontsize=size,
                color=_readable_on(ground),
            )
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    _label_axis(ax, "x", keys, len_k, "keys", "key")
    _label_axis(ax, "y", queries, len_q, "queries", "query")
    if max(len_q, len_k) <= 32:  # hairlines between the cells, where there is room for them
        ax.set_xticks(np.arange(1, len_k) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, len_q) - 0.5, minor=True)
        ax.grid(which="minor", color=COLORS["paper"], linewidth=1.2)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    if colorbar:
        _draw_colorbar(ax, image, meaning)
    return ax


def _draw_colorbar(ax, image, meaning):
    """Draw the scale at the right edge: as high as the picture, of one width in inches."""
    inches_from_edge = ax.figure.dpi_scale_trans + ScaledTranslation(1, 0, ax.transAxes)
    across = blended_transform_factory(inches_from_edge, ax.transAxes)
    bar = ax.figure.colorbar(image, cax=ax.inset_axes((0.12, 0, 0.12, 1), transform=across))
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    bar.set_label(meaning)
    low, high = image.norm.vmin, image.norm.vmax
    bar.set_ticks([low, (low + high) / 2, high])


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
    line, pattern = {"mask": ("mask_line", "////"), "nan": ("paper", "xxx")}[kind]
    outline = Path.make_compound_path(*(Path(points, closed=True) for points in corners))
    patch = PathPatch(outline, facecolor=COLORS[kind], edgecolor=COLORS[line], hatch=pattern)
    patch.set(linewidth=0, zorder=0.4, gid=kind)  # under the hairlines, over the image
    ax.add_patch(patch)


def _number(number, decimals):
    """Write a number with fixed decimals; a rounded-away minus sign goes as well."""
    return "NaN" if np.isnan(number) else f"{round(number, decimals) + 0.0:.{decimals}f}"


def _readable_on(ground):
    """Return the one of ink and paper that stands out better on a colour."""

    def luminance(color):
        return np.array(to_rgb(color)) ** 2.2 @ (0.2126, 0.7152, 0.0722)

    def contrast(color):
        dark, light = sorted((luminance(color), luminance(ground)))
        return (light + 0.05) / (dark + 0.05)

    return max((COLORS["ink"], COLORS["paper"]), key=contrast)


def _points_per_cell(ax, cells, direction):
    """Return about how many points a cell has across (0) or down (1)."""
    box = ax.get_position(original=True)
    inches = ax.figure.get_size_inches() * (box.width, box.height)
    return 72 * inches[direction] / cells


def _fitting_size(ax, cells, characters):
    """Return a type size at which so many characters fit into a cell."""
    room = min(_points_per_cell(ax, cells, direction) for direction in (0, 1))
    return min(TEXT_SIZE, 0.9 * room / (0.62 * characters))


def _label_axis(ax, which, tokens, size, name, role):
    """Write tokens, or positions, along an axis, as large as they fit, and what they are."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_label_text(name if name != "labels" else "keys", color=COLORS[role])
    if tokens is None:
        axis.set_major_locator(MaxNLocator(nbins=min(size, 12), integer=True, steps=[1, 2, 5, 10]))
        return
    texts, family = _drawable(name, tokens, size)
    room = _points_per_cell(ax, size, "xy".index(which))
    points = float(np.clip(room, 6, LABEL_SIZE))
    every = int(np.ceil(points / room))
    axis.set_ticks(
        range(0, size, every), texts[::every], fontsize=points, family=family, parse_math=False
    )
    if which == "x" and 0.62 * points * max(map(len, texts), default=0) > every * room:
        top = axis.get_ticks_position() == "top"
        for label in axis.get_ticklabels():
            label.set(rotation=45, rotation_mode="anchor", ha="left" if top else "right")


def _drawable(name, tokens, size):
    """Return tokens as texts and the fonts that have their characters.

    matplotlib brings no Chinese, Japanese or Korean type. An installed font is used where one
    has the characters; where none has, they are written as code points, and a warning says so.
    """
    if isinstance(tokens, str) or len(tokens) != size:
        raise ValueError(f"{name}: expected a sequence of {size} strings, got {tokens!r}")
    texts = [str(token).replace("\n", "↵").replace("\t", "⇥") for token in tokens]
    missing = {char for text in texts for char in text if not _has(_bundled_font(), char)}
    if not missing:
        return texts, [FONT]
    for entry in sorted(font_manager.fontManager.ttflist, key=lambda entry: entry.name):
        if "Sans" in entry.name and all(_has(entry.fname, char) for char in missing):
            return texts, [FONT, entry.name]
    names = {char: f"U+{ord(char):04X}" for char in sorted(missing)}
    warnings.warn(
        f"{name}: no installed font has {' '.join(names)}; drawn as {' '.join(names.values())}. "
        "Install one (for Chinese: Noto Sans CJK), or label with Latin letters.",
        stacklevel=4,
    )
    return [text.translate(str.maketrans(names)) for text in texts], [FONT]


def _bundled_font():
    return font_manager.findfont(FONT, fallback_to_default=False)


def _has(path, char):
    """Say whether a font has a character; one that stands for missing glyphs has none."""
    font = font_manager.get_font(path)
    return "LastResort" not in font.postscript_name and font.get_char_index(ord(char)) != 0


def _array(name, value, axes):
    """Return numbers as a new float64 array of the rank that ``axes`` writes out."""
    if hasattr(value, "detach"):  # a torch tensor: numpy knows neither its gradient nor bfloat16
        value = value.detach().cpu()
        value = (value.double() if value.is_floating_point() else value).numpy()
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError(f"{name}: expected numbers of shape {axes}, got a ragged list") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected real numbers, got {array.dtype} ")
    if array.ndim != axes.strip("(,)").count(",") + 1 or array.size == 0:
        raise ValueError(f"{name}: expected shape {axes}, got {array.shape}")
    return array.astype(float)


def _weights(name, value, axes):
    """Return weights as an array; refuse what cannot be one."""
    weights = _array(name, value, axes)
    outside = weights[(weights < -1e-6) | (weights > 1 + 1e-2)]  # bfloat16 rounds 1/256 past 1
    if outside.size:
        raise ValueError(f"{name}: expected numbers from 0 to 1, got {outside[0]:g}")
    return weights


def _mask(mask, shape):
    """Return a boolean mask of the wanted shape; ``None`` keeps everything."""
    if mask is None:
        return np.ones(shape, dtype=bool)
    mask = np.asarray(mask.detach().cpu() if hasattr(mask, "detach") else mask)
    if mask.dtype != bool:
        raise TypeError(f"mask: expected booleans (True = may attend), got {mask.dtype}")
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(f"mask: expected shape {shape}, got {mask.shape}") from None
