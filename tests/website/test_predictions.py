"""What answers a prediction is covered until the reader has guessed."""

import json
import re

import pytest
import torch
from bs4 import BeautifulSoup
from docutils import nodes

from attention_lib import causal_mask, combine_masks, length_mask
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


def test_outputs_and_the_text_up_to_the_next_cell_answer_a_prediction():
    parts = [asks(), cell(""), cell("first"), cell("second"), nodes.paragraph(), cell("later")]
    ((_, cells, text),) = predictions.predictions(section(*parts))
    assert cells == parts[2:4] and text == parts[4:5]


def test_a_picture_with_a_caption_goes_along():
    parts = [asks(), cell(), nodes.paragraph(text="So."), cell(), nodes.paragraph(text="Figure 1.")]
    ((_, cells, text),) = predictions.predictions(section(*parts))
    assert cells == parts[1:2] and text == parts[2:]


def test_the_text_that_asks_the_next_question_stays():
    parts = [asks(), cell(), nodes.paragraph(text="It is 3."), asks(), cell()]
    (_, _, text), (_, _, rest) = predictions.predictions(section(*parts))
    assert text == parts[2:3] and not rest


def test_a_prediction_that_another_follows_covers_nothing():
    parts = [asks(), nodes.paragraph(text="It is 3."), asks("Predict:"), cell()]
    ((paragraph, *_),) = predictions.predictions(section(*parts))
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
                rows = found["truth"] if row["kind"] == "tiles" else [found["truth"]]
                assert all(len(truth) == len(row["names"]) for truth in rows)
                assert row["kind"] != "bars" or sum(found["truth"]) == pytest.approx(1, abs=0.02)
                continue
            assert [text for text, _ in row["choices"]] in offered, f"{chapter}: {row['asks']}"
            assert sum(not why for _, why in row["choices"]) == 1, f"{chapter}: {row['asks']}"


TEXT = ["h2", "h3", "h4", "p", "ul", "ol", "table", "pre"]


def numbers(text):
    """The numbers of three digits and more in a text: nobody prints them by chance."""
    found = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)", text)
    return {number for number in found if sum(map(str.isdigit, number)) > 2}


def lines(text):
    return {line.strip(" []") for line in text.splitlines() if numbers(line)}


