"""Every figure in a live kernel; the gate tries three of them (tests/widgets)."""

import pytest

from tests.widgets import test_jupyterlab

pytestmark = pytest.mark.browser


def test_sliders_and_python_go_in_step(notebook, figure):
    test_jupyterlab.hold_sliders(notebook, type(figure).__name__)
