"""Lines: medians and ranges, names at their ends, logarithmic axes."""

from itertools import combinations

import numpy as np
import pytest
import torch
from matplotlib.text import Text

from attention_lib import plots
from attention_lib.palette import LIGHT
from tests.plots.drawing import NAN, PLANE, new_axes, texts_of


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
    assert texts_of(ax.texts) == ["one run", "three"]


def test_a_run_that_diverged_leaves_a_gap():
    ax = plots.curves(new_axes(), [0, 1, 2], {"runs": [[1.0, NAN, NAN], [1.0, 2.0, 3.0]]})
    assert np.isnan(ax.lines[0].get_ydata()).tolist() == [False, True, True]
    ax.figure.canvas.draw()


def test_curves_differ_in_colour_and_in_dashes():
    for count in (4, 5):
        ax = plots.curves(new_axes(), PLANE, {str(i): PLANE**i for i in range(count)})
        colors = {line.get_color() for line in ax.lines}
        assert len(colors) == count and colors <= {*LIGHT.values()}  # those with a dark twin
    assert len({str(line._unscaled_dash_pattern) for line in ax.lines}) == 4


def places_of_names(ax):
    """The rectangle of each name, as drawn."""
    ax.figure.canvas.draw()
    return {text.get_text(): Text.get_window_extent(text) for text in ax.texts}


ENDS = {
    "apart": (1, 3, 9),
    "close": (1, 1.01, 1.02),
    "as high": (5, 5, 5),
    "at the floor": (0, 0, 9),
}


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_names_stand_beside_the_ends_of_their_lines_and_touch_none(ends):
    labels = {"one": ends[0], "of two\nlines": ends[1], "last": ends[2]}
    ax = plots.curves(new_axes(), PLANE, {name: PLANE * 0 + end for name, end in labels.items()})
    ax.set(ylim=(0, 10))  # after the names were written
    places = places_of_names(ax)
    right = ax.transData.transform((PLANE[-1], 0))[0]
    for place in places.values():
        assert right < place.x0 and place.x1 <= ax.figure.bbox.x1
        assert ax.bbox.y0 - 1 < place.y0 and place.y1 < ax.bbox.y1 + 1
    for one, other in combinations(places.values(), 2):
        assert one.y0 >= other.y1 or other.y0 >= one.y1


def test_a_name_is_level_with_its_line_where_none_is_near():
    ax = plots.curves(new_axes(), PLANE, {"low": PLANE * 0 + 2, "high": [8, 8, 8, NAN, NAN]})
    places = places_of_names(ax)
    for name, end in {"low": (2.0, 2.0), "high": (0.0, 8.0)}.items():
        x, y = ax.transData.transform(end)
        assert (places[name].y0 + places[name].y1) / 2 == pytest.approx(y, abs=2)
        assert 0 < places[name].x0 - x < 20


def test_a_line_without_numbers_or_with_an_underscore_has_no_name():
    ax = plots.curves(new_axes(), PLANE, {"_hidden": PLANE, "nothing": PLANE * NAN, "seen": PLANE})
    assert texts_of(ax.texts) == ["seen"]


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
