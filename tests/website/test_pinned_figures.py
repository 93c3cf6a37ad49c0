"""A picture that stays beside its text while the page scrolls covers none of it, and is whole."""

import pytest

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "book/twenty-minutes.html"
PINNED = """() => [...document.querySelectorAll("figure.attention-widget")]
  .filter((figure) => getComputedStyle(figure).position === "sticky").length"""
# Scroll the page through, and name what of its text, pictures and buttons lies under a figure.
COVERED = """async () => {
  const next = () => new Promise((done) => requestAnimationFrame(done));
  const figures = [...document.querySelectorAll("figure.attention-widget")];
  const bar = document.querySelector(".bar").getBoundingClientRect().bottom;
  const leaves = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    if (walker.currentNode.data.trim()) leaves.push(walker.currentNode);
  leaves.push(...document.querySelectorAll("main :is(img, svg, canvas, button, input)"));
  const boxesOf = (leaf) => {
    if (leaf.nodeType !== Node.TEXT_NODE) return [leaf.getBoundingClientRect()];
    if (!leaf.parentElement.checkVisibility({ checkVisibilityCSS: true })) return [];
    const range = document.createRange();
    range.selectNodeContents(leaf);
    return [...range.getClientRects()];
  };
  const covered = new Set();
  for (let y = 0; y < document.documentElement.scrollHeight; y += 0.45 * innerHeight) {
    scrollTo({ top: y, behavior: "instant" });
    await next();
    await next();
    for (const figure of figures) {
      const own = figure.getBoundingClientRect();
      for (const leaf of leaves) {
        if (figure.contains(leaf)) continue;
        for (const box of boxesOf(leaf)) {
          const [wide, high] = [
            Math.min(own.right, box.right) - Math.max(own.left, box.left),
            Math.min(own.bottom, box.bottom, innerHeight) - Math.max(own.top, box.top, bar),
          ];
          if (wide > 1 && high > 1 && box.width && box.height)
            covered.add((leaf.data ?? leaf.tagName).trim().slice(0, 60));
        }
      }
    }
  }
  return [...covered];
}"""
# What a figure cuts of its own picture, controls and sentence, at each step of the walk.
CUT = """async () => {
  const figure = document.querySelector("figure.attention-widget");
  const sections = figure.parentElement.querySelectorAll(":scope > section");
  const cut = [];
  for (const [i, section] of [...sections].entries()) {
    section.scrollIntoView({ behavior: "instant", block: "start" });
    await new Promise((done) => setTimeout(done, 60));
    const own = figure.getBoundingClientRect();
    const bottom = Math.min(own.bottom, innerHeight);
    for (const part of figure.querySelectorAll(
      ".attention-stage svg, .attention-controls > *, .attention-finding"
    )) {
      const box = part.getBoundingClientRect();
      if (!box.width || !box.height) continue;
      const isInside = box.left >= own.left - 1 && box.right <= own.right + 1;
      if (!isInside || box.top < own.top - 1 || box.bottom > bottom + 1)
        cut.push(`${i + 1}: ${part.tagName} ${part.textContent.slice(0, 20)}`);
    }
  }
  return cut;
}"""


def covered(seen):
    """What lies under a pinned figure; there is one, so that its absence is no success."""
    assert seen.page.evaluate(PINNED) == 1
    return seen.page.evaluate(COVERED)


@pytest.mark.parametrize("width", [1280, 1440])
def test_a_picture_beside_the_text_covers_nothing(visit, width):
    with visit(PAGE, width=width) as seen:
        assert covered(seen) == []


def test_a_picture_that_covered_text_would_be_seen(visit):
    """A paragraph as wide as the page, and one pulled up from what follows the walk."""
    with visit(PAGE) as seen:
        seen.page.evaluate(
            """() => {
              const walk = document.querySelector("[data-widget=Walk]").parentElement;
              const wide = document.createElement("p");
              wide.textContent = "wide ".repeat(99);
              wide.style.maxWidth = "none";
              wide.style.gridColumn = "1 / -1";
              walk.querySelectorAll(":scope > section")[4].after(wide);
              const next = walk.nextElementSibling;
              next.style.marginTop = "-400px";
              next.prepend("pulled up ".repeat(20));
            }"""
        )
        found = covered(seen)
        assert any(text.startswith("wide") for text in found)
        assert any(text.startswith("pulled up") for text in found)


@pytest.mark.parametrize(
    ("width", "height"), [(1440, 900), (1280, 720), (820, 1180), (600, 900), (390, 844)]
)
def test_a_pinned_picture_is_whole_at_every_step(visit, width, height):
    with visit(PAGE, width=width) as seen:
        seen.page.set_viewport_size({"width": width, "height": height})
        seen.page.emulate_media(reduced_motion="reduce")
        assert seen.page.evaluate(CUT) == []
