"""Answers whose author had not seen the graders: what is accepted, refused, or given no name."""

import importlib
import pkgutil
import re
import warnings
from pathlib import Path

import pytest

from attention_lib.checks._questions import Question
from tests.checks import blind
from tests.checks.tables import graders, questions

GENERIC = 0.15  # at most so many wrong functions of all chapters hear only where they fail
CHAPTERS = [module.name for module in pkgutil.iter_modules(blind.__path__)]
VAGUE = (  # what is said after the input and is no name of a mistake
    "The rows do not sum",
    "What stands in one row",
    "NaN: ",
    "Right for numbers of",
    "All ",
    "Nothing is True",
    "Everything is True",
    "Every number is used",
    "Each result has",
    "Two tensors meet",
    "In a matrix product",
    "The sizes asked",
    "An index counts",
    "There is an axis",
    "An axis is missing",
)


HEARD = Path(blind.__file__).with_name("heard.txt")
INPUT = re.compile(r".* Given .*?\.(?= [A-Z`]|$)", re.DOTALL)  # where a function fails, and on what


def parts(chapter):
    """The graders of a chapter and its answers."""
    return [
        importlib.import_module(f"{package}.{chapter}")
        for package in ("attention_lib.checks", "tests.checks.blind")
    ]


def generic(message):
    """Whether a message says only where a function fails, or what many mistakes have in common."""
    if not re.search("should be|expected|raised", message.split(" Given ")[0]):
        return False  # a name, or the condition that is broken
    if " Given " not in message:
        return False
    note = INPUT.sub("", message).lstrip()
    return not note or note.startswith(VAGUE)


def verdicts():
    """What is said of every wrong answer, by chapter, exercise and mistake."""
    with warnings.catch_warnings(action="ignore"):  # of the answers, some only once a process
        return {
            (chapter, exercise, mistake): getattr(checks, exercise)(answer)
            for chapter, (checks, answers) in zip(CHAPTERS, map(parts, CHAPTERS), strict=True)
            for exercise, wrong in answers.WRONG.items()
            for mistake, answer in wrong.items()
        }


@pytest.fixture(scope="module")
def heard():
    return verdicts()


def listed(heard):
    """A line for each wrong answer: what it hears, without the numbers of where it fails."""
    for answer, verdict in heard.items():
        yield f"{'.'.join(answer[:2])}, {answer[2]}: {INPUT.sub('…', verdict.message)}"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_right_answer_is_refused(chapter):
    checks, answers = parts(chapter)
    for exercise, right in answers.RIGHT.items():
        assert len(right) >= 4, exercise
        for style, answer in right.items():
            assert getattr(checks, exercise)(answer), (exercise, style)


def test_every_exercise_has_met_a_dozen_wrong_answers():
    every = {
        f"{chapter}.{exercise}": len(wrong)
        for chapter in CHAPTERS
        for exercise, wrong in parts(chapter)[1].WRONG.items()
    }
    asked = {case.id for case in [*graders(), *questions()]}
    assert asked <= set(every)
    assert min(every[case.id] for case in graders() if case.id in asked) >= 12


def test_no_wrong_answer_is_accepted(heard):
    assert [answer for answer, verdict in heard.items() if verdict] == []


def test_few_wrong_functions_hear_only_where_they_fail(heard):
    functions = {
        answer: verdict.message
        for answer, verdict in heard.items()
        if not isinstance(getattr(parts(answer[0])[0], answer[1]), Question)
    }
    unnamed = [answer for answer, message in functions.items() if generic(message)]
    assert len(unnamed) <= GENERIC * len(functions), f"{len(unnamed)} of {len(functions)}"


def test_every_wrong_answer_hears_what_it_heard(heard):
    """A grader that calls a mistake by another name, or by none, has changed for its readers.

    Where that is meant: ``.venv/bin/python -m tests.checks.test_blind``, and read the difference.
    """
    assert list(listed(heard)) == HEARD.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    HEARD.write_text("\n".join(listed(verdicts())) + "\n", encoding="utf-8")
