"""Every figure in a live kernel, in JupyterLab."""

import pytest

from attention_workbook.figures.catalogue import FIGURES
from attention_workbook.writer import load_writer, write
from tests.attention_workbook.figures.conftest import FigurePage

pytestmark = pytest.mark.browser


NO_SLIDER = ("OneHead", "Scissors")


def test_python_moves_the_sliders(notebook):
    """Set every number to its largest: both views of each figure follow."""
    before = {}
    for name in FIGURES:
        first, _ = notebook.views(name)
        first.locator.get_by_role("button", name="Reset").click()
        notebook.settle()
        before[name] = first.readouts()
    notebook.run(2)
    for name in FIGURES:
        first, second = notebook.views(name)
        notebook.until(lambda: first.readouts() == second.readouts() != before[name])  # noqa: B023
    assert notebook.errors == []


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in NO_SLIDER])
def test_sliders_and_python_go_in_step(notebook, name):
    """Move a figure's first slider: Python and the other view follow, and nothing else moves."""
    first, second = notebook.views(name)
    closed = first.locator.locator("details.attention-more:not([open]) > summary")
    for more in closed.filter(visible=True).all():
        more.click()  # a figure's only slider may stand there
    slider = first.locator.locator("input[type=range]").first
    trait = first.locator.locator("label:has(input[type=range])").first.get_attribute("data-trait")
    before = notebook.python_state(name), second.readouts()
    at_end = slider.evaluate("input => input.value === input.max")
    slider.press("ArrowLeft" if at_end else "ArrowRight")
    slider.press("d")  # twice, it deletes a selected cell
    slider.press("d")
    notebook.until(lambda: notebook.python_state(name)[trait] != before[0][trait])
    after = notebook.python_state(name)
    assert {**after, trait: 0} == {**before[0], trait: 0}
    notebook.until(lambda: first.readouts() == second.readouts() != before[1])
    assert not first.locator.locator(".attention-failure").is_visible()
    assert notebook.errors == []


def test_a_figure_is_saved_as_one_file(chromium, notebook, tmp_path):
    figure, _ = notebook.views("HeatmapExplorer")
    for more in figure.locator.locator("details.attention-more:not([open]) > summary").all():
        more.click()
    notebook.run(2)
    notebook.until(lambda: figure.control("layer").locator("input").input_value() == "1")
    with notebook.page.expect_download() as saving:
        figure.locator.get_by_role("button", name="Save as one file").click()
    saving.value.save_as(tmp_path / "figure.html")
    context = chromium.new_context(offline=True)
    alone = FigurePage(context.new_page())
    alone.goto((tmp_path / "figure.html").as_uri())
    alone.locator(".attention-live .attention-finding").wait_for()
    assert alone.figure().readouts() == figure.readouts()
    alone.figure().set("layer", 0)
    assert alone.figure().readouts() != figure.readouts()
    assert alone.errors == [] and notebook.errors == []
    context.close()


def begin_anew(notebook, name):
    """A figure's two views, as at the start, whatever the notebook's cells have changed."""
    notebook.run(2)
    first, second = notebook.views(name)
    first.locator.get_by_role("button", name="Reset").click()
    start = FIGURES[name]().state()
    traits = ("text", "place")  # the last one that a cell changes, and what a reader types
    notebook.until(lambda: all(notebook.python_state(name)[t] == start[t] for t in traits))
    notebook.until(lambda: first.readouts() == second.readouts())
    return first, second


def test_a_typed_text_is_read_by_the_copier_in_both_views(notebook):
    first, second = begin_anew(notebook, "CopyingHeads")
    first.locator.locator(".attention-line-of-text input").fill("Harry Potter and Harry P")
    notebook.until(lambda: "comes next: “o”" in second.locator.inner_text())
    assert notebook.python_state("CopyingHeads")["text"] == "harrypotterandharryp"
    assert first.readouts() == second.readouts() and notebook.errors == []


def test_the_writer_writes_through_the_kernel(notebook):
    """Pressing Write fetches the model from the kernel; both views and Python get every letter."""
    first, second = begin_anew(notebook, "Writer")
    first.locator.get_by_label("A beginning of your own").fill("The quer")
    slider = first.control("temperature").locator("input")
    slider.press("Home")
    first.locator.get_by_role("button", name="Write").click()
    letters = second.locator.locator(".attention-writing > text")
    notebook.until(lambda: letters.count() > 40)
    first.locator.get_by_role("button", name="Stop").click()
    notebook.until(lambda: first.readouts() == second.readouts())
    written = notebook.python_state("Writer")["text"]
    assert written == write(load_writer(), "The quer", len(written) - 8, temperature=0)
    assert "".join(letters.all_text_contents()).replace("↵", "").rstrip("▁") == written
    slider.press("End")
    notebook.until(lambda: notebook.python_state("Writer")["temperature"] == 2)
    assert notebook.errors == []
