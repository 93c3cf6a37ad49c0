"""JupyterLab on this machine with all figures in one notebook, driven through Chromium."""

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

from attention_workbook.figures.catalogue import FIGURES
from tests.attention_workbook.figures.conftest import ROOT, FigureView

# Two views of each figure, then a cell that tells Python's side, and one that changes it.
MAKE = """\
import json
from IPython.display import display
from attention_workbook.figures._traits import Real, Whole
from attention_workbook.figures.catalogue import FIGURES
figures = {name: make() for name, make in FIGURES.items()}
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
figures["OneHead"].W_q = [[0, 3], [3, 0]]
figures["Scissors"].cuts = "1:12-7"  # its only whole number opens a list
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab of its own with one notebook; the notebook's address."""
    folder = tmp_path_factory.mktemp("lab")
    sources = (MAKE, TELL, CHANGE)
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

    def __init__(self, page):
        self.page = page
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
        number = 2 * [*FIGURES].index(name)
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
def notebook(chromium, lab):
    """The notebook with its figures, as Run All Cells leaves it."""
    size = {"width": 1280, "height": 1000}
    context = chromium.new_context(viewport=size, reduced_motion="reduce")  # numbers do not wait
    context.set_default_timeout(60_000)
    context.route(re.compile(r"^https?://(?!127\.0\.0\.1)"), lambda route: route.abort())
    notebook = Notebook(context.new_page())
    notebook.page.goto(lab)
    notebook.page.locator(".jp-Notebook").wait_for()
    # The kernel must be there before a widget can speak with it.
    notebook.page.get_by_text(re.compile(r"\| Idle$")).wait_for()
    notebook.page.get_by_role("menuitem", name="Run", exact=True).click()
    notebook.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    views = notebook.page.locator(".attention-view:has(output)")
    views.nth(2 * len(FIGURES) - 1).wait_for(state="attached")
    yield notebook
    context.close()
