"""The panel in which a reader's parts write with a cache and without, in a Chromium."""

import pytest

pytestmark = [pytest.mark.site, pytest.mark.browser]


def test_parts_write_the_same_letters_with_a_cache_and_without(visit):
    with visit("book/kv-cache.html", width=320) as seen:
        panel = seen.page.locator(".attention-parts")
        assert panel.get_by_role("button").all_inner_texts()[0] == "Write"
        panel.get_by_role("button", name="Write").click()
        panel.locator("output", has_text="All 64 letters are the same.").wait_for(timeout=90_000)
        cached, yours = panel.get_by_role("group").all_inner_texts()[:2]
        assert cached == yours
        assert "letters a second with the cache;" in panel.inner_text()
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 320
        assert seen.axe() == []
        assert seen.violations() == [] and seen.faults == []
