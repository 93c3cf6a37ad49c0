"""website/notebooks.py and the hooks of conftest.py, on notebooks with all that can go wrong."""

import base64
import copy
import io
import json
import os
import re
import shutil
import subprocess
import sys
from unittest.mock import patch

import pytest
from PIL import Image

from website import ROOT, notebooks
from website.notebooks import normalise, to_text
from website.pictures import bare_png, encode

from .test_pictures import drawn


def markdown(source, **fields):
    return {"cell_type": "markdown", "metadata": {}, "source": source, **fields}


def code(source, *tags, **fields):
    empty = {"execution_count": None, "outputs": []}
    metadata = {"tags": list(tags)} if tags else {}
    return {"cell_type": "code", "metadata": metadata, "source": source, **empty, **fields}


def notebook(*cells, **metadata):
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def write(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def tool(*arguments):
    """What the tool, called with arguments, complains of; empty where all went well."""
    with patch.object(sys, "argv", ["notebooks.py", *map(str, arguments)]):
        try:
            notebooks.main()
        except SystemExit as stopped:
            return stopped.code
    return ""


EVERYTHING = notebook(
    markdown("# Everything that could change from run to run"),
    code("import os\nimport sys\nimport time\n\nimport matplotlib.pyplot as plt"),
    code("fig, ax = plt.subplots()\nax.plot([0, 1, 2], [0, 1, 3])\nplt.show()"),
    code(
        "print('out 1', flush=True)\nprint('err 1', file=sys.stderr, flush=True)\ntime.sleep(0.3)\n"
        "print('out 2', flush=True)\nprint('err 2', file=sys.stderr)\nfig"
    ),
    code("{}['missing']", "raises-exception"),
    code("from ipywidgets import interact\n\ninteract(lambda x: None, x=10)"),
    code(
        "start = time.perf_counter()\ntime.sleep(0.02)\n"
        "print(f'{1e3 * (time.perf_counter() - start):.6f} ms')",
        "nbval-ignore-output",
    ),
    code(
        "print(r'\\033[0m é → 人工')\nprint('slept long enough: True')\n"
        "print('threads:', os.environ['OMP_NUM_THREADS'])"
    ),
)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """The notebook with everything, as stored by a first run under an awkward environment."""
    path = write(tmp_path_factory.mktemp("stored") / "everything.ipynb", EVERYTHING)
    subprocess.run(
        [sys.executable, str(ROOT / "tools" / "notebooks.py"), str(path)],
        **{"env": os.environ | {"MPLBACKEND": "Agg"}, "check": True, "timeout": 300},
    )
    return path


def test_running_twice_changes_no_byte(everything):
    first = everything.read_bytes()
    assert tool(everything) == ""
    assert everything.read_bytes() == first
    assert tool("--check", everything) == ""


def test_what_is_stored(everything):
    stored = json.loads(everything.read_text(encoding="utf-8"))
    assert stored["metadata"] == notebooks.METADATA
    cells = notebooks.code_cells(stored)
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3, 4, 5, 6, 7]
    assert [cell["id"] for cell in stored["cells"]] == [f"everything-{n}" for n in range(1, 9)]
    _, figure, streams, error, widget, _, text = (cell["outputs"] for cell in cells)
    assert [*figure[0]["data"]] == ["image/png", "text/plain"]
    assert ["".join(output["text"]) for output in streams[:2]] == [
        "out 1\nout 2\n",
        "err 1\nerr 2\n",
    ]
    assert error[0]["traceback"] == ["KeyError: 'missing'"]
    assert widget[0]["data"][notebooks.WIDGET_VIEW]["model_id"] == ""
    assert text[0]["text"][0] == "\\033[0m é → 人工\n"
    assert text[0]["text"][-1] == "threads: 1\n"
    assert "é → 人工" in everything.read_text(encoding="utf-8")


