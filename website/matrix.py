"""Run library and notebooks under what readers have: other versions, threads and processors.

    make test-matrix                            every row of matrix.toml
    make test-matrix ROWS="oldest torch-2.15"   these rows
    make test-matrix ROWS=threads               every row whose name starts with threads-
    python3 -m website.matrix here              this Python as it stands, its torch and its GPU

A row runs the library's tests and compares all notebooks with the same stored outputs; pictures are
compared where the pinned matplotlib draws them, and a warning is an error where all is as pinned.
The environments are kept in .matrix (some GB each where an index has torch only with CUDA; delete
what you like); a row of settings alone takes .venv, and ``here`` installs nothing. What cannot be
installed or found is no failure: it is not run, and the table says why.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from xml.etree import ElementTree

from website import ROOT, belongs_here

FOLDER = ROOT / ".matrix"
# What builds site or package, drives a browser, reads source code: it meets no reader's versions.
LEFT_OUT = {"jupyter-book", "jupyterlab", "fonttools", "brotli", "ruff", "mypy"}
LEFT_OUT |= {"playwright", "axe-playwright-python", "pip-audit", "flit-core"}
SHOWN = ("torch", "numpy", "matplotlib", "anywidget", "ipywidgets", "ipython")
NO_SITE = ["-m", "not site and not browser", "--ignore=tests/website"]
NO_SITE += [f"--ignore=tests/test_{name}.py" for name in ("environment", "pins", "security")]
PARTS = {"library": ["tests", "tests/nightly", "attention_lib", *NO_SITE], "notebooks": ["book"]}
# What an old companion deprecates, or a new one, is no fault of ours: it is said in the log.
LENIENT = [f"-Wdefault::{kind}Warning" for kind in ("Deprecation", "PendingDeprecation", "Future")]
# Asked of a row's Python: what it has, and what it computes with.
ASK = """
import json, platform, sys
from importlib.metadata import distributions
has = {d.metadata["Name"].lower().replace("_", "-"): d.version for d in distributions()}
device = ""
if "torch" in has:
    import torch
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    if device == "CPU": device += " " + torch.backends.cpu.get_cpu_capability()
print(json.dumps({"python": platform.python_version(), "device": device} | has))
"""


@dataclass
class Outcome:
    """What became of one row: versions by name, and what pytest counted, a part each."""

    name: str
    versions: dict = field(default_factory=dict)
    counts: dict = field(default_factory=dict)  # of a part: passed, failed, skipped
    failures: list = field(default_factory=list)  # a line each
    seconds: Counter = field(default_factory=Counter)  # of a part or a chapter
    not_run: str = ""  # why

    def verdict(self, part):
        if self.not_run or part not in self.counts:
            return "not run"
        count = self.counts[part]
        return f"FAIL {count['failed']}" if count["failed"] else f"pass {count['passed']}"


def rows():
    """The table of matrix.toml, by name; ``here`` is made of what calls this."""
    table = tomllib.loads((ROOT / "website" / "matrix.toml").read_text(encoding="utf-8"))
    return table | {"here": {"why": "this Python as it stands"}}


def chosen(words, table):
    """The names that words ask for: a row's own, or the first part of several; all without any."""
    if not words:
        return [name for name in table if name != "here"]
    unknown = [word for word in words if not any(matches(word, name) for name in table)]
    if unknown:
        raise LookupError(f"no row {', '.join(unknown)}; there are {', '.join(table)}")
    return [name for name in table if any(matches(word, name) for word in words)]


def matches(word, name):
    return name == word or name.startswith(f"{word}-")


# -------------------------------------------------------------------------------- environments


def pinned():
    """Name and version of what requirements.txt pins, as far as the rows need it."""
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([\w-]+)==(\S+)", text, re.MULTILINE))
    pins = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    return {name: version for name, version in pins.items() if name not in LEFT_OUT}


def requirements(row):
    """What pip is asked for: everything newest, all as pinned, or with the row's own versions."""
    if row.get("newest"):
        return sorted(pinned())
    return [f"{name}=={version}" for name, version in (pinned() | row.get("versions", {})).items()]


def find_python(versions):
    """The first of some Pythons that this machine has and that runs; LookupError where none."""
    for version in versions.split():
        path = shutil.which(f"python{version}")
        if path and not subprocess.run([path, "-c", ""], capture_output=True).returncode:
            return path
    raise LookupError(f"no Python {' or '.join(versions.split())} on this machine")


def environment(name, row):
    """The interpreter of a row, in an environment that is made if it has changed or is missing."""
    if not row.keys() & {"python", "versions", "newest"}:
        return sys.executable
    base = find_python(row["python"]) if "python" in row else sys.executable
    packages = requirements(row)
    options = [] if row.keys() & {"versions", "newest"} else ["--constraint=constraints.txt"]
    today = time.strftime("%Y-%m-%d") if row.get("newest") else ""
    mark = hashlib.sha256(repr((base, packages, options, today)).encode()).hexdigest()
    folder = FOLDER / name
    python, stamp = folder / "bin" / "python", folder / "made-from"
    if not stamp.is_file() or stamp.read_text() != mark:
        print(f"{name}: making its environment ...", flush=True)
        install([base, "-m", "venv", "--clear", folder])
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        install([*pip, "--no-input", "--only-binary=:all:", *options, *packages])
        stamp.write_text(mark)
    return str(python)


