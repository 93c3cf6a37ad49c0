"""The rules of the house for chapters: each a function from a notebook to a list of complaints.

A complaint names the notebook and the cell and says what to do. ``tests/website/test_rules.py``
holds every chapter against every rule, and every rule against a chapter that breaks it.
"""

import ast
import functools
import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from urllib.parse import unquote

from IPython.core.inputtransformer2 import TransformerManager
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from website import ROOT, book, minutes, notebooks
from website.harmless import harms
from website.pictures import KINDS, SVG

BOOK = ROOT / "book"
MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, allow_labels=True)
RULES = []


def rule(check):
    """Make a generator of ``(cell or None, complaint)`` a function to a list of sentences."""

    @functools.wraps(check)
    def complaints(notebook):
        return [f"{notebook.where(cell)}: {complaint}" for cell, complaint in check(notebook)]

    RULES.append(complaints)
    return complaints


# ---------------------------------------------------------------------------- a notebook to be read


@dataclass(eq=False)
class Cell:
    number: int  # from 1
    raw: dict

    def __post_init__(self):
        self.kind = self.raw["cell_type"]
        self.source = "".join(self.raw["source"])
        self.tags = notebooks.tags(self.raw)
        self.outputs = self.raw.get("outputs", [])

    @functools.cached_property
    def tree(self):
        """The code as Python reads it, magics resolved; None where it is no Python."""
        try:
            return ast.parse(TransformerManager().transform_cell(self.source))
        except SyntaxError:
            return None

    @functools.cached_property
    def tokens(self):
        return MARKDOWN.parse(self.source) if self.kind == "markdown" else []

    def cut(self):
        """This cell in parts, each with at most one heading, at its start."""
        edges = [t.map[0] for t in self.tokens if t.type == "heading_open" and t.level == 0]
        lines = self.source.splitlines()
        edges = [0, *(edge for edge in edges if edge), None]
        for start, end in pairwise(edges):
            yield Cell(self.number, self.raw | {"source": "\n".join(lines[start:end])})

    @property
    def inlines(self):
        return [token for token in self.tokens if token.type == "inline"]

    @property
    def headings(self):
        """Level, text as written, and anchor of each heading."""
        opened = pairwise(self.tokens)
        for token, inline in opened:
            if token.type == "heading_open":
                shown = (part for part in inline.children if part.type in ("text", "code_inline"))
                yield int(token.tag[1]), inline.content, slug("".join(x.content for x in shown))

    @property
    def links(self):
        """Where the text's links lead."""
        children = (token for inline in self.inlines for token in inline.children)
        return [unquote(token.attrs["href"]) for token in children if token.type == "link_open"]

    @property
    def lines(self):
        return [line for line in self.source.splitlines() if line.strip()]

    @property
    def mimes(self):
        return [output["data"] for output in self.outputs if "data" in output]

    @property
    def pictures(self):
        """How many pictures the cell draws."""
        return sum(bool({*KINDS} & {*data}) for data in self.mimes)

    def texts(self, errors=True):
        """What the outputs hold in letters: printed, HTML, and the errors' messages."""
        for output in self.outputs:
            if output["output_type"] == "error" and errors:
                yield f"{output['ename']}: {output['evalue']}"
            yield "".join(output.get("text", ""))
            data = output.get("data", {})
            yield from ("".join(data[m]) for m in ("text/plain", "text/html") if m in data)


def under(wanted, parts):
    """Gather parts under the headings of one level, by their texts."""
    sections, current = {}, []
    for part in parts:
        for level, text, _ in part.headings:
            if level == wanted:
                current = sections.setdefault(text, [])
        current.append(part)
    return sections


