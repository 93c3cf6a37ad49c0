"""Graders for the exercises of the chapter on a block of today and its weights.

Examples
--------
>>> query_matrix(2880 * 2880)
Not yet: the width of a head is given; it need not be the model's width over the number of heads.
"""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = [
    "cut_interleaved",
    "from_gpt2",
    "grouped_attention",
    "latest_seen",
    "query_matrix",
    "quiz",
]

latest_seen, query_matrix, quiz = questions("modern_block")

_normal, _double = draws(73), draws(74, torch.float64)


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
