"""Run the book's notebooks and store them in one canonical form; ``tools/notebooks.py`` calls this.

Running twice changes no byte: whatever depends on the moment or the machine is left out (counts of
earlier runs, timings, widget state, paths in tracebacks), and what cannot be left out is kept as it
was stored where the fresh run says the same. That is a picture that looks the same, and, in a cell
tagged nbval-ignore-output, text that differs in its measurements alone; --fresh stores them anew.

A chapter's line ``**Time:** …`` is given the minutes that :mod:`website.minutes` computes. More
than 50 are said once, and stop nobody.

A chapter that raises is left as it was on disk, and named with its cell and its error.
"""

import asyncio
import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

from website import ROOT, minutes
from website.book import TocError, contents, missing_sources
from website.pictures import KINDS, bare, same_shown

AT_ONCE = 2
TIMEOUT = 120  # seconds a cell may take: as long as nbval gives it
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},  # of every Python 3
}
# JupyterLab and VS Code fold by this, the website by the tag.
FOLDED = {
    "hide-input": {"source_hidden": True},
    "hide-cell": {"source_hidden": True, "outputs_hidden": True},
}


def chapters(root=ROOT):
    """The notebooks of the table of contents, in its order."""
    paths = [root / f"{name}.ipynb" for name in contents(root)]
    return [path for path in paths if path.is_file()]


def listed_chapters(root=ROOT):
    """The same, all of them: TocError where there is none, or a document has no file."""
    if missing := missing_sources(root):
        raise TocError("\n".join(missing))
    if not (paths := chapters(root)):
        raise TocError("_toc.yml: expected chapters such as '- file: book/masking', got none.")
    return paths


def tags(cell):
    return cell["metadata"].get("tags", [])


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def where(path, notebook, index):
    """A cell's place in words: ``masking.ipynb, cell 7 (code cell 3)``, both counted from 1."""
    cells = notebook["cells"][: index + 1]
    code = f" (code cell {len(code_cells(notebook | {'cells': cells}))})"
    return f"{Path(path).name}, cell {index + 1}{code if cells[-1]['cell_type'] == 'code' else ''}"


# ------------------------------------------------------------------------------------ the form


def normalise(notebook, slug):
    """The canonical form of a notebook read as JSON; ``slug`` names cells that have no id yet."""
    used_ids, cells, count = set(), [], 0
    ids = {cell.get("id") for cell in notebook["cells"]}
    for position, cell in enumerate(notebook["cells"], 1):
        kind = cell["cell_type"]
        if (name := cell.get("id")) is None or name in used_ids:
            numbers = range(position, position + 2 * len(notebook["cells"]))
            name = next(new for n in numbers if (new := f"{slug}-{n}") not in ids | used_ids)
        used_ids.add(name)
        clean = {"cell_type": kind, "id": name, "source": "".join(cell["source"])}
        metadata = cell["metadata"]
        clean["metadata"] = {key: metadata[key] for key in ("mystnb", "tags") if metadata.get(key)}
        for tag in tags(clean):
            clean["metadata"] |= {"jupyter": FOLDED[tag]} if tag in FOLDED else {}
        if "attachments" in cell:
            clean["attachments"] = cell["attachments"]
        if kind == "code":
            was_run = cell.get("execution_count") is not None
            count += was_run
            clean["execution_count"] = count if was_run else None
            clean["outputs"] = [
                clean_output(output, count) for output in joined_streams(cell["outputs"])
            ]
        cells.append(clean)
    clean = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return nbformat.from_dict(minutes.filled_in(clean))


def joined_streams(outputs):
    """Streams arrive in chunks cut by the clock: one output each, between two other outputs."""
    joined = []
    for output in outputs:
        if output["output_type"] != "stream":
            joined.append(dict(output))
            continue
        text = "".join(output["text"])
        streams = []
        while joined and joined[-1]["output_type"] == "stream":
            streams.insert(0, joined.pop())
        for stream in streams:
            if stream["name"] == output["name"]:
                stream["text"] += text
                break
        else:
            streams.append({"output_type": "stream", "name": output["name"], "text": text})
        joined += sorted(streams, key=lambda stream: stream["name"], reverse=True)  # stdout first
    return joined


def clean_output(output, count):
    kind = output["output_type"]
    if kind == "stream":
        # A line that was written over is gone: a progress bar keeps its last state.
        output["text"] = re.sub(r"^.*\r(?=[^\n])", "", output["text"], flags=re.MULTILINE)
    elif kind == "error":
        # The frames hold paths and line numbers of the library; the lesson is the last line.
        output["traceback"] = [f"{output['ename']}: {output['evalue']}"]
    else:
        data = {mime: value for mime, value in output["data"].items() if mime != WIDGET_VIEW}
        data = {
            mime: "".join(value) if isinstance(value, list) else value
            for mime, value in data.items()
        }
        data = bare(data)
        if WIDGET_VIEW in output["data"] and "text/html" not in data:
            # Without its live model a view shows an error, so HTML takes its place. Where there
            # is none, the view stays without its random name, for the book's rules to find.
            data[WIDGET_VIEW] = {"model_id": "", "version_major": 2, "version_minor": 0}
        output["data"] = data
        if kind == "execute_result":
            output["execution_count"] = count
    return output


def to_text(notebook):
    return nbformat.writes(notebook, indent=1, ensure_ascii=False).rstrip("\n") + "\n"


