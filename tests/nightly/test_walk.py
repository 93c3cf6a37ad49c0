"""The figure Walk, at night: how it moves, prints and weighs; its experiment against PyTorch."""

import pytest
import torch
import traitlets

from attention_workbook.figures.walk import Walk
from attention_workbook.reader import exchange, load_reader
from tests.attention_workbook.test_walk import STEPS, largest_difference, measured, text
from tests.website.test_site_in_browser import weigh

PAGE = "book/twenty-minutes.html"


def test_a_swapped_head_is_activation_patching(node):
    one, other = (text(Walk(word=word)) for word in ("tired", "wide"))
    for swap in Walk()._swaps[1:]:
        layer, head = (int(number) - 1 for number in swap.split("."))
        reading = exchange(load_reader(), one, other, layer=layer, head=head, word="it")
        seen = measured(node, Walk(swap=swap))
        assert largest_difference(seen["answers"][-1], reading.probabilities) < 1e-5, swap


PLACES = """async (steps) => {
  const model = attentionWidgets.model(document.querySelector('figure'));
  const places = [];
  for (let frame = 0; frame < 40; frame += 1) {
    if (frame in steps) model.set('step', steps[frame]);
    await new Promise(requestAnimationFrame);
    const word = document.querySelector('.attention-walk-names text:nth-child(3)');
    places.push(Number(word.getAttribute('x')));
  }
  return places;
}"""


@pytest.mark.browser
@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_step_grows_out_of_the_one_before_or_is_there_at_once(show, motion):
    page = show(Walk(), reduced_motion=motion)
    places = page.evaluate(PLACES, {"2": 2, "20": 1})
    away = min(places), max(places)
    on_the_way = [place for place in places if away[0] + 1 < place < away[1] - 1]
    assert bool(on_the_way) == (motion == "no-preference")


@pytest.mark.site
@pytest.mark.browser
def test_every_step_is_printed(visit):
    with visit(PAGE) as seen:
        seen.page.emulate_media(media="print")
        stills = seen.page.locator(".attention-widget > img, .attention-step > img")
        assert stills.filter(visible=True).count() == STEPS + 1  # the last is that of Scissors


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.parametrize("name", [PAGE, "book/index.html"])
def test_the_first_two_pages_are_light_and_bring_their_second_figure_later(visit, name):
    with visit(name) as seen:
        seen.quiet()
        at_once = set(seen.asked)
        assert sum(weigh(at_once)) <= 180_000
        seen.page.locator("[data-widget=Scissors].attention-live").wait_for(state="attached")
        assert {path.name for path in {*seen.asked} - at_once} >= {"Scissors.js"}
        assert seen.faults == []


def test_an_unknown_step_word_or_head_is_refused():
    for wrong in ({"step": 0}, {"step": STEPS + 1}, {"word": "xyz"}, {"swap": "3.1"}):
        with pytest.raises(traitlets.TraitError, match=rf"Walk\.{next(iter(wrong))}"):
            Walk(**wrong)
    with pytest.raises(TypeError, match="reader: expected a Reader"):
        Walk(torch.nn.Linear(2, 2))


def step_of(seen):
    seen.page.wait_for_timeout(600)
    return int(seen.page.locator("[data-readout=step]").get_attribute("data-value"))


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
def test_the_picture_follows_the_text_and_the_text_the_picture(visit, width):
    how = {"width": width, "reduced_motion": "reduce"}
    with visit(PAGE, **how) as seen:
        page = seen.page
        assert step_of(seen) == 1
        sections = page.locator("article > section > section")
        assert sections.count() == STEPS + 2
        for step in (5, 9, 3):
            sections.nth(step - 1).evaluate("section => section.scrollIntoView()")
            assert step_of(seen) == step
            assert page.locator(".attention-walk").bounding_box()["y"] >= 0
        page.keyboard.press("ArrowRight")
        assert step_of(seen) == 4
        assert 0 < sections.nth(3).locator("h2").bounding_box()["y"] < 800
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        anchor = sections.nth(6).get_attribute("id")
    for address, step in ((f"#{anchor}", 7), ("#Walk.step=6", 6)):
        with visit(PAGE + address, **how) as seen:
            assert step_of(seen) == step
            assert seen.faults == []


@pytest.mark.site
@pytest.mark.browser
def test_without_scripts_every_step_has_its_still(visit):
    with visit(PAGE, scripts=False) as seen:
        stills = seen.page.locator(".attention-widget > img, .attention-step > img")
        assert stills.count() == stills.filter(visible=True).count() == STEPS + 1
        captions = seen.page.locator(".attention-step > figcaption").all_inner_texts()
        assert len({*captions}) == STEPS - 1 and "“it” means street" in captions[10]


@pytest.mark.browser
def test_arrow_keys_and_buttons_go_on_and_back_and_the_word_is_swapped(show):
    page = show(Walk())
    figure, word = page.figure(), page.get_by_label("Last word")
    page.get_by_role("button", name="Next").click()
    page.settle()
    assert figure.read("step") == 2
    for key in ("ArrowLeft", *["ArrowRight"] * 11):
        page.keyboard.press(key)
    page.settle()
    assert (figure.read("step"), word.input_value()) == (12, "wide")
    assert "“it” means street" in page.locator(".attention-finding").inner_text()
    page.keyboard.press("ArrowRight")
    page.settle()
    page.get_by_label("Swap what comes from").select_option("2.1")
    page.settle()
    assert page.locator(".attention-finding").inner_text().startswith("The output of head 2.1 at")
    assert page.errors == []