def test_a_picture_that_changed_is_stored_and_one_that_did_not_keeps_its_bytes(
    everything, tmp_path
):
    stored = json.loads(everything.read_text(encoding="utf-8"))
    first, second = (cell["outputs"][-1]["data"] for cell in notebooks.code_cells(stored)[1:3])
    recoded = io.BytesIO()  # the same pixels in other bytes, as from another zlib
    with Image.open(io.BytesIO(base64.b64decode(first["image/png"]))) as image:
        image.save(recoded, format="png", compress_level=1)
    first["image/png"] = encode(bare_png(recoded.getvalue()))
    second["image/png"] = in_the_kernel([0, 2, 3])
    path = write(tmp_path / "everything.ipynb", stored)
    assert tool(path) == ""
    again = json.loads(path.read_text(encoding="utf-8"))
    data = [cell["outputs"][-1]["data"] for cell in notebooks.code_cells(again)[1:3]]
    assert data[0]["image/png"].strip() == first["image/png"]
    assert data[1]["image/png"].strip() != second["image/png"]
    assert tool("--fresh", path) == ""
    again = json.loads(path.read_text(encoding="utf-8"))
    fresh = notebooks.code_cells(again)[1]["outputs"][-1]["data"]
    assert fresh["image/png"].strip() != first["image/png"]


@pytest.mark.parametrize(
    ("cells", "place", "error"),
    [
        (["a = 1", "a / 0"], "cell 3 (code cell 2)", "ZeroDivisionError: division by zero"),
        (["import os\nos._exit(3)"], "cell 2 (code cell 1)", "DeadKernelError"),
    ],
)
def test_a_notebook_that_raises_is_named_and_left_as_it_was(tmp_path, cells, place, error):
    path = write(tmp_path / "broken.ipynb", notebook(markdown("# Broken"), *map(code, cells)))
    before = path.read_bytes()
    complaint = tool(path)
    for said in (f"broken.ipynb, {place}: {error}", *cells[-1].splitlines()):
        assert said in complaint
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_a_cell_that_takes_too_long_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "TIMEOUT", 1)
    path = write(tmp_path / "slow.ipynb", notebook(code("import time\ntime.sleep(60)")))
    assert "slow.ipynb, cell 1 (code cell 1): CellTimeoutError" in tool(path)


def test_a_notebook_that_is_not_there_is_named(tmp_path):
    assert "nowhere.ipynb" in tool(tmp_path / "nowhere.ipynb")


