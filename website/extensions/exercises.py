"""Sphinx extension: the questions of ``attention_workbook.exercises`` on pages.

A notebook's output holds a question's rules; one script, loaded where there is such a question,
makes a form of it. Without the script the output reads as it does in the notebook. Where code is
to be written, the page says how to run the notebook; ``python_page.py`` puts an editor there.
"""

import re
from pathlib import Path

from attention_workbook.exercises import engine
from attention_workbook.figures.bundle import as_expression
from page_python.export import NEEDS_PYTORCH

FOLDER = "attention_exercises"
SOURCES = Path(engine.__file__).parent
QUESTION = '<div class="attention-exercise" data-exercise="'
UNWRITTEN = re.compile(
    r'<div class="output text_plain[^>]*>\s*<div class="highlight"><pre><span></span>'
    r"Write it, then run this cell\.\s*</pre></div>\s*</div>"
)


def assets():
    """Return the texts of all files that pages with questions load, by file name."""
    module = as_expression(SOURCES / "exercise.js")
    return {
        "exercise.js": f"({module}).attachExercises(document);\n",
        "exercise.css": (SOURCES / "exercise.css").read_text(encoding="utf-8"),
    }


def _write(app):
    if app.builder.format == "html":
        folder = Path(app.outdir) / "_static" / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in assets().items():
            (folder / name).write_text(text, encoding="utf-8")


def _load(app, pagename, templatename, context, doctree):
    if doctree is not None and QUESTION in context.get("body", ""):
        app.add_css_file(f"{FOLDER}/exercise.css")
        app.add_js_file(f"{FOLDER}/exercise.js", loading_method="defer")


def _say_how_to_run(app, pagename, templatename, context, doctree):
    """Replace what a grader says of the empty stub by the ways to run it."""
    if doctree is None or "notebook" not in context:
        return
    ways = f'<a href="{context["notebook"]}" download>download the notebook</a>'
    if context.get("colab"):
        ways += f' or <a href="{context["colab"]}">open it in Colab</a>'
    reason = NEEDS_PYTORCH.get(Path(pagename).name.replace("-", "_"), "")
    sentence = f'<p class="to-run">{reason}To try it, {ways}; its grader answers there.</p>'
    context["body"] = UNWRITTEN.sub(sentence, context.get("body", ""))


def setup(app):
    app.connect("builder-inited", _write)
    app.connect("html-page-context", _load)
    app.connect("html-page-context", _say_how_to_run, priority=950)  # the links come before
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
