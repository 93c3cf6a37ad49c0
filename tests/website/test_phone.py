"""On a phone, 390 pixels wide, nothing is wider than its column; what scrolls in it can be read."""

import pytest
import yaml

from website import ROOT

pytestmark = [pytest.mark.site, pytest.mark.browser]

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [
    one["file"] for part in TOC["parts"][:4] for one in part["chapters"] if "api" not in one["file"]
]
TOO_WIDE = """async () => {
  for (const details of document.querySelectorAll('article details')) details.open = true;
  await document.fonts.ready;
  await new Promise((resolve) => setTimeout(resolve, 100));
  const all = 'article :is(div.formula, table, .cell_output > img, figure, .attention-frame)';
  const size = (box) => parseFloat(getComputedStyle(box).fontSize) * box.currentCSSZoom;
  const isCut = (box) => box.matches('div.formula, table')
    ? size(box) < 12 : box.scrollWidth > box.clientWidth + 2; // those two scroll
  return [...document.querySelectorAll(all)]
    .filter((box) => box.checkVisibility() && !box.closest('.attention-view [hidden]'))
    .filter((box) => isCut(box) || box.getBoundingClientRect().right > innerWidth + 1)
    .map((box) => `${box.localName}.${box.className}: ${box.textContent.trim().slice(0, 50)}`);
}"""


@pytest.fixture(scope="module")
def phone(visit):
    """One page that goes from chapter to chapter."""
    with visit("404.html", width=390, has_touch=True, is_mobile=True) as seen:
        yield seen


@pytest.mark.parametrize("chapter", ["book/index", *CHAPTERS])
def test_nothing_is_wider_than_its_column(phone, chapter):
    phone.go(f"{chapter}.html")
    assert phone.page.evaluate(TOO_WIDE) == []
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390
