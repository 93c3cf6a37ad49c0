"""Graders for the exercises of the chapter on variance."""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["broken_line", "forgotten_deviation", "matrix_entries", "quiz", "unit_scores"]

broken_line, forgotten_deviation, matrix_entries, quiz = questions("variance")

_normal, _double = draws(31), draws(32, torch.float64)


@exercise(
    part="my_unit_scores",
    axes="query key",
    cases=[
        (_normal(1, 2), _normal(2, 2), 2.0),
        (_normal(5, 3), _normal(7, 3), 0.5),
        (_normal(4, 64), _normal(3, 64), 3.0),
        (_normal(2, 13), _normal(11, 13), 1.0),
        (_normal(2, 3, 5, 3), _normal(2, 3, 7, 3), 1.5),
        (_double(3, 2), _double(5, 2), 100.0),
    ],
    special={"where the queries are 0": (torch.zeros(2, 3), torch.ones(4, 3), 2.0)},
    mistakes=[
        ("std**2", "1", "`std` is not used: query and key each bring a factor of it."),
        ("std**2", "std", "query and key each bring a factor `std`; one division is not enough."),
        (" ** 0.5", "", "the width enters through its root: divide by √d, not by d."),
        ("queries.shape[-1] ** 0.5", "1", "√d is missing: d products are added up in each score."),
    ],
)
def unit_scores(queries: Tensor, keys: Tensor, std: float) -> Tensor:
    """Return scores of variance 1 for coordinates of standard deviation ``std``."""
    return queries @ keys.mT / (std**2 * queries.shape[-1] ** 0.5)
