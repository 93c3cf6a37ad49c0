"""Exercises that are done in the page, with a Python of its own.

Where a notebook's grader says that nothing is written yet, the page has an editor; without its
script it says how to run the notebook, as ever. Nothing of Python is fetched before a reader
presses the first button.
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
from website.extensions.chapters import downloads

STATIC = "attention_python"
UNWRITTEN = "Write it, then run this cell."
# what the stored run of a chapter says of parts; a page calls those that its reader has written
LACK = re.compile(r"There is no mine\.py beside this notebook, so .* the book's\.\n?")
PLACE = '<div class="attention-code" data-chapter="{}" data-exercise="{}" data-name="{}"{}>{}</div>'
# where a reader's parts run the stored writer; in a notebook something to unfold
PANEL = '<details class="attention-parts"><summary>'


def write_files(folder):
    """Write all files that pages with exercises load, and those of the first press."""
    folder.mkdir(parents=True, exist_ok=True)
    call = "(document, document.currentScript.src);\n"
    texts = {
        "editor.js": f"{{\n{bundled('editor')}\nmodule_editor.attachCode{call}}}\n",
        "panel.js": f"{{\n{bundled('panel')}\nmodule_panel.attachPanel{call}}}\n",
        "writer.json": export.written(export.writer()),
        "worker.js": f"{bundled('worker')}\n",
        "updating.js": f"{bundled('updating')}\nexport const {{ ruleOf }} = module_updating;\n",
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


def write(app):
    notebooks = {path.stem.replace("-", "_") for path in Path(app.srcdir).glob("book/*.ipynb")}
    if notebooks.issuperset(export.chapters()):
        write_files(Path(app.outdir) / "_static" / STATIC)


def without_lack(doctree):
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


def place_editors(app, doctree, docname):
    """Put the place of an editor where a grader says that nothing is written yet."""
    chapter = Path(docname).name.replace("-", "_")
    ways = f'<a href="{downloads.link(app, docname)}" download>download the notebook</a>'
    if colab := downloads.colab(app, docname):
        ways += f' or <a href="{colab}">open it in Colab</a>'
    reason = export.NEEDS_PYTORCH.get(chapter, "")
    sentence = f'<p class="to-run">{reason}To try it, {ways}; its grader answers there.</p>'
    for cell in doctree.findall(is_cell):
        blocks = [*cell.findall(nodes.literal_block)]
        for block in blocks:
            if "output" in block["classes"] and block.astext().strip() == UNWRITTEN:
                place = editor(blocks[0].astext(), chapter, sentence)
                block.parent.replace(block, nodes.raw("", f"{place}\n", format="html"))


def is_cell(node):
    return isinstance(node, nodes.container) and "cell" in node["classes"]


def editor(code, chapter, sentence):
    """Return the place of the editor for a cell's code, or the sentence alone where it has none."""
    call = export.CALL.search(code)
    if not call or chapter in export.NEEDS_PYTORCH:
        return sentence
    alias, exercise, name = call.groups()
    module = chapter if alias == "exercise" else alias
    if exercise not in export.chapter(module)["solutions"]:
        return sentence
    form = forms().get(f"{module}.{exercise}")
    more = f' data-form="{html.escape(export.written(form))}"' if form else ""
    if name in PARTS:
        more += f' id="{name}" data-part="{html.escape(export.written(export.part(name)))}"'
    if parts := export.parts_called(module).get(exercise):
        more += f' data-takes="{" ".join(parts)}"'
    return PLACE.format(module, exercise, name, more, sentence)


def place_panel(app, doctree, docname):
    """Make of what a notebook unfolds the panel in which a reader's parts run the stored writer."""
    for start in list(doctree.findall(nodes.raw)):
        if not start.astext().startswith(PANEL):
            continue
        end = next(
            node
            for node in start.parent.children[start.parent.index(start) :]
            if isinstance(node, nodes.raw) and node.astext().strip() == "</details>"
        )
        titles = {name: node.astext() for name, node in app.env.titles.items()}
        data = html.escape(export.written(parts_needed(titles, Path(docname).name)))
        opening = f'<div class="attention-parts" id="{export.PANEL}" data-parts="{data}">'
        start.replace_self(nodes.raw("", f"{opening}\n", format="html"))
        end.replace_self(nodes.raw("", "</div>\n", format="html"))


def parts_needed(titles, page):
    """Return which parts a page's panel runs, each with the page on which it is written."""
    needed = []
    for part in export.PARTS_THAT_WRITE[page.replace("-", "_")]:
        home = export.chapter_of(part).replace("_", "-")
        if f"book/{home}" not in titles:
            raise ExtensionError(
                f"_toc.yml: expected book/{home}, where {part} of book/{page} is written, "
                "got no such page"
            )
        needed.append({"part": part, "page": f"{home}.html", "title": titles[f"book/{home}"]})
    return needed
