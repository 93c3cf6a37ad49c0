"""Graders for the chapter on variance."""

from typing import Any

import torch

from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import of_scaled_scores
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.scoring import dot_scores

__all__ = ["broken_line", "largest_weights", "quiz", "typical_score", "unit_scores"]

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
        (1, "1 is what is left after division by the root of the width.", 0.05),
        (1 / 16, "1/16 is the factor that scaling would put on, not the score.", 0.01),
        (4, "that is the fourth root; a variance of 256 has the square root 16.", 0.1),
        (65536, "that is the variance squared."),
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

    def over_std(wrong: Any) -> Any:
        return lambda queries, keys, std: wrong(queries, keys) / std**2

    def standardised(queries: Any, keys: Any, std: Any) -> Any:
        return dot_scores(queries, keys) / dot_scores(queries, keys).std()

    def by_row(queries: Any, keys: Any, std: Any) -> Any:
        return dot_scores(queries, keys) / dot_scores(queries, keys).std(dim=-1, keepdim=True)

    def centred(queries: Any, keys: Any, std: Any) -> Any:
        scores = dot_scores(queries, keys)
        return (scores - scores.mean()) / scores.std()

    def by_own_spread(queries: Any, keys: Any, std: Any) -> Any:
        return dot_scores(queries / queries.std(), keys / keys.std()) / queries.shape[-1] ** 0.5

    def shifted(queries: Any, keys: Any, std: Any) -> Any:
        return dot_scores(queries - std, keys - std) / queries.shape[-1] ** 0.5

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
            divided_by(lambda d, std: std**4 * d**0.5),
            "std⁴ is in the variance; the standard deviation of a score has std².",
        ),
        (
            divided_by(lambda d, std: (std * d) ** 0.5),
            "std must leave the root: each of the two vectors brings a whole factor std.",
        ),
        (
            divided_by(lambda d, std: std**3 * d**0.5),
            "std³ has one factor too many: query and key each bring one.",
        ),
        (
            divided_by(lambda d, std: d**0.5 / std**2),
            "std² is multiplied; the scores are too large by it already: divide.",
        ),
        (
            divided_by(lambda d, std: std**2 * d**2),
            "the width enters through its root: divide by √d, not by d².",
        ),
        (
            divided_by(lambda d, std: d**-0.5),
            "`/ std * std` divides and multiplies again: write the divisor in brackets.",
        ),
        (
            divided_by(lambda d, std: 2 * std * d**0.5),
            "std is squared, not doubled: query and key each bring a factor.",
        ),
        (shifted, "std is subtracted; coordinates are divided by it to have variance 1."),
        *(
            (
                wrong,
                "the spread of these very numbers is divided out, so other rows now change a "
                "score; derive the divisor from std and d.",
            )
            for wrong in (standardised, by_row, centred, by_own_spread)
        ),
        *((over_std(wrong), sentence) for wrong, sentence in of_scaled_scores()),
    ]
    reference = divided_by(lambda d, std: std**2 * d**0.5)
    sizes = [(1, 2, 2, 2.0), (5, 7, 3, 0.5), (4, 3, 64, 3.0), (2, 11, 13, 1.0)]
    cases = [(*_vectors((len_q, len_k), d), std) for len_q, len_k, d, std in sizes]
    cases.append((*_vectors((5, 7), 3, (2, 3)), 1.5))  # a batch
    cases.append((*_vectors((3, 5), 2, dtype=torch.float64), 100.0))
    cases.append((torch.zeros(2, 3), torch.ones(4, 3), 2.0))
    return grade(answer, reference, cases, mistakes, axes=["query", "key"])


quiz = Quiz(
    Choice(
        "The dot product of two random vectors has variance d. Which of these does that not need?",
        [
            "The coordinates have mean 0.",
            "The coordinates have variance 1.",
            "The coordinates are normally distributed.",
        ],
        "c",
        {
            "a": "lines 1 to 3 all need it: with another mean a product is not 0 on average.",
            "b": "line 2 needs it: with variance σ² the dot product has variance d · σ⁴.",
            "c": "the four lines use means, variances and independence. Coins do as well.",
        },
    ),
    Choice(
        "Nobody divides, and the vectors are wide. What is wrong at the start of training?",
        [
            "The weights no longer sum to 1.",
            "The outputs become as large as the scores.",
            "One key takes nearly all the weight, and the gradient is nearly 0.",
        ],
        "c",
        {
            "a": "softmax makes them sum to 1, however large the scores are.",
            "b": "the output is a mixture of the values, and lies among them whatever the scores.",
            "c": "which key it is was decided by chance, and training can hardly change it.",
        },
    ),
    Number(
        "The coordinates of queries and keys have mean 0 and standard deviation 3, and there are "
        "16. By what do you divide the dot products to get variance 1?",
        36,
        because="query and key bring one factor 3 each, and √16 = 4: 3 · 3 · 4 = 36.",
        mistakes=[
            (4, "√16 is right for a standard deviation of 1; here it is 3, in both vectors."),
            (12, "the 3 counts twice, once for the query and once for the key."),
            (144, "the width enters through its root: 4, not 16."),
            (16, "the width enters through its root, and the standard deviation is still missing."),
            (1296, "that is the variance; divide by the standard deviation, its root."),
        ],
    ),
)


def _vectors(lengths: Any, d: Any, batch: Any = (), dtype: Any = torch.float32) -> Any:
    generator = torch.Generator().manual_seed(d)
    return [torch.randn(*batch, n, d, generator=generator, dtype=dtype) for n in lengths]
