"""website/pictures.py: what may move in a picture, and what may not."""

import io
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from website import pictures
from website.pictures import (
    PNG,
    SVG,
    bare,
    bare_png,
    encode,
    same_drawing,
    same_picture,
    same_shown,
)


def test_a_png_keeps_what_is_to_be_seen_and_what_drew_it():
    comments = PngInfo()
    comments.add_text("Creation Time", "now")
    comments.add_text("Software", "some")
    png = io.BytesIO()
    image = Image.new("P", (3, 2), 1)
    image.save(png, format="png", pnginfo=comments, dpi=(144, 144), transparency=1)
    bare = Image.open(io.BytesIO(bare_png(png.getvalue())))
    assert {*bare.info} == {"Software", "dpi", "transparency"}
    assert bare.tobytes() == image.tobytes()


PICTURES = Path(__file__).with_name("pictures")


def drawn(draw, software=None, size=(5, 4), **settings):
    """A PNG, drawn under settings of matplotlib; ``software`` passes it off as another's."""
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=size, facecolor="white")
        draw(figure.subplots())
        png = io.BytesIO()
        metadata = {"Software": software} if software else {}
        figure.savefig(png, format="png", bbox_inches="tight", metadata=metadata)
    return png.getvalue()


def curve(move=0.0, title="Weight and temperature"):
    x = np.linspace(0, 10, 300)

    def draw(ax):
        ax.plot(x, np.sin(x + move), label="near")
        ax.plot(x, np.cos(x) / 2, label="far")
        ax.set(title=title, xlabel="distance to the query")
        ax.legend()

    return draw


def heatmap(change=0.0, digit=0.0):
    weights = 0.05 + 0.9 * np.abs(np.sin(np.arange(25.0))).reshape(5, 5)

    def draw(ax):
        values, numbers = weights.copy(), weights.copy()
        values[2, 3] += change
        numbers[2, 3] += digit
        ax.imshow(values, vmin=0, vmax=1, cmap="viridis")
        ax.set_xticks(range(5), ["the", "cat", "sat", "on", "mats"])
        for (row, column), number in np.ndenumerate(numbers):
            ax.text(column, row, f"{number:.2f}", ha="center", va="center", color="w")

    return draw


def bars(change=0.0):
    def draw(ax):
        ax.bar(["the", "cat", "sat", "on"], [0.75, 0.15 + change, 0.07, 0.03])
        ax.set(ylabel="weight", ylim=(0, 1))

    return draw


RIGHT = {"curve": curve(), "heatmap": heatmap(), "bars": bars()}
WRONG = {
    "curve moved": ("curve", curve(0.1)),
    "curve gone": ("curve", lambda ax: ax.plot([0, 10], [0, 0])),
    "cell 0.04 off": ("heatmap", heatmap(0.04)),
    "bar 0.03 too high": ("bars", bars(0.03)),
    "one bar more": ("bars", lambda ax: (bars()(ax), ax.bar(["mats"], [0.5]))),
}
SLIGHTLY_WRONG = {
    "curve moved a little": ("curve", curve(0.03)),
    "one letter": ("curve", curve(title="Weight and temporature")),
    "cell 0.025 off": ("heatmap", heatmap(0.025)),
    "one digit": ("heatmap", heatmap(digit=0.01)),
    "bar 0.01 too high": ("bars", bars(0.01)),
}


def by_another_matplotlib(name):
    """Pictures of RIGHT as matplotlib 3.10.0 drew them, with FreeType 2.6.1."""
    return (PICTURES / f"{name}-matplotlib-3.10.0.png").read_bytes()


@pytest.mark.parametrize("name", RIGHT)
def test_letters_drawn_by_another_rasteriser_are_the_same_picture(name):
    here, there = drawn(RIGHT[name]), by_another_matplotlib(name)
    unhinted = drawn(RIGHT[name], software="another", **{"text.hinting": "no_hinting"})
    for other in (there, unhinted):
        assert same_picture(here, other) and same_picture(other, here)
        assert worst_disagreement(here, other) > 2, "no different letters: this tests nothing"


def worst_disagreement(*pngs):
    a, b = (Image.open(io.BytesIO(png)).convert("RGB") for png in pngs)
    return pictures.worst_window(*pictures.overlap(a, b, 0, 0), 1, 4)


@pytest.mark.parametrize(("name", "wrong"), WRONG.values(), ids=WRONG)
def test_a_wrong_picture_is_another_picture_whatever_drew_it(name, wrong):
    there = by_another_matplotlib(name)
    assert not same_picture(drawn(wrong), there) and not same_picture(there, drawn(wrong))
    assert not same_picture(drawn(wrong), drawn(RIGHT[name]))


@pytest.mark.parametrize(("name", "wrong"), SLIGHTLY_WRONG.values(), ids=SLIGHTLY_WRONG)
def test_the_same_matplotlib_is_held_to_every_letter(name, wrong):
    assert not same_picture(drawn(wrong), drawn(RIGHT[name]))


