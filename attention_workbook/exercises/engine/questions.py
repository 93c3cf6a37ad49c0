"""Questions that a number or a choice answers: their rules are data.

A chapter's questions stand in ``chapter.toml`` beside its module. The notebook and the website
check an answer by the same rules: a question goes by its ``rules`` itself, and ``exercise.js``
reads them from the page.
"""

import html
import json
import math
import tomllib
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from attention_workbook.exercises.engine.form import VIEW, form_of, inline
from attention_workbook.exercises.engine.numbers import digits_of, number_of, slip_in
from attention_workbook.exercises.engine.verdict import UNWRITTEN, Verdict

__all__ = ["Choice", "Number", "Question", "Quiz", "questions"]

Rules = dict[str, Any]


class Question:
    """A question with rules that judge its answer; call it with the answer.

    Parameters
    ----------
    kind : str
        "number" or "choice".
    question : str
        What is asked, in a few words or a sentence; code between backticks.
    solution : str
        The right answer and its reason, as a sentence.
    **rules
        What judges an answer, as JSON can hold it.

    Examples
    --------
    >>> isinstance(Number("What is 1 + 1?", 2), Question)
    True
    """

    name = ""  # what the chapter's module calls it

    def __init__(self, kind: str, question: str, solution: str, **rules: Any) -> None:
        self.question, self.solution, self.right = question, solution, rules["right"]
        self.rules: Rules = {"kind": kind, "question": question, **rules}

    def __call__(self, answer: object = ...) -> Verdict:
        """Judge an answer; ``...`` is one that nobody has given yet."""
        if answer is ...:
            return Verdict.unwritten(self.html())
        passed, message = self.judge(answer)
        return Verdict(passed, message)

    def judge(self, answer: object) -> tuple[bool, str]:
        """Return whether an answer is right, and what to say of it."""
        raise NotImplementedError

    def html(self, inside: str = f"<p>{UNWRITTEN}</p>") -> str:
        """Return what a page shows: something to read, which its script makes into a form."""
        rules = html.escape(json.dumps(self.rules, ensure_ascii=False))
        return f'<div class="attention-exercise" data-exercise="{rules}">{inside}</div>'


class Number(Question):
    """A question that a number answers.

    Parameters
    ----------
    question : str
        What is asked.
    right : float
        The right number.
    tolerance : float
        How far an answer may be from it, such as can be read from a figure. Three digits are always
        enough, but for whole numbers below 1000.
    because : str
        What is said of the right answer; by default only that it is right.
    mistakes : sequence of (float, str) or (float, str, float)
        Wrong numbers that readers are known to give, and what to say of each; with a tolerance
        of its own where the question's does not fit it.

    Examples
    --------
    >>> import torch
    >>> inverse = Number("What is 1/2?", 0.5, mistakes=[(2, "that is the inverse.")])
    >>> inverse(0.5), inverse(torch.tensor(2)), inverse(0.3), inverse(float("nan"))
    (Correct: 0.5 it is., Not yet: that is the inverse., Not yet: that is too small., \
Not yet: NaN is not a number.)
    >>> inverse(...)
    Write it, then run this cell.
    """

    def __init__(
        self,
        question: str,
        right: float,
        *,
        tolerance: float = 0.0,
        because: str = "",
        mistakes: Sequence[tuple[float, str] | tuple[float, str, float]] = (),
    ) -> None:
        because = because or f"{_written(right)} it is."
        usual = tolerance + 1e-7 * max(1.0, abs(right))  # what float32 rounds away
        wrong = [_mistake_rules(usual, *mistake) for mistake in mistakes]
        tolerance = usual
        if right != round(right):  # three digits are enough, if no mistake lies so near
            apart = [abs(mistake["value"] - right) / 3 for mistake in wrong]
            tolerance = max(usual, min([0.005 * abs(right), *apart]))
        for mistake in wrong:
            if abs(mistake["value"] - right) <= tolerance:
                raise ValueError(f"{mistake['value']} is no mistake: {right} is right")
        super().__init__(
            "number",
            question,
            because,
            right=right,
            tolerance=tolerance,
            rounded=right == round(right) and abs(right) >= 1000,
            correct=because,
            mistakes=wrong,
            small="that is too small.",
            large="that is too large.",
            nan="NaN is not a number.",
            other="a number is expected",
        )

    def judge(self, answer: object) -> tuple[bool, str]:
        """Return whether an answer is right, and what to say of it."""
        numbers = number_of(answer, self.question)
        if not numbers:
            return False, f"{self.rules['other']}, not {_short(answer)}."
        verdicts = [self._judge(number) for number in numbers]
        return next((verdict for verdict in verdicts if verdict[0]), verdicts[0])

    def _judge(self, number: float) -> tuple[bool, str]:
        rules = self.rules
        if math.isnan(number):
            return False, rules["nan"]
        if self._is_right(number):
            return True, rules["correct"]
        away = [(abs(number - m["value"]), m) for m in rules["mistakes"]]
        near = [(distance, m) for distance, m in away if distance <= m["tolerance"]]
        if near:
            return False, min(near, key=itemgetter(0))[1]["message"]
        side = rules["small"] if number < rules["right"] else rules["large"]
        return False, slip_in(number, rules["right"]) or side

    def _is_right(self, number: float) -> bool:
        """Whether a number is the right one, or a large whole one rounded to three digits."""
        right = self.rules["right"]
        if abs(number - right) <= self.rules["tolerance"]:
            return True
        digits = digits_of(number)
        rounds = self.rules["rounded"] and math.isfinite(number) and 3 <= digits <= 17
        return rounds and number == float(f"{right:.{digits - 1}e}")


