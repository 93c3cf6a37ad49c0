"""The files that repeat the book's address say what _config.yml says, set or empty."""

import re

import pytest

from website import ROOT, address

SOMEWHERE = address.Address("https://github.com/owner/name", "https://book.test", "us@book.test")
NOWHERE = address.Address("", "", "")


def test_every_file_says_what_the_table_says():
    stale = [path.name for path, _ in address.disagreements(address.address())]
    assert not stale, f"run python -m website.address: {stale}"


@pytest.mark.parametrize("name", [name for name in address.REWRITTEN if (ROOT / name).exists()])
def test_an_address_is_written_and_taken_back(name):
    rewrite, text = address.REWRITTEN[name], (ROOT / name).read_text(encoding="utf-8")
    empty = rewrite(text, NOWHERE)
    assert "owner/name" not in empty
    written = rewrite(empty, SOMEWHERE)
    assert SOMEWHERE.repository in written or f"{SOMEWHERE.site}/book/" in written
    assert rewrite(written, SOMEWHERE) == written, "writing twice changes nothing"
    assert rewrite(written, NOWHERE) == empty


def test_the_command_writes_the_files_that_are_there_once(tmp_path, capsys):
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    config = re.sub("(workbook_repository: ).*", rf'\1"{SOMEWHERE.repository}"', config)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, text in (("_config.yml", config), ("README.md", address.readme(readme, NOWHERE))):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert address.main(tmp_path) == 0
    assert capsys.readouterr().out == "wrote README.md\n"
    written = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert written == address.readme(readme, SOMEWHERE)
    assert address.main(tmp_path) == 0
    assert capsys.readouterr().out == ""


def test_a_release_hears_what_is_still_empty(tmp_path, capsys):
    text = (ROOT / "_config.yml").read_text(encoding="utf-8")
    (tmp_path / "_config.yml").write_text(text, encoding="utf-8")
    assert address.main(tmp_path, ["--empty"]) == 1
    assert "contact is empty in _config.yml" in capsys.readouterr().out
