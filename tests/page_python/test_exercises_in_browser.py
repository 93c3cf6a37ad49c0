"""Exercises done in the page as readers do them, in a Chromium that reaches nothing else."""

import gzip
import json
from pathlib import Path

import pytest

from tests.page_python.test_graders_of_the_page import published
from tests.website.conftest import visit  # noqa: F401
from website.extensions.exercises.code import STATIC

pytestmark = [pytest.mark.site, pytest.mark.browser]

LOOKUP = "def my_lookup(queries, keys, values, temperature):\n"
RIGHT = f"{LOOKUP}    s = queries @ keys.mT / temperature\n    e = (s - s.amax(-1, True)).exp()\n"
RIGHT += "    return e / e.sum(-1, True) @ values\n"
PAGE = "book/soft-lookup.html"
CORRECT = "Correct: 10 cases agree. It is one of your parts now."


class Exercise:
    """An exercise of a page that is open."""

    def __init__(self, page, number=0):
        self.page, self.place = page, page.locator(".attention-code[data-name]").nth(number)
        self.field, self.run = self.place.locator("textarea"), self.place.locator(".run")
        for folded in self.place.locator("details.own:not([open]) > summary").all():
            folded.click()

    @property
    def said(self):
        return self.place.locator("output").last.inner_text()

    def judged(self, code=None):
        """Write code, press the button, and return what is said."""
        if code is not None:
            self.field.fill(code)
        self.run.click()
        self.place.locator(".run", has_text="Run and check").wait_for(timeout=60_000)
        return self.said


def weight(paths):
    """Bytes on the way: what a server compresses, and what is compressed already."""
    sizes = {}
    for path in paths:
        content = path.read_bytes()
        sizes[path.name] = len(content if path.suffix == ".packed" else gzip.compress(content))
    return sum(sizes.values())


def of_python(seen):
    return {path for path in seen.asked if path.parent.name == STATIC}


def test_python_comes_with_the_first_press_and_is_light(visit):  # noqa: F811
    with visit(PAGE) as seen:
        before = of_python(seen)
        assert {path.name for path in before} == {"editor.js", "editor.css"}
        exercise = Exercise(seen.page)
        assert exercise.judged() == "Write it, then press Run and check."
        seen.quiet()
        assert weight(of_python(seen) - before) <= 300_000
        assert exercise.judged(RIGHT) == CORRECT
        assert seen.violations() == [] and seen.faults == []


def test_solutions_are_right_on_the_page(visit):  # noqa: F811
    solutions = {grader: (name, code) for grader, name, code in published("one_head")}
    with visit("book/one-head.html") as seen:
        places = seen.page.locator(".attention-code").evaluate_all(
            "places => places.map(({ dataset }) => [dataset.exercise, dataset.name])"
        )
        for number, (grader, name) in enumerate(places):
            other, code = solutions[grader]
            said = Exercise(seen.page, number).judged(f"{code}\n\n{name} = {other}\n")
            assert said.startswith("Correct: ")
        assert seen.faults == []


def test_a_mistake_hears_the_notebooks_sentence_and_shows_its_line(visit):  # noqa: F811
    with visit(PAGE) as seen:
        exercise = Exercise(seen.page)
        wrong = f"{LOOKUP}    return (queries @ keys.mT).softmax(-1) @ values\n"
        assert exercise.judged(wrong).startswith("Not yet: the temperature has no effect: ")
        said = exercise.judged(f"{LOOKUP}    print('here')\n    return queries @ keys\n")
        assert "stops with a RuntimeError in the line return queries @ keys" in said
        assert exercise.place.locator(".printed").inner_text().strip() == "here"
        assert exercise.place.locator(".behind .marked").inner_text() == "    return queries @ keys"


def test_the_letters_behind_a_field_are_its_own_and_move_with_it(visit):  # noqa: F811
    with visit(PAGE, width=390) as seen:
        exercise, page = Exercise(seen.page), seen.page
        exercise.field.fill(f'{LOOKUP}    x = \'é\\\'#\' + """a\n# b"""  # c\n' + "y" * 200)
        behind = exercise.place.locator(".behind")
        lines = behind.locator(".line").evaluate_all("all => all.map(one => one.textContent)")
        assert "\n".join(lines) == exercise.field.input_value()
        assert behind.locator(".s").all_inner_texts() == ["'é\\'#'", '"""a', '# b"""']
        exercise.field.focus()
        page.keyboard.press("Control+End")
        page.wait_for_timeout(100)
        moved = exercise.field.evaluate("field => [field.scrollLeft, field.scrollTop]")
        assert moved[0] > 0
        assert behind.evaluate("one => [one.scrollLeft, one.scrollTop]") == moved
        left = "(one, i) => { const range = document.createRange(); range.selectNodeContents(one); "
        left += "return range.getBoundingClientRect().left; }"
        text = behind.locator(".text").last.evaluate(left)
        styles = "field => parseFloat(getComputedStyle(field).paddingLeft) + field.clientLeft"
        start = exercise.field.bounding_box()["x"] + exercise.field.evaluate(styles) - moved[0]
        assert abs(text - start) < 1


