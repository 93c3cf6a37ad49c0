"""Every picture draws what its arrays say, changes none of them, and refuses the rest in words."""

import inspect
import itertools
import re
import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib import font_manager
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon, Rectangle, StepPatch

from attention_lib import plots
from attention_lib.palette import LIGHT, SCORE_MAP, WEIGHT_MAP

NAN, INF = float("nan"), float("inf")

# Eighths and quarters: the same number in every floating-point type.
WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.125, 0.875, 0.0]])
ROW = np.array([0.5, 0.25, 0.125, 0.125])
SCORES = np.array([[2.0, -3.0, 0.5], [0.25, 1.0, -0.5]])
CORNERS = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])
PLANE = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])

PICTURES = {  # name: (arrays by argument, other arguments)
    "heatmap": ({"weights": WEIGHTS}, {}),
    "heatmap_grid": ({"weights": np.stack([WEIGHTS, 1 - WEIGHTS])}, {}),
    "scores_heatmap": ({"scores": SCORES}, {"decimals": 1}),
    "number_table": ({"numbers": np.arange(6.0).reshape(2, 3)}, {}),
    "attention_diagram": ({"weights": ROW}, {}),
    "weight_bars": ({"weights": ROW}, {}),
    "weight_stems": ({"weights": ROW}, {}),
    "mixture": ({"values": CORNERS, "weights": ROW, "output": ROW @ CORNERS}, {}),
    "score_field": (
        {
            "x": PLANE,
            "y": PLANE,
            "scores": PLANE[None] + 0.5 * PLANE[:, None],
            "query": np.array([1.0, 0.5]),
            "keys": CORNERS / 4,
        },
        {},
    ),
    "histogram": ({"samples": np.arange(100.0) % 7}, {"normal": (3, 2), "bins": 7}),
    "curves": ({"x": PLANE}, {"curves": {"squares": PLANE**2}}),
    "measurements": ({"x": PLANE, "measured": PLANE, "theory": PLANE}, {"log": ""}),
}
TYPES = {
    "list": np.ndarray.tolist,
    "float32": lambda array: array.astype(np.float32),
    "torch.float64": torch.tensor,
    "torch.float16": lambda array: torch.tensor(array, dtype=torch.float16),
    "torch.bfloat16": lambda array: torch.tensor(array, dtype=torch.bfloat16),
    "requires_grad": lambda array: torch.tensor(array, requires_grad=True),
    "transposed view": lambda array: torch.tensor(array.T.copy()).T if array.ndim == 2 else array,
}


@pytest.fixture(autouse=True)
def clean_figures():
    plots.use_style()
    yield
    plt.close("all")
    mpl.rcdefaults()


def new_axes(name="", **options):
    _, axes = plt.subplots(1, 2 if name == "heatmap_grid" else 1, dpi=50, **options)
    return axes


def draw(name, arrays, others):
    """Draw a picture and return the pixels of its figure."""
    axes = new_axes(name)
    returned = getattr(plots, name)(axes, **arrays, **others)
    assert returned is axes
    figure = plt.gcf()
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


def hatched(ax, kind, cell):
    """Say whether a cell ``(row, column)`` is covered by the hatching of a kind."""
    return any(
        patch.get_path().contains_point(cell[::-1])
        for patch in ax.patches
        if patch.get_gid() == kind
    )


def colors_of_cell(ax, column, reach):
    """Return the colours of a cell of the first row, commonest first, around its middle."""
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba())
    corners = [(column - reach, reach), (column + reach, -reach)]
    (left, right), (bottom, top) = ax.transData.transform(corners).astype(int).T
    cell = pixels[-top:-bottom, left:right, :3].reshape(-1, 3)
    colors, counts = np.unique(cell, axis=0, return_counts=True)
    return [to_hex(color / 255) for color in colors[np.argsort(-counts)]]


def texts_of(labels):
    return [label.get_text() for label in labels]


# What holds for every picture


def test_the_list_of_pictures_is_complete():
    functions = {name for name in plots.__all__ if inspect.isfunction(getattr(plots, name))}
    without_numbers = {"use_style", "mask_picture", "tensor_boxes"}  # booleans; shapes
    assert functions == {*PICTURES} | without_numbers
    assert set(re.findall(r"- :func:`(\w+)`:", plots.__doc__)) == functions


@pytest.mark.parametrize("name", PICTURES)
def test_every_kind_of_array_gives_the_same_picture_and_is_not_changed(name):
    arrays, others = PICTURES[name]
    expected = draw(name, arrays, others)
    assert np.ptp(expected) > 0
    for convert in TYPES.values():
        converted = {argument: convert(array) for argument, array in arrays.items()}
        kept = {argument: convert(array) for argument, array in arrays.items()}
        assert (draw(name, converted, others) == expected).all()
        for argument, array in converted.items():
            assert type(array) is type(kept[argument])
            assert np.array_equal(plots._plain(array), plots._plain(kept[argument]))


@pytest.mark.parametrize("name", PICTURES)
def test_inputs_may_be_read_only(name):
    arrays, others = PICTURES[name]
    arrays = {argument: array.copy() for argument, array in arrays.items()}
    for array in arrays.values():
        array.flags.writeable = False
    draw(name, arrays, others)


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


