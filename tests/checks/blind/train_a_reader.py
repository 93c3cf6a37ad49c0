"""Answers to the exercises of `train-a-reader`, but for the rollout, see `heatmaps`."""

import math

import numpy as np
import torch
from torch.nn import functional as F


def held_loop(held_out, nouns, adjective):
    return torch.tensor(
        [
            all(bool(held_out[n, a]) for n in row)
            for row, a in zip(nouns.tolist(), adjective.tolist(), strict=True)
        ]
    )


def held_by_table(held_out, nouns, adjective):
    columns = held_out.T[adjective]  # (sentences, nouns of the language)
    return columns.gather(1, nouns).all(1)


def held_by_numpy(held_out, nouns, adjective):
    return torch.from_numpy(held_out.numpy()[nouns.numpy(), adjective.numpy()[:, None]].all(1))


def held_one_hot(held_out, nouns, adjective):
    n = F.one_hot(nouns, held_out.shape[0]).float()
    a = F.one_hot(adjective, held_out.shape[1]).float()
    return torch.einsum("snx,xy,sy->sn", n, held_out.float(), a).amin(-1) > 0.5


def held_count(held_out, nouns, adjective):
    return (
        sum(held_out[nouns[:, c], adjective].int() for c in range(nouns.shape[1])) == nouns.shape[1]
    )


def _held(pick=lambda h, n, a: h[n, a[:, None]], all_of=lambda x: x.all(-1)):
    return lambda h, n, a: all_of(pick(h, n, a))


def loss_loop(scores, it, meant):
    total = 0.0
    for table, row, target in zip(scores, it.tolist(), meant.tolist(), strict=True):
        total = total + torch.logsumexp(table[row], 0) - table[row, target]
    return total / len(scores)


def loss_nll(scores, it, meant):
    rows = scores[torch.arange(len(it)), it].log_softmax(-1)
    return F.nll_loss(rows, meant)


def loss_gather(scores, it, meant):
    rows = scores.gather(1, it[:, None, None].expand(-1, 1, scores.shape[-1]))[:, 0]
    right = rows.gather(1, meant[:, None])[:, 0]
    return (rows.logsumexp(1) - right).mean()


def loss_one_hot(scores, it, meant):
    rows = torch.einsum("bij,bi->bj", scores, F.one_hot(it, scores.shape[1]).to(scores))
    return F.cross_entropy(rows, F.one_hot(meant, scores.shape[2]).to(scores))


def _loss(
    rows=lambda s, it: s[torch.arange(len(s)), it],
    loss=lambda r, m: F.cross_entropy(r, m),
):
    return lambda s, it, meant: loss(rows(s, it), meant)


def columns_loop(weight, num_heads, head):
    out = weight.clone()
    d = weight.shape[1] // num_heads
    for c in range(head * d, (head + 1) * d):
        out[:, c] = 0
    return out