def test_in_forced_colours_the_line_that_stopped_has_an_outline(visit):  # noqa: F811
    with visit(PAGE, forced_colors="active") as seen:
        exercise = Exercise(seen.page)
        exercise.judged(f"{LOOKUP}    return queries @ keys\n")
        style = "line => getComputedStyle(line).outlineStyle"
        assert exercise.place.locator(".behind .marked").evaluate(style) == "solid"
        assert exercise.place.locator(".behind .line").first.evaluate(style) == "none"


def test_a_verdict_on_code_that_has_changed_is_dropped(visit):  # noqa: F811
    with visit(PAGE) as seen:
        exercise = Exercise(seen.page)
        exercise.judged()
        exercise.field.fill(RIGHT)
        typed = "new InputEvent('input', { bubbles: true })"
        exercise.place.evaluate(
            "place => { const field = place.querySelector('textarea');"
            "place.querySelector('.run').click(); field.value += 'x';"
            f"field.dispatchEvent({typed}); }}"
        )
        exercise.place.locator(".run", has_text="Run and check").wait_for(timeout=60_000)
        assert exercise.said == "Your code has changed while this ran. Run it again."
        assert "attention-right" not in exercise.place.get_attribute("class")


def test_what_is_stored_and_no_json_removes_no_editor(visit):  # noqa: F811
    with visit(PAGE) as seen:
        page = seen.page
        page.evaluate("localStorage.setItem('attention-code soft_lookup.lookup form', '{x')")
        page.evaluate("localStorage.setItem('answers', '[')")
        page.reload()
        assert page.locator(".attention-code textarea").count() == 2
        assert Exercise(page).judged(RIGHT).startswith("Correct")
        assert seen.faults == []


def test_code_that_sleeps_is_answered_at_the_limit(visit):  # noqa: F811
    with visit(PAGE) as seen:
        exercise = Exercise(seen.page)
        exercise.judged()
        for seconds in (3, 60):
            sleeps = f"import time\n\n\n{LOOKUP}    time.sleep({seconds})\n    return values\n"
            assert "seconds" in exercise.judged(sleeps)
            assert int(exercise.place.get_attribute("data-milliseconds")) < 9000


def test_the_verdict_comes_into_view_and_stays_while_one_types(visit):  # noqa: F811
    with visit(PAGE) as seen:
        exercise, page = Exercise(seen.page), seen.page
        exercise.field.fill(f"{LOOKUP}    return 1\n" + "\n" * 18)
        exercise.field.evaluate("field => field.scrollIntoView({ block: 'end' })")
        page.keyboard.press("Control+Enter")
        said = exercise.place.locator("output", has_text="Not yet").last
        said.wait_for(timeout=60_000)
        page.wait_for_timeout(100)
        box = said.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= page.viewport_size["height"] + 1
        words, colour = exercise.said, "node => getComputedStyle(node).color"
        before = said.evaluate(colour)
        page.keyboard.type("x")
        assert exercise.said == words and said.evaluate(colour) != before
        assert "attention-wrong" not in exercise.place.get_attribute("class")


def test_an_exercise_is_done_by_keyboard_and_heard(visit):  # noqa: F811
    with visit(PAGE) as seen:
        exercise, page = Exercise(seen.page), seen.page
        exercise.field.focus()
        page.keyboard.press("Control+A")
        page.keyboard.type("def my_lookup(queries, keys, values, temperature):")
        page.keyboard.press("Enter")
        page.keyboard.type("return 1")
        page.keyboard.press("Enter")  # after `return` a step back
        page.keyboard.press("Tab")
        page.keyboard.type("x")
        page.keyboard.press("Backspace")
        page.keyboard.press("Backspace")
        assert exercise.field.input_value() == f"{LOOKUP}    return 1\n"
        page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "run"
        page.keyboard.press("Enter")
        exercise.place.locator("output", has_text="Not yet").wait_for(timeout=60_000)
        assert exercise.place.get_by_role("status").last.inner_text().startswith("Not yet")
        assert exercise.field.get_attribute("aria-label").startswith("Your code for Exercise 1")


