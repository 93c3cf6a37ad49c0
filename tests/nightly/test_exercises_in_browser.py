"""Exercises in the page under hostile code and without a network."""

import pytest

from tests.page_python.test_exercises_in_browser import CORRECT, LOOKUP, PAGE, RIGHT, Exercise

pytestmark = [pytest.mark.site, pytest.mark.browser]


# Code that does not end, or does what a page does not let it do, and what is said of it. A loop
# without an operation is tried below, without a network.
HOSTILE = {
    "    x = keys\n    while True: x = x + 1\n": "in the line while True: x = x + 1",
    "    x = []\n    while True: x.append([0] * 1000)\n": "more memory than a page has",
    "    return my_lookup(queries, keys, values, temperature)\n": "maximum recursion depth",
    "    import js\n    js.document\n": "this page has no module js",
}


def test_hostile_code_leaves_the_page_usable(visit):
    with visit(PAGE) as seen:
        exercise = Exercise(seen.page)
        for body, said in HOSTILE.items():
            assert said in exercise.judged(LOOKUP + body)
            assert exercise.judged(RIGHT) == CORRECT


def test_without_a_network_what_was_loaded_goes_on(visit):
    with visit(PAGE) as seen:
        exercise = Exercise(seen.page)
        exercise.judged()
        seen.quiet()
        seen.context.unroute("**/*")
        seen.context.route("**/*", lambda route: route.abort())
        assert exercise.judged(RIGHT).startswith("Correct")
        assert "still running after 5 seconds" in exercise.judged(f"{LOOKUP}    while True: pass\n")
        assert exercise.judged(RIGHT).startswith("Correct")
