"""Answers whose authors had not seen the graders: right ones pass, wrong ones hear a cause.

One answer in four is tried here, all of them in ``tests/nightly/test_blind.py``.
"""

import pytest

from tests.attention_workbook.exercises import answers, sentences


def troubles(chapter, every=1):
    """The answers that are judged wrongly, or refused without a cause that they used to hear."""
    for row in answers.rows(chapter)[::every]:
        verdict = answers.verdict(chapter, row)
        right = row["kind"] == "right"
        bare = not right and answers.is_bare(verdict.message)
        if verdict.passed != right or bare != row.get("bare", False):
            yield row["exercise"], row["mistake"], repr(verdict)


@pytest.mark.parametrize("chapter", answers.chapters())
def test_blind_answers_are_judged_rightly_and_hear_a_cause(chapter):
    assert [*troubles(chapter, every=4)] == []


@pytest.mark.parametrize(("chapter", "exercise", "code", "piece"), sentences.SAID)
def test_a_wrong_answer_hears_its_cause(chapter, exercise, code, piece):
    assert piece in sentences.verdict(chapter, exercise, code)
