"""A right answer is kept in mine.py, and later chapters call it from there."""

import ast
import importlib.util
import json
import os

import nbformat
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

from attention_workbook import parts
from attention_workbook.exercises.engine import mine as keeping
from website import ROOT

LOOKUP = """
def my_lookup(queries, keys, values, temperature):
    return torch.softmax(queries @ keys.mT / temperature, dim=-1) @ values
"""
BY_HAND = """
def my_lookup(queries, keys, values, temperature):
    scores = queries @ keys.mT / temperature
    large = scores.amax(dim=-1, keepdim=True)
    exponentials = (scores - large).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True) @ values
"""
HEAD = """
def my_cross_head(target, source, W_q, W_k, W_v):
    return my_lookup(target @ W_q, source @ W_k, source @ W_v, W_k.shape[-1] ** 0.5)
"""
TAKEN = 'from attention_workbook.parts import take\nmy_lookup = take("my_lookup")\n'


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """Return a function that runs a cell and returns what its last line shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(keeping, "in_notebook", lambda: True)
    monkeypatch.delenv(keeping.BOOK, raising=False)
    shell = InteractiveShell()
    shell.user_ns["__name__"] = "__main__"

    def run(*cells):
        for cell in ("import torch", *cells):
            result = shell.run_cell(cell)
            result.raise_error()
        return repr(result.result)

    return run


def grade(code, call="soft_lookup.lookup(my_lookup)"):
    chapter = call.partition(".")[0]
    return f"from attention_workbook.exercises import {chapter}\n{code}\n{call}"


def mine(tmp_path):
    """The file as Python imports it."""
    spec = importlib.util.spec_from_file_location("mine", tmp_path / "mine.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_right_answer_is_kept_and_can_be_imported(notebook, tmp_path):
    assert notebook(grade(BY_HAND)) == "Correct: 10 cases agree. It is in mine.py now."
    text = (tmp_path / "mine.py").read_text()
    assert BY_HAND in text
    assert ast.get_docstring(ast.parse(text))
    weights = torch.zeros(1, 1, 2), torch.ones(1, 3, 2), torch.eye(3)[None], 1.0
    assert torch.allclose(mine(tmp_path).my_lookup(*weights), torch.full((1, 1, 3), 1 / 3))


def test_a_wrong_answer_is_not_kept(notebook, tmp_path):
    assert "Not yet" in notebook(grade(BY_HAND.replace(" / temperature", "")))
    assert "Write it" in notebook(grade("def my_lookup(*given):\n    return ..."))
    assert [*tmp_path.iterdir()] == []


def test_an_answer_that_breaks_a_rule_is_not_kept(notebook, tmp_path):
    assert "a softmax of PyTorch" in notebook(grade(LOOKUP))
    assert [*tmp_path.iterdir()] == []


def test_an_answer_of_another_name_such_as_the_book_s_solution_is_not_kept(notebook, tmp_path):
    how = "Correct: 10 cases agree."
    assert notebook(grade(BY_HAND.replace("my_", ""), "soft_lookup.lookup(lookup)")) == how
    unnamed = f"{BY_HAND}\nother = lambda *given: my_lookup(*given)"
    assert notebook(grade(unnamed, "soft_lookup.lookup(other)")) == how
    assert [*tmp_path.iterdir()] == []


def test_outside_a_notebook_nothing_is_kept(notebook, tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "in_notebook", lambda: False)
    assert notebook(grade(BY_HAND)) == "Correct: 10 cases agree."
    assert [*tmp_path.iterdir()] == []


def test_when_the_book_runs_itself_nothing_is_kept_or_read(notebook, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text("this is no Python")
    monkeypatch.setenv(keeping.BOOK, "book")
    assert notebook(grade(BY_HAND)) == "Correct: 10 cases agree."
    assert parts.take("my_lookup") is parts.of_the_book("my_lookup")
    assert "There is no mine.py beside this notebook" in capsys.readouterr().out
    assert (tmp_path / "mine.py").read_text() == "this is no Python"


def test_the_same_answer_again_changes_nothing(notebook, tmp_path):
    notebook(grade(BY_HAND))
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + "\n# mine, all mine\n")
    before = (tmp_path / "mine.py").read_text()
    commented = BY_HAND.replace("    large", "    # the largest\n    large")
    assert notebook(grade(commented)).endswith("It is in mine.py now.")
    assert (tmp_path / "mine.py").read_text() == before


def test_another_right_answer_takes_its_place_only_when_asked(notebook, tmp_path):
    notebook(grade(BY_HAND))
    before = (tmp_path / "mine.py").read_text() + "\n\ndef my_own():\n    return 2\n"
    (tmp_path / "mine.py").write_text(before)
    other = BY_HAND.replace("large", "most")
    assert "another `my_lookup` stands there" in notebook(grade(other))
    assert (tmp_path / "mine.py").read_text() == before
    said = notebook(grade(other, "soft_lookup.lookup(my_lookup, replace=True)"))
    assert said.endswith("It is in mine.py now.")
    assert (tmp_path / "mine.py").read_text() == before.replace("large", "most")


def test_an_answer_takes_along_what_it_needs(notebook, tmp_path):
    code = """