class Notebook:
    """A stored notebook. ``folder`` is where its links start from, ``part`` the caption above it in
    _toc.yml, ``following`` the chapter after it, a file in ``folder``."""

    def __init__(self, raw, name, folder=BOOK, part="", following=""):
        self.raw, self.name, self.folder = raw, name, folder
        self.part, self.following = part, following
        self.cells = [Cell(number, cell) for number, cell in enumerate(raw["cells"], 1)]

    @classmethod
    def read(cls, path):
        raw = json.loads(path.read_text(encoding="utf-8"))
        return cls(raw, path.name, path.parent, *place(path.stem))

    @classmethod
    def page(cls, path):
        """A page of Markdown, as a notebook of one cell."""
        cell = {"cell_type": "markdown", "metadata": {}, "source": path.read_text(encoding="utf-8")}
        return cls({"cells": [cell]}, path.name, path.parent)

    @property
    def code(self):
        return [cell for cell in self.cells if cell.kind == "code"]

    @property
    def prose(self):
        return [cell for cell in self.cells if cell.kind == "markdown"]

    @functools.cached_property
    def parts(self):
        """The cells, those of Markdown cut at their headings."""
        return [part for cell in self.cells for part in cell.cut()]

    @functools.cached_property
    def sections(self):
        """The parts under each ``##`` heading, by its text."""
        return under(2, self.parts)

    def after(self, cell):
        """The cells that follow a cell."""
        return self.cells[cell.number :]

    def where(self, cell):
        return notebooks.where(self.name, self.raw, cell.number - 1) if cell else self.name


def place(stem):
    """The part of a chapter and the file of the chapter that follows, empty where there is none."""
    name = f"book/{stem}"
    part = next((caption for caption, names in book.parts() if name in names), "")
    names = [path.stem for path in notebooks.chapters()]
    following = names[names.index(stem) + 1 :][:1] if stem in names else []
    return part, f"{following[0]}.ipynb" if following else ""


def slug(title):
    """The anchor of a heading: GitHub's way, which is also the website's."""
    return re.sub(r"[^\w\u4e00-\u9fff\- ]", "", title.lower().replace(" ", "-"))


@functools.cache
def anchors(path):
    """All that a link to a file may name after its ``#``."""
    notebook = Notebook.read(path) if path.suffix == ".ipynb" else Notebook.page(path)
    found = set()
    for cell in notebook.prose:
        for level, _, anchor in cell.headings:
            number = 1
            while anchor in found:
                anchor, number = f"{anchor}-{number}", number + 1
            found |= {anchor} if level <= 3 else set()
        found |= {*re.findall(r"^\(([^)\s]+)\)=\s*$", cell.source, flags=re.MULTILINE)}
        if "{bibliography}" in cell.source:
            entries = path.with_name("references.bib").read_text(encoding="utf-8")
            found |= {*re.findall(r"^\s*@\w+\{([^,\s]+)", entries, flags=re.MULTILINE)}
    return found


# ---------------------------------------------------------------------------- what nbval leaves out


@rule
def every_cell_was_run_in_order(notebook):
    for count, cell in enumerate(notebook.code, 1):
        if not cell.source.strip():
            yield cell, "the cell is empty: delete it"
        elif cell.raw["execution_count"] != count:
            was = cell.raw["execution_count"]
            yield cell, f"In [{was}] stands where In [{count}] belongs: run make notebooks"


@rule
def errors_stand_only_where_they_are_the_lesson(notebook):
    for cell in notebook.code:
        raised = [output for output in cell.outputs if output["output_type"] == "error"]
        if raised and "raises-exception" not in cell.tags:
            yield cell, f"raises {raised[0]['ename']}: mend it, or tag the cell raises-exception"
        if "raises-exception" in cell.tags and not raised:
            yield cell, "is tagged raises-exception and raises nothing: drop the tag"


@rule
def the_form_is_canonical(notebook):
    canonical = notebooks.to_text(notebooks.normalise(notebook.raw, Path(notebook.name).stem))
    if json.loads(canonical) != json.loads(
        notebooks.to_text(notebooks.nbformat.from_dict(notebook.raw))
    ):
        yield None, "is not in canonical form (metadata, counts, widget state): run make notebooks"


