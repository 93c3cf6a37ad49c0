"""Answers to the exercises of `bug-museum`."""

from fractions import Fraction

import numpy as np
import torch

from attention_lib import causal_mask, masked_softmax


def reads_random(attend, queries, keys, values):
    torch.manual_seed(0)
    other = torch.randn_like(values)
    return not torch.equal(attend(queries, keys, values), attend(queries, keys, other))


def reads_by_slope(attend, queries, keys, values):
    v = values.clone().requires_grad_()
    out = attend(queries, keys, v)
    if not out.requires_grad:
        return False
    (slope,) = torch.autograd.grad(out.square().sum() + out.sum(), v, allow_unused=True)
    return slope is not None and bool(slope.ne(0).any())


def reads_doubled(attend, queries, keys, values):
    gap = attend(queries, keys, values) - attend(queries, keys, 2 * values + 3)
    return bool(gap.abs().max() > 1e-6)


def reads_nan(attend, queries, keys, values):
    return bool(attend(queries, keys, torch.full_like(values, torch.nan)).isnan().any())


def _reads(change=lambda v: v + 1, same=torch.allclose, keys=lambda k: k, queries=lambda q: q):
    def reads(attend, q, k, v):
        before = attend(q, k, v)
        return not same(before, attend(queries(q), keys(k), change(v)))

    return reads


def reads_in_place(attend, queries, keys, values):
    before = attend(queries, keys, values)
    values += 1
    return not torch.allclose(before, attend(queries, keys, values))


def alone_loop(attend, queries, keys, values):
    together = attend(queries, keys, values)
    for b in range(len(queries)):
        s = slice(b, b + 1)
        if not torch.allclose(attend(queries[s], keys[s], values[s])[0], together[b], atol=1e-5):
            return False
    return True


def alone_all(attend, queries, keys, values):
    together = attend(queries, keys, values)
    parts = zip(queries.split(1), keys.split(1), values.split(1), together, strict=True)
    return all(torch.isclose(attend(q, k, v)[0], o, atol=1e-5).all() for q, k, v, o in parts)


def alone_unsqueeze(attend, queries, keys, values):
    rows = [attend(*(x[b][None] for x in (queries, keys, values))) for b in range(len(values))]
    return bool((torch.cat(rows) - attend(queries, keys, values)).abs().max() < 1e-5)


def alone_numpy(attend, queries, keys, values):
    whole = attend(queries, keys, values).numpy()
    return bool(
        np.all(
            [
                np.allclose(attend(q[None], k[None], v[None]).numpy()[0], o, atol=1e-5)
                for q, k, v, o in zip(queries, keys, values, whole, strict=True)
            ]
        )
    )


def _alone(which=lambda n: range(n), one=lambda x, i: x[i : i + 1], same=None):
    close = same or (lambda a, b: torch.allclose(a, b, atol=1e-5))

    def alone(attend, *inputs):
        together = attend(*inputs)
        return all(
            close(attend(*(one(x, i) for x in inputs)), together[i : i + 1])
            for i in which(len(together))
        )

    return alone


def shuffled(attend, *inputs):
    order = torch.arange(len(inputs[0])).flip(0)
    return torch.allclose(attend(*(x[order] for x in inputs)), attend(*inputs)[order], atol=1e-5)


def rolled(attend, *inputs):
    return torch.allclose(
        attend(*(x.roll(1, 0) for x in inputs)), attend(*inputs).roll(1, 0), atol=1e-5
    )


