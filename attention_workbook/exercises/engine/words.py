"""How numbers, places and inputs are written in a verdict."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["given", "number", "place", "renamed", "two_numbers", "type_of"]

SHOWN = 16  # an input of at most so many numbers is shown as it is, a larger one as its shape


def type_of(x: Any) -> str:
    """Name the type of a thing, with its article.

    Examples
    --------
    >>> type_of(3), type_of("3")
    ('an int', 'a str')
    """
    name = type(x).__name__.rpartition(".")[2]
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def number(x: Any, digits: int = 3) -> str:
    """Write a number as a person would: 900 and 0.25, not 9e+02.

    Examples
    --------
    >>> number(900.0, 1), number(0.25), number(2/3), number(float("nan")), number(True)
    ('900', '0.25', '0.667', 'NaN', 'True')
    """
    if isinstance(x, bool | int):
        return str(x)
    if x != x or abs(x) == float("inf"):
        return {"nan": "NaN", "inf": "infinity", "-inf": "−infinity"}[str(float(x))]
    if x == int(x) and abs(x) < 1e7:
        return str(int(x))
    return f"{x:.{digits}g}" if not 1 <= abs(x) < 1e7 else f"{float(f'{x:.{digits}g}'):.9g}"


def two_numbers(yours: Any, should: Any) -> tuple[str, str]:
    """Write two numbers with as few digits as show that they differ.

    Examples
    --------
    >>> two_numbers(0.33333, 0.25), two_numbers(1.0001, 1.0)
    (('0.333', '0.25'), ('1.0001', '1'))
    """
    for digits in range(3, 18):
        pair = number(yours, digits), number(should, digits)
        if pair[0] != pair[1]:
            break
    return pair


def place(index: Sequence[int], axes: Sequence[str]) -> str:
    """Say where an entry stands.

    Examples
    --------
    >>> place((0, 2), ["query", "key"]), place((1, 0, 2), ["query", "key"]), place((), [])
    ('At query 0, key 2 (counted from 0)', 'At batch 1, query 0, key 2 (counted from 0)', '')
    """
    if not index:
        return ""
    if not axes:
        return f"At [{', '.join(map(str, index))}]"
    names = [*["batch"] * (len(index) - len(axes)), *axes][-len(index) :]
    where = ", ".join(f"{name} {i}" for name, i in zip(names, index, strict=True))
    return f"At {where} (counted from 0)"


def given(
    names: Sequence[str],
    case: Sequence[Any],
    index: Sequence[int] = (),
    shape: Sequence[int] = (),
) -> str:
    """Say what a case gave: its numbers where they are short, else the row in question, or shapes.

    Parameters
    ----------
    names, case : sequence
        The arguments.
    index, shape : sequence of int
        The place of a number in a result, and the shape of the result.

    Examples
    --------
    >>> given(["x", "n"], (torch.tensor([900.0, 0.5]), 3))
    'Given x = [900, 0.5], n = 3.'
    >>> given(["x"], (torch.eye(5),), (4, 0), (5, 5))
    'Given x of shape (5, 5) with x[4] = [0, 0, 0, 0, 1].'
    """
    tensors = [x for x in case if isinstance(x, Tensor)]
    full = sum(x.numel() for x in tensors) <= SHOWN
    texts = [_written(name, x, full) for name, x in zip(names, case, strict=False)]
    if full and len(", ".join(texts)) > 150:
        texts = [_written(name, x, False) for name, x in zip(names, case, strict=False)]
        full = False
    if not full:
        rows = [_row(name, x, index, shape) for name, x in zip(names, case, strict=False)]
        texts = [text + row for text, row in zip(texts, rows, strict=True)]
    return f"Given {', '.join(texts)}."


def _written(name: str, x: Any, full: bool) -> str:
    if isinstance(x, Tensor):
        short = full or (x.dim() <= 1 and x.numel() <= SHOWN // 2)
        return f"{name} = {_listed(x)}" if short else f"{name} of shape {tuple(x.shape)}"
    if callable(x):
        called = getattr(x, "__name__", "<lambda>")
        ours = called.startswith(("<", "_")) or called == name
        return f"{name} = {'a function of ours' if ours else called}"
    return f"{name} = {x}"


def _row(name: str, x: Any, index: Sequence[int], shape: Sequence[int]) -> str:
    """Show the row of an argument that stands where a number of the result stands."""
    rows = tuple(shape[:-1])
    if not isinstance(x, Tensor) or x.dim() < 2 or tuple(x.shape[:-1]) != rows or not rows:
        return ""
    place = tuple(index[:-1])
    row = x[place]
    return f" with {name}{[*place]} = {_listed(row)}" if row.numel() <= SHOWN // 2 else ""


def _listed(x: Tensor) -> str:
    if x.dim():
        return f"[{', '.join(map(_listed, x))}]"
    if not x.is_floating_point():
        return str(x.item())
    for digits in range(1, 18):  # as few as tell the number from its neighbours
        text = number(x.item(), digits)
        if not x.isfinite() or torch.tensor(float(text)).to(x) == x:
            break
    return text


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Use the student's names of arguments wherever code stands between backticks.

    Examples
    --------
    >>> renamed("`keys` meet `queries @ keys.mT`; keys stay.", {"keys": "k", "queries": "q"})
    '`k` meet `q @ k.mT`; keys stay.'
    """
    word = re.compile(r"(?<![\w.])[A-Za-z_]\w*")

    def code(match: re.Match[str]) -> str:
        return word.sub(lambda name: names.get(name[0], name[0]), match[0])

    return re.sub(r"`[^`]+`", code, text)
