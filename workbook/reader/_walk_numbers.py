"""The numbers of the figure Walk: all that the reader computes for one sentence, and in words."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attention_lib.widgets._rounding import fixed

if TYPE_CHECKING:
    from workbook.reader import Reader

__all__ = ["PADS", "STEPS", "Array", "Layer", "Seen", "Trace", "numbers_of", "sentence", "trace"]

Array = NDArray[np.float64]

STEPS = (
    *("The question", "Vectors", "Query and keys", "Scores", "Divide by √d", "The mask", "Softmax"),
    *("The mixture", "Several heads", "Two layers", "The answer", "Another word"),
    "The brightest line",
)
PADS = 2  # empty places after the sentence, in the step about the mask


class Layer(NamedTuple):
    """What one layer computes: of each head the queries, keys and values ``(heads, len, d_k)``,
    scores before they are divided, and weights ``(heads, len, len)``; what each head brings to
    each word; the words' vectors after the layer, and after each head alone what the reader would
    answer."""

    queries: Array
    keys: Array
    values: Array
    scores: Array
    weights: Array
    brought: Array
    output: Array
    alone: Array


class Trace(NamedTuple):
    """All numbers of one reading; ``answers`` are the pointing head's weights of *it*, asked before
    the first layer and after each."""

    words: tuple[str, ...]
    start: Array
    layers: list[Layer]
    answers: list[Array]

    @property
    def meant(self) -> int:
        """The place of the word that *it* means."""
        return int(self.answers[-1].argmax())


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def numbers_of(reader: "Reader") -> dict[str, Array]:
    return {k: v.detach().cpu().double().numpy() for k, v in reader.state_dict().items()}


def _vectors(numbers: dict[str, Array], ids: list[int]) -> Array:
    """What goes into the first layer: the words' vectors with those of their positions."""
    embedded = numbers["embedding.weight"][ids]
    column = np.arange(embedded.shape[1])
    angle = np.arange(len(ids))[:, None] / 10000.0 ** ((column - column % 2) / len(column))
    return np.asarray(embedded + np.where(column % 2, np.cos(angle), np.sin(angle)))


