"""The figure Walk: the reader's own numbers, the page beside it, and what the page claims."""

import numpy as np
import pytest

from workbook.figures._walk_numbers import STEPS, trace
from workbook.figures.walk import Walk
from workbook.reader import load_reader, read
from workbook.reader.lexicon import lexicon

SCRIPT = Walk.script()
BYTES = "(state, ...rest) => { state.packed = new Uint8Array(state.packed); return "


def plain(figure):
    """The figure's state as JSON can hold it."""
    return figure.state() | {"packed": list(figure.packed)}


def text(figure):
    return " ".join([*figure.text[1:-1], figure.word])


def largest_difference(mine, theirs):
    return float(np.abs(np.asarray(mine, float) - np.asarray(theirs, float)).max())


@pytest.mark.parametrize("word", Walk().choices)
def test_javascript_and_numpy_agree_with_pytorch(node, word):
    figure, reader = Walk(word=word), load_reader()
    program = BYTES + (
        "((seen) => ({ states: [seen.start, ...seen.layers.map((one) => one.output)]"
        ".map((rows) => rows.map((row) => [...row])), weights: seen.weights, meant: seen.meant,"
        " answer: seen.answers.at(-1), dots: seen.dots, alone: seen.alone }))(measure(state)); }"
    )
    ((seen,),) = [node(SCRIPT, program, [[plain(figure)]], ["measure"])]
    reading = read(reader, text(figure))
    mine = trace(reader, reading.words)
    assert seen["meant"] == mine.meant == reading.meant
    assert largest_difference(seen["answer"], reading.probabilities) < 1e-5
    for layer, weights in enumerate(reading.weights):
        assert largest_difference(seen["weights"][layer], weights) < 1e-5
    for layer, state in enumerate(reading.states):
        assert largest_difference(seen["states"][layer], state) < 1e-5
    assert largest_difference(seen["dots"], figure.seen().dots) < 1e-9
    assert largest_difference(seen["alone"], figure.seen().told(8)) < 1e-9


def test_python_says_in_words_what_javascript_says(node):
    figures = [Walk(step=i + 1, word=w) for i in range(len(STEPS)) for w in Walk().choices[:2]]
    figures += [Walk(step=len(STEPS), swap=swap) for swap in Walk()._swaps]
    program = BYTES + "words(state, measure(state)); }"
    said = node(SCRIPT, program, [[plain(figure)] for figure in figures], ["words", "measure"])
    for figure, sentence in zip(figures, said, strict=True):
        assert figure.words() == sentence, figure


def fits(seen, kind):
    """How well the pointing query fits the keys of a kind of nouns, in the place of *animal*."""
    reader = load_reader()
    number = reader.vocabulary.encode
    table, asks, asked = (
        part.weight.detach().double().numpy() for part in (reader.embedding, reader.W_q, reader.W_k)
    )
    position = seen.read.start[seen.nouns[0]] - table[number(["animal"])[0]]
    keys = (table[number(lexicon().nouns[kind])] + position) @ asked.T
    query = asks @ seen.read.layers[1].output[seen.it]
    return float((keys @ query).mean()) / len(query) ** 0.5


def test_what_the_page_claims_of_this_reader_is_true():
    """In the page's words: each of these sentences stands there without a number."""
    tired, wide = Walk().seen(), Walk(word="wide").seen()
    for seen in (tired, wide):
        named = seen.read.words
        animal, street = seen.nouns
        first, second = (layer.weights[:, seen.it] for layer in seen.read.layers)
        order = seen.row.argsort()[::-1]  # the followed head looks mostly at the two nouns
        assert [*order[:2]] == [*seen.dots.argsort()[:-3:-1]] == [street, animal]
        assert seen.row[[*seen.nouns]].sum() > 0.6 and seen.row[order[2]] < 0.1
        assert named[first[2].argmax()] == "too" and first[2].max() > 0.5
        for row in first[[1, 3]]:
            assert [named[i] for i in row.argsort()[:-4:-1]] == ["street", "cross", "not"]
        assert first[:, -1].max() < 0.1
        # in layer 2, averaged, *it* looks mostly at the last word, and less at *street*
        assert [*second.mean(axis=0).argsort()[:-3:-1]] == [len(named) - 1, street]
        # the dots: *street*, nearer to the middle, close to it, and at an end
        before, alone, after, end = (
            answer[animal] - answer[street] for answer in map(seen.told, (1, 8, 9, 11))
        )
        assert -0.7 < before < alone - 0.1 and alone < after - 0.1 and -0.2 < after < 0
        assert abs(end) > 0.9 and seen.told(8)[[*seen.nouns]].sum() < 0.5
        assert seen.told(8)[animal] < seen.told(1)[animal]
    assert tired.read.words[tired.read.meant] == "animal"
    assert wide.read.words[wide.read.meant] == "street"
    # the last query fits the keys of animals, or those of places and things
    for seen, sign in ((tired, 1), (wide, -1)):
        animals, *others = (fits(seen, kind) for kind in ("animal", "path", "water", "object"))
        assert all(sign * (animals - other) > 3 for other in others)
    # head 2 of layer 2 looks mostly at *street*, whatever *it* means; head 1 decides
    decider, other = tired.read.layers[1].weights[:, tired.it]
    assert decider[-1] > 0.9 and other.argmax() == tired.nouns[1] and other.max() > 0.5
    turns = [Walk(swap=s).seen().swapped.meant != tired.read.meant for s in Walk()._swaps[1:]]
    assert turns == [False] * 4 + [True, False]
