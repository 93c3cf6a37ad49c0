"""Sphinx extension: exercises that are done in the page, with a Python of its own.

It writes the editor, the worker and what they need into ``_static``. Where a notebook's grader says
that nothing is written yet, the page has an editor; without its script it says how to run the
notebook, as ever. Nothing of Python is fetched before a reader presses the first button.
"""

import html
import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError

from attention_workbook.parts import PARTS
from page_python import FOLDER, export, micropython
from page_python.bundle import bundled
from page_python.forms import forms
from website.extensions.exercises import UNWRITTEN

STATIC = "attention_python"
# what the stored run of a chapter says of parts; a page calls those that its reader has written
LACK = re.compile(r"There is no mine\.py beside this notebook, so .* the book's\.\n?")
PLACE = '<div class="attention-code" data-chapter="{}" data-exercise="{}" data-name="{}"{}>{}</div>'
# where a reader's parts run the stored writer; in a notebook something to unfold
PANEL = re.compile(
    r'<details class="attention-parts">\s*<summary>.*?</summary>(.*?)</details>', re.DOTALL
)


def write(folder):
    """Write all files that pages with exercises load, and those of the first press."""
    folder.mkdir(parents=True, exist_ok=True)
    call = "(document, document.currentScript.src);\n"
    texts = {
        "editor.js": f"{{\n{bundled('editor')}\nmodule_editor.attachCode{call}}}\n",
        "panel.js": f"{{\n{bundled('panel')}\nmodule_panel.attachPanel{call}}}\n",
        "writer.json": export.written(export.writer()),
        "worker.js": f"{bundled('worker')}\n",
        "editor.css": (FOLDER / "editor.css").read_text(encoding="utf-8"),
    }
    for name in export.chapters():
        texts[f"{name}.json"] = export.written(export.chapter(name))
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "python.packed").write_bytes(export.packed())
    shutil.copy(export.WRITER, folder / "writer.safetensors")
    shutil.copy(micropython() / "micropython.mjs", folder)
    shutil.copy(FOLDER / "LICENSE.micropython.txt", folder / "LICENSE.txt")


def code_before(body, place):
    """Return the code that stands before a place of a page, as text."""
    start = body.rfind("<pre>", 0, place) + len("<pre>")
    return html.unescape(re.sub("<[^>]+>", "", body[start : body.find("</pre>", start)]))


def with_editors(body, chapter):
    """Mark the places of a page's HTML where an editor can be."""

    def marked(match):
        call = export.CALL.search(code_before(body, match.start()))
        if not call or chapter in export.NEEDS_PYTORCH:
            return match[0]
        alias, exercise, name = call.groups()
        module = chapter if alias == "exercise" else alias
        if exercise not in export.chapter(module)["solutions"]:
            return match[0]
        form = forms().get(f"{module}.{exercise}")
        more = f' data-form="{html.escape(export.written(form))}"' if form else ""
        if name in PARTS:
            more += f' id="{name}" data-part="{html.escape(export.written(export.part(name)))}"'
        if parts := export.parts_called(module).get(exercise):
            more += f' data-takes="{" ".join(parts)}"'
        return PLACE.format(module, exercise, name, more, match[0])

    return UNWRITTEN.sub(marked, body)


def with_panel(body, titles, chapter):
    """Tell the panel, where a page has one, which parts it runs and where they are written."""
    needed = []
    for part in export.PARTS_THAT_WRITE[chapter]:
        page = export.chapter_of(part).replace("_", "-")
        if f"book/{page}" not in titles:
            raise ExtensionError(
                f"_toc.yml: expected book/{page}, where {part} of book/{chapter.replace('_', '-')} "
                "is written, got no such page"
            )
        needed.append({"part": part, "page": f"{page}.html", "title": titles[f"book/{page}"]})
    data = html.escape(export.written(needed))
    place = '<div class="attention-parts" id="{}" data-parts="{}">{}</div>'
    return PANEL.sub(lambda match: place.format(export.PANEL, data, match[1]), body)


def without_lack(app, doctree):
    """Leave out what is true of the notebook that was run, and not of the page."""
    for block in [*doctree.findall(nodes.literal_block)]:
        text = LACK.sub("", block.astext())
        if "output" not in block["classes"] or text == block.astext():
            continue
        if text:
            block.rawsource = text  # Sphinx highlights a block whose source is its text
            block.clear()
            block += nodes.Text(text)
        elif len(block.parent) == 1:
            block.parent.parent.remove(block.parent)
        else:
            block.parent.remove(block)


def _write(app):
    notebooks = {path.stem.replace("-", "_") for path in Path(app.srcdir).rglob("*.ipynb")}
    if app.builder.format == "html" and notebooks.issuperset(export.chapters()):
        write(Path(app.outdir) / "_static" / STATIC)


def _mark(app, pagename, templatename, context, doctree):
    if doctree is None:
        return
    chapter = Path(pagename).name.replace("-", "_")
    context["body"] = with_editors(context.get("body", ""), chapter)
    script = "editor"
    if PANEL.search(context["body"]):
        script = "panel"
        titles = {name: node.astext() for name, node in app.env.titles.items()}
        context["body"] = with_panel(context["body"], titles, chapter)
    if 'class="attention-code"' in context["body"]:
        app.add_css_file(f"{STATIC}/editor.css")
        app.add_js_file(f"{STATIC}/{script}.js", loading_method="defer")


def setup(app):
    app.connect("builder-inited", _write)
    app.connect("doctree-read", without_lack, priority=400)  # before outputs answer predictions
    app.connect("html-page-context", _mark)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
