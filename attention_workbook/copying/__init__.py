"""A small trained model of the book: two layers of attention that continue a repeated text."""

from attention_workbook.copying.network import LETTERS, MAX_LEN, Copier, Pass
from attention_workbook.copying.training import (
    Run,
    draw_texts,
    load_copier,
    measure,
    measured_runs,
    save_copier,
    train_copier,
)

__all__ = [
    "LETTERS",
    "MAX_LEN",
    "Copier",
    "Pass",
    "Run",
    "draw_texts",
    "load_copier",
    "measure",
    "measured_runs",
    "save_copier",
    "train_copier",
]
