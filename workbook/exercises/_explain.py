"""Finding the one or two mistakes that make a right solution behave as a wrong answer does.

Each candidate is a change of the right solution (an edit of its source, other arguments, another
result) or a repair of the answer. Where a change, or two together, give the answer's results on
every input, both sentences are true of the answer, and nothing else about it is wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice, product
from typing import Any

import torch
from torch import Tensor

from workbook.exercises._changes import REPAIRS, Repair, elsewhere, inputs, outputs, sizes
from workbook.exercises._compare import agree, as_tensor, equal_cells
from workbook.exercises._edits import Edit, Source
from workbook.exercises._running import Failure, attempt

__all__ = ["Explanations", "declared_edits"]

Function = Callable[..., Any]
Case = tuple[Any, ...]
MOST_PAIRS = 3000  # of two mistakes, looked at before the search is given up


def declared_edits(source: Source, mistakes: Sequence[tuple[Any, ...]]) -> Iterator[Edit]:
    """Yield the edits among an exercise's mistakes.

    Examples
    --------
    >>> from workbook.exercises import masking
    >>> exercise = masking.masked_softmax
    >>> source = Source(exercise.right)
    >>> next(declared_edits(source, exercise.mistakes)).sentence
    'rows with nothing to attend to are forgotten: they should be 0.'
    """
    for what, *rest in mistakes:
        if not callable(what):
            replaced = what if isinstance(what, dict) else {what: rest[0]}
            yield source.edit(replaced, rest[-1])


@dataclass
class Variant:
    """A wrong variant of the right solution; its results are computed when they are looked at."""

    function: Function
    sentences: tuple[str, ...]
    cases: Sequence[Case]
    edit: Edit | None = None
    input: bool = False
    results: dict[int, Any] = field(default_factory=dict)

    def __getitem__(self, i: int) -> Any:
        if i not in self.results:
            self.results[i] = attempt(self.function, self.cases[i])
        return self.results[i]


class Explanations:
    """The search for what is wrong with an answer.

    Parameters
    ----------
    right : callable
        The right solution.
    mistakes : sequence
        ``(old, new, sentence)`` or ``({old: new, …}, sentence)``, an edit of its source, or
        ``(function, sentence)``.
    names : sequence of str
        What the student calls the arguments; sentences use the right solution's names.
    cases : sequence of tuple
    found : sequence
        The answer's results.
    special : sequence of (int, str)
        Which of the cases have a sentence of their own, said where only they are wrong.
    tolerance : float, optional
    """

    def __init__(
        self,
        right: Function,
        mistakes: Sequence[tuple[Any, ...]],
        names: Sequence[str],
        cases: Sequence[Case],
        found: Sequence[Any],
        special: Sequence[tuple[int, str]] = (),
        tolerance: float | None = None,
    ) -> None:
        self.right, self.names, self.cases = right, names, cases
        self.source, self.mistakes = Source(right), mistakes
        self.found, self.tolerance = found, tolerance
        self.none = Variant(right, (), cases)
        self.inputs = [*inputs(_names(right), cases[0])]
        self.partly = False  # whether the explanation found leaves numbers open
        self.made: dict[str, list[Variant]] = {}
        self.expected = [self.none[i] for i in range(len(cases))]
        self.repairs = [*_special(special, cases), *REPAIRS]
        wrong = [i for i in self.numbers if not self._agree(found[i], self.expected[i])]
        largest = sorted(wrong, key=lambda i: -_count(self.expected[i]))
        self.order = [*largest, *(i for i in self.numbers if i not in wrong)]

    @property
    def numbers(self) -> range:
        """The numbers of the cases."""
        return range(len(self.cases))

    def first(self, most: int = 2) -> list[str]:
        """Return the sentences of the first explanation, or none.

        Parameters
        ----------
        most : int
            At most so many mistakes together.
        """
        if self._constant():  # little can be told from it: only what was declared as a whole
            whole = (v for v in self._declared() if v.edit is None and self._is(v))
            return next(([*variant.sentences] for variant in whole), [])
        for sentences in self._single():
            return sentences
        fails = any(isinstance(self.found[i], Failure) for i in self.numbers)
        if most > 1 and not fails and self._informative():
            for sentences in self._double():
                return sentences
        return []

    def _single(self) -> Iterator[list[str]]:
        for variant in [*self._declared(), *self._generic()]:
            if self._is(variant):
                yield [*variant.sentences]
        yield from self._afterwards(self.none)

    def _double(self) -> Iterator[list[str]]:
        for variant in islice(self._two_edits(), MOST_PAIRS):
            if self._is(variant):
                yield [*variant.sentences]
        for variant in [*self._declared(), *self._generic()]:
            yield from self._afterwards(variant)
        for a, b in combinations(self.repairs, 2):
            if self._repaired(self.none, a, b):
                self.partly = True
                yield [a.sentence, b.sentence]
        for variant in islice(self._edit_and_input(), MOST_PAIRS):
            if self._is(variant):
                yield [*variant.sentences]

    def _two_edits(self) -> Iterator[Variant]:
        edits = [v for v in [*self._declared(), *self._generic()] if v.edit]
        for a, b in combinations(edits, 2):
            if a.sentences != b.sentences and a.edit and b.edit and a.edit.fits(b.edit):
                try:
                    function = self.source.function([a.edit, b.edit])
                except SyntaxError:
                    continue
                yield Variant(function, (*a.sentences, *b.sentences), self.cases)

    def _edit_and_input(self) -> Iterator[Variant]:
        for variant, (change, sentence) in product(
            [*self._declared(), *self._generic()], self.inputs
        ):
            if not variant.input or _subject(variant.sentences[0]) != _subject(sentence):
                function = _after(variant.function, change)
                yield Variant(function, (sentence, *variant.sentences), self.cases)

    def _declared(self) -> list[Variant]:
        return self._once("declared", self._make_declared)

    def _generic(self) -> list[Variant]:
        return self._once("generic", self._make_generic)

    def _once(self, key: str, make: Callable[[], Iterator[Variant]]) -> list[Variant]:
        if key not in self.made:
            self.made[key] = [*make()]
        return self.made[key]

    def _make_declared(self) -> Iterator[Variant]:
        for mistake, *_, sentence in self.mistakes:
            if callable(mistake):
                yield Variant(mistake, (sentence,), self.cases)
        for edit in declared_edits(self.source, self.mistakes):
            yield Variant(self.source.function([edit]), (edit.sentence,), self.cases, edit)

    def _make_generic(self) -> Iterator[Variant]:
        for edit in self.source.families():
            try:
                function = self.source.function([edit])
            except SyntaxError:
                continue
            yield Variant(function, (edit.sentence,), self.cases, edit)
        for change, sentence in self.inputs:
            yield Variant(_after(self.right, change), (sentence,), self.cases, input=True)

    def _afterwards(self, base: Variant) -> Iterator[list[str]]:
        """Explain the answer as a variant whose result is then scaled, changed or half right."""
        if isinstance(base[self.order[0]], Failure):
            return
        if sentence := self._scaled(base):
            yield [*base.sentences, sentence]
        result = self.expected[0][0] if isinstance(self.expected[0], tuple) else self.expected[0]
        dtype = getattr(as_tensor(result), "dtype", torch.float32)
        for change, sentence in outputs(dtype):
            if self._is(_Changed(base, change)):
                yield [*base.sentences, sentence]
        for repair in self.repairs:
            if self._repaired(base, repair):
                self.partly = True
                yield [repair.sentence, *base.sentences]

    def _agree(self, found: Any, other: Any) -> bool:
        if isinstance(other, tuple) and any(isinstance(part, Failure) for part in other):
            return False
        return agree(found, other, self.tolerance)

    def _is(self, variant: Any) -> bool:
        """Whether a variant gives the answer's results on all inputs, and says something."""
        others = []
        for i in self.order:
            others.append(variant[i])
            if not self._agree(self.found[i], others[-1]):
                return False
        return any(map(_says_something, others))

    def _repaired(self, base: Variant, *repairs: Repair) -> bool:
        """Whether the answer, repaired, is a variant; what repairs copy is not counted."""
        proved = 0
        for i in self.order:
            found, other = as_tensor(self.found[i]), as_tensor(base[i])
            if found is None or other is None or found.shape != other.shape:
                return False
            before = equal_cells(found, other, self.tolerance)
            mended: Tensor | None = found
            for repair in repairs:
                mended = None if mended is None else _mended(repair, mended, other, self.cases[i])
            if mended is None or not equal_cells(mended, other, self.tolerance).all():
                return False
            copied = any(repair.copies for repair in repairs)
            proved += int(before.sum()) if copied else found.numel()
        return proved >= (12 if base.sentences else 1)

    def _scaled(self, base: Variant) -> str:
        """Say by which factor the answer's numbers are too large, if by one."""
        factors: dict[int, float] = {}
        for i in self.order:
            found, other = as_tensor(self.found[i]), as_tensor(base[i])
            if found is None or other is None or found.shape != other.shape:
                return ""
            if not (found.is_floating_point() and other.is_floating_point()):
                return ""
            x, y = found.double(), other.double()
            factor = (x * y).sum() / y.square().sum()
            if factor.isfinite() and not equal_cells(x, factor * y, 1e-4).all():
                return ""
            if factor.isfinite() and factor != 0:
                factors[i] = factor.item()
        return self._factor(factors)

    def _factor(self, factors: dict[int, float]) -> str:
        if len(factors) < min(2, len(self.cases)):
            return ""
        values = [*factors.values()]
        if max(values) - min(values) <= 1e-3 * abs(values[0]) and abs(values[0] - 1) > 1e-3:
            return f"every number is {values[0]:.4g} times what it should be."
        for size, called in sizes(_names(self.right), self.cases[0]):
            for power, root in ((1.0, ""), (0.5, "√"), (2.0, "²")):
                for sign in (power, -power):
                    if all(
                        abs(f - size(self.cases[i]) ** sign) < 1e-3 * abs(f)
                        for i, f in factors.items()
                    ):
                        n = f"{size(self.cases[self.order[0]]):g}"
                        named = f"{root}{n}" if root == "√" else f"{n}{root}"
                        way = "large" if sign > 0 else "small"
                        return f"every number is {named} times too {way}, where {n} is {called}."
        return ""

    def _constant(self) -> bool:
        """Whether the answer gives the same number everywhere; then many mistakes would fit."""
        tensors = [as_tensor(x) for x in self.found]
        if any(x is None for x in tensors) or sum(map(_count, tensors)) < 20:
            return False
        return all(
            bool((x == x.flatten()[0]).all()) for x in tensors if x is not None and x.numel()
        )

    def _informative(self) -> bool:
        """Whether two mistakes that fit are hardly a coincidence."""
        tensors = [as_tensor(x) for x in self.expected]
        if any(x is None for x in tensors):
            return True
        exact = [x for x in tensors if x is not None and not x.is_floating_point()]
        return not exact or sum(x.numel() for x in exact) >= 40


