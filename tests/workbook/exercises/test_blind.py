"""Answers whose authors had not seen the graders: what is accepted, and what refusals name.

One answer in ten is tried here, all of them in ``tests/nightly/test_blind.py``.
"""

import re

import pytest

from tests.workbook.exercises import answers

BARE = 0.125  # at most so many of these wrong functions hear only where they are wrong


def troubles(chapter, every=1):
    """The verdicts that are wrong, or that say another kind of thing than they should."""
    for row in answers.rows(chapter)[::every]:
        said = answers.verdict(chapter, row)
        right = row["kind"] == "right"
        if said.passed != right or not (
            right or re.search(answers.HEARS[row["hears"]], said.message)
        ):
            yield row["exercise"], row["mistake"], row.get("hears"), repr(said)


@pytest.mark.parametrize("chapter", answers.chapters())
def test_blind_answers_hear_what_they_should(chapter):
    assert [*troubles(chapter, every=10)] == []


def test_few_wrong_answers_hear_only_where_they_are_wrong():
    wrong = [r for c in answers.chapters() for r in answers.rows(c) if r["kind"] == "wrong"]
    assert sum(row["hears"] == "bare" for row in wrong) <= BARE * len(wrong)
