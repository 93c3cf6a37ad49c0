"""The panel in which a reader's parts write: with a cache, saved and opened, and without an end."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from page_python import export
from tests.page_python.test_exercises_in_browser import Exercise
from tests.page_python.test_panel_in_browser import BLOCK, PAGE

pytestmark = [pytest.mark.site, pytest.mark.browser]


def test_parts_write_the_same_letters_with_a_cache_and_without(visit):
    with visit("book/kv-cache.html", width=320) as seen:
        panel = seen.page.locator(".attention-parts")
        assert panel.get_by_role("button").all_inner_texts()[0] == "Write"
        panel.get_by_role("button", name="Write").click()
        panel.locator("output", has_text="All 64 letters are the same.").wait_for(timeout=90_000)
        cached, yours = panel.get_by_role("group").all_inner_texts()[:2]
        assert cached == yours
        assert "letters a second with the cache;" in panel.inner_text()
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 320
        assert seen.axe() == []
        assert seen.violations() == [] and seen.faults == []


SCORES = "def my_unit_scores(queries, keys, std):\n    return queries @ keys.mT / std**2\n"


def test_a_readers_parts_are_saved_and_opened(visit, tmp_path):
    with visit(PAGE, width=320) as seen:
        page, panel = seen.page, seen.page.locator(".attention-parts")
        exercise = Exercise(page)
        exercise.judged(BLOCK)
        said, yours = panel.locator("output"), panel.get_by_role("group").first
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
        names = [*export.PARTS_THAT_WRITE["one_block"]]
        names.remove("my_block")
        parts = "\n\n\n".join(f"def {part}(): pass" for part in names)
        page.evaluate("text => localStorage.setItem('attention-code mine.py', text)", parts)
        exercise.judged()
        exercise.place.get_by_role("link", name="Let your parts write").click()
        assert page.locator(":target").evaluate("place => place.matches('.attention-parts')")
        assert seen.axe() == []
        assert seen.violations() == [] and seen.faults == []


HANGS = """def my_block(x, attention, feed_forward, norm_1, norm_2):
    while x.shape[1] > 12:
        pass
    x = norm_1(x + attention(x))
    return norm_2(x + feed_forward(x))
"""
LOOKUP = """import numpy as np


def my_lookup(queries, keys, values, temperature):
    return np.exp(queries)
"""


def test_a_part_that_hangs_on_longer_texts_is_named_and_not_kept(visit, tmp_path):
    with visit(PAGE) as seen:
        page, panel = seen.page, seen.page.locator(".attention-parts")
        said, field = panel.locator("output"), panel.locator("textarea")
        file = tmp_path / "mine.py"
        file.write_text(f"{LOOKUP}\n\n{HANGS}")
        panel.locator("summary").click()
        panel.locator("input[type=file]").set_input_files(file)
        expect(said).to_have_text("Opened. Press Write.")
        field.fill(HANGS)
        panel.get_by_role("button", name="Write").click()
        expect(said).to_contain_text("my_block was still running after 5 seconds", timeout=60_000)
        expect(said).to_contain_text("go back to what is kept")
        expect(panel.locator(".wrong")).to_contain_text("my_block yours, and not right: it stops")
        assert page.evaluate("localStorage.getItem('attention-code mine.py')") is None

        field.fill(f"{LOOKUP}\n\n{BLOCK}")  # what a page lacks stops no part but its own
        panel.get_by_role("button", name="Write").click()
        more = "my_lookup is more than this page can run: it stops with an ImportError in the line"
        expect(said).to_contain_text("All 64 letters are the same. Your loss", timeout=60_000)
        expect(said).to_contain_text(more)
        field.fill(BLOCK)
        panel.get_by_role("button", name="Write").click()
        expect(said).to_have_text(re.compile("^All 64 .* ours 1.22.$"), timeout=60_000)
        assert page.evaluate("localStorage.getItem('attention-code mine.py')") == BLOCK

        exercise = Exercise(page)
        exercise.place.get_by_role("button", name="Show it").click()
        assert exercise.field.input_value() == BLOCK
        assert exercise.judged().startswith("Correct: 4 cases agree.")
        assert page.evaluate("localStorage.getItem('attention-code mine.py')") == BLOCK
        assert seen.faults == []
