"""The figure SoftLookup: its numbers are attention_lib's, its output stays in the hull."""

import itertools
import math

import numpy as np
import pytest
import torch
import traitlets

from attention_lib import dot_scores, effective_keys, entropy
from attention_workbook.figures import SoftLookup

from .conftest import spread

SETTINGS = [  # query_x, query_y, temperature
    *itertools.product([-2.0, -0.35, 1.0], [-1.25, 0.0, 2.0], [1 / 32, 0.5, 1.0, 2**1.5, 32.0]),
]


def convex_hull(points):
    """Return the corners of the convex hull of points in the plane (Andrew's monotone chain).

    They come in order; points on an edge are none.
    """
    ordered = sorted((float(x), float(y)) for x, y in points)

    def half(points):
        corners = []
        for point in points:
            while len(corners) > 1 and not turns_left(corners[-2], corners[-1], point):
                corners.pop()
            corners.append(point)
        return corners[:-1]

    return half(ordered) + half(ordered[::-1]) or ordered[:1]


def turns_left(first, second, third):
    (x1, y1), (x2, y2), (x3, y3) = first, second, third
    return (x2 - x1) * (y3 - y1) > (y2 - y1) * (x3 - x1)


def truth(setting, figure=None):
    """What the library says of a query and a temperature."""
    figure = figure or SoftLookup()
    query, temperature = torch.tensor([setting[:2]], dtype=torch.float64), setting[2]
    keys, values = (
        torch.tensor(x, dtype=torch.float64) for x in (figure.key_points, figure.value_points)
    )
    weights = torch.softmax(dot_scores(query, keys) / temperature, dim=-1)
    (output,) = (weights @ values).tolist()
    return {
        **{f"weight_{i}": weight for i, weight in enumerate(weights[0].tolist())},
        "output_x": output[0],
        "output_y": output[1],
        "entropy": entropy(weights).item(),
        "effective_keys": effective_keys(weights).item(),
    }


def figure_of(setting):
    return SoftLookup(query_x=setting[0], query_y=setting[1], temperature=setting[2])


def test_javascript_agrees_with_the_library(node):
    states = [figure_of(setting).state() for setting in SETTINGS]
    measured = node("soft_lookup.js", "measure", [[state] for state in states])
    for setting, seen in zip(SETTINGS, measured, strict=True):
        wanted = truth(setting)
        seen |= {f"weight_{i}": weight for i, weight in enumerate(seen.pop("weights"))}
        assert seen == pytest.approx(wanted, abs=1e-6), setting


def test_by_default_the_weights_are_those_of_the_chapter():
    weights = [round(truth((1.0, 0.0, 1.0))[f"weight_{i}"], 2) for i in range(4)]
    assert weights == [0.75, 0.15, 0.07, 0.03]


def test_the_hull_holds_every_output(node):
    figure = SoftLookup(value_points=[[0, 0], [2, 0], [1, 1], [1, 0.25]])  # the last lies inside
    corners = convex_hull(figure.value_points)
    (seen,) = node("soft_lookup.js", "hull", [[figure.value_points]])
    assert [list(corner) for corner in corners] == seen
    assert {tuple(corner) for corner in seen} == {(0, 0), (2, 0), (1, 1)}
    corners = np.array(corners)
    edges = np.roll(corners, -1, axis=0) - corners
    for setting in SETTINGS:
        found = truth(setting, figure)
        to_output = np.array([found["output_x"], found["output_y"]]) - corners
        turns = edges[:, 0] * to_output[:, 1] - edges[:, 1] * to_output[:, 0]
        assert turns.min() > -1e-12, setting


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("query_x", 2.5, "query_x must be a number from -2 to 2; got 2.5"),
        ("query_y", math.nan, "query_y must be a number from -2 to 2; got nan"),
        ("temperature", 0, "temperature must be a number from 0.03125 to 32; got 0"),
        ("key_points", [[0, 0]], r"key_points must be 4 × 2 numbers from -2 to 2; got"),
        (
            "key_points",
            [[0, math.inf]] * 4,
            r"key_points must be 4 × 2 numbers from -2 to 2; got",
        ),
        ("value_points", [[0, 3]] * 4, r"value_points must be 4 × 2 numbers from -2 to 2; got"),
        (
            "value_points",
            [[0], [1, 2], [3], [4]],
            r"value_points must be 4 × 2 numbers from -2 to 2; got",
        ),
        ("tokens", ["a", "b"], "tokens must be 4 strings that are not blank; got"),
        ("tokens", ["a", "b", "c", " "], "tokens must be 4 strings that are not blank; got"),
        ("tokens", "abcd", r"tokens must be 4 strings that are not blank; got \['abcd'\]"),
    ],
)
def test_wrong_values_are_refused(trait, value, says):
    with pytest.raises(traitlets.TraitError, match=f"SoftLookup.{says}"):
        SoftLookup(**{trait: value})


def hold_readouts(show, settings):
    """Set the figure to each of some settings and hold its readouts against the library."""
    page = show(SoftLookup())
    figure = page.figure()
    for query_x, query_y, temperature in settings:
        figure.set("query_x", query_x)
        figure.set("query_y", query_y)
        figure.set("temperature", math.log2(temperature))
        wanted = truth((query_x, query_y, temperature))
        assert figure.readouts() == pytest.approx(wanted, abs=1e-6)
    assert page.errors == []


