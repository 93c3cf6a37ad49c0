"""The figures on the pages of the built book."""

import re

import nbformat
import pytest

from .conftest import ROOT, FigurePage

VIEW = "application/vnd.jupyter.widget-view+json"
HTML = ROOT / "_build" / "html"
SLIDERS = "input[type=range]"
STATE = re.compile(r'<figure class="attention-widget"[^>]* data-state="([^"]*)"')


@pytest.mark.site
def test_an_unknown_figure_is_an_error():
    from docutils.core import publish_doctree
    from docutils.parsers.rst import directives
    from docutils.utils import SystemMessage

    from website.extensions.figures import SliderFigure

    directives.register_directive("slider-figure", SliderFigure)
    with pytest.raises(SystemMessage, match="no figure 'Nothing'"):
        publish_doctree(
            ".. slider-figure:: Nothing",
            settings_overrides={"halt_level": 3, "report_level": 5},
        )


@pytest.fixture
def visit(chromium):
    """Return a function that opens a page of a built book from its folder, with no network."""
    contexts = []

    def visit(path, figures):
        size = {"width": 1280, "height": 900}
        context = chromium.new_context(viewport=size, reduced_motion="reduce")
        contexts.append(context)
        page = FigurePage(context.new_page())

        def answer(route):
            if route.request.url.startswith("file:"):
                return route.continue_()
            page.refused.append(route.request.url)
            return route.abort()

        context.route("**/*", answer)
        page.goto(path.as_uri())
        page.locator(".attention-live").nth(figures - 1).wait_for(state="attached")
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
        state
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for state in STATE.findall("".join(output.get("data", {}).get("text/html", "")))
    ]
    text = page.read_text(encoding="utf-8")
    at_once = STATE.findall(text)  # a long state comes later
    assert at_once == [state for state in stored if state in at_once] and at_once[:1] == stored[:1]
    assert text.count('<figure class="attention-widget"') == len(stored)


@pytest.mark.site
@pytest.mark.browser
def test_some_of_the_books_figures_come_to_life(visit):
    come_to_life(visit, slice(None, None, 12))


def come_to_life(visit, which):
    """Open pages of the book from their folder: their figures answer, and ask nothing of others."""
    found = {}
    for path in sorted(HTML.glob("book/*.html")):
        count = path.read_text(encoding="utf-8").count('<figure class="attention-widget"')
        if count:
            found[path] = count
    if not found:
        pytest.skip("the book is not built, or has no figures yet")
    for path, count in [*found.items()][which]:
        page = visit(path, count)
        assert ours(page) == []
        figures = [page.figure(number) for number in range(count)]
        sliders = [(one, own) for one in figures for own in one.locator.locator(SLIDERS).all()]
        answered = any(answers(page, figure, slider) for figure, slider in sliders)
        assert answered or not sliders, (
            path
        )  # Scissors has none: tests/attention_workbook/test_scissors.py
