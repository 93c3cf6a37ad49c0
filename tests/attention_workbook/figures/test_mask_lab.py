"""The figure MaskLab: its cells are PyTorch's and attention_lib's, NaN for NaN and 0 for 0."""

import itertools
import math

import numpy as np
import pytest
import torch
import traitlets

from attention_lib import causal_mask, combine_masks, length_mask, masked_softmax
from attention_workbook.figures import MaskLab

from .conftest import spread

FILLS = ["0", "-1", "-1e6", "-1e9", "-inf", "safe"]
DTYPES = ["float16", "bfloat16", "float32", "float64"]
NAMES = ("valid_len", "fill", "dtype", "causal", "left", "low")
SETTINGS = [
    dict(zip(NAMES, setting, strict=True))
    for setting in itertools.product(range(6), FILLS, DTYPES, *[[False, True]] * 3)
]
# A weight may be so far from PyTorch's: its exponential in float32 is an approximation. The half
# types round that away, see test_no_weight_is_near_a_tie.
TOLERANCE = {"float16": 0, "bfloat16": 0, "float32": 1e-6, "float64": 1e-12}


def mask_of(setting):
    valid = length_mask(torch.tensor([setting["valid_len"]]), 5)[0]  # (1, len_k)
    if setting["left"]:
        valid = valid.flip(-1)
    mask = combine_masks(valid, causal_mask(5) if setting["causal"] else None)
    return mask.expand(5, 5)


def scores_of(setting):
    """The scores as the chapter on masks lowers them, in the setting's dtype."""
    dtype = getattr(torch, setting["dtype"])
    scores = torch.tensor(MaskLab().scores, dtype=dtype)  # (len_q, len_k)
    if setting["low"]:
        scores[2] += torch.finfo(dtype).min / 2
    return scores


def truth(setting):
    """Filled scores, weights and readouts, as PyTorch and the library make them."""
    scores, mask = scores_of(setting), mask_of(setting)
    if setting["fill"] == "safe":
        weights = masked_softmax(scores, mask=mask)
        filled = torch.where(mask, scores, -torch.inf)
        filled[~mask.any(dim=-1)] = 0.0
    else:
        # Some torch refuses to assign what overflows float16, some makes it -inf, as rounding does.
        fill = torch.tensor(float(setting["fill"]), dtype=torch.float64).to(scores.dtype)
        filled = torch.where(mask, scores, fill)
        weights = torch.softmax(filled, dim=-1)
    weights = weights.double()
    attending = mask.any(dim=-1)
    missed = (weights[attending].sum(dim=-1) - 1).abs()
    leak = weights.masked_fill(mask, 0.0).nansum().item()
    readouts = {
        "spilled": leak / weights.nansum().item() if leak else 0.0,
        "leak": leak,
        "nan_cells": weights.isnan().sum().item(),
        "row_sum_error": missed.max().item() if attending.any() else 0.0,
        "empty_rows": (~attending).sum().item(),
    }
    return filled.double(), weights, readouts


def raises(setting):
    """Whether masked_fill refuses the fill in this dtype."""
    if setting["fill"] == "safe":
        return False
    try:
        scores_of(setting).masked_fill(~mask_of(setting), float(setting["fill"]))
    except RuntimeError as error:
        assert "value cannot be converted to type" in str(error)
        return True
    return False


def from_json(table, null):
    """A table that came as JSON, which has null for NaN and for infinity."""
    rows = [[null if number is None else number for number in row] for row in table]
    return torch.tensor(rows, dtype=torch.float64)


def assert_same_weights(setting, weights, wanted):
    assert torch.equal(weights.isnan(), wanted.isnan()), setting
    assert torch.equal(weights == 0, wanted == 0), setting
    tolerance = TOLERANCE[setting["dtype"]]
    assert torch.allclose(weights, wanted, atol=tolerance, rtol=0, equal_nan=True), setting


@pytest.fixture(scope="module")
def measured(node):
    states = [[MaskLab(**setting).state()] for setting in SETTINGS]
    return node("mask_lab.js", "measure", states)


