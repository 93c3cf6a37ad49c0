"""What a check found: contracts that are kept, broken, or not tested and why."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any

WIDTH = 96  # columns of a printed report
# The folder of the book's pages, with a slash at its end. Empty, reports name the chapter alone.
ADDRESS = ""
WORDS = tomllib.loads(Path(__file__).with_name("contracts.toml").read_text(encoding="utf-8"))
GROUPS = WORDS["groups"]  # what `require` may name besides single contracts


class Because(AssertionError):
    """A broken contract whose cause is known better than the usual one."""

    def __init__(self, says: str, means: str) -> None:
        super().__init__(says)
        self.means = means


SEEN = "seen, but not every attention promises it"


class NotTested(Exception):
    """A contract could not be tested: its positive control failed, or a precondition is missing.

    Examples
    --------
    >>> import torch
    >>> from attention_contracts import assert_causal
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_causal(lambda queries, keys, values: queries, x, x, x)
    Traceback (most recent call last):
        ...
    attention_contracts._report.NotTested: no output moves when an earlier position changes
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


@dataclass(frozen=True)
class Contract:
    """A behaviour, and how it is tested.

    ``test`` takes what is checked. It raises an ``AssertionError`` where the contract is broken
    and :class:`NotTested` where that cannot be seen; it returns nothing, or how it was tested in
    particular. ``means`` is the usual mistake behind a break, and ``chapter`` the page about it.
    With ``strict`` a break counts only for those who ask for it, because right attentions do not
    promise it. ``excuse``, with a place for the error, says why a break never counts. One that
    ``grows`` is tried at longer and longer lengths, until time is up.
    """

    name: str
    test: Callable[[Any], str | None]
    how: str
    means: str
    chapter: str
    strict: bool = False
    excuse: str = ""
    grows: bool = False


@dataclass(frozen=True)
class Finding:
    """What is known about one contract.

    It has a ``name``, and ``says`` what moved, where and by how much, or why it was not tested;
    that is empty where it is kept. It says ``how`` it was tested and up to which length; if it is
    broken, what that usually ``means``, and the ``chapter`` of the book about it.

    Examples
    --------
    >>> Finding("causality", "the output of query 2 moved by 0.3", "the future was replaced").name
    'causality'
    """

    name: str
    says: str
    how: str
    means: str = ""
    chapter: str = ""


@dataclass(frozen=True)
class Report:
    """Contracts that an attention or a model keeps, breaks, and that could not be tested.

    A report is true if something is kept, nothing is broken, and nothing ``required`` is untested.
    Printed, it is a table that begins with that verdict and the counts. ``subject`` is what was
    checked and how it was called; ``kept``, ``broken`` and ``not_tested`` have a :class:`Finding`
    for each contract; ``notes`` say what the verdict does not cover.

    Examples
    --------
    >>> from attention_contracts import check
    >>> report = check(lambda queries, keys, values: values.mean(dim=-2, keepdim=True) + queries)
    >>> bool(report), [finding.name for finding in report.broken]
    (True, [])
    """

    subject: str
    kept: tuple[Finding, ...]
    broken: tuple[Finding, ...]
    not_tested: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.kept) and not self.broken and not self.unmet

    @property
    def unmet(self) -> tuple[Finding, ...]:
        """What was required and not tested."""
        return tuple(finding for finding in self.not_tested if finding.name in self.required)

    @property
    def counts(self) -> str:
        """How many contracts were kept, broken and not tested, in words."""
        words = f"{len(self.kept)} kept, {len(self.broken)} broken"
        words += f", {len(self.not_tested)} not tested"
        return words + (f", {len(self.unmet)} of them required" if self.unmet else "")

    @property
    def verdict(self) -> str:
        """Whether it is good, in one sentence."""
        if self.broken:
            return f"Not good: {_listed(self.broken)} broken."
        if self.unmet:
            return f"No verdict: {_listed(self.unmet)} asked for, and could not be tested."
        return "Good: all that could be tested is kept." if self.kept else "Nothing was tested."

    def __str__(self) -> str:
        lines = [*wrap(self.verdict, WIDTH), self.counts, *wrap(self.subject, WIDTH)]
        lines += [row for note in self.notes for row in wrap(note, WIDTH, subsequent_indent="  ")]
        for kind in ("broken", "unmet", "kept", "not_tested"):
            findings = [x for x in getattr(self, kind) if kind == "unmet" or x not in self.unmet]
            title = {"unmet": "required and not tested", "not_tested": "not tested"}.get(kind, kind)
            if findings:
                lines += ["", f"{title} ({len(findings)})"]
            for finding in findings:
                lines += _lines(finding)
        return "\n".join(lines)

    def raise_if_broken(self) -> None:
        """Raise an ``AssertionError`` with the report where it is not true.

        The error prints the verdict, the counts, and what is broken or was required and not tested.
        """
        if self:
            return
        rows = [row for finding in (*self.broken, *self.unmet) for row in _lines(finding)]
        raise AssertionError("\n".join([f"{self.subject}: {self.verdict}", self.counts, *rows]))

    def as_dict(self) -> dict[str, Any]:
        """Return the report as strings, lists and dictionaries, ready for JSON."""
        return asdict(self)


