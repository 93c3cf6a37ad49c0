"""Scoring plane: a query among keys, and what each score function makes of every place."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from attention_lib.palette import LIGHT, SCORE_MAP
from workbook.figures._figure import Figure
from workbook.figures._markup import Markup, map_color, svg, tag
from workbook.figures._rounding import fixed
from workbook.figures._traits import Numbers, OneOf, Real, refusal

_REACH = 3
_KINDS = {
    "dot": "A step across the query changes no dot product.",
    "scaled dot": "The order of the dot product, with milder weights.",
    "cosine": "The cosine ignores how long query and keys are.",
    "Gaussian": "The Gaussian score knows the distance alone.",
    "bilinear": "The dot product, after W has moved the query.",
    "additive": "Where tanh is flat, a step changes next to nothing.",
}


class _NamedPoints(traitlets.List[Any]):
    """Two to eight of (name, x, y)."""

    def validate(self, obj: Any, value: Any) -> Any:
        try:
            points = [[name, float(x), float(y)] for name, x, y in value]
            good = 2 <= len(points) <= 8 and all(
                isinstance(name, str) and name.strip() and max(abs(x), abs(y)) <= _REACH
                for name, x, y in points
            )
        except (TypeError, ValueError):
            good = False
        if not good or np.isnan([point[1:] for point in points]).any():
            expected = f"2 to 8 of (name, x, y), coordinates from -{_REACH} to {_REACH}"
            raise refusal(obj, self.name, expected, value)
        return points


class ScoringPlane(Figure):
    r"""A query and keys in the plane; the score of every place, and the weights of the keys.

    The colours show what score a key would have at each place: a contour joins the places
    that the score function cannot tell apart. As it is by default, the figure shows the query,
    the keys and the matrices of the chapter on score functions.

    Parameters
    ----------
    query_x, query_y : float
        The query, each from -3 to 3.
    score : str
        ``"dot"``, ``"scaled dot"`` (divided by :math:`\sqrt 2`), ``"cosine"``, ``"Gaussian"``
        (of bandwidth 1), ``"bilinear"`` or ``"additive"``.
    key_points : sequence of (str, float, float)
        Two to eight keys: name and coordinates, which are from -3 to 3.
    W : sequence
        Matrix of the bilinear score :math:`\mathbf q^\top\mathbf W\mathbf k`, shape ``(2, 2)``.
    W_q, W_k, w_v : sequence
        Of the additive score
        :math:`\mathbf w_v^\top\tanh(\mathbf W_q\mathbf q+\mathbf W_k\mathbf k)`, shapes
        ``(2, 2)``, ``(2, 2)`` and ``(2,)``. Numbers of matrices are from -2 to 2.

    Examples
    --------
    >>> ScoringPlane(score="cosine")
    ScoringPlane(query_x=2.0, query_y=0.0, score='cosine')
    """

    _script = "scoring_plane.js"
    _title = "Six ways to score"
    _task = "Drag the query until all six scores crown the same key."

    query_x = Real(2.0, min=-_REACH, max=_REACH).tag(sync=True)
    query_y = Real(0.0, min=-_REACH, max=_REACH).tag(sync=True)
    score = OneOf(list(_KINDS), "dot").tag(sync=True)
    key_points = _NamedPoints(
        [["short", 1.0, 0.0], ["near", 2.0, 0.5], ["long", 3.0, 2.0], ["away", -1.0, 1.0]]
    ).tag(sync=True)
    W = Numbers([[-1.0, 1.0], [0.0, 1.0]], shape=(2, 2), min=-2, max=2).tag(sync=True)
    W_q = Numbers([[-1.0, 0.0], [0.0, 1.0]], shape=(2, 2), min=-2, max=2).tag(sync=True)
    W_k = Numbers([[1.0, 0.0], [0.0, 1.0]], shape=(2, 2), min=-2, max=2).tag(sync=True)
    w_v = Numbers([1.0, 1.0], shape=(2,), min=-2, max=2).tag(sync=True)

    def _scores(self, x: Any, y: Any) -> Any:
        """Score keys at ``x``, ``y``, arrays of one shape."""
        q_x, q_y = self.query_x, self.query_y
        if self.score == "Gaussian":
            return -((x - q_x) ** 2 + (y - q_y) ** 2) / 2
        if self.score == "additive":
            hidden_q = np.array(self.W_q) @ [q_x, q_y]
            return sum(
                w * np.tanh(hidden + a * x + b * y)
                for w, hidden, (a, b) in zip(self.w_v, hidden_q, self.W_k, strict=True)
            )
        if self.score == "bilinear":
            q_x, q_y = self._moved()
        dots = q_x * x + q_y * y
        if self.score == "scaled dot":
            return dots / np.sqrt(2)
        if self.score == "cosine":
            lengths = np.hypot(q_x, q_y) * np.hypot(x, y)
            return np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
        return dots

    def _moved(self) -> tuple[float, float]:
        (a, b), (c, d) = self.W
        return self.query_x * a + self.query_y * c, self.query_x * b + self.query_y * d

    def _measure(self) -> tuple[list[str], NDArray[Any], NDArray[Any]]:
        """Return the names of the keys, their scores and their weights."""
        names = [name for name, *_ in self.key_points]
        scores = self._scores(*np.array([point for _, *point in self.key_points]).T)
        powers = np.exp(scores - scores.max())
        return names, scores, powers / powers.sum()

    def words(self) -> str:
        names, scores, weights = self._measure()
        shares = ", ".join(
            f"{name} {fixed(weight)}" for name, weight in zip(names, weights, strict=True)
        )
        positive = weights[weights > 0]
        entropy = (positive * -np.log(positive)).sum()
        if np.ptp(scores) < 1e-9:
            kind = "All keys have the same score, so they share equally."
        else:
            kind = _KINDS[self.score]
        return (
            f"Query ({fixed(self.query_x, 2)}, {fixed(self.query_y, 2)}), score: {self.score}. "
            f"Weights: {shares}. The largest is {fixed(weights.max())}, the entropy "
            f"{fixed(entropy)}. {kind}"
        )

    def picture(self) -> Markup:
        width, height, unit = 640, 400, 60
        middle = np.array([width / 2, height / 2])

        def at(x: float, y: float) -> Any:
            return middle + unit * np.array([x, -y])

        parts = [tag("g", *self._field(width, height, unit), opacity=0.6)]
        axis = {"stroke": LIGHT["ink"], "stroke_opacity": 0.25}
        parts.append(tag("line", x1=0, x2=width, y1=middle[1], y2=middle[1], **axis))
        parts.append(tag("line", x1=middle[0], x2=middle[0], y1=0, y2=height, **axis))
        halo = {"paint_order": "stroke", "stroke": LIGHT["paper"], "stroke_linejoin": "round"}
        query = at(self.query_x, self.query_y)
        names, _, weights = self._measure()
        ends = {"x1": query[0], "y1": query[1]}
        from_origin = {"x2": middle[0], "y2": middle[1], "stroke": LIGHT["query"]}
        parts.append(tag("line", **ends, **from_origin, stroke_width=2))
        points = [at(*point) for _, *point in self.key_points]
        for (x, y), weight in zip(points, weights, strict=True):
            line = {**ends, "x2": x, "y2": y, "stroke_width": 1.5 + 11 * weight}
            parts.append(tag("line", **line, stroke=LIGHT["weight"], stroke_opacity=0.8))
        texts = [f"{name} {fixed(weight, 2)}" for name, weight in zip(names, weights, strict=True)]
        dots = zip([query, *points], ["query", *texts], strict=True)
        for i, ((x, y), text) in enumerate(dots):
            fill = LIGHT["key" if i else "query"]
            parts.append(
                tag("circle", cx=x, cy=y, r=7 if i else 9, fill=fill, stroke=LIGHT["paper"])
            )
            place = {"x": min(max(x, 40), width - 40), "y": y - 13 if i else y + 25}
            weighty = {"font_weight": 600, "text_anchor": "middle", "stroke_width": 4}
            parts.append(tag("text", text, **place, **weighty, fill=LIGHT["ink"], **halo))
        return svg(*parts, width=width, height=height)

    def _field(self, width: int, height: int, unit: float) -> Iterator[Markup]:
        """Yield the bands of equal score as paths, each made of rectangles of one row."""
        limit = {"cosine": 1.0, "additive": max(np.abs(self.w_v).sum(), 1e-9)}.get(self.score, 10.0)
        across, rise = np.arange(1.0, width, 2), np.arange(2.0, height, 4)
        x, y = np.meshgrid((across - width / 2) / unit, (height / 2 - rise) / unit)
        share = np.clip(self._scores(x, y) / limit, -1, 1).round(9)
        levels = np.rint(10 * share).astype(int)
        runs: dict[int, list[str]] = {}
        for row, line in enumerate(levels):
            starts = np.flatnonzero(np.diff(line, prepend=99))
            for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
                run = f"M{2 * start} {4 * row}h{2 * (end - start)}v4h{-2 * (end - start)}"
                runs.setdefault(int(line[start]), []).append(run)
        for level, paths in sorted(runs.items()):
            yield tag("path", d="".join(paths), fill=map_color((level + 10) / 20, SCORE_MAP))