def test_javascript_agrees_with_pytorch_cell_by_cell(measured):
    assert len(SETTINGS) == 1152
    hold_cells(measured, slice(None, None, 7))  # no factor of their number: every value occurs


def hold_cells(measured, which):
    """Hold all cells and readouts of some settings against PyTorch."""
    for setting, seen in zip(SETTINGS[which], measured[which], strict=True):
        filled, weights, readouts = truth(setting)
        assert torch.equal(torch.tensor(seen["allowed"]), mask_of(setting)), setting
        assert torch.equal(from_json(seen["filled"], -math.inf), filled), setting
        assert_same_weights(setting, from_json(seen["weights"], math.nan), weights)
        shown = {name: seen[name] for name in readouts}
        assert shown == pytest.approx(readouts, abs=1e-6), setting
        assert seen["overflows"] == raises(setting), setting


def test_every_case_of_the_chapter_occurs(measured):
    """The verdicts of the chapter's table, for the rows it draws."""
    seen = {tuple(setting.values()): one for setting, one in zip(SETTINGS, measured, strict=True)}

    def verdict(fill, dtype, valid_len=3, low=False):
        one = seen[valid_len, fill, dtype, False, False, low]
        if one["overflows"]:
            return "raises"
        return "NaN" if one["nan_cells"] else "leaks" if one["leak"] else "right"

    for dtype in DTYPES:
        half = dtype == "float16"
        for fill in ("0", "-1"):
            assert verdict(fill, dtype) == verdict(fill, dtype, low=True) == "leaks"
        for fill in ("-1e6", "-1e9"):
            assert verdict(fill, dtype) == ("raises" if half else "right")
            assert verdict(fill, dtype, low=True) == ("raises" if half else "leaks")
            assert verdict(fill, dtype, valid_len=0) == ("raises" if half else "leaks")
        assert verdict("-inf", dtype) == verdict("-inf", dtype, low=True) == "right"
        assert verdict("-inf", dtype, valid_len=0) == "NaN"
        for setting in ({}, {"low": True}, {"valid_len": 0}):
            assert verdict("safe", dtype, **setting) == "right"


def test_an_assigned_fill_below_float16_is_minus_infinity(measured):
    for setting, seen in zip(SETTINGS, measured, strict=True):
        if seen["overflows"]:
            assert setting["dtype"] == "float16" and setting["fill"] in ("-1e6", "-1e9")
            assert seen["nan_cells"] == 5 * seen["empty_rows"]
            assert seen["leak"] == 0


def test_an_empty_row_is_shared_out_evenly_over_padding(measured):
    for setting, seen in zip(SETTINGS, measured, strict=True):
        if setting["valid_len"] == 0 and setting["fill"] == "-1e9":
            weights = from_json(seen["weights"], math.nan)
            if setting["dtype"] == "float16":
                assert weights.isnan().all()
            else:
                fifth = torch.tensor(0.2, dtype=getattr(torch, setting["dtype"])).double()
                assert torch.allclose(weights, fifth, atol=1e-7), setting


def test_no_weight_is_near_a_tie():
    """Exponentials that differ by 2e-5 of themselves round to the same weights in half types."""
    for setting in SETTINGS:
        if setting["dtype"] in ("float32", "float64"):
            continue
        filled, rounded, _ = truth(setting)
        weights = torch.softmax(filled, dim=-1)[rounded > 0]
        for factor in (1 - 2e-5, 1 + 2e-5):
            moved = (weights * factor).to(getattr(torch, setting["dtype"])).double()
            assert torch.equal(moved, rounded[rounded > 0]), setting


def test_words_name_nan_overflow_and_masks_that_hold(node, measured):
    said = node("mask_lab.js", "words", [*map(list, zip(SETTINGS, measured, strict=True))])
    assert "masked_fill raises; assigned, as here, −10⁹ becomes −∞" in "".join(said)
    for setting, seen, sentence in zip(SETTINGS, measured, said, strict=True):
        assert ("NaN" in sentence) == (seen["nan_cells"] > 0), setting
        assert ("Masked keys get exactly 0" in sentence) == (
            seen["leak"] == 0 and seen["nan_cells"] == 0 and seen["masked"] > 0
        ), setting


