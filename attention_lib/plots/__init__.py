"""One function a picture: each takes an Axes and arrays, draws, and returns the Axes.

An argument of the wrong kind, shape or range is refused by a TypeError or a ValueError that names
it.

The look (:mod:`.style`)

- :func:`use_style`: the book's type, sizes and colours, set once before the first figure.

Tables of queries (down) and keys (across); masked cells hatched grey, NaN red with crosses
(:mod:`.tables`)

- :func:`heatmap`: weights, on one scale from 0 to 1.
- :func:`heatmap_grid`: several heads or variants side by side, with one scale for all.
- :func:`scores_heatmap`: scores, or any signed table, on a scale symmetric about 0.
- :func:`mask_picture`: a boolean mask: which query may attend to which key.

One query (:mod:`.one_query`)

- :func:`attention_diagram`: query, keys, weights, values, output: who goes where, how much.
- :func:`weight_stems`: thousands of weights as thin lines.

Measurements (:mod:`.measured`)

- :func:`histogram`: samples against the normal density they should have.
- :func:`curves`: one line a setting; of several runs the median and the whole range.
- :func:`measurements`: points against the line that theory draws.

Shapes (:mod:`.shapes`)

- :func:`tensor_boxes`: tensors as boxes of their shapes, from step to step.

They compose: rows of one table may be score functions, panels may be temperatures; titles, limits
and axis labels are changed on the Axes. Arrays are numpy arrays, lists, or torch tensors of any
dtype, on any device, with or without a gradient; they are never changed. Tokens are drawn as
plain text, ``$`` and all; other texts may hold mathematics, ``$d_k$``.
"""

from attention_lib.plots.measured import curves, histogram, measurements
from attention_lib.plots.one_query import attention_diagram, weight_stems
from attention_lib.plots.shapes import tensor_boxes
from attention_lib.plots.style import SCORE_MAP, WEIGHT_MAP, use_style
from attention_lib.plots.tables import heatmap, heatmap_grid, mask_picture, scores_heatmap

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
    "scores_heatmap",
    "tensor_boxes",
    "use_style",
    "weight_stems",
]
