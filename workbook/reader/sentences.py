"""The sentences that the reader learns from: *it* means one word, either of two words, or none."""

import random
from bisect import bisect
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, product
from typing import Any, NamedTuple

from workbook.reader.lexicon import HELD_OUT, Lexicon, lexicon, past

__all__ = ["NOTHING", "Sentence", "crossings", "draw", "split", "words_like"]

NOTHING = "(nothing)"  # stands before every sentence: what *it* means if it means none of its words
TRAIN, TEST = 60_000, 2_000
AGAINST = 0.03  # what the fit to a noun counts if the verb says the adjective is of the other
NEGATED = {"not": 0.9, "did": 0.1}  # how often "did not", by when the verb decides
PERSON = 0.15  # people are seldom "it"
ANSWERS = (8, 16, 20.5, 21.3)  # first, second, either, none: how often, added up
THINGS = 0.12  # between two things even an odd adjective may be of either
CLEAR = 0.9  # from here on the answer is clear

# What decides a comparison, with the comparative.
AHEAD = "fast faster, strong stronger, brave braver, clever cleverer, quick quicker, young younger"
BEHIND = "slow slower, weak weaker, small smaller, old older, lazy lazier, fat fatter"


class Sentence(NamedTuple):
    """A sentence and what its *it* means.

    Attributes
    ----------
    words : tuple of str
        The words, after :data:`NOTHING` at position 0.
    meant : int
        Position of the word that *it* most probably means; 0 if none.
    frame : str
        The frame of the grammar that it was made by.
    answers : tuple of (int, float)
        Positions that may be meant, and how probably; together 1. None: ``meant`` alone.
    said : str
        The adjective that is said of *it*; empty if it is none.

    Examples
    --------
    >>> sentence = draw(1, seed=0)[0]
    >>> sum(share for _, share in sentence.answers)
    1.0
    """

    words: tuple[str, ...]
    meant: int
    frame: str
    answers: tuple[tuple[int, float], ...] = ()
    said: str = ""

    @property
    def it(self) -> int:
        """Position of the word *it*."""
        return self.words.index("it")

    @property
    def clear(self) -> bool:
        """Whether people agree on what *it* means."""
        return not self.answers or max(share for _, share in self.answers) >= CLEAR

    def __str__(self) -> str:
        return " ".join(self.words[1:])


