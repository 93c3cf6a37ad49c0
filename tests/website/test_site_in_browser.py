"""The built website as readers meet it: every page in a Chromium that can reach nothing else."""

import gzip
import json
import re
import statistics
from itertools import chain
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from bs4 import BeautifulSoup

from website import ROOT, book
from website.extensions.theme import GROUND

from .conftest import ORIGIN, SITE

PAGES = [*(f"{name}.html" for name in book.contents()), "search.html?q=mask", "404.html"]
# Pages that have most of what there is: tried here without scripts, in print and on a small screen
# in the dark, where tests/nightly tries all.
SOME = ["book/index.html", "book/mask-failures.html"]
# A page of some kinds: used here whole, where tests/nightly uses all.
FIRST = ("book/index.html", "book/twenty-minutes.html")  # where people meet the book
KINDS = {*SOME, "book/api.html", "search.html?q=mask", "404.html"}

pytestmark = [pytest.mark.site, pytest.mark.browser]


def weigh(paths):
    """Bytes that files take on the way, as a compressing server sends them, and of pictures."""
    weight = pictures = 0
    for path in paths:
        content = path.read_bytes()
        sent = len(content if path.suffix in (".png", ".woff2") else gzip.compress(content))
        if path.parent.name == "_images" or path.suffix == ".png":
            pictures += sent
        else:
            weight += sent
    return weight, pictures


def test_no_page_is_heavy_before_anything_is_used():
    """Text, scripts, styles and the faces that a page asks for at once."""
    assets = re.compile(r'(?:src|href)="([^"?]+\.(?:js|css|woff2))[?"]')
    for name in PAGES:
        page = SITE / name.partition("?")[0]
        named = {page.parent / one for one in assets.findall(page.read_text("utf-8"))}
        weight, _ = weigh([page, *{one.resolve() for one in named if one.is_file()}])
        most = 180_000 if name in FIRST else 240_000
        assert weight <= most, f"{name} weighs {weight} bytes without its pictures"


# ------------------------------------------------------------------------------ a page of each kind


def use(visit, name):
    """On a desk in the light: a page is quiet, light and still, and everything on it is used."""
    with visit(name, slow=True) as seen:
        page = seen.page
        page.mouse.wheel(0, 100_000)  # lazy pictures come, too
        seen.quiet()
        weight, pictures = weigh(set(seen.asked))
        assert weight <= 250_000, f"{name} weighs {weight} bytes without its pictures"
        assert weight + pictures <= 700_000, f"{name} weighs {weight + pictures} bytes"
        faces = sum(path.stat().st_size for path in {*seen.asked} if path.suffix == ".woff2")
        assert faces <= 110_000, f"{name} asks for {faces} bytes of typefaces"
        seen.stands_still()
        assert seen.axe() == []
        page.locator("button.theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        for copy in page.locator(".copy").all()[:1]:
            copy.click()
            copied = page.evaluate("navigator.clipboard.readText()")
            assert copied == page.locator("pre:has(+ .copy)").first.text_content()
        stills = page.locator("figure.attention-widget").count()
        if stills:
            page.locator(".attention-live").nth(stills - 1).wait_for()  # all have come to life
        for slider in page.locator(".attention-view input[type=range]").all()[:2]:
            slider.press("ArrowRight")
        assert seen.violations() == []
        assert seen.faults == []


@pytest.mark.parametrize("name", [name for name in PAGES if name in KINDS])
def test_a_page_is_quiet_light_still_and_for_everyone(visit, name):
    use(visit, name)


def fit_a_small_screen(visit, name):
    """Open a page 320 px wide in the dark: it stands still, fits and has no barrier."""
    with visit(name, width=320, theme="dark", slow=True) as seen:
        seen.stands_still()
        assert seen.axe() == []
        wide = seen.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 320, f"{name} is {wide} px wide on a screen of 320: let what is wide scroll"
        assert seen.violations() == []
        assert seen.faults == []
        covered = """formulas => formulas.filter(one => {
          const number = one.querySelector(":scope > .tag > .strut + *").getBoundingClientRect();
          return [...one.querySelectorAll(":scope > .base")].some(
            base => base.getBoundingClientRect().right > number.left);
        }).map(one => one.textContent)"""
        numbered = seen.page.locator(".katex-html:has(> .tag)")
        assert numbered.evaluate_all(covered) == []


@pytest.mark.parametrize("name", SOME)
def test_a_page_fits_a_small_screen_in_the_dark(visit, name):
    fit_a_small_screen(visit, name)


def teach_without_scripts(visit, name):
    """Every still picture is there, the contents open, what needs a script is not offered."""
    with visit(name, width=320, scripts=False) as seen:
        source = BeautifulSoup((SITE / name).read_text(encoding="utf-8"), "html.parser")
        for figure in range(len(source.select("figure.attention-widget"))):
            still = seen.page.locator("figure.attention-widget").nth(figure)
            assert still.locator("> img").is_visible()
            caption = still.locator("> figcaption").inner_text()
            assert re.match(r"[A-Z][^.]+\. ", caption), "its title comes first"
        assert not seen.page.locator("button.theme, .copy").first.is_visible()
        seen.page.locator("button.menu").click()
        assert seen.page.locator("#contents a").first.is_visible()
        assert seen.faults == []


@pytest.mark.parametrize("name", SOME)
def test_a_page_teaches_without_scripts(visit, name):
    teach_without_scripts(visit, name)


# -------------------------------------------------------------------------------------- the policy

INDEX = "book/index.html"


COVER = """() => {
  const wanted = ["h1", "h2", ".attention-sentence svg", ".attention-typed", ".doors"];
  return {
    parts: wanted.map((part) => document.querySelector(part).getBoundingClientRect().bottom),
    isListBeside: document.querySelector("#contents").checkVisibility(),
    width: document.documentElement.scrollWidth,
  };
}"""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (390, 844)])
def test_the_cover_fits_the_first_screen(visit, width, height):
    """Question, sentence, field and doors stand one below the other, with nothing beside them."""
    device = {"is_mobile": True, "has_touch": True} if width < 500 else {}
    with visit(INDEX, width=width, reduced_motion="reduce", **device) as seen:
        seen.page.set_viewport_size({"width": width, "height": height})
        seen.page.locator(".attention-typed").wait_for()
        seen.page.evaluate("document.fonts.ready")
        cover = seen.page.evaluate(COVER)
        assert cover["parts"] == sorted(cover["parts"]) and cover["parts"][-1] <= height
        assert not cover["isListBeside"] and cover["width"] == width
        assert seen.faults == []


