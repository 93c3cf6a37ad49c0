"""What a chapter must keep so that it serves its reader.

Each rule is a function from a notebook to pairs of a cell and what to do about it. Names, imports
and syntax are ruff's, links the website's build and tests/website/test_site.py's.
"""

import ast
import re

from IPython.core.inputtransformer2 import TransformerManager

from website import minutes, notebooks
from website.copies import SOLUTION, exercises
from website.inert import loaded_or_run
from website.pictures import KINDS, SVG

RULES = []


def rule(check):
    """Make a generator of ``(cell, complaint)`` a function to a list of sentences."""

    def complaints(name, notebook):
        found = [(notebook["cells"].index(cell), said) for cell, said in check(notebook)]
        return [f"{notebooks.where(name, notebook, index)}: {said}" for index, said in found]

    complaints.__name__ = check.__name__
    RULES.append(complaints)
    return complaints


def texts(cell, errors=True):
    """What a cell's outputs hold in letters: printed, HTML, and the errors' messages."""
    for output in cell["outputs"]:
        if errors and "evalue" in output:
            yield f"{output['ename']}: {output['evalue']}"
        data = output.get("data", {})
        for text in (output.get("text"), data.get("text/plain"), data.get("text/html")):
            yield "".join(text or "")


def tree(cell):
    """A cell's code as Python reads it, magics resolved; nothing where it is no Python."""
    try:
        return ast.parse(TransformerManager().transform_cell("".join(cell["source"])))
    except SyntaxError:
        return ast.Module([], [])


def prose(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]


# ---------------------------------------------------------------------------------------- cells


@rule
def every_cell_was_run(notebook):
    """And in order: a canonical notebook counts its cells that were run."""
    for cell in notebooks.code_cells(notebook):
        if cell["execution_count"] is None:
            yield cell, "was not run: .venv/bin/python tools/notebooks.py book/NAME.ipynb runs all"


KNOWN_TAGS = {"hide-input", "hide-cell", "nbval-ignore-output", "raises-exception"}


@rule
def nothing_hides_from_the_comparison_with_a_fresh_run(notebook):
    for cell in notebook["cells"]:
        for tag in {*notebooks.tags(cell)} - KNOWN_TAGS:
            yield cell, f"has the tag {tag}: known are {', '.join(sorted(KNOWN_TAGS))}"
        source = "".join(cell["source"]).rstrip()
        if cell["cell_type"] == "code" and re.search(r"NBVAL_|PYTEST_VALIDATE|;$", source):
            yield cell, "hides its output by a comment or a last ';': use a tag, or plots.show()"


@rule
def errors_stand_only_where_they_are_the_lesson(notebook):
    for cell in notebooks.code_cells(notebook):
        raised = [output for output in cell["outputs"] if output["output_type"] == "error"]
        if bool(raised) != ("raises-exception" in notebooks.tags(cell)):
            yield cell, "raises, or is tagged raises-exception: both belong together"


@rule
def a_measurement_is_followed_by_its_claim(notebook):
    cells = notebooks.code_cells(notebook)
    for number, cell in enumerate(cells):
        if "nbval-ignore-output" in notebooks.tags(cell):
            claim = " ".join(
                text for after in cells[number + 1 : number + 2] for text in texts(after)
            )
            if "True" not in claim or "False" in claim:
                yield cell, "is not compared: let the next code cell print its claim as True"


@rule
def a_name_is_assigned_once(notebook):
    """At the top level; a picture's names and loop variables may come again."""
    where = {}
    for number, cell in enumerate(notebooks.code_cells(notebook)):
        for name in {*assigned(tree(cell).body)} - {"_", "fig", "ax", "axes"}:
            if where.setdefault(name, number) != number:
                yield (
                    cell,
                    f"assigns {name} again, which code cell {where[name] + 1} did: rename one",
                )


def assigned(nodes):
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.For):
            yield from assigned([*node.body, *node.orelse])
        elif not isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            yield from assigned(ast.iter_child_nodes(node))


DRAWS = re.compile(
    r"^(torch\.(rand|randn|randint|randperm|normal|multinomial|bernoulli)$|np\.random|random\.)"
)


@rule
def random_numbers_have_a_seed(notebook):
    """``generator(seed)`` gives one, which a test can shift."""
    for cell in notebooks.code_cells(notebook):
        for node in ast.walk(tree(cell)):
            if not isinstance(node, ast.Call) or not DRAWS.match(ast.unparse(node.func)):
                continue
            if not {"generator", None} & {word.arg for word in node.keywords}:
                yield cell, f"{ast.unparse(node.func)} lacks generator=generator(seed)"


NOT_EVERYWHERE = {
    r"^\s*(!|%+(pip|conda|bash|sh|system|sx)\b)": "runs a shell, which not every reader has",
    r"(filter|simple)(warnings)?\(\s*[\"']ignore": "hides warnings: mend their cause",
    r"\b(urlretrieve|urlopen|requests\.get|from_pretrained)\b": "downloads: make data here",
}


@rule
def code_runs_anywhere(notebook):
    for cell in notebooks.code_cells(notebook):
        for pattern, complaint in NOT_EVERYWHERE.items():
            if re.search(pattern, "".join(cell["source"]), re.MULTILINE):
                yield cell, complaint