def _mended(repair: Repair, found: Tensor, other: Tensor, case: Case) -> Tensor | None:
    """Return a repaired result; None where this kind of result cannot be repaired so."""
    try:
        return repair.mend(found, other, case)
    except (IndexError, RuntimeError, TypeError, ValueError):
        return None


class _Changed:
    """The results of a variant, each changed; None where that is impossible."""

    def __init__(self, base: Variant, change: Callable[[Any], Any]) -> None:
        self.base, self.change = base, change

    def __getitem__(self, i: int) -> Any:
        result = self.base[i]
        if isinstance(result, tuple):
            return tuple(self._one(x) for x in result)
        return self._one(result)

    def _one(self, result: Any) -> Any:
        x = as_tensor(result)
        if x is None:
            return _NOTHING
        try:
            changed = self.change(x)
        except (RuntimeError, IndexError, TypeError):
            return _NOTHING
        return _NOTHING if changed is None else changed


_NOTHING = Failure(LookupError("no such change"), print)


def _subject(sentence: str) -> str:
    """Return the argument that a sentence is about."""
    return sentence.split("`")[1] if "`" in sentence else ""


def _after(function: Function, change: Callable[[list[Any]], list[Any]]) -> Function:
    return lambda *case: function(*change(list(case)))


def _names(function: Function) -> list[str]:
    code = function.__code__
    return [*code.co_varnames[: code.co_argcount]]


def _special(special: Sequence[tuple[int, str]], cases: Sequence[Case]) -> list[Repair]:
    def only(number: int) -> Callable[[Tensor, Tensor, Case], Tensor]:
        return lambda found, right, case: torch.full_like(
            right, case is cases[number], dtype=torch.bool
        )

    return [elsewhere(only(i), f"it is right elsewhere and wrong {said}.") for i, said in special]


def _says_something(result: Any) -> bool:
    """Whether a result is more than zeros and NaN, which many mistakes have in common."""
    if isinstance(result, tuple):
        return any(map(_says_something, result))
    x = as_tensor(result)
    return x is None or not x.is_floating_point() or bool(x.nan_to_num(0).any())


def _count(result: Any) -> int:
    if isinstance(result, tuple):
        return sum(map(_count, result))
    return result.numel() if isinstance(result, Tensor) else 1
