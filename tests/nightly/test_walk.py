"""The figure Walk, at night: how it moves, prints and weighs; its experiment against PyTorch."""

import pytest
import torch
import traitlets

from tests.website.test_site_in_browser import weigh
from tests.workbook.test_walk import PAGE, largest_difference, text
from workbook.reader import exchange, load_reader
from workbook.reader.walk import Walk
from workbook.reader.walk_numbers import STEPS


def test_a_swapped_head_is_activation_patching():
    one, other = (text(Walk(word=word)) for word in ("tired", "wide"))
    for swap in Walk()._swaps[1:]:
        layer, head = (int(number) - 1 for number in swap.split("."))
        reading = exchange(load_reader(), one, other, layer=layer, head=head, word="it")
        seen = Walk(swap=swap).seen().swapped
        assert largest_difference(seen.answers[-1], reading.probabilities) < 1e-5, swap


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
        assert stills.filter(visible=True).count() == len(STEPS)


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.parametrize("name", [PAGE, "book/index.html"])
def test_the_first_two_pages_are_light(visit, name):
    with visit(name) as seen:
        seen.page.mouse.wheel(0, 100_000)
        seen.quiet()
        assert sum(weigh(set(seen.asked))) <= 180_000
        assert seen.faults == []


def test_an_unknown_step_word_or_head_is_refused():
    for wrong in ({"step": 0}, {"step": len(STEPS) + 1}, {"word": "xyz"}, {"swap": "3.1"}):
        with pytest.raises(traitlets.TraitError, match=rf"Walk\.{next(iter(wrong))}"):
            Walk(**wrong)
    with pytest.raises(TypeError, match="reader: expected a Reader"):
        Walk(torch.nn.Linear(2, 2))
