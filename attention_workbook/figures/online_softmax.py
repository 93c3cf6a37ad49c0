"""Online softmax: one pass over the keys in blocks, with a running maximum and normaliser."""

from typing import Any

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Numbers, Whole

_COUNT = 12
_RANGE: dict[str, Any] = {"shape": (_COUNT,), "min": -50, "max": 50}


class OnlineSoftmax(Figure):
    r"""Twelve scores read block by block, as fused attention kernels do.

    After each block three numbers stand: the largest score so far :math:`m`, the normaliser
    :math:`\ell = \sum_i e^{a_i - m}` and the output :math:`o = \sum_i e^{a_i - m} v_i / \ell`.
    When a block brings a larger maximum, what was summed before is multiplied by
    :math:`e^{m_\text{old} - m_\text{new}}`. After the last block :math:`o` is the softmax's own.

    Parameters
    ----------
    block_size : int
        Keys in a block, 1 to 12.
    step : int
        Blocks that have been read, from 0; all of them if it is too large.
    scores, outcomes : sequence of float
        Twelve scores, and the value of each key, a number; from -50 to 50.

    Notes
    -----
    Milakov and Gimelshein (2018); in attention: Rabe and Staats (2021), Dao et al. (2022).

    Examples
    --------
    >>> OnlineSoftmax(block_size=4, step=2)
    OnlineSoftmax(block_size=4, step=2)
    """

    _script = "online_softmax.js"

    block_size = Whole(3, min=1, max=_COUNT).tag(sync=True)
    step = Whole(2, min=0, max=_COUNT).tag(sync=True)
    scores = Numbers([0.5, 1.2, -0.3, 2.1, 0.1, 1.4, -1.0, 0.9, 3.2, 1.7, -0.4, 2.4], **_RANGE).tag(
        sync=True
    )
    outcomes = Numbers([4.0, 1.0, 3.0, 2.0, 5.0, 1.0, 4.0, 2.0, 6.0, 3.0, 1.0, 5.0], **_RANGE).tag(
        sync=True
    )
