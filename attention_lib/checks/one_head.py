"""Graders for the exercises of the chapter on one head.

Examples
--------
>>> masked_cells(7)
Not yet: 7 counts the row of the padded query; a padding mask hides keys, which are columns.
>>> self_or_cross("b").passed
True
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named, causal, dot, of_scaled_scores, scaled
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.masking import length_mask, padding_mask

__all__ = [
    "cross_mask",
    "exchanged_twice",
    "head",
    "masked_cells",
    "quiz",
    "self_or_cross",
]

# Four queries of a target sentence, the last of them padding, look at seven keys of a source
# sentence, the last two of them padding.
LEN_Q, LEN_K, PADDED_QUERIES, PADDED_KEYS = 4, 7, 1, 2

masked_cells = Number(
    "How many cells of the table are masked, if four queries (the last one padding) look at seven "
    "keys (the last two padding)?",
    LEN_Q * PADDED_KEYS,
    because="two columns of four cells: padding hides keys, and hides them from every query.",
    mistakes=[
        (
            LEN_K * PADDED_QUERIES,
            "7 counts the row of the padded query; a padding mask hides keys, which are columns.",
        ),
        (
            LEN_Q * PADDED_KEYS + (LEN_K - PADDED_KEYS) * PADDED_QUERIES,
            "13 counts the row of the padded query as well; only keys are masked.",
        ),
        (
            PADDED_KEYS * PADDED_QUERIES,
            "2 is where the padded query meets the padded keys, or the number of padded keys; "
            "each of them is hidden from every query.",
        ),
        (
            (LEN_Q - PADDED_QUERIES) * PADDED_KEYS,
            "6 leaves out the row of the padded query; the mask is the same for all rows.",
        ),
        (PADDED_KEYS * LEN_K, "14 counts two rows of seven; keys are columns, of four cells."),
        (
            (LEN_Q - PADDED_QUERIES) * (LEN_K - PADDED_KEYS),
            "15 is what the real queries may attend to; the masked cells are asked for.",
        ),
        (LEN_Q * (LEN_K - PADDED_KEYS), "20 is what may be attended to."),
        (LEN_Q * LEN_K, "28 is the whole table."),
    ],
)

self_or_cross = Choice(
    "Scores have the shape (2, 7, 5). What do you know?",
    [
        "It is self-attention over sentences of 7 tokens, of width 5.",
        "It is cross-attention: 7 queries look at 5 keys.",
        "It is cross-attention: 5 queries look at 7 keys.",
        "It is self-attention with 7 heads.",
    ],
    "b",
    {
        "a": "the last axis of scores counts keys, not the width; in self-attention both are 7.",
        "b": "the last two axes are queries and keys. In self-attention they are the same "
        "tokens, and as many.",
        "c": "queries go down, keys go across: the last axis counts the keys.",
        "d": "heads would be an axis before the last two, and those would be equal.",
    },
)


def head(answer: object) -> Verdict:
    """Grade one head: project, score, mask, weigh, sum.

    Parameters
    ----------
    answer : callable
        ``answer(x, W_q, W_k, W_v, mask)``: tokens ``(batch, len, d_model)``, matrices
        ``(d_model, d_k)`` twice and ``(d_model, d_v)``, so that queries are ``x @ W_q``, and
        booleans ``(batch, len, len)``, True = may attend, at least once in a row. Returns the
        output ``(batch, len, d_v)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def unmasked(x, W_q, W_k, W_v, mask):
    ...     scores = (x @ W_q) @ (x @ W_k).mT / W_q.shape[-1] ** 0.5
    ...     return torch.softmax(scores, dim=-1) @ (x @ W_v)
    >>> head(unmasked)
    Not yet: the mask has no effect.
    """

    def by(
        scores: Callable[..., Any] = scaled,
        masked: Callable[[Tensor, Tensor], Tensor] = _masked,
        output: Callable[[Tensor, Tensor], Tensor] = torch.matmul,
        dim: int = -1,
    ) -> Callable[..., Any]:
        def attend(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor) -> Tensor:
            hidden = masked(scores(x @ W_q, x @ W_k), mask)
            return output(torch.softmax(hidden, dim=dim), x @ W_v)

        return attend

    def after_softmax(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor) -> Tensor:
        weights = torch.softmax(scaled(x @ W_q, x @ W_k), dim=-1) * mask
        output: Tensor = weights @ (x @ W_v)
        return output

    def by_width(queries: Tensor, keys: Tensor, width: int) -> Tensor:
        return dot(queries, keys) / math.sqrt(width)

    mistakes: Named = [
        *(
            (by(scores), sentence)
            for scores, sentence in of_scaled_scores()
            if "number of queries" not in sentence  # here they are the keys
        ),
        (by(masked=lambda scores, mask: scores), "the mask has no effect."),
        (
            by(masked=lambda scores, mask: _masked(scores, ~mask)),
            "the mask is upside down: True means may attend, and here it hides.",
        ),
        (
            by(masked=lambda scores, mask: _masked(scores, mask.mT)),
            "the mask is transposed: its rows are queries, its columns keys.",
        ),
        (
            by(masked=lambda scores, mask: scores * mask),
            "masked scores become 0, which is a score like any other. Put −infinity there.",
        ),
        (
            by(masked=lambda scores, mask: scores + mask),
            "True and False are added to the scores as 1 and 0. Put −infinity where it is False.",
        ),
        (
            by(masked=lambda scores, mask: scores.masked_fill(~mask, float("inf"))),
            "masked scores become +infinity: the hidden keys take all, and the rows are NaN.",
        ),
        (
            after_softmax,
            "the mask comes after softmax, so what is hidden keeps its share of the sum: the "
            "rows sum to less than 1. Mask the scores.",
        ),
        (
            by(dim=-2),
            "softmax runs over the queries (dim=-2). Keys lie along the last axis: dim=-1.",
        ),
        (by(dim=0), "softmax runs over the batch (dim=0). Keys lie along the last axis: dim=-1."),
        (
            lambda x, W_q, W_k, W_v, mask: (
                by(scores=dot)(x, W_q, W_k, W_v, mask) / W_k.shape[-1] ** 0.5
            ),
            "the output is divided by the root of d_k; it is the scores that are divided, before "
            "softmax.",
        ),
        *(
            (
                lambda x, W_q, W_k, W_v, mask, fill=fill: (
                    scaled(x @ W_q, x @ W_k).masked_fill(~mask, fill) @ (x @ W_v)
                ),
                "the softmax is missing: the values are summed with scores.",
            )
            for fill in (0.0, -torch.inf)
        ),
        (
            lambda x, W_q, W_k, W_v, mask: (
                by()(x, W_q, W_k, W_v, mask) * mask.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
            ),
            "the output of padded tokens is set to 0; nobody reads it, and nothing need be done.",
        ),
        (
            by(masked=lambda scores, mask: causal(_masked(scores, mask))),
            "a causal mask is laid over the mask that is given; that one says it all.",
        ),
        (
            by(output=lambda weights, values: weights),
            "these are the weights. The output is the values, summed with these weights.",
        ),
        (
            by(output=lambda weights, values: weights.mT @ values),
            "the weights are transposed before they meet the values.",
        ),
        (
            lambda x, W_q, W_k, W_v, mask: by()(x, W_q, W_q, W_v, mask),
            "the keys are made with W_q. Each of the three has a matrix of its own.",
        ),
        (
            lambda x, W_q, W_k, W_v, mask: by()(x, W_k, W_k, W_v, mask),
            "the queries are made with W_k. Each of the three has a matrix of its own.",
        ),
        (
            lambda x, W_q, W_k, W_v, mask: by()(x, W_k, W_q, W_v, mask),
            "queries and keys are exchanged: the queries are x @ W_q.",
        ),
        (
            lambda x, W_q, W_k, W_v, mask: by()(x, W_q, W_k, W_k, mask),
            "the keys are summed, not the values: x @ W_v is not used.",
        ),
        (
            lambda x, W_q, W_k, W_v, mask: by()(x, W_q, W_k, torch.eye(x.shape[-1]).to(x), mask),
            "x is summed as it is; the values are x @ W_v.",
        ),
        (
            lambda x, W_q, W_k, W_v, mask: by(scores=lambda q, k: by_width(q, k, x.shape[-1]))(
                x, W_q, W_k, W_v, mask
            ),
            "the scores are divided by the root of d_model. Here d_k is the width of the keys.",
        ),
        (
            lambda x, W_q, W_k, W_v, mask: by(scores=lambda q, k: by_width(q, k, W_v.shape[-1]))(
                x, W_q, W_k, W_v, mask
            ),
            "the scores are divided by the root of the values' width. It is the keys' that counts.",
        ),
        (
            lambda x, W_q, W_k, W_v, mask: by()(x, W_q.T, W_k.T, W_v.T, mask),
            "the matrices are transposed: here queries are x @ W_q.",
        ),
    ]
    return grade(answer, by(), _sentences(), mistakes, axes=["query", "column"])


def cross_mask(answer: object) -> Verdict:
    """Grade the mask of cross-attention, from the ids of target and source.

    Parameters
    ----------
    answer : callable
        ``answer(target_ids, source_ids)`` returns booleans ``(batch, len_q, len_k)``; the
        queries are the target's, the keys the source's, and 0 is padding.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def cross_mask_of_source(target_ids, source_ids):
    ...     return padding_mask(source_ids).expand(-1, target_ids.shape[1], -1)
    >>> cross_mask(cross_mask_of_source)
    Correct: 5 cases agree.
    """

    def by_keys(target_ids: Tensor, source_ids: Tensor) -> Tensor:
        return padding_mask(source_ids).expand(-1, target_ids.shape[1], -1)

    def by_queries(target_ids: Tensor, source_ids: Tensor) -> Tensor:
        return padding_mask(target_ids).mT.expand(-1, -1, source_ids.shape[1])

    mistakes: Named = [
        (
            by_queries,
            "that hides the rows of padded queries; the padded keys, which are columns, are still "
            "looked at.",
        ),
        (
            lambda *ids: ~by_keys(*ids),
            "upside down: True means may attend, and here it stands at the padding.",
        ),
        (lambda *ids: ~by_queries(*ids), "that marks the rows of padded queries."),
        (
            lambda *ids: by_keys(*ids) & by_queries(*ids),
            "padded queries need no mask: their rows become empty, and nobody reads them.",
        ),
        (
            lambda *ids: by_keys(*ids) | by_queries(*ids),
            "keys and queries are joined by or: a real query still sees padded keys.",
        ),
        (
            lambda target_ids, source_ids: by_keys(source_ids, target_ids),
            "the sentences are exchanged: the target asks, and the source is looked at.",
        ),
        (
            lambda target_ids, source_ids: padding_mask(source_ids),
            "right for every query, but spell out the shape (batch, len_q, len_k).",
        ),
        (
            lambda target_ids, source_ids: source_ids != 0,
            "that is (batch, len_k): each query needs a row of it, (batch, len_q, len_k).",
        ),
        (
            lambda target_ids, source_ids: torch.ones_like(by_keys(target_ids, source_ids)),
            "nothing is masked.",
        ),
        (
            lambda target_ids, source_ids: target_ids.unsqueeze(-1) == source_ids.unsqueeze(-2),
            "equal ids are marked; what counts is whether the key is padding.",
        ),
        (
            lambda target_ids, source_ids: by_keys(target_ids, source_ids).tril(),
            "the mask is causal, too: a target token may look at the whole source.",
        ),
        (
            lambda target_ids, source_ids: (
                (source_ids > 1).unsqueeze(-2).expand(-1, target_ids.shape[1], -1)
            ),
            "id 1 is taken for padding, too; only 0 is.",
        ),
        (
            lambda *ids: (by_keys(*ids) & by_queries(*ids)).mT,
            "two mistakes: queries go down and keys across, and padded queries need no mask.",
        ),
        (
            lambda *ids: ~(by_keys(*ids) & by_queries(*ids)),
            "two mistakes: True means may attend, and padded queries need no mask.",
        ),
        (
            lambda *ids: by_keys(*ids) == by_queries(*ids),
            "cells are True where query and key are both padding, or both not; only the key "
            "counts.",
        ),
        (
            lambda *ids: by_keys(*ids) | ~by_queries(*ids),
            "padded queries may look everywhere; the padded keys are hidden from every query.",
        ),
        (
            lambda target_ids, source_ids: length_mask(
                (source_ids != 0).sum(dim=-1), source_ids.shape[1]
            ).expand(-1, target_ids.shape[1], -1),
            "the padding is counted and put at the right; it may stand anywhere.",
        ),
    ]
    cases = [
        (torch.tensor([[1, 0]]), torch.tensor([[3, 4, 0]])),
        (torch.tensor([[5, 2, 0], [1, 3, 4]]), torch.tensor([[7, 7, 7, 0, 0], [8, 0, 0, 0, 0]])),
        (torch.tensor([[1, 0]]), torch.tensor([[3, 4, 5, 6, 0, 0, 0]])),
        (torch.tensor([[1, 2, 3, 0, 0]]), torch.tensor([[1, 0, 0]])),
        (torch.tensor([[6], [6]]), torch.tensor([[0, 6, 0, 6], [6, 6, 6, 6]])),  # on the left, too
    ]
    return grade(answer, by_keys, cases, mistakes, axes=["query", "key"])


exchanged_twice = Number(
    "The vectors (1, 0) of it and (0, 1) of animal both exchange their coordinates, for queries "
    "and for keys. Which weight does it give to animal, if scores are divided by the root of 2?",
    1 / (1 + math.exp(2**-0.5)),
    tolerance=0.01,
    because="query and key were turned alike, so it fits its own key best: .33 is left for animal.",
    mistakes=[
        (1 - 1 / (1 + math.exp(2**-0.5)), "that is its weight for itself, whose key fits now."),
        (0.5, "the scores are 0.71 and 0, so the weights are not equal."),
        (1 / (1 + math.e), "the scores are not divided by the root of 2."),
        (1 - 1 / (1 + math.e), "the scores are not divided, and this is its weight for itself."),
        (0, "that is the score. Softmax gives a positive weight to every key."),
        (1, "softmax never gives one key everything."),
    ],
)

quiz = Quiz(
    Number(
        "A head reads 2 sentences of 9 tokens, `d_k = 4` and `d_v = 3`. How many numbers is its "
        "output?",
        2 * 9 * 3,
        because="2 × 9 × 3 = 54: each token of each sentence gets one vector as wide as a value.",
        mistakes=[
            (2 * 9 * 4, "the output has the width of the values, not that of the keys."),
            (2 * 9 * 9, "these are the weights, one for each pair of tokens."),
            (9 * 3, "that is one sentence of the two."),
            (2 * 9, "that counts the vectors. Each of them holds 3 numbers."),
        ],
    ),
    Choice(
        "You double all numbers of `W_v`. What happens to the weights of the head?",
        ["they stay as they are", "they double", "they become harder: the largest one grows"],
        "a",
        {
            "a": "queries and keys make the scores, and scores the weights. W_v comes in "
            "afterwards: it changes what is told, and here doubles the output.",
            "b": "a row of weights always sums to 1. It is the output that doubles.",
            "c": "that is what doubling W_q or W_k would do, because they make the scores.",
        },
    ),
    Choice(
        "A translation looks back at its source, and both sentences are padded. Whose ids make "
        "the mask?",
        ["the source's", "the translation's", "both: padding may neither ask nor be looked at"],
        "a",
        {
            "a": "the keys come from the source, and a mask says which keys may be looked at.",
            "b": "the translation gives the queries, and a padded query does no harm as long as "
            "nobody reads its answer.",
            "c": "a padded query needs no mask: it would only make an empty row. Nobody reads it.",
        },
    ),
)


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, float("-inf"))


def _sentences() -> list[tuple[Tensor, ...]]:
    """Return tokens, three matrices and a mask, small ones first; no width equals another."""
    normal, double = draws(11), draws(12, torch.float64)

    def matrices(random: Callable[..., Tensor], d_model: int, d_k: int, d_v: int) -> list[Tensor]:
        return [random(d_model, width) for width in (d_k, d_k, d_v)]

    def padded(lens: list[int], length: int) -> Tensor:
        keys = torch.arange(length) < torch.tensor(lens).unsqueeze(-1)
        return keys.unsqueeze(-2).expand(-1, length, -1)

    def causal(length: int) -> Tensor:
        return torch.ones(length, length).tril().bool()

    steep = 300 * torch.tensor([[[1.0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]])
    chosen = [torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0]]) for _ in range(2)]
    return [
        (
            torch.tensor([[[1.0], [2.0]]]),
            torch.tensor([[2.0, 1.0]]),
            torch.tensor([[1.0, 0.0]]),
            torch.tensor([[1.0, 2.0, 3.0]]),
            causal(2).unsqueeze(0),
        ),
        (normal(2, 5, 7), *matrices(normal, 7, 3, 2), padded([3, 5], 5)),
        (normal(3, 7, 5), *matrices(normal, 5, 2, 11), padded([4, 1, 6], 7) & causal(7)),
        (normal(2, 5, 3), *matrices(normal, 3, 5, 2), causal(5).expand(2, -1, -1)),
        (steep, *chosen, normal(3, 2), torch.ones(1, 4, 4, dtype=torch.bool)),
        (double(2, 3, 4), *matrices(double, 4, 5, 7), padded([2, 3], 3)),
    ]
