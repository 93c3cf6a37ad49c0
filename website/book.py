"""Build the website: hold _toc.yml against the files, build, hold the pages against _toc.yml.

Jupyter Book itself leaves out a chapter that is missing from _toc.yml without a word, and builds
what is left of a broken one. Here both are failures that name the file, and a failed build leaves
no website behind that could pass for a whole one.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys

import yaml

from website import ROOT

SUFFIXES = (".md", ".ipynb")
# Sphinx says in a sentence what stops it; Jupyter Book adds its own calls, down to that place. Of a
# full disk, or of a folder that is not ours, Sphinx knows no sentence.
JUPYTER_BOOK = """
import sys
from jupyter_book import sphinx
from jupyter_book.cli.main import main

def handle(app, arguments, error, stream, explain=sphinx.handle_exception):
    if isinstance(error, OSError):
        raise error
    explain(app, arguments, error, stream)

sphinx.handle_exception = handle
try:
    main()
except RuntimeError as error:
    sys.exit(1 if error.__cause__ else str(error))
except OSError as error:
    sys.exit(f"The website could not be written: {error}.")
"""


def contents(root=ROOT):
    """The documents that _toc.yml names, in its order, as it writes them (``book/masking``)."""

    return list(listed(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))))


def listed(node):
    """The documents that a piece of _toc.yml names, in its order."""
    if isinstance(node, dict):
        yield from (str(node[key]) for key in ("root", "file") if key in node)
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from listed(child)


def parts(root=ROOT):
    """The parts that _toc.yml names, in its order: each caption and the documents below it."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    return [
        (part.get("caption", ""), list(listed(part.get("chapters", []))))
        for part in toc.get("parts", [])
    ]


def disagreements(root=ROOT):
    """Where _toc.yml and the files in book/ say different things, a sentence each."""
    listed = contents(root)
    paths = [path.relative_to(root) for path in sorted((root / "book").rglob("*"))]
    sources = {
        path.with_suffix("").as_posix(): path
        for path in paths
        if path.suffix in SUFFIXES and not any(part.startswith(".") for part in path.parts)
    }
    absent = [name for name in listed if name not in sources]
    unlisted = [path.as_posix() for name, path in sources.items() if name not in listed]
    repeated = sorted({name for name in listed if listed.count(name) > 1})
    return [
        *(f"_toc.yml lists {name}, but there is no such file." for name in absent),
        *(f"{path} is not listed in _toc.yml." for path in unlisted),
        *(f"_toc.yml lists {name} more than once." for name in repeated),
    ]


def missing_pages(root=ROOT):
    """The documents of _toc.yml that the built website has no page for, a sentence each."""
    html = root / "_build" / "html"
    absent = [name for name in contents(root) if not (html / f"{name}.html").is_file()]
    return [f"_toc.yml lists {name}, but it got no page." for name in absent]


def build(root=ROOT):
    """Build from nothing: Sphinx repeats no warning for a page that it finds already built."""
    for path in (root / "_build").glob("*"):
        if path.name != "class":  # there a teacher may have put what students handed in
            shutil.rmtree(path, ignore_errors=True)
    command = [sys.executable, "-c", JUPYTER_BOOK, "build", ".", "-n", "-W", "--keep-going", "-q"]
    built = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True)
    if "Validation errors" in built.stdout:  # in _config.yml; Jupyter Book prints them and goes on
        return [built.stdout]
    if built.returncode:
        return ["Jupyter Book's warnings and errors stand above."]
    return missing_pages(root)


@contextlib.contextmanager
def alone(root=ROOT):
    """Let one build of a book run at a time: two write into each other's pages."""
    with (root / "_toc.yml").open("r+") as held:  # to be written: network drives lock no other
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another build of this book is running; waiting for its end ...", flush=True)
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def main(root=ROOT):
    if not os.access(root / "_toc.yml", os.W_OK):
        sys.exit("The book was not built: its folder cannot be written to. Build a copy of it.")
    with alone(root):
        print("Building the book ...", flush=True)
        problems = True
        try:
            problems = disagreements(root) or build(root)
        finally:
            if problems:
                shutil.rmtree(root / "_build" / "html", ignore_errors=True)
    if problems:
        sys.exit("\n".join(["The book was not built.", *problems]))
    print("The book is built: open _build/html/index.html, or run make serve.")
