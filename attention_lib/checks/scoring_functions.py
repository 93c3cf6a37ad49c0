"""Graders for the exercises of "Score every pair".

Examples
--------
>>> crossing_of_the_circle(4.2)
Correct: the circle around (2, 0) through (3, 2) has the radius √5, and crosses at 2 + √5 = 4.236.
>>> choice_of_score("a")
Not yet: a dot product needs query and key to be equally wide.
"""

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attention_lib.checks._cases import draws, memories, pairs
from attention_lib.checks._grading import Case, Verdict, grade
from attention_lib.checks._mistakes import Named, of_scaled_scores, scaled
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.scoring import cosine_scores, dot_scores, gaussian_scores

__all__ = [
    "choice_of_score",
    "crossing_of_the_circle",
    "frugal_additive_scores",
    "gaussian_by_product",
    "largest_tensor",
    "quiz",
    "scaled_scores",
]

QUERY, LONG = (2.0, 0.0), (3.0, 2.0)  # of the chapter's figure
RADIUS = math.dist(QUERY, LONG)

crossing_of_the_circle = Number(
    "The first coordinate of the crossing",
    QUERY[0] + RADIUS,
    tolerance=0.1,
    because="the circle around (2, 0) through (3, 2) has the radius √5, and crosses at "
    "2 + √5 = 4.236.",
    mistakes=[
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
        (QUERY[0] - RADIUS, "that is the crossing on the left. The right one is asked for."),
        (RADIUS, "that is the distance. The circle's centre is the query, so add its 2."),
        (QUERY[0] + RADIUS**2, "that is 2 and the squared distance: take its root first."),
    ],
)

choice_of_score = Choice(
    "Queries are 64 numbers wide, keys 256, and the match between them is to be learned. There "
    "are many pairs, so a matrix product should do it. Which score?",
    ["the scaled dot product", "the bilinear score", "the additive score", "the Gaussian"],
    "b",
    {
        "a": "a dot product needs query and key to be equally wide.",
        "b": "its matrix takes a query to the width of the keys, is learned, and all pairs are "
        "matrix products.",
        "c": "it is learned and takes two widths, but makes hidden features for every pair: "
        "more than a matrix product.",
        "d": "a distance needs query and key to be equally wide, and nothing in it is learned.",
    },
)


def scaled_scores(answer: object) -> Verdict:
    """Grade the scaled dot product of every query with every key.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys)``, ``(batch, len_q, d_k)`` and ``(batch, len_k, d_k)``, returns
        scores ``(batch, len_q, len_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> scaled_scores(lambda queries, keys: queries @ keys.mT / keys.shape[-1])
    Not yet: the scores are divided by d_k, not by its square root.
    """
    mistakes: Named = [
        *of_scaled_scores(),
        (
            lambda q, k: (q.unsqueeze(-2) * k.unsqueeze(-3)) / q.shape[-1] ** 0.5,
            "the products are not summed: a score is one number for each pair.",
        ),
        *(
            (
                lambda q, k, dim=dim: scaled(q, k).sum(dim=dim),
                f"the scores of all {which} are added up; each pair has its own.",
            )
            for dim, which in ((-1, "keys"), (-2, "queries"))
        ),
        (
            lambda q, k: torch.softmax(scaled(q, k), dim=-1),
            "these are the weights. The scores come before softmax.",
        ),
    ]
    steep = [(queries, keys) for queries, keys, _ in memories()[-2:]]
    return grade(answer, scaled, [*pairs(), *steep], mistakes, axes=["query", "key"])


