"""Answers whose authors had not seen the graders: what is accepted, and what refusals name.

One answer in ten is tried here, all of them in ``tests/nightly/test_blind.py``.
"""

import pytest

from tests.workbook.exercises import answers

BARE = 0.151  # at most so many wrong answers hear only where they are wrong: 202 of 1344


def troubles(chapter, every=1):
    """The verdicts that are wrong, or that say another kind of thing than they should."""
    for row in answers.rows(chapter)[::every]:
        said = answers.verdict(chapter, row)
        right = row["kind"] == "right"
        heard = right or answers.is_kind(row["hears"], said.message)
        if heard and row.get("hears") == "case":
            heard = answers.case(chapter, row, said.message) == row["case"]
        if said.passed != right or not heard:
            yield row["exercise"], row["mistake"], row.get("hears"), row.get("case"), repr(said)


@pytest.mark.parametrize("chapter", answers.chapters())
def test_blind_answers_hear_what_they_should(chapter):
    assert [*troubles(chapter, every=10)] == []


def test_few_wrong_answers_hear_only_where_they_are_wrong():
    wrong = [r for c in answers.chapters() for r in answers.rows(c) if r["kind"] == "wrong"]
    assert sum(row["hears"] == "bare" for row in wrong) <= BARE * len(wrong)
