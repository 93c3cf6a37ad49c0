"""Graders for the exercises of the chapter that trains a language model."""

from torch import Tensor, dtype, float32, float64, tensor, zeros_like

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["loss_by_size", "nucleus", "quiz", "strange_text", "who_looks_back", "written"]

who_looks_back, loss_by_size, strange_text, quiz = questions("write_a_text")


_KEEP = "likely.cumsum(dim=-1) - likely < p"


@exercise(
    cases=[
        (tensor([0.15, 0.5, 0.05, 0.3]), 0.7),
        (draws(140)(7).softmax(dim=-1), 0.9),
        (draws(141)(11).softmax(dim=-1), 0.02),
        (draws(142, float64)(5).softmax(dim=-1), 0.5),
    ],
    special={"where the sum is exactly `p`": (tensor([0.125, 0.5, 0.25, 0.125]), 0.75)},
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
            "what is kept does not sum to 1 yet.",
        ),
        (
            "scatter(-1, order, likely)",
            "scatter(-1, order.sort().values, likely)",
            "the result is in sorted order; put each probability back in its letter's place.",
        ),
        (_KEEP, "likely >= p", "`p` is a bound for the sum, not for a single letter."),
        (
            "kept / kept.sum(dim=-1, keepdim=True)",
            "kept.masked_fill(kept == 0, -torch.inf).softmax(dim=-1)",
            "a softmax is taken of probabilities; divide them by their sum.",
        ),
        (
            _KEEP,
            "likely.cumsum(dim=-1) - likely <= p",
            "one letter too many is kept where the sum is exactly `p`: it has been reached.",
        ),
        (_KEEP, "likely >= 1 - p", "`p` is a bound for the sum, not for a single letter."),
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


def _likely(number: int, seed: int, dtype: dtype = float32) -> Tensor:
    return draws(seed, dtype)(number).softmax(dim=-1)


@exercise(
    axes="guess letter",
    cases=[
        (tensor([0.3, 0.7]), tensor([0.6, 0.4])),
        (tensor([0.5, 0.3, 0.2]), tensor([0.2, 0.2, 0.6])),
        (_likely(7, 143), _likely(7, 144)),
        (_likely(11, 145, float64), _likely(11, 146, float64)),
    ],
    mistakes=[
        (
            "(p / q)",
            "(q / p)",
            "the quotient is upside down: a guess of which the draft gives too much is refused.",
        ),
        (
            ".clamp(max=1)",
            "",
            "a probability of being accepted can be larger than 1 here; it is 1 at most.",
        ),
        (
            "missing / missing.sum()",
            "p",
            "a refused guess is replaced from `p`; draw from the positive part of `p - q`.",
        ),
        (
            "missing / missing.sum()",
            "missing",
            "the rows do not sum to 1: make the positive part of `p - q` sum to 1.",
        ),
        (
            "refused * ",
            "",
            "accepted guesses are replaced as well: multiply by the probability of being refused.",
        ),
        (
            "(p - q)",
            "(q - p)",
            "the positive part of `q - p` is what the draft has too much of; take that of `p - q`.",
        ),
    ],
)
def written(p: Tensor, q: Tensor) -> Tensor:
    """Return the probabilities of the letter that is written, ``(letters, letters)``.

    Row *g* holds those after a guess *g*. The draft guesses by ``q``, the writer wants ``p``.
    """
    accepted = (p / q).clamp(max=1)
    missing = (p - q).clamp(min=0)
    refused = 1 - accepted.unsqueeze(-1)
    return accepted.diag() + refused * missing / missing.sum()
