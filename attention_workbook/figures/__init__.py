"""Figures that answer to sliders, in Jupyter and on the book's static pages.

Each class says what it shows; those of the trained models are in the catalogue with the others.

A value out of its range is refused by a ``traitlets.TraitError``, and the trait keeps the old one.

How to write one more: README.md beside this file.
"""

from attention_workbook.figures.clock import Clock
from attention_workbook.figures.head_split import HeadSplit
from attention_workbook.figures.heatmap_explorer import HeatmapExplorer
from attention_workbook.figures.kernel_regression import KernelRegression
from attention_workbook.figures.mask_lab import MaskLab
from attention_workbook.figures.mask_trainer import MaskTrainer
from attention_workbook.figures.one_head import OneHead
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
    "MaskTrainer",
    "OneHead",
    "OnlineSoftmax",
    "ScoringPlane",
    "ServingCalculator",
    "SoftLookup",
    "SoftmaxSaturation",
]
