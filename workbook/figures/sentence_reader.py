"""Sentence reader: a small trained transformer that says which word *it* means."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from attention_lib.palette import LIGHT
from workbook.figures._figure import Figure
from workbook.figures._markup import Markup, svg, tag
from workbook.figures._rounding import fixed
from workbook.figures._traits import Switch, Whole, refusal

if TYPE_CHECKING:
    from workbook.reader import Reader, Reading

EXAMPLES = [
    "the animal did not cross the street because it was too tired",
    "the animal did not cross the street because it was dangerous",
    "the dog didn't cross the road because it was too busy",
    "the trophy did not fit in the suitcase because it was too big",
    "the ball broke the table because it was too heavy",
    "the fox chased the goat because it was weak",
    "the girl ate the pizza because it was delicious",
    "the horse did not jump over the fence because it was too high",
]
SURE = 0.75  # below, the reader says that it is unsure


class _Text(traitlets.Unicode[str, str]):
    """A sentence that the reader can read, kept in its words."""

    def validate(self, obj: Any, value: Any) -> Any:
        try:
            return " ".join(obj.reader.vocabulary.parse(value)[1:])
        except (TypeError, ValueError) as error:
            raise refusal(obj, self.name, f"a sentence that it can read ({error})", value) from None


class _Head(Whole):
    """A head of the reader; ``max`` is that of the book's own."""

    def validate(self, obj: Any, value: Any) -> Any:
        bounded = Whole(min=-1, max=sum(obj.num_heads))
        bounded.name = self.name
        return bounded.validate(obj, value)


