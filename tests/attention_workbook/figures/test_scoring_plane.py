"""The figure ScoringPlane: its scores and weights are attention_lib's."""

import itertools
import math
import re

import numpy as np
import pytest
import torch
import traitlets

from attention_lib import (
    AdditiveScore,
    BilinearScore,
    cosine_scores,
    dot_scores,
    entropy,
    gaussian_scores,
    scaled_dot_scores,
)
from attention_lib.palette import SCORE_MAP
from attention_workbook.figures import ScoringPlane

SCORES = ["dot", "scaled dot", "cosine", "Gaussian", "bilinear", "additive"]
SETTINGS = [  # score, query_x, query_y
    *itertools.product(SCORES, [-3.0, -0.35, 0.0, 2.0], [-1.25, 0.0, 3.0]),
]
OTHERS = {  # no number twice, so that no transpose can hide; a key at the origin
    "key_points": [["a", 0.5, -2], ["origin", 0, 0], ["c", -3, 1], ["d", 2, 2], ["e", 1, 3]],
    "W": [[0.5, -1.5], [2.0, 0.25]],
    "W_q": [[1.5, -0.75], [0.3, -2.0]],
    "W_k": [[-0.5, 1.25], [0.8, 0.6]],
    "w_v": [1.75, -0.9],
}


def figure_of(setting, **others):
    score, query_x, query_y = setting
    return ScoringPlane(score=score, query_x=query_x, query_y=query_y, **others)


FIGURES = [figure_of(setting, **others) for others in ({}, OTHERS) for setting in SETTINGS]


def score_function(figure):
    """The library's score function, the figure's matrices loaded."""
    bilinear = BilinearScore(2, 2).double().requires_grad_(False)
    bilinear.W.copy_(torch.tensor(figure.W, dtype=torch.float64))
    additive = AdditiveScore(2, 2, num_hiddens=2).double().requires_grad_(False)
    for name in ("W_q", "W_k", "w_v"):
        weight = torch.tensor(getattr(figure, name), dtype=torch.float64)
        getattr(additive, name).weight.copy_(weight)  # one row, w_v, broadcasts
    functions = [dot_scores, scaled_dot_scores, cosine_scores, gaussian_scores, bilinear, additive]
    return dict(zip(SCORES, functions, strict=True))[figure.score]


def scores_of(figure, places):
    query = torch.tensor([[figure.query_x, figure.query_y]], dtype=torch.float64)
    return score_function(figure)(query, torch.as_tensor(places, dtype=torch.float64))[0]


def truth(figure):
    """What the library says of the figure's settings."""
    weights = torch.softmax(scores_of(figure, [point for _, *point in figure.key_points]), dim=-1)
    return {
        **{f"weight_{i}": weight for i, weight in enumerate(weights.tolist())},
        "max_weight": weights.max().item(),
        "entropy": entropy(weights).item(),
    }


def test_javascript_agrees_with_the_library(node):
    measured = node("_plane/scores.js", "measure", [[figure.state()] for figure in FIGURES])
    for figure, seen in zip(FIGURES, measured, strict=True):
        scores = scores_of(figure, [point for _, *point in figure.key_points])
        assert seen.pop("scores") == pytest.approx(scores.tolist(), abs=1e-9), figure
        seen |= {f"weight_{i}": weight for i, weight in enumerate(seen.pop("weights"))}
        assert seen == pytest.approx(truth(figure), abs=1e-9), figure


def test_the_bilinear_score_is_the_dot_product_with_the_moved_query(node):
    figure = figure_of(("bilinear", 2.0, -1.25), **OTHERS)
    (moved,) = node("_plane/scores.js", "moved", [[figure.state()]])
    points = torch.tensor([point for _, *point in figure.key_points], dtype=torch.float64)
    query = torch.tensor([moved], dtype=torch.float64)
    assert torch.allclose(dot_scores(query, points)[0], scores_of(figure, points))


def test_as_many_scores_agree_as_the_library_finds(node):
    places = [(2.0, 0.0), (1.0, 3.0), (-2.0, 1.5)]
    found = []
    for x, y in places:
        kinds = [figure_of((score, x, y)) for score in SCORES]
        points = [point for _, *point in kinds[0].key_points]
        found.append([scores_of(figure, points).argmax().item() for figure in kinds])
    seen = node("_plane/scores.js", "agreement", [[figure_of(("dot", *p)).state()] for p in places])
    assert [one["crowned"] for one in seen] == found
    assert [one["count"] for one in seen] == [max(map(row.count, row)) for row in found]
    assert seen[1]["count"] == 6
    assert node("_plane/scores.js", "reachable", [[ScoringPlane().state()]]) == [6]


