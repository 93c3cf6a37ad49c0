"""The graders of "Read heatmaps": right answers in many styles, wrong ones and what they hear."""

import numpy as np
import torch

from attention_lib.checks import heatmaps as check
from tests.checks.tables import judged


def test_the_row_after_dropout_is_what_dropout_leaves():
    before = torch.tensor([0.70, 0.05, 0.10, 0.15])
    after = before * torch.tensor([1.0, 0.0, 1.0, 1.0]) / 0.9
    shown = torch.tensor([float(x) for x in check.after_dropout.options["c"].strip("`").split()])
    torch.testing.assert_close(after, shown, atol=0.005, rtol=0)
    for key in "abd":
        row = [float(x) for x in check.after_dropout.options[key].strip("`").split()]
        assert sum(row) == 1


# How sure a head is.


def largest(weights):
    return weights.amax(dim=-1)


def sure(weights, real):
    return (largest(weights) * real.unsqueeze(1)).sum(dim=(0, 2)) / real.sum()


def sure_of_the_chosen(weights, real):
    return weights.max(dim=-1).values.transpose(1, 2)[real].mean(dim=0)


def sure_by_loops(weights, real):
    found = [
        [
            weights[b, h, i].max()
            for b in range(len(real))
            for i in range(real.shape[1])
            if real[b, i]
        ]
        for h in range(weights.shape[1])
    ]
    return torch.stack([torch.stack(row).mean() for row in found])


def sure_by_nan(weights, real):
    return (
        largest(weights)
        .masked_fill(~real[:, None], torch.nan)
        .transpose(0, 1)
        .flatten(1)
        .nanmean(1)
    )


def sure_by_einsum(weights, real):
    return torch.einsum("bhq,bq->h", largest(weights), real.to(weights.dtype)) / real.sum()


def sure_by_sentence(weights, real):
    sums = (largest(weights) * real.unsqueeze(1)).sum(dim=2)
    return (sums / real.sum(dim=1, keepdim=True)).mean(dim=0)


def counting(found):
    return lambda w, real: (found(w) * real.unsqueeze(1)).sum(dim=(0, 2)) / real.sum()


SURE = [
    (lambda w, real: largest(w).mean(dim=(0, 2)), "padded queries still count"),
    (lambda w, real: (largest(w) * real.unsqueeze(1)).mean(dim=(0, 2)), "number of real tokens"),
    (sure_by_sentence, "mean of each sentence's mean"),
    (lambda w, real: sure(w, real).mean(), "one number for all heads"),
    (lambda w, real: sure(w, ~real), "real is True at words"),
    (lambda w, real: (largest(w) * real.unsqueeze(1)).sum(dim=(0, 2)), "that is the sum"),
    (counting(lambda w: w.amax(dim=-2)), "of each column is taken"),
    (counting(lambda w: w.amin(dim=-1)), "the smallest"),
    (counting(lambda w: w.mean(dim=-1)), "1 / len_k"),
    (counting(lambda w: w.argmax(dim=-1)), "the key's place"),
    (lambda w, real: sure(w, real) / w.shape[1], "the number of heads is counted"),
    (lambda w, real: sure(w * real[:, None, None], torch.ones_like(real)), "laid over the keys"),
    (lambda w, real: sure(w.mean(1, keepdim=True), real), "expected shape"),
    (lambda w, real: (largest(w) * real).sum(dim=(0, 2)) / real.sum(), "real[:, None] lines up"),
    (lambda w, real: largest(w)[real].mean(0), "raised IndexError"),
    (counting(lambda w: (w * w).sum(-1)), "the squares of a row"),
]


# Rollout.


def product(mix, layers=lambda weights: weights):
    def answer(weights):
        total = torch.eye(weights.shape[-1])
        for layer in layers(weights):
            total = mix(layer, torch.eye(len(layer))) @ total
        return total

    return answer


def half(layer, identity):
    return (layer + identity) / 2


def rollout_by_multi_dot(weights):
    mixed = [half(layer, torch.eye(len(layer))) for layer in weights.flip(0)]
    return torch.linalg.multi_dot(mixed) if len(mixed) > 1 else mixed[0]


