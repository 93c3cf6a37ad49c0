"""Notebooks are stored in one form, and nbval compares their pictures as well as their text."""

import base64
import copy
import io
import json
import os
import re
import subprocess
import sys
from unittest.mock import patch

import pytest
from PIL import Image

from tools import notebooks as command
from website import ROOT, notebooks
from website.notebooks import normalise
from website.pictures import encode

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


def shown(**data):
    return {"output_type": "display_data", "metadata": {}, "data": data}


def write(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def tool(*arguments):
    """What the tool, called with arguments, complains of; empty where all went well."""
    with patch.object(sys, "argv", ["notebooks.py", *map(str, arguments)]):
        try:
            command.main()
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


def in_the_kernel(y, **changes):
    """What the kernel draws for ``ax.plot([0, 1, 2], y)``, as a notebook stores it."""
    return encode(drawn(lambda ax: ax.plot([0, 1, 2], y), size=(6.4, 4.8), **changes))


def recoded(picture):
    """The same pixels in other bytes, as from another zlib."""
    png = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        image.save(png, format="png", compress_level=1)
    return encode(png.getvalue())


def test_running_twice_changes_no_byte(everything):
    first = everything.read_bytes()
    assert tool(everything) == ""
    assert everything.read_bytes() == first


def test_outputs_are_stored_without_what_changes_from_run_to_run(everything):
    stored = json.loads(everything.read_text(encoding="utf-8"))
    assert stored["metadata"] == notebooks.METADATA
    cells = notebooks.code_cells(stored)
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3, 4, 5, 6, 7]
    assert [cell["id"] for cell in stored["cells"]] == [f"everything-{n}" for n in range(1, 9)]
    _, figure, streams, error, widget, _, text = (cell["outputs"] for cell in cells)
    assert [*figure[0]["data"]] == ["image/png", "text/plain"]
    texts = ["".join(output["text"]) for output in streams[:2]]
    assert texts == ["out 1\nout 2\n", "err 1\nerr 2\n"]
    assert error[0]["traceback"] == ["KeyError: 'missing'"]
    assert widget[0]["data"][notebooks.WIDGET_VIEW]["model_id"] == ""
    assert text[0]["text"][0] == "\\033[0m é → 人工\n"
    assert text[0]["text"][-1] == "threads: 1\n"
    assert "é → 人工" in everything.read_text(encoding="utf-8")


def test_only_a_picture_that_shows_something_else_is_stored_anew(everything, tmp_path):
    def pictures():
        cells = notebooks.code_cells(json.loads(path.read_text(encoding="utf-8")))
        return [cell["outputs"][-1]["data"]["image/png"].strip() for cell in cells[1:3]]

    stored = json.loads(everything.read_text(encoding="utf-8"))
    first, second = (cell["outputs"][-1]["data"] for cell in notebooks.code_cells(stored)[1:3])
    first["image/png"] = notebooks.bare({"image/png": recoded(first["image/png"])})["image/png"]
    second["image/png"] = in_the_kernel([0, 2, 3])
    path = write(tmp_path / "everything.ipynb", stored)
    before = pictures()
    assert tool(path) == ""
    assert [new == old for new, old in zip(pictures(), before, strict=True)] == [True, False]
    assert tool("--fresh", path) == ""
    assert pictures()[0] != before[0]


def test_a_notebook_that_raises_is_named_and_left_as_it_was(tmp_path):
    cells = markdown("# Broken"), code("a = 1"), code("a / 0")
    path = write(tmp_path / "broken.ipynb", notebook(*cells))
    before = path.read_bytes()
    complaint = tool(path)
    place = "broken.ipynb, cell 3 (code cell 2)"
    assert f"{place}: ZeroDivisionError: division by zero\n    a / 0" in complaint
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]
    assert "nowhere.ipynb" in tool(tmp_path / "nowhere.ipynb")


