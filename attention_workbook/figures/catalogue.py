"""Every figure by its name: those that compute what they show, and those of the trained models,
which come with their weights and are imported where they are wanted.
"""

from attention_workbook import figures
from attention_workbook.figures import (
    copying_heads,
    learner,
    scissors,
    sentence_reader,
    walk,
    writer,
)
from attention_workbook.figures._figure import Figure

__all__ = ["FIGURES"]

FIGURES: dict[str, type[Figure]] = {
    name: thing
    for module in (figures, copying_heads, learner, scissors, sentence_reader, walk, writer)
    for name, thing in vars(module).items()
    if isinstance(thing, type) and issubclass(thing, Figure) and thing is not Figure
}
