"""A small language model that has read this book, letter by letter, and writes."""

from attention_workbook.writer.network import WINDOW, LanguageModel
from attention_workbook.writer.training import (
    load_writer,
    measured,
    prose,
    save_writer,
    split_prose,
    surprise,
    train_writer,
    write,
)

__all__ = [
    "WINDOW",
    "LanguageModel",
    "load_writer",
    "measured",
    "prose",
    "save_writer",
    "split_prose",
    "surprise",
    "train_writer",
    "write",
]
