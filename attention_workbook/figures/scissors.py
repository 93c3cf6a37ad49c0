"""Scissors: which line between the words decides what *it* means? Cut it."""

import re
from typing import TYPE_CHECKING, Any

import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Switch, Whole, refusal
from attention_workbook.figures.sentence_reader import _Text, words_of

if TYPE_CHECKING:
    from attention_workbook.reader import Reader

SENTENCE = "the animal did not cross the street because it was too tired"
CHOICES = ("tired", "hungry", "scared", "young", "wide", "steep", "muddy", "dangerous")


class _Cuts(traitlets.Unicode[str, str]):
    """Lines that are cut, as ``"1:12-7 2:9-12"``: layer, the word that reads, the word read."""

    def validate(self, obj: Any, value: Any) -> Any:
        lines = value.split() if isinstance(value, str) else [""]
        if not all(re.fullmatch(r"[12]:[0-9]{1,2}-[0-9]{1,2}", line) for line in lines):
            expected = "lines such as '1:12-7 2:9-12': layer, word that reads, word that is read"
            raise refusal(obj, self.name, expected, value)
        return " ".join(lines)


class Scissors(Figure):
    """The trained reader's lines between words; cut one, and see what *it* means without it.

    A line is the weight with which one word reads another, the mean of a layer's heads. A cut takes
    the pair from all heads of the layer, and each row of weights is renormalised. Only lines that
    can reach the answer are there: all of layer 1, and those of *it* in layer 2.

    Parameters
    ----------
    reader : attention_workbook.reader.Reader, optional
        Any trained reader of two layers that knows the words; by default that of the book.
    text : str
        A sentence that the reader can read, with "it" in it once.
    cuts : str
        The lines that are cut, in the order of the cuts: ``"2:9-12"`` is in layer 2 that from word
        9 to word 12, counted from 0, the place before the sentence. Lines that a sentence does not
        have count for nothing.
    opened : int
        Whose lines the lists under the picture have: those of a word in layer 1, or -1, those of
        *it* in layer 2.
    wanted : bool
        Whether the figure carries all words that the reader knows.

    Raises
    ------
    TypeError
        If ``reader`` is no reader.
    traitlets.TraitError
        If the sentence cannot be read, or there is no such line; the message says why.

    Examples
    --------
    >>> figure = Scissors(cuts="1:12-7")
    >>> figure.text.split()[11], figure.text.split()[6]
    ('tired', 'street')
    """

    _script = "scissors.js"

    text = _Text(SENTENCE).tag(sync=True)
    cuts = _Cuts("").tag(sync=True)
    opened = Whole(-1, min=-1, max=19).tag(sync=True)
    wanted = Switch(False).tag(sync=True)
    choices: traitlets.List[str] = traitlets.List(read_only=True).tag(sync=True)
    packed = traitlets.Bytes(read_only=True).tag(sync=True)
    scales: traitlets.List[float] = traitlets.List(read_only=True).tag(sync=True)
    vocabulary = traitlets.Unicode(read_only=True).tag(sync=True)
    forms = traitlets.Unicode(read_only=True).tag(sync=True)
    read_as = traitlets.Unicode(read_only=True).tag(sync=True)
    sections: traitlets.List[list[Any]] = traitlets.List(read_only=True).tag(sync=True)
    width: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    num_heads: traitlets.List[int] = traitlets.List(read_only=True).tag(sync=True)
    longest: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)

    def __init__(self, reader: "Reader | None" = None, **traits: Any) -> None:
        from attention_workbook import reader as model
        from attention_workbook.reader._packed import packed

        self.reader = model.load_reader() if reader is None else reader
        if not isinstance(self.reader, model.Reader):
            raise TypeError(f"reader: expected a Reader, got {type(reader).__name__}")
        vocabulary = self.reader.vocabulary
        choices = [word for word in CHOICES if word in vocabulary.words]
        starting_words = list(dict.fromkeys([*vocabulary.parse(SENTENCE), *choices]))
        few_words = {
            "vocabulary": " ".join(starting_words),
            "forms": "",
            "read_as": "",
            "sections": [],
        }
        for name, value in (packed(self.reader, starting_words) | few_words).items():
            self.set_trait(name, value)
        self.set_trait("choices", choices)
        self.set_trait("longest", model.MAX_LEN - 1)
        super().__init__(**traits)

    def fetched(self) -> dict[str, Any]:
        from attention_workbook.reader._packed import packed

        words = self.reader.vocabulary.words
        every_word = words_of(self.reader)
        every_word.pop("offered")
        read_as = every_word.pop("read_as")
        return packed(self.reader, words) | every_word | {"read_as": read_as}  # the last one opens

    @traitlets.observe("wanted", "text")
    def _bring(self, change: object) -> None:
        """Have all words if they are wanted, or if the sentence needs others than the few."""
        self.wanted = self.wanted or not {*self.text.split()} <= {*self.vocabulary.split()}
        if self.wanted and not self.read_as:
            for name, value in self.fetched().items():
                self.set_trait(name, value)
