"""The figure HeatmapExplorer in the browser: cells, heads, pasted tables, and its one file."""

import itertools
import re

import numpy as np
import pytest

from attention_lib.palette import WEIGHT_MAP
from attention_workbook.figures import HeatmapExplorer

from .conftest import spread
from .test_heatmap_explorer import cells, explorer, shown_by, softmax, truth

pytestmark = pytest.mark.browser


def test_a_saved_file_would_have_every_rule_whole(show):
    page = show(HeatmapExplorer())
    style = page.get("_css")
    rules = re.findall(r"^\.attention-view {(.*)}", style, re.MULTILINE)
    assert any("font-family: var(--signs," in rule and "tabular-nums" in rule for rule in rules)
    assert not re.search(r"[\w-]: ?;", style)  # a browser drops what it cannot write


def hold_readouts(show, node, name, places):
    """Go to some of the figure's cells and hold its readouts against the library."""
    figure = explorer(name)
    page = show(figure)
    view = page.figure()
    shown, _ = shown_by(node, figure)
    for cell in places(cells(figure, 15)):
        for axis, place, size in zip(
            ("layer", "head", "query", "key"), cell, figure.shape, strict=True
        ):
            if size > 1:
                view.set(axis, place)
        assert view.readouts() == pytest.approx(truth(shown, cell), abs=1e-6)
    assert page.errors == []


def test_readouts_agree_with_the_library(show, node):
    hold_readouts(show, node, "layers", spread)


def map_color(weight):
    """Red, green and blue of a weight: straight lines between the colours of the palette's map."""
    stops = [[*bytes.fromhex(color[1:])] for color in WEIGHT_MAP]
    places = np.linspace(0, 1, len(stops))
    return [np.interp(weight, places, part) for part in zip(*stops, strict=True)]


def test_colours_are_those_of_the_palette_and_masked_cells_are_clear(show, node):
    hold_colours(show, node, "leak")


