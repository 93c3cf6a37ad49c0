"""Code and the names in it."""

import ast
import re

from website.rules.reading import rule


def walk(cell):
    return ast.walk(cell.tree) if cell.tree else ()


@rule
def code_is_python_that_runs_anywhere(notebook):
    complaints = {
        r"^\s*(!|%+(pip|conda|bash|sh|system|sx)\b)": "runs a shell: not every reader has it",
        r"(filter|simple)(warnings)?\(\s*[\"']ignore": "hides warnings: mend their cause",
        r"\b(urlretrieve|urlopen|requests\.get|from_pretrained)\b": "downloads: make data here",
    }
    for cell in notebook.code:
        if cell.tree is None:
            yield cell, "is no Python"
        for pattern, complaint in complaints.items():
            if re.search(pattern, cell.source, flags=re.MULTILINE):
                yield cell, complaint


@rule
def functions_have_bodies(notebook):
    empty = (ast.Pass, ast.Constant)
    for cell in notebook.code:
        for node in walk(cell):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and all(
                isinstance(line.value if isinstance(line, ast.Expr) else line, empty)
                or (isinstance(line, ast.Raise) and "NotImplemented" in ast.unparse(line))
                for line in node.body
            ):
                yield cell, f"{node.name} has no body: a reader's stub is 'return ...  # your turn'"


REUSABLE = {"_", "fig", "ax", "axes"}


@rule
def names_are_assigned_once(notebook):
    """At the top level: what a function or a comprehension binds stays in there.

    Excepted are a picture's names, loop variables among themselves, and what a loop adds up in the
    cell that set it up.
    """
    assigned, loop_cells = {}, {}
    for cell in notebook.code:
        for name, kind in assigned_names(cell.tree.body if cell.tree else []):
            if name in REUSABLE or (kind == "in a loop" and assigned.get(name) == cell.number):
                continue
            if kind == "a loop's":
                loop_cells.setdefault(name, cell)
            elif name in assigned:
                yield cell, f"{name} was assigned in cell {assigned[name]}: give it another name"
            else:
                assigned[name] = cell.number
    for name in loop_cells.keys() & assigned.keys():
        yield loop_cells[name], f"a loop overwrites {name} of cell {assigned[name]}: rename one"


def assigned_names(nodes, kind="once"):
    """Each name that nodes bind at their own level, with where: once, a loop's, in a loop."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, kind
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
            yield from ((name, kind) for name in names)
        elif isinstance(node, ast.For):
            yield from assigned_names([node.target], "a loop's")
            yield from assigned_names([*node.body, *node.orelse, node.iter], "in a loop")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, kind
        elif not isinstance(node, OWN_SCOPE):
            inner_kind = "in a loop" if isinstance(node, ast.While) else kind
            yield from assigned_names(ast.iter_child_nodes(node), inner_kind)


OWN_SCOPE = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


# The "Never" column of notation.md, as far as code alone can decide: other people's names for our
# things, wherever a name is given. Not held against anyone: names in calls (attn_mask=mask is
# PyTorch's word), X for a matrix of tokens, h for a head in a loop, n for a number of samples, y
# and z of a picture, x for any tensor of a function that takes no keys, bias for what a layer adds,
# hidden for what a mask hides, dim for the number of an axis, letters in a lambda.
BOOK_WORDS = {
    **dict.fromkeys(["B", "N", "bs", "bsz", "nbatches"], "batch"),
    **dict.fromkeys(["nh", "n_heads", "n_head", "nhead"], "num_heads"),
    **dict.fromkeys(["T", "S", "seq_len", "src_len", "tgt_len"], "len_q or len_k"),
    **dict.fromkeys(["E", "C", "embed_dim", "n_embd", "head_dim"], "d_k, d_v or d_model"),
    **dict.fromkeys(["att", "logits", "energy"], "scores"),
    **dict.fromkeys(["attn", "p_attn", "attn_weights", "attention_weights"], "weights"),
    **dict.fromkeys(["context", "attn_output"], "output"),
    **dict.fromkeys(["attn_mask", "attention_mask", "key_padding_mask"], "mask"),
    "inp": "queries, keys or values",
}
IN_SIGNATURES = BOOK_WORDS | {"heads": "num_heads"}
LETTERS = {"q": "queries", "k": "keys", "v": "values"}  # two of them in one signature


def foreign_words(tree):
    """Names given in a tree of Python that are not the book's, each with the book's word."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in BOOK_WORDS:
            yield node.id, BOOK_WORDS[node.id]
        if isinstance(node, ast.FunctionDef):
            names = [arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)]
            attends = {"keys", "values"} & {*names} and "y" not in names
            words = IN_SIGNATURES | ({"x": "queries"} if attends else {})
            words |= LETTERS if len({*LETTERS} & {*names}) > 1 else {}
            yield from ((name, words[name]) for name in names if name in words)


@rule
def one_thing_has_one_name(notebook):
    for cell in notebook.code:
        for name, word in foreign_words(cell.tree) if cell.tree else ():
            yield cell, f"{name} is {word} in this book (notation.md)"
