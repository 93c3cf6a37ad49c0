"""The built website, as ``make book`` leaves it in _build/html.

Each check is a function from pages to complaints, held against the website and, by the last test
of its part, against pages that it must complain of.
"""

import json
import re
import tomllib
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
import yaml

import attention_contracts
import attention_lib
from website import ROOT, book, minutes
from website.extensions.chapters import citation
from website.extensions.figures import FIGURE_LINK
from website.pictures import KINDS

from .conftest import ORIGIN

# ------------------------------------------------------------------------------------- links, ids


def dead_references(site):
    for name in site.pages:
        for tag, address in site.references(name):
            target, anchor = urldefrag(urljoin(ORIGIN + name, address))
            parts = urlsplit(target)
            if parts.scheme in ("data", "mailto", "javascript") or not target.startswith(ORIGIN):
                continue
            path = unquote(parts.path.lstrip("/"))
            path += "index.html" if path.endswith("/") or not path else ""
            if not (site.folder / path).is_file():
                yield f"{name}: <{tag.name}> names {address!r}, and there is no such file"
            elif figure := FIGURE_LINK.match(f"#{anchor}"):
                if not site.pages[path].select(f'[data-widget="{figure[1]}"]'):
                    yield f"{name}: <{tag.name}> names {address!r}, and {path} has no such figure"
            elif anchor and path in site.pages and unquote(anchor) not in site.anchors(path):
                yield f"{name}: <{tag.name}> names {address!r}, and {path} has no such anchor"


def repeated_ids(site):
    for name, page in site.pages.items():
        ids = [tag["id"] for tag in page.find_all(id=True)]
        for repeated in sorted({one for one in ids if ids.count(one) > 1}):
            yield f"{name}: the id {repeated!r} stands {ids.count(repeated)} times"


def pictures_without_words(site):
    """Pictures say their findings, each its own; the mark has its name, a figure its caption."""
    said = {}
    for name, page in site.pages.items():
        for picture in page.select("img:not(.brand > img)"):
            source, words = picture.get("src"), picture.get("alt", "").strip()
            if len(words) < 25:
                yield f"{name}: the alt text of <img src={source[:40]!r}> is {words!r}"
            elif picture.parent.name != "figure" and said.setdefault(words, source) != source:
                yield f"{name}: two pictures have the alt text {words!r}"


def loads_from_elsewhere(site):
    """What a page would fetch from another host by being opened: everything but plain links."""
    for name in site.pages:
        for tag, address in site.references(name):
            away = urlsplit(urljoin(ORIGIN + name, address)).netloc not in ("", "book.test")
            if away and tag.name != "a":
                yield f"{name}: <{tag.name}> loads {address!r}"


CHECKS = [dead_references, repeated_ids, pictures_without_words, loads_from_elsewhere]


@pytest.mark.site
@pytest.mark.parametrize("check", CHECKS)
def test_the_website_is_whole(site, check):
    assert list(check(site)) == []


# -------------------------------------------------------------------- the pages and their sources


def chapters():
    """Every notebook of _toc.yml, read, by its name there."""
    paths = {name: ROOT / f"{name}.ipynb" for name in book.contents()}
    return {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name, path in paths.items()
        if path.is_file()
    }


@pytest.mark.site
def test_every_document_has_its_page_and_every_page_its_document(site):
    assert book.disagreements() == []
    assert book.missing_pages() == []
    pages = {name.removesuffix(".html") for name in site.pages if name.startswith("book/")}
    strange = sorted(pages - set(book.contents()))
    assert not strange, f"pages without a document in _toc.yml: {', '.join(strange)}"


