"""Tensors as boxes of their shapes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from attention_lib.plots._arrays import as_strings, require_axes
from attention_lib.plots._text import room_per_cell
from attention_lib.plots.style import COLORS, LABEL_SIZE

__all__ = ["tensor_boxes"]


def tensor_boxes(
    ax: Axes,
    tensors: Sequence[tuple[str, tuple[int, ...], str]],
    steps: Sequence[str] | None = None,
) -> Axes:
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

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> before, after = ("x", (5, 512), "query"), ("heads", (8, 5, 64), "query")
    >>> ax = tensor_boxes(ax, [before, after], steps=["split_heads"])
    >>> plt.close(figure)
    """
    require_axes(ax)
    if isinstance(tensors, str) or not isinstance(tensors, Sequence):
        raise TypeError(f"tensors: expected a sequence of (name, shape, colour), got {tensors!r}")
    if not tensors:
        raise ValueError("tensors: expected at least one, got none")
    steps = [""] * (len(tensors) - 1) if steps is None else steps
    steps = [step.replace(" ", "\n") for step in as_strings("steps", steps, len(tensors) - 1)]
    letter = 0.2  # width of a letter, in units of the drawing
    box_end = text_end = 0.0
    texts = []
    for number, (tensor, step) in enumerate(zip(tensors, ["", *steps], strict=True)):
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
        if number == 0:
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
        if number > 0:
            arrow = {"arrowstyle": "-|>", "color": COLORS["muted"], "linewidth": 1.4}
            ax.annotate("", (left - 0.08, 0), (box_end + 0.08, 0), arrowprops=arrow)
            texts.append(((box_end + left) / 2, 0.1, step, "bottom", COLORS["ink"]))
        box_end, text_end = middle + half_box, middle + half_text
    tallest = max(y for _, y, *_ in texts) + 0.6
    end = max(box_end, text_end)
    ax.set(xlim=(-0.1, end + 0.1), ylim=(-tallest, tallest), aspect="equal")
    ax.axis("off")
    points = min(LABEL_SIZE, letter * room_per_cell(ax, None, end + 0.2) / 0.62)
    for place, y, text, side, color in texts:
        ax.text(place, y, text, ha="center", va=side, color=color, fontsize=points)
    return ax
