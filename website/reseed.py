"""Run the notebooks on other random numbers: a claim that one lucky seed makes does not hold here.

    make reseed                        every notebook under ten fresh shifts of all its seeds
    make reseed RUNS=50                under more of them, as before a release
    make reseed SHIFTS="7081 55012"    under these once more
    make reseed CHANGED=1              only the notebooks that differ from the published branch
    .venv/bin/python -m website.reseed --runs=3 book/variance.ipynb

A shift is what ``ATTENTION_SEED_SHIFT`` adds to each seed of ``attention_lib.generator``. Outputs
are not compared; but every assert has to hold, and every cell that is tagged ``raises-exception``
has to raise. A cell that fails does not end its notebook: what follows from it may fail, too.

Each notebook has a process of its own, split off from one that has imported torch and matplotlib
already: a chapter is run in a second or two instead of six. Its cells are run by IPython's shell,
its pictures are drawn as in a notebook, and what it shows is thrown away.
"""

import argparse
import multiprocessing
import os
import random
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from website import belongs_here, changed
from website.book import ends_in_a_sentence
from website.notebooks import (
    AT_ONCE,
    chapters,
    code_cells,
    kernel_environment,
    normalise,
    read,
    tags,
    where,
)

SHIFTS = range(1_000, 1_000_000_000)  # far from the seeds that chapters name
LIMIT = 1200  # seconds a cell may take, on a machine that is busy with much else
METHODS = multiprocessing.get_all_start_methods()
PROCESSES = multiprocessing.get_context("forkserver" if "forkserver" in METHODS else "spawn")
PROCESSES.set_forkserver_preload(["torch", "matplotlib.pyplot", "ipywidgets", "website.notebooks"])


def run_cells(folder, cells, variables, sender):
    """Run a notebook's cells, in a process of its own; send for each what went wrong in it."""
    import torch
    from IPython.core.interactiveshell import InteractiveShell

    class Shell(InteractiveShell):
        raised = None

        def enable_gui(self, gui=None):
            """There is no window to open."""

        def showtraceback(self, exc_tuple=None, **how):
            """Also called for a picture that cannot be drawn, and for an object's own HTML."""
            self.raised = (exc_tuple or sys.exc_info())[1]

    os.environ.update(variables)
    torch.set_num_threads(1)  # it was imported before these variables were set
    os.chdir(folder)
    sys.path.insert(0, "")
    null_device = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null_device, stream)
    shell = Shell.instance()
    shell.enable_matplotlib("inline")
    for source, should_raise in cells:
        shell.raised = None
        result = shell.run_cell(source)
        error = result.error_before_exec or result.error_in_exec or shell.raised
        if should_raise and not error:
            sender.send("is tagged raises-exception, and raised nothing")
        else:
            sender.send("" if should_raise or not error else in_a_line(error, source))


def in_a_line(error, source):
    """An error with what it says, or with its line of the cell where it says nothing."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.line for frame in frames if frame.line and frame.line in source]
    text = str(error) or (lines[-1] if lines else "")
    return f"{type(error).__name__}: {text}".partition("\n")[0]


def run(path, shift):
    """Run one notebook under a shift; its failures by the place of the cell, in words."""
    notebook = normalise(read(path), path.stem)
    indices = [i for i, cell in enumerate(notebook["cells"]) if cell["cell_type"] == "code"]
    cells = [(cell["source"], "raises-exception" in tags(cell)) for cell in code_cells(notebook)]
    variables = kernel_environment() | {"ATTENTION_SEED_SHIFT": str(shift)}
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(
        target=run_cells, args=(path.resolve().parent, cells, variables, sender), daemon=True
    )
    process.start()
    sender.close()  # the process holds the only other copy: when it dies, nothing more can come
    failures = {}
    for index in indices:
        if not receiver.poll(LIMIT):
            process.kill()
            failures[index] = f"took longer than {LIMIT} seconds"
            break
        try:
            failures[index] = receiver.recv()
        except EOFError:
            process.join()
            failures[index] = f"its process died, exit status {process.exitcode}"
            break
    process.join()
    return {where(path, notebook, index): text for index, text in failures.items() if text}


def run_all(paths, shifts):
    """Run all notebooks under all shifts; for each failing cell its failures, a shift each."""
    table = {}
    with ThreadPoolExecutor(AT_ONCE) as slots:
        running = [(shift, [slots.submit(run, path, shift) for path in paths]) for shift in shifts]
        for shift, runs in running:
            count = 0
            for notebook_run in runs:
                failures = notebook_run.result()
                count += len(failures)
                for place, text in failures.items():
                    print(f"under {shift}: {place}: {text}", flush=True)
                    table.setdefault(place, {})[shift] = text
            print(f"shift {shift}: {f'{count} cells FAILED' if count else 'all holds'}", flush=True)
    return table


def whole_numbers(words):
    return [int(word) for word in words.split()]


@ends_in_a_sentence
def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; without any: the book's")
    parser.add_argument("--runs", type=int, default=10, help="how many fresh shifts (10)")
    parser.add_argument("--shifts", type=whole_numbers, help="these instead, as in '7081 55012'")
    parser.add_argument(
        "--changed", action="store_true", help="only what differs from the published branch"
    )
    arguments = parser.parse_args()
    belongs_here()
    paths = arguments.paths or chapters()
    if arguments.changed and not (paths := changed.among(paths)):
        return print("No notebook differs from the published branch: nothing to run.")
    shifts = arguments.shifts or random.sample(SHIFTS, arguments.runs)
    if not shifts:
        parser.error("--runs: expected one at least")

    begin = time.monotonic()
    table = run_all(paths, shifts)
    for place, failures in sorted(table.items()):
        shift, text = next(iter(failures.items()))
        print(f"{place}: {len(failures)} of {len(shifts)}; under {shift}: {text}")
    total = sum(map(len, table.values()))
    print(
        f"{len(paths)} notebooks under {len(shifts)} shifts: {total} failures in {len(table)} "
        f"cells, {time.monotonic() - begin:.0f} seconds."
    )
    if table:
        again = " ".join(str(shift) for shift in sorted(set().union(*table.values())))
        sys.exit(f'Luck holds some of this up; to see it again: make reseed SHIFTS="{again}"')


if __name__ == "__main__":
    main()
