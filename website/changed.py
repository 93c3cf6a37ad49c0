"""What differs from the published branch, for the checks that only a change can break.

A file differs if it is not as it was where this branch left ``origin/main``, committed or not.
On the published branch itself nothing differs. Where git cannot tell (no git, no such branch, a
shallow clone), every file counts as different: nothing is left out by mistake.
"""

import os
import subprocess

from website import ROOT

PUBLISHED = "origin/main"
NO_ANSWER = (OSError, subprocess.CalledProcessError)  # no git, no repository, no such branch


def changed(root=ROOT):
    """The files of a checkout that differ from the published ones, or None if git cannot tell."""
    try:
        base = git(root, "merge-base", "HEAD", PUBLISHED).strip()
        differing = git(root, "diff", "--name-only", "--no-renames", "-z", base)
        added = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    except NO_ANSWER:
        return None
    return {*filter(None, (differing + added).split("\0"))}


def git(root, *arguments):
    """What git says in a folder; raises one of ``NO_ANSWER`` where it says nothing."""
    # A hook of git, which may be what runs this, sets variables that name another repository.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # What git complains of may be in any encoding.
    options = {"capture_output": True, "text": True, "errors": "replace"}
    command = ["git", *arguments]
    return subprocess.run(command, cwd=root, env=variables, check=True, **options).stdout


def among(paths, root=ROOT):
    """Those of some files that differ from the published ones."""
    differing = changed(root)
    return [
        path
        for path in paths
        if differing is None or path.resolve().relative_to(root).as_posix() in differing
    ]