def gaussian_by_product(answer: object) -> Verdict:
    """Grade scores that have the Gaussian's weights, without the differences of all pairs.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys)``, ``(batch, len_q, d_k)`` and ``(batch, len_k, d_k)``, returns
        scores ``(batch, len_q, len_k)``. What softmax cancels may be left out.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from attention_lib.scoring import dot_scores
    >>> gaussian_by_product(dot_scores).passed
    False
    """
    random = draws(0)
    wide = random(2, 31, 23), random(2, 29, 23)
    mistakes: Named = [
        (
            _weights_of(dot_scores),
            "these are the dot product's weights. Softmax cancels the query's squared length, "
            "but not the keys'.",
        ),
        (
            _penalised(lambda squares: squares),
            "the whole squared length of the key is subtracted; it is half of it.",
        ),
        (
            _penalised(lambda squares: -squares / 2),
            "half the squared length of the key is added. A long key is far away: subtract.",
        ),
        (
            _penalised(lambda squares: squares.sqrt() / 2),
            "half the length is subtracted; it is half the squared length.",
        ),
        (
            _penalised(lambda squares: squares.sqrt()),
            "the length is subtracted; it is half the squared length.",
        ),
        (
            _penalised(lambda squares: squares / 4),
            "a quarter of the squared length of the key is subtracted; it is half of it.",
        ),
        (
            _weights_of(lambda q, k: 2 * gaussian_scores(q, k)),
            "the 1/2 is missing: the Gaussian's score is half the squared distance.",
        ),
        (
            _weights_of(lambda q, k: -gaussian_scores(q, k)),
            "the sign is turned: a key that is far away gets the largest weight.",
        ),
        (
            _weights_of(lambda q, k: -(-2 * gaussian_scores(q, k)).clamp(min=0).sqrt()),
            "the distance is not squared.",
        ),
        (
            _weights_of(lambda q, k: -torch.cdist(q, k) / 2),
            "the distance is not squared.",
        ),
        (
            _weights_of(lambda q, k: (dot_scores(q, k) - k.square().sum(-1).unsqueeze(-2)) / 2),
            "the dot product is halved, too; half of −2 q·k is −q·k.",
        ),
        (
            _weights_of(lambda q, k: dot_scores(q, torch.nn.functional.normalize(k, dim=-1))),
            "the keys' lengths are divided out, and here they count.",
        ),
        (
            _weights_of(lambda q, k: gaussian_scores(q, k) / q.shape[-1] ** 0.5),
            "the scores are divided by the root of d_k. The Gaussian here has width 1.",
        ),
        (
            _weights_of(scaled),
            "these are the scaled dot product's weights: the keys' lengths are missing.",
        ),
        (
            _weights_of(lambda q, k: dot_scores(q, k) - k.square().sum(dim=-1) / 2),
            "half the squares are (batch, len_k), and do not line up with (batch, len_q, len_k): "
            "give them an axis for the queries with unsqueeze(-2).",
        ),
        (
            _weights_of(lambda q, k: dot_scores(q, k) - k.square().sum(dim=-1, keepdim=True) / 2),
            "half the squares lie along the queries' axis, (batch, len_k, 1). They belong along "
            "the last one, (batch, 1, len_k).",
        ),
        *(
            (
                _weights_of(wrong),
                "the exponential is taken already. These are to be scores; softmax takes it.",
            )
            for wrong in (
                lambda q, k: gaussian_scores(q, k).exp(),
                lambda q, k: (dot_scores(q, k) - k.square().sum(-1).unsqueeze(-2) / 2).exp(),
            )
        ),
        (
            _weights_of(lambda q, k: scaled(q, k) - k.square().sum(-1).unsqueeze(-2) / 2),
            "the dot product is divided by the root of d_k; in the square it stands undivided.",
        ),
        (
            _weights_of(lambda q, k: 2 * dot_scores(q, k) - k.square().sum(-1).unsqueeze(-2) / 2),
            "the dot product is doubled; half of −2 q·k is −q·k.",
        ),
        (
            _weights_of(lambda q, k: dot_scores(q, k) - k.square().mean(-1).unsqueeze(-2) / 2),
            "the mean of the squares is subtracted; it is half of their sum.",
        ),
        (
            _weights_of(lambda q, k: dot_scores(q, k) - k.sum(-1).square().unsqueeze(-2) / 2),
            "the key's coordinates are summed before they are squared; square them first.",
        ),
        (
            _weights_of(lambda q, k: dot_scores(q, k) - k.square().sum(dim=1).unsqueeze(1) / 2),
            "the squares are summed over the keys (dim=1). A key's length is along the last axis.",
        ),
        (
            _weights_of(cosine_scores),
            "that is the cosine: the lengths are divided out, and here they count.",
        ),
        (
            _weights_of(lambda q, k: dot_scores(k, q)),
            "queries and keys have changed places: a row of the scores belongs to a query.",
        ),
        *(
            (
                _weights_of(wrong),
                "half the keys' squares are subtracted from the scores, not multiplied or divided.",
            )
            for wrong in (
                lambda q, k: dot_scores(q, k) * k.square().sum(-1).unsqueeze(-2) / 2,
                lambda q, k: dot_scores(q, k) / k.square().sum(-1).unsqueeze(-2),
            )
        ),
        (
            _weights_of(lambda q, k: gaussian_scores(q, k).softmax(dim=-1)),
            "these are the weights. Scores are asked for; softmax comes afterwards.",
        ),
    ]
    given = _weights_of(answer)
    verdict = grade(given, _weights_of(gaussian_scores), pairs(), mistakes, axes=["query", "key"])
    if not verdict or not callable(answer):
        return verdict
    watch = _watched(answer, wide)
    if isinstance(watch, Verdict):
        return watch
    differences = 2 * 31 * 29 * 23
    if watch.subtracted < differences:
        return Verdict(True, f"{verdict.message} Largest tensor made: {watch.largest} numbers.")
    made = (
        f"in a tensor of {watch.largest} numbers"
        if watch.largest >= differences
        else "in one tensor after another"
    )
    return Verdict(
        False,
        f"the weights are right, but the differences of all pairs are made {made}. For 2 times 31 "
        f"queries and 29 keys of width 23 they are {differences} numbers; a matrix product makes "
        f"{2 * 31 * 29}.",
    )


