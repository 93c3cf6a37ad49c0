"""Wrong variants of a right solution, made by editing its source.

An edit replaces a few characters. Two edits of different places combine, and this is how an answer
with two mistakes is recognised. An exercise declares edits of its own; the usual slips, such as the
wrong axis of a softmax, are found in every right solution.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

__all__ = ["Edit", "Source"]

Function = Callable[..., Any]
Span = tuple[int, int, str]


@dataclass(frozen=True)
class Edit:
    """Replacements ``(start, end, text)`` in a source, and what to say of an answer like it.

    The statement ``first`` changes an argument before anything else is done.
    """

    spans: tuple[Span, ...]
    sentence: str
    first: str = ""

    def fits(self, other: "Edit") -> bool:
        """Whether the two edits change different places, and different arguments.

        An edit's arguments are what its sentence names between backticks.
        """
        named, too = (re.findall("`[^`]*`", edit.sentence) for edit in (self, other))
        if (self.first or other.first) and {*named} & {*too}:
            return False
        return all(
            (a[1] <= b[0] or b[1] <= a[0]) and a[:2] != b[:2]
            for a in self.spans
            for b in other.spans
        )


class Source:
    """The source of a right solution, and the functions that its edits make.

    Parameters
    ----------
    function : callable
        Defined in a module, without a closure; its last statement returns the result.

    Examples
    --------
    >>> from attention_workbook.exercises import masking
    >>> source = Source(masking.masked_softmax.right)
    >>> edit = source.edit({"dim=-1": "dim=-2"}, "the softmax runs along the queries.")
    >>> source.function([edit])(torch.zeros(1, 2, 2), torch.tensor([True, True]))
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])
    """

    def __init__(self, function: Function) -> None:
        lines = textwrap.dedent(inspect.getsource(function)).splitlines(keepends=True)
        first = next(i for i, line in enumerate(lines) if line.startswith("def "))
        self.text = "".join(lines[first:])
        self.name = function.__name__
        self.world = {**function.__globals__, **HELPERS}
        tree = ast.parse(self.text).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.tree = tree
        self.arguments = [argument.arg for argument in tree.args.args]
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        documented = isinstance(getattr(tree.body[0], "value", None), ast.Constant)
        self.begin = self.span(tree.body[int(documented)])[0]
        self.result, self.end = self.span(tree.body[-1])

    def edit(self, replaced: Mapping[str, str], sentence: str) -> Edit:
        """Return the edit that replaces pieces of the body's code wherever they stand."""
        spans = []
        for old, new in replaced.items():
            begin = self.begin
            while (begin := self.text.find(old, begin, self.end)) >= 0:
                spans.append((begin, begin + len(old), new))
                begin += len(old)
            if not any(new == span[2] for span in spans):
                raise ValueError(f"{self.name} has no {old!r} in its code")
        return Edit(tuple(spans), sentence)

    def after(self, suffix: str, sentence: str) -> Edit:
        """Return the edit that changes the result, a tensor, by what follows it."""
        last = f"\n    return torch.as_tensor(_result){suffix}"
        named = self.result, self.result + len("return"), "_result ="
        return Edit((named, (self.end, self.end, last)), sentence)

    def function(self, edits: Sequence[Edit]) -> Function:
        """Return the function that the edited source defines."""
        text = self.text
        for start, end, new in sorted((s for e in edits for s in e.spans), reverse=True):
            text = text[:start] + new + text[end:]
        firsts = "".join(f"{edit.first}\n    " for edit in edits if edit.first)
        text = text[: self.begin] + firsts + text[self.begin :]
        namespace: dict[str, Any] = {}
        exec(compile(text, f"<{self.name}, edited>", "exec"), self.world, namespace)
        return namespace[self.name]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node's text starts and ends (columns count bytes; sources are ASCII)."""
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def code(self, node: ast.AST) -> str:
        """Return a node's text."""
        return self.text[slice(*self.span(node))]

    def instead(self, call: ast.Call, new: str) -> list[Span]:
        """Replace the call of a method.

        In the new code ``{x}`` is what it is called on, ``{0}`` its first argument, ``{all}`` all.
        """
        assert isinstance(call.func, ast.Attribute)
        start, end = self.span(call)
        middle = self.text.index(".", self.span(call.func.value)[1], end)
        inside = self.text[self.span(call.func)[1] + 1 : end - 1]
        first, last = new.split("{x}")
        last = last.format(*map(self.code, call.args), all=inside)
        return [(middle, end, last), *([(start, start, first)] if first else [])]


def _quotient(scores: Tensor, top: Tensor | float, dim: int | None) -> Tensor:
    """Divide exponentials by their sum along an axis, or by that of all."""
    powers = (scores - top).exp()
    return powers / (powers.sum() if dim is None else powers.sum(dim=dim, keepdim=True))


def _by_largest(scores: Tensor, dim: int) -> Tensor:
    """Take a softmax along one axis, each row's largest score subtracted first."""
    return _quotient(scores, scores.amax(dim=-1, keepdim=True), dim)


# what the code of an edit may call
HELPERS: dict[str, Any] = {
    "torch": torch,
    "_naive": lambda scores, dim=-1: _quotient(scores, 0.0, dim),
    "_by_largest": _by_largest,
    "_powers": lambda scores: (scores - scores.amax(dim=-1, keepdim=True)).exp(),
    "_less_all": lambda scores: _quotient(scores, scores.amax(), -1),
    "_over_all": lambda scores: scores.flatten(-2).softmax(dim=-1).view_as(scores),
    "_lowest": lambda scores, hidden: scores.masked_fill(hidden, torch.finfo(scores.dtype).min),
    "_hard": lambda s: torch.nn.functional.one_hot(s.argmax(dim=-1), s.shape[-1]).to(s),
    "_in_turns": lambda x, times, dim=0: torch.cat([x] * times, dim),
    "_reshaped": lambda x: x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2]),
}
