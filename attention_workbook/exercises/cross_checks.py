"""Graders for the exercises of the chapter on agreeing with the world.

Examples
--------
>>> agrees(lambda printed, ours, decimals: torch.allclose(printed, ours, atol=10**-decimals))
Not yet: for 2/3 printed as 0.66 your function says True; it should say False.
>>> true_hides(lambda attend: True).passed
False
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.positions import rotate_by_position
from attention_workbook.exercises import draws, exercise, questions

__all__ = ["agrees", "quiz", "true_hides", "turns_with_the_first"]

Attend = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Rotate = Callable[[Tensor], Tensor]

(quiz,) = questions("cross_checks")

_TABLE = draws(61)(3, 4)
_NOWHERE = _TABLE.clone()
_NOWHERE[1, 2] = torch.nan


def _number(printed: float, ours: float, decimals: int) -> tuple[Tensor, Tensor, int]:
    return torch.tensor([printed]), torch.tensor([ours]), decimals


@exercise(
    cases={
        "2/3 printed as 0.6667": _number(0.6667, 2 / 3, 4),
        "2/3 printed as 0.66": _number(0.66, 2 / 3, 2),
        "0.51 printed as 0.5000": _number(0.5, 0.51, 4),
        "0.50008 printed as 0.5000": _number(0.5, 0.50008, 4),
        "0.49992 printed as 0.5000": _number(0.5, 0.49992, 4),
        "0.50003 printed as 0.500": _number(0.5, 0.50003, 3),
        "0.5005025 printed as 0.500": _number(0.5, 0.5005025, 3),
        "1000.4 printed as 1000.1": _number(1000.1, 1000.4, 1),
        "2.6 printed as 3": _number(3.0, 2.6, 0),
        "a table rounded to 4 decimals": (_TABLE.round(decimals=4), _TABLE, 4),
        "a table rounded to 3 decimals, printed with 4": (_TABLE.round(decimals=3), _TABLE, 4),
        "a table with one wrong number": (
            _TABLE.round(decimals=4) + 2e-4 * (_TABLE.max() == _TABLE),
            _TABLE,
            4,
        ),
        "one number against several": (torch.tensor([0.25]), torch.full((5,), 0.25), 4),
        "a row against a column": (torch.full((1, 6), 0.25), torch.full((6, 1), 0.25), 4),
        "a NaN against a number": (_TABLE.round(decimals=4), _NOWHERE, 4),
        "a NaN against a NaN": (_NOWHERE, _NOWHERE, 4),
    },
)
def agrees(printed: Tensor, ours: Tensor, decimals: int) -> bool:
    """Return whether each of our numbers rounds to what was printed with so many decimals."""
    return printed.shape == ours.shape and bool(
        ((ours - printed).abs() <= 0.5001 * 10**-decimals).all()
    )


def _attends(scale: float) -> Attend:
    return lambda queries, keys, values, mask: scaled_dot_product_attention(
        queries, keys, values, mask=mask, scale=scale
    )[0]


def _fills(fill: float) -> Attend:
    def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        return (queries @ keys.mT).masked_fill(mask, fill).softmax(dim=-1) @ values

    return attend


def _inverted(attend: Attend) -> Attend:
    return lambda queries, keys, values, mask: attend(queries, keys, values, ~mask)


@exercise(
    cases={
        "one where True means attend": (_attends(0.5),),
        "one where True hides": (_inverted(_attends(0.5)),),
        "one that fills with −10⁹ where True stands": (_fills(-1e9),),
        "one that fills with −10⁹ where False stands": (_inverted(_fills(-1e9)),),
        "one that fills with −∞ where True stands": (_fills(-torch.inf),),
        "one that fills with −∞ where False stands": (_inverted(_fills(-torch.inf)),),
        "one that prefers small products, where True means attend": (_attends(-2.0),),
        "one that prefers small products, where True hides": (_inverted(_attends(-2.0)),),
    },
)
def true_hides(attend: Attend) -> bool:
    """Return whether True in the mask of ``attend(queries, keys, values, mask)`` hides a key."""
    values = torch.tensor([[[0.0], [1.0]]])
    marked = torch.tensor([[True, False], [True, False]])
    output = attend(torch.zeros(1, 2, 2), torch.zeros(1, 2, 2), values, marked)
    return bool(output[0, 0, 0] > 0.5)


def _rotation(layout: str, base: float = 10_000.0, speed: float = 1.0) -> Rotate:
    return lambda x: rotate_by_position(
        x, speed * torch.arange(x.shape[-2]), layout=layout, base=base
    )


def _inwards(x: Tensor) -> Tensor:
    last = x.shape[-1] - 1
    order = torch.tensor([i for j in range(x.shape[-1] // 2) for i in (j, last - j)])
    return rotate_by_position(x[..., order])[..., order.argsort()]


@exercise(
    cases={
        "neighbours": (_rotation("pairs"), 8),
        "halves": (_rotation("halves"), 8),
        "halves of 6": (_rotation("halves"), 6),
        "one pair": (_rotation("pairs"), 2),
        "neighbours of 12, another base": (_rotation("pairs", 100.0), 12),
        "the first with the last, and so inwards": (_inwards, 8),
        "positions that are squeezed": (_rotation("halves", speed=0.25), 8),
        "neighbours, clockwise": (_rotation("pairs", speed=-1.0), 8),
        "halves, clockwise": (_rotation("halves", speed=-1.0), 8),
    },
)
def turns_with_the_first(rotate: Rotate, d_k: int) -> int:
    """Return which coordinate a rotary position turns together with coordinate 0."""
    x = torch.zeros(1, 2, d_k)
    x[..., 0] = 1.0
    sizes = rotate(x)[0, 1].abs()
    sizes[0] = 0.0
    return int(sizes.argmax())
