"""What the tests of all graders share: tables of answers, and what they look for in them."""

import importlib
import pkgutil
import sys
from contextlib import contextmanager
from itertools import product
from types import FunctionType

import pytest
from torch import Tensor

from attention_lib import checks
from attention_lib.checks import _grading
from attention_lib.checks._grading import (
    _as_it_is,
    _copied,
    _general,
    _outcome,
    _without_nan,
    difference,
)
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
    return _asked(grader, answer)[0]


def known(grader, answer):
    """The sentences of all mistakes with which a grader compares an answer in a table."""
    calls = _asked(grader, answer)[1]
    return {sentence for _, _, _, mistakes, _ in calls for _, sentence in mistakes}


def misnamed(grader, answer):
    """The name of a mistake that an answer in a table hears of and does not make.

    Where the grader has no inputs, on other ones of the same kind, the two give different results.
    """
    verdict, calls = _asked(grader, answer)
    for given, reference, cases, mistakes, _ in calls:
        pairs = [*mistakes, *_general(reference)]
        named = [mistake for mistake, sentence in pairs if sentence == verdict.message]
        others = [*map(_another, cases)]

        def results(function, patch=_as_it_is, others=others):
            return [patch(_outcome(function, _copied(case))) for case in others]

        if named and not any(
            _same(results(given), results(mistake, patch))
            for mistake, patch in product(named, (_as_it_is, _without_nan))
        ):
            return verdict.message
    return ""


def _same(some, others):
    """Whether results are equal but for rounding, of which 1e10 times a score leaves much."""
    return not any(difference(*pair, tolerance=1e-3) for pair in zip(some, others, strict=True))


def _another(case):
    """Inputs made of others: each tensor moves towards its mirror image; weights still sum to 1.

    Where something is infinite or NaN the case stays as it is: there it matters what meets what.
    """
    numbers = [x for x in case if isinstance(x, Tensor) and x.is_floating_point() and x.dim()]
    if not all(x.isfinite().all() for x in numbers):
        return case
    return tuple(
        x.lerp(x.roll(1, 0).flip(-1), 0.25) if any(x is y for y in numbers) else x for x in case
    )


def _asked(grader, answer):
    """The verdict on an answer, and what ``grade`` was given for it."""
    key = id(grader), id(answer)
    if key not in _verdicts:
        with asked_in(sys.modules[grader.__module__]) as calls:
            verdict = grader(answer)
        _verdicts[key] = grader, answer, (verdict, calls)  # they stay alive, and their ids too
    return _verdicts[key][-1]


_verdicts = {}


@contextmanager
def asked_in(module):
    """Collect what a module gives to ``grade``: answer, reference, cases, mistakes, options."""
    calls = []

    def spy(answer, reference, cases, mistakes=(), **options):
        calls.append((answer, reference, cases, mistakes, options))
        return _grading.grade(answer, reference, cases, mistakes, **options)

    with pytest.MonkeyPatch.context() as patch:
        if hasattr(module, "grade"):
            patch.setattr(module, "grade", spy)
        yield calls


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


def questions():
    """Every question that has a name of its own, those of quizzes not, as a parameter of a test."""
    return [
        pytest.param(question, id=f"{name}.{what}")
        for name, module in modules().items()
        for what, question in ((what, getattr(module, what)) for what in module.__all__)
        if isinstance(question, Question)
    ]