def rollout_by_recursion(weights):
    last = 0.5 * weights[-1] + 0.5 * torch.eye(weights.shape[-1])
    return last if len(weights) == 1 else last @ rollout_by_recursion(weights[:-1])


def rollout_normalised(weights):
    return product(lambda layer, identity: torch.nn.functional.normalize(layer + identity, 1, -1))(
        weights
    )


ROLLOUT = [
    (lambda w: w.mean(dim=0), "a mean treats them"),
    (lambda w: w.sum(dim=0), "a sum treats them"),
    (product(lambda layer, identity: layer), "the residual path is missing: "),
    (product(lambda layer, identity: layer, lambda w: w.flip(0)), "is missing, and the order"),
    (product(lambda layer, identity: layer + identity), "sum to more than 1"),
    (product(half, lambda w: w.flip(0)), "the order is reversed"),
    (product(lambda layer, identity: half(layer.mT, identity)), "the weights are transposed"),
    (product(half, lambda w: w[1:]), "the first layer is left out"),
    (product(half, lambda w: w[:-1]), "the last layer is left out"),
    (lambda w: half(w, torch.eye(w.shape[-1])).prod(dim=0), "entry by entry"),
    (lambda w: half(product(lambda a, i: a)(w), torch.eye(w.shape[-1])), "mixed in once"),
    (lambda w: w[0], "the first layer alone"),
    (lambda w: w[-1], "the last layer alone"),
    (product(lambda layer, identity: layer / 2 + 0.5), "added to every cell"),
    (lambda w: product(half)(w).mT, "transposed"),
    (lambda w: product(half)(w)[-1], "the last row"),
    (lambda w: torch.matmul(*w[:2]), "row 1, column 0: "),
]


# Weights times the lengths of values.


def weighted(weights, values):
    return weights * values.norm(dim=-1).unsqueeze(-2)


def weighted_by_vectors(weights, values):
    return (weights.unsqueeze(-1) * values.unsqueeze(-3)).norm(dim=-1)


def weighted_by_einsum(weights, values):
    return torch.einsum("bqk,bk->bqk", weights, values.square().sum(-1).sqrt())


def weighted_by_loops(weights, values):
    out = weights.clone()
    for b in range(len(weights)):
        for j in range(weights.shape[2]):
            out[b, :, j] *= values[b, j].norm()
    return out


def weighted_by_diag(weights, values):
    return weights @ torch.diag_embed(torch.linalg.vector_norm(values, dim=-1))


def times(lengths):
    return lambda w, v: w * lengths(v).unsqueeze(-2)


WEIGHTED = [
    (lambda w, v: w, "the weight alone"),
    (times(lambda v: v.square().sum(-1)), "its root is missing"),
    (times(lambda v: v.abs().sum(-1)), "the entries' sizes are summed"),
    (times(lambda v: v.sum(-1)), "and cancel"),
    (times(lambda v: v.amax(-1)), "the largest entry"),
    (times(lambda v: v.mean(-1)), "the entries are averaged"),
    (times(lambda v: torch.nn.functional.normalize(v.norm(dim=-1), 1)), "divided by their sum"),
    (lambda w, v: w * v.norm(dim=-1), "unsqueeze(-2)"),
    (lambda w, v: w * v.norm(dim=-1, keepdim=True), "They belong along the last one"),
    (lambda w, v: w * v.norm(dim=-2, keepdim=True), "A value is a row"),
    (lambda w, v: w * v.norm(), "one length is taken for all"),
    (lambda w, v: w @ v, "that is the output"),
    (lambda w, v: (w @ v).norm(dim=-1), "the length of the output"),
    (lambda w, v: w.unsqueeze(-1) * v.unsqueeze(-3), "the vectors that are summed"),
    (lambda w, v: torch.nn.functional.normalize(weighted(w, v), 1, -1), "sum to 1 again"),
    (lambda w, v: weighted(w, v).mT, "transposed"),
    (lambda w, v: times(lambda v: 1 / v.norm(dim=-1))(w, v), "divided by the lengths"),
]


# Two maps, one output.


def null_vectors(values):
    """Directions in which weights may move: the output stays, and the sum of the weights."""
    fixed = torch.cat([values.double(), torch.ones(len(values), 1).double()], dim=1).T
    return torch.linalg.svd(fixed).Vh[len(fixed) :]


