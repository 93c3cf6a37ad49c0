"""The graders of "Many heads": the right answer passes, each known mistake is named."""

import pytest

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.checks import multi_head as check
from attention_lib.multihead import merge_heads


def attend(repeat_keys, repeat_values):
    def answer(queries, keys, values):
        times = queries.shape[1] // keys.shape[1]
        keys, values = repeat_keys(keys, times), repeat_values(values, times)
        return scaled_dot_product_attention(queries, keys, values)[0]

    return answer


def blocks(x, times):
    return x.repeat_interleave(times, dim=1)


def turns(x, times):
    return x.repeat(1, times, 1, 1)


def first(x, times):
    return x[:, :1].repeat(1, x.shape[1] * times, 1, 1)


def last(x, times):
    return x[:, -1:].repeat(1, x.shape[1] * times, 1, 1)


def broadcast(queries, keys, values):
    queries = queries.unflatten(1, (keys.shape[1], -1))
    output, _ = scaled_dot_product_attention(queries, keys.unsqueeze(2), values.unsqueeze(2))
    return output.flatten(1, 2)


RIGHT = [
    (check.grouped_parameters, 655360),
    (check.merge, merge_heads),
    (check.grouped_attention, attend(blocks, blocks)),
    (check.grouped_attention, broadcast),
]

# grader, wrong answer, what must be said of it
WRONG = [
    (check.grouped_parameters, 4 * 512**2, "as many key-value heads"),
    (check.grouped_parameters, 512**2 + 3 * 512 * 128, "output matrix"),
    (check.grouped_parameters, 2 * 512**2 + 512 * 128, "a matrix each"),
    (check.grouped_parameters, 655360 + 1280, "no biases"),
    (check.grouped_parameters, 1, "too small"),
    (check.merge, lambda x: x.reshape(x.shape[0], x.shape[2], -1), "not swapped"),
    (check.merge, lambda x: x.permute(0, 2, 3, 1).flatten(-2), "interleaved"),
    (check.merge, lambda x: x.sum(dim=1), "added up"),
    (check.merge, lambda x: x.mean(dim=1), "averaged"),
    (check.merge, lambda x: merge_heads(x) + 1, "largest difference"),
    (check.grouped_attention, attend(turns, turns), "repeat_interleave"),
    (check.grouped_attention, attend(blocks, turns), "values were repeated in turns"),
    (check.grouped_attention, attend(turns, blocks), "keys were repeated in turns"),
    (check.grouped_attention, attend(first, first), "first key head"),
    (check.grouped_attention, attend(last, last), "largest difference"),
]


@pytest.mark.parametrize(("grader", "answer"), RIGHT)
def test_the_right_answer_passes(grader, answer):
    assert grader(answer)


@pytest.mark.parametrize(("grader", "answer", "said"), WRONG)
def test_the_mistake_is_named(grader, answer, said):
    verdict = grader(answer)
    assert not verdict
    assert said in verdict.message
