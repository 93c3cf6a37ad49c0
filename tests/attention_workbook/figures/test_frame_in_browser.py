"""What stands around every figure: its tools, its address, its file; touch and playing."""

import json
import urllib.parse

import pytest

from attention_workbook import figures
from attention_workbook.figures import MaskLab, OnlineSoftmax, SoftLookup
from attention_workbook.figures.catalogue import FIGURES

from .conftest import ORIGIN

browser = pytest.mark.browser
STATE = "attentionWidgets.model(document.querySelector('figure')).get('{}')"  # to wait for


@pytest.mark.parametrize("task", ["", "Widen them & see."])
def test_a_chapter_may_ask_something_of_its_own(show, task):
    page = show(MaskLab(fill="0", task=task))
    asked = page.locator(".attention-task").inner_text()
    assert asked == (task or "Stop the leak.")
    page.set({"dtype": "float16"})
    assert page.locator(".attention-task").inner_text() == asked


# ---------------------------------------------------------------- the address


def test_an_address_is_read_as_it_was_written(node):
    initial = {"fill": "0", "len": 3, "low": False, "points": [["a", 1, 2]], "packed": {"0": 1}}
    changed = {
        "fill": "1&2=#%",
        "len": 0,
        "low": True,
        "points": [["注", -1.5, 0], ["b", 2, 2]],
        "packed": {"0": 2},
    }
    roundtrip = """(values, initial) => {
        const hash = writeAddress("Lab", values, initial);
        return [hash, readAddress(hash, "Lab", initial), readAddress(hash, "Lab-2", initial)];
    }"""
    names = ["readAddress", "writeAddress"]
    ((hash_, read, other),) = node("_shared/index.js", roundtrip, [[changed, initial]], names)
    del changed["packed"]  # bytes do not travel
    assert (read, other) == (changed, {})
    assert hash_.count("#") == 1 and hash_.count("&") == 3 and "points" in hash_
    ((hash_, read, _),) = node("_shared/index.js", roundtrip, [[initial, initial]], names)
    assert (hash_, read) == ("#Lab.", {})


@pytest.mark.parametrize(
    "hash_",
    [
        "#a-heading",
        "#Lab.len=true",
        "#Lab.len=1e999x",
        "#Lab.len=null",
        "#Lab.low=1",
        "#Lab.nothing=1",
        "#Lab.points=[]",
        '#Lab.points=[["a",1,"x"]]',
        "#Lab.fill=%E0%A4%A",
        "#Lab.__proto__=1",
        "#Lab",
        "#",
    ],
)
def test_an_address_that_makes_no_sense_changes_nothing(node, hash_):
    initial = {"fill": "0", "len": 3, "low": False, "points": [["a", 1, 2]]}
    assert node("_shared/index.js", "readAddress", [[hash_, "Lab", initial]]) == [{}]


def bring_back(show, figure):
    """Move a figure's last slider and hold what its link shows against it."""
    name = type(figure).__name__
    page = show(figure, more=True)
    start = page.figure().readouts()
    slider = page.locator("input[type=range]").last
    at_end = slider.evaluate("input => input.value === input.max")
    slider.press("Home" if at_end else "End")
    page.settle()
    trait = slider.evaluate("input => input.labels[0].dataset.trait")
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function("() => document.querySelector('[role=status]').textContent !== ''")
    address = page.evaluate("location.hash")
    assert f"{name}.{trait}=" in address
    again = show(type(figure)(), address=address)
    assert again.get(trait) == page.get(trait)
    assert again.figure().readouts() == page.figure().readouts()
    assert again.errors == []
    again.get_by_role("button", name="Reset").click()
    again.settle()
    assert again.figure().readouts() == start


@browser
def test_the_link_brings_back_what_was_seen(show):
    bring_back(show, figures.HeatmapExplorer())


