"""What tests of more than one folder share: one thread a process, and a Chromium."""

import os

import pytest
import torch

from website import browser

# One: tensors here are small, and tests run in several processes at once.
torch.set_num_threads(int(os.environ.get("ATTENTION_THREADS", "1")))


@pytest.fixture(scope="session")
def chromium():
    """The machine's own Chromium; without one, tests are skipped, or fail where one is required."""
    if browser.path_of_chromium() is None:
        if os.environ.get("ATTENTION_REQUIRE_BROWSER") == "1":
            pytest.fail(browser.MISSING)
        pytest.skip("no Chromium was found")
    with browser.chromium() as started:
        yield started
