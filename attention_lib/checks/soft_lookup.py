"""Graders for the exercises of "Look up softly".

Examples
--------
>>> three_effective_keys(0.4)
Not yet: that is too small.
>>> quiz(15, "a", ...)
1. Correct: the exponentials are 3 and 1, the weights 3/4 and 1/4, so the output is 7.5 + 7.5 = 15.
2. Not yet: the scores do go to 0, but e to the power of 0 is 1: all weights become equal.
3. No key fits: every score of a query is −100. What does attention return?
   a) 0, or nearly 0: every exponential is tiny.
   b) An error, as a dictionary does.
   c) The mean of the values.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention_lib.checks._cases import memories, rows_of_scores
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import (
    Named,
    dot,
    of_attention,
    of_sink,
    of_softmax,
    scaled,
)
from attention_lib.checks._questions import Choice, Number, Quiz

__all__ = ["attend_or_abstain", "attention", "hard_lookup", "quiz", "three_effective_keys"]

# Temperatures at which the weights .75 .15 .07 .03 become those of three effective keys, and
# at which the largest of them becomes one third.
THREE_EFFECTIVE_KEYS = 1.56
LARGEST_IS_A_THIRD = 5.83

three_effective_keys = Number(
    "The temperature of three effective keys",
    THREE_EFFECTIVE_KEYS,
    tolerance=0.2,
    because="at a temperature of about 1.56 the lookup spreads over three effective keys.",
    mistakes=[
        (
            LARGEST_IS_A_THIRD,
            "that is where the largest weight is one third. The other three share the rest "
            "almost equally there, so nearly four keys take part. Read the other curve.",
            0.3,
        ),
        (
            3,
            "3 is the number of keys. Find it on the vertical axis, go across to the curve, "
            "then down to the temperature.",
            0.0,
        ),
        (
            1 / THREE_EFFECTIVE_KEYS,
            "that is one over the temperature: the flatter lookup is the warmer one.",
            0.03,
        ),
        (
            math.log(3),
            "ln 3 is the entropy of three equal keys; the temperature stands below the curve.",
            0.01,
        ),
        (1, "at temperature 1 stands what was given: fewer than three keys take part.", 0.0),
    ],
)


def attention(answer: object) -> Verdict:
    """Grade attention: the output of softmax(QKᵀ/√d)V.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, values)``, of shapes ``(batch, len_q, d_k)``,
        ``(batch, len_k, d_k)`` and ``(batch, len_k, d_v)``, returns the output
        ``(batch, len_q, d_v)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def unscaled(queries, keys, values):
    ...     return torch.softmax(queries @ keys.mT, dim=-1) @ values
    >>> attention(unscaled)
    Not yet: the scores are not divided by the square root of d_k.
    """
    mistakes: Named = [
        *of_attention(),
        *(
            (
                lambda q, k, v, divisor=divisor: (dot(q, k) / divisor(q.shape[-1])).softmax(-1) @ v,
                sentence,
            )
            for divisor, sentence in (
                (lambda d_k: d_k // 2, "the root of d_k is not half of it."),
                (
                    lambda d_k: 2**0.5,
                    "the scores are divided by the root of 2, whatever the width: take the root of "
                    "d_k.",
                ),
            )
        ),
    ]
    return grade(answer, _attention, memories(), mistakes, axes=["query", "column"])


def hard_lookup(answer: object) -> Verdict:
    """Grade the weights of a hard lookup, the limit of softmax at temperature 0.

    Parameters
    ----------
    answer : callable
        ``answer(scores)``, ``(batch, len_q, len_k)``, returns weights of the same shape.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> hard_lookup(lambda scores: torch.softmax(scores / 1e-9, dim=-1))
    Not yet: a temperature of 1e-09 is not 0: scores that lie close together still share the weight.
    """
    tiny_and_huge = torch.tensor([[[0.0, 1e-35, -1.0], [3e34, 1e35, 0.0]]])
    cases = [*rows_of_scores(), (tiny_and_huge,)]
    mistakes: Named = [
        (
            partial(_one_of_the_best, first=True),
            "a tie is not shared. Two equal scores have equal weights at every temperature, "
            "so they have equal weights in the limit; here the first takes all.",
        ),
        (
            partial(_one_of_the_best, first=False),
            "a tie is not shared. Two equal scores have equal weights at every temperature, "
            "so they have equal weights in the limit; here the last takes all.",
        ),
        (
            lambda scores: _is_best(scores).to(scores.dtype),
            "where two keys tie, the row sums to 2. Divide by the number of best keys.",
        ),
        (
            _is_best,
            "True and False mark the best keys; weights are numbers, and those of a row sum to 1.",
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
        (
            lambda scores: _shared(scores == scores.amin(dim=-1, keepdim=True)),
            "the worst key of each row is chosen: it is the largest score that wins.",
        ),
        (
            lambda scores: _shared(torch.isclose(scores, scores.amax(dim=-1, keepdim=True))),
            "scores that are only close count as a tie. However close they are, the larger one "
            "takes all in the limit: compare them with ==.",
        ),
        (
            lambda scores: _shared(_is_best(torch.softmax(scores, dim=-1))),
            "the weights are compared, not the scores. Softmax rounds: two scores that lie close "
            "together get weights that are equal.",
        ),
        (
            partial(torch.softmax, dim=-1),
            "that is softmax itself, at temperature 1: every key keeps a share.",
        ),
        (
            lambda scores: _hard(scores.mT).mT,
            "the best score is sought down a column, over the queries. Keys lie along the "
            "last axis.",
        ),
        *(
            (
                lambda scores, near=near: _shared(scores >= scores.amax(-1, keepdim=True) - near),
                "scores that are only close count as a tie. However close they are, the larger one "
                "takes all in the limit: compare them with ==.",
            )
            for near in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
        ),
        *(
            (wrong, "an axis is lost where each row is reduced: keepdim=True keeps it.")
            for wrong in (
                lambda scores: _is_best(scores) / _is_best(scores).sum(dim=-1),
                lambda scores: scores == scores.amax(dim=-1),
                lambda scores: _shared(scores == scores.amax(dim=-1)),
            )
        ),
        (
            lambda scores: _is_best(scores) / _is_best(scores).double().mean(dim=-1, keepdim=True),
            "the best keys are divided by their mean; divide by their number, the sum.",
        ),
        (lambda scores: _is_best(scores) / 2, "a tie of two is taken to be everywhere."),
        (
            lambda scores: _is_best(scores) / scores.shape[-1],
            "the best keys are divided by the number of all keys; divide by the number of best.",
        ),
        (
            lambda scores: scores.softmax(dim=-1) * _is_best(scores),
            "the best key keeps its share of softmax; in the limit it has all the weight.",
        ),
        (
            lambda scores: _shared(
                scores >= scores.topk(min(2, scores.shape[-1])).values[..., -1:]
            ),
            "the two best keys share the weight, a tie or not; only equal scores share.",
        ),
        (
            lambda scores: _shared(_is_best(scores.abs())),
            "the score of largest size wins, whatever its sign; it is the largest score.",
        ),
        (
            lambda scores: torch.nn.functional.normalize(
                (scores > 0).to(scores.dtype), p=1, dim=-1
            ),
            "every positive score wins; it is the largest of the row alone.",
        ),
        (
            lambda scores: _shared(_is_best(scores.float())),
            "float32 takes two close scores of float64 for a tie: compare them as they come.",
        ),
        *(
            (
                lambda scores, decimals=decimals: _shared(
                    _is_best(scores.round(decimals=decimals))
                ),
                "scores that are only close count as a tie. However close they are, the larger one "
                "takes all in the limit: compare them with ==.",
            )
            for decimals in (0, 1, 2, 3, 4, 5, 6, 8)
        ),
        (lambda scores: scores * _is_best(scores), "the best scores stand there, not weights."),
        (lambda scores: scores.argmax(dim=-1), "that is where the best key stands, not a weight."),
        *(
            (best, "that is the best score, not a weight.")
            for best in (
                partial(torch.amax, dim=-1),
                partial(torch.amax, dim=-1, keepdim=True),
                lambda scores: scores.amax(dim=-1, keepdim=True).expand_as(scores),
            )
        ),
        *of_softmax(),
        *(
            (
                partial(_cold, temperature=t),
                f"a temperature of {t:g} is not 0: scores that lie close together still share "
                "the weight.",
            )
            for t in (10.0**-n for n in range(1, 11))
        ),
        *(
            (
                partial(_cold, temperature=10.0**-n),
                "a very small temperature is not 0: scores that lie still closer together share "
                "the weight, or large ones overflow.",
            )
            for n in range(11, 45)
        ),
    ]
    return grade(answer, _hard, cases, mistakes, axes=["query", "key"])


def attend_or_abstain(answer: object) -> Verdict:
    """Grade an attention that can answer with nothing.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, values)`` returns the output ``(batch, len_q, d_v)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> attend_or_abstain(lambda queries, keys, values: (queries @ keys.mT).softmax(-1) @ values)
    Not yet: the rows still sum to 1: nothing is left over.
    """
    keys = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    values = torch.tensor([[[1.0], [2.0], [3.0]]])
    queries = [[[0.0, 0.0], [1.0, -1.0]], [[-9.0, -9.0]], [[200.0, 100.0]], [[-90.0, 30.0]]]
    cases = [*((torch.tensor([rows]), keys, values) for rows in queries), *memories()]

    def of_scores(weights: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
        return lambda queries, keys, values: weights(dot(queries, keys)) @ values

    def with_a_pair(key: float, value: float) -> Callable[..., Tensor]:
        return lambda q, k, v: _plain(q, _longer(k, key), _longer(v, value))

    mistakes = [
        *((of_scores(weights), sentence) for weights, sentence in of_sink()),
        (
            _attention,
            "that is scaled attention: its weights always sum to 1, so it always answers.",
        ),
        (
            of_scores(lambda scores: _one_in_the_sum(scores.double()).to(scores.dtype)),
            "float64 only moves the border: e to the power of 900 is infinity there, too, and "
            "infinity over infinity is NaN. Which pair would add the 1 inside torch.softmax?",
        ),
        (
            lambda q, k, v: _abstaining(q / k.shape[-1] ** 0.5, k, v),
            "the scores are divided by the root of d_k. Here they are plain dot products.",
        ),
        (
            with_a_pair(key=0.0, value=1.0),
            "the added pair has a value of ones. Its value must add nothing to the output.",
        ),
        *(
            (
                lambda q, k, v, which=which: _plain(
                    q, _longer(k, 0.0), torch.cat([v, v[..., which, :].unsqueeze(-2)], dim=-2)
                ),
                "the added pair has a value of the memory's. Its value must add nothing to the "
                "output.",
            )
            for which in (0, -1)
        ),
        (
            with_a_pair(key=-torch.inf, value=0.0),
            "the added key is −infinity, and its score is infinite or NaN. Its score must be 0 for "
            "every query.",
        ),
        (
            with_a_pair(key=1.0, value=0.0),
            "the added key is a vector of ones, and scores the sum of the query's coordinates. "
            "Its score must be 0 for every query.",
        ),
        *(
            (
                lambda q, k, v, kept=kept: _plain_weights(q, _longer(k, 0.0))[..., :kept],
                "these are the weights. The output is the values, summed with these weights.",
            )
            for kept in (-1, None)
        ),
    ]
    return grade(answer, _abstaining, cases, mistakes, axes=["query", "column"])


quiz = Quiz(
    Number(
        "A query scores two keys with ln 3 = 1.099 and 0. Their values are 10 and 30. What is "
        "the output?",
        15,
        because="the exponentials are 3 and 1, the weights 3/4 and 1/4, so the output is "
        "7.5 + 7.5 = 15.",
        mistakes=[
            (20, "20 is the plain mean; the first key fits better, so its value counts more."),
            (25, "the weights are swapped: 3/4 belongs to the first key."),
            (10, "10 would be a hard lookup; the second key still has a weight of 1/4."),
            (40, "40 is the sum of the values; weigh each value first."),
            (60, "the weights do not sum to 1 yet: divide 3 and 1 by their sum, 4."),
            (
                10.986,
                "scores are not yet weights: softmax comes between scores and values.",
                0.02,
            ),
        ],
    ),
    Choice(
        "You raise the temperature of a lookup further and further. What becomes of its output?",
        [
            "It goes to 0, because all scores go to 0.",
            "It goes to the mean of the values.",
            "It goes to the value of the best key.",
        ],
        "b",
        {
            "a": "the scores do go to 0, but e to the power of 0 is 1: all weights become equal.",
            "b": "equal scores give equal weights, and equal weights make the mean.",
            "c": "that is the cold end: a small temperature makes the gaps between scores large.",
        },
    ),
    Choice(
        "No key fits: every score of a query is −100. What does attention return?",
        [
            "0, or nearly 0: every exponential is tiny.",
            "An error, as a dictionary does.",
            "The mean of the values.",
        ],
        "c",
        {
            "a": "softmax divides by the sum of the exponentials, which is as tiny as they are.",
            "b": "a soft lookup always answers, even if no key fits.",
            "c": "the scores are equal, so the weights are, too: only differences of scores count.",
        },
    ),
)


def _attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return torch.softmax(scaled(queries, keys), dim=-1) @ values


def _is_best(scores: Tensor) -> Tensor:
    return scores == scores.amax(dim=-1, keepdim=True)


def _shared(best: Tensor) -> Tensor:
    """Weights that share each row equally among its marked keys."""
    return best / best.sum(dim=-1, keepdim=True)


def _hard(scores: Tensor) -> Tensor:
    return _shared(_is_best(scores))


def _one_of_the_best(scores: Tensor, first: bool) -> Tensor:
    order = torch.arange(scores.shape[-1], 0, -1) if first else torch.arange(scores.shape[-1])
    best = torch.where(_is_best(scores), order, -1).argmax(dim=-1)
    return torch.nn.functional.one_hot(best, scores.shape[-1]).to(scores.dtype)


def _cold(scores: Tensor, temperature: float) -> Tensor:
    return torch.softmax(scores / temperature, dim=-1)


def _plain_weights(queries: Tensor, keys: Tensor) -> Tensor:
    return torch.softmax(dot(queries, keys), dim=-1)


def _plain(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return _plain_weights(queries, keys) @ values


def _longer(x: Tensor, fill: float) -> Tensor:
    """Add one entry to a memory, ``(..., len_k + 1, width)``."""
    return torch.cat([x, torch.full_like(x[..., :1, :], fill)], dim=-2)


def _abstaining(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return _plain(queries, _longer(keys, 0.0), _longer(values, 0.0))


def _one_in_the_sum(scores: Tensor) -> Tensor:
    exponentials = scores.exp()
    return exponentials / (1 + exponentials.sum(dim=-1, keepdim=True))
