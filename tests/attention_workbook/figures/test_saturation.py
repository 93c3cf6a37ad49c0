"""The figure SoftmaxSaturation: its numbers are attention_lib's, its zeros PyTorch's."""

import itertools
import math

import pytest
import torch
import traitlets

from attention_lib import effective_keys, entropy, softmax_jacobian
from attention_workbook.figures import SoftmaxSaturation

from .conftest import spread

DTYPES = ["float16", "bfloat16", "float32", "float64"]
SETTINGS = [  # d, exponent, len_k, temperature
    *itertools.product([1, 8, 64, 512, 4096], [0.0, 0.5, 1.0], [2, 16, 64], [1.0]),
    *itertools.product([1, 64, 4096], [0.0, 1.0], [5, 33], [1 / 32, 1 / 8, 2**2.5, 32.0]),
]


def figure_of(setting):
    d, exponent, len_k, temperature = setting
    return SoftmaxSaturation(d=d, exponent=exponent, len_k=len_k, temperature=temperature)


def scores_of(figure):
    directions = torch.tensor(figure.directions[: figure.len_k], dtype=torch.float64)
    return directions * math.sqrt(figure.d) / figure.d**figure.exponent / figure.temperature


def truth(figure):
    """What the library and PyTorch say of the figure's settings."""
    scores = scores_of(figure)
    weights = torch.softmax(scores, dim=-1)
    return {
        "max_weight": weights.max().item(),
        "entropy": entropy(weights).item(),
        "effective_keys": effective_keys(weights).item(),
        "jacobian_norm": torch.linalg.matrix_norm(softmax_jacobian(weights)).item(),
        **{f"gradient_{dtype}": float(flows(scores, dtype)) for dtype in DTYPES},
    }


def flows(scores, dtype):
    """Whether any entry of softmax's Jacobian, as autograd computes it, is not exactly 0."""
    scores = scores.to(getattr(torch, dtype)).requires_grad_()
    weights = torch.softmax(scores, dim=-1)
    rows = torch.eye(len(scores), dtype=scores.dtype)
    (jacobian,) = torch.autograd.grad(weights, scores, rows, is_grads_batched=True)
    return bool((jacobian != 0).any())


def test_javascript_agrees_with_the_library(node):
    figures = [figure_of(setting) for setting in SETTINGS]
    measured = node("saturation.js", "measure", [[figure.state()] for figure in figures])
    for figure, seen in zip(figures, measured, strict=True):
        wanted = truth(figure)
        for name in ("max_weight", "entropy", "effective_keys", "jacobian_norm"):
            assert seen[name] == pytest.approx(wanted[name], abs=1e-6), (figure, name)
        dead = [dtype for dtype in DTYPES if wanted[f"gradient_{dtype}"] == 0]
        assert seen["dead"] == dead, figure
        weights = torch.softmax(scores_of(figure), dim=-1).tolist()
        assert seen["weights"] == pytest.approx(weights, abs=1e-12)
    assert {len(seen["dead"]) for seen in measured} == {0, 1, 2, 3, 4}, "every case occurs"


