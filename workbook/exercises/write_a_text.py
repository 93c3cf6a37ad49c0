"""Graders for the exercises of the chapter that trains a language model."""

from torch import Tensor, tensor

from workbook.exercises._cases import draws
from workbook.exercises._exercise import exercise
from workbook.exercises._questions import questions

__all__ = ["loss_by_size", "next_probabilities", "quiz", "strange_text", "who_looks_back"]

who_looks_back, loss_by_size, strange_text, quiz = questions("write_a_text")


@exercise(
    cases=[(tensor([0.0, 2.0, 1.0]), 0.5), (draws(140)(7), 2.0), (draws(141)(3, 5), 0.8)],
    mistakes=[
        ({" / temperature": "", ".softmax(dim=-1)": ".softmax(dim=-1) / temperature"},
         "the weights are divided by the temperature; divide the scores, before the softmax."),
    ],
)  # fmt: skip
def next_probabilities(scores: Tensor, temperature: float) -> Tensor:
    """Return the probabilities ``(..., letters)`` with which the next letter is drawn."""
    return (scores / temperature).softmax(dim=-1)
