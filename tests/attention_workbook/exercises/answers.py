"""Answers of people who had not seen the graders, as data.

``blind/<chapter>.jsonl`` holds an answer in each line, after a first line with what they share.
Run as ``python -m tests.attention_workbook.exercises.answers masking``, this prints what each of a
chapter's
answers hears.
"""

import importlib
import json
import re
import sys
import warnings
from pathlib import Path

BLIND = Path(__file__).with_name("blind")
# A refusal is bare where it says only which number is wrong, or on which side.
_SIDE = r"(where it is wrong, )?(some|all) numbers are too \w+(, and none is too \w+)?\. "
_NONE = r"no single cause was found\. "
BARE = re.compile(rf"(?i)({_SIDE}|{_NONE})?(At .*?)?your result( number \d+)? is")


def chapters():
    """The chapters that have such answers."""
    return sorted(path.stem for path in BLIND.glob("*.jsonl"))


def rows(chapter):
    """The answers of a chapter as dictionaries: exercise, kind (right, wrong), mistake, code."""
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
    exercise = getattr(
        importlib.import_module(f"attention_workbook.exercises.{chapter}"), row["exercise"]
    )
    with warnings.catch_warnings(action="ignore"):
        return exercise(answer(row))


def is_bare(message):
    """Whether a refusal names no cause."""
    return bool(BARE.match(message))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for row in rows(name):
            print(f"{row['exercise']}, {row['kind']} ({row['mistake']}): {verdict(name, row)}")
