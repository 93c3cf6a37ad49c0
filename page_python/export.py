"""What a page needs to judge code: the graders for MicroPython, and each chapter's cases."""

import ast
import functools
import gzip
import importlib
import inspect
import json
import re
import struct
import sys
from pathlib import Path

from attention_workbook import exercises
from attention_workbook.exercises import Exercise, Source, one_block, slips
from attention_workbook.parts import PARTS, of_the_book
from attention_workbook.writer import split_prose
from page_python import FOLDER, micropython
from page_python.translation import picked, stripped, translated

__all__ = [
    "NEEDS_PYTORCH",
    "PARTS_THAT_WRITE",
    "chapter",
    "chapter_of",
    "chapters",
    "engine",
    "packed",
    "part",
    "parts_called",
    "writer",
    "written",
]

CHAPTERS = Path(exercises.__file__).parent
ENGINE = CHAPTERS / "engine"
HOST = FOLDER / "micropython"
WRITER = CHAPTERS.parent / "writer" / "weights.safetensors"
# what the page has of modules that need CPython; the files in `micropython/engine` hold the rest
SHARED = {
    "running": {"SECONDS", "Failure", "copied", "same_inputs", "_ERRORS", "_of_error"},
    "edits": {"Edit", "HELPERS", "_quotient", "_by_largest"},
    "rules": {"EXITS", "Trace", "Rule", "without", "asks_once", "makes"},
}
WHOLE = ["cases", "verdict", "words", "compare", "changes", "facts", "explain", "exercise"]

# chapters whose exercises cannot run in the page, and why
NEEDS_PYTORCH = {
    "write_a_contract": "This page cannot run it: it takes attentions that need PyTorch itself. ",
}
_BLOCK = ("my_unit_scores", "my_masked_softmax", "my_many_heads", "my_block")
# by chapter, the parts that run the stored writer there
PARTS_THAT_WRITE = {"one_block": _BLOCK, "kv_cache": (*_BLOCK, "my_cached_heads")}
PANEL = "attention-parts"  # the place where they do, on the page of such a chapter
ROWS, ROW = 2, 128  # rows of the held-out text on which the page measures a loss, and their letters
# a grader's call at the end of a cell
CALL = re.compile(r"^(\w+)\.(\w+)\((\w+)\)$", re.MULTILINE)


def packed():
    """Return the interpreter and the graders as one compressed file."""
    code = (micropython() / "micropython.wasm").read_bytes()
    content = struct.pack("<I", len(code)) + code + written(engine()).encode()
    return gzip.compress(content, mtime=0)


def chapters():
    """Return the names of the chapters with exercises that run in the page."""
    names = [path.stem for path in sorted(CHAPTERS.glob("[a-z]*.py"))]
    return [name for name in names if name not in NEEDS_PYTORCH]


def engine():
    """Return the texts of Python's modules in the page, by their paths."""
    paths = [
        path for path in sorted(HOST.rglob("*.py")) if path.parent.name not in ("engine", "writer")
    ]
    files = {path.relative_to(HOST).as_posix(): _bare(path) for path in paths}
    package = "attention_workbook/exercises/engine"
    files["attention_workbook/__init__.py"] = ""
    files["attention_workbook/exercises/__init__.py"] = translated(_text(CHAPTERS, "__init__"))
    files[f"{package}/__init__.py"] = ""
    for name in WHOLE:
        files[f"{package}/{name}.py"] = translated(_text(ENGINE, name))
    files["attention_workbook/parts.py"] = parts_of_the_book()
    for name, names in SHARED.items():
        text = _bare(HOST / "engine" / f"{name}.py")
        files[f"{package}/{name}.py"] = text.replace(
            "SHARED\n", picked(_text(ENGINE, name), names), 1
        )
    for name in ("mine", "slips", "judging"):
        files[f"{package}/{name}.py"] = _bare(HOST / "engine" / f"{name}.py")
    return files


def _text(folder, name):
    return (folder / f"{name}.py").read_text(encoding="utf-8")


def _bare(path):
    """The text of a file without its comments and docstrings."""
    return stripped(path.read_text(encoding="utf-8"))


