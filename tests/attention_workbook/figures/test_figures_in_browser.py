"""What every figure with sliders owes its reader on a page, whatever it shows."""

import itertools
import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from attention_lib import palette
from attention_workbook import figures
from attention_workbook.figures.catalogue import FIGURES
from website.pictures import same_picture

from .conftest import FONT
from .test_values_in_browser import choices_ticks_and_words_agree, sliders_values_and_words_agree

pytestmark = pytest.mark.browser

SET_THEME = "theme => { document.documentElement.dataset.theme = theme; }"
# The figure that stands for all where they share the code; tests/nightly tries every one.
ONE = "MaskLab"
# Figures without a slider, each with a button that changes it.
BUTTONS = {
    "MaskTrainer": "Hide what comes later",
    "OneHead": "Swap the columns of W_q",
    "Scissors": "wide",
}


def test_a_figure_answers_its_reader_and_leaves_nothing_behind(show):
    answer_and_leave_nothing_behind(show, FIGURES[ONE]())


def answer_and_leave_nothing_behind(show, figure):
    """One visit for what can be tried on one page, each time after a reset."""
    page = show(figure, more=True)
    for check in (
        comes_to_life_under_its_title_and_task,
        every_control_is_named_valued_large_and_answers_to_keys,
        sliders_answer_to_the_pointer_and_reset_takes_all_back,
        sliders_values_and_words_agree,
        choices_ticks_and_words_agree,
        a_draw_writes_nothing_that_stands_already,
        cleanup_leaves_nothing_behind,
    ):
        check(page, figure)
        assert page.errors == [] and page.refused == [], check
        page.locator(".attention-tool", has_text="Reset").evaluate("button => button.click()")
        page.settle()


def comes_to_life_under_its_title_and_task(page, figure):
    assert page.locator(".attention-view").count() == 1
    assert not page.locator(".attention-widget > :is(img, figcaption)").first.is_visible()
    assert page.locator(".attention-finding").inner_text() != ""
    assert not page.locator(".attention-failure").is_visible()
    title, task = (page.locator(f".attention-{part}").inner_text() for part in ("title", "task"))
    assert title
    assert page.get_by_role("group", name=title, exact=True).count() == 1
    assert re.fullmatch(r"[A-Z][^.!?]{5,90}[.?]( [A-Z][^.!?]{5,60}\?)?", task), (
        "one, or a question too"
    )
    placed = ".attention-layout > .attention-controls > :not(button), .attention-stage > fieldset"
    controls = page.locator(placed)
    assert controls.filter(visible=True).count() <= 2  # some are taken hold of in the picture
    assert page.locator(".attention-play").count() <= 1


def test_without_javascript_still_pictures_and_their_words_are_there(show, every_figure):
    page = show(*every_figure, javascript=False)
    stills = page.locator(".attention-widget")
    for number, figure in enumerate(every_figure):
        box = stills.nth(number).locator("> img").bounding_box()
        assert box["width"] > 300 and box["height"] > 100, figure
        assert "There is no still" not in stills.nth(number).locator("figcaption").inner_text()
    assert page.errors == []


@pytest.mark.parametrize(
    "script",
    [
        "attentionWidgets.register('{}', () => ({{ render() {{ throw new Error('broken'); }} }}));",
        "attentionWidgets.register('{}', () => {{ throw new Error('broken'); }});",
        "a script that this browser does not understand {}",
    ],
    ids=["render throws", "module throws", "not JavaScript"],
)
def test_a_script_that_fails_leaves_the_still_picture(show, script):
    figure = figures.SoftmaxSaturation()
    name = type(figure).__name__
    page = show(figure, files={f"{name}.js": script.format(name)}, alive=0)
    assert len(page.errors) == 1
    assert page.locator(".attention-widget > img").is_visible()
    assert page.locator("figcaption").inner_text().startswith("Softmax saturation. Width d = 64")
    assert page.locator(".attention-widget > *").count() == 2


def every_control_is_named_valued_large_and_answers_to_keys(page, figure):
    for slider in page.locator("input[type=range]").all():
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


