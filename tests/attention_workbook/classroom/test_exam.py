"""Exam items: their answers are right, whatever the numbers; a seed makes one exam."""

import random
import re

import pytest
import torch
from torch.nn.functional import cross_entropy

from attention_lib import (
    KeyValueCache,
    MultiHeadAttention,
    causal_mask,
    combine_masks,
    length_mask,
    split_heads,
    window_mask,
)
from attention_lib.notebook import generator
from attention_workbook.classroom import exam


def numbers(text):
    return [float(one.replace("−", "-")) for one in re.findall(r"[−-]?\d+(?:\.\d+)?", text)]


def draws(template, count=20):
    return [exam.TEMPLATES[template](random.Random(seed)) for seed in range(count)]


def test_a_lookup_is_what_softmax_makes_of_it():
    for question, answer, _ in draws("lookup"):
        asked = torch.tensor(numbers(question))
        weights = asked[:3].log().softmax(0)
        expected = [*weights.tolist(), (weights @ asked[3:]).item()]
        assert numbers(answer) == pytest.approx(expected, rel=5e-3)


def test_an_output_stays_within_its_values():
    for question, answer, _ in draws("range_of_outputs"):
        *values, outside = numbers(question)
        scores = torch.cat([30 * torch.eye(4), torch.randn(200, 4, generator=generator(0))])
        outputs = scores.softmax(dim=-1) @ torch.tensor(values)
        low, high = numbers(answer)[-2:]
        assert answer.startswith("No.")
        assert outputs.min().item() == pytest.approx(low, abs=1e-3)
        assert outputs.max().item() == pytest.approx(high, abs=1e-3) and outside > high


def test_shapes_are_those_of_the_layer():
    for question, answer, _ in draws("shapes"):
        heads, batch, length, d_model = map(int, numbers(question))
        layer = MultiHeadAttention(d_model, heads)
        x = torch.zeros(batch, length, d_model)
        output, weights = layer(x, x, x, need_weights=True)
        shapes = [split_heads(layer.W_q(x), heads).shape, weights.shape, output.shape]
        assert answer == "; ".join(str(tuple(shape)) for shape in shapes) + "."


def test_an_honest_loss_is_that_of_equal_shares():
    for question, answer, _ in draws("honest_loss"):
        letters, reported = numbers(question)
        lowest = cross_entropy(torch.zeros(int(letters)), torch.tensor(0)).item()
        assert numbers(answer) == pytest.approx([letters, lowest], rel=5e-3)
        assert reported < lowest


def test_the_size_of_a_dot_product_is_measured():
    for question, answer, _ in draws("scaling"):
        spread, d, _ = numbers(question)[1:]
        queries, keys = spread * torch.randn(2, 4000, int(d), generator=generator(1))
        measured = (queries * keys).sum(dim=-1).std().item()
        assert numbers(answer)[2] == pytest.approx(measured, rel=0.05)


def test_a_cache_holds_what_the_layers_keep():
    for question, answer, _ in draws("cache"):
        layers, heads, kv_heads, d_k, _ = map(int, numbers(question))
        held = []
        for shared in (kv_heads, heads):
            cache, token = KeyValueCache(), torch.zeros(1, shared, 1, d_k, dtype=torch.float16)
            held.append(layers * sum(part.nbytes for part in cache.extend(token, token)[:2]))
        assert numbers(answer)[-2:] == [held[0], held[1] / held[0]]


def test_windows_reach_as_far_as_their_product():
    for question, answer, _ in draws("reach"):
        layers, before = map(int, numbers(question))
        window = window_mask(60, window=before + 1).float()
        assert numbers(answer)[-1] == torch.matrix_power(window, layers)[-1].count_nonzero()


def test_open_cells_are_those_of_the_masks():
    for question, answer, _ in draws("open_cells"):
        real, length = map(int, numbers(question))
        mask = combine_masks(length_mask(torch.tensor([real]), length), causal_mask(length))
        assert numbers(answer)[0] == mask.sum()


def test_parameters_are_those_of_the_layer():
    for question, answer, _ in draws("parameters", 3):
        d_model, heads = map(int, numbers(question))
        layer = MultiHeadAttention(d_model, heads)
        assert numbers(answer)[2] == sum(one.numel() for one in layer.parameters())


def test_a_masked_row_is_what_softmax_makes_of_it():
    for question, answer, _ in draws("masked_row"):
        exponentials = numbers(question.partition(";")[0])
        first, second, *hidden = exponentials
        found = [tuple(map(int, pair)) for pair in re.findall(r"(\d+)/(\d+)", answer)]
        weights = torch.tensor(exponentials).log().softmax(0)
        masked = torch.tensor([first, second]).log().softmax(0)
        shares = [top / bottom for top, bottom in found]
        assert shares[:4] == pytest.approx([*weights[:2].tolist(), *masked.tolist()], rel=1e-5)
        assert shares[4] == pytest.approx(1 - len(hidden) * weights[-1].item())


def test_two_blocks_are_one_sum():
    for question, answer, _ in draws("two_blocks"):
        low, first, high, second, _ = numbers(question)
        scores = torch.tensor([low + torch.tensor(first).log(), high + torch.tensor(second).log()])
        assert numbers(answer)[-1] == pytest.approx((scores - high).exp().sum().item(), rel=5e-3)


def test_a_seed_makes_one_exam_and_another_seed_another():
    exams = [exam.items(seed, version) for seed in ("a", "b") for version in (1, 2)]
    assert exams[0] == exam.items("a", 1)
    assert len({tuple(one) for one in exams}) == 4
    assert {one.points for one in exams[0]} == {2, 3}


def test_an_exam_holds_no_answer():
    page, answers = exam.pages("a", 1, count=8)
    for one in exam.items("a", 1, count=8):
        assert one.question.split("?")[0].replace("'", "&#x27;") in page
    assert "answer" not in page.lower().replace("the answer depends", "")
    assert answers.count("<strong>") == 8


def test_a_count_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="count must be from 1 to 12; got 40"):
        exam.items("a", 1, count=40)
