"""The figure Walk: the reader's own numbers, the page beside it, and what the page claims."""

import copy
import itertools

import numpy as np
import pytest
import torch

from attention_lib import dot_scores, merge_heads, scaled_dot_scores, split_heads
from attention_workbook.figures.walk import Walk
from attention_workbook.reader import load_reader, read
from attention_workbook.reader.lexicon import lexicon

SCRIPT = "_walk/numbers.js"
STEPS = 13
BYTES = "(state, ...rest) => { state.packed = new Uint8Array(state.packed); return "


def plain(figure):
    """The figure's state as JSON can hold it."""
    return figure.state() | {"packed": list(figure.packed)}


def text(figure):
    return " ".join([*figure.text[1:-1], figure.word])


def largest_difference(mine, theirs):
    return float(np.abs(np.asarray(mine, float) - np.asarray(theirs, float)).max())


def measured(node, figure):
    """What the page computes, as arrays; of the swapped reading its answers and what it means."""
    program = (
        BYTES
        + """((seen) => ({
        ...{ words: seen.words, it: seen.it, nouns: seen.nouns, meant: seen.meant },
        ...{ row: seen.row, dots: seen.dots, alone: [...seen.alone] },
        values: seen.first.values.map((value) => [...value]),
        states: [seen.start, ...seen.layers.map((one) => one.output)]
            .map((rows) => rows.map((row) => [...row])),
        weights: seen.weights,
        answers: seen.swapped.answers, swapped: seen.swapped.meant,
        believed: [...Array(13)].map((_, i) => believed(i + 1, seen).at(-1)?.[1] ?? seen.answers[0])
            .map((answer) => [...answer]),
    }))(measure(state)); }"""
    )
    ((seen,),) = [node(SCRIPT, program, [[plain(figure)]], ["measure", "believed"])]
    return {name: value if name == "words" else as_arrays(value) for name, value in seen.items()}


def as_arrays(value):
    """Lists of numbers as arrays, layers of different numbers of heads one by one."""
    try:
        return np.array(value)
    except ValueError:
        return [np.array(part) for part in value]


@torch.no_grad()
def first_look(reader, words, head):
    """One head of layer 1 by PyTorch: the dots of *it*, and the answer if it were the only one."""
    reader, it = copy.deepcopy(reader).double(), words.index("it")
    x = read(load_reader(), " ".join(words[1:])).states[0].double()[None]
    attention, heads = reader.attentions[0], reader.num_heads[0]
    queries, keys, values = (
        split_heads(project(x), heads) for project in (attention.W_q, attention.W_k, attention.W_v)
    )
    brought = scaled_dot_scores(queries, keys).softmax(dim=-1) @ values
    only = torch.zeros_like(brought)
    only[:, head] = brought[:, head]
    row = reader.add_norms[0](x, attention.W_o(merge_heads(only)))[:, it : it + 1]
    answer = scaled_dot_scores(reader.W_q(row), reader.W_k(x)).softmax(dim=-1)
    return dot_scores(queries, keys)[0, head, it], answer[0, 0]


@pytest.mark.parametrize("word", Walk().choices)
def test_the_page_computes_what_pytorch_does(node, word):
    figure, reader = Walk(word=word), load_reader()
    seen, reading = measured(node, figure), read(reader, text(figure))
    assert seen["meant"] == reading.meant
    assert largest_difference(seen["answers"][-1], reading.probabilities) < 1e-5
    for layer, weights in enumerate(reading.weights):
        assert largest_difference(seen["weights"][layer], weights) < 1e-5
    for layer, state in enumerate(reading.states):
        assert largest_difference(seen["states"][layer], state) < 1e-5
    dots, alone = first_look(reader, reading.words, figure.head)
    assert largest_difference(seen["dots"], dots) < 1e-4
    assert largest_difference(seen["alone"], alone) < 1e-5


def fits(seen, kind):
    """How well the pointing query fits the keys of a kind of nouns, in the place of *animal*."""
    reader = load_reader()
    number = reader.vocabulary.encode
    table, asks, asked = (
        part.weight.detach().double().numpy() for part in (reader.embedding, reader.W_q, reader.W_k)
    )
    position = seen["states"][0][seen["nouns"][0]] - table[number(["animal"])[0]]
    keys = (table[number(lexicon().nouns[kind])] + position) @ asked.T
    query = asks @ seen["states"][2][seen["it"]]
    return float((keys @ query).mean()) / len(query) ** 0.5


