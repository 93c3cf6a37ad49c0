"""The figure HeatmapExplorer: its numbers are those it was given, to the steps that it says."""

import itertools
import json

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
from attention_workbook.figures import HeatmapExplorer, heatmap_explorer
from attention_workbook.reader import load_reader, read
from attention_workbook.reader.explorer import explore

SPREADS = {"even": 0.0, "random": 1.0, "sharp": 40.0}
LARGE = (12, 12, 128, 128)
LEAK = torch.ones(3, 5, 7, dtype=torch.bool)
LEAK[1, 2, 3:] = LEAK[2, :, 0] = False


def softmax(shape, spread=1.0, seed=0, mask=None):
    generator = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(shape, generator=generator, dtype=torch.float64)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1)


def explorer(name):
    """Figures of every kind: exact and rounded, with and without masks, tokens and layers."""
    triangle = causal_mask(7)
    return {
        "example": lambda: HeatmapExplorer(),
        "heads": lambda: HeatmapExplorer(softmax((3, 5, 7)), queries=list("abcde")),
        "layers": lambda: HeatmapExplorer(softmax((2, 3, 7, 7), mask=triangle), mask=triangle),
        "leak": lambda: HeatmapExplorer(softmax((3, 5, 7)), mask=LEAK, keys=list("人工智能 -x")),
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


def shown_by(node, figure):
    """The weights as the figure unpacks them, and which cells may be attended to."""
    program = """(state) => {
        const { levels, ...packed } = packedHeads(new Uint8Array(state.packed));
        const mask = new Uint8Array(state.packed_mask);
        const count = state.shape[2] * state.shape[3];
        const heads = packed.tables.map((_, i) => [
            Array.from(unpackHead(packed, i, count), (step) => step / levels),
            Array.from(unpackMask(mask, i, count)),
        ]);
        return [0, 1].map((which) => heads.map((head) => head[which]));
    }"""
    names = ["packedHeads", "unpackHead", "unpackMask"]
    ((weights, allowed),) = node("_shared/packed.js", program, [[plain(figure)]], names)
    return np.reshape(weights, figure.shape) * 1.0, np.reshape(allowed, figure.shape) == 1


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
    (content,) = node("_shared/packed.js", "packedHeads", [[list(figure.packed)]])
    assert content["levels"] == levels
    count = shape[1] * shape[2]
    heads = range(shape[0])
    packed = {"bytes": list(figure.packed), "tables": content["tables"]}
    steps = node("_shared/packed.js", "unpackHead", [[packed, head, count] for head in heads])
    seen = torch.tensor([list(each.values()) for each in steps], dtype=torch.float64) / levels
    assert (seen.reshape(shape) - weights).abs().max() <= 0.5001 / levels
    assert torch.equal(seen.reshape(shape)[0, 0], weights[0, 0]), "0 and 1 are exact"


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_twelve_layers_of_twelve_heads_take_less_than_three_megabytes(spread):
    figure = HeatmapExplorer(softmax(LARGE, spread), [f"token {i}" for i in range(128)])
    size = len(figure.to_html().encode())
    assert size < 2_900_000
    assert figure.packed[0] >= 10, "bits of a weight"


def test_a_chapters_figure_is_small():
    figure = HeatmapExplorer(softmax((8, 5, 5)), ["5", "2", "1", "pad", "pad"])
    assert len(figure.to_html()) < 8000


# ---------------------------------------------------------------- numbers and words


@pytest.mark.parametrize("name", NAMES)
def test_javascript_agrees_with_the_library(node, name):
    figure = explorer(name)
    states = [plain(go(figure, cell)) for cell in cells(figure)]
    measured = node("_heatmap/numbers.js", "measure", [[state] for state in states])
    shown, allowed = shown_by(node, figure)
    for cell, seen in zip(cells(figure), measured, strict=True):
        wanted = truth(shown, cell)
        assert {key: seen[key] for key in wanted} == pytest.approx(wanted, abs=1e-6), cell
        assert seen["masked"] == (not allowed[cell])
    assert len(states) >= 13


def said_by(node, figure):
    """What the figure says, in its own words."""
    program, names = "(state) => words(state, measure(state))", ["words", "measure"]
    return node("_heatmap/numbers.js", program, [[plain(figure)]], names)[0]


def test_words_tell_a_leak_from_a_mask_and_a_row_of_nothing(node):
    leak = said_by(node, go(explorer("leak"), (0, 2, 4, 0)))
    assert "yet gives it the weight" in leak and "a leak" in leak
    assert said_by(node, explorer("nothing")) == (
        "Head 0: query 0 may not attend to key 0. This row has no weight at all."
    )


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


def test_the_library_s_weights_and_masks_go_in_as_they_are(node):
    ids = torch.tensor([[5, 2, 1, 0, 0]])
    mask = combine_masks(padding_mask(ids), causal_mask(5))
    x = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(0))
    _, weights = DotProductAttention()(x, x, x, mask=mask)
    figure = HeatmapExplorer(weights, ["5", "2", "1", "pad", "pad"], mask=mask, query=1)
    assert figure.shape == [1, 1, 5, 5]
    shown, allowed = shown_by(node, figure)
    assert np.array_equal(allowed[0, 0], mask[0].numpy())
    assert np.abs(shown[0, 0] - weights[0].numpy()).max() < 1e-6


