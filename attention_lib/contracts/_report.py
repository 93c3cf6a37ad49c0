"""What a check found: contracts that are kept, broken, or not tested and why."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, Generic, TypeVar

Subject = TypeVar("Subject")
LABELS = tomllib.loads(Path(__file__).with_name("labels.toml").read_text(encoding="utf-8"))
WIDTH = 96  # columns of a printed report


class NotTested(Exception):
    """A contract could not be tested: its positive control failed, or a precondition is missing.

    Examples
    --------
    >>> import torch
    >>> from attention_lib.contracts import assert_causal
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_causal(lambda queries, keys, values: queries, x, x, x)
    Traceback (most recent call last):
        ...
    attention_lib.contracts._report.NotTested: no output moves when an earlier position changes
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


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

    A report is true if nothing is broken. Printed, it is a table. ``subject`` is what was checked
    and how it was called; ``kept``, ``broken`` and ``not_tested`` have a :class:`Finding` for each
    contract.

    Examples
    --------
    >>> from attention_lib.contracts import check
    >>> report = check(lambda queries, keys, values: values.mean(dim=-2, keepdim=True) + queries)
    >>> bool(report), [finding.name for finding in report.broken]
    (True, [])
    """

    subject: str
    kept: tuple[Finding, ...]
    broken: tuple[Finding, ...]
    not_tested: tuple[Finding, ...]

    def __bool__(self) -> bool:
        return not self.broken

    def __str__(self) -> str:
        lines = [self.subject]
        for title, findings in (
            ("broken", self.broken),
            ("kept", self.kept),
            ("not tested", self.not_tested),
        ):
            if findings:
                lines += ["", f"{title} ({len(findings)})"]
            for finding in findings:
                lines += _lines(finding)
        return "\n".join(lines)

    def raise_if_broken(self) -> None:
        """Raise an ``AssertionError`` with the report, if a contract is broken."""
        if self.broken:
            raise AssertionError(f"{len(self.broken)} contracts are broken\n{self}")

    def as_dict(self) -> dict[str, Any]:
        """Return the report as strings, lists and dictionaries, ready for JSON."""
        return asdict(self)


def _lines(finding: Finding) -> list[str]:
    """Return the rows of a finding: its name, and beside it what is known."""
    text = wrap(finding.says or finding.how, WIDTH - 28)
    if finding.means:
        text += wrap(f"usually: {finding.means}", WIDTH - 28)
    if finding.chapter:
        text.append(f"see: book/{finding.chapter}")
    names = [finding.name, *[""] * (len(text) - 1)]
    return [f"  {name:25} {line}" for name, line in zip(names, text, strict=True)]


@dataclass(frozen=True)
class Contract(Generic[Subject]):
    """A contract of a check: how it is tested, and what a break usually means.

    ``test`` raises an ``AssertionError`` where the contract is broken, :class:`NotTested` where it
    cannot be tested, and returns nothing, or how it was tested in particular.
    """

    name: str
    test: Callable[[Subject], str | None]
    how: str
    means: str
    chapter: str


def labelled(
    kind: str, tests: Mapping[str, Callable[[Subject], str | None]]
) -> list[Contract[Subject]]:
    """Return contracts with their labels; ``kind`` is "attention" or "model"."""
    return [Contract(name, test, **LABELS[kind][name]) for name, test in tests.items()]


def run(contracts: Sequence[Contract[Subject]], subject: Subject, title: str) -> Report:
    """Test all contracts."""
    kept, broken, not_tested = [], [], []
    for contract in contracts:
        try:
            how = contract.test(subject) or contract.how
        except AssertionError as error:
            broken.append(
                Finding(contract.name, str(error), contract.how, contract.means, contract.chapter)
            )
        except NotTested as reason:
            not_tested.append(Finding(contract.name, str(reason), contract.how))
        except Exception as error:  # whatever a call may raise
            said = str(error).strip().partition("\n")[0]
            says = f"the call raises {type(error).__name__}: {said}"
            not_tested.append(Finding(contract.name, says, contract.how))
        else:
            kept.append(Finding(contract.name, "", how))
    return Report(title, tuple(kept), tuple(broken), tuple(not_tested))
