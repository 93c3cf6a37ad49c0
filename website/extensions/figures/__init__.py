"""Figures with sliders, ``attention_workbook.figures.catalogue``, on static pages.

It writes the host script, one script a figure and the stylesheet into ``_static``, loads on each
page those that its figures need, and offers directives for pages that are no notebooks:
``{slider-figure} ClassName``, and ``{slider-still} ClassName trait=value …`` for a still alone. A
page on which a widget would vanish is a warning, thus an error.
"""

import html
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from attention_workbook.figures import bundle
from attention_workbook.figures.catalogue import FIGURES
from attention_workbook.figures.still_pictures import figure_html, still_of
from website import stills
from website.extensions import LAST

FOLDER = "attention_widgets"
LONG = 20_000  # characters of a state: that of a figure with a model's numbers inside
# Sets a part of a figure, or points at it: #SoftLookup.temperature=2, #SoftLookup:weights.
FIGURE_LINK = re.compile(r"#([A-Z]\w+)(?:-\d+)?(?:\.\w+=|:\w)")
VIEW = "application/vnd.jupyter.widget-view+json"
_HOST = Path(__file__).with_name("host.js")

log = logging.getLogger(__name__)


def assets():
    """Return the texts of all files that static pages load, by file name."""
    host, shared = bundle.as_expression(_HOST), bundle.as_expression(bundle.SHARED)
    texts = {
        "figure.css": bundle.stylesheet(),
        "host.js": f"window.attentionWidgets = {host}.createHost(document, () => {shared});\n",
    }
    for name, figure in FIGURES.items():
        texts[f"{name}.js"] = bundle.script_source(name, figure.script())
        if fetched := figure().fetched():
            arguments = f"{json.dumps(name)}, {json.dumps(bundle.as_json(fetched))}"
            texts[f"{name}.data.js"] = f"attentionWidgets.deliver({arguments});\n"
    return texts


def write_assets(folder):
    """Write all files that static pages load into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in assets().items():
        (folder / name).write_text(text, encoding="utf-8")


def figures_of(doctree):
    """Return the class names of the figures that move at once, each once, in order."""
    markup = "".join(node.astext() for node in doctree.findall(nodes.raw))
    return list(dict.fromkeys(name for name, _ in stills.figures_in(markup)))


def lost_widgets(notebook):
    """Return the sources of cells whose widget has no HTML form: it would vanish from a page."""
    return [
        "".join(cell["source"])
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if VIEW in output.get("data", {}) and "text/html" not in output["data"]
    ]


class SliderFigure(SphinxDirective):
    """``{slider-figure} ClassName`` shows the figure of that class, as it is by default."""

    required_arguments = 1
    final_argument_whitespace = True

    def shown_state(self):
        """The figure that is named, as its class's name and its state; it needs a still."""
        try:
            name, state = stills.state_of(stills.figure_from(self.arguments[0]))
        except (KeyError, TypeError, ValueError) as error:
            raise self.error(f"no figure {self.arguments[0]!r} ({error})") from error
        if still_of(name, state) is None:
            raise self.error(
                f"no still of {self.arguments[0]!r}: run .venv/bin/python tools/notebooks.py "
                "--stills"
            )
        return name, state

    def run(self):
        return [nodes.raw("", figure_html(*self.shown_state()), format="html")]


class SliderStill(SliderFigure):
    """``{slider-still} ClassName trait=value …`` shows a figure's still with what it shows."""

    def run(self):
        still = still_of(*self.shown_state())
        caption = f"<figcaption>{html.escape(still.words)}</figcaption>"
        markup = f'<figure class="attention-step">{still.image(ground=False)}{caption}</figure>'
        return [nodes.raw("", markup, format="html")]


class FigureLinks(SphinxTransform):
    """A link such as ``#SoftLookup.temperature=2`` leads to a figure, and to no heading."""

    default_priority = 800  # before MyST looks for the heading

    def apply(self, **_):
        for link in self.document.findall(nodes.reference):
            if link.get("id_link") and FIGURE_LINK.match(link["refuri"]):
                link["id_link"], link["internal"] = False, True


def _write(app):
    if app.builder.format == "html":
        write_assets(Path(app.outdir) / "_static" / FOLDER)


def place_stills(app, doctree, docname):
    """Give a page's figures the stills that are stored now.

    What the figures after the first need to move comes in a script of its own, once the page has
    settled, where it is long, or where people see the page first and it has to be light.
    """
    if app.builder.format != "html":
        return
    is_light = Path(app.env.doc2path(docname)).suffix == ".md"
    name, states, seen = f"later-{Path(docname).name}.js", [], 0

    def without_state(figure):
        nonlocal seen
        seen += 1
        if seen == 1 or not (is_light or len(figure[2]) > LONG):
            return figure[0]
        states.append(html.unescape(figure[2]))
        return figure[0].replace(f'data-state="{figure[2]}"', f'data-later="{name}"', 1)

    for node in list(doctree.findall(nodes.raw)):
        if stills.FIGURE.search(node.astext()):
            text = stills.FIGURE.sub(without_state, stills.refreshed(node.astext(), ground=False))
            node.replace_self(nodes.raw("", text, format="html"))
    if states:
        text = f"attentionWidgets.giveLater({json.dumps(states)});\n"
        (Path(app.outdir) / "_static" / FOLDER / name).write_text(text, encoding="utf-8")


def load(app, pagename, templatename, context, doctree):
    """Let a page load the scripts of its figures; warn of a widget that it would lose."""
    if doctree is None:
        return
    source = Path(app.env.doc2path(pagename))
    if source.suffix == ".ipynb":
        for cell in lost_widgets(json.loads(source.read_text(encoding="utf-8"))):
            log.warning("a widget without text/html vanishes: %s", cell, location=pagename)
    if figures := figures_of(doctree):
        app.add_css_file(f"{FOLDER}/figure.css")
        if any('class="attention-step"' in node.astext() for node in doctree.findall(nodes.raw)):
            app.add_css_file("walk.css", priority=LAST)
        for script in ("host", *figures):
            app.add_js_file(f"{FOLDER}/{script}.js", loading_method="defer")


def setup(app):
    app.add_directive("slider-figure", SliderFigure)
    app.add_directive("slider-still", SliderStill)
    app.add_transform(FigureLinks)
    app.connect("builder-inited", _write)
    app.connect("doctree-resolved", place_stills)
    app.connect("html-page-context", load)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
