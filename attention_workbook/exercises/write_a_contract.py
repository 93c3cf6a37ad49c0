"""Graders for the chapter that writes contracts for any attention.

Examples
--------
>>> reads_values(lambda attend, queries, keys, values: True)
Not yet: for one that takes values from the keys your function says True; it should say False.
>>> true_hides(lambda attend: True).passed
False
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import attention_contracts as contracts
from attention_lib.attention import scaled_dot_product_attention
from attention_lib.positions import rotate_by_position
from attention_workbook import museum
from attention_workbook.exercises import asks_once, draws, exercise, questions
from attention_workbook.exercises.engine.verdict import Verdict
from attention_workbook.museum.judging import Bound

__all__ = [
    "batch_independent",
    "blind_room",
    "name_the_defect",
    "quiz",
    "reads_values",
    "true_hides",
    "turns_with_the_first",
]

(quiz,) = questions("write_a_contract")

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
Hiding = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Rotate = Callable[[Tensor], Tensor]


def _right(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return museum.right_attention(queries, keys, values)[0]


def _broken(name: str) -> Attend:
    return lambda q, k, v: Bound(museum.EXHIBITS[name].broken)(q, k, v)[0]


def _reads(part: tuple[Any, ...], where: tuple[Any, ...] = (...,)) -> Attend:
    """Return an attention that reads a part of the values, and shows it in a part of its output."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        mixed, output = keys.clone(), _right(queries, keys, keys)
        mixed[part] = values[part]
        output[where] = _right(queries, keys, mixed)[where]
        return output

    return attend


def _spoilt(part: tuple[Any, ...], by: float | Tensor = 1.0) -> Attend:
    """Return an attention that adds the other samples' values to a part of its output."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        output = _right(queries, keys, values).clone()
        output[part] += by * (values.sum() - values[0].sum())
        return output

    return attend


def _mixed(samples: slice) -> Attend:
    """Return an attention that gives some samples the mean of their outputs."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        output = _right(queries, keys, values).clone()
        output[samples] = output[samples].mean(dim=0)
        return output

    return attend


def _inputs() -> tuple[Tensor, ...]:
    normal = draws(31)
    return normal(3, 4, 8), normal(3, 4, 8), normal(3, 4, 8)


def _suspects(attentions: dict[str, Attend]) -> dict[str, tuple[Any, ...]]:
    """Return a case for each attention: by its name the attention, and what it is called with."""
    return {name: (attend, *_inputs()) for name, attend in attentions.items()}


_ONE = torch.cat(_inputs()[:1])
_ALL, _FIRST, _LAST = slice(None), slice(1), slice(-1, None)