def sliders_answer_to_the_pointer_and_reset_takes_all_back(page, figure):
    before = page.figure().readouts(), page.locator(".attention-finding").inner_text()
    for slider in page.locator("input[type=range]").all():
        box = slider.bounding_box()
        value = slider.input_value()
        end = 0.95 if float(value) < float(slider.get_attribute("max")) else 0.05
        slider.click(position={"x": box["width"] * end, "y": box["height"] / 2})
        assert slider.input_value() != value
    if button := BUTTONS.get(type(figure).__name__):
        page.get_by_role("button", name=button, exact=True).press("Enter")
    page.settle()
    changed = page.figure().readouts(), page.locator(".attention-finding").inner_text()
    assert changed != before
    page.get_by_role("button", name="Reset").click()
    page.settle()
    assert (page.figure().readouts(), page.locator(".attention-finding").inner_text()) == before


def test_a_phone_shows_figures_whole_and_sliders_answer_to_touch(show, every_figure):
    page = show(*every_figure, width=320, has_touch=True, is_mobile=True, more=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    for number, figure in enumerate(every_figure):
        slider = page.figure(number).locator.locator("input[type=range]").first
        if slider.count() == 0:  # its lines are cut, tests/attention_workbook/test_scissors.py
            continue
        slider.scroll_into_view_if_needed()
        box, values = slider.bounding_box(), set()
        for share in (0.97, 0.03):
            slider.tap(position={"x": box["width"] * share, "y": box["height"] / 2})
            values.add(slider.input_value())
        assert len(values) == 2, figure
    assert page.errors == []


def test_controls_are_44_pixels_high_for_a_finger(show, every_figure):
    page = show(*every_figure, width=390, has_touch=True, is_mobile=True, more=True)
    heights = page.evaluate(
        """() => [...document.querySelectorAll('.attention-view')].map((view) =>
            [...view.querySelectorAll('button, select, summary, .attention-option, [type=text]')]
                .filter((control) => control.checkVisibility())
                .map((control) => [control.textContent, control.getBoundingClientRect().height]))"""
    )
    for figure, controls in zip(every_figure, heights, strict=True):
        assert len(controls) >= 4, figure  # Reset, Copy link, Full screen and one of its own
        low = [control for control in controls if control[1] < 44]
        assert not low, (type(figure).__name__, low)


def test_figures_fit_their_place_again_when_it_becomes_narrower(show, every_figure):
    """As after full screen: no picture keeps the width that it had."""
    page = show(*every_figure, more=True)
    page.set_viewport_size({"width": 820, "height": 800})
    page.settle()
    beyond = page.evaluate(
        """() => [...document.querySelectorAll('.attention-view')].flatMap((view) => {
            const { paddingRight } = getComputedStyle(view);
            const edge = view.getBoundingClientRect().right - parseFloat(paddingRight);
            const figure = view.closest('figure').dataset.widget;
            return [...view.querySelectorAll('svg, canvas, .attention-frame')]
                .filter((part) => part.getBoundingClientRect().right > edge)
                .map((part) => [figure, part.outerHTML.slice(0, 60)]);
        })"""
    )
    assert beyond == []


# Move the first slider from end to end; where there is none, cut a line and mend it.
# Of figures without a slider a trait, and two values of it.
OTHERS = {
    "MaskTrainer": ["mask", [[1] * 9] * 8, [[0] * 9] * 8],
    "OneHead": ["W_q", [[3, 0], [0, 3]], [[0, 3], [3, 0]]],
    "Scissors": ["cuts", "", "1:12-7"],
}
TRAIT = f"""() => {{
    const slider = document.querySelector('label:has(input[type=range])');
    const name = document.querySelector('figure').dataset.widget;
    return slider?.dataset.trait ?? ({json.dumps(OTHERS)})[name][0];
}}"""
CHANGE = f"""() => {{
    const others = {json.dumps(OTHERS)};"""
CHANGE += """
    const slider = document.querySelector('input[type=range]');
    const model = attentionWidgets.model(document.querySelector('figure'));
    if (slider) {
        slider.value = slider.value === slider.min ? slider.max : slider.min;
        slider.dispatchEvent(new Event('input'));
    } else {
        const [trait, one, other] = others[document.querySelector('figure').dataset.widget];
        const isOne = JSON.stringify(model.get(trait)) === JSON.stringify(one);
        model.set(trait, isOne ? other : one);
    }
}"""


def cleanup_leaves_nothing_behind(page, figure):
    left = page.evaluate(
        f"""async () => {{ const change = {CHANGE};"""
        """
        const figure = document.querySelector('figure');
        const model = attentionWidgets.model(figure);
        attentionWidgets.unmount(figure);
        await attentionWidgets.mount(figure, model);
        const before = { ...watch, model: model.listenerCount };
        const counts = [];
        for (let turn = 0; turn < 3; turn += 1) {
            change();
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


def test_light_and_dark_follow_the_page_and_else_the_system(show):
    page = show(figures.SoftmaxSaturation())
    for system, (on_html, on_body, *dark) in itertools.product(("light", "dark"), HOSTS):
        page.emulate_media(color_scheme=system)
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
            [on_html, on_body],
        )
        name = "dark" if dark[system == "dark"] else "light"
        paper = (palette.DARK if name == "dark" else palette.LIGHT)["paper"]
        red, green, blue = (int(paper[i : i + 2], 16) for i in (1, 3, 5))
        assert ground == [f"rgb({red}, {green}, {blue})", name], (on_html, on_body, system)


def a_draw_writes_nothing_that_stands_already(page, figure):
    page.evaluate(
        "document.querySelector('input[type=range]')?.dispatchEvent(new Event('input'))"
    )  # it may choose what is shown
    page.wait_for_timeout(100)
    written = page.evaluate(
        f"""async () => {{ const [change, traitOf] = [{CHANGE}, {TRAIT}];"""
        """
        const model = attentionWidgets.model(document.querySelector('figure'));
        const trait = traitOf();
        const options = { subtree: true, childList: true, attributes: true, characterData: true };
        const frame = () => new Promise(requestAnimationFrame);
        const seen = [];
        const observer = new MutationObserver((records) => seen.push(...records));
        const parts = document.querySelectorAll(
            '.attention-stage, .attention-readouts, .attention-finding');
        for (const part of parts) observer.observe(part, options);
        const drawn = watch.draws.length;
        const before = model.get(trait);
        change();
        model.set(trait, before);
        await frame();
        await frame();
        const nothing = seen.map((record) => record.target.nodeName);
        change();
        await frame();
        await frame();
        return { nothing, something: seen.length, draws: watch.draws.length - drawn };
        }"""
    )
    assert written["nothing"] == []
    assert written["something"] > 0 and written["draws"] >= 2


def test_what_cannot_be_drawn_is_said_until_it_can_be(show):
    """Python refuses such values; a link to another widget's value in the browser does not."""
    page = show(figures.SoftmaxSaturation())
    failure = page.locator(".attention-failure")
    for temperature, said in (
        (0, "These settings cannot be drawn: a score is not finite"),
        (1, ""),
    ):
        page.set({"temperature": temperature})
        assert (failure.inner_text() if failure.is_visible() else "") == said
    assert page.errors == []


def test_set_children_reuses_elements_of_the_same_tag(show):
    page = show(figures.SoftmaxSaturation())
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


def test_axe_finds_no_barrier_in_a_figure(show):
    find_no_barrier(show, [FIGURES[ONE]()])


def find_no_barrier(show, all_figures):
    """By all rules of axe; in the dark once more by those that look at colours."""
    page = show(*all_figures, more=True)
    for theme, rules in (("light", None), ("dark", {"runOnly": ["color-contrast"]})):
        page.evaluate(SET_THEME, theme)
        results = Axe().run(page.page, options=rules)
        assert results.violations_count == 0, results.generate_report()
        assert len(results.response["passes"]) > (0 if rules else 5), "the rules ran"


REMOUNT = """async () => {
    for (const figure of document.querySelectorAll('.attention-widget')) {
        const model = attentionWidgets.model(figure);
        attentionWidgets.unmount(figure);
        await attentionWidgets.mount(figure, model);
    }
}"""
BRING = """async () => {
    const link = document.createElement('link');
    Object.assign(link, { rel: 'stylesheet', href: 'late.css' });
    const came = new Promise((resolve) => { link.onload = resolve; });
    document.head.append(link);
    await came;
    await Promise.all(['13px Test', '600 13px Test'].map((font) => document.fonts.load(font)));
}"""


def test_a_font_that_comes_late_is_drawn_as_one_that_was_there(show):
    draw_a_late_font(show, FIGURES[ONE]())


def draw_a_late_font(show, figure):
    page = show(figure, files={"late.css": FONT.replace("DejaVuSans", "DejaVuSansMono")})
    before = page.locator(".attention-view").screenshot()
    page.evaluate(BRING)
    page.settle()
    late = page.locator(".attention-view").screenshot()
    assert not same_picture(before, late), "it is another face"
    page.evaluate(REMOUNT)
    page.settle()
    assert same_picture(late, page.locator(".attention-view").screenshot())
