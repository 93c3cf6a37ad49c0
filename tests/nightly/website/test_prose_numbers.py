"""Every number in a chapter's text is printed, taken or worked out there, or known to be not."""

import pytest

from website import notebooks, prose_numbers

CHAPTERS = notebooks.chapters()


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_number_of_the_text_is_shown(path):
    assert prose_numbers.uncovered(path) == []


def test_the_exceptions_are_of_chapters_there_are():
    assert {*prose_numbers.WORKED_OUT} <= {path.stem for path in CHAPTERS}


@pytest.mark.parametrize(
    ("text", "values", "right"),
    [
        ("0.56", {0.5623}, True),
        ("0.56", {0.571}, False),
        ("56", {0.5623}, True),  # a share, in percent
        ("34.4", {34.36e9}, True),  # bytes, in GB
        ("63.3", {63.35083}, False),
        ("131\u202f072", {131072}, True),
        ("2129", {2130.4}, False),
    ],
)
def test_a_number_is_covered_by_what_rounds_to_it(text, values, right):
    assert prose_numbers.covered(text, values) is right


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("The loss is $\\ln 10 = 2.303$.", []),
        ("The loss is $\\ln 10 = 2.313$.", ["2.313"]),
        ("With 0.9 the key reads 0.9 · 5 + 7 = 11.5.", ["0.9", "0.9"]),
        ("We chose 1.04 ([a paper](bibliography.md#a)).", []),
        ("**Time:** 40 minutes, and 300 for the exercises.", []),
        ("In Figure 12, of 2017, 12 of 20 keys.", []),
        ("The step takes 23.7 ms.", ["23.7"]),
    ],
)
def test_a_sentence_asks_for_its_numbers(sentence, missing, tmp_path):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": sentence}]
    found = [(text, before) for text, before, _ in prose_numbers.stated(cells[0])]
    left = [text for text, before in found if not prose_numbers.computed(text, before)]
    assert left == missing
