"""The built website as readers meet it: every page in a Chromium that can reach nothing else."""

import gzip
import time
from urllib.parse import quote, unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup

from website import book
from website.extensions import moved

from .conftest import ORIGIN, SITE

PAGES = [*(f"{name}.html" for name in book.contents()), "search.html?q=mask", "404.html"]

pytestmark = [pytest.mark.site, pytest.mark.browser]

# What a page would otherwise not say: what its policy refuses, and how far it jumps while it loads.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  violations.push(`${event.effectiveDirective} refuses ${event.blockedURI || "inline"}`));
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
STILL = 0.05  # half of what counts as good: lines break anew when the fonts of their formulas come
ASKED = ("target-size", "label-content-name-mismatch")  # rules that axe-core leaves out by default
AXE = {"resultTypes": ["violations"], "rules": {rule: {"enabled": True} for rule in ASKED}}


class Visit:
    """A page of the site that is open, what it has asked for, and what went wrong."""

    def __init__(self, chromium, address, width=1280, scripts=True, theme="light", extra=""):
        self.faults, self.asked, self.extra = [], [], extra
        self.context = chromium.new_context(
            viewport={"width": width, "height": 800},
            java_script_enabled=scripts,
            color_scheme=theme,
            permissions=["clipboard-read", "clipboard-write"],
        )
        self.context.add_init_script(WATCH)
        self.context.route("**/*", self.answer)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(f"{said.type}: {said.text}"))
        self.page.goto(ORIGIN + address)
        self.page.wait_for_load_state("networkidle")

    def answer(self, route):
        path = SITE / unquote(urlsplit(route.request.url).path.lstrip("/"))
        if not (route.request.url.startswith(ORIGIN) and path.is_file()):
            self.faults.append(f"refused: {route.request.url}")
            return route.abort()
        self.asked.append(path)
        if path.suffix == ".js":
            time.sleep(0.05)  # as on a slow line: the page is painted before its scripts come
        if self.extra and path.suffix == ".html":
            text = path.read_text(encoding="utf-8").replace("</body>", f"{self.extra}</body>")
            return route.fulfill(body=text, content_type="text/html; charset=utf-8")
        return route.fulfill(path=path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def stands_still(self):
        shift = self.page.evaluate("shift")
        assert shift < STILL, (
            f"{self.page.url} jumps by {shift:.3f} while it loads, at most {STILL}: give what "
            "comes late its room beforehand"
        )

    def violations(self):
        return self.page.evaluate("violations")

    def axe(self):
        """What axe-core finds in the page with everything unfolded, a line each."""
        self.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.page.evaluate(frame)
        found = Axe().run(self.page, options=AXE).response["violations"]
        return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.fixture(scope="module")
def visit(chromium):
    if not (SITE / "index.html").is_file():
        pytest.fail("there is no website in _build/html: run make book, or see why it failed")
    return lambda *where, **how: Visit(chromium, *where, **how)


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


def test_weight_counts_what_is_sent(tmp_path):
    (tmp_path / "_images").mkdir()
    sizes = {"a.html": 9000, "b.png": 50, "c.woff2": 70, "_images/d.svg": 9000}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"a" * size)
    weight, pictures = weigh(tmp_path / name for name in sizes)
    assert 50 < pictures < 180
    assert 70 < weight < 200


