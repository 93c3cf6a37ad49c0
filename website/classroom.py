"""Prepare chapters for a class: what ``make class CHAPTER=masking`` calls.

    make class                           every chapter
    make class CHAPTER="masking cost"    these
    make class TOOLS=nbgrader            for this tool alone; TOOLS=none makes no assignments
    make class CHAPTER=masking WITHOUT=4     leaves Exercise 4 out; WITHOUT="3 4" leaves out both
    make class CHAPTER=masking TRY=1         lets otter grade the solutions: after a change to them

For each chapter `_build/class` then holds two notebooks that run alone, as downloaded ones do:
``<chapter>-student.ipynb`` without solutions and ``<chapter>-teacher.ipynb`` with them. The folder
``otter/`` holds what ``otter assign`` made of it, and the course folder ``nbgrader/``, for all
chapters, what ``nbgrader generate_assignment`` made.

The tools live in an environment of their own, `.venv-class`, which sees the packages of `.venv`. It
is made on first use; without it the two notebooks are made all the same.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import nbformat
import yaml

from attention_workbook.classroom import assignments, copies
from website import ROOT, belongs_here
from website.book import ends_in_a_sentence
from website.extensions.travelling_notebooks import LINK, travelling
from website.notebooks import chapters, read, to_text

FOLDER = ROOT / "_build" / "class"
TOOLS = ("otter", "nbgrader")
ENVIRONMENT = ROOT / ".venv-class"
REQUIREMENTS = ROOT / "tools" / "classroom" / "requirements.txt"
ASSIGN = REQUIREMENTS.with_name("assign.py")


def alone(path, carrying="", left_out=()):
    """Return a chapter as a notebook that runs alone, with links to the website or none.

    ``carrying`` is Python; what it imports is carried along. ``left_out`` are numbers of exercises.
    """
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    base = config["html"].get("baseurl")
    notebook = read(path)
    notebook["cells"].append({"cell_type": "code", "source": carrying, "outputs": []})
    notebook = travelling(notebook, f"{base.rstrip('/')}/book/{path.stem}.html" if base else "")
    notebook["cells"].pop()
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and not base:
            cell["source"] = LINK.sub(r"\1", cell["source"])
    return copies.without(notebook, left_out)


def environment():
    """Make `.venv-class` if it does not stand; return a sentence if it cannot be made."""
    stamp, version = ENVIRONMENT / "made-from", f"python{sys.version_info[0]}.{sys.version_info[1]}"
    contents = f"{version} in {ROOT}, with templates\n{REQUIREMENTS.read_text(encoding='utf-8')}"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == contents:
        return ""
    print("Making the environment of otter-grader and nbgrader in .venv-class.", flush=True)
    packages = ENVIRONMENT / "lib" / version / "site-packages"
    python = ENVIRONMENT / "bin" / "python"
    install = [python, "-m", "pip", "--no-input", "--disable-pip-version-check", "install"]
    install += ["--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    for command in (
        [sys.executable, "-m", "venv", "--clear", ENVIRONMENT],
        [*install, "--requirement", REQUIREMENTS],
    ):
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode:
            last = (process.stdout + process.stderr).strip().rpartition("\n")[2]
            return f"There are no assignments, because .venv-class could not be made: {last}"
    link = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (packages / "book.pth").write_text(link, encoding="utf-8")
    templates = Path("share", "jupyter", "nbconvert")  # what nbgrader makes feedback of
    (ENVIRONMENT / templates).symlink_to(sysconfig.get_path("data") / templates)
    stamp.write_text(contents, encoding="utf-8")
    return ""


def assign(tool, names, folder=FOLDER, tried=False):
    """Make chapters' assignments of what ``write_sources`` wrote; yield each with a complaint."""
    path = f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"}
    command = [ENVIRONMENT / "bin" / "python", ASSIGN, tool, *(["--try"] if tried else [])]
    command += [folder, *names]
    silent = [*names]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as log,
        subprocess.Popen(
            command, env=variables, stdout=subprocess.PIPE, stderr=log, encoding="utf-8"
        ) as running,
    ):
        for line in running.stdout:
            name, complaint = json.loads(line)
            silent.remove(name)
            yield name, complaint
        if running.wait():
            log.seek(0)
            last = log.read().strip().rpartition("\n")[2]
            yield from ((name, last) for name in silent)


