"""What the tests of pictures share: arrays to draw, axes to draw on, ways to look."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_hex

NAN, INF = float("nan"), float("inf")

# Eighths and quarters: the same number in every floating-point type.
WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.125, 0.875, 0.0]])
ROW = np.array([0.5, 0.25, 0.125, 0.125])
SCORES = np.array([[2.0, -3.0, 0.5], [0.25, 1.0, -0.5]])
PLANE = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def new_axes(name="", **options):
    _, axes = plt.subplots(1, 2 if name == "heatmap_grid" else 1, dpi=50, **options)
    return axes


def hatched(ax, kind, cell):
    """Say whether a cell ``(row, column)`` is covered by the hatching of a kind."""
    return any(
        patch.get_path().contains_point(cell[::-1])
        for patch in ax.patches
        if patch.get_gid() == kind
    )


def colors_of_cell(ax, column, reach):
    """Return the colours of a cell of the first row, commonest first, around its middle."""
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba())
    corners = [(column - reach, reach), (column + reach, -reach)]
    (left, right), (bottom, top) = ax.transData.transform(corners).astype(int).T
    cell = pixels[-top:-bottom, left:right, :3].reshape(-1, 3)
    colors, counts = np.unique(cell, axis=0, return_counts=True)
    return [to_hex(color / 255) for color in colors[np.argsort(-counts)]]


def texts_of(labels):
    return [label.get_text() for label in labels]
