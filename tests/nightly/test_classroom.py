"""A small class is graded by nbgrader itself: a broken cell costs its exercise and no other."""

import ast
import csv
import json
import os
import subprocess

import pytest

from website import ROOT, classroom, copies, notebooks

NAME = "masking"
BROKEN = {
    "python": "def answer(:",
    "raises": "raise ValueError('no idea')",
    "endless": "while True:\n    pass",
    "empty": "",
}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The course's folder, and nbgrader in it."""
    subprocess.run(["make", "-o", "environment", "nbgrader"], cwd=ROOT, check=True)
    folder = tmp_path_factory.mktemp("class")
    classroom.prepare(ROOT / "book" / f"{NAME}.ipynb", folder)
    settings = folder / "nbgrader_config.py"
    settings.write_text(settings.read_text().replace("timeout = 120", "timeout = 60"))
    path = f"{ROOT / '.venv-class' / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def nbgrader(*words):
        command = ["nbgrader", *words]
        environment = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1200
        )
        return done.stdout + done.stderr

    nbgrader("generate_assignment", NAME)
    return folder, nbgrader


def answer(exercise):
    """The right answer, under the name that the stub asks for."""
    *lines, call = ast.parse(copies.text(exercise.solution)).body
    [asked] = ast.parse(copies.text(exercise.stub)).body[-1].value.args
    code = [ast.unparse(line) for line in lines]
    code.append(f"{ast.unparse(asked)} = {ast.unparse(call.value.args[0])}")
    return "\n".join([*code, ast.unparse(ast.parse(copies.text(exercise.stub)).body[-1])])


def hand_in(folder, student, content):
    path = folder / "submitted" / student / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(content)


def test_a_class_gets_its_points_and_sentences(course):
    folder, nbgrader = course
    given = notebooks.read(folder / "release" / NAME / f"{NAME}.ipynb")
    exercises = copies.exercises(notebooks.read(ROOT / "book" / f"{NAME}.ipynb"))
    every = sum(one.points for one in exercises)
    for student, last in {"right": answer(exercises[-1]), **BROKEN}.items():
        answers = iter([*map(answer, exercises[:-1]), last])
        for cell in given["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("solution"):
                cell["source"] = next(answers)
        hand_in(folder, student, json.dumps(given))
    hand_in(folder, "pdf", "%PDF-1.7")
    hand_in(folder, "another", (ROOT / "book" / "one-head.ipynb").read_text(encoding="utf-8"))

    said = nbgrader("autograde", NAME)
    assert all(f"NOT GRADED: submitted/{name}/{NAME}" in said for name in ("pdf", "another"))
    nbgrader("export")
    with (folder / "grades.csv").open() as table:
        points = {row["student_id"]: float(row["score"]) for row in csv.DictReader(table)}
    wanted = dict.fromkeys(BROKEN, every - exercises[-1].points)
    assert points == {"right": every, **wanted}

    nbgrader("generate_feedback", NAME, "--student=raises")
    page = (folder / "feedback" / "raises" / NAME / f"{NAME}.html").read_text(encoding="utf-8")
    assert "Not yet: NameError: name" in page and "carried along" not in page
    assert str(ROOT) not in page and "attention_workbook/grading.py" not in page