SMUGGLED = {
    "<script>document.title = 'smuggled'</script>": "script-src-elem refuses inline",
    "<img alt='' src='data:,' onerror='document.title = 1'>": "script-src-attr refuses inline",
    "<script src='https://other.test/a.js'></script>": "script-src-elem refuses https://other",
    "<img alt='' src='https://other.test/a.png'>": "img-src refuses https://other",
    "<style>body { display: none }</style>": "style-src-elem refuses inline",
    "<iframe src='https://other.test/'></iframe>": "frame-src refuses https://other",
}


def test_the_policy_refuses_content_from_elsewhere(visit):
    with visit(INDEX, extra="".join(SMUGGLED)) as seen:
        for directive in SMUGGLED.values():
            assert any(said.startswith(directive) for said in seen.violations()), directive
        assert seen.page.title() == "The Attention Workbook"
        assert not any("other.test" in fault for fault in seen.faults if "refused:" in fault)


def test_the_policy_is_the_first_thing_on_every_page():
    for path in SITE.rglob("*.html"):
        start, found, _ = path.read_text(encoding="utf-8").partition("</head>")
        first = BeautifulSoup(start + found, "html.parser").head.find(True)
        assert first.get("http-equiv") == "Content-Security-Policy", path
        assert first["content"].startswith("default-src 'none'; script-src 'self' 'sha256-")
        assert "unsafe-inline" not in first["content"].replace("style-src-attr 'unsafe-inline'", "")


# ----------------------------------------------------------------------------- keyboard and search


def test_a_page_is_read_by_keyboard(visit):
    with visit("book/masking.html", width=320) as seen:
        page, focused = seen.page, "document.activeElement"
        page.keyboard.press("Tab")
        assert page.evaluate(f"{focused}.className") == "skip"
        assert page.evaluate(f"{focused}.getBoundingClientRect().left") >= 0
        page.keyboard.press("Tab")
        outline = page.evaluate(f"getComputedStyle({focused}).outlineStyle")
        assert (page.evaluate(f"{focused}.className"), outline) == ("menu", "solid")
        page.keyboard.press("Enter")
        assert page.locator("#contents").is_visible()
        page.keyboard.press("Tab")
        assert page.evaluate(f"{focused}.closest('#contents') !== null")
        page.keyboard.press("Escape")
        assert not page.locator("#contents").is_visible()
        assert page.evaluate(f"{focused}.className") == "menu"


def test_the_choice_of_colours_lasts(visit):
    with visit(INDEX) as seen:
        page = seen.page
        page.locator("button.theme").click()
        page.goto(f"{ORIGIN}book/masking.html")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.locator("button.theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") is None


# Which sections answer a question, or pages where any section of them does.
QUERIES = json.loads(Path(__file__).with_name("queries.json").read_text(encoding="utf-8"))