@rule
def outputs_hold_only_text_html_and_pictures(notebook):
    known = {"text/plain", "text/html", *KINDS, notebooks.WIDGET_VIEW}
    for cell in notebook.code:
        for data in cell.mimes:
            for mime in sorted({*data} - known):
                yield cell, f"an output is {mime}: show it as text, HTML, PNG or SVG"


@rule
def widgets_have_html(notebook):
    for cell in notebook.code:
        if any(notebooks.WIDGET_VIEW in data and "text/html" not in data for data in cell.mimes):
            yield cell, "a widget without text/html vanishes from the website: give it one"


@rule
def outputs_load_and_run_nothing(notebook):
    for cell in notebook.code:
        for data in cell.mimes:
            for mime in ("text/html", SVG):
                if found := harms("".join(data.get(mime, ""))):
                    kind = mime.rpartition("/")[2].partition("+")[0].upper()
                    yield cell, f"its {kind} loads or runs something ({found[0]}): take that out"


@rule
def outputs_name_no_address_and_no_path(notebook):
    for cell in notebook.code:
        for text in cell.texts():
            if found := re.search(r"0x[0-9a-fA-F]{6,}", text):
                yield cell, f"shows an address in memory, {found[0]}: print its value"
            if found := re.search(r"(?:^|[\s\"'(=])(/[\w.-]+/[\w./-]+|[A-Z]:\\\S+)", text):
                yield cell, f"shows a path of one machine ({found[1]}): print a name instead"


@rule
def outputs_warn_of_nothing(notebook):
    for cell in notebook.code:
        if "nbval-ignore-output" in cell.tags:
            continue
        for output in cell.outputs:
            if output.get("name") == "stderr":
                said = "".join(output["text"]).strip().splitlines()[0]
                yield cell, f"writes to stderr ({said}): mend the cause"


@rule
def cells_do_not_end_in_a_semicolon(notebook):
    for cell in notebook.code:
        if cell.source.rstrip().endswith(";"):
            yield cell, "ends in ';', which nbval runs as if it were not there: end in plt.show()"


TAGS = {"hide-input", "hide-cell", "nbval-ignore-output", "raises-exception"}


@rule
def tags_are_known_and_mean_what_they_say(notebook):
    for cell in notebook.cells:
        for tag in {*cell.tags} - (TAGS if cell.kind == "code" else set()):
            yield cell, f"tag {tag!r}: only code cells have tags, {', '.join(sorted(TAGS))}"
        if "hide-input" in cell.tags and not (cell.outputs or imports_alone(cell)):
            yield cell, "is tagged hide-input and neither shows nor imports: show its code"
        before = notebook.cells[cell.number - 2].source
        if "hide-cell" in cell.tags and not re.search(r"^\*\*Solution\*\*", before, re.M):
            yield cell, "is tagged hide-cell and follows no cell with a line **Solution**"
        if found := re.search(r"#\s*(NBVAL_\w+|PYTEST_VALIDATE\w+)", cell.source):
            yield cell, f"comment {found[1]} hides it from nbval: use a tag"


MEASURED = re.compile(r"\d\s*(?:[num\u00b5\u03bc]?s|min|[kKMGT]?i?B|it/s)\b")


@rule
def what_is_not_compared_is_a_measurement_with_a_claim(notebook):
    for cell in notebook.code:
        if "nbval-ignore-output" not in cell.tags:
            continue
        said = " ".join(cell.texts())
        if not MEASURED.search(said) and not cell.pictures:
            yield cell, "is not compared, but measures no time and no memory: drop the tag"
        claim = next((after for after in notebook.after(cell) if after.kind == "code"), None)
        held = " ".join(claim.texts()) if claim and "nbval-ignore-output" not in claim.tags else ""
        if "True" not in held or "False" in held:
            yield cell, "is not compared: let the next code cell print its claim as True"