def test_zero_weights_are_counted_as_pytorch_rounds_them(node):
    figures = [figure_of(setting) for setting in SETTINGS]
    measured = node("saturation.js", "measure", [[figure.state()] for figure in figures])
    for figure, seen in zip(figures, measured, strict=True):
        for dtype, zeros in zip(DTYPES, seen["zeros"], strict=True):
            weights = torch.softmax(scores_of(figure).to(getattr(torch, dtype)), dim=-1)
            assert zeros == (weights == 0).sum().item(), (figure, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_rounded_as_pytorch_rounds_them(node, dtype):
    generator = torch.Generator().manual_seed(1)
    exponents = torch.rand(4000, generator=generator, dtype=torch.float64) * 300 - 155
    values = torch.randn(4000, generator=generator, dtype=torch.float64) * 2**exponents
    ties = torch.tensor([1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 2**-11 + 2**-40, 65519.99])
    values = torch.cat([values, ties, -ties, torch.tensor([0.0, -0.0])]).double()
    wanted = values.to(getattr(torch, dtype)).double()
    inside = wanted.isfinite()  # JSON has no infinity
    values, wanted = values[inside], wanted[inside]
    seen = node("_shared/index.js", "round", [[value, dtype] for value in values.tolist()])
    assert torch.equal(torch.tensor(seen, dtype=torch.float64), wanted)
    assert wanted.numel() > 400


@pytest.mark.parametrize(
    ("dtype", "gap"), [("float16", 18), ("bfloat16", 93), ("float32", 104), ("float64", 746)]
)
def test_the_gap_at_which_the_gradient_dies(node, dtype, gap):
    for distance, alive in ((gap - 1, True), (gap, False)):
        scores = torch.tensor([0.0, -float(distance)], dtype=torch.float64)
        assert flows(scores, dtype) == alive
        (zeros,) = node("saturation.js", "zeroWeights", [[scores.tolist(), dtype]])
        assert zeros == (not alive)


def test_scores_are_rounded_before_softmax(node):
    """1006.7 is 1006.5 in float16: the gap of 17.3, which lets gradient through, grows to 17.5."""
    scores = torch.tensor([1024.0, 1006.7], dtype=torch.float64)
    assert flows(scores - 1024, "float16") and not flows(scores, "float16")
    calls = [[[0.0, -17.3], "float16"], [scores.tolist(), "float16"]]
    assert node("saturation.js", "zeroWeights", calls) == [0, 1]


def test_scores_have_the_spread_that_the_chapter_derives():
    """Queries of ±1 and standard normal keys: a score of width d has variance d, exactly."""
    generator = torch.Generator().manual_seed(0)
    for d in (1, 16, 256):
        queries = torch.randint(0, 2, (d,), generator=generator) * 2.0 - 1
        scores = torch.randn(100_000, d, generator=generator) @ queries
        standard = scores / math.sqrt(d)
        # 5 standard errors of the mean and of the variance of 100 000 normal numbers
        assert abs(standard.mean()) < 5 / math.sqrt(100_000)
        assert abs(standard.var() - 1) < 5 * math.sqrt(2 / 100_000)


def test_the_directions_are_the_same_on_every_machine():
    directions = SoftmaxSaturation().directions
    assert directions[:5] == [1.764, 0.4, 0.979, 2.241, 1.868]
    assert len(directions) == 64
    assert all(round(number, 3) == number for number in directions)


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("d", 100, "d must be a power of two from 1 to 4096; got 100"),
        ("d", 0, "d must be a whole number from 1 to 4096; got 0"),
        ("d", 8192, "d must be a whole number from 1 to 4096; got 8192"),
        ("exponent", 0.3, "exponent must be one of 0.0, 0.5, 1.0; got 0.3"),
        ("len_k", 1, "len_k must be a whole number from 2 to 64; got 1"),
        ("temperature", 0.0, "temperature must be a number from 0.03125 to 32; got 0.0"),
        ("directions", [1.0], r"directions must be 64 numbers from -100 to 100; got \[1.0\]"),
        ("directions", [math.nan] * 64, "directions must be 64 numbers from -100 to 100; got"),
        ("directions", [[1.0]] * 64, "directions must be 64 numbers from -100 to 100; got"),
        ("directions", "words", "directions must be 64 numbers from -100 to 100; got"),
    ],
)
def test_wrong_values_are_refused(trait, value, says):
    with pytest.raises(traitlets.TraitError, match=f"SoftmaxSaturation.{says}"):
        SoftmaxSaturation(**{trait: value})


def test_directions_can_be_drawn_anew():
    import numpy as np

    figure = SoftmaxSaturation(directions=np.linspace(-2, 2, 64))
    assert figure.directions[0] == -2.0
    assert figure.to_html() != SoftmaxSaturation().to_html()


def hold_readouts(show, settings):
    """Set the figure to each of some settings and hold its readouts against the library."""
    page = show(SoftmaxSaturation(), more=True)
    figure = page.figure()
    for d, exponent, len_k, temperature in settings:
        figure.set("d", math.log2(d))
        figure.control("exponent").locator(f"input[value='{exponent:g}']").check()
        figure.set("len_k", len_k)
        figure.set("temperature", math.log2(temperature))
        wanted = truth(figure_of((d, exponent, len_k, temperature)))
        assert figure.readouts() == pytest.approx(wanted, abs=1e-6)
    assert page.errors == []


@pytest.mark.browser
def test_three_outlines_stand_over_one_another_and_the_sentence_says_when_it_is_done(show):
    page = show(SoftmaxSaturation(d=64))
    for d in (64, 256):
        page.figure().set("d", math.log2(d))
        wanted = [truth(figure_of((d, way, 16, 1.0)))["max_weight"] for way in (0.0, 0.5, 1.0)]
        labels = page.locator(".attention-largest > text").all_text_contents()
        assert [label.split()[0] for label in labels] == [f"{weight:.2f}" for weight in wanted]
        tops = page.locator(".attention-outlines > path").evaluate_all(
            "paths => paths.map((path) => path.getBBox().height)"
        )
        assert tops == pytest.approx([280 * weight for weight in wanted], abs=0.1)
        said = page.locator(".attention-finding").inner_text()
        assert [f"{weight:.2f}" in said for weight in wanted] == [True] * 3
        assert ("Done" in said) == (d == 256)


@pytest.mark.parametrize(
    ("start", "steps"),
    [
        ((512, 0.5, 4), [((4, 1.0), ""), ((60, 1.0), "Half done"), ((60, 1 / 8), "Done")]),
        ((256, 0.0, 2), [((2, 1.0), "0 in float16."), ((3, 1.0), "left"), ((3, 1 / 32), "Done")]),
    ],
    ids=["many keys", "a pair"],
)
def test_the_figure_asks_what_its_start_is_about(node, start, steps):
    d, exponent, len_k = start
    begin = SoftmaxSaturation(d=d, exponent=exponent, len_k=len_k)
    says = "(start, now) => questionOf(start).words(now, measure(now))"
    for (len_k, temperature), wanted in steps:
        now = figure_of((d, exponent, len_k, temperature))
        pair = [[begin.state(), now.state()]]
        (said,) = node("saturation.js", says, pair, ["questionOf", "measure"])
        assert wanted in said and ("Done" in said) == (wanted == "Done"), said


@pytest.mark.browser
def test_readouts_agree_with_the_library(show):
    hold_readouts(show, spread(SETTINGS))