def test_the_right_answers_of_the_search_are_on_pages():
    searched = yaml.safe_load((ROOT / "website" / "searched.yml").read_text(encoding="utf-8"))
    for page, _, anchor in {one.partition("#") for one in chain(searched, *QUERIES.values())}:
        text = (SITE / "book" / f"{page}.html").read_text(encoding="utf-8")
        assert f'id="{anchor or "main"}"' in text, f"{page} has no {anchor}"


def test_the_search_shows_what_it_found(visit):
    """From the bar by keyboard; a typing error is mended and said; no TeX; text stays text."""
    with visit(INDEX) as seen:
        page = seen.page
        page.keyboard.press("/")
        page.keyboard.insert_text("left padd")  # at once: each letter typed shows hits of its own
        hits = page.locator(".hits a")
        hits.first.wait_for()
        assert hits.first.text_content() == "Glossary: Left padding"
        assert "#left-padding:~:text=" in hits.first.get_attribute("href")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.matches('.hits li:first-child a')")
        page.keyboard.press("Escape")
        assert hits.count() == 0
        page.keyboard.press("/")
        page.locator(".bar .search input").fill("attenton")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=attenton")
        assert "have “attention”" in page.locator(".found").text_content()
        href = page.locator(".results a").first.get_attribute("href")
        assert href.partition(":~:")[0].endswith("#attention")
        assert "注意力" in page.locator(".results p").first.text_content()
        for query in ("additive score", "why divide by sqrt d", "softmax"):
            page.goto(f"{ORIGIN}search.html?q={quote(query)}")
            assert page.locator(".results mark").count()
            assert "\\" not in "".join(page.locator(".results p").all_text_contents())
        page.goto(f"{ORIGIN}search.html?q=zzzz")
        assert "No page has “zzzz”" in page.locator(".found").text_content()
        page.goto(f"{ORIGIN}search.html?q={quote('<img src=x onerror=alert(1)>')}")
        assert page.locator("main img").count() == 0
        assert seen.violations() == []
        assert seen.faults == []


# ---------------------------------------------------------------------------- type and the page

LINES = """() => [...document.querySelectorAll("article section > p")].flatMap(text => {
  if (text.querySelector(".formula") || !text.checkVisibility()) return [];
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT), range = new Range();
  const lines = [];
  let bottom = -Infinity;
  while (walker.nextNode()) for (let at = 0; at < walker.currentNode.length; at++) {
    range.setStart(walker.currentNode, at);
    range.setEnd(walker.currentNode, at + 1);
    const box = range.getClientRects()[0];
    if (!box?.width) continue;
    if (box.bottom > bottom + 8) { bottom = box.bottom; lines.push(0); }
    lines[lines.length - 1]++;
  }
  return lines.length > 2 ? lines.slice(0, -1) : [];
})"""


def test_a_line_holds_65_to_75_characters_and_code_is_wider(visit):
    with visit("book/masking.html") as seen:
        lines = seen.page.evaluate(LINES)
        assert len(lines) > 30
        assert 65 <= statistics.median(lines) <= 75
        assert max(lines) <= 85
        text, code = (
            seen.page.locator(which).first.bounding_box()["width"]
            for which in ("article section > p", ".cell_input")
        )
        assert code > text + 100


def test_the_typefaces_are_small_and_asked_for_first(visit):
    fonts = sorted((SITE / "_static" / "typeface").glob("*.woff2"))
    assert len(fonts) == 7
    assert sum(path.stat().st_size for path in fonts) <= 70_000
    with visit("book/masking.html") as seen:
        loaded = "[...document.fonts].filter(one => one.family.includes('Book'))"
        loaded += ".filter(one => one.status === 'loaded' && one.display === 'fallback').length"
        assert seen.page.evaluate(loaded) >= 5
        for place in (".bar input", ".cell_input pre", ".attention-title", ".attention-view text"):
            shown = seen.page.locator(place).first
            face = shown.evaluate("one => getComputedStyle(one).fontFamily")
            assert face.startswith(('"Book Sans"', '"Book Code"')), place
        first = [path.suffix for path in seen.asked if path.suffix in (".woff2", ".js")]
        assert first[:2] == [".woff2", ".woff2"]


def test_the_bar_stays_and_the_section_that_is_read_is_marked(visit):
    with visit("book/masking.html") as seen:
        page = seen.page
        for anchor in ("empty-chairs", "summary", "objectives"):
            page.evaluate(f"location.hash = '{anchor}'")
            page.locator(f"#contents [aria-current=location][href='#{anchor}']").wait_for()
            assert page.locator("#contents [aria-current=location]").count() == 1
            bar = page.locator(".bar").bounding_box()
            assert bar["y"] == 0
            assert page.locator(f"#{anchor}").bounding_box()["y"] >= bar["height"]
            link = page.locator("#contents [aria-current=location]").bounding_box()
            assert 0 <= link["y"] <= 800 - link["height"]


