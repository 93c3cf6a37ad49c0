"""The figures on the pages of a small book of our own, which has every figure there is.

The gate looks at the figures of the book itself (tests/attention_workbook/figures/test_pages.py).
"""

import json
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from attention_workbook.figures.catalogue import FIGURES
from tests.attention_workbook.figures.conftest import ROOT
from tests.attention_workbook.figures.test_pages import VIEW, answers, come_to_life, ours, visit  # noqa: F401


def widget_cell(source, **more):
    view = {VIEW: {"model_id": "", "version_major": 2, "version_minor": 0}, "text/plain": "…"}
    output = nbformat.v4.new_output("display_data", data=view | more)
    return nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1)


@pytest.fixture(scope="module")
def small_book(tmp_path_factory):
    """A book with the real settings: an index with a figure, a notebook, and one with losses."""
    folder = tmp_path_factory.mktemp("book")
    shutil.copy(ROOT / "_config.yml", folder)
    shutil.copytree(ROOT / "website", folder / "website")
    (folder / "book").mkdir()
    (folder / "book" / "references.bib").write_text("", encoding="utf-8")
    (folder / "_toc.yml").write_text(
        yaml.safe_dump(
            {
                "format": "jb-book",
                "root": "book/index",
                "chapters": [{"file": f"book/{name}"} for name in ("figures", "lost", "plain")],
            }
        )
    )
    directive = "# Index\n\n```{slider-figure} SoftmaxSaturation\n```\n"
    (folder / "book" / "index.md").write_text(directive, encoding="utf-8")
    (folder / "book" / "plain.md").write_text("# Plain\n", encoding="utf-8")
    title = nbformat.v4.new_markdown_cell("# Title")
    shown = [
        widget_cell(f"{name}()", **{"text/html": FIGURES[name]().to_html()}) for name in FIGURES
    ]
    for name, cells in {"figures": shown, "lost": [widget_cell("VBox()")]}.items():
        notebook = nbformat.v4.new_notebook(cells=[title, *cells])
        nbformat.write(notebook, folder / "book" / f"{name}.ipynb")
    command = "from jupyter_book.cli.main import main; main()"
    built = subprocess.run(
        [sys.executable, "-c", command, "build", ".", "-n", "-q"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    assert built.returncode == 0, built.stdout
    return folder / "_build" / "html", built.stdout


def page_of(html, name):
    return BeautifulSoup((html / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


def own_scripts(page):
    """The figures' scripts that a page loads, in order, without folder and version."""
    found = [node["src"] for node in page.select("script[src*=attention_widgets]")]
    return [re.fullmatch(r".*/(\w+)\.js\?v=\w+", source)[1] for source in found]


def test_a_page_loads_the_scripts_of_its_figures_and_no_others(small_book):
    html, _ = small_book
    assert own_scripts(page_of(html, "book/index")) == ["host", "SoftmaxSaturation"]
    assert own_scripts(page_of(html, "book/figures")) == ["host", *FIGURES]
    assert own_scripts(page_of(html, "book/plain")) == []
    for node in page_of(html, "book/figures").select("script[src*=attention_widgets]"):
        assert node.has_attr("defer")
        assert (html / "book" / node["src"].partition("?")[0]).resolve().is_file()
    assert not page_of(html, "book/plain").select("link[href*=attention_widgets]")
    assert len(page_of(html, "book/index").select("link[href*=attention_widgets]")) == 1


def test_every_figure_stands_on_its_page(small_book):
    html, _ = small_book
    figures = page_of(html, "book/figures").select("figure.attention-widget[data-state] > img")
    assert [figure.parent["data-widget"] for figure in figures] == [*FIGURES]
    for figure in figures:
        state = json.loads(figure.parent["data-state"])
        assert set(state) == set(FIGURES[figure.parent["data-widget"]]().state())


def test_a_widget_that_would_vanish_is_a_warning(small_book):
    _, said = small_book
    lines = [line for line in said.splitlines() if "vanishes" in line]
    assert len(lines) == 1
    assert "lost" in lines[0] and "WARNING: a widget without text/html vanishes: VBox()" in lines[0]


@pytest.mark.browser
def test_a_book_opened_from_its_folder_has_sliders(small_book, visit):  # noqa: F811
    html, _ = small_book
    page = visit(html / "book" / "figures.html", len(FIGURES))
    for number, name in enumerate(FIGURES):
        if name == "Scissors":  # it has lines to cut, and no slider
            continue
        figure = page.figure(number)
        assert answers(page, figure, figure.locator.locator("input[type=range]").first), name
    assert ours(page) == []


@pytest.mark.site
@pytest.mark.browser
def test_all_of_the_books_figures_come_to_life(visit):  # noqa: F811
    come_to_life(visit, slice(None))
