"""Boxes of tensors have the proportions of their shapes, and texts that do not collide."""

import itertools

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from attention_lib import plots
from attention_lib.palette import LIGHT
from tests.plots.drawing import new_axes, texts_of


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
