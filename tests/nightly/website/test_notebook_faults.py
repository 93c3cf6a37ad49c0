"""A run of notebooks that fails leaves every stored notebook whole, and says which one failed."""

import json
import os
import signal
import subprocess
import sys

from website import ROOT, notebooks

from .test_notebooks import code, markdown, notebook, tool, write

COMMAND = [sys.executable, ROOT / "tools" / "notebooks.py"]


def test_a_killed_kernel_is_named_and_the_notebook_stays(tmp_path):
    path = write(tmp_path / "dead.ipynb", notebook(markdown("#"), code("import os\nos._exit(3)")))
    before = path.read_bytes()
    assert "dead.ipynb, cell 2 (code cell 1): DeadKernelError" in tool(path)
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_a_cell_that_takes_too_long_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "TIMEOUT", 1)
    path = write(tmp_path / "slow.ipynb", notebook(code("import time\ntime.sleep(60)")))
    assert "slow.ipynb, cell 1 (code cell 1): CellTimeoutError" in tool(path)


def test_a_full_disk_loses_no_notebook(tmp_path):
    """Here no file may grow beyond 512 kB, more than the kernel's own files need."""
    (tmp_path / "book").mkdir()
    path = write(tmp_path / "book" / "long.ipynb", notebook(code("print('x' * 700_000)")))
    before = path.read_bytes()
    ran = subprocess.run(
        ["bash", "-c", 'ulimit -f 512; exec "$@"', "-", *COMMAND, path],
        env=os.environ | {"IPYTHONDIR": str(tmp_path / "ipython"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1
    assert ran.stderr == "long.ipynb: left as it was: File too large.\n"
    assert path.read_bytes() == before
    assert [*path.parent.iterdir()] == [path]


def test_an_interrupted_run_leaves_whole_notebooks(tmp_path):
    stop = "import os, signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)"
    path = write(tmp_path / "stopped.ipynb", notebook(code("1"), code(stop)))
    before = path.read_bytes()
    ran = subprocess.run(
        [*COMMAND, path],
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # a background job has none
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1
    # Above it, some kernels log that they were interrupted.
    assert ran.stderr.endswith("Stopped: each notebook is whole, stored anew or as it was.\n")
    assert "website" not in ran.stderr
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_without_a_writable_home_no_warning_is_stored(tmp_path, monkeypatch):
    """Root may write anywhere, so the home here is a path through a file."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    source = "import matplotlib.pyplot as plt\n\nplt.rcParams['lines.linewidth']"
    path = write(tmp_path / "homeless.ipynb", notebook(code(source)))
    assert tool(path) == ""
    [cell] = notebooks.code_cells(json.loads(path.read_text(encoding="utf-8")))
    assert [output["output_type"] for output in cell["outputs"]] == ["execute_result"]
