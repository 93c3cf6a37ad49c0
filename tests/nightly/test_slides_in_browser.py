"""Slides from a folder, with notes and with a figure opened, and those of three chapters."""

import pytest

from tests.website import test_slides_in_browser
from tests.website.test_slides_in_browser import SLIDE, start_slides
from tests.website.visiting import SITE

pytestmark = [pytest.mark.site, pytest.mark.browser]


def test_slides_are_shown_from_a_folder(visit):
    with visit("404.html") as seen:
        context = seen.page.context.browser.new_context()  # one that opens files
        page = context.new_page()
        page.goto((SITE / "book" / "masking.html").as_uri())
        start_slides(page)
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".slides-bar output:text-matches('^2 of')")
        context.close()


def test_notes_of_each_slide_stand_in_a_window_of_their_own(visit):
    with visit("book/masking.html") as seen:
        start_slides(seen.page)
        with seen.page.expect_popup() as opened:
            seen.page.keyboard.press("n")
        notes = opened.value
        notes.get_by_role("heading", name="1 of").wait_for()
        assert notes.get_by_text("In one sentence").count() == 1
        assert not notes.get_by_text("On paper").count()  # this one is of a later section
        notes.keyboard.press("ArrowRight")
        notes.keyboard.press("ArrowRight")
        notes.get_by_role("heading", name="Empty chairs").wait_for()
        assert notes.get_by_text("On paper").count() == 1
        notes.keyboard.press("End")
        notes.get_by_role("heading", name="Summary").wait_for()
        notes.get_by_text("Discuss").wait_for()
        assert not notes.get_by_text("In one sentence").count()
        assert seen.page.locator(".slide-now").first.inner_text().startswith("Summary")
        assert seen.faults == []


def test_a_figure_with_more_open_stays_on_the_slide(visit):
    with visit("book/masking.html") as seen:
        page = seen.page
        start_slides(page)
        while not page.locator(".slide-now.attention-widget, .slide-now .attention-widget").count():
            page.keyboard.press("ArrowRight")
        figure = page.locator(".attention-view").first
        figure.get_by_text("More", exact=True).click()
        page.locator(".slide-last:visible").wait_for()
        page.wait_for_function("document.documentElement.scrollHeight <= innerHeight + 1")
        figure.get_by_label("Causal mask as well").check()
        assert page.evaluate(SLIDE)["letters"] >= 12
        assert seen.faults == []


@pytest.mark.parametrize("chapter", ["masking", "one-head", "multi-head"])
def test_slides_fill_a_projector(visit, chapter):
    test_slides_in_browser.fill_a_projector(visit, chapter)
