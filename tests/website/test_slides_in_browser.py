"""A chapter as slides, on a screen as large as many a projector's."""

import pytest

pytestmark = [pytest.mark.site, pytest.mark.browser]


def start_slides(page):
    page.set_viewport_size({"width": 1280, "height": 720})  # of many a projector
    page.get_by_role("link", name="Show as slides").click()
    page.wait_for_selector(".slides-bar output:text-matches('^1 of')")


def test_a_chapter_shows_as_slides(visit):
    """Keys go on and back, a slider keeps its own keys, and on paper each slide has its page."""
    with visit("book/masking.html") as seen:
        page = seen.page
        start_slides(page)

        def shown():
            return page.locator(".slide-now").first.inner_text().removesuffix("¶")

        assert shown() == "Mask before the softmax"
        assert not page.locator("#exercises h2, .finish").first.is_visible()
        page.keyboard.press("ArrowRight")
        assert page.url.endswith("?slides=2")
        figure = page.locator(".slide-now .attention-widget:has(input[type=range])")
        while not figure.count():
            page.keyboard.press("ArrowRight")
        figure.wait_for()  # until it has its size
        address = page.url
        figure.locator("input[type=range]").first.focus()
        page.keyboard.press("ArrowRight")
        assert page.url == address
        page.locator("body").click(position={"x": 5, "y": 5})
        page.keyboard.press("End")
        assert shown() == "Summary"
        count = int(page.locator(".slides-bar output").inner_text().split()[-1])
        assert page.evaluate("document.querySelectorAll('.slide-end').length") == count
        page.keyboard.press("Escape")
        page.wait_for_url(lambda address: "slides" not in address)
        assert seen.faults == []


# Of each slide: what it covers of the room below its heading, whether it runs off, and the smallest
# letters of its figure's picture, in pixels.
SLIDE = """() => {
  const [heading, ...shown] = [...document.querySelectorAll(".slide-now")];
  const boxes = shown.map((one) => one.getBoundingClientRect());
  const sizes = [...document.querySelectorAll(".slide-now .attention-stage svg text")]
    .filter((text) => text.checkVisibility() && text.textContent.trim())
    .map((text) => {
      const { a, b } = text.getScreenCTM();
      return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
    });
  return {
    share: boxes.reduce((sum, box) => sum + box.height, 0) / innerHeight,
    over: document.documentElement.scrollHeight - innerHeight,
    wide: Math.max(...boxes.map((box) => box.right)) - innerWidth,
    letters: Math.min(...sizes, 99),
    controls: [...document.querySelectorAll(".slide-now .attention-controls :is(input, button)")]
      .every((one) => !one.checkVisibility() || one.getBoundingClientRect().bottom < innerHeight),
  };
}"""


def fill_a_projector(visit, chapter):
    """Step through a chapter's slides: nothing is small, and nothing is over the edge."""
    with visit(f"book/{chapter}.html") as seen:
        page = seen.page
        start_slides(page)
        for number in range(int(page.locator(".slides-bar output").inner_text().split()[-1])):
            page.locator(".slide-last:visible").wait_for()  # a figure, once it has its size
            slide = page.evaluate(SLIDE)
            assert slide["share"] >= 0.2 and slide["over"] <= 1 and slide["wide"] <= 0, number
            assert slide["letters"] >= 14 and slide["controls"], number
            page.keyboard.press("ArrowRight")
        assert seen.faults == []


def test_slides_fill_a_projector(visit):
    fill_a_projector(visit, "heatmaps")  # those of other chapters: tests/nightly
