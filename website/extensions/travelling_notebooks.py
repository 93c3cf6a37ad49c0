"""Let every chapter be downloaded as a notebook that runs alone, and be opened in Colab.

The notebook that a page links to is the chapter with two cells before it: a sentence, and a cell
that carries ``attention_lib`` for machines that do not have it. Its links to the book's pages lead
to the website if `_config.yml` names its address (``html: baseurl``); otherwise those to chapters
stay, as their notebooks may lie beside it, and of those to other pages only the words are kept.

With ``workbook_repository`` in `_config.yml`, pages offer to open the notebook in Colab, which
reads it from the branch ``notebooks`` of that repository: `.github/workflows/publish.yml` puts it
there.
"""

import base64
import bz2
import functools
import importlib.metadata
import json
import posixpath
import re
from pathlib import Path
from urllib.parse import urljoin

from sphinx.errors import ConfigError

import attention_lib

BRANCH = "notebooks"
COLAB = "https://colab.research.google.com/github"
ONLY_WHERE_USED = ("alignment",)  # a third of the library, for one chapter
REPOSITORY = re.compile(r"https://github\.com/([\w-]+/[\w.-]+)(?<!\.git)", re.ASCII)
LINK = re.compile(  # [words](page.kind#anchor); the words may hold one more pair of brackets
    r"(?<!!)\[((?:[^][]|\[[^][]*\])*)\]\(([\w/.-]+)\.(md|ipynb)(#[^)\s]*)?\)"
)
NOTE = """\
*This copy of the chapter runs alone. The cell below, folded, carries the book's library \
`attention_lib` for machines that do not have it; it installs nothing.*"""
CARRIER = """\
#@title The book's library, carried along
# Where attention_lib {version} is installed, nothing happens here. Elsewhere the copy in the last
# line is unpacked into a temporary folder, which goes when the kernel stops, and imported from it.
def carry_attention_lib(packed):
    import atexit, base64, bz2, importlib.metadata, json, pathlib, shutil, sys, tempfile

    installed = importlib.metadata.distributions(name="attention-workbook")
    if "attention_lib" in sys.modules or "{version}" in [copy.version for copy in installed]:
        return
    folder = tempfile.mkdtemp(prefix="attention_lib-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, text in json.loads(bz2.decompress(base64.b85decode(packed))).items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    sys.path.insert(0, folder)


carry_attention_lib("{packed}")"""


def repository(address):
    """Return ``owner/name`` of a repository on GitHub, which is where Colab can open notebooks."""
    if not address:
        return ""
    if found := REPOSITORY.fullmatch(str(address)):
        return found[1]
    raise ConfigError(
        f"workbook_repository in _config.yml is {address!r}: write the address of a repository, "
        "https://github.com/OWNER/NAME, or leave it empty."
    )


def pack(package, without=()):
    """Return a package's files as one text: their paths and contents, compressed, in base 85.

    A byte is a character in there (latin-1), so weights travel as sources do. Folders of the
    package that are named in ``without`` stay behind.
    """
    files = {
        path.relative_to(package.parent).as_posix(): path.read_bytes().decode("latin-1")
        for path in sorted(package.rglob("*"))
        if path.is_file() and path.parent.name not in ("__pycache__", *without)
    }
    return base64.b85encode(bz2.compress(json.dumps(files, ensure_ascii=False).encode())).decode()


def unused(chapter):
    """Return the heavy parts of the library that a chapter's notebook, as text, does not import."""
    return tuple(part for part in ONLY_WHERE_USED if f"attention_lib.{part}" not in chapter)


@functools.cache
def carrier(without=()):
    """Return the source of the cell that makes ``attention_lib`` importable."""
    return CARRIER.format(
        version=importlib.metadata.version("attention-workbook"),
        packed=pack(Path(attention_lib.__file__).parent, without),
    )


def redirect(text, website):
    """Return Markdown whose links to the book's pages lead somewhere without the book.

    ``website`` is the address of the chapter's own page, or empty.
    """

    def target(link):
        words, page, kind, anchor = link.groups(default="")
        if website:
            return f"[{words}]({urljoin(website, page)}.html{anchor})"
        return link[0] if kind == "ipynb" else words

    return LINK.sub(target, text)


def travelling(notebook, library, website=""):
    """Return a chapter's notebook, read as JSON, as one that runs alone.

    ``library`` is the source of the cell that carries it, as :func:`carrier` returns it.
    """
    note = {"cell_type": "markdown", "id": "carried-note", "metadata": {}, "source": NOTE}
    if website:
        note["source"] += f" *[The chapter on the website]({website}).*"
    carried = {
        "cell_type": "code",
        "id": "carried",
        "metadata": {"cellView": "form", "jupyter": {"source_hidden": True}},  # folded: Colab, Lab
        "source": library,
        "execution_count": 1,
        "outputs": [],
    }
    chapter = [_adapted(cell, website) for cell in notebook["cells"]]
    return notebook | {"cells": [note, carried, *chapter]}


def _adapted(cell, website):
    """Return a chapter's cell with its links redirected or, as one more runs before, its count."""
    if cell["cell_type"] == "markdown":
        return cell | {"source": redirect("".join(cell["source"]), website)}
    if cell["cell_type"] == "code":
        return _counted(cell) | {"outputs": [_counted(output) for output in cell["outputs"]]}
    return cell


def _counted(part):
    count = part.get("execution_count")
    return part | {"execution_count": count + 1} if count else part


def write_all(app, error):
    """Put the travelling notebooks where Sphinx has put the chapters' own, and pages link to."""
    if error or app.builder.format != "html":
        return
    for name in app.env.found_docs:
        source = Path(app.env.doc2path(name))
        if source.suffix == ".ipynb":
            page, base = app.builder.get_target_uri(name), app.config.html_baseurl
            website = posixpath.join(base, page) if base else ""
            chapter = source.read_text("utf-8")
            notebook = travelling(json.loads(chapter), carrier(unused(chapter)), website)
            text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
            (Path(app.outdir) / "_sources" / f"{name}.ipynb").write_text(text, encoding="utf-8")


def read_repository(app, config):
    """Keep the repository's name of its address; stop before anything is built if it is none."""
    config.workbook_repository = repository(config.workbook_repository)


def offer_colab(app, pagename, templatename, context, doctree):
    """Tell the template, which offers it with the chapter's notebook, what opens it in Colab."""
    if name := app.config.workbook_repository:
        context["colab"] = f"{COLAB}/{name}/blob/{BRANCH}/{pagename}.ipynb"


def setup(app):
    app.add_config_value("workbook_repository", "", "html", types=(str, type(None)))
    app.connect("config-inited", read_repository)
    app.connect("html-page-context", offer_colab)
    app.connect("build-finished", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
