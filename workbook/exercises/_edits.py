"""Wrong variants of a right solution, made by editing its source.

An edit replaces a few characters. Two edits of different places combine, and this is how an answer
with two mistakes is recognised. An exercise declares edits of its own; the families below are
found in every right solution: the axis of a softmax, a scale that is missing, a mask turned round.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

__all__ = ["Edit", "Source"]

Function = Callable[..., Any]


@dataclass(frozen=True)
class Edit:
    """Replacements ``(start, end, text)`` in a source, and what to say of an answer like it."""

    spans: tuple[tuple[int, int, str], ...]
    sentence: str

    def fits(self, other: "Edit") -> bool:
        """Whether the two edits change different places."""
        return all(
            (a[1] <= b[0] and a[:2] != b[:2]) or (b[1] <= a[0] and a[:2] != b[:2])
            for a in self.spans
            for b in other.spans
        )


class Source:
    """The source of a right solution, and the functions that its edits make.

    Parameters
    ----------
    function : callable
        Defined in a module, without a closure.

    Examples
    --------
    >>> from workbook.exercises import masking
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
        self.world = function.__globals__
        tree = ast.parse(self.text).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.tree = tree
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def edit(self, replaced: Mapping[str, str], sentence: str) -> Edit:
        """Return the edit that replaces pieces of the body's code wherever they stand."""
        body = self.tree.body
        says = isinstance(getattr(body[0], "value", None), ast.Constant)  # a docstring
        first, end = self.span(body[int(says)])[0], self.span(body[-1])[1]
        spans = []
        for old, new in replaced.items():
            begin = first
            while (begin := self.text.find(old, begin, end)) >= 0:
                spans.append((begin, begin + len(old), new))
                begin += len(old)
            if not any(new == span[2] for span in spans):
                raise ValueError(f"{self.name} has no {old!r} in its code")
        return Edit(tuple(spans), sentence)

    def function(self, edits: Sequence[Edit]) -> Function:
        """Return the function that the edited source defines."""
        text = self.text
        for start, end, new in sorted((s for e in edits for s in e.spans), reverse=True):
            text = text[:start] + new + text[end:]
        made: dict[str, Any] = {}
        world = {**self.world, **_HELPERS}
        exec(compile(text, f"<{self.name}, edited>", "exec"), world, made)
        return made[self.name]

    def families(self) -> Iterator[Edit]:
        """Yield the usual mistakes that can be made in this source."""
        for node in ast.walk(self.tree):
            for family in _FAMILIES:
                for spans, sentence in family(self, node):
                    yield Edit(tuple(spans), sentence)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node's text starts and ends (columns count bytes; sources are ASCII)."""
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def code(self, node: ast.AST) -> str:
        """Return a node's text."""
        return self.text[slice(*self.span(node))]


Variants = Iterator[tuple[list[tuple[int, int, str]], str]]


