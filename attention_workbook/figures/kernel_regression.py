"""Kernel regression: a mean of noisy values, weighted by how near their keys are to the query."""

from typing import Any

import numpy as np
import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Numbers, OneOf, Real

_COUNT = 30
_END = 5.0  # keys and query lie from 0 to here


class KernelRegression(Figure):
    r"""Nadaraya-Watson regression as attention: a query, thirty keys, and their noisy values.

    The keys :math:`k_i` lie from 0 to 5, the values are :math:`v_i = f(k_i) + \text{noise}_i`
    with :math:`f(x) = \sin 2x + x/2`. The weight of a key is its share in the sum of the kernel
    :math:`K(u)` at :math:`u = (q - k_i)/\text{bandwidth}`, the estimate is
    :math:`\sum_i \alpha_i v_i`. Where no kernel is above 0, the row has nothing to attend to:
    its weights are 0, and the curve has a gap.

    Parameters
    ----------
    kernel : str
        ``"Gaussian"``, :math:`e^{-u^2/2}`; ``"boxcar"``, 1 where :math:`|u| \le 1`;
        ``"triangular"``, :math:`\max(0, 1 - |u|)`; or ``"Epanechnikov"``,
        :math:`\max(0, 1 - u^2)`.
    bandwidth : float
        From 1/32 to 4, in the units of the keys.
    query : float
        From 0 to 5.
    key_points : sequence of float
        The 30 keys.
    noise : sequence of float
        What their values are off, each from -2 to 2.

    Examples
    --------
    >>> KernelRegression(kernel="boxcar", bandwidth=0.5)
    KernelRegression(kernel='boxcar', bandwidth=0.5, query=2.5)
    """

    _script = "kernel_regression.js"

    kernel = OneOf(["Gaussian", "boxcar", "triangular", "Epanechnikov"], "Gaussian").tag(sync=True)
    bandwidth = Real(0.25, min=1 / 32, max=4.0).tag(sync=True)
    query = Real(2.5, min=0.0, max=_END).tag(sync=True)
    key_points = Numbers(shape=(_COUNT,), min=0, max=_END).tag(sync=True)
    noise = Numbers(shape=(_COUNT,), min=-2, max=2).tag(sync=True)

    # RandomState, since its numbers are the same in every version of numpy; three decimals,
    # since that makes them the same on every machine.
    @traitlets.default("key_points")
    def _draw_keys(self) -> Any:
        return np.sort(np.random.RandomState(3).uniform(0, _END, _COUNT)).round(3).tolist()

    @traitlets.default("noise")
    def _draw_noise(self) -> Any:
        return (0.35 * np.random.RandomState(5).standard_normal(_COUNT)).round(3).tolist()
