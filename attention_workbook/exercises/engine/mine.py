"""Keep a right answer in ``mine.py``, beside the notebook, so that later chapters can call it.

The answers that are kept are called parts, and a part has one name in the whole book, such as
``my_lookup``. Only a function of that name is kept, and only in a notebook: the solutions in the
book have other names, so running a chapter from top to bottom writes nothing.
"""

import ast
import dis
import inspect
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["FILE", "NotKept", "from_the_book", "in_notebook", "keep", "keep_part"]

Function = Callable[..., Any]

FILE = "mine.py"
BOOK = "ATTENTION_PARTS"  # the environment variable; "book": mine.py is neither read nor written
BEGINNING = '''"""Your functions, each as it was when its grader said "Correct".

Later chapters call them. Change what you like: nothing that stands here is overwritten unless you
ask for it.
"""
'''
# where a function of PyTorch's own code can be imported from, as it does not say it
HOMES = ("torch", "torch.nn.functional", "math")


class NotKept(Exception):
    """Why an answer was not kept: the end of a sentence that begins "It is not in mine.py: "."""


def in_notebook() -> bool:
    """Tell whether a notebook's kernel runs this."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def from_the_book() -> bool:
    """Tell whether only the book's own parts are wanted: its notebooks are run, or graded."""
    return os.environ.get(BOOK) == "book"


def keep_part(answer: object, part: str, *, replace: bool = False) -> str:
    """Keep a right answer if it has the name of its part; return what to say of it.

    Examples
    --------
    >>> keep_part(lambda queries, keys: queries @ keys.mT, "my_unit_scores")  # this is no notebook
    ''
    """
    named = getattr(answer, "__name__", "") == part  # as the stub has it; a solution is not kept
    if not named or not in_notebook() or from_the_book():
        return ""
    try:
        keep(answer, part, Path(FILE), replace=replace)  # type: ignore[arg-type]
    except NotKept as why:
        return f" It is not in {FILE}: {why}"
    return f" It is in {FILE} now."


