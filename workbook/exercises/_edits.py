"""Wrong variants of a right solution, made by editing its source.

An edit replaces a few characters. Two edits of different places combine, and this is how an answer
with two mistakes is recognised. An exercise declares edits of its own; the families below are
found in every right solution: the axis of a softmax, a scale that is missing, a mask turned round.
"""

import ast
import inspect
import re
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
        self.world = {**function.__globals__, **_HELPERS}
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
        made: dict[str, Any] = {}
        exec(compile(text, f"<{self.name}, edited>", "exec"), self.world, made)
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


Variants = Iterator[tuple[list[Span], str]]


def _method(source: Source, node: ast.AST) -> Variants:
    """A method is another one, or is forgotten."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr == "masked_fill" and [*map(source.code, node.args)][1:] != ["-torch.inf"]:
        return
    for new, sentence in _METHODS.get(node.func.attr, []):
        yield source.instead(node, new), sentence
    following = source.text[source.span(node)[1] :]
    if node.func.attr == "masked_fill" and following.startswith(".softmax(dim=-1)"):
        end = source.span(node)[1] + len(".softmax(dim=-1)")
        masked = f".masked_fill({source.code(node.args[0])}, 0.0)"
        yield (
            [*source.instead(node, "{x}"), (end, end, masked)],
            "the mask comes after the softmax, when hidden places have already had their share. "
            "Mask the scores.",
        )


def _scale(source: Source, node: ast.AST) -> Variants:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return
    by = source.code(node.right)
    if not by.endswith(" ** 0.5"):
        return
    size = by.removesuffix(" ** 0.5")
    slash, end = source.text.index("/", source.span(node.left)[1]), source.span(node)[1]
    for new, sentence in _SCALES:
        yield [(slash, end, new.format(size))], sentence
    for name in source.arguments:
        for axis, what in ((-1, "width"), (-2, "last axis but one")):
            if size != f"{name}.shape[{axis}]":
                said = f"the root is taken of the {what} of `{name}`: another width sets the scale."
                yield [(slash, end, f"/ {name}.shape[{axis}] ** 0.5")], said


_SCALES = [
    ("", "the scale is missing: nothing is divided by the root of the width."),
    ("/ {}", "the scale is the width itself, and not its root."),
    ("* {} ** 0.5", "the root of the width should divide, and it multiplies."),
]


def _comparison(source: Source, node: ast.AST) -> Variants:
    if not isinstance(node, ast.Compare):
        return
    start, end = source.span(node.left)[1], source.span(node.comparators[0])[0]
    between = source.text[start:end]
    sign = between.strip("() ")
    for other, sentence in zip(_COMPARED.get(sign, "").split(), _COMPARISONS, strict=False):
        yield [(start, end, between.replace(sign, other))], sentence


_COMPARED = {"<": ">= <=", "<=": "> <", ">": "<= >=", ">=": "< >", "==": "!=", "!=": "=="}
_COMPARISONS = (
    "True and False are swapped where something is compared or masked.",
    "a comparison is wrong at its border: look at the place where both sides are equal.",
)


def _reduction(source: Source, node: ast.AST) -> Variants:
    """A sum is another one, has another axis, or is forgotten."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    name = node.func.attr
    if name not in _REDUCED:
        return
    own = _REDUCED[name]
    for other, called in _REDUCED.items():
        if other != name:
            changed = source.instead(node, f"{{x}}.{other}({{all}})")
            yield changed, f"{called} is taken where {own} belongs."
    yield source.instead(node, "{x}"), f"{own} is still to be taken."
    for keyword in node.keywords:
        here, value = source.span(keyword.value), source.code(keyword.value)
        if value == "-1":
            yield [(*here, "-2")], f"{own} is taken along the wrong axis, `dim=-2`."
            whole = f"{own} is taken of all numbers together; each row has its own."
            yield source.instead(node, f"{{x}}.{name}()"), whole
        if value == "True":
            lost = f"an axis is lost where {own} is taken: `keepdim=True` keeps it."
            yield [(*here, "False")], lost


_REDUCED = {"sum": "a sum", "mean": "a mean", "amax": "the largest", "norm": "a length"}


def _operation(source: Source, node: ast.AST) -> Variants:
    """One side of an operation is left out, or it is the opposite one."""
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and node.operand
    if negated and not isinstance(negated, ast.Constant | ast.Attribute):
        start = source.span(node)[0]
        yield [(start, start + 1, "")], "a minus sign is missing."
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATIONS:
        return
    sign, known, unknown, sides = _OPERATIONS[type(node.op)]
    start, end = source.span(node)
    here = source.text.index(sign, source.span(node.left)[1])
    after = here + len(sign)
    for side, span in [(node.right, (here, end, "")), (node.left, (start, after, ""))][:sides]:
        names = {part.id for part in ast.walk(side) if isinstance(part, ast.Name)}
        code = source.code(side)
        short = names <= {*source.arguments} and len(code) <= 12  # more is half the solution
        yield [span], known.format(f"`{code}`") if short else unknown
    if sign in _OPPOSITE:
        other, sentence = _OPPOSITE[sign]
        yield [(here, after, other)], sentence


_BOTH = "one of two conditions is missing; both must hold."
_EITHER = "one of two conditions is missing; either is enough."
# an operation: its sign, what to say where a side of it is forgotten, how many sides may be
_OPERATIONS = {
    ast.Mult: ("*", "{} is missing as a factor.", "a factor is missing.", 2),
    ast.MatMult: ("@", "the product with {} is missing.", "a matrix product is missing.", 2),
    ast.Div: ("/", "the division by {} is missing.", "a division is missing.", 1),
    ast.Sub: ("-", "{} is not subtracted.", "something is not subtracted that should be.", 1),
    ast.Add: ("+", "{} is not added.", "something is not added that should be.", 2),
    ast.BitAnd: ("&", _BOTH, _BOTH, 2),
    ast.BitOr: ("|", _EITHER, _EITHER, 2),
}
_OPPOSITE = {
    "+": ("-", "something is subtracted where it should be added: look at the signs."),
    "-": ("+", "something is added, not subtracted: look at the signs."),
    "&": ("|", "two conditions are joined by or; both must hold."),
    "|": ("&", "two conditions are joined by and; one is enough."),
}


