"""The list of what the website itself says is true and complete."""

import re

import pytest

from website.extensions import interface_words

FOLDER = interface_words.WORDS.parent
# Strings of scripts that begin as a sentence does: keys of a keyboard, and names in Python.
NO_WORDS = {"Enter", "Escape", "Tab", "Home", "End", "PageUp", "PageDown", "MemoryError"}
NO_WORDS |= {"ArrowLeft", "ArrowRight", "Content-Type", "AbortError"}
SENTENCE = re.compile(r'"([A-Z][a-z][^"\n]*)"|`([A-Z][a-z](?:[^`\\]|\\.)*)`')


@pytest.mark.parametrize("name", interface_words.sentences())
def test_each_sentence_stands_in_its_file(name):
    source = re.sub(r"\{%.*?%\}", "", (FOLDER / name).read_text(encoding="utf-8"))
    source = " ".join(source.split())
    for sentence in interface_words.sentences()[name]:
        for piece in sentence.split("{}"):
            assert " ".join(piece.split()) in source, f"{name} does not say {sentence!r}"


@pytest.mark.parametrize("name", [n for n in interface_words.sentences() if n.endswith(".js")])
def test_no_sentence_of_a_script_is_missed(name):
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    code = "\n".join(line for line in lines if not re.match(r"\s*(//|/?\*)", line))
    found = {one or other for one, other in SENTENCE.findall(code)}
    listed = {sentence for table in interface_words.sentences().values() for sentence in table}
    missed = found - listed - NO_WORDS
    assert not missed, f"website/words.toml lacks what {name} says: {missed}"


def test_the_book_is_in_the_language_that_it_is_written_in():
    assert interface_words.translations() == {}
