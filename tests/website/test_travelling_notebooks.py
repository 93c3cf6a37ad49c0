"""What the pages' download button gives runs alone: in an empty folder, without the library."""

import base64
import bz2
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
import yaml

from website import ROOT, book
from website.extensions import travelling_notebooks
from website.notebooks import chapters, kernel_environment

from .conftest import SITE

CHAPTERS = [path.stem for path in chapters()]
WORKFLOW = ROOT / ".github" / "workflows" / "publish.yml"
LINKS = re.compile(r"\]\(([^)\s]+)\)")
INSTALLED = Path(sysconfig.get_path("purelib"))
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]


def travelling(name):
    return SITE / "_sources" / "book" / f"{name}.ipynb"


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def markdown(notebook):
    return "\n".join(
        "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"
    )


def unpack(packed):
    files = json.loads(bz2.decompress(base64.b85decode(packed)))
    return {name: text.encode("latin-1") for name, text in files.items()}


# ------------------------------------------------------------------------------------------- alone


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A machine with this environment's packages but not the library: its Python, as a command."""
    packages = tmp_path_factory.mktemp("elsewhere")
    for path in INSTALLED.iterdir():
        if "attention" not in path.name and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    start = f"import sys; sys.path.append({str(packages)!r}); exec(sys.argv.pop(1))"
    return [sys.executable, "-I", "-S", "-c", start]


def packages():
    """What ``pip list`` says, without the seconds it takes."""
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
    spec.write_text(json.dumps({"argv": kernel, "display_name": "", "language": "python"}))
    copies = [Path(shutil.copy(*pair)) for pair in zip(paths, homes, strict=True)]
    before = packages()
    nbval = ["--nbval", "--nbval-kernel-name=elsewhere", "--nbval-cell-timeout=120"]
    done = subprocess.run(
        [*PYTEST, "--rootdir", folder, *nbval, *copies],
        cwd=folder,
        env=kernel_environment() | {"JUPYTER_PATH": str(spec.parents[2]), "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
    )
    assert packages() == before
    for home, copy in zip(homes, copies, strict=True):
        assert [*home.iterdir()] == [copy], "the folder holds the notebook alone"
    return done


@pytest.mark.site
def test_every_travelling_notebook_runs_alone(site, elsewhere, tmp_path):
    paths = [travelling(name) for name in CHAPTERS]
    done = run_alone(paths, elsewhere, tmp_path)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    cells = [cell for path in paths for cell in read(path)["cells"] if "outputs" in cell]
    assert f"{len(cells)} passed" in done.stdout


def test_elsewhere_there_is_no_library(elsewhere, tmp_path):
    for statement, refused in {
        "import attention_lib": "ModuleNotFoundError: No module named 'attention_lib'",
        "from importlib.metadata import version; version('attention-workbook')": "PackageNotFound",
    }.items():
        command = [*elsewhere, statement]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert refused in done.stderr
    done = run_alone([ROOT / "book" / f"{CHAPTERS[0]}.ipynb"], elsewhere, tmp_path)
    assert done.returncode == 1
    assert "No module named 'attention_lib'" in done.stdout


# ------------------------------------------------------------------------------------ what it holds


@pytest.mark.site
@pytest.mark.parametrize("name", CHAPTERS)
def test_it_is_the_chapter_of_today_with_the_library_of_today(site, name):
    """Two cells come first, short to look at; all else is the chapter."""
    notebook, chapter = read(travelling(name)), read(ROOT / "book" / f"{name}.ipynb")
    nbformat.validate(notebook)
    note, carried, *cells = notebook["cells"]
    assert "carries the book's library" in note["source"]
    assert carried["metadata"] == {"cellView": "form", "jupyter": {"source_hidden": True}}
    *lines, packed = carried["source"].splitlines()
    assert len(lines) < 25 and all(len(line) <= 100 for line in lines)
    assert len(packed) < (500_000 if name == "learned-alignment" else 400_000), (
        "the library has grown: is all of it needed?"
    )
    files = unpack(packed.split('"')[1])
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in (ROOT / "attention_lib").rglob("*.*")
        if path.suffix != ".pyc"
        and (path.parent.name != "alignment" or name == "learned-alignment")
    }
    other = sorted(path for path in {*files, *sources} if files.get(path) != sources.get(path))
    assert not other, f"changed after the build, so run make book: {', '.join(other)}"
    assert len(cells) == len(chapter["cells"])
    counts = [cell["execution_count"] for cell in notebook["cells"] if "outputs" in cell]
    assert counts == [*range(1, len(counts) + 1)]
    for cell, original in zip(cells, chapter["cells"], strict=True):
        text = "".join(original["source"])
        assert "".join(cell["source"]) == (
            text if cell["cell_type"] == "code" else travelling_notebooks.redirect(text, "")
        )
        outputs = json.loads(json.dumps(cell.get("outputs", [])))
        for output in outputs:
            if output["output_type"] == "execute_result":
                assert output["execution_count"] == cell["execution_count"]
                output["execution_count"] -= 1
        assert outputs == original.get("outputs", [])


