"""The figure SentenceReader in a window: when it plays, what it says, where its menu opens."""

import pytest

from attention_workbook.figures.sentence_reader import SentenceReader
from tests.attention_workbook.test_sentence_reader import SCRIPT

STEPS = [
    ([0.03, 0.31, 0.39, 0.06], "“b” and “a”"),
    ([0.03, 0.01, 0.01, 0.95], "“c”"),
    ([0.0, 0.0, 0.0, 0.0], ""),
]
MENU = """() => {
  const list = document.querySelector('.attention-menu');
  const box = list.getBoundingClientRect();
  const rows = [...list.children]
    .map((row) => row.getBoundingClientRect())
    .filter((row) => row.bottom > box.top + list.clientTop)
    .filter((row) => row.top < box.top + list.clientTop + list.clientHeight);
  const focused = document.activeElement.getBoundingClientRect();
  return {
    isInWindow: box.top >= 0 && box.bottom <= innerHeight,
    areRowsWhole: rows.every((row) => row.top >= box.top && row.bottom <= box.bottom),
    isFocusInView: focused.top >= box.top && focused.bottom <= box.bottom,
  };
}"""


@pytest.mark.parametrize(("weights", "said"), STEPS)
def test_a_step_is_said_in_words_that_are_computed(node, weights, said):
    words = ["(nothing)", "a", "b", "c"]
    assert node(SCRIPT, "mostRead", [[weights, words]], ["mostRead"]) == [said]


def play_in_view(show, height):
    """Scroll until its picture is in view in a window of this height: it plays then, not before."""
    above = {"test.css": "body { margin: 900px 0 }"}
    page = show(SentenceReader(hop=0), reduced_motion="no-preference", files=above)
    page.set_viewport_size({"width": 860, "height": height})
    picture = page.locator(".attention-sentence svg")
    for share in (0.4, 0.65):  # of the window's height, from below
        picture.evaluate(
            "(svg, share) => scrollTo(0, scrollY + svg.getBoundingClientRect().top"
            " - innerHeight * (1 - share * Math.min(1, svg.clientHeight / innerHeight)))",
            share,
        )
        page.wait_for_timeout(300)
        assert page.locator(".attention-arcs path").count() == 0, share
    picture.evaluate("(svg) => svg.scrollIntoView({ block: 'start', behavior: 'instant' })")
    for said in ("“It” looks at", "then at “tired”", "and means animal."):
        page.locator(".attention-finding", has_text=said).wait_for()


@pytest.mark.browser
def test_it_plays_when_its_picture_is_in_view_and_not_before(show):
    play_in_view(show, 700)


@pytest.mark.browser
def test_the_menu_opens_in_the_window_with_whole_rows_and_what_turns_the_answer_first(show):
    page = show(SentenceReader())
    page.set_viewport_size({"width": 860, "height": 500})
    page.get_by_label("Swap “tired”").focus()
    page.keyboard.press("Enter")
    offered = page.locator(".attention-menu button").all_inner_texts()
    assert offered[:2] == ["tired", "wide"] and "dangerous" in offered[:8]
    assert len(offered) == 14  # what one glance takes in; of 110
    for key in ("", "End", "Home", "s", "s"):
        if key:
            page.keyboard.press(key)
        page.wait_for_timeout(100)
        assert page.evaluate(MENU) == dict.fromkeys(
            ("isInWindow", "areRowsWhole", "isFocusInView"), True
        ), key
    before = page.evaluate("scrollY")
    page.get_by_role("option", name="wide", exact=True).click()
    page.settle()
    assert page.evaluate("scrollY") == before


def test_every_phone_breaks_the_front_page_s_sentence_after_it(node):
    """So the page can keep the figure's place, and no arc from above passes behind a word."""
    place = "(width, words) => { const { boxes, height } = placeWords(words, width, { pill: 12,"
    place += (
        " isNothingSeen: false, asking: 9 }); return [boxes[9].line, boxes[10].line, height]; }"
    )
    words = ["(nothing)", *SentenceReader().text.split()]
    data = [[width, words] for width in range(320, 400)]
    placed = node("_sentence/picture.js", place, data, ["placeWords"])
    assert {tuple(one) for one in placed} == {(1, 2, 255)}


@pytest.mark.browser
def test_a_word_that_cannot_be_exchanged_says_so(show):
    page = show(SentenceReader())
    task = page.locator(".attention-task")
    assert task.inner_text().startswith("Click an underlined word")
    page.locator(".attention-word").nth(5).click()
    assert task.inner_text().startswith("“cross” stays as it is. Click an underlined word")
    assert not page.locator(".attention-menu").is_visible()
    page.get_by_label("Swap “tired”").click()
    assert task.inner_text().startswith("Click an underlined word")


@pytest.mark.browser
def test_numbers_stand_under_the_words_that_are_looked_at_and_not_under_the_answer(show):
    for head, written in ((-1, []), (0, ["1.00"])):
        page = show(SentenceReader(head=head))
        numbers = page.locator("[data-readout^=weight_]").all_text_contents()
        assert [number for number in numbers if number.strip()] == written


@pytest.mark.browser
def test_a_sentence_that_cannot_be_read_leaves_no_answer_of_another(show):
    page = show(SentenceReader())
    finding, picture = (page.locator(f".attention-{part}") for part in ("finding", "sentence"))
    strength = "(node) => Number(getComputedStyle(node).opacity)"
    for said, seen in (("The dog slept.", (False, 0.3)), ("The dog slept, it did.", (True, 1))):
        page.locator(".attention-typed").fill(said)
        page.get_by_role("button", name="Read it").click()
        page.settle()
        assert (finding.is_visible(), picture.evaluate(strength)) == seen


@pytest.mark.browser
def test_what_opens_more_stays_in_its_place_and_escape_closes_it(show):
    page = show(SentenceReader())
    more = page.get_by_label("More")
    before = more.bounding_box()
    more.click()
    assert page.get_by_text("Look through").is_visible()
    assert more.bounding_box() == before
    page.keyboard.press("Escape")
    assert not page.get_by_text("Look through").is_visible()
    assert page.evaluate("document.activeElement.ariaLabel") == "More"


@pytest.mark.browser
def test_on_a_phone_the_answer_moves_nothing_and_the_menu_leaves_room_beside_it(show):
    fields = []
    for hop in (1, 3):
        page = show(SentenceReader(hop=hop), width=390)
        fields.append(page.locator(".attention-typed").bounding_box())
    assert fields[0] == fields[1]
    page.get_by_label("Swap “animal”").click()
    menu = page.locator(".attention-menu").bounding_box()
    assert menu["x"] > 40 and menu["x"] + menu["width"] < 350
