"""The figure KernelRegression: its rows are attention over noisy points, empty rows included."""

import itertools
import math

import pytest
import torch
import traitlets

from attention_lib import effective_keys, gaussian_scores, masked_softmax
from attention_workbook.figures import KernelRegression

from .conftest import spread

KERNELS = ["Gaussian", "boxcar", "triangular", "Epanechnikov"]
SETTINGS = [  # kernel, power of two of the bandwidth, query
    *itertools.product(KERNELS, [-5, -3.25, -2, 0, 2], [0.0, 1.95, 2.5, 4.3, 5.0])
]


def figure_of(setting, **others):
    kernel, power, query = setting
    return KernelRegression(kernel=kernel, bandwidth=2.0**power, query=query, **others)


def true_function(x):
    return torch.sin(2 * x) + x / 2


def library(figure, queries):
    """Rows of weights, outputs, and which keys each row may attend to."""
    queries = torch.as_tensor(queries, dtype=torch.float64)[:, None]  # (len_q, 1)
    keys = torch.tensor(figure.key_points, dtype=torch.float64)[:, None]  # (len_k, 1)
    values = true_function(keys) + torch.tensor(figure.noise, dtype=torch.float64)[:, None]
    scores = gaussian_scores(queries, keys, bandwidth=figure.bandwidth)  # (len_q, len_k)
    mask = torch.ones_like(scores, dtype=torch.bool)
    if figure.kernel == "Gaussian":
        return torch.softmax(scores, dim=-1), torch.softmax(scores, dim=-1) @ values, mask
    u = ((queries - keys.T) / figure.bandwidth).abs()
    heights = {
        "boxcar": torch.ones_like(u).masked_fill(u > 1, 0.0),
        "triangular": (1 - u).clamp(min=0),
        "Epanechnikov": (1 - u.square()).clamp(min=0),
    }[figure.kernel]
    # The logarithm of a kernel is a score; where the kernel is 0 the key is masked.
    weights = masked_softmax(heights.log(), mask=heights > 0)
    return weights, weights @ values, heights > 0


def truth(figure):
    """What the library says of the figure's settings."""
    (weights,), (output,), (mask,) = library(figure, [figure.query])
    keys = torch.tensor(figure.key_points, dtype=torch.float64)
    outputs = library(figure, figure.key_points)[1][:, 0]
    return {
        "estimate": output.item(),
        "effective_keys": effective_keys(weights).item() if mask.any() else 0.0,
        "in_reach": mask.sum().item(),
        "mean_squared_error": (outputs - true_function(keys)).square().mean().item(),
    }


def test_javascript_agrees_with_the_library(node):
    figures = [figure_of(setting) for setting in SETTINGS]
    measured = node("kernel_regression.js", "measure", [[figure.state()] for figure in figures])
    empty = 0
    for figure, seen in zip(figures, measured, strict=True):
        (weights,), _, (mask,) = library(figure, [figure.query])
        assert seen.pop("weights") == pytest.approx(weights.tolist(), abs=1e-9), figure
        assert seen == pytest.approx(truth(figure), abs=1e-9), figure
        empty += not mask.any()
    assert 3 <= empty <= 30, "there are empty rows and others"


def test_the_curve_has_gaps_exactly_where_rows_are_empty(node):
    places = [i / 40 for i in range(201)]
    figures = [figure_of((kernel, power, 2.5)) for kernel in KERNELS for power in (-5, -3, 0)]
    curves = node("kernel_regression.js", "curve", [[f.state(), places] for f in figures])
    for figure, curve in zip(figures, curves, strict=True):
        weights, output, mask = library(figure, places)
        assert [height is None for height in curve] == (~mask.any(dim=-1)).tolist(), figure
        assert all((weights[i] == 0).all() for i, height in enumerate(curve) if height is None)
        wanted = output[:, 0].tolist()
        seen = [0.0 if height is None else height for height in curve]
        assert seen == pytest.approx(wanted, abs=1e-9), figure
    gaps = {f.kernel: curve.count(None) for f, curve in zip(figures[::3], curves[::3], strict=True)}
    assert gaps["Gaussian"] == 0 and min(gaps[kernel] for kernel in KERNELS[1:]) > 20


