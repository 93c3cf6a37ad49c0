"""A hole in a package is found and waived only with a reason and an end; pickles are found."""

import ast
import datetime
import json
import subprocess
import tomllib
from types import SimpleNamespace

import pytest

from tests.test_security import unpickles
from tools import audit
from website import ROOT

TODAY = datetime.date(2026, 11, 22)
HOLE = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["1.1"], "description": "…"}
REPORT = [
    {"name": "whole", "version": "2.0", "vulns": []},
    {"name": "open", "version": "1.0", "vulns": [HOLE]},
]


def waiver(until, name="CVE-1", reason="Nothing in this book calls it."):
    return [{"id": name, "until": until, "reason": reason}]


@pytest.mark.parametrize(
    ("waivers", "said"),
    [
        ([], ["open 1.0: PYSEC-1, mended in 1.1."]),
        (waiver(datetime.date(2026, 11, 23)), []),
        (waiver(datetime.date(2026, 11, 23), name="PYSEC-1"), []),
        (waiver(datetime.date(2026, 11, 22)), ["ended on 2026-11-22"]),
        (waiver(datetime.date(2027, 11, 22)), ["half a year at most"]),
        (waiver(datetime.date(2027, 1, 1), reason="Later."), ["lacks a reason"]),
        (waiver(datetime.date(2027, 1, 1), name="CVE-2"), ["PYSEC-1", "CVE-2 is not needed"]),
    ],
)
def test_vulnerability_is_waived_only_with_a_reason_and_an_end(waivers, said):
    found = [*audit.problems(REPORT, waivers, TODAY)]
    assert len(found) == len(said)
    assert all(words in sentence for words, sentence in zip(said, found, strict=True)), found


def test_current_waivers_have_a_reason_and_have_not_ended():
    waivers = tomllib.loads(audit.WAIVERS.read_text(encoding="utf-8")).get("waiver", [])
    holes = [HOLE | {"id": waiver["id"], "aliases": []} for waiver in waivers]
    report = [{"name": "any", "version": "1", "vulns": holes}]
    assert [*audit.problems(report, waivers, datetime.date.today())] == []


def answered(monkeypatch, stdout, stderr=""):
    """Let pip-audit answer this; what main then complains of."""
    answer = SimpleNamespace(stdout=stdout, stderr=stderr)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: answer)
    monkeypatch.setattr(audit, "listed", lambda text: [["open==1.0", "whole==2.0"]])
    with pytest.raises(SystemExit) as stopped:
        audit.main()
    return stopped.value.code


SKIPPED = {"name": "lost", "skip_reason": "Dependency not found"}


def test_audit_fails_if_the_advisories_cannot_be_read(monkeypatch):
    said = answered(monkeypatch, "", "Traceback\nConnectionError: no such host\n")
    assert said == "The audit was not run: pip-audit ended with: ConnectionError: no such host."
    said = answered(monkeypatch, json.dumps({"dependencies": [SKIPPED, SKIPPED]}))
    assert said.startswith("The audit was not run: the service with the advisories knew none")
    said = answered(monkeypatch, json.dumps({"dependencies": [*REPORT, SKIPPED]}))
    assert said.splitlines() == [
        "open 1.0: PYSEC-1, mended in 1.1.",
        "lost could not be audited: Dependency not found.",
    ]


def test_audit_covers_every_pinned_package():
    text = "a==1.0  # why\nb==2 ; python_version < '3'\nb==3 ; python_version >= '3'\n# c==4\n"
    assert audit.listed(text) == [["a==1.0", "b==2"], ["b==3"]]
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert sum(map(len, audit.listed(text))) == sum("==" in line for line in text.splitlines())


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "import cloudpickle as c",
        "x = __import__('pickle')",
        "import importlib\nimportlib.import_module('shelve')",
        "torch.load(path)",
        "torch.load(path, weights_only=True)",
        "from torch import load, nn",
        "np.load(path, allow_pickle=True)",
    ],
)
def test_code_that_unpickles_is_found(code):
    assert [*unpickles(ast.parse(code))] != []
