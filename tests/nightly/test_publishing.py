"""Publishing: buttons for Colab and Binder, and the workflow that pushes what they open."""

import os
import re
import shutil
import subprocess

import nbformat
import pytest
import yaml

from tests.nightly.website.test_carrier import GOOD, configure
from tests.website.test_travelling_notebooks import links, read
from website import ROOT, book
from website.extensions import travelling_notebooks
from website.notebooks import chapters

WORKFLOW = ROOT / ".github" / "workflows" / "publish.yml"


def test_a_publisher_gets_buttons_for_colab_and_binder_and_links_to_the_website(small_book):
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
    built = small_book / "_build" / "html"
    page = (built / "book" / "chapter.html").read_text(encoding="utf-8")
    assert re.findall(
        r'<a [^>]*href="([^"]*(?:colab|binder)[^"]*)"[^>]*>(.+?)</a>', page, re.S
    ) == [
        (
            "https://colab.research.google.com/github/someone/attention-workbook"
            "/blob/notebooks/book/chapter.ipynb",
            "Open in Colab",
        ),
        (
            "https://mybinder.org/v2/gh/someone/attention-workbook/notebooks"
            "?labpath=book/chapter.ipynb",
            "Open in Binder",
        ),
    ]
    assert "colab" not in (built / "book" / "index.html").read_text(encoding="utf-8")
    assert links(read(built / "_sources" / "book" / "chapter.ipynb")) == [
        "https://creativecommons.org/licenses/by/4.0/",
        "https://opensource.org/license/mit",
        "https://readers.test/attention/book/chapter.html",
        "https://readers.test/attention/book/index.html",
        "https://readers.test/attention/book/chapter.html",
    ]


# ----------------------------------------------------------------------------------- the workflow


def steps():
    jobs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job.get("steps", [])]


@pytest.mark.skipif(not shutil.which("git"), reason="no git was found")
def test_the_workflow_pushes_what_colab_and_binder_read_and_nothing_else(tmp_path):
    def git(*words, cwd=tmp_path / "checkout"):
        done = subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True, check=True)
        return done.stdout.split()

    git("init", "--quiet", "--bare", "remote", cwd=tmp_path)
    git("clone", "--quiet", "remote", "checkout", cwd=tmp_path)
    checkout = tmp_path / "checkout"
    built = checkout / "_build" / "html" / "_sources" / "book"
    built.mkdir(parents=True)
    copies = checkout / "_build" / "class" / "chapter"
    copies.mkdir(parents=True)
    (checkout / ".gitignore").write_text("/_build/\n")
    shutil.copy(ROOT / "constraints.txt", checkout)
    git("add", ".gitignore")
    assert "make book" in [step.get("run") for step in steps()], "built as everyone does"
    [publish] = [step["run"] for step in steps() if step.get("name") == "Publish the notebooks"]
    environment = os.environ | {"RUNNER_TEMP": str(tmp_path), "GITHUB_SHA": "1234567"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", publish]

    assert subprocess.run(command, cwd=checkout, env=environment).returncode, "nothing to publish"
    for written in ("old", "new"):  # the second time in place of the first
        (tmp_path / "notebooks").unlink(missing_ok=True)
        (built / "index.md").write_text("no notebook")
        (built / "chapter.ipynb").write_text(written)
        for who in ("student", "teacher"):
            (copies / f"chapter-{who}.ipynb").write_text(who)
        subprocess.run(command, cwd=checkout, env=environment, check=True)
        reference = f"refs/heads/{travelling_notebooks.BRANCH}"
        assert git("for-each-ref", "--format=%(refname)", cwd=tmp_path / "remote") == [reference]
        files = git("ls-tree", "-r", "--name-only", reference, cwd=tmp_path / "remote")
        assert files == [
            "book/chapter.ipynb",
            "class/chapter/chapter-student.ipynb",
            "requirements.txt",
        ]
        needed = git("show", f"{reference}:requirements.txt", cwd=tmp_path / "remote")
        assert "torch==" in " ".join(needed) and "--extra-index-url" not in needed
        assert git("show", f"{reference}:{files[0]}", cwd=tmp_path / "remote") == [written]
        assert len(git("rev-list", reference, cwd=tmp_path / "remote")) == 1
    assert git("ls-files") == [".gitignore"], "the checkout's own index is as it was"
