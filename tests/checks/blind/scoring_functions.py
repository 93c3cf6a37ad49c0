"""Answers to the exercises of `scoring-functions`."""

import math

import numpy as np
import torch
from torch.nn import functional as F


def pair_by_pair(queries, keys):
    out = queries.new_empty(*queries.shape[:-1], keys.shape[-2])
    for b in range(queries.shape[0]):
        for i in range(queries.shape[1]):
            for j in range(keys.shape[1]):
                total = sum(x * y for x, y in zip(queries[b, i], keys[b, j], strict=True))
                out[b, i, j] = total / math.sqrt(queries.shape[-1])
    return out


def in_place_scale(queries, keys):
    queries.div_(queries.shape[-1] ** 0.5)
    return queries @ keys.mT


def through_numpy(queries, keys):
    s = queries.detach().numpy() @ keys.detach().numpy().transpose(0, 2, 1)
    return torch.from_numpy(s / math.sqrt(queries.shape[-1])).to(queries.dtype)


def expanded(queries, keys):
    q2 = queries.square().sum(-1, keepdim=True)
    k2 = keys.square().sum(-1, keepdim=True)
    return -(q2 + k2.mT - 2 * torch.matmul(queries, keys.mT)) / 2


def longer_vectors(queries, keys):
    k2 = keys.square().sum(-1, keepdim=True)
    q = torch.cat([queries, torch.ones_like(queries[..., :1])], -1)
    return q @ torch.cat([keys, -k2 / 2], -1).mT


def centred_keys(queries, keys):
    middle = keys.mean(-2, keepdim=True)
    return (queries - middle) @ (keys - middle).mT - (keys - middle).square().sum(-1)[
        ..., None, :
    ] / 2


def difference_tensor(queries, keys):
    return -(queries.unsqueeze(-2) - keys.unsqueeze(-3)).square().sum(-1) / 2


def loop_of_differences(queries, keys):
    columns = [
        -(queries - keys[..., j : j + 1, :]).square().sum(-1) / 2 for j in range(keys.shape[-2])
    ]
    return torch.stack(columns, -1)


def key_lengths_as_column(queries, keys):
    return queries @ keys.mT - keys.square().sum(-1, keepdim=True) / 2


def damages_keys(queries, keys):
    s = queries @ keys.mT
    keys.square_()
    return s - keys.sum(-1).unsqueeze(-2) / 2


def by_query(queries, keys, W_q, W_k, w_v):
    hk = keys @ W_k.T
    rows = [torch.tanh(q @ W_q.T + hk) @ w_v for q in queries.unbind(1) for q in [q.unsqueeze(1)]]
    return torch.stack(rows, dim=1)


def by_key(queries, keys, W_q, W_k, w_v):
    hq = F.linear(queries, W_q)
    return torch.cat(
        [
            (torch.tanh(hq + F.linear(keys[:, j], W_k)[:, None]) @ w_v)[..., None]
            for j in range(keys.shape[1])
        ],
        dim=-1,
    )


def by_unit_einsum(queries, keys, W_q, W_k, w_v):
    out = torch.zeros(queries.shape[0], queries.shape[1], keys.shape[1], dtype=queries.dtype)
    for u in range(len(w_v)):
        a = torch.einsum("bqd,d->bq", queries, W_q[u])
        c = torch.einsum("bkd,d->bk", keys, W_k[u])
        out += w_v[u] * torch.tanh(a[:, :, None] + c[:, None, :])
    return out


def by_sequence_and_query(queries, keys, W_q, W_k, w_v):
    out = []
    for q, k in zip(queries, keys, strict=True):
        hk = k @ W_k.mT
        out.append(torch.stack([torch.tanh(W_q @ x + hk).matmul(w_v) for x in q]))
    return torch.stack(out)


def one_tensor(queries, keys, W_q, W_k, w_v):
    return torch.tanh((queries @ W_q.T)[:, :, None] + (keys @ W_k.T)[:, None]) @ w_v


