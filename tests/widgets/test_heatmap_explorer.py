"""The figure HeatmapExplorer: its numbers are those it was given, to the steps that it says."""

import html
import itertools
import json
import re

import numpy as np
import pytest
import torch
import traitlets

from attention_lib import (
    DotProductAttention,
    causal_mask,
    combine_masks,
    effective_keys,
    entropy,
    padding_mask,
)
from attention_lib.reader import load_reader, read
from attention_lib.widgets import HeatmapExplorer, heatmap_explorer

from .conftest import FigurePage
from .test_mechanism import looks_alike

SPREADS = {"even": 0.0, "random": 1.0, "sharp": 40.0}
LARGE = (12, 12, 128, 128)


def softmax(shape, spread=1.0, seed=0, mask=None):
    generator = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(shape, generator=generator, dtype=torch.float64)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1)


def explorer(name):
    """Figures of every kind: exact and rounded, with and without masks, tokens and layers."""
    triangle = causal_mask(7)
    leak = torch.ones(3, 5, 7, dtype=torch.bool)
    leak[1, 2, 3:] = leak[2, :, 0] = False
    return {
        "example": lambda: HeatmapExplorer(),
        "heads": lambda: HeatmapExplorer(softmax((3, 5, 7)), queries=list("abcde")),
        "layers": lambda: HeatmapExplorer(softmax((2, 3, 7, 7), mask=triangle), mask=triangle),
        "leak": lambda: HeatmapExplorer(softmax((3, 5, 7)), mask=leak, keys=list("人工智能 -x")),
        "rounded": lambda: HeatmapExplorer(softmax((9, 97, 89), spread=3.0)),
        "one": lambda: HeatmapExplorer([[[1.0]]], ["only"]),
        "nothing": lambda: HeatmapExplorer(np.zeros((2, 2, 3)), mask=np.zeros(3, bool)),
    }[name]()


NAMES = ["example", "heads", "layers", "leak", "rounded", "one", "nothing"]


def cells(figure, count=12):
    """Some cells of a figure, its corners included."""
    corners = itertools.product(*({0, size - 1} for size in figure.shape))
    random = np.random.RandomState(0).randint(0, figure.shape, size=(count, 4)).tolist()
    return [*itertools.islice(corners, count), *map(tuple, random)]


def go(figure, cell):
    for axis, place in zip(("layer", "head", "query", "key"), cell, strict=True):
        setattr(figure, axis, place)
    return figure


def plain(figure):
    """The figure's state with bytes as lists, for JSON."""
    return {k: list(v) if isinstance(v, bytes) else v for k, v in figure.state().items()}


def truth(weights, cell):
    """What the library says of a cell, its row and its column."""
    layer, head, query, key = cell
    table = torch.as_tensor(weights)[layer, head]
    return {
        "weight": table[query, key].item(),
        "row_max": table[query].max().item(),
        "row_entropy": entropy(table[query]).item(),
        "effective_keys": effective_keys(table[query]).item(),
        "column_mean": table[:, key].mean().item(),
    }


# ---------------------------------------------------------------- packing


@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS)
@pytest.mark.parametrize(
    ("shape", "levels"), [((8, 5, 5), 2**24 - 1), ((4, 31, 61), 2**24 - 1), ((5, 127, 131), 4095)]
)
def test_what_is_unpacked_is_what_was_given_to_half_a_step(node, spread, shape, levels):
    weights = softmax(shape, spread)
    weights[0, 0] = torch.eye(shape[2], dtype=weights.dtype)[1]
    figure = HeatmapExplorer(weights)
    assert figure.levels == levels
    (content,) = node("heatmap_explorer.js", "contents", [[list(figure.packed)]])
    assert content["levels"] == levels
    count = shape[1] * shape[2]
    heads = range(shape[0])
    packed = {"bytes": list(figure.packed), "tables": content["tables"]}
    steps = node("heatmap_explorer.js", "unpack", [[packed, head, count] for head in heads])
    seen = torch.tensor([list(each.values()) for each in steps], dtype=torch.float64) / levels
    assert (seen.reshape(shape) - weights).abs().max() <= 0.5001 / levels
    assert torch.equal(seen.reshape(shape)[0, 0], weights[0, 0]), "0 and 1 are exact"


def test_every_step_has_a_code_word(node):
    codes = np.arange(4096, dtype=np.int32)
    order, data = heatmap_explorer._golomb(codes, 12)
    packed = [12, *len(data).to_bytes(4, "little"), order, *data]
    (content,) = node("heatmap_explorer.js", "contents", [[packed]])
    packed = {"bytes": packed, "tables": content["tables"]}
    (steps,) = node("heatmap_explorer.js", "unpack", [[packed, 0, 4096]])
    assert list(steps.values()) == codes.tolist()


