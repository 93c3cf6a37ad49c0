"""Draw the stills of all states that the book shows, in the browser that draws the living figures.

``tools/notebooks.py`` calls :func:`store`, which writes each still into
``attention_workbook/figures/stills`` and puts it into the notebooks' outputs. A figure is drawn
twice, on a light and on a dark page, and ``still.js`` reads what stands there; what differs
in the dark is a class of the one SVG. A state is known by its figure's class and ``data-state``.
"""

import base64
import html
import json
import math
import re
from pathlib import Path

from attention_workbook.figures import bundle
from attention_workbook.figures.catalogue import FIGURES
from attention_workbook.figures.still_pictures import FOLDER, figure_html, path_of
from website import ROOT, npm
from website.browser import chromium
from website.notebooks import normalise, read, to_text, write
from website.pictures import same_drawing

WIDTH, MARGIN = 640, 16  # of a picture, where its figure grows so wide, and around it, in pixels
FAMILIES = {"Book": "source-serif-4", "Book Sans": "source-sans-3", "Book Code": "source-code-pro"}
READING = Path(__file__).with_name("still.js")
# A figure that waits until it is seen stays at its start.
ASLEEP = "window.IntersectionObserver = class { observe() {} unobserve() {} disconnect() {} };"
# A still is as wide as a figure in the book's column. A picture may be seen in wider letters than
# the book's: lines of words leave room for them. A heatmap stands below its strands, where its
# cells have room for numbers.
STANDING = """
.attention-view { max-width: 860px !important; }
:root { --signs: "Book Sans", system-ui, sans-serif; }
.attention-stage [data-drawn] { padding-right: 5%; letter-spacing: 0.1em; }
.attention-stage .attention-looks { display: flex; flex-direction: column; align-items: stretch; }
"""
SETTLE = """async (width) => {
  await document.fonts.ready;
  const stage = document.querySelector(".attention-stage");
  for (let turn = 0; turn < 3; turn += 1) {
    document.body.style.width = `${document.body.clientWidth + width - stage.clientWidth}px`;
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  }
}"""
FIGURE = re.compile(
    r'<figure class="attention-widget" data-widget="(\w+)" data-state="([^"]*)">.*?</figure>', re.S
)
DIRECTIVE = re.compile(r"^```\{slider-(?:figure|still)\} (.+)$", re.M)


def draw(states, browser):
    """Return the SVG of each ``(class name, state as JSON)``, drawn by a browser."""
    pictures = []
    for scheme in ("light", "dark"):
        size = {"width": WIDTH + 200, "height": 1000}
        page = browser.new_page(color_scheme=scheme, reduced_motion="reduce", viewport=size)
        page.add_init_script(ASLEEP)
        pictures.append([drawn(page, *state) for state in states])
        page.close()
    return [to_svg(*pair) for pair in zip(*pictures, strict=True)]


def drawn(page, name, state):
    """Return what a figure in a state has drawn on its stage: see ``still.js``."""
    figure = f'<figure class="attention-widget" data-state="{html.escape(state)}"></figure>'
    text = bundle.page_source(figure, FIGURES[name].script(), name)
    page.set_content(text.replace("<style>", f"<style>{typefaces()}", 1))
    page.evaluate(SETTLE, WIDTH)
    picture = page.evaluate(READING.read_text(encoding="utf-8"))
    if picture["failure"]:
        raise RuntimeError(f"{name} could not be drawn: {picture['failure']}")
    return picture


def typefaces():
    """Return the rules that bring the book's typefaces along, so that no other sets the words."""
    rules = []
    for family, package in FAMILIES.items():
        for weight in (400, 600):
            file = f"{package}-latin-{weight}-normal.woff2"
            data = (npm.package(f"@fontsource/{package}") / "files" / file).read_bytes()
            source = f"data:font/woff2;base64,{base64.b64encode(data).decode()}"
            rules.append(
                f'@font-face {{ font-family: "{family}"; font-weight: {weight}; '
                f"src: url({source}); }}"
            )
    return " ".join([STANDING, *rules])