@pytest.mark.parametrize(
    ("kernel", "heights"),
    [
        ("Gaussian", [math.exp(-0.5), math.exp(-0.125), 1.0, math.exp(-2)]),
        ("boxcar", [1, 1, 1, 0]),
        ("triangular", [0, 0.5, 1, 0]),
        ("Epanechnikov", [0, 0.75, 1, 0]),
    ],
)
def test_kernels_are_right_by_hand(node, kernel, heights):
    """Keys at distances 1, 1/2, 0 and 2 bandwidths; the other 26 are 4 bandwidths away."""
    state = KernelRegression(
        kernel=kernel, query=1.0, bandwidth=1.0, key_points=[0.0, 1.5, 1.0, 3.0] + [5.0] * 26
    ).state()
    far = 26 * math.exp(-8) if kernel == "Gaussian" else 0
    (weights,) = node("kernel_regression.js", "weightsAt", [[1.0, state]])
    total = sum(heights) + far
    assert weights[:4] == pytest.approx([height / total for height in heights], abs=1e-12)


def test_a_gaussian_reaches_keys_where_exp_underflows(node):
    figure = figure_of(("Gaussian", -5, 5.0), key_points=[i / 30 for i in range(30)])
    (seen,) = node("kernel_regression.js", "measure", [[figure.state()]])
    assert sum(seen.pop("weights")) == pytest.approx(1)
    assert seen == pytest.approx(truth(figure), abs=1e-9)
    (curve,) = node("kernel_regression.js", "curve", [[figure.state(), [5.0]]])
    assert curve == pytest.approx([seen["estimate"]], abs=1e-9)


def test_without_noise_a_narrow_kernel_finds_the_function():
    figure = figure_of(("triangular", -5, 2.5), noise=[0.0] * 30)
    assert truth(figure)["mean_squared_error"] < 1e-3
    assert truth(figure_of(("triangular", -5, 2.5)))["mean_squared_error"] > 0.05


def test_the_points_are_the_same_on_every_machine():
    figure = KernelRegression()
    assert figure.key_points[:3] == [0.12, 0.149, 0.257]
    assert figure.noise[:3] == [0.154, -0.116, 0.851]
    assert figure.key_points == sorted(figure.key_points)
    numbers = figure.key_points + figure.noise
    assert len(numbers) == 60 and all(round(number, 3) == number for number in numbers)


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        (
            "kernel",
            "Box",
            "kernel must be one of 'Gaussian', 'boxcar', 'triangular', 'Epanechnikov'",
        ),
        ("bandwidth", 0, "bandwidth must be a number from 0.03125 to 4; got 0"),
        ("bandwidth", math.inf, "bandwidth must be a number from 0.03125 to 4; got inf"),
        ("query", -0.1, "query must be a number from 0 to 5; got -0.1"),
        ("key_points", [1.0], r"key_points must be 30 numbers from 0 to 5; got \[1.0\]"),
        ("key_points", [6.0] * 30, "key_points must be 30 numbers from 0 to 5; got"),
        ("noise", [math.nan] * 30, "noise must be 30 numbers from -2 to 2; got"),
        ("noise", "words", "noise must be 30 numbers from -2 to 2; got"),
        ("noise", [[1.0]] * 30, "noise must be 30 numbers from -2 to 2; got"),
    ],
)
def test_wrong_values_are_refused(trait, value, says):
    with pytest.raises(traitlets.TraitError, match=f"KernelRegression.{says}"):
        KernelRegression(**{trait: value})


def hold_readouts(show, settings):
    """Set the figure to each of some settings and hold its readouts against the library."""
    page = show(KernelRegression(), more=True)
    figure = page.figure()
    for setting in settings:
        kernel, power, query = setting
        figure.control("kernel").get_by_label(kernel, exact=True).check()
        figure.set("bandwidth", power)
        figure.set("query", query)
        wanted = truth(figure_of(setting))
        assert figure.readouts() == pytest.approx(wanted, abs=1e-6), setting
        shown = page.locator("[data-readout=estimate]").inner_text()
        assert (shown == "none") == (wanted["in_reach"] == 0)
        finding = page.locator(".attention-finding").inner_text()
        assert ("nothing to attend to" in finding) == (shown == "none")
    assert page.errors == []


