"""Every public attention compiles in one graph, and gives there what it gives here.

A length that is too large is not refused there. Each night: ``nightly/test_tracing.py``.
"""

import pytest

from tests.tracing import MARKS, check_compiled

pytestmark = MARKS


@pytest.mark.parametrize(
    ("name", "need_weights"),
    [
        ("function", True),
        ("additive", True),
        ("grouped heads", False),
    ],
)
def test_compiled_in_one_graph_for_all_lengths(name, need_weights):
    check_compiled(name, need_weights)