def one_tensor_by_einsum(queries, keys, W_q, W_k, w_v):
    pair = torch.tanh((queries @ W_q.T).unsqueeze(2) + (keys @ W_k.T).unsqueeze(1))
    return torch.einsum("bqkh,h->bqk", pair, w_v)


def loop_then_stack(queries, keys, W_q, W_k, w_v):
    hq, hk = queries @ W_q.T, keys @ W_k.T
    units = [torch.tanh(hq[..., u, None] + hk[..., None, :, u]) for u in range(len(w_v))]
    return torch.stack(units, -1) @ w_v


def numpy_units(queries, keys, W_q, W_k, w_v):
    hq, hk = (queries @ W_q.T).detach().numpy(), (keys @ W_k.T).detach().numpy()
    pair = np.tanh(hq[:, :, None] + hk[:, None])
    return torch.from_numpy(pair @ w_v.detach().numpy())


def _units(nonlinearity=torch.tanh, weight=lambda w, u: w[u], units=range, outside=False):
    def scores(queries, keys, W_q, W_k, w_v):
        hq, hk = queries @ W_q.T, keys @ W_k.T
        total = 0.0
        for u in units(len(w_v)):
            pair = hq[..., u].unsqueeze(-1) + hk[..., u].unsqueeze(-2)
            inner = pair if outside else nonlinearity(pair)
            total = total + weight(w_v, u) * inner
        return nonlinearity(total) if outside else total

    return scores


def tanh_of_each(queries, keys, W_q, W_k, w_v):
    hq, hk = torch.tanh(queries @ W_q.T), torch.tanh(keys @ W_k.T)
    return (hq @ w_v)[..., None] + (hk @ w_v)[..., None, :]


def product_of_hidden(queries, keys, W_q, W_k, w_v):
    return torch.tanh(queries @ W_q.T) * w_v @ torch.tanh(keys @ W_k.T).mT


def transposed_table(queries, keys, W_q, W_k, w_v):
    return _units()(keys, queries, W_k, W_q, w_v)


def matrices_exchanged(queries, keys, W_q, W_k, w_v):
    return _units()(queries, keys, W_k, W_q, w_v)


def not_transposed(queries, keys, W_q, W_k, w_v):
    return _units()(queries, keys, W_q.T, W_k.T, w_v)


def one_batch(queries, keys, W_q, W_k, w_v):
    first = _units()(queries[:1], keys[:1], W_q, W_k, w_v)
    return first.expand(queries.shape[0], -1, -1)


def half_at_once(queries, keys, W_q, W_k, w_v):
    halves = [one_tensor(part, keys, W_q, W_k, w_v) for part in queries.chunk(2, dim=1)]
    return torch.cat(halves, 1)


def overwrites(queries, keys, W_q, W_k, w_v):
    hq, hk = queries @ W_q.T, keys @ W_k.T
    for u in range(len(w_v)):
        total = w_v[u] * torch.tanh(hq[..., u, None] + hk[..., None, :, u])
    return total