def frugal_additive_scores(answer: object) -> Verdict:
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
    random, double = draws(0), draws(1, torch.float64)
    cases = [
        (random(1, 1, 2), random(1, 2, 1), random(2, 2), random(2, 1), random(2)),
        (random(2, 7, 3), random(2, 5, 2), random(11, 3), random(11, 2), random(11)),
        (random(3, 1, 5), 900 * random(3, 3, 7), random(2, 5), random(2, 7), random(2)),
        (torch.zeros(1, 2, 3), random(1, 5, 3), random(7, 3), random(7, 3), random(7)),
        (double(2, 3, 5), double(2, 7, 2), double(11, 5), double(11, 2), double(11)),
    ]
    mistakes: Named = [
        (
            _activated(torch.clone),
            "the tanh is missing, so the query moves all scores of its row by the same amount.",
        ),
        (
            lambda *arguments: _activated(torch.clone)(*arguments).tanh(),
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
        (
            _activated(torch.relu),
            "relu stands where tanh is asked for.",
        ),
        (
            _activated(torch.sigmoid),
            "sigmoid stands where tanh is asked for.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, W_q, W_k, -w_v),
            "every score has the wrong sign.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, W_q, -W_k, w_v),
            "the key's part is subtracted inside the tanh; it is added.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, W_q, W_k, w_v) / len(w_v),
            "the mean of the hidden features is taken; it is their sum.",
        ),
        (
            lambda *arguments: _additive(*arguments) / len(arguments[-1]) ** 0.5,
            "the scores are divided by the root of num_hiddens; additive scores are not scaled.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, W_q, 0 * W_k, w_v),
            "the key's part is missing inside the tanh.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, 0 * W_q, W_k, w_v),
            "the query's part is missing inside the tanh.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, W_k, W_q, w_v),
            "W_q and W_k have changed places.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, W_q.T, W_k.T, w_v),
            "W_q and W_k are (num_hiddens, width): it is `queries @ W_q.T`.",
        ),
        *(
            (
                lambda queries, keys, W_q, W_k, w_v, i=i: _additive(
                    queries, keys, W_q[i : i + 1 or None], W_k[i : i + 1 or None], w_v[i:][:1]
                ),
                f"only the {which} hidden feature counts; the loop must add all of them up.",
            )
            for i, which in ((0, "first"), (-1, "last"))
        ),
        *(
            (
                lambda queries, keys, W_q, W_k, w_v, kept=kept: _additive(
                    queries, keys, W_q[kept], W_k[kept], w_v[kept]
                ),
                f"the {which} hidden feature is left out; the loop must run over all of them.",
            )
            for which, kept in (("first", slice(1, None)), ("last", slice(-1)))
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: (
                (queries @ W_q.T).tanh() * w_v @ (keys @ W_k.T).tanh().mT
            ),
            "the hidden vectors are multiplied; they are added, and tanh is taken of the sum.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, W_q, W_k, w_v)[:1].expand(
                len(queries), -1, -1
            ),
            "every sentence gets the scores of the first.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, W_q, W_k, w_v.abs()),
            "the entries of w_v lose their sign.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: torch.stack(
                [
                    ((queries @ W_q.T) * key.unsqueeze(1)).tanh() @ w_v
                    for key in (keys @ W_k.T).unbind(1)
                ],
                dim=-1,
            ),
            "query and key are multiplied inside the tanh; they are added.",
        ),
        (
            lambda queries, keys, W_q, W_k, w_v: _additive(queries, keys, W_q, W_k, w_v.square()),
            "the entries of w_v are squared.",
        ),
        (
            _activated(lambda x: x.tanh().abs()),
            "the hidden features lose their sign: tanh may be negative.",
        ),
        (
            lambda *arguments: torch.softmax(_additive(*arguments), dim=-1),
            "these are the weights. The scores come before softmax.",
        ),
    ]
    verdict = grade(answer, _additive, cases, mistakes, axes=["query", "key"])
    if not verdict or not callable(answer):
        return verdict
    watch = _watched(answer, cases[1])
    if isinstance(watch, Verdict):
        return watch
    numbers, allowed = watch.largest, 2 * 7 * 11  # key by key
    if numbers <= allowed:
        return Verdict(True, f"{verdict.message} Largest tensor made: {numbers} numbers.")
    return Verdict(
        False,
        f"the numbers are right, but for 7 queries, 5 keys and 11 hidden units a tensor of "
        f"{numbers} numbers is made; {allowed} are enough.",
    )


