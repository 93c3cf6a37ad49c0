"""Answers of people who had not seen the graders, as data, and what kind of thing each must hear.

``blind/<chapter>.jsonl`` holds an answer in each line, after a first line with what they share.
Run as ``python -m tests.workbook.exercises.answers masking``, this prints what each of a chapter's
answers hears; with ``--write`` it also notes the kind of it, for you to read and correct.
"""

import importlib
import json
import re
import sys
import warnings
from pathlib import Path

BLIND = Path(__file__).with_name("blind")
BARE = r"\A(At .*?|at .*?)?(your|Your) result is"  # only where it is wrong, and no cause
HEARS = {
    "case": r"\A[Ff]or .*?(: | your function says)",  # which of the cases that have names
    "inputs": r"belongs to its caller",
    "error": r"stops with|still running|whole program",
    "exchange": r"changed places|stands (where|in a place)",
    "sign": r"sign|minus|worst|turned round|True and False are swapped",
    "scale": r"scale|root|times|factor|divi[ds]|sum to|half|½|bandwidth|squared?",
    "mask": r"mask|hidden|hides|padding|border|fill|causal|later|ahead",
    "softmax": r"softmax|exponential|temperature|weights",
    "axis": r"ax[ie]s|dim|column|row|transpose|reshape|order|interleaved|in turns",
    "number": r"NaN|infinity|large|small|float64|rounded",
    "shape": r"shape|size|None|comes? back|expected",
    "part": r"alone|only|first|last|every|each|whole|missing|left out|never|mean|all",
    "other": r".",
    "bare": BARE,
}


def chapters():
    """The chapters that have such answers."""
    return sorted(path.stem for path in BLIND.glob("*.jsonl"))


def rows(chapter):
    """The answers of a chapter as dictionaries: exercise, kind (right, wrong), mistake, hears."""
    first, *rest = (BLIND / f"{chapter}.jsonl").read_text(encoding="utf-8").splitlines()
    world = {"__name__": "answers"}
    exec(json.loads(first)["preamble"], world)
    return [{**json.loads(line), "world": world} for line in rest]


def answer(row):
    """An expression's value, or the last function that a cell defines."""
    if "\n" not in row["code"]:
        return eval(row["code"], row["world"])
    world = dict(row["world"])
    before = set(world)
    exec(row["code"], world)
    return [made for name, made in world.items() if name not in before][-1]


def verdict(chapter, row):
    """What the grader says of an answer."""
    grader = getattr(importlib.import_module(f"workbook.exercises.{chapter}"), row["exercise"])
    with warnings.catch_warnings(action="ignore"):
        return grader(answer(row))


def kind(message):
    """The first kind that a message is of."""
    if re.search(BARE, message):
        return "bare"
    return next(name for name, pattern in HEARS.items() if re.search(pattern, message))


def _read(chapter, write):
    path = BLIND / f"{chapter}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()[:1]
    for row in rows(chapter):
        said = verdict(chapter, row)
        if said.passed == (row["kind"] == "wrong"):
            print("!!! ACCEPTED" if said.passed else "!!! REFUSED", end=" ")
        print(f"{row['exercise']}, {row['kind']} ({row['mistake']}): {said}")
        if row["kind"] == "wrong":
            row.setdefault("hears", kind(said.message))
        lines.append(json.dumps({k: v for k, v in row.items() if k != "world"}, ensure_ascii=False))
    if write:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        if name != "--write":
            _read(name, "--write" in sys.argv)