import math
import torch.nn.functional as F
from attention_lib import scaled_dot_product_attention as attend
ROOT, NOTHING = 0.5, (0.0, {"none": [0]})

def scores(a, b):
    return deeper(a @ b.mT) / b.shape[-1] ** ROOT + NOTHING[0]

def deeper(x):
    return F.relu(x) - F.relu(-x) + attend.__name__.count("?") + math.sin(0)

def my_unit_scores(queries, keys, std):
    return scores(torch.abs(queries) * queries.sign(), keys) / std**2
"""
    said = notebook(grade(code, "variance.unit_scores(my_unit_scores)"))
    assert said.endswith("It is in mine.py now."), said
    module = mine(tmp_path)
    x = torch.tensor([[3.0, 4.0, 0.0, 0.0]])
    assert module.my_unit_scores(x, x, 1.0).item() == 12.5
    lines = (tmp_path / "mine.py").read_text().split("\n")
    assert lines.index("import torch") < lines.index("def deeper(x):")
    assert lines.index("def deeper(x):") < lines.index("def scores(a, b):")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            "NOISE = torch.zeros(1)",
            "it uses `NOISE`, which only this notebook has. Make it inside the function.",
        ),
        ("NOISE = (lambda: 0)", "`NOISE` is not defined by `def NOISE`."),
    ],
)
def test_what_cannot_be_written_down_is_said(notebook, tmp_path, code, why):
    used = BY_HAND.replace("queries @", "queries @" if "lambda" in code else "NOISE + queries @")
    used = used.replace("    large", "    NOISE\n    large")
    said = notebook(f"{code}", grade(used))
    assert said == f"Correct: 10 cases agree. It is not in mine.py: {why}"
    assert [*tmp_path.iterdir()] == []


def test_a_function_of_a_function_is_not_kept(notebook, tmp_path):
    nested = f"def make(shift):{BY_HAND.replace(chr(10), chr(10) + '    ')}"
    nested = nested.replace("queries @", "shift + queries @") + "\n    return my_lookup"
    said = notebook(grade(f"{nested}\nmy_lookup = make(0)"))
    assert "uses variables of a function around it" in said
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(("step", "code"), [("write_text", 13), ("replace", 28)])
def test_where_nothing_can_be_written_the_file_stays_as_it_was(
    notebook, tmp_path, monkeypatch, step, code
):
    """A folder without the right to write, and a full disk. (Tests may run as root.)"""
    notebook(grade(BY_HAND))
    before = (tmp_path / "mine.py").read_text()

    def refuse(path, *given, **named):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(type(tmp_path), step, refuse)
        said = notebook(grade(TAKEN + HEAD, "one_head.cross_head(my_cross_head)"))
    assert said.endswith(f"the file cannot be written ({os.strerror(code)}).")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"mine.py": before}


def test_a_broken_file_is_left_alone_and_the_books_part_is_taken(notebook, tmp_path, capsys):
    (tmp_path / "mine.py").write_text("def my_lookup(:\n")
    said = notebook(grade(BY_HAND))
    assert said.endswith(
        "It is not in mine.py: its line 1 is no Python. Mend it, and run this cell again."
    )
    assert (tmp_path / "mine.py").read_text() == "def my_lookup(:\n"
    assert parts.take("my_lookup") is parts.of_the_book("my_lookup")
    assert "Your mine.py stops with SyntaxError in line 1" in capsys.readouterr().out


def test_a_later_part_calls_the_readers_earlier_one(notebook, tmp_path, capsys):
    notebook(grade(BY_HAND))
    head = TAKEN + HEAD
    said = notebook(grade(head, "one_head.cross_head(my_cross_head)"))
    assert said == "Correct: 4 cases agree. It is in mine.py now."
    assert "From your mine.py: my_lookup." in capsys.readouterr().out
    module = mine(tmp_path)
    assert module.my_cross_head.__globals__["my_lookup"] is module.my_lookup


def test_a_part_of_the_book_stands_in_until_the_readers_is_right(notebook, tmp_path, capsys):
    head = TAKEN + HEAD
    notebook(grade(head, "one_head.cross_head(my_cross_head)"))
    assert 'my_lookup = of_the_book("my_lookup")' in (tmp_path / "mine.py").read_text()
    capsys.readouterr()
    my_lookup, my_cross_head = parts.take("my_lookup", "my_cross_head")
    assert my_lookup is parts.of_the_book("my_lookup")
    assert my_cross_head.__module__ == "mine"
    said = capsys.readouterr().out
    assert said == (
        "From your mine.py: my_cross_head.\nmy_cross_head calls my_lookup of the book.\n"
        "Not in your mine.py, so my_lookup is the book's.\n"
    )
    assert notebook(grade(BY_HAND)).endswith("It is in mine.py now.")
    module = mine(tmp_path)
    assert module.my_cross_head.__globals__["my_lookup"] is module.my_lookup
    assert module.my_lookup.__module__ == "mine"


def test_a_part_that_was_broken_afterwards_is_taken_and_named(notebook, tmp_path, capsys):
    notebook(grade(BY_HAND))
    text = (tmp_path / "mine.py").read_text().replace(" / temperature", "")
    (tmp_path / "mine.py").write_text(text)
    part = parts.take("my_lookup")
    assert part.__module__ == "mine"
    said = capsys.readouterr().out
    assert "my_lookup is not right any more: the temperature has no effect" in said


HEADS = """import torch
from attention_workbook.parts import of_the_book