def largest_tensor(function: Callable[..., object], *arguments: object) -> int:
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
    >>> largest_tensor(lambda x, y: (x[:, None] - y).norm(dim=-1), x, y)  # (5, 7, 2)
    70
    """
    with _Watch() as watch:
        function(*arguments)
    return watch.largest


def _watched(answer: Callable[..., object], case: Case) -> "_Watch | Verdict":
    """Call an answer and return what was seen, or the verdict that it cannot be seen."""
    try:
        with _Watch(width=case[0].shape[-1]) as watch:
            answer(*case)
    except _LeftPyTorch as error:
        return Verdict(
            False,
            f"the numbers are right, but a tensor leaves PyTorch through .{error}(), and how much "
            "is made there cannot be seen. Stay with tensors.",
        )
    return watch


class _LeftPyTorch(Exception):
    """A tensor went where nobody watches."""


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """See every tensor that PyTorch makes.

    ``largest`` is the size of the largest, ``subtracted`` how many numbers are differences: made
    by a subtraction, or by an addition of vectors.
    """

    def __init__(self, width: int = 0) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.width, self.largest, self.subtracted = width, 0, 0
        self.doors = [
            patch.object(Tensor, name, _closed(name), create=True)
            for name in ("numpy", "__array__", "__dlpack__", "tolist")
        ]

    def __enter__(self) -> "_Watch":
        for door in self.doors:
            door.start()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        for door in self.doors:
            door.stop()

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        result = function(*arguments, **(keywords or {}))
        for made in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(made, Tensor):
                numbers = made.untyped_storage().nbytes() // made.element_size()
                self.largest = max(self.largest, numbers)
                name = function.overloadpacket.__name__.strip("_")
                vectors = made.shape[-1:] == (self.width,)
                if name in ("sub", "rsub") or (name == "add" and vectors):
                    self.subtracted += made.numel()
        return result


def _closed(name: str) -> Callable[..., object]:
    def closed(*_: object, **__: object) -> object:
        raise _LeftPyTorch(name)

    return closed


quiz = Quiz(
    Number(
        "A batch of 2 sentences holds 3 queries and 5 keys each, all of width 4. How many scores "
        "are there?",
        2 * 3 * 5,
        because="2 × 3 × 5 = 30: one score for each pair, and no pairs across sentences.",
        mistakes=[
            (2 * 3 * 5 * 4, "the width is summed away: a pair has one score, not four."),
            (3 * 5, "that is one sentence, and the batch holds two."),
            (6 * 10, "queries meet only the keys of their own sentence."),
            (2 * 3 * 4, "that is how many numbers the queries hold."),
        ],
    ),
    Choice(
        "All keys have the same length. Which two scores then give the same weights, whatever "
        "the query?",
        [
            "the dot product and the cosine",
            "the dot product and the Gaussian",
            "the dot product and the scaled dot product",
        ],
        "b",
        {
            "a": "the cosine also divides by the query's length. The order of the keys stays, but "
            "the weights change.",
            "b": "they differ by half the squared lengths of query and key, the same number for "
            "all these keys. Softmax cancels it.",
            "c": "dividing all scores makes their gaps smaller, so the weights come closer to "
            "each other. Softmax cancels only what is added.",
        },
    ),
    Choice(
        "You test an attention that you did not write with keys that are all the same vector. "
        "What must it return?",
        [
            "It depends on the query and on the score.",
            "The value of the first key.",
            "The mean of the values.",
        ],
        "c",
        {
            "a": "the scores do, but they are the same for every key, and then so are the weights.",
            "b": "nothing sets the first key apart: all keys have the same score.",
            "c": "equal keys have equal scores and so equal weights, under every score.",
        },
    ),
)


def _weights_of(score: Any) -> Any:
    """Return a function of the weights, so that what softmax cancels is no difference."""
    if not callable(score):
        return score

    @wraps(score)
    def weights(queries: Tensor, keys: Tensor) -> object:
        scores = score(queries, keys)
        return torch.softmax(scores, dim=-1) if isinstance(scores, torch.Tensor) else scores

    return weights


def _penalised(penalty: Callable[[Tensor], Tensor]) -> Any:
    """Return the weights of the dot product less something that depends on the key's length."""

    def scores(queries: Tensor, keys: Tensor) -> Tensor:
        squares = keys.square().sum(dim=-1)  # (..., len_k)
        return dot_scores(queries, keys) - penalty(squares).unsqueeze(-2)

    return _weights_of(scores)


def _each_side_alone(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    of_query, of_key = ((x @ W.T).tanh() @ w_v for x, W in ((queries, W_q), (keys, W_k)))
    return of_query.unsqueeze(-1) + of_key.unsqueeze(-2)


def _additive(
    queries: Tensor,
    keys: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    w_v: Tensor,
    activation: Callable[[Tensor], Tensor] = torch.tanh,
) -> Tensor:
    features = (queries @ W_q.T).unsqueeze(-2) + (keys @ W_k.T).unsqueeze(-3)
    return activation(features) @ w_v


def _activated(activation: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    return partial(_additive, activation=activation)
