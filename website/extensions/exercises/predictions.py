"""What answers a **Predict** is covered until the reader has guessed.

A paragraph that says **Predict** asks for a guess, and the outputs of the code cells that follow it
answer it. Here a row for the guess is put between the two, with choices, a field or something to
draw, and ``predictions.js`` covers the outputs. Without a script nothing is covered and no row is
shown. What can be guessed stands in ``website/predictions.toml``, under the name of the chapter:
``asks`` is a piece of the paragraph, and each choice that is wrong has a line that says why. A
curve or bars have a task and names for their values; the truth is a row of the output.
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
ALWAYS_SHOW = '<label class="always"><input type="checkbox"> Always show the outputs</label>'


def guesses():
    """What can be chosen or drawn as a guess: a list for each chapter."""
    return tomllib.loads(GUESSES.read_text(encoding="utf-8"))


def predictions(doctree):
    """Each paragraph that asks for a prediction, with the cells that answer it."""
    for strong in doctree.findall(nodes.strong):
        if strong.astext().rstrip(":") == "Predict" and (cells := answering_cells(strong.parent)):
            yield strong.parent, cells


def answering_cells(paragraph):
    """The code cells after a paragraph, up to the text that follows the first output.

    A figure to take hold of gives nothing away by itself. It is passed over.
    """
    cells = []
    for node in paragraph.parent.children[paragraph.parent.index(paragraph) + 1 :]:
        if is_figure(node):
            continue
        is_cell = isinstance(node, nodes.container) and "cell" in node["classes"]
        if is_cell and outputs(node):
            cells.append(node)
        elif cells or any(
            part.astext().startswith("Predict") for part in node.findall(nodes.strong)
        ):
            break
    return cells


def is_figure(node):
    return isinstance(node, nodes.container) and FIGURE in node.astext()


def outputs(cell):
    return [
        part
        for part in cell.children
        if isinstance(part, nodes.container) and "cell_output" in part["classes"]
    ]


def guess_row(name, guess, cells, switch):
    """The row in which one guesses, as HTML: choices, something to draw, or a field for text."""
    question, controls = "What do you think?", TEXT_FIELD
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
        f'<p class="why" role="status"></p>{switch}</div>'
    )


def drawing_area(guess, cells):
    """The place for a curve or for bars; the truth is a row of a matrix among the outputs."""
    text = "\n".join(output.astext() for cell in cells for output in outputs(cell))
    rows = re.findall(r"^ ?\[+([-\d. ]+)\]", text, re.MULTILINE)
    truth = [float(number) for number in rows[guess["row"]].split()]
    drawing = {key: guess[key] for key in ("kind", "names")} | {"truth": truth}
    return (
        f'<div class="drawn {guess["kind"]}" role="group" aria-label="{escape(guess["task"])}"'
        f' data-drawn="{escape(json.dumps(drawing))}"></div>'
        f'<button type="button" class="compare" data-why="{escape(guess["why"])}" disabled>'
        "Compare</button>"
    )


def cover(doctree, chapter):
    """Put the row for a guess before the outputs that answer it, and mark them."""
    unplaced = list(guesses().get(chapter, []))
    for number, (paragraph, cells) in enumerate(predictions(doctree)):
        text = " ".join(paragraph.astext().split())
        guess = next((guess for guess in unplaced if guess["asks"] in text), {})
        unplaced = [other for other in unplaced if other is not guess]
        row = guess_row(f"{chapter}-{number}", guess, cells, "" if number else ALWAYS_SHOW)
        figure = next(filter(is_figure, paragraph.parent.children), None)
        index = paragraph.parent.index
        if figure and index(paragraph) < index(figure) < index(cells[0]):
            paragraph.parent.insert(index(figure), nodes.raw("", row, format="html"))
        else:
            first_output = outputs(cells[0])[0]
            cells[0].insert(cells[0].index(first_output), nodes.raw("", row, format="html"))
        for cell in cells:
            for output in outputs(cell):
                output["classes"].append("answer")
    if unplaced:
        questions = ", ".join(repr(guess["asks"]) for guess in unplaced)
        raise ExtensionError(f"predictions.toml: {chapter} has no prediction that asks {questions}")
