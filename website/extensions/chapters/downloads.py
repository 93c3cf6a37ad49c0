"""Let every chapter be downloaded as a notebook that runs alone, and be opened in Colab.

The notebook that a page links to is the chapter with two cells before it: a sentence, and a cell
that carries the modules of the book's packages that the chapter imports, for machines that do not
have the same: other versions are never mixed. Its links to the book's pages lead to the website if
`_config.yml` names its address (``html: baseurl``); otherwise links to chapters stay, as their
notebooks may lie beside it, and of links to other pages only the words are kept.

With ``workbook_repository`` in `_config.yml`, pages offer to open the notebook in Colab, which
reads it from the branch ``notebooks`` of that repository: `.github/workflows/publish.yml` puts it
there.
"""

import ast
import base64
import bz2
import functools
import importlib.util
import json
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urljoin

from IPython.core.inputtransformer2 import TransformerManager
from sphinx.errors import ConfigError
from sphinx.util.osutil import relative_uri

from attention_workbook.figures.still_pictures import FOLDER, path_of
from website import ROOT
from website.stills import states_in

BRANCH = "notebooks"
COLAB = "https://colab.research.google.com/github"
BINDER = "https://mybinder.org/v2/gh"
PACKAGES = ("attention_contracts", "attention_lib", "attention_workbook")
REPOSITORY = re.compile(r"https://github\.com/([\w-]+/[\w.-]+)(?<!\.git)", re.ASCII)
LINK = re.compile(  # [words](page.kind#anchor); the words may hold one more pair of brackets
    r"(?<!!)\[((?:[^][]|\[[^][]*\])*)\]\(([\w/.-]+)\.(md|ipynb)(#[^)\s]*)?\)"
)
NOTE = """\
*This copy of the chapter runs alone. Run the first cell first, and again after a restart of the \
kernel: folded, it carries the parts of the book's library that the chapter uses, for machines \
that do not have just these. It installs nothing.*

*© The Attention Workbook contributors; text and figures: \
[CC BY 4.0](https://creativecommons.org/licenses/by/4.0/), code: \
[MIT License](https://opensource.org/license/mit).*"""
CARRIER = """\
#@title The book's library, carried along
# Where Python finds all these files already, nothing happens. Otherwise the copy in the last line
# is unpacked into a temporary folder, which is removed when the kernel stops, and imported from
# there.
def carry_attention_lib(packed):
    import atexit, base64, bz2, importlib.util, json, pathlib, shutil, sys, tempfile

    def differs(name, content):
        package, _, path = name.partition("/")
        spec = importlib.util.find_spec(package)
        file = pathlib.Path(spec.origin).parent / path if spec and spec.origin else None
        return not file or not file.is_file() or file.read_bytes() != content

    texts = json.loads(bz2.decompress(base64.b85decode(packed)))
    files = {{name: text.encode("latin-1") for name, text in texts.items()}}
    if not any(differs(*file) for file in files.items()):
        return
    folder = tempfile.mkdtemp(prefix="attention_lib-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, content in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for name in [*sys.modules]:  # what was imported from elsewhere is imported anew
        if name.partition(".")[0] in ("attention_contracts", "attention_lib", "attention_workbook"):
            del sys.modules[name]
    sys.path.insert(0, folder)


carry_attention_lib("{packed}")"""


def repository(address):
    """Return ``owner/name`` of a repository on GitHub, which is where Colab can open notebooks."""
    if not address:
        return ""
    if match := REPOSITORY.fullmatch(str(address)):
        return match[1]
    raise ConfigError(
        f"workbook_repository in _config.yml is {address!r}: write the address of a repository, "
        "https://github.com/OWNER/NAME, or leave it empty."
    )


def python(notebook):
    """Return the Python of a notebook's cells, with its magics as calls."""
    cells = ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    return "\n".join(map(TransformerManager().transform_cell, cells))


@functools.cache  # most chapters carry the same modules
def imports(source, package=""):
    """Return the dotted names that Python imports; ``package`` resolves relative ones.

    In ``from a import b``, b may be a module, so ``a.b`` is among the names.
    """
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            module = importlib.util.resolve_name(relative, package)
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return frozenset(names)


def modules(source, root=ROOT):
    """Return the files of the book's packages that Python imports, directly or through others."""
    sources = {path for package in PACKAGES for path in (root / package).rglob("*.py")}
    needed, seen, names = set(), set(), set(imports(source))
    while names:
        name = names.pop()
        seen.add(name)
        parent = name.rpartition(".")[0]
        found = {parent} if parent else set()  # importing a.b runs a/__init__.py first
        folder = root.joinpath(*name.split("."))
        for path in {folder / "__init__.py", folder.with_suffix(".py")} & sources:
            needed.add(path)
            package = parent
            if path.name == "__init__.py":
                package = name
                found.add(f"{name}.__main__")  # which a module may start in other processes
            found |= imports(path.read_text(encoding="utf-8"), package)
        names |= found - seen
    return needed