def keep(answer: Function, part: str, path: Path, *, replace: bool = False) -> None:
    """Write a function, with all that it needs, to a file of Python.

    Raises
    ------
    NotKept
        If the file holds something else under one of the names, is no Python or cannot be written,
        or if the function cannot be written down.
    """
    needed: dict[str, str] = {}
    _collect(answer, part, needed)
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else BEGINNING
        new = _joined(text, needed, replace)
    except SyntaxError as error:
        why = f"its line {error.lineno} is no Python. Mend it, and run this cell again."
        raise NotKept(why) from None
    except (OSError, UnicodeDecodeError) as error:
        raise NotKept(f"the file cannot be read ({_reason(error)}).") from None
    if new == text:
        return
    temporary = path.with_name(f"{path.name}.new")
    try:
        temporary.write_text(new, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise NotKept(f"the file cannot be written ({_reason(error)}).") from None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


def _joined(text: str, needed: dict[str, str], replace: bool) -> str:
    """Return a module's text with these names in it: definitions at its end, imports at its top."""
    statements = _statements(text)
    imports: list[str] = []
    definitions: list[str] = []
    for name, code in needed.items():
        old, new = statements.get(name), ast.parse(code).body[0]
        if old is None:
            (imports if isinstance(new, ast.Import | ast.ImportFrom) else definitions).append(code)
        elif ast.dump(old) != ast.dump(new):
            if isinstance(old, ast.Import | ast.ImportFrom):
                raise NotKept(f"`{name}` is imported from elsewhere there.")
            if not replace and not _takes_from_the_book(old):
                raise NotKept(
                    f"another `{name}` stands there. To put this one in its place, call the "
                    "grader with `replace=True` after your function's name."
                )
            text = _replaced(text, old, code)
            statements = _statements(text)
    text = _with_imports(text, imports)
    return "\n\n\n".join([text.rstrip("\n"), *(code.rstrip("\n") for code in definitions)]) + "\n"


def _statements(text: str) -> dict[str, ast.stmt]:
    """Return the statements of a module by the names that they define, imports one by one."""
    statements: dict[str, ast.stmt] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                single = ast.unparse(node).partition("import ")[0]
                statements[alias.asname or alias.name] = ast.parse(
                    f"{single}import {ast.unparse(alias)}"
                ).body[0]
            continue
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            names = [node.name] if hasattr(node, "name") else []
        statements |= dict.fromkeys(names, node)
    return statements


def _takes_from_the_book(node: ast.stmt) -> bool:
    """Tell whether a statement only takes a part of the book, until the reader's own is there."""
    return isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("of_the_book(")


def _replaced(text: str, node: ast.stmt, code: str) -> str:
    lines = text.split("\n")
    decorators = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    lines[start - 1 : node.end_lineno] = code.rstrip("\n").split("\n")
    return "\n".join(lines)


def _with_imports(text: str, imports: list[str]) -> str:
    """Put imports below those at the top, or below the docstring if there are none."""
    if not imports:
        return text
    body = ast.parse(text).body
    after = 0
    for node in body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not docstring and not isinstance(node, ast.Import | ast.ImportFrom):
            break
        after = node.end_lineno or 0
    lines = text.split("\n")
    first = body and isinstance(body[0], ast.Expr) and after == body[0].end_lineno
    lines[after:after] = ([""] if first else []) + [line.rstrip("\n") for line in imports]
    return "\n".join(lines)


def _collect(value: Any, name: str, needed: dict[str, str]) -> None:
    """Add the code that defines a name, after that of all that it needs itself."""
    if name in needed or getattr(value, "__module__", None) == "mine":
        return
    if getattr(value, "__module__", None) != "__main__" or isinstance(value, ModuleType):
        if (getattr(value, "__module__", None) or "").startswith("attention_workbook.exercises."):
            needed["of_the_book"] = "from attention_workbook.parts import of_the_book"
            needed[name] = f'{name} = of_the_book("{name}")'
        else:
            needed[name] = _import_or_constant(value, name)
        return
    code = _source(value, name)
    needed[name] = ""  # a function may call itself
    if isinstance(value, FunctionType):
        if value.__closure__:
            raise NotKept(f"`{name}` uses variables of a function around it.")
        for other in _globals(value, code):
            if other != name and other in value.__globals__:
                _collect(value.__globals__[other], other, needed)
    del needed[name]
    needed[name] = code


def _source(value: Any, name: str) -> str:
    try:
        code = textwrap.dedent(inspect.getsource(value))
        defined = getattr(ast.parse(code).body[0], "name", "")
    except (OSError, TypeError, SyntaxError, IndexError):
        raise NotKept(f"the code of `{name}` is not to be found.") from None
    if defined != name:
        raise NotKept(f"`{name}` is not defined by `def {name}`.")
    return code


def _globals(function: FunctionType, code: str) -> Iterator[str]:
    """Yield the global names that a function's code reads, its defaults and decorators too."""
    codes = [inspect.unwrap(function).__code__]
    while codes:
        unread = codes.pop()
        codes += [part for part in unread.co_consts if isinstance(part, CodeType)]
        steps = dis.get_instructions(unread)
        yield from (step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    node: Any = ast.parse(code).body[0]
    node.body = []
    yield from (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _import_or_constant(value: Any, name: str) -> str:
    """Return the line that makes a name hold what it holds: an import, or a constant."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__}" + f" as {name}" * (value.__name__ != name)
    if _is_literal(value):
        return f"{name} = {value!r}"
    name_at_home = getattr(value, "__name__", name)
    for home in (getattr(value, "__module__", None) or "", *HOMES):
        if getattr(sys.modules.get(home), name_at_home, None) is value:
            return f"from {home} import {name_at_home}" + f" as {name}" * (name_at_home != name)
    raise NotKept(f"it uses `{name}`, which only this notebook has. Make it inside the function.")


def _is_literal(value: Any) -> bool:
    """Tell whether Python reads a value again from how it is written."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (SyntaxError, TypeError, ValueError, RuntimeError):
        return False
