"""What a page needs to judge code: the graders for MicroPython, and each chapter's cases."""

import ast
import functools
import importlib
import inspect
import json
import lzma
import re
import struct
import sys
from pathlib import Path

from website import ROOT
from website.python import FOLDER, micropython
from website.python.translation import picked, stripped, translated
from workbook import exercises
from workbook.exercises._edits import Source
from workbook.exercises._exercise import Exercise
from workbook.exercises._slips import slips
from workbook.parts import PARTS, of_the_book
from workbook.writer import split_prose

__all__ = [
    "DRIVING",
    "UNABLE",
    "chapter",
    "chapter_of",
    "chapters",
    "engine",
    "packed",
    "part",
    "takes",
    "writer",
    "written",
]

ENGINE = Path(exercises.__file__).parent
HOST = FOLDER / "micropython"
# what the page has of modules that need CPython; the files in `grader` hold the rest
SHARED = {
    "_running": {"SECONDS", "Failure", "copied", "same_inputs", "_ERRORS", "_of_error"},
    "_edits": {"Edit", "HELPERS", "_quotient", "_by_largest"},
    "_rules": {"EXITS", "Trace", "Rule", "without", "calls", "asks_once", "makes"},
}
WHOLE = ["_cases", "_verdict", "_words", "_compare", "_changes", "_facts", "_explain", "_exercise"]

# chapters whose exercises cannot run in the page, and why
UNABLE = {
    "write_a_contract": "This page cannot run it: it takes attentions that need PyTorch itself. ",
}
_BLOCK = ("my_unit_scores", "my_masked_softmax", "my_many_heads", "my_block")
# by chapter, the parts that run the stored writer there
DRIVING = {"one_block": (*_BLOCK, "my_loss"), "kv_cache": (*_BLOCK, "my_cached_heads")}
PANEL = "attention-parts"  # the place where they do, on the page of such a chapter
# functions of the chapter `one-block` that break it
BREAKAGES = ("no_root", "mask_after", "exchanged")
ROWS, ROW = 2, 128  # rows of the held-out text on which the page measures a loss, and their letters
# a grader's call at the end of a cell
CALL = re.compile(r"^(\w+)\.(\w+)\((\w+)\)$", re.MULTILINE)
# parts that a chapter takes from earlier ones
TAKEN = re.compile(r"\btake\(([^)]*)\)")
# what lzma.js expects
FILTER = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 3, "lp": 0, "pb": 2}


def packed():
    """Return the interpreter and the graders as one compressed file."""
    code = (micropython() / "micropython.wasm").read_bytes()
    content = struct.pack("<I", len(code)) + code + written(engine()).encode()
    small = lzma.compress(content, format=lzma.FORMAT_RAW, filters=[FILTER])
    return struct.pack("<I", len(content)) + small


def chapters():
    """Return the names of the chapters with exercises that run in the page."""
    names = [path.stem for path in sorted(ENGINE.glob("[a-z]*.py"))]
    return [name for name in names if name not in UNABLE]


def engine():
    """Return the texts of Python's modules in the page, by their paths."""
    own = [
        path for path in sorted(HOST.rglob("*.py")) if path.parent.name not in ("grader", "writer")
    ]
    files = {path.relative_to(HOST).as_posix(): _bare(path) for path in own}
    package = "workbook/exercises"
    files["workbook/__init__.py"] = ""
    arguments = (ENGINE.parent / "arguments.py").read_text(encoding="utf-8")
    files["workbook/arguments.py"] = picked(arguments, {"shape_of"})
    files[f"{package}/__init__.py"] = translated(_text("__init__"))
    for name in WHOLE:
        files[f"{package}/{name}.py"] = translated(_text(name))
    files["workbook/parts.py"] = parts_of_the_book()
    for name, names in SHARED.items():
        own = _bare(HOST / "grader" / f"{name}.py")
        files[f"{package}/{name}.py"] = own.replace("SHARED\n", picked(_text(name), names), 1)
    for name in ("_mine", "_slips", "judging"):
        files[f"{package}/{name}.py"] = _bare(HOST / "grader" / f"{name}.py")
    return files


def _text(name):
    return (ENGINE / f"{name}.py").read_text(encoding="utf-8")


def _bare(path):
    """The text of a file without its comments and docstrings."""
    return stripped(path.read_text(encoding="utf-8"))


@functools.cache
def chapter(name):
    """Return what the page needs for a chapter: its module, its cases, its solutions' variants."""
    module = importlib.import_module(f"{exercises.__name__}.{name}")
    found = {key: value for key, value in vars(module).items() if isinstance(value, Exercise)}
    own = {key: value for key, value in found.items() if value.right.__module__ == module.__name__}
    return {
        "module": translated(_text(name)),
        "solutions": {key: solution(value) for key, value in own.items()},
        "mistakes": {key: _named(value) for key, value in own.items() if _named(value)},
        "helpers": _helpers(name),
    }


