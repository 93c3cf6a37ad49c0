"""Exam items: their answers are right, whatever the numbers; a seed makes one exam."""

import random
import re

import pytest
import torch

from attention_lib import MultiHeadAttention, causal_mask, combine_masks, length_mask
from workbook.classroom import exam


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
