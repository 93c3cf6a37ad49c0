"""Graders for the chapter on softmax's gradient."""

import torch

from attention_lib.checks._grading import grade, grade_number
from attention_lib.saturation import softmax_jacobian

__all__ = ["jacobian_norm", "softmax_backward", "torn_norm"]


def torn_norm(answer):
    """Grade the norm of the Jacobian where two keys share the weight equally.

    Parameters
    ----------
    answer : float
        The reader's number.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> torn_norm(0.5)
    Correct: 0.5 it is.
    """
    mistakes = [
        (0.25, "0.25 is the size of one entry, or the sum of squares; take the root of the sum."),
        (0.0, "0 is the norm of a hard choice, with all weight on one key."),
        (15**0.5 / 16, "that is the norm of even weights over all sixteen keys."),
        (2**-1.5, "the entries off the diagonal count as well."),
    ]
    return grade_number(answer, 0.5, mistakes)


def jacobian_norm(answer):
    """Grade the norm of the Jacobian, computed from the weights alone.

    Parameters
    ----------
    answer : callable
        ``answer(weights)`` takes ``(..., len_k)`` and returns norms ``(...)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> jacobian_norm(lambda weights: torch.linalg.matrix_norm(softmax_jacobian(weights)))
    Correct: 3 cases agree.
    """

    def from_sums(combine):
        def norm(weights):
            return combine(weights.square().sum(dim=-1), weights.pow(3).sum(dim=-1)).sqrt()

        return norm

    mistakes = [
        (
            from_sums(lambda squares, cubes: squares + squares.square()),
            "the middle term of the square is missing: it meets the diagonal and leaves cubes.",
        ),
        (
            from_sums(lambda squares, cubes: squares - cubes + squares.square()),
            "the middle term of a square comes twice.",
        ),
        (
            from_sums(lambda squares, cubes: (squares - 2 * cubes + squares.square()).square()),
            "that is the square of the norm; take the root.",
        ),
        (
            from_sums(lambda squares, cubes: squares),
            "that is the norm of the diagonal matrix alone.",
        ),
    ]
    cases = [(_weights(*shape),) for shape in ((5, 7), (2, 3, 11), (13,))]
    return grade(
        answer,
        lambda weights: torch.linalg.matrix_norm(softmax_jacobian(weights)),
        cases,
        mistakes,
    )


def softmax_backward(answer):
    """Grade the product of the Jacobian with a gradient, without forming the Jacobian.

    Parameters
    ----------
    answer : callable
        ``answer(weights, gradient)`` takes two ``(..., len_k)`` and returns ``(..., len_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> softmax_backward(lambda weights, gradient: weights * gradient)
    Not yet: that is the diagonal alone; what one key gains the others must lose.
    """

    def reference(weights, gradient):
        return (softmax_jacobian(weights) @ gradient.unsqueeze(-1)).squeeze(-1)

    def mean_without_keepdim_axis(weights, gradient):
        return weights * (gradient - (weights * gradient).sum())

    def plain_mean(weights, gradient):
        return weights * (gradient - gradient.mean(dim=-1, keepdim=True))

    def no_weight_in_front(weights, gradient):
        return gradient - (weights * gradient).sum(dim=-1, keepdim=True)

    mistakes = [
        (
            lambda weights, gradient: weights * gradient,
            "that is the diagonal alone; what one key gains the others must lose.",
        ),
        (mean_without_keepdim_axis, "the sum runs over all rows; each row has its own."),
        (plain_mean, "the mean to subtract is weighted by p, not plain."),
        (no_weight_in_front, "the weight in front is missing: a key without share moves nothing."),
    ]
    cases = [(_weights(*shape), _weights(*shape).log()) for shape in ((5, 7), (2, 3, 11), (3, 13))]
    return grade(answer, reference, cases, mistakes)


def _weights(*shape):
    generator = torch.Generator().manual_seed(shape[-1])
    return torch.softmax(2 * torch.randn(shape, generator=generator), dim=-1)