RIGHT = {
    "scaled_scores": {
        "loops": pair_by_pair,
        "einsum": lambda q, k: torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.size(-1)),
        "bmm of scaled queries": lambda q, k: torch.bmm(q * q.shape[-1] ** -0.5, k.transpose(1, 2)),
        "fourth roots on both": lambda q, k: (
            (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).mT
        ),
        "elementwise product and sum": lambda q, k: (
            (q[:, :, None] * k[:, None]).sum(-1) / q.shape[-1] ** 0.5
        ),
        "baddbmm": lambda q, k: torch.baddbmm(
            q.new_zeros(1), q, k.mT, beta=0, alpha=q.shape[2] ** -0.5
        ),
    },
    "crossing_of_the_circle": {
        "float": 2 + 5**0.5,
        "read from the figure": 4.25,
        "numpy": 2 + np.sqrt(5),
        "0-d tensor": 2 + torch.tensor(5.0).sqrt(),
    },
    "gaussian_by_product": {
        "cdist": lambda q, k: -torch.cdist(q, k).square() / 2,
        "both squares kept": expanded,
        "vectors one number longer": longer_vectors,
        "keys taken from their mean": centred_keys,
        "einsum": lambda q, k: (
            torch.einsum("...qd,...kd->...qk", q, k)
            - torch.einsum("...kd,...kd->...k", k, k).unsqueeze(-2) / 2
        ),
        "norm squared": lambda q, k: q @ k.mT - 0.5 * k.norm(dim=-1)[..., None, :] ** 2,
        "half a key taken from the query": lambda q, k: (
            torch.matmul(q, k.transpose(-1, -2))
            - (k @ k.mT).diagonal(dim1=-2, dim2=-1)[..., None, :] / 2
        ),
    },
    "frugal_additive_scores": {
        "detached": lambda q, k, W_q, W_k, w_v: _units()(
            q.detach(), k.detach(), W_q.detach(), W_k.detach(), w_v.detach()
        ),
        "by query": by_query,
        "by key": by_key,
        "by unit, einsum": by_unit_einsum,
        "by sequence and query": by_sequence_and_query,
        "by unit, slices": _units(),
    },
}

