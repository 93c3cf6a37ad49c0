"""What README and "Check your own attention" say, done by a stranger in an empty environment."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv

import pytest

from website import ROOT

PAGES = ["README.md", "book/check-your-own.md"]
PARTS = ["attention_lib", "attention_contracts", "pyproject.toml", "README.md", "LICENSE"]
MINE = """\
import torch
from torch import nn
from attention_lib import DotProductAttention as MyAttention


def make_model():
    return nn.Sequential(nn.Embedding(50, 16), nn.Linear(16, 50))
"""


def text(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.+?)^```$", text(page), re.M | re.S)


def installations(page):
    """The commands of a page that install something, but from no address that there is not."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    lines += re.findall(r"`(pip install [^`]+)`", text(page))
    return [line for line in lines if line.startswith("pip") and "git+" not in line]


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A function that runs a shell's line in a folder, with an empty environment activated.

    PyTorch is too large to install again: a path leads to the packages of this environment, which
    stand behind those of the new one, and pip installs nothing of what a package needs.
    """
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    [packages] = home.glob("lib/python*/site-packages")
    (packages / "torch_of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = home / "bin" / "pip"
    command = shlex.join([sys.executable, "-m", "pip", "--python", str(home / "bin" / "python")])
    pip.write_text(f'#!/bin/sh\nexec {command} "$@" --no-deps --no-build-isolation\n')
    pip.chmod(0o755)
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables |= {"PATH": f"{home / 'bin'}:{os.environ['PATH']}"}

    def run(line, folder):
        return subprocess.run(
            line, shell=True, cwd=folder, env=variables, capture_output=True, text=True
        )

    return run


@pytest.fixture(scope="module")
def installed(stranger, tmp_path_factory):
    """What pip printed when each page's commands were typed in a clone."""
    clone = tmp_path_factory.mktemp("clone")
    for name in PARTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, clone / name)
    run = stranger("pip wheel --no-deps --wheel-dir . ./attention_contracts", clone)
    assert run.returncode == 0, run.stderr  # which the website offers
    runs = {line: stranger(line, clone) for page in PAGES for line in installations(page)}
    assert len(runs) >= 5
    return runs


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mypackage").mkdir()
    (tmp_path / "mypackage" / "mymodule.py").write_text(MINE)
    return tmp_path


def test_what_the_pages_install_can_be_installed(installed):
    for line, run in installed.items():
        assert run.returncode == 0, (line, run.stdout, run.stderr)
        assert "does not provide the extra" not in run.stdout + run.stderr, line


def test_the_examples_of_the_readme_run(installed, stranger, mine):
    for number, example in enumerate(blocks("README.md", "python")):
        (mine / f"example_{number}.py").write_text(example)
        run = stranger(f"python example_{number}.py", mine)
        assert run.returncode == 0, run.stderr


def test_the_commands_of_the_readme_run(installed, stranger, mine):
    lines = [line for block in blocks("README.md", "sh") for line in block.splitlines()]
    lines = [line for line in lines if line.startswith("attention-contracts")]
    assert len(lines) == 2
    for line in lines:
        run = stranger(line, mine)
        assert run.returncode == 0, (line, run.stdout, run.stderr)


def test_the_fixture_of_the_readme_is_there(installed, stranger, mine):
    [example] = blocks("README.md", "py")
    (mine / "test_mine.py").write_text(f"from mypackage.mymodule import MyAttention\n\n{example}")
    run = stranger("python -m pytest -q -p no:cacheprovider test_mine.py", mine)
    assert "1 passed" in run.stdout, run.stdout + run.stderr


def test_it_is_the_installed_library_that_runs_and_the_workbook_stays_behind(
    installed, stranger, tmp_path
):
    run = stranger("python -c 'import attention_lib as a; print(a.__file__, a.__version__)'", ROOT)
    version = re.search(r'^__version__ = "(.+)"$', text("attention_lib/__init__.py"), re.M)[1]
    assert run.stdout.split()[1] == version
    run = stranger("python -c 'import attention_lib; print(attention_lib.__file__)'", tmp_path)
    assert "site-packages" in run.stdout
    assert "No module named" in stranger("python -c 'import attention_workbook'", tmp_path).stderr
    ask = "import importlib.metadata as m; print(m.version('attention-lib'))"
    assert stranger(f'python -c "{ask}"', tmp_path).stdout.strip() == version


def test_the_readmes_links_and_verbs_are_there():
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text("README.md"))
    assert links and [link for link in links if not (ROOT / link).exists()] == []
    verbs = {*re.findall(r"\bmake ([a-z-]+)(?=[`\s]*(?:`|CHAPTER|PYTHON| +#))", text("README.md"))}
    known = {*re.findall(r"^([a-z-]+):", text("Makefile"), re.M)}
    assert {"book", "test", "class"} <= verbs <= known
