"""Attentions of other packages, and what others wrote down, in an environment of its own.

The contracts run on attentions of eleven packages and of PyTorch; the library computes the tests of
ONNX and PyTorch.
"""

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import venv

import pytest

from website import ROOT

HERE = ROOT / "tests" / "nightly" / "foreign"
# What each right attention has to be tested for, at least, out of 37; those without a mask, or
# whose projections cannot be told apart, are tested for less.
FEWEST = 12
BROKEN = {  # name in attentions.py -> contracts that have to be broken
    # performer-pytorch 1.1.4 masks the values alone; the keys stay in the normaliser.
    "performer-pytorch": {"padding, values", "padding removed"},
    "open_clip, scaled twice": {"scale"},
    "transformers: DeepSeek V3, keys not turned": {"positions shifted"},
}


@pytest.fixture(scope="module")
def python():
    """The interpreter of an environment that has those packages, behind them that of the tests."""
    wanted = (HERE / "requirements.txt").read_text(encoding="utf-8")
    home = ROOT / f".venv-foreign-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"
    python = home / "bin" / "python"
    if not (home / "made").exists():
        venv.create(home, with_pip=False, clear=True)
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        install = [*pip, "--python", python, "install", "--no-deps", "--only-binary=:all:"]
        run = subprocess.run(
            [*install, "-r", HERE / "requirements.txt"], capture_output=True, text=True
        )
        if run.returncode:
            pytest.skip(f"the packages cannot be installed: {run.stderr.strip()[-200:]}")
        [packages] = home.glob("lib/python*/site-packages")
        (packages / "behind.pth").write_text(sysconfig.get_path("purelib") + "\n")
        (home / "made").touch()
    return python


@pytest.fixture(scope="module")
def printed_by(python):
    """Run a script of the folder in that environment; return what it prints, read as JSON."""

    def run(name):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [python, HERE / name]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="module")
def outcomes(printed_by):
    return printed_by("attentions.py")


def test_right_attentions_are_not_accused_and_not_let_off(outcomes):
    right = {name: found for name, found in outcomes.items() if name not in BROKEN}
    assert len(right) >= 36
    assert {name: found for name, found in right.items() if "failed" in found} == {}
    assert {name: found["broken"] for name, found in right.items() if found["broken"]} == {}
    assert {name: n for name, found in right.items() if (n := len(found["kept"])) < FEWEST} == {}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_attentions_are_found(outcomes, name):
    assert BROKEN[name] <= outcomes[name]["broken"].keys()


@pytest.mark.parametrize("name", ["llama", "gpt2", "mistral"])
def test_a_model_is_checked_by_its_name(python, name):
    command = [python, "-m", "attention_contracts", f"transformers:{name}", "--length", "130"]
    done = subprocess.run([*command, "--require", "causality,padding,cache"], cwd=ROOT)
    assert done.returncode == 0


def test_the_library_agrees_with_the_node_tests_of_onnx(printed_by):
    """Windows, caches, grouped heads, caps, additive masks; in units of each case's tolerance."""
    printed = printed_by("onnx_attention.py")
    differences = printed["differences"]
    assert len(differences) == 93
    assert {name: x for name, x in differences.items() if isinstance(x, str) or x > 1} == {}
    # The page of published numbers says how many cases notice three mistakes made on purpose.
    assert printed["noticed"] == {"twice_the_scale": 41, "from_the_upper_left": 14, "no_padding": 2}


def test_the_library_agrees_with_pytorchs_own_samples(printed_by):
    """In epsilons: scores of these samples reach 200, and so does what rounding does to weights."""
    differences = printed_by("opinfo.py")
    assert len(differences) == 100
    assert {name: x for name, x in differences.items() if isinstance(x, str) or x > 500} == {}
