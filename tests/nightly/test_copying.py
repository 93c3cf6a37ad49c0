"""The copier at night: more texts, copiers of one's own, training, storing, refusals."""

import matplotlib.pyplot as plt
import pytest
import torch
import traitlets

import attention_contracts as contracts
from attention_workbook import copying
from attention_workbook.copying import (
    MAX_LEN,
    Copier,
    load_copier,
    measured_runs,
    save_copier,
    train_copier,
)
from attention_workbook.figures.copying_heads import CopyingHeads
from tests.attention_workbook.test_copying import largest_difference, seen_in_page, texts, words_of
from website import ROOT
from website.notebooks import code_cells, read


def test_javascript_agrees_with_pytorch_on_a_thousand_texts(node):
    many = [text[: 1 + i % MAX_LEN] for i, text in enumerate(words_of(texts(1000, seed=1)[0]))]
    seen = seen_in_page(node, CopyingHeads(), many)
    assert largest_difference(load_copier(), many, seen) < 1e-5


class Scores(Copier):
    """A copier that returns its scores alone."""

    def forward(self, ids):
        return super().forward(ids).scores


def test_no_letter_hears_of_those_after_it():
    model = Scores()
    model.load_state_dict(load_copier().state_dict())
    report = contracts.check_model(model.eval(), vocab_size=26)
    assert report and any("future" in finding.name for finding in report.kept), report


def test_saved_copier_is_loaded_unchanged_and_damage_is_refused(tmp_path):
    path = tmp_path / "mine.safetensors"
    save_copier(load_copier(), path, measured_runs())
    loaded = load_copier(path).state_dict()
    assert all(torch.equal(loaded[name], x) for name, x in load_copier().state_dict().items())
    assert measured_runs(path) == measured_runs()
    data = bytearray(path.read_bytes())
    data[-1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        load_copier(path)


def test_training_repeats_itself_and_learns():
    losses = []
    first = train_copier(3, steps=8, progress=False, watch=lambda step, x: losses.append(x))
    again, other = (train_copier(seed, steps=8, progress=False) for seed in (3, 4))
    assert len(losses) == 8 and losses[-1] < losses[0]
    assert torch.equal(first.W_u.weight, again.W_u.weight)
    assert not torch.equal(first.W_u.weight, other.W_u.weight)


def test_what_the_chapter_asserts_holds_for_a_copier_of_another_seed(monkeypatch, capsys):
    """The chapter speaks of seven more seeds; this trains the first of them, in half a minute."""
    sibling = train_copier(1, progress=False)
    monkeypatch.setattr(copying, "load_copier", lambda: sibling)
    scope = {}
    for cell in code_cells(read(ROOT / "book" / "copying-heads.ipynb")):
        exec("".join(cell["source"]), scope)
    plt.close("all")
    assert scope["copier"] is sibling
    assert "answer from place 6: 1.00" in capsys.readouterr().out


def test_figure_shows_a_copier_of_ones_own_with_a_layer_switched_off(node):
    torch.manual_seed(0)
    copier = Copier(num_layers=3, d_model=10)  # float32 numbers, other sizes
    figure = CopyingHeads(copier, without=2)
    seen = seen_in_page(node, figure, ["abxyab"])
    off = lambda layer, x: 0 * x if layer == 1 else x  # noqa: E731
    assert figure.bits == 32 and largest_difference(copier, ["abxyab"], seen, off) < 1e-5


def test_figure_refuses_what_it_cannot_read():
    figure = CopyingHeads()
    for text in ("", "42", "x" * (MAX_LEN + 1)):
        with pytest.raises(traitlets.TraitError, match="a text that it can read"):
            figure.text = text
    with pytest.raises(TypeError, match="copier: expected a Copier"):
        CopyingHeads(copier=torch.nn.Linear(2, 2))
