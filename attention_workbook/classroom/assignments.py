"""A chapter's exercises as otter-grader and as nbgrader want them, before the tools take over.

Both get the chapter as students work in it, with a test for each exercise that asks the book's
grader; its points are the exercise's dots. Their own commands, ``otter assign`` and ``nbgrader
generate_assignment``, make of it what students get and what grades. Otter gets the solutions, too,
and tries its tests on them.
"""

import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from attention_workbook.classroom.copies import Exercise, exercises, student, text
from attention_workbook.classroom.grading import digest

__all__ = ["NBGRADER_CONFIG", "for_nbgrader", "for_otter", "graded"]

Notebook = dict[str, Any]
Cell = dict[str, Any]

MODULE = re.compile(
    r"^from attention_workbook\.exercises import (?:.+, )?(\w+) as exercise$", re.MULTILINE
)
IMPORT = "from attention_workbook.classroom.grading import judged"
OTTER_CONFIG = """\
# ASSIGNMENT CONFIG
init_cell: false
export_cell: false
requirements: [{requirements}]
tests:
  ok_format: false
generate:
  show_hidden: true
  force_public_test_summary: false"""  # all tests are hidden: it would say that they passed
NBGRADER_CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "attention"
c.ClearSolutions.code_stub = {"python": "# Your answer; the last line asks the grader."}
c.Execute.timeout = 180  # seconds a cell; an exercise has 40 of its own
"""


def graded(notebook: Notebook) -> list[Exercise]:
    """Return the exercises that earn points: those with a stub and a solution.

    Examples
    --------
    >>> graded({"cells": []})
    []
    """
    return [exercise for exercise in exercises(notebook) if exercise.stub and exercise.solution]


def for_otter(notebook: Notebook) -> Notebook:
    """Return what ``otter assign`` wants: questions and their parts between raw cells.

    Examples
    --------
    >>> [cell["cell_type"] for cell in for_otter({"cells": []})["cells"]]
    ['raw']
    """
    graded_exercises = graded(notebook)
    beginnings = {exercise.cells[0]["id"]: exercise for exercise in graded_exercises}
    versions = {name: version(name).partition("+")[0] for name in ("torch", "numpy", "matplotlib")}
    pins = ", ".join(f"{name}=={number}" for name, number in versions.items())
    cells = [_cell("raw", "config", OTTER_CONFIG.format(requirements=pins))]
    for cell, exercise in _answered(notebook, graded_exercises):
        if cell["id"] in beginnings:
            beginning = beginnings[cell["id"]]
            points = f"name: {beginning.name}\npoints: {beginning.points}\ncheck_cell: false"
            cells.append(_cell("raw", f"{beginning.name}-question", f"# BEGIN QUESTION\n{points}"))
        if exercise is None:
            cells.append(cell)
            continue
        function = (
            f"def test_{exercise.name}(env):\n    {IMPORT}\n    {_judge(notebook, exercise, 'env')}"
        )
        answer = f"# BEGIN SOLUTION NO PROMPT\n{text(exercise.solution or {})}\n# END SOLUTION"
        solution = _cell("code", f"{exercise.name}-solution", answer)
        test = _cell("code", f"{exercise.name}-test", f"# HIDDEN\n{function}")
        for kind, part in (("PROMPT", cell), ("SOLUTION", solution), ("TESTS", test)):
            cells.append(_cell("raw", f"{part['id']}-begin", f"# BEGIN {kind}"))
            cells.append(part)
            cells.append(_cell("raw", f"{part['id']}-end", f"# END {kind}"))
        cells.append(_cell("raw", f"{exercise.name}-end", "# END QUESTION"))
    return notebook | {"cells": cells}


def for_nbgrader(notebook: Notebook) -> Notebook:
    """Return what ``nbgrader generate_assignment`` wants: cells with its metadata.

    Examples
    --------
    >>> for_nbgrader({"cells": []})
    {'cells': []}
    """
    cells = []
    for cell, exercise in _answered(notebook, graded(notebook)):
        if exercise is None:
            locked = cell["id"] == "carried"
            cells.append(_marked(cell, "carried", locked=True) if locked else cell)
            continue
        region = "### BEGIN SOLUTION\n### END SOLUTION\n"  # nbgrader puts its line there
        cells.append(_marked(cell | {"source": region + text(cell)}, exercise.name, solution=True))
        source = f"""\
# Graded: {exercise.name}
### BEGIN HIDDEN TESTS
{IMPORT}
print({_judge(notebook, exercise, "globals()")})
### END HIDDEN TESTS"""
        test = _cell("code", f"{exercise.name}-test", source)
        cells.append(_marked(test, test["id"], grade=True, locked=True, points=exercise.points))
    return notebook | {"cells": cells}


def _answered(
    notebook: Notebook, graded_exercises: list[Exercise]
) -> Iterator[tuple[Cell, Exercise | None]]:
    """Yield the cells of the student's copy, each stub that is graded with its exercise.

    The first code cell carries the library; it is also told which cells are the chapter's own.
    """
    stubs = {exercise.stub["id"]: exercise for exercise in graded_exercises if exercise.stub}
    cells = student(notebook)["cells"]
    chapter_cells = [c for c in cells if c["cell_type"] == "code" and c["id"] not in stubs]
    digests = " ".join(digest(text(cell)) for cell in chapter_cells)
    for cell in cells:
        if cell["id"] == "carried":
            start = (
                "from attention_workbook.classroom.grading import set_aside\n\n"
                f'set_aside("{digests}")'
            )
            cell = cell | {"source": f"{text(cell)}\n{start}", "outputs": []}
        yield cell, stubs.get(cell["id"])


def _judge(notebook: Notebook, exercise: Exercise, variables: str) -> str:
    sources = "\n".join(text(cell) for cell in notebook["cells"] if cell["cell_type"] == "code")
    module = MODULE.findall(sources)[-1]
    return f'judged("{module}", "{exercise.name}", {variables})'


def _cell(kind: str, name: str, source: str) -> Cell:
    cell = {"cell_type": kind, "id": name, "metadata": {}, "source": source}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _marked(cell: Cell, name: str, **marks: Any) -> Cell:
    unmarked = dict.fromkeys(("grade", "locked", "solution", "task"), False)
    metadata = {**unmarked, "schema_version": 3, "grade_id": name, **marks}
    return cell | {"metadata": {**cell["metadata"], "nbgrader": metadata}}
