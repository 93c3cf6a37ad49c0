"""Every page of the built website on a small screen in the dark, without scripts and in print.

The gate tries some of them (tests/website). Then what seldom breaks: the answers of the search,
typefaces that come late, going on where one has stopped.
"""

import pytest

from tests.website import test_site_in_browser
from tests.website.test_site_in_browser import INDEX, PAGES, QUERIES, weigh
from website import book

pytestmark = [pytest.mark.site, pytest.mark.browser]

DOCUMENTS = [f"{name}.html" for name in book.contents()]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_quiet_light_still_and_for_everyone(visit, name):
    test_site_in_browser.use(visit, name)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_small_screen_in_the_dark(visit, name):
    test_site_in_browser.fit_a_small_screen(visit, name)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_page_teaches_without_scripts(visit, name):
    test_site_in_browser.teach_without_scripts(visit, name)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_printed_page_has_stills_and_solutions_and_no_navigation(visit, name):
    test_site_in_browser.print_out(visit, name)


def test_the_weight_of_a_page_counts_the_bytes_that_are_sent(tmp_path):
    (tmp_path / "_images").mkdir()
    sizes = {"a.html": 9000, "b.png": 50, "c.woff2": 70, "_images/d.svg": 9000}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"a" * size)
    weight, pictures = weigh(tmp_path / name for name in sizes)
    assert 50 < pictures < 180
    assert 70 < weight < 200


RIGHT = 0.94  # of the queries; see what fails with -s


def test_the_search_answers(visit):
    """The first result of a question is one of those that answer it."""
    with visit("search.html?q=softmax") as seen:
        first = seen.page.evaluate(
            """queries => queries.map(query => {
              const [page] = search(query, searchIndex).found;
              return page ? `${page.address}#${page.sections[0].anchor}` : "nothing";
            })""",
            list(QUERIES),
        )
    first = [address.removeprefix("book/").replace(".html", "") for address in first]
    wrong = {
        query: found
        for (query, wanted), found in zip(QUERIES.items(), first, strict=True)
        if not {found, found.partition("#")[0]} & {*wanted}
    }
    print(f"{len(QUERIES) - len(wrong)} of {len(QUERIES)} first results are right; not {wrong}")
    assert len(QUERIES) - len(wrong) >= RIGHT * len(QUERIES), wrong


@pytest.mark.parametrize("width", [1280, 412])
def test_a_typeface_that_comes_late_moves_next_to_nothing(visit, width):
    with visit("book/mask-failures.html", width=width, hold="typeface") as seen:
        assert seen.held
        seen.page.wait_for_timeout(500)  # the stand-in is shown meanwhile
        for route, path in seen.held:
            route.fulfill(path=path)
        seen.page.wait_for_timeout(300)
        assert seen.page.evaluate("shift") <= 0.05


def test_the_list_of_chapters_offers_to_go_on(visit):
    with visit("book/masking.html#where-masks-come-from") as seen:
        seen.page.locator("#contents [href='#where-masks-come-from'][aria-current]").wait_for()
        seen.go(INDEX)
        link = seen.page.locator("#the-chapters .go-on a")
        assert link.text_content() == "Mask before the softmax: Where masks come from"
        link.click()
        seen.page.wait_for_url("**/masking.html#where-masks-come-from")
        assert seen.faults == []


def test_code_is_copied_by_touch_and_fades_where_it_is_cut(visit):
    with visit("book/masking.html", width=320, has_touch=True, is_mobile=True) as seen:
        page = seen.page
        copy = page.locator(".copy:visible").first
        copy.scroll_into_view_if_needed()
        box = copy.bounding_box()
        assert min(box["width"], box["height"]) >= 24
        assert copy.evaluate("one => getComputedStyle(one).opacity") == "1"
        copy.tap()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied in page.locator("pre:has(+ .copy)").all_text_contents()
        faded = """pre => [pre.scrollWidth > pre.clientWidth,
          getComputedStyle(pre).maskImage.includes("gradient")]"""
        seen_kinds = {tuple(code.evaluate(faded)) for code in page.locator(".cell_input pre").all()}
        assert seen_kinds == {(True, True), (False, False)}


def test_an_address_that_is_no_text_is_left_alone(visit):
    with visit("book/masking.html#%E0%A4%A") as seen:
        seen.quiet()
        assert seen.faults == []
