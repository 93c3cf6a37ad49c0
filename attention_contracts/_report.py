"""What a check found: contracts that are kept, broken, or not tested and why."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from textwrap import wrap
from typing import Any

WIDTH = 96  # columns of a printed report
# The folder of the book's pages, with a slash at its end. Empty, reports name the chapter alone.
ADDRESS = ""
CHAPTERS = {
    "bug-museum": "The bug museum",
    "modern-block": "Read a modern block",
    "heatmaps": "Read heatmaps, and doubt them",
    "mask-failures": "Find where a mask leaks",
    "masking": "Mask before the softmax",
    "masks-in-use": "A mask is a rule",
    "positions": "Tell attention the order",
    "softmax-gradient": "When softmax saturates",
    "variance": "Divide by √d",
}
# What `require` may name besides single contracts.
GROUPS = {
    "causality": ("causality", "future"),
    "padding": ("padding, values", "padding removed", "mask is read", "right padding"),
    "cache": ("cached = whole", "cached, one token", "cached, chunks"),
    "documents": ("packed documents",),
}


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
    promise it. ``excuse``, with a place for the error, says why a break never counts.
    """

    name: str
    test: Callable[[Any], str | None]
    how: str
    means: str
    chapter: str
    strict: bool = False
    excuse: str = ""


@dataclass(frozen=True)
class Finding:
    """What is known about one contract.

    It has a ``name``, and ``says`` what moved, where and by how much, or why it was not tested;
    that is empty where it is kept. It says ``how`` it was tested; if it is broken, what that
    usually ``means``, and the ``chapter`` of the book about it.

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

    A report is true if nothing is broken, and nothing ``required`` is untested. Printed, it is a
    table that begins with the counts. ``subject`` is what was checked and how it was called;
    ``kept``, ``broken`` and ``not_tested`` have a :class:`Finding` for each contract; ``notes``
    say what the verdict does not cover.

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
        return not self.broken and not self.unmet

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

    def __str__(self) -> str:
        lines = [self.counts, *wrap(self.subject, WIDTH)]
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

        The error prints the counts, what is broken, and what was required and not tested.
        """
        if self:
            return
        rows = [row for finding in (*self.broken, *self.unmet) for row in _lines(finding)]
        raise AssertionError("\n".join([f"{self.subject}: {self.counts}", *rows]))

    def as_dict(self) -> dict[str, Any]:
        """Return the report as strings, lists and dictionaries, ready for JSON."""
        return asdict(self)


def _lines(finding: Finding) -> list[str]:
    """Return the rows of a finding: its name, and beside it what is known."""
    texts = [finding.says or finding.how]
    if finding.means:
        page = f"{ADDRESS}{finding.chapter}.html" if ADDRESS else ""
        chapter = page or f"the chapter “{CHAPTERS[finding.chapter]}” of The Attention Workbook"
        texts += [f"usually: {finding.means}", f"see: {chapter}"]
    rows = [row for text in texts for row in wrap(text, WIDTH - 28, break_long_words=False)]
    return [f"  {name:25} {row}" for name, row in zip_longest([finding.name], rows, fillvalue="")]


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


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
    """A run of contracts, and what it found."""

    contracts: Sequence[Contract]
    strict: bool = False
    kept: list[Finding] = field(default_factory=list)
    broken: list[Finding] = field(default_factory=list)
    not_tested: list[Finding] = field(default_factory=list)

    def on(self, subject: Any) -> "Run":
        """Test everything; an exception of the call is a reason why nothing was tested."""
        for contract in self.contracts:
            identity = {"name": contract.name, "how": contract.how}
            try:
                how = contract.test(subject)
                self.kept.append(Finding(contract.name, "", how or contract.how))
            except AssertionError as error:
                self._break(contract, str(error))
            except NotTested as reason:
                self.not_tested.append(Finding(**identity, says=str(reason)))
            except Exception as error:  # whatever a call may raise
                says = f"the call raises {type(error).__name__}: {first_line(error)}"
                self.not_tested.append(Finding(**identity, says=says))
        self._blame_mixed_positions()
        return self

    def _break(self, contract: Contract, says: str) -> None:
        if contract.strict and not self.strict:
            says = f"seen, but not every attention promises it (strict=True counts it): {says}"
        elif contract.excuse:
            says = contract.excuse.format(says)
        else:
            finding = Finding(contract.name, says, contract.how, contract.means, contract.chapter)
            self.broken.append(finding)
            return
        self.not_tested.append(Finding(contract.name, says, contract.how))

    def _blame_mixed_positions(self) -> None:
        """Where queries are mixed, a break of causality is no fault of the mask."""
        mixed = [finding for finding in self.broken if finding.name == "queries apart"]
        if mixed:
            self.broken = [
                replace(finding, means=mixed[0].means, chapter=mixed[0].chapter)
                if finding.name == "causality"
                else finding
                for finding in self.broken
            ]

    def report(
        self, subject: str, notes: Sequence[str] = (), required: Sequence[str] = ()
    ) -> Report:
        """Return what was found."""
        findings = (tuple(self.kept), tuple(self.broken), tuple(self.not_tested))
        return Report(subject, *findings, notes=tuple(notes), required=tuple(required))
