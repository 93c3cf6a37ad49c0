"""The wheel that ``pip wheel`` builds holds all that the contracts need."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of an empty environment in which the wheel is installed.

    PyTorch is too large to install again: a path leads to the packages of this environment, which
    stand behind those of the new one.
    """
    wheels, home = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("environment")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={wheels}", ROOT]
    subprocess.run(build, check=True)
    [wheel] = wheels.glob("*.whl")
    venv.create(home, with_pip=False)
    [packages] = home.glob("lib/python*/site-packages")
    python = home / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", "--no-deps", wheel], check=True)
    (packages / "torch_of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.fixture
def script(tmp_path):
    """A folder with an attention that somebody wrote, without its scale."""
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "def attend(queries, keys, values):\n"
        "    return (queries @ keys.mT).softmax(dim=-1) @ values\n"
    )
    return tmp_path


def test_the_command_runs_from_the_wheel(python, script):
    run = subprocess.run(
        [python, "-m", "attention_contracts", "mine:attend"],
        cwd=script,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1, run.stderr
    assert "scores are scaled by 1 (no scaling)" in run.stdout


def test_it_is_the_wheel_that_runs_and_the_workbook_stays_behind(python, script):
    ask = "import attention_lib; print(attention_lib.__file__); import workbook"
    run = subprocess.run([python, "-c", ask], cwd=script, capture_output=True, text=True)
    assert str(python.parents[1]) in run.stdout
    assert "No module named 'workbook'" in run.stderr
