"""Pictures as SVG: text is text, the bytes are fixed, and colours follow light and dark."""

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import pytest

from attention_lib import plots
from attention_lib.palette import DARK, LIGHT
from attention_lib.plots.vector import for_page
from tests.plots.drawing import NAN, WEIGHTS, new_axes

INLINE = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%matplotlib inline")
shell.run_cell("from attention_lib import plots; import matplotlib.pyplot as plt")
shell.run_cell("plots.use_style()")
shell.run_cell("figure, ax = plt.subplots(); ax.plot([0, 1])")
data, _ = shell.display_formatter.format(shell.user_ns["figure"])
print(*sorted(data))
print(data["image/svg+xml"].splitlines()[0])
"""


def drawn(draw):
    """The SVG of what a function draws on new axes, as text."""
    plots.use_style()
    draw(new_axes())
    written = io.BytesIO()
    plt.savefig(written, format="svg")
    plt.close()
    return written.getvalue().decode("utf-8")


def table(ax):
    plots.heatmap(ax, [[0.0, 0.5], [1.0, NAN]], ["a", "b"], ["c", "d"], decimals=2)


def test_text_is_text_in_the_pages_fonts():
    svg = drawn(lambda ax: ax.set(title="A title", xlabel="$d_k$", ylabel="variance"))
    texts = [node.text for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert {"A title", "variance"} <= {*texts}
    assert "d_k" not in svg, "a formula is drawn, since only its own font has its shapes"
    assert svg.count("font-family") == 1 and "DejaVu" not in svg.replace("DejaVuSans-", "")


def test_the_same_picture_is_the_same_text():
    assert drawn(table) == drawn(table)
    assert not re.search(r"\d{4}-\d\d-\d\d|matplotlib|<!--|<!DOCTYPE", drawn(table))


def test_numbers_are_short_and_styles_are_attributes():
    svg = drawn(lambda ax: plots.curves(ax, [1, 2, 3], {"a": [0.1, 0.7, 0.2]}))
    assert " style=" not in svg
    places = " ".join(re.findall(r' (?:d|x|y)="([^"]*)"', svg))
    assert re.search(r"\d\.\d\d\b", places)
    assert not re.search(r"\d\.\d{3}", places)


def test_a_drawing_is_measured_in_the_pixels_of_a_page():
    """Type of 12 points is 16 pixels tall where the picture has the size that it says."""
    svg = drawn(lambda ax: ax.figure.set_size_inches(6, 3))
    root = ET.fromstring(svg)
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == (
        *("576", "288"),
        "0 0 576 288",
    )
    (content,) = (part for part in root if part.tag.endswith("}g"))
    assert content.get("transform") == "scale(1.3333)"
    assert 'font-size="11px"' in svg


def test_names_stand_only_where_something_refers_to_them():
    svg = drawn(lambda ax: plots.heatmap(ax, WEIGHTS, mask=[True, True, False]))
    assert svg.count("<image") == 2 and svg.count('image-rendering="pixelated"') >= 1
    used = {*re.findall(r"url\(#([\w-]+)\)", svg), *re.findall(r'href="#([\w-]+)"', svg)}
    assert used
    assert used == {*re.findall(r' id="([^"]+)"', svg)}


def test_a_drawing_whose_names_are_dropped_still_shows_all_of_it():
    def draw(ax):
        plots.heatmap(ax, WEIGHTS, mask=[True, True, False])
        ax.plot([0, 1], [0, 1], marker="o")
        ax.set_title("$d_k$")

    svg = drawn(draw)
    assert "<use" not in svg and "DejaVu" not in svg
    assert "url(#h" in svg and not re.search(r'fill="url\(#\w+\)"', svg)
    assert re.search(rf'fill="url\(#\w+\) {LIGHT["mask"]}"', svg)


def test_a_shape_referred_to_by_name_is_written_in_place():
    svg = for_page(
        '<svg><defs><path id="m1" d="M 0 0 L 0 3" style="stroke: #123456"/>'
        '<path id="a" d="M 1 1" transform="scale(0.5)"/></defs>'
        '<use xlink:href="#m1" x="7" y="9" style="fill: #654321"/>'
        '<use xlink:href="#a" transform="translate(3 4)"/></svg>'
    )
    shapes = [
        dict(re.findall(r'([\w-]+)="([^"]*)"', path)) for path in re.findall("<path[^>]*>", svg)
    ]
    assert shapes == [
        {"d": "M 0 0 L 0 3", "stroke": "#123456", "fill": "#654321", "transform": "translate(7 9)"},
        {"d": "M 1 1", "transform": "translate(3 4) scale(0.5)"},
    ]


@pytest.mark.parametrize("name", ["ink", "weight", "grid"])
def test_a_colour_of_the_palette_has_its_dark_twin(name):
    svg = drawn(lambda ax: (ax.plot([0, 1], color=LIGHT["weight"]), ax.grid()))
    rules = re.findall(r'\[(fill|stroke)="(#\w+)"\]:not\(\.on-map \*\)\{\1:(#\w+)\}', svg)
    kinds = [kind for kind, light, dark in rules if (light, dark) == (LIGHT[name], DARK[name])]
    assert kinds and all(f' {kind}="{LIGHT[name]}"' in svg for kind in kinds)


def test_text_on_a_colour_map_keeps_its_colour():
    root = ET.fromstring(drawn(table))
    svg = "{http://www.w3.org/2000/svg}"
    kept = [
        node.text
        for part in root.iterfind(".//*[@class='on-map']")
        for node in part.iter(f"{svg}text")
    ]
    assert kept == ["0.00", "0.50", "1.00"]
    assert "NaN" in [node.text for node in root.iter(f"{svg}text")]


def test_a_colour_outside_the_palette_has_no_dark_twin():
    svg = for_page('<svg><path style="fill: #123456; opacity: 0.5"/></svg>')
    assert '<path fill="#123456" opacity="0.5"/>' in svg
    assert "#123456" not in svg[: svg.index("</style>")]


def test_a_notebook_shows_svg_and_keeps_a_png_where_svg_is_not_trusted():
    done = subprocess.run(
        [sys.executable, "-c", INLINE], capture_output=True, text=True, check=True
    )
    kinds, first = done.stdout.splitlines()[-2:]
    assert kinds == "image/png image/svg+xml text/plain"
    assert first.startswith("<svg font-family=")


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_image_follows_the_page_around_it(chromium, tmp_path, theme):
    """The page's switch, not the system's: an SVG in ``img`` takes its element's color-scheme."""
    (tmp_path / "picture.svg").write_text(drawn(lambda ax: ax.axis("off")), encoding="utf-8")
    style = f"html {{ color-scheme: {theme}; }} body {{ margin: 0; }}"
    (tmp_path / "page.html").write_text(f"<style>{style}</style><img src=picture.svg>")
    page = chromium.new_page(color_scheme="dark" if theme == "light" else "light")
    page.goto((tmp_path / "page.html").as_uri())
    shot = plt.imread(io.BytesIO(page.locator("img").screenshot()))
    page.close()
    paper = (DARK if theme == "dark" else LIGHT)["paper"]
    wanted = [int(paper[place : place + 2], 16) for place in (1, 3, 5)]
    assert (255 * shot[50, 50, :3]).round().tolist() == wanted
