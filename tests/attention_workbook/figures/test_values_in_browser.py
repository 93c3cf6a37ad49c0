"""What a control shows, what it says, and what the figure does are one, at every position."""

import re

import numpy as np
import pytest

from attention_lib import palette
from attention_lib.palette import readable_on
from attention_workbook import figures

browser = pytest.mark.browser

# What the words below a figure say of a control's value, as a pattern with the value in it.
SAID = {
    ("OnlineSoftmax", "step"): r"^(\d+) of \d+ blocks? of|^(No) block",
    ("OnlineSoftmax", "block_size"): r"blocks? of (\d+) read",
    ("SoftmaxSaturation", "len_k"): r"largest of (\d+) weights",
    ("HeatmapExplorer", "layer"): r"[Ll]ayer (\d+)",
    ("HeatmapExplorer", "head"): r"[Hh]ead (\d+)",
    ("HeatmapExplorer", "query"): r"[Qq]uery (\d+)",
    ("HeatmapExplorer", "key"): r" key (\d+)",
    ("SentenceReader", "word"): r", “([^”]+)” looks",
}
COUNTED = r"(?:keys?|heads?|blocks?|positions?|dimensions?|layers?|numbers?|rows?)"
STATE = """() => [...document.querySelectorAll('input[type=range]')].map((input) => {
    const label = input.labels[0];
    return {
        trait: label.dataset.trait, value: input.value, min: input.min, max: input.max,
        step: input.step, shown: label.querySelector('.attention-value').textContent,
        spoken: input.getAttribute('aria-valuetext'),
    };
})"""

MODEL = """(traits) => {
    const model = attentionWidgets.model(document.querySelector('figure'));
    return Object.fromEntries(traits.map((trait) => [trait, model.get(trait)])
        .filter(([, value]) => !(value instanceof DataView)));
}"""
CHOSEN = """() => [
    ...[...document.querySelectorAll('fieldset[data-trait]')].map((set) => ({
        trait: set.dataset.trait,
        chosen: [...set.querySelectorAll(':checked')].map((input) => input.value).join(),
    })),
    ...[...document.querySelectorAll('.attention-toggle')].map((label) => ({
        trait: label.dataset.trait, chosen: String(label.querySelector('input').checked),
    })),
].map(({ trait, chosen }) => ({ trait, chosen: chosen.toLowerCase() }))"""


def positions(slider, most):
    """The ends of a slider, and up to so many places between them."""
    least, top, step = (float(slider[name]) for name in ("min", "max", "step"))
    count = round((top - least) / step)
    places = sorted({round(i * count / (most - 1)) for i in range(most)})
    return [round(least + place * step, 6) for place in places]


def check(page, figure):
    """Hold all that the figure shows of its controls against each other, and against Python."""
    name = type(figure).__name__
    finding = page.locator(".attention-finding").inner_text()
    for trait, value in page.evaluate(MODEL, list(figure.state())).items():
        if value != getattr(figure, trait):
            setattr(figure, trait, value)
    for control in page.evaluate(CHOSEN):
        value = getattr(figure, control["trait"])
        wanted = f"{value:g}" if isinstance(value, float) else str(value).lower()
        assert control["chosen"] == wanted, control
    for slider in page.evaluate(STATE):
        shown, spoken = slider["shown"], slider["spoken"]
        where = (name, slider)
        assert float(slider["min"]) <= float(slider["value"]) <= float(slider["max"]), where
        number = re.fullmatch(r"[−\d.]+", shown)
        if number:
            assert number[0].rstrip("0").rstrip(".") in spoken, where
        looking = getattr(figure, "head", 0) >= 0  # the reader may show its answer, and no head
        pattern = SAID.get((name, slider["trait"])) if looking else None
        said = re.search(pattern, finding) if pattern else None
        if pattern:
            value = {"No": "0"}.get(said[0].split()[0], said[1]) if said else None
            assert value == re.match(r"\S+", shown)[0], (*where, finding)
    for text in [finding, *(slider["spoken"] for slider in page.evaluate(STATE))]:
        for count, thing in re.findall(rf"(?<![\d.])(\d+) ({COUNTED})\b", text):
            assert thing.endswith("s") == (count != "1"), text
    assert not page.locator(".attention-failure").is_visible(), finding


def sliders_values_and_words_agree(page, figure, most=3):
    """Set each slider to so many positions and hold against each other what is said of it."""
    view = page.figure()
    for slider in page.evaluate(STATE):
        for position in positions(slider, most):
            view.set(slider["trait"], position)
            check(page, figure)
        page.get_by_role("button", name="Reset").click()
        page.settle()


def choices_ticks_and_words_agree(page, figure):
    inputs = page.locator("fieldset[data-trait] input, .attention-toggle input").all()
    for chosen in [*inputs, *reversed(inputs)]:
        chosen.click()
        page.settle()
        check(page, figure)


@browser
def test_a_value_beyond_the_last_one_counts_as_the_last_one(show):
    """Twelve steps of one block; number 59 of twelve: what is shown is what is drawn."""
    for figure in (
        figures.OnlineSoftmax(block_size=12, step=12),
        figures.HeadSplit(length=3, d_model=4, number=59),
    ):
        page = show(figure, more=True)
        check(page, figure)
    assert page.figure().control("number").locator(".attention-value").inner_text() == "11"


# ---------------------------------------------------------------- what can be read


MAPS = [palette.WEIGHT_MAP, palette.SCORE_MAP, palette.SCORE_MAP_IN_THE_DARK]