REFUSED = [
    ("heatmap", {"weights": [[1.5]]}, ValueError, "weights: expected numbers from 0 to 1, got 1.5"),
    ("heatmap", {"weights": [[-0.5]]}, ValueError, "weights: expected numbers from 0 to 1"),
    ("heatmap", {"weights": [[INF]]}, ValueError, "weights: expected numbers from 0 to 1, got inf"),
    ("heatmap", {"weights": WEIGHTS, "queries": ["a"]}, ValueError, "queries: .* 2 strings"),
    ("heatmap", {"weights": WEIGHTS, "keys": "abc"}, ValueError, "keys: .* 3 strings"),
    ("heatmap", {"weights": WEIGHTS, "mask": [1, 1, 0]}, TypeError, "mask: .*True = may attend"),
    ("heatmap", {"weights": WEIGHTS, "mask": [True, False]}, ValueError, r"mask: .*\(2, 3\)"),
    ("heatmap", {"weights": WEIGHTS, "decimals": -1}, ValueError, "decimals: "),
    ("heatmap", {"weights": WEIGHTS, "decimals": 1.0}, ValueError, "decimals: "),
    ("heatmap_grid", {"weights": [WEIGHTS] * 3}, ValueError, "weights: expected 2 tables"),
    ("heatmap_grid", {"weights": [WEIGHTS] * 2, "titles": ["a"]}, ValueError, "titles: "),
    ("scores_heatmap", {"scores": [[INF]]}, ValueError, "scores: expected numbers below inf"),
    ("scores_heatmap", {"scores": SCORES, "limit": 0}, ValueError, "limit: "),
    ("scores_heatmap", {"scores": SCORES, "limit": NAN}, ValueError, "limit: "),
    ("mask_picture", {"mask": [[1, 0]]}, TypeError, "mask: expected booleans"),
    ("mask_picture", {"mask": [True]}, ValueError, r"mask: expected shape \(len_q, len_k\)"),
    ("number_table", {"numbers": [[1, 2]], "groups": [[0]]}, ValueError, "groups: "),
    ("number_table", {"numbers": [[1, 2]], "groups": [[0, -1]]}, ValueError, "groups: "),
    ("number_table", {"numbers": [[1, 2]], "groups": [[0, 0.5]]}, ValueError, "groups: "),
    ("number_table", {"numbers": [[1, 2]], "rows": ["a", "b"]}, ValueError, "rows: "),
    ("number_table", {"numbers": [[1, 2]], "columns": ["a"]}, ValueError, "columns: "),
    ("attention_diagram", {"weights": ROW, "keys": ["a"]}, ValueError, "keys: "),
    ("attention_diagram", {"weights": ROW, "values": ["a"]}, ValueError, "values: "),
    ("attention_diagram", {"weights": [0.5, NAN]}, ValueError, "weights: expected finite"),
    ("weight_bars", {"weights": ROW, "keys": ["a"]}, ValueError, "keys: .* 4 strings"),
    ("weight_bars", {"weights": ROW, "mask": [True]}, None, ""),
    ("weight_bars", {"weights": ROW, "mask": [[True]]}, ValueError, "mask: "),
    ("weight_stems", {"weights": [0.5], "top": 0.25}, ValueError, "weights: .* top = 0.25"),
    ("weight_stems", {"weights": [0.5], "top": -1}, ValueError, "top: "),
    ("weight_stems", {"weights": [NAN]}, ValueError, "weights: "),
    (
        "mixture",
        {"values": CORNERS, "weights": [1.0], "output": [0, 0]},
        ValueError,
        "weights: .* 4 values",
    ),
    (
        "mixture",
        {"values": CORNERS, "weights": [0.5, NAN, 0, 0], "output": [0, 0]},
        ValueError,
        "weights: expected finite",
    ),
    (
        "mixture",
        {"values": CORNERS, "weights": ROW, "output": [NAN, 0]},
        ValueError,
        "output: expected finite",
    ),
    (
        "mixture",
        {"values": CORNERS, "weights": ROW, "output": [0, 0], "labels": ["a"]},
        ValueError,
        "labels: ",
    ),
    (
        "score_field",
        {"x": PLANE[::-1], "y": PLANE, "scores": np.ones((5, 5))},
        ValueError,
        "x: expected two or more rising",
    ),
    ("score_field", {"x": PLANE, "y": PLANE, "scores": [[1.0]]}, ValueError, r"scores: .*\(5, 5\)"),
    (
        "score_field",
        {"x": PLANE, "y": PLANE, "scores": np.full((5, 5), NAN)},
        ValueError,
        "scores: expected finite",
    ),
    (
        "score_field",
        {"x": PLANE, "y": PLANE, "scores": np.ones((5, 5)), "keys": [[0, 0]], "labels": []},
        ValueError,
        "labels: ",
    ),
    ("histogram", {"samples": [1.0, NAN]}, ValueError, "samples: expected finite"),
    ("histogram", {"samples": [1.0], "normal": 3}, ValueError, "normal: "),
    ("histogram", {"samples": [1.0], "normal": (0, 0)}, ValueError, "normal: "),
    ("curves", {"x": PLANE, "curves": PLANE}, TypeError, "curves: expected a dict"),
    ("curves", {"x": PLANE, "curves": {}}, TypeError, "curves: expected a dict"),
    ("curves", {"x": PLANE, "curves": {"a": [1.0]}}, ValueError, r"curves\['a'\]: .*5 points"),
    ("curves", {"x": PLANE, "curves": {"a": PLANE}, "log": "x"}, ValueError, "log: .*x axis"),
    ("curves", {"x": PLANE, "curves": {"a": PLANE}, "log": "z"}, ValueError, "log: "),
    ("measurements", {"x": PLANE, "measured": [1.0]}, ValueError, "measured: .*5 points"),
    (
        "measurements",
        {"x": PLANE, "measured": PLANE, "theory": [1.0]},
        ValueError,
        "theory: .*5 points",
    ),
    (
        "measurements",
        {"x": PLANE, "measured": PLANE, "bounds": [PLANE]},
        ValueError,
        "bounds: ",
    ),
    ("tensor_boxes", {"tensors": [("x", (3,), "query")]}, ValueError, "tensors: .*two or more"),
    ("tensor_boxes", {"tensors": [("x", (3, 0), "query")]}, ValueError, "tensors: "),
    ("tensor_boxes", {"tensors": [("x", (3, 4), "red")]}, ValueError, "tensors: .*'red'"),
    ("tensor_boxes", {"tensors": [("x", 3, "query")]}, ValueError, "tensors: "),
    ("tensor_boxes", {"tensors": []}, ValueError, "tensors: "),
    (
        "tensor_boxes",
        {"tensors": [("x", (3, 4), "query")], "steps": ["split"]},
        ValueError,
        "steps: ",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "error", "message"), REFUSED)
