"""All answers whose authors had not seen the graders."""

import pytest

from tests.workbook.exercises import answers
from tests.workbook.exercises.test_blind import troubles


@pytest.mark.parametrize("chapter", answers.chapters())
def test_every_blind_answer_is_judged_rightly_and_hears_a_cause(chapter):
    assert [*troubles(chapter)] == []
