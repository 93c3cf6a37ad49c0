"""The page api.md: every public name of the library, with what the library says about it."""

import importlib
import json
import re

import pytest

from tests.test_imports import NO_EXAMPLE, PUBLIC
from website import ROOT
from website.extensions.library_names import described

PAGE = (ROOT / "book" / "api.md").read_text(encoding="utf-8")
HTML = ROOT / "_build" / "html"
MODULES = dict(
    (part.partition("\n")[0].strip(), part) for part in re.split(r"^## ", PAGE, flags=re.M)[1:]
)
# Graders are described where the exercise is; a part of a package by the package.
EXPECTED = [name for name in PUBLIC if name.count(".") == 1 and not name.endswith(".checks")]


def names(module):
    """The public names of a module: its functions and classes, and its constants."""
    members = importlib.import_module(module)
    own = {name for name in members.__all__ if hasattr(getattr(members, name), "__name__")}
    return own, {*members.__all__} - own


def test_api_lists_every_public_module():
    missing = {*EXPECTED} - {*MODULES}
    assert not missing, f"book/api.md needs a heading '## …' for each of {sorted(missing)}"
    gone = {*MODULES} - {*EXPECTED}
    assert not gone, f"book/api.md describes what is no public module: {sorted(gone)}"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_its_heading(module):
    own, constants = names(module)
    headings = re.findall(r"^### (\w+)$", MODULES[module], flags=re.M)
    missing, gone = own - {*headings}, {*headings} - own
    assert not missing, f"below '## {module}' book/api.md needs '### …' for each of {missing}"
    assert not gone, f"book/api.md has headings below '## {module}' for no public name: {gone}"
    assert len(headings) == len(own), f"book/api.md has a heading twice below '## {module}'"
    unnamed = [name for name in constants if f"`{name}`" not in MODULES[module]]
    assert not unnamed, f"the text below '## {module}' in book/api.md has to name {unnamed}"


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_described_with_its_example(module):
    for name in names(module)[0]:
        text = "".join(described(module, name))
        assert re.search(rf"```python\n{name}\(", text)
        assert ">>> " in text or f"{module}.{name}" in NO_EXAMPLE, f"{name} has no example"


@pytest.mark.site
def test_the_website_shows_and_finds_them(site):
    page = site.pages["book/api.html"]
    shown = [h for h in page.find_all("h3") if h.find_parent("section")]
    expected = [name for module in MODULES for name in names(module)[0]]
    assert sorted(h.get_text() for h in shown) == sorted(f"{name}¶" for name in expected)
    for heading in shown:
        name, section = heading.get_text().removesuffix("¶"), heading.parent
        assert expected.count(name) > 1 or section["id"] == name.lower().replace("_", "-")
        assert section.find(class_="doctest") or any(name in left for left in NO_EXAMPLE)
    assert page.find(id="softmax-jacobian").find(class_="katex"), "formulas are set"
    text = (HTML / "_static" / "search-index.js").read_text(encoding="utf-8")
    index = dict(json.loads(text[text.index("[") : text.rindex(";")]))
    assert "masked_softmax" in [heading for heading, *_ in index["book/api.html"]]
