"""Sinusoidal positions against their formula, one number at a time."""

import math

import pytest
import torch

from attention_lib import PositionalEncoding, sinusoidal_positions
from attention_lib.positions import rotary_frequencies, rotary_scores, rotate_by_position
from tests.strategies import assert_close, inputs, numbers

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


@pytest.mark.parametrize(("position", "column", "d_model", "expected"), BY_HAND)
def test_positions_computed_by_hand(position, column, d_model, expected):
    """To float32's last digit, far from the start as well."""
    found = sinusoidal_positions(position + 1, d_model)[position, column].item()
    assert abs(found - expected) < 1e-7


def test_positions_agree_with_their_formula():
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


def test_single_steps_get_their_position():
    encode, x = PositionalEncoding(D_MODEL, max_len=LENGTH), numbers(2, LENGTH, D_MODEL)
    steps = [encode(x[:, i : i + 1], offset=i) for i in range(LENGTH)]
    assert torch.equal(torch.cat(steps, dim=1), encode(x))


def test_positions_are_not_saved_and_survive_the_meta_device():
    encode = PositionalEncoding(D_MODEL, max_len=LENGTH)
    assert not list(encode.parameters()) and not encode.state_dict()
    with torch.device("meta"):
        empty = PositionalEncoding(D_MODEL, max_len=LENGTH)
    empty.to("meta")
    assert empty.positions.is_meta
    empty.to_empty(device="cpu").reset_parameters()
    assert torch.equal(empty.positions, encode.positions)


def test_gradient_agrees_with_finite_differences():
    (x,) = inputs((2, 3, D_MODEL))
    assert torch.autograd.gradcheck(PositionalEncoding(D_MODEL), x)


# ---------------------------------------------------------------- rotary positions

# The published numbers of others: what they rotate, positions 0, 1, 2 …, pairs (2j, 2j+1).
CS336 = [0.15002725, -0.07208671, -0.19782162, 0.52186924]  # out[0, 1, :4], MIT licence
ROFORMER = [  # out[0, 0, row, :8] of Hugging Face's test, Apache 2
    (1, [-0.2012, 0.8897, 0.0263, 0.9401, 0.2074, 0.9463, 0.3481, 0.9343]),
    (5, [3.9859, -2.1580, -0.7984, -4.4904, -4.1181, -2.0252, -4.4782, 1.1253]),
]


def test_rotating_no_vectors_gives_none():
    assert rotate_by_position(torch.ones(2, 0, 4)).shape == (2, 0, 4)


def test_frequencies_are_made_on_the_cpu_whatever_the_default():
    with torch.device("meta"):
        assert rotary_frequencies(4).device.type == "cpu"


def test_rotation_agrees_with_the_published_numbers():
    torch.manual_seed(4)
    out = rotate_by_position(torch.randn(4, 12, 64))
    assert out[0, 1, :4].tolist() == pytest.approx(CS336, abs=5e-7)
    x = torch.arange(2 * 12 * 16 * 64, dtype=torch.float32).reshape(2, 12, 16, 64) / 100
    for row, numbers_there in ROFORMER:
        assert rotate_by_position(x)[0, 0, row, :8].tolist() == pytest.approx(
            numbers_there, abs=1e-4
        )


def test_frequencies_agree_with_the_published_numbers():
    frequencies = rotary_frequencies(128).tolist()
    assert frequencies[:4] == pytest.approx([1, 0.86596, 0.74989, 0.64938], abs=1e-5)
    assert frequencies[-1] == pytest.approx(1.1548e-4, rel=1e-4)


@pytest.mark.parametrize("d_k", [2, 12])
def test_frequencies_have_all_digits_of_float64(d_k):
    expected = [1234.567 ** (-2 * j / d_k) for j in range(d_k // 2)]
    assert rotary_frequencies(d_k, base=1234.567).tolist() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("base", [10_000, 50])
@pytest.mark.parametrize("layout", ["pairs", "halves"])
def test_each_pair_turns_like_a_complex_number(layout, base):
    x = numbers(3, 5, 6)
    positions, options = [0, 1, 2, 7, 100], {} if base == 10_000 else {"base": base}
    turned = rotate_by_position(x, torch.tensor(positions), layout=layout, **options)
    for i, position in enumerate(positions):
        for j, speed in enumerate([1, base ** (-1 / 3), base ** (-2 / 3)]):
            a, b = (2 * j, 2 * j + 1) if layout == "pairs" else (j, j + 3)
            before = complex(x[0, i, a], x[0, i, b])
            after = before * complex(math.cos(position * speed), math.sin(position * speed))
            assert complex(turned[0, i, a], turned[0, i, b]) == pytest.approx(after, abs=1e-5)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str
)
def test_rotation_in_every_dtype(dtype):
    exact = numbers(2, 6, 7).mT  # not contiguous
    turned = rotate_by_position(exact.to(dtype))
    assert turned.dtype == dtype and turned.shape == exact.shape
    assert_close(turned, rotate_by_position(exact).to(dtype))
    assert torch.allclose(turned.double().norm(dim=-1), exact.norm(dim=-1), rtol=2e-2)


def test_the_score_depends_on_the_difference_alone():
    queries, keys = numbers(2, 5, 6).double(), numbers(2, 7, 6).double()
    near = rotary_scores(queries, keys, torch.arange(5), torch.arange(7))
    far = rotary_scores(queries, keys, torch.arange(5) + 100_000, torch.arange(7) + 100_000)
    assert torch.allclose(near, far, atol=1e-9)
    other = rotary_scores(queries, keys, torch.arange(5) + 1, torch.arange(7))
    assert not torch.allclose(near, other, atol=1e-3)


def test_by_default_the_last_query_stands_at_the_last_key():
    x = numbers(2, 7, 6)
    whole = rotary_scores(x, x, torch.arange(7), torch.arange(7))
    assert torch.allclose(rotary_scores(x[:, -2:], x), whole[:, -2:], atol=1e-6)


@pytest.mark.parametrize(
    "given", [{}, {"base": 50.0}, {"layout": "halves"}, {"scale": 0.3}], ids=str
)
def test_scores_are_the_products_of_turned_vectors(given):
    """With several heads, and with each choice handed on."""
    queries, keys = numbers(2, 3, 5, 6), numbers(2, 3, 7, 6, seed=1)
    scale = given.get("scale", 1 / math.sqrt(6))
    turn = {name: choice for name, choice in given.items() if name != "scale"}
    turned = rotate_by_position(queries, torch.arange(2, 7), **turn)
    expected = scale * turned @ rotate_by_position(keys, **turn).mT
    assert_close(rotary_scores(queries, keys, **given), expected, 1e-13)


def test_two_layouts_are_one_permutation_apart():
    queries, keys = numbers(2, 5, 8), numbers(2, 7, 8)
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
    pairs = rotary_scores(queries, keys)
    halves = rotary_scores(queries[..., order], keys[..., order], layout="halves")
    assert torch.allclose(pairs, halves, atol=1e-6)
    assert not torch.allclose(pairs, rotary_scores(queries, keys, layout="halves"), atol=1e-2)
