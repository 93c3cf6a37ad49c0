"""Graders for the exercises of the chapter on softmax in one pass."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["merged_outputs", "one_step", "quiz", "window_tiles"]

window_tiles, quiz = questions("flash_attention")

_normal, _double = draws(61), draws(62, torch.float64)
Draw = Callable[..., Tensor]
_STEEP = torch.tensor([[900.0], [-900.0]])


def _read(draw: Draw, len_q: int, len_k: int, d_v: int) -> tuple[Tensor, ...]:
    """Return what was read so far, and a block of scores and values."""
    before = 2 * draw(len_q, 1), draw(len_q, 1).exp() + 1, draw(len_q, d_v)
    return *before, 2 * draw(len_q, len_k), draw(len_k, d_v)


@exercise(
    axes="query column",
    cases=[
        _read(_normal, 1, 2, 1),
        _read(_normal, 2, 3, 5),
        _read(_double, 3, 5, 2),
        _read(_normal, 5, 1, 3),
    ],
    special={
        "before the first block, where `largest` is −∞": (
            torch.full((2, 1), -math.inf),
            torch.zeros(2, 1),
            torch.zeros(2, 3),
            _normal(2, 5),
            _normal(5, 3),
        ),
        "where scores are in the hundreds": (
            _STEEP,
            torch.ones(2, 1),
            _normal(2, 3),
            torch.tensor([[899.0, 901.0], [-902.0, -901.0]]),
            _normal(2, 3),
        ),
    },
    mistakes=[
        (
            "torch.exp(scores - new)",
            "scores.softmax(dim=-1)",
            "a softmax is taken of the block; its exponentials are added up undivided.",
        ),
        (
            "torch.exp(scores - new)",
            "torch.exp(scores - largest)",
            "the block's exponentials count from the old largest score, not from the new one.",
        ),
        (
            "total * factor + powers @ values",
            "(total * factor + powers @ values) / normaliser",
            "the total is divided at each step; divide once, after the last block.",
        ),
        (
            {"normaliser * factor": "normaliser", "total * factor": "total"},
            "what was read before still counts from the old largest score: rescale it.",
        ),
        (
            "(largest - new)",
            "(new - largest)",
            "the factor is upside down: e to the power of old minus new, which is at most 1.",
        ),
        (
            "torch.maximum(largest, of_block)",
            "of_block",
            "the new largest score is the larger of two, the old one and the block's.",
        ),
        (
            "(scores - new)",
            "(scores - of_block)",
            "the block's powers count from its own largest score, not from the new one.",
        ),
    ],
)
def one_step(
    largest: Tensor, normaliser: Tensor, total: Tensor, scores: Tensor, values: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the largest score, normaliser and total after one more block of keys."""
    of_block = scores.amax(dim=-1, keepdim=True)
    new = torch.maximum(largest, of_block)
    factor, powers = torch.exp(largest - new), torch.exp(scores - new)
    normaliser = normaliser * factor + powers.sum(dim=-1, keepdim=True)
    return new, normaliser, total * factor + powers @ values


def _blocks(draw: Draw, len_q: int, d_v: int) -> tuple[Tensor, ...]:
    return draw(len_q, d_v), 2 * draw(len_q, 1), draw(len_q, d_v), draw(len_q, 1)


@exercise(
    axes="query column",
    cases=[
        _blocks(_normal, 1, 1),
        _blocks(_normal, 2, 5),
        _blocks(_double, 3, 2),
        _blocks(_normal, 5, 3),
    ],
    special={
        "where the logarithms are in the hundreds": (
            _normal(2, 2),
            _STEEP,
            _normal(2, 2),
            _STEEP + _normal(2, 1),
        ),
        "where one block is empty, and its logarithm is −∞": (
            _normal(2, 2),
            torch.ones(2, 1),
            torch.zeros(2, 2),
            torch.full((2, 1), -math.inf),
        ),
        "where both blocks are empty": (
            torch.zeros(1, 2),
            torch.full((1, 1), -math.inf),
            torch.zeros(1, 2),
            torch.full((1, 1), -math.inf),
        ),
    },
    mistakes=[
        (
            "total.masked_fill(total == -math.inf, 0.0)",
            "torch.zeros_like(total)",
            "the outputs are weighted by whole sums; each block's share of the joint sum counts.",
        ),
        (
            "output_a * torch.exp(log_sum_a - safe) + output_b * torch.exp(log_sum_b - safe)",
            "(output_a + output_b) / 2",
            "that is the plain mean of both outputs; the block with the larger sum counts more.",
        ),
        *(
            (
                f"{where} torch.logaddexp(log_sum_a, log_sum_b)",
                f"{where} log_sum_a + log_sum_b",
                "the logarithms are added, which multiplies the sums; add their exponentials.",
            )
            for where in ("output,", "total =")
        ),
        (
            "output, torch.logaddexp(log_sum_a, log_sum_b)",
            "output, total.exp()",
            "the sum comes back; its logarithm is asked for.",
        ),
        (
            "output_a * torch.exp(log_sum_a - safe) + output_b * torch.exp(log_sum_b - safe)",
            "((output_a * log_sum_a + output_b * log_sum_b) / (log_sum_a + log_sum_b))"
            ".where(total > -math.inf, 0.0)",
            "the logarithms stand for the weights; take their exponentials.",
        ),
        (
            "output, torch.logaddexp(log_sum_a, log_sum_b)",
            "output, torch.maximum(log_sum_a, log_sum_b)",
            "the larger logarithm comes back; both sums count.",
        ),
        (
            {"(log_sum_a - safe": "(log_sum_b - safe", "(log_sum_b - safe": "(log_sum_a - safe"},
            "each output has the other one's share.",
        ),
        *(
            (
                {"(log_sum_a - safe": f"({a} - total", "(log_sum_b - safe": f"({b} - total"},
                f"{exchanged}−∞ minus −∞ is NaN where both blocks are empty: provide for it.",
            )
            for a, b, exchanged in (
                ("log_sum_a", "log_sum_b", ""),
                ("log_sum_b", "log_sum_a", "each output has the other one's share. And "),
            )
        ),
    ],
)
def merged_outputs(
    output_a: Tensor, log_sum_a: Tensor, output_b: Tensor, log_sum_b: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the output over all keys and the logarithm of the sum of their exponentials."""
    total = torch.logaddexp(log_sum_a, log_sum_b)
    safe = total.masked_fill(total == -math.inf, 0.0)
    output = output_a * torch.exp(log_sum_a - safe) + output_b * torch.exp(log_sum_b - safe)
    return output, torch.logaddexp(log_sum_a, log_sum_b)
