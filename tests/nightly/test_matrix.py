"""website/matrix.py: its table, what it asks pip for, what it makes of pytest's report."""

import json
import re
import sys

import pytest

from website import ROOT, matrix

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one" time="0.5"/>
<testcase classname="tests.test_a" name="test_two" time="0.25"><skipped message="no"/></testcase>
<testcase classname="book.masking.ipynb" name="Cell 1" time="2"/>
<testcase classname="book.masking.ipynb" name="Cell 2" time="3">
<failure message="Cell 2 differs&#10;more of it">all of it</failure></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where environments and logs go, and a machine that has no other Python on its path."""
    monkeypatch.setattr(matrix, "FOLDER", tmp_path / "matrix")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def command(folder, name, body):
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def test_every_row_says_why_and_holds_nothing_unknown():
    for name, row in matrix.rows().items():
        assert row["why"], name
        assert row.keys() <= {"why", "python", "versions", "newest", "variables"}, name
        assert all(isinstance(value, str) for value in row.get("variables", {}).values()), name
        assert row.get("versions", {}).keys() <= matrix.pinned().keys() | {"ipython"}, name


def test_the_oldest_row_holds_the_floors_of_the_project():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = matrix.rows()["oldest"]["versions"]
    floors = dict(re.findall(r'"(\w+)>=([\d.]+)"', text))
    assert floors.keys() == {"torch", "numpy", "matplotlib"}
    for name, floor in floors.items():
        assert f"{versions[name]}.".startswith(f"{floor}."), name


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], ["pinned", "colab", "threads-2", "threads-8"]),
        (["threads", "colab"], ["colab", "threads-2", "threads-8"]),
        (["threads-8"], ["threads-8"]),
        (["here"], ["here"]),
    ],
)
def test_words_choose_rows_in_the_order_of_the_table(words, names):
    table = ["pinned", "colab", "threads-2", "threads-8", "here"]
    assert matrix.chosen(words, table) == names


def test_a_row_that_is_not_there_is_named_with_those_that_are(capsys):
    with pytest.raises(SystemExit) as stopped:
        matrix.main(["pinned", "thread", "oldset"])
    assert stopped.value.code == 2
    assert "no row thread, oldset; there are pinned, " in capsys.readouterr().err


def test_rows_are_listed_for_the_workflow(capsys):
    matrix.main(["--list", "python"])
    assert json.loads(capsys.readouterr().out) == [f"python-3.{minor}" for minor in range(11, 15)]


def test_a_row_asks_for_its_own_versions_in_place_of_the_pinned():
    pins = matrix.pinned()
    assert set(matrix.requirements({})) == {f"{name}=={pins[name]}" for name in pins}
    mixed = matrix.requirements({"versions": {"torch": "2.6.0", "ipython": "7.34.0"}})
    others = {f"{name}=={pins[name]}" for name in pins if name != "torch"}
    assert set(mixed) == others | {"torch==2.6.0", "ipython==7.34.0"}
    assert set(matrix.requirements({"newest": True})) == set(pins)
    assert "jupyter-book" not in pins


def test_the_first_python_that_runs_is_taken(folder):
    command(folder, "python3.14", "exit 1")  # a name that is a dead end
    command(folder, "python3.12", "exit 0")
    assert matrix.find_python("3.15 3.14 3.12") == str(folder / "python3.12")


def test_a_missing_python_is_not_run_and_no_failure_unless_required(folder, capsys, monkeypatch):
    monkeypatch.setattr(matrix, "rows", lambda: {"odd": {"why": "", "python": "3.10 3.9"}})
    matrix.main([])
    said = capsys.readouterr().out
    assert "odd: not run, no Python 3.10 or 3.9 on this machine" in said
    assert said.splitlines()[1].split() == ["odd", "not", "run", "not", "run", "0"]
    with pytest.raises(SystemExit, match="Not everything holds"):
        matrix.main(["--require"])


def test_what_pip_cannot_install_is_not_run_in_its_own_words(folder):
    pip = "echo 'ERROR: No matching distribution found for torch==9' >&2; exit 1"
    command(folder, "python3.12", f'[ "$1" = -c ] || {{ {pip}; }}')
    row = {"python": "3.12", "versions": {"torch": "9"}}
    outcome = matrix.run("odd", row, jobs="0")
    assert outcome.not_run == "No matching distribution found for torch==9"
    assert not (folder / "matrix" / "odd" / "made-from").exists()


def test_an_environment_is_kept_until_its_row_changes(folder, monkeypatch):
    installed = []

    def install(command):
        installed.append(command)
        (folder / "matrix" / "odd").mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr(matrix, "install", install)
    row = {"versions": {"torch": "2.15.0"}}
    for versions in ("2.15.0", "2.15.0", "2.15.1"):
        python = matrix.environment("odd", row | {"versions": {"torch": versions}})
        assert python == str(folder / "matrix" / "odd" / "bin" / "python")
    assert ["venv" in command for command in installed] == [True, False, True, False]
    assert "torch==2.15.1" in installed[-1]
    assert "--constraint=constraints.txt" not in installed[-1]


def test_rows_of_settings_take_this_python():
    assert matrix.environment("hash-1", {"variables": {"PYTHONHASHSEED": "1"}}) == sys.executable


def test_what_a_row_lacks_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr(matrix, "pinned", lambda: {"torch": "1", "unheard-of": "1"})
    with pytest.raises(LookupError, match=r"-m pip install unheard-of$"):
        matrix.installed(sys.executable, {})


def test_a_report_is_counted_and_chapters_timed(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    outcome = matrix.Outcome("odd", {"python": "3.12.1", "torch": "2.6.0", "device": "CPU AVX2"})
    matrix.count(outcome, "notebooks", report, 1)
    assert outcome.counts["notebooks"] == {"passed": 2, "failed": 1, "skipped": 1}
    assert outcome.seconds["masking"] == 5
    text = matrix.table([outcome]).splitlines()
    assert text[1].split() == ["odd", "3.12.1", "2.6.0", "not", "run", "FAIL", "1", "0"]
    assert "odd: on CPU AVX2" in text
    assert "    book.masking.ipynb::Cell 2: Cell 2 differs" in text
    assert text[-1].split() == ["masking", "5"]


@pytest.mark.parametrize("code", [0, 3, 5])
def test_a_run_without_a_report_has_failed(tmp_path, code):
    outcome = matrix.Outcome("odd")
    matrix.count(outcome, "library", tmp_path / "none.xml", code)
    assert outcome.verdict("library") == "FAIL 1"
    assert outcome.failures == [f"library: pytest ended with {code}, see its log"]


def test_a_row_runs_end_to_end(folder, monkeypatch):
    """One real test under a row's variables, by this Python, through pytest's own report."""
    test = folder / "test_settings.py"
    test.write_text(
        "import os\ndef test_a(): assert os.environ['PYTHONHASHSEED'] == '7'\n"
        "def test_b(): assert os.environ['ATTENTION_COMPARE_PICTURES'] == '0'\n"
    )
    parts = {"library": [str(test), f"--rootdir={folder}", f"--confcutdir={folder}"]}
    outcome = matrix.run("odd", {"variables": {"PYTHONHASHSEED": "7"}}, "0", parts)
    assert outcome.counts["library"] == {"passed": 1, "failed": 1, "skipped": 0}
    assert "test_b" in outcome.failures[0]
    assert outcome.seconds["library"] > 0
