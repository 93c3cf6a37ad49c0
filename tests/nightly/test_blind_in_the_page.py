"""Answers whose authors had not seen the graders hear the same in the page and the notebook."""

import ast
import importlib
import json
import re
from itertools import chain

import pytest

from attention_workbook import exercises
from attention_workbook.exercises.engine.exercise import Exercise
from page_python import export
from tests.attention_workbook.exercises import answers
from tests.page_python.test_graders_of_the_page import differing, hold_mistakes

OUTSIDE = ("np", "numpy", "Fraction")  # what a page does not have
# Of all answers so many may hear other words, such as Python's own errors. None may be taken for
# right here and for wrong there, unless the page says that it lacks an operation.
WORDS = 0.03
LACKING = "this page does not know"


def preamble(chapter):
    """What a chapter's answers share, without what a page cannot import."""
    first = (answers.BLIND / f"{chapter}.jsonl").read_text(encoding="utf-8").splitlines()[0]
    body = [
        node
        for node in ast.parse(json.loads(first)["preamble"]).body
        if not any(word in ast.unparse(node).replace(".", " ").split() for word in OUTSIDE)
    ]
    return "\n\n".join(map(ast.unparse, body))


def asked(chapter, every=1):
    """A chapter's answers as the page judges them, and what the notebook says."""
    module = importlib.import_module(f"{exercises.__name__}.{chapter}")
    shared = preamble(chapter)
    for row in answers.rows(chapter)[::every]:
        exercise = getattr(module, row["exercise"], None)
        code = row["code"]
        outside = any(f"{word}." in code or f"{word}(" in code for word in OUTSIDE)
        if not isinstance(exercise, Exercise) or outside:
            continue
        answer = answers.answer(row)
        if not callable(answer):
            continue
        name, source = "answer", f"answer = {code}"
        if "\n" in code or code.isidentifier():
            name, source = answer.__name__, code
            if "\n" not in code and f"def {code}(" not in shared:
                continue  # its function needs what a page does not have
        ask = {"chapter": chapter, "exercise": row["exercise"], "name": name}
        yield ask | {"source": f"{shared}\n\n{source}\n"}, repr(exercise(answer))


def plain(said):
    """A verdict without what hangs on last bits or on the file that holds an answer."""
    said = re.sub(r" in the line `[^`]*`", "", said)
    return re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.4g}", said)


def compared(chapter, every=1):
    pairs = [*asked(chapter, every)]
    lines = differing(*zip(*pairs, strict=True), plain) if pairs else []
    return len(pairs), [line for line in lines if LACKING not in line]


def test_blind_answers_hear_in_the_page_what_they_hear_in_the_notebook():
    chapters = {*export.chapters()} & {*answers.chapters()}
    counts, lines = zip(*map(compared, sorted(chapters)), strict=True)
    lines = [*chain(*lines)]
    assert len(lines) <= WORDS * sum(counts), "\n".join(lines)
    assert not [line for line in lines if "page: Correct" in line or "book: Correct" in line]


@pytest.mark.parametrize("chapter", export.chapters())
def test_declared_mistakes_hear_in_the_page_what_they_hear_in_the_notebook(chapter):
    hold_mistakes([chapter])
