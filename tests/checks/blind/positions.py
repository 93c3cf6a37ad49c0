"""Answers to the exercises of `positions`."""

import math
from fractions import Fraction

import numpy as np
import torch


def _speeds(width, dtype, power=2, base=10000.0):
    return base ** (-torch.arange(0, width, 2, dtype=dtype) * (power / 2) / width)


def by_complex_numbers(x, positions):
    angle = positions[:, None].double() * _speeds(x.shape[-1], torch.float64)
    z = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    turned = z * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


def by_loop(x, positions):
    out = torch.empty_like(x)
    d = x.shape[1]
    for row, place in enumerate(positions.tolist()):
        for j in range(d // 2):
            t = place * 10000 ** (-2 * j / d)
            a, b = x[row, 2 * j], x[row, 2 * j + 1]
            out[row, 2 * j] = a * math.cos(t) - b * math.sin(t)
            out[row, 2 * j + 1] = a * math.sin(t) + b * math.cos(t)
    return out


def by_matrices(x, positions):
    angle = positions[:, None].to(torch.float64) * _speeds(x.shape[-1], torch.float64)
    c, s = angle.cos(), angle.sin()
    turn = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    pairs = x.to(torch.float64).unflatten(-1, (-1, 2))
    return torch.einsum("njab,njb->nja", turn, pairs).flatten(-2).to(x.dtype)


def by_repeated_angles(x, positions):
    angle = torch.outer(positions.double(), _speeds(x.shape[-1], torch.float64))
    angle = angle.repeat_interleave(2, dim=-1)
    other = torch.empty_like(x)
    other[:, 0::2], other[:, 1::2] = -x[:, 1::2], x[:, 0::2]
    return (x * angle.cos() + other * angle.sin()).to(x.dtype)


def _turn(angles=None, mix=None, join=None, pairs=None):
    def turn(x, positions):
        d = x.shape[-1]
        if angles:
            angle = angles(x, positions.double()).to(torch.float64)
        else:
            angle = positions[:, None].double() * _speeds(d, torch.float64)
        cos, sin = angle.cos().to(x), angle.sin().to(x)
        a, b = pairs(x) if pairs else (x[:, 0::2], x[:, 1::2])
        first, second = mix(a, b, cos, sin) if mix else (a * cos - b * sin, a * sin + b * cos)
        return join(first, second) if join else torch.stack([first, second], -1).flatten(-2)

    return turn


def turns_in_place(x, positions):
    angle = positions[:, None].double() * _speeds(x.shape[-1], torch.float64)
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b = x[:, 0::2].clone(), x[:, 1::2].clone()
    x[:, 0::2], x[:, 1::2] = a * cos - b * sin, a * sin + b * cos
    return x


def overwritten_half_way(x, positions):
    angle = positions[:, None].double() * _speeds(x.shape[-1], torch.float64)
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    out = x.clone()
    out[:, 0::2] = out[:, 0::2] * cos - out[:, 1::2] * sin
    out[:, 1::2] = out[:, 0::2] * sin + out[:, 1::2] * cos
    return out


def float16_angles(x, positions):
    angle = (positions[:, None].half() * _speeds(x.shape[-1], torch.float32).half()).float()
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b = x[:, 0::2], x[:, 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


def adds_sinusoids(x, positions):
    angle = positions[:, None].double() * _speeds(x.shape[-1], torch.float64)
    return x + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2).to(x)


def _shift(mix=None, speeds=None, columns=None, join=None):
    def shifted(positions, delta):
        d = positions.shape[-1]
        sin, cos = columns(positions) if columns else (positions[:, 0::2], positions[:, 1::2])
        w = speeds(d) if speeds else _speeds(d, torch.float64)
        c, s = (delta * w).cos().to(positions), (delta * w).sin().to(positions)
        a, b = mix(sin, cos, c, s) if mix else (sin * c + cos * s, cos * c - sin * s)
        return join(a, b) if join else torch.stack([a, b], -1).flatten(-2)

    return shifted


def shift_by_complex(positions, delta):
    pairs = positions.double().unflatten(-1, (-1, 2)).flip(-1).contiguous()  # cos + i sin
    w = delta * _speeds(positions.shape[-1], torch.float64)
    moved = torch.view_as_complex(pairs) * torch.polar(torch.ones_like(w), w)
    return torch.view_as_real(moved).flip(-1).flatten(-2).to(positions.dtype)


def shift_by_matrix(positions, delta):
    d = positions.shape[-1]
    matrix = torch.zeros(d, d, dtype=positions.dtype)
    for j in range(0, d, 2):
        t = delta * 10000 ** (-j / d)
        matrix[j, j] = matrix[j + 1, j + 1] = math.cos(t)
        matrix[j, j + 1], matrix[j + 1, j] = math.sin(t), -math.sin(t)
    return positions @ matrix.T


def shift_by_loop(positions, delta):
    out = positions.clone()
    d = positions.shape[1]
    for j in range(d // 2):
        t = delta / 10000 ** (2 * j / d)
        s, c = positions[:, 2 * j], positions[:, 2 * j + 1]
        out[:, 2 * j] = s * math.cos(t) + c * math.sin(t)
        out[:, 2 * j + 1] = c * math.cos(t) - s * math.sin(t)
    return out


def shift_einsum(positions, delta):
    w = (delta * _speeds(positions.shape[-1], torch.float64)).to(positions)
    turn = torch.stack([w.cos(), w.sin(), -w.sin(), w.cos()], -1).unflatten(-1, (2, 2))
    return torch.einsum("jab,njb->nja", turn, positions.unflatten(-1, (-1, 2))).flatten(-2)


def _sinusoids(places, d, dtype):
    angle = places[:, None] * _speeds(d, torch.float64)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2).to(dtype)


def from_zero(positions, delta):
    places = torch.arange(len(positions)) + delta
    return _sinusoids(places.double(), positions.shape[-1], positions.dtype)


def place_from_first_pair(positions, delta):
    place = torch.atan2(positions[:, 0], positions[:, 1])
    return _sinusoids(place.double() + delta, positions.shape[-1], positions.dtype)


def only_delta(positions, delta):
    one = _sinusoids(torch.tensor([float(delta)]).double(), positions.shape[-1], positions.dtype)
    return one.expand(len(positions), -1).clone()


def shift_in_place(positions, delta):
    positions.copy_(_shift()(positions, delta))
    return positions


def extrapolated(positions, delta):
    step = positions[1:2] - positions[:1] if len(positions) > 1 else positions
    return positions + delta * step


RIGHT = {
    "turned": {
        "complex numbers": by_complex_numbers,
        "loops": by_loop,
        "matrices, einsum": by_matrices,
        "angles twice": by_repeated_angles,
    },
    "full_turn": {
        "float": 628.3,
        "int": 628,
        "numpy": 200 * np.pi,
        "0-d tensor": torch.tensor(2 * math.pi) / 0.01,
        "fraction": Fraction(628),
    },
    "slope_share": {
        "float": math.exp(-1),
        "numpy": 1 / np.e,
        "0-d tensor": torch.tensor(-1.0).exp(),
        "rounded": 0.37,
    },
    "shifted": {
        "complex numbers": shift_by_complex,
        "one matrix": shift_by_matrix,
        "loop": shift_by_loop,
        "einsum": shift_einsum,
    },
}

WRONG = {
    "turned": {
        "turns the other way": _turn(mix=lambda a, b, c, s: (a * c + b * s, b * c - a * s)),
        "sin and cos swapped": _turn(mix=lambda a, b, c, s: (a * s - b * c, a * c + b * s)),
        "minus sign missing": _turn(mix=lambda a, b, c, s: (a * c + b * s, a * s + b * c)),
        "cat for stack": _turn(join=lambda a, b: torch.cat([a, b], -1)),
        "pairs (j, j + d/2)": _turn(
            pairs=lambda x: x.chunk(2, -1), join=lambda a, b: torch.cat([a, b], -1)
        ),
        "pairs in halves, joined side by side": _turn(pairs=lambda x: x.chunk(2, -1)),
        "positions counted from 0": _turn(
            angles=lambda x, p: (
                torch.arange(len(p))[:, None].double() * _speeds(x.shape[-1], torch.float64)
            )
        ),
        "positions counted from 1": _turn(
            angles=lambda x, p: (p[:, None] + 1) * _speeds(x.shape[-1], torch.float64)
        ),
        "speed 10000^(−j/d)": _turn(
            angles=lambda x, p: p[:, None] * _speeds(x.shape[-1], torch.float64, power=1)
        ),
        "speed 10000^(−4j/d)": _turn(
            angles=lambda x, p: p[:, None] * _speeds(x.shape[-1], torch.float64, power=4)
        ),
        "base 1000": _turn(
            angles=lambda x, p: p[:, None] * _speeds(x.shape[-1], torch.float64, base=1000.0)
        ),
        "base 500000": _turn(
            angles=lambda x, p: p[:, None] * _speeds(x.shape[-1], torch.float64, base=5e5)
        ),
        "same speed for all pairs": _turn(
            angles=lambda x, p: p[:, None].expand(-1, x.shape[-1] // 2)
        ),
        "plus in the exponent": _turn(
            angles=lambda x, p: p[:, None] / _speeds(x.shape[-1], torch.float64)
        ),
        "fast and slow reversed": _turn(
            angles=lambda x, p: p[:, None] * _speeds(x.shape[-1], torch.float64).flip(0)
        ),
        "angle 2 π p": _turn(
            angles=lambda x, p: 2 * math.pi * p[:, None] * _speeds(x.shape[-1], torch.float64)
        ),
        "degrees": _turn(
            angles=lambda x, p: torch.deg2rad(p)[:, None] * _speeds(x.shape[-1], torch.float64)
        ),
        "divides by the speed's width d/2": _turn(
            angles=lambda x, p: (
                p[:, None]
                * 10000.0
                ** (-torch.arange(x.shape[-1] // 2, dtype=torch.float64) / (x.shape[-1] // 2) * 2)
            )
        ),
        "divides by width less 2": _turn(
            angles=lambda x, p: (
                p[:, None]
                * 10000.0
                ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / max(x.shape[-1] - 2, 1))
            )
        ),
        "first coordinate overwritten": overwritten_half_way,
        "damages x": turns_in_place,
        "adds sinusoids": adds_sinusoids,
        "float16 angles": float16_angles,
        "coordinates exchanged": _turn(join=lambda a, b: torch.stack([b, a], -1).flatten(-2)),
        "only the first pair": lambda x, p: torch.cat([by_loop(x, p)[:, :2], x[:, 2:]], -1),
        "scaled by the cosine alone": _turn(mix=lambda a, b, c, s: (a * c, b * c)),
        "width 8 built in": _turn(
            angles=lambda x, p: (
                p[:, None] * 10000.0 ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / 8)
            )
        ),
        "positions relative to the first": lambda x, p: by_loop(x, p - p[0]),
    },
    "full_turn": {
        "half a turn": math.pi / 0.01,
        "first pair": 2 * math.pi,
        "1 / speed": 100,
        "speed 10000^(−1)": 2 * math.pi * 10000,
        "10000^(−1/4)": 2 * math.pi * 10,
        "degrees": 36000,
        "speed times 2 π": 2 * math.pi * 0.01,
        "quarter": math.pi / 2 / 0.01,
        "rounded to hundreds": 600,
    },
    "layout": {"a": "a", "c": "c"},
    "slope_share": {
        "the other way": math.e,
        "slope on the distance 3": math.exp(-1.5),
        "difference not multiplied by the slope": math.exp(-2),
        "difference of the penalties": 1.0,
        "quotient of the distances": 1 / 3,
        "powers of ½": 0.25,
        "½": 0.5,
        "negative": -1.0,
        "slope alone": math.exp(-0.5),
    },
    "shifted": {
        "turns the other way": lambda p, d: shift_by_loop(p, -d),
        "minus sign missing": _shift(mix=lambda s, c, u, v: (s * u + c * v, c * u + s * v)),
        "rotary signs": _shift(mix=lambda s, c, u, v: (s * u - c * v, s * v + c * u)),
        "sin and cos of delta swapped": _shift(
            mix=lambda s, c, u, v: (s * v + c * u, c * v - s * u)
        ),
        "columns exchanged": _shift(columns=lambda p: (p[:, 1::2], p[:, 0::2])),
        "halves for pairs": _shift(
            columns=lambda p: p.chunk(2, -1), join=lambda a, b: torch.cat([a, b], -1)
        ),
        "cat for stack": _shift(join=lambda a, b: torch.cat([a, b], -1)),
        "a slice of sinusoids from 0": from_zero,
        "place guessed from the first pair": place_from_first_pair,
        "adds the vector of delta": lambda p, d: p + only_delta(p, d),
        "vector of delta alone": only_delta,
        "multiplied by the vector of delta": lambda p, d: p * only_delta(p, d),
        "roll": lambda p, d: p.roll(-int(d), 0),
        "unchanged": lambda p, d: p,
        "adds delta": lambda p, d: p + d,
        "one step, whatever delta": lambda p, d: shift_by_loop(p, 1),
        "absolute delta": lambda p, d: shift_by_loop(p, abs(d)),
        "same speed for all pairs": _shift(speeds=lambda d: torch.ones(d // 2).double()),
        "speed 10000^(−j/d)": _shift(speeds=lambda d: _speeds(d, torch.float64, power=1)),
        "speed 10000^(−4j/d)": _shift(speeds=lambda d: _speeds(d, torch.float64, power=4)),
        "plus in the exponent": _shift(speeds=lambda d: 1 / _speeds(d, torch.float64)),
        "base 1000": _shift(speeds=lambda d: _speeds(d, torch.float64, base=1000.0)),
        "in place": shift_in_place,
        "extrapolated": extrapolated,
        "delta steps, overwritten half way": lambda p, d: torch.stack(
            [
                (
                    a := p[:, 0::2] * (w := d * _speeds(p.shape[-1], torch.float64).to(p)).cos()
                    + p[:, 1::2] * w.sin()
                ),
                p[:, 1::2] * w.cos() - a * w.sin(),
            ],
            -1,
        ).flatten(-2),
        "two steps further": lambda p, d: shift_by_loop(p, d + 1),
    },
}
