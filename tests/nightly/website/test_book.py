"""Small books that are built: with other settings, with faults, on machines that lack something."""

import os
import re
import shutil
import subprocess
import sys
import threading
import time

import pytest

from tests.website.conftest import Site, write_small_book
from website import ROOT, book


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


def test_a_full_disk_is_told_in_a_sentence_and_leaves_no_half_a_website(tmp_path):
    """Here no file may grow beyond 64 kB, which is less than what Sphinx keeps of a long page.

    No compiled module is written: of a longer one Python would store 64 kB, and later read them.
    """
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.md").write_text("# A\n\n" + "many words\n\n" * 10_000)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")
    (tmp_path / "_config.yml").write_text("title: A\n")
    build = "import pathlib, sys; from website import book; book.main(pathlib.Path(sys.argv[1]))"
    ran = subprocess.run(
        ["bash", "-c", 'ulimit -f 64; exec "$@"', "-", sys.executable, "-c", build, tmp_path],
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
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


def test_a_folder_that_cannot_be_written_to_is_told_in_a_sentence(tmp_path, monkeypatch):
    """Root may write anywhere, so what is asked is answered here."""
    (tmp_path / "_toc.yml").write_text("root: book/index\n")
    monkeypatch.setattr(book.os, "access", lambda path, mode: False)
    with pytest.raises(SystemExit, match="its folder cannot be written to"):
        book.main(tmp_path)


# ------------------------------------------------------------------------------- other settings

HOME, ADDRESS = "https://github.com/owner/name", "https://book.test/at"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A small book with a repository and an address."""
    folder = write_small_book(tmp_path_factory.mktemp("book"))
    config = folder / "_config.yml"
    text = config.read_text(encoding="utf-8")
    text = text.replace('workbook_repository: ""', f'workbook_repository: "{HOME}"')
    config.write_text(text.replace('baseurl: ""', f"baseurl: {ADDRESS}", 1))
    shutil.copy(ROOT / "CITATION.cff", folder)
    with open(folder / "book" / "index.md", "a") as page:
        page.write("\n## Three ways to use it\n\n[Cold](#SoftLookup.temperature=0.1).\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "86400")
        book.main(folder)
    return Site(folder / "_build" / "html")


def test_with_a_repository_the_foot_leads_to_it(built):
    page = built.pages["book/index.html"]
    assert page.select_one("article a[href='#SoftLookup.temperature=0.1']").text == "Cold"
    links = [link["href"] for link in page.select(".foot .links a")]
    wanted = [f"{HOME}{end}" for end in ("", "#two-commands")]
    assert links[:3] == ["#three-ways-to-use-it", *wanted]
    report, edit = links[3:]
    assert edit == f"{HOME}/edit/main/book/index.md"
    assert report.startswith(f"{HOME}/issues/new?title=A+book") and "book%2Findex.md" in report


def test_a_site_with_an_address_names_it(built):
    """Link cards, canonical addresses and the map; a 404 page that holds at any depth."""
    page, lost = built.pages["book/index.html"], built.pages["404.html"]
    assert page.select_one("link[rel=canonical]")["href"] == f"{ADDRESS}/book/index.html"
    card = page.select_one("meta[property='og:image']")["content"]
    assert (built.folder / card.removeprefix(f"{ADDRESS}/")).read_bytes().startswith(b"\x89PNG")
    root = built.pages["index.html"]
    for name in ("title", "url", "site_name"):
        said = [one.select_one(f"meta[property='og:{name}']")["content"] for one in (page, root)]
        assert said[0] == said[1], f"the root has the front page's {name}"
    assert len(page.select("meta[name=description]")) == 1
    assert root.select_one("link[rel=canonical]")["href"] == f"{ADDRESS}/book/index.html"
    listed = re.findall("<loc>(.+?)</loc>", (built.folder / "sitemap.xml").read_text("utf-8"))
    assert listed == [f"{ADDRESS}/book/index.html"]
    addresses = {address for _, address in built.references("404.html")} - {"#main"}
    outside = ("creativecommons", HOME)
    assert {one[:4] for one in addresses if not any(word in one for word in outside)} == {"/at/"}
    assert lost.select_one("meta[name=robots]")["content"] == "noindex"
    assert f"url = {{{ADDRESS}/}}" in page.select_one(".cite").text
    assert "text of 2 January 1970" in page.footer.text


# ------------------------------------------------------------------------------- a bad book fails


def test_a_book_with_faults_is_not_built_and_each_fault_is_named(small_book, capfd):
    with open(small_book / "book" / "index.md", "a") as page:
        page.write(
            "[a](none.md) [b](#nowhere) ![c](none.png) [d](index.md#vaswani1917) "
            "[e](index.md#vaswani2017) $\\frac{1}$\n"
        )
    with pytest.raises(SystemExit) as refusal:
        book.main(small_book)
    assert "The book was not built." in refusal.value.code
    warnings = capfd.readouterr().err
    for fault in ("none.md", "nowhere", "none.png", "vaswani1917", r"\frac{1}"):
        assert fault in warnings
    assert "vaswani2017" not in warnings  # the one that is right
    assert not (small_book / "_build" / "html").exists()


def test_a_book_that_disagrees_with_its_contents_is_not_built(small_book):
    toc = small_book / "_toc.yml"
    toc.write_text(
        toc.read_text() + "parts:\n- chapters:\n  - file: book/absent\n"
        "    sections:\n    - file: book/deep\n    - file: book/deep\n"
    )
    for name in ("deep.md", "extra.ipynb", "extra.txt", ".ipynb_checkpoints/deep.md"):
        (small_book / "book" / name).parent.mkdir(exist_ok=True)
        (small_book / "book" / name).write_text("# Page\n")
    with pytest.raises(SystemExit) as refusal:
        book.main(small_book)
    assert refusal.value.code.splitlines()[1:] == [
        "_toc.yml lists book/absent, but there is no such file.",
        "book/extra.ipynb is not listed in _toc.yml.",
        "_toc.yml lists book/deep more than once.",
    ]
