"""Graders for the exercises of the chapter that trains a language model."""

from torch import Tensor, float64, tensor, zeros_like

from workbook.exercises import draws, exercise, questions

__all__ = ["loss_by_size", "nucleus", "quiz", "strange_text", "who_looks_back"]

who_looks_back, loss_by_size, strange_text, quiz = questions("write_a_text")


_KEEP = "likely.cumsum(dim=-1) - likely < p"


@exercise(
    cases=[
        (tensor([0.15, 0.5, 0.05, 0.3]), 0.7),
        (draws(140)(7).softmax(dim=-1), 0.9),
        (draws(141)(11).softmax(dim=-1), 0.02),
        (draws(142, float64)(5).softmax(dim=-1), 0.5),
    ],
    mistakes=[
        (
            "descending=True",
            "descending=False",
            "the letters are sorted in ascending order: the rarest come first and are kept.",
        ),
        (_KEEP, "likely.cumsum(dim=-1) == likely", "only the most probable letter is kept."),
        (
            _KEEP,
            "likely.cumsum(dim=-1) <= p",
            "the letter with which the sum reaches `p` is missing; it is still needed.",
        ),
        (
            "kept / kept.sum(dim=-1, keepdim=True)",
            "kept",
            "the letters are the right ones; now make them sum to 1 again.",
        ),
        (
            "scatter(-1, order, likely)",
            "scatter(-1, order.sort().values, likely)",
            "these are the right probabilities in sorted order; put each back in its "
            "letter's place.",
        ),
        (_KEEP, "likely >= p", "`p` is a bound for the sum, not for a single letter."),
    ],
)
def nucleus(probabilities: Tensor, p: float) -> Tensor:
    """Return the probabilities ``(letters,)`` when only the most probable ones are drawn.

    These are the fewest letters whose probabilities together reach ``p``.
    """
    likely, order = probabilities.sort(dim=-1, descending=True)
    likely = likely * (likely.cumsum(dim=-1) - likely < p)
    kept = zeros_like(probabilities).scatter(-1, order, likely)
    return kept / kept.sum(dim=-1, keepdim=True)
