"""Soft lookup: a query among four keys, and the output inside the hull of their values."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from attention_lib._pictures import convex_hull
from attention_lib.palette import LIGHT
from workbook.figures._figure import Figure
from workbook.figures._markup import Markup, svg, tag
from workbook.figures._rounding import fixed, short
from workbook.figures._traits import Numbers, Real, refusal

_COUNT = 4
_POINTS: dict[str, Any] = {"shape": (_COUNT, 2), "min": -2, "max": 2}


class _Tokens(traitlets.List[Any]):
    def validate(self, obj: Any, value: Any) -> Any:
        strings = isinstance(value, (list, tuple)) and all(isinstance(x, str) for x in value)
        if not strings or len(value) != _COUNT or not all(x.strip() for x in value):
            raise refusal(obj, self.name, f"{_COUNT} strings that are not blank", value)
        return list(value)


class SoftLookup(Figure):
    r"""A query in the plane, four keys that answer it, and the mixture of their values.

    The score of a key is :math:`\mathbf q^\top\mathbf k_i / \text{temperature}`, the output
    :math:`\sum_i \alpha_i \mathbf v_i`. As it is by default, the query gives the weights
    0.75, 0.15, 0.07 and 0.03.

    Parameters
    ----------
    query_x, query_y : float
        The query, each from -2 to 2.
    temperature : float
        1/32 (nearly a hard lookup) to 32 (nearly the mean of the values).
    key_points, value_points : sequence of (float, float)
        Four points each, coordinates from -2 to 2.
    tokens : sequence of str
        Four names.

    Examples
    --------
    >>> SoftLookup(temperature=0.25)
    SoftLookup(query_x=1.0, query_y=0.0, temperature=0.25)
    """

    _script = "soft_lookup.js"
    _title = "Soft lookup"
    _task = "Leave the query where it is, and make another word win by dragging its key."

    query_x = Real(1.0, min=-2.0, max=2.0).tag(sync=True)
    query_y = Real(0.0, min=-2.0, max=2.0).tag(sync=True)
    temperature = Real(1.0, min=1 / 32, max=32.0).tag(sync=True)
    key_points = Numbers(
        [[1.712, 0.4], [0.103, 1.4], [-0.659, -1.3], [-1.507, 0.5]], **_POINTS
    ).tag(sync=True)
    value_points = Numbers([[1.2, 1.5], [-1.5, 1.1], [-1.1, -1.4], [1.6, -1.1]], **_POINTS).tag(
        sync=True
    )
    tokens = _Tokens(["rén", "gōng", "zhì", "néng"]).tag(sync=True)

    def _weights(self) -> NDArray[Any]:
        scores = np.array(self.key_points) @ [self.query_x, self.query_y] / self.temperature
        powers = np.exp(scores - scores.max())
        return np.asarray(powers / powers.sum())

    def words(self) -> str:
        weights = self._weights()
        x, y = weights @ np.array(self.value_points)
        shares = ", ".join(
            f"{token} {fixed(weight)}" for token, weight in zip(self.tokens, weights, strict=True)
        )
        top = weights.max()
        if top > 0.99:
            winner = self.tokens[int(weights.argmax())]
            kind = f"Nearly a hard lookup: it sits on the value of {winner}."
        elif top < 1 / _COUNT + 0.01:
            kind = "Nearly the mean: every value has the same share."
        else:
            kind = "It lies inside the tinted area between the values."
        return (
            f"Query ({fixed(self.query_x, 2)}, {fixed(self.query_y, 2)}), temperature "
            f"{short(self.temperature)}. Weights: {shares}. Output ({fixed(x)}, {fixed(y)}). {kind}"
        )

    def picture(self) -> Markup:
        weights = self._weights()
        output = weights @ np.array(self.value_points)
        query = (self.query_x, self.query_y)
        left, right = _Plane(150, "queries and keys"), _Plane(480, "values and output")
        parts = [*left.frame(), *right.frame()]
        parts.append(right.polygon(convex_hull(self.value_points)))
        for token, key, value, weight in zip(
            self.tokens, self.key_points, self.value_points, weights.tolist(), strict=True
        ):
            parts.append(left.line(query, key, "weight", 1 + 11 * weight))
            parts.append(right.line(output, value, "weight", 1 + 11 * weight))
            parts += left.dot(key, "key", token)
            parts += right.dot(value, "value", f"{token} {fixed(weight, 2)}")
        parts += left.dot(query, "query", "query", nearby=self.key_points)
        parts += right.dot(output, "output", "output", nearby=self.value_points)
        return svg(*parts, width=640, height=310)


class _Plane:
    """Places points from -2 to 2 on a square of the still picture."""

    def __init__(self, centre: float, name: str) -> None:
        self.centre, self.name = centre, name

    def at(self, point: Any) -> tuple[float, float]:
        return self.centre + 62 * point[0], 145 - 62 * point[1]

    def frame(self) -> tuple[Markup, ...]:
        (x1, y1), (x2, y2) = self.at((-2, 2)), self.at((2, -2))
        across = tag("line", x1=x1, x2=x2, y1=145, y2=145, stroke=LIGHT["grid"])
        down = tag("line", x1=self.centre, x2=self.centre, y1=y1, y2=y2, stroke=LIGHT["grid"])
        place = {"x": self.centre, "y": 298, "text_anchor": "middle"}
        return across, down, tag("text", self.name, **place, fill=LIGHT["muted"])

    def line(self, start: Any, end: Any, color: str, width: float) -> Markup:
        (x1, y1), (x2, y2) = self.at(start), self.at(end)
        ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        return tag("line", **ends, stroke=LIGHT[color], stroke_width=width, stroke_opacity=0.55)

    def polygon(self, points: Iterable[Any]) -> Markup:
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.at, points))
        return tag("polygon", points=corners, fill=LIGHT["value"], fill_opacity=0.12)

    def dot(
        self, point: Any, color: str, name: str, nearby: Sequence[Any] = ()
    ) -> tuple[Markup, Markup]:
        """A named point. Names point outward; with others nearby, away from the nearest one's."""
        x, y = self.at(point)
        above = y < 145
        if nearby:
            above = self.at(min(nearby, key=lambda other: math.dist(other, point)))[1] >= 145
        height = y - 12 if above else y + 22
        label = {"x": x, "y": height, "text_anchor": "middle", "fill": LIGHT[color]}
        return tag("circle", cx=x, cy=y, r=7, fill=LIGHT[color]), tag("text", name, **label)
