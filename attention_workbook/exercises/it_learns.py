"""Graders for the exercises of the chapter in which a model learns.

Examples
--------
>>> loss(lambda scores, targets: scores.log_softmax(dim=-1).gather(-1, targets[..., None]).mean())
Not yet: the sign: the logarithm of a probability is at most 0, a loss at least 0.
"""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions, without

__all__ = ["loss", "quiz", "update"]

(quiz,) = questions("it_learns")

_normal, _double = draws(151), draws(152, torch.float64)

_LARGE = 400 * _normal(2, 3, 5)


@exercise(
    part="my_loss",
    cases=[
        (torch.tensor([[[0.0, 0.0], [2.0, 1.0]]]), torch.tensor([[1, 0]])),
        (_normal(2, 3, 5), torch.tensor([[4, 0, 1], [2, 2, 3]])),
        (3 * _normal(1, 7, 3), torch.tensor([[0, 1, 2, 2, 1, 0, 1]])),
        (_double(3, 2, 11), torch.tensor([[10, 0], [5, 5], [1, 9]])),
    ],
    special={"where scores are in the hundreds": (_LARGE, torch.tensor([[4, 0, 1], [2, 2, 3]]))},
    rules=[
        without(
            *("cross_entropy", "nll_loss"),
            sentence="the result is right, but `cross_entropy` or `nll_loss` made it; write the "
            "steps yourself.",
        )
    ],
    mistakes=[
        (".mean()", ".sum()", "these are added up; the loss is their mean."),
        (
            "-chosen",
            "chosen",
            "the sign: the logarithm of a probability is at most 0, a loss at least 0.",
        ),
        (
            "dim=-1).gather",
            "dim=-2).gather",
            "the softmax runs over the places; the letters lie along the last axis.",
        ),
        (
            "log_softmax(dim=-1)",
            "softmax(dim=-1)",
            "the logarithm is missing: the loss is the mean of −ln p.",
        ),
        (
            "(-chosen).mean()",
            "-chosen.exp().mean().log()",
            "that is the logarithm of the mean probability; take the mean of the logarithms.",
        ),
        (
            "log_softmax(dim=-1)",
            "softmax(dim=-1).log()",
            "where scores are in the hundreds an exponential is rounded to 0 or to infinity; "
            "`log_softmax` avoids both.",
        ),
        (
            "scores.log_softmax(dim=-1).gather(-1, targets[..., None])",
            "scores[:, :-1].log_softmax(dim=-1).gather(-1, targets[:, 1:, None])",
            "the scores of a place meet the target of the next one. `targets` are the letters that "
            "came: nothing is to be shifted.",
        ),
    ],
)
def loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Return the mean surprise, in nats, at letters ``(batch, len)``."""
    chosen = scores.log_softmax(dim=-1).gather(-1, targets[..., None])
    return (-chosen).mean()


def _state(number: int, rate: float) -> tuple[Tensor | float, ...]:
    parameter, gradient, mean = (_normal(number, 3) for _ in range(3))
    return parameter, gradient, mean, _normal(number, 3).square(), rate


@exercise(
    part="my_update",
    cases=[
        (*(torch.tensor([x]) for x in (1.0, 2.0, 0.0, 0.0)), 0.5),
        _state(2, 0.1),
        _state(5, 0.01),
        _state(3, 0.3),
    ],
    special={
        "where no gradient has ever come": (_normal(2), *(torch.zeros(2) for _ in range(3)), 0.1),
        "where gradients are tiny": (
            _normal(2),
            1e-5 * _normal(2),
            torch.zeros(2),
            torch.zeros(2),
            1.0,
        ),
    },
    mistakes=[
        ("parameter - rate", "parameter + rate", "the step goes uphill: the loss would rise."),
        (".sqrt()", "", "the root of the square is missing."),
        (
            "rate * mean / (square.sqrt() + 1e-8)",
            "rate * gradient",
            "that is plain descent: it follows the gradient itself, and not the two means.",
        ),
        (
            "rate * mean /",
            "rate * gradient /",
            "the step follows the mean of the gradients, not the newest one alone.",
        ),
        (
            {"0.99 * square + 0.01": "0.999 * square + 0.001"},
            "the mean of the squares keeps 0.99 of what it was, here not 0.999.",
        ),
        (
            {
                "rate * mean / (square.sqrt() + 1e-8)": "rate * old / (square.sqrt() + 1e-8)",
                "mean = 0.9": "old = mean; mean = 0.9",
            },
            "the step uses the mean from before; update both means first.",
        ),
        ("gradient**2", "gradient", "the second mean is that of the squares of the gradient."),
        (
            ".sqrt() + 1e-8",
            ".add(1e-8).sqrt()",
            "1e-8 stands inside the root; add it to the root.",
        ),
        (
            "0.9 * mean + 0.1 * gradient",
            "0.1 * mean + 0.9 * gradient",
            "the mean keeps 0.9 of what it was; yours keeps 0.1.",
        ),
    ],
)
def update(
    parameter: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, rate: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return a parameter after one step, and the running means of its gradient and its square."""
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.99 * square + 0.01 * gradient**2
    parameter = parameter - rate * mean / (square.sqrt() + 1e-8)
    return parameter, mean, square
