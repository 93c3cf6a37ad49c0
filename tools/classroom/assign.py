"""Let one tool make the assignments of several chapters, as its own command does of one.

    .venv-class/bin/python tools/classroom/assign.py otter FOLDER masking cost
    .venv-class/bin/python tools/classroom/assign.py nbgrader FOLDER masking cost
    .venv-class/bin/python tools/classroom/assign.py otter --try FOLDER masking

To start a tool takes five seconds, an assignment takes a tenth of one, so that all chapters share
one process. For each a line of JSON says its name and the tool's complaint, or nothing. With
``--try``, otter grades its own solutions.
"""

import contextlib
import json
import os
import sys
from pathlib import Path


def otter(folder, names, tried):
    from otter.assign import main

    for name in names:
        place = folder / name / "otter"
        try:
            main(str(place / f"{name}.ipynb"), str(place), no_run_tests=not tried)
            yield name, ""
        except Exception as error:
            yield name, f"{error}" or type(error).__name__


def nbgrader(folder, names, tried):
    from nbgrader.apps import NbGrader, NbGraderAPI

    os.chdir(folder / "nbgrader")
    course = NbGrader()
    course.load_config_file()
    made = NbGraderAPI(config=course.config)
    for name in names:
        done = made.generate_assignment(name, force=True, create=True)
        yield name, "" if done["success"] else done.get("error") or done["log"]


if __name__ == "__main__":
    tools = {"otter": otter, "nbgrader": nbgrader}
    tool, folder, *names = [word for word in sys.argv[1:] if word != "--try"]
    with contextlib.redirect_stdout(sys.stderr):  # the tools' own words
        for name, complaint in tools[tool](Path(folder).resolve(), names, "--try" in sys.argv):
            print(json.dumps([name, complaint.strip()]), file=sys.__stdout__, flush=True)
