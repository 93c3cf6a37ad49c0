"""What a picture refuses, in which words."""

import numpy as np
import pytest
import torch

from attention_lib.plots import _arrays
from tests.plots.drawing import NAN

SAID = {
    "rank": (
        lambda: _arrays.as_array("x", [1.0], "(rows, 2)", "(2, rows)"),
        ValueError,
        "x: expected shape (rows, 2) or (2, rows), got (1,)",
    ),
    "size": (
        lambda: _arrays.as_array("x", np.ones((3, 3)), "(rows, 2)"),
        ValueError,
        "x: expected shape (rows, 2), got (3, 3)",
    ),
    "ragged": (
        lambda: _arrays.as_array("x", [[1.0, 2.0], [3.0]], "(rows, 2)"),
        ValueError,
        "x: expected shape (rows, 2), got a ragged list",
    ),
    "complex": (
        lambda: _arrays.as_array("x", [1j], "(rows,)"),
        TypeError,
        "x: expected real numbers, got complex128",
    ),
    "nan": (
        lambda: _arrays.as_finite("x", [NAN], "(rows,)"),
        ValueError,
        "x: expected finite numbers, got NaN or infinity",
    ),
    "weight": (
        lambda: _arrays.as_weights([0.5, 1.5], "(len_k,)"),
        ValueError,
        "weights: expected numbers from 0 to 1, got 1.5",
    ),
    "integer mask": (
        lambda: _arrays.as_booleans([1, 0]),
        TypeError,
        "mask: expected booleans (True = may attend), got int64",
    ),
    "mask of another shape": (
        lambda: _arrays.as_mask([True, False], (2, 3)),
        ValueError,
        "mask: expected shape (2, 3), got (2,)",
    ),
    "not positive": (
        lambda: _arrays.as_positive("top", 0),
        ValueError,
        "top: expected a positive number, got 0",
    ),
    "one string": (
        lambda: _arrays.as_strings("keys", "ab", 2),
        ValueError,
        "keys: expected a sequence of 2 strings, got 'ab'",
    ),
}


@pytest.mark.parametrize(("refused", "error", "says"), SAID.values(), ids=SAID)
def test_a_refusal_says_what_was_expected_and_what_came(refused, error, says):
    with pytest.raises(error) as told:
        refused()
    assert str(told.value) == says


def test_arrays_are_new_ones_in_float64():
    given = torch.tensor([1.0, 2.0], dtype=torch.bfloat16, requires_grad=True)
    array = _arrays.as_array("x", given, "(rows,)")
    assert (array.dtype, array.tolist()) == (np.float64, [1.0, 2.0])
    mine = np.array([1.0])
    assert not np.shares_memory(_arrays.as_array("x", mine, "(rows,)"), mine)


def test_weights_may_round_past_1():
    assert _arrays.as_weights([1.0005], "(len_k,)").tolist() == [1.0005]