WRONG = {
    "scaled_scores": {
        "forgets the scale": lambda q, k: q @ k.mT,
        "÷d for ÷√d": lambda q, k: q @ k.mT / q.shape[-1],
        "times √d": lambda q, k: q @ k.mT * q.shape[-1] ** 0.5,
        "root of the number of queries": lambda q, k: q @ k.mT / q.shape[-2] ** 0.5,
        "root of the number of keys": lambda q, k: q @ k.mT / k.shape[-2] ** 0.5,
        "root of the batch": lambda q, k: q @ k.mT / q.shape[0] ** 0.5,
        "root of the number of all entries": lambda q, k: q @ k.mT / q.numel() ** 0.5,
        "a width of 64": lambda q, k: q @ k.mT / 8,
        "half the width, right at 4": lambda q, k: q @ k.mT / (q.shape[-1] / 2),
        "root rounded down": lambda q, k: q @ k.mT / max(1, int(q.shape[-1] ** 0.5)),
        "both scaled by the root": lambda q, k: (
            (q / q.shape[-1] ** 0.5) @ (k / q.shape[-1] ** 0.5).mT
        ),
        "transposed table": lambda q, k: k @ q.mT / q.shape[-1] ** 0.5,
        "softmax taken as well": lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1),
        "cosines": lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT,
        "damages the queries": in_place_scale,
        "reshape for a transpose": lambda q, k: (
            q @ k.reshape(k.shape[0], k.shape[2], k.shape[1]) / q.shape[-1] ** 0.5
        ),
        "keys of the first sequence": lambda q, k: q @ k[0].T / q.shape[-1] ** 0.5,
        "elementwise product": lambda q, k: q * k / q.shape[-1] ** 0.5,
        "summed over the queries": lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).sum(1),
        "distance": lambda q, k: -torch.cdist(q, k) / q.shape[-1] ** 0.5,
        "negative": lambda q, k: -q @ k.mT / q.shape[-1] ** 0.5,
        "mean over the coordinates": lambda q, k: (q[:, :, None] * k[:, None]).mean(-1),
        "query with itself": lambda q, k: q @ q.mT / q.shape[-1] ** 0.5,
        "root of d + 1": lambda q, k: q @ k.mT / (q.shape[-1] + 1) ** 0.5,
        "standardised": lambda q, k: q @ k.mT / (q @ k.mT).std(),
    },
    "crossing_of_the_circle": {
        "radius without the centre": 5**0.5,
        "√3 for √5": 2 + 3**0.5,
        "sum of the steps": 5.0,
        "the other side": 2 - 5**0.5,
        "first coordinate of long": 3.0,
        "square of the radius": 7.0,
        "length of the query twice": 4.0,
        "√(2² + 5)": 3.0,
    },
    "gaussian_by_product": {
        "plain dot product": lambda q, k: q @ k.mT,
        "lengths not halved": lambda q, k: q @ k.mT - k.square().sum(-1).unsqueeze(-2),
        "lengths added": lambda q, k: q @ k.mT + k.square().sum(-1).unsqueeze(-2) / 2,
        "queries' lengths for the keys'": lambda q, k: (
            q @ k.mT - q.square().sum(-1).unsqueeze(-1) / 2
        ),
        "lengths not squared": lambda q, k: q @ k.mT - k.norm(dim=-1).unsqueeze(-2) / 2,
        "lengths along the queries": key_lengths_as_column,
        "product not doubled": lambda q, k: (
            -(q.square().sum(-1, keepdim=True) + k.square().sum(-1).unsqueeze(-2) - q @ k.mT) / 2
        ),
        "half of the product, too": lambda q, k: (q @ k.mT - k.square().sum(-1).unsqueeze(-2)) / 2,
        "mean for the sum": lambda q, k: q @ k.mT - k.square().mean(-1).unsqueeze(-2) / 2,
        "a tensor of differences": difference_tensor,
        "a loop of differences": loop_of_differences,
        "distance not squared": lambda q, k: -torch.cdist(q, k) / 2,
        "scaled by √d": lambda q, k: (
            (q @ k.mT - k.square().sum(-1).unsqueeze(-2) / 2) / q.shape[-1] ** 0.5
        ),
        "minus sign": lambda q, k: k.square().sum(-1).unsqueeze(-2) / 2 - q @ k.mT,
        "normalised vectors": lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT,
        "only keys normalised": lambda q, k: q @ F.normalize(k, dim=-1).mT,
        "returns the weights": lambda q, k: (
            q @ k.mT - k.square().sum(-1).unsqueeze(-2) / 2
        ).softmax(-1),
        "lengths of all keys together": lambda q, k: q @ k.mT - k.square().sum() / 2,
        "summed over the keys": lambda q, k: q @ k.mT - k.square().sum(-2).sum(-1)[..., None, None],
        "damages the keys": damages_keys,
        "unsqueeze at the front": lambda q, k: q @ k.mT - k.square().sum(-1).unsqueeze(0) / 2,
        "exponential of the scores": lambda q, k: (
            q @ k.mT - k.square().sum(-1).unsqueeze(-2) / 2
        ).exp(),
    },
    "choice_of_score": {"a": "a", "c": "c", "d": "d"},
    "frugal_additive_scores": {
        "one tensor": one_tensor,
        "one tensor by einsum": one_tensor_by_einsum,
        "a loop that keeps all units": loop_then_stack,
        "NumPy": numpy_units,
        "queries in two halves": half_at_once,
        "no tanh": _units(nonlinearity=lambda x: x),
        "sigmoid": _units(nonlinearity=torch.sigmoid),
        "relu": _units(nonlinearity=torch.relu),
        "tanh of the whole sum": _units(outside=True),
        "forgets w_v": _units(weight=lambda w, u: 1.0),
        "first unit left out": _units(units=lambda n: range(1, n)),
        "last unit left out": _units(units=lambda n: range(n - 1)),
        "only the last unit": overwrites,
        "mean over the units": _units(weight=lambda w, u: w[u] / len(w)),
        "scaled by the root": _units(weight=lambda w, u: w[u] / len(w) ** 0.5),
        "tanh before the sum": tanh_of_each,
        "product of the hidden vectors": product_of_hidden,
        "queries and keys exchanged": transposed_table,
        "matrices exchanged": matrices_exchanged,
        "matrices not transposed": not_transposed,
        "first sequence for all": one_batch,
        "difference for the sum": lambda q, k, W_q, W_k, w_v: _units()(q, -k, W_q, W_k, w_v),
        "absolute weights": _units(weight=lambda w, u: w[u].abs()),
        "softmax at the end": lambda *x: _units()(*x).softmax(-1),
    },
}
