"""Graders for the exercises of "Look up softly"."""

from functools import partial

import torch

from attention_lib.checks._grading import grade, grade_number

__all__ = ["attend_or_abstain", "hard_lookup", "three_effective_keys"]

# Temperatures at which the weights .75 .15 .07 .03 become those of three effective keys, and
# at which the largest of them becomes one third.
THREE_EFFECTIVE_KEYS = 1.56
LARGEST_IS_A_THIRD = 5.83


def three_effective_keys(answer):
    """Grade the temperature at which a lookup spreads over three effective keys.

    Parameters
    ----------
    answer : float
        The temperature read from the figure.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> three_effective_keys(0.4)
    Not yet: 0.4 is too small.
    """
    mistakes = [
        (
            LARGEST_IS_A_THIRD,
            "that is where the largest weight is one third. The other three share the rest "
            "almost equally there, so nearly four keys take part. Read the other curve.",
        ),
        (
            3.0,
            "3 is the number of keys. Find it on the vertical axis, go across to the curve, "
            "then down to the temperature.",
        ),
    ]
    return grade_number(answer, THREE_EFFECTIVE_KEYS, mistakes, tolerance=0.25)


def hard_lookup(answer):
    """Grade the weights of a hard lookup, the limit of softmax at temperature 0.

    Parameters
    ----------
    answer : callable
        ``answer(scores)``, ``(..., len_q, len_k)``, returns weights of the same shape.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> hard_lookup(lambda scores: torch.softmax(scores, dim=-1)).passed
    False
    """
    with_ties = torch.randint(
        0, 3, (2, 3, 5), generator=torch.Generator().manual_seed(0), dtype=torch.float32
    )
    cases = [
        (torch.tensor([[[2.0, 0.4, -0.4, -1.2]]]),),
        (torch.tensor([[[1.0, 0.0, 1.0, 0.5], [3.0, 2.0, 1.0, 0.0]]]),),
        (torch.tensor([[[0.0, 0.0, 0.0], [1.0, 1.001, 0.999], [0.0, 1e-7, -1.0]]]),),
        (with_ties,),
    ]
    mistakes = [
        (
            _first_of_the_best,
            "a tie is not shared. Two equal scores have equal weights at every temperature, "
            "so they have equal weights in the limit; here the first takes all.",
        ),
        (
            lambda scores: _is_best(scores).to(scores.dtype),
            "where two keys tie, the row sums to 2. Divide by the number of best keys.",
        ),
        (
            lambda scores: _shared(scores == scores.max()),
            "the best key is sought in the whole tensor. Each query has its own best key: "
            "take the largest score of each row.",
        ),
        (
            lambda scores: _shared(scores == scores.amax(dim=-2, keepdim=True)),
            "the best score is sought down a column, over the queries. Keys lie along the "
            "last axis.",
        ),
        (
            lambda scores: _is_best(scores) / _is_best(scores).sum(),
            "the best keys of the whole tensor are counted. Divide each row by the number of "
            "its own.",
        ),
    ]
    mistakes += [
        (
            partial(_cold, temperature=temperature),
            f"a temperature of {temperature:g} is not 0: scores that lie close together still "
            "share the weight.",
        )
        for temperature in (0.1, 0.01, 0.001, 1e-4, 1e-6)
    ]
    return grade(answer, lambda scores: _shared(_is_best(scores)), cases, mistakes)


def attend_or_abstain(answer):
    """Grade an attention that can answer with nothing.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, values)`` returns the output ``(..., len_q, d_v)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> plain = lambda queries, keys, values: (queries @ keys.mT).softmax(dim=-1) @ values
    >>> attend_or_abstain(plain).passed
    False
    """
    seeded = torch.Generator().manual_seed(0)

    def random(*shape):
        return torch.randn(shape, generator=seeded)

    keys = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    values = torch.tensor([[[1.0], [2.0], [3.0]]])
    cases = [
        (torch.tensor([[[0.0, 0.0], [1.0, -1.0]]]), keys, values),
        (random(2, 3, 5), random(2, 7, 5), random(2, 7, 11)),
        (torch.tensor([[[-9.0, -9.0]]]), keys, values),
        (torch.tensor([[[200.0, 100.0]]]), keys, values),
    ]
    mistakes = [
        (
            _plain,
            "that is plain attention: its weights always sum to 1, so it always answers.",
        ),
        (
            _overflowing,
            "e to the power of a large score is infinity, and infinity over infinity is NaN. "
            "Leave the exponentials to torch.softmax: which pair would add the 1?",
        ),
        (
            _shifted_without_the_one,
            "subtracting the largest score shrinks every exponential, so the 1 must shrink "
            "with them: it is e to the power of 0 minus the largest score.",
        ),
        (
            lambda queries, keys, values: _abstaining(
                queries / keys.shape[-1] ** 0.5, keys, values
            ),
            "the scores are divided by the root of d_k. Here they are plain dot products.",
        ),
        (
            lambda queries, keys, values: _plain(queries, _longer(keys, 0.0), _longer(values, 1.0)),
            "the added pair has a value of ones. Its value must add nothing to the output.",
        ),
        (
            lambda queries, keys, values: _plain(queries, _longer(keys, 1.0), _longer(values, 0.0)),
            "the added key is a vector of ones, and scores the sum of the query's coordinates. "
            "Its score must be 0 for every query.",
        ),
        (
            lambda queries, keys, values: torch.sigmoid(_scores(queries, keys)) @ values,
            "that is a sigmoid for each key alone. Below the fraction stands the sum over all "
            "keys.",
        ),
        (
            lambda queries, keys, values: (
                _one_in_the_sum(_scores(queries, keys).clamp(max=50)) @ values
            ),
            "the scores are cut off at a largest one, and all above it count alike. Leave the "
            "exponentials to torch.softmax: which pair would add the 1?",
        ),
    ]
    return grade(answer, _abstaining, cases, mistakes)


def _is_best(scores):
    return scores == scores.amax(dim=-1, keepdim=True)


def _shared(best):
    """Weights that share each row equally among its marked keys."""
    best = best.to(torch.float32)
    return best / best.sum(dim=-1, keepdim=True)


def _first_of_the_best(scores):
    return torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)


def _cold(scores, temperature):
    return torch.softmax(scores / temperature, dim=-1)


def _scores(queries, keys):
    return queries @ keys.transpose(-2, -1)


def _plain(queries, keys, values):
    return torch.softmax(_scores(queries, keys), dim=-1) @ values


def _longer(x, fill):
    """Add one entry to a memory, ``(..., len_k + 1, width)``."""
    return torch.cat([x, torch.full_like(x[..., :1, :], fill)], dim=-2)


def _abstaining(queries, keys, values):
    return _plain(queries, _longer(keys, 0.0), _longer(values, 0.0))


def _one_in_the_sum(scores):
    exponentials = scores.exp()
    return exponentials / (1 + exponentials.sum(dim=-1, keepdim=True))


def _overflowing(queries, keys, values):
    return _one_in_the_sum(_scores(queries, keys)) @ values


def _shifted_without_the_one(queries, keys, values):
    scores = _scores(queries, keys)
    return _one_in_the_sum(scores - scores.amax(dim=-1, keepdim=True)) @ values
