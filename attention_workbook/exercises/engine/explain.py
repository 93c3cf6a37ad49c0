"""Finding the one or two mistakes that make a right solution behave as a wrong answer does.

Each candidate changes the right solution: its source, its arguments or its result. Where a change,
or two together, give the answer's results on every input, both sentences are true of the answer,
and nothing else about it is wrong. A repair goes the other way, from the answer to the right one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from attention_workbook.exercises.engine.changes import REPAIRS, Repair, inputs, results, sizes
from attention_workbook.exercises.engine.compare import (
    agree,
    as_tensor,
    equal_cells,
    parts,
    wrong_kind,
)
from attention_workbook.exercises.engine.edits import Edit, Source
from attention_workbook.exercises.engine.facts import clock
from attention_workbook.exercises.engine.running import Failure, attempt
from attention_workbook.exercises.engine.slips import slips

__all__ = ["Explanations", "declared_edits"]

Function = Callable[..., Any]
Case = tuple[Any, ...]
SEARCH_SECONDS = 2  # before the search is given up
MOST_PAIRS = 2500  # of two mistakes, looked at before the search is given up
FLOAT32_ROUNDING = 5e-5  # what numbers that were rounded to float32 on the way may lie apart


def declared_edits(source: Source, mistakes: Sequence[tuple[Any, ...]]) -> Iterator[Edit]:
    """Yield the edits among an exercise's mistakes.

    Examples
    --------
    >>> from attention_workbook.exercises import masking
    >>> exercise = masking.masked_softmax
    >>> source = Source(exercise.right)
    >>> next(declared_edits(source, exercise.mistakes)).sentence
    'a row with nothing to look at shares its weight among its keys; it should be 0.'
    """
    for mistake, *details in mistakes:
        if not callable(mistake):
            replacements = mistake if isinstance(mistake, dict) else {mistake: details[0]}
            yield source.edit(replacements, details[-1])


class Variant:
    """The right solution with mistakes; its results are computed when they are looked at.

    Parameters
    ----------
    cases : sequence of tuple
    function : callable
        The right solution, changed or not, or a wrong one.
    *edits : Edit
        The edits of the right solution's source that make the function.
    sentences : sequence of str, optional
        What they are; by default the edits' own sentences.
    """

    def __init__(
        self, cases: Sequence[Case], function: Function, *edits: Edit, sentences: Sequence[str] = ()
    ) -> None:
        self.cases, self.function, self.edits = cases, function, edits
        self.sentences = [*dict.fromkeys(sentences or [edit.sentence for edit in edits])]
        self.results: dict[int, Any] = {}

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
    cases : sequence of tuple
    returned : sequence
        The answer's results.
    special : mapping of str to tuple
        Which of the cases have a sentence of their own, said where only they are wrong.
    normalising : callable
        Returns an edited solution with results that are normalised as the answer's are.
    labelled : bool
        Whether each case has a name that tells enough; then only declared mistakes are sought.
    """

    def __init__(
        self,
        right: Function,
        mistakes: Sequence[tuple[Any, ...]],
        cases: Sequence[Case],
        returned: Sequence[Any],
        special: Mapping[str, Case],
        normalising: Callable[[Function], Function] = lambda function: function,
        *,
        labelled: bool = False,
    ) -> None:
        self.right, self.cases, self.normalising = right, cases, normalising
        self.source, self.returned = Source(right), returned
        self.correct = Variant(cases, right)
        self.incomplete = False  # whether the explanation leaves some wrong numbers open
        self.cause: Variant | None = None  # the single mistake that explains all
        self.expected = [self.correct[i] for i in range(len(cases))]
        pairs = [*zip(returned, self.expected, strict=True)]
        # of what is grossly wrong it is no matter whether it also rounds
        self.tolerance = (
            None if all(agree(*pair, FLOAT32_ROUNDING) for pair in pairs) else FLOAT32_ROUNDING
        )
        edits = [*declared_edits(self.source, mistakes)]
        self.declared, self.end = len(mistakes), 0.0  # the search ends two seconds after them
        if not labelled:
            edits += [*slips(self.source), *self._changes()]
        self.candidates = [  # likely ones first
            *(
                Variant(cases, x, sentences=[sentence])
                for x, *_, sentence in mistakes
                if callable(x)
            ),
            *filter(None, map(self._edited, edits)),
        ]
        self.repairs = (
            [] if labelled else [*map(_repair_of_special, special, special.values()), *REPAIRS]
        )
        self.labelled = labelled
        fits = [agree(*pair, self.tolerance) for pair in pairs]
        counts = [
            sum(x.numel() if isinstance(x, Tensor) else 1 for x in parts(y)) for y in self.expected
        ]
        self.special = {
            i: where
            for i, case in enumerate(cases)
            for where, special_case in special.items()
            if case is special_case
        }
        # large results that are wrong tell most; the usual cases come first
        self.cases_by_evidence = sorted(
            range(len(cases)), key=lambda i: (i in self.special, fits[i], -counts[i])
        )
        # mistakes that explain the usual cases, and the first special one that they leave open
        self.partly: tuple[Variant, int] | None = None
        self.wrong_as_usual = not all(fits[i] for i in range(len(cases)) if i not in self.special)

    def first(self, most: int = 2) -> list[str]:
        """Return the sentences of the first explanation, or none.

        Parameters
        ----------
        most : int
            At most so many mistakes together.
        """
        causes = next(self._single(), [])
        if not causes and most > 1 and not self.labelled and self._pairs_tell():
            causes = next(self._double(), [])
        if not causes and most > 1 and self.partly:
            variant, left_open = self.partly
            still = f"with that mended, it is wrong {self.special[left_open]}."
            causes, self.incomplete = [*variant.sentences, still][:2], True
        # of two causes, a mask that is turned round is the one to mend first
        return sorted(causes, key=lambda sentence: "turned round" not in sentence)

    def stops_in(self, cases: Sequence[Case]) -> bool:
        """Whether the single mistake that explains the results stops in these cases."""
        if self.cause is None:
            return False
        function = self.cause.function
        return all(isinstance(attempt(function, case), Failure) for case in cases)

    def _pairs_tell(self) -> bool:
        """Whether two mistakes that fit are hardly a coincidence: decimals tell enough."""
        tensors = [x for y in self.expected for x in map(as_tensor, parts(y)) if x is not None]
        exact = [x for x in tensors if not x.is_floating_point()]
        evidence = sum(x.numel() * (1 if x.dtype == torch.bool else 3) for x in exact)
        return evidence >= 40 or len(exact) < len(tensors)

    def _single(self) -> Iterator[list[str]]:
        for i, variant in enumerate(self.candidates):
            if i == self.declared:  # those are few, and what people really do
                self.end = clock() + SEARCH_SECONDS
            if i > self.declared and clock() > self.end:
                break
            if self._reproduces(variant):
                self.cause = variant
                yield [*variant.sentences]
        self.cause = None
        if not self.labelled:
            yield from self._repairable(self.correct)

    def _double(self) -> Iterator[list[str]]:
        if clock() > self.end:
            return
        most_telling = self.cases_by_evidence[0]
        variants = [v for v in self.candidates if not isinstance(v[most_telling], Failure)]
        pairs = sorted(combinations(range(len(variants)), 2), key=sum)
        for a, b in pairs[:MOST_PAIRS]:
            if clock() > self.end:
                return
            combined = self._combined(variants[a], variants[b])
            if combined and self._reproduces(combined):
                yield [*combined.sentences]
        for variant in variants:
            if clock() > self.end:
                return
            yield from self._repairable(variant)

    def _changes(self) -> Iterator[Edit]:
        """Yield the edits that change an argument or the result."""
        for statement, sentence in inputs(self.source.arguments, self.cases[0]):
            yield Edit((), sentence, first=statement)
        result = as_tensor(self.expected[0])
        for suffix, sentence in results(result) if result is not None else []:
            yield self.source.after(suffix, sentence)

    def _edited(self, *edits: Edit) -> Variant | None:
        try:
            return Variant(self.cases, self.normalising(self.source.function(edits)), *edits)
        except SyntaxError:
            return None

    def _combined(self, first: Variant, second: Variant) -> Variant | None:
        """Return the variant with both mistakes; None where they touch the same place."""
        edits = [*first.edits, *second.edits]
        return self._edited(*edits) if len(edits) == 2 and edits[0].fits(edits[1]) else None

    def _repairable(self, base: Variant) -> Iterator[list[str]]:
        """Explain the answer as a variant whose result is scaled, or right in some places."""
        if isinstance(base[self.cases_by_evidence[0]], Failure) or not any(
            _is_telling(part) for i in self.cases_by_evidence for part in parts(base[i])
        ):
            return
        if sentence := self._constant_factor(base):
            still = f"with that mended, {sentence}"
            yield [*base.sentences, still if base.sentences else sentence]
        for repair in self.repairs:
            if self._repair_explains(base, repair):
                self.incomplete = True
                sentence = repair.sentence
                if base.sentences:
                    sentence = f"with that mended, {sentence}"
                yield [*base.sentences, sentence]

    def _reproduces(self, variant: Any) -> bool:
        """Whether a variant gives the answer's results on all inputs, and says something."""
        variant_results: list[Any] = []
        for i in self.cases_by_evidence:
            if not agree(self.returned[i], variant[i], self.tolerance):
                if i in self.special and self.wrong_as_usual and _tells(variant_results):
                    self.partly = self.partly or (variant, i)
                return False
            variant_results.append(variant[i])
        return _tells(variant_results)

    def _repair_explains(self, base: Variant, repair: Repair) -> bool:
        """Whether the answer, repaired, is a variant; not where a repair does not apply to it."""
        try:
            return self._repair_fits(base, repair)
        except (IndexError, RuntimeError, TypeError, ValueError):
            return False

    def _repair_fits(self, base: Variant, repair: Repair) -> bool:
        """Whether the answer, repaired, is a variant; what repairs copy is not counted."""
        evidence_count, cases_with_evidence = 0, 0
        for i in self.cases_by_evidence:
            returned, target = as_tensor(self.returned[i]), as_tensor(base[i])
            if returned is None or target is None or wrong_kind(returned, target):
                return False
            agrees, mended = equal_cells(returned, target, self.tolerance), returned
            right = as_tensor(self.expected[i])
            if repair.cells:
                cells = repair.cells(returned, target, self.cases[i])
                if right is not None and right.shape == target.shape:  # true of it, too
                    cells = cells & repair.cells(returned, right, self.cases[i])
                    cells = cells & ~equal_cells(returned, right, self.tolerance)
                mended, agrees = torch.where(cells, target, mended), agrees & ~cells
            elif repair.mend:
                repaired = repair.mend(returned, target, self.cases[i])
                if repaired is None:
                    return False
                mended = repaired
            if not equal_cells(mended, target, self.tolerance).all():
                return False
            evidence_count += int(agrees.sum()) if repair.cells else returned.numel()
            cases_with_evidence += bool(agrees.any())
        enough = not repair.cells or cases_with_evidence >= min(2, len(self.cases) - 1)
        return enough and evidence_count >= (12 if base.sentences else 1)

    def _constant_factor(self, base: Variant) -> str:
        """Say by which factor the answer's numbers are too large, if by one."""
        factors: dict[int, float] = {}
        for i in self.cases_by_evidence:
            returned, target = as_tensor(self.returned[i]), as_tensor(base[i])
            if returned is None or target is None or returned.shape != target.shape:
                return ""
            if not (returned.is_floating_point() and target.is_floating_point()):
                return ""
            if not returned.isfinite().all():
                return ""
            x, y = returned.double(), target.double()
            factor = ((x * y).sum() / y.square().sum()).nan_to_num()  # 0/0 where all numbers are 0
            if not equal_cells(x, factor * y, 1e-4).all():
                return ""
            if factor != 0 and _is_telling(target):
                factors[i] = factor.item()
        return self._factor_in_words(factors)

    def _factor_in_words(self, factors: dict[int, float]) -> str:
        if len(factors) < min(2, len(self.cases)):
            return ""
        values = [*factors.values()]
        if max(values) - min(values) <= 1e-3 * abs(values[0]) and abs(values[0] - 1) > 1e-3:
            return f"every number is {values[0]:.4g} times what it should be."
        sizes_by_case = {i: sizes(self.source.arguments, self.cases[i]) for i in factors}
        for name, size in sizes_by_case[next(iter(factors))].items():
            if size <= 1:  # "0.8 times too large" would be too small
                continue
            for power, in_words in ((1.0, f"{size:g}"), (0.5, f"√{size:g}"), (2.0, f"{size:g}²")):
                for exponent, way in ((power, "large"), (-power, "small")):
                    if all(
                        abs(f - max(sizes_by_case[i].get(name, 0), 1e-9) ** exponent)
                        < 1e-3 * abs(f)
                        for i, f in factors.items()
                    ):
                        return (
                            f"every number is {in_words} times too {way}, where {size:g} is {name}."
                        )
        return ""


def _repair_of_special(where: str, special: Case) -> Repair:
    return Repair(
        f"it is right elsewhere and wrong {where}.",
        cells=lambda returned, right, case: torch.full_like(
            right, case is special, dtype=torch.bool
        ),
    )


def _tells(results: Sequence[Any]) -> bool:
    return any(_is_telling(part) for result in results for part in parts(result))


def _is_telling(result: Any) -> bool:
    """Whether a result is more than zeros and NaN, which many mistakes have in common."""
    x = as_tensor(result)
    return x is None or not x.is_floating_point() or bool((x.nan_to_num(0).abs() > 1e-4).any())
