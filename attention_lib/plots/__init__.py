"""One function a picture: each takes an Axes and arrays, draws, and returns the Axes.

An argument of the wrong kind, shape or range is refused by a TypeError or a ValueError that names
it.

The look (:mod:`.style`)

- :func:`use_style`: the book's type, sizes and colours, set once before the first figure.

Tables of queries (down) and keys (across); masked cells hatched grey, NaN red with crosses
(:mod:`.tables`)

- :func:`heatmap`: weights, on one scale from 0 to 1.
- :func:`heatmap_grid`: several heads or variants side by side, with one scale for all.
- :func:`mask_picture`: a boolean mask: which query may attend to which key.

Lines (:mod:`.lines`)

- :func:`curves`: one line a setting; of several runs the median and the whole range.

They compose: rows of one table may be score functions, panels may be temperatures; titles, limits
and axis labels are changed on the Axes. Arrays are numpy arrays, lists, or torch tensors of any
dtype, on any device, with or without a gradient; they are never changed. Tokens are drawn as
plain text, ``$`` and all; other texts may hold mathematics, ``$d_k$``.
"""

from attention_lib.plots.lines import curves
from attention_lib.plots.style import WEIGHT_MAP, use_style
from attention_lib.plots.tables import heatmap, heatmap_grid, mask_picture

__all__ = ["WEIGHT_MAP", "curves", "heatmap", "heatmap_grid", "mask_picture", "use_style"]