@pytest.mark.site
def test_pages_link_to_it(site):
    for name in CHAPTERS:
        [link] = site.pages[f"book/{name}.html"].select("a[download]")
        assert link["href"] == f"../_sources/book/{name}.ipynb"
        assert not site.pages[f"book/{name}.html"].find("a", href=re.compile("colab"))


@pytest.mark.site
def test_no_link_in_it_leads_nowhere(site):
    for name in CHAPTERS:
        for target in LINKS.findall(markdown(read(travelling(name)))):
            neighbour = target.partition("#")[0].removesuffix(".ipynb")
            assert target.startswith(("https://", "#")) or neighbour in CHAPTERS, (name, target)


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
    assert travelling_notebooks.redirect(text, "") == (without or text)
    if on_a_website:
        assert travelling_notebooks.redirect(text, PAGE) == on_a_website


# ---------------------------------------------------------------------------------- the first cell

AFTER = "\nimport attention_lib, sys; print(attention_lib.__file__); print(*sys.path)"


def where_it_comes_from(python, folder, *lines):
    """The file and the path from which Python imports the library after the first cell."""
    temporary = folder / "temporary"
    temporary.mkdir()
    source = "\n".join([*lines, travelling_notebooks.carrier(), AFTER])
    done = subprocess.run(
        [*python, "exec(sys.stdin.read())"],
        input=source,
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert [*temporary.glob("attention_lib-*")] == [], "the folder went with the process"
    return done.stdout.splitlines()


def test_where_the_same_version_is_installed_the_first_cell_does_nothing(tmp_path):
    python = [sys.executable, "-c", "import sys; exec(sys.argv.pop(1))"]
    file, path = where_it_comes_from(python, tmp_path)
    assert "attention_lib-" not in file
    assert "attention_lib-" not in path


def test_another_version_gives_way_to_the_one_carried(elsewhere, tmp_path):
    (tmp_path / "attention_workbook-0.0.1.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: attention-workbook\nVersion: 0.0.1\n"
    (tmp_path / "attention_workbook-0.0.1.dist-info" / "METADATA").write_text(metadata)
    (tmp_path / "attention_lib").mkdir()
    (tmp_path / "attention_lib" / "__init__.py").write_text("")
    file, _ = where_it_comes_from(elsewhere, tmp_path, f"sys.path.insert(0, {str(tmp_path)!r})")
    assert "attention_lib-" in file


def test_run_again_the_first_cell_does_nothing(elsewhere, tmp_path):
    again = [travelling_notebooks.carrier(), "import attention_lib"]
    _, path = where_it_comes_from(elsewhere, tmp_path, *again)
    assert path.count("attention_lib-") == 1


def test_the_same_files_give_the_same_text(tmp_path):
    for name in ("one", "two"):
        shutil.copytree(ROOT / "attention_lib", tmp_path / name / "attention_lib")
    one, two = (travelling_notebooks.pack(tmp_path / n / "attention_lib") for n in ("one", "two"))
    assert one == two
    paths = [Path(name) for name in unpack(one)]
    assert paths == sorted(paths), "in an order that no file system decides"
    (tmp_path / "two" / "attention_lib" / "masking.py").write_text("")
    assert travelling_notebooks.pack(tmp_path / "two" / "attention_lib") != one


# ------------------------------------------------------------------------------------------- Colab

GOOD = "https://github.com/someone/attention-workbook"
BAD = [
    *("someone/attention-workbook", "http://github.com/a/b", "https://github.com/a"),
    *("https://example.test/a/b", f"{GOOD}/tree/main", f"{GOOD}.git", f"{GOOD}/", "yes", 7, [GOOD]),
    *(f"{GOOD}?x", f"{GOOD}#x", f"{GOOD} ", f'{GOOD}"><script>', "git@github.com:a/b.git"),
]


@pytest.mark.parametrize("address", BAD)
def test_what_is_no_repository_is_refused(address):
    with pytest.raises(travelling_notebooks.ConfigError) as refusal:
        travelling_notebooks.repository(address)
    assert repr(address) in str(refusal.value)
    assert "https://github.com/OWNER/NAME" in str(refusal.value)


def test_a_repository_has_an_owner_and_a_name():
    assert travelling_notebooks.repository(GOOD) == "someone/attention-workbook"
    assert travelling_notebooks.repository("") == travelling_notebooks.repository(None) == ""


def configure(folder, **settings):
    config = yaml.safe_load((folder / "_config.yml").read_text(encoding="utf-8"))
    config["sphinx"]["config"] |= settings
    (folder / "_config.yml").write_text(yaml.safe_dump(config), encoding="utf-8")


def test_a_book_with_a_wrong_repository_is_not_built(small_book, capfd):
    (small_book / "_build" / "html").mkdir(parents=True)
    (small_book / "_build" / "html" / "index.html").write_text("an older build")
    configure(small_book, workbook_repository="my repository")
    with pytest.raises(SystemExit) as refusal:
        book.main(small_book)
    assert refusal.value.code.startswith("The book was not built.")
    *_, said = capfd.readouterr().err.splitlines()
    assert said == (
        "workbook_repository in _config.yml is 'my repository': write the address of a "
        "repository, https://github.com/OWNER/NAME, or leave it empty."
    )
    assert not (small_book / "_build" / "html").exists()


def test_a_publisher_gets_a_button_for_colab_and_links_to_the_website(small_book):
    configure(small_book, workbook_repository=GOOD, html_baseurl="https://readers.test/attention")
    with open(small_book / "_toc.yml", "a") as toc:
        toc.write("chapters:\n- file: book/chapter\n")
    cells = [
        nbformat.v4.new_markdown_cell("# A chapter\n\n[a page](index.md), [here](chapter.ipynb)"),
        nbformat.v4.new_code_cell("1 + 1", execution_count=1),
    ]
    chapter = nbformat.v4.new_notebook(cells=cells, metadata=read(chapters()[0])["metadata"])
    nbformat.write(chapter, small_book / "book" / "chapter.ipynb")
    book.main(small_book)
    page = (small_book / "_build" / "html" / "book" / "chapter.html").read_text(encoding="utf-8")
    assert re.findall(r'<a [^>]*href="([^"]*colab[^"]*)"[^>]*>(.+?)</a>', page, re.S) == [
        (
            "https://colab.research.google.com/github/someone/attention-workbook"
            "/blob/notebooks/book/chapter.ipynb",
            "Open in Colab",
        )
    ]
    assert "colab" not in (small_book / "_build" / "html" / "book" / "index.html").read_text()
    notebook = read(small_book / "_build" / "html" / "_sources" / "book" / "chapter.ipynb")
    assert LINKS.findall(markdown(notebook)) == [
        "https://readers.test/attention/book/chapter.html",
        "https://readers.test/attention/book/index.html",
        "https://readers.test/attention/book/chapter.html",
    ]


# ----------------------------------------------------------------------------------- the workflow


def steps():
    jobs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job.get("steps", [])]


def test_the_workflow_builds_as_everyone_does():
    assert "make book" in [step.get("run") for step in steps()]


@pytest.mark.skipif(not shutil.which("git"), reason="no git was found")
def test_the_workflow_pushes_the_notebooks_alone_to_the_branch_that_colab_reads(tmp_path):
    def git(*words, cwd=tmp_path / "checkout"):
        done = subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True, check=True)
        return done.stdout.split()

    git("init", "--quiet", "--bare", "remote", cwd=tmp_path)
    git("clone", "--quiet", "remote", "checkout", cwd=tmp_path)
    checkout = tmp_path / "checkout"
    built = checkout / "_build" / "html" / "_sources" / "book"
    built.mkdir(parents=True)
    (checkout / ".gitignore").write_text("/_build/\n")
    git("add", ".gitignore")
    [publish] = [step["run"] for step in steps() if step.get("name") == "Publish the notebooks"]
    environment = os.environ | {"RUNNER_TEMP": str(tmp_path), "GITHUB_SHA": "1234567"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", publish]

    assert subprocess.run(command, cwd=checkout, env=environment).returncode, "nothing to publish"
    for written in ("old", "new"):  # the second time in place of the first
        (tmp_path / "notebooks").unlink(missing_ok=True)
        (built / "index.md").write_text("no notebook")
        (built / "chapter.ipynb").write_text(written)
        subprocess.run(command, cwd=checkout, env=environment, check=True)
        reference = f"refs/heads/{travelling_notebooks.BRANCH}"
        assert git("for-each-ref", "--format=%(refname)", cwd=tmp_path / "remote") == [reference]
        files = git("ls-tree", "-r", "--name-only", reference, cwd=tmp_path / "remote")
        assert files == ["book/chapter.ipynb"]
        assert git("show", f"{reference}:{files[0]}", cwd=tmp_path / "remote") == [written]
        assert len(git("rev-list", reference, cwd=tmp_path / "remote")) == 1
    assert git("ls-files") == [".gitignore"], "the checkout's own index is as it was"
