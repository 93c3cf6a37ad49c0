"""Sentence reader: a small trained transformer that says which word *it* means."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from attention_lib.palette import LIGHT
from attention_lib.widgets._figure import Figure
from attention_lib.widgets._markup import Markup, svg, tag
from attention_lib.widgets._rounding import fixed
from attention_lib.widgets._traits import Whole, refusal

if TYPE_CHECKING:
    from workbook.reader import Reader, Reading

EXAMPLES = [
    "the animal did not cross the street because it was too tired",
    "because it was too wide the animal did not cross the street",
    "the trophy did not fit in the suitcase because it was too big",
    "the ball broke the table because it was too heavy",
    "the fox chased the goat because it was weak",
    "the fox was faster than the goat so it won",
    "the sand ran from the jug into the bowl until it was full",
    "the fox chased the goat until it was dark",
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
        bounded = Whole(min=0, max=sum(obj.num_heads))
        bounded.name = self.name
        return bounded.validate(obj, value)


class SentenceReader(Figure):
    """A trained reader at work: who looks at whom, and what it concludes that *it* means.

    Click a word, and lines show where it looks; exchange a word, and the reader reads anew. The
    forward pass runs in the page, on the reader's own weights.

    Parameters
    ----------
    reader : workbook.reader.Reader, optional
        Any trained reader; by default that of the book.
    text : str
        A sentence that the reader can read, with "it" in it once.
    head : int
        The head whose weights are drawn: 0 is the pointing head, whose row of *it* is the
        conclusion; 1 and on are the heads of the first layer, then those of the second.
    word : int
        Position of the word that asks, 0 for the place before the sentence; -1 is *it*.

    Raises
    ------
    TypeError
        If ``reader`` is no reader.
    traitlets.TraitError
        If the sentence cannot be read, or there is no such head or word; the message says why.

    Notes
    -----
    The weights travel as float16 where that changes none of them, else as float32.

    Examples
    --------
    >>> figure = SentenceReader(text="The ball broke the table because it was too weak.")
    >>> figure.words()
    'The ball broke the table because it was too weak. The reader says: it means table \
(probability 1.000). In the pointing head, “it” looks most at “table” (weight 1.000).'
    """

    _script = Path(__file__).with_name("sentence_reader.js")
    _title = "A reader at work"
    _task = "Exchange a word, and see what “it” means then."

    text = _Text(EXAMPLES[0]).tag(sync=True)
    head = _Head(0, min=0, max=6).tag(sync=True)
    word = Whole(-1, min=-1, max=15).tag(sync=True)
    packed = traitlets.Bytes(read_only=True).tag(sync=True)
    bits: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    vocabulary: traitlets.List[str] = traitlets.List(read_only=True).tag(sync=True)
    alike: traitlets.List[list[str]] = traitlets.List(read_only=True).tag(sync=True)
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
        words = list(self.reader.vocabulary.words)
        groups = {tuple(model.words_like(word)) for word in words[1:]}
        for name, value in {
            **packed(self.reader, words),
            "vocabulary": words,
            "alike": [list(group) for group in sorted(groups) if len(group) > 1],
            "longest": model.MAX_LEN - 1,
            "examples": [text for text in EXAMPLES if {*text.split()} <= {*words}],
        }.items():
            self.set_trait(name, value)
        super().__init__(**traits)

    def _seen(self) -> "tuple[Reading, int, list[float]]":
        """Return the reading, the word that asks, and the weights that it gives."""
        from workbook.reader import read

        reading = read(self.reader, self.text)
        asking = reading.it if not 0 <= self.word < len(reading.words) else self.word
        heads = [head for layer in reading.weights[:-1] for head in layer]
        table = reading.weights[-1][0] if self.head == 0 else heads[self.head - 1]
        return reading, asking, table[asking].tolist()

    def _head_name(self) -> str:
        names = [
            f"layer {layer + 1}, head {head + 1}"
            for layer, heads in enumerate(self.num_heads)
            for head in range(heads)
        ]
        return ["the pointing head", *names][self.head]

    def words(self) -> str:
        reading, asking, weights = self._seen()
        most = max(weights)
        target = reading.words[weights.index(most)]
        means = reading.words[reading.meant] if reading.meant else "none of the words"
        sentence = f"{self.text[0].upper()}{self.text[1:]}."
        return (
            f"{sentence} The reader says: it means {means} "
            f"(probability {fixed(reading.probability)}). In {self._head_name()}, "
            f"“{reading.words[asking]}” looks most at “{target}” (weight {fixed(most)})."
        )

    def picture(self) -> Markup:
        reading, asking, weights = self._seen()
        places, x, y = [], 16.0, 78.0
        for word in reading.words:
            wide = 9.2 * len(word) + 10
            if x + wide > 628:
                x, y = 16.0, y + 92
            places.append((x + wide / 2, y))
            x += wide + 6
        parts: list[Markup] = []
        x1, y1 = places[asking]
        for (x2, y2), weight in zip(places, weights, strict=True):
            if weight < 0.02:
                continue
            rise = min(20 + abs(x2 - x1) / 6, 44)
            curve = (
                f"M{x1:.1f} {y1 - 16}C{x1:.1f} {y1 - 16 - rise:.1f} {x2:.1f} {y2 - 16 - rise:.1f}"
            )
            loop = f"M{x1 - 7:.1f} {y1 - 16}c-14 -30 28 -30 14 0"
            line = loop if (x1, y1) == (x2, y2) else f"{curve} {x2:.1f} {y2 - 16}"
            look = {"fill": "none", "stroke": LIGHT["weight"], "stroke_linecap": "round"}
            parts.append(
                tag(
                    "path",
                    d=line,
                    **look,
                    stroke_width=1 + 7 * weight,
                    stroke_opacity=0.25 + 0.75 * weight,
                )
            )
        for place, ((x, y), word) in enumerate(zip(places, reading.words, strict=True)):
            role = "query" if place == asking else "output" if place == reading.meant else "ink"
            bold = "bold" if role != "ink" else None
            middle = {"text_anchor": "middle"}
            parts.append(
                tag(
                    "text",
                    word,
                    x=x,
                    y=y,
                    **middle,
                    fill=LIGHT[role],
                    font_size=16,
                    font_weight=bold,
                )
            )
            if weights[place] >= 0.005:
                share = fixed(weights[place], 2)
                parts.append(tag("text", share, x=x, y=y + 20, **middle, fill=LIGHT["muted"]))
        return svg(*parts, width=640, height=int(places[-1][1] + 40))
