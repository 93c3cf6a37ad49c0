"""The small trained model of the book: it says which word *it* means."""

from workbook.reader.heads import exchange, value_norms, without_head
from workbook.reader.network import MAX_LEN, Pass, Reader, Reading, Vocabulary, read
from workbook.reader.sentences import NOTHING, Sentence, sentences, split, words_like
from workbook.reader.training import accuracy, load_reader, save_reader, train_reader

__all__ = [
    "MAX_LEN",
    "NOTHING",
    "Pass",
    "Reader",
    "Reading",
    "Sentence",
    "Vocabulary",
    "accuracy",
    "exchange",
    "load_reader",
    "read",
    "save_reader",
    "sentences",
    "split",
    "train_reader",
    "value_norms",
    "without_head",
    "words_like",
]
