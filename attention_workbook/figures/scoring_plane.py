"""Scoring plane: a query among keys, and the key that each of three scores crowns."""

from typing import Any

import numpy as np
import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Real, refusal

_REACH = 3


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
    """A query and keys in the plane, and the key that each of three scores crowns.

    A line, two rays and a circle show where a key would have the best score under the dot product,
    the cosine and the Gaussian. The plane is tinted where a query makes two of them agree, and
    darker where it makes all three.

    Parameters
    ----------
    query_x, query_y : float
        The query, each from -3 to 3.
    key_points : sequence of (str, float, float)
        Two to eight keys: name and coordinates, which are from -3 to 3.

    Examples
    --------
    >>> ScoringPlane(query_y=1.5)
    ScoringPlane(query_x=2.0, query_y=1.5)
    """

    _script = "scoring_plane.js"

    query_x = Real(2.0, min=-_REACH, max=_REACH).tag(sync=True)
    query_y = Real(0.0, min=-_REACH, max=_REACH).tag(sync=True)
    key_points = _NamedPoints(
        [["ant", 1.0, 0.0], ["animal", 2.0, 0.5], ["street", 3.0, 2.0], ["river", 2.5, -2.0]]
    ).tag(sync=True)
