"""Graders for the chapter on variance."""

from typing import Any

import torch

from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._questions import Choice, Number
from attention_lib.scoring import dot_scores

__all__ = ["broken_line", "largest_weights", "typical_score", "unit_scores"]

broken_line = Choice(
    "A query is its own key. Which line of the derivation fails first?",
    [
        "line 1: a product has mean 0",
        "line 2: a product has variance 1",
        "line 3: two products have covariance 0",
        "line 4: variances and covariances add up",
    ],
    "a",
    {
        "a": "a product is a square, with mean 1; query and key have to be independent.",
        "b": "the variance of a square is another number, too, but an earlier line fails first.",
        "c": "two different coordinates are still independent of each other.",
        "d": "that line holds for every sum; it needs no assumption at all.",
    },
)

typical_score = Number(
    "The standard deviation of unscaled scores at width 256",
    16,
    tolerance=0.5,
    because="the variance is 256, and a typical score is its square root, 16.",
    mistakes=[
        (256, "256 is the variance; a typical score is its square root."),
        (512**0.5, "that is a typical gap between two scores; one score is asked for.", 0.1),
        (512, "that is the variance of a gap between two scores."),
        (1, "1 is what is left after division by the root of the width."),
        (1 / 16, "1/16 is the factor that scaling would put on, not the score."),
        (128, "the standard deviation is the root of the variance, not half of it."),
    ],
)

largest_weights = Choice(
    "The largest of 16 weights at width 1024, for the divisors 1, √d and d",
    ["0.96, 0.25, 0.066", "0.25, 0.96, 0.066", "0.066, 0.25, 0.96", "0.96, 0.066, 0.066"],
    "a",
    {
        "a": "nearly a hard choice, then the same weight as at every width, then nearly 1/16.",
        "b": "unscaled scores are the largest, so their winner takes the most.",
        "c": "that is the reverse: the more is divided out, the more even the weights are.",
        "d": "divided by √d the scores still have variance 1, so the weights are not even.",
    },
)


def unit_scores(answer: object) -> Verdict:
    """Grade scores of variance 1 for coordinates of standard deviation ``std``.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, std)`` returns scores ``(..., len_q, len_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> unit_scores(lambda queries, keys, std: queries @ keys.transpose(-2, -1))
    Not yet: nothing is divided: the scores have variance d · std⁴.
    """

    def divided_by(divisor: Any) -> Any:
        return lambda queries, keys, std: (
            dot_scores(queries, keys) / divisor(queries.shape[-1], std)
        )

    def by_length(queries: Any, keys: Any, std: Any) -> Any:
        return dot_scores(queries, keys) / (std**2 * len(queries) ** 0.5)

    def by_number_of_keys(queries: Any, keys: Any, std: Any) -> Any:
        return dot_scores(queries, keys) / (std**2 * keys.shape[-2] ** 0.5)

    def standardised(queries: Any, keys: Any, std: Any) -> Any:
        scores = dot_scores(queries, keys)
        return scores / scores.std()

    mistakes = [
        (divided_by(lambda d, std: 1), "nothing is divided: the scores have variance d · std⁴."),
        (divided_by(lambda d, std: d**0.5), "the variance is still std⁴: std has no effect yet."),
        (
            divided_by(lambda d, std: std * d**0.5),
            "query and key each bring a factor std, so one division by std is not enough.",
        ),
        (
            divided_by(lambda d, std: std**4 * d),
            "that divides by the variance; divide by the standard deviation, its square root.",
        ),
        (
            divided_by(lambda d, std: std**2 * d),
            "the width enters through its root: divide by √d, not by d.",
        ),
        (divided_by(lambda d, std: std**2), "the width has no effect yet: the variance is d."),
        (
            divided_by(lambda d, std: std**4 * d**0.5),
            "std⁴ is in the variance; the standard deviation of a score has std².",
        ),
        (
            divided_by(lambda d, std: (std * d) ** 0.5),
            "std must leave the root: each of the two vectors brings a whole factor std.",
        ),
        (by_length, "that is the root of the number of queries; d is the last axis."),
        (by_number_of_keys, "that is the root of the number of keys; d is the last axis."),
        (
            standardised,
            "the scores of this one table have variance 1, but other rows now change a score; "
            "derive the divisor from std and d.",
        ),
    ]
    reference = divided_by(lambda d, std: std**2 * d**0.5)
    sizes = [(1, 2, 2, 2.0), (5, 7, 3, 0.5), (4, 3, 64, 3.0), (2, 11, 13, 1.0)]
    cases = [(*_vectors((len_q, len_k), d), std) for len_q, len_k, d, std in sizes]
    cases.append((*_vectors((5, 7), 3, (2, 3)), 1.5))  # a batch
    cases.append((*_vectors((3, 5), 2, dtype=torch.float64), 100.0))
    cases.append((torch.zeros(2, 3), torch.ones(4, 3), 2.0))
    return grade(answer, reference, cases, mistakes, axes=["query", "key"])


def _vectors(lengths: Any, d: Any, batch: Any = (), dtype: Any = torch.float32) -> Any:
    generator = torch.Generator().manual_seed(d)
    return [torch.randn(*batch, n, d, generator=generator, dtype=dtype) for n in lengths]
