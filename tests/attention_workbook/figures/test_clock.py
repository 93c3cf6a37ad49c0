"""The figure Clock: its speeds are the chapter's, and its scores those of rotated vectors."""

import pytest
import torch

from attention_lib import rotary_frequencies, rotate_by_position
from attention_workbook.figures import Clock

SCRIPT = Clock.script()


def measured(node, *figures):
    return node(SCRIPT, "measure", [[figure.state()] for figure in figures])


@pytest.mark.parametrize(("query", "key"), [(15_000, 3_000), (7, 20_000), (5, 5), (2048, 1)])
def test_the_score_is_that_of_rotated_vectors(node, query, key):
    (seen,) = measured(node, Clock(query=query, key=key))
    turned = rotate_by_position(torch.ones(2, 128).double(), torch.tensor([query, key]))
    assert seen["score"] == pytest.approx(float(turned[0] @ turned[1]) / 128, abs=1e-6)
    assert seen["distance"] == abs(query - key)


def test_the_score_depends_on_the_distance_alone(node):
    near, far = measured(node, Clock(query=500, key=100), Clock(query=20_000, key=19_600))
    assert near["score"] == pytest.approx(far["score"], abs=1e-12)
    assert near["clocks"][0]["angles"] != far["clocks"][0]["angles"]


def test_speeds_are_those_of_the_library_and_of_the_chapter(node):
    speeds = rotary_frequencies(128).double()
    program = "(base, method) => slowed(speedsOf(base), method)"
    names = ["speedsOf", "slowed"]
    plain, interpolated, ntk, yarn = (
        torch.tensor(row).double()
        for row in node(
            SCRIPT,
            program,
            [[10_000, how] for how in ("unchanged", "interpolation", "ntk", "yarn")],
            names,
        )
    )
    torch.testing.assert_close(plain, speeds, rtol=1e-6, atol=0)
    torch.testing.assert_close(interpolated, speeds / 10, rtol=1e-6, atol=0)
    # published speeds of YaRN, for ten times the length (the chapter compares them, too)
    published = torch.tensor([8.6596e-01, 8.3479e-02, 4.2400e-03, 1.1548e-05]).double()
    torch.testing.assert_close(yarn[[1, 17, 32, 63]], published, rtol=1e-4, atol=0)
    assert ntk[0] == speeds[0] and float(ntk[63] * 10 / speeds[63]) == pytest.approx(1)


def test_only_slow_hands_reach_new_angles_and_the_cures_bring_them_back(node):
    most = {"query": 20_479, "key": 0}
    far, near, *cured = measured(
        node,
        Clock(**most),
        Clock(query=2047, key=0),
        *(Clock(**most, method=method) for method in ("interpolation", "yarn")),
    )
    assert [one["isNew"] for one in far["clocks"]] == [False] * 5 + [True] * 3
    assert far["isNew"] > 20 and near["isNew"] == 0
    assert [one["isNew"] for one in cured] == [0, 0]
    (ntk,) = measured(node, Clock(**most, method="ntk"))
    assert 0 < ntk["isNew"] < far["isNew"]  # as the chapter says


@pytest.mark.browser
def test_query_and_key_are_dragged_alone_and_together(show):
    page = show(Clock())
    state = "attentionWidgets.model(document.querySelector('figure'))"
    grips = page.locator(".attention-grip")

    def drag(grip, by):
        box = grips.nth(grip).bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + by, y, steps=4)
        page.mouse.up()
        page.settle()

    score = page.figure().read("score")
    drag(2, 80)  # both, by what lies between them
    query, key = (page.evaluate(f"{state}.get('{name}')") for name in ("query", "key"))
    assert query > 16_000 and abs((query - key) - 12_000) <= 1
    assert page.figure().read("score") == pytest.approx(score, abs=0.03)
    drag(1, -60)
    assert page.evaluate(f"{state}.get('key')") < key
    assert page.evaluate(f"{state}.get('query')") == query
    page.get_by_label("YaRN").check()
    page.settle()
    assert page.locator(".attention-finding").inner_text().startswith("With YaRN, no hand is at an")
    assert page.errors == []
