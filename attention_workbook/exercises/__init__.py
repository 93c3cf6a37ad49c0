"""Graders for the exercises: one module a chapter, one function an exercise.

A grader takes the reader's function or number and returns a verdict, which says whether it is
right and names the mistake where it recognises one. A chapter's graders are made of `draws`,
`exercise` and `questions`, and of rules where a task demands a way. The page that grades without
PyTorch is made from each `Exercise`, the `Source` of its solution, and the usual `slips` in it.
"""

from attention_workbook.exercises.engine.cases import draws
from attention_workbook.exercises.engine.edits import Source
from attention_workbook.exercises.engine.exercise import Exercise, exercise
from attention_workbook.exercises.engine.questions import questions
from attention_workbook.exercises.engine.rules import Rule, asks_once, makes, without
from attention_workbook.exercises.engine.slips import slips

__all__ = [
    "Exercise",
    "Rule",
    "Source",
    "asks_once",
    "draws",
    "exercise",
    "makes",
    "questions",
    "slips",
    "without",
]