def to_svg(light, dark):
    """Return a picture as SVG, with the dark colours where the page is dark."""
    classes = {}  # what stands in the dark for a class of shapes

    def in_the_dark(declarations):
        return classes.setdefault(declarations, f"dark{len(classes)}")

    def written(shape, other, inherited):
        if isinstance(shape, str):
            return html.escape(shape)
        attributes, later = dict(shape["attributes"]), other["attributes"]
        known = inherited | later
        if shape["tag"] == "image" and later["href"] != attributes["href"]:
            pair = ((attributes, "display:none"), (later | {"display": "none"}, "display:inline"))
            return "".join(
                element("image", look | {"class": in_the_dark(declaration)})
                for look, declaration in pair
            )
        names = dict.fromkeys([*attributes, *later])
        differs = [name for name in names if known.get(name) != attributes.get(name)]
        if differs:
            attributes["class"] = in_the_dark(
                ";".join(f"{name}:{known.get(name, 'initial')}" for name in differs)
            )
        twins = zip(shape["children"], other["children"], strict=True)
        inside = "".join(written(child, twin, known) for child, twin in twins)
        return element(shape["tag"], attributes, inside)

    shapes = zip(light["shapes"], dark["shapes"], strict=True)
    body = "\n".join(written(shape, other, {}) for shape, other in shapes)
    width = math.ceil(light["width"]) + 2 * MARGIN
    height = math.ceil(light["bottom"] - light["top"]) + 2 * MARGIN
    size = {"width": width, "height": height}
    paper = {"fill": light["paper"], "class": in_the_dark(f"fill:{dark['paper']}")}
    ground = element("rect", {"id": "ground", **size, "rx": 10, **paper})
    rules = "".join(f".{name}{{{declarations}}}" for declarations, name in classes.items())
    root = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}", **size}
    title, words = (element(tag, {}, html.escape(light[tag])) for tag in ("title", "desc"))
    return (
        f"{element('svg', root, None)}\n{title}\n{words}\n"
        f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>\n{ground}\n"
        f'<g transform="translate({MARGIN} {MARGIN - light["top"]:g})">{body}</g>\n</svg>\n'
    )


def element(tag, attributes, inner=""):
    """Return an element of SVG; with ``None`` inside, its opening tag alone."""
    look = "".join(f' {name}="{html.escape(str(value))}"' for name, value in attributes.items())
    if inner is None:
        return f"<{tag}{look}>"
    return f"<{tag}{look}>{inner}</{tag}>" if inner else f"<{tag}{look}/>"


def figure_from(text):
    """Return the figure that a directive names: its class, then ``trait=value`` …"""
    name, *settings = text.split()
    pairs = (part.split("=", 1) for part in settings)
    return FIGURES[name](**{key: int(v) if v.isdigit() else v for key, v in pairs})


def state_of(figure):
    return type(figure).__name__, bundle.as_json(figure.state())


def figures_in(markup):
    """Return class name and state of the figures in HTML."""
    return [(name, html.unescape(state)) for name, state in FIGURE.findall(markup)]


def bundles(notebook):
    """Yield the data of a notebook's outputs that hold HTML."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                yield output["data"]


def states_of(path):
    """Return the states that a page of the book shows."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [state_of(figure_from(figure)) for figure in DIRECTIVE.findall(text)]
    return states_in(json.loads(text))


def states_in(notebook):
    """Return the states of the figures in a notebook's outputs."""
    markups = ("".join(data["text/html"]) for data in bundles(notebook))
    return [state for markup in markups for state in figures_in(markup)]


def pages(root=ROOT):
    """Return the sources of all pages."""
    return sorted((root / "book").glob("*.md")) + sorted((root / "book").glob("*.ipynb"))


def states_to_draw(paths):
    """Return all states that need a still: those of pages, and each figure as it is by default."""
    states = [state for path in paths for state in states_of(path)]
    return list(dict.fromkeys([*states, *(state_of(figure()) for figure in FIGURES.values())]))


def refreshed(markup, ground=True):
    """Return HTML whose figures hold the stills that are stored now."""
    return FIGURE.sub(lambda match: figure_html(match[1], html.unescape(match[2]), ground), markup)


def store(root=ROOT, anew=False):
    """Draw and store the stills that are missing, which needs a Chromium, or all of them ``anew``.

    Stills that no page shows any more are removed, and notebooks are given their stills.
    """
    everything = pages(root)
    needed = states_to_draw(everything)
    wanted = [state for state in needed if anew or not path_of(*state).is_file()]
    FOLDER.mkdir(exist_ok=True)
    if wanted:
        with chromium() as browser:
            for state, svg in zip(wanted, draw(wanted, browser), strict=True):
                path = path_of(*state)
                if not path.is_file() or not same_drawing(path.read_text(encoding="utf-8"), svg):
                    path.write_text(svg, encoding="utf-8")
    for path in {*FOLDER.glob("*.svg")} - {path_of(*state) for state in needed}:
        path.unlink()
    for path in everything:
        if path.suffix == ".ipynb":
            put_into(path)


def put_into(path):
    """Give a stored notebook the stills that are stored now."""
    notebook = normalise(read(path), path.stem)
    for data in bundles(notebook):
        data["text/html"] = refreshed(data["text/html"])
    write(path, to_text(notebook))
