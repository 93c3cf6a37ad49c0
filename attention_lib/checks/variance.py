"""Graders for the chapter on variance."""

import torch

from attention_lib.checks._grading import grade, grade_number
from attention_lib.scoring import cosine_scores, dot_scores

__all__ = ["qk_norm_scores", "typical_score", "unit_scores"]


def typical_score(answer):
    """Grade the standard deviation of unscaled scores at width 256.

    Parameters
    ----------
    answer : float
        The reader's number.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> typical_score(16)
    Correct: 16 it is.
    """
    mistakes = [
        (256, "256 is the variance; a typical score is its square root."),
        (1, "1 is what is left after division by the root of the width."),
        (1 / 16, "1/16 is the factor that scaling would put on, not the score."),
    ]
    return grade_number(answer, 16, mistakes)


def unit_scores(answer):
    """Grade scores of variance 1 for coordinates of standard deviation ``std``.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, std)`` returns scores ``(len_q, len_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> unit_scores(lambda queries, keys, std: queries @ keys.T)
    Not yet: nothing is divided: the scores have variance d · std⁴.
    """

    def divided_by(divisor):
        return lambda queries, keys, std: (
            dot_scores(queries, keys) / divisor(queries.shape[-1], std)
        )

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
    ]
    cases = [(*_vectors(5, 7, d, std), std) for d, std in ((3, 2.0), (11, 0.5), (64, 3.0))]
    return grade(answer, divided_by(lambda d, std: std**2 * d**0.5), cases, mistakes)


def qk_norm_scores(answer):
    """Grade query-key normalisation.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, gain)`` returns scores ``(len_q, len_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> qk_norm_scores(lambda queries, keys, gain: gain * cosine_scores(queries, keys))
    Correct: 3 cases agree.
    """

    def normalised(x, dim):
        return x / x.norm(dim=dim, keepdim=True)

    def whole_matrix(queries, keys, gain):
        return gain * dot_scores(queries, keys) / (queries.norm() * keys.norm())

    def wrong_axis(queries, keys, gain):
        return gain * dot_scores(normalised(queries, -2), normalised(keys, -2))

    def queries_only(queries, keys, gain):
        return gain * dot_scores(normalised(queries, -1), keys)

    def keys_only(queries, keys, gain):
        return gain * dot_scores(queries, normalised(keys, -1))

    def scaled_too(queries, keys, gain):
        return gain * cosine_scores(queries, keys) / queries.shape[-1] ** 0.5

    def no_gain(queries, keys, gain):
        return cosine_scores(queries, keys)

    mistakes = [
        (whole_matrix, "one length was taken for the whole matrix; every row has its own."),
        (wrong_axis, "the columns were normalised; a query is a row, so its axis is the last."),
        (queries_only, "the keys keep their lengths, so a long key still wins."),
        (keys_only, "the queries keep their lengths, so a long query still makes a sharp row."),
        (scaled_too, "after normalisation nothing grows with d: leave the root of d out."),
        (no_gain, "gain has no effect yet."),
    ]
    cases = [(*_vectors(5, 7, d, 2.0), gain) for d, gain in ((3, 10.0), (11, 1.5), (64, 4.0))]
    return grade(
        answer,
        lambda queries, keys, gain: gain * cosine_scores(queries, keys),
        cases,
        mistakes,
    )


def _vectors(len_q, len_k, d, std):
    generator = torch.Generator().manual_seed(d)
    return [torch.randn(length, d, generator=generator) * std for length in (len_q, len_k)]
