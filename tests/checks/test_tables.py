"""All answers of all tables, counted: none that is wrong passes, few are told only that they are.

The tables stand in the other files of this folder, one call of ``judged`` each.
"""

import importlib
import pkgutil
from collections import Counter

import pytest
import torch

import tests.checks
from attention_lib.checks._grading import grade
from attention_lib.checks._questions import Choice, Number, Question
from tests.checks import tables
from tests.checks.tables import graders, heard, known, misnamed, questions
from tests.checks.test_blind import HEARD

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


def test_no_answer_hears_of_a_mistake_that_it_does_not_make(answers):
    """Neither one that its table does not name, nor one that differs from it on other inputs."""
    wrong = answers[1]
    named = [row for row in wrong if not generic(heard(*row[:2]))]
    bad = [row for row in named if not row[2] or misnamed(*row[:2])]
    said = "\n".join(heard(*row[:2]).message for row in bad)
    assert len(named) > 1400
    assert not bad, f"{len(bad)} of {len(wrong)} wrong answers are misnamed:\n{said}"


def test_every_mistake_that_a_grader_knows_is_made(answers):
    """By an answer of some table, or by a blind one: a sentence that nobody hears is dead."""
    wrong = answers[1]
    sentences = set().union(*(known(*row[:2]) for row in wrong))
    said = {heard(*row[:2]).message for row in wrong}
    blind = HEARD.read_text(encoding="utf-8")
    assert len(sentences) > 1000
    assert [s for s in sorted(sentences - said) if f": {s}\n" not in blind] == []


def test_no_message_shows_where_something_lies_in_memory(answers):
    assert [row for row in answers[1] if " at 0x" in heard(*row[:2]).message] == []


def test_a_mistake_that_differs_on_other_inputs_was_not_made():
    """Two functions that are alike on the grader's inputs, which are whole numbers."""

    def grader(answer):
        mistakes = [(torch.relu, "that is relu.")]
        return grade(answer, lambda x: x.exp(), [(torch.tensor([[1.0, 4.0]]),)], mistakes)

    assert misnamed(grader, lambda x: x.relu()) == ""
    assert misnamed(grader, lambda x: x.round()) == "that is relu."


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
