"""Sentence reader: a small trained transformer that says which word *it* means."""

from typing import TYPE_CHECKING, Any

import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Switch, Whole, refusal

if TYPE_CHECKING:
    from attention_workbook.reader import Reader

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

    Click a word to swap it for another, and the reader reads anew. The forward pass runs in the
    page, on the reader's own weights.

    Parameters
    ----------
    reader : attention_workbook.reader.Reader, optional
        Any trained reader; by default that of the book.
    text : str
        A sentence that the reader can read, with "it" in it once.
    hop : int
        How much is drawn: 1, what *it* reads in layer 1; 2, in layer 2, too; 3, where it points.
        With 0 it plays all three when it is seen, and then exchanges *tired* for *wide*.
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
    >>> figure = SentenceReader(text="The ball broke the table because it was too heavy.")
    >>> figure.text
    'the ball broke the table because it was too heavy'
    """

    _script = "sentence_reader.js"

    text = _Text(EXAMPLES[0]).tag(sync=True)
    hop = Whole(3, min=0, max=3).tag(sync=True)
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
        from attention_workbook import reader as model
        from attention_workbook.reader._packed import packed

        self.reader = model.load_reader() if reader is None else reader
        if not isinstance(self.reader, model.Reader):
            raise TypeError(f"reader: expected a Reader, got {type(reader).__name__}")
        words = self.reader.vocabulary.words
        for name, value in (packed(self.reader, words) | words_of(self.reader)).items():
            self.set_trait(name, value)
        vocabulary = self.reader.vocabulary
        self._all = self.read_as
        self.set_trait("read_as", "")
        self.wanted = reader is not None  # a page can fetch the words of the book's own
        readable = [text for text in EXAMPLES if all(map(vocabulary.base, model.words_of(text)))]
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
        has_all_words = all({word, forms.get(word)} & {*words} for word in self.text.split())
        self.wanted = self.wanted or not (has_all_words or self.text in self.examples)
        if self.wanted:
            self.set_trait("read_as", self._all)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in ("text", "hop", "head", "word")}
        return f"SentenceReader({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def words_of(reader: "Reader") -> dict[str, Any]:
    """Return a reader's words as its figures' scripts read them.

    ``sections`` are the names and sizes of the parts of the vocabulary: adjectives, the kinds of
    nouns, other words.
    """
    from attention_workbook.reader.lexicon import lexicon

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
