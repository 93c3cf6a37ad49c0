"""Buttons for Colab and Binder, where the book has an address."""

import re

import nbformat

from tests.nightly.website.test_carrier import GOOD, configure
from tests.website.test_travelling_notebooks import links, read
from website import book
from website.notebooks import chapters


def test_a_publisher_gets_buttons_for_colab_and_binder_and_links_to_the_website(small_book):
    configure(small_book, workbook_repository=GOOD, html_baseurl="https://readers.test/attention")
    with open(small_book / "_toc.yml", "a") as toc:
        toc.write("chapters:\n- file: book/chapter\n")
    cells = [
        nbformat.v4.new_markdown_cell("# A chapter\n\n[a page](index.md), [here](chapter.ipynb)"),
        nbformat.v4.new_code_cell("1 + 1", execution_count=1),
    ]
    chapter = nbformat.v4.new_notebook(cells=cells, metadata=read(chapters()[0])["metadata"])
    nbformat.write(chapter, small_book / "book" / "chapter.ipynb")
    book.main(small_book)
    built = small_book / "_build" / "html"
    page = (built / "book" / "chapter.html").read_text(encoding="utf-8")
    assert re.findall(
        r'<a [^>]*href="([^"]*(?:colab|binder)[^"]*)"[^>]*>(.+?)</a>', page, re.S
    ) == [
        (
            "https://colab.research.google.com/github/someone/attention-workbook"
            "/blob/notebooks/book/chapter.ipynb",
            "Open in Colab",
        ),
        (
            "https://mybinder.org/v2/gh/someone/attention-workbook/notebooks"
            "?labpath=book/chapter.ipynb",
            "Open in Binder",
        ),
    ]
    assert "colab" not in (built / "book" / "index.html").read_text(encoding="utf-8")
    assert links(read(built / "_sources" / "book" / "chapter.ipynb")) == [
        "https://creativecommons.org/licenses/by/4.0/",
        "https://opensource.org/license/mit",
        "https://readers.test/attention/book/chapter.html",
        "https://readers.test/attention/book/index.html",
        "https://readers.test/attention/book/chapter.html",
    ]