@browser
def test_the_second_of_a_kind_has_an_address_of_its_own(show):
    page = show(
        MaskLab(), MaskLab(), address="#MaskLab-2.valid_len=1&MaskLab.fill=-inf&SoftLookup.x=1"
    )
    assert [page.get("valid_len", i) for i in (0, 1)] == [3, 1]
    assert [page.get("fill", i) for i in (0, 1)] == ["-inf", "0"]
    page.evaluate("location.hash = 'MaskLab.valid_len=5'")
    page.wait_for_function(f"() => {STATE.format('valid_len')} === 5")
    assert [page.get("fill", i) for i in (0, 1)] == ["0", "0"]  # as at the start
    assert page.get("valid_len", 1) == 1  # not named, so left alone
    page.evaluate("location.hash = 'a-heading'")
    page.settle()
    assert page.get("valid_len", 0) == 5


@browser
def test_an_address_beyond_a_controls_range_is_not_taken(show):
    page = show(MaskLab(), address="#MaskLab.valid_len=9")
    for given in ("", "valid_len=-1", "fill=wrong", "dtype=int8"):
        if given:
            page.evaluate("given => { location.hash = given; }", f"MaskLab.{given}")
            page.settle()
        assert {name: page.get(name) for name in MaskLab().state()} == MaskLab().state()
        assert not page.locator(".attention-failure").is_visible()


@browser
def test_the_figure_of_the_address_is_what_is_seen_first(show):
    figures = [FIGURES[name]() for name in FIGURES]
    page = show(*figures, address="#KernelRegression.query=1")
    box = page.get_by_role("group", name="Regression as attention").bounding_box()
    assert -20 <= box["y"] <= 120


@browser
def test_text_from_the_address_is_text(show):
    points = [["<img src=x onerror=alert(1)>", 1, 0], ["</script>", 0, 1]]
    address = "#ScoringPlane.key_points=" + urllib.parse.quote(json.dumps(points))
    page = show(figures.ScoringPlane(), address=address)
    assert "<img src=x" in page.locator(".attention-view").inner_text()
    assert page.errors == [] and page.refused == []
    assert page.locator(".attention-view img").count() == 0


@browser
def test_without_a_page_of_ours_there_is_no_link(show):
    page = show(SoftLookup())
    buttons = page.evaluate(
        """async () => {
        const model = attentionWidgets.model(document.querySelector('figure'));
        attentionWidgets.unmount(document.querySelector('figure'));
        const figure = document.createElement('div'); // as in a notebook: no figure around it
        document.querySelector('main').append(figure);
        figure.dataset.widget = 'SoftLookup';
        await attentionWidgets.mount(figure, model);
        return [...figure.querySelectorAll('.attention-tool')].map((node) => node.textContent);
        }"""
    )
    assert "Reset" in buttons and "Copy link" not in buttons
    assert page.errors == []


@browser
@pytest.mark.parametrize("is_notebook", [True, False], ids=["notebook", "page"])
def test_a_notebook_hears_no_key_of_a_figure_and_a_page_does(show, is_notebook):
    """JupyterLab would go to another cell at an arrow, and delete the figure's at d d."""
    page = show(SoftLookup())
    page.evaluate(
        """async (isNotebook) => {
        window.heard = [];
        document.addEventListener('keydown', ({ key }) => heard.push(key));
        if (!isNotebook) return;
        const model = attentionWidgets.model(document.querySelector('figure'));
        attentionWidgets.unmount(document.querySelector('figure'));
        const output = document.createElement('div');
        document.querySelector('main').append(output);
        output.dataset.widget = 'SoftLookup';
        await attentionWidgets.mount(output, model);
        }""",
        is_notebook,
    )
    slider = page.get_by_role("slider").first
    before = slider.input_value()
    for key in ("ArrowRight", "d", "d", "Home"):
        slider.press(key)
        if key == "ArrowRight":
            assert slider.input_value() != before
    assert float(slider.input_value()) == float(slider.get_attribute("min"))
    assert page.evaluate("heard") == ([] if is_notebook else ["ArrowRight", "d", "d", "Home"])


@browser
def test_the_whole_screen_is_offered_where_there_is_one(show):
    page = show(MaskLab())
    button = page.get_by_role("button", name="Full screen")
    button.click()
    page.wait_for_function("() => document.fullscreenElement?.className === 'attention-view'")
    page.get_by_role("button", name="Leave full screen").click()
    page.wait_for_function("() => document.fullscreenElement === null")
    assert page.url == ORIGIN


