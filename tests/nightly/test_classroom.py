"""A class of 33, graded by otter-grader and by nbgrader themselves, without a network.

``make class`` makes the assignments of one chapter. Each invented student hands in the notebook
that the tool gives out, with answers in its cells; some answers are right, others loop, crash, take
all memory or attack the grader. Every exercise must get its points or none, whatever the student's
other answers do.
"""

import json
import shutil
import subprocess
from textwrap import indent

import pytest

from attention_workbook.classroom import copies
from tests.attention_workbook.classroom.test_assignments import hold_assignments
from tests.attention_workbook.classroom.test_copies import hold_copies
from website import book, classroom
from website.notebooks import chapters, read

CHAPTER = "masking"
POINTS = {"lowest_loss": 1, "key_padding": 1, "masked_softmax": 2, "packed_mask": 2}
# What an answer is called with, and how it is computed: rightly and wrongly.
RIGHT = {
    "lowest_loss": ("", "math.log(3)"),
    "key_padding": ("valid_lens, len_k", "torch.arange(len_k) >= valid_lens[:, None]"),
    "masked_softmax": (
        "scores, mask",
        "torch.where(mask, torch.where(mask, scores, -torch.inf).softmax(dim=-1), 0.0)",
    ),
    "packed_mask": (
        "documents",
        "(documents[..., None] == documents[..., None, :]) & causal_mask(documents.shape[-1])",
    ),
}
WRONG = {
    "lowest_loss": "math.log(2)",
    "key_padding": "torch.arange(len_k) < valid_lens[:, None]",
    "masked_softmax": "scores.softmax(dim=-1) * mask",
    "packed_mask": "documents[..., None] == documents[..., None, :]",
}
CHATTY = "print('x' * 3_000_000)"
THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()"
FULL = {"right": "", "chatty": CHATTY, "leaves a thread": THREAD, "helped by another cell": ""}
FULL |= {"printed": "", "beside a cell that is no Python": "", "beside a cell that raises": ""}
BROKEN = {
    "beside a cell that is no Python": "x = (1 +",
    "beside a cell that raises": "print(undefined_thing)",
}
# Lines of code that stand before a right answer and cost it all its points.
HARMFUL = {
    "loops": "while True: pass",
    "recurses": "def deeper(): return deeper()\ndeeper()",
    "raises": "raise ValueError('no idea')",
    "interrupts": "raise KeyboardInterrupt",
    "ends Python": "import sys\nsys.exit()",
    "ends the process": "import os\nos._exit(0)",
    "kills the process": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "crashes the interpreter": "import ctypes\nctypes.string_at(0)",
    "hoards memory": "hoard = []\nwhile True: hoard.append(bytearray(10**8))",
    "takes a terabyte": "torch.zeros(2**38)",
    "waits for a reader": "input('Is it right? ')",
    "closes all files": "import os\nos.closerange(3, 4096)",
    "spoils PyTorch": "torch.Tensor.softmax = torch.where = torch.arange = None",
}
# Attacks that stand before a wrong answer and must not make it right.
ATTACKS = {
    "overwrites the grader": "exercise.{name} = lambda answer: print('Correct: of course.')",
    "patches the graders": "from attention_workbook.exercises "
    "import _exercise, _questions, _verdict\n"
    "yes = lambda *given: _verdict.Verdict(True, 'of course.')\n"
    "_exercise.Exercise.__call__ = _questions.Question.__call__ = yes",
    "writes down answers": "ANSWERS = {{'{name}': ['exercise.{name}(1)']}}",
}
SYNTAX = "def answer(:\n    pass\n\n\nexercise.{name}(answer)"


def everywhere(kind):
    return dict.fromkeys(POINTS, kind)


STUDENTS = [
    everywhere("right"),
    everywhere("wrong"),
    everywhere("unwritten"),
    everywhere("chatty"),
    everywhere("helped by another cell"),
    everywhere("not Python"),
    everywhere("ends the process"),
    everywhere("right") | {"lowest_loss": "wrong", "packed_mask": "unwritten"},
    everywhere("wrong") | {"packed_mask": "right"},
    everywhere("unwritten") | {"key_padding": "right", "masked_softmax": "loops"},
    everywhere("right") | {"lowest_loss": "hoards memory", "masked_softmax": "kills the process"},
    {**dict(zip(POINTS, HARMFUL, strict=False)), "packed_mask": "right"},
    everywhere("right") | {"key_padding": "loops outside"},
    everywhere("right") | {"lowest_loss": "leaves a thread", "packed_mask": "not Python"},
    *map(everywhere, ("printed", *BROKEN)),
]
for number, bad in enumerate([*HARMFUL, *ATTACKS]):  # each once more, beside right answers
    STUDENTS.append(everywhere("right") | {[*POINTS][1 + number % 3]: bad})
NAMES = [f"student-{number:02d}" for number in range(len(STUDENTS))]


