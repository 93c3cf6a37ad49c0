"""Graders for the exercises of the chapter on heatmaps.

Examples
--------
>>> brightest_cell(1.0)
Not yet: 1.0 is what the colour bar says, and it belongs to another panel: that is the lie.
>>> sureness(lambda weights, real: weights.amax(dim=-1).mean(dim=(0, 2)))
Not yet: padded queries still count.
"""

import torch
from torch import Tensor

from workbook.exercises._cases import draws
from workbook.exercises._exercise import exercise
from workbook.exercises._questions import questions

__all__ = [
    "after_dropout",
    "brightest_cell",
    "quiz",
    "rollout",
    "same_output",
    "sureness",
    "value_weighted",
]

after_dropout, brightest_cell, quiz = questions("heatmaps")


def _heads(seed: int, *shape: int) -> tuple[Tensor, Tensor]:
    """Return weights of heads, and which queries are real: one in the first text, then more."""
    batch, _, length = shape
    scores = 2 * draws(40 + seed, torch.float64 if seed == 2 else torch.float32)(*shape, length)
    real = torch.arange(length) < torch.arange(1, 1 + batch)[:, None]
    return scores.softmax(dim=-1), real.roll(seed % 2, dims=-1)


_COUNTED = "largest * real[:, None]"


@exercise(
    axes="head",
    cases=[_heads(0, 1, 1, 2), _heads(1, 2, 3, 5), _heads(2, 3, 2, 7), _heads(3, 4, 5, 6)],
    mistakes=[
        ("(largest * real[:, None]).sum(dim=(0, 2)) / real.sum()", "largest.mean(dim=(0, 2))",
         "padded queries still count."),
        ("real.sum()", "real.numel()",
         "padded queries are left out of the sum, but still counted in the number below it."),
        ("(largest * real[:, None]).sum(dim=(0, 2)) / real.sum()",
         "((largest * real[:, None]).sum(dim=2) / real.sum(dim=1, keepdim=True)).mean(dim=0)",
         "that is the mean of each sentence's mean, where a short sentence counts as much as a "
         "long one. Every real token should count alike."),
        ("(largest * real[:, None]).sum(dim=(0, 2)) / real.sum()",
         "(largest * real[:, None]).sum() / real.sum() / largest.shape[1]",
         "that is one number for all heads; keep their axis."),
        (_COUNTED, "largest * ~real[:, None]",
         "the padded queries are summed, and the real ones left out: `real` is True at words."),
        ("weights.amax(dim=-1)", "weights.amax(dim=-2)",
         "the largest weight of each column is taken, over the queries; a row is a query."),
        ("weights.amax(dim=-1)", "(weights * real[:, None, None]).amax(dim=-1)",
         "the padded keys are left out. It is queries that `real` is about."),
        ("weights.amax(dim=-1)", "weights.argmax(dim=-1)",
         "`argmax` gives the key's place, not its weight."),
    ],
)  # fmt: skip
def sureness(weights: Tensor, real: Tensor) -> Tensor:
    """Return the mean of the largest weights over the real queries, ``(num_heads,)``."""
    largest = weights.amax(dim=-1)
    return (largest * real[:, None]).sum(dim=(0, 2)) / real.sum()


def _maps(layers: int, length: int) -> tuple[Tensor]:
    return ((2 * draws(layers)(layers, length, length)).softmax(dim=-1),)


_MIXED = "(layer + identity) / 2"
_ALTERNATIVES = "layers follow one another, so they multiply; {} treats them as alternatives."


@exercise(
    axes="row column",
    cases=[
        (torch.tensor([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.25, 0.75]]]),),
        *(_maps(layers, length) for layers, length in ((2, 3), (3, 5), (4, 7))),
    ],
    special={"where there is one layer": _maps(1, 3)},
    mistakes=[
        (lambda weights: weights.mean(dim=0), _ALTERNATIVES.format("a mean")),
        (lambda weights: weights.sum(dim=0), _ALTERNATIVES.format("a sum")),
        (lambda weights: weights[-1], "that is the last layer alone."),
        (_MIXED, "layer", "the residual path is missing: each layer also passes its input on."),
        (_MIXED, "layer + identity",
         "the rows sum to more than 1: halve the sum of weights and identity."),
        ("mixed @ total", "total @ mixed",
         "the order is reversed: the last layer stands leftmost."),
        ("mixed @ total", "(mixed * total if total is not identity else mixed)",
         "the layers are multiplied entry by entry; a matrix product follows paths."),
        ({_MIXED: "layer", "return total": "return (total + identity) / 2"},
         "the identity is mixed in once, at the end; every layer has its residual path."),
        ("in weights", "in weights[1:]", "the first layer is left out."),
        ("in weights", "in weights[:-1]", "the last layer is left out."),
    ],
)  # fmt: skip
def rollout(weights: Tensor) -> Tensor:
    """Return attention rollout, ``(len, len)`` (Abnar and Zuidema, 2020)."""
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype)
    total = identity
    for layer in weights:
        mixed = (layer + identity) / 2
        total = mixed @ total
    return total