def test_the_order_with_the_fewest_bits_is_taken():
    rare, common = np.zeros(1000, np.int32), np.full(1000, 30, np.int32)
    assert (heatmap_explorer._golomb(rare, 12)[0], len(heatmap_explorer._golomb(rare, 12)[1])) == (
        0,
        125,
    )
    assert (len(heatmap_explorer._golomb(common, 12)[1])) == 1000 * 6 / 8  # order 5: 0 or 1, 5 bits


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0, 3.0])
def test_twelve_layers_of_twelve_heads_make_a_page_under_three_megabytes(spread):
    figure = HeatmapExplorer(softmax(LARGE, spread), [f"token {i}" for i in range(128)])
    size = len(figure.to_html().encode())
    print(f"spread {spread}: {size} bytes, {figure.levels} levels")
    assert size < 2_900_000
    assert figure.levels >= 1023


def test_rows_that_sum_to_one_never_take_more():
    """Weights spread as widely as rows that sum to 1 can be: exponential, by their entropy."""
    draw = np.random.RandomState(0).standard_exponential(LARGE)
    figure = HeatmapExplorer(draw / draw.sum(axis=-1, keepdims=True))
    assert len(figure.to_html()) < 2_900_000


def test_noise_takes_eight_bits():
    figure = HeatmapExplorer(np.random.RandomState(0).uniform(size=LARGE))
    assert figure.levels == 255
    assert figure._codes.max() == 255


def test_a_chapters_figure_is_small():
    figure = HeatmapExplorer(softmax((8, 5, 5)), ["5", "2", "1", "pad", "pad"])
    assert len(figure.to_html()) < 8000


# ---------------------------------------------------------------- numbers and words


@pytest.mark.parametrize("name", NAMES)
def test_javascript_agrees_with_the_library(node, name):
    figure = explorer(name)
    states = [plain(go(figure, cell)) for cell in cells(figure)]
    measured = node("heatmap_explorer.js", "measure", [[state] for state in states])
    shown = figure._codes / figure.levels
    for cell, seen in zip(cells(figure), measured, strict=True):
        wanted = truth(shown, cell)
        assert {key: seen[key] for key in wanted} == pytest.approx(wanted, abs=1e-6), cell
        assert seen["masked"] == (not figure._mask[cell])
    assert len(states) >= 13


@pytest.mark.parametrize("name", NAMES)
def test_python_says_in_words_what_javascript_says(node, name):
    figure = explorer(name)
    pairs, told = [], []
    for cell in cells(figure):
        state = plain(go(figure, cell))
        (seen,) = node("heatmap_explorer.js", "measure", [[state]])
        pairs.append([state, seen])
        told.append(figure.words())
    for sentence, words in zip(node("heatmap_explorer.js", "words", pairs), told, strict=True):
        assert words.endswith(f". {sentence}"), words


def test_words_tell_a_leak_from_a_mask_and_a_row_of_nothing():
    figure = explorer("leak")
    go(figure, (0, 2, 4, 0))
    assert "yet gives it the weight" in figure.words() and "a leak" in figure.words()
    go(explorer("nothing"), (0, 0, 0, 0))
    assert (
        explorer("nothing")
        .words()
        .endswith("Head 0: query 0 may not attend to key 0. This row has no weight at all.")
    )


def test_what_is_masked_is_hatched_and_leaks_show():
    assert "url(#masked)" not in explorer("heads").picture().partition("</defs>")[2]
    assert "url(#masked)" in explorer("layers").picture().partition("</defs>")[2]
    leaks = [go(explorer("leak"), (0, head, 0, 0)).picture().count("<rect") for head in range(3)]
    assert [count - leaks[0] for count in leaks] == [0, 4, 5]


# ---------------------------------------------------------------- what may be given


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
def test_tensors_of_every_float_dtype(dtype):
    weights = torch.tensor([[[0.25, 0.75], [1.0, 0.0]]], dtype=dtype, requires_grad=True)
    assert HeatmapExplorer(weights).to_html() == HeatmapExplorer(weights.tolist()).to_html()


def test_arrays_lists_and_the_attentions_of_a_model_are_one():
    weights = softmax((2, 3, 5, 7))
    wanted = HeatmapExplorer(weights).to_html()
    for same in (weights.numpy(), weights.tolist(), tuple(weights), tuple(weights.unsqueeze(1))):
        assert HeatmapExplorer(same).to_html() == wanted
    assert HeatmapExplorer(weights[0]).shape == [1, 3, 5, 7]
    assert HeatmapExplorer(weights.half().numpy()).shape == [2, 3, 5, 7]


