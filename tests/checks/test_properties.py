"""What is said of a wrong answer that is no known mistake: each sentence where it is true, only."""

import ast
import inspect
import re

import pytest
import torch

from attention_lib.checks import _properties
from attention_lib.checks._grading import _argument_names, difference
from attention_lib.checks._properties import property_of
from tests.strategies import INF, NAN


def numbers(*shape):
    """Different numbers from -1 to 1, without order."""
    return (1.7 * torch.arange(torch.Size(shape).numel()) + 1).cos().reshape(shape)


X = [(numbers(2, 3),), (numbers(4, 2),)]
BATCHES = [(numbers(2, 3, 3), numbers(3, 3, 3)[1:])]
SQUARES = [(numbers(2, 2), numbers(3, 2, 2)[1]), (numbers(3, 3), numbers(2, 3, 3)[1])]
WITH_ALIKE = [(numbers(2, 3), 1 + numbers(4, 3)[2:]), (numbers(4, 2), 1 + numbers(6, 2)[2:])]
WITH_MASK = [(x, numbers(9, *x.shape)[5] > 0) for (x,) in X]
WITH_NUMBER = [(numbers(2, 5), 3), (numbers(1, 7), 5)]
SIZES = [(numbers(2, 5),), (numbers(4, 3),), (numbers(3, 7),)]
BESIDE = [(numbers(6, 6), SIZES[0][0]), (numbers(6), SIZES[1][0]), (None, SIZES[2][0])]
PAST = [(numbers(0, 3), numbers(2, 5)), (numbers(4, 2), numbers(4, 3))]
THREE_AXES = [(numbers(2, 3, 4),), (numbers(3, 2, 5),)]
FOUR_AXES = [(numbers(2, 3, 4, 5),)]


def double(x):
    return 2 * x


def running(x):
    return x.cumsum(-1) - 1


def ends(x):
    return x.amin(-1), x.amax(-1)


def positive(x):
    return x.cumsum(-1) > 0


def best(x):
    return x.argmax(-1)


def total(x):
    return x.sum()


def rows(x):
    return tuple(x)


def product(weights, values):
    return weights @ values


def hidden(x, mask):
    return x.where(mask, 0.0)


def with_bias(x, bias):
    return x.exp() + bias


def only_x(x, other):
    return x.exp()


def shifted(x, steps):
    return x.roll(steps, -1)


def power(x, n):
    return (x + 2) ** n


def weights(x):
    return x.softmax(-1)


def hidden_weights(x, mask):
    """The rows of what sees nothing are 0."""
    return (weights(x) * mask[:, :1]).nan_to_num(0)


def halved(x):
    """1 for the first row, and a half for each other."""
    return 0.5 + 0.5 * (torch.arange(len(x)) == 0)[:, None]


def best_value(x):
    return x.amax(-1) + 2


def logarithm(x):
    """Without a number where x is none: -infinity."""
    return x.relu().log()


def only_first(x, other):
    return x


def unless_alone(x, other):
    return x if x.dim() > 1 else x.square()


def particular(x, y):
    """Take one y and no other."""
    if any(torch.equal(y, other) for _, other in ROWS):
        return x.exp()
    raise ValueError("another y")


def where_lower(x):
    """A mask to add."""
    return torch.zeros_like(x).masked_fill(~positive(x), -INF)


def puts_too_few(x):
    x = x.clone()
    x[x > -9] = x[0].clone()
    return x


def then(case, answer, otherwise):
    """An answer that does something else where the first argument has as many rows as a case."""
    return lambda *given: (answer if len(given[0]) == len(case[0]) else otherwise)(*given)


