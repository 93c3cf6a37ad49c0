"""A small trained model of the book: it reads dates as people write them."""

from attention_workbook.alignment.dates import FORMATS, days, parse_date, split_dates, write_date
from attention_workbook.alignment.looking import hide_each, maps
from attention_workbook.alignment.network import (
    DIGITS,
    MAX_LEN,
    SCORES,
    Aligner,
    Alignment,
    Characters,
    align,
)
from attention_workbook.alignment.training import (
    Run,
    exact_match,
    examples,
    load_aligner,
    measured_runs,
    save_aligner,
    train_aligner,
)

__all__ = [
    "DIGITS",
    "FORMATS",
    "MAX_LEN",
    "SCORES",
    "Aligner",
    "Alignment",
    "Characters",
    "Run",
    "align",
    "days",
    "exact_match",
    "examples",
    "hide_each",
    "load_aligner",
    "maps",
    "measured_runs",
    "parse_date",
    "save_aligner",
    "split_dates",
    "train_aligner",
    "write_date",
]
