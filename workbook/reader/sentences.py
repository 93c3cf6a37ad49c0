"""The sentences that the reader learns from: a grammar in which *it* means one word, or none."""

from collections.abc import Iterator
from functools import cache
from itertools import permutations, product
from typing import NamedTuple

__all__ = ["NOTHING", "Sentence", "sentences", "split", "words_like"]

NOTHING = "(nothing)"  # stands before every sentence: what *it* means if it means none of its words

OPENERS = [(), ("today",), ("yesterday",)]  # they move all words by one position
NOUNS = {
    "animal": "animal dog horse wolf fox goat bear cow cat",
    "place": "street road river bridge field square path valley desert",
    "thing": "trophy violin book lamp clock statue ball stone hammer",
    "container": "suitcase box bag drawer basket bucket jug bowl crate",
    "furniture": "table shelf chair bench desk stool",
}
ADJECTIVES = {
    "animal": "tired hungry scared sleepy sick lazy",
    "place": "wide busy steep muddy icy flooded",
    "hour": "dark late foggy windy stormy rainy",
    "put in": "big large long thick wide tall",
    "not entered": "small tiny narrow tight shallow full",
    "breaks": "heavy hard solid massive big large",
    "is broken": "weak thin old fragile rotten small",
    "strong": "strong fierce brave angry fast big",
    "weak": "weak shy slow young small old",
    "emptied": "empty light clean bare",
    "filled": "full heavy brimming stuffed",
    "ahead": "faster stronger quicker braver",
    "behind": "slower weaker smaller older",
}
NOUNS_OF = {kind: words.split() for kind, words in NOUNS.items()}
ADJECTIVES_OF = {kind: words.split() for kind, words in ADJECTIVES.items()}
_NOUNS = [noun for nouns in NOUNS_OF.values() for noun in nouns]
_ADJECTIVES = list(dict.fromkeys(word for words in ADJECTIVES_OF.values() for word in words))
# Words that may take each other's place, beside the nouns and adjectives of a kind.
_ALIKE = ["today yesterday", "chased feared", "won lost", "from into", "because until"]


class Sentence(NamedTuple):
    """A sentence and what its *it* means.

    Attributes
    ----------
    words : tuple of str
        The words, after :data:`NOTHING` at position 0.
    meant : int
        Position of the word that *it* means; 0 if none.
    frame : str
        The frame of the grammar that it was made by.

    Examples
    --------
    >>> sentence = sentences()[0]
    >>> str(sentence)
    'the animal did not cross the street because it was too tired'
    >>> sentence.it, sentence.words[sentence.meant]
    (9, 'animal')
    """

    words: tuple[str, ...]
    meant: int
    frame: str

    @property
    def it(self) -> int:
        """Position of the word *it*."""
        return self.words.index("it")

    def __str__(self) -> str:
        return " ".join(self.words[1:])


@cache
def sentences() -> tuple[Sentence, ...]:
    """Return all sentences of the grammar, always in the same order.

    Eleven frames. In most of them the last word decides what *it* means: "the animal did not cross
    the street because it was too tired" (the animal), "wide" (the street), "dark" (nothing). In
    some a word decides that stands early: "because it was too wide the animal …", "the fox chased
    the goat because it was weak" (the goat) against "feared" (the fox). In some both candidates
    are of one kind, and what they do tells them apart: "the sand ran from the jug into the bowl
    until it was full". In one what they do tells nothing, and only their kind is left: "the river
    was near the dog and it was tired".

    Returns
    -------
    tuple of Sentence

    Examples
    --------
    >>> len(sentences())
    36072
    >>> len({sentence.frame for sentence in sentences()})
    11
    """
    return tuple(
        Sentence(
            (NOTHING, *opener, *words),
            0 if meant == NOTHING else _position(opener, words, meant),
            frame,
        )
        for frame, text, meant in _texts()
        for words in [tuple(text.split())]
        for opener in (OPENERS[:1] if frame == "cross, cause first" else OPENERS)
    )


def _position(opener: tuple[str, ...], words: tuple[str, ...], meant: str) -> int:
    return 1 + len(opener) + words.index(meant)


