"""Soft lookup: a query among four keys, and the output inside the hull of their values."""

from typing import Any

import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Numbers, Real, refusal

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