@rule
def numbers_have_at_most_three_decimals(notebook):
    """In scientific notation (``1.25e-06``) as well. An error says what the library says, but
    with more than six decimals what it says depends on the processor."""
    for cell in notebook.code:
        for text in cell.texts(errors=False):
            if found := re.search(r"\d+\.\d{4,}", without_tags(text)):
                yield cell, f"prints {found[0]}…: at most three decimals, as show(tensor)"
        for output in cell.outputs:
            if found := re.search(r"\d+\.\d{7,}", output.get("evalue", "")):
                yield cell, f"its error says {found[0]}…: round what it says"


def without_tags(text):
    return re.sub(r"<(?:[^<>\"']|\"[^\"]*\"|'[^']*')+>", " ", text)


@rule
def pictures_have_alt_text_that_says_the_finding(notebook):
    for cell in notebook.code:
        alt = cell.raw["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        drawn = cell.pictures
        if drawn and (len(alt) < 25 or " " not in alt or re.search(r"\.(png|svg|jpe?g)$", alt)):
            yield cell, "mystnb.image.alt must say the picture's finding in at least 25 characters"
        if drawn > 1:
            yield cell, f"{drawn} pictures share one alt text: draw one a cell"
        if alt and not drawn:
            yield cell, "has alt text and no picture: drop it, or draw"


@rule
def pictures_have_numbered_captions(notebook):
    drawn = [cell for cell in notebook.code if cell.pictures]
    for number, cell in enumerate(drawn, 1):
        after = "".join(cell.source for cell in notebook.after(cell)[:1])
        if not re.match(rf"\*\*Figure {number}\.\*\* \S", after):
            yield cell, f"the next cell must start with '**Figure {number}.** ' and say the finding"


# ------------------------------------------------------------------------------ a chapter's anatomy

BEFORE = ["Objectives", "The idea", "The code", "The picture"]
AFTER = ["Exercises", "Summary"]


@rule
def headings_stand_in_order(notebook):
    found = []
    for cell in notebook.prose:
        found += [(level, text) for level, text, _ in cell.headings]
    titles = [text for level, text in found if level == 1]
    if len(titles) != 1 or found[0][0] != 1 or notebook.cells[0].kind != "markdown":
        yield None, f"needs one '# Title', at its start; has {titles}"
    sections = [text for level, text in found if level == 2]
    if sections[:4] != BEFORE or sections[-2:] != AFTER or len({*sections}) < len(sections):
        fixed = ", ".join([*BEFORE, "…", *AFTER])
        yield None, f"the '##' headings must be {fixed}, each once; they are {', '.join(sections)}"
    elif len(sections) > len(BEFORE) + 3 + len(AFTER):
        further = sections[len(BEFORE) : -len(AFTER)]
        yield None, f"at most three further '##' sections; has {', '.join(further)}: give one away"


@rule
def the_title_makes_one_want_it_and_dares(notebook):
    """A sentence, and one in bold: what to try with the figure below."""
    title = notebook.cells[0]
    text = [inline.content for inline in title.inlines[1:]]
    dares = [dare for line in text for dare in re.findall(r"\*\*([^*]+)\*\*", line)]
    if not re.sub(r"\*\*[^*]+\*\*", "", " ".join(text)).strip(" .!?"):
        yield title, "the title needs a sentence that makes the reader want it"
    if len(dares) != 1 or len(dares[0].split()) < 3:
        yield title, "the title cell needs one dare to the figure below, a sentence in **bold**"


@rule
def the_figure_comes_first(notebook):
    """The second cell shows the chapter's figure with sliders, and does nothing else."""
    cell = notebook.cells[min(1, len(notebook.cells) - 1)]
    body = cell.tree.body if cell.kind == "code" and cell.tree else []
    shown = any("attention-widget" in "".join(data.get("text/html", "")) for data in cell.mimes)
    if not shown or "hide-input" not in cell.tags:
        yield cell, "must show the chapter's figure with sliders, and be tagged hide-input"
        return
    *imports, figure = body
    modules = [getattr(node, "module", None) or "" for node in imports]
    ours = all(module.partition(".")[0] == "attention_lib" for module in modules)
    if not (ours and "attention_lib.widgets" in modules and isinstance(figure, ast.Expr)):
        yield cell, "must be imports from attention_lib, its widgets among them, then the figure"


@rule
def a_chapter_has_at_most_40_cells(notebook):
    practice = {part.number for part in notebook.sections.get("Exercises", [])}
    others = [cell for cell in notebook.cells if cell.number not in practice]
    if len(others) > 40:
        yield None, f"has {len(others)} cells without its exercises, at most 40: give some away"


@rule
def code_is_short(notebook):
    shown = []
    for cell in notebook.code:
        folded = {"hide-input", "hide-cell"} & {*cell.tags}
        lines, limit = len(cell.lines), 40 if folded else 15
        if lines > limit:
            kind = "folded" if folded else "shown"
            yield (
                cell,
                f"{lines} lines of {kind} code, at most {limit}: split it, or use the library",
            )
        shown += [] if folded else [lines]
    if shown and median(shown) > 5:
        yield None, f"the median shown cell has {median(shown):g} lines of code: at most 5"


def imports_alone(cell):
    """Whether a cell imports, says how many threads there are, and sets the figures' style."""
    body = cell.tree.body if cell.tree else []
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [ast.unparse(node) for node in body if node not in imports]
    return bool(imports) and others == ["torch.set_num_threads(1)", "plots.use_style()"]


@rule
def everything_is_imported_in_one_folded_cell(notebook):
    """Under the objectives; the figure before them brings its own import."""
    objectives = {part.number for part in notebook.sections.get("Objectives", [])}
    found = [cell for cell in notebook.code if cell.number in objectives]
    if len(found) != 1 or not imports_alone(found[0]) or "hide-input" not in found[0].tags:
        yield (
            found[0] if found else None,
            "between '## Objectives' and '## The idea' stands one cell, tagged hide-input: all "
            "imports, then torch.set_num_threads(1) and plots.use_style()",
        )
    for cell in notebook.code:
        body = cell.tree.body if cell.tree and cell not in found and cell.number != 2 else []
        if any(isinstance(node, ast.Import | ast.ImportFrom) for node in body):
            yield cell, "imports something: move that to the folded cell under '## Objectives'"


@rule
def objectives_and_summary_answer_each_other(notebook):
    for name in ("Objectives", "Summary"):
        cells = notebook.sections.get(name)
        if not cells:
            yield None, f"has no '## {name}'"
            continue
        tokens = [token for cell in cells for token in cell.tokens]
        bullets = sum(token.type == "list_item_open" and token.level == 1 for token in tokens)
        if bullets != 3:
            yield cells[0], f"{bullets} bullets: three objectives, and one for each in the summary"
        text = "\n".join(cell.source for cell in cells)
        for wanted, what in LACKS[name].items():
            if not re.search(wanted, text, re.MULTILINE):
                yield cells[0], f"'## {name}' lacks {what}"
    links = [target for cell in notebook.sections.get("Summary", []) for target in cell.links]
    following = notebook.following
    if following and following not in [link.partition("#")[0] for link in links]:
        yield None, f"'## Summary' names no next chapter: end it with a link to {following}"


LACKS = {
    "Objectives": {
        r"[Yy]ou can ": "'you can …': objectives are abilities",
        r"^\*\*Before:\*\* \S": "a line '**Before:** …' that says what is needed",
        minutes.TIME.pattern: "the line '**Time:** 25 minutes, and 15 for the exercises.'",
    },
    "Summary": {"attention_lib": "'attention_lib': say where the functions live now"},
}


@rule
def minutes_are_computed_and_few(notebook):
    """By :mod:`website.minutes`."""
    said = [cell for cell in notebook.prose if minutes.TIME.search(cell.source)]
    line = minutes.line(notebook.raw)
    for cell in said:
        if (found := minutes.TIME.search(cell.source)[0]) != line:
            yield cell, f"says {found!r}, computed are {line!r}: run make notebooks"
    takes = minutes.reading(notebook.raw)
    limit = 30 if notebook.part.startswith("Part I:") else 40
    if takes > limit:
        yield None, f"takes {takes:.1f} minutes, at most {limit} in its part: give something away"


@rule
def the_code_is_held_against_the_library(notebook):
    cells = notebook.sections.get("The code", [])
    asserts = (isinstance(node, ast.Assert) for c in cells if c.kind == "code" for node in walk(c))
    if not any(asserts):
        yield None, "'## The code' asserts nothing: end it with an assert against attention_lib"


UNWRITTEN = "Write it, then run this cell."


@rule
def exercises_have_a_stub_a_hint_a_grader_and_a_solution(notebook):
    parts = under(3, notebook.sections.get("Exercises", []))
    parts.pop("Quiz", None)
    found = [re.match(r"Exercise (\d+): \S", text) for text in parts]
    numbers = [int(match[1]) for match in found if match]
    if len(found) < 3 or numbers != [*range(1, len(found) + 1)]:
        yield (
            None,
            "needs '### Exercise 1: …', '### Exercise 2: …' and so on under '## Exercises', one an "
            f"objective at least; has {[*parts]}",
        )
        return
    for title, cells in parts.items():
        said = {c: [text.strip() for text in c.texts()] for c in cells if c.kind == "code"}
        stubs = [cell for cell in said if "hide-cell" not in cell.tags]
        solutions = [cell for cell in said if "hide-cell" in cell.tags]
        text = "\n".join(cell.source for cell in cells if cell.kind == "markdown")
        reason = re.search(r"^\*\*Solution\*\*(.*)", text, re.MULTILINE | re.DOTALL)
        wanted = {
            "a line '●○○ 5 minutes' (or ●●○, ●●●: how hard, how long)": minutes.LEVEL.search(text),
            "a hint: <details><summary>Hint</summary>": "<details><summary>Hint</summary>" in text,
            f"a stub, 'answer = ...', whose grader says {UNWRITTEN!r}": any(
                UNWRITTEN in said[cell] for cell in stubs
            ),
            "a cell that starts with **Solution** and gives the reason in a sentence": (
                reason and len(reason[1].split()) >= 5
            ),
            "a solution, tagged hide-cell, whose grader says 'Correct:'": any(
                "Correct:" in " ".join(said[cell]) for cell in solutions
            ),
        }
        yield from (
            (cells[0], f"{title!r} lacks {what}") for what, has in wanted.items() if not has
        )


@rule
def the_quiz_comes_first_and_can_be_answered(notebook):
    parts = under(3, notebook.sections.get("Exercises", []))
    if next(iter(parts), None) != "Quiz":
        yield None, "needs '### Quiz', the first thing under '## Exercises'"
        return
    text = "\n".join(cell.source for cell in parts["Quiz"] if cell.kind == "markdown")
    asked = [c for c in parts["Quiz"] if "attention-quiz" in "".join(map(str, c.mimes))]
    if not minutes.LEVEL.search(text):
        yield parts["Quiz"][0], "the quiz needs a line '●○○ 3 minutes'"
    if len(asked) != 1 or "hide-input" not in asked[0].tags:
        yield parts["Quiz"][0], "the quiz is one cell, check.quiz(), tagged hide-input"


# ----------------------------------------------------------------------------------- code and names


def walk(cell):
    return ast.walk(cell.tree) if cell.tree else ()


@rule
def code_is_python_that_runs_anywhere(notebook):
    avoid = {
        r"^\s*(!|%+(pip|conda|bash|sh|system|sx)\b)": "runs a shell: not every reader has it",
        r"(filter|simple)(warnings)?\(\s*[\"']ignore": "hides warnings: mend their cause",
        r"\b(urlretrieve|urlopen|requests\.get|from_pretrained)\b": "downloads: make data here",
    }
    for cell in notebook.code:
        if cell.tree is None:
            yield cell, "is no Python"
        for pattern, complaint in avoid.items():
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


REUSED = {"_", "fig", "ax", "axes"}


@rule
def names_are_assigned_once(notebook):
    """At the top level: what a function or a comprehension binds stays in there.

    Excepted are a picture's names, loop variables among themselves, and what a loop adds up in the
    cell that set it up.
    """
    assigned, heads = {}, {}
    for cell in notebook.code:
        for name, kind in bound(cell.tree.body if cell.tree else []):
            if name in REUSED or (kind == "in a loop" and assigned.get(name) == cell.number):
                continue
            if kind == "a loop's":
                heads.setdefault(name, cell)
            elif name in assigned:
                yield cell, f"{name} was assigned in cell {assigned[name]}: give it another name"
            else:
                assigned[name] = cell.number
    for name in heads.keys() & assigned.keys():
        yield heads[name], f"a loop overwrites {name} of cell {assigned[name]}: rename one"


def bound(nodes, kind="once"):
    """Each name that nodes bind at their own level, with the kind of its place."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, kind
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
            yield from ((name, kind) for name in names)
        elif isinstance(node, ast.For):
            yield from bound([node.target], "a loop's")
            yield from bound([*node.body, *node.orelse, node.iter], "in a loop")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, kind
        elif not isinstance(node, OWN_SCOPE):
            inner = "in a loop" if isinstance(node, ast.While) else kind
            yield from bound(ast.iter_child_nodes(node), inner)


OWN_SCOPE = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


# The "Never" column of notation.md, as far as code alone can decide: other people's names for our
# things, wherever a name is given. Not held against anyone: names in calls (attn_mask=mask is
# PyTorch's word), X for a matrix of tokens, h for a head in a loop, n for a number of samples, y
# and z of a picture, x for any tensor of a function that takes no keys, bias for what a layer adds,
# hidden for what a mask hides, dim for the number of an axis, letters in a lambda.
CALL_IT = {
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
IN_SIGNATURES = CALL_IT | {"heads": "num_heads"}
LETTERS = {"q": "queries", "k": "keys", "v": "values"}  # two of them in one signature


def other_words(tree):
    """Names given in a tree of Python that are not the book's, each with the book's word."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in CALL_IT:
            yield node.id, CALL_IT[node.id]
        if isinstance(node, ast.FunctionDef):
            names = [arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)]
            tokens = {"keys", "values"} & {*names} and "y" not in names
            words = IN_SIGNATURES | ({"x": "queries"} if tokens else {})
            words |= LETTERS if len({*LETTERS} & {*names}) > 1 else {}
            yield from ((name, words[name]) for name in names if name in words)


