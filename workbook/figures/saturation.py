"""Softmax saturation: what the width of queries and keys does to weights and gradient."""

import math
from typing import Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from attention_lib.palette import LIGHT
from workbook.figures._figure import Figure
from workbook.figures._markup import Markup, svg, tag
from workbook.figures._rounding import DTYPES, fixed, rounded_softmax, short
from workbook.figures._traits import Numbers, OneOf, Real, Whole, refusal

_MOST_KEYS = 64
_DIVISORS = {0.0: "not divided", 0.5: "divided by √d", 1.0: "divided by d"}


class _PowerOfTwo(Whole):
    def validate(self, obj: Any, value: Any) -> Any:
        whole = super().validate(obj, value)
        if whole & (whole - 1):
            raise refusal(obj, self.name, f"a power of two from {self.min} to {self.max}", value)
        return whole


class SoftmaxSaturation(Figure):
    r"""Weights, entropy and gradient of a softmax as the width of the dot products doubles.

    A query of ``d`` coordinates, each -1 or 1, meets keys whose coordinates are standard
    normal: all independent, with mean 0 and variance 1. Then a score
    :math:`\mathbf q\cdot\mathbf k_i` is exactly :math:`\sqrt d\,z_i` with :math:`z_i` standard
    normal. The figure draws the ``z`` once and keeps them, so that a slider changes the spread
    :math:`d^{1/2-\text{exponent}}/\text{temperature}` of the scores and nothing else.

    Parameters
    ----------
    d : int
        Width of query and keys, a power of two from 1 to 4096.
    exponent : float
        Scores are divided by ``d**exponent``: 0 (not at all), 0.5 or 1.
    len_k : int
        Number of keys, 2 to 64.
    temperature : float
        Scores are divided by it as well, 1/32 to 32.
    directions : sequence of float
        The 64 numbers ``z``, from -100 to 100, of which the first ``len_k`` count.

    Examples
    --------
    >>> figure = SoftmaxSaturation(d=256, exponent=0.5)
    >>> figure
    SoftmaxSaturation(d=256, exponent=0.5, len_k=16, temperature=1.0)
    """

    _script = "saturation.js"
    _title = "Softmax saturation"
    _task = "Widen the vectors until one key takes all; then bring the others back."

    d = _PowerOfTwo(64, min=1, max=4096).tag(sync=True)
    exponent = OneOf([0.0, 0.5, 1.0], 0.0).tag(sync=True)
    len_k = Whole(16, min=2, max=_MOST_KEYS).tag(sync=True)
    temperature = Real(1.0, min=1 / 32, max=32.0).tag(sync=True)
    directions = Numbers(shape=(_MOST_KEYS,), min=-100, max=100).tag(sync=True)

    @traitlets.default("directions")
    def _draw(self) -> Any:
        # RandomState, since its numbers are the same in every version of numpy; three decimals,
        # since that makes them the same on every machine.
        return np.random.RandomState(0).standard_normal(_MOST_KEYS).round(3).tolist()

    def _spread(self) -> float:
        return float(self.d ** (0.5 - self.exponent) / self.temperature)

    def _weights(self, dtype: str = "float64") -> NDArray[Any]:
        return rounded_softmax(self._spread() * np.array(self.directions[: self.len_k]), dtype)

    def words(self) -> str:
        weights = self._weights()
        positive = weights[weights > 0]
        entropy = (positive * -np.log(positive)).sum()
        squares = (weights**2).sum()
        norm = math.sqrt((weights**2 * ((1 - weights) ** 2 + squares - weights**2)).sum())
        size = "below 0.001" if 0 < norm < 0.0005 else fixed(norm)
        dead = [dtype for dtype in DTYPES if np.count_nonzero(self._weights(dtype)) == 1]
        gradient = f"exactly 0 in {', '.join(dead)}" if dead else "not 0 in any dtype"
        return (
            f"Width d = {self.d}, scores {_DIVISORS[self.exponent]}, "
            f"temperature {short(self.temperature)}. "
            f"Scores of standard deviation {short(self._spread())}: the largest of {self.len_k} "
            f"weights is {fixed(weights.max())}, the entropy {fixed(entropy)} (that of "
            f"{fixed(math.exp(entropy), 1)} equal weights), ‖J‖ {size}. "
            f"The gradient of softmax is {gradient}."
        )

    def picture(self) -> Markup:
        width, height, left, top, base = 640, 260, 48, 20, 222
        step = (width - left - 16) / self.len_k
        wide = min(step * 0.78, 44)
        grid = []
        for level in (0, 0.5, 1):
            y = base - level * (base - top)
            grid.append(tag("line", x1=left, x2=width - 16, y1=y, y2=y, stroke=LIGHT["grid"]))
            place = {"x": left - 10, "y": y + 4, "text_anchor": "end"}
            grid.append(tag("text", f"{level:g}", **place, fill=LIGHT["muted"]))
        bars = [
            tag(
                "rect",
                x=left + step * (i + 0.5) - wide / 2,
                y=base - weight * (base - top),
                width=wide,
                height=weight * (base - top),
                rx=min(2, wide / 4),
                fill=LIGHT["weight"],
            )
            for i, weight in enumerate(self._weights().tolist())
        ]
        name = tag(
            "text",
            f"weights of {self.len_k} keys",
            x=(width + left) / 2,
            y=height - 12,
            text_anchor="middle",
            fill=LIGHT["muted"],
        )
        return svg(*grid, *bars, name, width=width, height=height)
