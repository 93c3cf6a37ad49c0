"""The graders of "Keep the gradient alive": the right answer passes, known mistakes are named."""

import pytest
import torch

from attention_lib.checks import softmax_gradient as check


def sums(weights):
    return weights.square().sum(dim=-1), weights.pow(3).sum(dim=-1)


def norm(weights):
    squares, cubes = sums(weights)
    return (squares - 2 * cubes + squares.square()).sqrt()


def backward(weights, gradient):
    return weights * (gradient - (weights * gradient).sum(dim=-1, keepdim=True))


def backward_by_autograd(weights, gradient):
    scores = weights.log().requires_grad_()
    torch.softmax(scores, dim=-1).backward(gradient)
    return scores.grad


RIGHT = [
    (check.torn_norm, 0.5),
    (check.jacobian_norm, norm),
    (check.softmax_backward, backward),
    (check.softmax_backward, backward_by_autograd),
]

# grader, wrong answer, what must be said of it
WRONG = [
    (check.torn_norm, 0.25, "root of the sum"),
    (check.torn_norm, 0.0, "hard choice"),
    (check.torn_norm, 15**0.5 / 16, "even weights"),
    (check.torn_norm, 2**-1.5, "off the diagonal"),
    (check.torn_norm, 0.9, "too large"),
    (check.jacobian_norm, lambda w: (sums(w)[0] + sums(w)[0] ** 2).sqrt(), "middle term"),
    (check.jacobian_norm, lambda w: (sums(w)[0] - sums(w)[1] + sums(w)[0] ** 2).sqrt(), "twice"),
    (check.jacobian_norm, lambda w: norm(w) ** 2, "take the root"),
    (check.jacobian_norm, lambda w: sums(w)[0].sqrt(), "diagonal matrix alone"),
    (check.jacobian_norm, lambda w: norm(w).sum(), "expected shape (5,), got ()"),
    (check.softmax_backward, lambda w, g: w * g, "diagonal alone"),
    (check.softmax_backward, lambda w, g: w * (g - (w * g).sum()), "all rows"),
    (check.softmax_backward, lambda w, g: w * (g - g.mean(-1, keepdim=True)), "weighted by p"),
    (check.softmax_backward, lambda w, g: g - (w * g).sum(-1, keepdim=True), "in front"),
    (check.softmax_backward, lambda w, g: g, "largest difference"),
    (check.softmax_backward, lambda w, g: w @ g, "raised RuntimeError"),
]


@pytest.mark.parametrize(("grader", "answer"), RIGHT)
def test_the_right_answer_passes(grader, answer):
    assert grader(answer)


@pytest.mark.parametrize(("grader", "answer", "said"), WRONG)
def test_the_mistake_is_named(grader, answer, said):
    verdict = grader(answer)
    assert not verdict
    assert said in verdict.message
