"""The small trained model of the book: it says which word *it* means."""

from attention_workbook.reader.heads import patch, read_without, value_norms, without_head
from attention_workbook.reader.network import (
    MAX_LEN,
    Pass,
    Reader,
    Reading,
    Vocabulary,
    read,
    words_of,
)
from attention_workbook.reader.pretrained import pretrained_attentions
from attention_workbook.reader.sentences import NOTHING, Sentence, crossings, draw, split
from attention_workbook.reader.training import (
    FOLLOWED,
    accuracy,
    load_reader,
    save_reader,
    train_reader,
)

__all__ = [
    "FOLLOWED",
    "MAX_LEN",
    "NOTHING",
    "Pass",
    "Reader",
    "Reading",
    "Sentence",
    "Vocabulary",
    "accuracy",
    "crossings",
    "draw",
    "load_reader",
    "patch",
    "pretrained_attentions",
    "read",
    "read_without",
    "save_reader",
    "split",
    "train_reader",
    "value_norms",
    "without_head",
    "words_of",
]
