"""Graders for the chapter on where the variance argument ends."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named, of_sink
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.scoring import cosine_scores, dot_scores

__all__ = [
    "gain_for_half",
    "longer_row",
    "qk_norm_scores",
    "quiz",
    "row_variance",
    "softmax_with_sink",
]

row_variance = Number(
    "The variance of a row: a query of length 6 and width 16, scores divided by 4",
    2.25,
    tolerance=0.005,
    because="the query's squared length, 36, divided by the square of the divisor, 16.",
    mistakes=[
        (36, "36 is the variance before the division."),
        (9, "dividing by 4 divides a variance by 16: it is a mean of squares."),
        (1.5, "1.5 is the standard deviation, its root; the variance is asked for."),
        (1, "1 is the mean over all queries; this one is longer than most."),
        (6, "6 is the query's length; the variance takes its square."),
        (0.375, "the length enters squared: 36, not 6."),
        (16, "16 is the variance over all queries, before the division."),
        (36 / 256, "the variance is divided by the divisor's square, 16, not by the square of 16."),
        (144, "divide by the square of 4, do not multiply by 4."),
        (24, "the query's length enters squared: 36, not 6, and 16 stands below."),
        (2.25**2, "that is the square of the variance."),
    ],
)

longer_row = Choice(
    "What happens to the largest weight in a row of 4096 keys instead of 64?",
    [
        "It stays, because the variance of a score is the same.",
        "It falls: the largest score grows a little, the sum grows like the number of keys.",
        "It rises, because the largest of more numbers is larger.",
        "It falls, because the largest score falls.",
    ],
    "b",
    {
        "a": "the variance speaks of one score, and a weight is a share of the whole row.",
        "b": "the winner's exponential grows less than fourfold, the sum grows 64-fold.",
        "c": "the largest score does rise, but the sum that it is divided by rises faster.",
        "d": "it does fall, for another reason: the largest of more numbers is larger.",
    },
)

gain_for_half = Number(
    "The gain with which one of 1001 keys can take half of the weight",
    math.log(1000) / 2,
    tolerance=0.006,
    because="e to the power of twice the gain must be 1000: half of ln 1000, about 3.45.",
    mistakes=[
        (math.log(1000), "that is twice the gain: winner and losers are 2g apart.", 0.05),
        (
            math.log2(1000) / 2,
            "the exponential of softmax is e's: take the natural logarithm.",
            0.05,
        ),
        (1.5, "softmax has powers of e: take the natural logarithm."),
        (1000, "1000 is what e to the power of twice the gain must be."),
        (500, "take the logarithm first, then the half.", 1),
        (math.log(500), "take the logarithm of 1000 first, then the half.", 0.05),
        (1000**0.5, "that is a square root of 1000; the gain stands in an exponent.", 0.05),
        (math.log(1000) / 4, "half of the half: the exponent is twice the gain.", 0.01),
        (0.5, "0.5 is the weight, not the gain."),
    ],
)


def qk_norm_scores(answer: object) -> Verdict:
    """Grade query-key normalisation.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, gain)`` returns scores ``(..., len_q, len_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> qk_norm_scores(lambda queries, keys, gain: gain * cosine_scores(queries, keys))
    Correct: 6 cases agree.
    """

    def normalised(x: Any, dim: Any) -> Any:
        return x / x.norm(dim=dim, keepdim=True)

    def whole_matrix(queries: Any, keys: Any, gain: Any) -> Any:
        return gain * dot_scores(queries, keys) / (queries.norm() * keys.norm())

    def wrong_axis(queries: Any, keys: Any, gain: Any) -> Any:
        return gain * dot_scores(normalised(queries, -2), normalised(keys, -2))

    def queries_only(queries: Any, keys: Any, gain: Any) -> Any:
        return gain * dot_scores(normalised(queries, -1), keys)

    def keys_only(queries: Any, keys: Any, gain: Any) -> Any:
        return gain * dot_scores(queries, normalised(keys, -1))

    def scaled_too(queries: Any, keys: Any, gain: Any) -> Any:
        return gain * cosine_scores(queries, keys) / queries.shape[-1] ** 0.5

    def no_gain(queries: Any, keys: Any, gain: Any) -> Any:
        return cosine_scores(queries, keys)

    def gain_twice(queries: Any, keys: Any, gain: Any) -> Any:
        return gain**2 * cosine_scores(queries, keys)

    def not_divided(queries: Any, keys: Any, gain: Any) -> Any:
        return gain * dot_scores(queries, keys)

    def squared_lengths(queries: Any, keys: Any, gain: Any) -> Any:
        lengths = queries.square().sum(-1)[..., :, None] * keys.square().sum(-1)[..., None, :]
        return gain * dot_scores(queries, keys) / lengths

    def clipped(queries: Any, keys: Any, gain: Any) -> Any:
        return dot_scores(queries, keys).clamp(-gain, gain)

    mistakes = [
        (whole_matrix, "one length was taken for the whole matrix; every row has its own."),
        (wrong_axis, "the columns were normalised; a query is a row, so its axis is the last."),
        (queries_only, "the keys keep their lengths, so a long key still wins."),
        (keys_only, "the queries keep their lengths, so a long query still makes a sharp row."),
        (scaled_too, "after normalisation nothing grows with d: leave the root of d out."),
        (no_gain, "gain has no effect yet."),
        (gain_twice, "the gain is there twice: multiply the product once."),
        (not_divided, "no vector is divided by its length yet."),
        (squared_lengths, "that divides by the squared lengths; take their roots."),
        (clipped, "that cuts the scores off at the gain; the lengths have to be divided out."),
        (
            lambda q, k, gain: (
                gain * torch.nn.functional.normalize(q) @ torch.nn.functional.normalize(k).mT
            ),
            "normalize takes axis 1 unless you tell it: dim=-1.",
        ),
        (
            lambda q, k, gain: (
                gain
                * torch.nn.functional.normalize(q, p=1, dim=-1)
                @ torch.nn.functional.normalize(k, p=1, dim=-1).mT
            ),
            "the lengths are sums of sizes; take the root of the sum of squares.",
        ),
        *(
            (
                lambda q, k, gain, over_mean=over_mean: (
                    gain * dot_scores(over_mean(q), over_mean(k))
                ),
                "a length is the root of the sum of squares, not of their mean.",
            )
            for over_mean in (
                lambda x: torch.nn.functional.rms_norm(x, x.shape[-1:]),
                lambda x: torch.div(x, x.square().mean(dim=-1, keepdim=True).sqrt()),
            )
        ),
        (
            lambda q, k, gain: (
                gain
                + torch.nn.functional.normalize(q, dim=-1)
                @ torch.nn.functional.normalize(k, dim=-1).mT
            ),
            "the gain is added; the product is multiplied by it.",
        ),
        (
            lambda q, k, gain: gain * torch.nn.functional.normalize(q @ k.mT, dim=-1),
            "the rows of scores are normalised; it is queries and keys that must be.",
        ),
        (
            lambda q, k, gain: gain * torch.tanh(q @ k.mT / gain),
            "that is a soft cap: it bounds the scores, and the lengths still count.",
        ),
        (
            lambda q, k, gain: gain * q @ k.mT / q.shape[-1] ** 0.5,
            "no vector is divided by its length yet.",
        ),
        (
            lambda q, k, gain: (
                gain
                * torch.cosine_similarity(
                    (q - q.mean(-1, keepdim=True))[..., :, None, :],
                    (k - k.mean(-1, keepdim=True))[..., None, :, :],
                    dim=-1,
                )
            ),
            "the mean is subtracted first; only the length is divided out.",
        ),
        (
            lambda q, k, gain: cosine_scores(q, k) / gain,
            "divided by the gain; the product is multiplied by it.",
        ),
        (
            lambda q, k, gain: gain * normalised(q, -1) @ normalised(k, -1),
            "the keys are not transposed: each row of the queries meets columns of the keys.",
        ),
        (
            lambda q, k, gain: gain * (q / q.norm(dim=-1)) @ (k / k.norm(dim=-1)).mT,
            "the lengths lost their axis: keepdim=True keeps it.",
        ),
        (
            lambda q, k, gain: (
                gain
                * dot_scores(q, k)
                / q.norm(dim=-1, keepdim=True)
                / k.norm(dim=-1, keepdim=True)
            ),
            "the keys' lengths lie along the queries' axis: divide the keys before the product.",
        ),
        (
            lambda q, k, gain: (
                gain
                * dot_scores(q, k)
                / (q.norm(dim=-1, keepdim=True) * k.norm(dim=-1, keepdim=True))
            ),
            "the keys' lengths lie along the queries' axis: divide the keys before the product.",
        ),
        (
            lambda q, k, gain: gain * dot_scores(q, k) / dot_scores(q, k).abs().max(),
            "the largest score of all is divided out; each vector has its own length.",
        ),
        (
            lambda q, k, gain: (
                gain
                * torch.nn.functional.rms_norm(q, q.shape[-1:])
                @ torch.nn.functional.rms_norm(k, k.shape[-1:]).mT
                / q.shape[-1] ** 0.5
            ),
            "a length is the root of the sum of squares, not of their mean.",
        ),
        (
            lambda q, k, gain: gain * dot_scores(_over_largest(q), _over_largest(k)),
            "each vector is divided by its largest coordinate; its length is the root of the sum "
            "of squares.",
        ),
        (
            lambda q, k, gain: (
                gain
                * torch.nn.functional.layer_norm(q, q.shape[-1:])
                @ torch.nn.functional.layer_norm(k, k.shape[-1:]).mT
            ),
            "that is layer norm, which takes out the mean, too; only the length is divided out.",
        ),
        (
            lambda q, k, gain: (
                gain * dot_scores(q, k) / dot_scores(q, k).abs().amax(dim=-1, keepdim=True)
            ),
            "each row of scores is divided by its largest; each vector has its own length.",
        ),
        *(
            (
                lambda q, k, gain, join=join: (
                    gain
                    * dot_scores(q, k)
                    / join(q.norm(dim=-1)[..., :, None], k.norm(dim=-1)[..., None, :])
                ),
                sentence,
            )
            for join, sentence in (
                (torch.add, "the lengths are added; a score is divided by their product."),
                (
                    lambda a, b: a.mT * b.mT,
                    "the queries' lengths lie along the keys' axis, the keys' along the queries'.",
                ),
            )
        ),
        *(
            (
                lambda q, k, gain, fixed=fixed: fixed * cosine_scores(q, k),
                "the gain is a number of your own; take the one that comes.",
            )
            for fixed in (2.0, 10.0)
        ),
        *(
            (
                lambda q, k, gain, eps=eps: gain * dot_scores(_nearly(q, eps), _nearly(k, eps)),
                "something is added to the lengths; a short vector then counts less than a long "
                "one.",
            )
            for eps in (1.0, 0.1, 0.01, 1e-3)
        ),
    ]
    sizes = [(1, 2, 2, 1.5), (5, 7, 3, 10.0), (4, 3, 64, 4.0)]
    cases = [(*_vectors((len_q, len_k), d), gain) for len_q, len_k, d, gain in sizes]
    cases.append((*_vectors((5, 7), 3, (2, 3)), 0.5))  # a batch
    cases.append((*_vectors((3, 5), 2, dtype=torch.float64), 100.0))
    long, short = _vectors((3, 4), 7)
    cases.append((1000 * long, 0.001 * short, 3.0))
    return grade(
        answer,
        lambda queries, keys, gain: gain * cosine_scores(queries, keys),
        cases,
        mistakes,
        axes=["query", "key"],
    )


def softmax_with_sink(answer: object) -> Verdict:
    """Grade a softmax with one more key, of score 0, that is dropped afterwards.

    Parameters
    ----------
    answer : callable
        ``answer(scores)`` takes ``(..., len_k)`` and returns as many weights.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> softmax_with_sink(lambda scores: torch.softmax(scores, dim=-1))
    Not yet: the rows still sum to 1: nothing is left over.
    """

    def reference(scores: Any) -> Any:
        sink = scores.new_zeros(*scores.shape[:-1], 1)
        return torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1)[..., :-1]

    def shifted(scores: Any, by: Callable[[Any], Any]) -> Any:
        powers = (scores - by(scores)).exp()
        return powers / (powers.sum(dim=-1, keepdim=True) + (-by(scores)).exp())

    def unclamped(scores: Any) -> Any:
        return shifted(scores, lambda scores: scores.amax(dim=-1, keepdim=True))

    def nothing_kept(scores: Any) -> Any:
        most = scores.amax(dim=-1).clamp(min=0)
        powers = (scores - most.unsqueeze(-1)).exp()
        return powers / ((-most).exp() + powers.sum(dim=-1))

    def most_not_kept(scores: Any) -> Any:
        most = scores.amax(dim=-1).clamp(min=0)
        powers = (scores - most).exp()
        return powers / (powers.sum(dim=-1) + 1)

    mistakes: Named = [
        *of_sink(),
        *(
            (
                partial(shifted, by=by),
                "less than the largest score is subtracted, and e to the power of what is left may "
                "be infinite: subtract the larger of it and 0.",
            )
            for by in (
                lambda scores: scores.mean(dim=-1, keepdim=True),
                lambda scores: scores.amax(dim=-1, keepdim=True).clamp(max=0),
            )
        ),
        (
            lambda scores: (
                reference(scores) / reference(scores).sum(dim=-1, keepdim=True).clamp(min=1e-30)
            ),
            "the weights are divided by their sum again, so that nothing is left over.",
        ),
        (unclamped, "a row of −∞ gives NaN: count the sink's 0 among the scores, m ≥ 0."),
        *(
            (wrong, "the sum of each row lost its axis: keepdim=True keeps it.")
            for wrong in (nothing_kept, most_not_kept)
        ),
        (
            lambda scores: torch.nn.functional.pad(scores, (0, 1)).softmax(dim=-1),
            "the sink's own weight is still there: drop it after the softmax.",
        ),
    ]
    generator = torch.Generator().manual_seed(0)
    infinite = [-math.inf] * 3
    cases = [
        (torch.tensor([[1.0, 0.0]]),),
        (torch.tensor([[-3.0, -5.0, -4.0], [2.0, 2.0, 0.0]]),),
        (torch.tensor([[900.0, 899.0, 0.0], [0.0, 0.0, 0.0], infinite]),),
        (torch.tensor([[-900.0, -899.0, -950.0]]),),
        (torch.tensor([[300.0, 299.0], [0.0, -1.0]], dtype=torch.float64),),
        (4 * torch.randn(2, 3, 5, generator=generator),),
        (torch.randn(7, generator=generator, dtype=torch.float64),),
    ]
    return grade(answer, reference, cases, mistakes, axes=["query", "key"])


def _over_largest(x: torch.Tensor) -> torch.Tensor:
    return torch.div(x, x.abs().amax(dim=-1, keepdim=True))


def _nearly(x: torch.Tensor, eps: float) -> torch.Tensor:
    return torch.div(x, x.norm(dim=-1, keepdim=True) + eps)


def _vectors(lengths: Any, d: Any, batch: Any = (), dtype: Any = torch.float32) -> Any:
    generator = torch.Generator().manual_seed(d)
    return [2 * torch.randn(*batch, n, d, generator=generator, dtype=dtype) for n in lengths]


quiz = Quiz(
    Choice(
        "One query is twice as long as usual. What is special about its row of scores?",
        [
            "Nothing: 1/√d takes care of it.",
            "Its scores have twice the standard deviation.",
            "Its scores are larger by a constant.",
        ],
        "b",
        {
            "a": "1/√d is right for the average query. Given this one, the variance is ‖q‖²/d.",
            "b": "given the query, the variance is ‖q‖²/d: four times as much, twice its root.",
            "c": "keys lie on both sides, so scores grow both ways.",
        },
    ),
    Choice(
        "Scores are normal with variance 1, and a row grows from 16 keys to 16\u202f000. What "
        "happens to the largest weight?",
        ["It stays.", "It grows: the largest of many is larger.", "It falls."],
        "c",
        {
            "a": "a thousand times as many keys share the sum.",
            "b": "the largest score grows, but like √(2 ln n), and the number of rivals like n.",
            "c": "the rivals grow faster than the lead of the winner.",
        },
    ),
    Choice(
        "What does a sink do for a head that has nothing to say about a token?",
        [
            "It makes all weights equal.",
            "It lets the weights of the row sum to less than 1.",
            "It hides the token.",
        ],
        "b",
        {
            "a": "then the mean of everything would be added to the token.",
            "b": "what goes to the sink carries no value, so the head adds next to nothing.",
            "c": "a mask hides; a sink only takes a share.",
        },
    ),
)
