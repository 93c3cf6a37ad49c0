"""Graders for the exercises: one module a chapter, one function an exercise.

A grader takes the reader's function or number and returns a verdict, which says whether it is
right and names the known mistake it recognises. A chapter's module makes its graders of these:
"""

from workbook.exercises._cases import draws
from workbook.exercises._exercise import exercise
from workbook.exercises._questions import questions

__all__ = ["draws", "exercise", "questions"]
