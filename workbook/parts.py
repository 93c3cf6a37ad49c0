"""The parts of a model that readers write, one in each chapter, for the chapters after it.

``take`` hands out what the reader has written: each part is kept in ``mine.py``, beside the
notebooks, when its grader has found it right. Where there is no such part, the book's own solution
stands in.
"""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from workbook.exercises import masking, multi_head, one_block, one_head, soft_lookup, variance
from workbook.exercises._exercise import Exercise
from workbook.exercises._mine import FILE, from_the_book

__all__ = ["of_the_book", "take"]

Function = Callable[..., Any]

PARTS: dict[str, Exercise] = {
    exercise.part: exercise
    for module in (soft_lookup, one_head, masking, variance, multi_head, one_block)
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

    One line says whose they are. A part of the reader's that is not right any more is taken all the
    same, so that one can see what becomes of the model, and the line says what is wrong with it.

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
    module, lack = _mine(Path(FILE))
    found = {name: getattr(module, name) for name in names if hasattr(module, name)}
    own = {name: part for name, part in found.items() if part.__module__ == "mine"}
    if own:
        print(f"From your mine.py: {', '.join(own)}.")
    for name, part in own.items():
        if not (verdict := PARTS[name](part)):
            print(f"{name} is not right any more: {verdict.message}")
    if missing := [name for name in names if name not in own]:
        are = "is" if len(missing) == 1 else "are"
        print(f"{lack or 'Not in your mine.py'}, so {_listed(missing)} {are} the book's.")
    parts = tuple((ours | own).values())
    return parts if len(parts) > 1 else parts[0]


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _mine(path: Path) -> tuple[ModuleType | None, str]:
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