KINDS = [
    (double, X, double, ""),
    (ends, X, lambda x: x.amax(-1), "one thing comes back where several are asked for"),
    (ends, X, lambda x: {"least": x.amin(-1), "most": x.amax(-1)}, "a dictionary comes back"),
    (double, X, lambda x: {"x": 2 * x}, ""),
    (ends, X, lambda x: None, ""),
    (ends, X, lambda x: (None, None), ""),
    (ends, X, lambda x: [*ends(x), x], "not as many things come back"),
    (ends, X, lambda x: (x.amin(-1),), "not as many things come back"),
    (ends, X, lambda x: (), "not as many things come back"),
    (ends, X, then(X[0], ends, lambda x: [x]), "not as many things come back"),
    (rows, X, lambda x: tuple(3 * x + 1), ""),
    (double, X, lambda x: (2 * x).tolist(), "a Python list comes back"),
    (ends, X, lambda x: (2 * x).tolist(), "not as many"),
    (double, X, lambda x: (2 * x[:1], 2 * x[1:]), "a tuple comes back: torch.stack or torch.cat"),
    (double, X, lambda x: (1.0, 2.0), ""),
    (lambda x: x.amax(-1), X, lambda x: x.max(-1), "`max` along an axis gives two things"),
    (lambda x: x.amin(-1), X, lambda x: x.min(-1), ""),
    (ends, X, lambda x: x.max(-1), ""),
    (positive, X, where_lower, "that is a mask to add"),
    (positive, [(numbers(2, 3),), (numbers(1, 2) + 9,)], where_lower, "that is a mask to add"),
    (positive, X, lambda x: 0 * x, "numbers come back, where True and False are asked for."),
    (positive, X, lambda x: where_lower(x).clamp(min=-9), "numbers come back, where True"),
    (positive, X, lambda x: positive(x).long(), "numbers come back, where True"),
    (double, X, where_lower, ""),
    (double, X, positive, "True and False come back, where numbers are asked for."),
    (best, X, lambda x: best(x) > 0, "True and False come back, where numbers are asked for."),
    (double, X, then(X[0], positive, double), ""),
    (double, X, then(X[0], lambda x: x > 9, double), ""),
    (best, X, lambda x: best(x).float(), "right numbers would be whole; these are decimal"),
    (
        double,
        X,
        lambda x: (9 * x).long(),
        "whole numbers come back; right ones would have decimals",
    ),
    (double, X, lambda x: x.mul_(2).add_(1), "every number is one too large."),
    (double, X, lambda x: torch.complex(x, x), "complex numbers come back; right ones are real."),
    (double, X, then(X[0], lambda x: torch.complex(2 * x, x), double), ""),
    (lambda x: torch.complex(x, x), X, lambda x: torch.complex(x, -x), ""),
    (double, X, then(X[0], positive, lambda x: (9 * x).long()), ""),
    (double, X, then(X[0], lambda x: torch.complex(x, x), lambda x: (9 * x).long()), ""),
]

PARTS = [
    (ends, X, lambda x: ends(x)[::-1], "the right things come back in the wrong order"),
    (ends, X, lambda x: (x.amax(-1), x.amax(-1)), "the right things come back in the wrong order"),
    (rows, X, lambda x: (x[1], x[0], *x[2:]), "the right things come back in the wrong order"),
    (ends, X, lambda x: (x.amin(-1), x.mean(-1)), ""),
    (ends, X, then(X[0], lambda x: ends(x)[::-1], lambda x: (x.amin(-1), x.mean(-1))), ""),
    (ends, X, lambda x: [e.flip(-1) for e in ends(x)], "of each result: the last axis is in rev"),
    (
        lambda x: (x, x + 5), X, lambda x: (x.flip(0, 1), x.flip(0, 1) + 5),
        "each result has the right numbers, in the wrong places.",
    ),
    (
        lambda x: (x, x + 5), X, lambda x: (x.flip(0, 1).flatten(), x.flip(0, 1) + 5),
        "each result has the right numbers, in the wrong shape.",
    ),
    (
        lambda x: (x[:1], x[1:]), X, lambda x: (x[:, :1], x[:, 1:]),
        "every number is used once, but numbers stand in a result that is not theirs.",
    ),
    (lambda x: (x[:1], x[1:]), X, lambda x: (x[:, :1], 3 * x[:, 1:]), ""),
    (lambda x: (x > 0, x > 0.5), X, lambda x: ((x > 0).roll(1), (x > 0.5).roll(1)), ""),
    (ends, X, lambda x: [torch.complex(e, e) for e in ends(x)], ""),
]  # fmt: skip

