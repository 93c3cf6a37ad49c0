"""The grammar behind the reader's sentences: what happens, what is said of *it*, what it means."""

import random
import re
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from attention_workbook.reader._sentence import CLEAR, LONGEST, NOTHING, PEOPLE, Sentence
from attention_workbook.reader.lexicon import HELD_OUT, Saying, lexicon, past

__all__ = ["Grammar"]

SHARPER = 1.5  # the power of a fit: people are surer than fits
AGAINST = 0.03  # what the fit to a noun counts if the verb says the adjective is of the other
NEGATED = {"not": 0.9, "did": 0.25}  # how often "did not", by when the verb decides
CONTRARY = (0.04, 0.02)  # how often "although it was too big", how often "was not big enough"
PERSON = 0.06  # people are seldom "it"
ASIDE = 0.3  # nor is a noun that only says where
ANSWERS = (38, 38, 21, 3)  # how often the first noun, the second, either, none
DECIDED = 0.3  # how often an adjective is tried of which the verb decides
THINGS = 0.15  # between two things even an odd adjective may be of either
PLACES = ("building", "nature", "path", "container", "furniture", "event", "vehicle", "water")
WHERE = ("in", "in", "in", "at", "on", "near", "with", "for", "to", "from", "under")
MODIFIERS = ("big", "small", "old", "new", "painted", "pretty", "shiny", "young")
CHILDREN = ("child", "baby")
NEVER = ("he", "she", "they", "i", "tom", "people")

# What decides a comparison, with the comparative.
AHEAD = "fast faster, strong stronger, brave braver, clever cleverer, young younger"
BEHIND = "slow slower, weak weaker, small smaller, old older, lazy lazier, fat fatter"


class _Clause(NamedTuple):
    """What happens: its words, its nouns with their places and how often each is *it*."""

    words: list[str]
    nouns: list[str]
    places: list[int]
    roles: list[float]


