"""The graders of "Tell attention the order": right answers in many styles, and wrong ones."""

import math

import torch

from attention_lib.checks import positions as check
from attention_lib.positions import rotate_by_position, sinusoidal_positions
from tests.checks.tables import judged


def speeds(x):
    return 10_000.0 ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])


def by_slices(x, positions):
    angles = positions[:, None] * speeds(x)
    cos, sin, turned = angles.cos().to(x), angles.sin().to(x), torch.empty_like(x)
    turned[:, 0::2] = x[:, 0::2] * cos - x[:, 1::2] * sin
    turned[:, 1::2] = x[:, 0::2] * sin + x[:, 1::2] * cos
    return turned


def by_complex_numbers(x, positions):
    pairs = torch.view_as_complex(x.double().reshape(len(x), -1, 2))
    angles = positions.double()[:, None] * speeds(x)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2).to(x)


def by_loops(x, positions):
    turned = x.clone()
    for i, position in enumerate(positions.tolist()):
        for j in range(x.shape[-1] // 2):
            a, b = x[i, 2 * j].item(), x[i, 2 * j + 1].item()
            angle = position * 10_000 ** (-2 * j / x.shape[-1])
            turned[i, 2 * j] = a * math.cos(angle) - b * math.sin(angle)
            turned[i, 2 * j + 1] = a * math.sin(angle) + b * math.cos(angle)
    return turned


def by_matrices(x, positions):
    angles = positions.double()[:, None] * speeds(x)
    cos, sin = angles.cos(), angles.sin()
    matrices = torch.stack([cos, -sin, sin, cos], dim=-1).unflatten(-1, (2, 2)).to(x)
    return (matrices @ x.reshape(len(x), -1, 2, 1)).reshape(x.shape)


def altered(angle=None, sin=None, join=None):
    """The solution with one part of it changed."""

    def turn(x, positions):
        angles = (angle or (lambda x, p: p[:, None] * speeds(x)))(x, positions.double())
        c, s = angles.cos().to(x), (sin or torch.sin)(angles).to(x)
        a, b = x[:, 0::2], x[:, 1::2]
        pair = [a * c - b * s, a * s + b * c]
        return join(pair) if join else torch.stack(pair, dim=-1).flatten(-2)

    return turn


def by_twice_the_angles(x, positions):
    angles = positions.double()[:, None] * speeds(x)
    cos, sin = (torch.cat([f(angles)] * 2, dim=-1).to(x) for f in (torch.cos, torch.sin))
    crossed = torch.stack([-x[:, 1::2], x[:, 0::2]], dim=-1).reshape(x.shape)
    return x * cos + crossed * sin


# Positions further on.


def shifted(positions, delta, *, speeds=None, sign=1, swapped=False):
    d_model = positions.shape[-1]
    even = torch.arange(0, d_model, 2, dtype=positions.dtype)
    angle = sign * delta * (10000.0 ** (-even / d_model) if speeds is None else speeds(d_model))
    sin, cos = positions[:, 0::2], positions[:, 1::2]
    if swapped:
        sin, cos = cos, sin
    moved = [sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()]
    return torch.stack(moved[::-1] if swapped else moved, dim=-1).flatten(-2)


def shifted_by_complex_numbers(positions, delta):
    d_model = positions.shape[-1]
    angle = -delta * 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
    pairs = torch.view_as_complex(positions.double().reshape(-1, d_model // 2, 2).contiguous())
    return torch.view_as_real(pairs * torch.exp(1j * angle)).flatten(-2).to(positions.dtype)


def shifted_by_matrices(positions, delta):
    d_model = positions.shape[-1]
    rotation = torch.zeros(d_model, d_model, dtype=positions.dtype)
    for j in range(0, d_model, 2):
        angle = torch.tensor(delta * 10000 ** (-j / d_model), dtype=positions.dtype)
        rotation[j, j] = rotation[j + 1, j + 1] = angle.cos()
        rotation[j, j + 1], rotation[j + 1, j] = -angle.sin(), angle.sin()
    return positions @ rotation


def shifted_by_column(positions, delta):
    moved = positions.clone()
    for j in range(0, positions.shape[1], 2):
        angle = delta / 10000 ** (j / positions.shape[1])
        sin, cos = positions[:, j], positions[:, j + 1]
        moved[:, j] = sin * math.cos(angle) + cos * math.sin(angle)
        moved[:, j + 1] = cos * math.cos(angle) - sin * math.sin(angle)
    return moved


def shifted_by_a_slice(positions, delta):
    length, d_model = positions.shape
    return sinusoidal_positions(length + delta, d_model)[delta:].to(positions.dtype)


def shifted_afresh(positions, delta):
    length, d_model = positions.shape
    places = torch.arange(length).double()[:, None] + delta
    angles = places * 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).to(positions.dtype)


def shifted_inside_the_sine(positions, delta):
    even = torch.arange(0, positions.shape[1], 2, dtype=positions.dtype)
    angles = positions[:, 0::2].asin() + delta * 10000.0 ** (-even / positions.shape[1])
    moved = torch.empty_like(positions)
    moved[:, 0::2], moved[:, 1::2] = angles.sin(), angles.cos()
    return moved


def one_speed(d_model):
    return torch.ones(d_model // 2)


def half_speeds(d_model):
    return 10000.0 ** (-torch.arange(d_model // 2, dtype=torch.float64) / d_model)


def growing_speeds(d_model):
    return 10000.0 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


SHIFTED = [
    (shifted_afresh, "taken to be 0, 1, 2"),
    (shifted_by_a_slice, "taken to be 0, 1, 2"),
    (shifted_inside_the_sine, "only up to a quarter turn"),
    (lambda p, delta: p, "nothing is turned"),
    (lambda p, delta: shifted(p, delta, speeds=one_speed), "the same speed"),
    (lambda p, delta: shifted(p, delta, sign=-1), "backwards"),
    (lambda p, delta: shifted(p, delta, swapped=True), "sine and cosine are swapped"),
    (lambda p, delta: shifted(p, delta, speeds=half_speeds), "-2j/d, not -j/d"),
    (lambda p, delta: shifted(p, delta, speeds=growing_speeds), "they fall"),
    (lambda p, delta: p.roll(-delta, dims=0), "rolling"),
    (lambda p, delta: shifted(p, 1), "delta has no effect"),
    (lambda p, delta: shifted(p, delta).unflatten(-1, (-1, 2)).mT.flatten(-2), "all sines stand"),
    (lambda p, delta: p * delta, "multiplied by delta"),
    (lambda p, delta: p + delta, "delta is added to every number"),
    (lambda p, delta: p[delta:], "rows are cut off"),
    (lambda p, delta: shifted(p, delta).float().long(), "expected dtype"),
    (lambda p, delta: shifted(p.neg_(), delta), "changed its input"),
]

RIGHT = [
    (check.turned, rotate_by_position),
    (check.turned, by_slices),
    (check.turned, by_complex_numbers),
    (check.turned, by_loops),
    (check.turned, by_matrices),
    (check.shifted, shifted),
    (check.shifted, shifted_by_complex_numbers),
    (check.shifted, shifted_by_matrices),
    (check.shifted, shifted_by_column),
    (check.full_turn, 628),
    (check.full_turn, 200 * math.pi),
    (check.full_turn, torch.tensor(628.3)),
    (check.slope_share, math.exp(-1)),
    (check.slope_share, 0.37),
    (check.layout, "b"),
]

WRONG = [
    (check.turned, lambda x, p: x, "nothing is turned"),
    (check.turned, lambda x, p: rotate_by_position(x, p, layout="halves"), "(j, j + d/2)"),
    (check.turned, altered(sin=lambda angles: -angles.sin()), "backwards"),
    (check.turned, altered(lambda x, p: p[:, None] * speeds(x) ** 0), "same speed"),
    (check.turned, altered(lambda x, p: p[:, None] * speeds(x) ** 0.5), "−2j/d, not −j/d"),
    (check.turned, altered(lambda x, p: p[:, None] * speeds(x) ** 2), "−2j/d, not −4j/d"),
    (check.turned, altered(lambda x, p: p[:, None] / speeds(x)), "speeds rise"),
    (check.turned, lambda x, p: rotate_by_position(x), "taken to be 0, 1, 2"),
    (check.turned, lambda x, p: rotate_by_position(x, p + 1), "one position too far"),
    (check.turned, altered(join=lambda pair: torch.cat(pair, dim=-1)), "two blocks"),
    (check.turned, by_twice_the_angles, "repeat_interleave, not repeat"),
    (check.turned, lambda x, p: x + rotate_by_position(x, p), "should be"),
    (check.turned, lambda x, p: rotate_by_position(x, p, base=1000.0), "the base of the speeds"),
    (check.turned, lambda x, p: rotate_by_position(x, p)[:-1], "shape"),
    *[(check.shifted, *row) for row in SHIFTED],
    (check.full_turn, 6.28, "fastest pair"),
    (check.full_turn, 62832, "exponent"),
    (check.full_turn, 100, "one radian"),
    (check.full_turn, 314, "half a turn"),
    (check.full_turn, 36_000, "radians, not degrees"),
    (check.full_turn, 700, "too large"),
    (check.slope_share, 0.607, "one step"),
    (check.slope_share, 0.223, "distance 3 alone"),
    (check.slope_share, 0.135, "slope 1"),
    (check.slope_share, 0.5, "subtracted from the score"),
    (check.slope_share, math.e, "below 1"),
    (check.slope_share, 1 / 3, "ratio of the distances"),
    (check.layout, "a", "nothing raises"),
    (check.layout, "c", "other coordinates"),
]

test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)
