"""The palette keeps its promises: contrast, and colours that anyone's eyes tell apart."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from coloraide import Color

from attention_lib.palette import (
    DARK,
    LIGHT,
    SCORE_MAP,
    SCORE_MAP_IN_THE_DARK,
    WEIGHT_MAP,
    contrast,
    readable_on,
)

ROLES = ("query", "key", "value", "output", "weight")
SERIES = ("series_1", "series_2", "series_3", "series_4")
TEXT = ("ink", "muted", "accent", *ROLES)  # WCAG 2.2, 1.4.3: 4.5 to 1
GRAPHICS = ("mask_line", "nan", "minus", "plus", *SERIES)  # WCAG 2.2, 1.4.11: 3 to 1
DISTINCT = 12  # CIEDE2000; about 2 is what one can just see side by side
THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def apart(first, second):
    """How different two colours are to the eyes, with any colour vision, that tell them apart
    worst."""
    pairs = [(Color(first), Color(second))]
    for blind in ("protan", "deutan", "tritan"):
        pairs.append([color.filter(blind, method="machado").clip() for color in pairs[0]])
    return min(one.delta_e(other, method="2000") for one, other in pairs)


@THEMES
def test_text_and_marks_stand_out(theme):
    assert {*theme} == {*TEXT, *GRAPHICS, "paper", "surface", "grid", "mask"}
    for name in theme.keys() & {*TEXT, *GRAPHICS}:
        wanted = 4.5 if name in TEXT else 3
        assert Color(theme[name]).contrast(theme["paper"], method="wcag21") >= wanted, name
    assert min(contrast(theme[name], theme["surface"]) for name in ("ink", "muted")) >= 4.5
    assert contrast(theme["mask_line"], theme["mask"]) >= 2.5


@THEMES
def test_colours_that_stand_together_are_distinct(theme):
    pairs = [*itertools.combinations(ROLES, 2), *itertools.combinations(SERIES, 2)]
    for first, second in [*pairs, ("nan", "mask")]:
        assert apart(theme[first], theme[second]) >= DISTINCT, (first, second)
    assert min(apart(theme["nan"], color) for color in WEIGHT_MAP) >= DISTINCT
    assert apart("#d62728", "#2ca02c") < DISTINCT, "red and green would not do"


@pytest.mark.parametrize(
    ("theme", "stops"), [(LIGHT, SCORE_MAP), (DARK, SCORE_MAP_IN_THE_DARK)], ids=["light", "dark"]
)
def test_a_number_s_sign_is_seen_and_is_no_role_s_colour(theme, stops):
    """Numbers as far below zero as above look different to all eyes, from a fifth of the map on."""
    middle = len(stops) // 2
    for away in range(middle // 5 + 1, middle + 1):
        assert apart(stops[middle - away], stops[middle + away]) >= DISTINCT, away
    assert {theme["minus"], theme["plus"]} <= {*stops}
    for color in stops:
        near = [Color(theme[role]).delta_e(color, method="2000") for role in ROLES]
        assert min(near) >= DISTINCT, (color, ROLES[near.index(min(near))])
    by_the_key = [Color(LIGHT["key"]).delta_e(color, method="2000") for color in ("#b25706",)]
    assert min(by_the_key) < DISTINCT, "orange would not do"


def test_contrast_is_that_of_wcag_and_text_is_readable_on_every_colour_of_the_maps():
    for first, second in itertools.combinations(LIGHT.values(), 2):
        wanted = Color(first).contrast(second, method="wcag21")
        assert contrast(first, second) == pytest.approx(wanted, rel=1e-3)
    for stops in (WEIGHT_MAP, SCORE_MAP):
        colours = mpl.colors.LinearSegmentedColormap.from_list("map", stops)(np.linspace(0, 1, 201))
        grounds = [mpl.colors.to_hex(colour) for colour in colours]
        assert min(contrast(readable_on(ground), ground) for ground in grounds) >= 4.5


def test_the_weight_map_grows_lighter_evenly():
    colours = mpl.colors.LinearSegmentedColormap.from_list("map", WEIGHT_MAP)(np.linspace(0, 1, 11))
    light = [Color(mpl.colors.to_hex(colour)).convert("lab-d65")["lightness"] for colour in colours]
    assert min(np.diff(light)) > 6 and max(np.diff(light)) < 10
