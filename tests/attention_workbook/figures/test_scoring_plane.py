"""The figure ScoringPlane: its scores are attention_lib's."""

import itertools
import math

import numpy as np
import pytest
import torch
import traitlets

from attention_lib import cosine_scores, dot_scores, gaussian_scores
from attention_workbook.figures import ScoringPlane

SCORES = {"dot": dot_scores, "cosine": cosine_scores, "gaussian": gaussian_scores}
SETTINGS = [*itertools.product([-3.0, -0.35, 0.0, 2.0], [-1.25, 0.0, 3.0])]  # query_x, query_y
OTHERS = {  # no number twice, and a key at the origin
    "key_points": [["a", 0.5, -2], ["origin", 0, 0], ["c", -3, 1], ["d", 2, 2], ["e", 1, 3]],
}


def figure_of(setting, **others):
    query_x, query_y = setting
    return ScoringPlane(query_x=query_x, query_y=query_y, **others)


FIGURES = [figure_of(setting, **others) for others in ({}, OTHERS) for setting in SETTINGS]


def scores_of(figure):
    """The library's scores of the keys, by the name of the score."""
    query = torch.tensor([[figure.query_x, figure.query_y]], dtype=torch.float64)
    keys = torch.tensor([point for _, *point in figure.key_points], dtype=torch.float64)
    return {name: score(query, keys)[0] for name, score in SCORES.items()}


def truth(figure):
    return {name: scores.max().item() for name, scores in scores_of(figure).items()}


def crowned(scores):
    """The key that a score crowns, -1 for a tie."""
    ties = (scores.max() - scores < 1e-9).nonzero()
    return ties.item() if len(ties) == 1 else -1


def test_javascript_agrees_with_the_library(node):
    measured = node("scoring_plane.js", "measure", [[figure.state()] for figure in FIGURES])
    for figure, seen in zip(FIGURES, measured, strict=True):
        for name, scores in scores_of(figure).items():
            assert seen[name]["scores"] == pytest.approx(scores.tolist(), abs=1e-9), figure
            assert seen[name]["crowned"] == crowned(scores), figure


def inside(polygon, place):
    """Whether a place is in a convex polygon; None close to its edge."""
    corners = np.array(polygon).reshape(-1, 2)
    edges = np.roll(corners, -1, axis=0) - corners
    edges, corners = edges[keep := np.hypot(*edges.T) > 1e-9], corners[keep]
    if len(edges) < 3:
        return False
    away = place - corners
    sides = (edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0]) / np.hypot(*edges.T)
    return None if np.abs(sides).min() < 1e-6 else bool((sides > 0).all())


@pytest.mark.parametrize("others", [{}, OTHERS], ids=["chapter", "others"])
def test_the_tint_is_where_scores_agree(node, others):
    """Fresh places: none of three polygons, one or all three lie over them."""
    (polygons,) = node("scoring_plane.js", "agreeing", [[ScoringPlane(**others).state()]])
    seen = set()
    for place in np.random.default_rng().uniform(-3, 3, (500, 2)):
        over = [inside(polygon, place) for polygon in polygons]
        winners = [crowned(scores) for scores in scores_of(figure_of(place, **others)).values()]
        if None in over or -1 in winners:
            continue
        seen.add(sum(over))
        assert sum(over) == {3: 0, 2: 1, 1: 3}[len({*winners})], place
    assert seen == {0, 1, 3}


