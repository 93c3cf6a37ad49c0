"""A link in the text sets a figure, and the reader comes back to the text."""

import pytest

from attention_workbook.figures import MaskLab, SoftLookup

pytestmark = pytest.mark.browser

# A link far below the figure, as in a chapter read on a phone.
PAGE = """(above) => {
  const place = document.querySelector('main');
  const text = (height) => {
    const part = place.appendChild(document.createElement('p'));
    part.style.setProperty('height', `${height}px`);
  };
  text(above);
  place.insertAdjacentHTML('beforeend',
    '<p><a href="#SoftLookup.temperature=32">a warm lookup</a></p>');
  text(2000);
}"""


def link_is_in_sight(page):
    box = page.locator("text=a warm lookup").bounding_box()
    return 0 <= box["y"] <= 800


@pytest.mark.parametrize("way", ["chip", "back"])
def test_a_link_lands_at_the_figures_top_and_leads_back_to_the_text(show, way):
    page = show(SoftLookup(), MaskLab(), width=390)
    page.evaluate(PAGE, 3000)
    page.locator("text=a warm lookup").click()
    page.settle()
    assert page.evaluate("location.hash") == "#SoftLookup.temperature=32"
    top = page.locator(".attention-view").first.bounding_box()["y"]
    assert 0 <= top < 60 and not link_is_in_sight(page)
    if way == "chip":
        page.get_by_role("button", name="Back to the text").click()
    else:
        page.go_back()
    page.wait_for_timeout(300)
    assert link_is_in_sight(page)
    assert page.evaluate("location.hash") == ""
    page.settle()
    assert page.locator(".attention-return").count() == 0
    # the figure shows what the link has set
    slider = page.figure().control("temperature").locator("input")
    assert float(slider.input_value()) == 5
    assert page.errors == []


def test_a_link_beside_its_figure_neither_scrolls_nor_offers_a_way_back(show):
    page = show(SoftLookup())
    page.set_viewport_size({"width": 1200, "height": 1600})
    page.evaluate(PAGE, 20)
    page.locator("text=a warm lookup").click()
    page.settle()
    assert page.evaluate("scrollY") == 0
    assert page.locator(".attention-return").count() == 0
