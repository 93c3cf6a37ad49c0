"""Graders for the exercises of the chapter that learns an alignment.

Examples
--------
>>> better_score("b").passed
True
>>> better_score("a")
Not yet: the means differ by less than the seeds of one score do.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named
from attention_lib.checks._questions import Choice, Number, Quiz

__all__ = ["better_score", "cross_attention", "exact_match", "quiz", "without_key"]

better_score = Choice(
    "Score A, three seeds: 99.2, 99.7 and 99.5 % right. Score B: 99.4, 99.9 and 99.3 %. What can "
    "you say?",
    [
        "B is better",
        "these runs do not tell which is better",
        "both are equally good",
    ],
    "b",
    {
        "a": "the means differ by less than the seeds of one score do.",
        "b": "the means lie 0.07 apart, the seeds of one score 0.5 or more: run more of them.",
        "c": "that no difference shows in three runs does not mean that there is none.",
    },
)


def exact_match(answer: object) -> Verdict:
    """Grade the share of dates of which all digits are right.

    Parameters
    ----------
    answer : callable
        ``answer(digit_scores, digits)`` takes scores ``(dates, 8, 10)`` and the right digits
        ``(dates, 8)``, and returns one number.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> exact_match(lambda scores, digits: (scores.argmax(-1) == digits).double().mean())
    Not yet: that is the share of digits that are right; a date is right if all of its digits are.
    """

    def right(digit_scores: Tensor, digits: Tensor) -> Tensor:
        return digit_scores.argmax(dim=-1) == digits  # (dates, 8)

    def reference(digit_scores: Tensor, digits: Tensor) -> Tensor:
        return right(digit_scores, digits).all(dim=-1).double().mean()

    def probability(digit_scores: Tensor, digits: Tensor) -> Tensor:
        weights = digit_scores.softmax(dim=-1)
        return weights.gather(-1, digits.unsqueeze(-1)).squeeze(-1).double()

    mistakes: Named = [
        (
            lambda scores, digits: right(scores, digits).double().mean(),
            "that is the share of digits that are right; a date is right if all of its digits are.",
        ),
        (
            lambda scores, digits: right(scores, digits).any(dim=-1).double().mean(),
            "one right digit is not enough: all of a date's digits have to be right.",
        ),
        *(
            (
                lambda scores, digits, few=few: (
                    (right(scores, digits).sum(dim=-1) > few(digits.shape[1])).double().mean()
                ),
                "wrong digits are let through: all of a date's digits have to be right.",
            )
            for few in (
                lambda n: n - 2,
                lambda n: n - 3,
                lambda n: n / 2,
                lambda n: n / 2 - 0.5,
            )
        ),
        *(
            (
                lambda scores, digits, alike=alike: (
                    alike(scores.argmax(dim=-1), digits).double().mean()
                ),
                sentence,
            )
            for alike, sentence in (
                (
                    lambda a, b: (a.sort(-1).values == b.sort(-1).values).all(-1),
                    "the digits are compared without their order; each has its place.",
                ),
                (
                    lambda a, b: a.sum(-1) == b.sum(-1),
                    "the sums of the digits are compared; each digit has to be right.",
                ),
                (lambda a, b: a[:, 0] == b[:, 0], "only the first digit is looked at."),
                (lambda a, b: a[:, -1] == b[:, -1], "only the last digit is looked at."),
                (lambda a, b: (a == b)[:, 1:].all(-1), "the first digit is left out."),
            )
        ),
        (
            lambda scores, digits: right(scores, digits).double().mean() ** digits.shape[1],
            "the share of right digits to the power of 8 guesses, as if mistakes came "
            "independently; count.",
        ),
        *(
            (
                lambda scores, digits, number=number: number(right(scores, digits).all(dim=-1)),
                "that is how many dates are right; what share of all are they?",
            )
            for number in (torch.sum, torch.count_nonzero)
        ),
        (
            lambda scores, digits: (probability(scores, digits) > 0.5).all(-1).double().mean(),
            "a right digit needs the largest score, and not a probability above one half.",
        ),
        (
            lambda scores, digits: right(scores, digits).all(dim=0).double().mean(),
            "that asks for each place whether it is right in all dates; ask for each date whether "
            "it is right in all places.",
        ),
        (
            lambda scores, digits: right(scores, digits).double().mean(dim=0).prod(),
            "the shares of the places are multiplied, as if mistakes came independently; count.",
        ),
        (
            lambda scores, digits: right(scores, digits).all(dim=-1).double(),
            "that says of each date whether it is right; take the mean.",
        ),
        (
            lambda scores, digits: right(scores, digits).all(dim=-1).double().sum(),
            "that is how many dates are right; what share of all are they?",
        ),
        (
            lambda scores, digits: 1 - reference(scores, digits),
            "that is the share of dates that are wrong.",
        ),
        (
            lambda scores, digits: right(-scores, digits).all(dim=-1).double().mean(),
            "no date comes out right: take the digit with the highest score, counted from 0.",
        ),
        (
            lambda scores, digits: right(scores[:, :-1], digits[:, :-1]).all(-1).double().mean(),
            "the last digit is left out.",
        ),
        (
            lambda scores, digits: right(scores[:, :4], digits[:, :4]).all(-1).double().mean(),
            "only the year is looked at.",
        ),
        (
            lambda scores, digits: probability(scores, digits).prod(dim=-1).mean(),
            "that is the mean probability of the right date; count the dates that are right.",
        ),
        (
            lambda scores, digits: probability(scores, digits).mean(),
            "that is the mean probability of the right digit; count the dates that are right.",
        ),
    ]
    cases = []
    for seed, (dates, place) in enumerate([(2, 7), (7, 4), (11, 0), (5, 5)]):
        normal = draws(110 + seed, torch.float64 if seed == 2 else torch.float32)
        digits = normal(dates, 8, 10).argmax(dim=-1)
        scores = normal(dates, 8, 10)
        scores += 3.5 * torch.nn.functional.one_hot(digits, 10)
        scores[0] += 20 * torch.nn.functional.one_hot(digits[0], 10)  # this one is right
        scores[1] += 20 * torch.nn.functional.one_hot(digits[1], 10)
        scores[1, place, digits[1, place]] = -9  # and this one has one wrong digit
        cases.append((scores, digits))
    digits = torch.tensor([[1, 9, 6, 1, 0, 5, 0, 3], [2, 0, 0, 4, 1, 2, 3, 1]])
    others = [digits[0], digits[1].flip(-1), digits[0]]
    others[2] = torch.tensor([1, 9, 1, 0, 4, 4, 4, 2])
    for few in range(1, 8):  # as many are wrong
        others.append(torch.where(torch.arange(8) < few, (digits[0] + 1) % 10, digits[0]))
    guessed = torch.stack(others)
    digits = torch.cat([digits, digits[:1].expand(len(others) - 2, -1)])
    cases.append((torch.nn.functional.one_hot(guessed, 10).float(), digits))
    return grade(answer, reference, cases, mistakes)


def cross_attention(answer: object) -> Verdict:
    """Grade learned queries that look at encoded characters of several lengths.

    Parameters
    ----------
    answer : callable
        ``answer(queries, states, W_k, W_v, valid_lens)`` takes queries ``(len_q, d_k)``, states
        ``(batch, len_k, d_model)``, matrices ``(d_k, d_model)`` and ``(d_v, d_model)`` and whole
        numbers ``(batch,)``; returns output ``(batch, len_q, d_v)`` and weights
        ``(batch, len_q, len_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> cross_attention(lambda queries, states, W_k, W_v, valid_lens: (states, states)).passed
    False
    """

    def parts(
        queries: Tensor,
        states: Tensor,
        W_k: Tensor,
        W_v: Tensor,
        valid_lens: Tensor,
        *,
        root: float = 0.5,
        width: int | None = None,
        fill: float = -torch.inf,
        dim: int = -1,
        more: int = 0,
    ) -> tuple[Tensor, Tensor]:
        keys, values = states @ W_k.mT, states @ W_v.mT
        scores = queries @ keys.mT / (width or queries.shape[-1]) ** root
        valid = torch.arange(keys.shape[-2]) < (valid_lens + more)[:, None, None]
        weights = torch.softmax(scores.masked_fill(~valid, fill), dim=dim).nan_to_num()
        return weights @ values, weights

    def valid_of(scores: Tensor, lens: Tensor) -> Tensor:
        return torch.arange(scores.shape[-1]) < lens[:, None, None]

    def masked(
        queries: Tensor,
        states: Tensor,
        W_k: Tensor,
        W_v: Tensor,
        valid: Tensor,
        power: Callable[[Tensor], Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Look under another mask, by softmax or by exponentials divided by their sum."""
        scores = queries @ (states @ W_k.mT).mT / queries.shape[-1] ** 0.5
        if power:
            weights = power(scores) * valid
            weights = weights / weights.sum(dim=-1, keepdim=True)
        else:
            weights = torch.softmax(scores.masked_fill(~valid, -torch.inf), -1).nan_to_num()
        return weights @ (states @ W_v.mT), weights

    def late(queries, states, W_k, W_v, valid_lens):  # type: ignore[no-untyped-def]
        _, weights = parts(queries, states, W_k, W_v, valid_lens + len(states[0]))
        weights = weights * (torch.arange(states.shape[-2]) < valid_lens[:, None, None])
        return weights @ (states @ W_v.mT), weights

    mistakes: Named = [
        (
            lambda queries, states, W_k, W_v, valid_lens: parts(
                queries, states, W_k, W_v, valid_lens
            )[0],
            "the output alone comes back; the weights are asked for, too.",
        ),
        (
            lambda queries, states, W_k, W_v, valid_lens: parts(
                queries, states, W_k, W_v, valid_lens
            )[::-1],
            "output and weights come back in the wrong order.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(q, states, W_k, W_v, lens, root=0),
            "the scores are not divided by the square root of d_k.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(q, states, W_k, W_v, lens, root=1),
            "the scores are divided by d_k, not by its square root.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(
                q, states, W_k, W_v, lens, width=states.shape[-1]
            ),
            "the scores are divided by the root of d_model; it is the width of queries and keys "
            "that counts.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(
                q, states, W_k, W_v, torch.full_like(lens, states.shape[-2])
            ),
            "padding gets weight: the lengths have no effect.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(q, states, W_k, W_v, lens, fill=0.0),
            "the scores of padding are set to 0, and e to the 0 is 1: set them to minus infinity.",
        ),
        (
            late,
            "the weights of padding are set to 0 after softmax, so the rest does not sum to 1.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(q, states, W_k, W_v, lens, more=1),
            "one position of the padding is let in: the first one has the number valid_lens.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(q, states, W_k, W_v, lens, more=-1),
            "the last character is masked, too.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(q, states, W_k, W_v, lens, dim=-2),
            "softmax runs over the queries (dim=-2). Keys lie along the last axis: dim=-1.",
        ),
        (
            lambda q, states, W_k, W_v, lens: (
                parts(q, states, W_k, W_v, lens)[1] @ states,
                parts(q, states, W_k, W_v, lens)[1],
            ),
            "the states themselves are summed; W_v makes values of them first.",
        ),
        (
            lambda q, states, W_k, W_v, lens: (
                parts(q, states, W_k, W_v, lens)[1] @ (states @ W_k.mT),
                parts(q, states, W_k, W_v, lens)[1],
            ),
            "the keys are summed. What is summed is the values.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(-q, states, W_k, W_v, lens),
            "the scores have a minus sign too many: the worst key wins.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(q, states[:1], W_k, W_v, lens[:1]),
            "only the first of the batch is looked at.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(q, states, W_k, W_v, lens, root=-0.5),
            "the scores are multiplied by the square root of d_k, not divided.",
        ),
        *(
            (
                lambda q, states, W_k, W_v, lens, size=size: parts(
                    q, states, W_k, W_v, lens, width=size(q, states)
                ),
                f"the scores are divided by the root of the number of {name}, not of d_k.",
            )
            for size, name in (
                (lambda q, states: q.shape[0], "queries"),
                (lambda q, states: states.shape[1], "keys"),
            )
        ),
        *(
            (
                lambda q, states, W_k, W_v, lens, valid=valid: masked(
                    q, states, W_k, W_v, valid(torch.arange(states.shape[1]), lens[:, None, None])
                ),
                sentence,
            )
            for valid, sentence in (
                (
                    lambda place, lens: place >= lens,
                    "the mask is upside down: the padding is looked at, and the text is hidden.",
                ),
                (
                    lambda place, lens: place >= len(place) - lens,
                    "the mask is that of padding on the left; here it is on the right.",
                ),
                (
                    lambda place, lens: place < lens[:1].expand_as(lens),
                    "every text gets the length of the first.",
                ),
                (
                    lambda place, lens: place < lens.amax().expand_as(lens),
                    "every text gets the length of the longest.",
                ),
            )
        ),
        (
            lambda q, states, W_k, W_v, lens: masked(
                q,
                states,
                W_k,
                W_v,
                (torch.arange(len(q)) < lens[:, None])[..., None].expand(-1, -1, len(states[0])),
            ),
            "the lengths hide queries; it is keys that are padding.",
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(q, states, W_k, W_v, lens, dim=0),
            "softmax runs over the first axis (dim=0). Keys lie along the last one: dim=-1.",
        ),
        *(
            (
                lambda q, states, W_k, W_v, lens, of=of: (
                    parts(q, states, W_k, W_v, lens)[0],
                    of(q @ (states @ W_k.mT).mT / q.shape[-1] ** 0.5, lens),
                ),
                "the output is right; the scores come back for the weights.",
            )
            for of in (
                lambda scores, lens: scores,
                lambda scores, lens: scores.masked_fill(~valid_of(scores, lens), -torch.inf),
            )
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(q, states, W_v, W_k, lens),
            "W_k and W_v have changed places.",
        ),
        (
            lambda q, states, W_k, W_v, lens: masked(
                q, states, W_k, W_v, valid_of(states.mT, lens), torch.Tensor.exp
            ),
            "e to the power of a large score is infinity, and infinity over infinity is NaN: "
            "leave the exponentials to torch.softmax.",
        ),
        *(
            (
                lambda q, states, W_k, W_v, lens, turn=turn: parts(
                    q, states, turn(W_k), turn(W_v), lens
                ),
                "the matrices are (width, d_model): it is `states @ W_k.T`.",
            )
            for turn in (lambda W: W.mT,)
        ),
        (
            lambda q, states, W_k, W_v, lens: parts(
                q, states[:1].expand_as(states), W_k, W_v, lens
            ),
            "only the first text is read; each has states of its own.",
        ),
        (
            lambda q, states, W_k, W_v, lens: (
                (q @ (states @ W_k.mT).mT / q.shape[-1] ** 0.5 * valid_of(states.mT, lens))
                @ (states @ W_v.mT),
                q @ (states @ W_k.mT).mT / q.shape[-1] ** 0.5 * valid_of(states.mT, lens),
            ),
            "the softmax is missing: the values are summed with scores.",
        ),
    ]
    cases = [
        (
            torch.tensor([[1.0, 0.0]]),
            torch.tensor([[[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]]),
            torch.eye(2),
            torch.tensor([[2.0, 1.0]]),
            torch.tensor([2]),
        )
    ]
    sizes = [(2, 8, 5, 3, 7, 4), (3, 4, 7, 6, 2, 5), (5, 8, 11, 2, 13, 3)]
    for seed, (batch, len_q, len_k, d_k, d_model, d_v) in enumerate(sizes):
        normal = draws(120 + seed, torch.float64 if seed == 1 else torch.float32)
        lens = 2 + normal(batch, len_k - 2).argmax(dim=-1)  # 2 to len_k - 1
        given = (normal(len_q, d_k), normal(batch, len_k, d_model))
        cases.append((*given, normal(d_k, d_model), normal(d_v, d_model), lens))
    steep = (torch.tensor([[900.0, 0.0], [0.0, -900.0]]), *cases[0][1:])
    return grade(answer, parts, [*cases, steep], mistakes)


def without_key(answer: object) -> Verdict:
    """Grade what becomes of weights when one key is hidden.

    Parameters
    ----------
    answer : callable
        ``answer(weights, key)`` takes weights ``(..., len_q, len_k)`` and the number of a key;
        returns the weights that softmax would have given had this key been masked.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> without_key(lambda weights, key: weights)
    Not yet: nothing is hidden: the weights come back as they were.
    """

    def zeroed(weights: Tensor, key: int) -> Tensor:
        return weights.index_fill(-1, torch.tensor([key]), 0)

    def reference(weights: Tensor, key: int) -> Tensor:
        left = zeroed(weights, key)
        return left / left.sum(dim=-1, keepdim=True)

    def divided(weights: Tensor) -> Tensor:
        return weights / weights.sum(dim=-1, keepdim=True)

    def emptied(weights: Tensor, place: tuple[object, ...]) -> Tensor:
        kept = weights.clone()
        kept[place] = 0  # type: ignore[index]
        return kept

    def shared(weights: Tensor, key: int) -> Tensor:
        """The hidden weight is dealt out to the other keys in equal parts."""
        share = weights[..., key : key + 1] / (weights.shape[-1] - 1)
        return zeroed(weights + share, key)

    def to_the_largest(weights: Tensor, key: int) -> Tensor:
        left = zeroed(weights, key)
        return left.scatter_add(-1, left.argmax(-1, keepdim=True), weights[..., key : key + 1])

    def without_column(weights: Tensor, key: int) -> Tensor:
        kept = torch.arange(weights.shape[-1]) != key
        return reference(weights, key)[..., kept]

    mistakes: Named = [
        (lambda weights, key: weights, "nothing is hidden: the weights come back as they were."),
        (zeroed, "the weights that are left do not sum to 1: divide them by their sum."),
        (
            lambda weights, key: torch.softmax(zeroed(weights, key), dim=-1),
            "a second softmax is taken, of weights: it wants scores, and gives the hidden key a "
            "weight again.",
        ),
        (
            lambda weights, key: torch.softmax(
                weights.index_fill(-1, torch.tensor([key]), -torch.inf), dim=-1
            ),
            "softmax is taken of weights. Their logarithms would do, or a division.",
        ),
        (shared, "the hidden weight is dealt out in equal parts; in proportion it has to be."),
        (to_the_largest, "the hidden weight goes to one key; all that are left get a part of it."),
        (
            lambda weights, key: zeroed(weights, key) / zeroed(weights, key).sum(-2, keepdim=True),
            "the columns are divided by their sums; it is rows that sum to 1.",
        ),
        (
            lambda weights, key: zeroed(weights, key) / zeroed(weights, key).sum(),
            "all is divided by the sum of the whole table; each row has its own.",
        ),
        (
            lambda weights, key: reference(weights, (key + 1) % weights.shape[-1]),
            "the key after it is hidden: keys are counted from 0.",
        ),
        (
            lambda weights, key: reference(weights, key - 1),
            "the key before it is hidden: keys are counted from 0.",
        ),
        (without_column, "the column is cut out; give it weight 0, so that the shape stays."),
        (
            lambda weights, key: zeroed(weights, key) / weights[..., key : key + 1],
            "divided by the weight that was hidden; divide by the sum of those that are left.",
        ),
        (
            lambda weights, key: zeroed(weights, key) * (1 - weights[..., key : key + 1]),
            "multiplied by the sum of those that are left; divide by it.",
        ),
        (
            lambda weights, key: weights / (1 - weights[..., key : key + 1]),
            "the hidden key keeps a weight: set it to 0.",
        ),
        (
            lambda weights, key: (
                weights + weights[..., key : key + 1] / weights.shape[-1]
            ).index_fill(-1, torch.tensor([key]), 0),
            "the hidden weight is dealt out in equal parts; in proportion it has to be.",
        ),
        (
            lambda weights, key: (
                zeroed(weights, key) + weights[..., key : key + 1] / weights.shape[-1]
            ),
            "the hidden weight is dealt out in equal parts, to the hidden key as well; in "
            "proportion it has to be, to the others.",
        ),
        (
            lambda weights, key: weights - zeroed(weights, key),
            "that is the hidden key alone; it is the others that stay.",
        ),
        (
            lambda weights, key: zeroed(weights, key) / zeroed(weights, key).amax(-1, True),
            "divided by the largest weight; divide by the sum.",
        ),
        (
            lambda weights, key: torch.nn.functional.normalize(zeroed(weights, key), dim=-1),
            "divided by the root of the sum of squares; divide by the sum.",
        ),
        *(
            (wrong, "a sum lost its axis: keepdim=True keeps it.")
            for wrong in (
                lambda weights, key: zeroed(weights, key) / zeroed(weights, key).sum(-1),
                lambda weights, key: zeroed(weights, key) / (1 - weights[..., key]),
            )
        ),
        (
            lambda weights, key: divided(
                weights * (torch.arange(weights.shape[-1]) > key).to(weights)
            ),
            "the keys before it are hidden as well; it is one key.",
        ),
        *(
            (
                lambda weights, key, place=place: divided(emptied(weights, place(key))),
                "another axis is indexed: keys lie along the last one, [..., key].",
            )
            for place in (
                lambda key: (key,),
                lambda key: (0, ..., key),
                lambda key: (..., key, slice(None)),
            )
        ),
    ]
    cases: list[tuple[Tensor, int]] = [(torch.tensor([[0.5, 0.25, 0.25]]), 0)]
    shapes = [((3, 5), 1), ((2, 8, 7), 3), ((2, 3, 4, 11), 6)]
    for seed, (shape, key) in enumerate(shapes):
        normal = draws(130 + seed, torch.float64 if seed == 1 else torch.float32)
        cases.append((torch.softmax(2 * normal(*shape), dim=-1), key))
    return grade(answer, reference, cases, mistakes, axes=["query", "key"])


quiz = Quiz(
    Choice(
        "A test text is “3 May 1961”. Which training text would make the split unfair?",
        ["“3 May 1962”", "“3 mai 1961”", "“May 4, 1961”"],
        "b",
        {
            "a": "that is another date: its year has to be read anew.",
            "b": "it is the same date in another format, so the answer was seen in training.",
            "c": "that is another date: its day has to be read anew.",
        },
    ),
    Number(
        "Each of eight digits is right in 99 % of all dates, independently. In what share of "
        "dates are all eight right? (between 0 and 1)",
        0.923,
        tolerance=0.006,
        because="0.99 to the power of 8 is 0.923: digits look better than dates.",
        mistakes=[
            (0.99, "that is one digit; eight of them have to be right together."),
            (0.08, "that is about the share of dates with a mistake."),
            (92.3, "write the share between 0 and 1."),
        ],
    ),
    Choice(
        "Of three key positions, the one with the largest weight is hidden from a query, and its "
        "answer stays. What follows?",
        [
            "the weights were drawn wrongly",
            "what that position holds can be had elsewhere, for this answer",
            "the position was never read by anything",
        ],
        "b",
        {
            "a": "the weights say how much is fetched, not whether the answer needs it.",
            "b": "the encoder has let other positions know, or the answer needs less than it gets.",
            "c": "the encoder's own attention has read it before the query came.",
        },
    ),
)
