"""Graders for the exercises of the chapter in which the parts write.

Examples
--------
>>> block(lambda x, attention, feed_forward, norm_1, norm_2: norm_2(x + feed_forward(x)))
Not yet: the attention is never called.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["block", "missing_part", "nucleus", "quiz"]

missing_part, quiz = questions("one_block")

Function = Callable[[Tensor], Tensor]

_normal, _double = draws(151), draws(152, torch.float64)


def _twice(x: Tensor) -> Tensor:
    return 2 * x


def _mean_so_far(x: Tensor) -> Tensor:
    """Return at each place the mean of the places up to it, as an attention might."""
    return x.cumsum(dim=-2) / torch.arange(1, x.shape[-2] + 1)[:, None]


def _squared(x: Tensor) -> Tensor:
    return x**2 + 1


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(dim=-1, keepdim=True)


def _scaled(x: Tensor) -> Tensor:
    return 3 * x / (1 + x.square().mean(dim=-1, keepdim=True)) ** 0.5


@exercise(
    part="my_block",
    axes="batch position column",
    cases=[
        (torch.tensor([[[1.0, 2.0]]]), _twice, _squared, _centred, _scaled),
        (_normal(2, 5, 3), _mean_so_far, _squared, _centred, _scaled),
        (_normal(3, 2, 7), _mean_so_far, _twice, _scaled, _centred),
        (_double(2, 3, 5), _twice, _squared, _scaled, _centred),
    ],
    mistakes=[
        (
            {"attended = norm_1(x + attention(x))": "attended = x"},
            "the attention is never called.",
        ),
        (
            {"norm_2(attended + feed_forward(attended))": "attended"},
            "the feed-forward part is never called.",
        ),
        (
            {"x + attention(x)": "attention(x)"},
            "what the attention brings back replaces the input; add it.",
        ),
        (
            {"attended + feed_forward(attended)": "feed_forward(attended)"},
            "the feed-forward part's result replaces what went in; add it.",
        ),
        (
            {
                "norm_1(x + attention(x))": "x + attention(norm_1(x))",
                "norm_2(attended + feed_forward(attended))": (
                    "attended + feed_forward(norm_2(attended))"
                ),
            },
            "each part is given normalised vectors, as in most models today; formula (2) "
            "normalises the sums.",
        ),
        (
            {
                "norm_1(x + attention(x))": "x + norm_1(attention(x))",
                "norm_2(attended + feed_forward(attended))": (
                    "attended + norm_2(feed_forward(attended))"
                ),
            },
            "what each part brings back is normalised before it is added; normalise the sums.",
        ),
        (
            {
                "norm_1(x + attention(x))": "x + attention(x)",
                "norm_2(attended + feed_forward(attended))": "attended + feed_forward(attended)",
            },
            "neither norm is called.",
        ),
        (
            {"norm_1(x + attention(x))": "x + attention(norm_1(x))"},
            "the attention is given normalised vectors; here the sum is normalised, after it.",
        ),
        (
            {"feed_forward(attended)": "feed_forward(x)"},
            "the feed-forward part reads the block's input; it works on what `norm_1` returned.",
        ),
        (
            {"feed_forward(attended)": "feed_forward(attention(x))"},
            "the feed-forward part reads what the attention brought back; it works on what "
            "`norm_1` returned.",
        ),
        (
            {"attended + feed": "x + feed"},
            "the second sum starts from the block's input; it starts from what `norm_1` returned.",
        ),
        ("norm_1(x + attention(x))", "x + attention(x)", "the first norm is not called."),
        (
            "norm_2(attended + feed_forward(attended))",
            "attended + feed_forward(attended)",
            "the second norm is not called.",
        ),
        (
            {"norm_1(x": "norm_2(x", "return norm_2(": "return norm_1("},
            "the two norms have changed places.",
        ),
        (
            "attended + feed_forward(attended)",
            "norm_1(x + attention(x) + feed_forward(x))",
            "both parts read the block's input; the feed-forward part follows the attention.",
        ),
    ],
)
def block(
    x: Tensor,
    attention: Function,
    feed_forward: Function,
    norm_1: Function,
    norm_2: Function,
) -> Tensor:
    """Return the vectors after a block, ``(batch, len, d_model)``."""
    attended = norm_1(x + attention(x))
    return norm_2(attended + feed_forward(attended))


_KEEP = "likely.cumsum(dim=-1) - likely < p"
_ONE_SHORT = "the letter with which the sum reaches `p` is missing; it is still needed."


def _in_one_order(kept: Tensor, probabilities: Tensor, p: float) -> Tensor:
    """Return what is kept with the largest shares first among equally probable letters."""
    if kept.shape != probabilities.shape:
        return kept
    largest_first = kept.sort(descending=True).indices
    likely = probabilities[largest_first].sort(descending=True, stable=True).indices
    order = probabilities.sort(descending=True, stable=True).indices
    return torch.zeros_like(kept).scatter(0, order, kept[largest_first[likely]])


@exercise(
    cases=[
        (torch.tensor([0.15, 0.5, 0.05, 0.3]), 0.7),
        (draws(140)(7).softmax(dim=-1), 0.9),
        (draws(141)(11).softmax(dim=-1), 0.02),
        (draws(142, torch.float64)(5).softmax(dim=-1), 0.5),
    ],
    special={
        "where the sum is exactly `p`": (torch.tensor([0.125, 0.5, 0.25, 0.125]), 0.75),
        "where letters are equal": (torch.tensor([0.125, 0.25, 0.125, 0.25, 0.25]), 0.5),
    },
    normalise=_in_one_order,
    normalised="With the largest first among equal letters",
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
            _ONE_SHORT,
        ),
        (
            _KEEP,
            "(likely.cumsum(dim=-1) < p) | (likely.cumsum(dim=-1) == likely)",
            _ONE_SHORT,
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
        (
            _KEEP,
            "likely >= likely[(likely.cumsum(dim=-1) - likely < p).sum() - 1]",
            "letters as probable as the last one are kept, too; of equal ones the fewest are.",
        ),
    ],
)
def nucleus(probabilities: Tensor, p: float) -> Tensor:
    """Return the probabilities ``(letters,)`` when only the most probable ones are drawn.

    These are the fewest letters whose probabilities together reach ``p``.
    """
    likely, order = probabilities.sort(dim=-1, descending=True, stable=True)
    likely = likely * (likely.cumsum(dim=-1) - likely < p)
    kept = torch.zeros_like(probabilities).scatter(-1, order, likely)
    return kept / kept.sum(dim=-1, keepdim=True)


def breakages(
    heads: Callable[..., Tensor],
    unit_scores: Callable[..., Tensor],
    masked_softmax: Callable[..., Tensor],
) -> dict[str, Callable[..., Tensor]]:
    """Return what can be put in the place of the heads to break the chapter's model, by name."""

    def no_root(
        queries: Tensor, keys: Tensor, values: Tensor, num_heads: int, mask: Tensor
    ) -> Tensor:
        d_k = queries.shape[-1] // num_heads
        return heads(queries * d_k**0.5, keys, values, num_heads, mask)

    def mask_after(
        queries: Tensor, keys: Tensor, values: Tensor, num_heads: int, mask: Tensor
    ) -> Tensor:
        Q, K, V = (
            x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (queries, keys, values)
        )
        weights = masked_softmax(unit_scores(Q, K, 1), torch.ones_like(mask)) * mask
        return (weights @ V).transpose(1, 2).flatten(-2)

    def swapped(
        queries: Tensor, keys: Tensor, values: Tensor, num_heads: int, mask: Tensor
    ) -> Tensor:
        first, second, *others = heads(queries, keys, values, num_heads, mask).chunk(num_heads, -1)
        return torch.cat([second, first, *others], dim=-1)

    return {"no_root": no_root, "mask_after": mask_after, "swapped": swapped}