def write(notebook, path):
    """Write a notebook, in a folder that need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_text(nbformat.from_dict(notebook)), encoding="utf-8")


def write_sources(path, tools, folder=FOLDER, left_out=()):
    """Write what the tools make a chapter's assignments of."""
    name, notebook = path.stem, alone(path, "import attention_workbook.classroom.grading", left_out)
    if "otter" in tools:
        target = folder / name / "otter"
        shutil.rmtree(target, ignore_errors=True)
        write(assignments.for_otter(notebook), target / f"{name}.ipynb")
    if "nbgrader" in tools:
        target = folder / "nbgrader"
        write(assignments.for_nbgrader(notebook), target / "source" / name / f"{name}.ipynb")
        (target / "nbgrader_config.py").write_text(assignments.NBGRADER_CONFIG, "utf-8")


def prepare(paths, tools, folder=FOLDER, left_out=(), tried=False):
    """Write what a class needs of chapters; return a sentence for each thing that one lacks."""
    chosen = f"{len(paths)} chapters" if len(paths) > 1 else paths[0].stem
    print(f"Writing the copies of {chosen} for students and teachers.", flush=True)
    lacking, graded = [], []
    for path in paths:
        chapter, name = alone(path, left_out=left_out), path.stem
        for make_copy in (copies.student, copies.teacher):
            write(make_copy(chapter), folder / name / f"{name}-{make_copy.__name__}.ipynb")
        lacking += [f"{name}: {sentence}" for sentence in copies.lacks(chapter)]
        if tools and assignments.graded(chapter):
            write_sources(path, tools, folder, left_out)
            graded.append(name)
    for tool in tools if graded else []:
        trying = " and tries their solutions" if tried and tool == "otter" else ""
        print(f"{tool} makes the assignments{trying}.", flush=True)
        for name, complaint in assign(tool, graded, folder, tried):
            if complaint:
                lacking.append(f"{name}: {tool} has made no assignment. It says: {complaint}")
    return lacking


@ends_in_a_sentence
def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chapters", nargs="*", help="their names, instead of all")
    parser.add_argument("--tools", default=" ".join(TOOLS), help="otter, nbgrader, both or none")
    parser.add_argument("--try", action="store_true", dest="tried", help="try the solutions")
    parser.add_argument("--without", default="", help="numbers of exercises to leave out")
    arguments, paths_of = parser.parse_args(), {path.stem: path for path in chapters()}
    if unknown := [name for name in arguments.chapters if name not in paths_of]:
        sys.exit(f"No chapter is called {', '.join(unknown)}: choose from {', '.join(paths_of)}.")
    chosen = arguments.chapters or [*paths_of]
    if not arguments.without.replace(" ", "").isdecimal() and arguments.without:
        sys.exit(f'WITHOUT is to hold numbers of exercises, "3 4"; got {arguments.without}.')
    left_out = [int(number) for number in arguments.without.split()]
    titles = " ".join(x.title for name in chosen for x in copies.exercises(read(paths_of[name])))
    if absent := [number for number in left_out if f"Exercise {number}:" not in titles]:
        sys.exit(f"WITHOUT={absent[0]}: no exercise of {', '.join(chosen)} has this number.")
    tools = [tool for tool in TOOLS if tool in arguments.tools.split()]
    start = time.monotonic()
    trouble = environment() if tools else ""
    paths = [paths_of[name] for name in chosen]
    lacking = prepare(paths, [] if trouble else tools, left_out=left_out, tried=arguments.tried)
    for sentence in filter(None, [trouble, *lacking]):
        print(sentence)
    seconds = time.monotonic() - start
    print(f"What was made is in {FOLDER.relative_to(ROOT)}, after {seconds:.0f} seconds.")


if __name__ == "__main__":
    belongs_here()
    main()
