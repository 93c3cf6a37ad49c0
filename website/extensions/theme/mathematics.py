"""Set the mathematics while the site is built: a page needs no script and no other host for it.

KaTeX, run once by Node for all formulas of all pages, turns each into HTML with MathML beside it
for screen readers. Its style sheet and fonts, cut down, go into the site, and only pages with a
formula load them. A formula that KaTeX refuses is a warning that names the page and the line, and
warnings fail the build.
"""

import json
import re
import subprocess
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging

from website import npm
from website.extensions.theme.typeface import cut, open_font_licence

SCRIPT = Path(__file__).with_suffix(".js")
STYLE = "mathematics/katex.css"
logger = logging.getLogger(__name__)


def formulas(doctree):
    """The nodes of all formulas of a page, each with its TeX and whether it is displayed."""
    for node in doctree.findall(lambda node: isinstance(node, (nodes.math, nodes.math_block))):
        yield node, (node.astext(), isinstance(node, nodes.math_block))


def render(wanted_formulas, macros):
    """HTML, or the error, for each ``(tex, display)``; one process for all of them."""
    request = [{"tex": tex, "display": display} for tex, display in wanted_formulas]
    try:
        process = subprocess.run(
            [npm.NODE / "bin" / "node", SCRIPT, npm.package("katex"), json.dumps(macros)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,  # then the process is ended
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExtensionError(f"Node could not set the mathematics: {error}") from error
    if process.returncode:
        raise ExtensionError(f"KaTeX could not set the mathematics: {process.stderr.strip()}")
    return dict(zip(wanted_formulas, json.loads(process.stdout), strict=True))


def set_all(app, env):
    """Render the formulas of every page before the first page is written."""
    if app.builder.format != "html":
        return
    occurrences = [
        (node, formula, name)
        for name in sorted(env.found_docs)
        for node, formula in formulas(env.get_doctree(name))
    ]
    rendered = render(
        list(dict.fromkeys(formula for _, formula, _ in occurrences)), app.config.katex_macros
    )
    for node, formula, name in occurrences:
        if error := rendered[formula].get("error"):
            logger.warning("%s, in %s, in the formula %s", error, name, formula[0], location=node)
    env.rendered_formulas = {
        formula: result.get("html", "") for formula, result in rendered.items()
    }


def visit(self, node):
    """Put the formula's HTML into the page."""
    display = isinstance(node, nodes.math_block)
    html = self.builder.env.rendered_formulas[node.astext(), display]
    label = ""
    if display and node.get("ids"):
        label = "".join(f'<span id="{name}"></span>' for name in node["ids"])
    tag = "div" if display else "span"
    classes = " ".join(["formula", *node["classes"]])
    self.body.append(f'<{tag} class="{classes}">{label}{html}</{tag}>')
    raise nodes.SkipNode


def link_style(app, pagename, templatename, context, doctree):
    """Let pages with a formula, and no others, load KaTeX's style sheet."""
    if doctree is not None and any(True for _ in formulas(doctree)):
        app.add_css_file(STYLE)


def copy_style(app, error):
    """Copy KaTeX's style sheet, and of its fonts what the formulas show, in one format."""
    if error or app.builder.format != "html":
        return
    dist = npm.package("katex") / "dist"
    target = Path(app.outdir) / "_static" / "mathematics"
    (target / "fonts").mkdir(parents=True, exist_ok=True)
    sheet = (dist / "katex.min.css").read_text(encoding="utf-8")
    sheet = re.sub(r',url\([^)]*\) format\("(?:woff|truetype)"\)', "", sheet)
    (target / "katex.css").write_text(sheet, encoding="utf-8")
    written = set().union(*app.env.rendered_formulas.values())
    for font in (dist / "fonts").glob("*.woff2"):
        family = font.stem.replace("KaTeX", "Book")  # the name is reserved for whole fonts
        notice = cut(font, target / "fonts" / font.name, written, family)
    licence = (npm.package("katex") / "LICENSE").read_text(encoding="utf-8")
    text = f"{licence}\n\nThe fonts, changed:\n{notice}\n{open_font_licence()}"
    (target / "LICENSE.txt").write_text(text, encoding="utf-8")


def setup(app):
    """Register the renderer; `html_math_renderer` is set to it in _config.yml."""
    npm.package("katex")  # before anything is built
    app.add_config_value("katex_macros", {}, "env")
    app.add_html_math_renderer("katex", (visit, None), (visit, None))
    app.connect("env-updated", set_all)
    app.connect("html-page-context", link_style)
    app.connect("build-finished", copy_style)
