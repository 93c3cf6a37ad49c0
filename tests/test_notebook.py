"""The three lines that every chapter starts with."""

import re

import ipywidgets
import pytest
import torch

from attention_lib import device, generator, show
from attention_lib.notebook import interact
from tests.strategies import INF, NAN, assert_refused

# tensor, decimals, what is printed
SHOWN = [
    (torch.tensor([[0.7512, 0.2488], [NAN, -0.0001]]), 3, "[[0.751 0.249]\n [  nan 0.000]]\n"),
    (torch.tensor(-0.0004), 3, "0.000\n"),
    (torch.tensor(2.5), 0, "2.\n"),
    (torch.tensor([1.25, -INF]), 1, "[ 1.2 -inf]\n"),
    (torch.tensor([12345.678]), 2, "[12345.68]\n"),
    (torch.tensor([1e-9, 1.0]), 3, "[0.000 1.000]\n"),
    (torch.tensor([[1, -2], [30, 4]]), 3, "[[ 1 -2]\n [30  4]]\n"),
    (torch.tensor([True, False]), 3, "[ True False]\n"),
    (torch.tensor([0.5], dtype=torch.bfloat16), 3, "[0.500]\n"),
    (torch.tensor([0.5], dtype=torch.float16, requires_grad=True), 3, "[0.500]\n"),
    (torch.zeros(0), 3, "[]\n"),
]


@pytest.mark.parametrize(("tensor", "decimals", "expected"), SHOWN)
def test_show_prints_aligned_numbers(tensor, decimals, expected, capsys):
    before = tensor.detach().clone()
    assert show(tensor, decimals) is None
    assert capsys.readouterr().out == expected
    assert torch.equal(tensor.detach().nan_to_num(), before.nan_to_num())


def test_show_prints_at_most_three_decimals_unless_asked(capsys):
    show(torch.tensor([1 / 3]))
    assert capsys.readouterr().out == "[0.333]\n"


def test_generator_is_seeded_and_on_the_cpu(monkeypatch):
    monkeypatch.delenv("ATTENTION_SEED_SHIFT", raising=False)
    made = generator(3)
    assert made.device.type == "cpu" and made.initial_seed() == 3
    first, second, other = (torch.randn(5, generator=generator(seed)) for seed in (3, 3, 4))
    assert torch.equal(first, second) and not torch.equal(first, other)


@pytest.mark.parametrize(("shift", "seed"), [("", 3), ("0", 3), ("1000", 1003), ("-2", 1)])
def test_seed_shift_from_the_environment_is_added_to_the_seed(shift, seed, monkeypatch):
    monkeypatch.setenv("ATTENTION_SEED_SHIFT", shift)
    assert generator(3).initial_seed() == seed


@pytest.mark.parametrize("shift", ["seven", "1.5", " "])
def test_generator_refuses_a_shift_that_is_no_whole_number(shift, monkeypatch):
    monkeypatch.setenv("ATTENTION_SEED_SHIFT", shift)
    says = ["ATTENTION_SEED_SHIFT: expected a whole number", repr(shift)]
    assert_refused(lambda: generator(3), ValueError, says)


def test_generator_does_not_move_the_global_random_numbers():
    state = torch.random.get_rng_state()
    torch.randn(5, generator=generator(0))
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("available", [True, False])
def test_device_takes_the_gpu_if_there_is_one_and_switches_tf32_off(available, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        assert device() == torch.device("cuda" if available else "cpu")
        assert torch.get_float32_matmul_precision() == "highest"
    finally:
        torch.set_float32_matmul_precision(before)


# ---------------------------------------------------------------- interact


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
    assert "_interact.py" not in text, "the traceback is that of the reader's own lines"
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
