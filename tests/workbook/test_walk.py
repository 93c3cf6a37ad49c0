"""The figure Walk: the reader's own numbers, the page beside it, and what the page claims."""

import numpy as np
import pytest

from workbook.reader import load_reader, read
from workbook.reader._walk_numbers import STEPS, trace
from workbook.reader.walk import Walk

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


def test_what_the_page_claims_of_this_reader_is_true():
    """In the page's words: each of these sentences stands there without a number."""
    tired, wide = Walk().seen(), Walk(word="wide").seen()
    for seen in (tired, wide):  # the followed head looks mostly at the last word
        assert 0.5 < seen.row[-1] < 0.9 and seen.dots.argmax() == len(seen.dots) - 1
        assert seen.read.answers[-1].max() > 0.9
    assert tired.read.words[tired.read.meant] == "animal"
    assert wide.read.words[wide.read.meant] == "street"
    undecided = tired.read.answers[0]
    assert undecided.argmax() in tired.nouns and undecided.max() < 0.9
    # head 2 of layer 1 has the longest bar and does not decide; head 1 of layer 2 does
    tops = [float(w.max()) for layer in tired.read.layers for w in layer.weights[:, tired.it]]
    turns = [Walk(swap=s).seen().swapped.meant != tired.read.meant for s in Walk()._swaps[1:]]
    assert max(tops) == tops[1] and turns == [False] * 4 + [True, False]
