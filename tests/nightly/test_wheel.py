"""The wheel that ``pip wheel`` builds holds all that the contracts need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel's contents and nothing else."""
    wheels, folder = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    build = [*PIP, "wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={wheels}", ROOT]
    subprocess.run(build, check=True)
    [wheel] = wheels.glob("*.whl")
    subprocess.run([*PIP, "install", "--no-deps", f"--target={folder}", wheel], check=True)
    return folder


def test_the_command_runs_from_the_wheel(installed, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "import attention_lib\n"
        f"assert attention_lib.__file__.startswith({str(installed)!r})\n"
        "def attend(queries, keys, values):\n"
        "    return (queries @ keys.mT).softmax(dim=-1) @ values\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "attention_lib.contracts", "mine:attend"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1, run.stderr
    assert "scores are scaled by 1 (no scaling)" in run.stdout
