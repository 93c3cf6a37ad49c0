"""The graders of "Agree with the world": right answers pass, each wrong one hears why."""

import numpy as np
import torch

from attention_lib.checks import cross_checks as check
from tests.checks.tables import judged

# Do these numbers round to the printed ones?


def agree_by_max(printed, ours, decimals):
    if printed.shape != ours.shape:
        return False
    return bool((printed - ours).abs().max() <= 0.5 * 10**-decimals + 1e-9)


def agree_by_numpy(printed, ours, decimals):
    return printed.shape == ours.shape and np.allclose(
        printed.numpy(), ours.numpy(), rtol=0, atol=0.5 * 10**-decimals
    )


def agree_by_allclose(printed, ours, decimals):
    if printed.shape != ours.shape:
        return torch.tensor(False)
    return torch.isclose(ours, printed, rtol=0, atol=0.5 * 10**-decimals).all()


def agree_by_loop(printed, ours, decimals):
    pairs = zip(printed.flatten().tolist(), ours.flatten().tolist(), strict=False)
    same = [abs(a - b) <= 0.51 * 10**-decimals for a, b in pairs]
    return printed.shape == ours.shape and all(same)


def agree_by_rounding(printed, ours, decimals):
    rounded = ours.double().round(decimals=decimals)
    return printed.shape == ours.shape and torch.allclose(
        rounded, printed.double(), rtol=0, atol=0.01 * 10**-decimals
    )


# What does True mean?


def by_one_key(attend):
    values = torch.tensor([[[3.0], [7.0]]])
    out = attend(torch.zeros(1, 2, 4), torch.zeros(1, 2, 4), values, torch.eye(2).bool())
    return bool((out[0, :, 0] - torch.tensor([7.0, 3.0])).abs().max() < 1e-4)


def by_moving_a_value(attend):
    q, k, v = torch.zeros(1, 3, 2), torch.zeros(1, 3, 2), torch.zeros(1, 3, 2)
    mask = torch.tensor([[True, False, False]] * 3)
    moved = v.clone()
    moved[:, 0] = 5.0
    return bool(torch.allclose(attend(q, k, v, mask), attend(q, k, moved, mask), atol=1e-6))


def by_causal(attend):
    x = torch.arange(4.0).reshape(1, 4, 1)
    flat = torch.zeros(1, 4, 1)
    return attend(flat, flat, x, torch.ones(4, 4).tril().bool())[0, 0, 0].item() > 0.5


def by_numpy(attend):
    values = torch.from_numpy(np.array([[[0.0], [10.0]]], dtype=np.float32))
    flat, first = torch.zeros(1, 2, 2), torch.tensor([[True, False]] * 2)
    return np.bool_(attend(flat, flat, values, first).numpy().min() > 5)


# Which coordinate turns with the first?


def by_largest(rotate, d_k):
    x = torch.zeros(1, 3, d_k)
    x[0, :, 0] = 1
    out = rotate(x)[0, 2].abs()
    return int(out[1:].argmax()) + 1


def by_nonzero(rotate, d_k):
    x = torch.eye(d_k)[0].expand(1, 2, d_k)
    return rotate(x)[0, 1].abs().gt(1e-6).nonzero().flatten()[1].item()


def by_a_loop(rotate, d_k):
    x = torch.zeros(1, 2, d_k, dtype=torch.float64)
    x[0, 1, 0] = 1
    turned = rotate(x)[0, 1].tolist()
    for place in range(1, d_k):
        if abs(turned[place]) > 1e-3:
            return place


def the_other_way(rotate, d_k):
    """Which coordinate makes something appear at the first?"""
    x = torch.eye(d_k)[:, None].expand(d_k, 2, d_k)
    first = torch.stack([rotate(one[None])[0, 1, 0] for one in x]).abs()
    first[0] = 0
    return first.argmax()


def shaped(test):
    return lambda printed, ours, decimals: (
        printed.shape == ours.shape and bool(test(printed, ours, 0.5001 * 10**-decimals))
    )


def first(rotate, d_k, position=1, value=1.0):
    x = torch.zeros(1, 4, d_k)
    x[..., 0] = value
    return rotate(x)[0, position]


ALIKE = torch.ones(1, 2, 2)
HALF, HALVES = torch.tensor([[True, False], [True, False]]), torch.tensor([[[0.0], [1.0]]])
ALL_TRUE = torch.ones(2, 2).bool()