@rule
def one_thing_has_one_name(notebook):
    for cell in notebook.code:
        for name, word in other_words(cell.tree) if cell.tree else ():
            yield cell, f"{name} is {word} in this book (notation.md)"


# -------------------------------------------------------------------------------------------- prose


@rule
def links_resolve(notebook):
    own = {anchor for cell in notebook.prose for level, _, anchor in cell.headings if level <= 3}
    for cell in notebook.prose:
        for target in cell.links:
            if target.startswith("https://"):
                continue
            file, _, anchor = target.partition("#")
            path = notebook.folder / file
            if ":" in file or file.startswith("/"):
                yield cell, f"link {target}: use https, or a file of the book"
            elif file and (not path.is_file() or path.suffix not in (".ipynb", ".md")):
                yield cell, f"link {target}: there is no such page"
            elif anchor and anchor not in (anchors(path) if file else own):
                yield cell, f"link {target}: there is no heading or entry '{anchor}'"


ELSEWHERE = {
    r"^:::": "a ':::' block",
    r"^\([^)]+\)=\s*$": "a '(label)='",
    r"^%( |$)": "a '%' comment",
    r"^\+\+\+": "a '+++' break",
    r"^\\begin\{": "mathematics without $$",
    r"\{\{.*\}\}": "a '{{substitution}}'",
    r"\[\^[^\]]+\]": "a footnote",
    r"(?<!\\)\{[#.][\w-]+": "an '{#attribute}'",
}