def carried_files(source, stills=(), root=ROOT):
    """Return the modules that Python needs and the data beside them: scripts, styles, weights.

    Data in a folder without modules belongs to the package above. Of the figures' stills only these
    are carried.
    """
    files = modules(source, root)
    homes = {path.parent for path in files}
    for package in PACKAGES:
        for path in (root / package).rglob("*"):
            if path.parent == FOLDER and path not in stills:
                continue
            if path.is_file() and path.suffix not in (".py", ".pyc") and path.name[0] != ".":
                home = next(folder for folder in path.parents if any(folder.glob("*.py")))
                files |= {path} if home in homes else set()
    return sorted(files)


def pack(files, root=ROOT):
    """Return files as one text: their paths below ``root`` and contents, compressed, in base 85.

    Each byte is written as a character (latin-1), so weights travel as sources do.
    """
    texts = {
        path.relative_to(root).as_posix(): path.read_bytes().decode("latin-1") for path in files
    }
    return base64.b85encode(bz2.compress(json.dumps(texts, ensure_ascii=False).encode())).decode()


def carrier(source, stills=()):
    """Return the cell that makes the book's packages importable, as far as Python needs them."""
    return CARRIER.format(packed=pack(carried_files(source, stills)))


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


def travelling(notebook, website=""):
    """Return a chapter's notebook, read as JSON, as one that runs alone."""
    note_cell = {"cell_type": "markdown", "id": "carried-note", "metadata": {}, "source": NOTE}
    if website:
        note_cell["source"] += f" *[The chapter on the website]({website}).*"
    carrier_cell = {
        "cell_type": "code",
        "id": "carried",
        "metadata": {"cellView": "form", "jupyter": {"source_hidden": True}},  # folded: Colab, Lab
        "source": carrier(python(notebook), [path_of(*state) for state in states_in(notebook)]),
        "execution_count": 1,
        "outputs": [],
    }
    chapter = [_travelling_cell(cell, website) for cell in notebook["cells"]]
    return notebook | {"cells": [note_cell, carrier_cell, *chapter]}


def _travelling_cell(cell, website):
    """Return a chapter's cell with its links redirected or, as one more runs before, its count."""
    if cell["cell_type"] == "markdown":
        return cell | {"source": redirect("".join(cell["source"]), website)}
    if cell["cell_type"] == "code":
        return _with_next_count(cell) | {
            "outputs": [_with_next_count(output) for output in cell["outputs"]]
        }
    return cell


def _with_next_count(part):
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
            notebook = travelling(json.loads(source.read_text(encoding="utf-8")), website)
            text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
            (Path(app.outdir) / "_sources" / f"{name}.ipynb").write_text(text, encoding="utf-8")


def write_wheel(app, error):
    """Build the contracts' wheel, which "Check your own attention" gives those without a copy."""
    if error or app.builder.format != "html" or "book/check-your-own" not in app.env.found_docs:
        return
    with tempfile.TemporaryDirectory() as folder:  # pip leaves a folder beside what it builds
        source = shutil.copytree(ROOT / "attention_contracts", Path(folder, "attention_contracts"))
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", app.outdir]
        subprocess.run([sys.executable, "-m", "pip", "wheel", *options, source], check=True)


def read_repository(app, config):
    """Keep the repository's name of its address; stop before anything is built if it is none."""
    config.workbook_repository = repository(config.workbook_repository)


def link(app, pagename):
    """Return the address of a chapter's notebook, as its page names it."""
    return relative_uri(app.builder.get_target_uri(pagename), f"_sources/{pagename}.ipynb")


def colab(app, pagename):
    """Return the address at which Colab opens a chapter's notebook, or nothing."""
    name = app.config.workbook_repository
    return f"{COLAB}/{name}/blob/{BRANCH}/{pagename}.ipynb" if name else ""


def offer_hosts(app, pagename, templatename, context, doctree):
    """Tell the template, which offers it with the chapter's notebook, what opens it elsewhere."""
    if name := app.config.workbook_repository:
        context["colab"] = colab(app, pagename)
        context["binder"] = f"{BINDER}/{name}/{BRANCH}?labpath={pagename}.ipynb"


def setup(app):
    app.add_config_value("workbook_repository", "", "html", types=(str, type(None)))
    app.add_config_value("workbook_contact", "", "html")
    app.connect("config-inited", read_repository)
    app.connect("html-page-context", offer_hosts)
    app.connect("build-finished", write_all)
    app.connect("build-finished", write_wheel)
