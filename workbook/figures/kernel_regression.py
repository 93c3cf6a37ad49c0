"""Kernel regression: a mean of noisy values, weighted by how near their keys are to the query."""

import math
from typing import Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from attention_lib.palette import LIGHT
from workbook.figures._figure import Figure
from workbook.figures._markup import Markup, svg, tag
from workbook.figures._rounding import fixed, short
from workbook.figures._traits import Numbers, OneOf, Real

_COUNT = 30
_END = 5.0  # keys and query lie from 0 to here
_KERNELS = {
    "Gaussian": lambda u: np.exp(-(u**2) / 2),
    "boxcar": lambda u: (np.abs(u) <= 1) * 1.0,
    "triangular": lambda u: np.maximum(0, 1 - np.abs(u)),
    "Epanechnikov": lambda u: np.maximum(0, 1 - u**2),
}


def _true(x: Any) -> Any:
    return np.sin(2 * x) + x / 2


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
    _title = "Regression as attention"
    _task = "Find the bandwidth whose squared error from the dashed curve is least."

    kernel = OneOf(list(_KERNELS), "Gaussian").tag(sync=True)
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

    def _values(self) -> NDArray[Any]:
        return np.asarray(_true(np.array(self.key_points)) + self.noise)

    def _weights(self, queries: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return a row of weights for each query, and how many keys it reaches."""
        u = (np.asarray(queries)[:, None] - self.key_points) / self.bandwidth
        if self.kernel == "Gaussian":  # as a softmax, which does not end where exp underflows
            powers = np.exp(-(u**2) / 2 + (u**2).min(axis=1, keepdims=True) / 2)
            reached = np.full(len(u), _COUNT)
        else:
            powers = _KERNELS[self.kernel](u)
            reached = (powers > 0).sum(axis=1)
        totals = powers.sum(axis=1, keepdims=True)
        return powers / np.where(totals > 0, totals, 1), reached

    def words(self) -> str:
        (weights,), (reached,) = self._weights([self.query])
        own, _ = self._weights(self.key_points)
        error = np.mean((own @ self._values() - _true(np.array(self.key_points))) ** 2)
        positive = weights[weights > 0]
        effective = math.exp((positive * -np.log(positive)).sum())
        if reached:
            found = (
                f"The estimate is {fixed(weights @ self._values())}, the true value "
                f"{fixed(_true(self.query))}: {reached} of {_COUNT} points are in reach, "
                f"as good as {fixed(effective, 1)} of equal weight. "
            )
        else:
            found = (
                "No point is in reach: a row with nothing to attend to. Its weights are 0, "
                "and the curve has a gap. "
            )
        return (
            f"Query {fixed(self.query, 2)}, {self.kernel} kernel of bandwidth "
            f"{short(self.bandwidth)}. {found}"
            f"Mean squared error of the curve at the points: {fixed(error)}."
        )

    def picture(self) -> Markup:
        width, height, left, right, top, middle, base = 640, 436, 44, 12, 28, 274, 370
        (weights,), (reached,) = self._weights([self.query])
        values = self._values()
        grid = np.linspace(0, _END, 251)
        rows, reaches = self._weights(grid)
        truth, estimates = _true(grid), rows @ values
        low, high = min(values.min(), truth.min()), max(values.max(), truth.max())

        def across(x: Any) -> Any:
            return left + x / _END * (width - left - right)

        def up(y: Any) -> Any:
            return middle - 8 - (y - low) / (high - low) * (middle - 16 - top)

        def path(y: NDArray[Any], seen: NDArray[Any]) -> str:
            pen, steps = "M", []
            for place, number, there in zip(grid.tolist(), y.tolist(), seen, strict=True):
                if there:
                    steps.append(f"{pen}{across(place):.1f} {up(number):.1f}")
                pen = "L" if there else "M"
            return "".join(steps)

        line = {"fill": "none", "stroke_linejoin": "round"}
        step = across(grid[1]) - across(grid[0])
        parts = [
            tag("rect", x=x, y=top, width=step, height=middle - top, fill="url(#masked)")
            for x in (across(grid[reaches == 0]) - step / 2).clip(left).tolist()
        ]
        start, end = across(np.clip(self.query + np.array([-1, 1]) * self.bandwidth, 0, _END))
        window = {"x": start, "y": top, "width": end - start, "height": base - top}
        parts.append(tag("rect", **window, fill=LIGHT["weight"], fill_opacity=0.1))
        parts += [
            tag("line", x1=left, x2=width - right, y1=y, y2=y, stroke=LIGHT["grid"])
            for y in (middle, base)
        ]
        dashes = {"stroke": LIGHT["accent"], "stroke_width": 1.5, "stroke_dasharray": "5 4"}
        parts.append(tag("path", d=path(truth, np.ones(len(grid))), **dashes, **line))
        parts.append(
            tag("path", d=path(estimates, reaches), stroke=LIGHT["output"], stroke_width=3, **line)
        )
        x = across(self.query)
        parts.append(tag("line", x1=x, x2=x, y1=top, y2=base, stroke=LIGHT["query"]))
        place = {"x": min(x, width - 26), "y": top - 8, "text_anchor": "middle"}
        parts.append(tag("text", "query", **place, fill=LIGHT["query"], font_weight=600))
        for key, value, weight in zip(self.key_points, values, weights, strict=True):
            parts += _key(across(key), up(value), weight, weight * (base - middle - 12), base)
        if reached:
            dot = {"cx": across(self.query), "cy": up(weights @ values), "r": 7}
            parts.append(tag("circle", **dot, fill=LIGHT["output"], stroke=LIGHT["paper"]))
        parts += _labels(left, (left + width - right) / 2, middle, base, height)
        return svg(*parts, width=width, height=height)


def _key(x: float, y: float, weight: float, tall: float, base: float) -> list[Markup]:
    """Draw a key's noisy value, the bar of its weight and the key itself below the bar."""
    far = 1 if weight else 0.4
    color = LIGHT["key" if weight else "mask_line"]
    return [
        tag("circle", cx=x, cy=y, r=4, fill=LIGHT["value"], fill_opacity=far),
        tag("rect", x=x - 3, y=base - tall, width=6, height=tall, fill=LIGHT["weight"]),
        tag("circle", cx=x, cy=base + 6, r=2.5, fill=color),
    ]


def _labels(left: float, centre: float, middle: float, base: float, height: float) -> list[Markup]:
    """Write the ends of the axis of weights, and what the marks mean."""
    names = (
        "dots above: noisy values; dots below: their keys; bars: weights of the keys",
        "dashed: true function; line: estimate, with a dot at the query",
    )
    places = [
        *((text, left - 10, y, "end") for text, y in (("1", middle + 16), ("0", base + 4))),
        *(
            (text, centre, y, "middle")
            for text, y in zip(names, (height - 30, height - 12), strict=True)
        ),
    ]
    return [
        tag("text", text, x=x, y=y, text_anchor=anchor, fill=LIGHT["muted"])
        for text, x, y, anchor in places
    ]
