"""Exam items made from templates, with numbers of your own and their answers.

    python -m attention_workbook.classroom.exam --seed="a word that only you know" --versions=2

writes an exam a version into ``_build/exam``, to print, and the answers with points to a file of
their own. Another seed gives other numbers, and the items in another order, so what is published
here, the templates, answers no exam. The same seed gives the same exam again.
"""

import argparse
import html
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = ["TEMPLATES", "Item", "item", "items", "pages"]


class Item(NamedTuple):
    """A question, its answer and its points.

    Examples
    --------
    >>> Item("What is e^0?", "1.", points=1).points
    1
    """

    question: str
    answer: str
    points: int


Template = Callable[[random.Random], Item]
TEMPLATES: dict[str, Template] = {}


def item(template: Template) -> Template:
    """Add a template, a function of a source of random numbers, to those that exams are made of.

    Examples
    --------
    >>> TEMPLATES["lookup"] is lookup
    True
    """
    TEMPLATES[template.__name__] = template
    return template


def _short(number: float, digits: int = 3) -> str:
    """A number as one writes it by hand."""
    return f"{number:.{digits}g}"


def _list(numbers: list[float] | list[int]) -> str:
    return ", ".join(_short(number) for number in numbers)


@item
def lookup(draw: random.Random) -> Item:
    shares = draw.choice([[5, 3, 2], [6, 3, 1], [7, 2, 1], [8, 1, 1], [4, 4, 2]])
    values = draw.sample(range(10, 100, 10), 3)
    output = sum(share * value for share, value in zip(shares, values, strict=True)) / 10
    return Item(
        f"The exponentials of three scores are {_list(shares)}, the values {_list(values)}. "
        "Which weights does softmax give, and what is the output?",
        f"Weights {_list([share / 10 for share in shares])}; output {_short(output)}.",
        2,
    )


@item
def range_of_outputs(draw: random.Random) -> Item:
    values = draw.sample(range(-20, 60), 4)
    outside = max(values) + draw.randint(1, 9)
    return Item(
        f"A lookup has the values {_list(values)}. Can its output be {outside}? Say why.",
        f"No. The output is a mean with weights of 0 or more that sum to 1, so it lies between "
        f"{min(values)} and {max(values)}.",
        2,
    )


@item
def shapes(draw: random.Random) -> Item:
    batch, heads, d_k = draw.choice([2, 3, 5]), draw.choice([4, 8]), draw.choice([16, 32, 64])
    length = draw.choice([7, 11, 13])
    return Item(
        f"A layer with {heads} heads reads a batch of {batch} sentences of {length} words, with "
        f"d_model = {heads * d_k}. Give the shapes of the queries after the heads are split, of "
        "the scores, and of the layer's output.",
        f"({batch}, {heads}, {length}, {d_k}); ({batch}, {heads}, {length}, {length}); "
        f"({batch}, {length}, {heads * d_k}).",
        3,
    )


@item
def masked_row(draw: random.Random) -> Item:
    first, second = draw.choice([(3, 1), (4, 1), (3, 2), (7, 1)])
    hidden = draw.choice([2, 3])
    total, seen = first + second + hidden, first + second
    return Item(
        f"The exponentials of a row of scores are {_list([first, second, *[1] * hidden])}; the "
        f"last {hidden} keys are padding. Give the first two weights (a) without a mask, (b) with "
        "the padding's weights set to 0 after the softmax, (c) masked before the softmax.",
        f"(a) and (b) {first}/{total} and {second}/{total}; (c) {first}/{seen} and "
        f"{second}/{seen}. In (b) the weights sum to {seen}/{total} only.",
        3,
    )


@item
def open_cells(draw: random.Random) -> Item:
    length = draw.randint(6, 12)
    real = draw.randint(3, length - 2)
    cells = real * (real + 1) // 2 + (length - real) * real
    return Item(
        f"A sentence of {real} words is filled up to {length} places at its end. How many pairs of "
        "query and key does a causal mask combined with a padding mask leave open?",
        f"{cells}: query i sees min(i, {real}) keys, for i = 1 … {length}.",
        3,
    )


@item
def honest_loss(draw: random.Random) -> Item:
    letters = draw.choice([2, 4, 5, 6, 8])
    return Item(
        f"In a language every letter is followed by one of {letters} letters, all equally likely. "
        "What is the lowest mean loss, in nats, that an honest model can reach on fresh texts? A "
        f"model reports {_short(math.log(letters) / 2, 2)}. What do you suspect?",
        f"ln {letters} = {_short(math.log(letters))}. It sees the letter that it is to predict.",
        3,
    )


@item
def scaling(draw: random.Random) -> Item:
    root, spread = draw.choice([4, 8, 16]), draw.choice([2, 3])
    return Item(
        f"The coordinates of queries and keys are independent, with mean 0 and standard deviation "
        f"{spread}; d = {root**2}. What is the standard deviation of a dot product? By what must "
        "scores be divided so that it becomes 1?",
        f"{spread**2} · √{root**2} = {spread**2 * root}, and by that: once {spread} for the query, "
        f"once for the key, times √d.",
        3,
    )


