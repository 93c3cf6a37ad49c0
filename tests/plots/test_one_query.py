"""Pictures of one query: lines, bars and points are as large as their weights."""

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle

from attention_lib import plots
from attention_lib.palette import LIGHT
from tests.plots.drawing import ROW, new_axes, texts_of


def test_stems_reach_their_weights():
    ax = plots.weight_stems(new_axes(), ROW)
    stems = ax.lines[0].get_xydata().reshape(-1, 3, 2)  # foot, head, gap
    assert stems[:, 1].tolist() == [[place, weight] for place, weight in enumerate(ROW)]
    assert (stems[:, 0, 1] == 0).all()
    assert np.isnan(stems[:, 2, 1]).all()
    assert ax.get_ylim() == (0, 1)
    assert (ax.get_ylabel(), texts_of(ax.texts)) == ("weight", ["largest: 0.500"])


def test_crowded_stems_keep_the_largest_weight_of_each_place():
    weights = np.random.default_rng(0).dirichlet(np.ones(20_001))
    stems = plots.weight_stems(new_axes(), weights).lines[0].get_xydata().reshape(-1, 3, 2)
    places, heights = stems[:, 1].T
    assert (weights[places.astype(int)] == heights).all()
    assert len(heights) < 1001 and heights.max() == weights.max()
    assert (heights[:-1] == weights[: 952 * 21].reshape(952, 21).max(axis=1)).all()


def test_a_magnified_axis_says_so():
    ax = plots.weight_stems(new_axes(), [0.001, 0.0015], top=0.002)
    assert ax.get_ylim() == (0, 0.002)
    assert ax.get_ylabel() == "weight (0 to 0.002)"
    assert texts_of(ax.texts) == ["largest: 0.0015"]


def test_the_diagram_draws_weights_as_bars_and_as_flows():
    ax = plots.attention_diagram(
        new_axes(), ROW, ["a", "b", "c", "d"], ["e", "f", "g", "h"], query="ask", output="answer"
    )
    bars = [
        patch
        for patch in ax.patches
        if isinstance(patch, Rectangle) and to_hex(patch.get_facecolor()) == LIGHT["weight"]
    ]
    tracks = [
        patch
        for patch in ax.patches
        if isinstance(patch, Rectangle) and to_hex(patch.get_facecolor()) == LIGHT["mask"]
    ]
    widths = [bar.get_width() / track.get_width() for bar, track in zip(bars, tracks, strict=True)]
    assert widths == ROW.tolist()
    flows = [
        patch.get_linewidth()
        for patch in ax.patches
        if type(patch) is PathPatch and to_hex(patch.get_edgecolor()) == LIGHT["weight"]
    ]
    assert np.allclose(np.diff(flows), 9 * np.diff(ROW))
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    colors = [to_hex(box.get_facecolor()) for box in boxes]
    roles = ["query", *["key"] * 4, *["value"] * 4, "output"]
    assert colors == [LIGHT[role] for role in roles]
    assert {*"abcdefgh", "ask", "answer", "query", "keys", "weights", "values", "output"} <= {
        *texts_of(ax.texts)
    }