def _calls(source: Source, node: ast.AST, *names: str) -> ast.Call | None:
    """Return a call of a method with one of these names, or None."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node if node.func.attr in names else None
    return None


def _instead(source: Source, call: ast.Call, helper: str) -> list[tuple[int, int, str]]:
    """Replace ``receiver.method(…)`` by ``helper(receiver)``; no helper drops the call."""
    (start, middle), end = source.span(call.func.value), source.span(call)[1]  # type: ignore[attr-defined]
    middle = _after_brackets(source.text, middle, end)
    if not helper:
        return [(middle, end, "")]
    start = source.span(call)[0]
    return [(start, start, f"{helper}("), (middle, end, ")")]


def _after_brackets(text: str, middle: int, end: int) -> int:
    """Step over the brackets that close a receiver: they are no part of its node."""
    return text.index(".", middle, end)


def _softmax(source: Source, node: ast.AST) -> Variants:
    if call := _calls(source, node, "softmax"):
        for helper, (_, sentence) in _SOFTMAX.items():
            yield _instead(source, call, helper), sentence
        yield _instead(source, call, ""), "the softmax is missing: scores stand for weights."


def _mask(source: Source, node: ast.AST) -> Variants:
    call = _calls(source, node, "masked_fill")
    if call is None:
        return
    where, fill = call.args
    hidden = source.code(fill) == "-torch.inf"
    yield (
        _instead(source, call, ""),
        "hidden scores are not taken out before the softmax, so that they have their share."
        if hidden
        else "a mask is missing: what should be hidden is still there at the end.",
    )
    if isinstance(where, ast.UnaryOp) and isinstance(where.op, ast.Invert):
        spans = [(*source.span(where), source.code(where.operand))]
        yield spans, "the mask is turned round: what may be read is hidden, and the rest is read."
    if hidden:
        for number, sentence in _FILLS:
            yield [(*source.span(fill), number)], sentence


def _scale(source: Source, node: ast.AST) -> Variants:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return
    by = node.right
    if not (isinstance(by, ast.BinOp) and isinstance(by.op, ast.Pow)):
        return
    if not isinstance(by.right, ast.Constant) or by.right.value != 0.5:
        return
    left, size = source.span(node.left)[1], source.code(by.left)
    width = "the width" if "shape[-1]" in size else f"`{size}`"
    left += len(source.text[left:]) - len(source.text[left:].lstrip(")"))
    here = source.span(by)
    yield [(left, here[1], "")], f"the scale is missing: nothing is divided by the root of {width}."
    yield [(*here, size)], f"the scale is {width} itself, and not its root."
    yield (
        [(*here, f"{size} ** -0.5")],
        f"the root of {width} is on the wrong side: it should divide, not multiply.",
    )
    yield [(*here, f"{size} ** 0.25")], f"the fourth root of {width} is taken, not the square root."
    yield [(*here, f"({size} / 2)")], f"{width} is halved, which is not its root."
    yield (
        [(*here, f"({size} // 1) ** 0.5 // 1")],
        f"the root of {width} is rounded to a whole number.",
    )


def _comparison(source: Source, node: ast.AST) -> Variants:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return
    signs = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
    sign = signs.get(type(node.ops[0]))
    start, end = source.span(node.left)[1], source.span(node.comparators[0])[0]
    between = source.text[start:end]
    border = "a comparison is wrong at its border: look at the place where both sides are equal."
    turned = "a comparison is turned round."
    for other, sentence in {
        "<": [("<=", border), (">=", turned), ("==", "only one place passes a comparison.")],
        "<=": [("<", border), (">", turned)],
        ">": [(">=", border), ("<=", turned)],
        ">=": [(">", border), ("<", turned), ("==", "only one place passes a comparison.")],
        "==": [("!=", turned)],
        "!=": [("==", turned)],
    }.get(sign or "", []):
        yield [(start, end, between.replace(sign or "", other))], sentence


_REDUCED = {"sum": ["mean", "amax"], "mean": ["sum", "amax"], "amax": ["amin", "sum"]}
_CALLED = {"sum": "a sum", "mean": "a mean", "amax": "the largest", "amin": "the smallest"}


def _reduction(source: Source, node: ast.AST) -> Variants:
    call = _calls(source, node, *_REDUCED)
    if call is None or not isinstance(call.func, ast.Attribute):
        return
    name, end = call.func.attr, source.span(call.func)[1]
    for other in _REDUCED[name]:
        if call.args or call.keywords or other != "amax":
            sentence = f"{_CALLED[other]} is taken where {_CALLED[name]} belongs."
            yield [(end - len(name), end, other)], sentence
    for keyword in call.keywords:
        value = source.span(keyword.value)
        if keyword.arg == "dim" and source.code(keyword.value) in ("-1", "-2"):
            other = "-2" if source.code(keyword.value) == "-1" else "-1"
            sentence = f"{_CALLED[name]} is taken along the wrong axis, `dim={other}`."
            yield [(*value, other)], sentence
        if keyword.arg == "keepdim":
            yield (
                [(*value, "False")],
                f"an axis is lost where {_CALLED[name]} is taken: `keepdim=True` keeps it.",
            )


def _sign(source: Source, node: ast.AST) -> Variants:
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and node.operand
    if negated and not isinstance(negated, ast.Constant | ast.Attribute):
        start, _ = source.span(node)
        yield [(start, start + 1, "")], "a minus sign is missing."
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        start, end = source.span(node.left)[1], source.span(node.right)[0]
        between, plus = source.text[start:end], isinstance(node.op, ast.Add)
        if source.code(node.left).lstrip("-").isdigit() or source.code(node.right).isdigit():
            return  # places that are one off have sentences of their own
        changed = between.replace("+", "-") if plus else between.replace("-", "+")
        sentence = "subtracted where it should be added" if plus else "added, not subtracted"
        yield [(start, end, changed)], f"something is {sentence}: look at the signs."


def _square(source: Source, node: ast.AST) -> Variants:
    if call := _calls(source, node, "square"):
        yield _instead(source, call, ""), "a square is missing."
        yield _instead(source, call, "torch.abs"), "the absolute value is taken, not the square."


def _swap(source: Source, node: ast.AST) -> Variants:
    if call := _calls(source, node, "transpose"):
        axes = [source.code(x) for x in call.args]
        yield (
            _instead(source, call, ""),
            f"axes {axes[0]} and {axes[1]} are never swapped.",
        )
        before, after = _instead(source, call, "_as_swapped")
        yield (
            [before, (after[0], after[1], f", {axes[0]}, {axes[1]})")],
            "`reshape` and `view` do not swap axes: they keep the order of the numbers, which end "
            "up in rows of others.",
        )
    if isinstance(node, ast.Attribute) and node.attr == "mT":
        start, end = source.span(node)
        yield [(end - 3, end, "")], f"`{source.code(node.value)}` is not transposed."
        yield (
            [(start, start, "_as_swapped("), (end - 3, end, ", -1, -2)")],
            f"`reshape` and `view` do not transpose `{source.code(node.value)}`: they give it the "
            "right shape and mix its numbers.",
        )


def _argument(source: Source, node: ast.AST) -> Variants:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        names = [a.arg for a in source.tree.args.args]
        if node.id in names:
            for other in names:
                if other != node.id:
                    yield (
                        [(*source.span(node), other)],
                        f"`{other}` stands in a place where `{node.id}` belongs.",
                    )


_FAMILIES: list[Callable[[Source, ast.AST], Variants]] = [
    _softmax, _mask, _scale, _swap, _sign, _square, _comparison, _reduction, _argument,
]  # fmt: skip


def _over_all(scores: Tensor) -> Tensor:
    return scores.flatten(-2).softmax(dim=-1).view_as(scores)


def _shares(exponentials: Tensor, total: Tensor) -> Tensor:
    return exponentials / total


_SOFTMAX: dict[str, tuple[Function, str]] = {
    "_down": (
        lambda s: s.softmax(dim=-2),
        "the softmax runs along the wrong axis (`dim=-2`), so that columns sum to 1, not rows.",
    ),
    "_first": (
        lambda s: s.softmax(dim=0),
        "the softmax runs along the first axis (`dim=0`), so that rows do not sum to 1.",
    ),
    "_all": (_over_all, "one softmax is taken over the whole table; each row has its own."),
    "_naive": (
        lambda s: s.exp() / s.exp().sum(dim=-1, keepdim=True),
        "`exp` of a very large score is infinity and `exp` of a very low one is 0, so the "
        "quotient of exponentials is NaN in such rows. `softmax` avoids this.",
    ),
    "_global": (
        lambda s: (s - s.amax()).exp() / (s - s.amax()).exp().sum(dim=-1, keepdim=True),
        "the largest score of the whole tensor is subtracted; in a row far below it all "
        "exponentials are 0. Each row has its own largest score.",
    ),
    "_lost": (
        lambda s: s.exp() / s.exp().sum(dim=-1),
        "the sum of each row lost its axis, so that it meets the wrong rows: `keepdim=True`.",
    ),
    "_table": (
        lambda s: s.exp() / s.exp().sum(),
        "the exponentials are divided by the sum of the whole table; each row has its own sum.",
    ),
    "_columns": (
        lambda s: s.exp() / s.exp().sum(dim=-2, keepdim=True),
        "the exponentials are divided by the sums of the columns, not of the rows.",
    ),
    "torch.exp": (torch.exp, "the exponentials are never divided by their sum."),
    "_linear": (
        lambda s: s / s.sum(dim=-1, keepdim=True),
        "the scores are divided by their sum: the exponential is missing.",
    ),
    "torch.sigmoid": (
        torch.sigmoid,
        "a sigmoid looks at each score alone; the weights of a row have to share 1 among them.",
    ),
    "_log": (lambda s: s.log_softmax(dim=-1), "that is the logarithm of the weights."),
    "_worst": (
        lambda s: (-s).softmax(dim=-1),
        "the scores have the wrong sign: the worst key gets the largest weight.",
    ),
    "_twice": (lambda s: s.softmax(dim=-1).softmax(dim=-1), "the softmax is taken twice."),
    "_hard": (
        lambda s: torch.nn.functional.one_hot(s.argmax(dim=-1), s.shape[-1]).to(s),
        "the best key takes everything; with a softmax every key has a share.",
    ),
    "_length": (
        lambda s: torch.nn.functional.normalize(s, dim=-1),
        "each row is divided by its length, as vectors are; its numbers should sum to 1.",
    ),
}
_FILLS = [
    (
        "0.0",
        "hidden scores become 0, and `exp(0)` is 1: the hidden places keep a share.",
    ),
    *(
        (
            number,
            "the hidden scores are filled with a finite number, which does not hide them in a row "
            "whose other scores are as low.",
        )
        for number in ("-1e4", "-1e9", "-1e20", "-1e30", "torch.finfo(torch.float32).min")
    ),
    ("torch.inf", "hidden scores become +infinity, so that they take all the weight."),
]


def _as_swapped(x: Tensor, a: int, b: int) -> Tensor:
    return x.reshape(x.transpose(a, b).shape)


_HELPERS: dict[str, Function] = {
    "_as_swapped": _as_swapped,
    **{name: function for name, (function, _) in _SOFTMAX.items() if "." not in name},
}
