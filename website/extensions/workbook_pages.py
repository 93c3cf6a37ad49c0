"""What the templates in ``website/theme`` need beyond what Sphinx gives them.

Each page gets its description, its place among the chapters, its policy and the size of its
pictures; the stylesheet gets its colours from :mod:`attention_lib.palette`.
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
from PIL import Image
from yaml import safe_load

from attention_lib import palette
from attention_workbook.figures.bundle import css_variables
from website import book, npm

WEBSITE = Path(__file__).resolve().parent.parent
# A rectangle of paper in a picture that matplotlib has drawn: its ground, or that of its axes.
GROUND = re.compile(r'(<path d="M(?: [-\d.]+){2}(?: L(?: [-\d.]+){2}){3} z ") fill="#faf9f6"/>')
# Faces of the text and of formulas, each with what needs it in a page. A page asks for them at
# once: letters that come late would move a line.
FACES = {
    "typeface/source-serif-4-400-normal": "",
    "typeface/source-serif-4-600-normal": "",
    "typeface/source-serif-4-400-italic": "<(?:em|i|cite)>",
    "typeface/source-sans-3-400-normal": "",
    "typeface/source-code-pro-400-normal": "<pre>",
    "mathematics/fonts/KaTeX_Main-Regular": 'class="m(?:ord|rel|bin|open|close)">',
    "mathematics/fonts/KaTeX_Main-Bold": 'class="mord mathbf',
    "mathematics/fonts/KaTeX_Math-Italic": 'class="mord mathnormal',
}
# The one script inside pages: the reader's choice of colours, before anything is painted.
THEME_SCRIPT = (
    'try{const theme=localStorage.getItem("theme");'
    "if(theme)document.documentElement.dataset.theme=theme}catch{}"
)
# On the page for lost addresses, where the site's own is not known: shown at any depth, it looks
# from the address upwards for the folder that the site stands in, and lets its links begin there.
LOST_SCRIPT = """
addEventListener("DOMContentLoaded", async () => {
  for (let at = location.pathname; at !== "/"; ) {
    at = at.slice(0, at.lastIndexOf("/", at.length - 2) + 1);
    const mark = await fetch(`${at}_static/favicon.svg`).catch(() => null);
    if (!mark?.ok || !mark.headers.get("content-type")?.includes("svg")) continue;
    if (at === "/") return;
    for (const name of ["href", "src", "action"])
      for (const link of document.querySelectorAll(`[${name}^="/"]`)) {
        const mended = link.tagName === "SCRIPT" ? document.createElement("script") : link;
        mended.setAttribute(name, at + link.getAttribute(name).slice(1));
        if (mended !== link) link.replaceWith(mended);
      }
    return;
  }
});
"""


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
            "form-action 'self'",
            "base-uri 'none'",
        ]
    )


# What Sphinx and MyST-NB bring for every site; workbook.css and workbook.js do here what is needed.
UNUSED = re.compile("_static/(pygments|mystnb|documentation_options|doctools|sphinx_highlight)")
TITLES = {"search": "Search", "404": "No such page"}
# MyST-NB's name for what unfolds code; a voice that is to press it must hear what stands there.
FOLD_LABEL = ' aria-label="Toggle hidden content"'
_PICTURE = re.compile(r'<img ([^>]*?)src="([^"]*_images/([^"/]+))"([^>]*?) ?/?>')


def plain(text):
    """Return text without the commands of TeX that formulas bring into it; roots stay."""
    return " ".join(re.sub(r"\\[a-zA-Z]+|[{}$]", "", text.replace("\\sqrt", "√")).split())


def first_paragraph(doctree):
    """Return the sentence under a page's title, as plain text."""
    return next((plain(node.astext()) for node in doctree.findall(nodes.paragraph)), "")


def size(path):
    """Return the width and height of a picture file, in its pixels or units."""
    if path.suffix == ".svg":
        box = re.search(r'viewBox="([^"]+)"', path.read_text(encoding="utf-8"))[1]
        return tuple(round(float(number)) for number in box.replace(",", " ").split()[2:])
    with Image.open(path) as picture:
        return picture.size


def with_sizes(body, pictures):
    """Let pictures load when they come into view, in boxes of their size: nothing jumps.

    ``pictures`` are the files of the pictures, by the names that pages know them by.
    """

    def sized(match):
        before, source, name, after = match.groups()
        width, height = size(pictures[name])
        return (
            f'<img {before}src="{source}"{after} width="{width}" height="{height}" '
            'loading="lazy" decoding="async">'
        )

    return _PICTURE.sub(sized, body)


def chapters(env):
    """Return the names of the chapters, in order: the documents that are notebooks."""
    return [
        name
        for name in env.toctree_includes.get(env.config.root_doc, [])
        if Path(env.doc2path(name)).suffix == ".ipynb"
    ]


# Part I is the book. The parts after it are folded where the page is not one of theirs.
FURTHER_PART = re.compile(
    r'<p>(<span class="caption-text">(?:Part I[IV]|Appendix).*?</span>)</p>(.*?)(?=<p>|$)',
    re.DOTALL,
)


def folded(part):
    """Return a part of the list of pages, folded unless it holds the present page."""
    is_open = " open" if 'class="current' in part[2] else ""
    return f"<details{is_open}><summary>{part[1]}</summary>{part[2]}</details>"


