"""Build the website: hold the table of contents against the files, build, hold the pages against it.

Jupyter Book itself leaves out a chapter that is missing from _toc.yml without a word, and builds
what is left of a broken one. Here both are failures that name the file, and a failed build leaves
no website behind that could pass for a whole one.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = (".md", ".ipynb")


def contents(root=ROOT):
    """The documents that _toc.yml names, in its order, as it writes them (``book/masking``)."""

    def walk(node):
        if isinstance(node, dict):
            yield from (str(node[key]) for key in ("root", "file") if key in node)
            node = list(node.values())
        if isinstance(node, list):
            for child in node:
                yield from walk(child)

    return list(walk(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))))


def disagreements(root=ROOT):
    """Where _toc.yml and the files in book/ say different things, a sentence each."""
    listed = contents(root)
    sources = {
        path.relative_to(root).with_suffix("").as_posix(): path.relative_to(root).as_posix()
        for path in sorted((root / "book").rglob("*"))
        if path.suffix in SUFFIXES and not any(part[0] in "._" for part in path.relative_to(root).parts)
    }
    return [
        *(f"_toc.yml lists {name}, but there is no such file." for name in listed if name not in sources),
        *(f"{path} is not listed in _toc.yml." for name, path in sources.items() if name not in listed),
        *(f"_toc.yml lists {name} twice." for name in sorted({n for n in listed if listed.count(n) > 1})),
    ]


def missing_pages(root=ROOT):
    """The documents of _toc.yml that the built website has no page for, a sentence each."""
    pages = ((name, root / "_build" / "html" / f"{name}.html") for name in contents(root))
    return [f"_toc.yml lists {name}, but it got no page." for name, page in pages if not page.is_file()]


def build(root=ROOT):
    """Build from nothing: Sphinx repeats no warning for a page that it finds already built."""
    shutil.rmtree(root / "_build", ignore_errors=True)
    jupyter_book = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    command = [*jupyter_book, "build", ".", "-n", "-W", "--keep-going", "-q"]
    built = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True)
    if "Validation errors" in built.stdout:  # in _config.yml; Jupyter Book prints them and goes on
        return [built.stdout]
    if built.returncode:
        return ["Jupyter Book's warnings and errors stand above."]
    return missing_pages(root)


def main():
    print("Building the book ...", flush=True)
    if problems := disagreements() or build():
        shutil.rmtree(ROOT / "_build" / "html", ignore_errors=True)
        sys.exit("\n".join(["The book was not built.", *problems]))
    print("The book is built: open _build/html/index.html, or run make serve.")


if __name__ == "__main__":
    main()
