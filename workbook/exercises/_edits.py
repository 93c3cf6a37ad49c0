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
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

__all__ = ["Edit", "Source"]

Function = Callable[..., Any]
Span = tuple[int, int, str]


@dataclass(frozen=True)
class Edit:
    """Replacements ``(start, end, text)`` in a source, and what to say of an answer like it."""

    spans: tuple[Span, ...]
    sentence: str

    def fits(self, other: "Edit") -> bool:
        """Whether the two edits change different places."""
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
        self.arguments = [argument.arg for argument in tree.args.args]
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
        for family in _FAMILIES:
            for node in ast.walk(self.tree):
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

    def said(self, known: str, node: ast.AST, unknown: str) -> str:
        """Name a short part of the code that a student knows; else use the other sentence."""
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        code = self.code(node)
        if known and names <= {*self.arguments} and len(code) <= 12:  # more is half the solution
            return known.format(f"`{code}`")
        return unknown


Variants = Iterator[tuple[list[Span], str]]


def _method(node: ast.AST, *names: str) -> tuple[ast.Call, str] | None:
    """Return a call of a method with one of these names, and its name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return (node, node.func.attr) if node.func.attr in names else None
    return None


def _instead(source: Source, call: ast.Call, helper: str, more: str = "") -> list[Span]:
    """Replace ``receiver.method(…)`` by ``helper(receiver)``; no helper drops the call."""
    assert isinstance(call.func, ast.Attribute)
    start, end = source.span(call)
    middle = source.text.index(".", source.span(call.func.value)[1], end)
    if not helper:
        return [(middle, end, "")]
    return [(start, start, f"{helper}("), (middle, end, f"{more})")]


def _softmax(source: Source, node: ast.AST) -> Variants:
    found = _method(node, "softmax")
    if not found:
        return
    call = found[0]
    for helper, (_, sentence) in _SOFTMAX.items():
        yield _instead(source, call, helper), sentence
    yield _instead(source, call, ""), "the softmax is missing: scores stand for weights."
    masked = _method(call.func.value, "masked_fill")  # type: ignore[attr-defined]
    if masked and source.code(masked[0].args[1]) == "-torch.inf":
        end, where = source.span(call)[1], source.code(masked[0].args[0])
        yield (
            [*_instead(source, masked[0], ""), (end, end, f".masked_fill({where}, 0.0)")],
            "the mask comes after the softmax, when hidden places have already had their share. "
            "Mask the scores.",
        )
        yield (
            _instead(source, masked[0], "torch.add", f", ~({where})"),
            "True and False are added to the scores, as 1 and 0. Put −infinity where nothing may "
            "be read.",
        )


def _mask(source: Source, node: ast.AST) -> Variants:
    found = _method(node, "masked_fill")
    if not found:
        return
    call, (where, fill) = found[0], found[0].args
    hidden = source.code(fill) == "-torch.inf"
    if hidden:
        said = "hidden scores are not taken out before the softmax, so that they have their share."
        yield _instead(source, call, ""), said
    turned = "the mask is turned round: what may be read is hidden, and the rest is read."
    if isinstance(where, ast.UnaryOp) and isinstance(where.op, ast.Invert):
        yield [(*source.span(where), source.code(where.operand))], turned
    elif hidden:
        yield [(*source.span(where), f"~({source.code(where)})")], turned
    if hidden:
        scores = source.code(call.func.value)  # type: ignore[attr-defined]
        for number, sentence in _FILLS:
            yield [(*source.span(fill), number.format(scores))], sentence


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
    for other, said in (
        (size, f"the scale is {width} itself, and not its root."),
        (f"{size} ** -0.5", f"the root of {width} should divide, and it multiplies."),
        (f"({size} ** 0.5 // 1)", f"the root of {width} is rounded to a whole number."),
    ):
        yield [(*here, other)], said
    if width == "the width":
        assigned = [n.id for n in ast.walk(source.tree)
                    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]  # fmt: skip
        for name in dict.fromkeys([*source.arguments, *assigned]):
            whose = f"`{name}`" if name in source.arguments else f"the {name}"
            if not size.startswith(f"{name}."):
                said = f"the root is taken of the width of {whose}: another width sets the scale."
                yield [(*here, f"{name}.shape[-1] ** 0.5")], said
            said = f"the root is taken of the last axis but one of {whose}, not of the width."
            yield [(*here, f"{name}.shape[-2] ** 0.5")], said


_BORDER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _comparison(source: Source, node: ast.AST) -> Variants:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return
    start, end = source.span(node.left)[1], source.span(node.comparators[0])[0]
    between = source.text[start:end]
    sign = between.strip("() ")
    for others, sentence in (
        (_BORDER, "a comparison is wrong at its border: look at the place where both sides are "
         "equal."),
        (_TURNED, "True and False are swapped where something is compared or masked."),
    ):  # fmt: skip
        if sign in others:
            yield [(start, end, between.replace(sign, others[sign]))], sentence


_REDUCED = {"sum": ["mean", "amax"], "mean": ["sum", "amax"], "amax": ["amin", "sum"], "norm": []}
_CALLED = {"sum": "a sum", "mean": "a mean", "amax": "the largest", "amin": "the smallest",
           "norm": "a length"}  # fmt: skip


def _reduction(source: Source, node: ast.AST) -> Variants:
    found = _method(node, *_REDUCED)
    if not found:
        return
    (call, name), end = found, source.span(found[0].func)[1]
    if name == "norm":
        squared = "the squared length is taken, not its root."
        yield _instead(source, call, "_squared_length"), squared
    for other in _REDUCED[name]:
        if call.args or call.keywords or other != "amax":
            sentence = f"{_CALLED[other]} is taken where {_CALLED[name]} belongs."
            yield [(end - len(name), end, other)], sentence
    yield _instead(source, call, ""), f"{_CALLED[name]} is still to be taken."
    for keyword in call.keywords:
        value = source.span(keyword.value)
        if keyword.arg == "dim" and source.code(keyword.value) in ("-1", "-2"):
            other = "-2" if source.code(keyword.value) == "-1" else "-1"
            sentence = f"{_CALLED[name]} is taken along the wrong axis, `dim={other}`."
            yield [(*value, other)], sentence
            if other == "-2":
                whole = f"{_CALLED[name]} is taken of all numbers together; each row has its own."
                yield [(end, source.span(call)[1], "()")], whole
        if keyword.arg == "keepdim":
            yield (
                [(*value, "False")],
                f"an axis is lost where {_CALLED[name]} is taken: `keepdim=True` keeps it.",
            )


def _operand(source: Source, node: ast.AST) -> Variants:
    """One side of an operation is left out."""
    if not isinstance(node, ast.BinOp):
        return
    left, right = node.left, node.right
    start, end = source.span(node)
    for kind, sign, known, unknown, sides in _OPERANDS:
        if isinstance(node.op, kind):
            here = source.text.index(sign, source.span(left)[1])
            after = here + len(sign)
            kept = [(right, (here, end, "")), (left, (start, after, ""))]
            for dropped, span in kept[:sides]:
                yield [span], source.said(known, dropped, unknown)
            if sign in "&|":
                other, rule = _JOINED[sign]
                yield [(here, after, other)], f"two conditions are joined by {rule}."


_JOINED = {"&": ("|", "or; both must hold"), "|": ("&", "and; one is enough")}
# an operation, its sign, what to say where a side of it is forgotten, how many sides may be
_OPERANDS = [
    (ast.Mult, "*", "{} is missing as a factor.", "a factor is missing.", 2),
    (ast.MatMult, "@", "the product with {} is missing.", "a matrix product is missing.", 2),
    (ast.Div, "/", "the division by {} is missing.", "a division is missing.", 1),
    (ast.Sub, "-", "{} is not subtracted.", "something is not subtracted that should be.", 1),
    (ast.Add, "+", "{} is not added.", "something is not added that should be.", 2),
    (ast.BitAnd, "&", "", "one of two conditions is missing; both must hold.", 2),
    (ast.BitOr, "|", "", "one of two conditions is missing; either is enough.", 2),
]


def _call(source: Source, node: ast.AST) -> Variants:
    """A method is another one, or is forgotten."""
    if found := _method(node, *_METHODS):
        call, name = found
        start = source.span(call.func)[1] - len(name)
        for other, sentence in _METHODS[name]:
            if other.startswith("_"):
                inside = source.text[start + len(name) + 1 : source.span(call)[1] - 1]
                yield _instead(source, call, other, f", {inside}" if inside else ""), sentence
            elif not other:
                yield _instead(source, call, ""), sentence
            else:
                end = source.span(call)[1] if "(" in other else start + len(name)
                yield [(start, end, other)], sentence


_METHODS = {
    "all": [("any", "one is enough for you; all of them must hold."),
            ("", "each has an answer of its own; one for all of them is asked for: `all`.")],
    "any": [("all", "you ask that all of them hold; one is enough."),
            ("", "each along one axis has an answer of its own; they belong together: `any`.")],
    "tril": [("triu", "the triangle is upside down: tokens read what comes after them, and nothing "
              "before."),
             ("", "the causal mask is missing: tokens read what comes after them."),
             ("tril(-1)", "the diagonal is closed: a token may read itself.")],
    "repeat_interleave": [
        ("_in_turns", "what is repeated comes in turns (a b a b); equal ones should be neighbours "
         "(a a b b)."),
        ("", "something is not repeated that should be."),
    ],
    "square": [("", "a square is missing."),
               ("abs", "the absolute value is taken, not the square.")],
    "log_softmax": [("softmax", "the logarithm is missing."),
                    ("", "the softmax and its logarithm are missing.")],
}  # fmt: skip


def _returned(source: Source, node: ast.AST) -> Variants:
    """Results come back in another order."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        for (i, a), (j, b) in combinations(enumerate(node.value.elts, start=1), 2):
            yield (
                [(*source.span(a), source.code(b)), (*source.span(b), source.code(a))],
                f"of the results, numbers {i} and {j} have changed places.",
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


def _swap(source: Source, node: ast.AST) -> Variants:
    if found := _method(node, "transpose"):
        axes = " and ".join(map(source.code, found[0].args))
        yield _instead(source, found[0], ""), f"axes {axes} are never swapped."
    if isinstance(node, ast.Attribute) and node.attr == "mT":
        start, end = source.span(node)
        whose = source.said("{}", node.value, "a matrix")
        yield (
            [(start, start, "_as_swapped("), (end - 3, end, ", -1, -2)")],
            f"`reshape` and `view` do not transpose {whose}: they give it the right shape and mix "
            "its numbers.",
        )


def _argument(source: Source, node: ast.AST) -> Variants:
    if isinstance(node, ast.Name) and node.id in source.arguments:
        for other in source.arguments:
            if other != node.id and isinstance(node.ctx, ast.Load):
                sentence = f"`{other}` stands in a place where `{node.id}` belongs."
                yield [(*source.span(node), other)], sentence


_FAMILIES: list[Callable[[Source, ast.AST], Variants]] = [  # common ones first
    _mask, _scale, _swap, _call, _comparison, _reduction, _softmax, _sign, _returned, _operand,
    _argument,
]  # fmt: skip


def _over_all(scores: Tensor) -> Tensor:
    return scores.flatten(-2).softmax(dim=-1).view_as(scores)


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
    "torch.exp": (torch.exp, "the exponentials are never divided by their sum."),
    "_log": (lambda s: s.log_softmax(dim=-1), "that is the logarithm of the weights."),
    "_worst": (
        lambda s: (-s).softmax(dim=-1),
        "the scores have the wrong sign: the worst key gets the largest weight.",
    ),
    "_hard": (
        lambda s: torch.nn.functional.one_hot(s.argmax(dim=-1), s.shape[-1]).to(s),
        "the best key takes everything; with a softmax every key has a share.",
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
        for number in ("-1e4", "-1e9", "-1e20", "-1e30", "torch.finfo({}.dtype).min")
    ),
]


def _as_swapped(x: Tensor, a: int, b: int) -> Tensor:
    return x.reshape(x.transpose(a, b).shape)


def _in_turns(x: Tensor, times: int, dim: int = 0) -> Tensor:
    return torch.cat([x] * times, dim)


def _squared_length(x: Tensor) -> Tensor:
    return x.square().sum(dim=-1, keepdim=True)


_HELPERS: dict[str, Function] = {
    "_in_turns": _in_turns,
    "_squared_length": _squared_length,
    "_as_swapped": _as_swapped,
    **{name: function for name, (function, _) in _SOFTMAX.items() if "." not in name},
}
