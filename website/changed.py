"""What differs from the published branch, for the checks that only a change can break.

    .venv/bin/python -m website.changed      print for pytest which tests a change asks for

A file differs if it is not as it was where this branch left ``origin/main``, committed or not.
Where git cannot tell (no git, no such branch, a shallow clone), and where nothing differs, as on
the published branch itself, every file counts as different: nothing is left out by mistake.
"""

import os
import subprocess
import tomllib

from website import ROOT

PUBLISHED = "origin/main"
NIGHTLY = "tests/nightly/"
PINS = ("requirements.txt", "constraints.txt", "pyproject.toml")
NOTEBOOKS = ("website/notebooks.py", "website/pictures.py", "tools/notebooks.py", "conftest.py")
# Tests of the tools, and what each of them tries: the gate leaves them to the night unless that
# differs.
TRIED = {
    "test_checks.py": ("tests/test_imports.py", "tests/website/"),
    "test_environment.py": ("tools/environment.py", "Makefile", "pyproject.toml"),
    "test_gate.py": (".github/", ".ci/", "Makefile"),
    "test_security.py": ("tools/audit.py", "tests/test_security.py"),
    "website/test_book.py": ("website/", "tools/book.py", "_config.yml", *PINS),
    "website/test_carrier.py": ("website/extensions/travelling_notebooks.py", *PINS),
    "website/test_changed.py": ("website/changed.py", "website/reseed.py", "website/__init__.py"),
    "website/test_minutes.py": ("website/minutes.py",),
    "website/test_notebook_faults.py": (*NOTEBOOKS, *PINS),
    "website/test_notebooks.py": (*NOTEBOOKS, *PINS),
    "website/test_pictures.py": ("website/pictures.py", *PINS),
    "website/test_reseed.py": ("website/reseed.py", *NOTEBOOKS),
    "website/test_rules.py": ("website/rules/", "website/notebooks.py"),
}


def changed(root=ROOT):
    """The files of a checkout that differ from the published ones, or None for all of them."""
    try:
        base = git(root, "merge-base", "HEAD", PUBLISHED).strip()
        differing = git(root, "diff", "--name-only", "--no-renames", "-z", base)
        added = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    except (OSError, subprocess.CalledProcessError):
        return None
    return {*filter(None, (differing + added).split("\0"))} or None


def git(root, *arguments):
    # A hook of git, which may be what runs this, sets variables that name another repository.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", *arguments], cwd=root, env=variables, check=True, capture_output=True, text=True
    ).stdout


def among(paths, root=ROOT):
    """Those of some files that differ from the published ones."""
    differing = changed(root)
    return [
        path
        for path in paths
        if differing is None or path.resolve().relative_to(root).as_posix() in differing
    ]


def asked(root=ROOT):
    """Pytest's arguments: nothing, for the gate, or long tests of the night, and then the gate."""
    differing = changed(root)
    added = [
        NIGHTLY + name
        for name, tried in TRIED.items()
        if differing is None or any(path.startswith((*tried, NIGHTLY + name)) for path in differing)
    ]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [*added, *settings["tool"]["pytest"]["ini_options"]["testpaths"]] if added else []


if __name__ == "__main__":
    print(*asked())
