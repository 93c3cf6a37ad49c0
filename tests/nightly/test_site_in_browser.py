"""Every page of the built website on a small screen in the dark, without scripts and in print.

The gate tries some of them (tests/website).
"""

import pytest

from tests.website import test_site_in_browser, test_slides_in_browser
from tests.website.test_site_in_browser import PAGES, weigh
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


@pytest.mark.parametrize("chapter", ["masking", "one-head", "multi-head"])
def test_slides_fill_a_projector(visit, chapter):
    test_slides_in_browser.fill_a_projector(visit, chapter)


def test_the_weight_of_a_page_counts_the_bytes_that_are_sent(tmp_path):
    (tmp_path / "_images").mkdir()
    sizes = {"a.html": 9000, "b.png": 50, "c.woff2": 70, "_images/d.svg": 9000}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"a" * size)
    weight, pictures = weigh(tmp_path / name for name in sizes)
    assert 50 < pictures < 180
    assert 70 < weight < 200
