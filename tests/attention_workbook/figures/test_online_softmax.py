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
        nothing = {"maximum": -math.inf, "normaliser": 0.0, "before": 0.0}
        return nothing | {"factor": 1.0, "output": 0.0}
    weights = masked_softmax(scores.unsqueeze(0), mask=(torch.arange(12) < keys_read).unsqueeze(0))[
        0
    ]
    maximum = scores[:keys_read].max()
    earlier = scores[:before].max() if before > 0 else torch.tensor(-math.inf)
    return {
        "maximum": maximum.item(),
        "normaliser": (scores[:keys_read] - maximum).exp().sum().item(),
        "before": (scores[:before] - earlier).exp().sum().item(),
        "factor": (earlier - maximum).exp().item(),
        "output": (weights @ values).item(),
    }


def readouts_of(figure):
    """What the figure's readouts are to show."""
    shown = truth(figure)
    del shown["before"]
    return shown | {"full": truth(OnlineSoftmax(block_size=12, step=1))["output"]}


def bars_of(figure):
    """What is written at the normaliser's bars, and their lengths, the longest at any step 1."""
    now, read = truth(figure), min(figure.step, math.ceil(12 / figure.block_size))
    largest = max(
        truth(OnlineSoftmax(block_size=figure.block_size, step=step))["normaliser"]
        for step in range(1, 13)
    )
    kept = now["before"] * now["factor"]
    lengths = [now["before"]] * (read > 1) + [kept, now["normaliser"] - kept] * (read > 0)
    told = [f"× {now['factor']:.3f}"] * (read > 1)
    return told, [length / largest for length in lengths]


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
        told, lengths = bars_of(wanted)
        bars = page.locator(".attention-totals")
        assert bars.locator("text").all_text_contents()[1:] == told
        widths = bars.locator("rect").evaluate_all(
            "bars => bars.map(bar => Number(bar.getAttribute('width')))"
        )
        room = page.locator(".attention-frame svg").evaluate("svg => svg.clientWidth - 38")
        assert [width / room for width in widths] == pytest.approx(lengths, abs=1e-4), wanted
        shown = figure.locator.locator("[data-readout=factor]").inner_text()
        assert shown == (told[0].removeprefix("× ") if told else "none")
    assert page.errors == []


@pytest.mark.browser
def test_readouts_agree_with_the_library(show):
    hold_readouts(show, spread(SETTINGS))