def test_the_finding_says_how_many_agree(node):
    places = [(2.0, 0.0), (2.0, 1.0), (3.0, 2.0), (0.0, 0.0)]
    said = node("scoring_plane.js", "words", [[figure_of(place).state()] for place in places])
    assert said[0] == "No two of them crown the same key."
    assert said[1] == "Two of the three crown street."
    assert said[2].startswith("Done: all three crown street.")
    assert said[3].startswith("A query at the origin has no direction")


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("query_x", 3.5, "query_x must be a number from -3 to 3; got 3.5"),
        ("query_y", math.nan, "query_y must be a number from -3 to 3; got nan"),
        ("key_points", [["a", 0, 0]], r"key_points must be 2 to 8 of \(name, x, y\), coordinates"),
        ("key_points", [["a", 0, 0], ["b", 0, 4]], "key_points must be 2 to 8"),
        ("key_points", [["a", 0, 0], ["b", 0, math.nan]], "key_points must be 2 to 8"),
        ("key_points", [["a", 0, 0], [" ", 0, 1]], "key_points must be 2 to 8"),
        ("key_points", [["a", 0, 0], [1, 0, 1]], "key_points must be 2 to 8"),
        ("key_points", [["a", 0, 0], ["b", 0]], "key_points must be 2 to 8"),
        ("key_points", 5, "key_points must be 2 to 8"),
    ],
)
def test_wrong_values_are_refused(trait, value, says):
    with pytest.raises(traitlets.TraitError, match=f"ScoringPlane.{says}"):
        ScoringPlane(**{trait: value})


def hold_readouts(show, settings, others):
    """Set the figure to each of some settings and hold its readouts against the library."""
    page = show(ScoringPlane(**others))
    figure = page.figure()
    for setting in settings:
        figure.set("query_x", setting[0])
        figure.set("query_y", setting[1])
        assert figure.readouts() == pytest.approx(truth(figure_of(setting, **others)), abs=1e-6)
    assert page.errors == []
    assert not page.locator(".attention-failure").is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("others", [{}, OTHERS], ids=["chapter", "others"])
def test_readouts_agree_with_the_library(show, others):
    hold_readouts(show, SETTINGS, others)


def place_of_query(page):
    return [float(page.figure().control(f"query_{c}").locator("input").input_value()) for c in "xy"]


@pytest.mark.browser
def test_the_query_can_be_dragged(show):
    page = show(ScoringPlane())
    box = page.locator("svg.attention-grab").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    unit = box["height"] / 7
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 1.5 * unit, middle[1] - unit, steps=5)
    page.mouse.up()
    page.settle()
    place = place_of_query(page)
    assert place == pytest.approx([-1.5, 1.0], abs=0.051)
    wanted = pytest.approx(truth(figure_of(place)), abs=1e-6)
    assert page.figure().readouts() == wanted
    page.mouse.move(*middle)  # not held any more
    page.settle()
    assert page.figure().readouts() == wanted


@pytest.mark.browser
def test_points_move_by_arrow_keys_and_their_contours_along(show):
    page = show(ScoringPlane())
    circle = page.locator("circle.attention-contour")
    radius = float(circle.get_attribute("r"))
    page.get_by_role("button", name="query").press("ArrowDown")
    page.get_by_role("button", name="key of ant").press("ArrowLeft")
    page.settle()
    assert place_of_query(page) == [2.0, -0.05]
    assert "ant 0.95 0" in page.locator("textarea").input_value()
    assert float(circle.get_attribute("r")) == pytest.approx(radius * 0.55 / 0.5, abs=0.02)


@pytest.mark.browser
def test_names_are_text_and_may_change(show):
    names = ["<img src=x onerror=alert(1)>", "</script>", "人", "$x$"]
    page = show(ScoringPlane(key_points=[[name, i / 2, 1] for i, name in enumerate(names)]))
    assert page.locator(".attention-view img").count() == 0
    text = page.locator(".attention-view").inner_text()
    assert all(name in text for name in names)
    page.set({"key_points": [["one", 1, 1], ["two", 0, 0]]})
    figure = figure_of((2.0, 0.0), key_points=[["one", 1, 1], ["two", 0, 0]])
    assert page.figure().readouts() == pytest.approx(truth(figure), abs=1e-6)
    assert "two" in page.locator(".attention-view").inner_text()
    assert page.errors == [] and page.refused == []
