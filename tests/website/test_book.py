"""Two builds of one book at once: the second waits."""

import threading
import time

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