def _listed(findings: Sequence[Finding]) -> str:
    names = [f"“{finding.name}”" for finding in findings]
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _lines(finding: Finding) -> list[str]:
    """Return the rows of a finding: its name, and beside it what is known."""
    texts = [finding.says or finding.how]
    if finding.means:
        page = f"{ADDRESS}{finding.chapter}.html" if ADDRESS else ""
        title = WORDS["chapters"][finding.chapter]
        chapter = page or f"the chapter “{title}” of The Attention Workbook"
        texts += [f"usually: {finding.means}", f"see: {chapter}"]
    rows = [row for text in texts for row in wrap(text, WIDTH - 28, break_long_words=False)]
    return [f"  {name:25} {row}" for name, row in zip_longest([finding.name], rows, fillvalue="")]


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def described(level: str, tests: Mapping[str, Callable[[Any], str | None]]) -> list[Contract]:
    """Return contracts with what ``contracts.toml`` says of them."""
    return [Contract(name, test, **WORDS[level][name]) for name, test in tests.items()]


def names_required(require: Iterable[str], contracts: Sequence[Contract]) -> tuple[str, ...]:
    """Return the contracts that a user's list names, alone or by their group."""
    contract_names = [contract.name for contract in contracts]
    if isinstance(require, str):
        raise TypeError(f"require: expected a list of names, got {require!r}")
    names: list[str] = []
    for name in require:
        group = [each for each in GROUPS.get(name, (name,)) if each in contract_names]
        if not group:
            groups = [group for group, members in GROUPS.items() if {*members} & {*contract_names}]
            raise ValueError(
                f"require: expected some of {', '.join(groups + contract_names)}, got {name!r}"
            )
        names += group
    return tuple(dict.fromkeys(names))


@dataclass
class Run:
    """A run of contracts, and what it found: for each name one finding, and its kind."""

    contracts: Sequence[Contract]
    strict: bool = False
    found: dict[str, tuple[str, Finding]] = field(default_factory=dict)
    reached: Any = None  # the longest

    def on(self, subject: Any, longer: Iterable[Any] = ()) -> "Run":
        """Test everything, then what grows on longer ones, as far as it is not decided."""
        self.reached = subject
        for contract in self.contracts:
            self.found[contract.name] = self._tested(contract, subject)
        growing = [x for x in self.contracts if x.grows]
        for longer_subject in longer:
            self.reached = longer_subject
            growing = [x for x in growing if self._goes_on(x, longer_subject)]
        self._blame_mixed_positions()
        return self

    def _goes_on(self, contract: Contract, subject: Any) -> bool:
        """Test at a longer length; return whether a still longer one may say more."""
        before, finding = self.found[contract.name]
        if before == "broken" or finding.says.startswith(SEEN):
            return False
        kind, now = self._tested(contract, subject)
        if kind == "broken":
            now = replace(now, says=f"{now.says} ({subject.size()})")
        if kind != "not_tested":
            self.found[contract.name] = kind, now
        return kind == "kept" or before == "not_tested"

    def _tested(self, contract: Contract, subject: Any) -> tuple[str, Finding]:
        """Test one; an exception of the call is a reason why it was not tested."""
        finding = Finding(contract.name, "", contract.how)
        try:
            how = contract.test(subject) or contract.how
            return "kept", replace(finding, how=f"{how} ({subject.size()})")
        except AssertionError as error:
            says, means = str(error), getattr(error, "means", contract.means)
        except NotTested as reason:
            return "not_tested", replace(finding, says=str(reason))
        except Exception as error:  # whatever a call may raise
            says = f"the call raises {type(error).__name__}: {first_line(error)}"
            return "not_tested", replace(finding, says=says)
        if contract.strict and not self.strict:
            return "not_tested", replace(finding, says=f"{SEEN} (strict=True counts it): {says}")
        if contract.excuse:
            return "not_tested", replace(finding, says=contract.excuse.format(says))
        return "broken", replace(finding, says=says, means=means, chapter=contract.chapter)

    def _blame_mixed_positions(self) -> None:
        """Where queries are mixed, a break of causality is no fault of the mask."""
        kinds = [self.found.get(name, ("", None)) for name in ("queries apart", "causality")]
        (kind, mixed), (other, causality) = kinds
        if kind == other == "broken" and mixed and causality:
            causality = replace(causality, means=mixed.means, chapter=mixed.chapter)
            self.found["causality"] = other, causality

    def report(
        self, subject: str, notes: Sequence[str] = (), required: Sequence[str] = ()
    ) -> Report:
        """Return what was found."""
        kept, broken, not_tested = (
            tuple(finding for kind, finding in self.found.values() if kind == wanted)
            for wanted in ("kept", "broken", "not_tested")
        )
        return Report(subject, kept, broken, not_tested, tuple(notes), tuple(required))