def my_unit_scores(queries, keys, std):
    return queries @ keys.mT / (std**2 * queries.shape[-1] ** 0.5)


my_masked_softmax = of_the_book("my_masked_softmax")


def cut(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def weigh(queries, keys, mask):
    print("my_many_heads runs")
    return my_masked_softmax(my_unit_scores(queries, keys, 1), mask)


def my_many_heads(queries, keys, values, num_heads, mask):
    Q, K, V = (cut(x, num_heads) for x in (queries, keys, values))
    return (weigh(Q, K, mask) @ V).transpose(1, 2).flatten(-2)
"""
CALLS = "my_many_heads calls your my_unit_scores and my_masked_softmax of the book."


def taken(tmp_path, capsys, text, *names):
    (tmp_path / "mine.py").write_text(text)
    parts.take(*names)
    return capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("notebook")
def test_it_is_told_whose_parts_a_part_calls_and_what_it_prints_is_not_shown(tmp_path, capsys):
    said = taken(tmp_path, capsys, HEADS, "my_many_heads")
    assert said == ["From your mine.py: my_many_heads.", CALLS]


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("names", [["my_many_heads"], ["my_many_heads", "my_unit_scores"]])
def test_the_earliest_part_that_is_wrong_is_named_alone(tmp_path, capsys, names):
    text = HEADS.replace(" * queries.shape[-1] ** 0.5", "")
    said = taken(tmp_path, capsys, text, *names)
    which = "my_unit_scores" + ", which my_many_heads calls," * (len(names) == 1)
    why = "√d is missing: d products are added up in each score."
    assert said[1:] == [CALLS, f"{which} is not right any more: {why}"]


@pytest.mark.usefixtures("notebook")
def test_a_part_that_is_wrong_itself_is_named_though_those_it_calls_are_right(tmp_path, capsys):
    said = taken(tmp_path, capsys, HEADS.replace(".transpose(1, 2).flat", ".flat"), "my_many_heads")
    assert said[1] == CALLS
    assert said[2].startswith("my_many_heads is not right any more: ")


@pytest.mark.usefixtures("notebook")
def test_a_stub_in_the_file_is_not_called_wrong(tmp_path, capsys):
    text = "def my_loss(scores, targets):\n    return ...\n"
    assert taken(tmp_path, capsys, text, "my_loss")[1:] == ["my_loss is not written yet."]


def test_a_part_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"name: expected one of my_lookup, .*, got 'my_lokup'"):
        parts.take("my_lokup")


def test_the_parts_are_written_in_the_order_of_the_chapters():
    assert [*parts.PARTS] == [
        *("my_lookup", "my_cross_head", "my_masked_softmax", "my_unit_scores", "my_many_heads"),
        *("my_nearest", "my_block", "my_loss", "my_update", "my_cached_heads"),
    ]


def test_each_part_has_a_stub_of_its_name_in_its_chapter():
    for name, exercise in parts.PARTS.items():
        chapter = exercise.right.__module__.rpartition(".")[-1].replace("_", "-")
        cells = json.loads((ROOT / "book" / f"{chapter}.ipynb").read_text("utf-8"))["cells"]
        call = f"exercise.{exercise.right.__name__}({name})"
        assert any(call in "".join(cell["source"]) for cell in cells), call


def test_a_kernel_keeps_answers_and_the_books_own_runs_do_not(tmp_path, monkeypatch):
    cell = nbformat.v4.new_code_cell(f"import torch\n{grade(BY_HAND)}")
    for value, count in (("book", 0), ("", 1)):
        monkeypatch.setenv(keeping.BOOK, value)
        notebook = nbformat.v4.new_notebook(cells=[cell])
        NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
        said = notebook.cells[0].outputs[-1]["data"]["text/plain"]
        assert said == "Correct: 10 cases agree." + " It is in mine.py now." * count
        assert len([*tmp_path.iterdir()]) == count
