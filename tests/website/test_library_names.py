"""The library's pages: every public name, with what the library says about it."""

import importlib
import json
import re

import pytest

from tests.test_imports import NO_EXAMPLE, PUBLIC
from website import ROOT

INDEX = (ROOT / "book" / "api.md").read_text(encoding="utf-8")
HTML = ROOT / "_build" / "html"
PAGES = {path.stem: path.read_text("utf-8") for path in (ROOT / "book").glob("api-*.md")}
MODULES = {text.partition("\n")[0].removeprefix("# "): text for text in PAGES.values()}
# Graders are described where the exercise is; a part of a package by the package.
EXPECTED = [
    "attention_contracts",
    "attention_workbook.figures.catalogue",
]
EXPECTED += [
    name
    for name in PUBLIC
    if re.fullmatch(r"(attention_lib|attention_workbook)\.\w+", name)
    and name not in ("attention_workbook.exercises", "attention_workbook.grading")
]


def names(module):
    """The public names of a module: its functions and classes, and its constants."""
    members = importlib.import_module(module)
    own = {name for name in members.__all__ if hasattr(getattr(members, name), "__name__")}
    return own, {*members.__all__} - own


def test_api_lists_every_public_module():
    missing = {*EXPECTED} - {*MODULES}
    assert not missing, f"a page book/api-….md is needed for each of {sorted(missing)}"
    gone = {*MODULES} - {*EXPECTED}
    assert not gone, f"a page book/api-….md describes what is no public module: {sorted(gone)}"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_its_heading(module):
    own, constants = names(module)
    headings = re.findall(r"^## (\w+)$", MODULES[module], flags=re.M)
    missing, gone = own - {*headings}, {*headings} - own
    assert not missing, f"the page of {module} needs '## …' for each of {missing}"
    assert not gone, f"the page of {module} has headings for no public name: {gone}"
    assert len(headings) == len(own), f"the page of {module} has a heading twice"
    unnamed = [name for name in constants if f"`{name}`" not in MODULES[module]]
    assert not unnamed, f"the page of {module} has to name {unnamed}"


@pytest.mark.site
def test_the_website_shows_and_finds_them(site):
    for page, text in PAGES.items():
        shown = site.pages[f"book/{page}.html"].select("section > section > h2")
        expected = names(text.partition("\n")[0].removeprefix("# "))[0]
        assert sorted(h.get_text() for h in shown) == sorted(f"{name}¶" for name in expected)
        for heading in shown:
            name, section = heading.get_text().removesuffix("¶"), heading.parent
            assert section["id"] == name.lower().replace("_", "-")
            assert f"[{name}]({page}.md#{name.lower()})" in INDEX
            assert section.find(class_="doctest") or any(name in left for left in NO_EXAMPLE)
            assert section.select_one("dl.py > dt[id]")["id"].endswith(f".{name}")
    formula = site.pages["book/api-saturation.html"].find(id="softmax-jacobian")
    assert formula.find(class_="katex"), "formulas are set"
    text = (HTML / "_static" / "search-index.js").read_text(encoding="utf-8")
    index = dict(json.loads(text[text.index("[") : text.rindex(";")]))
    assert "masked_softmax" in [heading for heading, *_ in index["book/api-masking.html"]]
