"""The figure HeadSplit: its heads are those of attention_lib, and of the wrong reshape."""

import itertools
import math

import pytest
import torch
import traitlets

from attention_lib import split_heads
from attention_workbook.figures import HeadSplit

from .conftest import spread

SETTINGS = list(itertools.product([2, 3, 5], [4, 8, 12], [1, 2, 4], [False, True]))


def figure_of(setting, number=0):
    length, d_model, num_heads, wrong = setting
    return HeadSplit(
        length=length, d_model=d_model, num_heads=num_heads, wrong=wrong, number=number
    )


def tables(setting):
    """The heads as the library makes them, and as PyTorch's reshape does in the wrong way."""
    length, d_model, num_heads, wrong = setting
    x = torch.arange(length * d_model, dtype=torch.float64).reshape(1, length, d_model)
    right = split_heads(x, num_heads)[0]
    return (x.reshape(right.shape) if wrong else right).long(), right.long()


def truth(setting, number):
    heads, right = tables(setting)
    number = min(number, heads.numel() - 1)
    head, position, column = (heads == number).nonzero()[0].tolist()
    misplaced = (heads != right).sum().item()
    return {"head": head, "position": position, "column": column, "misplaced": misplaced}


def test_javascript_agrees_with_the_library(node):
    states = [figure_of(setting, 5).state() for setting in SETTINGS]
    measured = node("head_split.js", "measure", [[state] for state in states])
    for setting, seen in zip(SETTINGS, measured, strict=True):
        heads, right = tables(setting)
        assert (seen["heads"], seen["right"]) == (heads.tolist(), right.tolist()), setting
        assert {name: seen[name] for name in truth(setting, 5)} == truth(setting, 5)


def test_twelve_numbers_as_in_the_chapter(node):
    right, wrong = node(
        "head_split.js", "measure", [[HeadSplit(wrong=wrong).state()] for wrong in (False, True)]
    )
    assert right["heads"][0] == [[0, 1], [4, 5], [8, 9]]
    assert wrong["heads"][0] == [[0, 1], [2, 3], [4, 5]]
    assert (right["misplaced"], wrong["misplaced"]) == (0, 8)


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("length", 1, "length must be a whole number from 2 to 5; got 1"),
        ("d_model", 5, "d_model must be one of 4, 8, 12; got 5"),
        ("num_heads", 3, "num_heads must be one of 1, 2, 4; got 3"),
        ("wrong", 1, "wrong must be True or False; got 1"),
        ("number", -1, "number must be a whole number from 0 to 59; got -1"),
        ("number", math.nan, "number must be a whole number from 0 to 59; got nan"),
    ],
)
def test_wrong_values_are_refused(trait, value, says):
    with pytest.raises(traitlets.TraitError, match=f"HeadSplit.{says}"):
        HeadSplit(**{trait: value})


def hold_readouts(show, settings):
    """Set the figure to each of some settings and hold its readouts against the library."""
    page = show(HeadSplit(), more=True)
    figure = page.figure()
    is_wrong = figure.control("wrong").locator("input")
    for number, (length, d_model, num_heads, wrong) in enumerate(settings):
        figure.set("length", length)
        figure.set("d_model", d_model)
        figure.set("num_heads", math.log2(num_heads))
        figure.set("number", number)
        is_wrong.set_checked(wrong)
        page.settle()
        setting = (length, d_model, num_heads, wrong)
        assert figure.readouts() == truth(setting, min(number, length * d_model - 1)), setting
    assert page.errors == []


@pytest.mark.browser
def test_readouts_agree_with_the_library(show):
    hold_readouts(show, spread(SETTINGS))


@pytest.mark.browser
def test_right_and_wrong_stand_side_by_side_until_a_setting_makes_them_equal(show):
    page = show(HeadSplit())
    groups = page.locator(".attention-tiles").all()
    right, wrong = (group.bounding_box() for group in groups[1:])
    assert abs(right["y"] - wrong["y"]) < 3 and right["x"] + right["width"] < wrong["x"]
    strays = page.locator("rect[stroke='var(--aw-nan)']")
    said = page.locator(".attention-finding")
    assert strays.count() == truth((3, 4, 2, True), 4)["misplaced"] > 0
    assert "8 of 12 numbers" in said.inner_text()
    page.figure().set("num_heads", 0)
    assert strays.count() == 0
    assert said.inner_text().startswith("Done: with one head")


@pytest.mark.browser
def test_a_click_on_a_number_follows_it(show):
    page = show(HeadSplit(wrong=True))
    page.locator("rect[data-number='7']").first.click()
    page.settle()
    assert page.figure().readouts() == truth((3, 4, 2, True), 7)
    assert page.figure().control("number").locator("input").input_value() == "7"


@pytest.mark.browser
def test_a_number_has_to_be_chosen_and_a_number_of_heads_for_head_3(show):
    page = show(HeadSplit(number=2, wrong=False))  # as in Many heads
    said = page.locator(".attention-finding")
    assert page.locator(".attention-task").inner_text().endswith("so that it lands in head 3.")
    assert said.inner_text().startswith("Number 2 of position 0 lands in head 1")
    page.figure().set("num_heads", 2)
    assert said.inner_text().startswith("Number 2 of position 0 lands in head 2")
    page.locator("rect[data-number='7']").first.click()
    page.settle()
    assert said.inner_text() == (
        "Done: number 7 of position 1 lands in head 3 at position 1: "
        "each head gets 1 number of every position."
    )


@pytest.mark.browser
def test_cells_stay_on_the_page_of_a_phone(show):
    page = show(HeadSplit(length=5, d_model=12, num_heads=4), width=320)
    frame = page.locator(".attention-frame").bounding_box()
    for box in page.locator("rect[data-number]").all():
        place = box.bounding_box()
        assert place["x"] >= frame["x"] and place["width"] >= 14
        assert place["x"] + place["width"] <= frame["x"] + frame["width"] + 1
