"""A chapter's notebook, read for the rules."""

import ast
import functools
import json
import re
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import unquote

from IPython.core.inputtransformer2 import TransformerManager
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from website import ROOT, book, notebooks
from website.pictures import KINDS

BOOK = ROOT / "book"
MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, allow_labels=True)
RULES = []
FIGURE = re.compile(r'(?:data-widget="|\{slider-figure\} )(\w+)')


def rule(check):
    """Make a generator of ``(cell or None, complaint)`` a function to a list of sentences."""

    @functools.wraps(check)
    def complaints(notebook):
        return [f"{notebook.where(cell)}: {complaint}" for cell, complaint in check(notebook)]

    RULES.append(complaints)
    return complaints


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
        pairs = pairwise(self.tokens)
        for token, inline in pairs:
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


def under(level_wanted, parts):
    """Gather parts under the headings of one level, by their texts."""
    sections, current = {}, []
    for part in parts:
        for level, text, _ in part.headings:
            if level == level_wanted:
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
    def figures(self):
        """The names of the figures with sliders."""
        texts = [text for cell in self.cells for text in (cell.source, *cell.texts())]
        return {*FIGURE.findall("\n".join(texts))}

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
    names = set()
    for cell in notebook.prose:
        for level, _, anchor in cell.headings:
            number = 1
            while anchor in names:
                anchor, number = f"{anchor}-{number}", number + 1
            names |= {anchor} if level <= 3 else set()
        names |= {*re.findall(r"^\(([^)\s]+)\)=\s*$", cell.source, flags=re.MULTILINE)}
        if "{bibliography}" in cell.source:
            entries = path.with_name("references.bib").read_text(encoding="utf-8")
            names |= {*re.findall(r"^\s*@\w+\{([^,\s]+)", entries, flags=re.MULTILINE)}
    return names
