"""The copies of a chapter for a class: what they keep and what they leave out."""

import builtins
import symtable

import pytest

from attention_workbook.classroom import copies
from tests.attention_workbook.classroom import SOME
from website.classroom import alone
from website.extensions.travelling_notebooks import python
from website.notebooks import chapters


def names(source):
    """What Python assigns and what it reads at its top level, functions' free names included."""
    assigned, read, tables = set(), set(), [symtable.symtable(source, "", "exec")]
    top = tables[0]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_global() or table is top:
                read |= {symbol.get_name()} if symbol.is_referenced() else set()
                assigned |= {symbol.get_name()} if symbol.is_assigned() else set()
                assigned |= {symbol.get_name()} if symbol.is_imported() else set()
    return assigned, read


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_a_students_copy_has_every_stub_and_no_solution(path):
    hold_copies(path)


def hold_copies(path):
    chapter = alone(path)
    found = copies.exercises(chapter)
    assert found and {each.points for each in found} <= {1, 2, 3}
    student, teacher = copies.student(chapter), copies.teacher(chapter)
    kept = {cell["id"]: cell["source"] for cell in student["cells"]}
    for each in found:
        solutions = [cell for cell in each.cells if copies.is_solution(cell)]
        assert len(solutions) >= 2 and not {cell["id"] for cell in solutions} & {*kept}
        text, code = solutions[:2]
        assert each.stub is None or kept[each.stub["id"]] == each.stub["source"]
        [opened] = [c for c in teacher["cells"] if c["id"] == code["id"]]
        assert "jupyter" not in opened["metadata"] and opened["outputs"]
        [reason] = [c for c in teacher["cells"] if c["id"] == text["id"]]
        assert reason["source"].startswith("<details open>")
    assert not any("Solution</summary>" in source for source in kept.values())
    assigned, read = names(python(student))
    assert read - assigned - {*dir(builtins), "get_ipython", "__file__"} == set()


def test_exercises_are_left_out():
    [path] = [path for path in chapters() if path.stem == "masking"]
    whole, less = alone(path), alone(path, left_out=[1, 4])
    assert [each.name for each in copies.exercises(less)] == ["key_padding", "masked_softmax"]
    gone = [cell for each in copies.exercises(whole)[::3] for cell in each.cells]
    assert [c for c in whole["cells"] if c["id"] not in {c["id"] for c in gone}] == less["cells"]
    assert "Summary" in less["cells"][-1]["source"]


def test_what_a_chapter_lacks_is_said():
    [path] = [path for path in chapters() if path.stem == "train-a-reader"]
    chapter = alone(path)
    assert copies.lacks(chapter) == []
    for cell in copies.exercises(chapter)[1].cells:
        cell["source"] = "".join(cell["source"]).replace("exercise.", "elsewhere.")
    assert copies.lacks(chapter) == ["Exercise 2 has no call exercise.…(…), so it earns no points."]
    for cell in chapter["cells"]:
        if copies.is_solution(cell):
            cell["metadata"] = {}
    assert "Exercise 1 has no solution to test its grader with." in copies.lacks(chapter)
