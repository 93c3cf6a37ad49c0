"""A chapter's downloaded notebook runs alone: in an empty folder, without the book's packages."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from website import ROOT
from website.extensions.chapters import downloads
from website.notebooks import chapters, kernel_environment

from .conftest import SITE

CHAPTERS = [path.stem for path in chapters()]
SOME = ["one-head"]  # it has a trained model; tests/nightly runs all
NAMED = ("torch", "numpy", "matplotlib", "ipykernel")  # by the README, and what runs a notebook
# What a live figure says, and what it says where its widgets are not installed.
NO_SLIDERS = (
    "regex: <p>(For sliders: run %pip install|Open the notebook to move the sliders:)[^<]+</p>"
)
LINKS = re.compile(r"\]\(([^)\s]+)\)")
INSTALLED = Path(sysconfig.get_path("purelib"))


def travelling(name):
    return SITE / "_sources" / "book" / f"{name}.ipynb"


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def links(notebook):
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    return LINKS.findall("\n".join("".join(cell["source"]) for cell in cells))


# ------------------------------------------------------------------------------------ running alone


def needed(*names):
    """The installed distributions of some names, and of all that these require."""
    distributions, waiting = {}, [*names]
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        asked_for = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if asked_for and name not in distributions:
            distributions[name] = importlib.metadata.distribution(name)
            waiting += distributions[name].requires or []
    return distributions


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A machine with just the packages that the README names: its Python, as a command."""
    packages = tmp_path_factory.mktemp("elsewhere")
    for distribution in needed(*NAMED).values():
        for top in {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}:
            if not top.endswith(".pth") and not (packages / top).exists():
                (packages / top).symlink_to(INSTALLED / top)
    start = f"import sys; sys.path.append({str(packages)!r}); exec(sys.argv.pop(1))"
    return [sys.executable, "-I", "-S", "-c", start]


def installed_packages():
    copies = importlib.metadata.distributions(path=[str(INSTALLED)])
    return sorted((copy.name, copy.version) for copy in copies)


def run_alone(paths, python, folder):
    """Run copies of notebooks, each in an empty folder; compare outputs with those stored."""
    spec = folder / "jupyter" / "kernels" / "elsewhere" / "kernel.json"
    temporary, homes = folder / "temporary", [folder / path.stem for path in paths]
    for new in (spec.parent, temporary, *homes):
        new.mkdir(parents=True)
    launch = "from ipykernel.kernelapp import launch_new_instance; launch_new_instance()"
    kernel = [*python, launch, "-f", "{connection_file}"]
    sanitizers = folder / "sanitizers.cfg"
    sanitizers.write_text(f"{NO_SLIDERS}\nreplace: \n")
    spec.write_text(json.dumps({"argv": kernel, "display_name": "", "language": "python"}))
    copies = [Path(shutil.copy(*pair)) for pair in zip(paths, homes, strict=True)]
    before = installed_packages()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull),
            *("-p", "conftest", "--rootdir", folder),  # the repository's, which compares pictures
            *("--nbval", "--nbval-kernel-name=elsewhere", "--nbval-cell-timeout=120"),
            *("--nbval-sanitize-with", sanitizers, *copies),
        ],
        cwd=folder,
        env=kernel_environment()
        | {"JUPYTER_PATH": str(spec.parents[2]), "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert installed_packages() == before
    for home, copy in zip(homes, copies, strict=True):
        assert [*home.iterdir()] == [copy], "the folder holds the notebook alone"
    return done


def hold_alone(names, elsewhere, tmp_path):
    """Run chapters as the pages offer them; each cell has to say what is stored."""
    paths = [tmp_path / f"{name}.ipynb" for name in names]
    for path in paths:
        notebook = downloads.travelling(read(ROOT / "book" / path.name))
        path.write_text(json.dumps(notebook), encoding="utf-8")
    done = run_alone(paths, elsewhere, tmp_path)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    cells = [cell for path in paths for cell in read(path)["cells"] if "outputs" in cell]
    assert f"{len(cells)} passed" in done.stdout


def test_a_downloaded_notebook_runs_alone(elsewhere, tmp_path):
    hold_alone(SOME, elsewhere, tmp_path)


# ------------------------------------------------------------------------- what the notebook holds


@pytest.mark.site
@pytest.mark.parametrize("name", sorted({*SOME, *CHAPTERS[::5]}))
def test_a_downloaded_notebook_is_the_chapter_after_two_cells(site, name):
    hold_chapter(name)


def hold_chapter(name):
    notebook, chapter = read(travelling(name)), read(ROOT / "book" / f"{name}.ipynb")
    nbformat.validate(notebook)
    note, carried, *cells = notebook["cells"]
    assert "carries the parts of the book's library" in note["source"]
    assert carried["metadata"] == {"cellView": "form", "jupyter": {"source_hidden": True}}
    afresh = downloads.travelling(chapter)["cells"][1]
    assert carried["source"] == afresh["source"], "changed after the build, so run make book"
    *lines, packed = carried["source"].splitlines()
    assert len(lines) < 30 and all(len(line) <= 100 for line in lines)
    # A model with its prose; elsewhere at most the reader with its words, and all figures.
    most = 900_000 if name in ("one-block", "it-learns", "kv-cache") else 520_000
    assert len(packed) < most, "more is carried than ever: is all of it needed?"
    assert len(cells) == len(chapter["cells"])
    counts = [cell["execution_count"] for cell in notebook["cells"] if "outputs" in cell]
    assert counts == [*range(1, len(counts) + 1)]
    for cell, original in zip(cells, chapter["cells"], strict=True):
        text = "".join(original["source"])
        assert "".join(cell["source"]) == (
            text if cell["cell_type"] == "code" else downloads.redirect(text, "")
        )
        outputs = json.loads(json.dumps(cell.get("outputs", [])))
        for output in outputs:
            if output["output_type"] == "execute_result":
                assert output["execution_count"] == cell["execution_count"]
                output["execution_count"] -= 1
        assert outputs == original.get("outputs", [])


@pytest.mark.site
def test_pages_link_to_notebooks_whose_links_lead_somewhere(site):
    for name in CHAPTERS:
        [link] = site.pages[f"book/{name}.html"].select(".chapter a[download]")
        assert link["href"] == f"../_sources/book/{name}.ipynb"
        assert not site.pages[f"book/{name}.html"].find("a", href=re.compile("colab"))
        for target in links(read(travelling(name))):
            neighbour = target.partition("#")[0].removesuffix(".ipynb")
            assert target.startswith(("https://", "#")) or neighbour in CHAPTERS, (name, target)