def test_the_library_s_weights_and_masks_go_in_as_they_are():
    ids = torch.tensor([[5, 2, 1, 0, 0]])
    mask = combine_masks(padding_mask(ids), causal_mask(5))
    x = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(0))
    _, weights = DotProductAttention()(x, x, x, mask=mask)
    figure = HeatmapExplorer(weights, ["5", "2", "1", "pad", "pad"], mask=mask, query=1)
    assert figure.shape == [1, 1, 5, 5]
    assert np.array_equal(figure._mask[0, 0], mask[0].numpy())
    assert np.abs(figure._codes[0, 0] / figure.levels - weights[0].numpy()).max() < 1e-6


def test_one_mask_for_all_heads_travels_once(node):
    shared, each = explorer("layers"), explorer("leak")
    assert len(shared.packed_mask) == 7  # 49 bits
    assert len(each.packed_mask) == 3 * 5  # 35 bits each
    assert explorer("heads").packed_mask == b""
    for figure in (shared, each):
        masks = figure._mask.reshape(-1, *figure.shape[2:])
        asked = [[list(figure.packed_mask), head, masks[0].size] for head in range(len(masks))]
        for mask, seen in zip(masks, node("heatmap_explorer.js", "unpackMask", asked), strict=True):
            assert list(seen.values()) == mask.ravel().tolist()


EVEN = [[[0.5, 0.5]] * 3]  # (1, 3, 2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (dict(weights=[]), r"weights must be \(num_heads, len_q, len_k\) or .* got shape \(0,\)"),
        (dict(weights=np.ones((2, 0, 3))), r"weights must be .* got shape \(2, 0, 3\)"),
        (dict(weights=torch.ones(3, 3)), r"weights must be .* got shape \(3, 3\)"),
        (dict(weights=0.5), r"weights must be .* got shape \(\)"),
        (
            dict(weights=[[[0.5, np.nan]]]),
            "weights must be numbers from 0 to 1; got nan at layer 0, head 0, query 0, key 1",
        ),
        (dict(weights=[[[np.inf, 0]]]), "weights must be numbers from 0 to 1; got inf at layer 0"),
        (dict(weights=[[[0, -0.1]]]), "weights must be numbers from 0 to 1; got -0.1 at layer 0"),
        (dict(weights=[[[1.1, 0]]]), "weights must be numbers from 0 to 1; got 1.1 at layer 0"),
        (dict(weights=[[[0.5], [0.5, 0.5]]]), "weights must be an array whose rows have equal"),
        (dict(weights="words"), "weights must be numbers; got dtype"),
        (dict(weights=torch.ones(1, 2, 2).bool()), "weights must be numbers; got dtype bool"),
        (dict(weights=(None, None)), "weights must be arrays; got None; a model must be asked"),
        (
            dict(weights=(torch.ones(2, 3, 5, 5) / 5,)),
            r"weights must be of one sequence.* got layers of shape \(2, 3, 5, 5\)",
        ),
        (
            dict(weights=(torch.ones(1, 3, 5, 5), torch.ones(1, 2, 5, 5))),
            r"weights must be layers of one shape; got shapes \(1, 3, 5, 5\) and \(1, 2, 5, 5\)",
        ),
        (
            dict(weights=np.broadcast_to(0.0, (1, 2**12, 2**13))),
            "weights must be at most 16777216 numbers; got 33554432: choose",
        ),
        (dict(tokens=["a", "b"]), "tokens must be as many as the weights have, 3; got 2"),
        (dict(queries=["a"]), "queries must be as many as the weights have, 3; got 1"),
        (dict(keys=["a"] * 3), "keys must be as many as the weights have, 2; got 3"),
        (dict(keys=[]), "keys must be as many as the weights have, 2; got 0"),
        (dict(tokens=[]), "tokens must be as many as the weights have, 3; got 0"),
        (dict(keys=["a", ""]), "keys must be not empty; got '' at position 1"),
        (dict(keys=["a", 1]), r"keys must be a list of strings; got \['a', 1\]"),
        (dict(keys="ab"), "keys must be a list of strings; got 'ab'"),
        (dict(tokens=["a"] * 3, keys=["a"] * 2), "tokens must be given alone, or queries and keys"),
        (dict(weights=None, tokens=["a"]), "weights must be given where tokens or a mask are"),
        (dict(mask=[[1, 0]]), "mask must be boolean, True = may attend; got dtype int64"),
        (
            dict(mask=np.ones((2, 3), bool)),
            r"mask must be one that broadcasts .* shape \(2, 3\)",
        ),
        (dict(layer=1), "layer must be a whole number from 0 to 0; got 1"),
        (dict(query=3), "query must be a whole number from 0 to 2; got 3"),
        (dict(key=-1), "key must be a whole number from 0 to 1; got -1"),
        (dict(head=0.0), "head must be a whole number from 0 to 0; got 0.0"),
    ],
)
def test_wrong_values_are_refused(given, says):
    with pytest.raises(traitlets.TraitError, match=f"HeatmapExplorer.{says}"):
        HeatmapExplorer(**{"weights": EVEN} | given)


