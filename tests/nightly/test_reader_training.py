"""Training the reader, at night: what it leaves alone, what it shows, and its command."""

from itertools import pairwise, product

import pytest

from attention_workbook.reader import (
    Reader,
    accuracy,
    draw,
    load_reader,
    split,
    train_reader,
    training,
)
from attention_workbook.reader import __main__ as command
from attention_workbook.reader.lexicon import lexicon
from attention_workbook.reader.sentences import pairs
from tests.strategies import assert_close

FEW = draw(300, seed=3, small=True)
NOUNS, ADJECTIVES = {*lexicon().kinds_of}, {*lexicon().group_of}


def test_reader_of_the_whole_lexicon_is_made_surer_at_the_end(monkeypatch):
    monkeypatch.setattr(training, "split", lambda: (FEW, ()))
    surer = train_reader(0, steps=2, progress=False).W_q.weight
    monkeypatch.setattr(training, "SHARPENING", 1.0)
    assert_close(surer, 1.3 * train_reader(0, steps=2, progress=False).W_q.weight)


@pytest.mark.parametrize(("reached", "code"), [(0.971, 0), (0.969, 1)])
def test_training_command_fails_below_the_promised_accuracy(
    reached, code, monkeypatch, capsys, tmp_path
):
    path = tmp_path / "weights.safetensors"
    monkeypatch.setattr(command, "train_reader", lambda seed: Reader())
    monkeypatch.setattr(command, "accuracy", lambda reader, test: reached)
    monkeypatch.setattr(command, "STORED", path)
    monkeypatch.setattr("sys.argv", ["reader", "--seeds", "2", "--store"])
    assert command.main() == code
    assert f"{reached:.4f}" in capsys.readouterr().out
    assert load_reader(path).num_heads == (4, 2)


def test_reader_is_as_good_where_no_pair_stands_together_in_training():
    """The figures that the chapter on training tells of the leak."""
    train, test = split()
    seen, directly = set(), 0
    for words in (sentence.words for sentence in train):
        seen.update(product(NOUNS & {*words}, ADJECTIVES & {*words}))
        directly += any(
            noun in NOUNS and adjective in ADJECTIVES and lexicon().held_out(noun, adjective)
            for adjective, noun in pairwise(words)
        )
    apart, met = [], []
    for sentence in test:
        (met if {*pairs(sentence)} & seen else apart).append(sentence)
    assert directly == 9397
    assert round(accuracy(load_reader(), apart), 2) == 0.99
    assert round(accuracy(load_reader(), met), 2) == 0.98
