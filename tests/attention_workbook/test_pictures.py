"""Pictures of one chapter: densities, stems as high as weights, points beside their theory."""

import numpy as np
import pytest
import torch
from matplotlib.patches import StepPatch

from attention_workbook import pictures
from tests.plots.conftest import clean_figures  # noqa: F401
from tests.plots.drawing import ROW, new_axes, texts_of


def test_a_histogram_is_a_density_beside_the_normal_one():
    samples = np.random.default_rng(0).normal(3, 2, size=5000)
    ax = pictures.histogram(new_axes(), torch.tensor(samples), normal=(3, 2))
    (steps,) = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    heights, edges = np.histogram(samples, bins=60, density=True)
    assert (steps.get_data().values == heights).all()
    assert (steps.get_data().edges == edges).all()
    x, density = ax.lines[0].get_data()
    assert torch.trapezoid(torch.tensor(density), torch.tensor(x)) == pytest.approx(1, abs=0.01)
    assert x[density.argmax()] == pytest.approx(3, abs=0.1)
    assert density.max() == pytest.approx(1 / (2 * np.sqrt(2 * np.pi)), rel=1e-3)


def test_stems_reach_their_weights():
    ax = pictures.weight_stems(new_axes(), torch.tensor(ROW))
    stems = ax.lines[0].get_xydata().reshape(-1, 3, 2)  # foot, head, gap
    assert stems[:, 1].tolist() == [[place, weight] for place, weight in enumerate(ROW)]
    assert (stems[:, 0, 1] == 0).all()
    assert np.isnan(stems[:, 2, 1]).all()
    assert ax.get_ylim() == (0, 1)
    assert (ax.get_ylabel(), texts_of(ax.texts)) == ("weight", ["largest: 0.500"])


def test_crowded_stems_keep_the_largest_weight_of_each_place():
    weights = np.random.default_rng(0).dirichlet(np.ones(20_001))
    stems = (
        pictures.weight_stems(new_axes(), torch.tensor(weights))
        .lines[0]
        .get_xydata()
        .reshape(-1, 3, 2)
    )
    places, heights = stems[:, 1].T
    assert (weights[places.astype(int)] == heights).all()
    assert len(heights) < 1001 and heights.max() == weights.max()
    assert (heights[:-1] == weights[: 952 * 21].reshape(952, 21).max(axis=1)).all()


def test_a_magnified_axis_says_so():
    ax = pictures.weight_stems(new_axes(), torch.tensor([0.001, 0.0015]), top=0.002)
    assert ax.get_ylim() == (0, 0.002)
    assert ax.get_ylabel() == "weight (0 to 0.002)"
    assert texts_of(ax.texts) == ["largest: 0.0015"]


def test_measurements_stand_beside_their_theory():
    x, measured = np.array([1.0, 4.0, 16.0]), np.array([1.5, 3.5, 17.0])
    ax = pictures.measurements(new_axes(), x, measured, x)
    theory, points = ax.lines
    assert theory.get_ydata().tolist() == x.tolist()
    assert points.get_xydata().tolist() == np.transpose([x, measured]).tolist()
    assert points.get_linestyle() == "None"
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert texts_of(ax.texts) == ["theory", "measured"]
    pictures.measurements(ax, x, 2 * measured, 2 * x, names=("_points", "twice"))
    assert texts_of(ax.texts) == ["theory", "measured", "twice"]
