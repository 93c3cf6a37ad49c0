"""Graders for the exercises of the chapter that trains a reader."""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions, without
from attention_workbook.exercises.engine.cases import SOFTMAXES

__all__ = [
    "held_out_sentences",
    "loss_of_a_guess",
    "pointing_loss",
    "quiz",
    "without_columns",
]

loss_of_a_guess, quiz = questions("train_a_reader")

_normal, _double = draws(71), draws(72, torch.float64)


def _sentences(batch: int, length: int, size: float = 3.0) -> tuple[Tensor, Tensor, Tensor]:
    """Return scores, and for each sentence the places of *it* and of the right answer."""
    it, meant = (_normal(batch, length).argmax(dim=-1) for _ in range(2))
    return size * _double(batch, length, length), it, meant


@exercise(
    cases=[
        (torch.tensor([[[0.0, 1.0], [2.0, 5.0]]]), torch.tensor([1]), torch.tensor([0])),
        _sentences(2, 5),
        _sentences(7, 3),
        _sentences(3, 11),
    ],
    special={"where scores are in the hundreds": _sentences(5, 4, 3000.0)},
    rules=[
        without(
            *(*SOFTMAXES, "cross_entropy"),
            sentence="the loss is right, but `cross_entropy` or a softmax made it; the task asks "
            "for a way without them.",
        )
    ],
    mistakes=[
        (
            "row.log_softmax(dim=-1)",
            "row.softmax(dim=-1).log_softmax(dim=-1)",
            "softmax is taken twice: cross_entropy wants scores, not weights.",
        ),
        (
            lambda scores, it, meant: (
                scores[:, it].logsumexp(dim=-1) - scores[:, it][..., meant]
            ).mean(),
            "`scores[:, it]` takes the places of all sentences from each of them. Pair each "
            "sentence with its own.",
        ),
        (
            "row.log_softmax(dim=-1)",
            "(row - row.exp().sum(dim=-1, keepdim=True).log())",
            "where scores are in the hundreds an exponential is rounded to 0 or to infinity; "
            "`logsumexp` avoids both.",
        ),
    ],
)
def pointing_loss(scores: Tensor, it: Tensor, meant: Tensor) -> Tensor:
    """Return the mean cross-entropy of the rows of *it* ``(batch, len, len)``, one number."""
    row = scores[torch.arange(len(scores)), it]
    chosen = row.log_softmax(dim=-1).gather(-1, meant[:, None])
    return -chosen.mean()


def _pairs(all_nouns: int, all_adjectives: int, sentences: int, nouns: int) -> tuple[Tensor, ...]:
    """Return which pairs are held out, and the nouns and the adjective of each sentence."""
    return (
        _normal(all_nouns, all_adjectives) > -0.5,
        _normal(sentences, nouns, all_nouns).argmax(dim=-1),
        _normal(sentences, all_adjectives).argmax(dim=-1),
    )


@exercise(
    axes="sentence",
    cases=[
        (
            torch.tensor([[True, False, True], [False] * 3, [True, False, True]]),
            torch.tensor([[0, 2], [0, 1], [1, 1]]),
            torch.tensor([0, 1, 2]),
        ),
        _pairs(5, 7, 11, 2),
        _pairs(3, 13, 8, 3),
        _pairs(11, 4, 17, 2),
        _pairs(7, 5, 23, 4),
    ],
)
def held_out_sentences(held_out: Tensor, nouns: Tensor, adjective: Tensor) -> Tensor:
    """Return ``(sentences,)``, True where all pairs of a sentence are held out."""
    return held_out[nouns, adjective[:, None]].all(dim=-1)


def _only_columns(weight: Tensor, num_heads: int, head: int) -> Tensor:
    heads = torch.arange(weight.shape[1]) // (weight.shape[1] // num_heads)
    return weight.masked_fill(heads != head, 0.0)


@exercise(
    axes="row column",
    cases=[
        (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 2, 1),
        (_normal(6, 6), 3, 0),
        (_double(15, 15), 5, 3),
        (_normal(28, 28), 4, 2),
    ],
    mistakes=[
        (
            "head * d_k : (head + 1) * d_k",
            "(num_heads - 1 - head) * d_k : (num_heads - head) * d_k",
            "the heads are counted from the end; head 0 owns the first columns.",
        ),
        (
            _only_columns,
            "only this head is kept; it is the one to take away.",
        ),
        (lambda weight, num_heads, head: weight.clone(), "nothing is set to 0."),
        (
            "changed[:, head * d_k : (head + 1) * d_k]",
            "changed[head * d_k : (head + 1) * d_k]",
            "the head's rows are set to 0. A Linear multiplies by columns: what comes from a head "
            "meets its columns.",
        ),
        (
            "head * d_k : (head + 1) * d_k",
            "head::num_heads",
            "every num_heads-th column is taken; a head's columns stand side by side.",
        ),
        (
            "head * d_k : (head + 1) * d_k",
            "head : head + 1",
            "one column is set to 0; a head has d_model / num_heads of them.",
        ),
    ],
)
def without_columns(weight: Tensor, num_heads: int, head: int) -> Tensor:
    """Return a copy of ``W_o.weight`` in which a head brings nothing."""
    d_k = weight.shape[1] // num_heads
    changed = weight.clone()
    changed[:, head * d_k : (head + 1) * d_k] = 0
    return changed