def test_what_the_page_claims_of_this_reader_is_true(node):
    """In the page's words: each of these sentences stands there without a number."""
    tired, wide = (measured(node, Walk(word=word)) for word in ("tired", "wide"))
    for seen in (tired, wide):
        named, it, row = seen["words"], seen["it"], seen["row"]
        animal, street = seen["nouns"]
        first, second = (layer[:, it] for layer in seen["weights"][:2])
        order = row.argsort()[::-1]  # the followed head looks mostly at the two nouns
        assert [*order[:2]] == [*seen["dots"].argsort()[:-3:-1]] == [street, animal]
        assert row[[animal, street]].sum() > 0.6 and row[order[2]] < 0.1
        assert named[first[2].argmax()] == "too" and first[2].max() > 0.5
        for weights in first[[1, 3]]:
            assert [named[i] for i in weights.argsort()[:-4:-1]] == ["street", "cross", "not"]
        assert first[:, -1].max() < 0.1
        # in the tallest column of the mixture, the two nouns nearly cancel
        pieces = row[:, None] * seen["values"]
        tallest = abs(pieces[animal]).argmax()
        both = pieces[[animal, street], tallest]
        assert both.prod() < 0 and abs(both.sum()) < 0.1 * abs(both).max()
        assert tallest == abs(pieces).sum(axis=0).argmax()
        # in layer 2, averaged, *it* looks mostly at the last word, and less at *street*
        assert [*second.mean(axis=0).argsort()[:-3:-1]] == [len(named) - 1, street]
        # the dots: *street*, nearer to the middle, close to it, and at an end
        told = dict(enumerate(seen["believed"], 1))
        before, alone, after, end = (
            told[step][animal] - told[step][street] for step in (1, 8, 9, 11)
        )
        assert -0.7 < before < alone - 0.1 and alone < after - 0.1 and -0.2 < after < 0
        assert abs(end) > 0.9 and told[8][[animal, street]].sum() < 0.5
        assert told[8][animal] < told[1][animal]
    assert tired["words"][tired["meant"]] == "animal"
    assert wide["words"][wide["meant"]] == "street"
    # the last query fits the keys of animals, or those of places and things
    for seen, sign in ((tired, 1), (wide, -1)):
        animals, *others = (fits(seen, kind) for kind in ("animal", "path", "water", "object"))
        assert all(sign * (animals - other) > 3 for other in others)
    # head 2 of layer 2 looks mostly at *street*, whatever *it* means; head 1 decides
    decider, other = tired["weights"][1][:, tired["it"]]
    assert decider[-1] > 0.9 and other.argmax() == tired["nouns"][1] and other.max() > 0.5
    turns = [measured(node, Walk(swap=s))["swapped"] != tired["meant"] for s in Walk()._swaps[1:]]
    assert turns == [False] * 4 + [True, False]


STAGES = ["query", "keys", "scores", "÷ √10", "mask", "softmax", "values", "mixture"]
NAMES = """() => [...document.querySelectorAll(".attention-walk-computed text")].map((text) => {
  const box = text.getBoundingClientRect();
  const picture = text.ownerSVGElement.getBoundingClientRect();
  const isInside = box.left >= picture.left - 1 && box.right <= picture.right + 1
    && box.top >= picture.top && box.bottom <= picture.bottom + 1;
  return [text.textContent, isInside, box.toJSON()];
})"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390, 860])
def test_the_walk_ends_with_the_whole_machine(show, width):
    """One head is opened, stage by stage. No name lies on another, and none leaves the picture."""
    page = show(Walk(step=STEPS), width=width)
    names, inside, boxes = zip(*page.evaluate(NAMES), strict=True)
    assert list(names) == STAGES and all(inside)
    for a, b in itertools.combinations(boxes, 2):
        beside = a["right"] <= b["left"] or b["right"] <= a["left"]
        assert beside or a["bottom"] <= b["top"] + 3 or b["bottom"] <= a["top"] + 3
    assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
    assert page.locator("[data-readout=step]").inner_text() == "13. The whole machine"


@pytest.mark.browser
def test_the_figure_about_heads_stands_alone(show):
    page = show(Walk(step=STEPS + 1))
    assert page.locator(".attention-title").inner_text() == "Which head decides?"
    page.locator(".attention-walk-hits rect").nth(4).click()
    page.settle()
    assert "“it” means street" in page.locator(".attention-finding").inner_text()
    page.keyboard.press("ArrowLeft")
    assert page.locator(".attention-title").inner_text() == "Which head decides?"
    assert page.locator(".attention-walk-hits rect").count() == 6
