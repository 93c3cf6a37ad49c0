"""Graders for the chapter on layouts of heads.

Examples
--------
>>> cache_size(51200)
Not yet: keys and values are kept, so it is twice that.
>>> folded_lengths(lambda valid_lens, num_heads: valid_lens.repeat(num_heads))
Not yet: repeat puts the lengths in turns; the folded rows stand in blocks, so repeat_interleave.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import (
    Named,
    causal,
    dot,
    of_scaled_scores,
    of_softmax,
    scaled,
)
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.multihead import merge_heads, split_heads

__all__ = [
    "cache_size",
    "cut_interleaved",
    "folded_lengths",
    "grouped_attention",
    "grouped_parameters",
    "quiz",
]

D_MODEL, NUM_HEADS, NUM_KV_HEADS, LENGTH = 512, 8, 2, 100
D_K = D_MODEL // NUM_HEADS

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
        (2 * D_MODEL**2, "that is W_q and W_o; keys and values have a matrix each, too."),
        (2 * D_MODEL * NUM_KV_HEADS * D_K, "that is W_k and W_v; W_q and W_o are missing."),
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
        (LENGTH * D_K, "that is the keys of one head; there are eight, and values as well."),
        (4 * LENGTH * D_MODEL, "these are bytes, at two each; numbers are asked for."),
        (8 * LENGTH * D_MODEL, "these are bytes, at four each; numbers are asked for."),
        (2 * D_MODEL**2, "that is W_k and W_v; the cache holds what they make of the tokens."),
        (2 * LENGTH**2, "weights are not kept: they are made afresh for each new query."),
    ],
)


def folded_lengths(answer: object) -> Verdict:
    """Grade valid lengths for heads that are folded into the batch.

    Parameters
    ----------
    answer : callable
        ``answer(valid_lens, num_heads)`` takes ``(batch,)`` and returns
        ``(batch * num_heads,)``, where row ``b * num_heads + i`` is head ``i`` of sequence ``b``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> folded_lengths(lambda valid_lens, num_heads: valid_lens.repeat_interleave(num_heads)).passed
    True
    """
    mistakes: Named = [
        (
            lambda valid_lens, num_heads: valid_lens.repeat(num_heads),
            "repeat puts the lengths in turns; the folded rows stand in blocks, so "
            "repeat_interleave.",
        ),
        (
            lambda valid_lens, num_heads: valid_lens,
            "there is one length per sequence; each of its heads needs one.",
        ),
        (
            lambda valid_lens, num_heads: valid_lens * num_heads,
            "the lengths are multiplied; each is to be repeated.",
        ),
        (
            lambda valid_lens, num_heads: valid_lens.unsqueeze(1).expand(-1, num_heads),
            "that is (batch, num_heads): flatten the two axes into one.",
        ),
        (
            lambda valid_lens, num_heads: valid_lens.unsqueeze(0).expand(num_heads, -1),
            "that is (num_heads, batch): the batch comes first, then flatten.",
        ),
        (
            lambda valid_lens, num_heads: valid_lens.repeat_interleave(num_heads).flip(0),
            "the last sequence comes first.",
        ),
        (
            lambda valid_lens, num_heads: valid_lens.max().expand(len(valid_lens) * num_heads),
            "every row gets the largest length; each sequence has its own.",
        ),
        (
            lambda valid_lens, num_heads: torch.arange(len(valid_lens)).repeat_interleave(
                num_heads
            ),
            "that is the number of the sequence; its length is wanted.",
        ),
        *(
            (
                wrong,
                "the lengths are changed with the number of heads; a head has the length of its "
                "sequence.",
            )
            for wrong in (
                lambda valid_lens, num_heads: valid_lens.repeat_interleave(num_heads) // num_heads,
                lambda valid_lens, num_heads: valid_lens.repeat_interleave(num_heads) * num_heads,
            )
        ),
        (
            lambda valid_lens, num_heads: valid_lens.repeat_interleave(len(valid_lens)),
            "each length is repeated as often as there are sequences; it is once for each head.",
        ),
        (
            lambda valid_lens, num_heads: valid_lens.repeat(num_heads).sort().values,
            "the lengths are sorted; they stay in the order of their sequences.",
        ),
        (
            lambda valid_lens, num_heads: (
                valid_lens.repeat(num_heads).view(len(valid_lens), num_heads).T.flatten()
            ),
            "view cuts the repeated lengths into other rows: (num_heads, batch) is what repeat "
            "makes.",
        ),
        (
            lambda valid_lens, num_heads: valid_lens.repeat(1, num_heads),
            "repeat(1, n) makes one row of a table; one axis is asked for, in blocks.",
        ),
        (
            lambda valid_lens, num_heads: valid_lens.sum().expand(len(valid_lens) * num_heads),
            "every row gets the sum of the lengths; each sequence has its own.",
        ),
    ]
    lengths = ([3, 4], [5, 2, 7], [1], [0, 6, 6, 2])
    cases = [(torch.tensor(some), heads) for some in lengths for heads in (2, 3, 1)]
    return grade(
        answer, lambda valid_lens, n: valid_lens.repeat_interleave(n), cases, mistakes, axes=["row"]
    )


def cut_interleaved(answer: object) -> Verdict:
    """Grade a function that cuts interleaved projections into queries, keys and values.

    Parameters
    ----------
    answer : callable
        ``answer(projected, num_heads)`` takes ``(batch, len, num_heads * 3 * d_k)``, where the
        queries, keys and values of head 0 come first, then those of head 1, and so on; returns
        queries, keys and values, each ``(batch, num_heads, len, d_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def stacked(projected, num_heads):
    ...     return [split_heads(part, num_heads) for part in projected.chunk(3, dim=-1)]
    >>> cut_interleaved(stacked)
    Not yet: this cuts a stacked matrix: here the three parts of one head stand together.
    """
    Parts = tuple[Tensor, ...]

    def reference(projected: Tensor, num_heads: int) -> Parts:
        return split_heads(projected, num_heads).chunk(3, dim=-1)

    def stacked(projected: Tensor, num_heads: int) -> Parts:
        return tuple(split_heads(part, num_heads) for part in projected.chunk(3, dim=-1))

    def one_by_one(projected: Tensor, num_heads: int) -> Parts:
        return tuple(split_heads(projected[..., i::3], num_heads) for i in range(3))

    def straight(projected: Tensor, num_heads: int) -> Parts:
        batch, length, _ = projected.shape
        return projected.reshape(batch, num_heads, length, -1).chunk(3, dim=-1)

    def ordered(*places: int) -> Callable[[Tensor, int], Parts]:
        return lambda projected, num_heads: tuple(
            reference(projected, num_heads)[place] for place in places
        )

    mistakes: Named = [
        (stacked, "this cuts a stacked matrix: here the three parts of one head stand together."),
        (
            one_by_one,
            "this takes every third column; a head's d_k queries are neighbours, then come its "
            "d_k keys.",
        ),
        (
            straight,
            "the columns are not cut first: a head gets whole vectors of some places. Cut the "
            "width into heads, then swap the axes.",
        ),
        (ordered(0, 2, 1), "keys and values are exchanged."),
        (ordered(1, 0, 2), "queries and keys are exchanged."),
        (ordered(2, 1, 0), "queries and values are exchanged."),
        (
            lambda projected, num_heads: tuple(
                part.transpose(1, 2) for part in reference(projected, num_heads)
            ),
            "the axes are not swapped: this is (batch, len, num_heads, d_k).",
        ),
        (
            lambda projected, num_heads: split_heads(projected, num_heads),
            "the heads are right; cut each into its queries, keys and values.",
        ),
        (
            lambda projected, num_heads: projected.chunk(3, dim=-1),
            "there is no axis for the heads, and the cut is that of a stacked matrix.",
        ),
        (
            lambda projected, num_heads: tuple(
                part.flip(1) for part in reference(projected, num_heads)
            ),
            "the heads are in reverse order.",
        ),
        (
            lambda projected, num_heads: tuple(part.mT for part in reference(projected, num_heads)),
            "each part is transposed: (…, d_k, len) should be (…, len, d_k).",
        ),
        (
            lambda projected, num_heads: tuple(
                merge_heads(part) for part in reference(projected, num_heads)
            ),
            "the cut is right, but the heads are joined again; they keep an axis of their own.",
        ),
    ]
    shapes = [(1, 2, 2, 2), (2, 3, 5, 7), (3, 5, 2, 3), (1, 4, 3, 2)]
    cases = []
    for batch, length, num_heads, d_k in shapes:
        shape = (batch, length, 3 * num_heads * d_k)
        numbers = torch.arange(torch.Size(shape).numel(), dtype=torch.float32)
        cases.append((numbers.reshape(shape), num_heads))
    names = ["batch", "head", "position", "column"]
    return grade(answer, reference, cases, mistakes, axes=names)


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

    def in_blocks(x: Tensor, times: int) -> Tensor:
        return x.repeat_interleave(times, dim=1)

    def repeated(
        of_keys: Repeat = in_blocks,
        of_values: Repeat = in_blocks,
        *,
        scores: Callable[..., Any] = scaled,
        soften: Callable[..., Any] = lambda scores: scores.softmax(dim=-1),
    ) -> Callable[..., Any]:
        def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            times = queries.shape[1] // keys.shape[1]
            found: Tensor = scores(queries, of_keys(keys, times))
            return torch.matmul(soften(found), of_values(values, times))

        return attend

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

    def grouped(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        found = repeated()(queries, keys, values)
        return torch.as_tensor(found.reshape(len(found), keys.shape[1], -1, *found.shape[2:]))

    def merge_keys(x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(1, 2).unsqueeze(1)

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
        *((repeated(scores=wrong), sentence) for wrong, sentence in of_scaled_scores()),
        *((repeated(soften=wrong), sentence) for wrong, sentence in of_softmax()),
        (
            repeated(soften=lambda scores: causal(scores).softmax(dim=-1)),
            "a causal mask hides the later keys; no key is hidden here.",
        ),
        (mean_queries, "the queries of a group are averaged; each query head asks for itself."),
        (
            lambda queries, keys, values: merge_heads(
                repeated()(queries, keys, values)
            ),
            "the heads are joined already; they are asked for apart: (batch, num_heads, len_q, "
            "d_v).",
        ),
        (weights, "these are the weights. The output is the values, summed with these weights."),
        *(
            (
                wrong,
                "num_heads and num_kv_heads do not line up: each key head serves a group of query "
                "heads. Repeat along axis 1, and as often as a group is large.",
            )
            for wrong in (
                lambda *case: scaled_dot_product_attention(*case)[0],
                *(
                    repeated(*[partial(torch.Tensor.repeat_interleave, dim=dim)] * 2)
                    for dim in (0, 2)
                ),
            )
        ),
        (
            repeated(*[lambda x, times: x.repeat_interleave(2, dim=1)] * 2),
            "every key head is repeated twice; it is num_heads // num_kv_heads times.",
        ),
        (
            repeated(*[lambda x, times: x.repeat_interleave(x.shape[1], dim=1)] * 2),
            "each key head is repeated num_kv_heads times; it is num_heads // num_kv_heads.",
        ),
        (
            lambda queries, keys, values: scaled_dot_product_attention(
                queries[:, : keys.shape[1]], keys, values
            )[0],
            "only as many query heads are kept as there are key heads; all of them ask.",
        ),
        *(
            (
                lambda q, k, v, divisor=divisor: repeated(
                    scores=lambda a, b: dot(a, b) / divisor(q, v) ** 0.5
                )(q, k, v),
                f"the scores are divided by the root of {what}; it is that of d_k.",
            )
            for divisor, what in (
                (lambda q, v: q.shape[1], "num_heads"),
                (lambda q, v: v.shape[-1], "the values' width"),
            )
        ),
        (
            grouped,
            "the groups still have an axis of their own: flatten it into the heads.",
        ),
        (
            lambda *case: grouped(*case).sum(dim=2),
            "the heads of a group are added up; each has an output of its own.",
        ),
        (
            lambda queries, keys, values: scaled_dot_product_attention(
                queries, *(merge_keys(x) for x in (keys, values))
            )[0],
            "every query sees the keys of all heads; it sees those of its group.",
        ),
    ]  # fmt: skip
    cases = []
    for seed, (kv_heads, group) in enumerate(((2, 2), (2, 3), (3, 2), (4, 1), (1, 3))):
        random = draws(30 + seed, torch.float64 if group == 3 else torch.float32)
        cases.append(
            (
                (900 if group == 3 else 1) * random(2, kv_heads * group, 3, 7),
                random(2, kv_heads, 5, 7),
                random(2, kv_heads, 5, 11),
            )
        )
    names = ["batch", "head", "query", "column"]
    return grade(answer, repeated(), cases, mistakes, axes=names)


quiz = Quiz(
    Number(
        "3 sentences with 4 heads each are folded into one axis of 12 rows, as by `flatten(0, 1)`. "
        "Which row holds head 1 of sentence 2? (All are counted from 0.)",
        9,
        because="2 × 4 + 1 = 9: the heads of a sentence stand together, sentence by sentence.",
        mistakes=[
            (5, "1 × 3 + 2 would be right if the heads came first, and the sentences in turns."),
            (4, "that is counted from 1: sentence 2 is the third, head 1 the second."),
            (6, "that is head 2 of sentence 1."),
            (7, "each sentence fills 4 rows, one for each head, not 3."),
            (3, "2 + 1 adds the two numbers. Each sentence before it fills 4 rows."),
        ],
    ),
    Choice(
        "You load an interleaved matrix and cut it as if it were stacked. Which test notices?",
        [
            "a test of all shapes",
            "a test that every row of weights sums to 1",
            "a comparison of one output with the model that the matrix comes from",
        ],
        "c",
        {
            "a": "queries, keys and values have the right shapes. They only hold one another's "
            "columns.",
            "b": "softmax makes such rows from any scores, from wrong ones, too.",
            "c": "the numbers are wrong and nothing else, so compare numbers.",
        },
    ),
    Choice(
        "A layer has 32 query heads, which share 8 key-value heads. What is a quarter of what it "
        "would be with 32 of them?",
        ["the number of tables of weights", "the cache", "the time for the scores"],
        "b",
        {
            "a": "each query head still has a table of its own, with a row for every query.",
            "b": "the cache holds keys and values, of 8 heads instead of 32.",
            "c": "each of the 32 query heads still meets every key. It only shares them.",
        },
    ),
)