def test_rounding_errors_beyond_one_are_no_error():
    assert HeatmapExplorer([[[1 + 1e-7, -1e-9]]])._codes.tolist() == [[[[2**24 - 1, 0]]]]


def test_weights_stay_as_they_are():
    figure, weights = HeatmapExplorer(), softmax((1, 3, 3))
    before = weights.clone()
    HeatmapExplorer(weights)
    assert torch.equal(weights, before)
    for name in ("shape", "packed", "packed_mask", "query_tokens", "key_tokens"):
        with pytest.raises(traitlets.TraitError, match="read-only"):
            setattr(figure, name, getattr(figure, name))


# ---------------------------------------------------------------- in the browser


@pytest.mark.browser
@pytest.mark.parametrize("name", ["example", "layers", "leak", "rounded"])
def test_readouts_agree_with_the_library(show, name):
    figure = explorer(name)
    page = show(figure)
    view = page.figure()
    shown = figure._codes / figure.levels
    for cell in cells(figure, 15):
        for axis, place, size in zip(
            ("layer", "head", "query", "key"), cell, figure.shape, strict=True
        ):
            if size > 1:
                view.set(axis, place)
        assert view.readouts() == pytest.approx(truth(shown, cell), abs=1e-6)
    assert len(cells(figure, 15)) >= 20
    assert page.errors == []


