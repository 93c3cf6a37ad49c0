"""Pictures of one chapter; those that many chapters share are in :mod:`attention_lib.plots`."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from attention_lib.arguments import require_float, require_positive, shape_of
from attention_lib.palette import LIGHT
from attention_lib.plots.lines import Log, finish_axes

__all__ = ["histogram", "measurements", "weight_stems"]


def histogram(ax: Axes, samples: Tensor, *, normal: tuple[float, float]) -> Axes:
    """Draw the density of samples, and the normal density that they should have.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    samples : torch.Tensor
        Shape ``(rows,)``, finite numbers.
    normal : tuple of float
        Mean and standard deviation of the normal density.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import torch
    >>> figure, ax = plt.subplots()
    >>> ax = histogram(ax, torch.randn(20_000) * 100, normal=(0, 100))
    >>> plt.close(figure)
    """
    numbers = _finite("samples", samples, "(rows,)")
    mean, deviation = normal
    require_positive("normal", deviation)
    heights, edges = np.histogram(numbers, bins=60, density=True)
    ax.stairs(heights, edges, fill=True, color=LIGHT["mask_line"], alpha=0.55)
    x = np.linspace(edges[0], edges[-1], 400)
    density = np.exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
    ax.plot(x, density, color=LIGHT["series_1"], linestyle="-")
    ax.set(ylabel="density", ylim=(0, None))
    return ax


def weight_stems(ax: Axes, weights: Tensor, *, top: float = 1.0) -> Axes:
    """Draw thousands of weights as thin lines, and say how large the largest is.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    weights : torch.Tensor
        Shape ``(len_k,)``, numbers from 0 to ``top``.
    top : float
        Where the axis ends. Below 1 it magnifies, which the axis label then says.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import torch
    >>> figure, ax = plt.subplots()
    >>> ax = weight_stems(ax, torch.tensor([0.0, 0.998, 0.002, 0.0]))
    >>> ax.texts[0].get_text()
    'largest: 0.998'
    >>> plt.close(figure)
    """
    heights = _finite("weights", weights, "(len_k,)")
    require_positive("top", top)
    if heights.min() < 0 or heights.max() > top:
        got = f"numbers from {heights.min():g} to {heights.max():g}"
        raise ValueError(f"weights: expected numbers from 0 to top = {top:g}, got {got}")
    keys_per_stem = -(-len(heights) // 1000)  # they share their pixels: the largest hides the rest
    padded = np.pad(heights, (0, -len(heights) % keys_per_stem)).reshape(-1, keys_per_stem)
    positions = np.arange(0, len(heights), keys_per_stem) + padded.argmax(axis=1)
    positions = positions[heights[positions] > 0]
    feet = np.zeros(len(positions))
    ax.plot(
        np.repeat(positions, 3),
        np.column_stack([feet, heights[positions], feet + np.nan]).ravel(),  # foot, head, gap
        color=LIGHT["weight"],
        linestyle="-",
        linewidth=1.2,
        solid_capstyle="butt",
    )
    _name_the_largest(ax, heights)
    margin = 0.02 * len(heights)
    magnified = "" if top == 1 else f" (0 to {top:g})"
    ax.set(xlim=(-margin, len(heights) - 1 + margin), ylim=(0, top), ylabel=f"weight{magnified}")
    ax.set_xlabel("keys", color=LIGHT["key"])
    ax.grid(axis="y")
    return ax


def _name_the_largest(ax: Axes, heights: NDArray[np.float64]) -> None:
    """Write the largest weight beside its stem, on the side where there is more room."""
    position = int(heights.argmax())
    largest = heights[position]
    in_left_half = position < len(heights) / 2
    ax.annotate(
        f"largest: {largest:.3f}" if largest >= 0.1 else f"largest: {largest:.2g}",
        (position, largest),
        xytext=(6 if in_left_half else -6, -2),
        textcoords="offset points",
        ha="left" if in_left_half else "right",
        va="top",
        fontsize=mpl.rcParams["xtick.labelsize"],
        path_effects=[withStroke(linewidth=3, foreground=LIGHT["paper"])],  # readable on lines
    )


def measurements(
    ax: Axes,
    x: ArrayLike,
    measured: ArrayLike,
    theory: ArrayLike,
    *,
    log: Log = "xy",
    names: tuple[str, str] = ("measured", "theory"),
) -> Axes:
    """Draw measured points beside the line that theory draws.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    x, measured, theory : array
        Shape ``(points,)``: where, what was measured there, and what should have been.
    log : {"", "x", "y", "xy"}
        Which axes are logarithmic.
    names : tuple of str
        What is written at the end of the points and of the line, unless it begins with an
        underscore.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> ax = measurements(ax, [1, 4, 16], [1.1, 3.9, 16.2], theory=[1, 4, 16])
    >>> plt.close(figure)
    """
    for name, numbers in (("measured", measured), ("theory", theory)):
        if np.shape(numbers) != np.shape(x):
            got = np.shape(numbers)
            raise ValueError(f"{name}: expected the shape of x, {np.shape(x)}, got {got}")
    points_label, line_label = names
    ax.plot(x, theory, color=LIGHT["accent"], linestyle="--", linewidth=1.6, label=line_label)
    ax.plot(x, measured, "o", color=LIGHT["series_1"], markersize=6, label=points_label)
    return finish_axes(ax, x, log)


def _finite(name: str, numbers: Tensor, axes: str) -> NDArray[np.float64]:
    """Return a tensor of one axis as an array; refuse an empty one, NaN and infinity."""
    require_float(name, numbers, axes, rank=1)
    if not numbers.numel() or not numbers.isfinite().all():
        got = f"shape {shape_of(numbers)}" if not numbers.numel() else "NaN or infinity"
        raise ValueError(f"{name}: expected finite numbers, at least one, got {got}")
    return numbers.detach().double().cpu().numpy()
