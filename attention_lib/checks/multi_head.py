"""Graders for the chapters on many heads and their layouts.

Examples
--------
>>> layer_parameters(3 * 512**2)
Not yet: W_o is forgotten: the matrix that joins the heads.
>>> both_at_once(1)
Not yet: the weights of one head sum to 1 over the whole row: it cannot give 1 twice.
>>> cache_size(51200)
Not yet: keys and values are kept, so it is twice that.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.multihead import merge_heads, split_heads

__all__ = [
    "both_at_once",
    "cache_size",
    "grouped_attention",
    "grouped_parameters",
    "layer_parameters",
    "merge",
    "quiz",
    "share_of_head",
    "split",
]

D_MODEL, NUM_HEADS, NUM_KV_HEADS, LENGTH = 512, 8, 2, 100
D_K = D_MODEL // NUM_HEADS

layer_parameters = Number(
    "The parameters of a layer of width 512 with eight heads and no biases",
    4 * D_MODEL**2,
    because="four matrices of 512 × 512, whatever the number of heads.",
    mistakes=[
        (3 * D_MODEL**2, "W_o is forgotten: the matrix that joins the heads."),
        (
            4 * D_MODEL**2 * NUM_HEADS,
            "the heads share the width: together they have one W_q of 512 × 512, not eight.",
        ),
        (4 * D_MODEL * D_K, "that is one head; there are eight, each as wide as 64."),
        (3 * D_MODEL * D_K, "that is one head without its part of W_o; there are eight."),
        (4 * D_MODEL**2 + 4 * D_MODEL, "the layer has no biases."),
        (D_MODEL**2, "that is one matrix; the layer has W_q, W_k, W_v and W_o."),
        (4 * D_MODEL, "a matrix of the layer has 512 × 512 numbers."),
    ],
)

grouped_parameters = Number(
    "The parameters of a layer of width 512 with eight query heads and two key–value heads, "
    "without biases",
    2 * D_MODEL**2 + 2 * D_MODEL * NUM_KV_HEADS * D_K,
    because="W_q and W_o are 512 × 512, W_k and W_v 512 × 128: 655360 in all.",
    mistakes=[
        (4 * D_MODEL**2, "that is a layer with as many key-value heads as query heads."),
        (
            D_MODEL**2 + 3 * D_MODEL * NUM_KV_HEADS * D_K,
            "the output matrix stays square: it joins all query heads.",
        ),
        (
            2 * D_MODEL**2 + D_MODEL * NUM_KV_HEADS * D_K,
            "keys and values have a matrix each, and each makes two heads of width 64.",
        ),
        (
            2 * D_MODEL**2 + 2 * D_MODEL * NUM_KV_HEADS * D_K + 2 * D_MODEL + 2 * 128,
            "the layer has no biases.",
        ),
        (
            D_MODEL**2 + 2 * D_MODEL * NUM_KV_HEADS * D_K,
            "one of W_q and W_o is forgotten: both are 512 × 512.",
        ),
        (
            4 * D_MODEL * NUM_KV_HEADS * D_K,
            "the queries still have eight heads, so W_q and W_o stay 512 × 512.",
        ),
    ],
)

both_at_once = Number(
    "One query must read two tokens. Two heads give each its weight of 1. What is the largest "
    "weight that one head can give to both of them alike?",
    0.5,
    because="a row of weights sums to 1, and two equal parts of it are halves.",
    mistakes=[
        (1, "the weights of one head sum to 1 over the whole row: it cannot give 1 twice."),
        (2, "a weight is at most 1."),
        (0.25, "half of it would go to other tokens; give it all to the two."),
        (0, "a head can look at two tokens: it must share its weight between them."),
    ],
)

cache_size = Number(
    "The numbers in the cache of a layer of width 512 with eight heads, each with keys and "
    "values of its own, after 100 tokens of one sentence",
    2 * LENGTH * D_MODEL,
    because="a key and a value for each token, each of 8 × 64 = 512 numbers.",
    mistakes=[
        (LENGTH * D_MODEL, "keys and values are kept, so it is twice that."),
        (3 * LENGTH * D_MODEL, "queries are not kept: a past token never asks again."),
        (
            2 * LENGTH * D_MODEL * NUM_HEADS,
            "the eight heads share the width: each keeps 64 numbers, not 512.",
        ),
        (2 * LENGTH * D_K, "that is one head; there are eight."),
        (2 * D_MODEL, "that is one token; there are 100."),
        (LENGTH**2 * NUM_HEADS, "weights are not kept: they are made afresh for each new query."),
        (2 * LENGTH**2, "weights are not kept: they are made afresh for each new query."),
    ],
)


def split(answer: object) -> Verdict:
    """Grade a function that cuts vectors into heads.

    Parameters
    ----------
    answer : callable
        ``answer(x, num_heads)`` takes ``(batch, len, num_heads * d_k)`` and returns
        ``(batch, num_heads, len, d_k)``: each head is a block of neighbouring columns.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> split(lambda x, num_heads: x.reshape(len(x), num_heads, x.shape[1], -1))
    Not yet: the columns are not cut first: a head gets whole vectors of some places, and \