class SentenceReader(Figure):
    """A trained reader at work: what it concludes that *it* means, and what *it* reads.

    Click a word to exchange it, and the reader reads anew. The forward pass runs in the page, on
    the reader's own weights.

    Parameters
    ----------
    reader : workbook.reader.Reader, optional
        Any trained reader; by default that of the book.
    text : str
        A sentence that the reader can read, with "it" in it once.
    hop : int
        How much is drawn: 1, what *it* reads in layer 1; 2, in layer 2, too; 3, where it points.
    head : int
        -1 draws these. Otherwise the head whose weights are drawn: 0 is the pointing head, whose
        row of *it* is the conclusion; 1 and on are the heads of the first layer, then those of the
        second.
    word : int
        Position of the word that asks in this head, 0 for the place before the sentence; -1 is
        *it*.
    wanted : bool
        Whether the figure carries all words that it reads as others.

    Raises
    ------
    TypeError
        If ``reader`` is no reader.
    traitlets.TraitError
        If the sentence cannot be read, or there is no such head or word; the message says why.

    Notes
    -----
    The weights travel in 8 bits where that changes none of them, else as float32. Most of the words
    that are read as others are fetched when a sentence needs them.

    Examples
    --------
    >>> figure = SentenceReader(text="The animal did not cross the street because it was too wide.")
    >>> figure.words()  # doctest: +ELLIPSIS
    'The animal did not cross the street because it was too wide. “It” means street (probability ...
    """

    _script = Path(__file__).with_name("sentence_reader.js")
    _title = "A reader at work"
    _task = "Click a word to exchange it, and see what “it” means then."

    text = _Text(EXAMPLES[0]).tag(sync=True)
    hop = Whole(3, min=1, max=3).tag(sync=True)
    head = _Head(-1, min=-1, max=6).tag(sync=True)
    word = Whole(-1, min=-1, max=19).tag(sync=True)
    wanted = Switch(False).tag(sync=True)
    packed = traitlets.Bytes(read_only=True).tag(sync=True)
    scales: traitlets.List[float] = traitlets.List(read_only=True).tag(sync=True)
    vocabulary = traitlets.Unicode(read_only=True).tag(sync=True)
    forms = traitlets.Unicode(read_only=True).tag(sync=True)
    read_as = traitlets.Unicode(read_only=True).tag(sync=True)
    sections: traitlets.List[list[Any]] = traitlets.List(read_only=True).tag(sync=True)
    offered = traitlets.Unicode(read_only=True).tag(sync=True)
    followed: traitlets.List[int] = traitlets.List(read_only=True).tag(sync=True)
    width: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    num_heads: traitlets.List[int] = traitlets.List(read_only=True).tag(sync=True)
    longest: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    examples: traitlets.List[str] = traitlets.List(read_only=True).tag(sync=True)

    def __init__(self, reader: "Reader | None" = None, **traits: Any) -> None:
        from workbook import reader as model
        from workbook.reader._packed import packed

        self.reader = model.load_reader() if reader is None else reader
        if not isinstance(self.reader, model.Reader):
            raise TypeError(f"reader: expected a Reader, got {type(reader).__name__}")
        words = self.reader.vocabulary.words
        for name, value in (packed(self.reader, words) | words_of(self.reader)).items():
            self.set_trait(name, value)
        known = self.reader.vocabulary
        self._all = self.read_as
        self.set_trait("read_as", "")
        self.wanted = reader is not None  # a page can fetch the words of the book's own
        readable = [text for text in EXAMPLES if all(map(known.base, model.words_of(text)))]
        for name, value in {
            "followed": list(model.FOLLOWED) if reader is None else [],
            "longest": model.MAX_LEN - 1,
            "examples": readable,
        }.items():
            self.set_trait(name, value)
        super().__init__(**traits)

    def fetched(self) -> dict[str, str]:
        return {"read_as": self._all}

    @traitlets.observe("wanted", "text")
    def _bring(self, change: object) -> None:
        """Have all words if they are wanted, or if the sentence may need one of them."""
        words, forms = self.reader.vocabulary.words, self.reader.vocabulary.forms
        own = all({word, forms.get(word)} & {*words} for word in self.text.split())
        self.wanted = self.wanted or not (own or self.text in self.examples)
        if self.wanted:
            self.set_trait("read_as", self._all)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in ("text", "hop", "head", "word")}
        return f"SentenceReader({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def _drawn(self, reading: "Reading") -> "list[tuple[int, int, float, str]]":
        """Return the lines to draw: from, to, weight, colour."""
        if self.head >= 0:
            asking, weights = self._row(reading)
            return [(asking, place, weight, "weight") for place, weight in enumerate(weights)]
        rows = [
            (layer[self.followed[i]] if self.followed else layer.mean(0))[reading.it]
            for i, layer in enumerate(reading.weights[-3:-1])
        ]
        steps = [("key", rows[:1]), ("query", rows[1:]), ("weight", [reading.probabilities])]
        return [
            (reading.it, place, weight, role)
            for role, some in steps[: self.hop]
            for row in some
            for place, weight in enumerate(row.tolist())
        ]

    def _row(self, reading: "Reading") -> "tuple[int, list[float]]":
        """Return the word that asks in the chosen head, and the weights that it gives."""
        asking = reading.it if not 0 <= self.word < len(reading.words) else self.word
        heads = [head for layer in reading.weights[:-1] for head in layer]
        table = reading.weights[-1][0] if self.head == 0 else heads[self.head - 1]
        return asking, table[asking].tolist()

    def _head_name(self) -> str:
        names = [
            f"layer {layer + 1}, head {head + 1}"
            for layer, heads in enumerate(self.num_heads)
            for head in range(heads)
        ]
        return ["the pointing head", *names][self.head]

    def words(self) -> str:
        from workbook.reader import read

        reading = read(self.reader, self.text)
        sentence = f"{self.text[0].upper()}{self.text[1:]}."
        said = conclusion(reading) + replaced(self.reader.vocabulary.replaced(reading.words[1:]))
        if self.head < 0:
            return f"{sentence} {said}"
        asking, weights = self._row(reading)
        most = max(weights)
        return (
            f"{sentence} {said} In {self._head_name()}, "
            f"“{reading.words[asking]}” looks most at “{reading.words[weights.index(most)]}” "
            f"(weight {fixed(most)})."
        )

    def picture(self) -> Markup:
        from workbook.reader import read

        reading = read(self.reader, self.text)
        places, x, y = [], 16.0, 78.0
        for word in reading.words:
            wide = 9.2 * len(word) + 10
            if x + wide > 628:
                x, y = 16.0, y + 92
            places.append((x + wide / 2, y))
            x += wide + 6
        parts: list[Markup] = []
        for start, end, weight, role in self._drawn(reading):
            if weight < 0.05:
                continue
            (x1, y1), (x2, y2) = places[start], places[end]
            rise = min(20 + abs(x2 - x1) / 6, 44)
            curve = (
                f"M{x1:.1f} {y1 - 16}C{x1:.1f} {y1 - 16 - rise:.1f} {x2:.1f} {y2 - 16 - rise:.1f}"
            )
            loop = f"M{x1 - 7:.1f} {y1 - 16}c-14 -30 28 -30 14 0"
            parts.append(
                tag(
                    "path",
                    d=loop if start == end else f"{curve} {x2:.1f} {y2 - 16}",
                    fill="none",
                    stroke=LIGHT[role],
                    stroke_linecap="round",
                    stroke_width=1 + 7 * weight if role == "weight" else 1 + 3 * weight,
                    stroke_opacity=0.25 + 0.75 * weight,
                )
            )
        asking, shares = (
            self._row(reading) if self.head > 0 else (reading.it, reading.probabilities.tolist())
        )
        for place, ((x, y), word) in enumerate(zip(places, reading.words, strict=True)):
            role = "query" if place == asking else "output" if place == reading.meant else "ink"
            look = {"x": x, "text_anchor": "middle"}
            bold = "bold" if role != "ink" else None
            parts.append(
                tag("text", word, y=y, **look, fill=LIGHT[role], font_size=16, font_weight=bold)
            )
            if shares[place] >= 0.005:
                parts.append(
                    tag("text", fixed(shares[place], 2), y=y + 20, **look, fill=LIGHT["muted"])
                )
        return svg(*parts, width=640, height=int(places[-1][1] + 40))