def list_of_pages(context, numbers):
    """Return the list of all pages, with the sections of the present one below it.

    ``numbers`` are those of the chapters, by their files; ``#`` is the present page.
    """

    def numbered(match):
        number = numbers.get(match[1].rpartition("/")[2])
        return f'{match[0]}<span class="number">{number} </span>' if number else match[0]

    markup = context["toctree"](collapse=True, maxdepth=2, titles_only=True, includehidden=True)
    markup = re.sub(r'<p [^>]*class="caption"[^>]*>', "<p>", markup or "")
    markup = re.sub(r'<a class="[^"]*" href="([^"]+)">', numbered, markup)
    markup = FURTHER_PART.sub(folded, markup)
    sections = context.get("toc", "")
    sections = sections[sections.find("<ul>", 1) : sections.rfind("</li>")]
    return re.sub(
        r'<a class="current[^"]*" href="#">(.*?)</a>',
        lambda match: f'<a aria-current="page" href="#">{match[1]}</a>{sections}',
        markup,
    )


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


def _from_root(context, root):
    """Let a page's links begin at the site's root instead of at the page."""

    def with_root(function):
        return lambda *words, **options: re.sub(
            ' (href|src)="(?!#)', rf' \1="{root}', function(*words, **options) or ""
        )

    pathto = context["pathto"]
    context["pathto"] = lambda *words: root + pathto(*words)
    context |= {name: with_root(context[name]) for name in ("toctree", "css_tag", "js_tag")}


def _files_to_load(files):
    """Return the files to load, those of the book's own after what they build on."""
    needed = (file for file in files if not UNUSED.match(str(file.filename)))
    return sorted(needed, key=lambda file: file.priority)


def add_context(app, pagename, templatename, context, doctree):
    """Give the templates what they need for one page."""
    env, base = app.env, app.config.html_baseurl
    chapter_names = chapters(env)
    files = ["#" if name == pagename else f"{Path(name).name}.html" for name in chapter_names]
    numbers = {file: number for number, file in enumerate(files, 1)}
    root = app.config.root_doc
    name = app.config.workbook_repository
    repository = f"https://github.com/{name}" if name else ""
    context.setdefault("title", TITLES.get(pagename, context["docstitle"]))
    title = re.sub(r"<[^>]+>", "", context["title"])
    described_page = doctree if doctree is not None else env.get_doctree(root)
    if pagename == "404":  # it is shown at any address
        _from_root(context, urlsplit(base).path.rstrip("/") + "/")
        context["lost_script"] = "" if base else LOST_SCRIPT
    context |= {
        "policy": policy(THEME_SCRIPT, *filter(None, [context.get("lost_script")])),
        "theme_script": THEME_SCRIPT,
        "page_title": title if pagename == root else f"{title} · {context['docstitle']}",
        "description": first_paragraph(described_page),
        "contents": list_of_pages(context, numbers),
        "styles": _files_to_load(context["css_files"]),
        "scripts": _files_to_load(context["script_files"]),
        "status": status(app.srcdir),
        "repository": repository,
        "citation": citation(Path(app.srcdir), app.config.copyright, base, repository),
    }
    if repository and doctree is not None:
        source = Path(env.doc2path(pagename)).relative_to(app.srcdir).as_posix()
        context |= page_links(repository, source, title)
    if pagename in chapter_names:
        parts = book.parts(Path(app.srcdir))
        context["chapter"] = {
            "part": next((caption for caption, names in parts if pagename in names), ""),
            "number": chapter_names.index(pagename) + 1,
            "count": len(chapter_names),
        }
        context["notebook"] = context["pathto"](f"_sources/{context['sourcename']}", True)
    body = context.get("body", "")
    context["faces"] = [face for face, sign in FACES.items() if re.search(sign, body)]
    if body:
        images = app.builder.images.items()
        pictures = {name: Path(app.srcdir) / source for source, name in images}
        context["body"] = with_sizes(body.replace(FOLD_LABEL, ""), pictures)


def configure(app, config):
    """Give the site the files in ``website/static``, and ``given.css_t`` the palette."""
    config.html_static_path.append(str(WEBSITE / "static"))
    config.html_context["colours"] = {
        name: " ".join(f"{key}: {value};" for key, value in css_variables(colors).items())
        for name, colors in (("light", palette.LIGHT), ("dark", palette.DARK))
    } | {"paper": palette.LIGHT["paper"]}


def remove_grounds(app, error):
    """Take the ground from under matplotlib's pictures: the page gives one on screens alone."""
    for path in Path(app.outdir, "_images").glob("*.svg"):
        path.write_text(GROUND.sub(r'\1 fill="none"/>', path.read_text("utf-8")), "utf-8")


def remove_unused_files(app, error):
    """Remove the files that Sphinx and MyST-NB write and no page asks for."""
    for path in Path(app.outdir, "_static").glob("*"):
        if UNUSED.match(f"_static/{path.name}"):
            path.unlink()


def minify(app, error):
    """Let esbuild make the site's scripts and stylesheets small: a page may weigh so much."""
    static = Path(app.outdir, "_static")
    files = [path for kind in ("*.js", "*.css") for path in static.rglob(kind)]
    command = [npm.NODE / "bin" / "node", npm.package("esbuild") / "bin" / "esbuild", *files]
    options = ["--minify", "--allow-overwrite", f"--outbase={static}", f"--outdir={static}"]
    subprocess.run([*command, *options, "--charset=utf8", "--log-level=warning"], check=True)


def setup(app):
    app.add_html_theme("workbook", WEBSITE / "theme")
    app.connect("config-inited", configure)
    app.connect("html-page-context", add_context, priority=900)  # after those that add files
    app.connect("build-finished", remove_unused_files)
    app.connect("build-finished", remove_grounds, priority=900)  # after Sphinx has copied them
    app.connect("build-finished", minify, priority=900)  # after those that write scripts
    return {"parallel_read_safe": True, "parallel_write_safe": True}
