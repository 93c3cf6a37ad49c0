"""A chapter of the tests' own, which keeps every rule: a task, a picture and two exercises."""

import copy

from website import notebooks

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAWk1v8QAAAABJRU5ErkJggg=="


def markdown(source):
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source, *outputs, tags=(), alt=None):
    metadata = {"tags": list(tags)} if tags else {}
    metadata |= {"mystnb": {"image": {"alt": alt}}} if alt else {}
    cell = {"cell_type": "code", "metadata": metadata, "source": source}
    return cell | {"execution_count": 1, "outputs": list(outputs)}


def printed(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def shown(**data):
    data = {mime.replace("_", "/"): value for mime, value in data.items()}
    return {"output_type": "display_data", "metadata": {}, "data": data}


def raised(name, message):
    return {"output_type": "error", "ename": name, "evalue": message, "traceback": []}


def folded(title, text):
    return markdown(f"<details><summary>{title}</summary>\n\n{text}\n\n</details>")


def exercise(number, dots, stub, solution):
    return [
        markdown(f"### Exercise {number}: Try\n\n{dots} 5 minutes\n\nDo it."),
        code(stub, printed("Write it, then run this cell.\n")),
        folded("Hint", "Look again."),
        folded("Solution", "Each key answers half of it."),
        code(solution, printed("Correct: it is.\n"), tags=["hide-cell"]),
    ]


HALF = "def my_half(x):\n    return ...  # your turn\n\n\nexercise.half(my_half)"
CELLS = [
    markdown("# Halves\n\nWhat is **half** of it?"),
    code("from attention_workbook.exercises import halves as exercise", tags=["hide-input"]),
    markdown("## The idea\n\n**Time:** 5 minutes, and 10 for the exercises.\n\n$a < b$, `{a}`"),
    code("weights = [0.5, 0.5]\nweights", printed("[0.500 0.500]\n")),
    code(
        "fig, ax = plots.subplots()\nplots.show()",
        shown(image_png=PNG),
        alt="Both keys take half of the weight",
    ),
    markdown("**Figure 1.** Half and half."),
    code("print(time_of(mix))", printed("12.3 ms\n"), tags=["nbval-ignore-output"]),
    code("print(1 < 2)", printed("True\n")),
    code("mix(1, 'a')", raised("TypeError", "got 'a'"), tags=["raises-exception"]),
    markdown("## Exercises"),
    *exercise(1, "●○○", "lowest = ...\nexercise.lowest(lowest)", "exercise.lowest(1)"),
    *exercise(2, "●●○", HALF, "def halved(x):\n    return x / 2\n\n\nexercise.half(halved)"),
    markdown("## Summary\n\nHalves."),
]
IDEA, NUMBERS, FIGURE, CAPTION, TIMED, CLAIM, ERROR = range(2, 9)
TASK, STUB, HINT, SOLUTION, SOLVED = range(10, 15)


def chapter(index=0, **fields):
    """The chapter, one cell of it with other fields."""
    cells = copy.deepcopy(CELLS)
    cells[index] |= fields
    return notebooks.normalise({"cells": cells, "metadata": {}}, "halves")
