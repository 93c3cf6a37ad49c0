"""Answers to the exercises of `one-head`."""

import math

import numpy as np
import torch
from torch.nn import functional as F


def _project(x, W_q, W_k, W_v):
    return x @ W_q, x @ W_k, x @ W_v


def head_loop(x, W_q, W_k, W_v, mask):
    mask = mask.expand(x.shape[0], x.shape[1], x.shape[1])
    q, k, v = _project(x, W_q, W_k, W_v)
    rows = []
    for b in range(len(x)):
        for i in range(x.shape[1]):
            seen = mask[b, i]
            w = torch.softmax(k[b][seen] @ q[b, i] / k.shape[-1] ** 0.5, 0)
            rows.append(w @ v[b][seen])
    return torch.stack(rows).view(*x.shape[:2], -1)


def head_einsum(x, W_q, W_k, W_v, mask):
    q, k, v = (torch.einsum("bnm,md->bnd", x, W) for W in (W_q, W_k, W_v))
    s = torch.einsum("bid,bjd->bij", q, k) / math.sqrt(k.shape[-1])
    w = torch.where(mask, s, -torch.inf).softmax(-1)
    return torch.einsum("bij,bjd->bid", w, v)


def head_functional(x, W_q, W_k, W_v, mask):
    return F.scaled_dot_product_attention(*_project(x, W_q, W_k, W_v), attn_mask=mask)


def head_additive(x, W_q, W_k, W_v, mask):
    q, k, v = _project(x, W_q, W_k, W_v)
    bias = torch.zeros(mask.shape, dtype=x.dtype).masked_fill(~mask, float("-inf"))
    return torch.softmax(q @ k.mT * k.shape[-1] ** -0.5 + bias, -1) @ v


def head_exponentials(x, W_q, W_k, W_v, mask):
    q, k, v = _project(x, W_q, W_k, W_v)
    s = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
    e = (s - s.amax(-1, keepdim=True)).exp()
    return e @ v / e.sum(-1, keepdim=True)


def _head(
    scale=lambda k, x: k.shape[-1] ** 0.5,
    hide=lambda s, m: s.masked_fill(~m, -torch.inf),
    soft=lambda s, m: s.softmax(-1),
    finish=lambda w, v: w @ v,
):
    def head(x, W_q, W_k, W_v, mask):
        q, k, v = _project(x, W_q, W_k, W_v)
        return finish(soft(hide(q @ k.mT / scale(k, x), mask), mask), v)

    return head


def swapped(x, W_q, W_k, W_v, mask):
    return head_functional(x, W_k, W_q, W_v, mask)


def bare_exponentials(x, W_q, W_k, W_v, mask):
    q, k, v = _project(x, W_q, W_k, W_v)
    e = (q @ k.mT / k.shape[-1] ** 0.5).exp() * mask
    return e @ v / e.sum(-1, keepdim=True)


def damages_tokens(x, W_q, W_k, W_v, mask):
    q, k, v = _project(x, W_q, W_k, W_v)
    x.zero_()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def cross_lists(target_ids, source_ids):
    return torch.tensor(
        [[[t != 0 for t in row] for _ in range(target_ids.shape[1])] for row in source_ids.tolist()]
    )


def cross_loop(target_ids, source_ids):
    out = torch.zeros(*target_ids.shape, source_ids.shape[1], dtype=torch.bool)
    for i in range(target_ids.shape[1]):
        out[:, i] = source_ids.bool()
    return out


RIGHT = {
    "exchanged_twice": {
        "float": math.exp(0) / (math.exp(0) + math.exp(2**-0.5)),
        "numpy": 1 / (1 + np.exp(2**-0.5)),
        "0-d tensor": torch.tensor([2**-0.5, 0.0]).softmax(0)[1],
        "rounded": 0.33,
    },
    "masked_cells": {
        "int": 8,
        "float": 8.0,
        "numpy": np.int32(8),
        "0-d tensor": torch.tensor(8),
    },
    "head": {
        "masked after softmax and divided": _head(
            hide=lambda s, m: s,
            soft=lambda s, m: s.softmax(-1) * m / (s.softmax(-1) * m).sum(-1, keepdim=True),
        ),
        "filled with −1e9": _head(hide=lambda s, m: s.masked_fill(~m, -1e9)),
        "loops": head_loop,
        "einsum": head_einsum,
        "torch.nn.functional": head_functional,
        "an added bias": head_additive,
        "exponentials less the row's maximum": head_exponentials,
    },
    "cross_mask": {
        "lists": cross_lists,
        "loop": cross_loop,
        "repeat": lambda t, s: (s != 0)[:, None, :].repeat(1, t.shape[1], 1),
        "or with the target": lambda t, s: (
            s.ne(0).unsqueeze(1) | torch.zeros_like(t).bool().unsqueeze(2)
        ),
        "einsum": lambda t, s: torch.einsum("bq,bk->bqk", torch.ones_like(t), (s != 0).to(t)) > 0,
    },
}

