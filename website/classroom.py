"""Prepare chapters for a class: what ``make class CHAPTER=masking`` calls.

    make class                               every chapter
    make class CHAPTER="masking cost"        these
    make class CHAPTER=masking WITHOUT="3 4" leaves Exercises 3 and 4 out

Writes into `_build/class`, of each chapter, two notebooks that run alone, as downloaded ones do,
``student/<chapter>.ipynb`` without solutions and ``teacher/<chapter>.ipynb`` with them, and
``source/<chapter>/<chapter>.ipynb``, of which ``nbgrader generate_assignment`` makes an assignment
there.
"""

import argparse
import sys

import nbformat
import yaml

from website import ROOT, belongs_here, copies
from website.book import ends_in_a_sentence
from website.extensions.chapters.downloads import LINK, travelling
from website.notebooks import chapters, read, to_text

FOLDER = ROOT / "_build" / "class"
CONFIG = ROOT / "tools" / "classroom" / "nbgrader_config.py"


def alone(path, carrying=""):
    """A chapter as a notebook that runs alone, with links to the website or none.

    ``carrying`` is Python; what it imports is carried along.
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
    return notebook


def prepare(path, folder=FOLDER, left_out=()):
    """Write what a class needs of a chapter."""
    chapter = copies.without(alone(path, "import attention_workbook.grading"), left_out)
    for place, notebook in (
        ("student", copies.student(chapter)),
        ("teacher", copies.teacher(chapter)),
        (f"source/{path.stem}", copies.assignment(chapter)),
    ):
        target = folder / place / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(to_text(nbformat.from_dict(notebook)), encoding="utf-8")
    (folder / CONFIG.name).write_bytes(CONFIG.read_bytes())


@ends_in_a_sentence
def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chapters", nargs="*", help="their names, instead of all")
    parser.add_argument("--without", type=int, nargs="*", default=[], help="exercises to leave out")
    arguments, paths = parser.parse_args(), {path.stem: path for path in chapters()}
    if unknown := [name for name in arguments.chapters if name not in paths]:
        sys.exit(f"No chapter is called {', '.join(unknown)}: choose from {', '.join(paths)}.")
    for name in arguments.chapters or paths:
        prepare(paths[name], left_out=arguments.without)
    print(f"What was made is in {FOLDER.relative_to(ROOT)}.")


if __name__ == "__main__":
    belongs_here()
    main()
