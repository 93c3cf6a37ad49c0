"""Graders for the exercises of the chapter on layouts of heads.

Examples
--------
>>> latest_seen(0)
Not yet: that is so with the right split. Here every head begins with another word.
"""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = [
    "cut_interleaved",
    "from_gpt2",
    "latest_seen",
    "quiz",
]

latest_seen, quiz = questions("head_layouts")

_normal = draws(71)


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
        (
            "projected.unflatten(-1, (num_heads, -1)).transpose(1, 2).chunk(3, dim=-1)",
            "projected.unflatten(-1, (-1, 3, num_heads)).permute(3, 0, 4, 1, 2)",
            "a head's numbers are taken num_heads places apart; they stand together.",
        ),
    ],
)
def cut_interleaved(projected: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values, each ``(batch, num_heads, len, d_k)``."""
    parts = projected.unflatten(-1, (num_heads, -1)).transpose(1, 2).chunk(3, dim=-1)
    queries, keys, values = parts
    return queries, keys, values


@exercise(
    axes="output input",
    cases=[(_normal(n, 3 * n), _normal(n, n)) for n in (2, 5, 8)],
    mistakes=[
        ("c_proj.T", "c_proj", "W_o is still (in, out): it is square, and no shape tells you."),
        (
            "c_attn.T.chunk(3)",
            "(part for part in c_attn.chunk(3, dim=1))",
            "queries, keys and values are cut rightly and are still (in, out).",
        ),
    ],
)
def from_gpt2(c_attn: Tensor, c_proj: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return W_q, W_k, W_v and W_o of matrices that are stored as (in, out)."""
    W_q, W_k, W_v = c_attn.T.chunk(3)
    return W_q, W_k, W_v, c_proj.T