def install(command):
    """Run an installer; LookupError with its last word where it fails."""
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if process.returncode:
        errors = re.findall(r"ERROR: (.+)", process.stdout + process.stderr)
        raise LookupError(
            errors[0] if errors else (process.stderr.strip() or "no word why").split("\n")[-1]
        )


def installed(python, variables):
    """The versions that a Python has, by name; LookupError with what is missing for the tests."""
    process = subprocess.run(
        [python, "-c", ASK], capture_output=True, text=True, env=os.environ | variables
    )
    if process.returncode:
        raise LookupError(
            f"its torch cannot be imported: {process.stderr.strip().splitlines()[-1]}"
        )
    versions = json.loads(process.stdout)
    if missing := sorted(pinned().keys() - versions.keys()):
        raise LookupError(f"missing here: {python} -m pip install {' '.join(missing)}")
    return versions


# ---------------------------------------------------------------------------------------- runs


def run(name, row, jobs, parts=PARTS):
    """One row of the table, from its environment to what pytest counted."""
    outcome, variables = Outcome(name), row.get("variables", {})
    try:
        python = environment(name, row)
        outcome.versions = installed(python, variables)
    except LookupError as reason:
        outcome.not_run = str(reason)
        return outcome
    versions, pins = outcome.versions, pinned()
    as_pinned = str(int(versions["matplotlib"] == pins["matplotlib"]))
    variables = variables | {"ATTENTION_COMPARE_PICTURES": as_pinned, "PYTHONPATH": str(ROOT)}
    lenient = [] if all(versions[pin].split("+")[0] == pins[pin] for pin in pins) else LENIENT
    for part, arguments in parts.items():
        logs = FOLDER / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        report, log = logs / f"{name}-{part}.xml", logs / f"{name}-{part}.log"
        report.unlink(missing_ok=True)
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        command += [f"-n{jobs}", "--maxprocesses=4", "--dist=loadscope", *lenient, *arguments]
        print(f"{name}: {part} ...", flush=True)
        begin = time.monotonic()
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.run(
                command, cwd=ROOT, env=os.environ | variables, stdout=file, stderr=file
            )
        outcome.seconds[part] = time.monotonic() - begin
        count(outcome, part, report, process.returncode)
    return outcome


def count(outcome, part, report, code):
    """Take pytest's report into an outcome; a run that wrote none, or ran no test, has failed."""
    counts = outcome.counts[part] = Counter(passed=0, failed=0, skipped=0)
    cases = ElementTree.parse(report).iter("testcase") if report.is_file() else ()
    for case in cases:
        place = f"{case.get('classname')}::{case.get('name')}"
        if chapter := re.search(r"([\w-]+)\.ipynb", place):
            outcome.seconds[chapter[1]] += float(case.get("time"))
        problems = [child for child in case if child.tag in ("failure", "error")]
        if problems:
            message = re.sub(r"\x1b\[[\d;]*m", "", problems[0].get("message") or "").strip()
            outcome.failures.append(f"{place}: {message.partition(chr(10))[0][:160]}")
        skipped = case.find("skipped") is not None
        counts["failed" if problems else "skipped" if skipped else "passed"] += 1
    if not counts["failed"] and (code or not counts["passed"]):
        counts["failed"] = 1
        outcome.failures.append(f"{part}: pytest ended with {code}, see its log")


# --------------------------------------------------------------------------------------- table


def table(outcomes):
    """What ran where, how long it took, what failed, and what was not run and why, as text."""
    head = ("row", "python", *SHOWN, "library", "notebooks", "seconds")
    lines = [
        (
            outcome.name,
            *(outcome.versions.get(name, "") for name in ("python", *SHOWN)),
            *map(outcome.verdict, PARTS),
            f"{sum(outcome.seconds[part] for part in PARTS):.0f}",
        )
        for outcome in outcomes
    ]
    text = [*aligned([head, *lines]), ""]
    for outcome in outcomes:
        if outcome.not_run:
            text.append(f"{outcome.name}: not run, {outcome.not_run}")
        elif device := outcome.versions.get("device"):
            text.append(f"{outcome.name}: on {device}")
        text += [f"    {line}" for line in outcome.failures]
    ran = [outcome for outcome in outcomes if outcome.seconds]
    if names := sorted({name for outcome in ran for name in outcome.seconds} - PARTS.keys()):
        chapters = [(name, *(f"{row.seconds[name]:.0f}" for row in ran)) for name in names]
        text += ["", "Seconds a chapter:", *aligned([("", *(row.name for row in ran)), *chapters])]
    return "\n".join(text)


def aligned(lines):
    """Lines of words as lines of text, each column as wide as its widest word."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", help="rows, or the first part of their names; else all")
    parser.add_argument("--jobs", default="logical", help="tests at once, as pytest -n takes it")
    parser.add_argument("--part", choices=PARTS, help="this part only")
    parser.add_argument("--require", action="store_true", help="what is not run is a failure")
    parser.add_argument("--list", action="store_true", help="print the rows' names as JSON")
    options = parser.parse_args(words)
    try:
        names = chosen(options.rows, rows())
    except LookupError as unknown:
        parser.error(str(unknown))
    belongs_here()
    if options.list:
        return print(json.dumps(names))
    parts = {part: PARTS[part] for part in PARTS if options.part in (None, part)}
    outcomes = [run(name, rows()[name], options.jobs, parts) for name in names]
    print(table(outcomes))
    if any(outcome.failures or (options.require and outcome.not_run) for outcome in outcomes):
        sys.exit(f"Not everything holds; every word of pytest is in {FOLDER.name}/logs.")


if __name__ == "__main__":
    main()
