"""All answers of all tables, counted: none that is wrong passes, few are told only that they are.

The tables stand in the other files of this folder, one call of ``judged`` each.
"""

import importlib
import pkgutil
from collections import Counter

import pytest

import tests.checks
from attention_lib.checks._questions import Choice, Number, Question
from tests.checks import tables
from tests.checks.tables import graders, heard, questions

GENERIC = 0.15  # the largest share of wrong answers that may hear no more than where they fail


@pytest.fixture(scope="module")
def answers():
    """Right answers, and wrong ones with what must be said of each, of all files."""
    for module in pkgutil.iter_modules(tests.checks.__path__):
        if module.name.startswith("test_"):
            importlib.import_module(f"tests.checks.{module.name}")
    rows = [[getattr(row, "values", row) for table in tables.TABLES for row in table[i]]
            for i in (0, 1)]  # fmt: skip
    return rows


def generic(verdict):
    """Whether a wrong function hears only where it fails: the complaint that ends in its input.

    This is the strict count: what is found out about an answer that is no known mistake, and said
    after its input, does not count as a name.
    """
    return " Given " in verdict.message and "changed its input" not in verdict.message


def test_no_wrong_answer_is_accepted_and_no_right_one_refused(answers):
    right, wrong = answers
    assert len(right) > 250 and len(wrong) > 900
    assert [row for row in right if not heard(*row[:2])] == []
    assert [row for row in wrong if heard(*row[:2])] == []


def test_few_wrong_functions_hear_only_where_they_fail(answers):
    wrong = [row for row in answers[1] if not isinstance(row[0], Question)]
    unnamed = [row for row in wrong if generic(heard(*row[:2]))]
    assert len(unnamed) <= GENERIC * len(wrong), f"{len(unnamed)} of {len(wrong)}"


def test_each_grader_has_met_a_dozen_wrong_answers_and_four_right_ones(answers):
    right, wrong = (Counter(id(row[0]) for row in kind) for kind in answers)
    short = {
        case.id: (right[id(case.values[1])], wrong[id(case.values[1])])
        for case in graders()
        if right[id(case.values[1])] < 4 or wrong[id(case.values[1])] < 12
    }
    assert short == {}, "right and wrong answers in the tables"


def test_each_number_has_met_a_dozen_wrong_answers(answers):
    wrong = Counter(id(row[0]) for row in answers[1])
    numbers = [case for case in questions() if isinstance(case.values[0], Number)]
    assert len(numbers) > 15
    assert {case.id: wrong[id(case.values[0])] for case in numbers
            if wrong[id(case.values[0])] < 12} == {}  # fmt: skip


@pytest.mark.parametrize("question", questions())
def test_a_question_that_nobody_answered_asks_to_be_answered(question):
    assert repr(question(...)) == "Write it, then run this cell."
    if isinstance(question, Choice):
        assert [letter for letter in question.options if question(letter)] == [question.right]