def test_how_many_scores_agree_is_said_in_words(node):
    asked = [(6, 6), (3, 6), (3, 4), (5, 5), (1, 4), (0, 1)]
    data = [[{"count": count, "most": most, "name": "cat"}] for count, most in asked]
    assert node("_plane/scores.js", "agreed", data) == [
        "All 6 agree on cat.",
        "3 of 6 scores agree on cat; elsewhere all do.",
        "3 of 6 scores agree on cat; elsewhere 4 do.",
        "5 of 6 scores agree on cat, as many as can.",
        "No two scores agree; elsewhere 4 do.",
        "No two scores agree.",
    ]


def test_by_default_the_weights_are_those_of_the_chapter():
    assert {
        score: [round(truth(ScoringPlane(score=score))[f"weight_{i}"], 2) for i in range(4)]
        for score in SCORES
    } == {
        "dot": [0.02, 0.12, 0.87, 0.00],
        "scaled dot": [0.05, 0.19, 0.77, 0.00],
        "cosine": [0.33, 0.32, 0.28, 0.06],
        "Gaussian": [0.38, 0.56, 0.05, 0.00],
        "bilinear": [0.00, 0.00, 0.00, 0.99],
        "additive": [0.06, 0.19, 0.66, 0.09],
    }


@pytest.mark.parametrize("score", ["dot", "scaled dot", "cosine", "bilinear"])
def test_a_query_of_length_zero_shares_equally(node, score):
    state = figure_of((score, 0.0, 0.0)).state()
    (seen,) = node("_plane/scores.js", "measure", [[state]])
    assert seen["weights"] == [0.25] * 4
    (sentence,) = node("_plane/scores.js", "words", [[state, seen]])
    assert sentence.endswith("All keys have the same score, so they share equally.")


@pytest.mark.parametrize("stride", [1, 2])
def test_contours_lie_where_the_field_has_the_level(node, stride):
    """A saddle, which is linear along every side of a cell; places are 8 pixels apart."""
    columns, rows, levels = 9, 7, [-4.25, 0.0, 0.5, 3.0]
    field = [(column - 4) * (row - 3) for row in range(rows) for column in range(columns)]
    given = [[field, columns, [level], stride] for level in levels]
    paths = node("_plane/scores.js", "contours", given)
    for level, path in zip(levels, paths, strict=True):
        points = np.array(re.findall(r"[ML](\d+) (\d+)", path), dtype=float) / 80
        assert len(points) >= 16 / stride and points.max() <= columns - 1
        # Points are rounded to tenths of a pixel; from place to place the field rises by 4 at most.
        assert np.abs((points[:, 0] - 4) * (points[:, 1] - 3) - level).max() < 4 / 80
    (all_at_once,) = node("_plane/scores.js", "contours", [[field, columns, levels, stride]])
    assert sorted(re.findall("M[^M]+", all_at_once)) == sorted(re.findall("M[^M]+", "".join(paths)))


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("query_x", 3.5, "query_x must be a number from -3 to 3; got 3.5"),
        ("query_y", math.nan, "query_y must be a number from -3 to 3; got nan"),
        ("score", "euclid", "score must be one of 'dot', 'scaled dot', 'cosine', 'Gaussian'"),
        ("key_points", [["a", 0, 0]], r"key_points must be 2 to 8 of \(name, x, y\), coordinates"),
        ("key_points", [["a", 0, 0], ["b", 0, 4]], "key_points must be 2 to 8"),
        ("key_points", [["a", 0, 0], ["b", 0, math.nan]], "key_points must be 2 to 8"),
        ("key_points", [["a", 0, 0], [" ", 0, 1]], "key_points must be 2 to 8"),
        ("key_points", [["a", 0, 0], [1, 0, 1]], "key_points must be 2 to 8"),
        ("key_points", [["a", 0, 0], ["b", 0]], "key_points must be 2 to 8"),
        ("key_points", 5, "key_points must be 2 to 8"),
        ("W", [[1, 2, 3]], r"W must be 2 × 2 numbers from -2 to 2; got"),
        ("W", [[1, 2], [3, 0]], r"W must be 2 × 2 numbers from -2 to 2; got"),
        ("W_q", [[1, math.nan], [0, 0]], r"W_q must be 2 × 2 numbers from -2 to 2"),
        ("W_k", "ab", r"W_k must be 2 × 2 numbers from -2 to 2; got"),
        ("w_v", [[1, 1]], r"w_v must be 2 numbers from -2 to 2; got"),
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
        figure.control("score").locator(f"input[value='{setting[0]}']").check()
        figure.set("query_x", setting[1])
        figure.set("query_y", setting[2])
        assert figure.readouts() == pytest.approx(truth(figure_of(setting, **others)), abs=1e-6)
    assert page.errors == []
    assert not page.locator(".attention-failure").is_visible()


