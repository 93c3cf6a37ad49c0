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
# What counts as what. "bare" is where the result is wrong, or on which side, and no cause of it.
# "case" is one of the cases that have names, which the row gives: it is a counterexample in words,
# and counts as neither bare nor a cause. All other kinds say what is wrong, in a word of theirs.
BARE = r"(?i)\A(Some numbers are too \w+, and none is too \w+\. )?(At .*?)?Your result is"
HEARS = {
    "case": r"(?i)\Afor ",
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


def grader(chapter, row):
    """The exercise that judges an answer."""
    return getattr(importlib.import_module(f"workbook.exercises.{chapter}"), row["exercise"])


def verdict(chapter, row):
    """What the grader says of an answer."""
    with warnings.catch_warnings(action="ignore"):
        return grader(chapter, row)(answer(row))


def is_kind(name, message):
    """Whether a message is of a kind; a bare one is of no other."""
    bare = re.search(BARE, message)
    return bool(bare if name == "bare" else not bare and re.search(HEARS[name], message))


def kind(message):
    """The first kind that a message is of."""
    return next(name for name in ["bare", *HEARS] if is_kind(name, message))


def case(chapter, row, message):
    """The name of the case that a message tells, if it tells one."""
    named = [
        label
        for label in getattr(grader(chapter, row), "labels", [])
        if re.match(rf"(?i)for {re.escape(label)}(: | your function says)", message)
    ]
    return named[0] if named else None


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
            if row["hears"] == "case":
                row.setdefault("case", case(chapter, row, said.message))
        lines.append(json.dumps({k: v for k, v in row.items() if k != "world"}, ensure_ascii=False))
    if write:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        if name != "--write":
            _read(name, "--write" in sys.argv)
