"""The copier: its texts, its network by plain arithmetic, its stored weights, its figure."""

import math

import pytest
import torch

from attention_lib import sinusoidal_positions
from attention_workbook.copying import (
    LETTERS,
    MAX_LEN,
    Copier,
    draw_texts,
    load_copier,
    measure,
    measured_runs,
)
from attention_workbook.copying import __main__ as command
from attention_workbook.figures.copying_heads import CopyingHeads
from tests.strategies import assert_close

SCRIPT = CopyingHeads.script()


def texts(count, seed=0):
    return draw_texts(count, torch.Generator().manual_seed(seed))


def words_of(ids):
    return ["".join(LETTERS[i] for i in row) for row in ids.tolist()]


def test_texts_repeat_from_their_start_on_and_not_before():
    """At every place after the start the next letter follows from the text, by one period."""
    periods = set()
    for text, start in zip(words_of(texts(300)[0]), texts(300)[1].tolist(), strict=True):
        fitting = [
            n for n in range(5, 16) if n <= start and text[start:] == text[start - n : MAX_LEN - n]
        ]
        assert fitting, text
        periods.add(fitting[0])
    assert periods == {*range(5, 16)}


def by_hand(copier, text, without=None):
    """The network in plain arithmetic, in float64: scores and both layers' weights."""
    p = {name: tensor.double() for name, tensor in copier.state_dict().items()}
    d_model = copier.embedding.embedding_dim
    x = p["embedding.weight"][[LETTERS.index(letter) for letter in text]]
    x = x + 2 * sinusoidal_positions(len(text), d_model).double()
    maps = []
    for layer in range(len(copier.attentions)):
        q, k, v = (x @ p[f"attentions.{layer}.W_{name}.weight"].T for name in "qkv")
        scores = (q @ k.T / math.sqrt(d_model)).masked_fill(
            torch.ones(len(text), len(text)).triu(1).bool(), -math.inf
        )
        maps.append(scores.softmax(-1))
        if layer != without:
            x = x + maps[-1] @ v @ p[f"attentions.{layer}.W_o.weight"].T
    return x @ p["W_u.weight"].T, maps


@pytest.mark.parametrize("without", [None, 0, 1])
def test_network_agrees_with_plain_arithmetic(without):
    copier, text = load_copier(), "zebrafishzebraf"
    found = copier(copier.encode(text), lambda layer, x: 0 * x if layer == without else x)
    scores, maps = by_hand(copier, text, without)
    assert_close(found.scores[0], scores.float())
    for weights, mine in zip(found.weights, maps, strict=True):
        assert_close(weights[0], mine.float())
    assert_close(copier.W_u(sum(found.writes)), found.scores)


def test_stored_copier_and_its_siblings_do_what_the_chapter_says():
    run, runs = measure(load_copier(), *texts(500)), measured_runs()
    assert [(run.layers, run.seed) for run in runs] == [(n, s) for n in (2, 1) for s in range(5)]
    assert run.right == pytest.approx(runs[0].right, abs=0.02) and run.right > 0.9
    for two, one in zip(runs[:5], runs[5:], strict=True):
        assert two.right > command.PROMISED > 0.5 > one.right
        assert min(two.previous[0], two.induction[1]) > 0.6
        assert max(two.previous[1], two.induction[0], *one.previous, *one.induction) < 0.25


def test_scores_of_hand_made_weights_are_counted_by_hand(monkeypatch):
    """The text abxabx repeats from place 3 on; only places 3 and 4 have a letter to foretell."""
    ids, starts = torch.tensor([[0, 1, 23, 0, 1, 23]]), torch.tensor([3])
    copier = Copier()
    before, after = torch.zeros(1, 6, 6), torch.zeros(1, 6, 6)
    before[0, [1, 2, 3], [0, 1, 2]] = torch.tensor([0.5, 1.0, 1.0])  # place 3 is not new
    after[0, [3, 4], [1, 2]] = torch.tensor([0.25, 0.75])
    found = copier(ids)._replace(weights=(before, after))
    monkeypatch.setattr(Copier, "forward", lambda self, ids: found)
    run = measure(copier, ids, starts)
    assert run.previous == [0.75, 0] and run.induction == [0, 0.5]


def plain(figure):
    return figure.state() | {"packed": list(figure.packed)}


def seen_in_page(node, figure, many):
    program = """(state, texts) => {
        state.packed = new Uint8Array(state.packed);
        const copier = unpackCopier(state);
        return texts.map((text) => measure({ ...state, text }, copier));
    }"""
    return node(SCRIPT, program, [[plain(figure), many]], ["measure", "unpackCopier"])[0]


def largest_difference(copier, many, seen, change=None):
    largest = 0.0
    for text, found in zip(many, seen, strict=True):
        with torch.no_grad():
            mine = copier(copier.encode(text), change)
        for looks, weights in zip(found["weights"], mine.weights, strict=True):
            for row, exact in zip(looks, weights[0], strict=True):
                largest = max(largest, (torch.tensor(row) - exact[: len(row)]).abs().max().item())
        probabilities = mine.scores[0].softmax(-1)
        largest = max(
            largest, (torch.tensor(found["probabilities"]) - probabilities).abs().max().item()
        )
    return largest


def test_javascript_agrees_with_pytorch_on_forty_texts(node):
    many = [text[: 1 + i % MAX_LEN] for i, text in enumerate(words_of(texts(40)[0]))]
    seen = seen_in_page(node, CopyingHeads(), many)
    assert largest_difference(load_copier(), many, seen) < 1e-5


@pytest.mark.browser
def test_typing_a_text_and_switching_a_layer_off(show):
    page = show(CopyingHeads())
    figure = page.figure()
    assert LETTERS[int(figure.read("next"))] == "i" and figure.read("probability") > 0.9
    field = page.locator(".attention-line-of-text input")
    field.fill("Harry Potter and Harry P")
    page.settle()
    assert LETTERS[int(figure.read("next"))] == "o"
    assert field.input_value() == "Harry Potter and Harry P"
    page.get_by_label("not layer 2").click()
    page.settle()
    assert figure.read("probability") < 0.5
    field.fill("42")
    page.settle()
    assert "no letter from a to z" in page.locator("[role=alert]:visible").inner_text()
    page.get_by_role("button", name="Reset").click()
    page.settle()
    assert LETTERS[int(figure.read("next"))] == "i" and field.input_value() == "zebrafishzebraf"
