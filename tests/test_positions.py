"""Sinusoidal positions against their formula, one number at a time."""

import math

import pytest
import torch

from attention_lib import PositionalEncoding, sinusoidal_positions
from tests.strategies import assert_close, assert_refused, inputs, meta, numbers

LENGTH, D_MODEL = 11, 6

# position, column, width, number worked out by hand
BY_HAND = [
    (0, 0, 4, 0.0),
    (0, 3, 4, 1.0),
    (1, 0, 4, math.sin(1)),
    (1, 1, 4, math.cos(1)),
    (3, 2, 4, math.sin(3 / 100)),
    (3, 3, 4, math.cos(3 / 100)),
    (10_000, 2, 4, math.sin(100)),
    (5, 1, 2, math.cos(5)),
]

X = torch.ones(2, 3, 4)

# call, exception, words that must occur
REFUSED = [
    (lambda: sinusoidal_positions(0, 4), ValueError, ["length", "at least 1", "0"]),
    (lambda: sinusoidal_positions(2.0, 4), TypeError, ["length", "whole number", "2.0"]),
    (lambda: sinusoidal_positions(2, -2), ValueError, ["d_model", "at least 1", "-2"]),
    (lambda: sinusoidal_positions(2, 5), ValueError, ["d_model", "even", "got 5"]),
    (lambda: PositionalEncoding(5), ValueError, ["d_model", "even", "got 5"]),
    (lambda: PositionalEncoding(4, max_len=0), ValueError, ["max_len", "at least 1", "0"]),
    (lambda: PositionalEncoding(4, max_len="9"), TypeError, ["max_len", "whole number", "'9'"]),
    (lambda: PositionalEncoding(4, dropout=2.0), ValueError, ["dropout", "2.0"]),
    (lambda: PositionalEncoding(4)(X[0, 0]), ValueError, ["x", "2 axes", "(4,)"]),
    (lambda: PositionalEncoding(6)(X), ValueError, ["x", "6", "d_model", "(2, 3, 4)"]),
    (lambda: PositionalEncoding(4)(X.int()), TypeError, ["x", "floating-point", "torch.int32"]),
    (lambda: PositionalEncoding(4)([1.0]), TypeError, ["x", "torch.Tensor", "list"]),
    (
        lambda: PositionalEncoding(4, max_len=2)(X),
        ValueError,
        ["x", "at most", "max_len = 2", "(2, 3, 4)"],
    ),
    (lambda: PositionalEncoding(4)(meta(2, 3, 4)), ValueError, ["x", "device", "cpu", "got meta"]),
]


@pytest.mark.parametrize(("call", "exception", "words"), REFUSED)
def test_refused_in_words(call, exception, words):
    assert_refused(call, exception, words)


@pytest.mark.parametrize(("position", "column", "d_model", "expected"), BY_HAND)
def test_by_hand(position, column, d_model, expected):
    """To float32's last digit, far from the start as well."""
    found = sinusoidal_positions(position + 1, d_model)[position, column].item()
    assert abs(found - expected) < 1e-7


def test_formula():
    made = sinusoidal_positions(LENGTH, D_MODEL)
    assert made.shape == (LENGTH, D_MODEL) and made.dtype == torch.get_default_dtype()
    for position in range(LENGTH):
        for pair in range(D_MODEL // 2):
            angle = position / 10_000 ** (2 * pair / D_MODEL)
            found = made[position, 2 * pair : 2 * pair + 2].tolist()
            assert found == pytest.approx([math.sin(angle), math.cos(angle)], abs=1e-7)


def test_moving_by_an_offset_rotates_each_pair():
    """The same rotation from every position, which is what tells attention a distance."""
    offset, made = 4, sinusoidal_positions(LENGTH, D_MODEL).double()
    for pair in range(D_MODEL // 2):
        angle = offset / 10_000 ** (2 * pair / D_MODEL)
        rotation = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]],
            dtype=torch.float64,
        )
        waves = made[:, 2 * pair : 2 * pair + 2]
        assert_close(waves[offset:], waves[:-offset] @ rotation.T, 1e-6)


def test_no_two_positions_are_alike():
    made = sinusoidal_positions(500, D_MODEL)
    distances = torch.cdist(made, made) + 9 * torch.eye(500)
    assert distances.min() > 1e-3


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_encoding_adds_the_first_positions(dtype):
    encode = PositionalEncoding(D_MODEL, max_len=LENGTH)
    x = numbers(2, 3, 5, D_MODEL, dtype=dtype)
    before = x.clone()
    encoded = encode(x)
    assert encoded.dtype == dtype and torch.equal(x, before)
    assert torch.equal(encoded, x + sinusoidal_positions(5, D_MODEL).to(dtype))
    assert encode(torch.zeros(LENGTH, D_MODEL)).shape == (LENGTH, D_MODEL)


def test_encoding_drops_in_training_only():
    encode = PositionalEncoding(D_MODEL, dropout=1.0)
    x = torch.ones(LENGTH, D_MODEL)
    assert not encode(x).any()
    assert torch.equal(encode.eval()(x), x + sinusoidal_positions(LENGTH, D_MODEL))


def test_encoding_has_nothing_to_learn_or_to_save_and_moves():
    encode = PositionalEncoding(D_MODEL)
    assert not list(encode.parameters()) and not encode.state_dict()
    assert encode.to("meta").positions.device.type == "meta"


def test_gradient():
    (x,) = inputs((2, 3, D_MODEL))
    assert torch.autograd.gradcheck(PositionalEncoding(D_MODEL), x)