WRONG = {
    "self_or_cross": {"a": "a", "c": "c", "d": "d"},
    "exchanged_twice": {
        "without matrices, itself": 1 / (1 + math.exp(-(2**-0.5))),
        "unscaled": 1 / (1 + math.e),
        "unscaled, itself": math.e / (1 + math.e),
        "divided by 2": 1 / (1 + math.exp(0.5)),
        "equal": 0.5,
        "all": 1.0,
        "nothing": 0.0,
        "exponential only": math.exp(-(2**-0.5)),
    },
    "masked_cells": {
        "rows, too": 4 * 7 - 3 * 5,
        "rows only": 7,
        "rows plus columns, corner twice": 7 + 8,
        "cells that are left": 20,
        "columns only": 2,
        "padded × padded": 2 * 1,
        "of three queries": 6,
        "all": 28,
        "square": 14,
    },
    "head": {
        "no scale": _head(scale=lambda k, x: 1),
        "÷d for ÷√d": _head(scale=lambda k, x: k.shape[-1]),
        "times √d": _head(scale=lambda k, x: k.shape[-1] ** -0.5),
        "root of the tokens' width": _head(scale=lambda k, x: x.shape[-1] ** 0.5),
        "root of the length": _head(scale=lambda k, x: x.shape[1] ** 0.5),
        "mask inverted": _head(hide=lambda s, m: s.masked_fill(m, -torch.inf)),
        "no mask": _head(hide=lambda s, m: s),
        "masked after softmax": _head(hide=lambda s, m: s, soft=lambda s, m: s.softmax(-1) * m),
        "filled with 0": _head(hide=lambda s, m: s.masked_fill(~m, 0.0)),
        "filled with −10": _head(hide=lambda s, m: s.masked_fill(~m, -10.0)),
        "mask added": _head(hide=lambda s, m: s + m),
        "mask multiplied": _head(hide=lambda s, m: s * m),
        "softmax over the queries": _head(soft=lambda s, m: s.softmax(-2).nan_to_num(0)),
        "softmax over the batch": _head(soft=lambda s, m: s.softmax(0).nan_to_num(0)),
        "mask transposed": _head(hide=lambda s, m: s.masked_fill(~m.mT, -torch.inf)),
        "returns the weights": _head(finish=lambda w, v: w),
        "output and weights": _head(finish=lambda w, v: (w @ v, w)),
        "values not projected": lambda x, W_q, W_k, W_v, m: _head(finish=lambda w, v: w @ x)(
            x, W_q, W_k, W_v, m
        ),
        "keys for values": lambda x, W_q, W_k, W_v, m: head_functional(x, W_q, W_k, W_k, m),
        "queries and keys exchanged": swapped,
        "queries for keys": lambda x, W_q, W_k, W_v, m: head_functional(x, W_q, W_q, W_v, m),
        "matrices transposed": lambda x, W_q, W_k, W_v, m: head_functional(
            x, W_q.T, W_k.T, W_v.T, m
        ),
        "scaled after the mask and softmax": lambda x, W_q, W_k, W_v, m: _head(
            scale=lambda k, x: 1, finish=lambda w, v: w @ v / v.shape[-1] ** 0.5
        )(x, W_q, W_k, W_v, m),
        "bare exponentials": bare_exponentials,
        "no softmax": _head(soft=lambda s, m: s.masked_fill(~m, 0.0)),
        "weights transposed": _head(finish=lambda w, v: w.mT @ v),
        "damages the tokens": damages_tokens,
        "first sentence's mask": lambda x, W_q, W_k, W_v, m: head_functional(
            x, W_q, W_k, W_v, m[:1]
        ),
        "hides the padded queries, too": _head(
            hide=lambda s, m: s.masked_fill(~(m & m.mT), -torch.inf),
            soft=lambda s, m: s.softmax(-1).nan_to_num(0),
        ),
    },
    "cross_mask": {
        "target's padding for the source's": lambda t, s: (t != 0)[..., None].expand(
            -1, -1, s.shape[1]
        ),
        "both paddings": lambda t, s: (t != 0)[..., None] & (s != 0)[:, None],
        "either padding": lambda t, s: (t != 0)[..., None] | (s != 0)[:, None],
        "inverted": lambda t, s: (s == 0)[:, None].expand(-1, t.shape[1], -1),
        "no axis for the queries": lambda t, s: s != 0,
        "not expanded": lambda t, s: (s != 0)[:, None],
        "transposed": lambda t, s: (s != 0)[..., None].expand(-1, -1, t.shape[1]),
        "source by source": lambda t, s: (s != 0)[:, None].expand(-1, s.shape[1], -1),
        "target by target": lambda t, s: (t != 0)[:, None].expand(-1, t.shape[1], -1),
        "equal ids": lambda t, s: t[..., None] == s[:, None],
        "floats": lambda t, s: (s != 0).float()[:, None].expand(-1, t.shape[1], -1),
        "integers": lambda t, s: (s != 0).long()[:, None].expand(-1, t.shape[1], -1),
        "the ids themselves": lambda t, s: s[:, None].expand(-1, t.shape[1], -1),
        "causal as well": lambda t, s: (s != 0)[:, None].expand(-1, t.shape[1], -1).tril(),
        "positive ids only": lambda t, s: (s > 1)[:, None].expand(-1, t.shape[1], -1),
        "padding only at the end": lambda t, s: (
            torch.arange(s.shape[1]) < (s != 0).sum(-1)[:, None]
        )[:, None].expand(-1, t.shape[1], -1),
        "first sentence for all": lambda t, s: (s[:1] != 0)[:, None].expand(*t.shape, -1),
        "axis of heads": lambda t, s: (s != 0)[:, None, None].expand(-1, 1, t.shape[1], -1),
        "everything": lambda t, s: torch.ones(*t.shape, s.shape[1], dtype=torch.bool),
        "−∞ and 0": lambda t, s: torch.zeros(*t.shape, s.shape[1]).masked_fill(
            (s == 0)[:, None], -torch.inf
        ),
        "id 1 for padding": lambda t, s: (s != 1)[:, None].expand(-1, t.shape[1], -1),
        "batch and queries exchanged": lambda t, s: (s != 0)[None].expand(t.shape[1], -1, -1),
        "padded queries see everything": lambda t, s: (s != 0)[:, None] | (t == 0)[..., None],
    },
}
