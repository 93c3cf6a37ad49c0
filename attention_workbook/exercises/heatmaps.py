"""Graders for the exercises of the chapter on heatmaps.

Examples
--------
>>> darkest(0.2)
Not yet: it can be smaller. Move equal amounts from the second key to the two others.
>>> value_weighted(lambda weights, values: weights)
Not yet: that is the weight alone; the length of the value is missing.
"""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["darkest", "mean_ablated", "message", "quiz", "value_weighted"]

darkest, message, quiz = questions("heatmaps")


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
        (
            "sum(dim=-1).sqrt()",
            "sum(dim=-2).sqrt()",
            "a length is taken along the keys; a value's numbers lie along its last axis.",
        ),
        (
            "weights * lengths[:, None, :]",
            "weights",
            "that is the weight alone; the length of the value is missing.",
        ),
        (".sqrt()", "", "the length is squared: its root is missing."),
        (
            "values.square().sum(dim=-1).sqrt()",
            "values.sum(dim=-1)",
            "the numbers of a value are added up; its length is the root of the sum of squares.",
        ),
        (
            "values.square().sum(dim=-1).sqrt()",
            "values.abs().sum(dim=-1)",
            "that is the sum of absolute values; a length is the root of a sum of squares.",
        ),
        (
            "values.square().sum(dim=-1)",
            "values.square().sum()[None, None]",
            "one length is taken for all values; each key's value has its own.",
        ),
        (
            "weights * lengths[:, None, :]",
            "weights * lengths[:, None, :] / (weights @ lengths[:, :, None])",
            "the rows are made to sum to 1 again, which hides how much a query gets in all.",
        ),
    ],
)
def value_weighted(weights: Tensor, values: Tensor) -> Tensor:
    """Return weight times length of value, ``(batch, len_q, len_k)`` (Kobayashi et al., 2020)."""
    lengths = values.square().sum(dim=-1).sqrt()
    return weights * lengths[:, None, :]


def _heads(seed: int, *shape: int, i: int) -> tuple[Tensor, Tensor, int]:
    """Return outputs of heads, which positions are words, and the head to ablate."""
    batch, _, length, _ = shape
    outputs = 2 + draws(40 + seed, torch.float64 if seed == 2 else torch.float32)(*shape)
    real = torch.arange(length) < torch.arange(2, 2 + batch)[:, None]
    return outputs, real, i


_MEAN = "words.mean(dim=0)"


@exercise(
    axes="head position column",
    cases=[
        _heads(0, 1, 2, 3, 1, i=0),
        _heads(1, 2, 3, 5, 2, i=2),
        _heads(2, 3, 2, 7, 5, i=1),
        _heads(3, 4, 5, 6, 3, i=3),
    ],
    mistakes=[
        (_MEAN, "torch.zeros(outputs.shape[-1])", "that is ablation by zero."),
        ("outputs[:, i][real]", "outputs[:, i].flatten(0, 1)", "the padding counts in the mean."),
        (
            _MEAN,
            "(outputs[:, i] * real[..., None]).mean(dim=(0, 1))",
            "the padding counts as zeros in the mean, which draws it towards 0.",
        ),
        (_MEAN, "words.mean()", "that is one number; each column has a mean of its own."),
        ("ablated[:, i] =", "ablated[:, i][real] =", "the padding keeps its old output."),
        (
            lambda outputs, real, i: outputs.index_copy(
                1,
                torch.tensor([i]),
                (
                    (outputs[:, i] * real[..., None]).sum(1, keepdim=True)
                    / real.sum(1)[:, None, None]
                ).expand_as(outputs[:, i])[:, None],
            ),
            "each sentence gets a mean of its own, which still tells sentences apart; take one "
            "mean over all of them.",
        ),
        (
            _MEAN,
            "torch.stack([x[i][w].mean(dim=0) for x, w in zip(outputs, real)]).mean(dim=0)",
            "that is the mean of the sentences' means, in which words of short sentences count "
            "more; take one mean over all words.",
        ),
    ],
)
def mean_ablated(outputs: Tensor, real: Tensor, i: int) -> Tensor:
    """Return the heads' outputs with head ``i`` at its mean over all words, at every position."""
    words = outputs[:, i][real]
    ablated = outputs.clone()
    ablated[:, i] = words.mean(dim=0)
    return ablated
