"""What answers a prediction is covered until the reader has guessed."""

import json

import pytest
from docutils import nodes

from website.extensions.exercises import predictions


def cell(text="0.80"):
    """A code cell with an output; without a text, one that shows nothing."""
    found = nodes.container(classes=["cell"])
    found += nodes.container(classes=["cell_input"])
    if text:
        found += nodes.container("", nodes.paragraph(text=text), classes=["cell_output"])
    return found


def section(*parts):
    found = nodes.section()
    found += parts
    return found


def asks(text="Predict"):
    return nodes.paragraph("", "", nodes.strong(text=text), nodes.Text(" the weights."))


def test_outputs_up_to_the_next_text_answer_a_prediction():
    parts = [asks(), cell(""), cell("first"), cell("second"), nodes.paragraph(), cell("later")]
    ((_, cells),) = predictions.predictions(section(*parts))
    assert cells == parts[2:4]


def test_a_prediction_that_another_follows_covers_nothing():
    parts = [asks(), nodes.paragraph(text="It is 3."), asks("Predict:"), cell()]
    ((paragraph, _),) = predictions.predictions(section(*parts))
    assert paragraph is parts[2]


def test_other_bold_words_ask_for_nothing():
    assert not [*predictions.predictions(section(asks("Stop the leak."), cell()))]


@pytest.mark.site
def test_each_choice_is_offered_and_one_of_each_row_is_right(site):
    for chapter, rows in predictions.guesses().items():
        places = site.pages[f"book/{chapter}.html"].select(".prediction")
        offered = [[b.text for b in place.select("[data-why]")] for place in places]
        drawn = [json.loads(place["data-drawn"]) for p in places for place in p.select(".drawn")]
        for row in rows:
            if "choices" not in row:
                (found,) = [one for one in drawn if one["names"] == row["names"]]
                assert len(found["truth"]) == len(row["names"])
                assert row["kind"] != "bars" or sum(found["truth"]) == pytest.approx(1, abs=0.02)
                continue
            assert [text for text, _ in row["choices"]] in offered, f"{chapter}: {row['asks']}"
            assert sum(not why for _, why in row["choices"]) == 1, f"{chapter}: {row['asks']}"


@pytest.mark.browser
@pytest.mark.site
def test_an_output_stays_covered_until_one_guesses(visit):
    with visit("book/variance.html") as seen:
        page = seen.page
        output = page.locator(".answer").first
        height = output.bounding_box()["height"]
        assert output.evaluate("x => x.classList.contains('covered')")
        page.locator(".prediction").first.get_by_role("button", name="0 and 2").click()
        assert not output.evaluate("x => x.classList.contains('covered')")
        assert output.bounding_box()["height"] == height
        assert "2 is the typical distance" in page.locator(".prediction .why").first.inner_text()
        page.reload()
        assert not page.locator(".answer").first.evaluate("x => x.classList.contains('covered')")


@pytest.mark.browser
@pytest.mark.site
def test_a_curve_is_drawn_in_one_stroke_and_bars_share_1(visit):
    def values(page):
        return [float(text) for text in page.locator(".drawn .number").all_inner_texts()]

    with visit("book/variance.html") as seen:
        page, place = seen.page, seen.page.locator(".prediction", has=seen.page.locator(".drawn"))
        plot, compare = place.locator(".plot"), place.get_by_role("button", name="Compare")
        plot.scroll_into_view_if_needed()
        assert compare.is_disabled()
        box = plot.bounding_box()
        page.mouse.move(box["x"] + 5, box["y"] + 0.8 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] - 5, box["y"] + 0.2 * box["height"], steps=30)
        page.mouse.up()
        place.get_by_role("slider").first.press("ArrowDown")
        guess = values(page)
        assert guess == sorted(guess) and guess[0] < 0.3 and guess[-1] > 0.7
        compare.click()
        assert "one key takes nearly everything" in place.locator(".why").inner_text()
        page.reload()
        assert values(page) == guess
        assert place.locator(".revealed polyline").first.get_attribute("points").startswith("8.3")
    with visit("book/masking.html") as seen:
        bars = seen.page.locator(".drawn").get_by_role("slider")
        for bar, key in ((2, "Home"), (3, "Home"), (0, "ArrowUp")):
            bars.nth(bar).press(key)
        assert values(seen.page) == [0.55, 0.45, 0, 0]