@item
def parameters(draw: random.Random) -> Item:
    heads, d_model = draw.choice([4, 8, 16]), draw.choice([128, 256, 512])
    return Item(
        f"How many parameters has a multi-head attention with d_model = {d_model} and {heads} "
        "heads, without biases? How many has it with twice as many heads of half the width?",
        f"4 · {d_model}² = {4 * d_model**2}, and as many with twice the heads.",
        2,
    )


@item
def cache(draw: random.Random) -> Item:
    layers, d_k = draw.choice([24, 32, 48]), draw.choice([64, 128])
    kv_heads, heads = draw.choice([(4, 32), (8, 32), (8, 64)])
    each = 2 * layers * kv_heads * d_k * 2
    return Item(
        f"A model has {layers} layers with {heads} query heads that share {kv_heads} heads of keys "
        f"and values, d_k = {d_k}, and keeps 2 bytes a number. How many bytes does its cache hold "
        "for each token? How many times less is that than without sharing?",
        f"2 · {layers} · {kv_heads} · {d_k} · 2 = {each}; {heads // kv_heads} times less.",
        3,
    )


@item
def reach(draw: random.Random) -> Item:
    layers, window = draw.randint(3, 8), draw.choice([3, 4, 5, 8])
    return Item(
        f"Each of {layers} layers lets a word see itself and the {window - 1} words before it. How "
        "many words can reach the last word through all layers?",
        f"{layers} · {window - 1} + 1 = {layers * (window - 1) + 1}.",
        2,
    )


@item
def two_blocks(draw: random.Random) -> Item:
    low, high = sorted(draw.sample(range(1, 7), 2))
    first, second = draw.sample(range(2, 9), 2)
    return Item(
        f"A kernel has read one block of keys: largest score {low}, sum of exponentials relative "
        f"to it {first}. The next block has the largest score {high} and the sum {second}. What is "
        f"the sum of both, relative to {high}?",
        f"{first} · e^({low} − {high}) + {second} = "
        f"{_short(first * math.exp(low - high) + second)}.",
        3,
    )


@item
def bright_cell(draw: random.Random) -> Item:
    head, share = draw.choice(["1.2", "2.1", "3.4"]), draw.choice([0.86, 0.91, 0.97])
    return Item(
        f"In a paper's heatmap, head {head} gives one word the weight {share}. The caption says "
        "that the answer depends on this word. Name an experiment that tests it, and a result that "
        "would contradict the caption.",
        "Replace what the head brings by what it brings in a sentence with another answer, or "
        "ablate it by its mean, on many sentences. The caption is wrong if the answers stay.",
        3,
    )


def items(seed: str, version: int, count: int | None = None) -> list[Item]:
    """Return the items of one version of an exam, in its order.

    Parameters
    ----------
    seed : str
        What numbers and order depend on; keep it to yourself.
    version : int
        The versions of an exam have the same items with other numbers, in another order.
    count : int, optional
        How many of the templates; all if it is left out. The seed chooses them.

    Raises
    ------
    ValueError
        If there are not that many templates.

    Examples
    --------
    >>> len(items("autumn", version=1, count=5))
    5
    """
    if count is not None and not 1 <= count <= len(TEMPLATES):
        raise ValueError(f"count must be from 1 to {len(TEMPLATES)}; got {count}.")
    names = random.Random(seed).sample([*TEMPLATES], count or len(TEMPLATES))
    draw = random.Random(f"{seed} {version}")
    draw.shuffle(names)
    return [TEMPLATES[name](draw) for name in names]


PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>
body {{ max-width: 42rem; margin: 2rem auto; font: 12pt/1.5 serif; }}
li {{ margin-bottom: 1rem; break-inside: avoid; }} .room {{ height: {room}; }}
</style><h1>{title}</h1>{name}<ol>{rows}</ol></html>
"""


def pages(seed: str, version: int, count: int | None = None) -> tuple[str, str]:
    """Return one version of an exam and its answers, as two pages of HTML to print.

    Examples
    --------
    >>> exam, answers = pages("autumn", version=1)
    >>> "Name:" in exam, "Name:" in answers
    (True, False)
    """
    chosen = items(seed, version, count)
    texts = [[html.escape(text) for text in (item.question, item.answer)] for item in chosen]
    total = sum(item.points for item in chosen)
    exam = "".join(
        f'<li>{question} <em>({item.points} points)</em><div class="room"></div></li>'
        for item, (question, _) in zip(chosen, texts, strict=True)
    )
    answers = "".join(
        f"<li>{question}<p><strong>{answer}</strong> ({item.points} points)</p></li>"
        for item, (question, answer) in zip(chosen, texts, strict=True)
    )
    title = f"Attention, version {version}, {total} points"
    return (
        PAGE.format(title=title, name="<p>Name:</p>", rows=exam, room="5cm"),
        PAGE.format(title=f"Answers: {title}", name="", rows=answers, room="0"),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", required=True, help="words that only you know")
    parser.add_argument("--versions", type=int, default=1)
    parser.add_argument("--count", type=int, help="of items, instead of all")
    parser.add_argument("--folder", type=Path, default=Path("_build", "exam"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for version in range(1, arguments.versions + 1):
        for name, text in zip(
            (f"exam-{version}.html", f"answers-{version}.html"),
            pages(arguments.seed, version, arguments.count),
            strict=True,
        ):
            (arguments.folder / name).write_text(text, encoding="utf-8")
            print(arguments.folder / name)


if __name__ == "__main__":
    main()
