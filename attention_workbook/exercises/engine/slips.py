"""The usual slips, as edits of any right solution.

Each family looks at a node of the solution's syntax tree and yields what people write there
instead. A sentence says how a result differs from the right one; it is said only where the edited
solution gives the answer's results in every case.
"""

import ast
from collections.abc import Callable, Iterator
from itertools import combinations

from attention_workbook.exercises.engine.edits import Edit, Source, Span

__all__ = ["slips"]

Variants = Iterator[tuple[list[Span], str]]


def slips(source: Source) -> Iterator[Edit]:
    """Yield the usual mistakes that can be made in a source.

    Examples
    --------
    >>> from attention_workbook.exercises import masks_in_use
    >>> edits = slips(Source(masks_in_use.prefix_rule.right))
    >>> next(edits).sentence
    'each token meets itself and what comes after it, and nothing before.'
    """
    for family in _FAMILIES:
        for node in ast.walk(source.tree):
            for spans, sentence in family(source, node):
                yield Edit(tuple(spans), sentence)


def _method(source: Source, node: ast.AST) -> Variants:
    """A method is another one, or is forgotten."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr == "masked_fill" and [*map(source.code, node.args)][1:] != ["-torch.inf"]:
        return
    for new, sentence in _METHODS.get(node.func.attr, []):
        yield source.instead(node, new), sentence
    rest_of_line = source.text[source.span(node)[1] :]
    if node.func.attr == "masked_fill" and rest_of_line.startswith(".softmax(dim=-1)"):
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
    if not isinstance(node.right, ast.BinOp) or not isinstance(node.right.op, ast.Pow):
        return
    size = source.code(node.right.left)
    slash, end = source.text.index("/", source.span(node.left)[1]), source.span(node)[1]
    for new, sentence in _SCALES:
        yield [(slash, end, new.format(size))], sentence
    for name in source.arguments:
        width = f"{name}.shape[-1]"
        if size != width:
            yield (
                [(slash, end, f"/ {width}")],
                f"the scores are divided by the width of `{name}`; the root of another width "
                "should divide them.",
            )
            yield (
                [(slash, end, f"* {width} ** 0.5")],
                f"the scores are multiplied by the root of the width of `{name}`; they are to "
                "be divided, by another root.",
            )


def _root(source: Source, node: ast.AST) -> Variants:
    """The root is taken of another size."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Pow):
        return
    size, span = source.code(node.left), source.span(node.left)
    if source.code(node.right) != "0.5" or ".shape[" not in size:
        return
    for name in source.arguments:
        width, length = f"{name}.shape[-1]", f"{name}.shape[-2]"
        if size != width:
            sentence = f"the root is taken of the width of `{name}`: another width sets the scale."
            yield [(*span, width)], sentence
        if size != length:
            rows = "keys" if name == "keys" else f"rows of `{name}`"
            yield (
                [(*span, length)],
                f"`{length}` is the number of {rows}; the scale is the root of a width, the last "
                "axis.",
            )


_SCALES = [
    ("", "the scale is missing: the scores are not divided by the root of the width."),
    ("/ {}", "the scale is the width itself, and not its root."),
    ("* {} ** 0.5", "the root of the width should divide, and it multiplies."),
    ("/ {} ** 0.25", "the fourth root of the width divides; it should be the square root."),
]