def test_what_another_program_saved_is_mended_without_a_run(everything, tmp_path):
    stored = json.loads(everything.read_text(encoding="utf-8"))
    stored["metadata"] |= {"language_info": {"version": "3.11.7"}, "widgets": {"state": {}}}
    path = write(tmp_path / "everything.ipynb", stored)
    assert tool("--tidy", path) == ""
    assert path.read_bytes() == everything.read_bytes()


# ------------------------------------------------------------------------- the form, rule by rule


def canonical(*cells, **metadata):
    return normalise(notebook(*cells, **metadata), "slug")


def test_a_cell_that_was_not_run_is_not_passed_off_as_run():
    counts = [code("1", execution_count=7), code("2"), code("3", execution_count=9)]
    assert [cell["execution_count"] for cell in canonical(*counts)["cells"]] == [1, None, 2]


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
    def stored(*tags):
        old, new = (canonical(code("f()", *tags, outputs=[stream(x)])) for x in (before, after))
        notebooks.keep_stored(old, new)
        return new["cells"][0]["outputs"][0]["text"]

    assert stored("nbval-ignore-output") == (before if kept else after)
    assert stored() == after  # a cell without the tag is never kept


# ------------------------------------------- the hooks of conftest.py, in a pytest of their own


def nbval(folder, content):
    """Run nbval with this repository's conftest.py on a notebook; the outcome of each code cell."""
    path = write(folder / "stored.ipynb", content)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-c", os.devnull]
    command += ["-p", "conftest", "--rootdir", folder, "--nbval", "--nbval-current-env", path]
    result = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
        **{"capture_output": True, "text": True, "timeout": 300},
    )
    return re.findall(r"::Cell \d+ ([A-Z]+)", result.stdout), result.stdout


SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path id="{}" d="M 0 0 H {}"/></svg>'
DRAWS = f"from IPython.display import SVG, display\n\ndisplay(SVG('{SVG.format('p1', 10)}'))"
SHOWS = "from IPython.display import HTML, display\n\ndisplay(HTML('<b>1</b>'))"


def test_nbval_compares_pictures_and_html(everything, tmp_path):
    stored = json.loads(everything.read_text(encoding="utf-8"))
    imports, figure, *_ = notebooks.code_cells(stored)

    def png(picture, *tags):
        cell = copy.deepcopy(figure)
        cell["outputs"][0]["data"]["image/png"] = picture
        return cell | {"metadata": {"tags": [*tags]}}

    def svg(*parts):
        plain = "<IPython.core.display.SVG object>"
        data = {"image/svg+xml": SVG.format(*parts), "text/plain": plain}
        return code(DRAWS, execution_count=1, outputs=[shown(**data)])

    def html(text):
        data = {"text/html": text, "text/plain": "<IPython.core.display.HTML object>"}
        return code(SHOWS, execution_count=1, outputs=[shown(**data)])

    wrong = in_the_kernel([0, 2, 3])
    missing = copy.deepcopy(figure)
    del missing["outputs"][0]["data"]["image/png"]
    expected = [
        (imports, "PASSED"),
        (figure, "PASSED"),
        (png(wrong), "FAILED"),
        (png(wrong, "nbval-ignore-output"), "PASSED"),
        (png(recoded(in_the_kernel([0, 1, 3]))), "PASSED"),
        (missing, "FAILED"),
        (html("<b>1</b>"), "PASSED"),
        (html("<b>2</b>"), "FAILED"),
        (svg("p7", 10), "PASSED"),
        (svg("p1", 11), "FAILED"),
    ]
    cells = [cell | {"id": f"cell-{n}"} for n, (cell, _) in enumerate(expected)]
    outcomes, said = nbval(tmp_path, stored | {"cells": cells})
    assert outcomes == [outcome for _, outcome in expected], said
    assert (
        "Picture 1 is not the one stored" in said
        and "tools/notebooks.py book/stored.ipynb stores it" in said
    )
    assert "0 pictures are stored, the cell draws 1" in said
    written = sorted(path.name for path in (tmp_path / "_build" / "pictures").iterdir())
    assert written == [
        *("stored-2-1-fresh.png", "stored-2-1-stored.png"),
        *("stored-9-1-fresh.svg", "stored-9-1-stored.svg"),
    ]
