"""What a refusal of a picture says, and how arrays are copied."""

import numpy as np
import pytest
import torch

from attention_lib.plots import _arrays
from tests.plots.drawing import NAN

ONES, ROWS = np.ones((3, 3)), "(rows, 2)"
REFUSED = [
    (
        _arrays.as_array,
        ("x", [1.0], ROWS, "(2, n)"),
        "x: expected shape (rows, 2) or (2, n), got (1,)",
    ),
    (_arrays.as_array, ("x", ONES, ROWS), "x: expected shape (rows, 2), got (3, 3)"),
    (_arrays.as_array, ("x", [[1.0], []], ROWS), "x: expected shape (rows, 2), got a ragged list"),
    (_arrays.as_array, ("x", [1j], "(n,)"), "x: expected real numbers, got complex128"),
    (_arrays.as_finite, ("x", [NAN], "(n,)"), "x: expected finite numbers, got NaN or infinity"),
    (_arrays.as_weights, ([1.5], "(n,)"), "weights: expected numbers from 0 to 1, got 1.5"),
    (_arrays.as_booleans, ([1],), "mask: expected booleans (True = may attend), got int64"),
    (_arrays.as_mask, ([True, False], (2, 3)), "mask: expected shape (2, 3), got (2,)"),
    (_arrays.as_strings, ("k", "ab", 2), "k: expected a sequence of 2 strings, got 'ab'"),
]


@pytest.mark.parametrize(("check", "given", "says"), REFUSED, ids=[row[2] for row in REFUSED])
def test_a_refusal_says_what_was_expected_and_what_came(check, given, says):
    kind = TypeError if "real numbers" in says or "booleans" in says else ValueError
    with pytest.raises(kind) as refusal:
        check(*given)
    assert str(refusal.value) == says


def test_arrays_are_copied_in_float64():
    given = torch.tensor([1.0, 2.0], dtype=torch.bfloat16, requires_grad=True)
    array = _arrays.as_array("x", given, "(rows,)")
    assert (array.dtype, array.tolist()) == (np.float64, [1.0, 2.0])
    mine = np.array([1.0])
    assert not np.shares_memory(_arrays.as_array("x", mine, "(rows,)"), mine)


def test_weights_may_round_past_1():
    assert _arrays.as_weights([1.0005], "(len_k,)").tolist() == [1.0005]