def moved(weights, values, share=0.9, sign=1):
    direction = sign * null_vectors(values)[0].to(weights.dtype)
    room = torch.where(direction < 0, -weights / direction, torch.inf).amin(-1, keepdim=True)
    return weights + share * room * direction


def moved_a_little(weights, values):
    direction = null_vectors(values)[-1]
    return (weights.double() + 0.02 * direction / direction.abs().max()).to(weights.dtype)


def by_projection(weights, values):
    basis = null_vectors(values)
    draws = torch.randn(len(weights), len(basis), generator=torch.Generator().manual_seed(1))
    direction = draws.double() @ basis
    room = torch.where(direction < 0, -weights / direction, torch.inf).amin(-1, keepdim=True)
    return weights + room * direction


def scaled_up(weights, values):
    return moved(weights, values) * 1.01


def without_the_sum(weights, values):
    direction = torch.linalg.svd(values.double().T).Vh[-1]
    return weights + 0.05 * direction.to(weights.dtype)


def changes_weights(weights, values):
    weights += 0
    weights[0, 0] += 0.1
    return weights


SAME = [
    (lambda w, v: w, "is what was given"),
    (lambda w, v: w.clone(), "is what was given"),
    (lambda w, v: w + 1e-4 * null_vectors(v)[0].to(w.dtype), "is what was given"),
    (lambda w, v: w.flip(-1), "is what was given"),  # the even row
    (lambda w, v: torch.full_like(w, 1 / w.shape[-1]), "is what was given"),
    (lambda w, v: torch.softmax(v.sum(-1), 0).expand_as(w), "the output is 3.493, should be 2.5"),
    (lambda w, v: moved(w, v, share=1.5), "negative"),
    (scaled_up, "the weights sum to 1.01, not to 1"),
    (without_the_sum, "the weights sum to"),
    (lambda w, v: w @ v, "expected shape (1, 4), got (1, 1)"),
    (lambda w, v: v, "expected shape (1, 4), got (4, 1)"),
    (lambda w, v: null_vectors(v)[0].expand_as(w), "negative"),
    (lambda w, v: w * torch.nan, "the weights hold NaN"),
    (lambda w, v: (w, v), "a tensor is expected, not tuple"),
    (lambda w, v: w @ w, "raised RuntimeError"),
    (lambda w, v: torch.cat([moved(w[:1], v), w[1:]]), "row 1 is what was given"),
    (changes_weights, "changed its input"),
    (lambda w, v: moved(w, v.mul_(1)).add(v.zero_().sum()), "changed its input"),
]

test_right, test_wrong = judged(
    [
        *((check.sureness, f) for f in (sure, sure_of_the_chosen, sure_by_loops, sure_by_nan)),
        (check.sureness, sure_by_einsum),
        (check.rollout, product(half)),
        (check.rollout, rollout_by_multi_dot),
        (check.rollout, rollout_by_recursion),
        (check.rollout, rollout_normalised),
        *((check.value_weighted, f) for f in (weighted, weighted_by_vectors, weighted_by_einsum)),
        (check.value_weighted, weighted_by_loops),
        (check.value_weighted, weighted_by_diag),
        *((check.same_output, f) for f in (moved, moved_a_little, by_projection)),
        (check.same_output, lambda w, v: moved(w, v, sign=-1)),
        (check.same_output, lambda w, v: moved(w.double(), v.double(), share=0.5)),
        *((check.brightest_cell, x) for x in (0.3, 0.30, np.float32(0.3), torch.tensor(0.3))),
        (check.after_dropout, "C"),
    ],
    [
        *((check.sureness, *row) for row in SURE),
        *((check.rollout, *row) for row in ROLLOUT),
        *((check.value_weighted, *row) for row in WEIGHTED),
        *((check.same_output, *row) for row in SAME),
        (check.brightest_cell, 1.0, "colour bar"),
        (check.brightest_cell, 0.2, "width of the range"),
        (check.brightest_cell, 0.1, "darkest"),
        (check.brightest_cell, 30, "write 0.30"),
        (check.brightest_cell, 0.25, "too small"),
        (check.after_dropout, "a", "as softmax makes them"),
        (check.after_dropout, "b", "looks everywhere alike"),
        (check.after_dropout, "d", "masked keys"),
    ],
)
