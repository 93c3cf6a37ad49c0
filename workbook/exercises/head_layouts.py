"""Graders for the exercises of the chapter on layouts of heads.

Examples
--------
>>> latest_seen(0)
Not yet: that is so with the right split. Here every head begins with another word.
"""

import torch
from torch import Tensor

from workbook.exercises import draws, exercise, questions

__all__ = [
    "cache_size",
    "cut_interleaved",
    "folded_lengths",
    "grouped_attention",
    "grouped_parameters",
    "latest_seen",
    "quiz",
]

cache_size, grouped_parameters, latest_seen, quiz = questions("head_layouts")

_normal, _double = draws(71), draws(72, torch.float64)


@exercise(
    axes="row",
    cases=[
        (torch.tensor(lengths), num_heads)
        for lengths, num_heads in [([3, 4], 2), ([5, 2, 7], 3), ([1], 4), ([0, 6, 6, 2], 2)]
    ],
    special={"with one head": (torch.tensor([5, 2, 7]), 1)},
)
def folded_lengths(valid_lens: Tensor, num_heads: int) -> Tensor:
    """Return a length for each row of heads folded into the batch, ``(batch * num_heads,)``."""
    return valid_lens.repeat_interleave(num_heads)


def _count(batch: int, length: int, num_heads: int, d_k: int) -> tuple[Tensor, int]:
    """Return projections whose numbers say where they were, and the number of heads."""
    shape = torch.Size((batch, length, 3 * num_heads * d_k))
    return torch.arange(shape.numel(), dtype=torch.float32).reshape(shape), num_heads


@exercise(
    axes="batch head position column",
    cases=[_count(1, 2, 2, 2), _count(2, 3, 5, 7), _count(3, 5, 2, 3), _count(1, 4, 3, 2)],
    mistakes=[
        (
            "projected.unflatten(-1, (num_heads, -1)).transpose(1, 2).chunk(3, dim=-1)",
            "projected.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)",
            "this cuts a stacked matrix; here the three parts of one head stand together.",
        ),
        (
            "projected.unflatten(-1, (num_heads, -1)).transpose(1, 2).chunk(3, dim=-1)",
            "projected.unflatten(-1, (num_heads, -1, 3)).permute(4, 0, 2, 1, 3)",
            "this takes every third column; a head's d_k queries are neighbours, then come its "
            "d_k keys.",
        ),
    ],
)
def cut_interleaved(projected: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values, each ``(batch, num_heads, len, d_k)``."""
    parts = projected.unflatten(-1, (num_heads, -1)).transpose(1, 2).chunk(3, dim=-1)
    queries, keys, values = parts
    return queries, keys, values


def _grouped(num_kv_heads: int, group: int, size: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    normal = _double if size > 1 else _normal
    return (
        size * normal(2, num_kv_heads * group, 3, 7),
        normal(2, num_kv_heads, 5, 7),
        normal(2, num_kv_heads, 5, 11),
    )


@exercise(
    axes="batch head query column",
    cases=[_grouped(2, 2), _grouped(2, 3), _grouped(3, 2), _grouped(1, 3)],
    special={
        "where each head has keys of its own": _grouped(4, 1),
        "where scores are in the hundreds": _grouped(2, 3, 900.0),
    },
    mistakes=[
        (
            {
                "keys.repeat_interleave(group, dim=1)": "keys[:, :1]",
                "values.repeat_interleave(group, dim=1)": "values[:, :1]",
            },
            "all heads share the first key head; each group has its own.",
        ),
        (
            "repeat_interleave(group, dim=1)",
            "repeat(1, group, 1, 1)",
            "what is repeated comes in turns (a b a b); equal ones should be neighbours (a a b b).",
        ),
    ],
)
def grouped_attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the output of heads that share keys and values, ``(batch, num_heads, len_q, d_v)``."""
    group = queries.shape[1] // keys.shape[1]
    scores = queries @ keys.repeat_interleave(group, dim=1).mT / queries.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ values.repeat_interleave(group, dim=1)
