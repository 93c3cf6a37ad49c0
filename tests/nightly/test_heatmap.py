"""The figure HeatmapExplorer at its limits: how weights are packed, and its one file."""

import html
import itertools
import json
import re

import numpy as np
import pytest

from attention_workbook.figures import HeatmapExplorer, heatmap_explorer
from tests.attention_workbook.figures.conftest import FigurePage
from tests.attention_workbook.figures.test_heatmap_explorer import (
    LARGE,
    explorer,
    shown_by,
    softmax,
)
from website.pictures import same_picture


def test_every_step_has_a_code_word(node):
    codes = np.arange(4096, dtype=np.int32)
    order, data = heatmap_explorer._golomb(codes, 12)
    packed = [12, *len(data).to_bytes(4, "little"), order, *data]
    (content,) = node("_shared/packed.js", "packedHeads", [[packed]])
    packed = {"bytes": packed, "tables": content["tables"]}
    (steps,) = node("_shared/packed.js", "unpackHead", [[packed, 0, 4096]])
    assert list(steps.values()) == codes.tolist()


def test_the_order_with_the_fewest_bits_is_taken():
    rare, common = np.zeros(1000, np.int32), np.full(1000, 30, np.int32)
    assert (heatmap_explorer._golomb(rare, 12)[0], len(heatmap_explorer._golomb(rare, 12)[1])) == (
        0,
        125,
    )
    assert (len(heatmap_explorer._golomb(common, 12)[1])) == 1000 * 6 / 8  # order 5: 0 or 1, 5 bits


def test_rows_that_sum_to_one_never_take_more():
    """Weights spread as widely as rows that sum to 1 can be: exponential, by their entropy."""
    draw = np.random.RandomState(0).standard_exponential(LARGE)
    figure = HeatmapExplorer(draw / draw.sum(axis=-1, keepdims=True))
    assert len(figure.to_html()) < 2_900_000


def test_noise_takes_eight_bits():
    figure = HeatmapExplorer(np.random.RandomState(0).uniform(size=LARGE))
    assert figure.packed[0] == 8


@pytest.mark.browser
def test_it_is_saved_as_one_file_in_the_browser_as_in_python(chromium, show, tmp_path):
    figure = explorer("leak")
    page = show(figure, more=True)
    figure.head, figure.query, figure.beside = 2, 4, 0
    figure.typed = '1 </script> "d" &amp; 人'
    for trait in ("head", "query", "beside"):
        page.figure().set(trait, getattr(figure, trait))
    page.get_by_label("Tokens of your own").fill(figure.typed)
    page.settle()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save as one file").click()
    assert saving.value.suggested_filename == "HeatmapExplorer.html"
    saving.value.save_as(tmp_path / "browser.html")
    figure.save(tmp_path / "python.html")
    assert page.errors == [] and page.refused == []

    context = chromium.new_context(offline=True)
    said, seen = [], []
    for file in ("browser.html", "python.html"):
        alone = FigurePage(context.new_page())
        alone.goto((tmp_path / file).as_uri())
        alone.locator(".attention-live .attention-finding").wait_for()
        alone.wait_for_timeout(300)  # the small heads are painted one by one
        attributes = alone.locator("figure").evaluate("node => ({ ...node.dataset })")
        picture = alone.locator(".attention-view").screenshot()
        seen.append((picture, json.loads(attributes.pop("state")), attributes))
        assert alone.figure().readouts() == page.figure().readouts()
        cells = alone.locator(".attention-map > canvas").first
        width = cells.bounding_box()["width"]
        cells.click(position={"x": width - 4, "y": 4}, force=True)  # below the SVG that listens
        alone.settle()
        assert alone.figure().readouts() != page.figure().readouts()
        said.append(alone.locator(".attention-finding").inner_text())
        assert alone.evaluate("performance.getEntriesByType('resource').length") == 0
        assert alone.errors == []
    context.close()
    (first, *ours), (second, *theirs) = seen
    assert ours == theirs and same_picture(first, second)
    assert said[0] == said[1]
    caption = re.search(r"<figcaption>(.*?)</figcaption>", (tmp_path / "browser.html").read_text())
    finding = page.locator(".attention-finding").inner_text()
    assert html.unescape(caption[1]).endswith(f" {finding}")


@pytest.mark.browser
def test_where_the_stylesheet_cannot_be_read_no_file_is_offered(show):
    page = show(HeatmapExplorer(), more=True)
    button = page.get_by_role("button", name="Save as one file")
    assert button.count() == 1
    page.evaluate(
        """async () => {
        const figure = document.querySelector('figure');
        document.querySelector('link[href*="figure.css"]').remove();
        attentionWidgets.unmount(figure);
        await attentionWidgets.mount(figure);
        }"""
    )
    assert button.count() == 0 and page.errors == []