# ---------------------------------------------------------------- room

# What stands on a page of its own kind, which has a test of its own.
ELSEWHERE = {
    "SentenceReader": "the front page's first screen",
    "Walk": "the picture beside the text of Twenty minutes",
}
IN_SIGHT = ".attention-layout > .attention-controls > :not([hidden])"


@browser
@pytest.mark.parametrize(
    ("width", "height", "column"), [(1280, 720, 864), (390, 844, 358)], ids=["laptop", "phone"]
)
def test_every_figure_fits_a_screen_with_its_controls(show, width, height, column):
    """Its picture, its sentence, its controls and its tools; what is under More may be more."""
    shown = [make() for name, make in FIGURES.items() if name not in ELSEWHERE]
    place = f"body {{ margin: 0; }} main {{ width: {column}px; margin: 0 auto; }}"
    phone = {"has_touch": True, "is_mobile": True} if width < 500 else {}
    page = show(*shown, width=width, files={"test.css": place}, **phone)
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(300)
    boxes = [view.bounding_box() for view in page.locator(".attention-view").all()]
    tall = {
        type(figure).__name__: round(box["height"])
        for figure, box in zip(shown, boxes, strict=True)
        if box["height"] > height
    }
    assert tall == {}
    rows = page.locator(".attention-view").evaluate_all(
        "(views, row) => views.map((view) => view.querySelectorAll(row).length)", IN_SIGHT
    )
    assert max(rows) <= 3, dict(zip([type(one).__name__ for one in shown], rows, strict=True))
    assert page.errors == []


# ---------------------------------------------------------------- touch


def touch(page, kind, points):
    page.fingers.send(
        "Input.dispatchTouchEvent",
        {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]},
    )


def swipe(page, start, move, steps=8, lift=True):
    """Put a finger down, move it, lift it."""
    touch(page, "touchStart", [start])
    for step in range(1, steps + 1):
        x, y = (a + b * step / steps for a, b in zip(start, move, strict=True))
        touch(page, "touchMove", [(x, y)])
        page.wait_for_timeout(16)
    if lift:
        touch(page, "touchEnd", [])
    page.wait_for_timeout(150)


def phone(show, *figures):
    room = {"test.css": "body { margin: 0; } main { padding-bottom: 1500px; }"}
    page = show(*figures, width=360, has_touch=True, is_mobile=True, files=room)
    page.fingers = page.context.new_cdp_session(page.page)
    return page


def scroll_by_swiping(show, figure):
    """Swipe up over each part of a figure: the page scrolls and the figure stays as it is."""
    page = phone(show, figure)
    before = page.figure().readouts()
    places = page.locator(
        ".attention-stage :is(svg, .attention-sentence), .attention-controls input[type=range]"
    ).filter(visible=True)
    assert places.count() > 0
    for place in places.all()[:4]:
        page.evaluate("window.scrollTo(0, 0)")
        place.evaluate("node => node.scrollIntoView({ block: 'center' })")
        box = place.bounding_box()
        from_top = page.evaluate("window.scrollY")
        start = (box["x"] + box["width"] * 0.93, box["y"] + box["height"] * 0.5)
        swipe(page, start, (3, -200))
        assert page.evaluate("window.scrollY") > from_top + 100, place
    if type(figure).__name__ not in ("HeatmapExplorer", "HeadSplit"):  # there a touch reads a cell
        assert page.figure().readouts() == before


@browser
def test_a_vertical_swipe_over_a_figure_scrolls_the_page_and_changes_nothing(show):
    scroll_by_swiping(show, SoftLookup())


@browser
def test_a_finger_drags_across_or_by_the_grip_or_taps(show):
    drag_by_finger(show, SoftLookup())


