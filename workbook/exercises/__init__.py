"""Graders for the exercises: one module a chapter, one function an exercise.

A grader takes the reader's function or number and returns a verdict, which says whether it is
right and names the mistake where it recognises one. A chapter's graders are made of `draws`,
`exercise` and `questions`.
"""

from workbook.exercises._cases import draws
from workbook.exercises._exercise import exercise
from workbook.exercises._questions import questions

__all__ = ["draws", "exercise", "questions"]