@pytest.mark.browser
def test_readouts_agree_with_the_library(show):
    hold_readouts(show, spread(SETTINGS))


@pytest.mark.browser
def test_the_query_can_be_dragged(show):
    page = show(SoftLookup())
    plane = page.locator("svg.attention-grab")
    box = plane.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + (box["height"] - 22) / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 60, middle[1] - 40, steps=5)
    page.mouse.up()
    page.settle()
    place = [
        float(page.figure().control(f"query_{c}").locator("input").input_value()) for c in "xy"
    ]
    assert place[0] < -0.5 and place[1] > 0.3
    assert page.figure().readouts() == pytest.approx(truth((*place, 1.0)), abs=1e-6)
    page.mouse.move(*middle)  # not held any more
    page.settle()
    assert page.figure().readouts() == pytest.approx(truth((*place, 1.0)), abs=1e-6)


@pytest.mark.browser
def test_the_query_is_taken_where_it_lies_on_a_key(show):
    page = show(SoftLookup(query_x=1.0, key_points=[[1, 0.1], [0, 1], [-1, 0], [0, -1]]))
    box = page.locator("svg.attention-grab").bounding_box()
    middle = (box["height"] - 22) / 2
    query = box["x"] + box["width"] / 2 + middle / 2.15, box["y"] + middle
    page.mouse.move(*query)
    page.mouse.down()
    page.mouse.move(query[0] - 50, query[1], steps=3)
    page.mouse.up()
    page.settle()
    assert page.get("query_x") < 0.5
    assert page.get("key_points")[0] == [1, 0.1]


@pytest.mark.browser
def test_a_key_is_moved_by_arrow_keys_until_the_task_is_done(show):
    page = show(SoftLookup())
    finding = page.locator(".attention-finding")
    start = page.figure().readouts()
    weights = [start[f"weight_{i}"] for i in range(4)]
    loser = weights.index(min(weights))
    key = page.get_by_role("button", name=f"key of {SoftLookup().tokens[loser]} ")
    key.press("ArrowUp")
    x, y = SoftLookup().key_points[loser]
    moved = page.get("key_points")
    assert moved[loser] == pytest.approx([x, y + 0.05], abs=0.026)
    assert "Done" not in finding.inner_text()
    along, up = (
        "ArrowRight" if SoftLookup().query_x > 0 else "ArrowLeft",
        "ArrowUp" if SoftLookup().query_y > 0 else "ArrowDown",
    )
    for way in [along, up] * 80:
        key.press(way)
    page.settle()
    assert f"Done: {SoftLookup().tokens[loser]} wins." in finding.inner_text()
    page.figure().control("query_x").locator("input").evaluate(
        "input => { input.value = -input.value; input.dispatchEvent(new Event('input')); }"
    )
    page.settle()
    assert "Done" not in finding.inner_text()


@pytest.mark.browser
def test_no_name_covers_another(show):
    """At the start of the first chapter, and with the output on a value."""
    places = [[1.41, 0.0], [0.28, 1.39], [-0.26, -1.39], [-0.86, 1.12]]
    words = ["animal", "tired", "street", "cross"]
    page = show(SoftLookup(tokens=words, key_points=places, value_points=places), font=True)
    queries = ((1.4, 0.0), (0.3, 1.4), (-2.0, 2.0), (0.0, 0.0))
    for width, query in itertools.product((860, 320), queries):
        page.set_viewport_size({"width": width, "height": 800})
        page.set({"query_x": query[0], "query_y": query[1]})
        for plane in page.locator(".attention-frame > svg").all():
            named = plane.locator("text:not(.attention-weight)")
            assert named.count() == 6
            texts = [text.bounding_box() for text in plane.locator("text").all()]
            for one, other in itertools.combinations(texts, 2):
                apart = max(
                    abs(2 * (one[x] - other[x]) + one[size] - other[size]) - one[size] - other[size]
                    for x, size in (("x", "width"), ("y", "height"))
                )
                assert apart > -8, (query, one, other)  # twice the gap: line boxes have air


@pytest.mark.browser
def test_a_reader_replaces_the_words(show):
    page = show(SoftLookup(), more=True)
    field = page.figure().control("tokens").locator("textarea")
    field.fill("who asked what when")
    page.settle()
    assert "Weight of asked" in page.locator(".attention-view").inner_text()
    assert page.locator("[data-readout^=weight_]").count() == 4
    field.fill("only three words")
    field.blur()
    refusal = page.locator(".attention-refusal:visible").inner_text()
    assert refusal == "Four words are needed; these are 3."
    assert "Weight of asked" in page.locator(".attention-view").inner_text()


@pytest.mark.browser
def test_tokens_are_text(show):
    tokens = ["<img src=x onerror=alert(1)>", "</script>", "人", "$x$"]
    page = show(SoftLookup(tokens=tokens))
    assert page.errors == [] and page.refused == []
    assert page.locator(".attention-view img").count() == 0
    text = page.locator(".attention-view").inner_text()
    assert all(token in text for token in tokens)