class _Grammar:
    """Draws sentences; one generator decides everything."""

    def __init__(self, small: bool, seed: int) -> None:
        self.lexicon = lexicon(small)
        self.random = random.Random(seed)
        frames = self.lexicon.frames
        self.names = [*frames, "beats"]
        shares = [*(told["share"] for told in frames.values()), 2]
        self.shares = list(accumulate(shares))

    def draw(self, held_out: bool | None) -> Sentence:
        """A sentence whose pairs of noun and adjective are all held out, or none, or any."""
        while True:
            name = self._pick(self.names, self.shares)
            made = getattr(self, f"_{name}", self._happens)(name, held_out)
            if made is not None:
                return made

    def _pick(self, choices: Any, shares: Any) -> Any:
        """One of the choices, by the running sum of their shares."""
        return choices[bisect(shares, self.random.random() * shares[-1], 0, len(choices) - 1)]

    def _happens(self, name: str, held_out: bool | None) -> Sentence | None:
        choice, frame = self.random.choice, self.lexicon.frames[name]
        kinds = choice(frame["subjects"]), choice(frame["objects"])
        if any(not self.lexicon.nouns.get(kind) for kind in kinds):
            return None
        first, second = (choice(self.lexicon.nouns[kind]) for kind in kinds)
        numbers = self.lexicon.numbers[0]
        if first == second or (held_out and (numbers[first] - numbers[second]) % HELD_OUT):
            return None  # no adjective is held out with both
        near = frame.get("near", False)
        negated = not near and self.random.random() < NEGATED.get(frame.get("when", ""), 0.5)
        although = not near and self.random.random() < 0.04
        flipped = not near and self.random.random() < 0.02  # "not old enough"
        decides = frame.get("when", "not" if negated else "did") == ("not" if negated else "did")
        decides = decides and not although and not flipped
        said = self._said(name, first, second, decides, held_out)
        if said is None:
            return None
        group, adjective, shares = said
        if flipped and (group in self.lexicon.phrases or group == "weather"):
            return None
        told = self._told(frame, first, second, negated, modified=held_out is not True)
        because = choice(self.lexicon.words["although" if although else "because"])
        reason = self._reason(group, adjective, near, flipped)
        if not self.lexicon.small and group == "weather" and because in ("for", "but"):
            because = "because"
        if not near and self.random.random() < 0.05:
            at = len(because.split()) + len(reason)  # the cause comes first
            words = [*because.split(), *reason, *told[0]]
            places = [at + place for place in told[1]]
        else:
            words = [*told[0], *("and" if near else because).split(), *reason]
            places = list(told[1])
            if self.random.random() < 0.15:
                words += choice(self.lexicon.words["tails"]).split()
        return self._sentence(name, words, places, shares, adjective)

    def _told(
        self, frame: dict[str, Any], first: str, second: str, negated: bool, modified: bool
    ) -> tuple[list[str], tuple[int, int]]:
        """The words of what happens, and where the two nouns stand in them."""
        choice, words = self.random.choice, self.lexicon.words
        verb = choice(frame["verbs"])
        if negated:
            verb = f"{choice(words['not'])} {verb}"
        elif frame.get("near"):
            verb = f"was {verb}"
        elif aux := choice(words["did"]):
            verb = past(verb, self.lexicon.pasts) if aux in ("easily", "always", "almost") else verb
            verb = f"{aux} {verb}"
        else:
            verb = past(verb, self.lexicon.pasts)
        one, other = (self._noun(noun, modified) for noun in (first, second))
        parts = verb.split()
        if frame.get("giver"):  # "the man could not put the trophy in the suitcase"
            giver = self._noun(choice(self.lexicon.nouns["person"]), modified)
            *parts, where = parts
            parts, one = [*giver, *parts, *one], [where]
            told = [*parts, *one, *other]
            return told, (len(parts) - 1, len(told) - 1)
        told = [*one, *parts, *other]
        return told, (len(one) - 1, len(told) - 1)

    def _noun(self, noun: str, modified: bool) -> list[str]:
        words = [self.random.choice(self.lexicon.words["determiners"])]
        if noun in ("he", "she", "they", "we", "i", "you", "tom", "anna", "john", "mary"):
            return [noun]
        if modified and not self.lexicon.small:
            chance = self.random.random()
            if chance < 0.06:
                group = self.random.choice(
                    ["big", "small", "old", "new", "painted", "pretty", "shiny", "young"]
                )
                if self.lexicon.fit(group, noun) >= 0.3:
                    words.append(self.random.choice(self.lexicon.adjectives[group]["words"]))
            elif chance < 0.08:
                kind = self.random.choice(["object", "nature", "food", "clothing", "path"])
                words.append(self.random.choice(self.lexicon.nouns[kind]))
        if words == ["a"] and noun[0] in "aeiou":
            words = ["an"]
        return [*words, noun]

    def _reason(self, group: str, adjective: str, near: bool, flipped: bool) -> list[str]:
        choice, words = self.random.choice, self.lexicon.words
        if group in self.lexicon.phrases:
            return ["it", *adjective.split()]
        said = choice(words["is"])
        if flipped:
            return ["it", *said.split(), "not", adjective, "enough"]
        degree = choice(words["degree"])
        if near and degree.startswith(("too", "far", "much", "way")):
            degree = ""
        if group == "weather":
            return ["it", "was", adjective]
        return ["it", *said.split(), *degree.split(), adjective]

    def _said(
        self, name: str, first: str, second: str, decides: bool, held_out: bool | None
    ) -> tuple[str, str, tuple[float, ...]] | None:
        """What is said of *it*: its group, the word, and how probably each may be meant."""
        kinds = self.lexicon.kinds_of
        person = _is_person(first, kinds), _is_person(second, kinds)
        found = _reasons(self.lexicon, name, kinds[first], kinds[second], person, decides)
        groups, running = found[self._pick(range(4), ANSWERS)]
        if not groups:
            return None
        for _ in range(8):
            group, shares = self._pick(groups, running)
            if group in self.lexicon.phrases:
                if held_out:
                    continue
                return group, group, shares
            adjective = self.random.choice(self.lexicon.adjectives[group]["words"])
            if adjective not in (first, second) and self._allowed(
                (first, second), adjective, held_out
            ):
                return group, adjective, shares
        return None

    def _sentence(
        self, frame: str, words: list[str], places: list[int], shares: tuple[float, ...], said: str
    ) -> Sentence | None:
        openers = self.lexicon.words["openers"]
        opener = self.random.choice(openers).split() if self.random.random() < 0.12 else []
        words = [NOTHING, *opener, *words]
        if len(words) > 20 or words.count("it") != 1:
            return None
        found = [0, *(1 + len(opener) + place for place in places)]
        answers = [(found[1], shares[0]), (found[2], shares[1]), (0, shares[2])]
        meant = max(answers, key=lambda answer: answer[1])[0]
        meaning = tuple((place, share) for place, share in answers if share > 0)
        said = "" if said in self.lexicon.phrases else said
        return Sentence(tuple(words), meant, frame, meaning, said)

    def _beats(self, name: str, held_out: bool | None) -> Sentence | None:
        choice = self.random.choice
        first, second = self.random.sample(self.lexicon.nouns["animal"], 2)
        ahead = self.random.random() < 0.5
        adjective, comparative = choice((AHEAD if ahead else BEHIND).split(", ")).split()
        won = self.random.random() < 0.5
        if not self._allowed((first, second), adjective, held_out):
            return None
        words = f"the {first} was {comparative} than the {second} so it {'won' if won else 'lost'}"
        shares = (0.98, 0.02, 0.0) if ahead == won else (0.02, 0.98, 0.0)
        return self._sentence(name, words.split(), [1, 6], shares, adjective)

    def _allowed(self, nouns: tuple[str, str], adjective: str, held_out: bool | None) -> bool:
        known = self.lexicon.group_of
        if adjective not in known or held_out is None:
            return adjective in known
        return all(self.lexicon.held_out(noun, adjective) is held_out for noun in nouns)