def test_finished_chapters_are_ticked_until_they_are_erased(visit):
    with visit("book/masking.html") as seen:
        page = seen.page
        page.locator(".finish input").check()
        assert page.evaluate("Object.keys(localStorage).join()") == "finished"
        page.goto(ORIGIN + INDEX)
        ticked = "[...document.querySelectorAll('.finished')].map(one => one.href.split('/').pop())"
        assert page.evaluate(ticked) == ["masking.html", "masking.html"]  # contents and map
        page.goto(ORIGIN + "book/variance.html")
        page.on("dialog", lambda dialog: dialog.accept())
        with page.expect_navigation():
            page.get_by_role("button", name="Erase it").click()
        assert page.locator(".finished").count() == 0
        assert page.evaluate("localStorage.length") == 0
        assert seen.faults == []


def test_pictures_come_when_the_page_is_idle_and_not_by_scrolling(visit):
    with visit("book/softmax-gradient.html") as seen:
        assert seen.page.locator("article .cell_output > img").count() > 1
        assert seen.page.evaluate(
            """() => new Promise((done) => {
              setTimeout(() => done(false), 5000);
              const look = () => [...document.images].every((one) => one.naturalWidth)
                ? done(true) : setTimeout(look, 50);
              look();
            })"""
        )


def test_a_shared_link_arrives_at_its_figure_although_the_page_above_grows(visit):
    with visit("book/masking.html#MaskLab.fill=-inf", hold="typeface") as seen:
        figure = seen.page.locator(".attention-widget[data-widget=MaskLab]")
        figure.locator(".attention-view").wait_for()
        seen.page.evaluate("document.querySelector('article p').style.paddingTop = '400px'")
        seen.page.wait_for_timeout(300)
        assert 0 <= figure.bounding_box()["y"] <= 120


def test_a_lost_address_leads_back_from_any_folder(visit):
    with visit("at/book/none/deep.html", folder="at/") as seen:
        page = seen.page
        page.locator(".brand[href^='/at/']").wait_for()
        seen.quiet()
        assert page.locator("article a").first.get_attribute("href") == "/at/book/index.html"
        assert page.locator(".bar").evaluate("one => getComputedStyle(one).position") == "sticky"
        page.locator("button.theme").click()  # its script has come, too
        assert seen.violations() == []
        page.locator("article a").first.click()
        assert page.title() == "The Attention Workbook"


# ------------------------------------------------------------------------------------------- print


def print_out(visit, name):
    """A printed page has its stills and its solutions, and nothing to press or to write into."""
    with visit(name) as seen:
        page = seen.page
        page.emulate_media(media="print")
        unfolded = page.locator("article details[open]")
        before = unfolded.count()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert not page.locator(":is(.bar, #contents, .onward, .copy):visible").count()
        assert not page.locator(".attention-view:visible").count()
        assert not page.locator("main :is(button, select, textarea):visible").count()
        assert not page.locator(".cell_input[hidden]:not(:visible)").count()  # stubs
        stills = page.locator("figure.attention-widget > img")
        assert stills.evaluate_all("all => all.every(one => one.checkVisibility())")
        folded = page.locator("article details:not([open], .attention-view *)").evaluate_all(
            "all => all.filter(one => !one.parentElement.matches('.tag_hide-input')).length"
        )
        assert folded == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert unfolded.count() == before


def test_a_still_brings_no_ground_of_its_own_to_paper():
    pictures = [*(SITE / "_images").glob("*.svg")]
    assert pictures and not [one for one in pictures if GROUND.search(one.read_text("utf-8"))]
    stills = BeautifulSoup((SITE / "book/masking.html").read_text("utf-8"), "html.parser")
    for still in stills.select(".attention-widget > img"):
        assert "ground" not in still["src"] and "%3Crect" in still["src"]


def test_a_picture_brings_the_book_s_letters_as_large_as_a_phone_needs_them():
    """A page's faces do not reach into an image. On a phone its column is 358 pixels wide."""
    for picture in (SITE / "_images").glob("*.svg"):
        svg = picture.read_text("utf-8")
        assert svg.count('@font-face { font-family: "Book Sans"; font-weight: 400') == 1
        assert svg.startswith("<svg font-family=\"'Book Sans', ")
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
        pixels = 4 / 3 * min(1, 358 / width)  # of a point
        for size, text in re.findall(r'<text[^>]* font-size="([\d.]+)[^>]*>([^<]*)', svg):
            assert float(size) * pixels >= 9, f"{picture.name}: {text!r} of {size} points"


@pytest.mark.parametrize("name", SOME)
def test_a_printed_page_has_stills_and_solutions_and_no_navigation(visit, name):
    print_out(visit, name)
