"""Graders for the exercises of the chapter on positions."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.positions import rotate_by_position, sinusoidal_positions
from attention_workbook.exercises import draws, exercise, questions

__all__ = ["quiz", "sees_order", "slope_share", "turned"]

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
        (
            "first * sin + second * cos",
            "(first * cos - second * sin) * sin + second * cos",
            "the second coordinates are made from first ones that have turned already: keep the "
            "old ones.",
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


Attend = Callable[[Tensor], Tensor]


def _blind(x: Tensor) -> Tensor:
    return (x @ x.mT / x.shape[-1] ** 0.5).softmax(dim=-1) @ x


def _told(x: Tensor) -> Tensor:
    return _blind(x + sinusoidal_positions(x.shape[0], x.shape[1]).to(x))


def _turned(x: Tensor) -> Tensor:
    places = torch.arange(x.shape[0])
    spun = rotate_by_position(x, places)
    return (spun @ spun.mT / x.shape[-1] ** 0.5).softmax(dim=-1) @ x


def _near(x: Tensor) -> Tensor:
    places = torch.arange(x.shape[0]).to(x)
    distances = (places[:, None] - places).abs()
    return (x @ x.mT / x.shape[-1] ** 0.5 - distances / 2).softmax(dim=-1) @ x


def _causal(x: Tensor) -> Tensor:
    scores = x @ x.mT / x.shape[-1] ** 0.5
    ahead = torch.ones(scores.shape).triu(1).bool()
    return scores.masked_fill(ahead, -torch.inf).softmax(dim=-1) @ x


def _mean(x: Tensor) -> Tensor:
    return x.mean(dim=0).expand(x.shape[0], x.shape[1])


@exercise(
    cases={
        "one without positions and without a mask": (_blind,),
        "one with sines and cosines added": (_told,),
        "one with rotary positions": (_turned,),
        "one with a penalty on the distance to either side": (_near,),
        "one without positions, under a causal mask": (_causal,),
        "one that returns the mean of all vectors": (_mean,),
        "one that returns its vectors as they are": (lambda x: x.clone(),),
        "one that returns them turned around": (lambda x: x.flip(0),),
    },
)
def sees_order(attend: Attend) -> bool:
    """Return whether the outputs of ``attend(x)`` depend on the order of the vectors."""
    x, shuffle = _normal(6, 8), torch.tensor([2, 0, 5, 1, 4, 3])
    return not torch.allclose(attend(x[shuffle]), attend(x)[shuffle], atol=1e-4)
