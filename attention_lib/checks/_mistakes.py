"""Mistakes that people make with scores, softmax and attention, as functions to compare with."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

__all__ = [
    "Named",
    "causal",
    "dot",
    "of_attention",
    "of_scaled_scores",
    "of_sink",
    "of_softmax",
    "scaled",
]

Function = Callable[..., Any]
Named = list[tuple[Function, str]]


def of_softmax(rows: str = "queries") -> Named:
    """Return ways to turn scores ``(..., len_q, len_k)`` into weights that are not softmax's.

    Examples
    --------
    >>> wrong, sentence = of_softmax()[0]
    >>> wrong(torch.zeros(2, 4)).sum().item(), sentence
    (4.0, 'softmax runs over the queries (dim=-2). Keys lie along the last axis: dim=-1.')
    """
    return [
        (
            partial(torch.softmax, dim=-2),
            f"softmax runs over the {rows} (dim=-2). Keys lie along the last axis: dim=-1.",
        ),
        (
            partial(torch.softmax, dim=0),
            "softmax runs over the first axis (dim=0). Keys lie along the last one: dim=-1.",
        ),
        (
            _over_all,
            f"one softmax is taken over the whole table. Each of the {rows} has its own.",
        ),
        (lambda scores: scores, "the softmax is missing: these are the scores."),
        (torch.sigmoid, "that is a sigmoid of each score alone; softmax compares all keys."),
        (partial(torch.log_softmax, dim=-1), "that is the logarithm of the weights."),
        (torch.exp, "the exponentials are not divided by their sum."),
        (
            lambda scores: scores.exp() / scores.exp().sum(dim=-1, keepdim=True),
            "e to the power of a large score is infinity, and infinity over infinity is NaN. "
            "Subtract each row's largest score first, or leave it to torch.softmax.",
        ),
        (
            lambda scores: _shifted(scores, scores.max()),
            "the largest score of the whole table is subtracted. A row far below it becomes 0 "
            "over 0: subtract each row's own.",
        ),
        (_without_keepdim, "the sum of each row lost its axis: keepdim=True keeps it."),
        (
            lambda scores: scores.exp() / scores.exp().sum(),
            "the exponentials are divided by the sum of the whole table, not of their row.",
        ),
        (
            lambda scores: scores / scores.sum(dim=-1, keepdim=True),
            "each score is divided by the sum of the scores: the exponentials are missing.",
        ),
        (
            lambda scores: torch.softmax(-scores, dim=-1),
            "the scores have a minus sign too many: the worst key wins.",
        ),
        (
            lambda scores: scores.softmax(dim=-1).softmax(dim=-1),
            "softmax is taken twice: its weights lie close together as scores.",
        ),
        (
            lambda scores: torch.nn.functional.normalize(scores, dim=-1),
            "each row is divided by its length, as vectors are; softmax is missing.",
        ),
        (torch.relu, "that is relu: negative scores become 0, and no row sums to 1."),
        (
            lambda scores: scores.softmax(dim=-1).round(),
            "the weights are rounded to 0 and 1.",
        ),
    ]


def of_sink() -> Named:
    """Return ways to turn scores into weights that leave no share, or a wrong one, to a sink.

    Right is softmax with one more score, 0, whose weight is dropped: below the fraction a 1 is
    added to the sum of the exponentials.

    Examples
    --------
    >>> wrong, sentence = of_sink()[0]
    >>> wrong(torch.zeros(2, 4)).sum(dim=-1), sentence
    (tensor([1., 1.]), 'the rows still sum to 1: nothing is left over.')
    """

    def highest(scores: Tensor) -> Tensor:
        return scores.amax(dim=-1, keepdim=True)

    def shifted(by: Function, one: Function = lambda m: (-m).exp()) -> Function:
        def weights(scores: Tensor) -> Tensor:
            m = by(scores)
            exponentials = (scores - m).exp()
            return torch.div(exponentials, one(m) + exponentials.sum(dim=-1, keepdim=True))

        return weights

    def padded(*ends: int, score: float = 0.0, dim: int = -1) -> Function:
        return lambda scores: torch.nn.functional.pad(scores, ends, value=score).softmax(dim=dim)

    def naive(scores: Tensor, total: Function) -> Tensor:
        exponentials = scores.exp()
        return torch.div(exponentials, 1 + total(exponentials))

    def of_a_row(x: Tensor) -> Tensor:
        return x.sum(dim=-1, keepdim=True)

    def right(scores: Tensor) -> Any:
        return padded(0, 1)(scores)[..., :-1]

    def down_a_column(scores: Tensor) -> Tensor:
        m = highest(scores).clamp(min=0)
        exponentials = (scores - m).exp()
        return torch.div(exponentials, exponentials.sum(dim=-2, keepdim=True) + (-m).exp())

    same = "the 1 is divided by the same power as the rest: it becomes exp(−m)."
    of_all = (
        "one maximum was taken for all rows; each row has its own, and a row far below is lost."
    )
    lost = "the sum of each row lost its axis: keepdim=True keeps it."
    alone = "that is a sigmoid of each score alone; below the fraction stands the sum."
    return [
        (partial(torch.softmax, dim=-1), "the rows still sum to 1: nothing is left over."),
        (
            partial(naive, total=of_a_row),
            "e to the power of a large score is infinity, and infinity over infinity is NaN: take "
            "the largest out before, or leave the exponentials to torch.softmax.",
        ),
        (partial(naive, total=lambda x: x.sum(dim=-1)), lost),
        (
            partial(naive, total=torch.sum),
            "the sum runs over all rows; each row has its own.",
        ),
        (partial(naive, total=lambda x: x), alone),
        (torch.sigmoid, alone),
        (shifted(highest, torch.ones_like), same),
        (shifted(lambda s: highest(s).clamp(min=0), torch.ones_like), same),
        (
            shifted(lambda s: highest(s).clamp(min=0), torch.exp),
            "the 1 has the wrong sign in its exponent: it becomes exp(−m).",
        ),
        (
            shifted(lambda s: s.amax(dim=-2, keepdim=True).clamp(min=0)),
            "the largest score is sought down a column, over the queries; each row has its own.",
        ),
        (
            down_a_column,
            "the sum runs over the queries (dim=-2). Keys lie along dim=-1.",
        ),
        (
            lambda scores: right(scores.clamp(min=0)),
            "negative scores become 0; they come as they are, and the sink's alone is 0.",
        ),
        (
            partial(torch.softmax, dim=-2),
            "the softmax runs over the queries (dim=-2). Keys lie along dim=-1.",
        ),
        (
            lambda scores: padded(0, scores.shape[-1])(scores)[..., : scores.shape[-1]],
            "a 1 is added for every key; one for each row is enough.",
        ),
        (shifted(torch.amax), of_all),
        (shifted(lambda s: s.amax().clamp(min=0)), of_all),
        (
            shifted(lambda s: s.abs().amax(dim=-1, keepdim=True)),
            "the score of largest size is taken out; take the largest score, and 0 with it.",
        ),
        (
            lambda scores: torch.nn.functional.pad(scores, (1, 0)).softmax(dim=-1)[..., :-1],
            "the 0 stands first, and the last key is dropped in its place.",
        ),
        (
            lambda scores: torch.nn.functional.pad(scores, (0, 1)).softmax(dim=-1)[..., 1:],
            "the columns have moved by one: drop the one that was added, and no other.",
        ),
        (
            lambda scores: padded(0, 1, score=1.0)(scores)[..., :-1],
            "the added score is 1. It is its exponential that is 1, so the score is 0.",
        ),
        (
            lambda scores: padded(0, 0, 0, 1, dim=-2)(scores)[..., :-1, :],
            "the softmax runs over the queries (dim=-2). Keys lie along dim=-1.",
        ),
        (
            lambda scores: scores.softmax(dim=-1) / 2,
            "every row sums to a half, whatever the scores.",
        ),
        (
            lambda scores: scores.softmax(dim=-1) * (highest(scores) > 0),
            "each row sums to 1 or to 0; what is left over grows smoothly.",
        ),
        (
            lambda scores: scores.softmax(dim=-1) * (highest(scores) >= 0),
            "each row sums to 1 or to 0; what is left over grows smoothly.",
        ),
        (
            lambda scores: (scores.softmax(dim=-1) - 1).relu(),
            "1 is subtracted from the weights; it is added to the sum below the fraction.",
        ),
        *(
            (
                partial(_cut_off, cut=cut),
                "the scores are cut off at a largest one, and all above it count alike. Leave the "
                "exponentials to torch.softmax.",
            )
            for cut in (10, 20, 30, 50, 60, 80, 85, 88)
        ),
    ]


def of_scaled_scores() -> Named:
    """Return scores of queries and keys that are not the scaled dot product.

    Examples
    --------
    >>> wrong, sentence = of_scaled_scores()[0]
    >>> wrong(torch.ones(2, 4), torch.ones(3, 4))[0, 0].item(), sentence
    (4.0, 'the scores are not divided by the square root of d_k.')
    """

    def over(divisor: Callable[[Tensor, Tensor], float]) -> Function:
        return lambda queries, keys: dot(queries, keys) / divisor(queries, keys)

    return [
        (dot, "the scores are not divided by the square root of d_k."),
        (over(lambda q, k: q.shape[-1]), "the scores are divided by d_k, not by its square root."),
        (
            over(lambda q, k: q.shape[-1] ** -0.5),
            "the scores are multiplied by the square root of d_k, not divided.",
        ),
        (
            over(lambda q, k: k.shape[-2] ** 0.5),
            "the scores are divided by the square root of the number of keys, not of d_k.",
        ),
        (
            over(lambda q, k: q.shape[-2] ** 0.5),
            "the scores are divided by the square root of the number of queries, not of d_k.",
        ),
        (
            over(lambda q, k: q.shape[-1] ** 0.25),
            "the scores are divided by the fourth root of d_k, not by its square root.",
        ),
        (
            lambda q, k: -dot(q, k) / q.shape[-1] ** 0.5,
            "the scores have a minus sign too many: the worst key wins.",
        ),
        (
            lambda q, k: q @ k / math.sqrt(q.shape[-1]),
            "the keys are not transposed: each row of the queries meets columns of the keys.",
        ),
        (
            lambda q, k: -(q.unsqueeze(-2) - k.unsqueeze(-3)).square().sum(dim=-1) / 2,
            "that is the Gaussian's score; a dot product is asked for.",
        ),
        (
            lambda q, k: _unit(q) @ _unit(k).transpose(-2, -1),
            "that is the cosine: the lengths of query and key are divided out.",
        ),
        (
            lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], -1) / math.sqrt(q.shape[-1]),
            "reshape and view give the keys their transposed shape, and mix their numbers: "
            "transpose(-2, -1) swaps the axes.",
        ),
        (
            lambda q, k: q @ k.permute(*reversed(range(k.dim()))) / math.sqrt(q.shape[-1]),
            "`.T` turns all axes round, that of the batch too: `.mT` swaps the last two.",
        ),
        (
            over(lambda q, k: q.shape[0] ** 0.5),
            "the scores are divided by the root of len(queries), the first axis; d_k is the last.",
        ),
        (over(lambda q, k: 8), "8 is the root of 64: take the root of the width that comes."),
        (over(lambda q, k: q.shape[-1] / 2), "the root of d_k is not half of it."),
        (
            over(lambda q, k: (q.shape[-1] + 1) ** 0.5),
            "the scores are divided by the root of d_k + 1; nothing is added to d_k.",
        ),
        (
            over(lambda q, k: q.numel() ** 0.5),
            "the scores are divided by the root of how many numbers the queries hold in all; d_k "
            "is the width of one.",
        ),
        *(
            (
                lambda q, k, spread=spread: dot(q, k) / spread(dot(q, k)),
                "the scores are divided by their own standard deviation; it is the root of d_k.",
            )
            for spread in (torch.std, lambda scores: scores.std(dim=-1, keepdim=True))
        ),
        (
            over(lambda q, k: math.isqrt(q.shape[-1])),
            "the root of d_k is rounded down to a whole number.",
        ),
        (
            lambda q, k: dot(q, k) // math.sqrt(q.shape[-1]),
            "`//` rounds every score down to a whole number; `/` divides.",
        ),
        *(
            (
                wrong,
                "`*` multiplies query 0 with key 0, query 1 with key 1 …; every query meets every "
                "key: `queries @ keys.mT`.",
            )
            for wrong in (
                lambda q, k: q * k / math.sqrt(q.shape[-1]),
                lambda q, k: (q * k).sum(dim=-1) / math.sqrt(q.shape[-1]),
            )
        ),
        (
            lambda q, k: torch.tensordot(q, k, dims=([-1], [-1])) / math.sqrt(q.shape[-1]),
            "the queries of a sentence meet the keys of all sentences; each keeps to its own.",
        ),
        (
            lambda q, k: _unit(dot(q, k)),
            "each row of scores is divided by its length; divide by the square root of d_k.",
        ),
        (
            lambda q, k: dot(q, k).sqrt(),
            "the root of the scores is taken; it is d_k whose root they are divided by.",
        ),
        (
            lambda q, k: (q.unsqueeze(-2) + k.unsqueeze(-3)).sum(dim=-1) / q.shape[-1] ** 0.5,
            "query and key are added; they are multiplied, and then summed.",
        ),
        *(
            (wrong, "that is a distance; a dot product is asked for.")
            for wrong in (
                lambda q, k: torch.cdist(q, k) / math.sqrt(q.shape[-1]),
                lambda q, k: -torch.cdist(q, k),
                lambda q, k: -torch.cdist(q, k) / math.sqrt(q.shape[-1]),
                lambda q, k: -torch.cdist(q, k).square() / math.sqrt(q.shape[-1]),
                lambda q, k: -torch.cdist(q, k).square() / 2 / math.sqrt(q.shape[-1]),
            )
        ),
    ]


def of_attention() -> Named:
    """Return outputs of queries, keys and values that are not attention's.

    Every mistake with the scores and with softmax is among them, carried through to the output.

    Examples
    --------
    >>> len(of_attention()) > len(of_scaled_scores()) + len(of_softmax())
    True
    """

    def with_scores(scores: Function) -> Function:
        return lambda q, k, v: torch.softmax(scores(q, k), dim=-1) @ v

    def with_weights(weights: Function) -> Function:
        return lambda q, k, v: weights(scaled(q, k)) @ v

    return [
        *((with_scores(scores), sentence) for scores, sentence in of_scaled_scores()),
        *((with_weights(weights), sentence) for weights, sentence in of_softmax()),
        (
            lambda q, k, v: torch.softmax(scaled(q, k), dim=-1),
            "these are the weights. The output is the values, summed with these weights.",
        ),
        (lambda q, k, v: scaled(q, k), "these are the scores: softmax and the values are missing."),
        (
            with_scores(lambda q, k: scaled(k, q)),
            "scores or weights are transposed: a row belongs to a query, a column to a key.",
        ),
        (
            with_weights(lambda scores: torch.softmax(causal(scores), dim=-1)),
            "a causal mask hides the later keys; no key is hidden here.",
        ),
        (
            lambda q, k, v: v.gather(
                -2, scaled(q, k).argmax(-1, keepdim=True).expand(*q.shape[:-1], v.shape[-1])
            ),
            "the best key's value is taken; with softmax every key keeps a share.",
        ),
        (
            lambda q, k, v: torch.softmax(scaled(q, k), dim=-1) @ k,
            "the keys are summed. What is summed is the values.",
        ),
        (
            lambda q, k, v: torch.softmax(dot(q, k), dim=-1) / q.shape[-1] ** 0.5 @ v,
            "the weights are divided by the root of d_k; it is the scores that are divided, "
            "before softmax.",
        ),
        (
            lambda q, k, v: torch.softmax(dot(q, k) / v.shape[-1] ** 0.5, dim=-1) @ v,
            "the scores are divided by the root of the values' width. It is the keys' that counts.",
        ),
        (
            lambda q, k, v: with_scores(scaled)(q, k[..., :-1, :], v[..., :-1, :]),
            "the last key is left out, and its value with it.",
        ),
        (
            lambda q, k, v: with_scores(scaled)(q, k, v).index_fill(
                -2, torch.tensor(q.shape[-2] - 1), 0
            ),
            "the last query gets zeros: a loop over the queries ends one too early.",
        ),
        (
            lambda q, k, v: v.mean(dim=-2, keepdim=True).expand(*q.shape[:-1], -1),
            "that is the plain mean of the values, the same for every query.",
        ),
    ]


def dot(queries: Tensor, keys: Tensor) -> Tensor:
    """Return plain dot products.

    Examples
    --------
    >>> dot(torch.ones(1, 4), torch.ones(2, 4))
    tensor([[4., 4.]])
    """
    return queries @ keys.transpose(-2, -1)


def scaled(queries: Tensor, keys: Tensor) -> Tensor:
    """Return scaled dot products.

    Examples
    --------
    >>> scaled(torch.ones(1, 4), torch.ones(2, 4))
    tensor([[2., 2.]])
    """
    return dot(queries, keys) / math.sqrt(queries.shape[-1])


def causal(scores: Tensor) -> Tensor:
    """Return scores with −infinity at the keys after the query's own place.

    Examples
    --------
    >>> causal(torch.zeros(2, 2))
    tensor([[0., -inf],
            [0., 0.]])
    """
    return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)


def _cut_off(scores: Tensor, cut: float) -> Tensor:
    exponentials = scores.clamp(max=cut).exp()
    return torch.div(exponentials, 1 + exponentials.sum(dim=-1, keepdim=True))


def _unit(x: Tensor) -> Tensor:
    return torch.nn.functional.normalize(x, dim=-1)


def _over_all(scores: Tensor) -> Tensor:
    return torch.softmax(scores.flatten(-2), dim=-1).view_as(scores)


def _shifted(scores: Tensor, by: Tensor) -> Tensor:
    exponentials = (scores - by).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def _without_keepdim(scores: Tensor) -> Tensor:
    exponentials = scores.exp()
    return exponentials / exponentials.sum(dim=-1)