def drag_by_finger(show, figure):
    """Drag across the picture, by the grip, and tap: each moves the query, and none the page."""
    page = phone(show, figure)
    picture = page.locator("svg.attention-grab")
    picture.evaluate("node => node.scrollIntoView({ block: 'center' })")
    box = picture.bounding_box()
    trait = "query_x" if figure.has_trait("query_x") else "query"
    seen = [page.get(trait)]
    top = page.evaluate("window.scrollY")
    swipe(page, (box["x"] + box["width"] * 0.4, box["y"] + 30), (-60, 2))  # across, off the grips
    seen.append(page.get(trait))
    middle_of = """circle => {
        const { left, top, width, height } = circle.getBoundingClientRect();
        return [left + width / 2, top + height / 2, Math.min(width, height)];
    }"""
    grip = page.locator(".attention-grip").last
    x, y, size = grip.evaluate(middle_of)
    assert size >= 24
    swipe(page, (x, y), (30, -70), lift=False)  # rather up than across: no scrolling
    assert abs(grip.evaluate(middle_of)[0] - (x + 30)) < 5  # it is under the finger
    assert page.evaluate("window.scrollY") == top
    touch(page, "touchEnd", [])
    seen.append(page.get(trait))
    if isinstance(figure, SoftLookup):  # straight up, the page's own way
        before = page.get("key_points")
        key = page.locator(".attention-grip").nth(1).bounding_box()
        swipe(page, (key["x"] + key["width"] / 2, key["y"] + key["height"] / 2), (0, -70))
        assert page.get("key_points") != before
    touch(page, "touchStart", [(box["x"] + box["width"] * 0.9, box["y"] + 30)])
    touch(page, "touchEnd", [])
    page.wait_for_timeout(100)
    seen.append(page.get(trait))
    assert len(set(seen)) == 4, seen
    assert page.evaluate("window.scrollY") == top


@browser
def test_a_grip_is_held_where_it_was_taken(show):
    """Taking hold of a ring beside its middle does not move what it holds."""
    page = show(SoftLookup())
    grip = page.locator(".attention-grip").last.bounding_box()
    x, y = grip["x"] + grip["width"] / 2 + 9, grip["y"] + grip["height"] / 2 + 9
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 1, y)
    page.settle()
    assert page.get("query_x") == pytest.approx(1.0, abs=0.051)
    assert page.get("query_y") == pytest.approx(0.0, abs=0.051)
    page.mouse.up()


# ---------------------------------------------------------------- playing


@browser
def test_play_goes_to_the_end_and_stops_and_begins_anew(show):
    page = show(OnlineSoftmax(block_size=4, step=0), reduced_motion="no-preference")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(f"() => {STATE.format('step')} === 3", timeout=6000)
    page.wait_for_function(
        "() => document.querySelector('.attention-play').textContent === 'Play'", timeout=3000
    )
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(f"() => {STATE.format('step')} < 3")
    page.get_by_role("button", name="Pause").click()
    stopped = page.get("step")
    page.wait_for_timeout(900)
    assert page.get("step") == stopped


@browser
def test_less_motion_means_a_step_at_a_time(show):
    page = show(OnlineSoftmax(block_size=4, step=0))
    for wanted in (1, 2, 3, 0, 1):
        page.get_by_role("button", name="Step").click()
        page.wait_for_timeout(60)
        assert page.get("step") == wanted
    page.wait_for_timeout(800)
    assert page.get("step") == 1


# ---------------------------------------------------------------- one file


def open_anywhere(chromium, show, figure, tmp_path):
    """Save a figure as one file and use it without a network, beside the same figure on a page."""
    figure.save(tmp_path / "figure.html")
    context = chromium.new_context(offline=True, reduced_motion="reduce")
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "figure.html").as_uri())
    page.locator(".attention-live .attention-finding").wait_for()
    slider = page.locator("input[type=range]").first
    trait = slider.evaluate("input => input.labels[0].dataset.trait")
    on_page = show(figure)
    for one in (page, on_page):
        one.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        one.locator(f"[data-trait={trait}] input").press("End")
        one.wait_for_timeout(200)
    read = "outputs => outputs.map(o => [o.dataset.readout, Number(o.dataset.value)])"
    assert dict(page.locator("[data-readout]").evaluate_all(read)) == on_page.figure().readouts()
    assert said == []
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0
    context.close()


@browser
def test_a_figure_saved_as_one_file_opens_anywhere(chromium, show, tmp_path):
    open_anywhere(chromium, show, FIGURES["SentenceReader"](), tmp_path)
