"""Writer: a small trained language model that continues a text, letter by letter."""

from pathlib import Path
from typing import Any

import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Real, Switch, Whole, refusal

LONGEST = 400  # letters of a text


class _Text(traitlets.Unicode[str, str]):
    """A text in letters that the model knows."""

    def validate(self, obj: Any, value: Any) -> Any:
        known = isinstance(value, str) and {*value} <= {*obj.letters}
        if known and 1 <= len(value) <= LONGEST:
            return value
        raise refusal(obj, self.name, f"1 to {LONGEST} letters that the writer knows", value)


class Writer(Figure):
    """A trained language model at work: what it expects next, where it looks, what it writes.

    The forward pass runs in the page, on the model's own numbers. They are fetched when the reader
    first asks for more than the still picture shows.

    Parameters
    ----------
    text : str
        What stands already.
    temperature : float
        At 1 letters are drawn with the model's own probabilities, at 0 the most probable is taken.
    head : int
        The head whose weights are drawn, 1 and on in the order of the layers; 0 is their mean.
    place : int
        Position of the letter that is asked about; -1 is the one that comes next.

    Examples
    --------
    >>> figure = Writer(text="The quer", temperature=0)
    >>> figure.letters[figure.logits.index(max(figure.logits))]
    'y'
    """

    _script = "writer.js"

    text = _Text("The query asks, and each key").tag(sync=True)
    temperature = Real(0.3, min=0.0, max=2.0).tag(sync=True)
    head = Whole(0, min=0, max=12).tag(sync=True)
    place = Whole(-1, min=-1, max=LONGEST).tag(sync=True)
    wanted = Switch(False).tag(sync=True)
    packed = traitlets.Bytes(read_only=True).tag(sync=True)
    letters = traitlets.Unicode(read_only=True).tag(sync=True)
    num_heads: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    num_layers: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    logits: traitlets.List[float] = traitlets.List().tag(sync=True)
    weights: traitlets.List[float] = traitlets.List().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        from attention_workbook.writer.training import load_writer

        self.model = load_writer().double()
        self.set_trait("letters", self.model.letters)
        self.set_trait("num_heads", self.model.num_heads)
        self.set_trait("num_layers", len(self.model.attentions))
        super().__init__(**traits)
        self._look()

    def fetched(self) -> dict[str, bytes]:
        weights = Path(__file__).parent.parent / "writer" / "weights.safetensors"
        return {"packed": weights.read_bytes()}

    @traitlets.observe("wanted")
    def _bring(self, change: object) -> None:
        self.set_trait("packed", self.fetched()["packed"] if self.wanted else b"")

    @traitlets.observe("text", "head", "place")
    def _look(self, change: object = None) -> None:
        """Compute what a page shows at rest: it has no model yet."""
        self.logits, self.weights = self._seen()

    def _seen(self) -> tuple[list[float], list[float]]:
        """Return the scores of the letter asked about, and how much each before it is looked at."""
        import torch

        ids = torch.tensor([self.model.encode(self.text[: self._at()])])
        with torch.no_grad():
            logits, layers = self.model(ids, need_weights=True)
        heads = torch.cat([layer[0, :, -1] for layer in layers])  # (layers * heads, len)
        weights = heads.mean(dim=0) if self.head == 0 else heads[self.head - 1]
        return [round(x, 6) for x in logits[0, -1].tolist()], [
            round(x, 6) for x in weights.tolist()
        ]

    def _at(self) -> int:
        """Return the place of the letter that is asked about."""
        return self.place if 1 <= self.place < len(self.text) else len(self.text)
