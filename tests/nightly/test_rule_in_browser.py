"""A reader's own update rule trains the model of chapter “It learns”, in a Chromium."""

import pytest

from tests.page_python.test_exercises_in_browser import Exercise
from tests.website.conftest import visit  # noqa: F401

pytestmark = [pytest.mark.site, pytest.mark.browser]

UPHILL = """def my_update(parameter, gradient, mean, square, rate):
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.99 * square + 0.01 * gradient**2
    return parameter + rate * mean / (square**0.5 + 1e-8), mean, square
"""
RIGHT = UPHILL.replace("parameter +", "parameter -")
FETCHED = {"Learner.data.js", "updating.js", "worker.js", "python.packed", "micropython.mjs"}


def test_a_readers_own_rule_makes_the_steps_and_its_mistakes_are_seen(visit):  # noqa: F811
    with visit("book/it-learns.html", width=390) as seen:
        page, before = seen.page, {*seen.asked}
        figure = page.locator(".attention-learner")
        finding, train = figure.locator(".attention-finding"), figure.locator(".attention-button")
        exercise = Exercise(page, 1)
        for source, sentence in ((UPHILL, "uphill"), (RIGHT, "better than counting letters")):
            exercise.field.fill(source)
            train.click()
            finding.filter(has_text=sentence).wait_for(timeout=60_000)
            figure.get_by_role("button", name="Reset").click()
        assert {path.name for path in {*seen.asked} - before} >= FETCHED
        assert seen.violations() == [] and seen.faults == []