def test_what_began_with_a_leak_is_done_when_the_mask_holds_and_the_other_way_round(node):
    leaking, holding, open_ = (
        MaskLab(valid_len=valid_len, fill=fill).state()
        for valid_len, fill in ((3, "0"), (3, "-inf"), (5, "-inf"))
    )
    says = "(now, begun) => words(now, measure(now), measure(begun))"
    pairs = [(holding, leaking), (leaking, holding), (leaking, leaking), (open_, leaking)]
    said = node("mask_lab.js", says, pairs, ["words", "measure"])
    assert [sentence.startswith("Done: ") for sentence in said] == [True, True, False, False], said


def test_numbers_are_written_in_a_few_letters(node):
    numbers = [0, -0.4336, 1000.0, -999424.0, -1.0133e-6, -(2.0**128), 1e-4, 99.9]
    assert node("mask_lab.js", "compact", [[number] for number in numbers]) == [
        *("0", "−0.434", "1e3", "−1e6", "−1e−6", "−3.4e38", "1e−4", "99.900"),
    ]


def test_other_scores_can_be_given(node):
    figure = MaskLab(scores=np.zeros((5, 5)), fill="safe", valid_len=4)
    (seen,) = node("mask_lab.js", "measure", [[figure.state()]])
    assert seen["weights"] == [[0.25] * 4 + [0.0]] * 5


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("valid_len", 6, "valid_len must be a whole number from 0 to 5; got 6"),
        ("valid_len", -1, "valid_len must be a whole number from 0 to 5; got -1"),
        ("fill", "-1e7", "fill must be one of '0', '-1', '-1e6', '-1e9', '-inf', 'safe'; got"),
        ("fill", -math.inf, "fill must be one of '0', .*; got -inf"),
        ("dtype", "float8", "dtype must be one of 'float16', 'bfloat16', .*; got 'float8'"),
        ("causal", 1, "causal must be True or False; got 1"),
        ("left", "yes", "left must be True or False; got 'yes'"),
        ("low", None, "low must be True or False; got None"),
        ("scores", [[0.0] * 5] * 4, "scores must be 5 × 5 numbers from -100 to 100; got"),
        ("scores", [[math.nan] * 5] * 5, "scores must be 5 × 5 numbers from -100 to 100"),
        ("scores", [[math.inf] * 5] * 5, "scores must be 5 × 5 numbers from -100 to 100"),
        ("scores", [[101.0] * 5] * 5, "scores must be 5 × 5 numbers from -100 to 100"),
        ("scores", [[0.0], [0.0, 1.0]], "scores must be 5 × 5 numbers from -100 to 100"),
        ("scores", "words", "scores must be 5 × 5 numbers from -100 to 100"),
    ],
)
def test_wrong_values_are_refused(trait, value, says):
    with pytest.raises(traitlets.TraitError, match=f"MaskLab.{says}"):
        MaskLab(**{trait: value})


def hold_readouts(show, settings):
    """Set the figure to each of some settings and hold its readouts against the library."""
    page = show(MaskLab(), more=True)
    figure = page.figure()
    for setting in settings:
        figure.set("valid_len", setting["valid_len"])
        page.locator(f"input[value='{setting['fill']}']").check()
        figure.control("dtype").get_by_label(setting["dtype"], exact=True).check()
        for trait in ("causal", "left", "low"):
            figure.control(trait).locator("input").set_checked(setting[trait])
        page.settle()
        _, _, readouts = truth(setting)
        assert figure.readouts() == pytest.approx(readouts, abs=1e-6), setting
    assert page.errors == []


@pytest.mark.browser
def test_readouts_agree_with_the_library(show):
    hold_readouts(show, spread(SETTINGS))


CELLS = [
    ({"fill": "0"}, {"masked": 20, "leak": 10, "nan": 0}),
    ({"fill": "-inf", "valid_len": 0}, {"masked": 50, "leak": 0, "nan": 25}),
    ({"fill": "-1e6", "low": True}, {"masked": 20, "leak": 2, "nan": 0}),
    ({"fill": "safe", "low": True}, {"masked": 20, "leak": 0, "nan": 0}),
]


