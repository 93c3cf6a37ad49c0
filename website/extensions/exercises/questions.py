"""The questions of ``attention_workbook.exercises``: a form of each, made by one script.

A notebook's output holds a question's rules. Without the script it reads as in the notebook.
"""

from pathlib import Path

from attention_workbook.exercises import engine
from attention_workbook.figures.bundle import as_expression

FOLDER = "attention_exercises"
SOURCES = Path(engine.__file__).parent
QUESTION = '<div class="attention-exercise" data-exercise="'


def assets():
    """Return the texts of all files that pages with questions load, by file name."""
    module = as_expression(SOURCES / "exercise.js")
    return {
        "exercise.js": f"({module}).attachExercises(document);\n",
        "exercise.css": (SOURCES / "exercise.css").read_text(encoding="utf-8"),
    }


def write(app):
    folder = Path(app.outdir) / "_static" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in assets().items():
        (folder / name).write_text(text, encoding="utf-8")