@functools.cache
def chapter(name):
    """Return what the page needs for a chapter: its module, its cases, its solutions' variants."""
    own_exercises = _exercises(name)
    argument_names = {key: _argument_names(value) for key, value in own_exercises.items()}
    return {
        "module": translated(_text(CHAPTERS, name)),
        "solutions": {key: solution(value) for key, value in own_exercises.items()},
        "mistakes": {key: names for key, names in argument_names.items() if names},
        "helpers": {key: _helpers(value) for key, value in own_exercises.items() if value.given},
    }


def _exercises(chapter):
    """The exercises of a chapter, by name."""
    module = importlib.import_module(f"{exercises.__name__}.{chapter}")
    return {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, Exercise) and value.right.__module__ == module.__name__
    }


def parts_called(chapter):
    """Return the parts that the exercises of a chapter may call, by exercise."""
    given = {key: [*filter(PARTS.get, value.given)] for key, value in _exercises(chapter).items()}
    return {key: parts for key, parts in given.items() if parts}


def part(name):
    """Return what a page needs to keep a reader's part: names, and what its chapter defines."""
    chapter = chapter_of(name)
    page = chapter if chapter in PARTS_THAT_WRITE else "one_block"
    return {
        "part": name,
        "parts": [*PARTS],
        "library": [*_functions(_bare(HOST / "attention_lib.py"))],
        "helpers": _helpers(PARTS[name], parts=()),
        "panel": {
            "needed": PARTS_THAT_WRITE[page],
            "page": f"{page.replace('_', '-')}.html",
            "id": PANEL,
        },
    }


def writer():
    """Return what the page needs to run the stored writer by a reader's parts, but its numbers."""
    held_out = split_prose()[1]
    return {
        "module": _bare(HOST / "writer" / "writing.py"),
        "breakages": stripped(ast.unparse(_definition(one_block.breakages))),
        "parts": {name: [chapter_of(name), PARTS[name].right.__name__] for name in PARTS},
        "rows": [held_out[start : start + ROW + 1] for start in range(0, ROWS * ROW, ROW)],
    }


def parts_of_the_book():
    """Return the right solutions of the parts under the parts' names; some call others."""
    calling = _functions(_bare(HOST / "writer" / "parts.py"))
    nodes = [calling.get(name) or _solution_of_part(name) for name in PARTS]
    texts = ["import torch", *map(ast.unparse, nodes)]
    return stripped("\n".join([*texts, "of_the_book = globals().get"]))


def chapter_of(part):
    """Return the chapter in which a part is written."""
    return PARTS[part].right.__module__.rpartition(".")[2]


def _helpers(exercise, parts=PARTS):
    """The text of what an exercise gives: functions of its chapter, and some of the parts."""
    names = [one for one in exercise.given if one in parts]
    nodes = [_definition(one) for one in exercise.given if callable(one)]
    nodes += map(_solution_of_part, names)
    return stripped("\n".join(map(ast.unparse, nodes)))


def _solution_of_part(name):
    """The book's own solution of a part, under the part's name, with the helpers that it calls."""
    right = of_the_book(name)
    functions = _functions(inspect.getsource(sys.modules[right.__module__]))
    node = _definition(right)
    helpers = sorted({x.id for x in ast.walk(node) if isinstance(x, ast.Name)} & {*functions})
    node.name, node.body[0:1] = name, [functions[helper] for helper in helpers]  # no docstring
    return node


def _definition(function):
    """A function's definition, without decorators and annotations."""
    (node,) = ast.parse(inspect.getsource(function)).body
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef):
            inner.decorator_list, inner.returns = [], None
        if isinstance(inner, ast.arg):
            inner.annotation = None
    return node


def _functions(code):
    body = ast.parse(code).body
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def _argument_names(exercise):
    """The argument names of mistakes that are functions."""
    return {
        str(number): [*inspect.signature(mistake).parameters]
        for number, (mistake, *_) in enumerate(exercise.mistakes)
        if callable(mistake) and _has_names(mistake)
    }


def _has_names(function):
    try:
        return bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False


def solution(exercise):
    """Return where a right solution can be edited, and the usual slips in it."""
    source = Source(exercise.right)
    return {
        "text": source.text,
        "begin": source.begin,
        "result": source.result,
        "end": source.end,
        "arguments": source.arguments,
        "slips": [[edit.spans, edit.sentence] for edit in slips(source)],
    }


def written(data):
    """Return data as compact JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