def read(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    if notebook["nbformat"] != 4:
        raise ValueError(f"{path.name}: notebook format {notebook['nbformat']}, expected 4")
    return notebook


# -------------------------------------------------------------------------- what stays as stored


def without_measurements(output):
    """What an output says apart from its numbers, their units, and the room they take."""
    text = json.dumps(output, sort_keys=True, ensure_ascii=False)
    text = re.sub(r'("image/(?:png|svg\+xml)": )"(?:[^"\\]|\\.)*"', r"\1", text)
    text = re.sub(r"\d[\d.,]*(e[+-]?\d+)?\s*([nmuµμ]?s|min|[kKMGT]?i?B)?\b", "#", text)
    return re.sub(r"[\s─━-]+", " ", text)


def keep_stored(old, new):
    """Give ``new``, the same notebook run afresh, the stored outputs that say the same."""
    for before, after in zip(code_cells(old), code_cells(new), strict=True):
        if "nbval-ignore-output" in tags(after):
            texts = map(without_measurements, (before["outputs"], after["outputs"]))
            if len(set(texts)) == 1:
                after["outputs"] = before["outputs"]
            continue
        for stored, fresh in zip(pictures(before), pictures(after), strict=False):
            if same_shown(stored, fresh):
                fresh.update({kind: stored[kind] for kind in KINDS if kind in stored})


def pictures(cell):
    """The data of a code cell's outputs that hold a picture."""
    data = (output.get("data", {}) for output in cell["outputs"])
    return [bundle for bundle in data if {*KINDS} & {*bundle}]


# ----------------------------------------------------------------------------------------- runs


def kernel_environment():
    """The environment of a kernel: no other backend than the notebook's, and one thread, so that
    kernels side by side do not wait for each other and sums have the same order on any machine.
    ATTENTION_THREADS asks for more, and ATTENTION_SEED_SHIFT is added to every seed. Parts that
    readers write are the book's, even if there is a mine.py in its folder, and none is written."""
    environment = {key: value for key, value in os.environ.items() if key != "MPLBACKEND"}
    if not os.access(os.path.expanduser("~"), os.W_OK):  # else matplotlib warns, in a cell's output
        environment.setdefault("MPLCONFIGDIR", scratch())
    list_fonts(environment.get("MPLCONFIGDIR"))
    if environment.get("ATTENTION_SEED_SHIFT", "0") != "0":
        environment["PYTHONSTARTUP"] = str(ROOT / "website" / "seed_shift.py")
    threads = os.environ.get("ATTENTION_THREADS", "1")
    return environment | {"OMP_NUM_THREADS": threads, "ATTENTION_PARTS": "book"}


@functools.cache
def scratch():
    """A folder of this process alone, gone when it ends."""
    folder = tempfile.mkdtemp(prefix="attention-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def list_fonts(folder):
    """Let matplotlib look for the machine's fonts, which it does once and keeps in a folder.

    The first kernel on a slow machine would say so in a cell's output.
    """
    place = {"MPLCONFIGDIR": folder} if folder else {}
    command = [sys.executable, "-c", "import matplotlib.font_manager"]
    subprocess.run(command, env=os.environ | place, capture_output=True)


class CurrentEnvironment(AsyncKernelManager):
    """Starts the kernel with the Python that runs this, whatever the notebook or the user names."""

    def _kernel_spec_manager_default(self):
        return NbvalKernelspecManager(parent=self)


async def execute(notebook, path):
    """Run a notebook's cells in place; what stopped it, as (index of its cell, error), or None."""
    running = 0

    def note(cell, cell_index):
        nonlocal running
        running = cell_index

    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name=CURRENT_ENV_KERNEL_NAME,
        kernel_manager_class=CurrentEnvironment,
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_start=note,
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        await client.async_execute(env=kernel_environment())
    except (CellControlSignal, DeadKernelError) as error:
        name = getattr(error, "ename", "") or type(error).__name__
        text = getattr(error, "evalue", "") or str(error).splitlines()[0]
        return running, f"{name}: {text}"


async def run(path, fresh):
    """Run one notebook and store it; the failure in words, or None."""
    before = normalise(read(path), path.stem)
    notebook = nbformat.from_dict(before)
    if failure := await execute(notebook, path):
        index, error = failure
        source = notebook.cells[index].source.splitlines()
        return f"{where(path, notebook, index)}: {error}\n" + "\n".join(
            f"    {line}" for line in source
        )
    after = normalise(notebook, path.stem)
    if not fresh:
        keep_stored(before, after)
    write(path, to_text(after))
    if (read_in := minutes.minutes(after)[0]) > 50:
        print(f"{path.name}: {read_in} minutes to read; after 50 many readers stop.")


def write(path, text):
    """All or nothing, and nothing where nothing changed."""
    if path.read_text(encoding="utf-8") != text:
        temporary = path.with_suffix(".ipynb.tmp")
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


async def run_all(paths, fresh):
    # nbclient would take Ctrl-C for itself, and stumble where two notebooks run.
    asyncio.get_running_loop().add_signal_handler = lambda *_: None
    slots = asyncio.Semaphore(AT_ONCE)

    async def run_in_turn(path):
        async with slots:
            try:
                failure = await run(path, fresh)
            except OSError as error:  # a full disk, a folder that is not ours
                failure = f"{path.name}: left as it was: {error.strerror or error}."
        print(f"{path.name}: {'FAILED' if failure else 'stored'}", flush=True)
        return failure

    return [failure for failure in await asyncio.gather(*map(run_in_turn, paths)) if failure]


def tidy(path):
    """Store a notebook that another program saved in its canonical form, without a run."""
    text = to_text(normalise(read(path), path.stem))
    if path.read_text(encoding="utf-8") != text:
        write(path, text)
        print(f"{path.name}: brought into its form")
