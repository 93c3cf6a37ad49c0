"""Two pictures, of matplotlib or of a browser, are the same where nobody sees a difference."""

import io
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from website import pictures
from website.pictures import same_drawing, same_picture

PICTURES = Path(__file__).with_name("pictures")


def drawn(draw, size=(5, 4), software=None, **settings):
    """A PNG, drawn under settings of matplotlib; ``software`` passes it off as another's."""
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=size, facecolor="white")
        draw(figure.subplots())
        png = io.BytesIO()
        metadata = {"Software": software} if software else {}
        figure.savefig(png, format="png", bbox_inches="tight", metadata=metadata)
    return png.getvalue()


def vectors(draw, **settings):
    """An SVG as matplotlib writes it, with names and a date that it makes up anew each time."""
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(5, 4))
        draw(figure.subplots())
        svg = io.StringIO()
        figure.savefig(svg, format="svg", backend="svg")  # matplotlib's, not the book's
    return svg.getvalue()


def curve(move=0.0, title="Weight and temperature", rounding=0.0):
    x = np.linspace(0, 10, 300) * (1 + rounding)

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
    "cell 0.025 off": ("heatmap", heatmap(0.025)),
    "bar 0.03 too high": ("bars", bars(0.03)),
    "one bar more": ("bars", lambda ax: (bars()(ax), ax.bar(["mats"], [0.5]))),
}
SLIGHTLY_WRONG = {
    "curve moved a little": ("curve", curve(0.03)),
    "one letter": ("curve", curve(title="Weight and temporature")),
    "one digit": ("heatmap", heatmap(digit=0.01)),
    "bar 0.01 too high": ("bars", bars(0.01)),
}


def by_another_matplotlib(name):
    """Pictures of RIGHT as matplotlib 3.10.0 drew them, with FreeType 2.6.1."""
    return (PICTURES / f"{name}-matplotlib-3.10.0.png").read_bytes()


@pytest.mark.parametrize("name", RIGHT)
def test_letters_drawn_by_another_rasteriser_are_the_same_picture(name):
    here = drawn(RIGHT[name])
    for other in (
        by_another_matplotlib(name),
        drawn(RIGHT[name], **{"text.hinting": "no_hinting"}),
    ):
        assert same_picture(here, other) and same_picture(other, here)
        a, b = (Image.open(io.BytesIO(png)).convert("RGB") for png in (here, other))
        assert pictures.worst_window(*pictures.overlap(a, b, 0, 0)) > 9, "the same letters?"


@pytest.mark.parametrize(("name", "wrong"), WRONG.values(), ids=WRONG)
def test_a_wrong_picture_is_another_picture_whatever_drew_it(name, wrong):
    there = by_another_matplotlib(name)
    assert not same_picture(drawn(wrong), there) and not same_picture(there, drawn(wrong))
    assert not same_picture(drawn(wrong), drawn(RIGHT[name]))


@pytest.mark.parametrize("kind", ["path", "none"], ids=["letters drawn", "letters written"])
@pytest.mark.parametrize("name", RIGHT)
def test_the_same_drawing_under_other_names_is_the_same(name, kind):
    first, second = (vectors(RIGHT[name], **{"svg.fonttype": kind}) for _ in range(2))
    assert first != second, "no names made up: this tests nothing"
    assert same_drawing(first, second)


@pytest.mark.parametrize("kind", ["path", "none"], ids=["letters drawn", "letters written"])
@pytest.mark.parametrize(
    ("name", "wrong"), [*WRONG.values(), *SLIGHTLY_WRONG.values()], ids=[*WRONG, *SLIGHTLY_WRONG]
)
def test_a_wrong_drawing_is_another_to_the_letter(name, wrong, kind):
    fixed = {"svg.hashsalt": "book", "svg.fonttype": kind}
    assert not same_drawing(vectors(wrong, **fixed), vectors(RIGHT[name], **fixed))