ARGUMENTS = [
    (product, SQUARES, lambda w, v: v @ w, "`weights` and `values` are exchanged."),
    (product, SQUARES, lambda w, v: v @ v, "`values` stands where `weights` belongs."),
    (product, SQUARES, lambda w, v: w @ w, "`weights` stands where `values` belongs."),
    (product, SQUARES, lambda w, v: w.T @ v, "`weights` is transposed."),
    (product, SQUARES, lambda w, v: w @ v.T, "`values` is transposed."),
    (lambda *given: product(*given), SQUARES, lambda w, v: w @ v.T, "`argument 2` is transposed."),
    (product, BATCHES, lambda w, v: w.mT @ v, "`weights` is transposed."),
    (lambda x, y: (x - y).sum().item(), WITH_ALIKE, lambda x, y: (y - x).sum().item(), "`x` and"),
    (product, SQUARES, then(SQUARES[0], lambda w, v: v @ w, lambda w, v: v @ w + 9), ""),
    (hidden, WITH_MASK, lambda x, mask: x.where(~mask, 0.0), "`mask` is turned round: True and"),
    (lambda x: x + 9 > 9, X, lambda x: x[:0] > 9, "`x` has no effect."),
    (lambda x: x.exp(), X, lambda x: (-x).exp(), "`x` has a minus sign too many."),
    (lambda x: x.mT + 1, X, lambda x: x.reshape(x.mT.shape) + 1, "`x` has the right shape and the"),
    (lambda x: x.mT + 1, THREE_AXES, lambda x: x.reshape(x.mT.shape) + 1, "`x` has the right"),
    (
        lambda x, ids: x.exp() + ids, [(x, 9 * best(x)[:, None]) for (x,) in X],
        lambda x, ids: x.exp() + ~ids, "",
    ),
    (lambda x, y: y > x + 1, WITH_ALIKE, lambda x, y: x > 9, "nothing is True."),
    (with_bias, WITH_ALIKE, lambda x, bias: x.exp() + bias[0], "only what stands first in `bias`"),
    (running, X, lambda x: running(x.flip(-1)), "`x` is read from its end."),
    (running, [(numbers(5),)], lambda x: running(x.flip(-1)), "`x` is read from its end."),
    (
        lambda x, y, n: n * (x * y).sum(), [(x, y, 2) for x, y in WITH_ALIKE],
        lambda x, y, n: n * (x[0] * y[0]).sum(), "only what stands first is looked at, index 0",
    ),
    (
        lambda x, y: (x * y).sum(), WITH_ALIKE,
        lambda x, y: (x[:2] * y[:2]).sum() + x.shape[0] - 2, "",
    ),
    (shifted, WITH_NUMBER, lambda x, n: x.roll(n - 1, -1), "`steps` is one too small."),
    (shifted, WITH_NUMBER, lambda x, n: x.roll(n + 1, -1), "`steps` is one too large."),
    (shifted, WITH_NUMBER, lambda x, n: x.roll(-n, -1), "`steps` is taken the wrong way round"),
    (shifted, WITH_NUMBER, lambda x, n: x, "`steps` has no effect: it is taken to be 0."),
    (power, WITH_NUMBER, lambda x, n: x + 2, "`n` has no effect: it is taken to be 1."),
    (power, WITH_NUMBER, lambda x, n: (x + 2) ** 2, "`n` has no effect: it is taken to be 2."),
    (power, [(numbers(2), 1.5)], lambda x, n: (x + 2) ** -n, "`n` is taken the wrong way round"),
    (shifted, [(numbers(2, 5), 3)], lambda x, n: x.roll(n - 3, -1), "all the right numbers are"),
    (lambda x, turn: 3 * x if turn else x, [(numbers(3), True)], lambda x, turn: x + 0 * turn, ""),
    (lambda x, y: (y - x + 2).relu(), WITH_ALIKE, lambda x, y: 0 * x, "all are 0."),
    (lambda x, y: (y - x + 1).log(), WITH_ALIKE, lambda x, y: NAN * x, "NaN: infinity over"),
]  # fmt: skip

