"""Two builds of one book at once, a full disk, a folder that cannot be written to."""

import subprocess
import sys
import threading
import time

import pytest

from website import book


def test_one_build_at_a_time(tmp_path, monkeypatch, capsys):
    (tmp_path / "_toc.yml").write_text("root: book/index\n", encoding="utf-8")
    running, most = [], []

    def build(root):
        running.append(root)
        most.append(len(running))
        time.sleep(0.3)
        running.remove(root)
        return []

    monkeypatch.setattr(book, "build", build)
    monkeypatch.setattr(book, "disagreements", lambda root: [])
    builds = [threading.Thread(target=book.main, args=[tmp_path]) for _ in range(3)]
    for one in builds:
        one.start()
    for one in builds:
        one.join(30)
    assert most == [1, 1, 1]
    said = capsys.readouterr().out
    assert said.count("Another build of this book is running") == 2
    assert said.count("The book is built") == 3


def test_a_full_disk_is_a_sentence_and_leaves_no_half_a_website(tmp_path):
    """Here no file may grow beyond 64 kB, which is less than what Sphinx keeps of a long page."""
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.md").write_text("# A\n\n" + "many words\n\n" * 10_000)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")
    (tmp_path / "_config.yml").write_text("title: A\n")
    build = "import pathlib, sys; from website import book; book.main(pathlib.Path(sys.argv[1]))"
    ran = subprocess.run(
        ["bash", "-c", 'ulimit -f 64; exec "$@"', "-", sys.executable, "-c", build, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1
    assert "The website could not be written: [Errno 27] File too large." in ran.stderr
    assert "The book was not built." in ran.stderr
    for noise in ("Traceback", "Exception occurred", "bug report"):
        assert noise not in ran.stderr
    assert not (tmp_path / "_build" / "html").exists()


def test_a_folder_that_cannot_be_written_to_is_a_sentence(tmp_path, monkeypatch):
    """Root may write anywhere, so what is asked is answered here."""
    (tmp_path / "_toc.yml").write_text("root: book/index\n")
    monkeypatch.setattr(book.os, "access", lambda path, mode: False)
    with pytest.raises(SystemExit, match="its folder cannot be written to"):
        book.main(tmp_path)
