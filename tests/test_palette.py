"""The palette keeps its promises: contrast, colour-blind safety, an even weight map."""

import ast
import itertools
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from attention_lib import palette
from attention_lib.palette import DARK, LIGHT, SCORE_MAP, WEIGHT_MAP, css_variables

THEMES = [pytest.param(LIGHT, id="light"), pytest.param(DARK, id="dark")]
ROLES = ("query", "key", "value", "output", "weight")
SERIES = ("series_1", "series_2", "series_3", "series_4")
TEXT = ("ink", "muted", "accent", *ROLES)  # WCAG 2.2, 1.4.3: 4.5 to 1
GRAPHICS = ("mask_line", "nan", *SERIES)  # WCAG 2.2, 1.4.11: 3 to 1
DISTINCT = 12.0  # CIEDE2000; about 2 is what one can just see side by side

# Machado, Oliveira, Fernandes (2009), severity 1.0, on linear sRGB.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def linear(color):
    channels = np.array(mpl.colors.to_rgb(color))
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    dark, light = sorted(float(TO_XYZ[1] @ linear(color)) for color in (first, second))
    return (light + 0.05) / (dark + 0.05)


def lab(color, vision="normal"):
    seen = np.clip(VISIONS[vision] @ linear(color), 0, 1)
    ratios = TO_XYZ @ seen / TO_XYZ.sum(axis=1)
    x, y, z = np.where(
        ratios > (6 / 29) ** 3, np.cbrt(ratios), ratios / (3 * (6 / 29) ** 2) + 4 / 29
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(first, second):
    """CIEDE2000 of two Lab colours, as in Sharma, Wu, Dalal (2005)."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25**7))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    hue = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    wave = (
        1
        - 0.17 * np.cos(np.radians(hue - 30))
        + 0.24 * np.cos(np.radians(2 * hue))
        + 0.32 * np.cos(np.radians(3 * hue + 6))
        - 0.20 * np.cos(np.radians(4 * hue - 63))
    )
    s_l = 1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2)
    s_c, s_h = 1 + 0.045 * chroma, 1 + 0.015 * chroma * wave
    bend = 2 * np.sqrt(chroma**7 / (chroma**7 + 25**7))
    rotation = -bend * np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    d_l, d_c = (l2 - l1) / s_l, (c2 - c1) / s_c
    d_h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / s_h
    return np.sqrt(d_l**2 + d_c**2 + d_h**2 + rotation * d_c * d_h)


def apart(first, second):
    """Return how different two colours are to the eye that tells them apart worst."""
    return min(difference(lab(first, vision), lab(second, vision)) for vision in VISIONS)


def lightness(colors):
    return np.array([lab(color)[0] for color in colors])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [  # from the test data of Sharma, Wu, Dalal (2005)
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_measure_agrees_with_published_differences(first, second, expected):
    assert difference(first, second) == pytest.approx(expected, abs=1e-4)


def test_the_measures_can_fail():
    red, green = "tab:red", "tab:green"
    assert difference(lab(red), lab(green)) > 50
    assert apart(red, green) < DISTINCT
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") < 4.5 < contrast("#767676", "#ffffff")


def test_the_palette_imports_nothing():
    tree = ast.parse(Path(palette.__file__).read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def test_both_themes_name_the_same_colours():
    assert list(LIGHT) == list(DARK)
    for color in [*LIGHT.values(), *DARK.values(), *WEIGHT_MAP, *SCORE_MAP]:
        assert re.fullmatch("#[0-9a-f]{6}", color)


def test_every_colour_is_documented_and_has_its_contrast():
    for name in LIGHT:
        documented = "series_1" if name.startswith("series") else name
        assert f"``{documented}``" in palette.__doc__
    without = {"paper", "surface", "grid", "mask"}  # grounds, fills and hairlines
    assert set(LIGHT) == {*TEXT, *GRAPHICS, *without}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", TEXT)
def test_text_is_readable(theme, name):
    assert contrast(theme[name], theme["paper"]) >= 4.5
    if name in ("ink", "muted"):
        assert contrast(theme[name], theme["surface"]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", GRAPHICS)
def test_marks_stand_out(theme, name):
    assert contrast(theme[name], theme["paper"]) >= 3.0


@pytest.mark.parametrize("theme", THEMES)
def test_hatching_shows_on_its_fill(theme):
    assert contrast(theme["mask_line"], theme["mask"]) >= 2.5
    assert contrast(theme["nan"], theme["paper"]) >= 3.0  # crosses of NaN are paper on NaN


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(ROLES, 2)))
def test_roles_are_told_apart_by_every_eye(theme, first, second):
    assert apart(theme[first], theme[second]) >= DISTINCT


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(SERIES, 2)))
def test_series_are_told_apart_by_every_eye(theme, first, second):
    assert apart(theme[first], theme[second]) >= DISTINCT


@pytest.mark.parametrize("theme", THEMES)
def test_nan_and_masked_are_no_weights(theme):
    assert min(apart(theme["nan"], color) for color in WEIGHT_MAP) >= DISTINCT
    assert apart(theme["nan"], theme["mask"]) >= DISTINCT
    # The fill of masked cells is a grey, near to a bright yellow for who sees no blue; its
    # hatching tells them apart for certain.
    assert min(apart(theme["mask"], color) for color in WEIGHT_MAP) >= 8.0


def steps_of_tenths(colormap):
    return np.diff(lightness(colormap(np.linspace(0, 1, 11))))


def test_the_weight_map_grows_lighter_evenly_to_its_end():
    painted = mpl.colors.LinearSegmentedColormap.from_list("weights", WEIGHT_MAP)
    assert (np.diff(lightness(painted(np.linspace(0, 1, 256)))) > 0).all()
    steps = steps_of_tenths(painted)
    assert steps.min() > 6
    assert steps.max() < 10
    assert steps_of_tenths(mpl.colormaps["hot"])[-1] < 2  # a flat top: .9 and 1 look alike


def test_the_score_map_grows_darker_from_its_middle_to_both_ends():
    middle = len(SCORE_MAP) // 2
    steps = np.diff(lightness(SCORE_MAP))
    assert (steps[:middle] > 0).all()
    assert (steps[middle:] < 0).all()
    for distance in range(2, middle + 1):
        assert apart(SCORE_MAP[middle - distance], SCORE_MAP[middle + distance]) >= DISTINCT


@pytest.mark.parametrize(("stops", "name"), [(WEIGHT_MAP, "viridis"), (SCORE_MAP, "PuOr_r")])
def test_maps_are_those_they_say(stops, name):
    painted = mpl.colors.LinearSegmentedColormap.from_list("painted", stops, N=256)
    places = np.linspace(0, 1, 256)
    assert np.abs(painted(places) - mpl.colormaps[name](places)).max() <= 4 / 255


@pytest.mark.parametrize("theme", THEMES)
def test_css_variables_hold_every_colour(theme):
    properties = css_variables(theme)
    assert properties["--aw-query"] == theme["query"]
    assert properties["--aw-mask-line"] == theme["mask_line"]
    assert properties["--aw-weight-map"].split(", ") == list(WEIGHT_MAP)
    assert properties["--aw-score-map"].split(", ") == list(SCORE_MAP)
    assert len(properties) == len(theme) + 2
    assert all(re.fullmatch("--aw-[a-z0-9-]+", name) for name in properties)
