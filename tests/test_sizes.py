"""A file has at most 500 lines, and a function at most 60 without its docstring."""

import ast
import subprocess

import pytest

from website import ROOT

LONGEST_FILE, LONGEST_FUNCTION = 500, 60


def python_files():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    named = listed or [path.relative_to(ROOT).as_posix() for path in ROOT.glob("*/**/*.py")]
    return [name for name in named if (ROOT / name).exists()]


def function_lines(source):
    """Yield each function's name and its lines, without its docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node) is not None
            docstring = first.end_lineno - first.lineno + 1 if documented else 0
            yield node.name, node.end_lineno - node.lineno + 1 - docstring


def too_long(name, source):
    """Yield a sentence if the file is too long, and one for each function that is."""
    lines = len(source.splitlines())
    if lines > LONGEST_FILE:
        yield f"{name} has {lines} lines: split it"
    for function, size in function_lines(source):
        if size > LONGEST_FUNCTION:
            yield f"{name}: {function} has {size} lines: split it"


def test_files_and_functions_can_be_read_in_one_go():
    complaints = [
        sentence
        for name in python_files()
        for sentence in too_long(name, (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("    x = 1\n" * 60, "a.py: long has 61 lines: split it"),
        ('    """Two\n    lines."""\n' + "    x = 1\n" * 500, "a.py has 503 lines: split it"),
    ],
)
def test_what_is_too_long_is_named(body, complaint):
    assert complaint in [*too_long("a.py", f"def long():\n{body}")]
