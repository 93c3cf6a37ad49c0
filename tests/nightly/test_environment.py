"""More bad machines for ``make environment``; the gate has the likeliest (test_environment.py)."""

import shutil

import pytest

from tests.test_environment import (
    MAKE,
    VERSION,
    assert_refused,
    renew_after,
    repair_after,
)

pytestmark = pytest.mark.building


def test_settings_of_another_python_do_not_get_through(machine):
    polluted = ("PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS", "PYTHONOPTIMIZE", "PYTHONINSPECT")
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
    another_python,
    other_constraints,
    other_hashes,
    other_npm_packages,
    other_library_requirements,
]


@pytest.mark.parametrize("change", CHANGES)
def test_environment_is_renewed_when_its_requirements_change(standing, change):
    renew_after(standing, change)


@pytest.mark.parametrize("damage", [without_python, a_file_in_its_place])
def test_next_make_repairs_a_broken_environment(standing, damage):
    repair_after(standing, damage)
