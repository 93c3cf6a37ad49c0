"""On a phone, 390 pixels wide, nothing that a chapter refers to is wider than its column."""

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
  await new Promise((resolve) => setTimeout(resolve, 300));
  const all = 'article :is(div.formula, table, .cell_output > img, figure, .attention-frame)';
  return [...document.querySelectorAll(all)]
    .filter((box) => box.checkVisibility() && !box.closest('.attention-view [hidden]'))
    .filter((box) => box.scrollWidth > box.clientWidth + 2
      || box.getBoundingClientRect().right > innerWidth + 1)
    .map((box) => `${box.localName}.${box.className}: ${box.textContent.trim().slice(0, 50)}`);
}"""


@pytest.mark.parametrize("chapter", ["book/index", *CHAPTERS])
def test_nothing_is_wider_than_its_column(visit, chapter):
    with visit(f"{chapter}.html", width=390, has_touch=True, is_mobile=True) as seen:
        assert seen.page.evaluate(TOO_WIDE) == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