_normal, _double = draws(51), draws(52, torch.float64)


@exercise(
    axes="batch query key",
    cases=[
        (torch.tensor([[[0.75, 0.25]]]), torch.tensor([[[0.0, 0.0], [3.0, -4.0]]])),
        (_normal(2, 3, 5).softmax(dim=-1), _normal(2, 5, 7)),
        (_normal(3, 7, 2).softmax(dim=-1), 100 * _normal(3, 2, 3)),
        (_double(2, 4, 6).softmax(dim=-1), _double(2, 6, 1)),
        (torch.eye(3)[None], _normal(1, 3, 3)),
    ],
    mistakes=[
        ("weights * lengths[:, None, :]", "weights",
         "that is the weight alone; the length of the value is missing."),
        (".sqrt()", "", "the length is squared: its root is missing."),
        (".square().sum(dim=-1).sqrt()", ".abs().sum(dim=-1)",
         "the sizes of the entries are summed; a length is the root of the sum of squares."),
        ("lengths[:, None, :]", "lengths[:, :, None]",
         "the lengths lie along the queries' axis, (batch, len_k, 1). They belong along the last "
         "one, (batch, 1, len_k)."),
        ("values.square().sum(dim=-1)", "values.square().sum()[None, None]",
         "one length is taken for all values; each key's value has its own."),
        ("weights * lengths[:, None, :]", "weights @ values",
         "that is the output; what each key brings is asked for, before the sum."),
        ("weights * lengths[:, None, :]",
         "weights * lengths[:, None, :] / (weights @ lengths[:, :, None])",
         "the rows are made to sum to 1 again, which hides how much a query gets in all."),
    ],
)  # fmt: skip
def value_weighted(weights: Tensor, values: Tensor) -> Tensor:
    """Return weight times length of value, ``(batch, len_q, len_k)`` (Kobayashi et al., 2020)."""
    lengths = values.square().sum(dim=-1).sqrt()
    return weights * lengths[:, None, :]


_CONDITIONS = [
    ("a weight is negative.", lambda found, weights, values: found.min() >= -1e-6),
    ("the weights of a row do not sum to 1.",
     lambda found, weights, values: (found.sum(dim=-1) - 1).abs().max() <= 1e-5),
    ("the output changes; it should stay as it was.",
     lambda found, weights, values: ((found - weights) @ values.to(found - weights))
     .abs().max() <= 1e-4),
    ("in a row no weight moves by 0.01.",
     lambda found, weights, values: (found - weights).abs().amax(-1).min() >= 0.01 - 1e-6),
]  # fmt: skip


def _settled(found: Tensor, weights: Tensor, values: Tensor) -> Tensor:
    """Return the right solution's map in place of any other map that is right."""
    if found.shape != weights.shape or found.isnan().any():
        return found
    right = all(holds(found.detach(), weights, values) for _, holds in _CONDITIONS)
    return same_output.right(weights, values) if right else found


def _random_map(seed: int, len_q: int, len_k: int, d_v: int) -> tuple[Tensor, Tensor]:
    normal = draws(60 + seed, torch.float64)
    return (normal(len_q, len_k) / 2).softmax(dim=-1), normal(len_k, d_v)


@exercise(
    settle=_settled,
    properties=_CONDITIONS,
    axes="query key",
    cases=[
        (torch.full((1, 4), 0.25), torch.tensor([[1.0], [2.0], [3.0], [4.0]])),
        *(
            _random_map(seed, *sizes)
            for seed, sizes in enumerate([(3, 7, 2), (5, 6, 3), (1, 11, 9), (2, 5, 3)])
        ),
    ],
    special={
        "where a row has little room": (
            torch.tensor([[0.03, 0.94, 0.03], [0.485, 0.03, 0.485]]),
            torch.tensor([[0.0], [1.0], [2.0]]),
        ),
    },
    mistakes=[
        (lambda weights, values: weights, "the weights come back as they were given."),
        ("[values, torch.ones_like(values[:, :1])]", "[values]",
         "one condition is left out: the weights that are added to a row must sum to 0."),
        ("[-1]", "[0]",
         "the first row of `Vh` is not at right angles to the conditions; the last one is."),
    ],
)  # fmt: skip
def same_output(weights: Tensor, values: Tensor) -> Tensor:
    """Return other weights ``(len_q, len_k)`` with the same output (Brunner et al., 2020)."""
    conditions = torch.cat([values, torch.ones_like(values[:, :1])], dim=-1)
    direction = torch.linalg.svd(conditions.T).Vh[-1]
    room = torch.where(direction < 0, -weights / direction, torch.inf)
    return weights + 0.9 * room.amin(dim=-1, keepdim=True) * direction
