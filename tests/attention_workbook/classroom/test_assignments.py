"""What otter-grader and nbgrader are given; tests/nightly lets the tools themselves use it."""

import pytest

from attention_workbook.classroom import assignments, copies
from tests.attention_workbook.classroom import SOME
from website.classroom import alone


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_every_exercise_has_its_points_and_its_test(path):
    hold_assignments(path)


def hold_assignments(path):
    chapter = alone(path)
    graded = assignments.graded(chapter)
    points = {each.name: each.points for each in graded}
    assert len(points) == len(graded) == len(copies.exercises(chapter)) - len(copies.lacks(chapter))

    otter = [cell["source"] for cell in assignments.for_otter(chapter)["cells"]]
    for name, worth in points.items():
        assert f"# BEGIN QUESTION\nname: {name}\npoints: {worth}\ncheck_cell: false" in otter
        assert any(f'judged("{path.stem.replace("-", "_")}", "{name}", env)' in s for s in otter)

    cells = assignments.for_nbgrader(chapter)["cells"]
    marks = [cell["metadata"].get("nbgrader", {}) for cell in cells]
    assert points == {
        mark["grade_id"].removesuffix("-test"): mark["points"]
        for mark in marks
        if mark.get("grade")
    }
    assert [mark["grade_id"] for mark in marks if mark.get("locked") and not mark["grade"]] == [
        "carried"
    ]
    solutions = {copies.text(each.solution) for each in graded}
    assert not solutions & {cell["source"] for cell in cells}