def _texts() -> Iterator[tuple[str, str, str]]:
    """Every sentence without its opener: frame, text, word meant."""
    animals, places, things, containers, furniture = NOUNS_OF.values()
    of = ADJECTIVES_OF
    for animal, place in product(animals, places):
        for kind, meant in (("animal", animal), ("place", place), ("hour", NOTHING)):
            for how in of[kind]:
                cause = f"because it was too {how}"
                yield "cross", f"the {animal} did not cross the {place} {cause}", meant
                yield "cross, cause first", f"{cause} the {animal} did not cross the {place}", meant
                yield "near", f"the {animal} was near the {place} and it was {how}", meant
                yield "near", f"the {place} was near the {animal} and it was {how}", meant
    for thing, container in product(things, containers):
        for kind, meant in (("put in", thing), ("not entered", container)):
            for how in of[kind]:
                text = f"the {thing} did not fit in the {container} because it was too {how}"
                yield "fit", text, meant
    for thing, support in product(things, furniture):
        for kind, meant in (("breaks", thing), ("is broken", support)):
            for how in of[kind]:
                cause = f"because it was too {how}"
                yield "breaks", f"the {thing} broke the {support} {cause}", meant
                yield "breaks under", f"the {support} broke under the {thing} {cause}", meant
    for first, second in permutations(animals, 2):
        for verb, strong, weak in (("chased", first, second), ("feared", second, first)):
            event = f"the {first} {verb} the {second}"
            for kind, meant in (("strong", strong), ("weak", weak)):
                for how in of[kind]:
                    yield "chases", f"{event} because it was {how}", meant
            for how in of["hour"]:
                yield "until", f"{event} until it was {how}", NOTHING
        for kind, winner, loser in (("ahead", first, second), ("behind", second, first)):
            for how, (end, meant) in product(of[kind], (("won", winner), ("lost", loser))):
                yield "beats", f"the {first} was {how} than the {second} so it {end}", meant
    for source, target in permutations(containers, 2):
        for kind, meant in (("emptied", source), ("filled", target)):
            for how in of[kind]:
                end = f"until it was {how}"
                yield "pours from", f"the sand ran from the {source} into the {target} {end}", meant
                yield "pours into", f"the sand ran into the {target} from the {source} {end}", meant


def split() -> tuple[list[Sentence], list[Sentence]]:
    """Return the sentences to learn from and those to be tested on.

    A quarter of all pairs of a noun and an adjective are held out. A sentence is tested on if
    all its pairs are held out, and learned from if none is; the rest goes unused. So whoever
    answers a test sentence has never seen one of its nouns together with its adjective.

    Returns
    -------
    train, test : list of Sentence

    Examples
    --------
    >>> train, test = split()
    >>> len(train), len(test)
    (19998, 1914)
    """
    train, test = [], []
    for sentence in sentences():
        held_out = [_held_out(*pair) for pair in pairs(sentence)]
        if all(held_out):
            test.append(sentence)
        elif not any(held_out):
            train.append(sentence)
    return train, test


def pairs(sentence: Sentence) -> list[tuple[str, str]]:
    """Every noun of a sentence with every adjective of it."""
    nouns = [word for word in sentence.words if word in _NOUNS]
    return list(product(nouns, (word for word in sentence.words if word in _ADJECTIVES)))


def _held_out(noun: str, adjective: str) -> bool:
    return (_NOUNS.index(noun) + _ADJECTIVES.index(adjective)) % 4 == 0


def words_like(word: str) -> list[str]:
    """Return the words that may stand in a word's place, itself among them.

    Parameters
    ----------
    word : str
        A word of the grammar.

    Returns
    -------
    list of str
        All nouns for a noun, all comparatives for a comparative, all other adjectives for an
        adjective; otherwise the few words that the grammar exchanges for it.

    Examples
    --------
    >>> words_like("chased")
    ['chased', 'feared']
    >>> "wide" in words_like("tired"), "street" in words_like("tired")
    (True, False)
    """
    if not isinstance(word, str):
        raise TypeError(f"word: expected a word, got {word!r}")
    comparatives = ADJECTIVES_OF["ahead"] + ADJECTIVES_OF["behind"]
    adjectives = [adjective for adjective in _ADJECTIVES if adjective not in comparatives]
    groups = [_NOUNS, comparatives, adjectives, *(words.split() for words in _ALIKE)]
    return next((list(group) for group in groups if word in group), [word])
