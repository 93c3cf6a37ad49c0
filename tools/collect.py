"""Put what students handed in where the graders look for it.

    python tools/collect.py masking submissions.zip FOLDER

The first name is the chapter's, then the archive (or the folder) that Moodle, Canvas or GitHub
Classroom lets you download, then your copy of ``_build/class``. Each student's notebook goes to
``FOLDER/nbgrader/submitted/STUDENT/masking/masking.ipynb`` and to
``FOLDER/masking/otter/submissions/STUDENT.ipynb``. Of several by one student the last counts. It
needs nothing but Python.
"""

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

# How the places name a student: Moodle in a folder or in the file's own name, Canvas in the file's
# name (late or not, handed in again or not), GitHub Classroom in the folder of a student's copy.
NAMES = [
    re.compile(r"(?:.*/)?(?P<student>[^/]+)_\d+_assignsubmission_file_?(?:/.*|.*)"),
    re.compile(r"(?:.*/)?(?P<student>[^/_]+)(?:_LATE)?_\d+_\d+_[^/]*?(?P<again>-\d+)?\.ipynb"),
    re.compile(r"(?:.*/)?[^/]+-submissions/(?P<student>[^/]+)/.*"),
]


def student_of(name):
    """Return who handed in a file, and which time, from its path; None where the path names nobody.

    Examples
    --------
    >>> student_of("Ada Lovelace_1815_assignsubmission_file/masking.ipynb")
    ('Ada-Lovelace', 0)
    >>> student_of("lovelaceada_LATE_181_512_masking-2.ipynb")
    ('lovelaceada', 2)
    >>> student_of("masking-submissions/masking-ada/masking.ipynb")
    ('masking-ada', 0)
    """
    for pattern in NAMES:
        if match := pattern.fullmatch(name):
            turn = match.groupdict().get("again") or "-0"
            return re.sub(r"[^\w.-]+", "-", match["student"]).strip("-"), int(turn[1:])
    return None


def collect(chapter, handed_in, folder):
    """Copy the notebooks below a folder; return the students, and the files of nobody."""
    last, nobody = {}, []
    for path in sorted(handed_in.rglob("*.ipynb")):
        name = path.relative_to(handed_in.parent).as_posix()
        if ".ipynb_checkpoints" in path.parts:
            continue
        if (owner := student_of(name)) is None:
            nobody.append(name)
            continue
        student, turn = owner
        if student not in last or turn >= last[student][0]:
            last[student] = turn, path
    for student, (_, path) in last.items():
        for place in (
            folder / "nbgrader" / "submitted" / student / chapter / f"{chapter}.ipynb",
            folder / chapter / "otter" / "submissions" / f"{student}.ipynb",
        ):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
    return [*last], nobody


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chapter", help="its name, such as masking")
    parser.add_argument("handed_in", type=Path, help="a .zip, or a folder")
    parser.add_argument("folder", type=Path, help="your copy of _build/class")
    arguments = parser.parse_args()
    if not arguments.handed_in.exists():
        sys.exit(f"There is no {arguments.handed_in}.")
    with tempfile.TemporaryDirectory() as unpacked:
        handed_in = arguments.handed_in.resolve()
        if handed_in.is_file():
            handed_in = Path(unpacked, handed_in.stem)
            shutil.unpack_archive(arguments.handed_in, handed_in, "zip")
        students, nobody = collect(arguments.chapter, handed_in, arguments.folder)
    for name in nobody:
        print(f"Nobody's, and left out: {name}")
    print(f"Collected from {len(students)}: {', '.join(students) or 'nobody'}.")


if __name__ == "__main__":
    main()