def conclusion(reading: "Reading") -> str:
    """Return in a sentence what *it* means, or between what the reader is unsure.

    Examples
    --------
    >>> from workbook.reader import load_reader, read
    >>> text = "the animal did not cross the street because it was too wide"
    >>> conclusion(read(load_reader(), text))
    '“It” means street (probability 1.00).'
    """
    shares = reading.probabilities.tolist()
    first, second, *_ = sorted(range(len(shares)), key=lambda place: -shares[place])
    named = ["none of these words", *reading.words[1:]]
    if shares[first] >= SURE:
        return f"“It” means {named[first]} (probability {fixed(shares[first], 2)})."
    both = (f"{named[place]} {fixed(shares[place], 2)}" for place in (first, second))
    return f"Unsure: {', '.join(both)}."


def replaced(pairs: list[tuple[str, str]]) -> str:
    """Return in a sentence which words are read as which others; nothing if none are.

    Examples
    --------
    >>> replaced([("puppy", "dog")])
    ' It reads “puppy” as “dog”.'
    """
    if not pairs:
        return ""
    return f" It reads {', '.join(f'“{word}” as “{base}”' for word, base in pairs)}."


def words_of(reader: "Reader") -> dict[str, Any]:
    """Return a reader's words as its figures' scripts read them.

    ``sections`` are the names and sizes of the parts of the vocabulary: adjectives, the kinds of
    nouns, other words.
    """
    from workbook.reader.lexicon import lexicon

    known, vocabulary = lexicon(), reader.vocabulary
    sections: list[list[Any]] = []
    for word in vocabulary.words[1:]:
        adjective = word in known.group_of and not any(name != "adjectives" for name, _ in sections)
        kinds = known.kinds_of.get(word, ("other words",))
        name = "adjectives" if adjective else kinds[0]
        if not sections or sections[-1][0] != name:
            sections.append([name, 0])
        sections[-1][1] += 1
    groups: dict[str, list[str]] = {}
    for word, base in vocabulary.read_as.items():
        groups.setdefault(base, [base]).append(word)
    first = dict.fromkeys(known.group_of.values())
    offered = (word for group in first for word in known.sayings[group].words[:1])
    return {
        "vocabulary": " ".join(vocabulary.words),
        "forms": ",".join(f"{form} {base}" for form, base in vocabulary.forms.items()),
        "read_as": ",".join(map(" ".join, groups.values())),
        "sections": sections,
        "offered": " ".join(word for word in offered if word in vocabulary.words),
    }
