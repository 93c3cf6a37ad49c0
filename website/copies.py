"""The exercises of a chapter's notebook, and what a class gets of them.

Notebooks are the dictionaries that JSON holds. No cell of a chapter needs a name that a solution
defines, so a copy without the solutions still runs from top to bottom.
"""

import ast
import re
from dataclasses import dataclass

HEADING = re.compile(r"^### (Exercise (\d+): .+)$", re.MULTILINE)
SECTION = re.compile(r"^##? ", re.MULTILINE)
DOTS = re.compile(r"^([●○]{3}) ", re.MULTILINE)
CALL = re.compile(r"^exercise\.(\w+)\(", re.MULTILINE)
MODULE = re.compile(
    r"^from attention_workbook\.exercises import (?:.+, )?(\w+) as exercise$", re.MULTILINE
)
SOLUTION = "<details><summary>Solution</summary>"


@dataclass
class Exercise:
    number: int
    points: int  # as many as its dots are filled: ●●○ is worth 2
    cells: list

    @property
    def stub(self):
        """The cell that a student fills in: the first that calls a grader and is no solution."""
        graded = [cell for cell in self.cells if is_code(cell) and CALL.search(text(cell))]
        return next((cell for cell in graded if not is_solution(cell)), None)

    @property
    def solution(self):
        """The folded cell with the solution."""
        return next((cell for cell in self.cells if is_code(cell) and is_solution(cell)), None)


def text(cell):
    """A cell's source, which files hold as one string or as lines."""
    return "".join(cell["source"])


def is_code(cell):
    return cell["cell_type"] == "code"


def is_solution(cell):
    """Whether a cell holds a solution: its folded text, or code tagged ``hide-cell``."""
    if is_code(cell):
        return "hide-cell" in cell["metadata"].get("tags", [])
    return text(cell).startswith(SOLUTION)


def exercises(notebook):
    """The exercises of a chapter, in their order; the quiz is not among them."""
    found, inside = [], False
    for cell in notebook["cells"]:
        if not is_code(cell):
            if heading := HEADING.search(text(cell)):
                dots = DOTS.search(text(cell))
                points = dots[1].count("●") if dots else 1
                found.append(Exercise(int(heading[2]), points, []))
                inside = True
            elif SECTION.search(text(cell)):
                inside = False
        if inside:
            found[-1].cells.append(cell)
    return found


def without(notebook, numbers):
    """A chapter without the exercises of these numbers."""
    left_out = [x for one in exercises(notebook) if one.number in numbers for x in one.cells]
    return notebook | {"cells": [cell for cell in notebook["cells"] if cell not in left_out]}


def student(notebook):
    """A chapter without its solutions; stubs, hints and graders stay."""
    return notebook | {"cells": [cell for cell in notebook["cells"] if not is_solution(cell)]}


def teacher(notebook):
    """A chapter whose solutions stand open."""
    cells = []
    for cell in notebook["cells"]:
        if is_solution(cell):
            metadata = {key: value for key, value in cell["metadata"].items() if key != "jupyter"}
            source = text(cell)
            if not is_code(cell):
                source = source.replace("<details>", "<details open>", 1)
            cell = cell | {"metadata": metadata, "source": source}
        cells.append(cell)
    return notebook | {"cells": cells}


def assignment(notebook):
    """A chapter as nbgrader wants it: below each stub a locked cell that raises where the answer is
    wrong. Its points are the exercise's dots."""
    graded = {one.stub["id"]: one for one in exercises(notebook) if one.stub}
    sources = "\n".join(text(cell) for cell in notebook["cells"] if is_code(cell))
    cells = []
    for cell in student(notebook)["cells"]:
        one = graded.get(cell["id"])
        if one is None:
            if is_code(cell):
                cell = marked(cell, cell["id"], locked=True)
            if cell["id"] == "carried":  # which feedback leaves out
                cell["metadata"]["tags"] = ["carried"]
            cells.append(cell)
            continue
        call = ast.unparse(ast.parse(text(cell)).body[-1])
        name = CALL.match(call)[1]
        # nbgrader puts its line for the student between these two
        region = f"### BEGIN SOLUTION\n### END SOLUTION\n{text(cell)}"
        cells.append(marked(cell | {"source": region}, name, solution=True))
        test = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
        test |= {
            "id": f"{name}-graded",
            "source": f"from attention_workbook.exercises import {MODULE.findall(sources)[-1]} "
            f"as exercise\nfrom attention_workbook.grading import grade\n\ngrade(lambda: {call})",
        }
        cells.append(marked(test, test["id"], grade=True, locked=True, points=one.points))
    return notebook | {"cells": cells}


def marked(cell, name, **marks):
    """A cell that nbgrader knows by a name."""
    unmarked = dict.fromkeys(("grade", "locked", "solution", "task"), False)
    metadata = {**unmarked, "schema_version": 3, "grade_id": name, **marks}
    return cell | {"metadata": {**cell["metadata"], "nbgrader": metadata}}
