"""The style is the same whatever was set before, and readable on a phone."""

import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.colors import to_hex

from attention_lib import plots
from attention_lib.palette import WEIGHT_MAP
from attention_lib.plots.style import series


def test_the_style_is_the_same_whatever_was_set_before():
    expected = dict(mpl.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mpl.style.use("dark_background")
    mpl.rcParams["image.interpolation"] = "bicubic"
    plots.use_style()
    assert dict(mpl.rcParams) == expected
    assert mpl.get_backend().lower() == "agg"


def test_type_comes_with_matplotlib_and_stays_readable_on_a_phone():
    path = Path(font_manager.findfont(font_manager.FontProperties()))
    assert path.is_relative_to(mpl.get_data_path())
    width = mpl.rcParams["figure.figsize"][0]
    for size in ("font.size", "xtick.labelsize"):
        assert mpl.rcParams[size] / 72 / width * 320 >= 8.5  # pixels of 320
    assert mpl.rcParams["figure.dpi"] == 144


def test_colour_maps_run_through_the_stops_of_the_palette():
    assert to_hex(plots.WEIGHT_MAP(0.0)) == WEIGHT_MAP[0]
    assert to_hex(plots.WEIGHT_MAP(1.0)) == WEIGHT_MAP[-1]
    stops = np.array([mpl.colors.to_rgb(color) for color in WEIGHT_MAP])
    painted = plots.WEIGHT_MAP(np.linspace(0, 1, len(stops)))[:, :3]
    assert np.abs(painted - stops).max() < 0.01


def test_many_series_have_as_many_colours():
    for count in (1, 2, 4, 8):
        assert len(set(series(count))) == count
