"""The figures in a live kernel: JupyterLab on this machine, driven through Chromium."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

from .conftest import ROOT, FigurePage, FigureView

pytestmark = pytest.mark.browser

SOME = ["SoftLookup", "HeatmapExplorer", "SentenceReader"]

# Two views of each figure, then a cell that tells Python's side, and one that changes it.
MAKE = """\
import json
from IPython.display import display
from workbook.figures._traits import Real, Whole
from workbook.figures.catalogue import FIGURES
figures = {name: FIGURES[name]() for name in NAMES}
for name in figures:
    display(figures[name], figures[name])"""
# Without the models' weights: JupyterLab cuts off an output of more than a megabyte.
TELL = """\
plain = lambda state: {name: value for name, value in state.items() if not isinstance(value, bytes)}
print(json.dumps({name: plain(figure.state()) for name, figure in figures.items()}))"""
CHANGE = """\
for figure in figures.values():
    for name in figure.state():
        trait = figure.traits()[name]
        if isinstance(trait, (Whole, Real)):
            setattr(figure, name, trait.max)
if "Scissors" in figures:  # its only whole number opens a list
    figures["Scissors"].cuts = "1:12-7"
"""
INTERACT = """\
from workbook.figures.interact import interact
def inverse(number=4):
    print(f"1 / {number} = {1 / number:.3f}")
interact(inverse, number=(0, 9))"""


@pytest.fixture(scope="module")
def names():
    """The figures in the notebook; tests/nightly tries all."""
    return SOME


@pytest.fixture(scope="module")
def lab(tmp_path_factory, names):
    """A JupyterLab of its own with one notebook; the notebook's address."""
    folder = tmp_path_factory.mktemp("lab")
    sources = (MAKE.replace("NAMES", repr(names)), TELL, CHANGE, INTERACT)
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
    nbformat.write(notebook, folder / "figures.ipynb")
    settings = folder / "settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)  # keep cells on the page that are scrolled out of sight
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = os.environ | {place: str(folder / place) for place in places}
    environment |= {"PYTHONPATH": str(ROOT), "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")}
    options = {
        "ip": "127.0.0.1",
        "port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
        "IdentityProvider.token": "",
        "LabApp.news_url": None,
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--{name}={value}" for name, value in options.items()]
    log = folder / "log"
    with log.open("w") as written:
        server = subprocess.Popen(command, env=environment, stdout=written, stderr=written)
    try:
        for _ in range(240):
            assert server.poll() is None, log.read_text()
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=1).close()
                break
            except OSError:
                time.sleep(0.25)
        yield f"http://127.0.0.1:{port}/lab/tree/figures.ipynb?reset"
    finally:
        server.terminate()
        server.wait(30)


class Notebook:
    """An open notebook whose cells can be run."""

    def __init__(self, page, names):
        self.page = page
        self.names = names
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def settle(self):
        self.page.wait_for_timeout(100)

    def until(self, holds):
        """Wait until something holds: kernel and page talk as fast as the machine lets them."""
        deadline = time.monotonic() + 30
        while not holds() and time.monotonic() < deadline:
            self.settle()
        assert holds()

    def views(self, name):
        """The two views of a figure."""
        number = 2 * self.names.index(name)
        return FigureView(self, number), FigureView(self, number + 1)

    def locator(self, selector):
        return self.page.locator(selector)

    def run(self, number):
        """Run a cell and return the text that it shows."""
        cell = self.page.locator(".jp-CodeCell").nth(number)
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            "([prompt, before]) => prompt.innerText !== before && /\\d/.test(prompt.innerText)",
            arg=[prompt.element_handle(), before],
        )
        self.settle()
        return cell.locator(".jp-OutputArea-output").all_inner_texts()

    def python_state(self, name):
        """The figure's traits as Python has them."""
        (text,) = self.run(1)
        return json.loads(text)[name]


@pytest.fixture(scope="module")
def notebook(chromium, lab, names):
    """The notebook with its figures, as Run All Cells leaves it."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(60_000)
    context.route(re.compile(r"^https?://(?!127\.0\.0\.1)"), lambda route: route.abort())
    notebook = Notebook(context.new_page(), names)
    notebook.page.goto(lab)
    notebook.page.locator(".jp-Notebook").wait_for()
    # The kernel must be there before a widget can speak with it.
    notebook.page.get_by_text(re.compile(r"\| Idle$")).wait_for()
    notebook.page.get_by_role("menuitem", name="Run", exact=True).click()
    notebook.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    views = notebook.page.locator(".attention-view:has(output)")
    views.nth(2 * len(names) - 1).wait_for(state="attached")
    yield notebook
    context.close()


def hold_sliders(notebook, name):
    """Move a figure's first slider: Python and the other view follow, and nothing else moves."""
    first, second = notebook.views(name)
    closed = first.locator.locator("details.attention-more:not([open]) > summary")
    for more in closed.filter(visible=True).all():
        more.click()  # a figure's only slider may stand there
    slider = first.locator.locator("input[type=range]").first
    trait = first.locator.locator("label:has(input[type=range])").first.get_attribute("data-trait")
    before = notebook.python_state(name), second.readouts()
    slider.press("Home")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    notebook.until(lambda: notebook.python_state(name)[trait] != before[0][trait])
    after = notebook.python_state(name)
    assert {**after, trait: 0} == {**before[0], trait: 0}
    notebook.until(lambda: first.readouts() == second.readouts() != before[1])
    assert not first.locator.locator(".attention-failure").is_visible()
    assert notebook.errors == []


@pytest.mark.parametrize("name", SOME)
def test_sliders_and_python_go_in_step(notebook, name):
    hold_sliders(notebook, name)


def test_python_moves_the_sliders(notebook):
    move_from_python(notebook)


def move_from_python(notebook):
    """Set every number to its largest: both views of each figure follow."""
    before = {}
    for name in notebook.names:
        first, _ = notebook.views(name)
        first.locator.get_by_role("button", name="Reset").click()
        notebook.settle()
        before[name] = first.readouts()
    notebook.run(2)
    for name in notebook.names:
        first, second = notebook.views(name)
        notebook.until(lambda: first.readouts() == second.readouts() != before[name])  # noqa: B023
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


def test_interact_runs_the_function_in_the_kernel(notebook):
    cell = notebook.page.locator(".jp-CodeCell").nth(3)
    slider = cell.get_by_role("slider")

    def shows(text):
        notebook.until(lambda: text in cell.locator("pre").last.inner_text())

    shows("1 / 4 = 0.250")
    assert "running kernel" not in cell.inner_text(), "the live view, not the still"
    slider.press("ArrowRight")
    shows("1 / 5 = 0.200")
    slider.press("Home")
    shows("ZeroDivisionError")
    slider.press("ArrowRight")
    shows("1 / 1 = 1.000")
    assert notebook.errors == []
