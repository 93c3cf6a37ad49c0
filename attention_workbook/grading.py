"""What the locked cells of an assignment call."""

from collections.abc import Callable
from typing import Any

__all__ = ["grade"]


class NotYet(AssertionError):
    """An answer is not right. A notebook shows the grader's sentence and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def grade(ask: Callable[[], Any]) -> None:
    """Print a grader's verdict on a right answer; raise with its sentence otherwise.

    Examples
    --------
    >>> from attention_workbook.exercises import masking as exercise
    >>> grade(lambda: exercise.lowest_loss(...))
    Traceback (most recent call last):
    attention_workbook.grading.NotYet: Write it, then run this cell.
    >>> grade(lambda: exercise.lowest_loss(never_written))
    Traceback (most recent call last):
    attention_workbook.grading.NotYet: Not yet: NameError: name 'never_written' is not defined.
    """
    try:
        verdict = ask()
    except Exception as error:
        raise NotYet(f"Not yet: {type(error).__name__}: {error}.") from None
    if not verdict:
        raise NotYet(str(verdict))
    print(verdict)
