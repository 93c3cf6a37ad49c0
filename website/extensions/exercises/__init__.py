"""Exercises: questions, code that is run and graded, predictions and folded solutions."""

from docutils import nodes

from website.extensions import LAST
from website.extensions.exercises import code, predictions, questions, solutions


def write(app):
    if app.builder.format == "html":
        questions.write(app)
        code.write(app)


def read(app, doctree):
    """What a chapter says as a notebook, said as a page."""
    code.without_lack(doctree)
    predictions.cover(doctree, app.env.docname.rpartition("/")[2])
    solutions.fold(doctree)


def resolve(app, doctree, docname):
    if app.builder.format == "html":
        code.place_editors(app, doctree, docname)
        code.place_panel(app, doctree, docname)


def load(app, pagename, templatename, context, doctree):
    """Let a page load the scripts of what it has."""
    if doctree is None:
        return
    markup = "".join(node.astext() for node in doctree.findall(nodes.raw))
    if questions.QUESTION in markup:
        app.add_css_file(f"{questions.FOLDER}/exercise.css")
        app.add_js_file(f"{questions.FOLDER}/exercise.js", loading_method="defer")
    if 'class="attention-code"' in markup:
        script = "panel" if 'class="attention-parts"' in markup else "editor"
        app.add_css_file(f"{code.STATIC}/editor.css")
        app.add_js_file(f"{code.STATIC}/{script}.js", loading_method="defer")
    if 'class="prediction"' in markup:
        app.add_css_file("predictions.css", priority=LAST)
        app.add_js_file("predictions.js", loading_method="defer")


def setup(app):
    app.connect("builder-inited", write)
    app.connect("doctree-read", read)
    app.connect("doctree-resolved", resolve)
    app.connect("html-page-context", load)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
