"""The panel in which a reader's parts run the stored writer, in a Chromium without a network."""

import pytest

from tests.page_python.test_exercises_in_browser import Exercise, of_python, weight
from tests.website.conftest import visit  # noqa: F401

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "book/one-block.html"
BLOCK = """def my_block(x, attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + attention(x))
    return norm_2(x + feed_forward(x))
"""


def test_a_readers_parts_write_and_break(visit):  # noqa: F811
    with visit(PAGE, width=320) as seen:
        page, panel = seen.page, seen.page.locator(".attention-parts")
        before = {*seen.asked}
        assert {path.name for path in of_python(seen)} == {"panel.js", "editor.css"}
        assert "no mine.py" not in page.locator("article").inner_text()
        panel.get_by_role("link", name="One block").first.click()  # within the page
        assert page.locator("h3:target, :target > h3").inner_text().startswith("Exercise 1")
        exercise = Exercise(page)
        assert exercise.judged(BLOCK) == "Correct: 4 cases agree. It is one of your parts now."
        assert "my_block yours" in panel.locator(".whose").inner_text()
        said, yours = panel.locator("output"), panel.get_by_role("group").first

        panel.get_by_role("button", name="Write").click()
        page.locator(".attention-parts .text", has_text="The query of").first.wait_for()
        panel.get_by_role("button", name="Swap two heads").click()
        page.wait_for_timeout(50)  # Python is being started again, and is ended once more
        panel.get_by_role("button", name="Leave out √d").click()
        said.filter(has_text="Your loss without √d is 1.51 nats, ours 1.22 (+0.29).").wait_for()
        assert yours.inner_text().startswith("The query of ten each other.")
        assert yours.locator("mark").inner_text().startswith("ten each other.")
        assert weight({*seen.asked} - before) <= 650_000
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert seen.axe() == []
        assert seen.violations() == [] and seen.faults == []