@rule
def prose_reads_the_same_everywhere(notebook):
    """JupyterLab, Colab, GitHub and the website: CommonMark, tables, mathematics and <details>."""
    for cell in notebook.prose:
        found = []
        if cell.number == 1 and cell.source.startswith("---"):
            found.append("front matter")
        for token in cell.tokens:
            if token.type == "fence" and token.info.startswith("{"):
                found.append(f"the directive {token.info}")
            if token.type == "math_block_label":
                found.append("a label after $$: number it with \\tag")
            if token.type == "html_block":
                found += unknown_html(token.content)
            if token.type == "inline":
                found += elsewhere_only(token)
        if cell.raw.get("attachments"):
            found.append("an attachment: draw it in a code cell")
        for opened in re.finditer(r"</summary>[^\n]*\n(?=[^\n])", cell.source):
            found.append(f"no blank line after {opened[0].strip()}")
        if cell.source.count("<details") != cell.source.count("</details>"):
            found.append("a <details> that the cell does not close")
        yield from ((cell, f"not every reader's program understands {what}") for what in found)


def elsewhere_only(inline):
    """What in a run of text only some programs understand; code and mathematics are left out."""
    text = "".join(
        "\n" if t.type in ("softbreak", "hardbreak") else t.content if t.type == "text" else "\0"
        for t in inline.children
    )
    for pattern, what in ELSEWHERE.items():
        if re.search(pattern, text, flags=re.MULTILINE):
            yield what
    for before, token in pairwise(inline.children):
        role = re.search(r"\{[\w:.+-]+\}$", before.content)
        if role and token.type == "code_inline":
            yield f"the role {role[0]}"
    for token in inline.children:
        if token.type == "image":
            yield "a linked picture: draw it in a code cell"
        if token.type == "html_inline":
            yield from unknown_html(token.content)