def lost_outputs(name, notebook, page):
    """Pictures and code cells that a notebook has and its page lacks."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    outputs = [output.get("data", {}) for cell in cells for output in cell["outputs"]]
    wanted = {
        "code cells": sum(bool("".join(cell["source"]).strip()) for cell in cells),
        "pictures": sum(bool({*KINDS} & {*data}) and "text/html" not in data for data in outputs),
    }
    found = {
        "code cells": len(page.select("div.cell")),
        "pictures": len(page.select(".cell_output img[src*='_images/']")),
    }
    return [
        f"{name} has {wanted[kind]} {kind}, its page {found[kind]}"
        for kind in wanted
        if wanted[kind] != found[kind]
    ]


@pytest.mark.site
def test_no_output_of_a_chapter_is_lost_on_its_page(site):
    for name, notebook in chapters().items():
        assert lost_outputs(name, notebook, site.pages[f"{name}.html"]) == []


@pytest.mark.site
def test_an_empty_stub_says_how_to_run_it(site):
    page = site.pages["book/masking.html"]
    assert not page.find_all("pre", string="Write it, then run this cell.\n")
    said = page.select(".to-run")
    assert len(said) == 3 and all(one.a["href"].endswith("masking.ipynb") for one in said)
    for said in site.pages["book/write-a-contract.html"].select(".to-run"):
        assert said.text.startswith("This page cannot run it: "), "it says why"


@pytest.mark.site
def test_every_reference_can_be_linked_to(site):
    keys = re.findall(r"^@\w+\{(\w+),", (ROOT / "book/references.bib").read_text(), re.M)
    assert len(keys) >= 16
    lost = sorted(set(keys) - site.anchors("book/bibliography.html"))
    assert not lost, f"entries of references.bib that the page lacks: {', '.join(lost)}"


@pytest.mark.site
def test_the_index_maps_the_chapters(site):
    """Part by part, in order, with the title and the minutes of each."""
    chapter_map = site.pages["book/index.html"].select_one("#the-chapters")
    wanted = [caption for caption, names in book.parts() if {*names} & {*chapters()}]
    assert [title.find(string=True) for title in chapter_map.select("h3")] == wanted
    rows = chapter_map.select("li")
    for row, (name, notebook) in zip(rows, chapters().items(), strict=True):
        link = row.a
        assert f"book/{link['href']}" == f"{name}.html"
        assert f"# {link.text}\n" in "".join(notebook["cells"][0]["source"])
        reading, practice = minutes.minutes(notebook)
        assert row.em.text == (f"{reading} + {practice} min" if practice else f"{reading} min")
    front = site.pages["book/index.html"]
    assert front.select_one("meta[name=description]")["content"].startswith("Learn attention, the")
    doors = [door["href"] for door in front.select(".doors a")]
    assert doors == ["twenty-minutes.html", "soft-lookup.html", "check-your-own.html"]
    notebooks = [notebook for name, notebook in chapters().items() if name in book.parts()[1][1]]
    takes = [minutes.minutes(notebook)[0] for notebook in notebooks]
    said = f"{len(takes)} chapters of {min(takes)} to {max(takes)} minutes"
    assert said in front.select_one(".doors").text
    folded = [
        part.h3.find(string=True) for part in chapter_map.select("section") if part.find("details")
    ]
    assert folded == [caption for caption, _ in book.parts()[2:6]]


@pytest.mark.site
def test_the_contents_number_the_chapters_through_their_parts(site):
    for name in ("book/index.html", "book/masking.html", "404.html"):
        listed = site.pages[name].select("#contents .toctree-l1 > a .number")
        assert [number.text.strip() for number in listed] == [
            str(n + 1) for n in range(len(chapters()))
        ]
        captions = [caption.text for caption in site.pages[name].select("#contents .caption-text")]
        assert captions == [caption for caption, _ in book.parts()]


# ------------------------------------------------------------------------------- how text is set


def badly_set(site):
    """Large numbers that may break, Chinese that is not said to be, and gaps in shown code."""
    for name, page in site.pages.items():
        for text in (
            text for part in page.select("article") for text in part.find_all(string=True)
        ):
            parents = {parent.name for parent in text.parents}
            if parents & {"pre", "code", "script", "math", "figure", "button"}:
                continue
            if number := re.search(r"(?<![\d.,])\d{1,3}(?:[ \xa0]\d{3})+(?!\d)", text):
                yield f"{name}: {number[0]!r} may break"
            chinese = re.search(r"[\u3400-\u9fff]+", text)
            if chinese and text.find_parent(lang="zh-Hans") is None:
                yield f"{name}: {chinese[0]} does not say its language"
        for code in page.select(".cell_input pre"):
            if re.search(r"\n\s*\n\s*\n", code.text):
                yield f"{name}: two blank lines after {code.text.splitlines()[0]!r}"


@pytest.mark.site
def test_numbers_chinese_and_code_are_well_set(site):
    assert list(badly_set(site)) == []
    assert "100\N{NARROW NO-BREAK SPACE}000" in site.pages["book/masks-in-use.html"].text
    assert len(site.pages["book/glossary.html"].select("article [lang=zh-Hans]")) > 50


# --------------------------------------------------------------------- the foot, and how to cite


@pytest.mark.site
def test_every_page_says_how_to_use_and_to_cite_the_book(site):
    for name, page in site.pages.items():
        if name == "index.html":  # leads on
            continue
        cited = page.select_one(".foot .cite pre").text
        assert cited.startswith("@misc{attention-workbook,\n"), name
        assert "title = {{The Attention Workbook}}" in cited
        assert page.select_one(".foot a[href$='#three-ways-to-use-it']"), name


def test_the_citation_is_that_of_the_library():
    """What the Citation File Format 1.2.0 demands is there, and agrees with the library."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == attention_lib.__version__
    assert citation["authors"] == project["authors"]
    assert project["license"] in citation["license"]


@pytest.mark.site
@pytest.mark.parametrize(
    ("page", "package"), [("api", attention_lib), ("api-contracts", attention_contracts)]
)
def test_every_public_name_is_described(site, page, package):
    described = {name.rpartition(".")[2] for name in site.anchors(f"book/{page}.html")}
    assert {*package.__all__} - described == set()


@pytest.mark.parametrize("page", ["README.md", "book/notation.md"])
def test_the_examples_run(page):
    examples = re.findall(r"^```python\n(.+?)^```$", (ROOT / page).read_text(), re.M | re.S)
    assert examples
    for example in examples:
        assert "assert" in example
        exec(compile(example, page, "exec"), {})


def descriptions(site):
    """Pages without a sentence about them, and pages that share one with another chapter."""
    said = {}
    for name, page in site.pages.items():
        tag = page.select_one("meta[name=description]")
        words = tag["content"] if tag else ""
        if len(words) < 40 or "\\" in words:
            yield f"{name}: its description is {words!r}"
        elif name.startswith("book/") and said.setdefault(words, name) != name:
            yield f"{name}: its description is that of {said[words]}"


@pytest.mark.site
def test_every_page_says_what_it_is_about_and_names_no_address(site):
    """Without a site address in _config.yml nothing pretends to have one."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert list(descriptions(site)) == []
    for name, page in site.pages.items():
        assert page.html["lang"] == "en"
        assert page.title.text.strip(), name
        if not config["html"]["baseurl"]:
            assert not page.select("meta[property='og:image'], meta[property='og:url']"), name


@pytest.mark.parametrize(("base", "named"), [("https://a.test/", "a"), ("", "b"), (None, "b")])
def test_the_citation_names_the_site_or_else_the_repository(base, named):
    cited = citation(ROOT, "2026", base, "https://b.test/")
    assert f"url = {{https://{named}.test/}}" in cited
