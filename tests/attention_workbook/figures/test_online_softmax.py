"""The figure OnlineSoftmax: after each block its numbers are those of the softmax so far."""

import itertools
import math

import pytest
import torch
import traitlets

from attention_lib import masked_softmax
from attention_workbook.figures import OnlineSoftmax

from .conftest import spread

SETTINGS = list(itertools.product([1, 2, 3, 5, 7, 12], [0, 1, 2, 3, 6, 12]))


def truth(figure):
    """What PyTorch and the library say of the keys that have been read."""
    scores = torch.tensor(figure.scores, dtype=torch.float64)
    values = torch.tensor(figure.outcomes, dtype=torch.float64)
    keys_read = min(figure.step * figure.block_size, 12)
    before = (math.ceil(keys_read / figure.block_size) - 1) * figure.block_size
    if keys_read == 0:
        return {"maximum": -math.inf, "normaliser": 0.0, "factor": 1.0, "output": 0.0}
    weights = masked_softmax(scores.unsqueeze(0), mask=(torch.arange(12) < keys_read).unsqueeze(0))[
        0
    ]
    maximum = scores[:keys_read].max()
    earlier = scores[:before].max() if before > 0 else torch.tensor(-math.inf)
    return {
        "maximum": maximum.item(),
        "normaliser": (scores[:keys_read] - maximum).exp().sum().item(),
        "factor": (earlier - maximum).exp().item(),
        "output": (weights @ values).item(),
    }


def readouts_of(figure):
    """What the figure's readouts are to show."""
    return truth(figure) | {"full": truth(OnlineSoftmax(block_size=12, step=1))["output"]}


def bars_of(figure):
    """The heights of the filled bars, and of the outlines that show how high they stood before."""
    scores = torch.tensor(figure.scores, dtype=torch.float64)
    keys_read = min(figure.step * figure.block_size, 12)
    before = (math.ceil(keys_read / figure.block_size) - 1) * figure.block_size
    now = (scores[:keys_read] - scores[:keys_read].max()).exp().tolist() if keys_read else []
    rescaled = before > 0 and truth(figure)["factor"] < 1
    earlier = (scores[:before] - scores[:before].max()).exp().tolist() if rescaled else []
    return now + [0] * (12 - len(now)), earlier + [0] * (12 - len(earlier))


def figure_of(setting):
    return OnlineSoftmax(block_size=setting[0], step=setting[1])


def test_javascript_agrees_with_the_library(node):
    figures = [figure_of(setting) for setting in SETTINGS]
    measured = node("online_softmax.js", "measure", [[figure.state()] for figure in figures])
    for figure, seen in zip(figures, measured, strict=True):
        wanted = truth(figure)
        if seen["maximum"] is None:  # JSON has no infinity
            seen["maximum"] = -math.inf
        assert {name: seen[name] for name in wanted} == pytest.approx(wanted, abs=1e-9), figure
        scores = torch.tensor(figure.scores[: seen["keysRead"]], dtype=torch.float64)
        assert seen["weights"] == pytest.approx(torch.softmax(scores, -1).tolist(), abs=1e-12)


@pytest.mark.parametrize("block_size", range(1, 13))
def test_after_the_last_block_it_is_the_whole_softmax(node, block_size):
    figure = OnlineSoftmax(block_size=block_size, step=12)
    (seen,) = node("online_softmax.js", "measure", [[figure.state()]])
    whole = truth(OnlineSoftmax(block_size=12, step=1))
    assert seen["output"] == pytest.approx(whole["output"], abs=1e-12)
    assert seen["keysRead"] == 12 and sum(seen["weights"]) == pytest.approx(1, abs=1e-12)


def test_large_scores_do_not_overflow(node):
    scores = [50.0, -50.0] * 6
    (seen,) = node(
        "online_softmax.js", "measure", [[OnlineSoftmax(scores=scores, step=12).state()]]
    )
    assert seen["normaliser"] == pytest.approx(6)


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("block_size", 0, "block_size must be a whole number from 1 to 12; got 0"),
        ("step", 13, "step must be a whole number from 0 to 12; got 13"),
        ("scores", [0.0] * 11, "scores must be 12 numbers from -50 to 50; got"),
        ("scores", [math.nan] * 12, "scores must be 12 numbers from -50 to 50; got"),
        ("scores", [51.0] * 12, "scores must be 12 numbers from -50 to 50; got"),
        ("outcomes", ["a"] * 12, "outcomes must be 12 numbers from -50 to 50; got"),
    ],
)
def test_wrong_values_are_refused(trait, value, says):
    with pytest.raises(traitlets.TraitError, match=f"OnlineSoftmax.{says}"):
        OnlineSoftmax(**{trait: value})


def hold_readouts(show, settings):
    """Set the figure to each of some settings and hold its readouts against the library."""
    page = show(OnlineSoftmax())
    figure = page.figure()
    for block_size, step in settings:
        figure.set("block_size", block_size)
        figure.set("step", min(step, math.ceil(12 / block_size)))
        wanted = figure_of((block_size, step))
        assert figure.readouts() == pytest.approx(readouts_of(wanted), abs=1e-6), wanted
        heights = page.locator(
            ".attention-frame rect[stroke='var(--aw-plus)'] ~ rect"
        ).evaluate_all(
            "bars => bars.filter((bar) => !/plus|minus/.test(bar.getAttribute('stroke')))"
            ".map((bar) => bar.height.baseVal.value)"
        )
        filled, outlines = bars_of(wanted)
        assert heights[::2] == pytest.approx([92 * height for height in filled], abs=0.006), wanted
        assert heights[1::2] == pytest.approx([92 * height for height in outlines], abs=0.006)
    assert page.errors == []


def test_the_sentence_says_which_key_shrinks_the_bars_most(node):
    calls = [
        [
            OnlineSoftmax(block_size=1, step=step).state(),
            OnlineSoftmax(block_size=1, step=12).state(),
        ]
        for step in range(1, 13)
    ]
    says = "(now, end) => words(now, measure(now), measure(end).least)"
    said = node("online_softmax.js", says, calls, ["words", "measure"])
    factors = [truth(figure_of((1, step)))["factor"] for step in range(2, 13)]
    smallest = factors.index(min(factors)) + 1
    assert [i for i, sentence in enumerate(said) if "Done" in sentence] == [smallest]
    assert f"multiplied by {min(factors):.3f}" in said[smallest]


@pytest.mark.browser
def test_readouts_agree_with_the_library(show):
    hold_readouts(show, spread(SETTINGS))