def _is_person(noun: str, kinds: dict[str, tuple[str, ...]]) -> bool:
    return kinds[noun] == ("person",) and noun not in (
        "child",
        "baby",
        "toddler",
        "kid",
        "team",
        "company",
    )


@cache
def _fits(known: Lexicon, kinds: tuple[str, ...]) -> dict[str, float]:
    """How well each group and phrase fits a noun of these kinds."""
    every = {group: told["fits"] for group, told in known.adjectives.items()} | known.phrases
    return {group: max(known.fit_of(fits, kind) for kind in kinds) for group, fits in every.items()}


@cache
def _reasons(
    known: Lexicon,
    frame: str,
    first: tuple[str, ...],
    second: tuple[str, ...],
    person: tuple[bool, bool],
    decides: bool,
) -> tuple[tuple[list[tuple[str, tuple[float, ...]]], list[float]], ...]:
    """The groups and phrases that mean clearly the first noun of such kinds, the second, either,
    none; each with the probabilities of first, second, nothing; and how often to draw them."""
    found: tuple[list[tuple[str, tuple[float, ...]]], ...] = ([], [], [], [])
    often: tuple[list[float], ...] = ([], [], [], [])
    both = _fits(known, first), _fits(known, second)
    of = known.frames[frame]["of"]
    things = all(known.are_things(kinds) for kinds in (first, second))
    groups = [(g, told["fits"], len(told["words"])) for g, told in known.adjectives.items()]
    groups += [(phrase, fits, 1) for phrase, fits in known.phrases.items()]
    for group, fits, count in groups:
        fit = [
            fits_of[group] * (PERSON if alone else 1)
            for fits_of, alone in zip(both, person, strict=True)
        ]
        nothing = fits.get("nothing", 0.0)
        if things:
            fit = [max(x, THINGS) for x in fit]
        if max(*fit, nothing) < (PERSON if any(person) else 0.6):
            continue  # nobody says that
        said = [group in of.get(which, ()) for which in ("first", "second")]
        if any(said) and not decides:
            continue  # the verb would decide otherwise, or not at all
        if said[0] != said[1]:
            fit[said.index(False)] *= AGAINST
            nothing *= AGAINST
        total = sum(fit) + nothing
        shares = tuple(x / total for x in (*fit, nothing))
        best = shares.index(max(shares))
        answer = 3 if best == 2 else best if shares[best] >= CLEAR else 2
        found[answer].append((group, shares))
        often[answer].append(count if group in known.adjectives else 0.4)
    return tuple(
        (some, list(accumulate(shares))) for some, shares in zip(found, often, strict=True)
    )


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
    grammar = _Grammar(small, seed)
    return tuple(grammar.draw(held_out) for _ in range(count))


