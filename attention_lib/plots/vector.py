"""Pictures as vector graphics in the page's own language.

Text is text, in the reader's sans serif; numbers have two decimals and names are fixed, so that
every machine writes the same. Colours are plain attributes, ``fill="#1d2129"``, which every reader
of SVG knows; a rule for each colour of the palette gives it its dark twin where the reader, or the
page around the picture, has chosen a dark ground. What stands on a colour map keeps its colour: an
artist with the gid ``"on-map"``.

Every shape is written where it stands, and hatching has a plain colour to fall back on: sites that
show notebooks, GitHub among them, may drop the names by which parts of a drawing find each other.
"""

import codecs
import io
import re
from typing import Any

from matplotlib import cbook, rc_context
from matplotlib.backend_bases import register_backend
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG

from attention_lib.palette import DARK, LIGHT

FONTS = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', "
    "'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
)
ROOT = {"font-family": FONTS, "stroke-linejoin": "round", "stroke-linecap": "butt"}
_LEFT_OUT = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->|<style[^>]*>.*?</style>", re.DOTALL)
_STYLE = re.compile(r' style="([^"]*)"')
_FONT = re.compile(r"(?:(italic|oblique) )?(?:normal )?(?:(bold|\d+) )?([\d.]+)px\b.*")
_NUMBERS = re.compile(r' (d|x|y|x1|x2|y1|y2|width|height|points|transform)="([^"]*)"')
_LONG = re.compile(r"-?\d+\.\d{3,}")
_ID = re.compile(r' id="([^"]*)"')
_ATTRIBUTE = re.compile(r' ([\w:-]+)="([^"]*)"')
_PATTERN = re.compile(r'<pattern id="([^"]+)".*?<rect [^>]*fill="([^"]+)"', re.DOTALL)


class _Renderer(RendererSVG):
    """Writes text as text; formulas as outlines, since only their own font has their shapes."""

    def draw_text(self, *arguments: Any, ismath: Any = False, **options: Any) -> None:
        with rc_context({"svg.fonttype": "path" if ismath else "none"}):
            super().draw_text(*arguments, ismath=ismath, **options)  # type: ignore[misc, no-untyped-call]


class PageCanvas(FigureCanvasSVG):
    """What ``savefig("x.svg")`` and notebooks draw with once ``use_style`` was called."""

    def print_svg(self, filename: Any, *, bbox_inches_restore: Any = None, **options: Any) -> None:
        """Write the figure; its options, such as an orientation, are for print."""
        text, dpi = io.StringIO(), self.figure.dpi
        self.figure.dpi = 72
        width, height = self.figure.get_size_inches()
        with rc_context({"svg.hashsalt": "attention"}):
            renderer: Any = MixedModeRenderer(  # type: ignore[no-untyped-call]
                self.figure,
                width,
                height,
                dpi,
                _Renderer(72 * width, 72 * height, text, image_dpi=dpi),  # type: ignore[no-untyped-call]
                bbox_inches_restore=bbox_inches_restore,
            )
            self.figure.draw(renderer)
            renderer.finalize()
        with cbook.open_file_cm(filename, "w", encoding="utf-8") as file:
            unicode = cbook.file_requires_unicode(file)
            (file if unicode else codecs.getwriter("utf-8")(file)).write(for_page(text.getvalue()))


def for_page(svg: str) -> str:
    """Return matplotlib's SVG as the page's: plain attributes, short numbers, light and dark."""
    svg = _LEFT_OUT.sub("", svg[svg.index("<svg") :])
    svg = _STYLE.sub(lambda match: _attributes(match[1]), svg)
    svg = _NUMBERS.sub(lambda match: f' {match[1]}="{_short(match[1], match[2])}"', svg)
    used = {*re.findall(r'(?:url\(|href=")#([\w-]+)', svg)}
    svg = _in_place(_ID.sub(lambda match: _name(match[1], used), svg))
    for name, ground in dict(_PATTERN.findall(svg)).items():
        svg = svg.replace(f'fill="url(#{name})"', f'fill="url(#{name}) {ground}"')
    svg = re.sub(r">\s+<", ">\n<", re.sub(r"\s*\n\s*", " ", svg))
    svg = svg.replace("<defs>\n</defs>\n", "")
    root = "".join(f' {name}="{value}"' for name, value in ROOT.items())
    svg = svg.replace("<svg", f"<svg{root}", 1).replace(">", f">\n{_dark_rules(svg)}", 1) + "\n"
    return in_pixels(svg)


