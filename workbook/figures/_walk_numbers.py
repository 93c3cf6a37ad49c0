"""The numbers of the figure Walk: all that the reader computes for one sentence, and in words."""

import copy
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attention_lib.multihead import MultiHeadAttention, merge_heads, split_heads
from attention_lib.positions import rotary_frequencies
from attention_lib.scoring import dot_scores, scaled_dot_scores
from workbook.figures._rounding import fixed

if TYPE_CHECKING:
    from workbook.reader import Reader

__all__ = ["PADS", "STEPS", "Array", "Layer", "Seen", "Trace", "sentence", "trace"]

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


@torch.no_grad()
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
    model, it = copy.deepcopy(reader).cpu().double(), words.index("it")
    embedded = model.embedding(torch.tensor([model.vocabulary.encode(words)]))
    x = start = embedded + _positions(*embedded.shape[1:])  # (1, len, d_model)
    asked = model.W_k(start)

    def answer(rows: Tensor) -> Array:
        pointing = scaled_dot_scores(model.W_q(rows[:, it : it + 1]), asked).softmax(dim=-1)
        return _array(pointing[0, 0])

    layers, answers = [], [answer(start)]
    for number, num_heads in enumerate(model.num_heads):
        attention = cast(MultiHeadAttention, model.attentions[number])
        add_norm = model.add_norms[number]
        queries, keys, values = (
            split_heads(project(x), num_heads)
            for project in (attention.W_q, attention.W_k, attention.W_v)
        )
        weights = scaled_dot_scores(queries, keys).softmax(dim=-1)
        brought = weights @ values  # (1, num_heads, len, d_k)
        for (layer, head), vector in (lent or {}).items():
            if layer == number:
                brought[0, head, it] = torch.as_tensor(vector)
        alone = []
        for head in range(num_heads):
            only = torch.zeros_like(brought)
            only[:, head] = brought[:, head]
            alone.append(answer(add_norm(x, attention.W_o(merge_heads(only)))))
        x = add_norm(x, attention.W_o(merge_heads(brought)))
        scores = dot_scores(queries, keys)
        parts = (queries, keys, values, scores, weights, brought, x)
        layers.append(Layer._make([*(_array(part[0]) for part in parts), np.stack(alone)]))
        answers.append(answer(x))
    return Trace(words, _array(start[0]), layers, answers)


def _array(x: Tensor) -> Array:
    return np.asarray(x.numpy())


def _positions(length: int, d_model: int) -> Tensor:
    """Return the sinusoids in float64; the reader's own layer holds them in float32."""
    angles = torch.arange(length, dtype=torch.float64)[:, None] * rotary_frequencies(d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


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
        """Return what the model would answer at a step."""
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
    best, (first, second) = int(dots.argmax()), row[[*seen.nouns]]
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
        7: f"“{one}” gets the weight {fixed(first, 2)}, “{two}” {fixed(second, 2)}; the "
        f"{len(words) - 2} others share {fixed(1 - first - second, 2)}.",
        8: f"{fixed(first, 2)} of the mixture comes from “{one}”, {fixed(second, 2)} from “{two}”. "
        f"Before this look, the model would answer {seen.odds(answers[0])}; after it, "
        f"{seen.odds(seen.told(8))}.",
        9: f"The {len(layers[0].weights)} heads of layer 1 let “it” look most at {heads[0]}. "
        f"With all of them, the model would answer {seen.odds(answers[1])}.",
        10: f"Asked before layer 1, the model would answer {seen.odds(answers[0])}; after it, "
        f"{seen.odds(answers[1])}; after layer 2, {seen.odds(answers[2])}.",
        11: f"With “{words[-1]}”, “it” means {_means(read)}.",
        13: f"The heads of layer 2 look most at {heads[1]}. “it” means {_means(read)}.",
    }
    if step == 13 and seen.swap != "nothing":
        layer, head = seen.swap.split(".")
        same = ", as before" if seen.swapped.meant == read.meant else ""
        return (
            f"The output of head {layer}.{head} at “it” is taken from the sentence with "
            f"“{seen.other}”: “it” means {_means(seen.swapped)}{same}."
        )
    return said[11 if step == 12 else step]
