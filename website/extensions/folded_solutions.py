"""Sphinx extension: a solution folds as a whole, its reason together with its code.

In a notebook the line **Solution** stands open above a folded cell; on the page it becomes what
unfolds everything up to the end of the exercise.
"""

from docutils import nodes

OPEN = '<details class="solution">\n<summary>Solution</summary>\n'


def begins_solution(node):
    """Say whether a node is the line ``**Solution**``."""
    bold = isinstance(node, nodes.paragraph) and any(node.findall(nodes.strong))
    return bold and node.astext() == "Solution"


def fold(app, doctree):
    for line in list(doctree.findall(begins_solution)):
        section = line.parent
        start = section.index(line)
        for cell in section.children[start + 1 :]:
            if isinstance(cell, nodes.container):
                cell.attributes.pop("hide_mode", None)  # it unfolds with the rest
        section[start] = nodes.raw("", OPEN, format="html")
        section.append(nodes.raw("", "</details>\n", format="html"))


def setup(app):
    app.connect("doctree-read", fold)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
