"""Where the site has an address (`_config.yml`, ``html: baseurl``): link cards and ``sitemap.xml``.

Both are for others' programs, which follow full addresses only; without one there is neither. A
card is the picture that goes with a link to a page in messages: the page's title, its first
sentence and its first figure at rest, or else rows of a causal mask, in the book's typefaces.

Our own, because sphinxext-opengraph brings 1.8 MB, its fonts and its own card, for the tags that
the theme has in ten lines, and sphinx-sitemap brings sphinx-last-updated-by-git for the thirty
lines at the end here.
"""

import re
import textwrap
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from xml.sax.saxutils import escape

from sphinx.errors import ConfigError

from attention_lib.palette import LIGHT, WEIGHT_MAP
from attention_workbook.figures.still_pictures import still_of
from website import stills
from website.changed import NO_ANSWER, git
from website.extensions.workbook_pages import first_paragraph, plain

FOLDER = "_static/cards"
SIZE = ("width", "height")


def check(app, config):
    """Refuse what is no address, and let it end in the one slash that joining wants."""
    base = config.html_baseurl
    if base and (urlsplit(base).scheme not in ("http", "https") or not urlsplit(base).netloc):
        raise ConfigError(
            f"html: baseurl in _config.yml is {base!r}: write the site's whole address, beginning "
            "with https://, or leave it out."
        )
    config.html_baseurl = base and base.rstrip("/") + "/"


def card(book, title, sentence, still=None):
    """Return a card as SVG, 1200 by 630."""
    title, sentence = textwrap.wrap(title, 20), textwrap.wrap(sentence, 38)
    if len(sentence) > 5:
        sentence = [*sentence[:4], f"{sentence[4]} …"]
    below = 210 + 62 * len(title)
    lines = [
        *_lines([book], 90, 26, LIGHT["muted"]),
        *_lines(title, 190, 52, LIGHT["ink"], ' font-weight="600"'),
        *_lines(sentence, below, 27, LIGHT["ink"]),
    ]
    ramp = "".join(
        f'<rect x="{60 * place}" y="618" width="61" height="12" fill="{color}"/>'
        for place, color in enumerate(WEIGHT_MAP[:20])
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630" font-family="Book">'
        f'<rect width="1200" height="630" fill="{LIGHT["paper"]}"/>{"".join(lines)}'
        f"{_framed(still) if still else _mask()}{ramp}</svg>"
    )


def _lines(texts, y, size, color, more=""):
    return [
        f'<text x="60" y="{y + 1.2 * size * i:g}" font-size="{size}" fill="{color}"{more}>'
        f"{escape(text)}</text>"
        for i, text in enumerate(texts)
    ]


def _framed(still):
    """Return a still in the card's right half, without its ground, as large as it can be."""
    width, height = (int(still.svg.partition(f' {name}="')[2].partition('"')[0]) for name in SIZE)
    scale = min(520 / width, 520 / height)
    body = re.sub(
        r"<(title|desc|style)>.*?</\1>|<rect id=\"ground\"[^>]*>", "", still.svg, flags=re.S
    )
    place = f'x="{640 + (520 - scale * width) / 2:g}" y="{305 - scale * height / 2:g}"'
    size = f'width="{scale * width:g}" height="{scale * height:g}"'
    return re.sub(r' width="\d+" height="\d+"', f" {place} {size}", body, count=1)


def _mask():
    """Return a causal mask, its diagonal bright."""
    return "".join(
        f'<rect x="{700 + 50 * column}" y="{80 + 50 * row}" width="42" height="42" rx="4" '
        f'fill="{WEIGHT_MAP[-1 if column == row else 10]}"/>'
        for row in range(9)
        for column in range(row + 1)
    )


def first_still(page):
    """Return the still of the first figure in a page's HTML; None where there is none."""
    states = stills.figures_in(page)
    return still_of(*states[0]) if states else None


def offer(app, pagename, templatename, context, doctree):
    """Give a page's template the address of its card; the site's root has the front page's."""
    base, front = app.config.html_baseurl, app.config.root_doc
    if not base:
        return
    if templatename == "redirect.html":
        pagename, context["pageurl"] = front, urljoin(base, app.builder.get_target_uri(front))
    elif doctree is None:
        return
    context["card_url"] = urljoin(base, f"{FOLDER}/{pagename}.png")


def write_all(app, error):
    """Draw the cards, and list the pages in ``sitemap.xml``."""
    base, out = app.config.html_baseurl, Path(app.outdir)
    if error or not base or app.builder.format != "html":
        return
    names, cards = sorted(app.env.found_docs), []
    for name in names:
        title = plain(app.env.titles[name].astext())
        page = (out / app.builder.get_target_uri(name)).read_text(encoding="utf-8")
        sentence = first_paragraph(app.env.get_doctree(name))
        cards.append(card(app.config.html_title, title, sentence, first_still(page)))
    for name, png in zip(names, stills.rasterised(cards, 1200), strict=True):
        path = out / FOLDER / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png)
    (out / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{''.join(listed(app, names))}</urlset>\n",
        encoding="utf-8",
    )


def listed(app, names):
    """Each page's line in ``sitemap.xml``: its address, and its source's day, if that is known."""
    days = last_days(app.srcdir)
    for name in names:
        address = urljoin(app.config.html_baseurl, app.builder.get_target_uri(name))
        source = Path(app.env.doc2path(name)).relative_to(app.srcdir).as_posix()
        day = f"<lastmod>{days[source]}</lastmod>" if source in days else ""
        yield f"<url><loc>{escape(address)}</loc>{day}</url>\n"


def last_days(folder):
    """Return the day of each file's last commit, or nothing where the history is not whole."""
    try:
        if git(folder, "rev-parse", "--is-shallow-repository").strip() == "true":
            return {}
        log = git(folder, "log", "--format=%cs", "--name-only", "--relative")
    except NO_ANSWER:
        return {}
    days, day = {}, ""
    for line in log.splitlines():
        if re.fullmatch(r"\d{4}-\d\d-\d\d", line):
            day = line
        elif line:
            days.setdefault(line, day)
    return days


def setup(app):
    app.connect("config-inited", check)
    app.connect("html-page-context", offer)
    app.connect("build-finished", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