def test_a_full_disk_loses_no_notebook(tmp_path):
    """Here no file may grow beyond 512 kB, more than the kernel's own files need."""
    (tmp_path / "book").mkdir()
    path = write(tmp_path / "book" / "long.ipynb", notebook(code("print('x' * 700_000)")))
    before = path.read_bytes()
    command = [sys.executable, ROOT / "tools" / "notebooks.py", path]
    ran = subprocess.run(
        ["bash", "-c", 'ulimit -f 512; exec "$@"', "-", *command],
        env=os.environ | {"IPYTHONDIR": str(tmp_path / "ipython")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1
    assert ran.stderr == "long.ipynb: left as it was: File too large.\n"
    assert path.read_bytes() == before
    assert [*path.parent.iterdir()] == [path]


def test_a_run_that_is_interrupted_leaves_whole_notebooks(tmp_path):
    stop = "import os, signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)"
    path = write(tmp_path / "stopped.ipynb", notebook(code("1"), code(stop)))
    before = path.read_bytes()
    ran = subprocess.run(
        [sys.executable, ROOT / "tools" / "notebooks.py", path],
        **{"capture_output": True, "text": True, "timeout": 50},
    )
    assert ran.returncode == 1
    # Above it, some kernels log that they were interrupted.
    assert ran.stderr.endswith("Stopped: each notebook is whole, stored anew or as it was.\n")
    assert "website" not in ran.stderr
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_a_reader_without_a_home_stores_no_warning_of_it(tmp_path, monkeypatch):
    """Root may write anywhere, so the home here is a path through a file."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    source = "import matplotlib.pyplot as plt\n\nplt.rcParams['lines.linewidth']"
    path = write(tmp_path / "homeless.ipynb", notebook(code(source)))
    assert tool(path) == ""
    [cell] = notebooks.code_cells(json.loads(path.read_text(encoding="utf-8")))
    assert [output["output_type"] for output in cell["outputs"]] == ["execute_result"]


def test_check_names_the_file_that_is_not_canonical(everything, tmp_path):
    stored = json.loads(everything.read_text(encoding="utf-8"))
    stored["metadata"]["language_info"]["version"] = "3.11.7"
    path = write(tmp_path / "odd.ipynb", stored)
    said = tool("--check", path, everything)
    assert said == "odd.ipynb: not in canonical form; run make notebooks."


def test_report_lists_what_nbval_does_not_compare(everything, capsys):
    assert tool("--report", everything) == ""
    report = capsys.readouterr().out
    assert "everything: 7 code cells, 2 figures, 1 not compared" in report
    assert "cell 5: the error is the lesson, and is compared: KeyError" in report
    assert "cell 7: measures time or memory; compared instead: slept long enough: True" in report


# The form, rule by rule.


def canonical(*cells, **metadata):
    return normalise(notebook(*cells, **metadata), "slug")


def test_form_is_stable():
    once = canonical(code("1", execution_count=4), markdown("# A"))
    assert to_text(normalise(json.loads(to_text(once)), "slug")) == to_text(once)
    assert to_text(once).endswith("}\n") and not to_text(once).endswith("\n\n")


def test_ids_are_kept_made_from_the_place_and_unique():
    cells = [
        markdown("a", id="kept"),
        markdown("b"),
        markdown("c", id="kept"),
        markdown("d", id="slug-2"),
    ]
    names = [cell["id"] for cell in canonical(*cells)["cells"]]
    assert names == ["kept", "slug-3", "slug-4", "slug-2"]


def test_metadata_holds_only_what_the_book_reads():
    cell = code("1", "hide-input", "extra")
    cell["metadata"] |= {
        "execution": {"iopub.status.busy": "now"},
        "collapsed": False,
        "mystnb": {"a": 1},
    }
    clean = canonical(cell, widgets={"state": {}}, kernelspec={"name": "other"})
    assert clean["metadata"] == notebooks.METADATA
    assert clean["cells"][0]["metadata"] == {
        "jupyter": {"source_hidden": True},
        "mystnb": {"a": 1},
        "tags": ["hide-input", "extra"],
    }


def test_a_cell_that_was_not_run_is_not_passed_off_as_run():
    counts = [code("1", execution_count=7), code("2"), code("3", execution_count=9)]
    assert [cell["execution_count"] for cell in canonical(*counts)["cells"]] == [1, None, 2]


def test_a_widget_keeps_its_html_and_loses_its_view():
    view = {
        notebooks.WIDGET_VIEW: {"model_id": "random"},
        "text/plain": "W()",
        "text/html": ["<p>", "</p>"],
    }
    output = {"output_type": "display_data", "data": view, "metadata": {}}
    [clean] = canonical(code("W()", outputs=[output]))["cells"][0]["outputs"]
    assert clean["data"] == {"text/plain": "W()", "text/html": "<p></p>"}


def test_streams_are_joined_between_other_outputs_only():
    figure = {"output_type": "display_data", "data": {"text/plain": "x"}, "metadata": {}}
    chunks = [
        stream("a"),
        stream("e", "stderr"),
        stream("b"),
        figure,
        stream("0%\r50%\r"),
        stream("100%\n"),
    ]
    [cell] = canonical(code("f()", outputs=chunks))["cells"]
    texts = [(output.get("name"), output.get("text")) for output in cell["outputs"]]
    assert texts == [("stdout", "ab"), ("stderr", "e"), (None, None), ("stdout", "100%\n")]


def test_old_formats_are_refused(tmp_path):
    path = write(tmp_path / "old.ipynb", {"nbformat": 3, "worksheets": []})
    with pytest.raises(ValueError, match="format 3, expected 4"):
        notebooks.read(path)


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("took 12.3 ms, 3 GiB", "took  9.8 ms, 4 GiB", True),
        ("took 980 µs", "took 1.2 ms", True),
        ("34.5 μs ± 29.6 ns per loop", "1 s ± 2 s per loop", True),
        ("took 12.3 ms", "needed 12.3 ms", False),
        ("dot 3 ms", "dot 3 ms\nadditive 4 ms", False),
    ],
)
def test_measurements_alone_do_not_change_the_file(before, after, kept):
    def cell(text, *tags):
        return canonical(code("measure()", *tags, outputs=[stream(text)]))

    old, new = cell(before, "nbval-ignore-output"), cell(after, "nbval-ignore-output")
    notebooks.keep_stored(old, new)
    assert new["cells"][0]["outputs"][0]["text"] == (before if kept else after)
    old, new = cell(before), cell(after)
    notebooks.keep_stored(old, new)
    assert new["cells"][0]["outputs"][0]["text"] == after  # a cell without the tag is never kept


# The hooks of conftest.py, in a pytest of their own.


def nbval(folder, content):
    """Run nbval with this repository's conftest.py on a notebook; the outcome of each code cell."""
    shutil.copy(ROOT / "conftest.py", folder)
    write(folder / "stored.ipynb", content)
    result = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-c", os.devnull),
            *("--rootdir", str(folder), "--nbval", "--nbval-current-env", str(folder)),
        ],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
        **{"capture_output": True, "text": True, "timeout": 300},
    )
    return re.findall(r"::Cell \d+ ([A-Z]+)", result.stdout), result.stdout