@pytest.mark.browser
def test_labels_of_a_crowded_heatmap_stay_apart_and_on_the_page(show):
    tokens = [f"a long token {i}" for i in range(128)]
    for width in (320, 860):
        page = show(HeatmapExplorer(softmax((1, 128, 128)), tokens, query=63, key=64), width=width)
        frame = page.locator(".attention-map").bounding_box()
        boxes = page.locator(".attention-map text[x]:not([transform])").evaluate_all(
            "all => all.map(text => text.getBoundingClientRect().toJSON())"
        )
        rows = sorted(
            (box["top"], box["bottom"]) for box in boxes if box["right"] < frame["x"] + 160
        )
        assert len(rows) >= 8
        for (_, bottom), (top, _) in itertools.pairwise(rows):
            assert top > bottom - 4
        assert all(box["left"] >= frame["x"] - 1 for box in boxes)
        chosen = page.locator(".attention-map .attention-chosen").all_text_contents()
        assert any(text.startswith("a␣long") for text in chosen)


def test_there_are_sliders_for_what_there_is_more_than_one_of(show):
    traits = "all => all.map(label => label.dataset.trait)"
    controls = ".attention-control"
    assert show(explorer("example")).locator(controls).evaluate_all(traits) == [
        *("layer", "head", "query", "key", "beside")
    ]
    assert show(explorer("heads")).locator(controls).evaluate_all(traits) == [
        *("head", "query", "key", "beside")
    ]
    page = show(explorer("one"))
    page.locator("summary").click()
    assert page.locator(f"{controls}:visible").count() == 0
    assert page.locator(".attention-thumb").count() == 0
    assert page.figure().read("weight") == 1


def test_two_heads_stand_side_by_side_and_are_read_together(show, node):
    figure = explorer("example")
    page = show(figure, more=True, width=860)
    assert page.get_by_role("application").count() == 1
    page.figure().set("beside", 2)
    first, second = page.get_by_role("application").all()
    one, other = first.bounding_box(), second.bounding_box()
    assert one["y"] == other["y"] and one["x"] + one["width"] <= other["x"]
    assert "head 2" in second.get_by_role("img").get_attribute("aria-label")
    query, key = figure.query, figure.key
    weight = shown_by(node, figure)[0][0, 2, query, key]
    said = page.locator(".attention-finding").inner_text()
    assert f"Beside it: head 2, where this cell has {weight:.3f}." in said
    second.focus()
    second.press("ArrowUp")
    page.settle()
    marks = page.locator(".attention-cell[x]").evaluate_all(
        "all => all.map((mark) => mark.getAttribute('y'))"
    )
    assert len({*marks}) == 1 and len(marks) == 2
    page.set_viewport_size({"width": 320, "height": 800})
    page.settle()
    one, other = (each.bounding_box() for each in page.get_by_role("application").all())
    assert one["x"] == other["x"] and one["y"] + one["height"] <= other["y"]
    page.figure().set("beside", -1)
    assert page.get_by_role("application").count() == 1
    assert page.errors == []


def test_a_reader_pastes_a_table_and_types_tokens_and_starts_over(show):
    page = show(explorer("example"), more=True)
    field = page.get_by_label("Weights of your own")
    field.fill("0.25 0.75\n1 0")
    page.get_by_label("Tokens of your own").fill("so good")
    page.settle()
    said = page.locator(".attention-finding").inner_text()
    assert said.startswith("Query 1 “good” gives key 1 “good” the weight 0.000.")
    assert page.figure().read("row_max") == 1 and page.figure().read("column_mean") == 0.375
    shown = page.locator(".attention-map text").all_text_contents()
    assert [text for text in shown if text[0].isdigit()] == ["0.25", "0.75", "1.00", "0.00"]
    assert not page.figure().control("layer").is_visible()
    assert page.figure().control("query").locator("input").get_attribute("max") == "1"
    field.fill("0.25 0.75\n1")
    field.blur()
    alert = page.locator(".attention-refusal:visible")
    assert alert.inner_text() == "Line 2 has 1 number, line 1 has 2."
    page.get_by_role("button", name="Reset").click()
    page.settle()
    assert page.locator(".attention-finding").inner_text().startswith("Layer 0, head 1: query 7")
    assert page.figure().control("layer").is_visible() and page.errors == []
