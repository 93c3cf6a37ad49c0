"""An exercise: a right solution, inputs to try, and what to say of wrong answers."""

import dis
import functools
import inspect
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from attention_workbook.exercises.engine import words
from attention_workbook.exercises.engine.compare import agree, difference, parts, wrong_kind
from attention_workbook.exercises.engine.explain import Explanations
from attention_workbook.exercises.engine.facts import broken, nearly_right, responses
from attention_workbook.exercises.engine.mine import keep_part
from attention_workbook.exercises.engine.rules import Rule
from attention_workbook.exercises.engine.running import (
    Failure,
    attempt,
    copied,
    one_thread,
    run,
    same_inputs,
)
from attention_workbook.exercises.engine.verdict import Verdict

__all__ = ["Exercise", "exercise"]

Function = Callable[..., Any]
Case = tuple[Any, ...]
SLOW_SECONDS = 5.0  # for all cases together: a right answer takes milliseconds a case


class Exercise:
    """An exercise whose answer is a function; call it with the answer.

    Parameters
    ----------
    right : callable
        The right solution, a plain function of its module. Its argument names stand in the
        sentences, between backticks, and become the student's own.
    cases : sequence of tuple, or mapping of str to tuple
        Arguments to try, a small case first: it is the one that may print. With names ("an
        attention that …"), a verdict says which case is judged wrongly, and seeks only the
        declared mistakes.
    special : mapping of str to tuple
        More cases, each with words that end the sentence "it is right elsewhere and wrong …".
    mistakes : sequence
        What people really do: ``(old, new, sentence)`` edits the source of the right solution,
        ``(function, sentence)`` is a wrong solution as a whole.
    axes : str
        What the last axes of the result are called: ``"query key"``.
    normalise : callable, optional
        ``normalise(result, *arguments)`` makes all right results equal, where there are several;
        the right solution returns normalised results.
    normalised : str
        How the numbers shown were normalised: "With each row's mean subtracted".
    rules : sequence of Rule
        What the task demands of the way; looked at where the results are right.
    part : str
        The name under which a right answer is kept in ``mine.py``, for later chapters.
    given : sequence of callable or str
        What an answer may call: functions that the chapter defines, and parts by their names.

    Examples
    --------
    >>> from attention_workbook.exercises import heatmaps
    >>> heatmaps.value_weighted(lambda weights, values: weights * values.norm(dim=-1)[:, None])
    Correct: 5 cases agree.
    >>> heatmaps.value_weighted(...)
    Write it, then run this cell.
    """

    def __init__(
        self,
        right: Function,
        cases: Sequence[Case] | Mapping[str, Case],
        special: Mapping[str, Case] | None = None,
        mistakes: Sequence[tuple[Any, ...]] = (),
        axes: str = "",
        normalise: Callable[..., Any] | None = None,
        normalised: str = "",
        rules: Sequence[Rule] = (),
        part: str = "",
        given: Sequence[Function | str] = (),
    ) -> None:
        functools.update_wrapper(self, right)
        self.right = right
        self.labels = [*cases] if isinstance(cases, Mapping) else []
        plain = [*cases.values()] if isinstance(cases, Mapping) else [*cases]
        self.special = special or {}
        self.cases = [*plain, *self.special.values()]
        self.mistakes = [
            (_normalising(mistake, normalise), *details)
            if normalise and callable(mistake)
            else (mistake, *details)
            for mistake, *details in mistakes
        ]
        self.axes = axes.split()
        self.normalise, self.normalised = normalise, normalised
        self.rules, self.part, self.given = rules, part, given

    def __call__(self, answer: object, *, replace: bool = False) -> Verdict:
        """Judge an answer: say that it is right, or at most two things that are wrong.

        With ``replace``, a right answer takes the place of another one in ``mine.py``.
        """
        if answer is ...:
            return Verdict.unwritten()
        if not callable(answer):
            return Verdict(False, f"a function is expected, not {words.type_of(answer)}.")
        with one_thread():
            verdict = self._judge(
                _normalising(answer, self.normalise) if self.normalise else answer
            )
        if verdict and self.part:
            verdict.message += keep_part(answer, self.part, replace=replace)
        return verdict

    def _judge(self, answer: Function) -> Verdict:
        expected = [attempt(self.right, case) for case in self.cases]  # an answer can spoil PyTorch
        results, changed, total = [], [], 0.0
        for i, case in enumerate(self.cases):
            arguments = copied(case)
            start = time.time()
            results.append(run(answer, arguments, aloud=i == 0))
            spent = time.time() - start
            total += spent
            if is_unwritten(answer, results[-1]):
                return Verdict.unwritten()
            if isinstance(results[-1], Failure) and results[-1].ends:
                return Verdict(False, results[-1].sentence())
            if i and total > SLOW_SECONDS and spent > SLOW_SECONDS / 10:  # imports come first
                return Verdict(False, _too_slow(i + 1, len(self.cases), total))
            unchanged = zip(self._names(answer), same_inputs(arguments, case), strict=False)
            changed += [name for name, same in unchanged if not same]
        pairs = [*zip(results, expected, strict=True)]
        sentences = [
            f"your function changes `{name}`, which belongs to its caller; work on a copy."
            for name in dict.fromkeys(changed)
        ]
        if all(agree(*pair) for pair in pairs):
            if sentences:
                return Verdict(False, f"{sentences[0]} The result is right.")
            return self._right(answer)
        return Verdict(False, self._explained(answer, results, expected, sentences))

    def _right(self, answer: Function) -> Verdict:
        """Judge an answer whose results are right by the way that it takes."""
        plain = self.cases[len(self.cases) - len(self.special) - 1]
        for rule in self.rules:
            if broken := rule.broken(answer, plain):
                return Verdict(False, broken)
        count = len(self.cases)
        return Verdict(True, "1 case agrees." if count == 1 else f"{count} cases agree.")

    def _explained(
        self, answer: Function, results: list[Any], expected: list[Any], sentences: list[str]
    ) -> str:
        """Say what is wrong: the first cause first, at most two sentences, then where."""
        names = self._names(answer)
        failed = [i for i, x in enumerate(results) if isinstance(x, Failure)]
        runs = [i for i in range(len(results)) if i not in failed]
        if failed:
            where = words.given(names, self.cases[failed[0]])
            sentences.append(f"{results[failed[0]].sentence()} {where}")
        wrong = [i for i in runs if not agree(results[i], expected[i])]
        if not wrong:
            return self._message(answer, sentences[:2])
        first, case = wrong[0], self.cases[wrong[0]]
        pair = results[first], expected[first]
        repeated = run(answer, copied(case))
        if not wrong_kind(*pair) and not agree(repeated, pair[0]):
            return self._message(
                answer, ["two calls with the same arguments give different results."]
            )
        labelled = first < len(self.labels)
        cases, returned = [self.cases[i] for i in runs], [results[i] for i in runs]
        wrapping = (
            [functools.partial(_normalising, normalise=self.normalise)] if self.normalise else []
        )
        search = Explanations(
            self.right, self.mistakes, cases, returned, self.special, *wrapping, labelled=labelled
        )
        special = [i - len(self.cases) + len(self.special) for i in wrong]
        elsewhere = min(special) >= 0  # only special cases are wrong
        kinds = [wrong_kind(results[i], expected[i]) for i in runs]
        near = "" if any(kinds) else nearly_right([(results[i], expected[i]) for i in runs])
        with warnings.catch_warnings(action="ignore"):
            causes = search.first(1 if elsewhere or near else 2 - len(sentences[:1]))
        if elsewhere and not causes and not wrong_kind(*pair):
            where = " and ".join([*self.special][i] for i in special)
            sentences = [*sentences[:1], f"it is right elsewhere and wrong {where}."]
            return self._message(answer, sentences, self._first_difference(pair, names, case))
        if failed and search.stops_in([self.cases[i] for i in failed]):
            sentences.pop()  # the cause explains the failure, too
        if labelled:
            return self._message(answer, [*sentences, *causes][:2], self._wrong_case(first, pair))
        if causes:
            incomplete = search.incomplete and not wrong_kind(*pair)
            where = self._first_difference(pair, names, case) if incomplete else ""
            return self._message(answer, [*sentences[:1], *causes][:2], where)
        for i, kind in zip(runs, kinds, strict=True):
            if kind:
                where = words.given(names, self.cases[i])
                return self._message(answer, [*sentences, kind][:2], where)
        if near:
            where = self._first_difference(pair, names, case)
            return self._message(answer, [*sentences, near][:2], where)
        sentences += broken([(results[i], expected[i]) for i in runs], self.axes)
        if len(sentences) < 2 and not self.normalise:
            shown = sorted(range(len(self.cases)), key=lambda i: (i != first, i not in wrong))
            others = [self.cases[i] for i in shown if i in runs]
            sentences += responses(answer, self.right, names, others, self.axes, _first_wrong(pair))
        sentences = sentences[:2] or ["no single cause was found."]
        return self._message(answer, sentences, self._first_difference(pair, names, case))

    def _first_difference(self, pair: tuple[Any, Any], names: Sequence[str], case: Case) -> str:
        """Say where a result differs first, and of which arguments it is the result."""
        where, yours, should = self._differing(pair)
        result = "your result"
        if len(parts(pair[1])) > 1:
            result += f" number {_first_wrong(pair) + 1}"
        where = f"{where} {result} is" if where else f"{result[0].upper()}{result[1:]} is"
        if self.normalised:
            where = f"{self.normalised}, {where[0].lower()}{where[1:]}"
        index = difference(*pair)[0] if isinstance(pair[1], Tensor) else ()
        shape = tuple(pair[1].shape) if index else ()
        return f"{where} {yours}; it should be {should}. {words.given(names, case, index, shape)}"

    def _differing(self, pair: tuple[Any, Any]) -> tuple[str, str, str]:
        """Return where a result differs first, and the two numbers there."""
        index, *numbers = difference(*pair)
        return words.place(index, self.axes), *words.two_numbers(*numbers)

    def _wrong_case(self, number: int, pair: tuple[Any, Any]) -> str:
        """Say by its name that a case was judged wrongly."""
        label = self.labels[number]
        if complaint := wrong_kind(*pair):
            return f"For {label}: {complaint}"
        where, yours, should = self._differing(pair)
        where = f" {where[:1].lower()}{where[1:]}" if where else ""
        return f"For {label} your function says {yours}{where}; it should say {should}."

    def _message(self, answer: Function, sentences: Sequence[str], where: str = "") -> str:
        names = dict(zip(self._names(self.right), self._names(answer), strict=False))
        text = words.renamed(" Also, ".join(sentences), names)
        if not text:
            return where[:1].lower() + where[1:]
        return f"{text} {where}".strip()

    def _names(self, function: Function) -> list[str]:
        """Return the names of a function's arguments; the right solution's, if it has others."""
        ours = [*inspect.signature(self.right).parameters]
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return ours
        positional = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        return positional if len(positional) >= len(ours) else ours