def columns_factor(weight, num_heads, head):
    keep = torch.arange(num_heads) != head
    return weight * keep.repeat_interleave(weight.shape[1] // num_heads)


def columns_cat(weight, num_heads, head):
    parts = list(weight.chunk(num_heads, dim=1))
    parts[head] = torch.zeros_like(parts[head])
    return torch.cat(parts, dim=1)


def columns_unflatten(weight, num_heads, head):
    out = weight.detach().clone().unflatten(1, (num_heads, -1))
    out[:, head] = 0
    return out.flatten(1)


def _cut(place, out=lambda w: w.clone(), fill=0.0):
    def cut(weight, num_heads, head):
        copied = out(weight)
        copied[place(weight.shape[1] // num_heads, num_heads, head)] = fill
        return copied

    return cut


def in_place(weight, num_heads, head):
    d = weight.shape[1] // num_heads
    weight[:, head * d : (head + 1) * d] = 0
    return weight


def view_for_a_copy(weight, num_heads, head):
    copied = weight.view_as(weight)
    d = weight.shape[1] // num_heads
    copied[:, head * d : (head + 1) * d] = 0
    return copied


RIGHT = {
    "loss_of_a_guess": {
        "float": math.log(13),
        "numpy": np.log(13),
        "0-d tensor": torch.tensor(13.0).log(),
        "rounded": 2.565,
    },
    "held_out_sentences": {
        "loop": held_loop,
        "gather": held_by_table,
        "NumPy": held_by_numpy,
        "one-hot": held_one_hot,
        "count": held_count,
    },
    "pointing_loss": {
        "a number": _loss(loss=lambda r, m: F.cross_entropy(r, m).item()),
        "detached": _loss(rows=lambda s, it: s.detach()[torch.arange(len(s)), it]),
        "loop": loss_loop,
        "nll_loss": loss_nll,
        "gather": loss_gather,
        "one-hot": loss_one_hot,
    },
    "without_columns": {
        "loop": columns_loop,
        "a factor": columns_factor,
        "cat": columns_cat,
        "unflatten": columns_unflatten,
    },
}

WRONG = {
    "loss_of_a_guess": {
        "sign": -math.log(13),
        "share": 1 / 13,
        "log base 2": math.log2(13),
        "log base 10": math.log10(13),
        "12 words": math.log(12),
        "1 − 1/13": 12 / 13,
        "the number": 13.0,
        "divided by 13": math.log(13) / 13,
        "14 words": math.log(14),
    },
    "held_out_sentences": {
        "any for all": _held(all_of=lambda x: x.any(-1)),
        "inverted": _held(all_of=lambda x: ~x.all(-1)),
        "none of them": _held(all_of=lambda x: (~x).all(-1)),
        "first noun": _held(all_of=lambda x: x[:, 0]),
        "last noun": _held(all_of=lambda x: x[:, -1]),
        "first two nouns": _held(all_of=lambda x: x[:, :2].all(-1)),
        "all over the sentences": _held(all_of=lambda x: x.all(0)),
        "all of everything": _held(all_of=lambda x: x.all()),
        "each pair": _held(all_of=lambda x: x),
        "most of them": _held(all_of=lambda x: x.float().mean(-1) > 0.5),
        "share": _held(all_of=lambda x: x.float().mean(-1)),
        "number": _held(all_of=lambda x: x.sum(-1)),
        "at least one, not all": _held(all_of=lambda x: x.any(-1) & ~x.all(-1)),
        "rows and columns exchanged": _held(
            pick=lambda h, n, a: h[a[:, None].clamp(max=len(h) - 1), n.clamp(max=h.shape[1] - 1)]
        ),
        "rows and columns exchanged, unguarded": _held(pick=lambda h, n, a: h[a[:, None], n]),
        "adjective without an axis": _held(pick=lambda h, n, a: h[n, a]),
        "every adjective": _held(pick=lambda h, n, a: h[n].all(-1)),
        "every noun": _held(pick=lambda h, n, a: h[:, a].T),
        "first adjective for all": _held(pick=lambda h, n, a: h[n, a[:1, None]]),
        "adjective at the front": _held(
            pick=lambda h, n, a: h[n, a[None, : n.shape[1]].expand_as(n)]
        ),
        "odd number": _held(all_of=lambda x: x.sum(-1) % 2 == 1),
        "floats": _held(all_of=lambda x: x.all(-1).float()),
        "integers": _held(all_of=lambda x: x.all(-1).long()),
        "a column": _held(all_of=lambda x: x.all(-1, keepdim=True)),
        "indices": _held(all_of=lambda x: x.all(-1).nonzero().flatten()),
        "two nouns by or": _held(all_of=lambda x: x[:, 0] | x[:, -1]),
    },
    "pointing_loss": {
        "softmax twice": _loss(loss=lambda r, m: F.cross_entropy(r.softmax(-1), m)),
        "sign": _loss(loss=lambda r, m: -F.cross_entropy(r, m)),
        "sum": _loss(loss=lambda r, m: F.cross_entropy(r, m, reduction="sum")),
        "not averaged": _loss(loss=lambda r, m: F.cross_entropy(r, m, reduction="none")),
        "probability of the right": _loss(
            loss=lambda r, m: 1 - r.softmax(-1).gather(1, m[:, None]).mean()
        ),
        "log of the mean probability": _loss(
            loss=lambda r, m: -r.softmax(-1).gather(1, m[:, None]).mean().log()
        ),
        "scores for log-probabilities": _loss(loss=lambda r, m: F.nll_loss(r, m)),
        "probabilities, no logarithm": _loss(loss=lambda r, m: F.nll_loss(r.softmax(-1), m)),
        "log base 2": _loss(loss=lambda r, m: F.cross_entropy(r, m) / math.log(2)),
        "column of it": _loss(rows=lambda s, it: s[torch.arange(len(s)), :, it]),
        "last row": _loss(rows=lambda s, it: s[:, -1]),
        "first row": _loss(rows=lambda s, it: s[:, 0]),
        "first sentence's it": _loss(rows=lambda s, it: s[:, it[0]]),
        "mean over the rows": _loss(rows=lambda s, it: s.mean(1)),
        "all rows": lambda s, it, m: F.cross_entropy(
            s.flatten(0, 1), m.repeat_interleave(s.shape[1])
        ),
        "it and meant exchanged": lambda s, it, m: F.cross_entropy(s[torch.arange(len(s)), m], it),
        "s[:, it]": lambda s, it, m: F.cross_entropy(s[:, it].flatten(0, 1), m.repeat(len(it))),
        "softmax over the rows": lambda s, it, m: F.nll_loss(
            s.log_softmax(1)[torch.arange(len(s)), it], m
        ),
        "softmax over the table": lambda s, it, m: F.nll_loss(
            s.flatten(1).log_softmax(-1).view_as(s)[torch.arange(len(s)), it], m
        ),
        "softmax over the batch": lambda s, it, m: F.nll_loss(
            s.log_softmax(0)[torch.arange(len(s)), it], m
        ),
        "bare exponentials": _loss(
            loss=lambda r, m: (
                -(r.exp() / r.exp().sum(-1, keepdim=True)).gather(1, m[:, None]).log().mean()
            )
        ),
        "a little added": _loss(
            loss=lambda r, m: -(r.softmax(-1).gather(1, m[:, None]) + 1e-3).log().mean()
        ),
        "squared error": _loss(
            loss=lambda r, m: (r.softmax(-1) - F.one_hot(m, r.shape[-1])).square().mean()
        ),
        "accuracy": _loss(loss=lambda r, m: (r.argmax(-1) == m).float().mean()),
        "sigmoid": _loss(
            loss=lambda r, m: F.binary_cross_entropy_with_logits(r, F.one_hot(m, r.shape[-1]).to(r))
        ),
        "smoothed labels": _loss(loss=lambda r, m: F.cross_entropy(r, m, label_smoothing=0.1)),
        "divided by the length": lambda s, it, m: _loss()(s, it, m) / s.shape[-1],
    },
    "without_columns": {
        "rows": _cut(lambda d, n, h: slice(h * d, (h + 1) * d)),
        "rows and columns": lambda w, n, h: columns_loop(columns_loop(w, n, h).T, n, h).T,
        "block on the diagonal": _cut(
            lambda d, n, h: (slice(h * d, (h + 1) * d), slice(h * d, (h + 1) * d))
        ),
        "one column": _cut(lambda d, n, h: (slice(None), h)),
        "one row": _cut(lambda d, n, h: h),
        "every n-th column": _cut(lambda d, n, h: (slice(None), slice(h, None, n))),
        "every d-th column": _cut(lambda d, n, h: (slice(None), slice(h, None, d))),
        "counted from 1": _cut(lambda d, n, h: (slice(None), slice(max(h - 1, 0) * d, h * d))),
        "next head": _cut(
            lambda d, n, h: (slice(None), slice((h + 1) % n * d, ((h + 1) % n + 1) * d))
        ),
        "from the end": _cut(lambda d, n, h: (slice(None), slice((n - 1 - h) * d, (n - h) * d))),
        "number of heads for the width": _cut(
            lambda d, n, h: (slice(None), slice(h * n, (h + 1) * n))
        ),
        "one column too many": _cut(lambda d, n, h: (slice(None), slice(h * d, (h + 1) * d + 1))),
        "one column too few": _cut(lambda d, n, h: (slice(None), slice(h * d, (h + 1) * d - 1))),
        "from the head on": _cut(lambda d, n, h: (slice(None), slice(h * d, None))),
        "up to the head": _cut(lambda d, n, h: (slice(None), slice(0, (h + 1) * d))),
        "the others": lambda w, n, h: w - columns_loop(w, n, h),
        "in place": in_place,
        "a view": view_for_a_copy,
        "columns removed": lambda w, n, h: torch.cat(
            [x for i, x in enumerate(w.chunk(n, 1)) if i != h], 1
        ),
        "−∞": _cut(lambda d, n, h: (slice(None), slice(h * d, (h + 1) * d)), fill=-torch.inf),
        "ones": _cut(lambda d, n, h: (slice(None), slice(h * d, (h + 1) * d)), fill=1.0),
        "mean of the head": lambda w, n, h: torch.cat(
            [x.mean().expand_as(x) if i == h else x for i, x in enumerate(w.chunk(n, 1))],
            1,
        ),
        "transposed": lambda w, n, h: columns_loop(w, n, h).T,
        "unchanged copy": lambda w, n, h: w.clone(),
        "zeros": lambda w, n, h: torch.zeros_like(w),
        "rescaled": lambda w, n, h: columns_loop(w, n, h) * n / (n - 1),
        "four heads": lambda w, n, h: columns_loop(w, 4, h),
        "width of 64": _cut(lambda d, n, h: (slice(None), slice(h * 64, (h + 1) * 64))),
    },
    "head_that_relays": {"a": "a", "c": "c"},
}