@pytest.mark.browser
def test_readouts_agree_with_the_library(show):
    hold_readouts(show, spread(SETTINGS))


@pytest.mark.browser
def test_bars_are_the_weights_and_gaps_are_hatched(show):
    page = show(figure_of(("triangular", -2, 1.5)))
    heights = "bars => bars.map(bar => Number(bar.getAttribute('height')))"
    bars = page.locator(".attention-frame g[fill='var(--aw-weight)'] rect")
    (weights,), _, _ = library(figure_of(("triangular", -2, 1.5)), [1.5])
    assert bars.evaluate_all(heights) == pytest.approx(
        [90 * w for w in weights.tolist()], abs=0.006
    )
    hatched = page.locator(".attention-frame path[fill^='url']")
    curve = page.locator(".attention-frame .attention-estimate")
    before = hatched.get_attribute("d").count("M")
    page.figure().set("bandwidth", -5)
    pieces = curve.get_attribute("d").count("M")
    assert hatched.get_attribute("d").count("M") > before and pieces > 10
    page.figure().control("kernel").get_by_label("Gaussian").check()
    page.settle()
    assert hatched.get_attribute("d") == "" and curve.get_attribute("d").count("M") == 1


@pytest.mark.browser
def test_the_query_can_be_dragged(show):
    page = show(KernelRegression())
    box = page.locator("svg.attention-grab").bounding_box()
    unit = (box["width"] - 48) / 5
    page.mouse.move(box["x"] + 40 + 2.5 * unit, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 40 + 1.2 * unit, box["y"] + 90, steps=5)
    page.mouse.up()
    page.settle()
    query = float(page.figure().control("query").locator("input").input_value())
    assert query == pytest.approx(1.2, abs=0.051)
    wanted = pytest.approx(truth(KernelRegression(query=query)), abs=1e-6)
    assert page.figure().readouts() == wanted
    page.mouse.move(box["x"] + 300, box["y"] + 60)  # not held any more
    page.settle()
    assert page.figure().readouts() == wanted


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 860])
def test_whatever_is_drawn_has_its_name_beside_it(show, width):
    page = show(KernelRegression(), width=width)
    names = page.locator(".attention-frame text[class]").all_text_contents()
    for name in (
        "query",
        "estimate",
        "true function",
        "a noisy value",
        "keys",
        "kernel and weights",
    ):
        assert name in names
    middle = page.locator("line.attention-reach").bounding_box()["x"]
    bell = page.locator(".attention-bell").bounding_box()
    assert bell["x"] < middle < bell["x"] + bell["width"]
    assert not page.get_by_text("no key in reach").is_visible()
    page.set({"kernel": "boxcar", "bandwidth": 2**-5})
    assert page.get_by_text("no key in reach").is_visible()


@pytest.mark.browser
def test_the_sentence_says_when_no_bandwidth_has_a_smaller_error(show):
    page = show(KernelRegression())
    errors = {}
    for power in range(-20, 9):
        page.figure().set("bandwidth", power / 4)
        errors[page.figure().read("mean_squared_error")] = page.locator(
            ".attention-finding"
        ).inner_text()
    assert [error for error, said in errors.items() if "Done" in said] == [min(errors)]


@pytest.mark.browser
def test_points_are_as_large_as_their_weight(show):
    figure = figure_of(("Gaussian", -2, 1.5))
    page = show(figure)
    radii = page.locator(".attention-value-dots > circle").evaluate_all(
        "dots => dots.map((dot) => dot.r.baseVal.value)"
    )
    (weights,), _, _ = library(figure, [1.5])
    wanted = [(6.25 + 74.75 * min(3 * w, 1)) ** 0.5 for w in weights.tolist()]
    assert radii == pytest.approx(wanted, abs=0.006)
