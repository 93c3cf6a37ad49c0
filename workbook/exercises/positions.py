"""Graders for the exercises of the chapter on positions."""

import torch
from torch import Tensor

from attention_lib.positions import rotate_by_position, sinusoidal_positions
from workbook.exercises import draws, exercise, questions

__all__ = ["quiz", "shifted", "slope_share", "turned"]

slope_share, quiz = questions("positions")

_normal = draws(11)
_SPEEDS = [
    ("-2 *", "0 *", "every pair turns at the same speed; only the first one has speed 1."),
    ("-2 *", "-1 *", "the speeds fall too slowly: they are the roots of those that are asked for."),
    ("-2 *", "2 *", "the speeds rise from pair to pair; the exponent is negative."),
    ("10000.0", "1000.0", "the base of the speeds is 10000, not 1000."),
]


@exercise(
    axes="row column",
    cases=[
        (torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1])),
        (_normal(3, 4), torch.tensor([0, 1, 2])),
        (_normal(5, 6), torch.tensor([9, 2, 40, 3, 0])),
        (_normal(2, 10), torch.tensor([7, 100])),
        (_normal(4, 8), torch.tensor([5, 6, 7, 8])),
    ],
    special={"for a negative position": (_normal(1, 2), torch.tensor([-3]))},
    mistakes=[
        (lambda x, positions: x, "nothing is turned."),
        (
            lambda x, positions: rotate_by_position(x, positions, layout="halves"),
            "the pairs are (j, j + d/2) here; (2j, 2j+1) are asked for.",
        ),
        *_SPEEDS,
        (
            "angles = positions[:, None].double() * speeds",
            "angles = positions[:, None].double() * speeds * torch.pi / 180",
            "the angles are taken in degrees; the sine and the cosine of PyTorch take radians.",
        ),
        (
            {
                "first * cos - second * sin": "first * cos + second * sin",
                "first * sin + second * cos": "second * cos - first * sin",
            },
            "turned backwards: the second coordinate gains sin times the first.",
        ),
        (
            "torch.stack(pair, dim=-1).flatten(1)",
            "torch.cat(pair, dim=-1)",
            "the numbers are right, but first and second coordinates stand in two blocks; keep "
            "each pair together.",
        ),
    ],
)
def turned(x: Tensor, positions: Tensor) -> Tensor:
    """Return vectors whose pairs ``(2j, 2j+1)`` are turned by their positions."""
    d = x.shape[-1]
    speeds = 10000.0 ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
    angles = positions[:, None].double() * speeds
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[:, 0::2], x[:, 1::2]
    pair = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(pair, dim=-1).flatten(1)


def _places(places: list[int], d_model: int) -> Tensor:
    return sinusoidal_positions(100, d_model)[torch.tensor(places)]


@exercise(
    axes="row column",
    cases=[
        (_places([3, 4], 4), 2),
        (_places([0, 1, 2, 3, 4, 5, 6], 6), 3),
        (_places([9, 2, 40, 3], 10), 13),
        (_places([20, 21, 22], 32), 1),
        (_places([5, 6, 7], 16), 5),
    ],
    special={
        "for a shift of 0": (_places([9, 2, 40, 3], 8), 0),
        "for a negative shift": (_places([9, 2, 40, 3], 2), -5),
    },
    mistakes=[
        *_SPEEDS,
        (
            "angle = delta * speeds",
            "angle = delta * speeds * torch.pi / 180",
            "the angles are taken in degrees; the sine and the cosine of PyTorch take radians.",
        ),
        *(
            (
                {"positions[:, 0::2], positions[:, 1::2]": "positions.chunk(2, dim=-1)", **more},
                "the first half of the columns is taken for sines; they stand pair by pair.",
            )
            for more in ({}, {"torch.stack(moved, dim=-1).flatten(1)": "torch.cat(moved, dim=-1)"})
        ),
        (
            lambda positions, delta: positions.roll(-delta, dims=0),
            "rolling the rows brings the first places to the end; turn each row instead.",
        ),
    ],
)
def shifted(positions: Tensor, delta: int) -> Tensor:
    """Return the sinusoidal vectors of the places ``delta`` further, in the same shape."""
    d = positions.shape[-1]
    speeds = 10000.0 ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
    angle = delta * speeds
    sin, cos = positions[:, 0::2], positions[:, 1::2]
    moved = [sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()]
    return torch.stack(moved, dim=-1).flatten(1).to(positions.dtype)
