"""Pictures of one query: its weights, and what they make of the values."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path
from numpy.typing import ArrayLike

from attention_lib.plots._arrays import as_finite, as_positive, as_weights, require_axes
from attention_lib.plots._text import drawable, number_text
from attention_lib.plots.style import COLORS, HALO, LABEL_SIZE, TEXT_SIZE

__all__ = ["attention_diagram", "weight_stems"]

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def attention_diagram(
    ax: Axes,
    weights: ArrayLike,
    keys: Sequence[str] | None = None,
    values: Sequence[str] | None = None,
    *,
    query: str = "q",
    output: str = "Σ αᵢ vᵢ",
) -> Axes:
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

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = attention_diagram(ax, [0.75, 0.15, 0.10], values=["red", "green", "blue"])
    >>> plt.close(figure)
    """
    require_axes(ax)
    weights = as_weights(weights, "(len_k,)", as_finite)
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
        ax.text(6.0, row - 0.24, number_text(weight, 2), ha="center", va="bottom", fontsize=10)
    _boxes(ax, 0.0, [middle], "query", [query], "query")
    _boxes(ax, 2.8, range(size), "keys", keys, "key")
    _boxes(ax, 7.4, range(size), "values", values, "value")
    _boxes(ax, 10.2, [middle], "output", [output], "output")
    for x, height, title, role in (
        (0.9, middle, "query", "query"),
        (3.7, 0, "keys", "key"),
        (6.0, 0, "weights", "weight"),
        (8.3, 0, "values", "value"),
        (11.1, middle, "output", "output"),
    ):
        ax.text(x, height - 0.68, title, ha="center", va="bottom", color=COLORS[role])
    ax.set(xlim=(-0.1, 12.1), ylim=(size - 0.5, -1.2), aspect="equal")
    ax.axis("off")
    return ax


def weight_stems(ax: Axes, weights: ArrayLike, *, top: float = 1.0) -> Axes:
    """Draw thousands of weights as thin lines, and say how large the largest is.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    weights : array
        Shape ``(len_k,)``, numbers from 0 to 1.
    top : float
        Where the axis ends. Below 1 it magnifies, which the axis label then says.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = weight_stems(ax, [0.0, 0.998, 0.002, 0.0])
    >>> ax.texts[0].get_text()
    'largest: 0.998'
    >>> plt.close(figure)
    """
    require_axes(ax)
    weights = as_weights(weights, "(len_k,)", as_finite)
    top = as_positive("top", top)
    if weights.max() > top:
        raise ValueError(f"weights: expected numbers from 0 to top = {top:g}, got {weights.max()}")
    every = -(-len(weights) // 1000)  # keys that share their pixels: the largest hides the others
    runs = np.pad(weights, (0, -len(weights) % every)).reshape(-1, every)
    positions = np.arange(0, len(weights), every) + runs.argmax(axis=1)
    positions = positions[weights[positions] > 0]
    feet = np.zeros(len(positions))
    ax.plot(
        np.repeat(positions, 3),
        np.column_stack([feet, weights[positions], feet + np.nan]).ravel(),  # foot, head, gap
        color=COLORS["weight"],
        linestyle="-",
        linewidth=1.2,
        solid_capstyle="butt",
    )
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


def _flow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], color: str, width: float
) -> None:
    """Draw a line that leaves and arrives level."""
    half = (start[0] + end[0]) / 2
    path = Path([start, (half, start[1]), (half, end[1]), end], [1, 4, 4, 4])
    line = PathPatch(path, facecolor="none", edgecolor=color, linewidth=width, capstyle="round")
    ax.add_patch(line).set_zorder(0.5)


def _boxes(
    ax: Axes, x: float, rows: Sequence[float], name: str, tokens: Sequence[str], role: str
) -> None:
    """Draw the rounded boxes of one column, with what is written on them."""
    texts, family = drawable(name, tokens, len(rows))
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
            color=COLORS["paper"],
            family=family,
            parse_math=False,
            zorder=4,
        )