def trace(
    reader: "Reader", words: tuple[str, ...], lent: dict[tuple[int, int], Array] | None = None
) -> Trace:
    """Compute in float64 all numbers of one reading.

    Parameters
    ----------
    reader : Reader
    words : tuple of str
        The sentence as :meth:`Vocabulary.parse` gives it, one of the words "it".
    lent : dict, optional
        By layer and head, counted from 0, what that head brings to *it* in place of its own.

    Returns
    -------
    Trace
    """
    numbers, it = numbers_of(reader), words.index("it")
    x = start = _vectors(numbers, reader.vocabulary.encode(words))
    width = x.shape[1]
    pointed = start @ numbers["W_k.weight"].T

    def answer(vector: Array) -> Array:
        return _softmax(pointed @ (numbers["W_q.weight"] @ vector) / np.sqrt(width))

    layers = []
    for number, heads in enumerate(reader.num_heads):
        matrices = {key: numbers[f"attentions.{number}.W_{key}.weight"] for key in "qkvo"}
        queries, keys, values = (
            (x @ matrices[key].T).reshape(len(words), heads, -1).swapaxes(0, 1) for key in "qkv"
        )
        scores = queries @ keys.swapaxes(1, 2)
        weights = _softmax(scores / np.sqrt(width // heads))
        brought = weights @ values
        for (layer, head), vector in (lent or {}).items():
            if layer == number:
                brought[head, it] = vector

        def after(
            only: list[int],
            x: Array = x,
            brought: Array = brought,
            W_o: Array = matrices["o"],
            norm: str = f"add_norms.{number}.norm.",
        ) -> Array:
            kept = np.zeros_like(brought)
            kept[only] = brought[only]
            rows = x + kept.swapaxes(0, 1).reshape(x.shape) @ W_o.T
            rows = rows - rows.mean(axis=1, keepdims=True)
            rows = rows / np.sqrt((rows**2).mean(axis=1, keepdims=True) + 1e-5)
            return np.asarray(rows * numbers[f"{norm}weight"] + numbers[f"{norm}bias"])

        alone = np.stack([answer(after([head])[it]) for head in range(heads)])
        output = after([*range(heads)])
        layers.append(Layer(queries, keys, values, scores, weights, brought, output, alone))
        x = output
    return Trace(words, start, layers, [answer(start[it]), *(answer(y.output[it]) for y in layers)])


class Seen(NamedTuple):
    """What the figure shows: a reading, the same with one head's gift from a sentence that ends in
    ``other``, the head of layer 1 that is followed, and the places of two words for *it*."""

    read: Trace
    swapped: Trace
    other: str
    followed: int
    nouns: tuple[int, ...]
    swap: str

    @property
    def it(self) -> int:
        return self.read.words.index("it")

    @property
    def size(self) -> int:
        """How many numbers a query of layer 1 has."""
        return int(self.read.layers[0].queries.shape[-1])

    @property
    def dots(self) -> Array:
        """The followed head's products of the query of *it* with every key."""
        return np.asarray(self.read.layers[0].scores[self.followed, self.it])

    @property
    def row(self) -> Array:
        """The followed head's weights of *it*."""
        return np.asarray(self.read.layers[0].weights[self.followed, self.it])

    def told(self, step: int) -> Array:
        """Return what the reader would answer at a step."""
        if step < 8:
            return self.read.answers[0]
        if step == 8:
            return np.asarray(self.read.layers[0].alone[self.followed])
        if step == 9:
            return self.read.answers[1]
        return (self.swapped if step == 13 else self.read).answers[2]

    def most(self, weights: Array) -> str:
        """Return a word with its weight, that which the weights favour."""
        best = int(weights.argmax())
        return f"{self.read.words[best]} {fixed(weights[best], 2)}"

    def odds(self, answer: Array) -> str:
        """Return how probable an answer holds the two words."""
        return ", ".join(f"{self.read.words[i]} {fixed(answer[i], 2)}" for i in self.nouns)


def _means(found: Trace) -> str:
    word = found.words[found.meant] if found.meant else "none of the words"
    return f"{word} (probability {fixed(found.answers[2].max(), 2)})"


def sentence(step: int, seen: Seen) -> str:
    """Return what a step shows, its numbers included; ``words`` of walk.js says the same."""
    read, it, size, row, dots = seen.read, seen.it, seen.size, seen.row, seen.dots
    words, layers, answers = read.words, read.layers, read.answers
    one, two = (words[noun] for noun in seen.nouns)
    best, top = int(dots.argmax()), int(row.argmax())
    vector = read.start[it]
    heads = [", ".join(seen.most(weights[it]) for weights in layer.weights) for layer in layers]
    said = {
        1: f"One of the {len(words) - 1} words is “it”. Does it mean the {one} or the {two}?",
        2: f"Each word is {len(vector)} numbers; those of “it” run from {fixed(vector.min(), 2)} "
        f"to {fixed(vector.max(), 2)}.",
        3: f"In layer 1, head {seen.followed + 1}, “it” has a query of {size} numbers, and every "
        f"word has a key of {size} numbers.",
        4: f"The query of “it” matches the key of “{words[best]}” best: score "
        f"{fixed(dots[best], 2)}.",
        5: f"Divided by √{size} = {fixed(np.sqrt(size), 2)}, the score of “{words[best]}” is "
        f"{fixed(dots[best] / np.sqrt(size), 2)}.",
        6: f"The {PADS} empty places get the score −∞. All {len(words)} others may be looked at.",
        7: f"“{words[top]}” gets the weight {fixed(row[top], 2)}; the {len(words) - 1} others "
        f"share {fixed(1 - row[top], 2)}.",
        8: f"{fixed(row[top], 2)} of the mixture comes from “{words[top]}”. Without it, the "
        f"reader would answer {seen.odds(answers[0])}; with it, {seen.odds(seen.told(8))}.",
        9: f"The {len(layers[0].weights)} heads of layer 1 let “it” look most at {heads[0]}. "
        f"With all of them, the reader would answer {seen.odds(answers[1])}.",
        10: f"Asked before layer 1, the reader would answer {seen.odds(answers[0])}; after it, "
        f"{seen.odds(answers[1])}; after layer 2, {seen.odds(answers[2])}.",
        11: f"With “{words[-1]}”, “it” means {_means(read)}.",
        13: f"The heads of layer 2 look most at {heads[1]}. “it” means {_means(read)}.",
    }
    if step == 13 and seen.swap != "nothing":
        layer, head = seen.swap.split(".")
        same = ", as before" if seen.swapped.meant == read.meant else ""
        return (
            f"Layer {layer}, head {head} brings what it brings in the sentence with "
            f"“{seen.other}”: “it” means {_means(seen.swapped)}{same}."
        )
    return said[11 if step == 12 else step]
