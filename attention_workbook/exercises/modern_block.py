"""Graders for the exercises of the chapter on a block of today.

Examples
--------
>>> query_matrix(2880 * 2880)
Not yet: the width of a head is given; it need not be the model's width over the number of heads.
"""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["grouped_attention", "grouped_parameters", "query_matrix", "quiz"]

grouped_parameters, query_matrix, quiz = questions("modern_block")

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
