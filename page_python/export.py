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
from attention_workbook.exercises import Exercise, Source, slips
from attention_workbook.parts import PARTS, of_the_book
from attention_workbook.writer import split_prose
from page_python import FOLDER, micropython
from page_python.translation import picked, stripped, translated
from website import ROOT

__all__ = [
    "DRIVING",
    "UNABLE",
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
    "rules": {"EXITS", "Trace", "Rule", "without", "calls", "asks_once", "makes"},
}
WHOLE = ["cases", "verdict", "words", "compare", "changes", "facts", "explain", "exercise"]

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
TAKE = re.compile(r"\btake\(([^)]*)\)")


def packed():
    """Return the interpreter and the graders as one compressed file."""
    code = (micropython() / "micropython.wasm").read_bytes()
    content = struct.pack("<I", len(code)) + code + written(engine()).encode()
    return gzip.compress(content, mtime=0)


def chapters():
    """Return the names of the chapters with exercises that run in the page."""
    names = [path.stem for path in sorted(CHAPTERS.glob("[a-z]*.py"))]
    return [name for name in names if name not in UNABLE]


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
    module = importlib.import_module(f"{exercises.__name__}.{name}")
    own_exercises = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, Exercise) and value.right.__module__ == module.__name__
    }
    argument_names = {key: _argument_names(value) for key, value in own_exercises.items()}
    return {
        "module": translated(_text(CHAPTERS, name)),
        "solutions": {key: solution(value) for key, value in own_exercises.items()},
        "mistakes": {key: names for key, names in argument_names.items() if names},
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
        "helpers": _helpers(chapter, but=PARTS).get(exercise, ""),
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
    functions = _functions_of_chapter("one_block")
    return {
        "module": _bare(HOST / "writer" / "writing.py"),
        "breakages": stripped("\n".join(ast.unparse(functions[name]) for name in BREAKAGES)),
        "parts": {name: [chapter_of(name), PARTS[name].right.__name__] for name in PARTS},
        "rows": [held_out[start : start + ROW + 1] for start in range(0, ROWS * ROW, ROW)],
    }


def parts_of_the_book():
    """Return the parts as the chapters publish them: each calls those before it."""
    texts = ["import torch"]
    for name, exercise in PARTS.items():
        chapter, functions = chapter_of(name), _functions_of_chapter(chapter_of(name))
        solution = next(
            function
            for grader, function, _, is_stub in published(chapter)
            if grader == exercise.right.__name__ and not is_stub
        )
        node = functions[solution]
        helpers = sorted({x.id for x in ast.walk(node) if isinstance(x, ast.Name)} & {*functions})
        node.name, node.body[0:0] = name, [functions[helper] for helper in helpers]
        texts.append(ast.unparse(node))
    return stripped("\n".join([*texts, "of_the_book = globals().get"]))


def chapter_of(part):
    """Return the chapter in which a part is written."""
    return PARTS[part].right.__module__.rpartition(".")[2]


def _functions_of_chapter(chapter):
    """The functions that a chapter's notebook defines, by name."""
    functions = {}
    for cell in _cells(chapter):
        functions |= _functions("".join(cell["source"])) if cell["cell_type"] == "code" else {}
    return functions


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


def _helpers(name, but=()):
    """The functions that a chapter's solutions call, by exercise; readers may call them, too.

    They are the chapter's own, and the parts that it takes from earlier chapters.
    """
    return {
        exercise: stripped(
            "\n".join(ast.unparse(node) for key, node in nodes.items() if key not in but)
        )
        for exercise, nodes in _helper_nodes(name).items()
    }


def parts_called(name):
    """Return the parts that the exercises of a chapter call, by exercise."""
    parts_by_exercise = {
        exercise: [part for part in PARTS if part in nodes]
        for exercise, nodes in _helper_nodes(name).items()
    }
    return {exercise: parts for exercise, parts in parts_by_exercise.items() if parts}


def _helper_nodes(name):
    """The functions that a chapter's solutions call, as nodes by name, by exercise."""
    functions, helpers_by_exercise = {}, {}
    for cell in _cells(name):
        code = "".join(cell["source"])
        for call in TAKE.finditer(code) if cell["cell_type"] == "code" else []:
            parts = re.findall(r'"(\w+)"', call[1])
            functions |= {part: _solution_of_part(part) for part in parts}
        defined = _functions(code) if cell["cell_type"] == "code" else {}
        call = CALL.search(code)
        if defined and call and call[1] == "exercise" and "your turn" not in code:
            used = {x.id for node in defined.values() for x in ast.walk(node) if hasattr(x, "id")}
            helpers = {x: functions[x] for x in sorted(used - {*defined}) if x in functions}
            if helpers:
                helpers_by_exercise[call[2]] = helpers
        functions |= defined
    return helpers_by_exercise


def _solution_of_part(name):
    """The book's own solution of a part, under the part's name, with the helpers that it calls."""
    right = of_the_book(name)
    functions = _functions(inspect.getsource(sys.modules[right.__module__]))
    node = functions[right.__name__]
    node.name, node.decorator_list, node.returns = name, [], None
    for argument in node.args.args:
        argument.annotation = None
    helpers = sorted({x.id for x in ast.walk(node) if isinstance(x, ast.Name)} & {*functions})
    node.body[0:1] = [functions[helper] for helper in helpers]  # for the docstring
    return node


def _functions(code):
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return {}  # a cell with a magic command
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
