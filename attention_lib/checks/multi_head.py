"""Graders for the chapter on many heads."""

import torch

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.checks._grading import grade, grade_number
from attention_lib.multihead import merge_heads

__all__ = ["grouped_attention", "grouped_parameters", "merge"]


def grouped_parameters(answer):
    """Grade the parameters of a layer with eight query heads and two key-value heads.

    Parameters
    ----------
    answer : int
        The reader's number.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> grouped_parameters(655360)
    Correct: 655360 it is.
    """
    mistakes = [
        (4 * 512**2, "that is a layer with as many key-value heads as query heads."),
        (512**2 + 3 * 512 * 128, "the output matrix stays square: it joins all query heads."),
        (
            2 * 512**2 + 512 * 128,
            "keys and values have a matrix each, and each makes two heads of width 64.",
        ),
        (655360 + 2 * 512 + 2 * 128, "the layer has no biases."),
    ]
    return grade_number(answer, 655360, mistakes)


def merge(answer):
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
    Correct: 3 cases agree.
    """
    mistakes = [
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
    ]
    cases = [(_numbers(*shape),) for shape in ((1, 2, 3, 2), (2, 3, 5, 7), (3, 5, 2, 3))]
    return grade(answer, merge_heads, cases, mistakes)


def grouped_attention(answer):
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

    def repeated(repeat_keys, repeat_values):
        def attend(queries, keys, values):
            times = queries.shape[1] // keys.shape[1]
            keys, values = repeat_keys(keys, times), repeat_values(values, times)
            return scaled_dot_product_attention(queries, keys, values)[0]

        return attend

    def in_blocks(x, times):
        return x.repeat_interleave(times, dim=1)

    def in_turns(x, times):
        return x.repeat(1, times, 1, 1)

    def first_only(x, times):
        return x[:, :1].expand(-1, x.shape[1] * times, -1, -1)

    mistakes = [
        (
            repeated(in_turns, in_turns),
            "repeat puts the key heads in turns; neighbours must share, so repeat_interleave.",
        ),
        (repeated(in_blocks, in_turns), "the keys are right, the values were repeated in turns."),
        (repeated(in_turns, in_blocks), "the values are right, the keys were repeated in turns."),
        (
            repeated(first_only, first_only),
            "all heads share the first key head; each group has its own.",
        ),
    ]
    cases = [
        (
            _numbers(2, kv_heads * group, 3, 7),
            _numbers(2, kv_heads, 5, 7, seed=1),
            _numbers(2, kv_heads, 5, 11, seed=2),
        )
        for kv_heads, group in ((2, 2), (2, 3), (3, 2))
    ]
    return grade(answer, repeated(in_blocks, in_blocks), cases, mistakes)


def _numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