def in_pixels(svg: str) -> str:
    """Return a drawing measured in points as one in CSS pixels: pages take its numbers for these,
    and type of 12 points then is as large as theirs."""
    size = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt" viewBox="[^"]*"', svg)
    if size is None:
        return svg
    wide, high = (_short("width", f"{float(side) * 4 / 3:.6f}") for side in size.groups())
    svg = svg.replace(size[0], f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"')
    svg = svg.replace("</style>\n", '</style>\n<g transform="scale(1.3333)">\n', 1)
    return svg.replace("</svg>", "</g>\n</svg>")


def _attributes(style: str) -> str:
    """Return an inline style as attributes; fonts are those of the page."""
    pairs = (part.split(":", 1) for part in style.split(";") if ":" in part)
    parts = {name.strip(): value.strip() for name, value in pairs}
    if font := _FONT.fullmatch(parts.pop("font", "")):
        slant, weight, size = font.groups()
        parts |= {"font-style": slant, "font-weight": weight, "font-size": size}
    return "".join(
        f' {name}="{value}"'
        for name, value in parts.items()
        if value and name not in ("font-family", "-inkscape-font-specification")
    )


def _short(name: str, value: str) -> str:
    """Return an attribute's numbers with two decimals (four where they scale and turn)."""
    decimals = 4 if name == "transform" else 2
    return _LONG.sub(lambda match: f"{round(float(match[0]), decimals) + 0.0:g}", value)


def _name(name: str, used: set[str]) -> str:
    """Return a name only where something refers to it, or where its colours stand on a map."""
    if name == "on-map":
        return ' class="on-map"'
    return f' id="{name}"' if name in used else ""


def _in_place(svg: str) -> str:
    """Return a drawing in which the shape itself stands wherever one was referred to by name."""
    shapes: dict[str, dict[str, str]] = {}

    def collect_shape(match: re.Match[str]) -> str:
        shape = dict(_ATTRIBUTE.findall(match[0]))
        shapes[shape.pop("id")] = shape
        return ""

    def inline_shape(match: re.Match[str]) -> str:
        place = {"x": "0", "y": "0"} | dict(_ATTRIBUTE.findall(match[0]))
        shape = shapes[place.pop("xlink:href")[1:]]
        move = f"translate({place.pop('x')} {place.pop('y')})".replace("translate(0 0)", "")
        turn = f"{place.get('transform', '')} {move} {shape.get('transform', '')}"
        parts = place | shape | {"transform": " ".join(turn.split())}
        return "<path" + "".join(f' {name}="{value}"' for name, value in parts.items()) + "/>"

    return re.sub("<use [^>]*/>", inline_shape, re.sub("<path id=[^>]*/>", collect_shape, svg))


def _dark_rules(svg: str) -> str:
    """Return the style that gives each colour of the palette in a picture its dark twin."""
    rules = [
        f'[{kind}="{light}"]:not(.on-map *){{{kind}:{DARK[name]}}}'
        for name, light in LIGHT.items()
        for kind in ("fill", "stroke")
        if f'{kind}="{light}"' in svg
    ]
    return f"<style>@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"


def use_vectors() -> None:
    """Let notebooks and ``savefig`` write SVG in the page's language.

    Notebooks keep a PNG beside it: of one that JupyterLab does not trust it shows no SVG.
    """
    register_backend("svg", PageCanvas, "Scalable Vector Graphics, for the book's pages")
    try:
        from IPython import get_ipython
        from matplotlib_inline.config import InlineBackend
    except ModuleNotFoundError:
        return
    if shell := get_ipython():
        InlineBackend.instance(parent=shell).figure_formats = {"png", "svg"}
