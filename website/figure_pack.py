"""Every figure of the book as SVG and PNG, for slides and handouts: ``make figures``.

Stills come from the notebooks' stored outputs, figures with sliders from the built pages, as their
still pictures. A name is the chapter and the number that the caption gives, or the figure's class.
``index.html`` shows each with its alt text and the licence.
"""

import base64
import html
import json
import shutil
import sys
from dataclasses import dataclass
from urllib.parse import unquote

from bs4 import BeautifulSoup

from website import ROOT, book
from website.stills import rasterised

PACK = ROOT / "_build" / "figures"
LICENCE = "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/"
SVG_URI = "data:image/svg+xml,"
WIDTH = 2016  # of a PNG in pixels, three for one of the page: sharp on a projector


@dataclass(frozen=True)
class Picture:
    """One picture of the book: its name, its alt text, its SVG, and its PNG where it is stored."""

    name: str
    alt: str
    svg: str
    png: bytes | None = None


def stored_pictures(path):
    """Yield the stills of a notebook, from its stored outputs."""
    number = 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            if "image/svg+xml" in data:
                number += 1
                svg, png = "".join(data["image/svg+xml"]), base64.b64decode(data["image/png"])
                yield Picture(f"{path.stem}-figure-{number}", alt, svg, png)


def slider_pictures(page):
    """Yield the still pictures of the figures with sliders on a built page, and of their steps."""
    steps = 0
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    for figure in soup.select("figure.attention-widget, figure.attention-step"):
        still = figure.find("img")
        step = "attention-step" in figure["class"]
        steps += step
        name = f"{page.stem}-{f'step-{steps}' if step else figure['data-widget']}"
        alt = " ".join(figure.figcaption.get_text(" ").split())
        yield Picture(name, alt, unquote(still["src"].removeprefix(SVG_URI)))


def all_pictures(root=ROOT):
    """Return the pictures of all pages of the built book, in the order of the contents."""
    pictures = []
    for name in book.contents(root):
        notebook = (root / name).with_suffix(".ipynb")
        pictures += stored_pictures(notebook) if notebook.is_file() else []
        pictures += slider_pictures(root / "_build" / "html" / f"{name}.html")
    return pictures


def write(pictures, folder=PACK):
    """Write the pack."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rows = []
    undrawn = [picture.svg for picture in pictures if not picture.png]
    pngs = iter(rasterised(undrawn, WIDTH))
    for picture in pictures:
        (folder / f"{picture.name}.svg").write_text(picture.svg, encoding="utf-8")
        (folder / f"{picture.name}.png").write_bytes(picture.png or next(pngs))
        links = " ".join(
            f'<a href="{picture.name}.{kind}">{kind.upper()}</a>' for kind in ("svg", "png")
        )
        alt = html.escape(picture.alt)
        rows.append(
            f'<h2>{picture.name}</h2>\n<p><img src="{picture.name}.svg" alt="{alt}"></p>\n'
            f"<p>{alt}</p>\n<p>{links} · {LICENCE}</p>\n"
        )
    head = '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Figures</title>\n'
    style = "<style>body{max-width:50rem;margin:auto;font-family:sans-serif}img{width:100%}</style>"
    (folder / "index.html").write_text(head + style + "".join(rows), encoding="utf-8")


@book.ends_in_a_sentence
def main():
    pictures = all_pictures()
    write(pictures)
    print(f"{len(pictures)} figures: open {(PACK / 'index.html').relative_to(ROOT)}.")


if __name__ == "__main__":
    sys.exit(main())
