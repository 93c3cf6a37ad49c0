"""Learner: a small model that learns the book's prose in the page, by the reader's own rule."""

import json
from functools import cache
from typing import Any

import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import OneOf, Real, Switch
from attention_workbook.figures.bundle import FOLDER, as_expression

STORED = FOLDER / "_training" / "stored.json"


@cache
def program() -> str:
    """Return what the worker runs, as a script."""
    return f"({as_expression(FOLDER / '_training' / 'worker.js')}).listen(self);\n"


class Learner(Figure):
    """A transformer of one block that learns letter by letter, and what it writes meanwhile.

    It trains in a worker of the page; text and program are fetched when the reader presses Train.
    At rest it shows a stored run of the same trainer.

    Parameters
    ----------
    rule : str
        ``"mine"`` is the reader's ``my_update``, which a page of the book calls, ``"adam"`` the
        book's, ``"descent"`` plain descent.
    factor : float
        The learning rate, in multiples of what suits the rule.
    scaled, masked : bool
        Whether scores are divided by √d, and whether a place is kept from reading the letter that
        it is to predict.

    Examples
    --------
    >>> Learner(rule="descent").stored["losses"][0][0]
    0
    """

    _script = "learner.js"

    rule = OneOf(("mine", "adam", "descent"), "mine").tag(sync=True)
    factor = Real(1.0, min=0.125, max=16.0).tag(sync=True)
    scaled = Switch(True).tag(sync=True)
    masked = Switch(True).tag(sync=True)
    wanted = Switch(False).tag(sync=True)
    prose = traitlets.Unicode(read_only=True).tag(sync=True)
    program = traitlets.Unicode(read_only=True).tag(sync=True)
    stored: "traitlets.Dict[str, Any]" = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        self.set_trait("stored", json.loads(STORED.read_text(encoding="utf-8")))
        super().__init__(**traits)

    def fetched(self) -> dict[str, str]:
        from attention_workbook.writer.training import prose

        return {"program": program(), "prose": prose()}

    @traitlets.observe("wanted")
    def _bring(self, change: object) -> None:
        for name, text in self.fetched().items():
            self.set_trait(name, text if self.wanted else "")
