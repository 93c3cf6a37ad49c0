"""Splitting into heads: where each number lands, with the right reshape and with the wrong one."""

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import OneOf, Switch, Whole

_LONGEST = 5
_WIDTHS = (4, 8, 12)


class HeadSplit(Figure):
    """The numbers of a matrix ``(len, d_model)``, and the head, position and column each goes to.

    The right way cuts the columns and swaps two axes,
    ``x.reshape(len, num_heads, d_k).transpose(0, 1)``; the wrong one reshapes straight to the
    same shape, ``x.reshape(num_heads, len, d_k)``.

    Parameters
    ----------
    length : int
        Number of positions, 2 to 5.
    d_model : int
        Width: 4, 8 or 12.
    num_heads : int
        Number of heads: 1, 2 or 4.
    wrong : bool
        Whether to reshape straight to the final shape.
    number : int
        The number to follow, counted from 0; the last one if it is too large.

    Examples
    --------
    >>> HeadSplit()
    HeadSplit(length=3, d_model=4, num_heads=2, wrong=True, number=4)
    """

    _script = "head_split.js"

    length = Whole(3, min=2, max=_LONGEST).tag(sync=True)
    d_model = OneOf(list(_WIDTHS), 4).tag(sync=True)
    num_heads = OneOf([1, 2, 4], 2).tag(sync=True)
    wrong = Switch(True).tag(sync=True)
    number = Whole(4, min=0, max=_LONGEST * _WIDTHS[-1] - 1).tag(sync=True)
