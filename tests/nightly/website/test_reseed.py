"""website/reseed.py: it goes red for claims that one lucky seed makes, and for nothing else."""

import re
import sys
from unittest.mock import patch

import pytest

from website import reseed

from .test_notebooks import code, markdown, notebook, write

SEED = code("from attention_lib import generator\nseed = generator(0).initial_seed()")
GOOD = notebook(
    markdown("# Holds for any seed"),
    SEED,
    code("assert 0 <= seed < 1e9", outputs=[]),
    code("raise TypeError('a lesson, always')", "raises-exception"),
)
LUCKY = notebook(
    markdown("# Holds for the stored seed, and for every other one"),
    SEED,
    code("print('no claim')\nassert seed % 2 == 0"),
    code("assert seed != 7, f'seven is {seed}'"),
    code("if seed % 3:\n    raise TypeError", "raises-exception"),
)


def reseed_all(capsys, *arguments):
    """What `make reseed` prints for these arguments, and what it complains of."""
    with patch.object(sys, "argv", ["reseed.py", *map(str, arguments)]):
        complaint = ""
        try:
            reseed.main()
        except SystemExit as stopped:
            complaint = stopped.code
    return capsys.readouterr().out, complaint


def test_reseed_names_each_cell_that_depends_on_luck(tmp_path, capsys):
    good, lucky = write(tmp_path / "good.ipynb", GOOD), write(tmp_path / "lucky.ipynb", LUCKY)
    before = good.read_bytes(), lucky.read_bytes()
    printed, complaint = reseed_all(capsys, "--shifts=2 7 9", good, lucky)
    *lines, last = printed.splitlines()
    found = [line for line in lines if line.startswith("under ")]  # each when it is found
    assert (
        found[0]
        == "under 7: lucky.ipynb, cell 3 (code cell 2): AssertionError: assert seed % 2 == 0"
    )
    assert len(found) == 4
    assert [line for line in lines if line not in found] == [
        "shift 2: all holds",
        "shift 7: 2 cells FAILED",
        "shift 9: 2 cells FAILED",
        "lucky.ipynb, cell 3 (code cell 2): 2 of 3; under 7: AssertionError: assert seed % 2 == 0",
        "lucky.ipynb, cell 4 (code cell 3): 1 of 3; under 7: AssertionError: seven is 7",
        "lucky.ipynb, cell 5 (code cell 4): 1 of 3; under 9: is tagged raises-exception, and "
        "raised nothing",
    ]
    assert re.fullmatch(r"2 notebooks under 3 shifts: 4 failures in 3 cells, \d+ seconds\.", last)
    assert complaint.endswith('make reseed SHIFTS="7 9"')
    assert (good.read_bytes(), lucky.read_bytes()) == before, "nothing is stored"


def test_shifts_are_fresh_each_time(tmp_path, capsys):
    good = write(tmp_path / "good.ipynb", GOOD)
    runs = [reseed_all(capsys, "--runs=2", good) for _ in range(2)]
    assert [complaint for _, complaint in runs] == ["", ""]
    shifts = [re.findall(r"shift (\d+): all holds", printed) for printed, _ in runs]
    assert len({*shifts[0], *shifts[1]}) == 4


BROKEN = {
    "its process died, exit status 3": "import os\nos._exit(3)",
    "SyntaxError: ": "1 +",
    "ZeroDivisionError: division by zero": "1 / 0",
    "ValueError: cannot be drawn": (
        "import matplotlib.pyplot as plt\n"
        "class Undrawn(plt.Artist):\n"
        "    def draw(self, renderer):\n"
        "        raise ValueError('cannot be drawn')\n"
        "plt.subplots()[1].add_artist(Undrawn());"
    ),
    "ValueError: cannot be shown": (
        "class Unshown:\n"
        "    def _repr_html_(self):\n"
        "        raise ValueError('cannot be shown')\n"
        "Unshown()"
    ),
}


@pytest.mark.parametrize("said", BROKEN)
def test_reseed_reports_any_error_of_a_cell(said, tmp_path, capsys):
    path = write(tmp_path / "x.ipynb", notebook(code("1 / 1"), code(BROKEN[said]), code("1 / 1")))
    printed, complaint = reseed_all(capsys, "--shifts=5", path)
    assert f"x.ipynb, cell 2 (code cell 2): 1 of 1; under 5: {said}" in printed
    assert complaint


def test_a_cell_without_end_is_stopped(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(reseed, "LIMIT", 3)
    path = write(tmp_path / "x.ipynb", notebook(code("while True:\n    pass")))
    printed, _ = reseed_all(capsys, "--shifts=5", path)
    assert "x.ipynb, cell 1 (code cell 1): 1 of 1; under 5: took longer than 3 seconds" in printed


@pytest.mark.parametrize("arguments", [["--runs=0"], ["--shifts=seven"]], ids=["none", "a word"])
def test_no_shift_is_refused(arguments, capsys):
    assert reseed_all(capsys, *arguments)[1] == 2
