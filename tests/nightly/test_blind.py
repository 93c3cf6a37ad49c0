"""All answers whose authors had not seen the graders, and two mistakes at once in all exercises."""

import pytest

from tests.attention_workbook.exercises import answers
from tests.attention_workbook.exercises.test_blind import troubles
from tests.attention_workbook.exercises.test_exercises import EVERY, hold_two_mistakes


@pytest.mark.parametrize("chapter", answers.chapters())
def test_every_blind_answer_is_judged_rightly_and_hears_a_cause(chapter):
    assert [*troubles(chapter)] == []


@pytest.mark.parametrize("exercise", EVERY)
def test_two_mistakes_at_once_hear_a_cause(exercise):
    hold_two_mistakes(exercise)
