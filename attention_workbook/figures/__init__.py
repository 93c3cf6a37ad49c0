"""Figures that answer to sliders, in Jupyter and on the book's static pages.

- :class:`Clock`: hands that turn with the position, and where they never pointed in training.
- :class:`HeadSplit`: where each number lands when a width is split into heads.
- :class:`HeatmapExplorer`: the weights of any layers and heads, cell by cell.
- :class:`KernelRegression`: a mean of noisy values, weighted by how near their keys are.
- :class:`MaskLab`: what each fill value does to weights, in each dtype; where weight leaks.
- :class:`OnlineSoftmax`: a softmax in one pass over blocks of keys.
- :class:`ScoringPlane`: a query among keys, and what each score function makes of every place.
- :class:`ServingCalculator`: bytes a token, and how many readers a machine serves at once.
- :class:`SoftLookup`: a query among four keys, and the output inside the hull of their values.
- :class:`SoftmaxSaturation`: what the width of queries and keys does to weights and gradient.

A value out of its range is refused by a ``traitlets.TraitError``, and the trait keeps the old one.

How to write one more: README.md beside this file.
"""

from attention_workbook.figures.clock import Clock
from attention_workbook.figures.head_split import HeadSplit
from attention_workbook.figures.heatmap_explorer import HeatmapExplorer
from attention_workbook.figures.kernel_regression import KernelRegression
from attention_workbook.figures.mask_lab import MaskLab
from attention_workbook.figures.online_softmax import OnlineSoftmax
from attention_workbook.figures.saturation import SoftmaxSaturation
from attention_workbook.figures.scoring_plane import ScoringPlane
from attention_workbook.figures.serving_calculator import ServingCalculator
from attention_workbook.figures.soft_lookup import SoftLookup

__all__ = [
    "Clock",
    "HeadSplit",
    "HeatmapExplorer",
    "KernelRegression",
    "MaskLab",
    "OnlineSoftmax",
    "ScoringPlane",
    "ServingCalculator",
    "SoftLookup",
    "SoftmaxSaturation",
]
