"""Mask and softmax: what each fill value does in each dtype, and where weight leaks."""

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import DTYPES, Numbers, OneOf, Switch, Whole

_TOKENS = ("so", "it", "was", "too", "tired")
_SIZE = len(_TOKENS)
# No weight they give is closer to a tie of float16 or bfloat16 than 2e-5 of itself, whatever the
# mask: the exponentials of different machines round to the same weights.
_SCORES = [
    [0.834, -0.208, 0.372, -0.579, 0.106],
    [-0.458, 1.266, 0.644, 0.088, -0.755],
    [0.228, 1.017, -0.298, 0.534, -0.121],
    [-0.685, 0.420, 0.706, 1.105, 0.279],
    [0.310, 1.469, -0.579, -0.170, 0.862],
]


class MaskLab(Figure):
    r"""Scores with a mask, and the weights that softmax makes of them.

    Five queries meet five keys. Masked scores are overwritten by assignment, ``scores[~mask] =
    fill``, and go through softmax, rounded as PyTorch rounds them on a CPU. ``fill="safe"`` is
    :func:`attention_lib.masking.masked_softmax`. In float16 an assigned :math:`-10^6` or
    :math:`-10^9` becomes :math:`-\infty`; ``masked_fill`` raises there, and the figure says so.

    Parameters
    ----------
    valid_len : int
        Number of keys that are no padding, 0 to 5.
    fill : str
        What masked scores become: ``"0"``, ``"-1"``, ``"-1e6"``, ``"-1e9"``, ``"-inf"``, or
        ``"safe"``, that is -inf, and weights of 0 for a row with nothing to attend to.
    dtype : str
        ``"float16"``, ``"bfloat16"``, ``"float32"`` or ``"float64"``.
    causal : bool
        Whether a query sees only itself and what came before, too.
    left : bool
        Whether the padding stands on the left.
    low : bool
        Whether the scores of the third row are lowered by half of the dtype's lowest number.
    hidden : array of float
        Where a cell is masked besides, 1, else 0; shape ``(5, 5)``.
    scores : array of float
        The scores, shape ``(5, 5)``, numbers from -100 to 100.

    Examples
    --------
    >>> MaskLab(fill="-1e9", valid_len=0)  # doctest: +ELLIPSIS
    MaskLab(valid_len=0, fill='-1e9', dtype='float32', causal=False, left=False, low=False)
    """

    _script = "mask_lab.js"

    valid_len = Whole(3, min=0, max=_SIZE).tag(sync=True)
    fill = OneOf(["0", "-1", "-1e6", "-1e9", "-inf", "safe"], "0").tag(sync=True)
    dtype = OneOf(list(DTYPES), "float32").tag(sync=True)
    causal = Switch(False).tag(sync=True)
    left = Switch(False).tag(sync=True)
    low = Switch(False).tag(sync=True)
    hidden = Numbers([[0] * 5] * 5, shape=(_SIZE, _SIZE), min=0, max=1).tag(sync=True)
    scores = Numbers(_SCORES, shape=(_SIZE, _SIZE), min=-100, max=100).tag(sync=True)