def cells(name, kind, stub):
    """The cells that a student hands in for an exercise."""
    if kind == "unwritten":
        return [stub]
    if kind == "not Python":
        return [SYNTAX.format(name=name)]
    parameters, right = RIGHT[name]
    wrong = kind == "wrong" or kind in ATTACKS
    value = WRONG[name] if wrong else right
    harm = HARMFUL.get(kind, FULL.get(kind, ""))
    before = ["import math, torch", ATTACKS.get(kind, "").format(name=name)]
    if not parameters or kind == "loops outside":
        before.append(HARMFUL["loops"] if kind == "loops outside" else harm)
        harm = ""
    if parameters:
        body = "\n".join(filter(None, (harm, f"return {value}")))
        last = f"def answer({parameters}):\n{indent(body, '    ')}\n\n\nexercise.{name}(answer)"
    else:
        last = f"answer = {value}\nexercise.{name}(answer)"
    if kind == "printed":
        last = last.replace(f"exercise.{name}(answer)", f"print(exercise.{name}(answer))")
    if kind == "helped by another cell":
        return ["\n".join(before), last]
    if kind in BROKEN:
        return [BROKEN[kind], "\n".join([*before, last])]
    return ["\n".join([*before, last])]


def hand_in(given, answers, path):
    """Write a student's notebook: what was given out, with answers where the stubs stood."""
    notebook = read(given)
    new = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        name = next((name for name in POINTS if f"exercise.{name}(" in source), None)
        if name is None or cell["cell_type"] != "code":
            new.append(cell)
            continue
        *helpers, last = cells(name, answers[name], source)
        for number, helper in enumerate(helpers):
            plain = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
            new.append(plain | {"id": f"helper-{name}-{number}", "source": helper})
        new.append(cell | {"source": last})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook | {"cells": new}), encoding="utf-8")


def expected(answers):
    return {n: POINTS[n] if kind in FULL else 0 for n, kind in answers.items()}