class Grammar:
    """Draws sentences; one generator decides everything."""

    def __init__(self, small: bool, seed: int) -> None:
        self.lexicon = lexicon(small)
        self.random = random.Random(seed)
        frames = self.lexicon.frames
        self.names = [*frames, "beats"] + ["so", "object", "alone"] * (not small)
        shares = [*(frame["share"] for frame in frames.values()), 2] + [9, 8, 9] * (not small)
        self.shares = list(accumulate(shares))
        every = self.lexicon.sayings.values()
        self.sayings = [saying for saying in every if saying.how != "undergoes"]
        self.saying_shares = list(accumulate(_often(saying) for saying in self.sayings))
        self.done_sayings = [saying for saying in every if saying.how == "undergoes"]
        self.done_shares = list(accumulate(len(saying.words) for saying in self.done_sayings))

    def draw(self, held_out: bool | None) -> Sentence:
        """A sentence whose pairs of noun and adjective are all held out, or none, or any."""
        while True:
            name = self._pick(self.names, self.shares)
            sentence = getattr(self, f"_{name}", self._happens)(name, held_out)
            if sentence is not None:
                return sentence

    def _pick(self, choices: Any, shares: Any) -> Any:
        """One of the choices, by the running sum of their shares."""
        return choices[bisect(shares, self.random.random() * shares[-1], 0, len(choices) - 1)]

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    # ------------------------------------------------------------ kinds of sentences

    def _happens(self, name: str, held_out: bool | None) -> Sentence | None:
        """Say why, as in "… because it was too tired"; now and then the cause comes first."""
        choice, frame, words = self.random.choice, self.lexicon.frames[name], self.lexicon.words
        near, small = frame.get("near", False), self.lexicon.small
        negated = not near and self._chance(NEGATED.get(frame.get("when", ""), 0.5))
        contrast, flipped = (not near and self._chance(share) for share in CONTRARY)
        decides = frame.get("when", "not" if negated else "did") == ("not" if negated else "did")
        of = frame["of"] if decides and not contrast else {}
        if flipped:  # what is not big enough is the suitcase
            of = {"first": of.get("second", set()), "second": of.get("first", set())}
        clause = self._clause(frame, negated, held_out)
        if clause is None:
            return None
        event = not (small or near or held_out or negated) and self._chance(0.25)
        statement = self._statement(clause, of if not event else {}, held_out, event)
        if statement is None:
            return None
        saying, word, shares = statement
        weather = saying.name == "weather"
        if flipped and (saying.how != "adjectives" or weather):
            return None
        reason = self._reason(saying, word, near, flipped)
        joint = choice(words["then" if event else "although" if contrast else "because"])
        joint = "and" if near and self._chance(0.5) else "because" if weather else joint
        first = not (near or event) and self._chance(0.05)
        if first or (not small and not near and self._chance(0.4 if event else 0.04)):
            joint = choice(words["first"]) if not small else joint
            if first:
                return self._sentence(
                    name,
                    [*joint.split(), *reason, *clause.words],
                    clause,
                    shares,
                    statement,
                    len(joint.split()) + len(reason),
                )
            whole = [*joint.split(), *clause.words, *reason]
            return self._sentence(name, whole, clause, shares, statement, len(joint.split()))
        tail = choice(words["tails"]).split() if self._chance(0.15) else []
        whole = [*clause.words, *(joint.split() if joint != "," else []), *reason, *tail]
        return self._sentence(name, whole, clause, shares, statement)

    def _alone(self, name: str, held_out: bool | None) -> Sentence | None:
        """Say why of one noun, as in "The dog barked in the garden because it was hungry"."""
        saying = self._pick(self.sayings, self.saying_shares)
        word, choice = self.random.choice(saying.words), self.random.choice
        kind = choice([kind for kind in self.lexicon.nouns if kind not in ("person", "body")])
        noun = choice(self.lexicon.nouns[kind])
        if self.lexicon.fit(saying.name, noun) < 0.4 or not self._allowed((noun,), word, held_out):
            return None
        verbs = [verb for doing in self.sayings if doing.how == "does" for verb in doing.words]
        verb = choice(verbs).split()[0]
        aux = choice(self.lexicon.words["not"]) if self._chance(0.5) else ""
        verb = f"{aux} {verb}" if aux else past(verb, self.lexicon.pasts)
        subject = self._noun(noun, False)
        where = self._where(held_out)
        words = [*subject, *verb.split(), *where.words]
        conjunction = choice(self.lexicon.words["because"]).replace(",", "and").split()
        nouns, places = [noun, *where.nouns], [len(subject) - 1]
        places += [len(words) - 1] * len(where.nouns)
        clause = _Clause(words, nouns, places, [1.0, *where.roles])
        shares = self._shares(saying, clause, {})
        if not shares:
            return None
        whole = [*words, *conjunction, *self._reason(saying, word, False, False)]
        return self._sentence(name, whole, clause, shares, (saying, word, shares))

    def _so(self, name: str, held_out: bool | None) -> Sentence | None:
        """Say what follows, as in "The animal was too tired so it did not cross the street"."""
        choice = self.random.choice
        frame = self.lexicon.frames[choice([f for f in self.names[:-4] if f != "near"])]
        clause = self._clause(frame, self._chance(0.5), True if held_out else None, plain=True)
        group = choice([saying for saying in self.sayings if saying.how == "adjectives"])
        if clause is None or self.lexicon.fit(group.name, clause.nouns[0]) < 0.5:
            return None
        word = choice(group.words)
        if (
            not self._allowed(clause.nouns, word, held_out)
            or "person" in self.lexicon.kinds_of[clause.nouns[0]]
        ):
            return None
        subject = clause.words[: clause.places[0] + 1]
        rest = clause.words[clause.places[0] + 1 :]
        degree = choice(["so", "too", "too", "very", ""])
        conjunction = choice(["so", "and", "that", "and so", ""])
        where = self._where(held_out)
        words = [*subject, *where.words, *f"was {degree} {word} {conjunction} it".split(), *rest]
        places = [len(subject) - 1, len(words) - 1]
        nouns, shares = [clause.nouns[0], clause.nouns[1]], [0.97, 0.03, 0.0]
        if where.nouns:
            nouns.append(where.nouns[0])
            places.append(len(subject) + len(where.words) - 1)
            shares = [0.95, 0.01, 0.04, 0.0]
        return self._sentence(
            name, words, _Clause(words, nouns, places, []), tuple(shares), (group, word, ())
        )

    def _object(self, name: str, held_out: bool | None) -> Sentence | None:
        """Say what is done to *it*, as in "My phone died because I forgot to charge it"."""
        if held_out:
            return None
        choice, words = self.random.choice, self.lexicon.words
        frame = self.lexicon.frames[choice([f for f in self.names[:-4] if f != "near"])]
        clause = self._clause(frame, self._chance(0.5), None)
        if clause is None:
            return None
        for _ in range(6):
            saying = self._pick(self.done_sayings, self.done_shares)
            shares = self._shares(saying, clause, {})
            if shares and (max(shares) >= CLEAR or self._chance(0.25)):
                break
        else:
            return None
        verb = choice(saying.words).split()
        aux = choice(words["aux"])
        verb = [*aux.split(), *verb] if aux else past(" ".join(verb), self.lexicon.pasts).split()
        at = 1 if not aux else len(aux.split()) + 1
        verb.insert(at, "it")
        joints = (choice(words["because"]), "and", "so", "but", "when", "and then")
        conjunction = choice(joints).replace(",", "and")
        agent = (
            []
            if conjunction in ("and", "and then") and self._chance(0.4)
            else choice(PEOPLE).split()
        )
        whole = [*clause.words, *conjunction.split(), *agent, *verb]
        return self._sentence(name, whole, clause, shares, (saying, "", shares))

    def _beats(self, name: str, held_out: bool | None) -> Sentence | None:
        choice = self.random.choice
        first, second = self.random.sample(self.lexicon.nouns["animal"], 2)
        ahead = self.random.random() < 0.5
        adjective, comparative = choice((AHEAD if ahead else BEHIND).split(", ")).split()
        won = self.random.random() < 0.5
        if adjective not in self.lexicon.group_of:
            return None
        if not self._allowed((first, second), adjective, held_out):
            return None
        words = f"the {first} was {comparative} than the {second} so it {'won' if won else 'lost'}"
        shares = (0.98, 0.02, 0.0) if ahead == won else (0.02, 0.98, 0.0)
        clause = _Clause(words.split(), [first, second], [1, 6], [])
        saying = self.lexicon.sayings[self.lexicon.group_of[adjective]]
        return self._sentence(name, clause.words, clause, shares, (saying, adjective, shares))

    # ------------------------------------------------------------ their parts

    def _clause(
        self, frame: dict[str, Any], negated: bool, held_out: bool | None, plain: bool = False
    ) -> _Clause | None:
        """What happens between two nouns, and perhaps where."""
        choice, words = self.random.choice, self.lexicon.words
        kinds = choice(frame["subjects"]), choice(frame["objects"])
        if any(not self.lexicon.nouns.get(kind) for kind in kinds):
            return None
        first, second = (choice(self.lexicon.nouns[kind]) for kind in kinds)
        numbers = self.lexicon.numbers[0]
        if first == second or (held_out and (numbers[first] - numbers[second]) % HELD_OUT):
            return None  # no adjective is held out with both
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
        first_words, second_words = (
            self._noun(noun, held_out is not True) for noun in (first, second)
        )
        parts = verb.split()
        roles = [self._role(noun) for noun in (first, second)]
        if frame.get("giver"):  # "the man could not put the trophy in the suitcase"
            giver = choice(self.lexicon.nouns["person"])
            *parts, where = parts
            clause_words = [*self._noun(giver, False), *parts, *first_words, where, *second_words]
            places = [len(clause_words) - 2 - len(second_words), len(clause_words) - 1]
            return _Clause(clause_words, [first, second], places, roles)
        clause_words, nouns = [*first_words, *parts, *second_words], [first, second]
        places = [len(first_words) - 1, len(clause_words) - 1]
        if not plain and not self.lexicon.small and not held_out and self._chance(0.08):
            aside = self._where(held_out, always=True)
            clause_words, nouns = [*clause_words, *aside.words], [*nouns, *aside.nouns]
            places, roles = [*places, len(clause_words) - 1], [*roles, *aside.roles]
            if len(set(nouns)) < 3:
                return None
        return _Clause(clause_words, nouns, places, roles)

    def _where(self, held_out: bool | None, always: bool = False) -> _Clause:
        """Say where, with a noun that is seldom *it*."""
        if held_out or not (always or self._chance(0.4)):
            return _Clause([], [], [], [])
        noun = self.random.choice(self.lexicon.nouns[self.random.choice(PLACES)])
        where = self.random.choice(WHERE)
        return _Clause([where, *self._noun(noun, False)], [noun], [], [ASIDE])

    def _role(self, noun: str) -> float:
        """How often a noun is *it*, other things being equal."""
        if noun in NEVER:
            return 0.0
        is_person = self.lexicon.kinds_of[noun] == ("person",) and noun not in CHILDREN
        return PERSON if is_person else 1.0

    def _noun(self, noun: str, modified: bool) -> list[str]:
        words = [self.random.choice(self.lexicon.words["determiners"])]
        if noun in NEVER[:-1]:
            return [noun]
        if modified and not self.lexicon.small and self._chance(0.06):
            group = self.random.choice(MODIFIERS)
            if self.lexicon.fit(group, noun) >= 0.3:
                words.append(self.random.choice(self.lexicon.sayings[group].words))
        if words == ["a"] and noun[0] in "aeiou":
            words = ["an"]
        return [*words, noun]

    def _reason(self, saying: Saying, word: str, near: bool, flipped: bool) -> list[str]:
        """What is said of *it*, from *it* on."""
        choice, words = self.random.choice, self.lexicon.words
        if saying.how == "phrases":
            return f"it {re.sub('{(.*?)}', self._filled, word)}".split()
        if saying.how == "does":
            how = choice(words["does"])
            verb = past(word, self.lexicon.pasts) if how[-1] == "V" else word
            where = [] if self._chance(0.75) else self._where(False).words
            return [*f"it {how[:-1]} {verb}".split(), *where]
        if saying.how == "done":
            how = choice(words["done_to"])
            return f"it {how[:-1]} {past(word, self.lexicon.pasts)}".split()
        if saying.how == "has":
            return f"it {choice(words['has'])} {word}".split()
        copula = choice(words["is"])
        if flipped:
            return f"it {copula} not {word} enough".split()
        if saying.name == "weather":
            return ["it", "was", word]
        degree = choice(words["degree"])
        if near and degree.startswith(("too", "far", "much", "way")):
            degree = ""
        return f"it {copula} {degree} {word}".split()

    def _filled(self, gap: re.Match[str]) -> str:
        """A noun of the kind that a gap names, or one of its words."""
        if gap[1] in self.lexicon.words:
            return self.random.choice(self.lexicon.words[gap[1]])
        nouns = self.lexicon.nouns.get(gap[1]) or list(self.lexicon.kinds_of)
        return " ".join(self._noun(self.random.choice(nouns), False))

    def _statement(
        self, clause: _Clause, of: dict[str, set[str]], held_out: bool | None, event: bool
    ) -> tuple[Saying, str, tuple[float, ...]] | None:
        """What is said of *it*: the saying, its word, and how probably each may be meant."""
        drawn_answer = self._pick(range(4), list(accumulate(ANSWERS)))
        if event and drawn_answer == 3:
            return None
        groups = sorted(set().union(*of.values()) & self.lexicon.sayings.keys())
        for _ in range(30):
            saying = self._pick(self.sayings, self.saying_shares)
            if groups and drawn_answer < 2 and self._chance(DECIDED):
                saying = self.lexicon.sayings[self.random.choice(groups)]
            if event and saying.how not in ("does", "phrases", "done"):
                continue
            if held_out and saying.how != "adjectives":
                continue
            shares = self._shares(saying, clause, of)
            if not shares:
                continue
            best = shares.index(max(shares))
            answer = 2 if max(shares) < CLEAR else 3 if best == len(shares) - 1 else min(best, 1)
            if answer != drawn_answer:
                continue
            word = self.random.choice(saying.words)
            if word in clause.nouns or not self._allowed(clause.nouns, word, held_out):
                continue
            return saying, word, shares
        return None

    def _shares(
        self, saying: Saying, clause: _Clause, of: dict[str, set[str]]
    ) -> tuple[float, ...]:
        """How probably each noun is meant, then none; empty where nobody says that."""
        of_noun = self.lexicon.fits[saying.name]
        roles = zip(clause.nouns, clause.roles, strict=True)
        fit = [of_noun[noun] ** SHARPER * role for noun, role in roles]
        nothing = saying.nothing
        if self.lexicon.things.issuperset(clause.nouns[:2]):
            fit = [max(x, THINGS * role) for x, role in zip(fit, clause.roles, strict=True)]
        wants = PERSON * 0.9 if PERSON in clause.roles else 0.5
        if max(*fit, nothing) < wants:
            return ()
        verb_says = [saying.like in of.get(which, ()) for which in ("first", "second")]
        if verb_says[0] != verb_says[1]:
            fit[verb_says.index(False)] *= AGAINST
            nothing *= AGAINST
        total = sum(fit) + nothing
        return tuple(x / total for x in (*fit, nothing))

    def _sentence(
        self,
        frame: str,
        words: Sequence[str],
        clause: _Clause,
        shares: tuple[float, ...],
        statement: tuple[Saying, str, Any],
        shift: int = 0,
    ) -> Sentence | None:
        openers = self.lexicon.words["openers"]
        opener = self.random.choice(openers).split() if self._chance(0.08) else []
        words = [NOTHING, *opener, *words]
        if len(words) > LONGEST or words.count("it") != 1:
            return None
        places = [1 + len(opener) + shift + place for place in clause.places] + [0]
        answers = tuple((p, s) for p, s in zip(places, shares, strict=True) if s > 0)
        meant = max(answers, key=lambda answer: answer[1])[0]
        adjective = statement[1] if statement[0].how == "adjectives" else ""
        return Sentence(tuple(words), meant, frame, answers, adjective)

    def _allowed(self, nouns: Sequence[str], adjective: str, held_out: bool | None) -> bool:
        if adjective not in self.lexicon.group_of or held_out is None:
            return not held_out
        return all(self.lexicon.held_out(noun, adjective) is held_out for noun in nouns)


def _often(saying: Saying) -> float:
    """How often something is said: by its words."""
    return {"adjectives": 1.0, "phrases": 0.6}.get(saying.how, 0.5) * len(saying.words)
