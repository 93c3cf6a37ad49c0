"""What stands around a chapter: its head, the contents beside it, its foot, its download.

``website/theme`` has the templates; here is what they show beyond what Sphinx gives them.
"""

import base64
import functools
import hashlib
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes
from sphinx.environment.adapters.toctree import TocTree
from yaml import safe_load

from website.extensions import LAST
from website.extensions.chapters import addresses, bibliography, downloads, front
from website.extensions.chapters.text import first_paragraph

THEME = Path(__file__).resolve().parents[2] / "theme"
TITLES = {"search": "Search", "404": "No such page"}


def policy(*scripts):
    """Return the policy of a page: this site alone, and of scripts within the page these.

    Styles in attributes are KaTeX's, which places the parts of a formula by them.
    """
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return "; ".join(
        [
            "default-src 'none'",
            " ".join(["script-src 'self'", *hashes]),
            "style-src 'self'",
            "style-src-attr 'unsafe-inline'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "worker-src 'self' blob:",  # a figure that trains starts its program from its own text
            "form-action 'self'",
            "base-uri 'none'",
        ]
    )


def contents(app, pagename, pathto):
    """Return the parts of the list of pages: each with its caption, and the pages below it.

    Part I is the book. The parts after it are folded where the page is not one of theirs.
    """
    env, number, parts = app.env, 0, []
    for listed in env.get_doctree(app.config.root_doc).findall(addnodes.toctree):
        pages = []
        for title, name in listed["entries"]:
            is_chapter = Path(env.doc2path(name)).suffix == ".ipynb"
            number += is_chapter
            page = {"name": name, "title": title or env.titles[name].astext()}
            pages.append(page | {"link": pathto(name), "number": number if is_chapter else 0})
        caption = listed["caption"]
        folds = re.match("Part I[IV]|Appendix", caption or "")
        is_here = any(page["name"] == pagename for page in pages)
        parts.append({"caption": caption, "pages": pages, "folds": folds, "is_here": is_here})
    return parts


def sections(app, pagename):
    """Return the list of a page's sections, without the page itself above them."""
    if pagename not in app.env.tocs:
        return ""
    toc = TocTree(app.env).get_toc_for(pagename, app.builder)
    below = [part for part in toc[0].children if isinstance(part, nodes.bullet_list)]
    return "".join(app.builder.render_partial(part)["fragment"] for part in below)


@functools.cache
def citation(root, year, base, repository):
    """Return how to cite the book, as BibTeX, from ``CITATION.cff`` if there is one."""
    path = root / "CITATION.cff"
    if not path.is_file():
        return ""
    book = safe_load(path.read_text(encoding="utf-8"))
    fields = {
        "title": f"{{{book['title']}}}",
        "author": " and ".join(f"{{{author['name']}}}" for author in book["authors"]),
        "year": year,
        "version": book["version"],
        "url": base or repository,
    }
    lines = "".join(f"  {name} = {{{text}}},\n" for name, text in fields.items() if text)
    return f"@misc{{attention-workbook,\n{lines}}}"


@functools.cache  # one git for all pages
def status(folder):
    """Return a sentence: what the stored numbers are proved with, and the day of this text.

    The versions are those of the environment that builds the site, in which the tests compare
    every stored number; the day is that of the last commit, so that a second build says the same.
    """
    book, torch, numpy = (
        version(name).partition("+")[0] for name in ("attention-lib", "torch", "numpy")
    )
    python = "{}.{}".format(*sys.version_info)
    versions = f"Version {book}; numbers from torch {torch}, numpy {numpy}, Python {python}"
    command = ["git", "log", "-1", "--format=%ct"]
    try:
        committed = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout
    except OSError:  # no git
        committed = ""
    if not (epoch := os.environ.get("SOURCE_DATE_EPOCH") or committed):
        return f"{versions}."
    day = datetime.fromtimestamp(int(epoch), UTC)
    return f"{versions}; text of {day.day} {day:%B %Y}."


def page_links(repository, source, title):
    """Return the addresses at which a mistake is reported and a page's source is edited.

    ``workbook.js`` adds to the report what its reader has selected.
    """
    body = f"Page: {title} ({source}), version {version('attention-lib')}\n\nWhat is wrong:\n\n"
    report = urlencode({"title": f"{title}: ", "body": body})
    view = "blob" if source.endswith(".ipynb") else "edit"
    return {
        "report": f"{repository}/issues/new?{report}",
        "edit": f"{repository}/{view}/main/{source}",
    }


def add_context(app, pagename, templatename, context, doctree):
    """Give the templates what they need for one page."""
    env, base = app.env, app.config.html_baseurl
    root, scripts = app.config.root_doc, [(THEME / "colours.js").read_text(encoding="utf-8")]
    name = app.config.workbook_repository
    repository = f"https://github.com/{name}" if name else ""
    context.setdefault("title", TITLES.get(pagename, context["docstitle"]))
    title = re.sub(r"<[^>]+>", "", context["title"])
    described_page = doctree if doctree is not None else env.get_doctree(root)
    site_root = ""
    if pagename == root:
        app.add_css_file("front.css", priority=LAST)
    if pagename == "404":  # it is shown at any address: its links begin at the site's root
        site_root, pathto = urlsplit(base).path.rstrip("/") + "/", context["pathto"]
        context["pathto"] = lambda *words: site_root + pathto(*words)
        scripts += [] if base else [(THEME / "lost.js").read_text(encoding="utf-8")]
    parts = contents(app, pagename, context["pathto"])
    context |= {
        "policy": policy(*scripts),
        "inline_scripts": scripts,
        "site_root": site_root,
        "page_title": title if pagename == root else f"{title} · {context['docstitle']}",
        "description": first_paragraph(described_page),
        "contents": parts,
        "sections": sections(app, pagename),
        "status": status(app.srcdir),
        "repository": repository,
        "citation": citation(Path(app.srcdir), app.config.copyright, base, repository),
    }
    if repository and doctree is not None:
        source = Path(env.doc2path(pagename)).relative_to(app.srcdir).as_posix()
        context |= page_links(repository, source, title)
    numbered = [(part, page) for part in parts for page in part["pages"] if page["number"]]
    for part, page in numbered:
        if page["name"] == pagename:
            context["chapter"] = {
                "part": part["caption"],
                "number": page["number"],
                "count": len(numbered),
            }
            context["notebook"] = downloads.link(app, pagename)


def leave_out_drawing_code(app, doctree, docname):
    """Show no folded code that only draws a picture, places a figure or asks: notebooks have it."""
    if app.builder.format != "html":
        return
    for cell in doctree.findall(nodes.container):
        if "tag_hide-input" in cell["classes"]:
            markup = "".join(raw.astext() for raw in cell.findall(nodes.raw))
            if any(cell.findall(nodes.image)) or 'class="attention-' in markup:
                for code in list(cell.findall(HideCodeCellNode)):
                    code.parent.remove(code)


def setup(app):
    app.connect("html-page-context", add_context)
    app.connect("doctree-resolved", leave_out_drawing_code)
    for module in (bibliography, front, downloads, addresses):
        module.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
