"""The gate: what stands between a push and the published website."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
# In make's place: it writes down what it is asked for, and fails where it is told to, at every call
# or at the gate's own.
MAKE = """#!/bin/sh
echo "$*, browser required: ${ATTENTION_REQUIRE_BROWSER:-no}" >>"$ASKED"
[ "$1" != "$FAILS" ] && [ "$1 $ATTENTION_REQUIRE_BROWSER" != "$FAILS" ]
"""


def jobs_of(name):
    return yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))["jobs"]


def passes(job, machine, fails):
    """Run a job's shell steps in their order, as GitHub does, up to the first that fails."""
    if "uses" in job:  # a workflow of its own: it passes if all of its jobs do
        return all(
            passes(part, machine, fails) for part in jobs_of(Path(job["uses"]).name).values()
        )
    variables = os.environ | {
        "PATH": f"{machine}:{os.environ['PATH']}",
        "ASKED": str(machine / "asked"),
        "FAILS": fails,
    }
    variables.pop("ATTENTION_REQUIRE_BROWSER", None)
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    return all(
        subprocess.run([*shell, command], cwd=ROOT, env=variables).returncode == 0
        for command in commands
    )


@pytest.fixture
def machine(tmp_path):
    """A folder of commands that stand in for the real ones."""
    commands = {"make": MAKE, "chromium": "#!/bin/sh\n"}
    for name, script in commands.items():
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    return tmp_path


ASKED = [
    "lint, browser required: no",  # the workflow's own step: the quickest answer comes first
    "environment, browser required: 1",
    "lint, browser required: 1",  # while the next begins
    "test, browser required: 1",
    "reseed RUNS=2 CHANGED=1, browser required: 1",
]


@pytest.mark.parametrize(
    ("fails", "asked"),
    [("lint", 1), ("environment", 2), ("lint 1", 4), ("test", 4), ("reseed", 5), ("", 5)],
)
def test_nothing_is_published_if_a_step_of_the_gate_fails(fails, asked, machine):
    jobs = jobs_of("publish.yml")
    passed = passes(jobs.pop("check"), machine, fails)
    assert sorted((machine / "asked").read_text().splitlines()) == sorted(ASKED[:asked])
    assert passed == (not fails)
    # GitHub starts a job only if all that it needs has passed, unless its condition says otherwise.
    for name, job in jobs.items():
        needs = {job.get("needs")}
        while more := {jobs[other].get("needs") for other in needs if other in jobs} - needs:
            needs |= more
        assert "check" in needs, f"{name} does not wait for the gate"
        assert not re.search(r"always|failure|cancelled", str(job.get("if")))


def test_the_gate_checks_pull_requests_and_every_pushed_branch():
    # YAML 1.1 reads the key `on` as True.
    check, publish = (
        yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))[True]
        for name in ("check.yml", "publish.yml")
    )
    assert check.keys() >= {"pull_request", "workflow_call"}
    left_out = set(check["push"]["branches-ignore"]) - {"notebooks"}  # made by publish.yml itself
    assert left_out == set(publish["push"]["branches"]), "what check.yml leaves to publish.yml"


def test_nothing_in_the_gate_may_fail_unseen():
    for path in WORKFLOWS.glob("*.yml"):
        assert "continue-on-error" not in path.read_text(encoding="utf-8"), path.name


def test_the_nightly_workflow_asks_for_verbs_that_there_are():
    jobs = jobs_of("nightly.yml")
    verbs = set(jobs["search"]["strategy"]["matrix"]["verb"]) | {"test-matrix"}
    assert verbs <= set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_nightly_verb_tries_all_that_leaves_the_gate():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^nightly:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    for part in ("ATTENTION_FUZZ=", "tests/nightly", "website.reseed --runs"):
        assert part in recipe, part


def test_workflows_use_actions_that_cannot_change():
    for path in WORKFLOWS.glob("*.yml"):
        for action in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8")):
            own = action.startswith("./.github/workflows/") and (ROOT / action).is_file()
            assert own or re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
