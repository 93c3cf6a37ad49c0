"""The files that repeat the book's address say what _config.yml says, set or empty."""

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


def test_a_release_hears_what_is_still_empty(tmp_path, capsys):
    text = (ROOT / "_config.yml").read_text(encoding="utf-8")
    (tmp_path / "_config.yml").write_text(text, encoding="utf-8")
    assert address.main(tmp_path, ["--empty"]) == 1
    assert "contact is empty in _config.yml" in capsys.readouterr().out
