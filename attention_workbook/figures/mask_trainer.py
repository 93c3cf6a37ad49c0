"""A small model that learns to continue texts, under a mask that its reader sets cell by cell."""

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Numbers, Whole

_ROWS, _LENGTH = 8, 9


class MaskTrainer(Figure):
    r"""A model that cheats where its mask lets it, trained while one looks on.

    Texts of nine letters walk through the alphabet: after each letter comes the next one, or, one
    time in four, the one after that. The model has a score for each pair of places and a value of
    26 votes for each letter; a hundred steps of Adam at rate 0.3, with 200 new texts each, start
    at zeros. Its loss is then measured on 5,000 other texts. No model that does not see the answer
    has one below :math:`-\tfrac34\ln\tfrac34-\tfrac14\ln\tfrac14\approx 0.562`.

    Parameters
    ----------
    mask : array of bool
        Where a place may look, shape ``(8, 9)``, True = may be looked at; the last place has
        nothing to guess.
    seed : int
        Where the random numbers start, 0 to 1,000,000.

    Examples
    --------
    >>> from attention_lib import causal_mask
    >>> MaskTrainer(mask=causal_mask(9)[:8]).mask[1]
    [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    _script = "mask_trainer.js"

    mask = Numbers([[1.0] * _LENGTH] * _ROWS, shape=(_ROWS, _LENGTH), min=0, max=1).tag(sync=True)
    seed = Whole(1, min=0, max=1_000_000).tag(sync=True)