def in_the_kernel(y, **changes):
    """What the kernel draws for ``ax.plot([0, 1, 2], y)``, as a notebook stores it."""
    return encode(drawn(lambda ax: ax.plot([0, 1, 2], y), size=(6.4, 4.8), **changes))


DRAWING = '<svg xmlns="http://www.w3.org/2000/svg"><path id="{}" d="M 0 0 H {}"/></svg>'
VECTORS = f"from IPython.display import SVG, display\n\ndisplay(SVG('{DRAWING.format('p1', 10)}'))"


def vectors(name, width):
    """The output of VECTORS, with a path of another name or width."""
    data = {
        "image/svg+xml": DRAWING.format(name, width),
        "text/plain": "<IPython.core.display.SVG object>",
    }
    return {"output_type": "display_data", "metadata": {}, "data": data}


def test_nbval_compares_pictures_and_html(everything, tmp_path):
    stored = json.loads(everything.read_text(encoding="utf-8"))
    imports, figure, *_ = notebooks.code_cells(stored)
    wrong, moved, missing, ignored, html, changed_html = (
        copy.deepcopy(figure | {"id": f"copy-{n}"}) for n in range(6)
    )
    wrong["outputs"][0]["data"]["image/png"] = in_the_kernel([0, 2, 3])
    other_letters = in_the_kernel([0, 1, 3], software="another", **{"text.hinting": "no_hinting"})
    moved["outputs"][0]["data"]["image/png"] = other_letters
    del missing["outputs"][0]["data"]["image/png"]
    ignored["outputs"] = copy.deepcopy(wrong["outputs"])
    ignored["metadata"]["tags"] = ["nbval-ignore-output"]
    source = "from IPython.display import HTML, display\n\ndisplay(HTML('<b>1</b>'))"
    data = {"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>1</b>"}
    output = {"output_type": "display_data", "metadata": {}, "data": data}
    html |= {"source": source, "outputs": [output]}
    changed_html |= {"source": source, "outputs": copy.deepcopy(html["outputs"])}
    changed_html["outputs"][0]["data"]["text/html"] = "<b>2</b>"
    renamed, redrawn = (
        figure | {"id": f"vectors-{n}", "source": VECTORS, "outputs": [vectors(name, width)]}
        for n, (name, width) in enumerate([("p7", 10), ("p1", 11)])
    )
    cells = [imports, figure, wrong, moved, missing, ignored, html, changed_html, renamed, redrawn]
    outcomes, said = nbval(tmp_path, stored | {"cells": cells})
    expected = ["PASSED", "PASSED", "FAILED", "PASSED", "FAILED", "PASSED", "PASSED", "FAILED"]
    expected += ["PASSED", "FAILED"]
    assert outcomes == expected, said
    assert "Picture 1 is not the one stored" in said and "run make notebooks" in said
    assert "0 pictures are stored, the cell draws 1" in said
    pictures = sorted(path.name for path in (tmp_path / "_build" / "pictures").iterdir())
    assert pictures == [
        *("stored-2-1-fresh.png", "stored-2-1-stored.png"),
        *("stored-9-1-fresh.svg", "stored-9-1-stored.svg"),
    ]
