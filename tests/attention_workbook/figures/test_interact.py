"""Sliders for a function of the reader's own."""

import json
import re
import subprocess
import sys

import ipywidgets
import pytest

from attention_workbook.figures.interact import interact
from tests.strategies import INF, NAN


def area(width=2, height=1.5, name="<b>"):
    print(f"{name}: {width * height:.2f}")
    if width == 7:
        raise ValueError("seven <is> out")


CONTROLS = {"width": (0, 9), "height": (0.5, 2.0, 0.25), "name": ["<b>", "面积"]}


def shown(view):
    """The sliders of a view by their names, and the HTML below them."""
    *sliders, result = view.children
    return {slider.description: slider for slider in sliders}, result.value


def test_interact_runs_the_function_at_every_move():
    view = interact(area, **CONTROLS)
    sliders, result = shown(view)
    kinds = [ipywidgets.IntSlider, ipywidgets.FloatSlider, ipywidgets.SelectionSlider]
    assert [type(slider) for slider in sliders.values()] == kinds
    assert list(sliders) == list(CONTROLS)
    assert (sliders["width"].min, sliders["width"].max) == (0, 9)
    assert sliders["height"].step == 0.25
    assert result == "<pre>&lt;b&gt;: 3.00</pre>"
    sliders["width"].value = 4
    sliders["name"].value = "面积"
    assert shown(view)[1] == "<pre>面积: 6.00</pre>"


def test_interact_prints_nothing_into_the_cell(capsys):
    view = interact(area, width=(0, 9))
    shown(view)[0]["width"].value = 3
    assert capsys.readouterr() == ("", "")


def test_interact_shows_an_error_and_goes_on():
    view = interact(area, width=(0, 9))
    slider = shown(view)[0]["width"]
    slider.value = 7
    text = shown(view)[1]
    assert "ValueError: seven &lt;is&gt; out" in text and "in area" in text
    assert "/interact.py" not in text, "the traceback is that of the reader's own lines"
    slider.value = 2
    assert shown(view)[1] == "<pre>&lt;b&gt;: 3.00</pre>"


def test_interact_raises_if_the_first_run_fails():
    with pytest.raises(ValueError, match="seven <is> out"):
        interact(lambda width=7: area(width), width=(0, 9))


def test_interact_without_a_kernel_shows_the_first_result():
    view = interact(area, **CONTROLS)
    bundle = view._repr_mimebundle_()
    live = bundle.pop("application/vnd.jupyter.widget-view+json")
    assert live["model_id"] == view.model_id
    assert bundle == {
        "text/plain": "interact(area, width=2, height=1.5, name='<b>')",
        "text/html": '<div class="attention-still">'
        "<p><strong>width = 2, height = 1.5, name = &lt;b&gt;</strong></p>"
        "<pre>&lt;b&gt;: 3.00</pre>"
        "<p>Open the notebook to move the sliders: they need a running kernel.</p></div>",
    }
    again = interact(area, **CONTROLS)._repr_mimebundle_()
    assert {**again, **bundle} == again, "two runs store the same"


WITHOUT_IPYWIDGETS = """
import json, sys
sys.modules["ipywidgets"] = None  # importing it now raises ModuleNotFoundError
from attention_workbook.figures.interact import interact
def area(width=2, height=1.5):
    print(width * height)
print(json.dumps(interact(area, width=(0, 9))._repr_mimebundle_()))
interact(area, width=(3, 9))
"""


def test_interact_without_ipywidgets_shows_the_first_result_and_says_what_to_install():
    command = [sys.executable, "-c", WITHOUT_IPYWIDGETS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert json.loads(done.stdout) == {
        "text/plain": "interact(area, width=2)",
        "text/html": '<div class="attention-still"><p><strong>width = 2</strong></p>'
        "<pre>3.0</pre><p>For sliders: pip install ipywidgets, restart the kernel, run this cell "
        "again.</p></div>",
    }
    assert "with the default 2 among them; got (3, 9)" in done.stderr.splitlines()[-1]


def test_ipython_displays_the_bundle_of_interact():
    from IPython.core.interactiveshell import InteractiveShell

    view = interact(area, width=(0, 9))
    data, _ = InteractiveShell.instance().display_formatter.format(view)
    InteractiveShell.clear_instance()
    assert data == view._repr_mimebundle_()


@pytest.mark.parametrize(
    ("function", "controls", "error", "says"),
    [
        (3, {"width": (0, 9)}, TypeError, "function: expected a function, got int"),
        (area, {}, TypeError, "controls: expected a control for one argument at least, got none"),
        (area, {"wdith": (0, 9)}, TypeError, "wdith: no such argument; there are width, height"),
        (
            lambda width: None,
            {"width": (0, 9)},
            TypeError,
            "width: expected a default, which is where its slider starts",
        ),
        (area, {"width": (3, 9)}, ValueError, "with the default 2 among them; got (3, 9)"),
        (area, {"width": (9, 0)}, ValueError, "width: expected (lowest, highest), (lowest,"),
        (area, {"width": (0, 9, 0)}, ValueError, "got (0, 9, 0)"),
        (area, {"width": (0, 9, 1, 1)}, ValueError, "got (0, 9, 1, 1)"),
        (area, {"width": (False, 9)}, ValueError, "got (False, 9)"),
        (area, {"width": [1, 3]}, ValueError, "with the default 2 among them; got [1, 3]"),
        (area, {"width": 5}, ValueError, "got 5"),
        (area, {"height": (0.0, NAN)}, ValueError, "got (0.0, nan)"),
        (area, {"height": (0.0, INF)}, ValueError, "got (0.0, inf)"),
        (area, {"name": ("a", "b")}, ValueError, "got ('a', 'b')"),
    ],
)
def test_interact_refuses_in_words(function, controls, error, says):
    with pytest.raises(error, match=re.escape(says)):
        interact(function, **controls)
