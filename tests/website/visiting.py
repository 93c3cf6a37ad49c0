"""A visit to a page of the built website, in a Chromium that can reach nothing else."""

import time
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

from website import ROOT

ORIGIN = "https://book.test/"
SITE = ROOT / "_build" / "html"

# What a page would otherwise not say: what its policy refuses, and how far it jumps while it loads.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  violations.push(`${event.effectiveDirective} refuses ${event.blockedURI || "inline"}`));
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
STILL = 0.01  # a tenth of what counts as good
ASKED = ("target-size", "label-content-name-mismatch")  # rules that axe-core leaves out by default
AXE = {"resultTypes": ["violations"], "rules": {rule: {"enabled": True} for rule in ASKED}}


class Visit:
    """A page of the site that is open, what it has asked for, and what went wrong."""

    def __init__(
        self,
        chromium,
        address,
        width=1280,
        scripts=True,
        theme="light",
        extra="",
        hold="",
        folder="",
        slow=False,
        **device,
    ):
        self.faults, self.asked, self.extra = [], [], extra
        self.hold, self.held, self.folder, self.slow = hold, [], folder, slow
        self.requests = 0
        self.context = chromium.new_context(
            viewport={"width": width, "height": 800},
            java_script_enabled=scripts,
            color_scheme=theme,
            permissions=["clipboard-read", "clipboard-write"],
            **device,
        )
        self.context.add_init_script(WATCH)
        self.context.route("**/*", self.answer)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(f"{said.type}: {said.text}"))
        self.go(address)

    def go(self, address):
        self.page.goto(ORIGIN + address, wait_until="domcontentloaded" if self.hold else "load")
        if not self.hold:
            self.quiet()

    def quiet(self):
        """Wait until the page has asked for nothing for a while.

        Counted by what it asks for: the browser's own report, of what is still under way, now and
        then misses the end of a request, and then waits for ever.
        """
        asked = None
        while asked != (asked := self.requests):
            self.page.wait_for_timeout(150 if self.slow else 50)

    def answer(self, route):
        self.requests += 1
        path = SITE / unquote(
            urlsplit(route.request.url).path.lstrip("/").removeprefix(self.folder)
        )
        if self.folder and not (self.folder in route.request.url and path.is_file()):
            return route.fulfill(path=SITE / "404.html", status=404)
        if self.hold and self.hold in route.request.url:
            return self.held.append((route, path))
        if not (route.request.url.startswith(ORIGIN) and path.is_file()):
            self.faults.append(f"refused: {route.request.url}")
            return route.abort()
        self.asked.append(path)
        if self.slow and path.suffix == ".js":
            time.sleep(0.05)  # as on a slow line: the page is painted before its scripts come
        if self.extra and path.suffix == ".html":
            text = path.read_text(encoding="utf-8").replace("</body>", f"{self.extra}</body>")
            return route.fulfill(body=text, content_type="text/html; charset=utf-8")
        return route.fulfill(path=path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def stands_still(self):
        shift = self.page.evaluate("shift")
        assert shift < STILL, (
            f"{self.page.url} jumps by {shift:.3f} while it loads, at most {STILL}: give what "
            "comes late its room beforehand"
        )

    def violations(self):
        return self.page.evaluate("violations")

    def unfold(self):
        self.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.page.evaluate(frame)

    def axe(self):
        """What axe-core finds in the page with everything unfolded, a line each."""
        self.unfold()
        found = Axe().run(self.page, options=AXE).response["violations"]
        return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.fixture(scope="session")
def visit(chromium):
    if not (SITE / "index.html").is_file():
        pytest.fail("there is no website in _build/html: run make book, or see why it failed")
    return lambda *where, **how: Visit(chromium, *where, **how)