def hold_colours(show, node, name):
    """Hold the pixels of three heads against the palette's map."""
    figure = explorer(name)
    len_q, len_k = figure.shape[2:]
    shown, allowed = shown_by(node, figure)
    page = show(figure)
    for head in range(3):
        page.figure().set("head", head)
        size, pixels = page.evaluate(
            """() => {
            const canvas = document.querySelector('.attention-map canvas');
            const { width, height } = canvas;
            const image = canvas.getContext('2d').getImageData(0, 0, width, height);
            return [[height, width], Array.from(image.data)];
            }"""
        )
        pixels = np.array(pixels).reshape(*size, 4)
        scale = size[0] // len_q
        assert scale == (3 if name == "leak" and head else 1)
        weights, mask = shown[0, head], allowed[0, head]
        for i, j in np.ndindex(len_q, len_k):
            cell = pixels[scale * i : scale * (i + 1), scale * j : scale * (j + 1)]
            wanted = [*map_color(weights[i, j]), 255]
            if mask[i, j] or weights[i, j] > 0:
                assert np.abs(cell[scale // 2, scale // 2] - wanted).max() <= 2
            assert (cell[0, 0, 3] == 255) == mask[i, j], "a masked cell is clear but in its middle"


def test_pointer_and_arrow_keys_choose_the_cell(show, node):
    figure = explorer("heads")
    page = show(figure)
    shown, _ = shown_by(node, figure)
    grid = page.get_by_role("application")
    box = page.locator(".attention-map canvas").bounding_box()
    side = box["width"] / 7

    def there():
        page.settle()
        found = page.figure().control("query"), page.figure().control("key")
        return tuple(int(one.locator("input").input_value()) for one in found)

    page.mouse.move(box["x"] + side * 4.5, box["y"] + side * 2.5)
    assert there() == (2, 4)
    assert page.figure().readouts() == pytest.approx(truth(shown, (0, 0, 2, 4)), abs=1e-6)
    page.mouse.move(box["x"] + side * 7.5, box["y"] + side * 2.5)  # beside the cells
    assert there() == (2, 4)
    grid.focus()
    for key, cell in [
        ("ArrowRight", (2, 5)),
        ("ArrowDown", (3, 5)),
        ("ArrowDown", (4, 5)),
        ("ArrowDown", (4, 5)),
        ("ArrowUp", (3, 5)),
        ("ArrowLeft", (3, 4)),
        ("End", (3, 6)),
        ("ArrowRight", (3, 6)),
        ("Home", (3, 0)),
        ("ArrowLeft", (3, 0)),
        ("Control+ArrowRight", (3, 0)),
        ("x", (3, 0)),
    ]:
        grid.press(key)
        assert there() == cell, key
    assert page.figure().readouts() == pytest.approx(truth(shown, (0, 0, 3, 0)), abs=1e-6)
    assert grid.get_attribute("aria-label") and page.errors == []


def test_a_tap_chooses_a_cell_and_a_small_picture_a_head(show):
    page = show(explorer("heads"), width=320, has_touch=True, is_mobile=True)
    box = page.locator(".attention-map canvas").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.9)
    page.settle()
    assert page.figure().control("query").locator("input").input_value() == "4"
    assert page.figure().control("key").locator("input").input_value() == "3"
    page.locator(".attention-thumb").nth(2).tap()
    page.settle()
    assert page.figure().control("head").locator("input").input_value() == "2"
    assert "Head 2" in page.locator(".attention-finding").inner_text()


def test_the_sentence_follows_the_hand_to_a_row_or_a_column(show, node):
    figure = explorer("heads")
    page = show(figure)
    shown, _ = shown_by(node, figure)
    box = page.locator(".attention-map canvas").bounding_box()
    side = box["width"] / 7
    said = page.locator(".attention-finding")
    page.mouse.move(box["x"] + side * 4.5, box["y"] - 12)  # the name of key 4
    page.settle()
    column = shown[0, 0, :, 4]
    wanted = rf"key 4 .*looked at most by query {column.argmax()}\b.*\({column.max():.3f}\)"
    assert re.search(wanted, said.inner_text())
    page.mouse.move(box["x"] - 12, box["y"] + side * 2.5)  # the name of query 2
    page.settle()
    wanted = rf"query 2\b.* gives key 4\b.* the weight {shown[0, 0, 2, 4]:.3f}"
    assert re.search(wanted, said.inner_text())


def test_tokens_are_text(show):
    tokens = ["<img src=x onerror=alert(1)>", "</script>", "注意力机制", " ", "$x$"]
    figure = HeatmapExplorer(softmax((2, 5, 5)), tokens, query=1, key=0)
    page = show(figure)
    assert page.errors == [] and page.refused == []
    assert page.locator(".attention-view img").count() == 0
    said = page.locator(".attention-finding").inner_text()
    assert "query 1 “</script>” gives key 0 “<img␣src=x␣onerror=alert(1)>”" in said
    labels = page.locator(".attention-map").text_content()
    for part in ("<img", "</scri", "注意力", "␣", "$x$"):
        assert part in labels
    markup = figure.to_html()
    assert re.findall(r"<(\w+)", markup) == ["figure", "figcaption"]


@pytest.mark.parametrize("width", [600, 860])
def test_tokens_between_lines_are_whole_words_that_do_not_touch(show, width):
    figure = HeatmapExplorer()
    texts = show(figure, width=width).locator("text[data-axis]")
    assert texts.all_text_contents() == [*figure.query_tokens, *figure.key_tokens]
    boxes = texts.evaluate_all("all => all.map((text) => text.getBoundingClientRect().toJSON())")
    count = len(figure.query_tokens)
    for row in (boxes[:count], boxes[count:]):
        assert all(one["bottom"] <= two["top"] + 2 for one, two in itertools.pairwise(row))
        assert min(box["left"] for box in row) >= 0 and max(box["right"] for box in row) <= width
    assert max(box["height"] for box in boxes) < 24, "words are written across"