def without_network(folder, *command):
    """Run Python in the tools' environment where no other machine can be reached."""
    command = [classroom.ENVIRONMENT / "bin" / "python", *command]
    if shutil.which("unshare") and shutil.which("ip"):  # Linux: a network of its own, with nobody
        alone = 'ip link set lo up && exec "$@"'
        command = ["unshare", "-rn", "sh", "-c", alone, "sh", *command]
    path = f"{classroom.ENVIRONMENT / 'bin'}:/usr/sbin:/usr/bin:/bin"
    variables = {"PATH": path, "HOME": str(folder), "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    log = folder / "log"
    with log.open("w") as written:
        done = subprocess.run(
            command, cwd=folder, env=variables, stdout=written, stderr=subprocess.STDOUT
        )
    assert done.returncode == 0, log.read_text(encoding="utf-8")[-4000:]


OTTER = """
import json, pathlib
from otter.api import grade_submission

[grader] = pathlib.Path("autograder").glob("*.zip")
found = {}
for path in sorted(pathlib.Path("submitted").iterdir()):
    tests = grade_submission(str(path), str(grader), quiet=True).results.values()
    found[path.stem] = {test.name: (test.score, test.summary()) for test in tests}
pathlib.Path("found.json").write_text(json.dumps(found))
"""
NBGRADER = f"""
import json, pathlib
from nbgrader.api import Gradebook

with Gradebook("sqlite:///gradebook.db") as book:
    found = {{
        handed_in.student.id: {{
            grade.name.removesuffix("-test"): grade.score
            for notebook in handed_in.notebooks for grade in notebook.grades
        }}
        for handed_in in book.assignment_submissions("{CHAPTER}")
    }}
pathlib.Path("found.json").write_text(json.dumps(found))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder in which ``make class`` has made the chapter's copies and assignments."""
    folder = tmp_path_factory.mktemp("class")
    assert classroom.environment() == ""
    [path] = [path for path in chapters() if path.stem == CHAPTER]
    assert classroom.prepare([path], classroom.TOOLS, folder) == []
    return folder


def hold(found, names=NAMES):
    """Compare what a tool gave, as (points, sentence), with what it should; read some sentences."""
    points = {student: {n: got for n, (got, _) in each.items()} for student, each in found.items()}
    assert points == {name: expected(STUDENTS[NAMES.index(name)]) for name in names}
    for number, exercise, sentence in (
        (1, "masked_softmax", "hidden scores are not taken out before the softmax"),
        (2, "packed_mask", "Write it, then run this cell."),
        (5, "key_padding", "the cell stops with SyntaxError"),
        (6, "packed_mask", "your answer ended its process"),
        (9, "masked_softmax", "still running after 5 seconds in the line `while True: pass`"),
        (12, "key_padding", "still running after 40 seconds"),
    ):
        if NAMES[number] in names:
            assert sentence in found[NAMES[number]][exercise][1]


def test_every_kind_of_answer_occurs():
    kinds = {kind for answers in STUDENTS for kind in answers.values()}
    assert len(STUDENTS) == 33 and {*FULL, *HARMFUL, *ATTACKS} <= kinds


@pytest.mark.parametrize("first", range(0, len(NAMES), 10))
def test_otter_gives_every_exercise_its_points(made, first):
    folder, names = made / CHAPTER / "otter", NAMES[first : first + 10]
    given = folder / "student" / f"{CHAPTER}.ipynb"
    shutil.rmtree(folder / "submitted", ignore_errors=True)
    for name in names:
        hand_in(given, STUDENTS[NAMES.index(name)], folder / "submitted" / f"{name}.ipynb")
    without_network(folder, "-c", OTTER)
    hold(json.loads((folder / "found.json").read_text(encoding="utf-8")), names)


def test_otter_says_passed_of_no_exercise_without_points(made):
    folder = made / CHAPTER / "otter"
    given, [grader] = folder / "student" / f"{CHAPTER}.ipynb", folder.glob("autograder/*.zip")
    hand_in(given, everywhere("right") | {"packed_mask": "wrong"}, folder / "partly.ipynb")
    without_network(folder, "-m", "otter", "run", "-a", grader, "partly.ipynb")
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert {test["name"]: test["score"] for test in results["tests"]} == POINTS | {"packed_mask": 0}
    for test in results["tests"]:
        assert ("passed" in test["output"]) == (test["score"] > 0), test["output"]


def test_nbgrader_gives_every_exercise_its_points(made):
    folder = made / "nbgrader"
    given = folder / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    for name, answers in zip(NAMES, STUDENTS, strict=True):
        hand_in(given, answers, folder / "submitted" / name / CHAPTER / f"{CHAPTER}.ipynb")
    without_network(folder, "-m", "nbgrader", "autograde", CHAPTER)
    without_network(folder, "-c", NBGRADER)
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    for name, each in found.items():
        graded = read(folder / "autograded" / name / CHAPTER / f"{CHAPTER}.ipynb")
        outputs = {cell["id"]: json.dumps(cell.get("outputs")) for cell in graded["cells"]}
        for exercise, points in each.items():
            each[exercise] = points, outputs[f"{exercise}-test"]
    hold(found)
    without_network(folder, "-m", "nbgrader", "generate_feedback", CHAPTER, f"--student={NAMES[1]}")
    [page] = (folder / "feedback" / NAMES[1] / CHAPTER).glob("*.html")
    assert "hidden scores are not taken out before the softmax" in page.read_text(encoding="utf-8")
    without_network(folder, "-m", "nbgrader", "export")
    rows = (folder / "grades.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + len(NAMES)


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_copies_and_assignments_of_every_chapter_are_whole(path):
    hold_copies(path)
    hold_assignments(path)


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_every_solution_passes_the_tests_that_otter_makes(path, tmp_path):
    assert classroom.environment() == ""
    lacking = classroom.prepare([path], ["otter"], tmp_path, tried=True)
    assert lacking == [f"{path.stem}: {sentence}" for sentence in copies.lacks(read(path))]


def test_a_wrong_solution_is_named(tmp_path, monkeypatch):
    assert classroom.environment() == ""
    [path] = [path for path in chapters() if path.stem == CHAPTER]
    chapter = classroom.alone(path)
    for cell in chapter["cells"]:
        cell["source"] = cell["source"].replace("_loss(-(thirds", "_loss(2 - (thirds")
    monkeypatch.setattr(classroom, "alone", lambda *given, **more: chapter)
    [sentence] = classroom.prepare([path], ["otter"], tmp_path, tried=True)
    assert sentence.startswith("masking: otter has made no assignment. It says: Some")
    assert "AssertionError: Not yet: that is too large." in sentence


def test_a_tool_that_breaks_is_named_for_the_chapters_it_leaves(tmp_path, monkeypatch):
    assert classroom.environment() == ""
    broken = tmp_path / "assign.py"
    broken.write_text('print(\'["cost", ""]\', flush=True)\nraise OSError("the disk is full")')
    monkeypatch.setattr(classroom, "ASSIGN", broken)
    made = dict(classroom.assign("otter", ["cost", "masking"], tmp_path))
    assert made == {"cost": "", "masking": "OSError: the disk is full"}


def test_without_a_registry_a_sentence_says_why_there_are_no_assignments(tmp_path, monkeypatch):
    monkeypatch.setattr(classroom, "ENVIRONMENT", tmp_path / "tools")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    said = classroom.environment()
    assert said.startswith("There are no assignments, because .venv-class could not be made: ERROR")
    assert classroom.environment() == said, "what was begun is not taken for whole"


def test_a_build_of_the_book_keeps_what_a_class_handed_in(tmp_path, monkeypatch):
    for name in ("class/nbgrader", "html", ".doctrees"):
        (tmp_path / "_build" / name).mkdir(parents=True)
    failed = subprocess.CompletedProcess([], 1, "")
    monkeypatch.setattr(book.subprocess, "run", lambda *given, **more: failed)
    book.build(tmp_path)
    assert [path.name for path in (tmp_path / "_build").iterdir()] == ["class"]
