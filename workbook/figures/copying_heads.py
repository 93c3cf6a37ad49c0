"""Copying heads: a text of the reader's own, both hops, and the letter that comes next."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import traitlets

from attention_lib.palette import LIGHT
from workbook.copying.network import LETTERS, MAX_LEN, Copier
from workbook.copying.training import load_copier
from workbook.figures._figure import Figure
from workbook.figures._markup import Markup, svg, tag
from workbook.figures._rounding import fixed
from workbook.figures._traits import Whole, refusal

__all__ = ["CopyingHeads"]


class _Text(traitlets.Unicode[str, str]):
    """A text that the network can read, kept in its letters."""

    def validate(self, obj: Any, value: Any) -> Any:
        try:
            return "".join(LETTERS[i] for i in Copier.encode(value)[0].tolist())
        except (TypeError, ValueError) as error:
            raise refusal(obj, self.name, f"a text that it can read ({error})", value) from None


class CopyingHeads(Figure):
    """The trained copier at work: where both layers look, and which letter it expects.

    Parameters
    ----------
    copier : Copier, optional
        Any trained copier of two layers or more; by default that of the book.
    text : str
        Up to 40 letters from a to z; all else in it is left out.
    place : int
        The letter that asks; -1 is the last.
    without : int
        The layer, from 1, that adds nothing to what it was given; 0 for none.

    Raises
    ------
    TypeError
        If ``copier`` is none.
    traitlets.TraitError
        If the text has no letters or too many, or there is no such place or layer.

    Examples
    --------
    >>> CopyingHeads(text="abcxyzabc").words()  # doctest: +ELLIPSIS
    'In layer 2, “c” (letter 9) looks most at “x” (letter 4, ... What comes next: “x” ...
    """

    _script = Path(__file__).with_name("copying_heads.js")
    _title = "Two heads that copy"
    _task = "Type a text that says something twice, and stop in the middle."

    text = _Text("zebrafish, zebraf").tag(sync=True)
    place = Whole(-1, min=-1, max=MAX_LEN - 1).tag(sync=True)
    without = Whole(0, min=0, max=2).tag(sync=True)
    packed = traitlets.Bytes(read_only=True).tag(sync=True)
    bits: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    width: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    layers: traitlets.Int[int, int] = traitlets.Int(read_only=True).tag(sync=True)
    longest: traitlets.Int[int, int] = traitlets.Int(MAX_LEN, read_only=True).tag(sync=True)

    def __init__(self, copier: Copier | None = None, **traits: Any) -> None:
        self.copier = load_copier() if copier is None else copier
        if not isinstance(self.copier, Copier):
            raise TypeError(f"copier: expected a Copier, got {type(copier).__name__}")
        state = self.copier.state_dict()  # the embedding, W_q to W_o of each layer, W_u
        numbers = np.concatenate([x.detach().cpu().numpy().ravel() for x in state.values()])
        half = bool((numbers.astype("<f2").astype(numbers.dtype) == numbers).all())
        self.set_trait("packed", numbers.astype("<f2" if half else "<f4").tobytes())
        self.set_trait("bits", 16 if half else 32)
        self.set_trait("width", self.copier.embedding.embedding_dim)
        self.set_trait("layers", len(self.copier.attentions))
        super().__init__(**traits)

    @torch.no_grad()
    def _hops(self) -> tuple[int, list[float], list[float], list[float]]:
        """The place that asks, the weights of both hops, and those of the next letter."""
        ids = self.copier.encode(self.text)
        found = self.copier(ids, lambda layer, x: x * 0 if layer + 1 == self.without else x)
        last = ids.shape[1] - 1
        asking = self.place if 0 <= self.place <= last else last
        second = found.weights[-1][0, asking]
        first = found.weights[0][0, int(second.argmax())]
        return asking, second.tolist(), first.tolist(), found.scores[0, asking].softmax(-1).tolist()

    def words(self) -> str:
        asking, second, first, following = self._hops()
        target, before, most = (row.index(max(row)) for row in (second, first, following))
        letter = [f"“{letter}” (letter {place}" for place, letter in enumerate(self.text, 1)]
        off = f" Layer {self.without} is switched off: it looks, but adds nothing."
        off = off if self.without else ""
        return (
            f"In layer 2, {letter[asking]}) looks most at {letter[target]}, "
            f"weight {fixed(second[target], 2)}). In layer 1, that one looked most at "
            f"{letter[before]}, weight {fixed(first[before], 2)}). What comes next: "
            f"“{LETTERS[most]}” (probability {fixed(following[most], 2)}).{off}"
        )

    def picture(self) -> Markup:
        asking, second, first, following = self._hops()
        target, most = second.index(max(second)), following.index(max(following))
        size = 600 / MAX_LEN * (1.4 if len(self.text) <= 28 else 1)
        parts: list[Markup] = []
        hops = (second, asking, "weight", 70, -1), (first, target, "key", 96, 1)
        for row, start, role, y, side in hops:
            for place, weight in enumerate(row):
                if weight >= 0.03:
                    x1, x2 = (10 + size * (x + 0.5) for x in (start, place))
                    bend = y + side * min(12 + abs(x2 - x1) / 6, 60)
                    d = f"M{x1:.1f} {y}C{x1:.1f} {bend:.1f} {x2:.1f} {bend:.1f} {x2:.1f} {y}"
                    width = 1 + 5 * round(weight, 2)
                    look = {"fill": "none", "stroke": LIGHT[role], "stroke_width": width}
                    parts.append(tag("path", d=d, **look))
        shown = {asking: "query", target: "weight", first.index(max(first)): "key"}
        for place, letter in enumerate(self.text + LETTERS[most]):
            color = LIGHT["output" if place == len(self.text) else shown.get(place, "ink")]
            x, look = 10 + size * (place + 0.5), {"text_anchor": "middle", "font_size": 15}
            parts.append(tag("text", letter, x=x, y=88, fill=color, **look))
        return svg(*parts, width=640, height=150)
