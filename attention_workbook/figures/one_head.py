"""One head in one's hands: three words, and the matrices for queries, keys and values."""

from typing import Any

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Numbers

_MATRIX: dict[str, Any] = {"shape": (2, 2), "min": -5, "max": 5}


class OneHead(Figure):
    r"""Three words of two numbers each, and who finds whom through three matrices.

    The weights are :math:`\operatorname{softmax}(\mathbf Q\mathbf K^\top/\sqrt 2)`, with
    :math:`\mathbf Q = \mathbf X\mathbf W_q` and keys and values alike. As it is by default, every
    word finds itself.

    Parameters
    ----------
    W_q, W_k, W_v : sequence of (float, float)
        The matrices, two rows of two numbers from -5 to 5.
    vectors : sequence of (float, float)
        The vectors of "it", "animal" and "street", numbers from -5 to 5.

    Examples
    --------
    >>> OneHead(W_q=[[0, 3], [3, 0]]).W_q
    [[0.0, 3.0], [3.0, 0.0]]
    """

    _script = "one_head.js"

    W_q = Numbers([[3.0, 0.0], [0.0, 3.0]], **_MATRIX).tag(sync=True)
    W_k = Numbers([[1.0, 0.0], [0.0, 1.0]], **_MATRIX).tag(sync=True)
    W_v = Numbers([[1.0, 0.0], [0.0, 1.0]], **_MATRIX).tag(sync=True)
    vectors = Numbers([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], shape=(3, 2), min=-5, max=5).tag(
        sync=True
    )