def told(page, right):
    """The texts that tell a covered answer: those below it, up to the next heading or question.

    Below a covered output, text is an answer, whatever it says. After the next code or figure it
    is one if it has the choice that is right or a number that so far only covered outputs print;
    an output, if it prints a line of theirs again.
    """
    for place in page.select(".prediction"):
        answers = page.select(f".of-{place['data-prediction']}")
        choices = [one.text for one in place.select("[data-why]") if one.text in right]
        tells = re.compile("|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in choices) or "(?!)")
        earlier = " ".join(one.text for one in place.find_all_previous(TEXT))
        outputs = "\n".join(one.text for one in answers if "cell_output" in one["class"])
        secrets = numbers(outputs) - numbers(earlier)
        near = True
        for part in answers[0].find_all_next([*TEXT, "div", "details"]):
            text = part.text.strip()
            if part.name in ("h2", "h3", "h4"):
                break
            asks_next = part.name == "p" and part.find("strong", string=re.compile("^Predict"))
            near = near and not asks_next
            if part.name in ("div", "details"):
                marks = {*part.get("class", [])}
                if near and "formula" in marks and "answer" not in marks:
                    yield f"{place['data-prediction']}: {text[:80]}"
                ends = {"cell", "attention-widget", "attention-parts"} & marks
                near = near and (not ends or "answer" in marks)
            elif part.find_parent(class_=["answer", "prediction", "cell_input"]):
                continue
            elif part.name == "pre":
                if lines(text) & lines(outputs):
                    yield f"{place['data-prediction']}: {text[:80]}"
            elif "answer" not in part.get("class", []) and (
                near or numbers(text) & secrets or tells.search(text)
            ):
                yield f"{place['data-prediction']}: {text[:80]}"
            if asks_next:
                break


def choices_that_are_right():
    for rows in predictions.guesses().values():
        for row in rows:
            yield from (text for text, why in row.get("choices", []) if not why)


@pytest.mark.site
def test_no_text_tells_a_covered_answer(site):
    right = {*choices_that_are_right()}
    assert not [line for page in site.pages.values() for line in told(page, right)]


@pytest.mark.parametrize(
    ("below", "tells"),
    [
        ("<p class='answer of-x'>It is 0.804.</p>", False),
        ("<p>Whatever follows an output.</p>", True),
        ("<div class='formula'>x = 4</div>", True),
        ("<div class='formula answer of-x'>x = 4</div>", False),
        ("<div class='cell'></div><p>That was 0.804.</p>", True),
        ("<div class='cell'></div><p>So the sea wins.</p>", True),
        ("<div class='cell'></div><pre>[0.804]</pre>", True),
        ("<div class='cell'></div><p>Another matter, of 0.512.</p>", False),
        ("<h3>Next</h3><p>That was 0.804.</p>", False),
    ],
)
def test_a_text_that_tells_is_found(below, tells):
    page = BeautifulSoup(
        "<p><strong>Predict</strong> it.</p><div class='cell'>"
        "<div class='prediction' data-prediction='x'>"
        "<button data-why=''>the sea wins</button></div>"
        f"<div class='cell_output answer of-x'><pre>0.804</pre></div></div>{below}",
        "html.parser",
    )
    assert bool([*told(page, {"the sea wins"})]) == tells


@pytest.mark.browser
@pytest.mark.site
def test_an_output_stays_covered_until_one_guesses(visit):
    with visit("book/variance.html") as seen:
        page = seen.page
        output = page.locator(".answer").first
        caption = page.locator(".answer").nth(1)
        assert not output.is_visible() and not caption.is_visible()
        page.locator(".prediction").first.get_by_role("button", name="0 and 2").click()
        assert output.is_visible() and caption.is_visible()
        assert "2 is the typical distance" in page.locator(".prediction .why").first.inner_text()
        assert page.locator(".prediction [aria-pressed=true]").inner_text() == "0 and 2"
        page.reload()
        assert output.is_visible()
        assert page.locator(".prediction [aria-pressed=true]").inner_text() == "0 and 2"


@pytest.mark.browser
@pytest.mark.site
@pytest.mark.parametrize("guess", [True, False], ids=["a guess", "a link"])
def test_a_figure_waits_for_the_guess(visit, guess):
    with visit("book/heatmaps.html") as seen:
        page = seen.page
        figure = page.locator("[data-widget=Walk]")
        figure.scroll_into_view_if_needed()
        finding = figure.locator(".attention-finding")
        head = figure.locator(".attention-walk-hits rect").nth(4)
        head.click(force=True)
        page.wait_for_timeout(500)
        assert "is taken from" not in finding.inner_text()
        if guess:
            page.get_by_role("button", name="in 2.1 only").click()
            head.click()
        else:
            page.evaluate("location.hash = 'Walk.swap=2.1'")
        finding.filter(has_text="is taken from").wait_for()


@pytest.mark.browser
@pytest.mark.site
def test_on_paper_nothing_is_covered(visit):
    with visit("book/variance.html") as seen:
        assert not seen.page.locator(".answer").first.is_visible()
        seen.page.emulate_media(media="print")
        assert seen.page.locator(".answer").first.is_visible()
        assert not seen.page.locator(".prediction, .always").first.is_visible()


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
        assert "one key still takes more and more" in place.locator(".why").inner_text()
        page.reload()
        assert values(page) == guess
        assert place.locator(".revealed polyline").first.get_attribute("points").startswith("8.3")
    with visit("book/masking.html") as seen:
        bars = seen.page.locator(".drawn").get_by_role("slider")
        for bar, key in ((2, "Home"), (3, "Home"), (0, "ArrowUp")):
            bars.nth(bar).press(key)
        assert values(seen.page) == [0.55, 0.45, 0, 0]


@pytest.mark.browser
@pytest.mark.site
def test_tiles_are_set_and_judged(visit):
    seen_by_both = combine_masks(length_mask(torch.tensor([3]), 5)[0], causal_mask(5))
    with visit("book/masking.html") as seen:
        page = seen.page
        place = page.locator(".prediction", has=page.locator(".tiles"))
        answer = page.locator(f".of-{place.get_attribute('data-prediction')}").first
        tiles, compare = place.locator(".tile"), place.get_by_role("button", name="Compare")
        assert compare.is_disabled() and not answer.is_visible()
        for tile, is_seen in zip(tiles.all(), seen_by_both[[0, -1]].flatten(), strict=True):
            if not is_seen:
                tile.press("Enter")
        tiles.last.click()  # one is wrong
        compare.click()
        assert place.locator(".why").inner_text().startswith("Wrong tiles: 1 of 10.")
        assert tiles.last.inner_text() == "✗" and answer.is_visible()
        page.evaluate("localStorage.clear()")
        page.reload()
        for tile, is_seen in zip(tiles.all(), seen_by_both[[0, -1]].flatten(), strict=True):
            if not is_seen:
                tile.click()
        compare.click()
        assert place.locator(".why").inner_text().startswith("Right.")
        page.reload()
        assert place.locator(".why").inner_text().startswith("Right.")