def _returned(source: Source, node: ast.AST) -> Variants:
    """Results come back in another order."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        for (i, a), (j, b) in combinations(enumerate(node.value.elts, start=1), 2):
            yield (
                [(*source.span(a), source.code(b)), (*source.span(b), source.code(a))],
                f"of the results, numbers {i} and {j} have changed places.",
            )


def _argument(source: Source, node: ast.AST) -> Variants:
    if isinstance(node, ast.Name) and node.id in source.arguments:
        for other in source.arguments:
            if other != node.id and isinstance(node.ctx, ast.Load):
                sentence = f"`{other}` stands in a place where `{node.id}` belongs."
                yield [(*source.span(node), other)], sentence


_FAMILIES: list[Callable[[Source, ast.AST], Variants]] = [  # common ones first
    _scale,
    _method,
    _comparison,
    _reduction,
    _returned,
    _operation,
    _argument,
]

# a method, and what may stand instead: for what stands in the new code see `Source.instead`
_METHODS = {
    "masked_fill": [
        (
            "{x}",
            "hidden scores are not taken out before the softmax, so that they have their share.",
        ),
        (
            "{x}.masked_fill(~({0}), -torch.inf)",
            "the mask is turned round: what may be read is hidden, and the rest is read.",
        ),
        (
            "{x}.masked_fill({0}, 0.0)",
            "hidden scores become 0, and `exp(0)` is 1: the hidden places keep a share.",
        ),
        *(
            (
                filled,
                "the hidden scores are filled with a finite number, which does not hide them in "
                "a row whose other scores are as low.",
            )
            for filled in (
                "{x}.masked_fill({0}, -1e4)",
                "{x}.masked_fill({0}, -1e9)",
                "{x}.masked_fill({0}, -1e20)",
                "_lowest({x}, {0})",
            )
        ),
        (
            "{x}.add(~({0}))",
            "True and False are added to the scores, as 1 and 0. Put −infinity "
            "where nothing may be read.",
        ),
    ],
    "norm": [("{x}.square().sum({all})", "the squared length is taken, not its root.")],
    "transpose": [("{x}", "axes are never swapped that should be.")],
    "all": [
        ("{x}.any({all})", "one is enough for you; all of them must hold."),
        ("{x}", "each has an answer of its own; one for all of them is asked for: `all`."),
    ],
    "any": [
        ("{x}.all({all})", "you ask that all of them hold; one is enough."),
        ("{x}", "each along one axis has an answer of its own; they belong together: `any`."),
    ],
    "tril": [
        (
            "{x}.triu()",
            "the triangle is upside down: tokens read what comes after them, and nothing before.",
        ),
        ("{x}", "the causal mask is missing: tokens read what comes after them."),
        ("{x}.tril(-1)", "the diagonal is closed: a token may read itself."),
    ],
    "repeat_interleave": [
        (
            "_in_turns({x}, {all})",
            "what is repeated comes in turns (a b a b); equal ones should be neighbours (a a b b).",
        ),
        ("{x}", "something is not repeated that should be."),
    ],
    "square": [
        ("{x}", "a square is missing."),
        ("{x}.abs()", "the absolute value is taken, not the square."),
    ],
    "log_softmax": [
        ("{x}.softmax({all})", "the logarithm is missing."),
        ("{x}", "the softmax and its logarithm are missing."),
    ],
    "softmax": [
        (
            "{x}.softmax(dim=-2)",
            "the softmax runs along the wrong axis (`dim=-2`), so that columns sum to 1, not rows.",
        ),
        (
            "{x}.softmax(dim=0)",
            "the softmax runs along the first axis (`dim=0`), so that rows do not sum to 1.",
        ),
        ("_over_all({x})", "one softmax is taken over the whole table; each row has its own."),
        (
            "_naive({x})",
            "`exp` of a very large score is infinity and `exp` of a very low one is 0, "
            "so the quotient of exponentials is NaN in such rows. `softmax` avoids this.",
        ),
        (
            "_less_all({x})",
            "the largest score of the whole tensor is subtracted; in a row far "
            "below it all exponentials are 0. Each row has its own largest score.",
        ),
        ("{x}.exp()", "the exponentials are never divided by their sum."),
        ("{x}.log_softmax(dim=-1)", "that is the logarithm of the weights."),
        (
            "{x}.neg().softmax(dim=-1)",
            "the scores have the wrong sign: the worst key gets the largest weight.",
        ),
        ("_hard({x})", "the best key takes everything; with a softmax every key has a share."),
        ("{x}", "the softmax is missing: scores stand for weights."),
    ],
}


def _naive(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


# what the new code calls
_HELPERS: dict[str, Any] = {
    "torch": torch,
    "_naive": _naive,
    "_less_all": lambda scores: _naive(scores - scores.amax()),
    "_over_all": lambda scores: scores.flatten(-2).softmax(dim=-1).view_as(scores),
    "_lowest": lambda scores, hidden: scores.masked_fill(hidden, torch.finfo(scores.dtype).min),
    "_hard": lambda s: torch.nn.functional.one_hot(s.argmax(dim=-1), s.shape[-1]).to(s),
    "_in_turns": lambda x, times, dim=0: torch.cat([x] * times, dim),
}
