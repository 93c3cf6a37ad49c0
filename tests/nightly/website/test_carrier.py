"""What a downloaded notebook carries, how its first cell unpacks it, and where its links lead."""

import base64
import bz2
import json
import os
import shutil
import subprocess

import pytest
import yaml

from website import ROOT
from website.extensions.chapters import downloads


def unpack(packed):
    files = json.loads(bz2.decompress(base64.b85decode(packed)))
    return {name: text.encode("latin-1") for name, text in files.items()}


PAGE = "https://readers.test/attention/book/masking.html"


@pytest.mark.parametrize(
    ("text", "without", "on_a_website"),
    [
        ("[a query](glossary.md#query)", "a query", f"[a query]({PAGE[:-12]}glossary.html#query)"),
        ("[b](bibliography.md#x) c", "b c", f"[b]({PAGE[:-12]}bibliography.html#x) c"),
        ("[two\nlines](notation.md)", "two\nlines", f"[two\nlines]({PAGE[:-12]}notation.html)"),
        ("[d](one-head.ipynb)", None, f"[d]({PAGE[:-12]}one-head.html)"),
        ("[e](one-head.ipynb#f)", None, f"[e]({PAGE[:-12]}one-head.html#f)"),
        ("[q[0]](a.md) [r](b.md)", "q[0] r", None),
        ("[here](#the-code), [away](https://a.test/b.md), ![c](d.md), `a[i](j)`", None, None),
    ],
)
def test_links_to_pages_lead_to_the_website_or_become_words(text, without, on_a_website):
    assert downloads.redirect(text, "") == (without or text)
    if on_a_website:
        assert downloads.redirect(text, PAGE) == on_a_website


# ------------------------------------------------------------------------------ what it carries


@pytest.fixture
def packages(tmp_path):
    """Two small packages that import each other's modules in every way that Python has."""
    sources = {
        "attention_lib/__init__.py": "from attention_lib.scoring import dot",
        "attention_lib/scoring.py": "import torch",
        "attention_lib/masking.py": "def f():\n    from . import scoring",
        "attention_workbook/figures/__init__.py": (
            "from attention_workbook.figures._figure import Figure"
        ),
        "attention_workbook/figures/_figure.py": "import attention_lib.masking as masking",
        "attention_workbook/figures/lab.js": "js",
        "attention_workbook/figures/_shared/view.js": "js",
        "attention_workbook/__init__.py": "",
        "attention_workbook/reader/__init__.py": "",
        "attention_workbook/reader/__main__.py": "import attention_workbook.reader",
        "attention_workbook/reader/network.py": "from ..text import words",
        "attention_workbook/reader/weights.safetensors": "0",
        "attention_workbook/text.py": "from attention_lib import dot",
        "attention_workbook/museum.py": "from attention_workbook import reader",
    }
    for name, source in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source, encoding="utf-8")
    return tmp_path


LIBRARY = {"attention_lib/__init__.py", "attention_lib/scoring.py"}
FIGURES = {
    "attention_workbook/__init__.py",
    "attention_workbook/figures/__init__.py",
    "attention_workbook/figures/_figure.py",
}
FIGURES |= {"attention_workbook/figures/lab.js", "attention_workbook/figures/_shared/view.js"}
READER = {
    "attention_workbook/__init__.py",
    "attention_workbook/reader/__init__.py",
    "attention_workbook/text.py",
}
READER |= {
    f"attention_workbook/reader/{name}"
    for name in ("__main__.py", "network.py", "weights.safetensors")
}


@pytest.mark.parametrize(
    ("cell", "files"),
    [
        ("import torch", set()),
        ("%matplotlib inline\nfrom attention_lib import dot", LIBRARY),
        (
            "from attention_workbook import figures",
            LIBRARY | FIGURES | {"attention_lib/masking.py"},
        ),
        ("from attention_workbook.reader.network import Reader", LIBRARY | READER),
    ],
    ids=["nothing", "the library", "a folder with data", "a relative import"],
)
def test_a_notebook_carries_what_its_imports_need_and_no_more(packages, cell, files):
    notebook = {"cells": [{"cell_type": "code", "source": cell}]}
    found = downloads.carried_files(downloads.python(notebook), root=packages)
    assert {path.relative_to(packages).as_posix() for path in found} == files
    packed = downloads.pack(found, packages)
    assert unpack(packed) == {name: (packages / name).read_bytes() for name in sorted(files)}


# ---------------------------------------------------------------------------------- the first cell

SOURCE = "import attention_lib.scoring, attention_workbook"
AFTER = (
    "\nimport attention_lib, attention_workbook"
    "\nprint(attention_lib.__file__); print(attention_workbook.__file__)"
)


def origins(python, folder, *lines):
    """The files from which Python imports the two packages after the first cell."""
    temporary = folder / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [*python, "exec(sys.stdin.read())"],
        input="\n".join([*lines, downloads.carrier(SOURCE), AFTER]),
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert [*temporary.glob("attention_lib-*")] == [], "the folder went with the process"
    return ["carried" if "/attention_lib-" in line else "own" for line in done.stdout.splitlines()]


def install(folder, *packages):
    """Copy packages of this checkout into a folder; return the line that puts it on the path."""
    for package in packages:
        shutil.copytree(ROOT / package, folder / package)
    return f"sys.path.insert(0, {str(folder)!r})"


def test_beside_the_same_packages_nothing_is_unpacked(elsewhere, tmp_path):
    line = install(tmp_path, "attention_lib", "attention_workbook")
    assert origins(elsewhere, tmp_path, line) == ["own", "own"]


@pytest.mark.parametrize("imported", ["", "import attention_lib.scoring"])
def test_a_library_that_differs_in_one_line_gives_way(elsewhere, tmp_path, imported):
    line = install(tmp_path, "attention_lib", "attention_workbook")
    with open(tmp_path / "attention_lib" / "scoring.py", "a") as scoring:
        scoring.write("# another version\n")
    assert origins(elsewhere, tmp_path, line, imported) == ["carried", "carried"]


# ------------------------------------------------------------------------------------------- Colab

GOOD = "https://github.com/someone/attention-workbook"
BAD = [
    *("someone/attention-workbook", "http://github.com/a/b", "https://github.com/a", 7, [GOOD]),
    *("https://example.test/a/b", f"{GOOD}/tree/main", f"{GOOD}.git", f"{GOOD}/", f"{GOOD}?x"),
    *(f"{GOOD} ", f'{GOOD}"><script>', "git@github.com:a/b.git"),
]


@pytest.mark.parametrize("address", BAD)
def test_an_address_that_is_no_repository_on_github_is_refused(address):
    with pytest.raises(downloads.ConfigError) as refusal:
        downloads.repository(address)
    assert repr(address) in str(refusal.value)
    assert "https://github.com/OWNER/NAME" in str(refusal.value)
    assert downloads.repository(GOOD) == "someone/attention-workbook"
    assert downloads.repository("") == downloads.repository(None) == ""


def configure(folder, **settings):
    config = yaml.safe_load((folder / "_config.yml").read_text(encoding="utf-8"))
    config["sphinx"]["config"] |= settings
    (folder / "_config.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
