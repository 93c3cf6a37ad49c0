"""A solution folds as a whole, its reason together with its code.

In a notebook the text of a solution is one fold, and the cell below is another. On the page, one
fold holds everything up to the end of the exercise.
"""

from docutils import nodes

from website.copies import SOLUTION

OPEN = SOLUTION.replace("<details>", '<details class="solution">')
CLOSE = "</details>"


def begins_solution(node):
    """Say whether a node is the beginning of a fold that holds a solution's text."""
    return isinstance(node, nodes.raw) and node.astext().strip() == SOLUTION


def ends_fold(node):
    return isinstance(node, nodes.raw) and node.astext().strip() == CLOSE


def fold(doctree):
    for start in list(doctree.findall(begins_solution)):
        section = start.parent
        inside = section.children[section.index(start) + 1 :]
        section.remove(next(filter(ends_fold, inside)))
        section.append(nodes.raw("", f"{CLOSE}\n", format="html"))
        section.replace(start, nodes.raw("", f"{OPEN}\n", format="html"))
        for cell in inside:
            if isinstance(cell, nodes.container):
                cell.attributes.pop("hide_mode", None)  # it unfolds with the rest
