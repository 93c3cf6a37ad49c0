"""Clock: rotary positions as hands that turn, and what a longer text does to them."""

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import OneOf, Whole

TRAINED, LONGEST = 2048, 20_480  # tokens: of a text in training, and of the text here
METHODS = ("unchanged", "interpolation", "ntk", "yarn")


class Clock(Figure):
    """Rotary positions: a query and a key in a text, each with hands that turn with its position.

    The width is 128, so there are 64 pairs of coordinates; eight of them are drawn as clocks. The
    model was trained on texts of 2048 tokens, and reads one of 20 480.

    Parameters
    ----------
    query, key : int
        Their positions, 0 to 20479.
    base : int
        The slowest pair turns by about one radian in so many tokens: 10000 or 500000.
    method : str
        What is done to the speeds so that ten times as long a text can be read: ``"unchanged"``,
        ``"interpolation"``, ``"ntk"`` or ``"yarn"``.

    Raises
    ------
    traitlets.TraitError
        If a value is none of these; the message says what was expected.

    Examples
    --------
    >>> Clock(query=20, key=12).method
    'unchanged'
    """

    _script = "clock.js"

    query = Whole(15_000, min=0, max=LONGEST - 1).tag(sync=True)
    key = Whole(3_000, min=0, max=LONGEST - 1).tag(sync=True)
    base = OneOf((10_000, 500_000), 10_000).tag(sync=True)
    method = OneOf(METHODS, "unchanged").tag(sync=True)
