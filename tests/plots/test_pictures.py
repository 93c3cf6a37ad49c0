"""What holds for every picture: all kinds of arrays, none of them changed, the rest refused.

What a refusal says is tested in ``test_arrays.py``; here its type and the argument it names.
"""

import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from attention_lib import plots
from attention_lib.plots._arrays import as_numpy
from tests.plots.drawing import INF, PLANE, WEIGHTS, new_axes

PICTURES = {  # name: (arrays by argument, other arguments)
    "heatmap": ({"weights": WEIGHTS}, {}),
    "heatmap_grid": ({"weights": np.stack([WEIGHTS, 1 - WEIGHTS])}, {}),
    "curves": ({"x": PLANE}, {"curves": {"squares": PLANE**2}}),
}
TYPES = {
    "list": np.ndarray.tolist,
    "float32": lambda array: array.astype(np.float32),
    "torch.float64": torch.tensor,
    "torch.float16": lambda array: torch.tensor(array, dtype=torch.float16),
    "torch.bfloat16": lambda array: torch.tensor(array, dtype=torch.bfloat16),
    "requires_grad": lambda array: torch.tensor(array, requires_grad=True),
    "read only": lambda array: np.broadcast_to(array, array.shape),
    "transposed view": lambda array: torch.tensor(array.T.copy()).T if array.ndim == 2 else array,
}


def draw(name, arrays, others):
    """Draw a picture and return the pixels of its figure."""
    axes = new_axes(name)
    returned = getattr(plots, name)(axes, **arrays, **others)
    assert returned is axes
    figure = plt.gcf()
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


def test_the_list_of_pictures_is_complete():
    functions = {name for name in plots.__all__ if inspect.isfunction(getattr(plots, name))}
    without_numbers = {"use_style", "mask_picture"}  # a mask has booleans
    assert functions == {*PICTURES} | without_numbers, "give the new picture arrays in PICTURES"
    assert set(re.findall(r"- :func:`(\w+)`:", plots.__doc__)) == functions


@pytest.mark.parametrize("name", PICTURES)
def test_every_kind_of_array_gives_the_same_picture_and_is_not_changed(name):
    arrays, others = PICTURES[name]
    expected = draw(name, arrays, others)
    assert np.ptp(expected) > 0
    for kind, convert in TYPES.items():
        converted = {argument: convert(array) for argument, array in arrays.items()}
        kept = {argument: convert(array) for argument, array in arrays.items()}
        assert (draw(name, converted, others) == expected).all(), kind
        for argument, array in converted.items():
            assert type(array) is type(kept[argument])
            assert np.array_equal(as_numpy(array), as_numpy(kept[argument]))


@pytest.mark.parametrize("name", PICTURES)
def test_an_array_of_another_rank_text_or_nothing_is_refused_by_name(name):
    arrays, others = PICTURES[name]
    for argument, array in arrays.items():
        for wrong, error in (
            (array[None, None], ValueError),
            (np.empty((0,) * array.ndim), ValueError),
            ([[1.0, 2.0], [3.0]], ValueError),
            (np.full(array.shape, "a"), TypeError),
            (array + 1j, TypeError),
        ):
            with pytest.raises(error, match=f"^{argument}: expected "):
                getattr(plots, name)(new_axes(name), **{**arrays, argument: wrong}, **others)
            plt.close("all")


# Each: the picture, what is wrong, the argument that the refusal names, the arguments.
REFUSED = [
    ("heatmap", "above 1", "weights", {"weights": [[1.5]]}),
    ("heatmap", "below 0", "weights", {"weights": [[-0.5]]}),
    ("heatmap", "infinite", "weights", {"weights": [[INF]]}),
    ("heatmap", "too few", "queries", {"weights": WEIGHTS, "queries": ["a"]}),
    ("heatmap", "one string", "keys", {"weights": WEIGHTS, "keys": "abc"}),
    ("heatmap", "integers", "mask", {"weights": WEIGHTS, "mask": [1, 1, 0]}),
    ("heatmap", "too short", "mask", {"weights": WEIGHTS, "mask": [True, False]}),
    ("heatmap", "negative", "decimals", {"weights": WEIGHTS, "decimals": -1}),
    ("heatmap", "a float", "decimals", {"weights": WEIGHTS, "decimals": 1.0}),
    ("heatmap", "a string", "decimals", {"weights": WEIGHTS, "decimals": "a"}),
    ("heatmap_grid", "too many tables", "weights", {"weights": [WEIGHTS] * 3}),
    ("heatmap_grid", "too few", "titles", {"weights": [WEIGHTS] * 2, "titles": ["a"]}),
    ("mask_picture", "integers", "mask", {"mask": [[1, 0]]}),
    ("mask_picture", "one axis", "mask", {"mask": [True]}),
    ("curves", "no dict", "curves", {"x": PLANE, "curves": PLANE}),
    ("curves", "none", "curves", {"x": PLANE, "curves": {}}),
    ("curves", "too short", "curves['a']", {"x": PLANE, "curves": {"a": [1.0]}}),
    ("curves", "negative numbers", "log", {"x": PLANE, "curves": {"a": PLANE}, "log": "x"}),
    ("curves", "no axis", "log", {"x": PLANE, "curves": {"a": PLANE}, "log": "z"}),
]
CASES = [
    pytest.param(name, argument, arguments, id=f"{name}-{argument}-{wrong}")
    for name, wrong, argument, arguments in REFUSED
]


@pytest.mark.parametrize(("name", "argument", "arguments"), CASES)
def test_what_cannot_be_drawn_is_refused_and_the_argument_named(name, argument, arguments):
    with pytest.raises((TypeError, ValueError), match=rf"^{re.escape(argument)}: expected "):
        getattr(plots, name)(new_axes(name), **arguments)
