"""Build the website: hold _toc.yml against the files, build, hold the pages against _toc.yml.

Jupyter Book itself leaves out a chapter that is missing from _toc.yml without a word, and builds
what is left of a broken one. Here both are failures that name the file, and a failed build leaves
no website behind that could pass for a whole one.
"""

import contextlib
import fcntl
import functools
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


class TocError(ValueError):
    """What is wrong with _toc.yml, in a sentence with what was expected and what came."""


def ends_in_a_sentence(command):
    """Let a command say what is wrong with _toc.yml, instead of showing its own calls."""

    @functools.wraps(command)
    def run(*arguments, **options):
        try:
            return command(*arguments, **options)
        except TocError as error:
            sys.exit(str(error))

    return run


def table_of_contents(root=ROOT):
    """What _toc.yml holds; TocError if it is no table of contents."""
    try:
        toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TocError(f"_toc.yml: expected in {root}, but there is no such file.") from None
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise TocError(f"_toc.yml: expected YAML, but it cannot be read: {reason}.") from None
    if not isinstance(toc, dict) or not isinstance(toc.get("root"), str):
        raise TocError(f"_toc.yml: expected a line such as 'root: book/index', {got(toc)}.")
    require_entries("parts", toc.get("parts", []), "chapters")
    require_entries("chapters", toc.get("chapters", []), "file")
    return toc


def require_entries(name, entries, key):
    """Refuse what is no list of entries that have a key, nor have those below them."""
    if not isinstance(entries, list):
        raise TocError(f"_toc.yml: expected {name} to be a list, {got(entries)}.")
    for number, entry in enumerate(entries, 1):
        place = f"entry {number} of {name}"
        if not isinstance(entry, dict) or key not in entry:
            raise TocError(f"_toc.yml: expected {place} to have '{key}:', {got(entry)}.")
        if key == "file" and not isinstance(entry["file"], str):
            raise TocError(f"_toc.yml: expected a file in {place}, {got(entry['file'])}.")
        for below in ("chapters", "sections"):
            require_entries(f"the {below} of {place}", entry.get(below, []), "file")


def got(value):
    """The end of a sentence on what came instead of what was expected."""
    return f"got {value!r}" if value is not None else "got nothing"


def contents(root=ROOT):
    """The documents that _toc.yml names, in its order, as it writes them (``book/masking``)."""
    return list(documents(table_of_contents(root)))


def documents(entry):
    """The documents that an entry of _toc.yml names, in its order: its own and those below it."""
    yield from (entry[key] for key in ("root", "file") if key in entry)
    for below in ("parts", "chapters", "sections"):
        for entry_below in entry.get(below, []):
            yield from documents(entry_below)


def parts(root=ROOT):
    """The parts that _toc.yml names, in its order: each caption and the documents below it."""
    parts = table_of_contents(root).get("parts", [])
    return [(part.get("caption", ""), list(documents(part))) for part in parts]


def sources(root=ROOT):
    """The files of the pages, by the names that _toc.yml has for them."""
    paths = [path.relative_to(root) for path in sorted((root / "book").rglob("*"))]
    return {
        path.with_suffix("").as_posix(): path
        for path in paths
        if path.suffix in SUFFIXES and not any(part.startswith(".") for part in path.parts)
    }


def missing_sources(root=ROOT):
    """The documents of _toc.yml that there is no file of, a sentence each."""
    present = sources(root)
    absent = [name for name in contents(root) if name not in present]
    return [f"_toc.yml lists {name}, but there is no such file." for name in absent]


def disagreements(root=ROOT):
    """Where _toc.yml and the files in book/ say different things, a sentence each."""
    listed = contents(root)
    unlisted = [path.as_posix() for name, path in sources(root).items() if name not in listed]
    repeated = sorted({name for name in listed if listed.count(name) > 1})
    return [
        *missing_sources(root),
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
    with (root / "_toc.yml").open("r+") as toc:  # to be written: network drives lock no other
        try:
            fcntl.flock(toc, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another build of this book is running; waiting for its end ...", flush=True)
            fcntl.flock(toc, fcntl.LOCK_EX)
        yield


@ends_in_a_sentence
def main(root=ROOT):
    table_of_contents(root)
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