@exercise(
    cases={
        **_suspects(
            {
                "a right attention": _right,
                "one that takes values from the keys": lambda q, k, v: _right(q, k, k),
                "one that returns its queries": lambda q, k, v: q.clone(),
                "one with parameters that ignores the values": lambda q, k, v: (
                    _right(q, k, k) * torch.ones(8, requires_grad=True)
                ),
                "one that reads a sum of columns": lambda q, k, v: _right(
                    q, k, v.sum(-1, True) + 0 * v
                ),
                "one that ignores queries and keys": lambda q, k, v: (
                    v.mean(dim=1, keepdim=True) + 0 * q
                ),
                "one that reads the first column of the values": _reads((..., _FIRST)),
                "one that reads the last column of the values": _reads((..., _LAST)),
                "one that reads the values of the first key": _reads((_ALL, _FIRST)),
                "one that reads the values of the last key": _reads((_ALL, _LAST)),
                "one that reads the values of the first sample": _reads((_FIRST,)),
                "one that reads the values of the last sample": _reads((_LAST,)),
                "one that reads the values for the first query": _reads((...,), (_ALL, _FIRST)),
                "one that reads the values for the last query": _reads((...,), (_ALL, _LAST)),
                "one that shows the values with both signs": lambda q, k, v: (
                    _right(q, k, v) * torch.tensor([1.0, -1.0]).repeat(4)
                ),
                "one that reads the last column and shows it in the first": lambda q, k, v: _reads(
                    (..., _LAST)
                )(q, k, v).flip(-1),
            }
        ),
        "a right attention whose three inputs are one tensor": (_right, _ONE, _ONE, _ONE),
        "one that takes values from the keys, all inputs being one tensor": (
            lambda q, k, v: _right(q, k, k),
            _ONE,
            _ONE,
            _ONE,
        ),
    },
    rules=[
        asks_once("every verdict is right; the task asks for a single call of `attend`."),
    ],
)
def reads_values(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Return whether the output of ``attend(queries, keys, values)`` depends on the values."""
    before, after = attend(queries, keys, values), attend(queries, keys, values + 1)
    return not torch.allclose(before, after)


@exercise(
    cases=_suspects(
        {
            "a right attention": _right,
            "one whose softmax runs over the batch": _broken("softmax_over_the_batch"),
            "one that takes a mean over the batch": lambda q, k, v: _right(q, k - k.mean(dim=0), v),
            "one that gives each sample the values of the next": lambda q, k, v: _right(
                q, k, v.roll(-1, 0)
            ),
            "one that mixes the first two samples": _mixed(slice(2)),
            "one that mixes the last two samples": _mixed(slice(-2, None)),
            "one that spoils the first sample": _spoilt((_FIRST,)),
            "one that spoils the second sample": _spoilt((slice(1, 2),)),
            "one that spoils the last sample": _spoilt((slice(2, None),)),
            "one that spoils one column": _spoilt((..., _FIRST)),
            "one that spoils the last row of each sample": _spoilt((_ALL, _LAST)),
            "one whose spoilt numbers have the right mean": _spoilt(
                (...,), torch.tensor([1.0, -1.0]).repeat(4)
            ),
            "a right one that rounds otherwise in a batch": lambda q, k, v: (
                _right(q, k, v) + 1e-7 * len(q)
            ),
            "one that moves everything a little": lambda q, k, v: (
                _right(q, k, v) + 1e-3 * (len(q) - 1)
            ),
        }
    ),
)
def batch_independent(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Return whether each sample has the output that it would have alone."""
    together = attend(queries, keys, values)
    alone = [
        attend(queries[i : i + 1], keys[i : i + 1], values[i : i + 1]) for i in range(len(queries))
    ]
    return bool(torch.allclose(torch.cat(alone), together, atol=1e-5))


ROOMS = (  # what stands in the blind rooms, by its name in the gallery
    "masked_after_softmax",
    "values_from_the_keys",
    "mask_the_other_way",
    "filled_with_a_billion",
    "divided_by_d",
    "view_for_transpose",
    "masked_in_place",
    "dropout_in_evaluation",
)


def blind_room(number: int) -> Bound:
    """Return the attention of a room, ``attend(queries, keys, values, real=None)``, causal.

    Examples
    --------
    >>> x = torch.ones(1, 2, 8)
    >>> blind_room(1)(x, x, x)[0].shape
    torch.Size([1, 2, 8])
    """
    if number not in range(1, len(ROOMS) + 1):
        raise ValueError(f"number: expected a room from 1 to {len(ROOMS)}, got {number!r}")
    return Bound(museum.EXHIBITS[ROOMS[number - 1]].broken, causal=True)


def name_the_defect(number: int, name: Any) -> Verdict:
    """Say whether a room has the defect of that name; if not, which contract parts the two.

    Examples
    --------
    >>> name_the_defect(1, "unscaled")
    Not yet: an attention with that defect breaks `scale`, and this room keeps it.
    >>> name_the_defect(1, "Unscaled")
    Not yet: an attention with that defect breaks `scale`, and this room keeps it.
    """
    room = blind_room(number)
    if name is ...:
        return Verdict.unwritten()
    if isinstance(name, str):
        name = name.strip().lower().replace(" ", "_")
    if name not in museum.EXHIBITS:
        return Verdict(False, f"no exhibit is called {name!r}; see the gallery's first column.")
    right = museum.EXHIBITS[ROOMS[number - 1]]
    if name == right.name:
        return Verdict(True, f"{right.wrong} Repair: {right.repair}.")
    broken_here = _broken_in(room)
    broken_by_defect = _broken_in(Bound(museum.EXHIBITS[name].broken, causal=True))
    defect, here = "an attention with that defect", "this room"
    apart = [
        f"{defect} breaks `{contract}`, and {here} keeps it."
        for contract in sorted(broken_by_defect - broken_here)
    ]
    apart += [
        f"{here} breaks `{contract}`, and {defect} keeps it."
        for contract in sorted(broken_here - broken_by_defect)
    ]
    alike = "contracts say the same of the two; look at what moved, and by how much."
    return Verdict(False, [*apart, alike][0])


def _broken_in(attend: Bound) -> set[str]:
    try:
        report = contracts.check(
            attend, causal=True, padding=lambda lens, n: {"real": torch.arange(n) < lens[:, None]}
        )
    except ValueError:  # it takes other inputs
        return {"the first call"}
    return {finding.name for finding in report.broken}


def _attends(scale: float) -> Hiding:
    return lambda queries, keys, values, mask: scaled_dot_product_attention(
        queries, keys, values, mask=mask, scale=scale
    )[0]


def _fills(fill: float) -> Hiding:
    def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        return (queries @ keys.mT).masked_fill(mask, fill).softmax(dim=-1) @ values

    return attend


def _inverted(attend: Hiding) -> Hiding:
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
def true_hides(attend: Hiding) -> bool:
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