@pytest.mark.parametrize("colour_map", MAPS, ids=["weights", "scores", "scores in the dark"])
def test_text_on_every_colour_of_a_map_can_be_read(node, colour_map):
    """4.5 : 1 or more, for all values from 0 to 1; Python and JavaScript choose the same ink."""
    stops = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in colour_map]
    places = np.linspace(0, len(stops) - 1, 1001)
    mixed = np.transpose(
        [np.interp(places, range(len(stops)), part) for part in zip(*stops, strict=True)]
    )
    channels = [[channel] for channel in mixed.round().astype(int).tolist()]
    colors = ["#{:02x}{:02x}{:02x}".format(*channel) for (channel,) in channels]
    inks = {"attention-on-light": "#000000", "attention-on-dark": "#ffffff"}
    chosen = [inks[kind] for kind in node("_shared/index.js", "readableOn", channels)]
    assert chosen == [readable_on(color) for color in colors]
    worst = min(palette.contrast(ink, color) for ink, color in zip(chosen, colors, strict=True))
    assert worst >= 4.5, worst


def test_a_score_of_zero_is_the_least_bright_in_the_dark():
    against_paper = [
        palette.contrast(color, palette.DARK["paper"]) for color in palette.SCORE_MAP_IN_THE_DARK
    ]
    middle = len(against_paper) // 2
    assert against_paper[middle] < 1.2 and against_paper[0] > 8 < against_paper[-1]
    assert against_paper[:middle] == sorted(against_paper[:middle], reverse=True)
    assert against_paper[middle:] == sorted(against_paper[middle:])


@browser
def test_the_map_of_scores_turns_with_the_page(show):
    fills = """() => [...document.querySelectorAll('.attention-pair rect[fill^="rgb"]')]
        .map((cell) => cell.getAttribute('fill'))"""
    page = show(figures.MaskLab())
    by_day = page.evaluate(fills)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.settle()
    at_night = page.evaluate(fills)
    assert at_night != by_day
    assert at_night == show(figures.MaskLab(), theme="dark").evaluate(fills)
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    page.settle()
    assert page.evaluate(fills) == by_day


@browser
def test_forced_colours_keep_hatching_ramps_and_the_chosen_mark(show, every_figure):
    page = show(*every_figure)
    seen = """() => [
        ["pattern path", "stroke"], [".attention-pair rect", "fill"],
        [".attention-ramp, .attention-swatch, .attention-cells", "backgroundImage"],
        [".attention-cell, .attention-halo", "stroke"],
        [".attention-word[data-asks]", "stroke"],
        [".attention-tiles rect", "fill"], [".attention-tiles rect", "stroke"],
        [".attention-strands path", "stroke"],
        ["svg :is(rect, circle, line, path, polygon)", "fill"],
        ["svg :is(rect, circle, line, path, polygon)", "stroke"],
        ["svg line, svg path", "strokeDasharray"], ["svg text", "fill"],
    ].flatMap(([nodes, property]) => [...document.querySelectorAll(nodes)]
        // ids of patterns are drawn by chance
        .map((node) => getComputedStyle(node)[property].replace(/#attention[^"]*/, "")))"""
    plain = page.evaluate(seen)
    assert any("gradient" in one for one in plain)
    for scheme in ("light", "dark"):
        page.emulate_media(forced_colors="active", color_scheme=scheme)
        page.settle()
        assert page.evaluate("matchMedia('(forced-colors: active)').matches")
        assert page.evaluate(seen) == plain
        chosen_marks_and_borders_are_seen(page)


def chosen_marks_and_borders_are_seen(page):
    edge = "all => all.map((node) => getComputedStyle(node).borderTopColor)"
    chosen = page.locator(".attention-thumb.attention-chosen").evaluate_all(edge)
    others = page.locator(".attention-thumb:not(.attention-chosen)").evaluate_all(edge)
    assert len(chosen) == 1 and chosen[0] not in others
    border = "node => getComputedStyle(node).borderTopStyle"
    assert page.locator(".attention-tool").first.evaluate(border) == "solid"


@browser
def test_text_twice_as_large_still_fits(show, every_figure):
    style = {"test.css": "html { font-size: 200%; }"}
    page = show(*every_figure, width=640, files=style, more=True)
    sizes = page.locator(".attention-view :is(p, label, summary)").evaluate_all(
        "all => all.map((node) => parseFloat(getComputedStyle(node).fontSize))"
    )
    assert min(sizes) >= 26
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    hidden = page.locator(
        ".attention-view :is(p, label, button, output, summary, .attention-name)"
    ).evaluate_all(
        """all => all.filter((node) => !node.closest('.attention-unseen, svg')
            && node.getClientRects().length && node.scrollWidth > node.clientWidth + 2
            && getComputedStyle(node).overflowX !== 'visible').map((node) => node.outerHTML)"""
    )
    assert hidden == []
    # The last words of a sentence stand in a row that scrolls.
    beyond = page.locator(".attention-view").evaluate_all(
        """views => views.map((view) => Math.max(
            ...[...view.querySelectorAll('p, label, button, output, summary')]
            .filter((node) => !node.closest('.attention-unseen, .attention-chips'))
            .filter((node) => node.getClientRects().length)
            .map((node) => node.getBoundingClientRect().right)
            .map((right) => right - view.getBoundingClientRect().right)))"""
    )
    assert max(beyond) <= 1