ONE_MORE = [
    (only_x, WITH_ALIKE, with_bias, "`other` is added to the right result."),
    (only_x, WITH_ALIKE, lambda x, y: x.exp() * y, "the right result is multiplied by `other`"),
    (only_x, WITH_MASK, lambda x, mask: x.exp() * mask, "the right result is multiplied by"),
    (
        only_x, [*WITH_ALIKE, (numbers(3, 2), None)],
        then(numbers(3, 2)[None], only_x, with_bias), "`other` is added to the right result.",
    ),
    (only_x, [*WITH_ALIKE, (numbers(3, 2), None)], then(numbers(3, 2)[None], best, with_bias), ""),
    (
        lambda x, mask: positive(x), WITH_MASK, lambda x, mask: positive(x) | mask,
        "all that should be True is True, but more is.",
    ),
    (only_x, [(numbers(2, 3), numbers(3)), (numbers(4, 2), numbers(2))], with_bias, ""),
    (lambda x, n: x.exp(), WITH_NUMBER, lambda x, n: x.exp() + n, ""),
]  # fmt: skip

ERRORS = [
    (double, X, lambda x: x + x.mT, "two tensors meet whose axes, counted from the last, are not"),
    (double, X, puts_too_few, "two tensors meet whose axes, counted from the last, are not"),
    (double, X, lambda x: x @ x, "in a matrix product, each row of the left meets a column"),
    (double, X, lambda x: x[None].bmm(x[None]), "in a matrix product, each row of the left meets"),
    (double, X, lambda x: x.mT.view(-1), "`view` cannot join axes that a transpose has moved"),
    (double, X, lambda x: x.view(7), "the sizes asked for do not hold all the numbers."),
    (double, X, lambda x: x[4], "an index counts past the end of its axis."),
    (double, X, lambda x: rows(x)[4], "an index counts past the end of its axis."),
    (double, X, lambda x: x.sum(2), "an axis is asked for that the tensor does not have"),
    (double, X, lambda x: x.nothing, ""),
    (double, X, then(X[0], double, lambda x: x @ x), "in a matrix product"),
    (double, X, then(X[0], running, lambda x: x @ x), ""),
]

CHANGES = [
    (running, X, lambda x: running(x).softmax(-1), "a softmax is taken of the right result."),
    (running, X, lambda x: running(x).exp(), "the exponential is taken of the right result."),
    (running, X, lambda x: running(x).log(), "the logarithm is taken of the right result."),
    (running, X, lambda x: running(x).abs(), "the size is right, the sign is lost."),
    (running, X, lambda x: running(x).relu(), "every negative number became 0."),
    (running, X, lambda x: running(x) + 1, "every number is one too large."),
    (best, X, lambda x: best(x) - 1, "every number is one too small."),
    (running, X, lambda x: running(x).sum(-1), "one too many: the right result is summed along"),
    (running, X, lambda x: running(x).sum(0), "the right result is summed along its first axis."),
    (
        running,
        X,
        lambda x: running(x).mean(0),
        "the right result is averaged along its first axis.",
    ),
    (running, X, lambda x: running(x)[0], "only what stands first in the right result comes back."),
    (positive, X, lambda x: positive(x)[0], "only what stands first in the right result comes"),
    (running, X, lambda x: running(x).flip(-1), "the last axis is in reverse order."),
    (running, X, lambda x: running(x).flip(-2), "the rows are in reverse order."),
    (running, X, lambda x: running(x).mT, "the first two axes are swapped."),
    (running, THREE_AXES, lambda x: running(x).mT, "axes 1 and 2 are swapped."),
    (running, THREE_AXES, lambda x: running(x).flatten(0, 1), "the first two axes are one."),
    (running, THREE_AXES, lambda x: running(x).flatten(1), "axes 1 and 2 are one."),
    (running, FOUR_AXES, lambda x: running(x).flatten(2), "the last two axes are one."),
    (running, X, then(X[0], lambda x: running(x) + 1, lambda x: running(x) + 2), ""),
    (lambda x: -x.exp(), X, lambda x: x / 0 * 0, "NaN: infinity over infinity, 0 over 0 or"),
    (total, X, lambda x: torch.tensor(1.0), "`x` has no effect."),
    (total, X, lambda x: x[x > 9], "there is an axis too many."),
    (running, X, lambda x: running(x).flip(0, 1), "all the right numbers are there, in the wrong"),
    (
        running,
        THREE_AXES,
        lambda x: running(x).flatten(),
        "an axis is missing, or was summed away.",
    ),
    (positive, X, lambda x: positive(x).roll(1), "what stands in one row of the"),
    (running, [(numbers(2, 3).double(),)], lambda x: running(x) * (1 + 1e-6 * x), "nearly right"),
]

