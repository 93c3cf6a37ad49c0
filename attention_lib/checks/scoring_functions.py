"""Graders for the exercises of "Score every pair"."""

import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attention_lib.checks._grading import Verdict, grade, grade_number
from attention_lib.scoring import dot_scores, gaussian_scores

__all__ = [
    "crossing_of_the_circle",
    "frugal_additive_scores",
    "gaussian_by_product",
    "largest_tensor",
]

QUERY, LONG = (2.0, 0.0), (3.0, 2.0)  # of the chapter's first figure


def crossing_of_the_circle(answer):
    """Grade where the Gaussian's contour through the key *long* meets the horizontal axis.

    Parameters
    ----------
    answer : float
        The first coordinate of the crossing to the right of the query, read from the figure.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> crossing_of_the_circle(3.0).passed
    False
    """
    radius = math.dist(QUERY, LONG)
    mistakes = [
        (
            LONG[0],
            "that is the dot product's contour, a straight line up through long. The "
            "Gaussian's contours are circles.",
        ),
        (
            math.hypot(*LONG),
            "that is on the circle around the origin. The Gaussian measures the distance from "
            "the query.",
        ),
        (QUERY[0] - radius, "that is the crossing on the left. The right one is asked for."),
        (radius, "that is the distance. The circle's centre is the query, so add its 2."),
    ]
    return grade_number(answer, QUERY[0] + radius, mistakes, tolerance=0.12)


def gaussian_by_product(answer):
    """Grade scores that have the Gaussian's weights, without a tensor of differences.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys)``, ``(..., len_q, d_k)`` and ``(..., len_k, d_k)``, returns
        scores ``(..., len_q, len_k)``. What softmax cancels may be left out.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from attention_lib.scoring import dot_scores
    >>> gaussian_by_product(dot_scores).passed
    False
    """
    random = _seeded(0)
    cases = [
        (random(2, 3, 5), random(2, 7, 5)),
        (random(3, 2), random(5, 2)),
        (random(1, 1, 3), 4 * random(1, 11, 3)),
    ]
    mistakes = [
        (
            _weights_of(dot_scores),
            "these are the dot product's weights. Softmax cancels the query's squared length, "
            "but not the keys'.",
        ),
        (
            _penalised(lambda squares: squares),
            "the whole squared length of the key is subtracted. Formula (3) has half of it.",
        ),
        (
            _penalised(lambda squares: -squares / 2),
            "half the squared length of the key is added. A long key is far away: subtract.",
        ),
        (
            _penalised(lambda squares: squares.sqrt() / 2),
            "half the length is subtracted. Formula (3) has half the squared length.",
        ),
    ]
    verdict = grade(_weights_of(answer), _weights_of(gaussian_scores), cases, mistakes)
    return verdict and _grade_memory(answer, cases[0], verdict, 2 * 7 * (5 + 1))


def frugal_additive_scores(answer):
    """Grade additive scores that never hold the hidden features of all pairs at once.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, W_q, W_k, w_v)``, of shapes ``(batch, len_q, d_q)``,
        ``(batch, len_k, d_k)``, ``(num_hiddens, d_q)``, ``(num_hiddens, d_k)`` and
        ``(num_hiddens,)``, returns scores ``(batch, len_q, len_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def all_at_once(queries, keys, W_q, W_k, w_v):
    ...     features = (queries @ W_q.T).unsqueeze(-2) + (keys @ W_k.T).unsqueeze(-3)
    ...     return torch.tanh(features) @ w_v
    >>> frugal_additive_scores(all_at_once).passed
    False
    """
    random = _seeded(0)
    cases = [
        (random(2, 7, 3), random(2, 5, 2), random(11, 3), random(11, 2), random(11)),
        (random(1, 1, 5), random(1, 3, 7), random(2, 5), random(2, 7), random(2)),
    ]
    mistakes = [
        (
            lambda *arguments: _additive(*arguments, torch.clone),
            "the tanh is missing, so the query moves all scores of its row by the same amount.",
        ),
        (
            lambda *arguments: _additive(*arguments, torch.clone).tanh(),
            "the tanh comes after w_v. It belongs to each hidden feature, before they are summed.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, W_q, W_k, 1 + 0 * w_v),
            "w_v is not used: the hidden features are summed with equal weights.",
        ),
        (
            _each_side_alone,
            "the tanh is taken of each side alone. It belongs to their sum: query and key must "
            "meet inside it.",
        ),
    ]
    verdict = grade(answer, _additive, cases, mistakes)
    return verdict and _grade_memory(answer, cases[0], verdict, 2 * 7 * 11)


def largest_tensor(function, *arguments):
    """Call a function and return the size of the largest tensor that it makes.

    Parameters
    ----------
    function : callable
        Any function of tensors.
    *arguments
        What it is called with.

    Returns
    -------
    int
        How many numbers the largest tensor holds. A view counts what it is a view of.

    Examples
    --------
    >>> x, y = torch.ones(5, 2), torch.ones(7, 2)
    >>> largest_tensor(dot_scores, x, y)  # (5, 2) x (2, 7) -> (5, 7)
    35
    >>> largest_tensor(gaussian_scores, x, y)  # differences (5, 7, 2)
    70
    """
    with _Watch() as watch:
        function(*arguments)
    return watch.largest


class _Watch(TorchDispatchMode):
    """See every tensor that PyTorch makes; ``largest`` is the size of the largest."""

    largest = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        for made in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(made, torch.Tensor):
                numbers = made.untyped_storage().nbytes() // made.element_size()
                self.largest = max(self.largest, numbers)
        return result


def _grade_memory(answer, case, verdict, allowed):
    """Keep a passed verdict if the answer makes no tensor of more numbers than allowed."""
    numbers = largest_tensor(answer, *case)
    if numbers <= allowed:
        return Verdict(True, f"{verdict.message} Largest tensor made: {numbers} numbers.")
    return Verdict(
        False,
        f"the numbers are right, but case 1 makes a tensor of {numbers} numbers; "
        f"{allowed} are enough.",
    )


def _seeded(seed):
    """Return a function that draws the same numbers on every machine."""
    seeded = torch.Generator().manual_seed(seed)

    def random(*shape):
        return torch.randn(shape, generator=seeded)

    return random


def _weights_of(score):
    """Return a function of the weights, so that what softmax cancels is no difference."""
    if not callable(score):
        return score

    def weights(queries, keys):
        scores = score(queries, keys)
        return torch.softmax(scores, dim=-1) if isinstance(scores, torch.Tensor) else scores

    return weights


def _penalised(penalty):
    """Return the weights of the dot product less something that depends on the key's length."""

    def scores(queries, keys):
        squares = keys.square().sum(dim=-1)  # (..., len_k)
        return dot_scores(queries, keys) - penalty(squares).unsqueeze(-2)

    return _weights_of(scores)


def _each_side_alone(queries, keys, W_q, W_k, w_v):
    of_query, of_key = ((x @ W.T).tanh() @ w_v for x, W in ((queries, W_q), (keys, W_k)))
    return of_query.unsqueeze(-1) + of_key.unsqueeze(-2)


def _additive(queries, keys, W_q, W_k, w_v, activation=torch.tanh):
    features = (queries @ W_q.T).unsqueeze(-2) + (keys @ W_k.T).unsqueeze(-3)
    return activation(features) @ w_v
