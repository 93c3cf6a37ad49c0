"""Graders for the exercises of the chapter on positions.

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
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.positions import (
    rotary_frequencies,
    rotate_by_position,
    sinusoidal_positions,
)

__all__ = ["full_turn", "layout", "quiz", "shifted", "slope_share", "turned"]

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
        (2 * math.pi * 10, "the exponent is −2j/d: with j = 1 and d = 4 that is −2/4."),
        (10_000, "10 000 is the base; its power −2/4 is the speed, and a full turn is 2π."),
        (math.pi * 50, "that is a quarter turn."),
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
        (math.exp(-3), "that is slope 1, and the penalty of distance 3 alone."),
        (1 - math.exp(-1), "that is by how much it is smaller, 1 − 1/e; its share is asked for."),
        (1 / (1 + math.e), "that is its share of both weights; the factor between them is asked."),
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

    def swapped(x: Tensor, positions: Tensor) -> Tensor:
        angles = _angles(x, positions)
        cos, sin = angles.cos().to(x), angles.sin().to(x)
        pair = [x[:, 0::2] * sin - x[:, 1::2] * cos, x[:, 0::2] * cos + x[:, 1::2] * sin]
        return torch.stack(pair, dim=-1).flatten(-2)

    def angles_in_blocks(x: Tensor, positions: Tensor) -> Tensor:
        angles = _angles(x, positions).repeat(1, 2)
        crossed = torch.stack([-x[:, 1::2], x[:, 0::2]], dim=-1).flatten(-2)
        return x * angles.cos().to(x) + crossed * angles.sin().to(x)

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
            lambda x, positions: by()(x, positions - positions[0]),
            "the positions are counted from the first row; use those that are given.",
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
            by(lambda d: 10000.0 ** (-torch.arange(0, d, 2).double() / max(d - 2, 1))),
            "the exponent is −2j/d, not −2j/(d − 2).",
        ),
        (
            lambda x, positions: x + _positions_of(x, positions),
            "that adds a vector to each place; here each pair is turned.",
        ),
        (
            lambda x, positions: x * _angles(x, positions).repeat_interleave(2, -1).cos(),
            "the terms with the sine are missing.",
        ),
        (
            swapped,
            "cos and sin have changed places: at position 0 nothing turns.",
        ),
        (
            angles_in_blocks,
            "the angles stand as 0, 1, …, 0, 1, …; those of a pair are neighbours: "
            "repeat_interleave, not repeat.",
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


def shifted(answer: object) -> Verdict:
    """Grade the rotation of sinusoidal positions.

    Parameters
    ----------
    answer : callable
        ``answer(positions, delta)`` takes ``(len, d_model)`` and returns the vectors of the
        places ``delta`` further, in the same shape. The places are any, in any order.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> shifted(lambda positions, delta: positions)
    Not yet: nothing is turned.
    """

    def turned(speeds: Callable[[int], Tensor], sign: float = 1) -> Callable[..., Tensor]:
        def move(positions: Tensor, delta: int) -> Tensor:
            sin, cos = positions.reshape(len(positions), -1, 2).unbind(dim=-1)
            angle = sign * delta * speeds(positions.shape[-1])
            moved = [sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()]
            return torch.stack(moved, dim=-1).flatten(-2)

        return move

    def halves(positions: Tensor, delta: int) -> Tensor:
        sin, cos = positions.chunk(2, dim=-1)
        angle = delta * rotary_frequencies(positions.shape[-1])
        return torch.cat(
            [sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()], dim=-1
        )

    def in_two_blocks(positions: Tensor, delta: int) -> Tensor:
        pairs = turned(rotary_frequencies)(positions, delta).reshape(len(positions), -1, 2)
        return pairs.mT.flatten(-2)

    def not_minus(positions: Tensor, delta: int) -> Tensor:
        sin, cos = positions.reshape(len(positions), -1, 2).unbind(dim=-1)
        angle = delta * rotary_frequencies(positions.shape[-1])
        moved = [sin * angle.cos() + cos * angle.sin(), cos * angle.cos() + sin * angle.sin()]
        return torch.stack(moved, dim=-1).flatten(-2)

    def from_zero(positions: Tensor, delta: int) -> Tensor:
        places = torch.arange(len(positions), dtype=positions.dtype).unsqueeze(-1) + delta
        angles = places * rotary_frequencies(positions.shape[-1])
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)

    def overwritten(positions: Tensor, delta: int) -> Tensor:
        angle, moved = delta * rotary_frequencies(positions.shape[-1]), positions.clone()
        moved[:, 0::2] = moved[:, 0::2] * angle.cos() + moved[:, 1::2] * angle.sin()
        moved[:, 1::2] = moved[:, 1::2] * angle.cos() - moved[:, 0::2] * angle.sin()
        return moved

    def swapped(positions: Tensor, delta: int) -> Tensor:
        sin, cos = positions.reshape(len(positions), -1, 2).unbind(dim=-1)
        angle = delta * rotary_frequencies(positions.shape[-1])
        moved = [sin * angle.sin() + cos * angle.cos(), cos * angle.sin() - sin * angle.cos()]
        return torch.stack(moved, dim=-1).flatten(-2)

    def by_place(positions: Tensor, delta: int) -> Tensor:
        rows = [
            turned(rotary_frequencies)(row.unsqueeze(0), delta + place)
            for place, row in enumerate(positions)
        ]
        return torch.cat(rows)

    def of_arcsines(positions: Tensor, delta: int) -> Tensor:
        angles = positions[:, 0::2].double().clamp(-1, 1).asin()
        angles = angles + delta * rotary_frequencies(positions.shape[-1])
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(positions)

    def a_slice(positions: Tensor, delta: int) -> Tensor:
        length, d_model = positions.shape
        return sinusoidal_positions(length + delta, d_model)[delta:].to(positions)

    mistakes: Named = [
        (lambda positions, delta: positions, "nothing is turned."),
        (
            turned(lambda d: rotary_frequencies(d) ** 0),
            "every pair turns at the same speed; only the first one has speed 1.",
        ),
        (
            turned(rotary_frequencies, sign=-1),
            "turned backwards, to the place delta before: a sign is wrong, "
            "or sine and cosine are swapped.",
        ),
        (
            turned(lambda d: rotary_frequencies(d) ** 0.5),
            "the speed of pair j is 10000 to the -2j/d, not -j/d.",
        ),
        (
            turned(lambda d: rotary_frequencies(d) ** 2),
            "the speed of pair j is 10000 to the -2j/d, not -4j/d.",
        ),
        (
            turned(lambda d: 1 / rotary_frequencies(d)),
            "the speeds rise from pair to pair; they fall: the exponent has a minus sign.",
        ),
        (
            halves,
            "the first half of the columns is taken for sines; sine and cosine stand "
            "side by side, pair by pair.",
        ),
        (
            in_two_blocks,
            "the numbers are right, but all sines stand before all cosines; they "
            "stand pair by pair.",
        ),
        (not_minus, "the second line has a minus: cos(a + b) = cos a cos b − sin a sin b."),
        (
            from_zero,
            "the places are taken to be 0, 1, 2 …, and their sines afresh. The rows may be "
            "those of any places: turn what is given.",
        ),
        (
            a_slice,
            "the places are taken to be 0, 1, 2 …, and their sines afresh. The rows may be "
            "those of any places: turn what is given.",
        ),
        (
            lambda positions, delta: positions.roll(-delta, dims=0),
            "rolling the rows brings the first places to the end; turn each row instead.",
        ),
        (
            lambda positions, delta: positions + from_zero(positions[:1], delta),
            "the vector of delta is added. A place further on is a rotation, not a sum.",
        ),
        (
            lambda positions, delta: positions + delta,
            "delta is added to every number; each pair is turned by delta times its speed.",
        ),
        (
            lambda positions, delta: turned(rotary_frequencies)(positions, 1),
            "delta has no effect: every place moves one further.",
        ),
        (
            turned(lambda d: rotary_frequencies(d) ** 0.75),
            "the base of the speeds is 10000, not 1000.",
        ),
        (
            turned(lambda d: rotary_frequencies(d).flip(0)),
            "the speeds are in reverse order: pair 0 is the fastest.",
        ),
        (
            overwritten,
            "the sines are overwritten before the cosines are made of them.",
        ),
        (
            lambda positions, delta: turned(rotary_frequencies)(positions, delta + 1),
            "turned one place too far.",
        ),
        (
            by_place,
            "every row is turned by its own place as well; each is turned by delta alone.",
        ),
        (
            lambda positions, delta: positions.roll(delta, dims=0),
            "rolling the rows brings the last places to the front; turn each row instead.",
        ),
        (
            lambda positions, delta: positions[delta:],
            "delta rows are cut off; turn every row instead, there are no others to take.",
        ),
        (
            lambda positions, delta: turned(rotary_frequencies)(positions[:1], delta),
            "only the first row comes back.",
        ),
        (
            lambda positions, delta: positions * delta,
            "every number is multiplied by delta; each pair is turned by delta times its speed.",
        ),
        (
            lambda positions, delta: positions + delta * _in_pairs(positions.shape[-1]),
            "the angle is added to sine and cosine; it is added inside of them.",
        ),
        (
            lambda positions, delta: positions * (delta * _in_pairs(positions.shape[-1])).cos(),
            "the term with the sine of the angle is missing.",
        ),
        (
            of_arcsines,
            "the angle is taken back by asin, which knows it only up to a quarter turn; the "
            "cosine tells the rest.",
        ),
        (
            lambda positions, delta: (
                turned(rotary_frequencies)(positions, delta)
                .reshape(len(positions), -1, 2)
                .flip(-1)
                .flatten(-2)
            ),
            "sine and cosine have changed places in each pair: the sine comes first.",
        ),
        (
            swapped,
            "cos and sin of the angle have changed places: sin(a + b) = sin a cos b + cos a sin b.",
        ),
    ]
    everywhere = torch.tensor([9, 2, 40, 3])
    cases = [
        (_positions(torch.tensor([3, 4]), 4), 2),
        (_positions(torch.arange(7), 6), 3),
        (_positions(torch.arange(20, 31), 32), 1),
        (_positions(everywhere, 10), 13),
        (_positions(everywhere, 8), 0),
        (_positions(everywhere, 2), -5),
        (_positions(torch.arange(5, 8), 16).float(), 5),
    ]
    return grade(answer, turned(rotary_frequencies), cases, mistakes, axes=["row", "column"])


def _overwritten(x: Tensor, positions: Tensor, sign: float) -> Tensor:
    angles = sign * positions.double().unsqueeze(-1) * rotary_frequencies(x.shape[-1])
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    turned = x.clone()
    turned[:, 0::2] = turned[:, 0::2] * cos - turned[:, 1::2] * sin
    turned[:, 1::2] = turned[:, 0::2] * sin + turned[:, 1::2] * cos
    return turned


def _angles(x: Tensor, positions: Tensor) -> Tensor:
    return positions.double().unsqueeze(-1) * rotary_frequencies(x.shape[-1])


def _positions_of(x: Tensor, positions: Tensor) -> Tensor:
    angles = _angles(x, positions)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(x)


def _in_pairs(d_model: int) -> Tensor:
    return rotary_frequencies(d_model).repeat_interleave(2)


def _positions(places: Tensor, d_model: int) -> Tensor:
    return sinusoidal_positions(100, d_model).double()[places]


quiz = Quiz(
    Choice(
        "Without positions, two words of a sentence change places. What happens to the outputs?",
        [
            "They change places, too.",
            "All of them change.",
            "Nothing changes at all.",
        ],
        "a",
        {
            "a": "each word gets the output that it had before, at its new place.",
            "b": "an output is a sum over all keys, and a sum does not care for their order.",
            "c": "the outputs stand where their words stand.",
        },
    ),
    Choice(
        "With rotary positions, a query at place 7 meets a key at place 5. Which pair of places "
        "gives the same score?",
        ["5 and 7.", "107 and 105.", "14 and 10."],
        "b",
        {
            "a": "the difference has changed its sign, and the turn goes the other way.",
            "b": "only the difference counts, and it is −2 in both.",
            "c": "the difference has doubled, from −2 to −4.",
        },
    ),
    Choice(
        "You load weights that were trained with halves into code that turns neighbours. What do "
        "you see?",
        ["An error about shapes.", "The same output.", "Fluent nonsense, and no message."],
        "c",
        {
            "a": "both layouts have the same shape.",
            "b": "only if queries and keys were put into the other order as well.",
            "c": "every shape fits, and every score is a little wrong.",
        },
    ),
)