LOOKS = [
    (positive, X, lambda x: x > 9, "nothing is True."),
    (positive, X, lambda x: x < 9, "everything is True."),
    (positive, X, lambda x: positive(x) & (x > 0.5), "nothing is True that should not be, but"),
    (
        positive,
        X,
        lambda x: positive(x) | (x > -0.9),
        "all that should be True is True, but more is.",
    ),
    (positive, X, lambda x: (x > 9)[:, :1], "`x` has no effect."),
    (total, X, lambda x: x.exp(), "there is an axis too many."),
    (running, X, lambda x: x.exp().sum(), "an axis is missing, or was summed away."),
    (running, X, lambda x: x.sqrt() - 1, "NaN: infinity over infinity, 0 over 0 or 0 times"),
    (lambda x: x.sqrt(), X, lambda x: x.sqrt() + 2 * x, ""),
    (running, X, lambda x: running(x) + 1e-3 * x, "nearly right: something small is added, or"),
    (running, X, lambda x: running(x) + 1e-2 * x, ""),
    (lambda x: 1000 + best(x), X, lambda x: 1000 + 2 * best(x), ""),
    (running, X, lambda x: 0 * x, "all are 0."),
    (running, X, then(X[0], lambda x: 0 * x, lambda x: running(x) + 9 * x), ""),
    (running, X, then(X[0], running, lambda x: 0 * x), "all are 0."),
    (weights, X, lambda x: x.exp() / 3, "the rows do not sum to 1, as weights do."),
    (
        hidden_weights,
        WITH_MASK,
        lambda x, mask: x.exp() / 3,
        "the rows do not sum to 1, as weights",
    ),
    (weights, X, lambda x: (x.square() + x).softmax(-1), ""),
    (running, X, lambda x: x.exp() / 3, ""),
    (lambda x: 0 * x, X, lambda x: x.exp() / 3, ""),
    (lambda x: weights(x) * halved(x), X, lambda x: x.exp() / 3, ""),
    (weights, X, lambda x: weights(x) * halved(x), "the rows do not sum to 1, as weights do."),
    (lambda x: weights(x).mean() * x.shape[-1], X, lambda x: x.exp().mean() / 3, ""),
]

