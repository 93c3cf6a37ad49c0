"""Python of this repository as MicroPython reads it, so that a grader runs in the page as well.

What MicroPython leaves out is written in other words: stars in lists, f-strings, dataclasses,
dictionaries that keep their order. Annotations and docstrings go, as nobody reads them there.
"""

import ast

__all__ = ["picked", "stripped", "translated"]

UNKNOWN = {"abc", "collections.abc", "typing", "types", "dataclasses", "__future__", "itertools"}
BUILT_IN = {"tuple", "list", "dict", "set", "type"}
# what every translated module begins with
HEAD = "from host_python import *\n"


def translated(source):
    """Return the text of a module for MicroPython."""
    return HEAD + _written(ast.parse(source))


def picked(source, names):
    """Return the translated text of some of a module's top-level names."""
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if _names(node) & {*names}]
    return HEAD + _written(tree)


def stripped(source):
    """Return the text of a module of MicroPython without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            node.body = _without_docstring(node.body) or [ast.Pass()]
    return ast.unparse(tree) + "\n"


def _written(tree):
    tree = ast.fix_missing_locations(_Translator().visit(tree))
    return ast.unparse(tree) + "\n"


def _names(node):
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return {x.id for target in targets if target for x in ast.walk(target) if hasattr(x, "id")}


def _call(name, *arguments):
    return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])


def _without_docstring(body):
    first = body[0] if body else None
    documented = isinstance(first, ast.Expr) and isinstance(
        getattr(first.value, "value", None), str
    )
    return body[1:] if documented else body


class _Translator(ast.NodeTransformer):
    """Rewrites what MicroPython does not know."""

    def __init__(self):
        self.unknown = {"Self"}  # names from modules that do not exist there

    def visit_Module(self, node):
        node.body = _without_docstring(node.body)
        return self.generic_visit(node)

    def visit_Import(self, node):
        node.names = [name for name in node.names if name.name not in UNKNOWN]
        for name in node.names:
            if name.name == "math":
                name.name, name.asname = "py_math", "math"
        return node if node.names else None

    def visit_ImportFrom(self, node):
        if node.module in UNKNOWN:
            self.unknown |= {name.asname or name.name for name in node.names} - {
                "Mapping",
                "combinations",
            }
            return None
        if (node.module or "").startswith("attention_lib"):
            return _from_library(node)
        node.names = [name for name in node.names if name.name != "questions"]
        return node if node.names else None

    def visit_FunctionDef(self, node):
        node.body = _without_docstring(node.body) or [ast.Pass()]
        node.returns = None
        node.type_params = []
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return self.generic_visit(node)

    def visit_ClassDef(self, node):
        node.body = _without_docstring(node.body) or [ast.Pass()]
        node.bases = [base for base in node.bases if not self._is_unknown(base)]
        decorators = [*map(ast.unparse, node.decorator_list)]
        if any(text.startswith("dataclass") for text in decorators):
            node.decorator_list = []
            node.body = _with_init(node.body)
        return self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.value is None:
            return None
        return self.visit(ast.Assign([node.target], node.value))

    def visit_Assign(self, node):
        if self._is_unknown(node.value) or _is_alias(node.value):
            return None  # a name for a type
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "questions":
            return None  # these are judged without Python
        return self.generic_visit(node)

    def _is_unknown(self, node):
        base = node.value if isinstance(node, ast.Subscript) else node
        return isinstance(base, ast.Name) and base.id in self.unknown

    def visit_Name(self, node):
        return ast.Name("dict", node.ctx) if node.id == "Mapping" else node

    def visit_List(self, node):
        return self._display(node, "list")

    def visit_Tuple(self, node):
        return self._display(node, "tuple")

    def visit_Set(self, node):
        return self._display(node, "set")

    def _display(self, node, kind):
        node = self.generic_visit(node)
        stars = [isinstance(part, ast.Starred) for part in node.elts]
        if not any(stars) or isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        parts = [
            part.value if star else ast.List([part], ast.Load())
            for part, star in zip(node.elts, stars, strict=True)
        ]
        joined = _call("py_joined", *parts)
        return joined if kind == "list" else _call(kind, joined)

    def visit_Dict(self, node):
        node = self.generic_visit(node)
        parts = [
            value if key is None else ast.Tuple([key, value], ast.Load())
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return _call("py_ordered", *parts)

    def visit_DictComp(self, node):
        node = self.generic_visit(node)
        pair = ast.Tuple([node.key, node.value], ast.Load())
        return _call("OrderedDict", ast.ListComp(pair, node.generators))

    def visit_Attribute(self, node):
        node = self.generic_visit(node)
        if ast.unparse(node) == "dict.fromkeys":
            return ast.Name("py_from_keys", ast.Load())
        return node

    def visit_Call(self, node):
        node = self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            node.args[1] = _as_tuple(node.args[1])
        if isinstance(node.func, ast.Attribute) and node.func.attr in (
            "removeprefix",
            "removesuffix",
        ):
            return _call(f"py_{node.func.attr}", node.func.value, *node.args)
        return node

    def visit_BinOp(self, node):
        node = self.generic_visit(node)
        node.left, node.right = (_keys_as_set(side) for side in (node.left, node.right))
        return node

    def visit_JoinedStr(self, node):
        parts = [self._text(part) for part in node.values]
        return _call("py_text", *parts) if parts else ast.Constant("")

    def _text(self, part):
        if isinstance(part, ast.Constant):
            return part
        value = self.visit(part.value)
        if part.conversion == ord("r"):
            value = _call("repr", value)
        if part.format_spec is None:
            return value
        return _call("py_formatted", value, self.visit(part.format_spec))


def _from_library(node):
    """An import from the library: in the page it is one module."""
    modules = {"masking", "positions", "attention", "scoring", "multihead", "saturation"}
    if node.module == "attention_lib" and all(name.name in modules for name in node.names):
        return ast.Import(
            [ast.alias("attention_lib", name.asname or name.name) for name in node.names]
        )
    return ast.ImportFrom("attention_lib", node.names, 0)


def _is_alias(node):
    """Whether a value is a type such as ``tuple[int, str]``."""
    base = node.value if isinstance(node, ast.Subscript) else None
    return isinstance(base, ast.Name) and base.id in BUILT_IN


def _keys_as_set(node):
    """The keys of a dictionary as the set that they are to operators."""
    keys = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if keys and node.func.attr == "keys":
        return ast.Call(ast.Name("set", ast.Load()), [node.func.value], [])
    return node


def _as_tuple(node):
    """``int | float`` as the tuple that isinstance takes."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts = [_as_tuple(node.left), _as_tuple(node.right)]
        flat = [x for part in parts for x in (part.elts if isinstance(part, ast.Tuple) else [part])]
        return ast.Tuple(flat, ast.Load())
    return node


def _with_init(body):
    """The body of a dataclass with the ``__init__`` that its fields make."""
    fields = [node for node in body if isinstance(node, ast.AnnAssign)]
    names = [field.target.id for field in fields]
    lines = [f"def __init__(self, {', '.join(_parameter(field) for field in fields)}):"]
    for field in fields:
        name, factory = field.target.id, _factory(field)
        value = f"{factory}() if {name} is None else {name}" if factory else name
        lines.append(f"    self.{name} = {value}")
    init = ast.parse("\n".join(lines)).body
    return init + [node for node in body if _names(node).isdisjoint(names)]


def _factory(field):
    """What makes a field's value anew for each object; an empty text if nothing does."""
    value = field.value
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        return next(ast.unparse(key.value) for key in value.keywords)
    return ""


def _parameter(field):
    if field.value is None:
        return field.target.id
    return f"{field.target.id}={'None' if _factory(field) else ast.unparse(field.value)}"
