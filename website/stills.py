"""Draw figures without a browser: the stills of all states that the book shows, and pixels of them.

``tools/notebooks.py`` calls :func:`store`, which writes each still into
``attention_workbook/figures/stills``
and puts it into the notebooks' outputs. What is drawn is what the figure's own JavaScript draws:
``drawing/`` runs it in Node. A state is known by its figure's class and its ``data-state``.
"""

import base64
import functools
import html
import json
import re
import subprocess
import tempfile
from pathlib import Path

import matplotlib
from fontTools.ttLib import TTFont

from attention_lib import palette
from attention_workbook.figures import bundle
from attention_workbook.figures.catalogue import FIGURES
from attention_workbook.figures.still_pictures import FOLDER, figure_html, path_of
from website import ROOT, npm
from website.notebooks import normalise, read, to_text, write

FAMILIES = {"Book": "source-serif-4", "Book Sans": "source-sans-3", "Book Code": "source-code-pro"}
FIGURE = re.compile(
    r'<figure class="attention-widget" data-widget="(\w+)" data-state="([^"]*)">.*?</figure>', re.S
)
DIRECTIVE = re.compile(r"^```\{slider-(?:figure|still)\} (.+)$", re.M)


def draw(states):
    """Return the SVG of each ``(class name, state as JSON)``; one process for all of them."""
    light = bundle.css_variables(palette.LIGHT)
    request = {
        "style": bundle.stylesheet(),
        "light": light,
        "dark": light | bundle.css_variables(palette.DARK),
        "wanted": [
            {"name": name, "module": str(FIGURES[name].script()), "state": state}
            for name, state in states
        ],
    }
    return run("draw.mjs", "linkedom", request)


def run(script, package, request):
    """Give a request to a script of ``drawing/``, which needs a package from npm; its answer."""
    packages = {"packages": str(npm.package(package).parent)}
    process = subprocess.run(
        [npm.NODE / "bin" / "node", Path(__file__).parent / "drawing" / script],
        input=json.dumps(request | packages),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if process.returncode:
        raise RuntimeError(f"The figures could not be drawn: {process.stderr.strip()}")
    return json.loads(process.stdout)


def rasterised(pictures, width):
    """Return SVGs as PNGs so many pixels wide, in the book's typefaces."""
    request = {"fonts": fonts(), "width": width, "pictures": pictures}
    return [base64.b64decode(png) for png in run("rasterise.mjs", "@resvg/resvg-js", request)]


@functools.cache
def _folder():
    return tempfile.TemporaryDirectory(prefix="attention-fonts-")


@functools.cache
def fonts():
    """Return the files of the book's typefaces, unpacked and called as the pages call them.

    matplotlib's DejaVu has the signs that they lack.
    """
    files = [f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf"]
    for family, package in FAMILIES.items():
        for weight in (400, 600):
            name = f"{package}-latin-{weight}-normal"
            font = TTFont(npm.package(f"@fontsource/{package}") / "files" / f"{name}.woff2")
            font.flavor = None
            for record in font["name"].names:
                if record.nameID in (1, 16):  # the family, as old and as new programs read it
                    record.string = family
            files.append(f"{_folder().name}/{name}.ttf")
            font.save(files[-1])
    return files


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


def store(changed=None, root=ROOT):
    """Draw and store the stills of the ``changed`` pages and those that are missing, or all.

    Stills that no page shows any more are removed, and notebooks are given their stills.
    """
    everything = pages(root)
    states_needed = states_to_draw(everything)
    stale = (
        {*states_needed}
        if changed is None
        else {state for path in changed for state in states_of(path)}
    )
    drawn = [state for state in states_needed if state in stale or not path_of(*state).is_file()]
    FOLDER.mkdir(exist_ok=True)
    for state, svg in zip(drawn, draw(drawn), strict=True):
        path_of(*state).write_text(svg, encoding="utf-8")
    for path in {*FOLDER.glob("*.svg")} - {path_of(*state) for state in states_needed}:
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
