"""What answers a prediction is covered until the reader has guessed."""

import pytest
from docutils import nodes

from website.extensions import predictions


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
    for chapter, rows in predictions.read().items():
        places = site.pages[f"book/{chapter}.html"].select(".prediction")
        offered = [[b.text for b in place.select("[data-why]")] for place in places]
        for row in rows:
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