class Choice(Question):
    """A question with a few answers to choose from, which are called a, b, c …

    Parameters
    ----------
    question : str
        What is asked.
    options : sequence of (str, str)
        The answers, each with why it is right or why it is not.
    right : str
        The letter of the right one.

    Examples
    --------
    >>> sky = Choice(
    ...     "What is above?", [("the ground", "that is below."), ("the sky", "look up.")], "b"
    ... )
    >>> sky("b)"), sky("A"), sky("c")
    (Correct: look up., Not yet: that is below., Not yet: one of "a", "b" is expected.)
    """

    def __init__(self, question: str, options: Sequence[tuple[str, str]], right: str) -> None:
        named = zip(ascii_lowercase, options, strict=False)
        self.options = [{"key": key, "text": t, "message": why} for key, (t, why) in named]
        reasons = {option["key"]: option["message"] for option in self.options}
        if right not in reasons:
            raise ValueError(f"right must be one of {', '.join(reasons)}, not {right}")
        super().__init__(
            "choice",
            question,
            f"{right}: {reasons[right]}",
            right=right,
            options=self.options,
            other=f"one of {', '.join(map(json.dumps, reasons))} is expected.",
        )

    def judge(self, answer: object) -> tuple[bool, str]:
        """Return whether an answer is right, and what to say of it."""
        chosen = answer.strip(" ().").lower() if isinstance(answer, str) else None  # "b" or "b)"
        for option in self.options:
            if chosen in (option["key"], option["text"].rstrip(" ().").lower()):
                return option["key"] == self.right, option["message"]
        return False, self.rules["other"]