def part(name):
    """Return what a page needs to keep a reader's part: names, and what its chapter defines."""
    chapter, exercise = chapter_of(name), PARTS[name].right.__name__
    page = chapter if chapter in DRIVING else "one_block"
    return {
        "part": name,
        "parts": [*PARTS],
        "library": [*_functions(_bare(HOST / "attention_lib.py"))],
        "helpers": _helpers(chapter).get(exercise, ""),
        "panel": {
            "driving": DRIVING[page],
            "page": f"{page.replace('_', '-')}.html",
            "id": PANEL,
        },
    }


def writer():
    """Return what the page needs to run the stored writer by a reader's parts, but its numbers.

    What breaks it are functions of the chapter that puts the parts together.
    """
    held_out = split_prose()[1]
    known = _defined("one_block")
    return {
        "module": _bare(HOST / "writer" / "writing.py"),
        "breakages": stripped("\n".join(ast.unparse(known[name]) for name in BREAKAGES)),
        "parts": {name: [chapter_of(name), PARTS[name].right.__name__] for name in PARTS},
        "rows": [held_out[start : start + ROW + 1] for start in range(0, ROWS * ROW, ROW)],
    }


def parts_of_the_book():
    """Return the parts as the chapters publish them: each calls those before it."""
    texts = ["import torch"]
    for name, exercise in PARTS.items():
        chapter, known = chapter_of(name), _defined(chapter_of(name))
        solution = next(
            function
            for grader, function, _, is_stub in published(chapter)
            if grader == exercise.right.__name__ and not is_stub
        )
        own = known[solution]
        used = sorted({x.id for x in ast.walk(own) if isinstance(x, ast.Name)} & {*known})
        own.name, own.body[0:0] = name, [known[helper] for helper in used]
        texts.append(ast.unparse(own))
    return stripped("\n".join([*texts, "of_the_book = globals().get"]))


def chapter_of(part):
    """Return the chapter in which a part is written."""
    return PARTS[part].right.__module__.rpartition(".")[2]


def _defined(chapter):
    """The functions that a chapter's notebook defines, by name."""
    known = {}
    for cell in _cells(chapter):
        known |= _functions("".join(cell["source"])) if cell["cell_type"] == "code" else {}
    return known


@functools.cache
def _cells(chapter):
    """The cells of a chapter's notebook, which is read once."""
    notebook = ROOT / "book" / f"{chapter.replace('_', '-')}.ipynb"
    if not notebook.is_file():
        return []
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def published(name):
    """Yield the exercises of a chapter's notebook: grader, function, code, whether it is a stub."""
    for cell in _cells(name):
        code = "".join(cell["source"])
        call = CALL.search(code) if cell["cell_type"] == "code" else None
        if call and call[1] == "exercise":
            yield call[2], call[3], code[: call.start()], "your turn" in code


def _helpers(name):
    """The functions that a chapter's solutions call, by exercise; readers may call them, too.

    They are the chapter's own, and the parts that it takes from earlier chapters.
    """
    return {
        exercise: stripped("\n".join(ast.unparse(node) for node in nodes.values()))
        for exercise, nodes in _called(name).items()
    }


def takes(name):
    """Return the parts that the exercises of a chapter call, by exercise."""
    found = {
        exercise: [part for part in PARTS if part in nodes]
        for exercise, nodes in _called(name).items()
    }
    return {exercise: parts for exercise, parts in found.items() if parts}


def _called(name):
    """The functions that a chapter's solutions call, as nodes by name, by exercise."""
    known, needed = {}, {}
    for cell in _cells(name):
        code = "".join(cell["source"])
        for taken in TAKEN.finditer(code) if cell["cell_type"] == "code" else []:
            known |= {part: _part(part) for part in re.findall(r'"(\w+)"', taken[1])}
        defined = _functions(code) if cell["cell_type"] == "code" else {}
        call = CALL.search(code)
        if defined and call and call[1] == "exercise" and "your turn" not in code:
            used = {x.id for node in defined.values() for x in ast.walk(node) if hasattr(x, "id")}
            found = {x: known[x] for x in sorted(used - {*defined}) if x in known}
            if found:
                needed[call[2]] = found
        known |= defined
    return needed


def _part(name):
    """The book's own solution of a part, under the part's name, with the helpers that it calls."""
    right = of_the_book(name)
    beside = _functions(inspect.getsource(sys.modules[right.__module__]))
    own = beside[right.__name__]
    own.name, own.decorator_list, own.returns = name, [], None
    for argument in own.args.args:
        argument.annotation = None
    used = sorted({x.id for x in ast.walk(own) if isinstance(x, ast.Name)} & {*beside})
    own.body[0:1] = [beside[helper] for helper in used]  # for the docstring
    return own


def _functions(code):
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return {}  # a cell with a magic command
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def _named(exercise):
    """The argument names of mistakes that are functions."""
    return {
        str(number): [*inspect.signature(what).parameters]
        for number, (what, *_) in enumerate(exercise.mistakes)
        if callable(what) and _has_names(what)
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
