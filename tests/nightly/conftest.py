"""The fixtures of the gate's tests, which these go on from."""

import matplotlib as mpl
import pytest

from tests.attention_workbook.figures.conftest import (  # noqa: F401
    assets,
    contexts,
    every_figure,
    figure,
    node,
    show,
)
from tests.nightly.lab import lab, notebook  # noqa: F401
from tests.website.conftest import site, small_book, visit  # noqa: F401
from tests.website.test_travelling_notebooks import elsewhere  # noqa: F401


@pytest.fixture(autouse=True)
def matplotlib_as_it_comes():
    """Set back what a test before has set, by running a chapter for instance."""
    mpl.rcdefaults()
