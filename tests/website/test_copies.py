"""What a class gets of a chapter: copies for student and teacher, and an assignment."""

from tests.small_chapter import chapter
from website import classroom, copies, notebooks


def sources(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def test_the_students_copy_has_the_stubs_and_no_solution():
    whole = chapter()
    student = sources(copies.student(whole))
    assert len(student) == len(whole["cells"]) - 4
    assert not any("Solution" in source or "halved" in source for source in student)
    assert sum("your turn" in source or "lowest = ..." in source for source in student) == 2


def test_the_teachers_solutions_stand_open():
    for cell in copies.teacher(chapter())["cells"]:
        if copies.is_code(cell) and "hide-cell" in notebooks.tags(cell):
            assert "jupyter" not in cell["metadata"] and cell["outputs"]
    assert "".join(sources(copies.teacher(chapter()))).count("<details open>") == 2


def test_exercises_are_left_out():
    [left] = copies.exercises(copies.without(chapter(), [1]))
    assert left.number == 2 and left.points == 2
    assert sources(copies.without(chapter(), [1, 2]))[-1] == "## Summary\n\nHalves."


def test_an_assignment_asks_the_grader_in_a_locked_cell():
    marks = {}
    for cell in copies.assignment(chapter())["cells"]:
        if mark := cell["metadata"].get("nbgrader"):
            marks[mark["grade_id"]] = mark, cell["source"]
    mark, source = marks["half-graded"]
    assert mark["locked"] and mark["grade"] and mark["points"] == 2
    assert source.endswith("grade(lambda: exercise.half(my_half))")
    assert "import halves as exercise\n" in source
    assert marks["half"][0]["solution"] and not marks["half"][0]["locked"]
    assert all(mark["locked"] for mark, _ in marks.values() if not mark["solution"])


def test_what_is_prepared_runs_alone(tmp_path):
    path = notebooks.chapters()[0]
    classroom.prepare(path, tmp_path, left_out=[1])
    for place in ("student", "teacher", f"source/{path.stem}"):
        made = notebooks.read(tmp_path / place / path.name)
        assert made["cells"][1]["id"] == "carried-note" or "carried" in str(made["cells"][:3])
        assert "Exercise 1:" not in "".join(sources(made))
    assert (tmp_path / "nbgrader_config.py").is_file()