# -------------------------------------------------------------------------------------- outputs


@rule
def outputs_load_and_run_nothing(notebook):
    for cell in notebooks.code_cells(notebook):
        for data in (output.get("data", {}) for output in cell["outputs"]):
            for kind in {*data} - {"text/plain", "text/html", *KINDS}:
                yield cell, f"an output is {kind}: show it as text, HTML, PNG or SVG"
            harmful = [
                harm
                for kind in ("text/html", SVG)
                for harm in loaded_or_run("".join(data.get(kind, "")))
            ]
            if harmful:
                yield cell, f"an output loads or runs something ({harmful[0]}): take that out"


OF_ONE_MACHINE = re.compile(r"0x[0-9a-fA-F]{6,}|(?<![^\s\"'(=])(?:/[\w.-]+/[\w./-]+|[A-Z]:\\\S+)")


@rule
def outputs_say_the_same_on_every_machine(notebook):
    for cell in notebooks.code_cells(notebook):
        measured = "nbval-ignore-output" in notebooks.tags(cell)
        for text in texts(cell):
            if match := OF_ONE_MACHINE.search(text):
                yield cell, f"shows an address or a path, {match[0]}: print a value or a name"
        for text in texts(cell, errors=False):
            if match := re.search(r"\d+\.\d{4,}", re.sub(r"<[^>]*>", " ", text)):
                yield cell, f"prints {match[0]}: at most three decimals, as show(tensor) does"
        if not measured and any(output.get("name") == "stderr" for output in cell["outputs"]):
            yield cell, "warns, or writes to stderr otherwise: mend the cause"


@rule
def pictures_have_alt_text_and_a_numbered_caption(notebook):
    number = 0
    for cell, after in zip(
        notebook["cells"], [*notebook["cells"][1:], {"source": ""}], strict=True
    ):
        if cell["cell_type"] == "code" and notebooks.pictures(cell):
            number += 1
            alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
            if len(alt) < 25 or len(notebooks.pictures(cell)) > 1:
                yield cell, "one picture a cell, whose mystnb.image.alt says what it shows"
            if not "".join(after["source"]).startswith(f"**Figure {number}.** "):
                yield cell, f"the next cell must start with '**Figure {number}.** ' and its finding"


# ---------------------------------------------------------------------------------------- prose

# Markdown that only the website understands, or that leads away from it
NOT_PORTABLE = {
    r"^(```+|:::+)\s*\{": "a directive",
    r"\{[\w:.+-]+\}`": "a role",
    r"^\([^)\s]+\)=\s*$": "a label",
    r"\[\^[^\]]+\]": "a footnote",
    r"!\[[^\]]*\]\(": "a linked picture: draw it in a code cell",
    r"\]\(http:": "a link without https",
    r"</summary>[^\n]*\n(?=[^\n])": "no empty line below <summary>",
    r"</?(?!details|summary|br\b)[a-zA-Z][\w-]*[^<>]*>|<!--": "HTML",
}


@rule
def prose_reads_the_same_everywhere(notebook):
    """In JupyterLab, Colab, GitHub and on the website."""
    for cell in prose(notebook):
        text = "".join(cell["source"])
        bare = re.sub(
            r"```(?!\{).*?```|(?<!\})`[^`\n]+`|\$\$.*?\$\$|\$[^$]*\$|<https:[^>]*>",
            "",
            text,
            flags=re.DOTALL,
        )
        for pattern, construct in NOT_PORTABLE.items():
            if re.search(pattern, bare, re.MULTILINE):
                yield cell, f"not every reader's program understands {construct}"
        if text.count("<details") != text.count("</details>") or cell.get("attachments"):
            yield cell, "has an open <details>, or an attachment"


@rule
def exercises_are_whole(notebook):
    """A task with its dots and minutes, a hint, a stub that is graded, a solution that is right."""
    for exercise in exercises(notebook):
        words = "\n".join(
            "".join(c["source"]) for c in exercise.cells if c["cell_type"] == "markdown"
        )
        solved = " ".join(texts(exercise.solution)) if exercise.solution else ""
        required = {
            "a line '●○○ 5 minutes'": minutes.LEVEL.search(words),
            "a hint, <details><summary>Hint</summary>": "<summary>Hint</summary>" in words,
            "a reason, a cell from <details><summary>Solution</summary>": SOLUTION in words,
            "a stub 'answer = ...' that calls its grader": exercise.stub
            and "Write it, then run this cell." in "".join(texts(exercise.stub)),
            "a solution, tagged hide-cell, that is correct": "Correct:" in solved,
        }
        lacking = [part for part, is_there in required.items() if not is_there]
        if lacking:
            yield exercise.cells[0], f"lacks {'; '.join(lacking)}"


def glossary_lacks(page):
    """What the terms of the glossary lack: 简体中文, and a link to where they are explained."""
    for term, text in re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", page, re.MULTILINE):
        if not re.search("[\u4e00-\u9fff]", text) or "](" not in text:
            yield f"{term}: needs its 简体中文 and a link"