def nearly_a_curve(ax):
    """What another processor's rounding makes of :func:`curve`."""
    draw_at = np.linspace(0, 10, 300) * (1 + 1e-6)
    ax.plot(draw_at, np.sin(draw_at), label="near")
    ax.plot(draw_at, np.cos(draw_at) / 2, label="far")
    ax.set(title="Weight and temperature", xlabel="distance to the query")
    ax.legend()


def test_rounding_by_another_processor_is_the_same_picture():
    assert same_picture(drawn(nearly_a_curve), drawn(curve()))


def test_another_size_is_another_picture():
    def larger(ax):
        ax.figure.set_size_inches(6, 4)
        curve()(ax)

    assert not same_picture(drawn(curve()), drawn(larger))
    assert not same_picture(drawn(curve()), drawn(larger, software="another"))


def test_a_wider_margin_is_another_rasterisers_alone():
    def with_margin(software):
        with Image.open(io.BytesIO(drawn(curve()))) as image:
            wider = ImageOps.expand(image.convert("RGB"), border=(3, 0, 0, 1), fill="white")
        comments, png = PngInfo(), io.BytesIO()
        comments.add_text("Software", software)
        wider.save(png, format="png", pnginfo=comments)
        return png.getvalue()

    own = Image.open(io.BytesIO(drawn(curve()))).info["Software"]
    assert same_picture(drawn(curve()), with_margin("another"))
    assert not same_picture(drawn(curve()), with_margin(own))


# ------------------------------------------------------------------------------------- as vectors


def vectors(draw, **settings):
    """An SVG, with names and a date that matplotlib makes up anew each time."""
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(5, 4))
        draw(figure.subplots())
        svg = io.StringIO()
        figure.savefig(svg, format="svg", backend="svg")  # matplotlib's, not the book's
    return svg.getvalue()


@pytest.mark.parametrize("kind", ["path", "none"], ids=["letters drawn", "letters written"])
@pytest.mark.parametrize("name", RIGHT)
def test_the_same_drawing_under_other_names_is_the_same(name, kind):
    first, second = (vectors(RIGHT[name], **{"svg.fonttype": kind}) for _ in range(2))
    assert first != second, "no names made up: this tests nothing"
    assert same_drawing(first, second)


def test_a_hundredth_of_a_point_is_nothing():
    fixed = {"svg.hashsalt": "book"}
    first, second = vectors(curve(), **fixed), vectors(nearly_a_curve, **fixed)
    assert bare({SVG: first}) != bare({SVG: second}), "no other number: this tests nothing"
    assert same_drawing(first, second)


@pytest.mark.parametrize("kind", ["path", "none"], ids=["letters drawn", "letters written"])
@pytest.mark.parametrize(
    ("name", "wrong"), [*WRONG.values(), *SLIGHTLY_WRONG.values()], ids=[*WRONG, *SLIGHTLY_WRONG]
)
def test_a_wrong_drawing_is_another(name, wrong, kind):
    fixed = {"svg.hashsalt": "book", "svg.fonttype": kind}
    assert not same_drawing(vectors(wrong, **fixed), vectors(RIGHT[name], **fixed))


def test_a_number_rounded_up_here_and_down_there_is_the_same():
    first, second = ('<svg><path d="M 1.02 2.00"/></svg>', '<svg><path d="M 1.01 2.01"/></svg>')
    assert same_drawing(first, second)
    assert not same_drawing(first, second.replace("1.01", "1.00"))


def test_another_matplotlibs_drawing_is_judged_by_its_png():
    here, there = vectors(curve()), vectors(curve(), **{"font.size": 10.4})
    ours, theirs = encode(drawn(curve())), encode(by_another_matplotlib("curve"))
    assert not same_drawing(here, there)
    assert same_shown({PNG: ours, SVG: here}, {PNG: theirs, SVG: there})
    assert not same_shown({PNG: ours, SVG: here}, {PNG: ours, SVG: there})
    assert not same_shown({PNG: encode(drawn(bars())), SVG: here}, {PNG: theirs, SVG: there})


def test_a_drawing_keeps_no_date():
    svg = vectors(curve())
    assert "<dc:date>" in svg
    kept = bare({SVG: svg, "text/plain": "x"})
    assert "<metadata>" not in kept[SVG] and "<path" in kept[SVG]
    assert bare(kept) == kept


def test_a_bundle_is_compared_in_each_kind_that_it_has():
    png, other_png = (encode(drawn(draw)) for draw in (curve(), bars()))
    svg, other_svg = (vectors(draw) for draw in (curve(), bars()))
    both = {PNG: png, SVG: svg}
    assert same_shown(both, dict(both))
    assert same_shown({SVG: svg.splitlines(keepends=True)}, {SVG: svg}), "as nbformat splits it"
    for other in ({PNG: other_png, SVG: svg}, {PNG: png, SVG: other_svg}, {PNG: png}, {}):
        assert not same_shown(both, other)