def _normalising(answer: Function, normalise: Function) -> Function:
    """Return an answer whose results are normalised."""

    @functools.wraps(answer)
    def normalising(*arguments: Any) -> Any:
        originals = copied(arguments)
        result = answer(*arguments)
        return normalise(result, *originals) if isinstance(result, Tensor) else result

    return normalising


def exercise(**declared: Any) -> Callable[[Function], Exercise]:
    """Make an :class:`Exercise` of the right solution that follows; for the arguments see there.

    Examples
    --------
    >>> import torch
    >>> def mean(x):
    ...     return x.mean(dim=-1)
    >>> graded = exercise(cases=[(torch.tensor([[1.0, 3.0]]),)], axes="row")
    """
    return lambda right: Exercise(right, **declared)


def is_unwritten(answer: Function, outcome: Any) -> bool:
    """Tell whether a function is still a stub, by its code and by what it gave.

    Examples
    --------
    >>> def stub(x):
    ...     return ...  # your turn
    >>> is_unwritten(stub, stub(1))
    True
    """
    if isinstance(outcome, Failure):
        return outcome.is_stub
    stands = any(part is ... for part in parts(outcome))
    return stands or (outcome is None and _does_nothing(answer))


def _too_slow(tried: int, count: int, seconds: float) -> str:
    return (
        f"your function took {seconds:.0f} seconds for {tried} of {count} cases; a right one takes "
        "milliseconds for each."
    )


def _first_wrong(pair: tuple[Any, Any]) -> int:
    """Return which of several results is the first that differs, counted from 0."""
    return next(i for i, same in enumerate(map(agree, *map(parts, pair))) if not same)


def _does_nothing(function: Function) -> bool:
    """Whether a function's code only returns a constant."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    steps = {step.opname for step in dis.get_instructions(code)} if code else {"?"}
    return steps <= {"RESUME", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "NOP"}
