"""Run the notebooks on other random numbers: a claim that one lucky seed makes does not hold here.

    make reseed                        every notebook under ten fresh shifts of all its seeds
    make reseed RUNS=50                under more of them, as before a release
    make reseed SHIFTS="7081 55012"    under these once more
    .venv/bin/python -m website.reseed --runs=3 book/variance.ipynb

A shift is what ``ATTENTION_SEED_SHIFT`` adds to each seed of ``attention_lib.generator``. Outputs
are not compared; but every assert has to hold, and every cell that is tagged ``raises-exception``
has to raise. A cell that fails does not end its notebook: what follows from it may fail, too.
"""

import argparse
import asyncio
import random
import re
import sys
import time
from pathlib import Path

import nbformat

from website.notebooks import AT_ONCE, chapters, execute, normalise, read, tags, where

SHIFTS = range(1_000, 1_000_000_000)  # far from the seeds that chapters name


def failures(notebook):
    """The cells of a notebook that has been run, by their index, with what went wrong in each."""
    found = {}
    for index, cell in enumerate(notebook["cells"]):
        errors = [out for out in cell.get("outputs", []) if out["output_type"] == "error"]
        lesson = "raises-exception" in tags(cell)
        if lesson and not errors:
            found[index] = "is tagged raises-exception, and raised nothing"
        elif errors and not lesson:
            found[index] = in_a_line(errors[0])
    return found


def in_a_line(error):
    """An error with what it says, or with its line of the cell where it says nothing."""
    frames = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error["traceback"]))
    line = re.search(r"^-+> *\d+ +(.+)", frames, re.MULTILINE)
    said = error["evalue"] or (line[1] if line else "")
    return f"{error['ename']}: {said}".partition("\n")[0]


async def run(path, shift):
    """Run one notebook under a shift; its failures by the place of the cell, in words."""
    notebook = nbformat.from_dict(normalise(read(path), path.stem))
    variables = {"ATTENTION_SEED_SHIFT": str(shift)}
    stopped = await execute(notebook, path, variables, allow_errors=True)
    found = failures(notebook) | dict([stopped] if stopped else [])
    return {where(path, notebook, index): said for index, said in found.items()}


async def run_all(paths, shifts):
    """Run all notebooks under all shifts; for each failing cell its failures, a shift each."""
    slots, table = asyncio.Semaphore(AT_ONCE), {}

    async def one(path, shift):
        async with slots:
            return await run(path, shift)

    async def all_under(shift):
        count = 0
        for found in await asyncio.gather(*(one(path, shift) for path in paths)):
            count += len(found)
            for place, said in found.items():
                table.setdefault(place, {})[shift] = said
        print(f"shift {shift}: {f'{count} cells FAILED' if count else 'all holds'}", flush=True)

    await asyncio.gather(*map(all_under, shifts))
    return table


def whole_numbers(words):
    return [int(word) for word in words.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; without any: the book's")
    parser.add_argument("--runs", type=int, default=10, help="how many fresh shifts (10)")
    parser.add_argument("--shifts", type=whole_numbers, help="these instead, as in '7081 55012'")
    arguments = parser.parse_args()
    paths = arguments.paths or chapters()
    shifts = arguments.shifts or random.sample(SHIFTS, arguments.runs)
    if not shifts:
        parser.error("--runs: expected one at least")

    begin = time.monotonic()
    table = asyncio.run(run_all(paths, shifts))
    for place, found in sorted(table.items()):
        shift, said = next(iter(found.items()))
        print(f"{place}: {len(found)} of {len(shifts)}; under {shift}: {said}")
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