@pytest.mark.browser
def test_readouts_agree_with_the_library(show):
    hold_readouts(show, SETTINGS[4 :: len(SETTINGS) // 6], OTHERS)


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
    place = [
        float(page.figure().control(f"query_{c}").locator("input").input_value()) for c in "xy"
    ]
    assert place == pytest.approx([-1.5, 1.0], abs=0.051)
    wanted = pytest.approx(truth(figure_of(("dot", *place))), abs=1e-6)
    assert page.figure().readouts() == wanted
    page.mouse.move(*middle)  # not held any more
    page.settle()
    assert page.figure().readouts() == wanted


@pytest.mark.browser
def test_a_plane_that_is_changed_while_it_fades_is_as_translucent_as_before(show):
    page = show(ScoringPlane(), reduced_motion="no-preference")
    for score in ("cosine", "Gaussian"):
        page.set({"score": score})
    fading = page.locator("[data-fading]").evaluate(
        "canvas => canvas.getAnimations()[0].effect.getKeyframes()[0].opacity"
    )
    assert fading == "0.6"


COLOR_AT = """([x, y]) => {
const canvas = document.querySelector('.attention-field > canvas');
const svg = document.querySelector('.attention-field > svg').getBoundingClientRect();
const box = canvas.getBoundingClientRect();
const unit = svg.height / 7;
const place = [svg.left + svg.width / 2 + x * unit, svg.top + svg.height / 2 - y * unit];
const column = Math.floor((place[0] - box.left) / box.width * canvas.width);
const row = Math.floor((place[1] - box.top) / box.height * canvas.height);
const [r, g, b] = canvas.getContext('2d').getImageData(column, row, 1, 1).data;
return [r, g, b];
}"""


@pytest.mark.browser
@pytest.mark.parametrize("score", ["dot", "cosine"])
def test_the_ground_has_the_colour_of_the_score(show, score):
    hold_ground(show, score)


def hold_ground(show, score):
    """Hold the colours behind the plane against the library's scores at some places."""
    figure = figure_of((score, 2.0, -1.25), **OTHERS)
    page = show(figure)
    limit = {"cosine": 1.0, "additive": sum(map(abs, figure.w_v))}.get(score, 10.0)
    places = list(itertools.product([-2.5, -0.5, 0.4, 3.0], [-2.0, 0.3, 2.5]))
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in SCORE_MAP])
    for place, value in zip(places, scores_of(figure, places).tolist(), strict=True):
        share = (min(max(value / limit, -1), 1) + 1) / 2 * (len(stops) - 1)
        wanted = [np.interp(share, np.arange(len(stops)), stops[:, c]) for c in range(3)]
        # The places of the ground are 8 pixels apart, up to 4 pixels from the one asked for.
        assert np.abs(np.array(page.evaluate(COLOR_AT, list(place))) - wanted).max() < 32, place


@pytest.mark.browser
def test_names_are_text_and_may_change(show):
    names = ["<img src=x onerror=alert(1)>", "</script>", "人", "$x$"]
    page = show(ScoringPlane(key_points=[[name, i / 2, 1] for i, name in enumerate(names)]))
    assert page.locator(".attention-view img").count() == 0
    text = page.locator(".attention-view").inner_text()
    assert all(name in text for name in names)
    page.evaluate(
        """() => attentionWidgets.model(document.querySelector('figure'))
        .set('key_points', [['one', 1, 1], ['two', 0, 0]])"""
    )
    page.settle()
    figure = figure_of(("dot", 2.0, 0.0), key_points=[["one", 1, 1], ["two", 0, 0]])
    assert page.figure().readouts() == pytest.approx(truth(figure), abs=1e-6)
    assert "Weight of two" in page.locator(".attention-view").inner_text()
    assert page.errors == [] and page.refused == []
