"""What the theme needs: mathematics, typefaces, typography, the search, sizes of pictures.

The templates are in ``website/theme``, the stylesheet and the scripts in ``website/static``.
"""

import html
import posixpath
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from PIL import Image

from attention_lib import palette
from attention_workbook.figures.bundle import css_variables
from website import npm
from website.extensions.theme import mathematics, search, typeface, typography

WEBSITE = Path(__file__).resolve().parents[2]
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
# What Sphinx and MyST-NB bring for every site; workbook.css and workbook.js do here what is needed.
UNUSED = re.compile("_static/(pygments|mystnb|documentation_options|doctools|sphinx_highlight)")


def configure(app, config):
    """Give the site the files in ``website/static``, and ``given.css_t`` the palette."""
    config.html_static_path.append(str(WEBSITE / "static"))
    config.html_context["colours"] = {
        name: " ".join(f"{key}: {value};" for key, value in css_variables(colors).items())
        for name, colors in (("light", palette.LIGHT), ("dark", palette.DARK))
    } | {"paper": palette.LIGHT["paper"]}


def add_context(app, pagename, templatename, context, doctree):
    """Tell the template which typefaces a page asks for at once, and which files it loads."""
    body = context.get("body", "")
    context["faces"] = [face for face, sign in FACES.items() if re.search(sign, body)]
    context["is_used"] = lambda file: not UNUSED.match(str(file.filename))


def size(path):
    """Return the width and height of a picture file, in its pixels or units."""
    if path.suffix == ".svg":
        box = re.search(r'viewBox="([^"]+)"', path.read_text(encoding="utf-8"))[1]
        return tuple(round(float(number)) for number in box.replace(",", " ").split()[2:])
    with Image.open(path) as picture:
        return picture.size


def write_picture(self, node):
    """Let a picture load when it comes into view, in a box of its size: nothing jumps."""
    width, height = size(Path(self.builder.srcdir, node["uri"]))
    name = quote(self.builder.images[node["uri"]])
    self.body.append(
        f'<img alt="{html.escape(node.get("alt", ""))}" '
        f'src="{posixpath.join(self.builder.imgpath, name)}" width="{width}" height="{height}" '
        'loading="lazy" decoding="async">'
    )
    raise nodes.SkipNode


def begin_folded_code(self, node):
    """Unfold code by what stands there: MyST-NB's own label says something else to a voice."""
    prompts = (
        f'<p class="{state} admonition-title">{html.escape(node[prompt])}</p>\n'
        for state, prompt in (("collapsed", "prompt_show"), ("expanded", "prompt_hide"))
    )
    classes = " ".join(["admonition", "hide", *node["classes"]])
    self.body.append(f'<details class="{classes}">\n<summary>\n{"".join(prompts)}</summary>\n')


def end_folded_code(self, node):
    self.body.append("</details>\n")


def finish(app, error):
    """Remove what no page asks for, make scripts and styles small, and pictures the page's own.

    A page gives pictures their ground, on screens alone; its typeface they bring along.
    """
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    for path in static.glob("*"):
        if UNUSED.match(f"_static/{path.name}"):
            path.unlink()
    for path in Path(app.outdir, "_images").glob("*.svg"):
        svg = GROUND.sub(r'\1 fill="none"/>', path.read_text("utf-8"))
        path.write_text(typeface.with_its_face(svg), "utf-8")
    minify(static)


def minify(static):
    """Let esbuild make scripts and stylesheets small: a page may weigh so much and no more."""
    files = [path for kind in ("*.js", "*.css") for path in static.rglob(kind)]
    command = [npm.NODE / "bin" / "node", npm.package("esbuild") / "bin" / "esbuild", *files]
    options = ["--minify", "--allow-overwrite", f"--outbase={static}", f"--outdir={static}"]
    subprocess.run([*command, *options, "--charset=utf8", "--log-level=warning"], check=True)


def setup(app):
    app.add_html_theme("workbook", WEBSITE / "theme")
    app.connect("config-inited", configure)
    app.connect("html-page-context", add_context)
    app.add_node(nodes.image, override=True, html=(write_picture, None))
    app.add_node(HideCodeCellNode, override=True, html=(begin_folded_code, end_folded_code))
    for module in (mathematics, typography, typeface, search):
        module.setup(app)
    app.connect("build-finished", finish)  # after all who write files: this extension is the last
    return {"parallel_read_safe": True, "parallel_write_safe": False}
