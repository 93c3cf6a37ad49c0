"""The lexicon: which words the reader knows, their forms, and what may be said of what."""

import tomllib
from functools import cache, cached_property
from pathlib import Path
from typing import Any

__all__ = ["Lexicon", "Saying", "lexicon", "past"]

STORED = Path(__file__).with_name("lexicon.toml")
SMALL = {"nouns": 9, "adjectives": 6}  # words of a kind, of a group: enough to see a reader learn
SMALL_KINDS = "animal object container furniture path building vehicle barrier support"
SMALL_SAYINGS = "tired hungry afraid angry slow fast strong weak fragile heavy big small tall wide"
SMALL_SAYINGS += " narrow deep steep muddy busy dark weather"
SMALL_FRAMES = ("travel", "fit", "break", "prey", "flee", "near")
HELD_OUT = 4  # one pair of a noun and an adjective in four is kept for the test


class Saying:
    """Words that can be said of *it*, all of which suit the same nouns.

    Attributes
    ----------
    name : str
    how : str
        "adjectives", "phrases", "does", "has", "undergoes" or "done".
    like : str
        The group whose words a verb treats as these.
    fits : dict
        For kinds of nouns, or for what is above a kind, how well the words suit them: 0 to 1.
    words : list of str

    Examples
    --------
    >>> lexicon().sayings["deep"].words
    ['deep']
    """

    def __init__(self, name: str, how: str, fits: dict[str, float], words: list[str]) -> None:
        self.name, self.how, self.fits, self.words = name, how, fits, words
        self.nothing = fits.get("nothing", 0.0)
        self.like = fits.pop("as", name)


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
    sayings : dict
        What can be said of *it*, by name; a :class:`Saying` each.
    frames : dict
        What can happen between two nouns.
    read_as, better : dict
        Words without a vector of their own, or with a weaker one; the word that each is read as.

    Examples
    --------
    >>> "tired" in lexicon().sayings["tired"].words, lexicon().read_as["puppy"]
    (True, 'dog')
    >>> lexicon().fit("tired", "dog"), lexicon().fit("tired", "street")
    (1.0, 0.0)
    """

    def __init__(self, small: bool = False) -> None:
        data = tomllib.loads(STORED.read_text(encoding="utf-8"))
        self.small = small
        pairs = ((word, base) for base, words in data["read_as"].items() for word in words.split())
        self.read_as: dict[str, str] = dict(pairs)
        self.nouns = {kind: self._with_vector(words) for kind, words in data["nouns"].items()}
        self.sayings: dict[str, Saying] = {}
        for how in ("adjectives",) if small else ("adjectives", "does", "has", "undergoes"):
            for name, entry in data[how].items():
                words = entry["words"]
                words = _choices(words) if how == "undergoes" else self._with_vector(words)
                name = name if how == "adjectives" else f"{how} {name}"
                if words:
                    self.sayings[name] = Saying(name, how, entry["fits"], words)
        if small:
            self.nouns = {kind: self.nouns[kind][: SMALL["nouns"]] for kind in SMALL_KINDS.split()}
            self.sayings = {name: self.sayings[name] for name in SMALL_SAYINGS.split()}
            for saying in self.sayings.values():
                saying.words = saying.words[: SMALL["adjectives"]]
        else:
            for name, saying in list(self.sayings.items()):
                if saying.how == "undergoes":
                    done = Saying(f"{name} done", "done", saying.fits, saying.words)
                    self.sayings[done.name] = done
            for words, fits in data["phrases"].items():
                self.sayings[words] = Saying(words, "phrases", fits, [words])
        frames = {name: _parted(frame) for name, frame in data["frames"].items()}
        self.frames = {name: frames[name] for name in SMALL_FRAMES} if small else frames
        if not small:
            verbs = (verb for frame in frames.values() for verb in frame["verbs"])
            frames["any"]["verbs"] = [*frames["any"]["verbs"], *verbs]
        self.words = {
            name: _choices(words) for name, words in data["words"].items() if name != "kinds"
        }
        self.above = {
            kind: above for above, kinds in data["words"]["kinds"].items() for kind in kinds.split()
        }
        self.pasts = dict(pair.split() for pair in data["forms"]["past"].split(","))
        self.better = {
            word: base for base, words in data["better"].items() for word in words.split()
        }
        same = dict(pair.split() for pair in data["forms"]["same"].split(","))
        self.forms: dict[str, str] = same | {p: v for v, p in self.pasts.items() if p != v}
        if small:
            self.words = {name: choices[:2] for name, choices in self.words.items()}
            self.words |= {"openers": ["today"], "tails": [""], "determiners": ["the"]}

    def _with_vector(self, words: str) -> list[str]:
        """The words that have a vector of their own."""
        return [word for word in words.split() if word not in self.read_as]

    @cached_property
    def kinds_of(self) -> dict[str, tuple[str, ...]]:
        """The kinds of each noun."""
        kinds_of_noun: dict[str, tuple[str, ...]] = {}
        for kind, words in self.nouns.items():
            for word in words:
                kinds_of_noun[word] = (*kinds_of_noun.get(word, ()), kind)
        return kinds_of_noun

    @cached_property
    def group_of(self) -> dict[str, str]:
        """The group of each adjective."""
        adjectives = (saying for saying in self.sayings.values() if saying.how == "adjectives")
        return {word: group.name for group in adjectives for word in group.words}

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

    @cached_property
    def fits(self) -> dict[str, dict[str, float]]:
        """How well something that can be said of *it* suits each noun: from 0 to 1."""
        fits = {}
        for name, saying in self.sayings.items():
            usual = saying.fits.get("all", 0)
            of_kind = {
                kind: saying.fits.get(self.above.get(kind, ""), usual) for kind in self.nouns
            }
            of_kind |= saying.fits
            fits[name] = {
                noun: float(max(of_kind[kind] for kind in kinds))
                for noun, kinds in self.kinds_of.items()
            }
        return fits

    def fit(self, saying: str, noun: str) -> float:
        """How well something that can be said of *it* suits a noun: from 0 to 1."""
        return self.fits[saying][noun]

    @cached_property
    def things(self) -> set[str]:
        """The nouns that are neither alive nor places."""
        kinds_of = self.kinds_of.items()
        return {noun for noun, kinds in kinds_of if {*map(self.above.get, kinds)} == {"thing"}}


def _parted(frame: dict[str, Any]) -> dict[str, Any]:
    """A frame, its lists of words parted."""
    lists = {name: frame[name].split() for name in ("subjects", "objects")}
    decided = {which: set(groups.split()) for which, groups in frame.get("of", {}).items()}
    return frame | lists | {"of": decided, "verbs": _choices(frame["verbs"])}


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
    >>> len(lexicon().kinds_of) > 300, len(lexicon(small=True).kinds_of) < 150
    (True, True)
    """
    return Lexicon(small)
