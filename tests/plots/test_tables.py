"""Tables of weights, scores and masks: what stands in which cell, on which scale."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from attention_lib import plots
from attention_lib.palette import LIGHT, WEIGHT_MAP, contrast
from tests.plots.drawing import (
    NAN,
    WEIGHTS,
    colors_of_cell,
    hatched,
    new_axes,
    texts_of,
)


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


def test_rounding_chooses_no_colour_of_a_weight_between_two():
    """1/2 lies between two of the map's 256 colours, and so do 1/4 and 1/8."""
    exact = np.array([[0.5, 0.25, 0.125]])
    images = [plots.heatmap(new_axes(), exact * (1 + e)).images[0] for e in (-1e-7, 0, 1e-7)]
    assert len({image.to_rgba(image.get_array()).tobytes() for image in images}) == 1


def test_the_scale_of_weights_does_not_follow_the_data():
    ax = plots.heatmap(new_axes(), [[0.125, 0.25]])
    assert ax.images[0].get_clim() == (0, 1)
    (bar,) = ax.child_axes
    assert bar.get_ylim() == (0, 1)
    assert bar.get_ylabel() == "weight"
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
    assert [ax.texts[place].get_color() for place in (0, -1)] == ["#ffffff", "#000000"]
    for text, weight in zip(ax.texts, (0.0, 0.25, 0.5, 0.75, 1.0), strict=True):
        assert contrast(text.get_color(), to_hex(plots.WEIGHT_MAP(weight))) >= 4.5


@pytest.mark.parametrize("figsize", [(5.8, 1.6), (5.8, 5.8)])
def test_numbers_are_as_large_as_their_cells_allow_and_no_larger(figsize):
    """A row of twelve words is read on a phone, where it is 358 pixels wide."""
    figure, ax = plt.subplots(figsize=figsize)
    plots.heatmap(ax, np.full((1, 12), 0.25), ["it"], list("abcdefghijkl"), decimals=2)
    figure.canvas.draw()
    cell = np.diff(ax.transData.transform([(0, 0), (1, 0)])[:, 0])[0]
    widths = [text.get_window_extent().width for text in ax.texts]
    assert 0.75 * cell < max(widths) < cell
    assert ax.texts[0].get_fontsize() / 72 / figsize[0] * 358 >= 9


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


@pytest.mark.parametrize("panels", [1, 3, 4])
@pytest.mark.parametrize("size", [8, 10, 12, 100])
def test_numbers_of_positions_do_not_touch_in_narrow_panels(size, panels):
    figure, axes = plt.subplots(1, panels, figsize=(5.6, 2.5), squeeze=False)
    plots.heatmap_grid(axes, np.full((panels, size, size), 0.125))
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axes[0, 0].get_xticklabels()]
    assert len(boxes) >= 4
    assert all(left.x1 + 2 < right.x0 for left, right in itertools.pairwise(boxes))


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


@pytest.mark.parametrize("convert", [np.array, torch.tensor, list], ids=["array", "tensor", "list"])
def test_a_mask_is_drawn_as_it_stands(convert):
    mask = [[True, False], [True, True]]
    ax = plots.mask_picture(new_axes(), convert(mask), ["a", "b"], ["c", "d"])
    assert (ax.images[0].get_array().mask == ~np.array(mask)).all()
    assert hatched(ax, "mask", (0, 1))
    assert not hatched(ax, "mask", (1, 0))
    assert colors_of_cell(ax, column=0, reach=0.3) == [LIGHT["accent"]]


def test_what_is_no_axes_is_refused():
    with pytest.raises(TypeError, match=r"ax: expected a matplotlib\.axes\.Axes, got int"):
        plots.heatmap_grid([1, 2], [[[1.0]], [[1.0]]])
    with pytest.raises(TypeError, match=r"ax: expected a matplotlib\.axes\.Axes, got Figure"):
        plots.mask_picture(plt.figure(), [[True]])