def test_one_mask_for_all_heads_travels_once(node):
    shared, each = explorer("layers"), explorer("leak")
    assert len(shared.packed_mask) == 7  # 49 bits
    assert len(each.packed_mask) == 3 * 5  # 35 bits each
    assert explorer("heads").packed_mask == b""
    for figure in (shared, each):
        _, allowed = shown_by(node, figure)
        wanted = causal_mask(7) if figure is shared else LEAK
        assert (allowed == wanted.numpy()).all()


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


def test_rounding_errors_beyond_one_are_no_error(node):
    assert shown_by(node, HeatmapExplorer([[[1 + 1e-7, -1e-9]]]))[0].tolist() == [[[[1, 0]]]]


def test_weights_stay_as_they_are():
    figure, weights = HeatmapExplorer(), softmax((1, 3, 3))
    before = weights.clone()
    HeatmapExplorer(weights)
    assert torch.equal(weights, before)
    for name in ("shape", "packed", "packed_mask", "query_tokens", "key_tokens"):
        with pytest.raises(traitlets.TraitError, match="read-only"):
            setattr(figure, name, getattr(figure, name))


def test_the_state_is_plain_json():
    state = json.loads(json.dumps(plain(explorer("layers"))))
    assert state["shape"] == [2, 3, 7, 7]


# ---------------------------------------------------------------- two heads; the reader's own


def test_the_heads_of_the_trained_reader_have_names(node):
    text = "the animal did not cross the street because it was too wide"
    figure = explore(text, head=1)
    names = ["head 1.1", "head 1.2", "head 1.3", "head 1.4", "head 2.1", "head 2.2"]
    assert figure.head_names == [*names, "pointing head"]
    reading = read(load_reader(), text)
    assert (figure.query, figure.key) == (reading.it, reading.meant)
    wanted = torch.cat(reading.weights).detach().numpy()
    assert shown_by(node, figure)[0][0] == pytest.approx(wanted, abs=6e-4)
    assert said_by(node, figure).startswith("Head 1.2: query 9 “it”")
    with pytest.raises(
        traitlets.TraitError, match="head_names must be as many as the weights have, 2"
    ):
        HeatmapExplorer(softmax((2, 3, 3)), head_names=["one"])


PASTED = ["0.5 0.5\n0 1", "[[0.25, 0.75, 0],\n [0, 0, 1]]", "1", "0 0\n0 0"]


@pytest.mark.parametrize("text", PASTED)
def test_a_pasted_table_takes_the_place_of_the_weights(node, text):
    figure = HeatmapExplorer(layer=1, head=3, query=9, key=9, pasted=text, typed="who whom")
    (seen,) = node("_heatmap/numbers.js", "measure", [[plain(figure)]])
    table = np.array(heatmap_explorer._read_text(text))
    cell = (0, 0, *(size - 1 for size in table.shape))
    wanted = truth(torch.as_tensor(table)[None, None], cell)
    assert {key: seen[key] for key in wanted} == pytest.approx(wanted, abs=1e-12)
    assert ("“whom”" in said_by(node, figure)) == (2 in table.shape)


@pytest.mark.parametrize("text", ["0.5\n0.5 0.5", "1.5", "-0.1", "nan", "a", "0 " * 65])
def test_what_is_no_table_of_weights_is_refused_in_both_worlds(node, text):
    with pytest.raises(traitlets.TraitError, match="pasted must be at most 64 lines of as many"):
        HeatmapExplorer(pasted=text)
    program = "(text) => { try { return readWeights(text); } catch { return 'refused'; } }"
    assert node("_heatmap/numbers.js", program, [[text]], ["readWeights"]) == ["refused"]
