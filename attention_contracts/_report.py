"""What a check found: contracts that are kept, broken, or not tested and why."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any

LABELS = tomllib.loads(Path(__file__).with_name("labels.toml").read_text(encoding="utf-8"))
WIDTH = 96  # columns of a printed report


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
    >>> from attention_contracts import check
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
        for kind in ("broken", "kept", "not_tested"):
            findings = getattr(self, kind)
            if findings:
                lines += ["", f"{kind.replace('_', ' ')} ({len(findings)})"]
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
    known = [finding.says or finding.how]
    if finding.means:
        known += [f"usually: {finding.means}", f"see: book/{finding.chapter}"]
    rows = [row for sentence in known for row in wrap(sentence, WIDTH - 28)]
    return [f"  {name:25} {row}" for name, row in zip_longest([finding.name], rows, fillvalue="")]


def broken(what: str, /, **known: object) -> AssertionError:
    """Return the error of a broken contract: a sentence of ``labels.toml``, filled in."""
    return AssertionError(_filled("says", what, known))


def untested(what: str, /, **known: object) -> NotTested:
    """Return the reason why a contract was not tested, from there, too."""
    return NotTested(_filled("untested", what, known))


class LabelError(Exception):
    """A sentence lacks what it names: our mistake, that may not hide a broken contract."""


def _filled(kind: str, what: str, known: Mapping[str, object]) -> str:
    try:
        return str(LABELS[kind][what].format(**known))
    except Exception as error:
        raise LabelError(f"labels.toml, {kind}, {what!r}: {error!r}") from error


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def run(
    kind: str, tests: Mapping[str, Callable[[Any], str | None]], subject: Any, title: str
) -> Report:
    """Run all tests of a kind, "attention" or "model".

    A test raises an ``AssertionError`` where its contract is broken, :class:`NotTested` where that
    cannot be tested, and returns nothing, or how it was tested in particular.
    """
    kept, failed, not_tested = [], [], []
    for name, test in tests.items():
        label = LABELS[kind][name]
        try:
            kept.append(Finding(name, "", test(subject) or label["how"]))
        except AssertionError as error:
            failed.append(Finding(name, str(error), **label))
        except NotTested as reason:
            not_tested.append(Finding(name, str(reason), label["how"]))
        except LabelError:
            raise
        except Exception as error:  # whatever a call may raise
            says = f"the call raises {type(error).__name__}: {first_line(error)}"
            not_tested.append(Finding(name, says, label["how"]))
    return Report(title, tuple(kept), tuple(failed), tuple(not_tested))