def halves(attend, *inputs):
    first = attend(*(x[: len(x) // 2] for x in inputs))
    return torch.allclose(first, attend(*inputs)[: len(inputs[0]) // 2], atol=1e-5)


def last_dropped(attend, *inputs):
    return torch.allclose(attend(*(x[:-1] for x in inputs)), attend(*inputs)[:-1], atol=1e-5)


def doubled_batch(attend, *inputs):
    twice = attend(*(torch.cat([x, x]) for x in inputs))
    return torch.allclose(twice[: len(inputs[0])], attend(*inputs), atol=1e-5)


def other_values_changed(attend, queries, keys, values):
    changed = values.clone()
    changed[1:] += 1
    return torch.allclose(
        attend(queries, keys, values)[0], attend(queries, keys, changed)[0], atol=1e-5
    )


def induction_loop(tokens):
    n = len(tokens)
    out = torch.zeros(n, n)
    for i in range(n):
        found = [j for j in range(1, i + 1) if tokens[j - 1] == tokens[i]]
        for j in found:
            out[i, j] = 1 / len(found)
    return out


def induction_pad(tokens):
    match = torch.zeros(len(tokens), len(tokens))
    match[:, 1:] = (tokens[:, None] == tokens[None, :-1]).float()
    match = match.tril()
    return match / match.sum(-1, keepdim=True).clamp(min=1)


def induction_where(tokens):
    n = len(tokens)
    i, j = torch.arange(n)[:, None], torch.arange(n)[None]
    seen = (tokens[:, None] == tokens[(j - 1).clamp(min=0).flatten()]) & (j >= 1) & (j <= i)
    s = torch.where(seen, 0.0, -torch.inf)
    return s.softmax(-1).nan_to_num(0.0)


def induction_shift_matrix(tokens):
    kinds = tokens.unique(return_inverse=True)[1]
    hot = torch.nn.functional.one_hot(kinds).float()
    before = torch.diag(torch.ones(len(tokens) - 1), -1) @ hot
    table = torch.einsum("id,jd->ij", hot, before).tril()
    return torch.nn.functional.normalize(table, p=1, dim=-1)


def _induction(matches=None, causal=lambda n: causal_mask(n), soft=None):
    def default(t):
        m = t[:, None] == t.roll(1)
        m[:, 0] = False
        return m

    def weights(tokens):
        m = (matches or default)(tokens) & causal(len(tokens))
        if soft:
            return soft(m)
        return masked_softmax(torch.zeros(m.shape), mask=m)

    return weights


def _closed(m):
    m = m.clone()
    m[:, 0] = False
    return m


RIGHT = {
    "reads_values": {
        "random values": reads_random,
        "slope": reads_by_slope,
        "doubled": reads_doubled,
        "NaN": reads_nan,
    },
    "batch_independent": {
        "loop": alone_loop,
        "split": alone_all,
        "one more axis": alone_unsqueeze,
        "NumPy": alone_numpy,
    },
    "induction_weights": {
        "loop": induction_loop,
        "a shifted table": induction_pad,
        "where": induction_where,
        "one-hot, einsum": induction_shift_matrix,
    },
    "row_sum": {
        "float": 0.65,
        "numpy": np.float64(0.65),
        "0-d tensor": torch.tensor(0.65),
        "fraction": Fraction(13, 20),
    },
}

WRONG = {
    "name_the_bug": {"a": "a", "c": "c", "d": "d"},
    "reads_values": {
        "turned round": lambda a, q, k, v: torch.allclose(a(q, k, v), a(q, k, v + 1)),
        "keys changed": _reads(change=lambda v: v, keys=lambda k: k + 1),
        "queries changed": _reads(change=lambda v: v, queries=lambda q: q + 1),
        "everything changed": _reads(keys=lambda k: k + 1, queries=lambda q: q + 1),
        "keys and values changed": _reads(keys=lambda k: k + 1),
        "nothing changed": _reads(change=lambda v: v),
        "all numbers must move": _reads(same=lambda a, b: bool(torch.isclose(a, b).any())),
        "first number only": _reads(
            same=lambda a, b: torch.allclose(a.flatten()[:1], b.flatten()[:1])
        ),
        "first column only": _reads(same=lambda a, b: torch.allclose(a[..., 0], b[..., 0])),
        "last column only": _reads(same=lambda a, b: torch.allclose(a[..., -1], b[..., -1])),
        "first sample only": _reads(same=lambda a, b: torch.allclose(a[:1], b[:1])),
        "first query only": _reads(same=lambda a, b: torch.allclose(a[:, :1], b[:, :1])),
        "the mean": _reads(same=lambda a, b: torch.allclose(a.mean(), b.mean(), atol=1e-1)),
        "norm": _reads(same=lambda a, b: torch.allclose(a.norm(), b.norm(), rtol=0.3)),
        "first value changed": _reads(change=lambda v: torch.cat([v[..., :1] + 1, v[..., 1:]], -1)),
        "last value column changed": _reads(
            change=lambda v: torch.cat([v[..., :-1], v[..., -1:] + 1], -1)
        ),
        "first key's value changed": _reads(
            change=lambda v: torch.cat([v[..., :1, :] + 1, v[..., 1:, :]], -2)
        ),
        "first sample changed": _reads(change=lambda v: torch.cat([v[:1] + 1, v[1:]])),
        "values in another order": _reads(change=lambda v: v.flip(-2)),
        "columns in another order": _reads(change=lambda v: v.flip(-1)),
        "too small a change": _reads(change=lambda v: v + 1e-9),
        "a loose tolerance": _reads(same=lambda a, b: torch.allclose(a, b, atol=10)),
        "times 1": _reads(change=lambda v: v * 1.0),
        "shape": lambda a, q, k, v: a(q, k, v).shape[-1] == v.shape[-1],
        "always True": lambda a, q, k, v: True,
        "always False": lambda a, q, k, v: False,
        "compared with the values": lambda a, q, k, v: bool((a(q, k, v) == v).any()),
        "damages the values": reads_in_place,
        "a tensor": lambda a, q, k, v: ~torch.isclose(a(q, k, v), a(q, k, v + 1)),
        "the difference": lambda a, q, k, v: float((a(q, k, v) - a(q, k, v + 1)).abs().sum()),
    },
    "batch_independent": {
        "turned round": lambda a, *x: not alone_loop(a, *x),
        "first sample only": _alone(which=lambda n: range(1)),
        "last sample only": _alone(which=lambda n: [n - 1]),
        "last sample left out": _alone(which=lambda n: range(n - 1)),
        "first sample left out": _alone(which=lambda n: range(1, n)),
        "every second": _alone(which=lambda n: range(0, n, 2)),
        "shuffled batch": shuffled,
        "rolled batch": rolled,
        "first half": halves,
        "last sample dropped": last_dropped,
        "batch doubled": doubled_batch,
        "values of others changed": other_values_changed,
        "alone in queries only": lambda a, q, k, v: all(
            torch.allclose(a(q[i : i + 1], k, v), a(q, k, v)[i : i + 1], atol=1e-5)
            for i in range(1)
        ),
        "any for all": lambda a, *x: any(
            torch.allclose(a(*(y[i : i + 1] for y in x)), a(*x)[i : i + 1], atol=1e-5)
            for i in range(len(x[0]))
        ),
        "first numbers only": _alone(
            same=lambda a, b: torch.allclose(a[..., 0, 0], b[..., 0, 0], atol=1e-5)
        ),
        "first query only": _alone(same=lambda a, b: torch.allclose(a[:, 0], b[:, 0], atol=1e-5)),
        "shapes": _alone(same=lambda a, b: a.shape == b.shape),
        "a loose tolerance": _alone(same=lambda a, b: torch.allclose(a, b, atol=1.0)),
        "mean": _alone(same=lambda a, b: torch.allclose(a.mean(), b.mean(), atol=1e-2)),
        "exactly equal": _alone(same=lambda a, b: bool((a - b).abs().max() < 1e-12)),
        "equal samples": lambda a, *x: torch.allclose(a(*x)[0], a(*x)[-1]),
        "same call twice": lambda a, *x: torch.allclose(a(*x), a(*x)),
        "batch of the same sample": lambda a, *x: torch.allclose(
            a(*(y[:1].expand_as(y) for y in x))[:1], a(*(y[:1] for y in x)), atol=1e-5
        ),
        "axis of the queries": lambda a, q, k, v: torch.allclose(
            a(q[:, :1], k, v), a(q, k, v)[:, :1], atol=1e-5
        ),
        "compares every sample with sample 0": lambda a, *x: all(
            torch.allclose(a(*(y[:1] for y in x)), o[None], atol=1e-5) for o in a(*x)
        ),
        "always True": lambda a, *x: True,
        "always False": lambda a, *x: False,
        "two at a time": lambda a, *x: all(
            torch.allclose(a(*(y[i : i + 2] for y in x)), a(*x)[i : i + 2], atol=1e-5)
            for i in range(0, len(x[0]), 2)
        ),
    },
    "induction_weights": {
        "key 0 not closed": _induction(lambda t: t[:, None] == t.roll(1)),
        "not causal": _induction(causal=lambda n: torch.ones(n, n, dtype=torch.bool)),
        "own key closed": _induction(causal=lambda n: torch.ones(n, n).tril(-1).bool()),
        "same token, no shift": _induction(lambda t: t[:, None] == t),
        "same token, key 0 closed": _induction(lambda t: _closed(t[:, None] == t)),
        "token after instead": _induction(lambda t: _closed(t[:, None] == t.roll(-1))),
        "shift of two": _induction(lambda t: _closed(t[:, None] == t.roll(2))),
        "query shifted": _induction(lambda t: _closed(t.roll(1)[:, None] == t)),
        "both shifted": _induction(lambda t: _closed(t.roll(1)[:, None] == t.roll(1))),
        "transposed": lambda t: induction_loop(t).T,
        "not shared": lambda t: (induction_loop(t) > 0).float(),
        "booleans": lambda t: induction_loop(t) > 0,
        "softmax of the booleans": lambda t: (induction_loop(t) > 0).float().softmax(-1),
        "NaN in empty rows": lambda t: torch.where(induction_loop(t) > 0, 0.0, -torch.inf).softmax(
            -1
        ),
        "empty rows shared": lambda t: torch.where(induction_loop(t) > 0, 0.0, -1e9).softmax(-1),
        "empty rows on themselves": lambda t: (
            induction_loop(t) + torch.diag((induction_loop(t).sum(-1) == 0).float())
        ),
        "empty rows on key 0": lambda t: torch.cat(
            [
                induction_loop(t)[:, :1] + (induction_loop(t).sum(-1, keepdim=True) == 0).float(),
                induction_loop(t)[:, 1:],
            ],
            -1,
        ),
        "only the last match": lambda t: torch.stack(
            [
                torch.zeros(len(t))
                if not row.any()
                else torch.nn.functional.one_hot(row.nonzero()[-1, 0], len(t)).float()
                for row in induction_loop(t) > 0
            ]
        ),
        "only the first match": lambda t: (
            torch.nn.functional.one_hot((induction_loop(t) > 0).int().argmax(-1), len(t)).float()
            * induction_loop(t).sum(-1, keepdim=True)
        ),
        "divided by the past": lambda t: (
            (induction_loop(t) > 0).float() / torch.arange(1, len(t) + 1)[:, None]
        ),
        "divided by the length": lambda t: (induction_loop(t) > 0).float() / len(t),
        "divided by the columns": lambda t: torch.nan_to_num(
            (induction_loop(t) > 0).float() / (induction_loop(t) > 0).sum(0)
        ),
        "different tokens": _induction(lambda t: _closed(t[:, None] != t.roll(1))),
        "predecessor of the query": _induction(
            lambda t: _closed(t.roll(1)[:, None] == t.roll(1)),
        ),
        "row 0 closed": _induction(
            lambda t: (t[:, None] == t.roll(1)) & (torch.arange(len(t)) > 0)[:, None]
        ),
        "one place back": lambda t: torch.cat(
            [induction_loop(t)[:, 1:], torch.zeros(len(t), 1)], -1
        ),
        "the text as shown": lambda t: induction_loop(torch.tensor([0, 1, 2, 3, 4, 0, 1, 2, 3, 4])),
        "tokens 0 to 9": lambda t: (
            lambda h: torch.nn.functional.normalize(
                (h @ (torch.diag(torch.ones(len(t) - 1), -1) @ h).T).tril(), p=1, dim=-1
            )
        )(torch.nn.functional.one_hot(t.clamp(max=9), 10).float()),
        "neighbours count as equal": _induction(
            lambda t: _closed((t[:, None] - t.roll(1)).abs() <= 1)
        ),
    },
    "row_sum": {
        "1": 1.0,
        "0.35": 0.35,
        "added": 1.35,
        "0": 0.0,
        "divided": 1 / 0.65,
        "half": 0.325,
        "1 − 0.35²": 1 - 0.35**2,
        "negative": -0.35,
    },
}
