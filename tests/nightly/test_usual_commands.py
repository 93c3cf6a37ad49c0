"""The commands that people know from other books work as they type them, in a fresh environment."""

import shutil
import subprocess
import sys

import pytest

from website import ROOT


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the tracked files, and an environment with what requirements.txt names."""
    folder = tmp_path_factory.mktemp("usual") / "book"
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    for name in tracked.stdout.splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    typed(folder, "pip", "install", "-q", "-r", "requirements.txt")
    return folder


def typed(folder, command, *words):
    """Run a command of the environment, and show what it says where it fails."""
    run = [folder / "env" / "bin" / command, *words]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def test_jupyter_book_builds_the_book(checkout):
    typed(checkout, "jupyter-book", "build", ".")
    page = (checkout / "_build" / "html" / "book" / "variance.html").read_text(encoding="utf-8")
    assert 'class="katex"' in page, "the formulas are set"


def test_pytest_runs_a_notebook(checkout):
    out = typed(checkout, "pytest", "--nbval", "book/variance.ipynb", "-q")
    assert " passed" in out and "failed" not in out
