"""The questions that a number answers: values of wrong formulas, and what is said of each.

Every number of the book has at least twelve wrong values, in the file of its chapter or here;
``test_tables.py`` counts them.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from attention_lib.checks import (
    head_layouts,
    heatmaps,
    kernels,
    multi_head,
    one_head,
    positions,
    scoring_functions,
    soft_lookup,
    softmax_gradient,
    train_a_reader,
    variance,
    variance_limits,
)
from attention_lib.checks._questions import Number
from tests.checks.tables import judged, questions

SMALL, LARGE = "too small", "too large"

# question -> wrong value -> what must be said of it
SAID = {
    head_layouts.cache_size: {
        100 * 64: "one head",
        2 * 100 * 64: "one head",
        100 * 512: "twice that",
        3 * 100 * 512: "a past token never asks",
        2 * 100 * 512 * 2: "at two each",
        2 * 100 * 512 * 4: "at four each",
        2 * 512 * 512: "W_k and W_v",
        2 * 512: "one token",
        8 * 100**2: "weights are not kept",
        2 * 100 * 512 * 8: "share the width",
        2 * 101 * 512: LARGE,
        2 * 99 * 512: SMALL,
    },
    head_layouts.grouped_parameters: {
        4 * 512**2: "as many key-value heads",
        3 * 512**2: LARGE,
        2 * 512**2: "W_q and W_o",
        2 * 512 * 128: "W_k and W_v",
        512**2 + 2 * 512 * 128: "one of W_q and W_o",
        2 * 512**2 + 512 * 128: "a matrix each",
        512**2 + 3 * 512 * 128: "the output matrix",
        4 * 512 * 128: "stay 512",
        2 * 512**2 + 2 * 512 * 128 + 1280: "no biases",
        2 * 512**2 + 2 * 512 * 32: SMALL,
        2 * 512**2 + 2 * 512 * 512 + 8: LARGE,
        512: SMALL,
    },
    heatmaps.brightest_cell: {
        1: "colour bar",
        0.2: "width of the range",
        0.1: "darkest",
        1 / 3: "from 0.10 to 0.30",
        30: "between 0 and 1",
        0.25: SMALL,
        0.29: SMALL,
        0.31: LARGE,
        0.4: LARGE,
        3: LARGE,
        0: SMALL,
        -0.3: SMALL,
    },
    kernels.delta_reads: {
        1 + 2 + 3: "which adds",
        (1 + 2 + 3) / 3: "the mean",
        1: "the first value",
        0: "not erased",
        1 + 4 + 9: "the squares",
        2 + 3: "do not add",
        1 + 3: LARGE,
        1 * 2 * 3 + 1: LARGE,
        3 / 2: SMALL,
        3 - 2 - 1 - 1: SMALL,
        -3: SMALL,
        3 * 3: LARGE,
    },
    multi_head.both_at_once: {
        1: "cannot give 1 twice",
        2: "at most 1",
        1 / 4: "give it all",
        0: "share its weight",
        2**-0.5: "not their squares",
        50: "between 0 and 1",
        1 / 3: SMALL,
        1 / math.e: SMALL,
        0.75: LARGE,
        1.5: LARGE,
        0.49: SMALL,
        -0.5: SMALL,
    },
    multi_head.layer_parameters: {
        3 * 512**2: "W_o is forgotten",
        512**2: "one matrix",
        2 * 512**2: "two of the four",
        4 * 512**2 * 8: "share the width",
        4 * 512 * 64: "that is one head",
        3 * 512 * 64: "without its part of W_o",
        512 * 64: "one matrix of one head",
        4 * 64**2: "all 512 numbers",
        4 * 512**2 + 4 * 512: "no biases",
        4 * 512: "512 × 512 numbers",
        6 * 512**2: LARGE,
        4 * 511**2: SMALL,
    },
    one_head.exchanged_twice: {
        1 - 1 / (1 + math.exp(2**-0.5)): "for itself",
        1 / 2: "not equal",
        1 / (1 + math.e): "not divided",
        math.e / (1 + math.e): "this is its weight for itself",
        0: "Softmax gives a positive weight",
        1: "never gives one key everything",
        2**-0.5: LARGE,
        math.exp(-1): LARGE,
        1 / (1 + math.exp(2**0.5)): SMALL,
        1 / (1 + math.exp(1 / 2)): LARGE,
        1 / math.e**2: SMALL,
        -(2**-0.5): SMALL,
    },
    one_head.masked_cells: {
        7: "the row of the padded query",
        2 * 7: "two rows of seven",
        3 * 5: "the real queries may",
        3 * 2: "leaves out the row",
        4 * 5: "may be attended to",
        4 * 7: "the whole table",
        1 * 2: "hidden from every query",
        4 * 2 + 5: "as well; only keys",
        4 + 7: LARGE,
        4 * 2 + 1: LARGE,
        3: SMALL,
        5: SMALL,
    },
    positions.full_turn: {
        2 * math.pi: "fastest pair",
        2 * math.pi * 10_000: "exponent −2/4",
        2 * math.pi * 10: "−2/4",
        100: "one radian",
        10_000: "is the base",
        math.pi * 100: "half a turn",
        math.pi * 50: "a quarter turn",
        360 * 100: "not degrees",
        2 * math.pi * 1000: LARGE,
        360: SMALL,
        100 / (2 * math.pi): SMALL,
        0.01: SMALL,
    },
    positions.slope_share: {
        math.exp(-1 / 2): "one step",
        math.exp(-3 / 2): "distance 3 alone",
        math.exp(-2): "slope 1.",
        math.exp(-3): "slope 1, and",
        1 / 2: "subtracted from the score",
        math.e: "below 1 is asked",
        1 / 3: "ratio of the distances",
        1 - math.exp(-1): "how much it is smaller",
        1 / (1 + math.e): "share of both",
        0: SMALL,
        1: LARGE,
        1 / 2 ** (3 - 1): SMALL,
    },
    scoring_functions.crossing_of_the_circle: {
        3: "straight line",
        math.hypot(3, 2): "around the origin",
        2 - math.sqrt(5): "on the left",
        math.sqrt(5): "add its 2",
        2 + 5: "take its root",
        2 + 2: SMALL,
        2 + 3: LARGE,
        5: LARGE,
        2 * math.sqrt(5) + 2: LARGE,
        3 + 2 * math.sqrt(5): LARGE,
        2: SMALL,
        -math.sqrt(5): SMALL,
    },
    soft_lookup.three_effective_keys: {
        5.83: "Read the other curve",
        3: "number of keys",
        1 / 1.56: "one over the temperature",
        math.log(3): "the entropy of three",
        1: "what was given",
        0: SMALL,
        1 / 3: SMALL,
        3 / 4: SMALL,
        1.3: SMALL,
        2: LARGE,
        4: LARGE,
        -1.56: SMALL,
    },
    softmax_gradient.slope_by_hand: {
        7.5: "the smaller one",
        -10: "not a quarter",
        -40: "p(1 − p)",
        -30: "1 − p",
        -2.5: "the weights multiply",
        -1.875: "factor of the keys",
        -3.75: "3 − (−1) = 4",
        2.5: "the spreads",
        17.5: "product of the means",
        12.5: "the output itself",
        0: LARGE,
        -10 * 4 / 16: "the weights multiply",
    },
    softmax_gradient.torn_norm: {
        1 / 4: "root of the sum",
        1 / 8: "all four entries",
        1 / 16: "the square of one entry",
        0: "hard choice",
        15**0.5 / 16: "even weights",
        2**-1.5: "off the diagonal",
        1: "sum of the sizes",
        2**-0.5: "row of weights",
        2: LARGE,
        1 / 32: SMALL,
        3**0.5 / 4: SMALL,
        3**0.5 / 2: LARGE,
    },
    train_a_reader.loss_of_a_guess: {
        13: "number of words",
        -math.log(13): "it is positive",
        1 / 13: "the weight",
        12 / 13: "goes elsewhere",
        math.log2(13): "base 2",
        math.log10(13): "base 10",
        math.log(12): "ln 12",
        math.log(14): "ln 14",
        math.log(26): LARGE,
        13**0.5: LARGE,
        0: SMALL,
        math.log(13) / 13: SMALL,
    },
    variance.typical_score: {
        256: "is the variance",
        512: "of a gap",
        512**0.5: "gap between two",
        1: "after division",
        1 / 16: "not the score",
        128: "not half",
        4: "fourth root",
        256**2: "squared",
        8: SMALL,
        32: LARGE,
        0: SMALL,
        -16: SMALL,
    },
    variance_limits.gain_for_half: {
        math.log(1000): "2g apart",
        math.log2(1000) / 2: "natural logarithm",
        math.log10(1000) / 2: "natural logarithm",
        1000: "must be",
        1000**0.5: "in an exponent",
        500: "logarithm first",
        math.log(500): "then the half",
        math.log(1000) / 4: "half of the half",
        1 / 2: "not the gain",
        math.log2(1000): LARGE,
        1 / 1001: SMALL,
        -math.log(1000) / 2: SMALL,
    },
    variance_limits.row_variance: {
        36: "before the division",
        36 / 4: "by 16",
        36 / 256: "not by the square of 16",
        36 * 4: "do not multiply",
        1.5: "standard deviation",
        1: "over all queries",
        16: "over all queries, before",
        6: "its square",
        6 / 16: "squared: 36",
        6 * 16 / 4: "and 16 stands below",
        2.25**2: "square of the variance",
        16 / 36: SMALL,
    },
}  # fmt: skip

_, test_wrong_answers_hear_why = judged(
    [], [(number, value, said) for number, values in SAID.items() for value, said in values.items()]
)

NUMBERS = [case for case in questions() if isinstance(case.values[0], Number)]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_right_number_may_be_of_any_kind(number):
    right = number.right
    kinds = [float, np.float64, Fraction, np.array, lambda x: torch.tensor(x, dtype=torch.float64)]
    kinds += [int, np.int64, torch.tensor] if right == int(right) else [np.float32, torch.tensor]
    for kind in kinds:
        assert number(kind(right)), kind


@pytest.mark.parametrize("number", NUMBERS)
def test_what_slips_of_the_pen_make_of_a_number_is_wrong(number):
    """A sign, a factor, a power, a share for its rest: none is taken for the right number."""
    x = number.right
    slips = [-x, 2 * x, x / 2, 10 * x, x / 10, 100 * x, x**2, abs(x) ** 0.5, 1 / x, 1 - x, x + 1]
    slips += [x - 1, math.exp(min(x, 700)), math.log(abs(x)), 0, x + 2.5 * number.tolerance]
    for slip in slips:
        if abs(slip - x) > number.tolerance:
            assert not number(slip), slip
