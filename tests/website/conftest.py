"""What the tests of the website share: its pages, and a small book to build."""

import shutil

import pytest
from bs4 import BeautifulSoup

from website import ROOT

from .visiting import ORIGIN, SITE, visit  # noqa: F401


class Site:
    """The pages of a folder, by their path in it, read once."""

    def __init__(self, folder):
        self.folder = folder
        self.pages = {
            path.relative_to(folder).as_posix(): BeautifulSoup(
                path.read_text(encoding="utf-8"), "html.parser"
            )
            for path in sorted(folder.rglob("*.html"))
            if "_static" not in path.relative_to(folder).parts
        }

        self._anchors = {}

    def anchors(self, name):
        """The ids on a page; they are asked for by every link to it."""
        if name not in self._anchors:
            self._anchors[name] = {tag["id"] for tag in self.pages[name].find_all(id=True)}
        return self._anchors[name]

    def references(self, name):
        """Every address that a page names, with the page's own at their head."""
        for tag in self.pages[name].find_all(True):
            for attribute in ("href", "src", "poster", "data"):
                if isinstance(tag.get(attribute), str):
                    yield tag, tag[attribute]


@pytest.fixture(scope="session")
def site():
    """The website, if it was built and nothing it is made from has changed since."""
    index = SITE / "index.html"
    if not index.is_file():
        pytest.fail("there is no website in _build/html: run make book, or see why it failed")
    parts = ("_config.yml", "_toc.yml", "book", "attention_workbook/figures")
    files = [path for part in parts for path in (ROOT / part, *(ROOT / part).rglob("*"))]
    sources = (path for path in files if path.is_file() and path.suffix != ".pyc")
    newest = max(sources, key=lambda path: path.stat().st_mtime)
    if newest.stat().st_mtime > index.stat().st_mtime:
        pytest.fail(f"{newest.relative_to(ROOT)} changed after the build: run make book")
    return Site(SITE)


def write_small_book(folder):
    """Write a book of one page, with the settings of the real one."""
    shutil.copy(ROOT / "_config.yml", folder)
    (folder / "book").mkdir()
    shutil.copy(ROOT / "book" / "references.bib", folder / "book")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")
    (folder / "book" / "index.md").write_text("# A book\n\n```{bibliography}\n:all:\n```\n")
    return folder


@pytest.fixture
def small_book(tmp_path):
    return write_small_book(tmp_path)
