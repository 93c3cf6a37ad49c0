"""The parts of a model that readers write, for the chapters after them.

``take`` hands out what the reader has written: each part is kept in ``mine.py``, beside the
notebooks, when its grader has found it right. Where there is no such part, the book's own solution
stands in.
"""

import importlib.util
import inspect
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from attention_workbook.exercises import (
    it_learns,
    kv_cache,
    masking,
    multi_head,
    one_block,
    one_head,
    scoring_functions,
    soft_lookup,
    variance,
)
from attention_workbook.exercises.engine.exercise import Exercise
from attention_workbook.exercises.engine.mine import FILE, from_the_book
from attention_workbook.exercises.engine.verdict import UNWRITTEN, Verdict

__all__ = ["of_the_book", "take"]

Function = Callable[..., Any]

PARTS: dict[str, Exercise] = {
    exercise.part: exercise
    for module in (
        soft_lookup,
        one_head,
        masking,
        variance,
        multi_head,
        scoring_functions,
        one_block,
        it_learns,
        kv_cache,
    )
    for exercise in vars(module).values()
    if isinstance(exercise, Exercise) and exercise.part
}


def of_the_book(name: str) -> Function:
    """Return the book's own solution of a part.

    Examples
    --------
    >>> import torch
    >>> of_the_book("my_unit_scores")(torch.ones(1, 4), torch.ones(2, 4), 1.0)
    tensor([[2., 2.]])
    """
    if name not in PARTS:
        raise ValueError(f"name: expected one of {', '.join(PARTS)}, got {name!r}")
    return PARTS[name].right


def take(*names: str) -> Any:
    """Return parts by their names: the reader's where ``mine.py`` has them, else the book's.

    Lines say whose they are, and whose those are that they call. A part of the reader's that is not
    right any more is taken all the same, so that one can see what becomes of the model, and a line
    says what is wrong: with the earliest of the parts, where others call it.

    Parameters
    ----------
    *names : str
        Such as ``my_lookup``; a name that no part has is refused with a list of those there are.

    Returns
    -------
    callable or tuple of callable
        The part, or all of them in order.

    Examples
    --------
    >>> my_lookup = take("my_lookup")
    There is no mine.py beside this notebook, so my_lookup is the book's.
    """
    ours = {name: of_the_book(name) for name in names}
    module, why_none = _module_of_reader(Path(FILE))
    own_parts = _own_parts(module)
    taken_names = [name for name in names if name in own_parts]
    if taken_names:
        print(f"From your mine.py: {', '.join(taken_names)}.")
    for line in _checked(taken_names, own_parts):
        print(line)
    if missing := [name for name in names if name not in own_parts]:
        are = "is" if len(missing) == 1 else "are"
        print(f"{why_none or 'Not in your mine.py'}, so {_in_words(missing)} {are} the book's.")
    parts = tuple((ours | own_parts)[name] for name in names)
    return parts if len(parts) > 1 else parts[0]


def _own_parts(module: ModuleType | None) -> dict[str, Function]:
    """Return the parts that are the reader's, in the order of the chapters."""
    parts: dict[str, Any] = {name: getattr(module, name, None) for name in PARTS}
    return {name: part for name, part in parts.items() if getattr(part, "__module__", "") == "mine"}


def _checked(taken_names: list[str], own_parts: dict[str, Function]) -> Iterator[str]:
    """Yield what to say of parts and of those that they call; of what is wrong, where it begins."""
    callers: dict[str, str] = {}
    inner = {name: _called_parts(own_parts[name]) for name in own_parts}
    for name in taken_names:
        yours = [part for part in inner[name] if part in own_parts]
        ours = [f"{part} of the book" for part in inner[name] if part not in own_parts]
        if inner[name]:
            yield f"{name} calls {_in_words([*(f'your {part}' for part in yours), *ours])}."
        callers |= dict.fromkeys(yours, name)
    wrong: set[str] = set()
    for name in own_parts:
        if name not in {*taken_names, *callers} or wrong & {*inner[name]}:
            continue  # where a part that it calls is wrong, nothing is known of it
        with redirect_stdout(io.StringIO()):  # what a part prints has been seen
            verdict = PARTS[name](own_parts[name])
        if not verdict:
            wrong.add(name)
            which = "" if name in taken_names else f", which {callers[name]} calls,"
            yield f"{name}{which} {_fault(verdict)}"


def _fault(verdict: Verdict) -> str:
    if verdict.message == UNWRITTEN:
        return "is not written yet."
    return f"is not right any more: {verdict.message}"


def _called_parts(part: Function) -> list[str]:
    """Return the parts that a function calls, itself or through others of its file."""
    names_in_file = getattr(part, "__globals__", {})
    functions, seen_functions = [part], {part}
    names: set[str] = set()
    while functions:
        codes = [getattr(inspect.unwrap(functions.pop()), "__code__", None)]
        for code in filter(None, codes):
            codes += [item for item in code.co_consts if isinstance(item, CodeType)]
            names |= {name for name in code.co_names if name in names_in_file}
        named_functions = {
            names_in_file[name] for name in names if isinstance(names_in_file[name], FunctionType)
        }
        functions += {
            item for item in named_functions - seen_functions if item.__module__ == "mine"
        }
        seen_functions |= named_functions
    return [name for name in PARTS if name in names and names_in_file[name] is not part]


def _in_words(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _module_of_reader(path: Path) -> tuple[ModuleType | None, str]:
    """Return the reader's module, run afresh, or None and why there is none."""
    if from_the_book() or not path.is_file():
        return None, f"There is no {FILE} beside this notebook"
    spec = importlib.util.spec_from_file_location("mine", path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        line = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        return None, f"Your {FILE} stops with {type(error).__name__}{line} ({error})"
    finally:
        sys.dont_write_bytecode = before
    return module, ""
