"""What the sources write plainly and the pages set well, so that notebooks stay plain Markdown.

Numbers such as ``20 000`` are held together by a thin space, and points such as ``(1.04, 0)`` stay
in one line; a short cell of a table does not break, and a long one has room for some words in a
line; a role that the text stresses wears its colour; Chinese words say that they are Chinese, so
that they are read aloud and drawn as such; code has one blank line at a time.
"""

import re

from docutils import nodes

THIN = "\N{NARROW NO-BREAK SPACE}"
THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \N{NO-BREAK SPACE}]\d{3})+(?![\d])")
POINT = re.compile(r"\([−\d.]+(?:, [−\d.]+)+\)")
CHINESE = re.compile(r"([\u3400-\u9fff][\u3000-\u9fff\uff00-\uffef]*)")
ROLES = {"query", "key", "value", "output"}  # figures have a colour for each
SHORT, LONG = 12, 30  # characters in a cell of a table
LEFT_ALONE = (nodes.literal, nodes.math, nodes.FixedTextElement, nodes.raw)


def grouped(text):
    """Return text whose large numbers and points do not break."""
    text = POINT.sub(lambda point: point[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    return THOUSANDS.sub(lambda number: re.sub(r"\s", THIN, number[0]), text)


def marked(text):
    """Return the nodes for a text, its Chinese words in nodes of their own."""
    parts = enumerate(CHINESE.split(text))  # every second is Chinese
    return [
        nodes.inline("", part, classes=["language-zh-Hans"]) if place % 2 else nodes.Text(part)
        for place, part in parts
        if part
    ]


def polish(app, doctree):
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, LEFT_ALONE):
            text.parent.replace(text, marked(grouped(text.astext())))
    for stressed in doctree.findall(lambda node: isinstance(node, nodes.emphasis | nodes.strong)):
        if stressed.astext() in ROLES:
            stressed["classes"].append(f"role-{stressed.astext()}")
    for cell in doctree.findall(nodes.entry):
        length = len(cell.astext())
        if length <= SHORT or length > LONG:
            cell["classes"].append("short" if length <= SHORT else "long")
    for code in doctree.findall(nodes.literal_block):
        if "\n\n\n" in code.astext():
            shown = re.sub(r"\n{3,}", "\n\n", code.astext())
            code.rawsource = shown  # Sphinx highlights a block whose source is its text
            code.children = [nodes.Text(shown)]
            code.children[0].parent = code


def skip_fields(app, what, name, obj, skip, options):
    """Leave out what Python says of a named tuple's fields by itself: their numbers."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field") else None


def setup(app):
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("doctree-read", polish)
