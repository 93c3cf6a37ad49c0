"""The figure Scissors in the hands of somebody who tries everything."""

import re

import pytest

from attention_workbook.figures.scissors import Scissors
from tests.attention_workbook.test_scissors import cuts, finding_of, place_of, tag

pytestmark = pytest.mark.browser


def test_undo_brings_back_what_was_mended(show):
    page = show(Scissors(cuts="1:0-0 2:9-12"))
    page.get_by_role("button", name="Mend all").click()
    page.settle()
    assert cuts(page) == ""
    page.get_by_role("button", name="Undo").click()
    page.settle()
    assert cuts(page) == "1:0-0 2:9-12"


def test_a_stroke_that_ends_outside_has_ended(show):
    page = show(Scissors())
    x, y = place_of(page, (1, 9, 12))
    page.mouse.move(x, y - 40)
    page.mouse.down()
    page.mouse.move(x, 2)
    page.mouse.up()
    swipe_free = cuts(page)
    page.mouse.move(x - 60, y, steps=3)
    page.mouse.move(x + 60, y, steps=3)
    page.settle()
    assert cuts(page) == swipe_free


def test_the_lamp_says_that_it_is_no_line(show):
    page = show(Scissors())
    page.locator(".attention-lamp-bulb").click()
    page.settle()
    assert finding_of(page).startswith("The lamp only shows the answer. Cut the lines below it.")
    page.mouse.click(*place_of(page, (1, 9, 12)))
    page.settle()
    assert finding_of(page).startswith("Without “it” → “tired”")


def test_another_word_mends_the_cuts_and_says_so_and_takes_the_hints_away(show):
    page = show(Scissors(cuts="2:9-12"))
    page.set({"cuts": "2:9-12 1:3-3"})
    hint = page.locator(".attention-scissors-bar > button").last
    hint.click()
    page.settle()
    page.set({"cuts": "2:9-12 1:3-3"})
    tired = page.get_by_role("button", name="tired", exact=True)
    tired.click()
    page.settle()
    assert cuts(page) == "2:9-12 1:3-3"  # it is this word already
    page.get_by_role("button", name="wide", exact=True).click()
    page.settle()
    assert cuts(page) == "" and not hint.is_visible()
    assert finding_of(page).startswith("Your 2 cuts are mended. “It” means the street")
    assert page.locator(".attention-scissors-lines > [data-look]").count() == 0


def test_the_task_names_the_noun_of_the_sentence_that_has_just_been_chosen(show):
    page = show(Scissors())
    page.get_by_role("button", name="wide", exact=True).click()
    page.settle()
    task = page.locator(".attention-task").inner_text()
    assert task.startswith("Cut the line that makes “it” mean the street; a click on a word")


def test_a_line_names_its_words_in_quotation_marks(show):
    page = show(Scissors())
    place = place_of(page, (1, 9, 12))
    page.mouse.move(*place)
    assert re.fullmatch(r"“it” reads “tired”, 0\.\d\d", *tag(page))
    page.mouse.click(*place)
    page.settle()
    assert tag(page) == ["“it” no longer reads “tired”"]


def test_what_a_hint_has_marked_is_grabbed_before_what_lies_over_it(show):
    page = show(Scissors(cuts="1:0-0"))
    page.set({"cuts": "1:0-0 1:3-3"})
    for _ in range(3):
        page.locator(".attention-scissors-bar > button").last.click()
        page.settle()
    path = page.locator(".attention-scissors-lines > [data-look=lifted]")
    places = path.evaluate(
        """path => [0.15, 0.3, 0.5, 0.7, 0.85].map((share) => {
          const { x, y } = path.getPointAtLength(share * path.getTotalLength());
          const box = path.ownerSVGElement.getBoundingClientRect();
          return [box.left + x, box.top + y];
        })"""
    )
    for place in places:
        page.mouse.move(*place)
        page.settle()
        assert tag(page)[0].startswith("“tired” reads “street”"), place
