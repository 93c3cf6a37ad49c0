"""The website beside a stock Jupyter Book of the same chapters, page by page, as a table.

``make book``, then ``python -m benchmarks.site``. Both are opened in Chromium behind one server
that compresses, on a phone's screen and a phone's connection (1.6 Mbit/s, 150 ms), the processor
slowed four times. Per page: kB on the way, requests, requests to other hosts (refused, so a stock
page lacks what it would fetch there), violations that axe-core finds, layout shift (CLS), and
seconds to the largest paint (LCP). The stock book has the same notebooks, contents and
bibliography, and Jupyter Book's own settings but for running them: the stored outputs are shown.
"""

import functools
import gzip
import http.server
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe

from website import book, browser

TEXT = (".html", ".css", ".js", ".svg")
SETTINGS = """\
title: Stock
execute: {execute_notebooks: "off"}
bibtex_bibfiles: [book/references.bib]
"""
SENT = []
PHONE = {"viewport": {"width": 412, "height": 823}, "device_scale_factor": 2, "is_mobile": True}
LINK = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 90_000}
WATCH = """
window.seen = { shift: 0, paint: 0 };
new PerformanceObserver((list) => list.getEntries().forEach((one) => {
  if (!one.hadRecentInput) seen.shift += one.value;
})).observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((list) => list.getEntries().forEach((one) => {
  seen.paint = one.startTime;
})).observe({ type: "largest-contentful-paint", buffered: true });
"""


class Compressing(http.server.SimpleHTTPRequestHandler):
    """Serves a folder as static hosts do, and notes in ``SENT`` the bytes of each answer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        body = path.read_bytes()
        self.send_response(200)
        if path.suffix in TEXT:
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        SENT.append(len(body))

    def log_message(self, *_):
        pass


def serve(folder):
    """Serve a folder from a thread; return its address."""
    handler = functools.partial(Compressing, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def stock(folder):
    """Build the same chapters with Jupyter Book's own settings; return the folder of the pages."""
    shutil.copytree(book.ROOT / "book", folder / "book")
    shutil.copy(book.ROOT / "_toc.yml", folder)
    (folder / "_config.yml").write_text(SETTINGS, encoding="utf-8")
    command = [sys.executable, "-c", book.JUPYTER_BOOK, "build", ".", "-q"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "_build" / "html"


def measure(chromium, origin, name):
    """Open one page; return its row of the table."""
    elsewhere = []
    SENT.clear()
    context = chromium.new_context(**PHONE)
    context.add_init_script(WATCH)

    def answer(route):
        if route.request.url.startswith(origin):
            return route.continue_()
        elsewhere.append(route.request.url)
        return route.abort()

    context.route(lambda address: address.startswith("http"), answer)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", LINK)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.goto(f"{origin}{name}.html", wait_until="networkidle")
    seen = page.evaluate("seen")
    session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    sent = list(SENT)
    violations = len(Axe().run(page).response["violations"])
    context.close()
    kilobytes, seconds = sum(sent) / 1000, seen["paint"] / 1000
    return kilobytes, len(sent), len(elsewhere), violations, seen["shift"], seconds


def main():
    ours = book.ROOT / "_build" / "html"
    if not (ours / "index.html").is_file():
        sys.exit("There is no website yet: run make book first.")
    if browser.path_of_chromium() is None:
        sys.exit(browser.MISSING)
    with tempfile.TemporaryDirectory() as folder, browser.chromium() as started:
        sites = {"ours": serve(ours), "stock": serve(stock(Path(folder)))}
        print(f"{'':18} {'':5}     kB requests elsewhere  axe   CLS  LCP s")
        for name in book.contents():
            for site, origin in sites.items():
                row = measure(started, origin, name)
                print(
                    f"{name[5:]:18} {site:5}", "{:6.0f} {:8} {:9} {:4} {:5.3f} {:6.2f}".format(*row)
                )


if __name__ == "__main__":
    main()
