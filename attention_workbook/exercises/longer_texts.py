"""Graders for the exercises of the chapter on texts longer than in training."""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["full_turn", "orders", "quiz", "stretched"]

full_turn, orders, quiz = questions("longer_texts")

_normal = draws(12)


def _stretched_width(table: Tensor, length: int) -> Tensor:
    return stretched.right(table.T, length).T


@exercise(
    axes="place column",
    cases=[
        (torch.tensor([[0.0], [10.0]]), 3),
        (torch.tensor([[0.0], [1.0], [4.0]]), 5),
        (_normal(4, 3), 7),
        (_normal(5, 2), 13),
        (_normal(7, 3), 4),
    ],
    special={"where the length stays": (_normal(3, 2), 3), "for two places": (_normal(5, 2), 2)},
    mistakes=[
        (
            "(len(table) - 1) / (length - 1)",
            "len(table) / length",
            "the last row of the table is not reached: between n rows there are n - 1 steps.",
        ),
        (
            "(1 - share) * table[before] + share * table[before + 1]",
            "share * table[before] + (1 - share) * table[before + 1]",
            "the two shares are exchanged: the nearer row counts more.",
        ),
        (
            "(1 - share) * table[before] + share * table[before + 1]",
            "table[before]",
            "each place takes the row before it. Mix that row with the one after it.",
        ),
        (
            "(1 - share) * table[before] + share * table[before + 1]",
            "table[(places + 0.5).long()]",
            "each place takes the nearest row. Mix the two rows around it.",
        ),
        (
            "torch.arange(length) * (len(table) - 1) / (length - 1)",
            "(torch.arange(length) * len(table) / length).clamp(max=len(table) - 1)",
            "the steps are wrong: n rows make n - 1 steps, and `length` places make `length - 1`.",
        ),
        (
            "torch.arange(length) * (len(table) - 1) / (length - 1)",
            "((torch.arange(length) + 0.5) * len(table) / length - 0.5).clamp(0, len(table) - 1)",
            "each row counts as a stretch with its place in the middle; the first place should be "
            "the first row, and the last place the last (`align_corners=True`).",
        ),
        (
            "(1 - share) * table[before] + share * table[before + 1]",
            "(table[places.floor().long()] + table[places.ceil().long()]) / 2",
            "both rows around a place count equally; the nearer one counts more.",
        ),
        (
            _stretched_width,
            "the width is stretched; stretch along the rows.",
        ),
    ],
)
def stretched(table: Tensor, length: int) -> Tensor:
    """Return a table of positions for another length, ``(length, d_model)``."""
    places = torch.arange(length) * (len(table) - 1) / (length - 1)
    before = places.long().clamp(max=len(table) - 2)
    share = (places - before).unsqueeze(-1).to(table.dtype)
    return (1 - share) * table[before] + share * table[before + 1]
