"""website/changed.py: what differs from the published branch; and whose environment it runs in."""

import sys

import pytest

from website import ROOT, belongs_here, changed, reseed
from website.changed import git


@pytest.fixture
def clone(tmp_path):
    """A clone of a small published repository, with a branch of its own."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    git(origin, "init", "--quiet", "--initial-branch=main")
    for name in ("a.ipynb", "b.ipynb", "tools.py"):
        (origin / name).write_text(name)
    commit(origin)
    git(tmp_path, "clone", "--quiet", str(origin), str(clone))
    git(clone, "checkout", "--quiet", "-b", "own")
    return clone


def commit(root):
    git(root, "add", "--all")
    author = ("-c", "user.name=A", "-c", "user.email=a@b.test")
    git(root, *author, "commit", "--quiet", "--message=A change")


def test_committed_open_and_new_files_differ_and_those_of_others_do_not(clone):
    origin = clone.parent / "origin"
    (origin / "b.ipynb").write_text("published since by someone else")
    commit(origin)
    git(clone, "fetch", "--quiet")
    (clone / "a.ipynb").write_text("committed")
    commit(clone)
    (clone / "tools.py").write_text("open")
    (clone / "tools").mkdir()
    (clone / "tools" / "new 人.py").touch()
    assert changed.changed(clone) == {"a.ipynb", "tools.py", "tools/new 人.py"}
    paths = [clone / "a.ipynb", clone / "b.ipynb"]
    assert changed.among(paths, clone) == paths[:1]
    assert changed.asked(clone) == []
    (clone / "tools" / "environment.py").touch()
    assert changed.asked(clone)[:2] == ["tests/nightly/test_environment.py", "book"]


@pytest.mark.parametrize("reason", ["nothing differs", "not published", "shallow", "no git"])
def test_where_git_cannot_tell_every_file_differs(clone, reason):
    if reason == "not published":
        git(clone, "remote", "remove", "origin")
    elif reason == "shallow":
        (clone / "a.ipynb").write_text("committed")
        commit(clone)
        (clone / ".git" / "shallow").write_text(git(clone, "rev-parse", "HEAD"))
    elif reason == "no git":
        (clone / ".git").rename(clone / "moved")
    assert changed.changed(clone) is None
    assert changed.among([clone / "b.ipynb"], clone) == [clone / "b.ipynb"]
    assert changed.asked(clone)[:-4] == [f"tests/nightly/{name}" for name in changed.TRIED]


def test_reseed_runs_only_chapters_that_differ(monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(sys, "argv", ["reseed", "--changed", "--runs=1"])
    monkeypatch.setattr(reseed, "run_all", lambda paths, shifts: ran.extend(paths) or {})
    chapters = reseed.chapters()
    monkeypatch.setattr(changed, "changed", lambda root: {f"book/{chapters[1].name}"})
    reseed.main()
    assert ran == chapters[1:2]
    monkeypatch.setattr(changed, "changed", lambda root: {"README.md"})
    reseed.main()
    assert ran == chapters[1:2]
    assert "nothing to run" in capsys.readouterr().out


def test_the_environment_of_another_checkout_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "other" / ".venv"))
    with pytest.raises(SystemExit, match=rf"{tmp_path}/own, but its Python belongs to .*/other:"):
        belongs_here(tmp_path / "own")
    belongs_here(tmp_path / "other")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "own"))
    belongs_here(tmp_path / "own")


def test_what_is_tried_and_what_tries_it_are_there():
    for name, tried in changed.TRIED.items():
        assert (ROOT / changed.NIGHTLY / name).is_file(), name
        assert [path for path in tried if not (ROOT / path).exists()] == [], name
