"""The figure SentenceReader in a low window, and where words that it needs cannot be fetched."""

import pytest

from attention_workbook.figures.sentence_reader import SentenceReader
from tests.attention_workbook.test_sentence_reader_in_view import play_in_view

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("way", ["typed", "set"])
def test_words_that_cannot_be_fetched_are_spoken_of_and_asked_for_again(show, way):
    text = "the puppy slept because it was tired"
    page = show(SentenceReader())
    page.get_by_text("Your own sentence").click()
    page.route("**/SentenceReader.data.js", lambda route: route.abort())
    field, refusal = page.locator(".attention-typed"), page.locator(".attention-refusal")
    if way == "typed":
        field.fill(text)
        field.press("Enter")
    else:
        page.set({"text": text})
    page.settle()
    said = "needs words that could not be fetched. Check the connection, then press Enter again."
    assert said in refusal.inner_text()
    assert field.input_value() == text and page.figure().read("meant") == 2
    page.unroute("**/SentenceReader.data.js")
    field.press("Enter")
    page.get_by_text("reads “puppy” as “dog”").first.wait_for()
    page.settle()
    assert not refusal.is_visible()


@pytest.mark.parametrize("wanted", [False, True])
def test_reset_lets_a_refused_text_go(show, wanted):
    text = "the baer slept because it was tired"  # refused, be it as unknown or as not fetched
    page = show(SentenceReader(wanted=wanted))
    page.get_by_text("Your own sentence").click()
    page.route("**/SentenceReader.data.js", lambda route: route.abort())
    field, refusal = page.locator(".attention-typed"), page.locator(".attention-refusal")
    tries = page.locator(".attention-tries")
    field.fill(text)
    field.press("Enter")
    page.settle()
    assert refusal.is_visible() and field.input_value() == text
    assert tries.is_visible() == wanted
    page.get_by_role("button", name="Reset").click()
    page.settle()
    assert field.input_value() == SentenceReader().text
    assert not refusal.is_visible() and not tries.is_visible()


def test_a_sentence_and_the_list_both_come_when_both_were_asked_for(show):
    page = show(SentenceReader())
    page.get_by_text("Your own sentence").click()
    held = []
    page.route("**/SentenceReader.data.js", lambda route: held.append(route))
    field = page.locator(".attention-typed")
    field.fill("the puppy slept because it was tired")
    field.press("Enter")
    page.locator(".attention-known summary").click()
    page.wait_for_function("document.querySelector('.attention-known').open")
    page.wait_for_timeout(100)
    held[0].fallback()
    page.get_by_text("reads “puppy” as “dog”").first.wait_for()
    page.locator(".attention-known", has_text="Read as dog: ").wait_for()
    listed = page.locator(".attention-known p").all_inner_texts()
    assert "girl" not in " ".join(line for line in listed if "Read as" not in line).split()


def test_the_list_of_words_says_that_it_could_not_be_fetched(show):
    page = show(SentenceReader())
    page.get_by_text("Your own sentence").click()
    page.route("**/SentenceReader.data.js", lambda route: route.abort())
    page.locator(".attention-known summary").click()
    page.get_by_text("then open the list again").wait_for()
    page.unroute("**/SentenceReader.data.js")
    for _ in range(2):
        page.locator(".attention-known summary").click()
    page.locator(".attention-known", has_text="Read as dog: ").wait_for()
    assert not page.locator(".attention-refusal").is_visible()


def test_a_picture_taller_than_the_window_plays_when_it_fills_it(show):
    play_in_view(show, 260)


def test_a_sentence_chosen_below_the_picture_brings_it_into_view(show):
    page = show(SentenceReader(), width=390, has_touch=True, is_mobile=True)
    page.set_viewport_size({"width": 390, "height": 700})
    page.get_by_text("Your own sentence").tap()
    page.locator(".attention-sample").last.tap()
    page.settle()
    top = page.locator(".attention-sentence svg").bounding_box()["y"]
    assert 0 <= top < 200
