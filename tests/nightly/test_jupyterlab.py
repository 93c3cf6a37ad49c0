"""Every figure in a live kernel; the gate tries three of them (tests/workbook/figures)."""

import pytest

from tests.workbook.figures import test_jupyterlab
from workbook.figures.catalogue import FIGURES
from workbook.writer import load_writer, write

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def names():
    return [*FIGURES]


def test_python_moves_the_sliders_of_every_figure(notebook):
    test_jupyterlab.move_from_python(notebook)


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "Scissors"])  # has none
def test_sliders_and_python_go_in_step(notebook, name):
    test_jupyterlab.hold_sliders(notebook, name)


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
