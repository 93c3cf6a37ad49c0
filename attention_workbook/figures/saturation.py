"""Softmax saturation: what the width of queries and keys does to weights and gradient."""

from typing import Any

import numpy as np
import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Numbers, OneOf, Real, Whole, refusal

_MOST_KEYS = 64


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
