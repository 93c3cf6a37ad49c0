"""Every downloaded notebook runs alone; the gate runs three of them (tests/website)."""

import pytest

from tests.website import test_travelling_notebooks
from tests.website.test_travelling_notebooks import CHAPTERS

pytestmark = pytest.mark.site


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_downloaded_notebook_runs_alone(site, elsewhere, tmp_path, name):
    test_travelling_notebooks.hold_alone([name], elsewhere, tmp_path)
