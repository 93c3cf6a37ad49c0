"""What answers a **Predict** is covered until the reader has guessed.

A paragraph that says **Predict** asks for a guess. What answers it are the outputs of the code
cells that follow it, and the text, captions and tables below them: up to the next heading, code
cell, figure to take hold of or prediction. A picture with a caption goes along, and so do later
outputs that print a line again. A figure between the question and its answer waits: it is seen, and
answers to no hand before the guess. Here a row for the guess is put before the answer, with
choices, a field or something to draw, and ``predictions.js`` covers the answer. Without a script,
and on paper, nothing is covered and no row is shown. What can be guessed stands in
``website/predictions.toml``, under the name of the chapter: ``asks`` is a piece of the paragraph,
and each choice that is wrong has a line that says why. A curve or bars have a task and names for
their values; the truth is a row of the output. Tiles, open or hidden, have names for their rows
too, and their truth stands with them.
"""

import json
import re
import tomllib
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError

GUESSES = Path(__file__).resolve().parents[2] / "predictions.toml"
FIGURE = 'class="attention-widget"'
TEXT_FIELD = (
    '<form><input type="text" autocomplete="off" aria-label="Your guess">'
    '<button type="submit">Compare</button></form>'
)
PROSE = (
    nodes.paragraph,
    nodes.bullet_list,
    nodes.enumerated_list,
    nodes.table,
    nodes.math_block,
    nodes.literal_block,
    nodes.block_quote,
    nodes.figure,
    nodes.Admonition,
)


def guesses():
    """What can be chosen or drawn as a guess: a list for each chapter."""
    return tomllib.loads(GUESSES.read_text(encoding="utf-8"))


def predictions(doctree):
    """Each paragraph that asks for a prediction, with the cells and the text that answer it."""
    for strong in doctree.findall(nodes.strong):
        if strong.astext().rstrip(":") == "Predict":
            cells, text = answer(strong.parent)
            if cells:
                yield strong.parent, cells, text


def answer(paragraph):
    """The code cells after a paragraph, and the text below the last of them.

    A figure to take hold of gives nothing away by itself. Above the cells it is passed over.
    """
    cells, text = [], []
    for node in paragraph.parent.children[paragraph.parent.index(paragraph) + 1 :]:
        if cells and not asks(node) and (isinstance(node, PROSE) or (text and has_caption(node))):
            text.append(node)
        elif isinstance(node, nodes.Invisible) or (is_figure(node) and not cells):
            continue
        elif is_cell(node) and outputs(node) and not is_figure(node) and not text:
            cells.append(node)
        elif cells or asks(node):
            break
    return cells, text


def lines(parts):
    """The lines that outputs print, of matrices the rows."""
    text = "\n".join(part.astext() for part in parts)
    return {line.strip(" []") for line in text.splitlines() if len(line) > 8}


def repeated(cell, known):
    """The outputs of later cells that print a line again, up to the next prediction."""
    for node in cell.parent.children[cell.parent.index(cell) + 1 :]:
        if isinstance(node, nodes.section) or (isinstance(node, PROSE) and asks(node)):
            return
        if is_cell(node) and lines(outputs(node)) & known:
            yield from outputs(node)


def asks(node):
    return any(part.astext().startswith("Predict") for part in node.findall(nodes.strong))


def is_cell(node):
    return isinstance(node, nodes.container) and "cell" in node["classes"]


def has_caption(cell):
    following = cell.next_node(nodes.Element, descend=False, siblings=True)
    return is_cell(cell) and bool(following and re.match(r"(Figure|Table) \d", following.astext()))


def is_figure(node):
    return isinstance(node, nodes.container) and FIGURE in node.astext()


def outputs(cell):
    return [
        part
        for part in cell.children
        if isinstance(part, nodes.container) and "cell_output" in part["classes"]
    ]


def guess_row(name, guess, cells, figure):
    """The row in which one guesses, as HTML: choices, something to draw, or a field for text."""
    question, controls = "What do you think?", TEXT_FIELD
    if figure:
        question += " The figure waits for your guess."
    if "choices" in guess:
        controls = "".join(
            f'<button type="button" data-why="{escape(why)}">{escape(text)}</button>'
            for text, why in guess["choices"]
        )
    elif guess:
        question, controls = guess["task"], drawing_area(guess, cells)
    return (
        f'<div class="prediction" data-prediction="{name}"><div class="guess">'
        f"<span>{question}</span>{controls}"
        f'<button type="button" class="plain">Show</button></div>'
        f'<p class="why" role="status"></p></div>'
    )


def drawing_area(guess, cells):
    """The place for a curve, for bars, whose truth is a row of a matrix printed, or for tiles."""
    drawing = {key: guess[key] for key in ("kind", "names", "rows", "truth") if key in guess}
    if "row" in guess:
        text = "\n".join(output.astext() for cell in cells for output in outputs(cell))
        rows = re.findall(r"^ ?\[+([-\d. ]+)\]", text, re.MULTILINE)
        drawing["truth"] = [float(number) for number in rows[guess["row"]].split()]
    return (
        f'<div class="drawn {guess["kind"]}" role="group" aria-label="{escape(guess["task"])}"'
        f' data-drawn="{escape(json.dumps(drawing))}"></div>'
        f'<button type="button" class="compare" data-why="{escape(guess["why"])}" disabled>'
        "Compare</button>"
    )


SWITCH = (
    '<label class="always"><input type="checkbox"> Always show the answers of predictions</label>'
)


def cover(doctree, chapter):
    """Put the row for a guess before what answers it, and mark that with the row's name.

    Below the title stands one switch for the whole book.
    """
    unplaced = list(guesses().get(chapter, []))
    rows = []
    for number, (paragraph, cells, text) in enumerate(predictions(doctree)):
        question = " ".join(paragraph.astext().split())
        guess = next((guess for guess in unplaced if guess["asks"] in question), {})
        unplaced = [other for other in unplaced if other is not guess]
        name = f"{chapter}-{number}"
        index, first = paragraph.parent.index, cells[0]
        between = paragraph.parent.children[index(paragraph) : index(first)]
        figure = next(filter(is_figure, between), None)
        row = guess_row(name, guess, cells, figure)
        rows.append(row)
        shown = [output for cell in cells for output in outputs(cell)]
        if figure:
            figure["classes"] += [f"waits-for-{name}"]
            paragraph.parent.insert(index(figure), nodes.raw("", row, format="html"))
        else:
            first.insert(first.index(outputs(first)[0]), nodes.raw("", row, format="html"))
        for part in [*shown, *text, *repeated(cells[-1], lines(shown))]:
            part["classes"] += ["answer", f"of-{name}"]
    if rows:
        doctree.next_node(nodes.title).parent.insert(1, nodes.raw("", SWITCH, format="html"))
    if unplaced:
        questions = ", ".join(repr(guess["asks"]) for guess in unplaced)
        raise ExtensionError(f"predictions.toml: {chapter} has no prediction that asks {questions}")