def _divisor(source: Source, node: ast.AST) -> Variants:
    """An argument divides by its root or its square."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        end, name = source.span(node.right)[1], source.code(node.right)
        if name in source.arguments:
            yield [(end, end, "**0.5")], f"the root of `{name}` divides, not `{name}` itself."
            yield [(end, end, "**2")], f"the square of `{name}` divides, not `{name}` itself."


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
    "a comparison has the opposite result: True and False are swapped there.",
    "a comparison is wrong at its border: look at the place where both sides are equal.",
)


def _reduction(source: Source, node: ast.AST) -> Variants:
    """A sum is another one, has another axis, or is forgotten."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    name = node.func.attr
    if name not in _REDUCED:
        return
    own_name = _REDUCED[name]
    for other, other_name in _REDUCED.items():
        if other != name:
            spans = source.instead(node, f"{{x}}.{other}({{all}})")
            yield spans, f"{other_name} is taken where {own_name} belongs."
    yield source.instead(node, "{x}"), f"{own_name} is still to be taken."
    for keyword in node.keywords:
        place, value = source.span(keyword.value), source.code(keyword.value)
        if value == "-1":
            yield [(*place, "-2")], f"{own_name} is taken along the wrong axis, `dim=-2`."
            yield [(*place, "0")], f"{own_name} is taken along the wrong axis, `dim=0`."
            whole = f"{own_name} is taken of all numbers together; each row has its own."
            yield source.instead(node, f"{{x}}.{name}()"), whole
        if value == "True":
            lost = f"an axis is lost where {own_name} is taken: `keepdim=True` keeps it."
            yield [(*place, "False")], lost


_REDUCED = {"sum": "a sum", "mean": "a mean", "amax": "the largest", "norm": "a length"}


def _transposed(source: Source, node: ast.AST) -> Variants:
    """A transpose is a reshape."""
    if isinstance(node, ast.Attribute) and node.attr == "mT":
        start, end = source.span(node)
        middle = source.span(node.value)[1]
        yield (
            [(start, start, "_reshaped("), (middle, end, ")")],
            "a `reshape` stands for the transpose: it deals the numbers out anew, row by row, "
            "and does not swap the axes.",
        )


def _operation(source: Source, node: ast.AST) -> Variants:
    """One side of an operation is left out, or it is the opposite one."""
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and node.operand
    if negated and not isinstance(negated, ast.Constant | ast.Attribute):
        start = source.span(node)[0]
        yield [(start, start + 1, "")], "a minus sign is missing."
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATIONS:
        return
    sign, with_code, without_code, sides = _OPERATIONS[type(node.op)]
    start, end = source.span(node)
    sign_start = source.text.index(sign, source.span(node.left)[1])
    sign_end = sign_start + len(sign)
    for side, span in [(node.right, (sign_start, end, "")), (node.left, (start, sign_end, ""))][
        :sides
    ]:
        names = {part.id for part in ast.walk(side) if isinstance(part, ast.Name)}
        code = source.code(side)
        short = names <= {*source.arguments} and len(code) <= 12  # more is half the solution
        described = f"`{code}`" if short else _made_of(source, side)
        yield [span], (with_code if short else without_code).format(described)
    if sign in _OPPOSITE:
        other, sentence = _OPPOSITE[sign]
        yield [(sign_start, sign_end, other)], sentence.format(_made_of(source, node.right))


def _made_of(source: Source, node: ast.AST) -> str:
    """Say from which arguments a piece of code is made, through names that were assigned before."""
    made_of = {name: {name} for name in source.arguments}

    def behind(node: ast.AST) -> set[str]:
        names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
        return set().union(*(made_of.get(name, set()) for name in names))

    for statement in source.tree.body:
        if isinstance(statement, ast.Assign) and statement.lineno < node.lineno:  # type: ignore
            for part in ast.walk(statement):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    made_of[part.id] = behind(statement.value)
    found = behind(node)
    names = [f"`{name}`" for name in source.arguments if name in found]
    if not names:
        return "numbers alone"
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


