"""The lexicon: which words the reader knows, their forms, and what may be said of what."""

import tomllib
from functools import cache, cached_property
from pathlib import Path
from typing import Any

__all__ = ["Lexicon", "lexicon", "past"]

STORED = Path(__file__).with_name("lexicon.toml")
SMALL = {"nouns": 9, "adjectives": 6}  # words of a kind, of a group: enough to see a reader learn
SMALL_FRAMES = ("travel", "fit", "break", "prey", "flee", "near")
HELD_OUT = 4  # one pair of a noun and an adjective in four is kept for the test


class Lexicon:
    """The words of ``lexicon.toml``, or a small part of them.

    Parameters
    ----------
    small : bool
        Only the first few words of each kind, and six frames.

    Attributes
    ----------
    nouns : dict
        For each kind its nouns.
    adjectives : dict
        For each group its adjectives and the ``fits`` to kinds of nouns, from 0 to 1.
    frames : dict
        What can happen between two nouns.
    phrases : dict
        What else can be said of *it*, and the kinds that it fits.

    Examples
    --------
    >>> "tired" in lexicon().adjectives["tired"]["words"]
    True
    >>> lexicon().fit("tired", "dog"), lexicon().fit("tired", "street")
    (1.0, 0.0)
    """

    def __init__(self, small: bool = False) -> None:
        data = tomllib.loads(STORED.read_text(encoding="utf-8"))
        nouns, adjectives = (SMALL["nouns"], SMALL["adjectives"]) if small else (None, None)
        self.small = small
        self.nouns = {kind: words.split()[:nouns] for kind, words in data["nouns"].items()}
        self.adjectives: dict[str, Any] = {}
        for group, told in data["adjectives"].items():
            self.adjectives[group] = told | {"words": told["words"].split()[:adjectives]}
        frames = {frame: _parted(told) for frame, told in data["frames"].items()}
        self.frames = {f: frames[f] for f in SMALL_FRAMES} if small else frames
        self.phrases: dict[str, dict[str, float]] = {} if small else data["phrases"]
        self.words = {
            name: _choices(told) for name, told in data["words"].items() if name != "kinds"
        }
        self._above = {
            kind: above for above, kinds in data["words"]["kinds"].items() for kind in kinds.split()
        }
        self.pasts = dict(pair.split() for pair in data["forms"]["past"].split(","))
        same = dict(pair.split() for pair in data["forms"]["same"].split(","))
        self.forms = same | {past: verb for verb, past in self.pasts.items() if past != verb}
        pairs = (pair.split() for pair in data["synonyms"]["pairs"].split(","))
        self.synonyms = {unknown: known for unknown, known in pairs}
        if small:
            self.words = {name: choices[:2] for name, choices in self.words.items()}
            self.words |= {"openers": ["today"], "tails": [""], "determiners": ["the"]}

    @cached_property
    def kinds_of(self) -> dict[str, tuple[str, ...]]:
        """The kinds of each noun."""
        found: dict[str, tuple[str, ...]] = {}
        for kind, words in self.nouns.items():
            for word in words:
                found[word] = (*found.get(word, ()), kind)
        return found

    @cached_property
    def group_of(self) -> dict[str, str]:
        """The group of each adjective."""
        return {w: group for group, told in self.adjectives.items() for w in told["words"]}

    @cached_property
    def numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """The places of nouns and of adjectives, by which pairs are held out."""
        return (
            {word: number for number, word in enumerate(self.kinds_of)},
            {word: number for number, word in enumerate(self.group_of)},
        )

    def held_out(self, noun: str, adjective: str) -> bool:
        """Whether a pair of a noun and an adjective is kept for the test."""
        nouns, adjectives = self.numbers
        return (nouns[noun] + adjectives[adjective]) % HELD_OUT == 0

    def fit(self, group: str, noun: str) -> float:
        """How well a group of adjectives, or a phrase, fits a noun: from 0 to 1."""
        fits = self.adjectives[group]["fits"] if group in self.adjectives else self.phrases[group]
        return max(self.fit_of(fits, kind) for kind in self.kinds_of[noun])

    def are_things(self, kinds: tuple[str, ...]) -> bool:
        """Whether nouns of these kinds are neither alive nor places."""
        return all(self._above[kind] == "thing" for kind in kinds)

    def fit_of(self, fits: dict[str, float], kind: str) -> float:
        """How well a noun of a kind fits, where ``fits`` names kinds and what is above them."""
        return float(fits.get(kind, fits.get(self._above[kind], fits.get("all", 0))))


def _parted(told: dict[str, Any]) -> dict[str, Any]:
    """A frame, its lists of words parted."""
    lists = {name: told[name].split() for name in ("subjects", "objects")}
    of = {which: set(groups.split()) for which, groups in told.get("of", {}).items()}
    return told | lists | {"of": of, "verbs": _choices(told["verbs"])}


def _choices(text: str) -> list[str]:
    return [" ".join(choice.split()) for choice in text.split("|")]


def past(verb: str, pasts: dict[str, str]) -> str:
    """Return the past of a verb with what follows it.

    Examples
    --------
    >>> past("carry into", {}), past("run from", {"run": "ran"})
    ('carried into', 'ran from')
    """
    first, *rest = verb.split()
    if first in pasts:
        first = pasts[first]
    elif first.endswith("e"):
        first += "d"
    elif first.endswith("y") and first[-2] not in "aeiou":
        first = first[:-1] + "ied"
    else:
        first += "ed"
    return " ".join([first, *rest])


@cache
def lexicon(small: bool = False) -> Lexicon:
    """Return the lexicon of the book's reader, or the small part that a chapter trains on.

    Examples
    --------
    >>> len(lexicon().kinds_of) > 700, len(lexicon(small=True).kinds_of) < 150
    (True, True)
    """
    return Lexicon(small)
