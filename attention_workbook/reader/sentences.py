"""The sentences that the reader learns from: *it* means one word, either of two words, or none."""

from collections.abc import Container, Iterable
from functools import cache
from itertools import product

from attention_lib.arguments import require_a, require_bool, require_count
from attention_workbook.reader._grammar import Grammar
from attention_workbook.reader._sentence import NOTHING, PEOPLE, Sentence
from attention_workbook.reader.lexicon import lexicon

__all__ = ["NOTHING", "Sentence", "crossings", "draw", "split"]

TRAIN, SMALL_TRAIN, TEST = 360_000, 6_000, 2_000
MORE = ("it the was than so win lose and that at with for from to under on in near",)


@cache
def draw(
    count: int, seed: int = 0, *, small: bool = False, held_out: bool | None = None
) -> tuple[Sentence, ...]:
    """Return sentences of the grammar, always the same for a seed.

    Parameters
    ----------
    count, seed : int
    small : bool
        Whether to use the small part of the lexicon.
    held_out : bool, optional
        True: only sentences whose pairs of a noun and an adjective are all held out. False: only
        those in which none is.

    Examples
    --------
    >>> len(draw(5, seed=1))
    5
    """
    require_count("count", count)
    grammar = Grammar(small, seed)
    return tuple(grammar.draw(held_out) for _ in range(count))


@cache
def _split(small: bool) -> tuple[tuple[Sentence, ...], tuple[Sentence, ...]]:
    return (
        draw(SMALL_TRAIN if small else TRAIN, 0, small=small, held_out=False),
        draw(TEST, 1, small=small, held_out=True),
    )


def split(*, small: bool = False) -> tuple[list[Sentence], list[Sentence]]:
    """Return the sentences to learn from and those to be tested on.

    A quarter of all pairs of a noun and an adjective are held out. A sentence is tested on if
    its pairs are all held out, and learned from if none is. So in training the adjective of a
    test sentence was never said of an *it* that could be one of its nouns. Two words that merely
    stand in the same sentence are not checked.

    Parameters
    ----------
    small : bool
        Whether to use the small part of the lexicon.

    Returns
    -------
    train, test : list of Sentence

    Examples
    --------
    >>> train, test = split(small=True)
    >>> len(train), len(test)
    (6000, 2000)
    """
    require_bool("small", small)
    train, test = _split(small)
    return list(train), list(test)


def crossings(reason: str, other: str = "tired") -> list[tuple[str, str]]:
    """Return ninety pairs of sentences that differ in the last word.

    Examples
    --------
    >>> crossings("wide")[0][0]
    'the animal did not cross the street because it was too wide'
    >>> len(crossings("wide"))
    90
    """
    require_a("reason", reason, str)
    book_lexicon = lexicon()
    places = book_lexicon.nouns["path"][:6] + book_lexicon.nouns["water"][:3]
    starts = (
        f"the {animal} did not cross the {place} because it was too"
        for animal, place in product(book_lexicon.nouns["animal"][:10], places)
    )
    return [(f"{start} {reason}", f"{start} {other}") for start in starts]


def pairs(sentence: Sentence) -> list[tuple[str, str]]:
    """Every noun that may be meant, with the adjective that is said of *it*."""
    nouns = [sentence.words[place] for place, _ in sentence.answers if place]
    return [(noun, sentence.said) for noun in nouns if sentence.said]


def all_words(small: bool = False) -> Iterable[str]:
    """Every word of the lexicon that has a vector, in its base form: adjectives first."""
    book_lexicon = lexicon(small)
    groups: list[Iterable[str]] = [book_lexicon.group_of, book_lexicon.kinds_of, PEOPLE, MORE]
    groups += [frame["verbs"] for frame in book_lexicon.frames.values()]
    groups += [
        *book_lexicon.words.values(),
        *(saying.words for saying in book_lexicon.sayings.values()),
    ]
    single_words = (word for group in groups for choice in group for word in choice.split())
    words = {word: None for word in single_words if word not in ("V", "I", ",") and "{" not in word}
    owned = {*book_lexicon.group_of, *book_lexicon.kinds_of}
    return (word for word in words if word in owned or not _is_form(word, words))


def _is_form(word: str, words: Container[str]) -> bool:
    """Whether a word is read as another of these words."""
    book_lexicon = lexicon()
    if word in book_lexicon.read_as or book_lexicon.forms.get(word, word) != word:
        return word in book_lexicon.read_as or book_lexicon.forms[word] in words
    stems = (word.removesuffix(ending) for ending in ("ed", "ing", "s"))
    cut = [stem for stem in stems if stem != word and len(stem) > 2]
    cut += [stem + "e" for stem in cut] + [stem[:-1] for stem in cut if stem[-1] == stem[-2]]
    return any(stem in words for stem in cut)