def unknown_html(html):
    for name in re.findall(r"<\s*/?\s*([a-zA-Z][\w-]*)|<!--", html):
        if name not in ("details", "summary", "br"):
            yield f"<{name or '!--'}>"
    yield from harms(html)


UNFINISHED = re.compile(
    r"\b(TODO|FIXME|XXX|TBD|WIP)\b|(?i:\blorem\b|\bplaceholder\b|\bcoming soon\b)"
)


def unfinished(text):
    return [found[0] for found in UNFINISHED.finditer(text)]


@rule
def nothing_is_left_unfinished(notebook):
    for cell in notebook.cells:
        for word in unfinished("\n".join([cell.source, *cell.texts()])):
            yield cell, f"says {word!r}: finish it, or leave it out"
        if not cell.source.strip():
            yield cell, "is empty: delete it"


# ------------------------------------------------------------------------------------ the glossary


CHINESE = re.compile("[\u4e00-\u9fff]")


def uncited(bibliography, text):
    """Entries that ``text`` names neither by a link nor, as the library, by author and year."""
    keys = re.findall(r"^@\w+\{(\w+),", bibliography, flags=re.MULTILINE)
    for key in keys:
        author, year = re.match(r"([a-z]+)(\d{4})", key).groups()
        named = re.search(rf"#{key}\b|\b{author}\b[^()]*\({year}\)", text, flags=re.IGNORECASE)
        if not named:
            yield key


def glossary_is_bilingual(page):
    """Each term is a ``##`` heading in English; 简体中文 and a link to its chapter stand below."""
    terms = under(2, page.parts)
    if not terms:
        return [f"{page.name}: has no terms, each with a '##' heading"]
    complaints = []
    for term, parts in terms.items():
        links = [link for part in parts for link in part.links]
        text = "".join(part.source for part in parts)
        wanted = {
            "a heading in English alone": re.match("[A-Za-z]", term) and not CHINESE.search(term),
            "the term in 简体中文": CHINESE.search(text),
            "a link to its chapter": any(".ipynb" in link for link in links),
        }
        complaints += [
            f"{page.name}: {term!r} lacks {what}" for what, has in wanted.items() if not has
        ]
    return complaints