def test_a_draft_survives_and_can_be_erased(visit):  # noqa: F811
    with visit(PAGE) as seen:
        exercise = Exercise(seen.page)
        stub = exercise.field.input_value()
        assert exercise.judged(RIGHT).startswith("Correct")
        seen.page.reload()
        exercise = Exercise(seen.page)
        reset = exercise.place.get_by_role("button", name="reset")
        assert exercise.field.input_value() == RIGHT
        assert exercise.said == "You have solved this one."
        exercise.place.get_by_role("button", name="Copy a link").click()
        link = seen.page.evaluate("navigator.clipboard.readText()")
        exercise.field.fill("x = 1")
        seen.page.reload()
        assert exercise.said == "You have solved this one, with other code."
        assert "attention-right" not in exercise.place.get_attribute("class")
        reset.click()
        assert exercise.field.input_value() == stub
        reset.click()
        assert exercise.field.input_value() == "x = 1"
        reset.click()
        names = seen.page.evaluate("Object.keys(localStorage)")
        assert {*names} - {"place"} == {"attention-code mine.py"}
        exercise.place.locator("summary", has_text="yourself").click()
        assert not exercise.field.is_visible()
        seen.page.goto(link)
        exercise.field.wait_for()
        assert exercise.field.input_value() == RIGHT
        assert 0 < exercise.field.bounding_box()["y"] < 800


def test_the_editor_fits_a_phone(visit):  # noqa: F811
    with visit(PAGE, width=320, has_touch=True) as seen:
        exercise = Exercise(seen.page)
        exercise.field.tap()
        for key in ("dim=", "⇥"):
            exercise.place.get_by_role("button", name=key, include_hidden=True).tap()
        assert exercise.field.input_value().endswith("dim=    ")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 320
        size = exercise.field.evaluate("field => parseFloat(getComputedStyle(field).fontSize)")
        assert size >= 16  # smaller ones are magnified by phones
        assert seen.axe() == []


def test_code_of_all_chapters_is_saved_and_erased(visit):  # noqa: F811
    with visit(PAGE) as seen:
        exercise, page = Exercise(seen.page), seen.page
        exercise.field.fill(RIGHT)
        with page.expect_download() as download:
            page.get_by_role("button", name="Save it as a file").click()
        kept = json.loads(Path(download.value.path()).read_text())
        assert kept == {"attention-code soft_lookup.lookup": RIGHT}
        page.on("dialog", lambda dialog: dialog.accept())
        with page.expect_navigation():
            page.get_by_role("button", name="Erase it").click()
        assert page.evaluate("Object.keys(localStorage).join()") == ""
        assert exercise.field.input_value() != RIGHT


def test_a_light_form_is_done_by_touch_and_without_python(visit):  # noqa: F811
    with visit("book/masking.html", width=390, has_touch=True) as seen:
        place = seen.page.locator(".attention-code[data-form]")
        said = place.locator("output").first

        def tap(text):
            place.locator(".tray button", has_text=text).first.tap()

        tap("weights = scores.softmax")
        tap("return")
        place.locator(".check").tap()
        assert "hidden scores are not taken out before the softmax" in said.inner_text()
        place.locator(".program button", has_text="scores.softmax").tap()
        place.locator(".program button", has_text="return").tap()
        tap("-torch.inf")
        tap("weights = visible")
        tap("return")
        place.locator(".check").tap()
        assert said.inner_text() == "Correct: 11 cases agree. It is one of your parts now."
        kept = seen.page.evaluate("localStorage.getItem('attention-code mine.py')")
        assert "\n\n\ndef my_masked_softmax(scores, mask):\n    visible = " in kept
        assert of_python(seen) == {p for p in of_python(seen) if p.name.startswith("editor.")}
        seen.page.reload()
        assert place.locator(".program li").count() == 3
        assert said.inner_text() == "You have solved this one."
        assert seen.faults == []


def test_a_second_change_takes_back_the_first_and_says_so(visit):  # noqa: F811
    with visit("book/heatmaps.html") as seen:
        place = seen.page.locator(".attention-code[data-form]").first
        place.locator("summary").first.click()
        first, second = place.get_by_label("Part 1"), place.get_by_label("Part 2")
        first.select_option("1")
        second.select_option("1")
        said = place.locator("output").first.inner_text()
        assert said == "Only one place may change: part 1 is as it was."
        assert first.input_value() == "0"


def test_without_a_script_the_page_says_where_the_exercise_runs(visit):  # noqa: F811
    with visit(PAGE, scripts=False) as seen:
        assert "download the notebook" in seen.page.locator(".attention-code").first.inner_text()
