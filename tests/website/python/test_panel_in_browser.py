"""The panel in which a reader's parts run the stored writer, in a Chromium without a network."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.website.conftest import visit  # noqa: F401
from tests.website.python.test_exercises_in_browser import Exercise, of_python, weight
from website.python import export

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "book/one-block.html"
BLOCK = """def my_block(x, attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + attention(x))
    return norm_2(x + feed_forward(x))
"""
SCORES = "def my_unit_scores(queries, keys, std):\n    return queries @ keys.mT / std**2\n"


def test_a_readers_parts_write_break_and_are_saved_and_opened(visit, tmp_path):  # noqa: F811
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
        panel.get_by_role("button", name="Exchange two heads").click()
        page.wait_for_timeout(50)  # Python is being started again, and is ended once more
        panel.get_by_role("button", name="Leave out √d").click()
        said.filter(has_text="Your loss without √d is 1.51 nats, ours 1.22 (+0.29).").wait_for()
        assert yours.inner_text().startswith("The query of ten each other.")
        assert yours.locator("mark").inner_text().startswith("ten each other.")
        assert weight({*seen.asked} - before) <= 650_000
        assert page.evaluate("document.documentElement.scrollWidth") <= 320

        panel.locator("summary").click()
        with page.expect_download() as download:
            panel.get_by_role("button", name="Save mine.py").click()
        text = Path(download.value.path()).read_text()
        assert text.endswith(f"\n\n\n{BLOCK}")
        file = tmp_path / "mine.py"
        file.write_text(f"{text}\n\n{SCORES}")
        panel.locator("input[type=file]").set_input_files(file)
        expect(said).to_have_text("Opened. Press Write.")
        page.reload()  # what is not graded yet stays
        panel.get_by_role("button", name="Write").click()
        panel.locator(".wrong", has_text="my_unit_scores yours, and not right: √d").wait_for()
        panel.get_by_role("button", name="Stop").click()
        panel.get_by_role("button", name="Back to what is kept").click()
        assert panel.locator("textarea").input_value() == text
        expect(said).to_be_empty()
        assert yours.inner_text() == "The query " and not panel.locator(".wrong").count()
        parts = "\n".join(
            f"def {part}(): pass" for part in export.DRIVING["one_block"] if part != "my_block"
        )
        page.evaluate("text => localStorage.setItem('attention-code mine.py', text)", parts)
        exercise.judged()
        exercise.place.get_by_role("link", name="Let your parts write").click()
        assert page.locator(":target").evaluate("place => place.matches('.attention-parts')")
        assert seen.axe() == []
        assert seen.violations() == [] and seen.faults == []
