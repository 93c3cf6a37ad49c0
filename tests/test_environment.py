"""tools/environment.sh: where .venv cannot be made, one sentence says why."""

import os
import shutil
import subprocess
import sys

import pytest

from website import ROOT

FILES = ("tools/environment.sh", "requirements.txt", "constraints.txt")
FILES += ("pyproject.toml", "attention_contracts/pyproject.toml")
# Debian has ensurepip in a package of its own.
WITHOUT_ENSUREPIP = f"""#!/bin/sh
case "$2" in *ensurepip*) exit 1 ;; esac
exec '{sys._base_executable}' "$@"
"""


def make_environment(folder, **variables):
    """Call the script in a folder of its own; return what it says."""
    for name in FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "tools" / "npm", folder / "tools" / "npm")
    done = subprocess.run(
        ["sh", "tools/environment.sh"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": os.devnull} | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and not (folder / ".venv" / "made-from").exists()
    return done.stderr


def test_a_python_of_another_version_is_refused(tmp_path):
    said = make_environment(tmp_path, PYTHON="/bin/false")
    assert said.startswith("PYTHON=/bin/false does not run as Python 3.11")


def test_a_machine_without_python_hears_which_to_install(tmp_path):
    for name in ("dirname", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name))
    said = make_environment(tmp_path, PATH=str(tmp_path))
    assert said.startswith("No Python 3.11, 3.12, 3.13 or 3.14 was found")


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        (WITHOUT_ENSUREPIP, "came without its venv module"),
        (f"#!/bin/sh\nexec '{sys._base_executable}' \"$@\"\n", "registry could not be reached"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(tmp_path, python, sentence):
    (tmp_path / "python").write_text(python)
    (tmp_path / "python").chmod(0o755)
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_RETRIES": "0"}
    said = make_environment(tmp_path, PYTHON=str(tmp_path / "python"), **nowhere)
    assert sentence in said and said.count("\n") == 1
