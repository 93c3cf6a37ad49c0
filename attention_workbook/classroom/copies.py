"""The exercises of a chapter's notebook, and its copies for student and teacher.

Notebooks are the dictionaries that JSON holds. No cell of a chapter needs a name that a solution
defines, so a copy without the solutions still runs from top to bottom.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Exercise", "exercises", "lacks", "student", "teacher", "without"]

Notebook = dict[str, Any]
Cell = dict[str, Any]

HEADING = re.compile(r"^### (Exercise (\d+): .+)$", re.MULTILINE)
SECTION = re.compile(r"^##? ", re.MULTILINE)
DOTS = re.compile(r"^([●○]{3}) ", re.MULTILINE)
CALL = re.compile(r"^exercise\.(\w+)\(", re.MULTILINE)
SOLUTION = "<details><summary>Solution</summary>"


@dataclass
class Exercise:
    """An exercise as a notebook holds it.

    Parameters
    ----------
    title : str
        ``"Exercise 3: Write the masked softmax"``.
    points : int
        As many as its dots are filled: ●●○ is worth 2.
    cells : list of dict
        Its cells, from the heading to the last before the next one.

    Examples
    --------
    >>> heading = {"cell_type": "markdown", "source": "### Exercise 1: Add\\n\\n●●○ 5 minutes"}
    >>> stub = {"cell_type": "code", "metadata": {}, "source": "total = ...\\nexercise.add(total)"}
    >>> one = Exercise("Exercise 1: Add", 2, [heading, stub])
    >>> one.name, one.stub is stub, one.solution
    ('add', True, None)
    """

    title: str
    points: int
    cells: list[Cell]

    @property
    def stub(self) -> Cell | None:
        """The cell that a student fills in: the first that calls a grader and is no solution."""
        graded = [cell for cell in self.cells if _code(cell) and CALL.search(text(cell))]
        return next((cell for cell in graded if not is_solution(cell)), None)

    @property
    def solution(self) -> Cell | None:
        """The folded cell with the solution."""
        return next((cell for cell in self.cells if _code(cell) and is_solution(cell)), None)

    @property
    def name(self) -> str:
        """The grader's name, from the last call in the stub; empty without a stub."""
        return CALL.findall(text(self.stub))[-1] if self.stub else ""


def text(cell: Cell) -> str:
    """Return a cell's source, which files hold as one string or as lines."""
    return "".join(cell["source"])


def is_solution(cell: Cell) -> bool:
    """Tell whether a cell holds a solution: its folded text, or code tagged ``hide-cell``."""
    if _code(cell):
        return "hide-cell" in cell["metadata"].get("tags", [])
    return text(cell).startswith(SOLUTION)


def exercises(notebook: Notebook) -> list[Exercise]:
    """Return the exercises of a chapter, in their order; the quiz is not among them.

    Examples
    --------
    >>> cell = {"cell_type": "markdown", "source": "### Exercise 1: Add\\n\\n●○○ 5 minutes"}
    >>> [(found.title, found.points) for found in exercises({"cells": [cell]})]
    [('Exercise 1: Add', 1)]
    """
    exercises_so_far: list[Exercise] = []
    inside = False
    for cell in notebook["cells"]:
        if not _code(cell):
            if heading := HEADING.search(text(cell)):
                dots = DOTS.search(text(cell))
                exercises_so_far.append(Exercise(heading[1], dots[1].count("●") if dots else 1, []))
                inside = True
            elif SECTION.search(text(cell)):
                inside = False
        if inside:
            exercises_so_far[-1].cells.append(cell)
    return exercises_so_far


def lacks(notebook: Notebook) -> list[str]:
    """Return a sentence for each thing that a chapter lacks for a class.

    Examples
    --------
    >>> lacks({"cells": []})
    ['it has no exercises, so there is nothing to grade.']
    """
    all_exercises = exercises(notebook)
    if not all_exercises:
        return ["it has no exercises, so there is nothing to grade."]
    ungraded = [
        f"{exercise.title.partition(':')[0]} has no call exercise.…(…), so it earns no points."
        for exercise in all_exercises
        if not exercise.stub
    ]
    return ungraded + [
        f"{exercise.title.partition(':')[0]} has no solution to test its grader with."
        for exercise in all_exercises
        if exercise.stub and not exercise.solution
    ]


def without(notebook: Notebook, numbers: Iterable[int]) -> Notebook:
    """Return a chapter without the exercises of these numbers.

    Examples
    --------
    >>> cell = {"cell_type": "markdown", "source": "### Exercise 1: Add"}
    >>> without({"cells": [cell]}, [1])
    {'cells': []}
    """
    prefixes = tuple(f"Exercise {number}:" for number in numbers)
    left_out_exercises = [
        exercise for exercise in exercises(notebook) if exercise.title.startswith(prefixes)
    ]
    left_out = [cell for exercise in left_out_exercises for cell in exercise.cells]
    return notebook | {"cells": [cell for cell in notebook["cells"] if cell not in left_out]}


def student(notebook: Notebook) -> Notebook:
    """Return a chapter without its solutions; stubs, hints and graders stay.

    Examples
    --------
    >>> task = {"cell_type": "markdown", "source": "Add."}
    >>> words = {"cell_type": "markdown", "source": f"{SOLUTION}\\n\\n2.\\n\\n</details>"}
    >>> code = {"cell_type": "code", "metadata": {"tags": ["hide-cell"]}, "source": "1 + 1"}
    >>> [cell["source"] for cell in student({"cells": [task, words, code]})["cells"]]
    ['Add.']
    """
    return notebook | {"cells": [cell for cell in notebook["cells"] if not is_solution(cell)]}


def teacher(notebook: Notebook) -> Notebook:
    """Return a chapter whose solutions stand open.

    Examples
    --------
    >>> words = {"cell_type": "markdown", "metadata": {}, "source": f"{SOLUTION}\\n\\n2."}
    >>> folded = {"tags": ["hide-cell"], "jupyter": {"source_hidden": True}}
    >>> code = {"cell_type": "code", "metadata": folded, "source": "1 + 1"}
    >>> words, code = teacher({"cells": [words, code]})["cells"]
    >>> words["source"], code["metadata"]
    ('<details open><summary>Solution</summary>\\n\\n2.', {'tags': ['hide-cell']})
    """
    cells = []
    for cell in notebook["cells"]:
        if is_solution(cell):
            metadata = {key: value for key, value in cell["metadata"].items() if key != "jupyter"}
            unfolded = text(cell).replace("<details>", "<details open>", 1)
            cell = cell | {"metadata": metadata, "source": text(cell) if _code(cell) else unfolded}
        cells.append(cell)
    return notebook | {"cells": cells}


def _code(cell: Cell) -> bool:
    return bool(cell["cell_type"] == "code")
