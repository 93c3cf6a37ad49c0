"""The palette keeps its promises: contrast, colour-blind safety, an even weight map."""

import itertools
import re

import matplotlib as mpl
import numpy as np
import pytest
from coloraide import Color

from attention_lib import palette
from attention_lib.palette import (
    DARK,
    LIGHT,
    SCORE_MAP,
    WEIGHT_MAP,
    contrast,
    readable_on,
)

THEMES = [pytest.param(LIGHT, id="light"), pytest.param(DARK, id="dark")]
ROLES = ("query", "key", "value", "output", "weight")
SERIES = ("series_1", "series_2", "series_3", "series_4")
TEXT = ("ink", "muted", "accent", *ROLES)  # WCAG 2.2, 1.4.3: 4.5 to 1
GRAPHICS = ("mask_line", "nan", *SERIES)  # WCAG 2.2, 1.4.11: 3 to 1
DISTINCT = 12.0  # CIEDE2000; about 2 is what one can just see side by side

# None, and three kinds of colour blindness as Machado, Oliveira, Fernandes (2009) have them.
VISIONS = (None, "protan", "deutan", "tritan")


def seen(color, vision):
    color = Color(color)
    return color if vision is None else color.filter(vision, method="machado", severity=1).clip()


def apart(first, second):
    """Return how different two colours are to the eye that tells them apart worst (CIEDE2000)."""
    return min(
        seen(first, vision).delta_e(seen(second, vision), method="2000") for vision in VISIONS
    )


def lightness(colors):
    return np.array([Color(color).convert("lab-d65")["lightness"] for color in colors])


def test_red_and_green_are_too_close_for_colour_blind_readers():
    red, green = "#d62728", "#2ca02c"
    assert Color(red).delta_e(green, method="2000") > 50
    assert apart(red, green) < DISTINCT
    assert contrast("#777777", "#ffffff") < 4.5 < contrast("#767676", "#ffffff")


def test_contrast_is_that_of_wcag():
    colors = [*LIGHT.values(), *DARK.values()]
    for first, second in itertools.combinations(colors, 2):
        expected = Color(first).contrast(second, method="wcag21")
        assert contrast(first, second) == pytest.approx(expected, rel=1e-3), (first, second)


def test_text_is_readable_on_every_colour_of_the_maps():
    for stops in (WEIGHT_MAP, SCORE_MAP):
        painted = mpl.colors.LinearSegmentedColormap.from_list("map", stops)(
            np.linspace(0, 1, 1001)
        )
        grounds = [mpl.colors.to_hex(color) for color in painted]
        assert min(contrast(readable_on(ground), ground) for ground in grounds) >= 4.5
    greys = [f"#{level:02x}{level:02x}{level:02x}" for level in range(256)]
    assert min(contrast(readable_on(grey), grey) for grey in greys) >= 4.5


def test_both_themes_name_the_same_colours():
    assert list(LIGHT) == list(DARK)
    for color in [*LIGHT.values(), *DARK.values(), *WEIGHT_MAP, *SCORE_MAP]:
        assert re.fullmatch("#[0-9a-f]{6}", color)


def test_every_colour_is_documented_and_has_its_contrast():
    for name in LIGHT:
        documented = "series_1" if name.startswith("series") else name
        assert f"``{documented}``" in palette.__doc__, f"say in the docstring what {name} is for"
    without = {"paper", "surface", "grid", "mask"}  # grounds, fills and hairlines
    assert set(LIGHT) == {*TEXT, *GRAPHICS, *without}, "is the new colour for text or graphics?"


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
def test_hatching_is_visible_on_its_fill(theme):
    assert contrast(theme["mask_line"], theme["mask"]) >= 2.5
    assert contrast(theme["nan"], theme["paper"]) >= 3.0  # crosses of NaN are paper on NaN


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(ROLES, 2)))
def test_roles_are_distinguishable_with_any_colour_vision(theme, first, second):
    assert apart(theme[first], theme[second]) >= DISTINCT


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(SERIES, 2)))
def test_series_are_distinguishable_with_any_colour_vision(theme, first, second):
    assert apart(theme[first], theme[second]) >= DISTINCT


@pytest.mark.parametrize("theme", THEMES)
def test_nan_and_masked_cells_look_like_no_weight(theme):
    assert min(apart(theme["nan"], color) for color in WEIGHT_MAP) >= DISTINCT
    assert apart(theme["nan"], theme["mask"]) >= DISTINCT
    # The fill of masked cells is a grey, near to a bright yellow for who sees no blue; its
    # hatching tells them apart for certain.
    assert min(apart(theme["mask"], color) for color in WEIGHT_MAP) >= 8.0


def painted(colormap, count):
    return [mpl.colors.to_hex(color) for color in colormap(np.linspace(0, 1, count))]


def steps_of_tenths(colormap):
    return np.diff(lightness(painted(colormap, 11)))


def test_the_weight_map_grows_lighter_evenly_to_its_end():
    weights = mpl.colors.LinearSegmentedColormap.from_list("weights", WEIGHT_MAP)
    assert (np.diff(lightness(painted(weights, 64))) > 0).all()
    steps = steps_of_tenths(weights)
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
def test_colour_maps_are_viridis_and_puor(stops, name):
    joined = mpl.colors.LinearSegmentedColormap.from_list("joined", stops, N=256)
    places = np.linspace(0, 1, 256)
    assert np.abs(joined(places) - mpl.colormaps[name](places)).max() <= 4 / 255
