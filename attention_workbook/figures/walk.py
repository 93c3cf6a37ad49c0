"""Walk: one sentence goes through the trained reader, step by step, with all its numbers."""

from typing import TYPE_CHECKING, Any

import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Whole, refusal

if TYPE_CHECKING:
    from attention_workbook.reader import Reader

SENTENCE = "the animal did not cross the street because it was too tired"
CHOICES = ("tired", "wide", "hungry", "steep", "scared", "muddy")  # the first two tell the story
NOUNS = ("animal", "street")


class _Chosen(traitlets.Unicode[str, str]):
    """One of a list that the figure has under the name ``options``."""

    def validate(self, obj: Any, value: Any) -> Any:
        options = getattr(obj, self.metadata["options"])
        if isinstance(value, str) and value in options:
            return value
        raise refusal(obj, self.name, f"one of {', '.join(map(repr, options))}", value)


class Walk(Figure):
    """One sentence goes through the trained reader, from its words to the answer, in 13 steps.

    Every number is the reader's own: the words' vectors, the query of *it*, keys, scores, weights
    and values of one head, then of all heads and layers, and what *it* means in the end.

    Parameters
    ----------
    reader : attention_workbook.reader.Reader, optional
        Any trained reader that knows the words; by default that of the book.
    step : int
        From 1, the question, to 13, the whole machine; 14 is about the heads alone.
    word : str
        The sentence's last word.
    swap : str
        In step 14, the head that brings to *it* what it brings in a sentence with another
        answer: ``"2.1"`` is head 1 of layer 2; or ``"nothing"``.

    Raises
    ------
    TypeError
        If ``reader`` is no reader.
    traitlets.TraitError
        If there is no such step, word or head; the message says why.

    Examples
    --------
    >>> Walk(step=11, word="wide").text[-3:]
    ['was', 'too', 'tired']
    """

    _script = "walk.js"

    step = Whole(1, min=1, max=14).tag(sync=True)
    word = _Chosen(CHOICES[0]).tag(sync=True, options="choices")
    swap = _Chosen("nothing").tag(sync=True, options="_swaps")
    text: traitlets.List[str] = traitlets.List(read_only=True).tag(sync=True)
    choices: traitlets.List[str] = traitlets.List(read_only=True).tag(sync=True)
    nouns: traitlets.List[int] = traitlets.List(read_only=True).tag(sync=True)
    head: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    packed = traitlets.Bytes(read_only=True).tag(sync=True)
    scales: traitlets.List[float] = traitlets.List(read_only=True).tag(sync=True)
    vocabulary: traitlets.List[str] = traitlets.List(read_only=True).tag(sync=True)
    width: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    num_heads: traitlets.List[int] = traitlets.List(read_only=True).tag(sync=True)

    def __init__(self, reader: "Reader | None" = None, **traits: Any) -> None:
        from attention_workbook import reader as model
        from attention_workbook.reader._packed import packed

        whole = model.load_reader() if reader is None else reader
        if not isinstance(whole, model.Reader):
            raise TypeError(f"reader: expected a Reader, got {type(reader).__name__}")
        heads = [f"{i + 1}.{j + 1}" for i, many in enumerate(whole.num_heads) for j in range(many)]
        self._swaps = ["nothing", *heads]
        words = whole.vocabulary.parse(SENTENCE)
        choices = [word for word in CHOICES if word in whole.vocabulary.words]
        known = list(dict.fromkeys([*words, *choices]))
        nouns = [words.index(noun) for noun in NOUNS]
        first = model.read(whole, SENTENCE).weights[0][:, words.index("it")]
        for name, value in {
            "text": list(words),
            "choices": choices,
            "nouns": nouns,
            "head": int(first[:, nouns].sum(dim=1).argmax()),  # where *it* looks most at both
            **packed(whole, known),
            "vocabulary": known,
        }.items():
            self.set_trait(name, value)
        super().__init__(**traits)
