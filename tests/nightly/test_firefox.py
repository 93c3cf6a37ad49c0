"""The built website in the machine's own Firefox, driven by WebDriver BiDi, beside Chromium."""

import functools
import itertools
import json
import os
import re
import shutil
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import websocket

from attention_workbook.figures.catalogue import FIGURES
from tests.website.test_site_in_browser import PAGES
from tests.website.visiting import SITE, WATCH
from website import book

pytestmark = [pytest.mark.site, pytest.mark.browser]

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
# Nothing but this machine is reached; motion is over at once, so that readouts are those at rest.
PREFERENCES = """
user_pref("network.proxy.type", 1);
user_pref("network.proxy.socks", "127.0.0.1");
user_pref("network.proxy.socks_port", 9);
user_pref("ui.prefersReducedMotion", 1);
"""
LIVE = """new Promise(done => {
  const end = Date.now() + 20_000, look = () => {
    const [all, live] = ["", ".attention-live"].map(
      kind => document.querySelectorAll(`figure.attention-widget${kind}`).length);
    all === live || Date.now() > end ? done([all, live]) : setTimeout(look, 50);
  };
  look();
})"""
# A control of a figure gets the keyboard; what a key then changes, the readouts say.
CONTROLS = "input[type=range], input[type=radio]:checked, select, [tabindex='0']"
KEYS = {"ArrowRight": "\ue014", "Enter": "\ue007"}
FOCUS = """([name, controls, number]) => {
  const view = document.querySelector(`[data-widget=${name}] .attention-view`);
  const all = [...view.querySelectorAll(controls)].filter(one => one.checkVisibility());
  all[number]?.focus();
  return number < all.length;
}"""
READOUTS = """(name) => new Promise(done => setTimeout(() => done(
  [...document.querySelector(`[data-widget=${name}]`).querySelectorAll("output[data-readout]")]
    .map(one => `${one.dataset.readout} ${parseFloat(one.dataset.value).toPrecision(9)}`)), 400))"""


class Firefox:
    """A Firefox without a window, and a page in it."""

    def __init__(self, address):
        self.socket = websocket.create_connection(address, timeout=60, suppress_origin=True)
        self.numbers, self.faults = itertools.count(), []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        watch = f"() => {{ {WATCH} }}"
        self.call("script.addPreloadScript", functionDeclaration=watch)
        self.page = self.call("browsingContext.create", type="tab")["context"]

    def call(self, method, **params):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (said := json.loads(self.socket.recv())).get("id") != number:
            entry = said["params"] if said.get("method") == "log.entryAdded" else {}
            if entry.get("level") in ("warn", "error"):
                self.faults.append(f"{entry['level']}: {entry['text']}")
        assert said["type"] == "success", said
        return said["result"]

    def open(self, url, width):
        self.faults.clear()
        size = {"width": width, "height": 800}
        self.call("browsingContext.setViewport", context=self.page, viewport=size)
        self.call("browsingContext.navigate", context=self.page, url=url, wait="complete")

    def evaluate(self, function, *given):
        source = f"Promise.resolve(({function})(...{json.dumps(given)})).then(JSON.stringify)"
        where = {"target": {"context": self.page}, "awaitPromise": True}
        said = self.call("script.evaluate", expression=source, **where)
        assert said["type"] == "success", said
        return json.loads(said["result"].get("value", "null"))

    def press(self, key):
        keys = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keyboard", "actions": keys}]
        self.call("input.performActions", context=self.page, actions=actions)


def listening(lines):
    """Return the address at which Firefox listens, as one of its lines says."""
    said = []
    for line in lines:
        said.append(line)
        if found := re.search(r"listening on (ws://\S+)", line):
            return f"{found[1]}/session"
    pytest.fail(f"Firefox ended, or was ended after a minute; it said:\n{''.join(said)}")


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    if FIREFOX is None:
        required = os.environ.get("ATTENTION_REQUIRE_BROWSER") == "1"
        (pytest.fail if required else pytest.skip)("no Firefox was found as firefox-esr or firefox")
    profile = tmp_path_factory.mktemp("firefox")
    (profile / "user.js").write_text(PREFERENCES)
    command = [FIREFOX, "--headless", "--no-remote", "--profile", profile]
    command += ["--remote-debugging-port=0"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **quiet, text=True) as process:
        last = threading.Timer(60, process.kill)  # if a profile is locked, it may say nothing
        try:
            last.start()
            address = listening(process.stderr)
            last.cancel()
            threading.Thread(target=process.stderr.read, daemon=True).start()
            browser = Firefox(address)
            yield browser
            browser.socket.close()
        finally:
            last.cancel()
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="module")
def origin():
    handler = functools.partial(SimpleHTTPRequestHandler, directory=SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_quiet_and_fits_and_its_figures_live(firefox, origin, name):
    firefox.open(origin + name, width=390)
    figures, live = firefox.evaluate(f"() => {LIVE}")
    assert live == figures
    assert firefox.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert firefox.evaluate("() => violations") == []
    assert firefox.faults == []


def page_of(figure):
    files = (SITE / f"{name}.html" for name in book.contents())
    found = (path for path in files if f'data-widget="{figure}"' in path.read_text("utf-8"))
    return next(found).relative_to(SITE).as_posix()


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_answers_to_a_key_as_in_chromium(firefox, origin, visit, figure):
    """One of its controls changes its readouts, or the steps of a story, to the same numbers."""
    page = page_of(figure)
    # The words of Scissors are buttons.
    controls, key = (CONTROLS, "ArrowRight") if figure != "Scissors" else ("button", "Enter")
    firefox.open(origin + page, width=1280)
    firefox.evaluate(f"() => {LIVE}")
    before = firefox.evaluate(READOUTS, figure)
    with visit(page, reduced_motion="reduce") as seen:
        seen.page.evaluate(LIVE)
        for number in itertools.count():
            left = firefox.evaluate(FOCUS, [figure, controls, number])
            assert left, f"no control of {figure} changes a readout when {key} is pressed"
            firefox.press(KEYS[key])
            seen.page.evaluate(FOCUS, [figure, controls, number])
            seen.page.keyboard.press(key)
            if (after := firefox.evaluate(READOUTS, figure)) != before:
                break
        assert seen.page.evaluate(READOUTS, figure) == after