def test_what_cannot_be_drawn_is_refused_in_words(name, arguments, error, message):
    if error is None:
        getattr(plots, name)(new_axes(name), **arguments)
        return
    with pytest.raises(error, match=f"^{message}"):
        getattr(plots, name)(new_axes(name), **arguments)


# The look


def test_the_style_is_the_same_whatever_was_set_before():
    expected = dict(mpl.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mpl.style.use("dark_background")
    mpl.rcParams["image.interpolation"] = "bicubic"
    plots.use_style()
    assert dict(mpl.rcParams) == expected
    assert mpl.get_backend().lower() == "agg"


def test_type_comes_with_matplotlib_and_stays_readable_on_a_phone():
    path = Path(font_manager.findfont(font_manager.FontProperties()))
    assert path.is_relative_to(mpl.get_data_path())
    width = mpl.rcParams["figure.figsize"][0]
    for size in ("font.size", "xtick.labelsize", "legend.fontsize"):
        assert mpl.rcParams[size] / 72 / width * 320 >= 8.5  # pixels of 320
    assert mpl.rcParams["figure.dpi"] == 144


def test_maps_are_the_palette_s():
    assert to_hex(plots.WEIGHT_MAP(0.0)) == WEIGHT_MAP[0]
    assert to_hex(plots.WEIGHT_MAP(1.0)) == WEIGHT_MAP[-1]
    assert to_hex(plots.SCORE_MAP(1.0)) == SCORE_MAP[-1]
    stops = np.array([mpl.colors.to_rgb(color) for color in WEIGHT_MAP])
    painted = plots.WEIGHT_MAP(np.linspace(0, 1, len(stops)))[:, :3]
    assert np.abs(painted - stops).max() < 0.01


# Tables


def test_heatmap_draws_queries_down_keys_across_from_0_to_1():
    ax = plots.heatmap(new_axes(), WEIGHTS, ["a", "b"], ["c", "d", "e"])
    image = ax.images[0]
    assert (image.get_array().data == WEIGHTS).all()
    assert not np.ma.getmaskarray(image.get_array()).any()
    assert image.get_clim() == (0, 1)
    assert image.get_cmap() is plots.WEIGHT_MAP
    assert texts_of(ax.get_yticklabels()) == ["a", "b"]
    assert texts_of(ax.get_xticklabels()) == ["c", "d", "e"]
    assert ax.yaxis_inverted()
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("queries", "keys")
    assert ax.yaxis.label.get_color() == LIGHT["query"]
    assert ax.xaxis.label.get_color() == LIGHT["key"]


def test_the_scale_of_weights_does_not_follow_the_data():
    ax = plots.heatmap(new_axes(), [[0.125, 0.25]])
    assert ax.images[0].get_clim() == (0, 1)
    (bar,) = ax.child_axes
    assert bar.get_ylim() == (0, 1)
    assert not plots.heatmap(new_axes(), [[0.125, 0.25]], colorbar=False).child_axes


def test_masked_cells_are_hatched_and_no_zeros():
    mask = [[True, True, False], [True, True, True]]
    ax = plots.heatmap(new_axes(), [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], mask=mask)
    assert ax.images[0].get_array().mask.tolist() == [[False, False, True], [False] * 3]
    assert hatched(ax, "mask", (0, 2))
    assert not hatched(ax, "mask", (1, 2))
    assert not hatched(ax, "mask", (0, 1))
    (patch,) = ax.patches
    assert to_hex(patch.get_facecolor()) == LIGHT["mask"]
    assert patch.get_hatch() == "////"


def test_weight_that_leaks_through_a_mask_shows():
    ax = plots.heatmap(new_axes(), [[0.5, 1.0]], mask=[True, False])
    assert not ax.images[0].get_array().mask.any()
    assert not hatched(ax, "mask", (0, 0))
    assert hatched(ax, "mask", (0.4, 1.0))
    assert colors_of_cell(ax, column=1, reach=0.2) == [WEIGHT_MAP[-1]]  # the weight
    assert LIGHT["mask"] in colors_of_cell(ax, column=1, reach=0.45)  # the hatched rim
    numbered = plots.heatmap(new_axes(), [[0.5, 1.0]], mask=[True, False], decimals=2)
    assert texts_of(numbered.texts) == ["0.50", "1.00"]


def test_nan_has_its_own_colour():
    ax = plots.heatmap(new_axes(), [[NAN, 0.0], [0.5, 0.5]], decimals=1)
    assert ax.images[0].get_array().mask.tolist() == [[True, False], [False, False]]
    assert hatched(ax, "nan", (0, 0))
    assert not hatched(ax, "nan", (0, 1))
    assert to_hex(ax.patches[0].get_facecolor()) == LIGHT["nan"]
    assert texts_of(ax.texts) == ["NaN", "0.0", "0.5", "0.5"]


def test_weight_masked_zero_and_nan_are_four_colours_on_paper():
    ax = plots.heatmap(new_axes(), [[1.0, 0.0, 0.0, NAN]], mask=[True, True, False, True])
    colors = [colors_of_cell(ax, column, reach=0.4)[0] for column in range(4)]
    assert colors == [WEIGHT_MAP[-1], WEIGHT_MAP[0], LIGHT["mask"], LIGHT["nan"]]


def test_numbers_in_cells_are_readable_on_their_colour():
    ax = plots.heatmap(new_axes(), [[0.0, 0.25, 0.5, 0.75, 1.0]], decimals=2)
    assert texts_of(ax.texts) == ["0.00", "0.25", "0.50", "0.75", "1.00"]
    assert [ax.texts[place].get_color() for place in (0, -1)] == [LIGHT["paper"], LIGHT["ink"]]
    for text, weight in zip(ax.texts, (0.0, 0.25, 0.5, 0.75, 1.0), strict=True):
        dark, light = sorted(
            float(np.array(mpl.colors.to_rgb(color)) ** 2.2 @ (0.2126, 0.7152, 0.0722))
            for color in (text.get_color(), plots.WEIGHT_MAP(weight))
        )
        assert (light + 0.05) / (dark + 0.05) >= 4


def test_no_minus_sign_is_left_on_a_zero():
    ax = plots.scores_heatmap(new_axes(), [[-0.001, -1.0]], decimals=2)
    assert texts_of(ax.texts) == ["0.00", "−1.00"]


def test_many_cells_keep_a_readable_number_of_labels():
    tokens = [f"token {position}" for position in range(100)]
    ax = plots.heatmap(new_axes(), np.full((100, 100), 0.01), tokens, tokens)
    shown = texts_of(ax.get_xticklabels())
    assert 5 <= len(shown) <= 60
    assert shown == [tokens[int(place)] for place in ax.get_xticks()]
    assert min(label.get_fontsize() for label in ax.get_xticklabels()) >= 6


@pytest.mark.parametrize("size", [3, 6, 12])
def test_labels_do_not_overlap(size):
    tokens = ["attention", "is", "all", "you", "need", "today"] * 2
    ax = plots.heatmap(new_axes(), np.full((size, size), 0.125), tokens[:size], tokens[:size])
    ax.figure.canvas.draw()
    labels = ax.get_xticklabels()
    assert labels[0].get_rotation() in (0, 45, 90)
    if labels[0].get_rotation() == 0:
        boxes = [label.get_window_extent() for label in labels]
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    else:
        distance = np.diff(ax.transData.transform([(0, 0), (1, 0)])[:, 0])[0]
        height = labels[0].get_fontsize() * ax.figure.dpi / 72
        assert distance * np.sin(np.radians(labels[0].get_rotation())) > 0.75 * height


def test_a_grid_has_one_scale_and_labels_at_its_edges():
    figure, axes = plt.subplots(2, 2)
    weights = np.array([[[0.125, 0.125]], [[0.25, 0.25]], [[1.0, 0.0]], [[0.5, 0.5]]])
    titles = ["Head 1", "Head 2", "Head 3", "Head 4"]
    mask = np.array([True, True, False, True])[:, None, None] | np.array([True, False])
    plots.heatmap_grid(axes, weights, ["q"], ["a", "b"], titles=titles, mask=mask)
    for ax, table in zip(axes.flat, weights, strict=True):
        assert ax.images[0].get_clim() == (0, 1)
        assert (ax.images[0].get_array().data == table).all()
    assert [ax.get_title() for ax in axes.flat] == titles
    assert [hatched(ax, "mask", (0, 1)) for ax in axes.flat] == [False, False, True, False]
    assert [len(ax.get_xticks()) for ax in axes.flat] == [2, 2, 0, 0]
    assert [len(ax.get_yticks()) for ax in axes.flat] == [1, 0, 1, 0]
    assert [ax.get_xlabel() for ax in axes.flat] == ["keys", "keys", "", ""]
    (bar,) = set(figure.axes) - set(axes.flat)
    assert bar.get_ylim() == (0, 1)


def test_labels_of_a_crowded_grid_stay_over_their_panel():
    figure, axes = plt.subplots(2, 4, figsize=(5.6, 3.9))
    tokens = ["the", "cat", "sat", "<pad>", "<pad>"]
    plots.heatmap_grid(axes, np.full((8, 5, 5), 0.125), tokens, tokens)
    figure.canvas.draw()
    for ax in axes[0]:
        panel = ax.get_window_extent()
        for label in ax.get_xticklabels():
            box = label.get_window_extent()
            assert panel.x0 <= box.x0
            assert box.x1 <= panel.x1


def test_a_second_row_of_panels_may_have_tokens_of_its_own():
    figure, axes = plt.subplots(2, 2)
    plots.heatmap_grid(axes[0], [[[0.5, 0.5]]] * 2, ["q"], ["a", "b"], colorbar=False)
    plots.heatmap_grid(axes[1], [[[0.5, 0.5]]] * 2, ["q"], ["c", "d"])
    assert texts_of(axes[1, 0].get_xticklabels()) == ["c", "d"]
    assert len(figure.axes) == 5


def test_scores_are_white_at_0_and_symmetric():
    ax = plots.scores_heatmap(new_axes(), SCORES)
    image = ax.images[0]
    assert (image.get_array().data == SCORES).all()
    assert image.get_clim() == (-3, 3)
    middle = np.array(mpl.colors.to_rgb(plots.SCORE_MAP(0.5)))
    assert (middle > 0.95).all()
    (bar,) = ax.child_axes
    assert texts_of(bar.get_yticklabels()) == ["−3", "0", "3"]
    assert bar.get_ylabel() == "score"


def test_a_score_of_minus_infinity_is_masked():
    ax = plots.scores_heatmap(
        new_axes(), [[1.0, -INF, NAN], [100.0, -2.0, 0.0]], mask=[[True] * 3, [False, True, True]]
    )
    assert ax.images[0].get_clim() == (-2, 2)  # neither NaN nor what is hidden sets the scale
    assert hatched(ax, "mask", (0, 1))
    assert hatched(ax, "mask", (1, 0))
    assert not hatched(ax, "mask", (0, 2))
    assert hatched(ax, "nan", (0, 2))


def test_a_given_limit_says_that_scores_lie_beyond():
    ax = plots.scores_heatmap(new_axes(), SCORES, limit=1, meaning="∂ weight / ∂ score")
    assert ax.images[0].get_clim() == (-1, 1)
    assert ax.images[0].colorbar.extend == "both"
    assert ax.child_axes[0].get_ylabel() == "∂ weight / ∂ score"
    inside = plots.scores_heatmap(new_axes(), SCORES, limit=5)
    assert inside.images[0].colorbar.extend == "neither"


@pytest.mark.parametrize("table", [[[0.0, 0.0]], [[-INF, -INF]], [[NAN, NAN]]])
def test_scores_without_any_size_are_drawn(table):
    ax = plots.scores_heatmap(new_axes(), table)
    ax.figure.canvas.draw()
    assert ax.images[0].get_clim() == (-1, 1)


@pytest.mark.parametrize("convert", [np.array, torch.tensor, list])
def test_a_mask_is_drawn_as_it_stands(convert):
    mask = [[True, False], [True, True]]
    ax = plots.mask_picture(new_axes(), convert(mask), ["a", "b"], ["c", "d"])
    assert (ax.images[0].get_array().mask == ~np.array(mask)).all()
    assert hatched(ax, "mask", (0, 1))
    assert not hatched(ax, "mask", (1, 0))
    assert to_hex(ax.images[0].to_rgba(1.0)) == LIGHT["weight"]
    assert texts_of(ax.get_legend().get_texts()) == ["may attend", "masked"]
    assert plots.mask_picture(new_axes(), mask, legend=False).get_legend() is None


def test_numbers_keep_the_colour_of_where_they_came_from():
    numbers = np.arange(12).reshape(3, 4)
    heads = numbers % 4 // 2
    ax = plots.number_table(new_axes(), numbers, heads, rows=["a", "b", "c"])
    assert texts_of(ax.texts) == [str(number) for number in range(12)]
    colors = ax.images[0].to_rgba(ax.images[0].get_array())
    for head in (0, 1):
        assert len(np.unique(colors[heads == head], axis=0)) == 1
    assert len(np.unique(colors.reshape(-1, 4), axis=0)) == 2
    assert texts_of(ax.get_yticklabels()) == ["a", "b", "c"]
    assert len({to_hex(color) for color in plots._series(8)}) == 8


# One query


def test_bars_are_as_high_as_their_weights():
    ax = plots.weight_bars(new_axes(), ROW, ["a", "b", "c", "d"])
    assert [bar.get_height() for bar in ax.containers[0]] == ROW.tolist()
    assert ax.get_ylim() == (0, 1)
    assert texts_of(ax.texts) == ["0.50", "0.25", "0.12", "0.12"]
    assert texts_of(ax.get_xticklabels()) == ["a", "b", "c", "d"]
    assert not plots.weight_bars(new_axes(), ROW, decimals=None).texts


def test_bars_hatch_what_is_masked_and_cross_what_is_nan():
    ax = plots.weight_bars(
        new_axes(), [0.5, 0.0, 0.25, NAN], mask=np.array([True, False, False, True])
    )
    assert [bar.get_height() for bar in ax.containers[0]] == [0.5, 0.0, 0.25, 0.0]
    assert [hatched(ax, "mask", (0.5, place)) for place in range(4)] == [False, True, True, False]
    assert [hatched(ax, "nan", (0.5, place)) for place in range(4)] == [False] * 3 + [True]
    assert texts_of(ax.texts) == ["0.50", "0.25", "NaN"]  # the leak is named, the mask is not


def test_stems_reach_their_weights():
    ax = plots.weight_stems(new_axes(), ROW)
    (stems,) = [artist for artist in ax.collections if isinstance(artist, LineCollection)]
    assert [segment[1, 1] for segment in stems.get_segments()] == ROW.tolist()
    assert ax.get_ylim() == (0, 1)
    assert (ax.get_ylabel(), texts_of(ax.texts)) == ("weight", ["largest: 0.500"])


def test_a_magnified_axis_says_so():
    ax = plots.weight_stems(new_axes(), [0.001, 0.0015], top=0.002)
    assert ax.get_ylim() == (0, 0.002)
    assert ax.get_ylabel() == "weight (0 to 0.002)"
    assert texts_of(ax.texts) == ["largest: 0.0015"]


def test_the_diagram_draws_weights_as_bars_and_as_flows():
    ax = plots.attention_diagram(
        new_axes(), ROW, ["a", "b", "c", "d"], ["e", "f", "g", "h"], query="ask", output="answer"
    )
    bars = [
        patch
        for patch in ax.patches
        if isinstance(patch, Rectangle) and to_hex(patch.get_facecolor()) == LIGHT["weight"]
    ]
    tracks = [
        patch
        for patch in ax.patches
        if isinstance(patch, Rectangle) and to_hex(patch.get_facecolor()) == LIGHT["mask"]
    ]
    widths = [bar.get_width() / track.get_width() for bar, track in zip(bars, tracks, strict=True)]
    assert widths == ROW.tolist()
    flows = [
        patch.get_linewidth()
        for patch in ax.patches
        if type(patch) is PathPatch and to_hex(patch.get_edgecolor()) == LIGHT["weight"]
    ]
    assert np.allclose(np.diff(flows), 9 * np.diff(ROW))
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    colors = [to_hex(box.get_facecolor()) for box in boxes]
    roles = ["query", *["key"] * 4, *["value"] * 4, "output"]
    assert colors == [LIGHT[role] for role in roles]
    assert {*"abcdefgh", "ask", "answer", "query", "keys", "weights", "values", "output"} <= {
        *texts_of(ax.texts)
    }


def test_the_output_lies_where_the_arrays_say():
    values, weights = np.vstack([CORNERS, [[2.0, 1.0]]]), np.array([0.5, 0.25, 0.125, 0.125, 0.0])
    ax = plots.mixture(new_axes(), values, weights, weights @ values, ["a", "b", "c", "d", "e"])
    points, output = ax.collections
    assert (points.get_offsets() == values).all()
    assert (output.get_offsets() == weights @ values).all()
    assert np.allclose(np.diff(points.get_sizes()), 350 * np.diff(weights))
    assert np.allclose(np.diff([line.get_linewidth() for line in ax.lines]), 8 * np.diff(weights))
    for line, value in zip(ax.lines, values, strict=True):
        assert (line.get_xydata() == [value, weights @ values]).all()
    (hull,) = [patch for patch in ax.patches if isinstance(patch, Polygon)]
    assert {*map(tuple, hull.get_xy())} == {*map(tuple, CORNERS)}
    assert texts_of(ax.texts) == ["output", "a", "b", "c", "d", "e"]


def test_a_trail_of_outputs_ends_at_the_last():
    trail = np.array([[2.0, 2.0], [1.0, 1.0], [0.5, 0.5]])
    ax = plots.mixture(new_axes(), CORNERS, ROW, trail)
    assert (ax.lines[-1].get_xydata() == trail).all()
    assert (ax.collections[-1].get_offsets() == trail[-1]).all()


@pytest.mark.parametrize(
    ("points", "corners"),
    [
        ([[1, 2]], {(1, 2)}),
        ([[1, 2], [1, 2]], {(1, 2)}),
        ([[0, 0], [2, 2]], {(0, 0), (2, 2)}),
        ([[0, 0], [1, 1], [2, 2], [3, 3]], {(0, 0), (3, 3)}),
        ([[0, 0], [4, 0], [0, 4], [1, 1], [2, 2]], {(0, 0), (4, 0), (0, 4)}),
    ],
)
def test_convex_hulls_have_no_corner_too_many(points, corners):
    assert {*plots._convex_hull(np.array(points, dtype=float))} == corners
    size = len(points)
    ax = plots.mixture(new_axes(), points, np.full(size, 1 / size), np.mean(points, axis=0))
    ax.figure.canvas.draw()


def test_a_score_field_is_the_scores_on_a_symmetric_scale():
    scores = PLANE[None] - 2 * PLANE[:, None] ** 2
    keys, query = [[0.0, 1.0], [1.0, 0.0]], [1.0, 0.5]
    ax = plots.score_field(
        new_axes(), PLANE, PLANE, scores, query=query, keys=keys, labels=["a", "b"]
    )
    (mesh,) = [artist for artist in ax.collections if isinstance(artist, QuadMesh)]
    assert (mesh.get_array().reshape(5, 5) == scores).all()
    assert mesh.get_clim() == (-10, 10)
    assert mesh.get_cmap() is plots.SCORE_MAP
    assert any(np.array_equal(artist.get_offsets(), keys) for artist in ax.collections)
    arrow = next(text for text in ax.texts if getattr(text, "arrow_patch", None))
    assert (arrow.xy, arrow.get_position()) == (pytest.approx(query), (0, 0))
    assert texts_of(ax.texts) == ["a", "b", "", "query"]
    assert ax.get_xlim() == ax.get_ylim() == (-2, 2)


# Measurements


def test_a_histogram_is_a_density_beside_the_normal_one():
    samples = np.random.default_rng(0).normal(3, 2, size=5000)
    ax = plots.histogram(new_axes(), samples, normal=(3, 2), bins=40)
    (steps,) = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    heights, edges = np.histogram(samples, bins=40, density=True)
    assert (steps.get_data().values == heights).all()
    assert (steps.get_data().edges == edges).all()
    x, density = ax.lines[0].get_data()
    assert np.trapezoid(density, x) == pytest.approx(1, abs=0.01)
    assert x[density.argmax()] == pytest.approx(3, abs=0.1)
    assert density.max() == pytest.approx(1 / (2 * np.sqrt(2 * np.pi)), rel=1e-3)
    assert texts_of(ax.get_legend().get_texts()) == ["samples", "N(3, 2²)"]


def test_curves_of_several_runs_are_median_and_range():
    runs = np.array([[1.0, 2.0, 9.0], [2.0, 3.0, 4.0], [9.0, 1.0, 1.0]])
    ax = plots.curves(new_axes(), [0, 1, 2], {"one run": [1, 2, 3], "three": torch.tensor(runs)})
    assert ax.lines[0].get_ydata().tolist() == [1, 2, 3]
    assert ax.lines[1].get_ydata().tolist() == [2, 2, 4]
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    for x in range(3):
        heights = corners[corners[:, 0] == x, 1]
        assert (heights.min(), heights.max()) == (runs[:, x].min(), runs[:, x].max())
    assert texts_of(ax.get_legend().get_texts()) == ["one run", "three"]


def test_a_run_that_diverged_leaves_a_gap():
    ax = plots.curves(new_axes(), [0, 1, 2], {"runs": [[1.0, NAN, NAN], [1.0, 2.0, 3.0]]})
    assert np.isnan(ax.lines[0].get_ydata()).tolist() == [False, True, True]
    ax.figure.canvas.draw()


def test_curves_differ_in_colour_and_in_dashes():
    ax = plots.curves(new_axes(), PLANE, {str(power): PLANE**power for power in range(1, 5)})
    assert len({line.get_color() for line in ax.lines}) == 4
    assert len({str(line._unscaled_dash_pattern) for line in ax.lines}) == 4


def test_logarithmic_axes_have_plain_numbers():
    d = 2.0 ** np.arange(0, 13, 2)
    ax = plots.curves(new_axes(), d, {"variance": d}, log="xy")
    ax.figure.canvas.draw()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert texts_of(ax.get_xticklabels()) == ["1", "4", "16", "64", "256", "1024", "4096"]
    assert "100" in texts_of(ax.get_yticklabels())
    assert plots.curves(new_axes(), d, {"variance": d}, log="y").get_xscale() == "linear"
    near = plots.curves(new_axes(), [3.0, 5.0, 7.0], {"a few": [3.0, 5.0, 7.0]}, log="xy")
    near.figure.canvas.draw()
    assert "5" in texts_of(near.get_xticklabels())


def test_measurements_stand_beside_their_theory():
    x, measured = np.array([1.0, 4.0, 16.0]), np.array([1.5, 3.5, 17.0])
    bounds = np.array([measured - 0.5, measured + 0.5])
    ax = plots.measurements(new_axes(), x, measured, x, bounds=bounds)
    theory, points = ax.lines
    assert theory.get_ydata().tolist() == x.tolist()
    assert points.get_xydata().tolist() == np.transpose([x, measured]).tolist()
    assert points.get_linestyle() == "None"
    segments = np.array(ax.collections[0].get_segments())
    assert (segments[:, :, 1] == bounds.T).all()
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert texts_of(ax.get_legend().get_texts()) == ["theory", "bounds", "measured"]


# Shapes


def test_boxes_have_the_proportions_of_their_shapes():
    ax = plots.tensor_boxes(
        new_axes(), [("x", (7, 511), "query"), ("heads", (3, 7, 63), "key")], ["split"]
    )
    boxes = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert len(boxes) == 1 + 3
    assert boxes[0].get_width() / boxes[0].get_height() == pytest.approx(9 / 3)  # log2(1 + size)
    assert boxes[1].get_width() / boxes[1].get_height() == pytest.approx(6 / 3)
    assert to_hex(boxes[0].get_facecolor()) == LIGHT["query"]
    assert {"x", "heads", "7 × 511", "3 × 7 × 63", "split"} <= {*texts_of(ax.texts)}
    assert boxes[0].get_x() + boxes[0].get_width() < boxes[1].get_x()
    many = plots.tensor_boxes(new_axes(), [("x", (2, 50, 3, 4), "value")])
    assert len(many.patches) == 8  # no more sheets than one can count


@pytest.mark.parametrize("width", [4, 8])
def test_texts_of_a_long_flow_do_not_overlap(width):
    flow = [("X", (2, 5, 512), "ink"), ("Q, K, V", (2, 8, 5, 64), "query")]
    flow += [("weights", (2, 8, 5, 5), "weight"), ("output", (2, 5, 512), "output")]
    ax = plots.tensor_boxes(new_axes(figsize=(width, 3)), flow, ["split", "softmax", "merge, W_o"])
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert len(boxes) == 4 + 4 + 3
    assert not [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    sheets = [patch.get_window_extent() for patch in ax.patches if isinstance(patch, Rectangle)]
    over_the_arrows = [
        text.get_window_extent() for text in ax.texts if text.get_position()[1] == 0.1
    ]
    assert len(over_the_arrows) == 3
    assert not [step for step in over_the_arrows if step.count_overlaps(sheets)]


# Tokens


def test_tokens_are_text_and_no_mathematics():
    tokens = ["$x$", "$", "_", "\\frac", "<img onerror=alert(1)>", "\n", "\t"]
    ax = plots.heatmap(new_axes(), np.eye(7), tokens, tokens)
    ax.figure.canvas.draw()
    assert texts_of(ax.get_xticklabels()) == [*tokens[:5], "↵", "⇥"]
    labels = [*ax.get_xticklabels(), *ax.get_yticklabels()]
    assert not any(label.get_parse_math() for label in labels)
    diagram = plots.attention_diagram(new_axes(), [1.0], ["$k$"], ["$v$"], query="$")
    assert not any(text.get_parse_math() for text in diagram.texts if "$" in text.get_text())
    bars = plots.weight_bars(new_axes(), [1.0], ["$5"])
    assert not bars.get_xticklabels()[0].get_parse_math()


@pytest.fixture
def only_bundled_fonts(monkeypatch):
    bundled = [
        entry
        for entry in font_manager.fontManager.ttflist
        if Path(entry.fname).is_relative_to(mpl.get_data_path())
    ]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", bundled)


@pytest.mark.usefixtures("only_bundled_fonts")
def test_without_a_font_tokens_become_code_points_with_a_warning():
    axes = new_axes()
    with pytest.warns(UserWarning, match="keys: no installed font has 人 智; drawn as U\\+4EBA"):
        ax = plots.heatmap(axes, [[0.5, 0.5]], ["rén"], ["人", "智"])
    assert texts_of(ax.get_xticklabels()) == ["U+4EBA", "U+667A"]
    assert texts_of(ax.get_yticklabels()) == ["rén"]
    ax.figure.canvas.draw()  # warnings are errors here: no glyph is missing


@pytest.mark.usefixtures("only_bundled_fonts")
@pytest.mark.parametrize("picture", ["weight_bars", "attention_diagram"])
def test_no_picture_draws_boxes_for_missing_glyphs(picture):
    with pytest.warns(UserWarning, match="no installed font has 人"):
        ax = getattr(plots, picture)(new_axes(), [1.0], ["人"])
    ax.figure.canvas.draw()


@pytest.mark.usefixtures("only_bundled_fonts")
def test_another_installed_font_is_used_where_it_has_the_glyphs():
    token = "⌒"  # in DejaVu Sans Mono, not in DejaVu Sans
    ax = plots.heatmap(new_axes(), [[1.0]], ["a"], [token])
    assert texts_of(ax.get_xticklabels()) == [token]
    fonts = ax.get_xticklabels()[0].get_fontfamily()
    assert fonts[0] == "DejaVu Sans"
    assert any(
        font_manager.get_font(font_manager.findfont(font)).get_char_index(ord(token))
        for font in fonts
    )
    ax.figure.canvas.draw()