@cache
def _split(small: bool) -> tuple[tuple[Sentence, ...], tuple[Sentence, ...]]:
    share = 5 if small else 1
    return (
        draw(TRAIN // share, 0, small=small, held_out=False),
        draw(TEST, 1, small=small, held_out=True),
    )


def split(*, small: bool = False) -> tuple[list[Sentence], list[Sentence]]:
    """Return the sentences to learn from and those to be tested on.

    A quarter of all pairs of a noun and an adjective are held out. A sentence is tested on if
    its pairs are all held out, and learned from if none is. So whoever answers a test sentence
    has never seen one of its nouns together with its adjective.

    Parameters
    ----------
    small : bool
        Whether to use the small part of the lexicon.

    Returns
    -------
    train, test : list of Sentence
    """
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
    known = lexicon()
    places = known.nouns["path"][:6] + known.nouns["water"][:3]
    starts = (
        f"the {animal} did not cross the {place} because it was too"
        for animal, place in product(known.nouns["animal"][:10], places)
    )
    return [(f"{start} {reason}", f"{start} {other}") for start in starts]


def pairs(sentence: Sentence) -> list[tuple[str, str]]:
    """Every noun that may be meant, with the adjective that is said of *it*."""
    nouns = [sentence.words[place] for place, _ in sentence.answers if place]
    return [(noun, sentence.said) for noun in nouns if sentence.said]


def all_words(small: bool = False) -> Iterator[str]:
    """Every word of the lexicon in its base form: adjectives first."""
    known = lexicon(small)
    yield from known.group_of
    yield from known.kinds_of
    for frame in known.frames.values():
        yield from (word for verb in frame["verbs"] for word in verb.split())
    for choices in (*known.words.values(), known.phrases):
        yield from (word for choice in choices for word in choice.split())
    yield from ["it", "the", "was", "than", "so", "win", "lose", "and"]


def words_like(word: str) -> list[str]:
    """Return words that may stand in a word's place, itself among them.

    Parameters
    ----------
    word : str
        A word of the grammar.

    Returns
    -------
    list of str
        For a noun those of its kind, for an adjective those of its group and of some others; for
        another word itself alone.

    Examples
    --------
    >>> "wide" in words_like("tired"), "street" in words_like("tired")
    (True, False)
    """
    if not isinstance(word, str):
        raise TypeError(f"word: expected a word, got {word!r}")
    known = lexicon()
    if word in known.kinds_of:
        found = [w for kind in known.kinds_of[word][:1] for w in known.nouns[kind]]
    elif word in known.group_of:
        own = known.adjectives[known.group_of[word]]["words"]
        found = [*own, *(told["words"][0] for told in known.adjectives.values())]
    else:
        found = []
    return list(dict.fromkeys([word, *found]))
