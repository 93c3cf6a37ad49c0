"""What counts as a student's answer, whatever else their notebook holds."""

import pytest

from attention_workbook.classroom import assignments, grading
from website.classroom import alone
from website.notebooks import chapters

RIGHT = "import math\nlowest = math.log(3)\n"


@pytest.mark.parametrize(
    "cells",
    [
        [f"{RIGHT}exercise.lowest_loss(lowest)"],
        [f"{RIGHT}print(exercise.lowest_loss(lowest))"],
        [f"{RIGHT}verdict = exercise.lowest_loss(lowest)\nverdict"],
        ["x = (1 +", "print(undefined)", f"{RIGHT}exercise.lowest_loss(lowest)"],
        [RIGHT, "exercise.lowest_loss(lowest)\nprint(undefined)"],
        [f"{RIGHT}exercise.lowest_loss(lowest)", "exercise.lowest_loss(undefined)"],
    ],
)
def test_a_right_answer_counts_beside_broken_cells(cells):
    assert grading.asked_graders(cells[-1]) == {"lowest_loss"}
    assert grading.judged("masking", "lowest_loss", {"ANSWERS": {"lowest_loss": cells}})


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["x = (1 +\nexercise.lowest_loss(x)"], "the cell stops with SyntaxError"),
        (["exercise.lowest_loss(undefined)"], "the cell stops with NameError"),
        ([f"{RIGHT}exercise.lowest_loss(lowest)", "exercise.lowest_loss(2.0)"], "Not yet"),
        (["x = (1 +", "if False:\n    exercise.lowest_loss(1)"], "was not asked about an answer"),
    ],
)
def test_an_answer_without_points_is_told_why(cells, sentence):
    with pytest.raises(AssertionError, match=sentence):
        grading.judged("masking", "lowest_loss", {"ANSWERS": {"lowest_loss": cells}})


@pytest.mark.parametrize(
    ("cell", "seconds", "sentence"),
    [
        ("while True:\n    pass", 0.5, "was still running after 0.5 seconds"),
        ("import os\nos._exit(0)", 60, "ended its process"),
    ],
)
def test_an_answer_that_gives_no_verdict_is_told_why(cell, seconds, sentence):
    cells = [f"{cell}\nexercise.lowest_loss(1.0986)"]
    with pytest.raises(AssertionError, match=f"Not yet: your answer {sentence}"):
        grading.judged("masking", "lowest_loss", {"ANSWERS": {"lowest_loss": cells}}, seconds)


def test_otters_containers_have_the_versions_of_today():
    import torch

    [path] = [path for path in chapters() if path.stem == "masking"]
    config = assignments.for_otter(alone(path))["cells"][0]["source"]
    assert f"requirements: [torch=={torch.__version__.partition('+')[0]}, numpy==" in config
