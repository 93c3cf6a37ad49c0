"""Sphinx extension: what answers a **Predict** is covered until the reader has guessed.

A paragraph that says **Predict** asks for a guess, and the outputs of the code cells that follow it
answer it. Here a place for the guess is put between the two. ``predictions.js`` makes it a row of
choices, or a field, and covers the outputs; without a script nothing is covered. The choices stand
in ``website/predictions.toml``, under the name of the chapter: ``asks`` is how the sentence goes on
after **Predict**, and each choice may have a line that says why it is not so.
"""

import json
import tomllib
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError

FILE = Path(__file__).resolve().parent.parent / "predictions.toml"
PAGES = "predictions.js"


def read():
    """The predictions that have choices: a list for each chapter."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def predictions(doctree):
    """Each paragraph that asks for a prediction, with the cells that answer it."""
    for strong in doctree.findall(nodes.strong):
        if strong.astext().rstrip(":") != "Predict":
            continue
        paragraph = strong.parent
        cells = answering(paragraph)
        if cells:
            yield paragraph, cells


def answering(paragraph):
    """The code cells after a paragraph, up to the text that follows the first output."""
    cells = []
    for node in paragraph.parent.children[paragraph.parent.index(paragraph) + 1 :]:
        is_cell = isinstance(node, nodes.container) and "cell" in node["classes"]
        if is_cell and outputs(node):
            cells.append(node)
        elif cells or any(part.astext().startswith("Predict") for part in node.findall(nodes.strong)):
            break
    return cells


def outputs(cell):
    return [
        part
        for part in cell.children
        if isinstance(part, nodes.container) and "cell_output" in part["classes"]
    ]


def offer(app, doctree):
    """Put a place for the guess before the outputs, and mark them."""
    chapter = app.env.docname.rpartition("/")[2]
    wanted = list(read().get(chapter, []))
    for number, (paragraph, cells) in enumerate(predictions(doctree)):
        text = " ".join(paragraph.astext().split())
        mine = [one for one in wanted if one["asks"] in text]
        wanted = [one for one in wanted if one not in mine]
        choices = mine[0]["choices"] if mine else []
        place = (
            f'<div class="prediction" data-prediction="{chapter}-{number}" '
            f'data-choices="{escape(json.dumps(choices, ensure_ascii=False))}"></div>'
        )
        first = outputs(cells[0])[0]
        cells[0].insert(cells[0].index(first), nodes.raw("", place, format="html"))
        for cell in cells:
            for output in outputs(cell):
                output["classes"].append("answer")
    if wanted:
        asked = ", ".join(repr(one["asks"]) for one in wanted)
        raise ExtensionError(f"predictions.toml: {chapter} has no prediction that asks {asked}")


def load(app, pagename, templatename, context, doctree):
    if 'class="prediction"' in context.get("body", ""):
        app.add_js_file(PAGES, loading_method="defer")


def setup(app):
    app.connect("doctree-read", offer)
    app.connect("html-page-context", load)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
