"""The EPUB of Part I, made from the built pages: whole, linked, and the same each time."""

import zipfile
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest

from website import book, ebook

HTML, MATHML, SVG = (
    f"{{http://www.w3.org/{name}}}" for name in ("1999/xhtml", "1998/Math/MathML", "2000/svg")
)
PACKAGE = "{http://www.idpf.org/2007/opf}"
ONLY_ON_A_SCREEN = ("script", "button", "input", "form", "details", "progress", "img")

pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def epub(tmp_path_factory, site):
    path = tmp_path_factory.mktemp("ebook") / "book.epub"
    ebook.write_epub(path)
    return path


@pytest.fixture(scope="module")
def files(epub):
    with zipfile.ZipFile(epub) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def pages(files):
    """The pages as trees: each is well-formed, or this fails."""
    return {
        name: ElementTree.fromstring(content)
        for name, content in files.items()
        if name.endswith(".xhtml")
    }


def links(page):
    return [(tag.get("id"), tag.get("href")) for tag in page.iter(f"{HTML}a")]


def test_each_file_stands_in_the_manifest_and_each_page_is_read(files, pages):
    package = ElementTree.fromstring(files["book.opf"])
    listed = {item.get("id"): item.get("href") for item in package.iter(f"{PACKAGE}item")}
    read = [listed[entry.get("idref")] for entry in package.iter(f"{PACKAGE}itemref")]
    outside = {"mimetype", "META-INF/container.xml", "book.opf"}
    assert {*listed.values()} == {*files} - outside
    assert {*read} == {*pages} and len(read) == len(pages)
    assert next(iter(files)) == "mimetype"


def test_each_chapter_of_part_one_is_there(pages):
    for name in dict(book.parts())[ebook.PART]:
        chapter = name.removeprefix("book/")
        assert f"{chapter}.xhtml" in pages and f"{chapter}-folded.xhtml" in pages


def test_each_link_leads_somewhere(pages):
    ids = {
        name: [*filter(None, (tag.get("id") for tag in page.iter()))]
        for name, page in pages.items()
    }
    for name, page in pages.items():
        assert len(ids[name]) == len({*ids[name]}), name
        for _, href in links(page):
            address = urlsplit(href)
            if not address.scheme:
                assert address.path in pages, (name, href)
                assert not address.fragment or address.fragment in ids[address.path], (name, href)


def test_what_is_folded_is_linked_both_ways(pages):
    there = {
        f"{name}#{here}": href for name, page in pages.items() for here, href in links(page) if here
    }
    assert len(there) > 200
    for here, href in there.items():
        assert there[href] == here


def test_nothing_needs_a_screen(pages):
    for name, page in pages.items():
        for tag in ONLY_ON_A_SCREEN:
            assert page.find(f".//{HTML}{tag}") is None, (name, tag)


def test_formulas_are_mathml_and_pictures_say_what_they_show(pages):
    formulas = [tag for page in pages.values() for tag in page.iter(f"{MATHML}math")]
    pictures = [tag for page in pages.values() for tag in page.iter(f"{SVG}svg") if tag.get("role")]
    assert len(formulas) > 300 and all(tag.get("alttext") for tag in formulas)
    assert len(pictures) > 30 and all(tag.get("aria-label") for tag in pictures)
    assert not any(page.findall(f".//{HTML}*[@class='katex-html']") for page in pages.values())


def test_each_stub_has_room_to_write(pages, site):
    for name in dict(book.parts())[ebook.PART]:
        stubs = site.pages[f"{name}.html"].select(".attention-code")
        page = pages[f"{name.removeprefix('book/')}.xhtml"]
        assert len(page.findall(f".//{HTML}div[@class='room lines']")) == len(stubs), name


def test_two_builds_are_the_same_bytes(epub, tmp_path):
    again = tmp_path / "again.epub"
    ebook.write_epub(again)
    assert again.read_bytes() == epub.read_bytes()
