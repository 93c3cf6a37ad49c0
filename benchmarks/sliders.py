"""How long a reader waits for a figure with sliders: from a key to the paint, on a slow machine.

Run ``python -m benchmarks.sliders``, or, for some figures alone, name them:
``python -m benchmarks.sliders MaskLab HeadSplit``. Every figure stands on a page of its own in
Chromium, the processor slowed four times, and 200 keys are pressed, each moving one of its sliders.
Measured are

- the handler: the time that our code takes for a key, its event listeners and its drawing;
- the event: from the key to the next paint, as Chromium's event timing has it (in steps of 8 ms;
  what is faster than 16 ms is not told apart).

The command fails where an event takes longer than 200 ms, beyond which a page feels slow.
"""

import gzip
import statistics
import sys
import tempfile
from pathlib import Path

from attention_workbook.figures.catalogue import FIGURES
from website import browser

ROOT = Path(__file__).resolve().parent.parent
PRESSES = 200
SLOWER = 4
EVENT_WORST_MS = 200

WATCH = """
window.spent = 0;
window.slowest = 0;
const timed = (call) => function (...values) {
  const start = performance.now();
  try { return call.apply(this, values); } finally { spent += performance.now() - start; }
};
const { addEventListener } = EventTarget.prototype;
EventTarget.prototype.addEventListener = function (type, listener, options) {
  return addEventListener.call(this, type, timed(listener), options);
};
window.frame = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (callback) => frame(timed(callback));
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) slowest = Math.max(slowest, entry.duration);
}).observe({ type: "event", durationThreshold: 16 });
"""


def assets():
    """The files that a page with figures loads, by name."""
    from website.extensions import slider_figures

    return slider_figures.assets()


def measure(chromium, name, folder):
    """Press the keys; return the handlers' times and the longest event, in milliseconds."""
    page_file = folder / f"{name}.html"
    page_file.write_text(
        '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="figure.css">'
        f'<script defer src="host.js"></script><script defer src="{name}.js"></script>'
        f"<body>{FIGURES[name]().to_html()}</body>",
        encoding="utf-8",
    )
    page = chromium.new_page(viewport={"width": 860, "height": 800})
    page.add_init_script(WATCH)
    page.goto(page_file.as_uri())
    page.wait_for_selector(".attention-view")
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    sliders = page.locator("input[type=range]").all()
    handlers = []
    for slider in sliders:
        slider.press("Home")
        key = "ArrowLeft"
        for _ in range(-(-PRESSES // len(sliders))):
            if slider.evaluate(
                "slider => slider.value === slider.max || slider.value === slider.min"
            ):
                key = "ArrowRight" if key == "ArrowLeft" else "ArrowLeft"
            page.evaluate("spent = 0")
            page.keyboard.press(key)
            page.evaluate("() => new Promise((done) => frame(() => frame(done)))")
            handlers.append(page.evaluate("spent"))
    page.wait_for_timeout(300)  # event timing is reported after the paint
    slowest = page.evaluate("slowest")
    page.close()
    return handlers, slowest


def main():
    if browser.path_of_chromium() is None:
        sys.exit(browser.MISSING)
    names = sys.argv[1:] or FIGURES
    for name in names:
        if name not in FIGURES:
            sys.exit(f"no figure {name!r}; there are {', '.join(FIGURES)}")
    files = assets()
    passed = True
    print(f"{'figure':<18}{'handler p50':>12}{'p95':>8}{'max':>8}{'worst event':>13}{'bytes':>8}")
    with tempfile.TemporaryDirectory() as place, browser.chromium() as started:
        folder = Path(place)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        for figure in names:
            handlers, slowest = measure(started, figure, folder)
            if not handlers:
                print(f"{figure:<18} has no slider")
                continue
            p95 = statistics.quantiles(handlers, n=20)[-1]
            size = len(gzip.compress(files[f"{figure}.js"].encode()))
            event = f"{slowest:.0f} ms" if slowest else "< 16 ms"
            print(
                f"{figure:<18}{statistics.median(handlers):>9.1f} ms{p95:>8.1f}"
                f"{max(handlers):>8.1f}{event:>13}{size:>8}"
            )
            passed &= slowest <= EVENT_WORST_MS
    sizes = [len(gzip.compress(files[file].encode())) for file in ("host.js", "figure.css")]
    print(f"shared by all: {sum(sizes)} bytes (gzip)")
    sys.exit(0 if passed else f"an event took longer than {EVENT_WORST_MS} ms")


if __name__ == "__main__":
    main()
