"""Graders for the exercises of the chapter on positions.

The rotation of sinusoidal positions is graded by :func:`~attention_lib.checks.one_head.shifted`.

Examples
--------
>>> full_turn(628).passed
True
>>> layout("a")
Not yet: both layouts have the same shapes, so nothing raises.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named
from attention_lib.checks._questions import Choice, Number
from attention_lib.checks.one_head import shifted
from attention_lib.positions import rotary_frequencies, rotate_by_position

__all__ = ["full_turn", "layout", "shifted", "slope_share", "turned"]

full_turn = Number(
    "With d_k = 4, after how many positions has the slowest pair made one full turn?",
    2 * math.pi * 100,
    tolerance=1.5,
    because="it turns 0.01 radians a position, and a full turn is 2π: 628 positions.",
    mistakes=[
        (2 * math.pi, "that is the fastest pair, which turns one radian a position."),
        (2 * math.pi * 10_000, "the slowest of two pairs has the exponent −2/4, not −1."),
        (100, "that is one radian. A full turn is 2π radians."),
        (math.pi * 100, "that is half a turn."),
        (360 * 100, "0.01 are radians, not degrees."),
    ],
)

slope_share = Number(
    "With slope 1/2, two keys with equal dot products stand at distances 3 and 1. By which factor "
    "is the weight of the farther one smaller? Give it as a number below 1.",
    math.exp(-1),
    tolerance=0.01,
    because="the scores differ by ½ · 2 = 1, so the weights differ by the factor 1/e = 0.368.",
    mistakes=[
        (math.exp(-0.5), "that is one step of distance; these are two."),
        (math.exp(-1.5), "that is the penalty of distance 3 alone; the other key has one, too."),
        (math.exp(-2), "that is slope 1."),
        (0.5, "the slope is subtracted from the score. The weight is e to the power of it."),
        (math.e, "that is the nearer key against the farther one: below 1 is asked for."),
        (1 / 3, "that is the ratio of the distances."),
    ],
)

layout = Choice(
    "A model was trained with pairs (2j, 2j+1) and is loaded into code that pairs (j, j + d/2). "
    "What do you see?",
    [
        "An error, because the shapes differ.",
        "Nothing wrong at the first position, and nonsense further on.",
        "The same output: a rotation keeps all lengths.",
    ],
    "b",
    {
        "a": "both layouts have the same shapes, so nothing raises.",
        "b": "at position 0 nothing turns. Elsewhere coordinates turn that belong to other pairs.",
        "c": "lengths are kept, but scores between places are not: other coordinates are paired.",
    },
)


def turned(answer: object) -> Verdict:
    """Grade the rotation of queries or keys by their positions, in pairs ``(2j, 2j+1)``.

    Parameters
    ----------
    answer : callable
        ``answer(x, positions)`` takes ``(length, d_k)`` and ``(length,)``, base 10 000, and
        returns the turned vectors ``(length, d_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> turned(lambda x, positions: rotate_by_position(x, positions, layout="halves"))
    Not yet: the pairs are (j, j + d/2) here; (2j, 2j+1) are asked for.
    """

    def by(
        speeds: Callable[[int], Tensor] = rotary_frequencies, sign: float = 1
    ) -> Callable[[Tensor, Tensor], Tensor]:
        def turn(x: Tensor, positions: Tensor) -> Tensor:
            angles = sign * positions.double().unsqueeze(-1) * speeds(x.shape[-1])
            cos, sin = angles.cos().to(x), angles.sin().to(x)
            first, second = x.reshape(len(x), -1, 2).unbind(dim=-1)
            pair = [first * cos - second * sin, first * sin + second * cos]
            return torch.stack(pair, dim=-1).flatten(-2)

        return turn

    def in_two_blocks(x: Tensor, positions: Tensor) -> Tensor:
        return by()(x, positions).reshape(len(x), -1, 2).mT.flatten(-2)

    def not_minus(x: Tensor, positions: Tensor) -> Tensor:
        angles = positions.double().unsqueeze(-1) * rotary_frequencies(x.shape[-1])
        cos, sin = angles.cos().to(x), angles.sin().to(x)
        first, second = x.reshape(len(x), -1, 2).unbind(dim=-1)
        pair = [first * cos + second * sin, first * sin + second * cos]
        return torch.stack(pair, dim=-1).flatten(-2)

    mistakes: Named = [
        (lambda x, positions: x, "nothing is turned."),
        (
            lambda x, positions: rotate_by_position(x, positions, layout="halves"),
            "the pairs are (j, j + d/2) here; (2j, 2j+1) are asked for.",
        ),
        (by(sign=-1), "turned backwards: the second coordinate gains sin times the first."),
        (by(lambda d: rotary_frequencies(d) ** 0), "every pair turns at the same speed."),
        (by(lambda d: rotary_frequencies(d) ** 0.5), "the exponent is −2j/d, not −j/d."),
        (by(lambda d: rotary_frequencies(d) ** 2), "the exponent is −2j/d, not −4j/d."),
        (by(lambda d: 1 / rotary_frequencies(d)), "the speeds rise; the exponent is negative."),
        (
            lambda x, positions: by()(x, torch.arange(len(x))),
            "the positions are taken to be 0, 1, 2 …; use those that are given.",
        ),
        (
            lambda x, positions: by()(x, positions + 1),
            "every vector is turned one position too far: position 0 turns nothing.",
        ),
        (not_minus, "one sign is wrong: the first coordinate becomes cos · first − sin · second."),
        (
            in_two_blocks,
            "the numbers are right, but first and second coordinates stand in two "
            "blocks; keep each pair together.",
        ),
        (by(lambda d: rotary_frequencies(d) ** 0.75), "the base of the speeds is 10000, not 1000."),
        (
            by(lambda d: rotary_frequencies(d).flip(0)),
            "the speeds are in reverse order: pair 0 is the fastest.",
        ),
        (
            lambda x, positions: by()(x, positions * math.pi / 180),
            "the angles are taken for degrees; they are radians.",
        ),
        (
            lambda x, positions: by()(x, positions * math.tau),
            "the angles are taken for turns; they are radians.",
        ),
        (
            lambda x, positions: by()(x, positions - positions[0]),
            "the positions are counted from the first row; use those that are given.",
        ),
        (
            lambda x, positions: by()(x, positions[:1].expand(len(x))),
            "every row is turned by the first position.",
        ),
        (
            lambda x, positions: torch.cat([by()(x, positions)[:, :2], x[:, 2:]], dim=-1),
            "only the first pair is turned.",
        ),
        (
            lambda x, positions: _overwritten(x, positions, 1),
            "the first coordinates are overwritten before the second ones are made of them.",
        ),
        (
            lambda x, positions: by()(x, positions) / x.shape[-1] ** 0.5,
            "a rotation keeps lengths: no root of d_k belongs here.",
        ),
        (
            by(lambda d: 10000.0 ** (-torch.arange(0, d, 2).double() / max(d - 2, 1))),
            "the exponent is −2j/d, not −2j/(d − 2).",
        ),
    ]
    normal, double = draws(11), draws(12, torch.float64)
    cases = [
        (torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1])),
        (normal(3, 4), torch.tensor([0, 1, 2])),
        (normal(5, 6), torch.tensor([9, 2, 40, 3, 0])),
        (normal(2, 10), torch.tensor([7, 100])),
        (double(4, 8), torch.tensor([5, 6, 7, 8])),
        (double(1, 2), torch.tensor([-3])),
    ]
    return grade(answer, by(), cases, mistakes, axes=["row", "column"])


def _overwritten(x: Tensor, positions: Tensor, sign: float) -> Tensor:
    angles = sign * positions.double().unsqueeze(-1) * rotary_frequencies(x.shape[-1])
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    turned = x.clone()
    turned[:, 0::2] = turned[:, 0::2] * cos - turned[:, 1::2] * sin
    turned[:, 1::2] = turned[:, 0::2] * sin + turned[:, 1::2] * cos
    return turned