# ------------------------------------------------------------------------------------- every page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_quiet_light_still_and_for_everyone(visit, name):
    """On a desk in the light; then everything on it is used."""
    with visit(name) as seen:
        page = seen.page
        page.mouse.wheel(0, 100_000)  # lazy pictures come, too
        page.wait_for_load_state("networkidle")
        weight, pictures = weigh(set(seen.asked))
        assert weight <= 250_000, f"{name} weighs {weight} bytes without its pictures"
        assert weight + pictures <= 700_000, f"{name} weighs {weight + pictures} bytes"
        seen.stands_still()
        assert seen.axe() == []
        page.locator("button.theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        for copy in page.locator(".copy").all()[:1]:
            copy.click()
            copied = page.evaluate("navigator.clipboard.readText()")
            assert copied == page.locator("pre:has(+ .copy)").first.text_content()
        for slider in page.locator(".attention-view input[type=range]").all()[:2]:
            slider.press("ArrowRight")
        assert seen.violations() == []
        assert seen.faults == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_small_screen_in_the_dark(visit, name):
    with visit(name, width=320, theme="dark") as seen:
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


@pytest.mark.parametrize("name", book.contents())
def test_a_page_teaches_without_scripts(visit, name):
    """Every still picture is there, the contents open, what needs a script is not offered."""
    with visit(f"{name}.html", width=320, scripts=False) as seen:
        source = BeautifulSoup((SITE / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        for figure in range(len(source.select("figure.attention-widget"))):
            still = seen.page.locator("figure.attention-widget").nth(figure)
            assert still.locator("> img").is_visible()
            assert still.locator("> figcaption").is_visible()
        assert not seen.page.locator("button.theme, .copy").first.is_visible()
        seen.page.locator("button.menu").click()
        assert seen.page.locator("#contents a").first.is_visible()
        assert seen.faults == []


# -------------------------------------------------------------------------------------- the policy

INDEX = "book/index.html"


@pytest.mark.parametrize(
    ("smuggled", "directive"),
    [
        ("<script>document.title = 'smuggled'</script>", "script-src-elem refuses inline"),
        (
            "<img alt='' src='data:,' onerror='document.title = 1'>",
            "script-src-attr refuses inline",
        ),
        (
            "<script src='https://other.test/a.js'></script>",
            "script-src-elem refuses https://other",
        ),
        ("<img alt='' src='https://other.test/a.png'>", "img-src refuses https://other"),
        ("<style>body { display: none }</style>", "style-src-elem refuses inline"),
        ("<iframe src='https://other.test/'></iframe>", "frame-src refuses https://other"),
    ],
)
def test_the_policy_refuses_what_is_not_the_sites_own(visit, smuggled, directive):
    with visit(INDEX, extra=smuggled) as seen:
        assert any(said.startswith(directive) for said in seen.violations())
        assert seen.page.title() == "The Attention Workbook"
        assert not any("other.test" in fault for fault in seen.faults if "refused:" in fault)


def test_the_policy_is_the_first_thing_on_every_page():
    for path in SITE.rglob("*.html"):
        head = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").head
        first = head.find(True)
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


def test_an_old_address_leads_to_where_its_section_stands(visit):
    """With scripts at once, without them by the one line that stands there."""
    (page, anchor), (new_page, new_anchor) = next(iter(moved.read().items()))
    with visit(f"book/{page}.html#{anchor}") as seen:
        assert seen.page.url == f"{ORIGIN}book/{new_page}.html#{new_anchor}"
        assert seen.faults == []
    with visit(f"book/{page}.html#{anchor}", scripts=False) as seen:
        assert seen.page.locator(".moved:visible").count() == 1
        seen.page.locator(".moved:visible a").click()
        assert seen.page.url == f"{ORIGIN}book/{new_page}.html#{new_anchor}"
    with visit(f"book/{page}.html") as seen:
        assert seen.page.locator(".moved:visible").count() == 0


def test_the_choice_of_colours_lasts(visit):
    with visit(INDEX) as seen:
        page = seen.page
        page.locator("button.theme").click()
        page.goto(f"{ORIGIN}book/masking.html")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.locator("button.theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") is None


QUERIES = {
    "mask leaks": "masking",
    "softmax saturates": "glossary#saturation",
    "NaN": "masking",
    "valid_lens": "api#length-mask",
    "multi head reshape": "multi-head",
    "heatmap": "heatmaps",
    "1/sqrt d": "variance",
    "padded query": "one-head",
    "additive score": "scoring-functions",
    "gradient exactly zero": "softmax-gradient",
    "caching": "head-layouts",
    "注意力": "glossary#attention",
    "评分": "glossary#-score",
    "掩码": "glossary#mask",
    "查询": "glossary#query",
}


def test_the_search_finds(visit):
    """For each query the page that answers it is among the first three."""
    lost = {}
    with visit(INDEX) as seen:
        page = seen.page
        page.keyboard.press("/")
        page.keyboard.type("softmax")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=softmax")
        for query, wanted in QUERIES.items():
            page.goto(f"{ORIGIN}search.html?q={quote(query)}")
            first = page.locator(".results li").evaluate_all(
                "items => items.slice(0, 3).flatMap(item => [...item.querySelectorAll('a')])"
                ".map(link => link.getAttribute('href'))"
            )
            chapter, _, anchor = wanted.partition("#")
            if not any(
                link.startswith(f"book/{chapter}.html") and link.endswith(anchor) for link in first
            ):
                lost[query] = first
        page.goto(f"{ORIGIN}search.html?q=zzzz")
        assert "No page has “zzzz”" in page.locator(".found").text_content()
        page.goto(f"{ORIGIN}search.html?q={quote('<img src=x onerror=alert(1)>')}")
        assert page.locator("main img").count() == 0
        assert seen.violations() == []
        assert seen.faults == []
    assert not lost, "the page that answers is not among the first three:\n" + "\n".join(
        f"{query}: {QUERIES[query]} is wanted, found are {first}" for query, first in lost.items()
    )


# ------------------------------------------------------------------------------------------- print


@pytest.mark.parametrize("name", book.contents())
def test_a_printed_page_has_stills_and_solutions_and_no_navigation(visit, name):
    with visit(f"{name}.html") as seen:
        page = seen.page
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert not page.locator(":is(.bar, #contents, .onward, .copy):visible").count()
        assert not page.locator(".attention-view:visible").count()
        stills = page.locator("figure.attention-widget > img")
        assert stills.evaluate_all("all => all.every(one => one.checkVisibility())")
        folded = page.locator("details:not([open])").evaluate_all(
            "all => all.filter(one => !one.parentElement.matches('.tag_hide-input')).length"
        )
        assert folded == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details[open]").count() == 0