RIGHT = [
    *[
        (check.agrees, answer)
        for answer in (
            agree_by_max,
            agree_by_numpy,
            agree_by_allclose,
            agree_by_loop,
            agree_by_rounding,
        )
    ],
    *[
        (check.true_hides, answer)
        for answer in (by_one_key, by_moving_a_value, by_causal, by_numpy)
    ],
    *[
        (check.turns_with_the_first, answer)
        for answer in (by_largest, by_nonzero, by_a_loop, the_other_way)
    ],
]
WRONG = [
    (check.agrees, lambda p, o, n: torch.allclose(p, o), "fixed tolerance of allclose"),
    (check.agrees, lambda p, o, n: torch.equal(p, o), "exact equality"),
    (check.agrees, lambda p, o, n: bool((p == o).all()), "should be True"),
    (check.agrees, shaped(lambda p, o, u: ((p - o).abs() <= 2 * u).all()), "whole unit"),
    (check.agrees, shaped(lambda p, o, u: ((p - o).abs() <= u / 10).all()), "too small"),
    (check.agrees, shaped(lambda p, o, u: ((p - o).abs() <= 10 * u).all()), "ten times"),
    (check.agrees, shaped(lambda p, o, u: ((p - o).abs() < 5e-5).all()), "four decimals"),
    (check.agrees, shaped(lambda p, o, u: (o - p <= u).all()), "far too small passes"),
    (check.agrees, shaped(lambda p, o, u: (p - o <= u).all()), "far too large passes"),
    (check.agrees, shaped(lambda p, o, u: ((p - o).abs() <= u).any()), "all of them must"),
    (check.agrees, shaped(lambda p, o, u: (p - o).abs().mean() <= u), "a mean hides"),
    (check.agrees, shaped(lambda p, o, u: (p.sum() - o.sum()).abs() <= u), "right sum"),
    (check.agrees, shaped(lambda p, o, u: not ((p - o).abs() > u).any()), "NaN"),
    (
        check.agrees,
        lambda p, o, n: bool(((p - o).abs() <= 0.5001 * 10**-n).all()),
        "a broadcast hides it",
    ),
    (check.agrees, lambda p, o, n: (p - o).abs() <= 0.5001 * 10**-n, "one for all"),
    (check.agrees, lambda p, o, n: not agree_by_max(p, o, n), "wrong way round"),
    (check.agrees, lambda p, o, n: True, "everything agrees"),
    (check.agrees, lambda p, o, n: False, "nothing agrees"),
    (check.true_hides, lambda attend: True, "whatever the attention does"),
    (check.true_hides, lambda attend: False, "whatever the attention does"),
    (check.true_hides, lambda attend: not by_one_key(attend), "wrong way round"),
    (
        check.true_hides,
        lambda attend: bool((attend(ALIKE, ALIKE, ALIKE, ALL_TRUE) == 0).all()),
        "mark one key",
    ),
    (
        check.true_hides,
        lambda attend: bool(attend(ALIKE, ALIKE, ALIKE, ALL_TRUE).isnan().any()),
        "gives NaN in some attentions",
    ),
    (
        check.true_hides,
        lambda attend: bool(attend(ALIKE, ALIKE, HALVES, HALF)[0, 0, 0] < 0.5),
        "wrong way round",
    ),
    (
        check.true_hides,
        lambda attend: bool(attend(ALIKE, ALIKE, HALVES, ALL_TRUE)[0, 0, 0] == 0),
        "gives 0 in some attentions",
    ),
    (
        check.true_hides,
        lambda attend: bool(attend(ALIKE, ALIKE, HALVES, ~ALL_TRUE)[0, 0, 0] == 0),
        "no key is marked",
    ),
    (
        check.true_hides,
        lambda attend: torch.equal(
            attend(ALIKE, ALIKE, ALIKE, HALF), attend(ALIKE, ALIKE, ALIKE, ~HALF)
        ),
        "whatever the attention does",
    ),
    (
        check.true_hides,
        lambda attend: bool(attend(ALIKE, ALIKE, HALVES, HALF).mean() < 0.5),
        "wrong way round",
    ),
    (
        check.true_hides,
        lambda attend: attend(ALIKE, ALIKE, HALVES, HALF),
        "expected shape ()",
    ),
    (check.true_hides, lambda attend: "hides", "True or False is expected, not str"),
    (check.turns_with_the_first, lambda rotate, d_k: 1, "answer for neighbours"),
    (check.turns_with_the_first, lambda rotate, d_k: d_k // 2, "answer for halves"),
    (check.turns_with_the_first, lambda rotate, d_k: d_k - 1, "last coordinate"),
    (check.turns_with_the_first, lambda rotate, d_k: 0, "together with another"),
    (
        check.turns_with_the_first,
        lambda rotate, d_k: int(first(rotate, d_k).abs().argmax()),
        "may be the largest",
    ),
    (
        check.turns_with_the_first,
        lambda rotate, d_k: int(first(rotate, d_k)[1:].abs().argmax()),
        "counted from coordinate 1",
    ),
    (
        check.turns_with_the_first,
        lambda rotate, d_k: int(first(rotate, d_k)[1:].argmax()) + 1,
        "size of what appears",
    ),
    (
        check.turns_with_the_first,
        lambda rotate, d_k: int(first(rotate, d_k, position=0)[1:].abs().argmax()) + 1,
        "answer for neighbours",
    ),
    (
        check.turns_with_the_first,
        lambda rotate, d_k: 1 if by_largest(rotate, d_k) == 1 else d_k // 2,
        "more than two layouts",
    ),
    (
        check.turns_with_the_first,
        lambda rotate, d_k: d_k // 2 if by_largest(rotate, d_k) == 1 else 1,
        "wrong way round",
    ),
    (
        check.turns_with_the_first,
        lambda rotate, d_k: int((rotate(torch.ones(1, 4, d_k))[0, 1] - 1).abs().argmax()),
        "set coordinate 0 alone",
    ),
    (
        check.turns_with_the_first,
        lambda rotate, d_k: int(first(rotate, d_k).argmin()),
        "",
    ),
    (check.turns_with_the_first, lambda rotate, d_k: first(rotate, d_k), "shape"),
]

test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)
