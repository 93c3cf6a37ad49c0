"""Measurements: densities, medians and ranges, points beside their theory."""

import numpy as np
import pytest
import torch
from matplotlib.patches import StepPatch

from attention_lib import plots
from tests.plots.drawing import NAN, PLANE, new_axes, texts_of


def test_a_histogram_is_a_density_beside_the_normal_one():
    samples = np.random.default_rng(0).normal(3, 2, size=5000)
    ax = plots.histogram(new_axes(), samples, normal=(3, 2), bins=40)
    (steps,) = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    heights, edges = np.histogram(samples, bins=40, density=True)
    assert (steps.get_data().values == heights).all()
    assert (steps.get_data().edges == edges).all()
    x, density = ax.lines[0].get_data()
    assert torch.trapezoid(torch.tensor(density), torch.tensor(x)) == pytest.approx(1, abs=0.01)
    assert x[density.argmax()] == pytest.approx(3, abs=0.1)
    assert density.max() == pytest.approx(1 / (2 * np.sqrt(2 * np.pi)), rel=1e-3)
    assert texts_of(ax.get_legend().get_texts()) == ["samples", "N(3, 2²)"]


def test_curves_of_several_runs_are_median_and_range():
    runs = np.array([[1.0, 2.0, 9.0], [2.0, 3.0, 4.0], [9.0, 1.0, 1.0]])
    ax = plots.curves(new_axes(), [0, 1, 2], {"one run": [1, 2, 3], "three": torch.tensor(runs)})
    assert ax.lines[0].get_ydata().tolist() == [1, 2, 3]
    assert ax.lines[1].get_ydata().tolist() == [2, 2, 4]
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    for x in range(3):
        heights = corners[corners[:, 0] == x, 1]
        assert (heights.min(), heights.max()) == (runs[:, x].min(), runs[:, x].max())
    assert texts_of(ax.get_legend().get_texts()) == ["one run", "three"]


def test_a_run_that_diverged_leaves_a_gap():
    ax = plots.curves(new_axes(), [0, 1, 2], {"runs": [[1.0, NAN, NAN], [1.0, 2.0, 3.0]]})
    assert np.isnan(ax.lines[0].get_ydata()).tolist() == [False, True, True]
    ax.figure.canvas.draw()


def test_curves_differ_in_colour_and_in_dashes():
    ax = plots.curves(new_axes(), PLANE, {str(power): PLANE**power for power in range(1, 5)})
    assert len({line.get_color() for line in ax.lines}) == 4
    assert len({str(line._unscaled_dash_pattern) for line in ax.lines}) == 4


def test_logarithmic_axes_have_plain_numbers():
    d = 2.0 ** np.arange(0, 13, 2)
    ax = plots.curves(new_axes(), d, {"variance": d}, log="xy")
    ax.figure.canvas.draw()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert texts_of(ax.get_xticklabels()) == ["1", "4", "16", "64", "256", "1024", "4096"]
    assert "100" in texts_of(ax.get_yticklabels())
    assert plots.curves(new_axes(), d, {"variance": d}, log="y").get_xscale() == "linear"
    near = plots.curves(new_axes(), [3.0, 5.0, 7.0], {"a few": [3.0, 5.0, 7.0]}, log="xy")
    near.figure.canvas.draw()
    assert "5" in texts_of(near.get_xticklabels())


def test_measurements_stand_beside_their_theory():
    x, measured = np.array([1.0, 4.0, 16.0]), np.array([1.5, 3.5, 17.0])
    ax = plots.measurements(new_axes(), x, measured, x)
    theory, points = ax.lines
    assert theory.get_ydata().tolist() == x.tolist()
    assert points.get_xydata().tolist() == np.transpose([x, measured]).tolist()
    assert points.get_linestyle() == "None"
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert texts_of(ax.get_legend().get_texts()) == ["theory", "measured"]