parts of no vector. Cut the width into (num_heads, d_k), then swap the axes.
    """

    def sizes(x: Tensor, num_heads: int) -> tuple[int, int, int, int]:
        return x.shape[0], x.shape[1], num_heads, x.shape[2] // num_heads

    def straight(x: Tensor, num_heads: int) -> Tensor:
        batch, length, _, d_k = sizes(x, num_heads)
        return x.reshape(batch, num_heads, length, d_k)

    def unswapped(x: Tensor, num_heads: int) -> Tensor:
        return x.reshape(sizes(x, num_heads))

    def interleaved(x: Tensor, num_heads: int) -> Tensor:
        batch, length, _, d_k = sizes(x, num_heads)
        return x.reshape(batch, length, d_k, num_heads).permute(0, 3, 1, 2)

    def folded(x: Tensor, num_heads: int) -> Tensor:
        return split_heads(x, num_heads).flatten(0, 1)

    def heads_first(x: Tensor, num_heads: int) -> Tensor:
        return split_heads(x, num_heads).transpose(0, 1)

    def exchanged(x: Tensor, num_heads: int) -> Tensor:
        """The two numbers of the cut change places: d_k heads of width num_heads."""
        return split_heads(x, x.shape[-1] // num_heads)

    def from_transposed(x: Tensor, num_heads: int) -> Tensor:
        return straight(x.mT, num_heads)

    def flipped(x: Tensor, num_heads: int) -> Tensor:
        return split_heads(x, num_heads).flip(1)

    def repeated(x: Tensor, num_heads: int) -> Tensor:
        return x.unsqueeze(1).repeat(1, num_heads, 1, 1)

    mistakes: Named = [
        (
            straight,
            "the columns are not cut first: a head gets whole vectors of some places, and parts "
            "of no vector. Cut the width into (num_heads, d_k), then swap the axes.",
        ),
        (
            unswapped,
            "the width is cut, but the axes are not swapped: this is (batch, len, num_heads, d_k).",
        ),
        (
            interleaved,
            "the heads are interleaved: head 0 gets every num_heads-th column. A head is a block "
            "of neighbours.",
        ),
        (
            from_transposed,
            "the axes are swapped before the width is cut, so a head mixes the places.",
        ),
        (folded, "the heads are folded into the batch; they have an axis of their own."),
        (heads_first, "the heads come before the batch: swap the first two axes."),
        (exchanged, "there are d_k heads of width num_heads: the two numbers are exchanged."),
        (flipped, "the heads are in reverse order."),
        (repeated, "every head gets the whole vector; it gets its part of the columns."),
        (lambda x, num_heads: x, "nothing is cut."),
        (
            lambda x, num_heads: split_heads(x, num_heads).mT,
            "each head is transposed: (…, d_k, len) should be (…, len, d_k).",
        ),
    ]
    shapes = [(1, 2, 2, 2), (1, 2, 3, 2), (2, 3, 5, 7), (3, 5, 2, 3), (2, 7, 1, 4), (1, 3, 4, 1)]
    cases = [
        (_count(batch, length, num_heads * d_k), num_heads)
        for batch, length, num_heads, d_k in shapes
    ]
    names = ["batch", "head", "position", "column"]
    return grade(answer, split_heads, cases, mistakes, axes=names)


def merge(answer: object) -> Verdict:
    """Grade a function that joins heads.

    Parameters
    ----------
    answer : callable
        ``answer(x)`` takes ``(batch, num_heads, len, d_k)`` and returns
        ``(batch, len, num_heads * d_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> merge(merge_heads)
    Correct: 6 cases agree.
    """
    mistakes: Named = [
        (
            lambda x: x.reshape(x.shape[0], x.shape[2], -1),
            "the axes were not swapped, so one position gets numbers of another.",
        ),
        (
            lambda x: x.permute(0, 2, 3, 1).flatten(-2),
            "the heads are interleaved: column 1 of each head, then column 2; they should be "
            "blocks.",
        ),
        (lambda x: x.sum(dim=1), "the heads were added up; they stand side by side."),
        (lambda x: x.mean(dim=1), "the heads were averaged; they stand side by side."),
        (lambda x: x[:, 0], "that is the first head alone; all stand side by side."),
        (lambda x: x.transpose(1, 2), "the axes are swapped, but the last two are not yet one."),
        (lambda x: x.flatten(1, 2), "the heads stand one below the other, not side by side."),
        (
            lambda x: merge_heads(x.flip(1)),
            "the heads stand in reverse order.",
        ),
        (
            lambda x: x.permute(0, 3, 2, 1).reshape(x.shape[0], x.shape[2], -1),
            "the axes are in the wrong order before they are joined: (batch, len, num_heads, d_k) "
            "is wanted there.",
        ),
        (
            lambda x: x.permute(2, 0, 1, 3).flatten(-2),
            "the positions come before the batch.",
        ),
        (lambda x: x.amax(dim=1), "the largest of the heads is taken; they stand side by side."),
    ]
    shapes = [(1, 2, 2, 1), (1, 2, 3, 2), (2, 3, 5, 7), (3, 5, 2, 3), (2, 1, 7, 4), (1, 4, 3, 1)]
    cases = [(_count(*shape),) for shape in shapes]
    return grade(answer, merge_heads, cases, mistakes, axes=["position", "column"])


def share_of_head(answer: object) -> Verdict:
    """Grade what one head contributes to the output of its layer.

    Parameters
    ----------
    answer : callable
        ``answer(heads, W_o, i)`` takes the heads' outputs ``(batch, num_heads, len, d_v)``, the
        matrix ``(num_heads * d_v, d_model)`` and the number of a head, and returns the part
        ``(batch, len, d_model)`` that head ``i`` has in ``merge_heads(heads) @ W_o``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> share_of_head(lambda heads, W_o, i: heads[:, i])
    Not yet: W_o is forgotten: this is the output of the head before it.
    """

    def rows(W_o: Tensor, i: int, d_v: int) -> Tensor:
        return W_o[i * d_v : (i + 1) * d_v]

    def reference(heads: Tensor, W_o: Tensor, i: int) -> Tensor:
        return heads[:, i] @ rows(W_o, i, heads.shape[-1])

    mistakes: Named = [
        (lambda heads, W_o, i: heads[:, i], "W_o is forgotten: this is the output of the head "
            "before it."),
        (
            lambda heads, W_o, i: merge_heads(heads) @ W_o,
            "that is the whole output, the sum over all heads.",
        ),
        (
            lambda heads, W_o, i: merge_heads(heads) @ W_o / heads.shape[1],
            "that is the whole output, divided by the number of heads: a head's share is its own.",
        ),
        (
            lambda heads, W_o, i: reference(heads, W_o, i) / heads.shape[1],
            "heads are added, not averaged: do not divide by their number.",
        ),
        (
            lambda heads, W_o, i: heads[:, i] @ W_o[i :: heads.shape[1]],
            "the rows of W_o are taken in turns; a head's rows are a block.",
        ),
        (
            lambda heads, W_o, i: heads[:, i] @ rows(W_o, 0, heads.shape[-1]),
            "every head is given the first rows of W_o; each has its own block.",
        ),
        (
            lambda heads, W_o, i: heads[:, i] @ W_o[i : i + heads.shape[-1]],
            "the block of W_o starts at row i; it starts at row i · d_v.",
        ),
        (
            lambda heads, W_o, i: heads[:, i] @ W_o[i * heads.shape[1] :][: heads.shape[-1]],
            "the block of W_o starts at row i · num_heads; it starts at row i · d_v.",
        ),
        (
            lambda heads, W_o, i: heads[:, i] @ W_o,
            "the shapes do not meet: a head has d_v columns, and W_o has num_heads · d_v rows. "
            "Head i meets its own d_v of them.",
        ),
        (
            lambda heads, W_o, i: heads[:, i - 1] @ rows(W_o, i - 1, heads.shape[-1]),
            "that is the head before: heads are counted from 0.",
        ),
        (
            lambda heads, W_o, i: heads.sum(dim=1) @ rows(W_o, i, heads.shape[-1]),
            "the heads are added up before W_o; only head i meets its rows.",
        ),
        (
            lambda heads, W_o, i: merge_heads(heads) @ W_o - reference(heads, W_o, i),
            "that is what all other heads contribute.",
        ),
        (
            lambda heads, W_o, i: heads[i] @ rows(W_o, i, heads.shape[-1]),
            "the first axis is the batch: head i is heads[:, i].",
        ),
    ]  # fmt: skip
    normal, double = draws(21), draws(22, torch.float64)
    cases = [
        (_count(1, 2, 1, 2), _count(4, 1), 1),
        (normal(2, 3, 5, 7), normal(21, 11), 2),
        (normal(3, 5, 2, 3), normal(15, 7), 1),
        (normal(2, 4, 3, 2), normal(8, 8), 0),
        (normal(5, 3, 2, 4), normal(12, 5), 1),
        (double(1, 2, 3, 5), double(10, 3), 1),
    ]
    return grade(answer, reference, cases, mistakes, axes=["position", "column"])


def grouped_attention(answer: object) -> Verdict:
    """Grade grouped-query attention.

    Parameters
    ----------
    answer : callable
        ``answer(queries, keys, values)`` takes ``(batch, num_heads, len_q, d_k)``,
        ``(batch, num_kv_heads, len_k, d_k)`` and ``(batch, num_kv_heads, len_k, d_v)``, and
        returns ``(batch, num_heads, len_q, d_v)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def in_turns(queries, keys, values):
    ...     times = queries.shape[1] // keys.shape[1]
    ...     keys, values = (x.repeat(1, times, 1, 1) for x in (keys, values))
    ...     return scaled_dot_product_attention(queries, keys, values)[0]
    >>> grouped_attention(in_turns)
    Not yet: repeat puts the key heads in turns; neighbours must share, so repeat_interleave.
    """
    Repeat = Callable[[Tensor, int], Tensor]

    def repeated(
        of_keys: Repeat, of_values: Repeat, scale: Callable[[int], float] = lambda d: d**-0.5
    ) -> Callable[..., Any]:
        def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            times = queries.shape[1] // keys.shape[1]
            keys, values = of_keys(keys, times), of_values(values, times)
            scores = queries @ keys.mT * scale(keys.shape[-1])
            return torch.softmax(scores, dim=-1) @ values

        return attend

    def in_blocks(x: Tensor, times: int) -> Tensor:
        return x.repeat_interleave(times, dim=1)

    def in_turns(x: Tensor, times: int) -> Tensor:
        return x.repeat(1, times, 1, 1)

    def one_only(place: int) -> Repeat:
        return lambda x, times: x[:, place].unsqueeze(1).expand(-1, x.shape[1] * times, -1, -1)

    def mean(x: Tensor, times: int) -> Tensor:
        return x.mean(dim=1, keepdim=True).expand(-1, x.shape[1] * times, -1, -1)

    def flipped(x: Tensor, times: int) -> Tensor:
        return in_blocks(x.flip(1), times)

    def mean_queries(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        grouped = queries.reshape(len(queries), keys.shape[1], -1, *queries.shape[2:]).mean(dim=2)
        return scaled_dot_product_attention(grouped, keys, values)[0]

    def weights(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        times = queries.shape[1] // keys.shape[1]
        found = scaled_dot_product_attention(
            queries, in_blocks(keys, times), in_blocks(values, times)
        )
        return torch.as_tensor(found[1])

    mistakes: Named = [
        (
            repeated(in_turns, in_turns),
            "repeat puts the key heads in turns; neighbours must share, so repeat_interleave.",
        ),
        (repeated(in_blocks, in_turns), "the keys are right, the values were repeated in turns."),
        (repeated(in_turns, in_blocks), "the values are right, the keys were repeated in turns."),
        (
            repeated(one_only(0), one_only(0)),
            "all heads share the first key head; each group has its own.",
        ),
        (
            repeated(one_only(-1), one_only(-1)),
            "all heads share the last key head; each group has its own.",
        ),
        (repeated(mean, mean), "the key heads are averaged; each group has its own."),
        (repeated(flipped, flipped), "the key heads are shared out in reverse order."),
        (repeated(in_blocks, in_blocks, lambda d: 1), "the scores are not divided by the square "
            "root of d_k."),
        (repeated(in_blocks, in_blocks, lambda d: 1 / d), "the scores are divided by d_k, not by "
            "its square root."),
        (mean_queries, "the queries of a group are averaged; each query head asks for itself."),
        (
            lambda queries, keys, values: merge_heads(
                repeated(in_blocks, in_blocks)(queries, keys, values)
            ),
            "the heads are joined already; they are asked for apart: (batch, num_heads, len_q, "
            "d_v).",
        ),
        (weights, "these are the weights. The output is the values, summed with these weights."),
        (
            lambda queries, keys, values: scaled_dot_product_attention(queries, keys, values)[0],
            "num_heads and num_kv_heads do not line up: each key head is for a group of queries.",
        ),
    ]  # fmt: skip
    cases = []
    for seed, (kv_heads, group) in enumerate(((2, 2), (2, 3), (3, 2), (4, 1), (1, 3))):
        random = draws(30 + seed, torch.float64 if group == 3 else torch.float32)
        cases.append(
            (
                random(2, kv_heads * group, 3, 7),
                random(2, kv_heads, 5, 7),
                random(2, kv_heads, 5, 4),
            )
        )
    names = ["batch", "head", "query", "column"]
    return grade(answer, repeated(in_blocks, in_blocks), cases, mistakes, axes=names)


quiz = Quiz(
    Choice(
        "A layer of width 512 gets 16 heads instead of 8. How many parameters has it now?",
        ["twice as many", "half as many", "as many as before"],
        "c",
        {
            "a": "each head is half as wide, so the matrices stay 512 × 512.",
            "b": "there are twice as many heads of half the width.",
            "c": "the heads share the width: W_q, W_k, W_v and W_o stay 512 × 512.",
        },
    ),
    Number(
        "A batch of 2 sentences of 10 tokens goes through 8 heads. How many weights are there?",
        2 * 8 * 10 * 10,
        because="2 × 8 × 10 × 10 = 1600: each head has a table of its own for each sentence.",
        mistakes=[
            (2 * 10 * 10, "each of the 8 heads has its own table."),
            (8 * 10 * 10, "there are 2 sentences."),
            (2 * 8 * 10, "each of the 10 queries has a weight for each of the 10 keys."),
            (10 * 10, "each head has a table of its own for each of the 2 sentences."),
        ],
    ),
    Choice(
        "A sentence is cut into heads by one view, without a transpose, and the output has the "
        "right shape. What is wrong?",
        [
            "nothing, if the shape is right",
            "each head sees only some of the positions",
            "the heads come in another order",
        ],
        "b",
        {
            "a": "a view keeps the numbers in their order, and so gives heads whole places.",
            "b": "the first head gets all columns of the first places, and none of the others.",
            "c": "no order of heads would repair it: the numbers of a place are in one head.",
        },
    ),
)


def _count(*shape: int) -> Tensor:
    """Return 0, 1, 2 … in a shape: each number says where it was."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)
