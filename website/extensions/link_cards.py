"""Where the site has an address (`_config.yml`, ``html: baseurl``): link cards and ``sitemap.xml``.

Both are for others' programs, which follow full addresses only; without one there is neither. A
card is the picture that goes with a link to a page in messages: the page's title and its first
sentence over rows of a causal mask, drawn in the colours of :mod:`attention_lib.palette`.

Our own, because sphinxext-opengraph brings 1.8 MB, its fonts and its own card, for the tags that
the theme has in ten lines, and sphinx-sitemap brings sphinx-last-updated-by-git for the eight lines
at the end here.
"""

import textwrap
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from xml.sax.saxutils import escape

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sphinx.errors import ConfigError

from attention_lib.palette import DARK, WEIGHT_MAP
from website.extensions.workbook_pages import first_paragraph, plain

FOLDER = "_static/cards"


def check(app, config):
    """Refuse what is no address, and let it end in the one slash that joining wants."""
    base = config.html_baseurl
    if base and (urlsplit(base).scheme not in ("http", "https") or not urlsplit(base).netloc):
        raise ConfigError(
            f"html: baseurl in _config.yml is {base!r}: write the site's whole address, beginning "
            "with https://, or leave it out."
        )
    config.html_baseurl = base and base.rstrip("/") + "/"


def draw(path, book, title, sentence):
    """Draw one card of 1200 by 630 pixels."""
    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor=DARK["paper"])
    canvas = FigureCanvasAgg(figure)
    for row in range(9):  # a causal mask, its diagonal bright, from the upper right corner down
        for column in range(row + 1):
            colour = WEIGHT_MAP[-1] if column == row else WEIGHT_MAP[10]
            corner = (0.735 + 0.023 * column, 0.9 - 0.0438 * row)
            cell = {"width": 0.0175, "height": 0.0333, "transform": figure.transFigure}
            figure.add_artist(Rectangle(corner, color=colour, alpha=0.9, **cell))
    words = {"x": 0.06, "family": "DejaVu Serif", "va": "top", "parse_math": False}
    title = textwrap.wrap(title, 26)
    sentence = textwrap.wrap(sentence, 62)
    if len(sentence) > 3:
        sentence = [*sentence[:2], f"{sentence[2]} …"]
    figure.text(y=0.9, s=book, color=DARK["muted"], fontsize=21, **words)
    figure.text(y=0.72, s="\n".join(title), color=DARK["ink"], fontsize=46, weight="bold", **words)
    figure.text(y=0.36, s="\n".join(sentence), color=DARK["ink"], fontsize=24, **words)
    for place, colour in enumerate(WEIGHT_MAP):
        share = 1 / len(WEIGHT_MAP)
        figure.add_artist(Rectangle((place * share, 0), share, 0.02, color=colour))
    canvas.print_png(path, metadata={"Software": None})


def offer(app, pagename, templatename, context, doctree):
    """Give a page's template the address of its card."""
    if app.config.html_baseurl and doctree is not None:
        context["card_url"] = urljoin(app.config.html_baseurl, f"{FOLDER}/{pagename}.png")


def write_all(app, error):
    """Draw the cards, and list the pages in ``sitemap.xml``."""
    base, out = app.config.html_baseurl, Path(app.outdir)
    if error or not base or app.builder.format != "html":
        return
    for name in app.env.found_docs:
        path = out / FOLDER / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        title = plain(app.env.titles[name].astext())
        draw(path, app.config.html_title, title, first_paragraph(app.env.get_doctree(name)))
    pages = (urljoin(base, app.builder.get_target_uri(name)) for name in sorted(app.env.found_docs))
    listed = "".join(f"<url><loc>{escape(page)}</loc></url>\n" for page in pages)
    (out / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{listed}</urlset>\n',
        encoding="utf-8",
    )


def setup(app):
    app.connect("config-inited", check)
    app.connect("html-page-context", offer)
    app.connect("build-finished", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
