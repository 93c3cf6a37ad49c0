"""Graders for the exercises: one module a chapter, one function an exercise.

A grader takes the reader's function or number and returns a verdict, which says whether it is
right and names the mistake where it recognises one. A chapter's graders are made of `draws`,
`exercise` and `questions`, and of rules where a task demands a way.
"""

from workbook.exercises._cases import draws
from workbook.exercises._exercise import exercise
from workbook.exercises._questions import questions
from workbook.exercises._rules import Rule, asks_once, calls, makes, without

__all__ = ["Rule", "asks_once", "calls", "draws", "exercise", "makes", "questions", "without"]
