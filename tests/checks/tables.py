"""What the tests of all graders share: tables of answers, and what they look for in them."""

import importlib
import pkgutil
from types import FunctionType

import pytest

from attention_lib import checks
from attention_lib.checks import _grading
from attention_lib.checks._questions import Question

TABLES = []  # of (right, wrong), one for each call of judged


def judged(right, wrong):
    """Return two tests: of right answers, and of wrong ones with what must be said of each.

    ``right`` holds (grader, answer), ``wrong`` (grader, answer, a fragment of what is said);
    ``test_tables.py`` counts over all of them.
    """
    TABLES.append((right, wrong))

    @pytest.mark.parametrize(("grader", "answer"), right)
    def test_right_answers_pass(grader, answer):
        verdict = heard(grader, answer)
        assert verdict, verdict

    @pytest.mark.parametrize(("grader", "answer", "said"), wrong)
    def test_wrong_answers_hear_why(grader, answer, said):
        verdict = heard(grader, answer)
        assert not verdict
        assert said in verdict.message, verdict

    return test_right_answers_pass, test_wrong_answers_hear_why


def heard(grader, answer):
    """What a grader says of an answer in a table; it is asked once, for all tests of the table."""
    key = id(grader), id(answer)
    if key not in _heard:
        _heard[key] = grader, answer, grader(answer)  # they stay alive, and their ids with them
    return _heard[key][-1]


_heard = {}


def modules():
    """Every module of graders, by name."""
    names = [module.name for module in pkgutil.iter_modules(checks.__path__)]
    return {name: importlib.import_module(f"{checks.__name__}.{name}")
            for name in names if not name.startswith("_")}  # fmt: skip


def graders():
    """Every grader that takes a function, as a parameter of a test."""
    return [
        pytest.param(module, grader, id=f"{name}.{grader.__name__}")
        for name, module in modules().items()
        for grader in map(vars(module).get, module.__all__)
        if isinstance(grader, FunctionType) and list(grader.__annotations__)[:1] == ["answer"]
    ]


def asked_of(module, grader, monkeypatch):
    """What a grader gives to ``grade``: reference, cases, mistakes, options; or None."""
    asked = []

    def spy(answer, reference, cases, mistakes=(), **options):
        asked.append((reference, cases, mistakes, options))
        return _grading.grade(answer, reference, cases, mistakes, **options)

    if not hasattr(module, "grade"):
        return None
    monkeypatch.setattr(module, "grade", spy)
    grader(lambda *arguments: 1 / 0)
    return asked[0] if asked else None


def questions():
    """Every question that has a name of its own, those of quizzes not, as a parameter of a test."""
    return [
        pytest.param(question, id=f"{name}.{what}")
        for name, module in modules().items()
        for what, question in ((what, getattr(module, what)) for what in module.__all__)
        if isinstance(question, Question)
    ]