SIZED = [
    (
        running,
        SIZES,
        lambda x: running(x) * len(x),
        "the right result is multiplied by a size, that of axis 0 of argument 1.",
    ),
    (
        running,
        SIZES,
        lambda x: running(x) * x.shape[1] ** 0.5,
        "the right result is multiplied by the root of a size, that of axis 1 of argument 1.",
    ),
    (
        running,
        SIZES,
        lambda x: running(x) * len(x) ** 2,
        "the right result is multiplied by the square of a size, that of axis 0",
    ),
    (running, SIZES, lambda x: running(x) / len(x), "the right result is divided by a size, that"),
    (
        running,
        SIZES,
        lambda x: running(x) / len(x) ** 0.5,
        "the right result is divided by the root of a size, that of axis 0",
    ),
    (
        running,
        SIZES,
        lambda x: running(x) / x.shape[1] ** 2,
        "the right result is divided by the square of a size, that of axis 1",
    ),
    (
        best_value,
        SIZES,
        lambda x: best_value(x) * len(x),
        "the right result is multiplied by a size",
    ),
    (logarithm, SIZES, lambda x: logarithm(x) * len(x), "the right result is multiplied by a size"),
    (
        logarithm,
        [(0 * numbers(5, 2),), *SIZES],
        lambda x: logarithm(x) * len(x),
        "the right result is multiplied by a size",
    ),
    (
        running,
        [*SIZES, (numbers(5, 2),)],
        then(numbers(5)[None], lambda x: NAN * x, lambda x: running(x) * len(x)),
        "",
    ),
    (running, SIZES[:1], lambda x: running(x) * len(x), ""),
    (running, [(numbers(2, 3),), (numbers(2, 5),)], lambda x: running(x) * 2, ""),
    (running, SIZES, lambda x: running(x) * len(x) * 1.1, ""),
    (running, SIZES, lambda x: running(x) * len(x) + x, ""),
    (running, SIZES, lambda x: (running(x) * len(x))[:, :1], ""),
    (running, SIZES[:2], lambda x: running(x) * len(x), "the right result is multiplied by a size"),
    (
        lambda other, x: running(x),
        BESIDE,
        lambda other, x: running(x) * x.shape[1],
        "the right result is multiplied by a size, that of axis 1 of argument 2.",
    ),
    (
        lambda other, x: running(x),
        PAST,
        lambda other, x: running(x) * other.shape[1],
        "the right result is multiplied by a size, that of axis 1 of argument 1.",
    ),
]

COLUMN = torch.tensor([[3.0], [1.0], [5.0], [4.0]])
FALLING = [(numbers(4, 4), COLUMN.mT + numbers(4, 1))]
ROWS = [(numbers(2, 3), 1 + numbers(2, 3)), (numbers(4, 2), 1 + numbers(4, 2))]
LARGE = [*X, (300 * numbers(2, 5),)]

