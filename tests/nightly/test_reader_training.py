"""Training the reader, at night: what it leaves alone, what it shows, and its command."""

import warnings
from itertools import pairwise, product

import pytest
import torch

from workbook._training import fit
from workbook.reader import Reader, accuracy, draw, load_reader, split, train_reader
from workbook.reader import __main__ as command
from workbook.reader.lexicon import lexicon
from workbook.reader.sentences import pairs

FEW = draw(300, seed=3, small=True)
NOUNS, ADJECTIVES = {*lexicon().kinds_of}, {*lexicon().group_of}


def test_training_leaves_the_random_numbers_of_others_alone():
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    train_reader(0, train=FEW, steps=1, progress=False)
    assert torch.equal(torch.rand(1), expected)


def test_training_uses_one_thread_and_restores_the_number_afterwards():
    """On two busy cores a second thread took twenty times the processor, and no less time."""
    before, seen = torch.get_num_threads(), []

    def watch(step, loss):
        seen.append(torch.get_num_threads())
        if step == 12:
            raise KeyboardInterrupt  # as a reader does

    model = torch.nn.Linear(1, 1)
    rest = {"progress": False, "watch": watch}
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(model, lambda: model.weight.square().sum(), 20, **rest)
        assert torch.get_num_threads() == 2
        assert seen == [1] * 12
    finally:
        torch.set_num_threads(before)


def test_training_shows_how_far_it_is(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm's notebook bar may miss ipywidgets
        train_reader(0, train=FEW, steps=2, progress=True)
        assert "2/2" in capsys.readouterr().err
        train_reader(0, train=FEW, steps=2, progress=False)
    assert capsys.readouterr().err == ""


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(ValueError, match="train"):
        train_reader(train=[])


@pytest.mark.parametrize(("reached", "code"), [(0.951, 0), (0.949, 1)])
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
    assert directly == 1615
    assert round(accuracy(load_reader(), apart), 2) == 0.97
    assert round(accuracy(load_reader(), met), 2) == 0.96


def test_small_training_set_has_no_held_out_pair_in_a_sentence():
    few = lexicon(small=True)
    for words in (sentence.words for sentence in split(small=True)[0]):
        together = product(few.kinds_of.keys() & words, few.group_of.keys() & words)
        assert not any(few.held_out(*pair) for pair in together), words