@pytest.mark.browser
def test_cells_show_hatching_leaks_and_nan(show):
    page = show(MaskLab())
    for setting, wanted in CELLS:
        page.set(MaskLab().state() | setting)
        fills = page.locator(".attention-pair g:not([aria-hidden]) > rect").evaluate_all(
            "all => all.map(rect => rect.getAttribute('fill'))"
        )
        masked = sum("masked" in fill for fill in fills)
        nan = sum("nan" in fill for fill in fills)
        colored = sum(fill.startswith("rgb(") for fill in fills)
        assert {"masked": masked, "nan": nan, "leak": colored - (50 - masked)} == wanted, setting
        texts = page.locator(".attention-pair text.attention-cell").all_text_contents()
        assert len(texts) == 50 and texts.count("NaN") == wanted["nan"]


@pytest.mark.browser
def test_a_click_masks_a_cell_and_another_takes_the_mask_away(show, node):
    page = show(MaskLab(fill="safe"))

    def click(cell):
        page.locator(".attention-pair svg").first.locator("text.attention-cell").nth(cell).click()
        page.settle()
        return page.locator(".attention-pair svg").last.locator("text.attention-cell").nth(cell)

    hidden = [[0.0] * 5 for _ in range(5)]
    hidden[1][2] = 1.0
    assert click(7).text_content() == "0"
    state = MaskLab(fill="safe", hidden=hidden).state()
    weights = torch.tensor(node("mask_lab.js", "measure", [[state]])[0]["weights"])
    mask = mask_of(dict.fromkeys(NAMES, False) | {"valid_len": 3}).clone()
    mask[1, 2] = False
    assert torch.equal(weights > 0, mask)
    shown = page.locator(".attention-pair svg").last.locator("text.attention-cell")
    assert shown.nth(5).text_content() == f"{weights[1, 0]:.3f}"
    assert click(7).text_content() != "0"
    click(3)  # padding: the column comes in
    assert page.figure().control("valid_len").locator("input").input_value() == "4"


@pytest.mark.browser
def test_numbers_stay_in_their_cells(show):
    page = show(MaskLab(fill="-1", dtype="float64", low=True), width=861, font=True)
    for width in (861, 560, 320):
        page.set_viewport_size({"width": width, "height": 800})
        page.settle()
        overflow = page.locator("text.attention-cell").evaluate_all(
            """texts => texts.map((text) => {
                const inner = text.previousElementSibling; // not drawn where nothing leaks
                const drawn = inner.matches('[fill=none]') ? inner.previousElementSibling : inner;
                const cell = drawn.getBoundingClientRect();
                const { left, right } = text.getBoundingClientRect();
                return Math.max(cell.left - left, right - cell.right);
            })"""
        )
        assert len(overflow) == 50
        assert max(overflow) <= 1, width


@pytest.mark.browser
def test_the_values_of_a_slider_stand_below_it(show):
    page = show(MaskLab(), width=320, font=True)
    figure = page.figure()
    view = figure.locator.bounding_box()
    control = figure.control("valid_len")
    track = control.locator("input").bounding_box()
    marks = control.locator(".attention-marks > span").all()
    places = []
    for position, mark in enumerate(marks):
        figure.set("valid_len", position)
        assert control.locator(".attention-value").inner_text() == mark.inner_text()
        places.append(
            mark.evaluate(
                """mark => {
                    const range = document.createRange();
                    range.selectNodeContents(mark);
                    const { left, right, top } = range.getBoundingClientRect();
                    return [left, right, top];
                }"""
            )
        )
        left, right, top = places[-1]
        thumb = track["x"] + 8 + (track["width"] - 16) * position / 5
        assert (left + right) / 2 == pytest.approx(thumb, abs=1.5)
        assert top >= track["y"] + 20
    assert len(marks) == 6 and marks[-1].inner_text() == "5"
    for (_, right, _), (left, _, _) in itertools.pairwise(places):
        assert left - right >= 4
    assert view["x"] <= places[0][0] and places[-1][1] <= view["x"] + view["width"]
