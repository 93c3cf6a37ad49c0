"""Notebooks from Moodle, Canvas and GitHub Classroom, put where the graders look for them."""

import shutil
import subprocess
import sys

import pytest

from website import ROOT

# Files as a place packs them, and the students that they are of.
PACKED = {
    "Moodle, in folders": (
        ["Ada Lovelace_18_assignsubmission_file/masking.ipynb"],
        ["Ada-Lovelace"],
    ),
    "Moodle, flat": (["Zoë Müller_7_assignsubmission_file_mine.ipynb"], ["Zoë-Müller"]),
    "Canvas": (
        ["lovelaceada_181_5_masking.ipynb", "turingalan_LATE_182_6_masking.ipynb"],
        ["lovelaceada", "turingalan"],
    ),
    "GitHub Classroom": (["masking-submissions/masking-ada/masking.ipynb"], ["masking-ada"]),
    "nobody's": (["turingalan_182_6_masking.ipynb", "masking.ipynb"], ["turingalan"]),
}


def collected(packed, folder):
    command = [sys.executable, ROOT / "tools" / "collect.py", "masking", packed, folder]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("place", PACKED)
def test_each_students_notebook_is_found(place, tmp_path):
    names, students = PACKED[place]
    for name in names:
        path = tmp_path / "packed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    archive = shutil.make_archive(tmp_path / "all", "zip", tmp_path / "packed")
    said = collected(archive, tmp_path / "class")
    for student, name in zip(students, names, strict=False):
        for path in (
            f"nbgrader/submitted/{student}/masking/masking.ipynb",
            f"masking/otter/submissions/{student}.ipynb",
        ):
            assert (tmp_path / "class" / path).read_text() == name
    assert said.count("Nobody's") == (place == "nobody's")


def test_the_last_of_several_counts(tmp_path):
    for again in ("", "-1", "-2"):
        path = tmp_path / "packed" / f"lovelaceada_181_5{len(again)}_masking{again}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(again)
    assert "Collected from 1: lovelaceada" in collected(tmp_path / "packed", tmp_path / "class")
    kept = tmp_path / "class" / "masking" / "otter" / "submissions" / "lovelaceada.ipynb"
    assert kept.read_text() == "-2"
