"""Lighter forms of exercises: one answer is right, and each wrong one hears something."""

import re
import subprocess
from pathlib import Path

import pytest

from page_python.forms import forms, names
from tests.page_python.test_graders_of_the_page import NODE, exercises_of
from website import book

TEST = Path(__file__).with_name("forms.test.mjs")


@pytest.mark.parametrize("name", names())
def test_one_answer_of_a_form_is_right(name):
    form = forms()[name]
    verdicts = form["verdicts"]
    right = [key for key, (passed, _) in verdicts.items() if passed]
    assert len(right) == 1 and len(verdicts) >= 3
    wrong = [said for passed, said in verdicts.values() if not passed]
    assert all(said.startswith("Not yet: ") for said in wrong)
    assert not [said for said in wrong if " Given " in said]  # a reason, not only a case
    if form["kind"] == "mend":
        start = ",".join("0" for _ in form["places"])
        assert start not in right and "stops with" not in verdicts[start][1]


def test_each_chapter_of_part_one_has_a_form_for_one_of_its_exercises():
    parts = dict(book.parts())
    chapters = next(listed for caption, listed in parts.items() if caption.startswith("Part I:"))
    modules = {Path(source).stem.replace("-", "_") for source in chapters}
    assert {name.split(".")[0] for name in names()} == modules
    for name in names():
        chapter, exercise = name.split(".")
        assert exercise in [grader for grader, *_ in exercises_of(chapter.replace("_", "-"))]


def test_lines_are_judged_by_what_they_make_and_use():
    done = subprocess.run([NODE, "--test", TEST], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    assert re.search(r"pass 8\b", done.stdout)
