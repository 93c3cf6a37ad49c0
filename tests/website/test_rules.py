"""Every chapter keeps every rule of website/rules; each can be broken, see tests/nightly."""

import ast
import functools

import pytest

from website import ROOT, notebooks, rules
from website.book import contents, disagreements

CHAPTERS = notebooks.chapters()
PAGES = [path for name in contents() if (path := ROOT / f"{name}.md").is_file()]
SOURCES = sorted((ROOT / "attention_lib").rglob("*.py"))

read = functools.cache(rules.Notebook.read)


def name_of(path):
    return path.relative_to(ROOT).with_suffix("").as_posix()


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", CHAPTERS, ids=name_of)
def test_a_chapter_keeps_the_rule(path, rule):
    complaints = rule(read(path))
    assert not complaints, "\n" + "\n".join(complaints)


@pytest.mark.parametrize("path", CHAPTERS, ids=name_of)
def test_file_is_canonical_to_the_byte(path):
    assert not notebooks.not_canonical([path])


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_a_page_keeps_the_rules_of_pages(path):
    page = rules.Notebook.page(path)
    complaints = [*rules.links_resolve(page), *rules.nothing_is_left_unfinished(page)]
    assert not complaints, "\n" + "\n".join(complaints)


def test_the_glossary_is_bilingual():
    complaints = rules.glossary_is_bilingual(rules.Notebook.page(rules.BOOK / "glossary.md"))
    assert not complaints, "\n" + "\n".join(complaints)


def test_every_entry_of_the_bibliography_is_cited():
    text = "".join(path.read_text(encoding="utf-8") for path in [*CHAPTERS, *PAGES, *SOURCES])
    bibliography = (rules.BOOK / "references.bib").read_text(encoding="utf-8")
    assert list(rules.uncited(bibliography, text)) == []


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_library_has_one_name_for_one_thing(path):
    words = [*rules.foreign_words(ast.parse(path.read_text(encoding="utf-8")))]
    assert not words, [f"{name} is {word} in this book (notation.md)" for name, word in words]


def test_contents_and_folder_agree():
    assert CHAPTERS, "_toc.yml lists no notebook"
    assert disagreements() == []


def test_a_chapter_knows_its_part_and_what_follows():
    """As _toc.yml has it: the last chapter is followed by none."""
    assert read(CHAPTERS[0]).part == "Part I: the mechanism"
    assert [read(path).following for path in CHAPTERS] == [
        *(path.name for path in CHAPTERS[1:]),
        "",
    ]
