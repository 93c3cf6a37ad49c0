"""Every downloaded notebook runs alone; the gate runs some of them (tests/website)."""

import pytest

from tests.website import test_travelling_notebooks
from tests.website.test_travelling_notebooks import CHAPTERS

OLDER = {  # a library that lacks what these notebooks import
    "attention_lib/__init__.py": "__version__ = '0.1.0'",
    "attention_lib-0.1.0.dist-info/METADATA": "Name: attention-lib\nVersion: 0.1.0\n",
}


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_downloaded_notebook_runs_alone(elsewhere, tmp_path, name):
    test_travelling_notebooks.hold_alone([name], elsewhere, tmp_path)


@pytest.mark.site
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_downloaded_notebook_is_the_chapter_after_two_cells(site, name):
    test_travelling_notebooks.hold_chapter(name)


def test_downloaded_notebooks_run_beside_an_older_library(elsewhere, tmp_path):
    (tmp_path / "run").mkdir()
    for name, text in OLDER.items():
        (tmp_path / "older" / name).parent.mkdir(parents=True)
        (tmp_path / "older" / name).write_text(text, encoding="utf-8")
    *python, start = elsewhere
    beside = [
        *python,
        start.replace("exec(", f"sys.path.append({str(tmp_path / 'older')!r}); exec("),
    ]
    names = ["heatmaps", "one-head", "bug-museum", "serving"]
    test_travelling_notebooks.hold_alone(names, beside, tmp_path / "run")
