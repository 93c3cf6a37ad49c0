"""The figures on pages that Sphinx has built: a small book of our own, and the book itself."""

import json
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from workbook.figures import FIGURES

from .conftest import ROOT, FigurePage

VIEW = "application/vnd.jupyter.widget-view+json"
HTML = ROOT / "_build" / "html"


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


@pytest.mark.building
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


@pytest.mark.building
def test_every_figure_stands_on_its_page(small_book):
    html, _ = small_book
    figures = page_of(html, "book/figures").select("figure.attention-widget[data-state] > img")
    assert [figure.parent["data-widget"] for figure in figures] == [*FIGURES]
    for figure in figures:
        state = json.loads(figure.parent["data-state"])
        assert set(state) == set(FIGURES[figure.parent["data-widget"]]().state())


@pytest.mark.building
def test_a_widget_that_would_vanish_is_a_warning(small_book):
    _, said = small_book
    lines = [line for line in said.splitlines() if "vanishes" in line]
    assert len(lines) == 1
    assert "lost" in lines[0] and "WARNING: a widget without text/html vanishes: VBox()" in lines[0]


@pytest.mark.site
def test_an_unknown_figure_is_an_error():
    from docutils.core import publish_doctree
    from docutils.parsers.rst import directives
    from docutils.utils import SystemMessage

    from website.extensions.slider_figures import SliderFigure

    directives.register_directive("slider-figure", SliderFigure)
    with pytest.raises(SystemMessage, match=r"no figure 'Nothing'; there are .*SoftmaxSaturation"):
        publish_doctree(
            ".. slider-figure:: Nothing",
            settings_overrides={"halt_level": 3, "report_level": 5},
        )


@pytest.fixture
def visit(chromium):
    """Return a function that opens a page of a built book from its folder, with no network."""
    contexts = []

    def visit(path, figures):
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        contexts.append(context)
        page = FigurePage(context.new_page())

        def answer(route):
            if route.request.url.startswith("file:"):
                return route.continue_()
            page.refused.append(route.request.url)
            return route.abort()

        context.route("**/*", answer)
        page.goto(path.as_uri())
        live = "document.querySelectorAll('.attention-live').length"
        page.wait_for_function(f"{live} === {figures}")
        page.settle()
        return page

    yield visit
    for context in contexts:
        context.close()


def ours(page):
    """What a page's figures have asked of others, or complained of."""
    return [text for text in page.errors + page.refused if "attention_widgets" in text]


def answers(page, figure, slider):
    """Whether the figure's numbers change as its slider goes through its range."""
    slider.evaluate(
        "input => { const more = input.closest('details'); if (more) more.open = true; }"
    )
    before = figure.readouts()
    for key in ("Home", "ArrowRight", "End"):
        slider.press(key)
        page.settle()
        if figure.readouts() != before:
            return True
    return False


@pytest.mark.building
@pytest.mark.browser
def test_a_book_opened_from_its_folder_has_sliders(small_book, visit):
    html, _ = small_book
    page = visit(html / "book" / "figures.html", len(FIGURES))
    for number, name in enumerate(FIGURES):
        figure = page.figure(number)
        assert answers(page, figure, figure.locator.locator("input[type=range]").first), name
    assert ours(page) == []


# ---------------------------------------------------------------- the book itself


def notebooks():
    return sorted((ROOT / "book").glob("*.ipynb"))


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_stored_widgets_have_html_and_no_state(path):
    notebook = nbformat.read(path, as_version=4)
    assert "widgets" not in notebook.metadata
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if VIEW in data:
                assert "text/html" in data, f"this widget vanishes from the page: {cell.source}"


@pytest.mark.site
@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_the_book_shows_every_stored_figure(path):
    page = HTML / "book" / f"{path.stem}.html"
    if not page.is_file():
        pytest.skip("the book is not built")
    notebook = nbformat.read(path, as_version=4)
    stored = [
        figure["data-state"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for figure in BeautifulSoup(
            "".join(output.get("data", {}).get("text/html", "")), "html.parser"
        ).select("figure.attention-widget")
    ]
    shown = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    assert [one["data-state"] for one in shown.select("figure.attention-widget")] == stored


@pytest.mark.site
@pytest.mark.browser
def test_the_books_figures_come_to_life(visit):
    found = {}
    for path in sorted(HTML.glob("book/*.html")):
        count = path.read_text(encoding="utf-8").count('<figure class="attention-widget"')
        if count:
            found[path] = count
    if not found:
        pytest.skip("the book is not built, or has no figures yet")
    for path, count in found.items():
        page = visit(path, count)
        assert ours(page) == []
        sliders = page.figure().locator.locator("input[type=range]").all()
        assert any(answers(page, page.figure(), slider) for slider in sliders), path
