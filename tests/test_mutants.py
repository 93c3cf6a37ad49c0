"""The mutants that may live, in mutants.md, are mutants of the library as it stands today."""

import re
from pathlib import Path

import pytest

TEXT = Path(__file__).with_name("mutants.md").read_text(encoding="utf-8")
LIBRARY = Path(__file__).parent.parent / "attention_lib"
SECTIONS = re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
LIVING = [
    (module, *change)
    for module, section in SECTIONS
    for change in re.findall(r"`([^`]+)` → `([^`]+)`", section)
]


def code(module):
    """The lines of a module or package without comments, each run of blanks one blank."""
    files = [LIBRARY / f"{module}.py", *sorted(LIBRARY.glob(f"{module}/*.py"))]
    source = "\n".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
    return " ".join(re.sub("  # .*", "", source).split())


@pytest.mark.parametrize(("module", "before", "after"), LIVING, ids=lambda text: text[:40])
def test_what_is_explained_still_stands(module, before, after):
    pattern = re.escape(" ".join(before.split())).replace("…", r"\w+")
    assert re.search(pattern, code(module)), "no such line: the reason is about another day's code"
    assert before != after