class Quiz:
    """The questions at the end of a chapter, asked or answered.

    Parameters
    ----------
    *questions : Question
        What is asked; three are enough.
    answers : sequence
        An answer for each; ``...`` where there is none yet, as where there are too few.

    Examples
    --------
    >>> quiz = Quiz(Number("What is 1 + 1?", 2), Number("What is 2 + 2?", 4))
    >>> quiz(2, ...)
    1. Correct: 2 it is.
    2. What is 2 + 2?
    To answer, run `exercise.quiz(1.5, 1.5)` with your answers; `...` leaves one out.
    """

    def __init__(self, *questions: Question, answers: Sequence[object] = ()) -> None:
        self.questions, self.too_many = questions, answers[len(questions) :]
        left = (...,) * len(questions)
        self.answers = (*answers, *left)[: len(questions)]

    def __call__(self, *answers: object) -> "Quiz":
        """Judge an answer for each question, the first ones first; without answers, ask."""
        return Quiz(*self.questions, answers=answers)

    def __bool__(self) -> bool:
        right = all(map(Question.__call__, self.questions, self.answers))
        return right and not self.too_many

    def __repr__(self) -> str:
        lines, pairs = [], zip(self.questions, self.answers, strict=True)
        for number, (question, answer) in enumerate(pairs, start=1):
            line = question.question if answer is ... else repr(question(answer))
            lines.append(f"{number}. {line}")
            if answer is ... and isinstance(question, Choice):
                lines += [f"   {option['key']}) {option['text']}" for option in question.options]
        if ... in self.answers:
            lines.append(self._instructions())
        if self.too_many:
            count = len(self.questions) + len(self.too_many)
            lines.append(f"There are {len(self.questions)} questions, and {count} answers came.")
        return "\n".join(lines)

    def _instructions(self) -> str:
        """Say how to answer where no form is shown."""
        example = ", ".join(map(_example, self.questions))
        return f"To answer, run `exercise.quiz({example})` with your answers; `...` leaves one out."

    def _repr_html_(self) -> str | None:
        if self.too_many or any(answer is not ... for answer in self.answers):
            return None
        items = "".join(f"<li>{_html_of(question)}</li>" for question in self.questions)
        instructions = f'<p class="attention-how">{inline(self._instructions())}</p>'
        return f'<ol class="attention-quiz">{items}</ol>{instructions}'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return a form for a notebook; text and HTML come by themselves."""
        form = form_of(self.questions) if self._repr_html_() else None
        if form is None:
            return {}
        return {VIEW: {"version_major": 2, "version_minor": 0, "model_id": form.model_id}}


def questions(chapter: str) -> Iterator[Any]:
    """Yield the questions of ``chapter.toml`` in their order, and at the end its quiz.

    A table is a question: ``question``, ``right``, and either ``options``, each a text and the
    reason why it is right or wrong, or a number's ``because``, ``tolerance`` and ``mistakes``, each
    a number, a sentence and, where the question's does not fit, a tolerance.

    Examples
    --------
    >>> *asked, last = questions("masking")
    >>> type(last).__name__
    'Quiz'
    """
    text = Path(__file__).parent.with_name(f"{chapter}.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    last = Quiz(*map(_question_from, tables.pop("quiz")))
    for name, table in tables.items():
        question = _question_from(table)
        question.name = name
        yield question
    yield last


def _question_from(table: Rules) -> Question:
    return Choice(**table) if "options" in table else Number(**table)


def _html_of(question: Question) -> str:
    """Return a question of a quiz as HTML: readable, and answered, without a script."""
    read = f"<p>{inline(question.question)}</p>"
    if isinstance(question, Choice):
        options = "".join(f"<li>{inline(option['text'])}</li>" for option in question.options)
        read += f'<ol type="a">{options}</ol>'
    folded = f"<details><summary>Answer</summary><p>{inline(question.solution)}</p></details>"
    return question.html(f'<div class="attention-asked">{read}</div>{folded}')


def _example(question: Question) -> str:
    """Write an answer to a question as an example: of its kind, and wrong."""
    if not isinstance(question, Choice):
        return "1.5" if question.right != 1.5 else "2.5"
    return f'"{next(x["key"] for x in question.options if x["key"] != question.right)}"'


def _mistake_rules(
    usual: float, value: float, message: str, tolerance: float | None = None
) -> Rules:
    near = usual if tolerance is None else tolerance + 1e-7 * max(1.0, abs(value))
    return {"value": value, "tolerance": near, "message": message}


def _short(answer: object) -> str:
    text = repr(answer)
    return text if len(text) <= 30 else f"a {type(answer).__name__}"


def _written(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:.6g}"
