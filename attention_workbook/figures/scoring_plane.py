"""Scoring plane: a query among keys, and what each score function makes of every place."""

from typing import Any

import numpy as np
import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Numbers, OneOf, Real, refusal

_REACH = 3
_KINDS = ("dot", "scaled dot", "cosine", "Gaussian", "bilinear", "additive")


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
