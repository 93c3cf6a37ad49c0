"""A page's text, as plain as descriptions and the search want it."""

import re

from docutils import nodes


def plain(text):
    """Return text without the commands of TeX that formulas bring into it; roots stay."""
    return " ".join(re.sub(r"\\[a-zA-Z]+|[{}$]", "", text.replace("\\sqrt", "√")).split())


def first_paragraph(doctree):
    """Return the sentence under a page's title, as plain text."""
    return next((plain(node.astext()) for node in doctree.findall(nodes.paragraph)), "")
