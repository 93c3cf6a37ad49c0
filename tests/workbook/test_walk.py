"""The figure Walk: the reader's own numbers, the page beside it, and what the page claims."""

import numpy as np
import pytest

from workbook.reader import load_reader, read
from workbook.reader.walk import Walk
from workbook.reader.walk_numbers import STEPS, trace

SCRIPT = Walk.script()
PAGE = "book/twenty-minutes.html"
BYTES = "(state, ...rest) => { state.packed = new Uint8Array(state.packed); return "


def plain(figure):
    """The figure's state as JSON can hold it."""
    return figure.state() | {"packed": list(figure.packed)}


def text(figure):
    return " ".join([*figure.text[1:-1], figure.word])


def largest_difference(mine, theirs):
    return float(np.abs(np.asarray(mine, float) - np.asarray(theirs, float)).max())


@pytest.mark.parametrize("word", Walk().choices)
def test_javascript_and_numpy_agree_with_pytorch(node, word):
    figure, reader = Walk(word=word), load_reader()
    program = BYTES + (
        "((seen) => ({ states: [seen.start, ...seen.layers.map((one) => one.output)]"
        ".map((rows) => rows.map((row) => [...row])), weights: seen.weights, meant: seen.meant,"
        " answer: seen.answers.at(-1), dots: seen.dots, alone: seen.alone }))(measure(state)); }"
    )
    ((seen,),) = [node(SCRIPT, program, [[plain(figure)]], ["measure"])]
    reading = read(reader, text(figure))
    mine = trace(reader, reading.words)
    assert seen["meant"] == mine.meant == reading.meant
    assert largest_difference(seen["answer"], reading.probabilities) < 1e-5
    for layer, weights in enumerate(reading.weights):
        assert largest_difference(seen["weights"][layer], weights) < 1e-5
    for layer, state in enumerate(reading.states):
        assert largest_difference(seen["states"][layer], state) < 1e-5
    assert largest_difference(seen["dots"], figure.seen().dots) < 1e-9
    assert largest_difference(seen["alone"], figure.seen().told(8)) < 1e-9


def test_python_says_in_words_what_javascript_says(node):
    figures = [Walk(step=i + 1, word=w) for i in range(len(STEPS)) for w in Walk().choices[:2]]
    figures += [Walk(step=len(STEPS), swap=swap) for swap in Walk()._swaps]
    program = BYTES + "words(state, measure(state)); }"
    said = node(SCRIPT, program, [[plain(figure)] for figure in figures], ["words", "measure"])
    for figure, sentence in zip(figures, said, strict=True):
        assert figure.words() == sentence, figure
    (names,) = node(SCRIPT, "() => STEPS", [[]], ["STEPS"])
    assert tuple(names) == STEPS


def test_what_the_page_claims_of_this_reader_is_true():
    """In the page's words: each of these sentences stands there without a number."""
    tired, wide = Walk().seen(), Walk(word="wide").seen()
    for seen in (tired, wide):  # the followed head looks mostly at the last word
        assert seen.row[-1] > 0.5 and seen.dots.argmax() == len(seen.dots) - 1
        assert seen.read.answers[-1].max() > 0.9
    assert tired.read.words[tired.read.meant] == "animal"
    assert wide.read.words[wide.read.meant] == "street"
    undecided = tired.read.answers[0]
    assert undecided.argmax() in tired.nouns and undecided.max() < 0.9
    # the head of layer 2 with the longest bar does not decide, the other one does
    tops = tired.read.layers[1].weights[:, tired.it].max(axis=-1)
    turns = [Walk(swap=f"2.{i + 1}").seen().swapped.meant != tired.read.meant for i in range(2)]
    assert turns[tops.argmax()] is False and turns[tops.argmin()] is True


@pytest.mark.browser
def test_arrow_keys_and_buttons_go_on_and_back_and_the_word_is_swapped(show):
    page = show(Walk())
    figure, word = page.figure(), page.get_by_label("Last word")
    page.get_by_role("button", name="Next").click()
    page.settle()
    assert figure.read("step") == 2
    for key in ("ArrowLeft", *["ArrowRight"] * 11):
        page.keyboard.press(key)
    page.settle()
    assert (figure.read("step"), word.input_value()) == (12, "wide")
    assert "“it” means street" in page.locator(".attention-finding").inner_text()
    page.keyboard.press("ArrowRight")
    page.settle()
    page.get_by_label("Swap what comes from").select_option("2.2")
    page.settle()
    assert page.locator(".attention-finding").inner_text() == Walk(step=13, swap="2.2").words()
    assert page.errors == []


def step_of(seen):
    seen.page.wait_for_timeout(600)
    return int(seen.page.locator("[data-readout=step]").get_attribute("data-value"))


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
def test_the_picture_follows_the_text_and_the_text_the_picture(visit, width):
    how = {"width": width, "reduced_motion": "reduce"}
    with visit(PAGE, **how) as seen:
        page = seen.page
        assert step_of(seen) == 1
        sections = page.locator("article > section > section")
        assert sections.count() == len(STEPS) + 1
        for step in (5, 9, 3):
            sections.nth(step - 1).evaluate("section => section.scrollIntoView()")
            assert step_of(seen) == step
            assert page.locator(".attention-walk").bounding_box()["y"] >= 0
        page.keyboard.press("ArrowRight")
        assert step_of(seen) == 4
        assert 0 < sections.nth(3).locator("h2").bounding_box()["y"] < 800
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        anchor = sections.nth(6).get_attribute("id")
    for address, step in ((f"#{anchor}", 7), ("#Walk.step=6", 6)):
        with visit(PAGE + address, **how) as seen:
            assert step_of(seen) == step
            assert seen.faults == []


@pytest.mark.site
@pytest.mark.browser
def test_without_scripts_every_step_has_its_still(visit):
    with visit(PAGE, scripts=False) as seen:
        stills = seen.page.locator(".attention-widget > img, .attention-step > img")
        assert stills.count() == stills.filter(visible=True).count() == len(STEPS)
        captions = seen.page.locator(".attention-step > figcaption").all_inner_texts()
        walk = [Walk(step=i, word="wide" if i == 12 else "tired") for i in range(2, len(STEPS) + 1)]
        assert captions == [figure.words() for figure in walk]
