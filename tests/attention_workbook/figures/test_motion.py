"""Figures move from one state to the next, and the text of a page can set them or point at them."""

import pytest

from attention_workbook.figures import HeatmapExplorer, SoftLookup
from attention_workbook.figures.catalogue import FIGURES

pytestmark = pytest.mark.browser

# The place of the output, once a frame, while the temperature goes from 1 to 8.
WATCH_OUTPUT = """async (steps) => {
  const figure = document.querySelectorAll('.attention-frame')[1];
  const input = document.querySelector('[data-trait=temperature] input');
  const places = [];
  const set = (position) => { input.value = position; input.dispatchEvent(new Event('input')); };
  for (let frame = 0; frame < 36; frame += 1) {
    if (frame in steps) set(steps[frame]);
    await new Promise(requestAnimationFrame);
    const dot = figure.querySelector('circle[r="10"]');
    places.push(Number(dot.getAttribute('cx')));
  }
  return places;
}"""


def output_over_time(page, steps):
    return page.evaluate(WATCH_OUTPUT, steps)


def on_the_way(places):
    """The places between the first and the last; a slow machine draws few of them."""
    low, high = sorted((places[0], places[-1]))
    return [place for place in places if low + 0.5 < place < high - 0.5]


def test_a_change_is_animated_and_can_be_interrupted(show):
    page = show(SoftLookup(), reduced_motion="no-preference")
    there = output_over_time(page, {2: -5})
    assert abs(there[-1] - there[0]) > 20 and on_the_way(there)
    back = output_over_time(page, {2: 0, 6: -5})
    assert back[-1] == pytest.approx(there[-1], abs=0.05)
    assert page.errors == []


def test_a_reader_who_wants_less_motion_sees_the_end_at_once(show):
    page = show(SoftLookup(), reduced_motion="reduce")
    places = output_over_time(page, {2: -5})
    assert {*places[4:]} == {places[-1]} and places[0] != places[-1]


LINKS = """() => {
  document.querySelector('h1').insertAdjacentHTML('afterend',
    '<p><a href="#SoftLookup.temperature=32">warm</a> '
    + '<a href="#SoftLookup:temperature">control</a></p>');
}"""


def test_a_link_in_the_text_sets_a_figure(show):
    page = show(SoftLookup())
    page.evaluate(LINKS)
    page.click("text=warm")
    page.settle()
    assert float(page.figure().control("temperature").locator("input").input_value()) == 5
    assert page.evaluate("location.hash") == "#SoftLookup.temperature=32"


def test_a_link_in_the_text_lights_up_a_part_while_it_is_pointed_at(show):
    page = show(SoftLookup())
    page.evaluate(LINKS)
    lit = page.locator(".attention-lit")
    page.hover("text=control")
    assert lit.get_attribute("data-trait") == "temperature"
    page.hover("h1")
    assert lit.count() == 0


CANVASES = """async () => {
  const map = document.querySelector('.attention-map');
  const counts = [map.querySelectorAll('canvas').length];
  document.querySelector('.attention-thumb:not(.attention-chosen)').click();
  for (let frame = 0; frame < 4; frame += 1) await new Promise(requestAnimationFrame);
  counts.push(map.querySelectorAll('canvas').length);
  await new Promise((done) => { setTimeout(done, 600); });
  return [...counts, map.querySelectorAll('canvas').length];
}"""


TWO_CHANGES = """async () => {
  for (const which of [1, 2]) {
    document.querySelectorAll('.attention-thumb')[which].click();
    for (let frame = 0; frame < 4; frame += 1) await new Promise(requestAnimationFrame);
  }
  return document.querySelectorAll('.attention-map canvas').length;
}"""


def test_of_two_maps_in_quick_succession_one_fades(show):
    assert show(HeatmapExplorer(), reduced_motion="no-preference").evaluate(TWO_CHANGES) == 2


@pytest.mark.parametrize(("motion", "during"), [("no-preference", 2), ("reduce", 1)])
def test_the_map_of_another_head_fades_in_unless_less_motion_is_wanted(show, motion, during):
    page = show(HeatmapExplorer(), reduced_motion=motion)
    assert page.evaluate(CANVASES) == [1, during, 1]
    assert page.errors == []


CHANGES = {
    "Clock": {"method": "interpolation"},
    "CopyingHeads": {"without": 1},
    "HeadSplit": {"wrong": False},
    "KernelRegression": {"bandwidth": 2},
    "MaskLab": {"fill": "-inf"},
    "OnlineSoftmax": {"step": 3},
    "ScoringPlane": {"query_x": -1},
    "ServingCalculator": {"eight_bits": True},
    "SoftLookup": {"temperature": 8},
    "SoftmaxSaturation": {"d": 1024},
}
NUMBERS_OVER_TIME = """async (changes) => {
  const figures = [...document.querySelectorAll("figure")];
  const shown = () =>
    figures.map((figure) =>
      [...figure.querySelectorAll("output[data-readout], .attention-finding")]
        .map((place) => place.textContent)
        .join(),
    );
  const states = [shown()];
  figures.forEach((figure, i) => {
    const model = attentionWidgets.model(figure);
    for (const [name, value] of Object.entries(changes[i])) model.set(name, value);
  });
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  states.push(shown());
  await new Promise((done) => { setTimeout(done, 1500); });
  states.push(shown());
  return states;
}"""


def test_numbers_and_sentences_come_when_the_picture_has_arrived(show):
    page = show(*(FIGURES[name]() for name in CHANGES), reduced_motion="no-preference")
    before, during, after = page.evaluate(NUMBERS_OVER_TIME, [*CHANGES.values()])
    assert dict(zip(CHANGES, during, strict=True)) == dict(zip(CHANGES, before, strict=True))
    assert not [name for name, old, new in zip(CHANGES, before, after, strict=True) if old == new]


def test_another_colour_of_the_page_starts_no_motion(show):
    page = show(FIGURES["HeadSplit"](), reduced_motion="no-preference")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.settle()
    assert page.evaluate("document.getAnimations().length") == 0
    page.set({"wrong": False})
    assert page.evaluate("document.getAnimations().length") > 12
