"""Numbers as they are shown, and as each dtype of PyTorch keeps them."""

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

DTYPES = ("float16", "bfloat16", "float32", "float64")


def fixed(value: float, digits: int = 3) -> str:
    """Return a number with so many decimals, as ``fixed`` of ``_shared/numbers.js`` does.

    Examples
    --------
    >>> fixed(0.0625), fixed(-1.5, 1), fixed(-0.0001)
    ('0.063', '−1.5', '0.000')
    """
    text = f"{Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def short(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, as ``short`` of ``_shared/numbers.js``.

    Examples
    --------
    >>> short(1 / 32), short(2048), short(-0.5)
    ('0.0313', '2050', '−0.5')
    """
    text = f"{Context(digits, ROUND_HALF_UP).create_decimal(Decimal(value)):f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def rounded(array: ArrayLike, dtype: str) -> NDArray[Any]:
    """Return an array rounded to one of ``DTYPES``, ties to even, as PyTorch does.

    The half types are rounded by way of float32; bfloat16, which numpy lacks, is kept in it.
    """
    with np.errstate(over="ignore", under="ignore"):
        if dtype == "float64":
            return np.asarray(array, np.float64)
        single = np.asarray(array).astype(np.float32)
        if dtype != "bfloat16":
            return single.astype(dtype)
    bits = single.view(np.uint32)
    last = (bits >> np.uint32(16)) & np.uint32(1)  # numpy 1 widens a 0-d array beside an int
    nearest = (bits + np.uint32(0x7FFF) + last) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(single), single, nearest.view(np.float32))


def rounded_softmax(scores: ArrayLike, dtype: str) -> NDArray[Any]:
    """Return softmax along the last axis as PyTorch computes it on a CPU in one of ``DTYPES``.

    The half types are computed in float32 and rounded at the end. A row of -inf gives NaN.

    Examples
    --------
    >>> rounded_softmax([0.0, -100.0], "float16").tolist()
    [1.0, 0.0]
    """
    working = np.float64 if dtype == "float64" else np.float32
    scores = rounded(scores, dtype).astype(working)
    with np.errstate(invalid="ignore", under="ignore"):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return rounded(powers / powers.sum(axis=-1, keepdims=True), dtype)