_BOTH = "one of two conditions is missing; both must hold."
_EITHER = "one of two conditions is missing; either is enough."
# an operation: its sign, what to say where a side of it is forgotten, how many sides may be
_OPERATIONS = {
    ast.Mult: ("*", "{} is missing as a factor.", "a factor made of {} is missing.", 2),
    ast.MatMult: (
        "@",
        "the product with {} is missing.",
        "a matrix product with something made of {} is missing.",
        2,
    ),
    ast.Div: (
        "/",
        "the division by {} is missing.",
        "the division by something made of {} is missing.",
        1,
    ),
    ast.Sub: (
        "-",
        "{} is not subtracted.",
        "a term made of {} is not subtracted, and should be.",
        1,
    ),
    ast.Add: ("+", "{} is not added.", "a term made of {} is not added, and should be.", 2),
    ast.BitAnd: ("&", _BOTH, _BOTH, 2),
    ast.BitOr: ("|", _EITHER, _EITHER, 2),
}
_OPPOSITE = {
    "+": ("-", "a term made of {} is subtracted; it should be added."),
    "-": ("+", "a term made of {} is added; it should be subtracted."),
    "&": ("|", "one of two conditions is enough for you; both must hold."),
    "|": ("&", "you ask for two conditions at once; one of them is enough."),
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
        kinds = {x.arg: x.annotation and source.code(x.annotation) for x in source.tree.args.args}
        for other in source.arguments:
            alike = other != node.id and kinds[other] == kinds[node.id]
            if alike and isinstance(node.ctx, ast.Load):
                sentence = f"`{other}` stands in a place where `{node.id}` belongs."
                yield [(*source.span(node), other)], sentence


_FAMILIES: list[Callable[[Source, ast.AST], Variants]] = [  # common ones first
    _scale,
    _root,
    _divisor,
    _method,
    _comparison,
    _reduction,
    _transposed,
    _returned,
    _operation,
    _argument,
]
_COLUMN = (
    "the exponentials are divided by the sum of a column; each row has a sum of its own, along "
)
_EXP = "`exp` of a very large score is infinity and `exp` of a very low one is 0, "

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
                "when the softmax comes, a hidden score is a finite number, which does not hide it "
                "in a row whose other scores are as low.",
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
    "all": [("{x}.any({all})", "one is enough for you; all of them must hold.")],
    "any": [("{x}.all({all})", "you ask that all of them hold; one is enough.")],
    "tril": [
        ("{x}.triu()", "each token meets itself and what comes after it, and nothing before."),
        ("{x}", "the causal mask is missing: tokens meet what comes after them."),
        ("{x}.tril(-1)", "the diagonal is closed: a token does not meet itself, and it should."),
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
            f"{_EXP}so the quotient of exponentials is NaN in such rows. Subtract the largest "
            "score of each row first, as `softmax` does.",
        ),
        (
            "_less_all({x})",
            "the largest score of the whole tensor is subtracted; in a row far "
            "below it all exponentials are 0. Each row has its own largest score.",
        ),
        ("_by_largest({x}, -2)", f"{_COLUMN}`dim=-1`."),
        ("_by_largest({x}, 0)", f"{_COLUMN}`dim=-1`."),
        ("_by_largest({x}, None)", "one sum divides all exponentials; each row has its own."),
        ("_naive({x}, -2)", f"{_COLUMN}`dim=-1`. And {_EXP}before they are divided."),
        ("_naive({x}, 0)", f"{_COLUMN}`dim=-1`. And {_EXP}before they are divided."),
        ("_naive({x}, None)", "one sum divides all exponentials; each row has its own."),
        ("{x}.softmax(dim=-1).mT", "the weights are transposed before they meet the values."),
        ("{x}.exp()", "the exponentials are never divided by their sum."),
        ("_powers({x})", "the exponentials are never divided by their sum."),
        ("{x}.mul(0.6931471805599453).softmax(dim=-1)", "powers of 2 are taken, not powers of e."),
        ("{x}.log_softmax(dim=-1)", "that is the logarithm of the weights."),
        (
            "{x}.neg().softmax(dim=-1)",
            "the scores have the wrong sign: the worst key gets the largest weight.",
        ),
        ("_hard({x})", "the best key takes everything; with a softmax every key has a share."),
        ("{x}", "the softmax is missing: scores stand for weights."),
    ],
}