@pytest.mark.browser
@pytest.mark.parametrize("name", ["leak", "layers"])
def test_colours_are_those_of_the_palette_and_masked_cells_are_clear(show, name):
    figure = explorer(name)
    len_q, len_k = figure.shape[2:]
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
        weights, mask = go(figure, (0, head, 0, 0))._table(head)
        for i, j in np.ndindex(len_q, len_k):
            cell = pixels[scale * i : scale * (i + 1), scale * j : scale * (j + 1)]
            color = heatmap_explorer.map_color(np.floor(weights[i, j] * 255 + 0.5) / 255)
            wanted = [*bytes.fromhex(color[1:]), 255]
            if mask[i, j] or weights[i, j] > 0:
                assert np.abs(cell[scale // 2, scale // 2] - wanted).max() <= 1
            assert (cell[0, 0, 3] == 255) == mask[i, j], "a masked cell is clear but in its middle"


@pytest.mark.browser
def test_pointer_and_arrow_keys_choose_the_cell(show):
    figure = explorer("heads")
    page = show(figure)
    shown = figure._codes / figure.levels
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


@pytest.mark.browser
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


@pytest.mark.browser
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


@pytest.mark.browser
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
    assert re.findall(r"<(\w+)", markup) == ["figure", "img", "figcaption", "strong"]


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


@pytest.mark.browser
def test_the_largest_stays_smooth(show):
    """12 layers of 12 heads on 128 tokens: every draw fits into a frame, small heads included."""
    triangle = causal_mask(128)
    figure = HeatmapExplorer(softmax(LARGE, mask=triangle), mask=triangle, query=99, key=50)
    page = show(figure)
    shown = figure._codes / figure.levels
    page.evaluate("watch.draws.length = 0")
    for layer, head in itertools.product(range(1, 12, 3), range(0, 12, 2)):
        page.figure().set("layer", layer)
        page.figure().set("head", head)
    draws = sorted(page.evaluate("watch.draws"))
    p95 = draws[len(draws) * 95 // 100]
    print(f"{len(draws)} frames: 95 % within {p95:.1f} ms, the longest {draws[-1]:.1f} ms")
    assert len(draws) > 40 and p95 < 1000 / 60
    wanted = truth(shown, (10, 10, 99, 50))
    assert page.figure().readouts() == pytest.approx(wanted, abs=1e-6)
    assert page.errors == []


def test_the_state_is_plain_json():
    state = json.loads(json.dumps(plain(explorer("layers"))))
    assert state["shape"] == [2, 3, 7, 7]


# ---------------------------------------------------------------- two heads; the reader's own


def test_the_heads_of_the_trained_reader_have_names():
    text = "the animal did not cross the street because it was too wide"
    figure = HeatmapExplorer.of_reader(text, head=1)
    names = ["head 1.1", "head 1.2", "head 1.3", "head 1.4", "head 2.1", "head 2.2"]
    assert figure.head_names == [*names, "pointing head"]
    reading = read(load_reader(), text)
    assert (figure.query, figure.key) == (reading.it, reading.meant)
    wanted = torch.cat(reading.weights).detach().numpy()
    assert figure._codes[0] / figure.levels == pytest.approx(wanted, abs=6e-4)
    assert "Head 1.2: query 9 “it”" in figure.words()
    with pytest.raises(
        traitlets.TraitError, match="head_names must be as many as the weights have, 2"
    ):
        HeatmapExplorer(softmax((2, 3, 3)), head_names=["one"])


PASTED = ["0.5 0.5\n0 1", "[[0.25, 0.75, 0],\n [0, 0, 1]]", "1", "0 0\n0 0"]


@pytest.mark.parametrize("text", PASTED)
def test_a_pasted_table_takes_the_place_of_the_weights(node, text):
    figure = HeatmapExplorer(layer=1, head=3, query=9, key=9, pasted=text, typed="who whom")
    (seen,) = node("heatmap_explorer.js", "measure", [[plain(figure)]])
    (sentence,) = node("heatmap_explorer.js", "words", [[plain(figure), seen]])
    assert figure.words().endswith(f". {sentence}")
    table = np.array(heatmap_explorer._read_text(text))
    cell = (0, 0, *(size - 1 for size in table.shape))
    wanted = truth(torch.as_tensor(table)[None, None], cell)
    assert {key: seen[key] for key in wanted} == pytest.approx(wanted, abs=1e-12)
    assert ("“whom”" in figure.words()) == (2 in table.shape)


@pytest.mark.parametrize("text", ["0.5\n0.5 0.5", "1.5", "-0.1", "nan", "a", "0 " * 65])
def test_what_is_no_table_of_weights_is_refused_in_both_worlds(node, text):
    with pytest.raises(traitlets.TraitError, match="pasted must be at most 64 lines of as many"):
        HeatmapExplorer(pasted=text)
    program = "(text) => { try { return readWeights(text); } catch { return 'refused'; } }"
    assert node("heatmap_explorer.js", program, [[text]], ["readWeights"]) == ["refused"]


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 860])
def test_tokens_between_lines_are_whole_words_that_do_not_touch(show, width):
    figure = HeatmapExplorer()
    texts = show(figure, width=width).locator("text[data-axis]")
    assert texts.all_text_contents() == [*figure.query_tokens, *figure.key_tokens]
    boxes = texts.evaluate_all("all => all.map((text) => text.getBoundingClientRect().toJSON())")
    count = len(figure.query_tokens)
    for row in (boxes[:count], boxes[count:]):
        assert all(left["right"] <= right["left"] + 1 for left, right in itertools.pairwise(row))
    assert boxes[0]["left"] >= 0 and boxes[-1]["right"] <= width


@pytest.mark.browser
def test_two_heads_stand_side_by_side_and_are_read_together(show):
    figure = explorer("example")
    page = show(figure, more=True, width=860)
    assert page.get_by_role("application").count() == 1
    page.figure().set("beside", 2)
    first, second = page.get_by_role("application").all()
    one, other = first.bounding_box(), second.bounding_box()
    assert one["y"] == other["y"] and one["x"] + one["width"] <= other["x"]
    assert "head 2" in second.get_by_role("img").get_attribute("aria-label")
    query, key = figure.query, figure.key
    weight = figure._codes[0, 2, query, key] / figure.levels
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


@pytest.mark.browser
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


@pytest.mark.browser
@pytest.mark.parametrize("name", ["example", "leak"])
def test_it_is_saved_as_one_file_in_the_browser_as_in_python(chromium, show, tmp_path, name):
    figure = explorer(name)
    page = show(figure, more=True)
    figure.head, figure.query, figure.beside = 2, 4, 0
    figure.typed = '1 </script> "d" &amp; 人' if name == "leak" else ""
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
        seen.append((picture, json.loads(attributes.pop("state")), attributes, alone.title()))
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
    assert ours == theirs and looks_alike(first, second)
    assert said[0] == said[1]
    caption = re.search(r"<figcaption>(.*?)</figcaption>", (tmp_path / "browser.html").read_text())
    finding = page.locator(".attention-finding").inner_text()
    assert (
        html.unescape(caption[1]) == f"<strong>{figure._title}.</strong> {figure._task} {finding}"
    )
    assert figure.words().endswith(finding)


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