RUNS = [
    (double, X, lambda x: 2 * x + torch.rand_like(x), "two runs on the same input differ"),
    (with_bias, WITH_ALIKE, lambda x, bias: x.square(), "`bias` has no effect."),
    (hidden, WITH_MASK, lambda x, mask: x + 1, "`mask` has no effect."),
    (
        hidden, [(x, mask & False) for x, mask in WITH_MASK],
        lambda x, mask: x + 1, "`mask` has no effect.",
    ),
    (lambda x, y: x * y, [(x, x[0, 0]) for (x,) in X], lambda x, y: x + 3, "`y` has no effect."),
    (only_x, WITH_ALIKE, lambda x, other: x.square(), ""),
    (only_x, WITH_MASK, lambda x, mask: x.square() + (~mask).all(), ""),
    (with_bias, WITH_ALIKE, then(X[0], lambda x, y: x - 3, lambda x, y: x - 3 * y), ""),
    (with_bias, FALLING, lambda x, y: x.square() + (y[0, 0] >= y[0, 1]), ""),
    (
        with_bias, [(numbers(4, 4), COLUMN.roll(2, 0))],
        lambda x, y: x.square() + y.argmax(0), "",
    ),
    (with_bias, [(numbers(2, 3), torch.ones(2, 3))], lambda x, y: x + y.clamp(min=1.2), ""),
    (with_bias, [(numbers(2, 3), torch.ones(2, 3))], lambda x, y: x.square() + y.sign(), ""),
    (
        with_bias, [(numbers(2, 3), torch.tensor([2, 3, 4]))],
        lambda x, y: x.square() + (y == 1), "",
    ),
    (particular, ROWS, lambda x, y: x.square(), ""),
    (double, X, lambda x: x - x.mean(0), "what stands in one row of the first axis changes the"),
    (
        only_x, ROWS, lambda x, y: x.square() + y.mean(0),
        "what stands in one row of the first axis changes the result of another.",
    ),
    (double, X, then(X[0], double, lambda x: x - x.mean(0)), "what stands in one row of the first"),
    (lambda x: x - x.amax(0), X, lambda x: x - x.mean(0), ""),
    (only_x, [(numbers(2, 3), numbers(4, 3))], lambda x, y: x + y.mean(0), ""),
    (double, X, lambda x: x * x + len(x), ""),
    (double, X, lambda x: (x - x.mean(0)).mT.square().contiguous(), ""),
    (double, X, lambda x: x.square() if (x[0] != x[1]).any() else None, ""),
    (double, [(numbers(1, 3),)], lambda x: x - x.mean(), ""),
    (shifted, WITH_NUMBER[:1], lambda x, n: x - x.mean(0), "what stands in one row of the first"),
    (lambda: torch.ones(3), [()], lambda: torch.arange(3.0), ""),
    (total, X, lambda x: x.square().sum(), ""),
    (lambda n: torch.ones(n), [(3,), (4,)], lambda n: torch.ones(n) + torch.arange(n), ""),
    (double, LARGE, lambda x: 2 * x.clamp(max=99), "right for numbers of ordinary size, wrong"),
    (double, LARGE[::-1], lambda x: 2 * x.clamp(max=99), "right for numbers of ordinary size"),
    (
        only_first, [(x, x) for (x,) in LARGE], lambda x, other: x.clamp(min=-99),
        "right for numbers of ordinary size, wrong where they are large.",
    ),
    (double, LARGE[2:], lambda x: 2 * x.clamp(max=99), ""),
    (double, [*LARGE, (900 * numbers(2, 5),)], then(LARGE[2], running, double), ""),
    (
        double, [*X, (300 * numbers(3, 2),), (300 * numbers(6, 1),)],
        then(numbers(6)[None], lambda x: 2 * x.clamp(max=99), double), "",
    ),
    (double, [*X, (59 * numbers(3, 3),)], lambda x: 2 * x.clamp(max=20), ""),
    (double, [*X, (torch.tensor([900, 1, 2]),)], lambda x: x + x.clamp(max=99), ""),
    (only_first, [*ROWS, (numbers(3), torch.tensor([-INF, NAN, INF]))], unless_alone, ""),
    (only_first, [*ROWS, (numbers(3), numbers(0))], unless_alone, ""),
    (only_first, [*ROWS, (numbers(3), 900)], unless_alone, ""),
]  # fmt: skip


TABLE = [*KINDS, *PARTS, *ARGUMENTS, *ONE_MORE, *ERRORS, *CHANGES, *LOOKS, *SIZED, *RUNS]


def heard(answer, reference, cases):
    names = _argument_names(reference)
    return property_of(answer, reference, cases, names, lambda a, b: not difference(a, b))


@pytest.mark.parametrize(("reference", "cases", "answer", "said"), TABLE)
def test_what_is_said_of_a_wrong_answer_is_true(reference, cases, answer, said):
    sentence = heard(answer, reference, cases)
    assert sentence.startswith(said) if said else not sentence


def sentences():
    """All that the module can say, or how it ends, with {} where something is filled in."""
    nodes = list(ast.walk(ast.parse(inspect.getsource(_properties))))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and id(n) not in docstrings]
    return [text for text in texts if isinstance(text, str) and text.endswith(".")]


def test_every_sentence_is_heard():
    said = {heard(answer, reference, cases) for reference, cases, answer, _ in TABLE}
    for sentence in sentences():
        pattern = re.sub(r"\\{0?\\}", ".+", re.escape(sentence))
        assert any(re.search(f"{pattern}$", one) for one in said), sentence
