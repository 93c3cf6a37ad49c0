"""Graders for the exercises of the chapter on kernels.

Examples
--------
>>> delta_reads(3).passed
True
>>> empty_support("a")
Not yet: a weighted mean of no values is 0 divided by 0.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named
from attention_lib.checks._questions import Choice, Number, Quiz

__all__ = ["delta_reads", "empty_support", "leave_one_out", "quiz", "regression"]

delta_reads = Number(
    "One unit key is written three times, with the values 1, 2 and 3. What does the delta rule "
    "(rate 1) read there afterwards?",
    3,
    because="each write replaces what the key held, so the last value stands: 3.",
    mistakes=[
        (6, "that is linear attention, which adds: 1 + 2 + 3."),
        (2, "that is the mean of the three, or the value before the last."),
        (1, "that is the first value; the later ones were written over it."),
        (14, "that sums the squares of the values; each is written as it is."),
        (5, "the first write is gone, and so is the second: they do not add."),
        (0, "the memory is not erased: the last value stands."),
    ],
)

empty_support = Choice(
    "A boxcar kernel has no key within reach of the query. What should the estimate be?",
    [
        "0 divided by 0, whatever that gives",
        "the value of the nearest key",
        "nothing: weights 0, and the curve has a gap",
    ],
    "c",
    {
        "a": "a weighted mean of no values is 0 divided by 0.",
        "b": "that is another method; this kernel says that no key is near enough.",
        "c": "it is a row with nothing to attend to, and gets weights 0.",
    },
)


def _weights(queries: Tensor, keys: Tensor, bandwidth: float) -> Tensor:
    distances = (queries.unsqueeze(-1) - keys) / bandwidth  # (len_q, len_k)
    return torch.softmax(-distances.square() / 2, dim=-1)


def regression(answer: object) -> Verdict:
    """Grade Nadaraya-Watson regression with a Gaussian kernel.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, values, bandwidth)``: places ``(len_q,)`` and ``(len_k,)``, values
        ``(len_k,)``; returns the estimates ``(len_q,)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> regression(lambda queries, keys, values, bandwidth: values.mean().expand(len(queries)))
    Not yet: that is the mean of all values, wherever the query stands.
    """

    def by(score: Callable[[Tensor, float], Tensor], dim: int = -1) -> Callable[..., Tensor]:
        def estimate(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
            scores = score(queries.unsqueeze(-1) - keys, bandwidth)
            return torch.softmax(scores, dim=dim) @ values

        return estimate

    def boxcar(distance: Tensor, bandwidth: float) -> Tensor:
        near = (distance / bandwidth).abs() < 1
        return torch.zeros_like(distance).masked_fill(~near, -torch.inf)

    def shifted(
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        bandwidth: float,
        by: Callable[[Tensor], Tensor],
    ) -> Tensor:
        scores = -((queries.unsqueeze(-1) - keys) / bandwidth).square() / 2
        found = (scores - by(scores)).exp()
        return found @ values / found.sum(dim=-1)

    def by_shares(
        kernel: Callable[[Tensor], Tensor], more: float = 0.0, patch: bool = False
    ) -> Callable[..., Tensor]:
        def estimate(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
            found = kernel((queries.unsqueeze(-1) - keys) / bandwidth)
            result = found @ values / (found.sum(dim=-1) + more)
            return result.nan_to_num(0.0) if patch else result

        return estimate

    def unnormalised(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
        u = (queries.unsqueeze(-1) - keys) / bandwidth
        return torch.exp(-u.square() / 2) @ values

    mistakes: Named = [
        (
            lambda queries, keys, values, bandwidth: values.mean().expand(len(queries)),
            "that is the mean of all values, wherever the query stands.",
        ),
        (
            lambda queries, keys, values, bandwidth: values[
                (queries.unsqueeze(-1) - keys).abs().argmin(dim=-1)
            ],
            "that is the value of the nearest key: the limit of bandwidth 0.",
        ),
        (by(lambda d, h: -d.square() / 2), "the bandwidth has no effect."),
        (by(lambda d, h: -d.square() / 2 / h), "divide by the bandwidth before you square."),
        (by(lambda d, h: -(d / h).square()), "the Gaussian's exponent has a ½."),
        (by(lambda d, h: -(d * h).square() / 2), "multiplied by the bandwidth: divide by it."),
        (by(lambda d, h: (d / h).square() / 2), "the minus is missing: far keys get most."),
        (by(lambda d, h: -(d / h).abs()), "that is |u|, not u²/2."),
        (
            lambda q, k, v, h: torch.softmax(-((q.unsqueeze(-1) - k) / h).square() / 2, 0) @ v,
            "softmax runs over the queries; each query shares its weight among the keys.",
        ),
        (unnormalised, "the kernels are not divided by their sum, so they are no weights."),
        (
            lambda queries, keys, values, bandwidth: _weights(queries, keys, bandwidth),
            "these are the weights; the estimate is the values, summed with them.",
        ),
        (
            lambda queries, keys, values, bandwidth: _weights(queries, keys, bandwidth) @ keys,
            "the keys are averaged, not the values.",
        ),
        (by(lambda d, h: -(d / h).abs() / 2), "that is |u|/2, not u²/2."),
        (by(lambda d, h: -(d / h / 2).square() / 2), "the bandwidth is doubled."),
        (by_shares(lambda u: (-u.square() / 2).exp()), "far from all keys the kernels' sum is 0, "
            "and 0 over 0 is NaN: leave the exponentials to torch.softmax."),
        *(
            (
                by_shares(lambda u: (-u.square() / 2).exp(), eps, patch=not eps),
                "far from all keys the kernels' sum is 0. Something added to the sum, or 0 put in "
                "NaN's place, leaves an estimate of 0.",
            )
            for eps in (0.0, 1e-6, 1e-8, 1e-9, 1e-10, 1e-12)
        ),
        (by_shares(lambda u: (u.abs() < 1).to(u)), "that is the boxcar; the Gaussian is asked "
            "for."),
        (by_shares(lambda u: (u.abs() <= 1).to(u)), "that is the boxcar; the Gaussian is asked "
            "for."),
        (by_shares(lambda u: (1 - u.abs()).clamp(min=0)), "that is the triangle; the Gaussian is "
            "asked for."),
        (by_shares(lambda u: (1 - u.square()).clamp(min=0)), "that is Epanechnikov's kernel; the "
            "Gaussian is asked for."),
        (
            lambda q, k, v, h: unnormalised(q, k, v, h) / (h * (2 * torch.pi) ** 0.5),
            "the kernels are divided as a density is; weights are divided by their sum.",
        ),
        (
            lambda q, k, v, h: unnormalised(q, k, v, h) / len(k),
            "the kernels are divided by the number of keys; weights are divided by their sum.",
        ),
        (
            lambda q, k, v, h: unnormalised(q, k, v, h) / unnormalised(q, k, 1 + 0 * v, h).sum(),
            "the sum runs over all queries; each query has its own.",
        ),
        (
            lambda q, k, v, h: torch.softmax(q.unsqueeze(-1) * k / h, dim=-1) @ v,
            "places are multiplied, as in a dot product; a kernel takes their difference.",
        ),
        (
            lambda q, k, v, h: torch.softmax(-((q - k) / h).square() / 2, dim=-1) @ v,
            "queries and keys lie along the same axis: queries[:, None] - keys is (len_q, len_k).",
        ),
        (
            lambda q, k, v, h: torch.softmax(-((q - k.unsqueeze(-1)) / h).square() / 2, -1) @ v,
            "the keys go down and the queries across: queries[:, None] - keys.",
        ),
        (
            lambda q, k, v, h: unnormalised(q, k, v, h) / (2 * torch.pi) ** 0.5,
            "the kernels are divided as a density is; weights are divided by their sum.",
        ),
        (
            lambda q, k, v, h: torch.softmax(
                (-((q[:, None] - k) / h).square() / 2).flatten(), 0
            ).view(len(q), -1) @ v,
            "one softmax is taken over the whole table; each query has its own.",
        ),
        (
            lambda q, k, v, h: shifted(q, k, v, h, lambda scores: scores.amax()),
            "the largest score of the whole table is subtracted. A row far below it becomes 0 "
            "over 0: subtract each row's own.",
        ),
        (by(lambda d, h: -(d / h**2).square() / 2), "the bandwidth is squared before the quotient "
            "is; divide, and then square."),
        *(
            (
                by(lambda d, h, low=low: (-(d / h).square() / 2).clamp(min=low)),  # type: ignore[misc]
                "exponents are cut off, so that all far keys count alike.",
            )
            for low in (-20, -30, -50, -60, -80, -100)
        ),
        (by(lambda d, h: -(d / (2 * h)).square()), "the 2 is squared with the bandwidth: it is "
            "u²/2, not (u/2)²."),
        (by(boxcar), "that is the boxcar; the Gaussian is asked for."),
    ]  # fmt: skip
    normal, double = draws(21), draws(22, torch.float64)
    cases = [
        (torch.tensor([0.0]), torch.tensor([-1.0, 2.0]), torch.tensor([3.0, 5.0]), 1.0),
        (normal(3), normal(5), normal(5), 0.5),
        (normal(7), 3 * normal(4), normal(4), 2.0),
        (double(2), double(11), double(11), 0.25),
        (torch.tensor([100.0]), normal(3), 5 + normal(3), 0.5),  # far off: exp(-u²/2) is 0
        (torch.tensor([0.0, 100.0]), normal(3), 5 + normal(3), 0.5),  # one near, one far off
    ]

    def reference(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
        return _weights(queries, keys, bandwidth) @ values

    return grade(answer, reference, cases, mistakes, axes=["query"])


def leave_one_out(answer: object) -> Verdict:
    """Grade the leave-one-out error of Gaussian kernel regression.

    Parameters
    ----------
    answer : callable
        ``answer(keys, values, bandwidth)``, both ``(len,)``; returns the mean squared error, a
        0-d tensor, where each value is estimated from the others.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def with_itself(keys, values, bandwidth):
    ...     return (_weights(keys, keys, bandwidth) @ values - values).square().mean()
    >>> leave_one_out(with_itself)
    Not yet: each value takes part in its own estimate. That is the training error.
    """

    def gaussian(distances: Tensor, bandwidth: float) -> Tensor:
        return -(distances / bandwidth).square() / 2

    def without(
        summary: Callable[[Tensor], Tensor],
        score: Callable[[Tensor, float], Tensor] = gaussian,
    ) -> Callable[..., Tensor]:
        """What a summary says of the errors, where no value takes part in its own estimate."""

        def error(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
            scores = score(keys.unsqueeze(-1) - keys, bandwidth)
            scores = scores.masked_fill(torch.eye(len(keys), dtype=torch.bool), -torch.inf)
            return summary(torch.softmax(scores, dim=-1) @ values - values)

        return error

    def mean_square(errors: Tensor) -> Tensor:
        return errors.square().mean()

    reference = without(mean_square)

    def after_softmax(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
        weights = _weights(keys, keys, bandwidth) * (1 - torch.eye(len(keys)).to(keys))
        return (weights @ values - values).square().mean()

    def masked(
        keys: Tensor, values: Tensor, bandwidth: float, hidden: Tensor, dim: int = -1
    ) -> Tensor:
        scores = gaussian(keys.unsqueeze(-1) - keys, bandwidth).masked_fill(hidden, -torch.inf)
        return mean_square(torch.softmax(scores, dim=dim) @ values - values)

    def filled(keys: Tensor, values: Tensor, bandwidth: float, low: float) -> Tensor:
        scores = gaussian(keys.unsqueeze(-1) - keys, bandwidth)
        scores = scores.masked_fill(torch.eye(len(keys), dtype=torch.bool), low)
        return mean_square(torch.softmax(scores, dim=-1) @ values - values)

    def with_itself(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
        return (_weights(keys, keys, bandwidth) @ values - values).square().mean()

    mistakes: Named = [
        (
            with_itself,
            "each value takes part in its own estimate. That is the training error.",
        ),
        *(
            (without(summary), sentence)
            for summary, sentence in (
                (lambda e: e.abs().mean(), "that is the mean absolute error; square it."),
                (lambda e: e.square().sum(), "that is the sum of the errors, not their mean."),
                (lambda e: e.square().mean().sqrt(), "that is the root of the mean squared error."),
                (torch.mean, "errors of both signs cancel: square them before the mean."),
                (lambda e: e.square().median(), "that is the median; the mean is asked for."),
                (lambda e: e.square().amax(), "that is the largest error; the mean is asked for."),
                (torch.square, "that is one error for each value; their mean is asked for."),
                (lambda e: e.square()[0], "that is the first value's error; take all in turn."),
                (
                    lambda e: e.square().sum() / (len(e) - 1),
                    "the sum is divided by one less; the mean of all errors is asked for.",
                ),
            )
        ),
        *(
            (without(mean_square, score), sentence)
            for score, sentence in (
                (lambda d, h: -d.square() / 2 / h, "divide by the bandwidth before you square."),
                (lambda d, h: -(d / h).square(), "the Gaussian's exponent has a ½."),
                (lambda d, h: (d / h).square() / 2, "the minus is missing: far keys get most."),
                (lambda d, h: -(d / h).abs(), "that is |u|, not u²/2."),
                (lambda d, h: 0 * d, "that is the plain mean of the others; near ones count more."),
            )
        ),
        (
            lambda keys, values, bandwidth: (
                without(lambda errors: errors)(keys, values, bandwidth) + values
            ),
            "these are the estimates; their mean squared error is asked for.",
        ),
        (
            lambda keys, values, bandwidth: 0 * values.sum(),
            "every value is estimated by itself alone; it is the others that estimate it.",
        ),
        (
            lambda keys, values, bandwidth: values.var(),
            "that is the variance of the values.",
        ),
        (
            after_softmax,
            "the own weight is removed after softmax, so the others no longer sum to 1.",
        ),
        (
            lambda keys, values, bandwidth: reference(keys, values, 1.0),
            "the bandwidth has no effect.",
        ),
        (
            lambda keys, values, bandwidth: (values.mean() - values).square().mean(),
            "that is the variance of the values.",
        ),
        *(
            (
                lambda keys, values, bandwidth, low=low: filled(keys, values, bandwidth, low),
                "each value keeps a small share of its own estimate: fill in −∞.",
            )
            for low in (-1.0, -10.0)
        ),
        (
            without(lambda errors: errors.mean().square()),
            "errors of both signs cancel: square them before the mean.",
        ),
        (
            lambda keys, values, bandwidth: reference(keys, values, bandwidth) / values.var(),
            "the error is divided by the variance of the values; the error itself is asked for.",
        ),
        (
            lambda keys, values, bandwidth: (
                reference(keys, values, bandwidth) / values.var(correction=0)
            ),
            "the error is divided by the variance of the values; the error itself is asked for.",
        ),
        (without(mean_square, lambda d, h: -d.abs() / h / 2), "that is |u|/2, not u²/2."),
        *(
            (
                lambda keys, values, bandwidth, hidden=hidden: masked(
                    keys, values, bandwidth, hidden(len(keys))
                ),
                sentence,
            )
            for hidden, sentence in (
                (
                    lambda n: torch.ones(n, n, dtype=torch.bool).triu(),
                    "only earlier keys estimate a value, and the first has none: hide the "
                    "diagonal alone.",
                ),
                (
                    lambda n: (torch.arange(n) == 0).expand(n, n),
                    "one column is hidden, the same key for all; hide the diagonal.",
                ),
                (
                    lambda n: (torch.arange(n) == n - 1).expand(n, n),
                    "one column is hidden, the same key for all; hide the diagonal.",
                ),
                (
                    lambda n: torch.eye(n, dtype=torch.bool).flip(0),
                    "the other diagonal is hidden, from the lower left to the upper right.",
                ),
                (
                    lambda n: torch.ones(n, n, dtype=torch.bool).tril(1).triu(-1),
                    "the neighbours in the list are hidden as well; only the key itself is.",
                ),
            )
        ),
        (
            lambda keys, values, bandwidth: masked(keys, values, bandwidth, keys[:, None] == keys),
            "equal places are hidden; another measurement at the same place stays.",
        ),
        (
            lambda keys, values, bandwidth: masked(
                keys, values, bandwidth, torch.eye(len(keys), dtype=torch.bool), dim=0
            ),
            "softmax runs over the queries; each query shares its weight among the keys.",
        ),
    ]
    normal, double = draws(23), draws(24, torch.float64)
    cases = [
        (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([1.0, 2.0, 4.0]), 1.0),
        (normal(5), normal(5), 0.5),
        (3 * normal(11), normal(11), 2.0),
        (double(7), double(7), 0.75),
        (torch.tensor([0.0, 1.0, 1.0, 2.0]), normal(4), 1.0),  # two measurements at one place
    ]
    return grade(answer, reference, cases, mistakes)


quiz = Quiz(
    Choice(
        "A boxcar kernel reaches one unit far, and the nearest measurement is two units away. "
        "What does the regression say there?",
        [
            "The mean of all measurements.",
            "The nearest measurement.",
            "Nothing: no key may be attended to.",
        ],
        "c",
        {
            "a": "a mean over all would need a weight for each, and the boxcar gives every one 0.",
            "b": "distance is all that a boxcar knows, and beyond its edge it gives 0 to the near "
            "and to the far.",
            "c": "it is a fully masked row, and this book answers it with 0 and says so.",
        },
    ),
    Choice(
        "You try ten bandwidths and keep the one with the smallest error at the measurements "
        "themselves. Which one is it?",
        ["The smallest.", "The one nearest to the noise.", "The largest."],
        "a",
        {
            "a": "each measurement then listens to itself alone, and explains itself perfectly.",
            "b": "it would be, if each point were left out while it is predicted.",
            "c": "the largest flattens everything to the mean, which fits worst.",
        },
    ),
    Choice(
        "Linear attention has read a text of a million tokens. How large is its memory?",
        [
            "As large as a million keys and values.",
            "As large as after ten tokens.",
            "It depends on how many keys differ.",
        ],
        "b",
        {
            "a": "softmax attention has to keep them all; a sum of products does not.",
            "b": "it keeps one table, as wide as a key and as high as a value, and adds to it.",
            "c": "every token is added into the same table, new or not.",
        },
    ),
)
