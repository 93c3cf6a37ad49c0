"""Lighter forms of exercises, with what the grader says of every answer that they allow."""

import ast
import functools
import importlib
import itertools
import math
import re
import tomllib

import torch

import attention_lib
from attention_workbook import exercises
from attention_workbook.parts import PARTS, of_the_book
from page_python import FOLDER

__all__ = ["forms", "names"]

PLACE = re.compile("⟨(.*?)⟩")
MOST = 30  # answers that a form allows


def names():
    """Return the exercises that have a form, each as ``chapter.name``; nothing is graded for it."""
    return [table["exercise"] for table in _tables()]


@functools.cache
def forms():
    """Return the forms by the exercise that they belong to, ``chapter.name``."""
    return {table["exercise"]: _form_of(table) for table in _tables()}


def _tables():
    return tomllib.loads((FOLDER / "forms.toml").read_text(encoding="utf-8"))["form"]


def _form_of(table):
    form = _form_with_lines(table) if table["kind"] == "arrange" else _form_with_gaps(table)
    return {"kind": table["kind"], "task": table["task"], **form}


def _verdict_on(table, code, choices):
    """Return whether an answer is right, and what is said of it.

    That is the grader's sentence, unless the form has a reason for one of the choices.
    """
    chapter, name = table["exercise"].split(".")
    grader = getattr(importlib.import_module(f"{exercises.__name__}.{chapter}"), name)
    parts = {part: of_the_book(part) for part in PARTS}
    world = {"torch": torch, "math": math, **vars(attention_lib), **parts, "__name__": "answer"}
    exec(code, world)
    verdict = grader(world[name])
    reasons = [text for choice, text in table.get("reasons", {}).items() if choice in choices]
    if reasons and not verdict.passed:
        return [False, f"Not yet: {' Also, '.join(reasons[:2])}"]
    return [verdict.passed, repr(verdict)]


def _form_with_gaps(table):
    """Places with choices: the texts between, the choices, and a verdict for each answer."""
    code, mends = table["code"].strip(), table["kind"] == "mend"
    between = PLACE.split(code)[::2]
    places = [choice.split("|") for choice in PLACE.findall(code)]
    answers = itertools.product(*(range(len(choices)) for choices in places))
    allowed = [answer for answer in answers if not mends or sum(map(bool, answer)) <= 1]
    if len(allowed) > MOST:
        raise ValueError(f"{table['exercise']}: {len(allowed)} answers, at most {MOST}")
    verdicts = {}
    for answer in allowed:
        chosen = [choices[i] for choices, i in zip(places, answer, strict=True)]
        numbered = [f"{place}: {choice}" for place, choice in enumerate(chosen, 1)]
        pieces = itertools.zip_longest(between, chosen, fillvalue="")
        key = ",".join(map(str, answer))
        verdicts[key] = _verdict_on(table, "".join(itertools.chain(*pieces)), numbered)
    return {"between": between, "places": places, "verdicts": verdicts}


def _form_with_lines(table):
    """Lines: what each makes and uses, and a verdict for each set that leads to a result."""
    head, *body_lines = table["code"].strip().split("\n")
    lines = [line[1:] for line in body_lines]
    names_of_lines = [_names(line.strip()) for line in lines]
    assigned = {name for makes, _ in names_of_lines for name in makes}
    parts = [
        {"text": line.strip(), "makes": [*makes], "uses": sorted(uses & assigned)}
        for line, (makes, uses) in zip(lines, names_of_lines, strict=True)
    ]
    verdicts = {}
    for chosen in _programs(parts):
        code = "\n".join([head, *(f"    {parts[i]['text']}" for i in chosen)])
        key = ",".join(map(str, sorted(chosen)))
        verdicts[key] = _verdict_on(table, code, [parts[i]["text"] for i in chosen])
    return {"head": head, "lines": parts, "verdicts": verdicts}


def _names(line):
    """The names that a line assigns, "return" included, and those that it reads."""
    node = ast.parse(f"def f():\n    {line}").body[0].body[0]
    names = [x for x in ast.walk(node) if isinstance(x, ast.Name)]
    makes = [x.id for x in names if isinstance(x.ctx, ast.Store)]
    return makes or ["return"], {x.id for x in names if isinstance(x.ctx, ast.Load)}


def _programs(parts):
    """Yield the lines, in order, of every program that makes each name once and returns."""
    makers = {}
    for i, part in enumerate(parts):
        makers.setdefault(part["makes"][0], []).append(i)
    for choice in itertools.product(*makers.values()):
        by_name = dict(zip(makers, choice, strict=True))
        order = []

        def visit(i, by_name=by_name, order=order):
            for name in parts[i]["uses"]:
                if by_name[name] not in order:
                    visit(by_name[name])
            order.append(i)

        visit(by_name["return"])
        yield order
