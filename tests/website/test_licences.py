"""Everything that goes out says under which licence, and names those whose work it holds."""

import json
import re
import subprocess

import pytest
from fontTools.ttLib import TTFont

from page_python import micropython
from website import ROOT, classroom, copies
from website.extensions.chapters.downloads import travelling
from website.extensions.exercises.code import STATIC
from website.notebooks import chapters

from .conftest import SITE

OURS = (
    "© The Attention Workbook contributors; text and figures: "
    "[CC BY 4.0](https://creativecommons.org/licenses/by/4.0/), "
    "code: [MIT License](https://opensource.org/license/mit)."
)


def test_the_licence_covers_every_folder():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    folders = {name.partition("/")[0] for name in listed.stdout.splitlines() if "/" in name}
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert [folder for folder in sorted(folders) if f"{folder}/" not in text] == []


def test_copies_of_a_chapter_carry_its_licence():
    path = chapters()[0]
    downloaded = travelling(json.loads(path.read_text(encoding="utf-8")))
    alone = classroom.alone(path)
    for notebook in (downloaded, copies.student(alone), copies.teacher(alone)):
        assert OURS in notebook["cells"][0]["source"]


def names(font):
    return {record.nameID: str(record) for record in TTFont(font)["name"].names}


@pytest.mark.site
def test_typefaces_bear_no_reserved_name_and_their_makers_are_named(site):
    folder = SITE / "_static" / "typeface"
    licence = (folder / "LICENSE.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence and "Google" not in licence
    for font in folder.glob("*.woff2"):
        found = names(font)
        assert "Source" not in found[1] and "Adobe" in found[0]
        assert f"{found[1]}, changed: {found[0]}" in licence


@pytest.mark.site
def test_what_mathematics_is_set_with_comes_with_its_licences(site):
    folder = SITE / "_static" / "mathematics"
    licence = (folder / "LICENSE.txt").read_text(encoding="utf-8")
    assert "The MIT License" in licence and "SIL OPEN FONT LICENSE Version 1.1" in licence
    for font in (folder / "fonts").glob("*.woff2"):
        found = names(font)
        assert found[0] in licence and not re.search("katex", found[1], re.IGNORECASE)


@pytest.mark.site
def test_the_pages_python_comes_with_its_licence(site):
    folder = SITE / "_static" / STATIC
    licence = (folder / "LICENSE.txt").read_text(encoding="utf-8")
    assert "The MIT License" in licence and "Damien P. George" in licence
    version = json.loads((micropython() / "package.json").read_text(encoding="utf-8"))["version"]
    assert f"MicroPython {version}" in licence
