"""Copying heads: a text of the reader's own, both hops, and the letter that comes next."""

from typing import Any

import numpy as np
import traitlets

from attention_workbook.copying.network import LETTERS, MAX_LEN, Copier
from attention_workbook.copying.training import load_copier
from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Whole, refusal

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
    >>> CopyingHeads(text="abc, xyz, abc")  # doctest: +ELLIPSIS
    CopyingHeads(text='abcxyzabc', place=-1, without=0, ...)
    """

    _script = "copying_heads.js"

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
