"""Answers to the exercises of `head-layouts`."""

import numpy as np
import torch
from torch.nn import functional as F


def lengths_list(valid_lens, num_heads):
    return torch.tensor([n for n in valid_lens.tolist() for _ in range(num_heads)])


def cut_loop(projected, num_heads):
    d = projected.shape[-1] // (3 * num_heads)
    parts = []
    for part in range(3):
        heads = []
        for h in range(num_heads):
            start = h * 3 * d + part * d
            heads.append(projected[..., start : start + d])
        parts.append(torch.stack(heads, 1))
    return tuple(parts)


def cut_unflatten(projected, num_heads):
    x = projected.unflatten(-1, (num_heads, 3, -1))
    return [x[..., i, :].transpose(1, 2) for i in range(3)]


def cut_einsum(projected, num_heads):
    b, n, _ = projected.shape
    x = torch.einsum("bnhcd->cbhnd", projected.reshape(b, n, num_heads, 3, -1))
    return x[0], x[1], x[2]


def cut_split(projected, num_heads):
    per_head = torch.stack(projected.chunk(num_heads, dim=-1), dim=1)
    return per_head.split(per_head.shape[-1] // 3, dim=-1)


def _cut(shape, permute, pick=lambda x: tuple(x)):
    def cut(projected, num_heads):
        return pick(projected.unflatten(-1, shape(num_heads)).permute(*permute))

    return cut


def groups_repeated(queries, keys, values):
    n = queries.shape[1] // keys.shape[1]
    k, v = keys.repeat_interleave(n, 1), values.repeat_interleave(n, 1)
    return F.scaled_dot_product_attention(queries, k, v)


def groups_loop(queries, keys, values):
    n = queries.shape[1] // keys.shape[1]
    out = []
    for h in range(queries.shape[1]):
        k, v = keys[:, h // n], values[:, h // n]
        w = (queries[:, h] @ k.mT / queries.shape[-1] ** 0.5).softmax(-1)
        out.append(w @ v)
    return torch.stack(out, 1)


def groups_einsum(queries, keys, values):
    b, _, n, d = queries.shape
    q = queries.reshape(b, keys.shape[1], -1, n, d)
    w = torch.einsum("bgrid,bgjd->bgrij", q, keys).div(d**0.5).softmax(-1)
    return torch.einsum("bgrij,bgjv->bgriv", w, values).flatten(1, 2)


def groups_functional(queries, keys, values):
    return F.scaled_dot_product_attention(queries, keys, values, enable_gqa=True)


def groups_by_queries(queries, keys, values):
    q = queries.unflatten(1, (keys.shape[1], -1)).flatten(2, 3)
    w = (q @ keys.mT * q.shape[-1] ** -0.5).softmax(-1)
    return (w @ values).unflatten(2, (-1, queries.shape[2])).flatten(1, 2)


def _grouped(k_of=None, v_of=None, scale=lambda q, k: q.shape[-1] ** 0.5, axis=-1):
    def spread(x, n):
        return x.repeat_interleave(n, 1)

    def attend(queries, keys, values):
        n = queries.shape[1] // keys.shape[1]
        k, v = (k_of or spread)(keys, n), (v_of or spread)(values, n)
        s = queries @ k.mT / scale(queries, keys)
        return (s.softmax(axis) if axis is not None else s) @ v

    return attend


def heads_in_turns(x, n):
    return x.repeat(1, n, 1, 1)


def mean_queries(queries, keys, values):
    q = queries.unflatten(1, (keys.shape[1], -1)).mean(2)
    return F.scaled_dot_product_attention(q, keys, values)


def damages_queries(queries, keys, values):
    queries /= queries.shape[-1] ** 0.5
    n = queries.shape[1] // keys.shape[1]
    w = (queries @ keys.repeat_interleave(n, 1).mT).softmax(-1)
    return w @ values.repeat_interleave(n, 1)


RIGHT = {
    "folded_lengths": {
        "repeat_interleave": lambda lens, h: lens.repeat_interleave(h),
        "lists": lengths_list,
        "repeat, transposed": lambda lens, h: lens.repeat(h, 1).T.flatten(),
        "index": lambda lens, h: lens[torch.arange(len(lens) * h) // h],
        "outer product": lambda lens, h: torch.outer(
            lens, torch.ones_like(lens[:1]).repeat(h)
        ).view(-1),
    },
    "cut_interleaved": {
        "loops": cut_loop,
        "unflatten": cut_unflatten,
        "einsum": cut_einsum,
        "chunk and split": cut_split,
    },
    "cache_size": {
        "int": 102400,
        "float": 102400.0,
        "numpy": np.int64(102400),
        "0-d tensor": torch.tensor(102400),
    },
    "grouped_parameters": {
        "int": 655360,
        "float": 655360.0,
        "numpy": np.int64(655360),
        "0-d tensor": torch.tensor(655360),
    },
    "grouped_attention": {
        "repeat_interleave": groups_repeated,
        "loop": groups_loop,
        "einsum": groups_einsum,
        "torch.nn.functional": groups_functional,
        "queries of a group in one row": groups_by_queries,
    },
}

WRONG = {
    "folded_lengths": {
        "repeat": lambda lens, h: lens.repeat(h),
        "not repeated": lambda lens, h: lens,
        "multiplied": lambda lens, h: lens * h,
        "two axes": lambda lens, h: lens[:, None].expand(-1, h),
        "heads first": lambda lens, h: lens.expand(h, -1).flatten(),
        "divided": lambda lens, h: lens.repeat_interleave(h) // h,
        "batch times": lambda lens, h: lens.repeat_interleave(len(lens)),
        "two heads": lambda lens, h: lens.repeat_interleave(2),
        "a column": lambda lens, h: lens.repeat_interleave(h)[:, None],
        "floats": lambda lens, h: lens.repeat_interleave(h).float(),
        "sorted": lambda lens, h: lens.repeat(h).sort().values,
        "longest for all": lambda lens, h: lens.max().repeat(len(lens) * h),
        "first for all": lambda lens, h: lens[0].repeat(len(lens) * h),
        "one too many": lambda lens, h: lens.repeat_interleave(h + 1),
        "one too few": lambda lens, h: lens.repeat_interleave(max(h - 1, 1)),
        "reversed": lambda lens, h: lens.flip(0).repeat_interleave(h),
        "counts up": lambda lens, h: torch.arange(len(lens) * h),
        "a mask": lambda lens, h: (
            torch.arange(int(lens.max())) < lens.repeat_interleave(h)[:, None]
        ),
        "a list": lambda lens, h: [int(n) for n in lens for _ in range(h)],
        "index modulo": lambda lens, h: lens[torch.arange(len(lens) * h) % len(lens)],
        "index modulo heads": lambda lens, h: lens[
            (torch.arange(len(lens) * h) % h).clamp(max=len(lens) - 1)
        ],
    },
    "cut_interleaved": {
        "thirds first": lambda p, h: tuple(
            x.unflatten(-1, (h, -1)).transpose(1, 2) for x in p.chunk(3, -1)
        ),
        "(3, heads) for (heads, 3)": _cut(lambda h: (3, h, -1), (2, 0, 3, 1, 4)),
        "coordinates before the parts": _cut(lambda h: (h, -1, 3), (4, 0, 2, 1, 3)),
        "heads last": _cut(lambda h: (-1, 3, h), (3, 0, 4, 1, 2)),
        "every third column": lambda p, h: tuple(
            p[..., i::3].unflatten(-1, (h, -1)).transpose(1, 2) for i in range(3)
        ),
        "positions before heads": lambda p, h: p.unflatten(-1, (h, -1)).chunk(3, -1),
        "plain reshape": lambda p, h: p.reshape(p.shape[0], h, p.shape[1], -1).chunk(3, -1),
        "keys first": lambda p, h: tuple(cut_loop(p, h)[i] for i in (1, 0, 2)),
        "values first": lambda p, h: cut_loop(p, h)[::-1],
        "keys and values exchanged": lambda p, h: tuple(cut_loop(p, h)[i] for i in (0, 2, 1)),
        "queries only": lambda p, h: cut_loop(p, h)[0],
        "one tensor": lambda p, h: torch.cat(cut_loop(p, h), -1),
        "stacked at the end": lambda p, h: torch.stack(cut_loop(p, h), -1),
        "first head for all": lambda p, h: tuple(
            x[:, :1].expand(-1, h, -1, -1) for x in cut_loop(p, h)
        ),
        "heads reversed": lambda p, h: tuple(x.flip(1) for x in cut_loop(p, h)),
        "heads joined": lambda p, h: tuple(x.transpose(1, 2).flatten(-2) for x in cut_loop(p, h)),
        "queries three times": lambda p, h: (cut_loop(p, h)[0],) * 3,
        "width of d_model": lambda p, h: p.chunk(3, -1),
        "thirds, heads by reshape": lambda p, h: tuple(
            x.reshape(x.shape[0], h, x.shape[1], -1) for x in p.chunk(3, -1)
        ),
        "two heads": lambda p, h: cut_loop(p, 2),
        "last axes exchanged": lambda p, h: tuple(x.mT for x in cut_loop(p, h)),
        "batch and heads exchanged": lambda p, h: tuple(x.transpose(0, 1) for x in cut_loop(p, h)),
        "interleaved the other way": lambda p, h: tuple(
            p[..., i * h :: 3 * h][..., None].expand(*p.shape[:2], -1, h).permute(0, 3, 1, 2)
            for i in range(3)
        ),
    },
    "cache_size": {
        "keys only": 100 * 512,
        "queries, too": 100 * 3 * 512,
        "one head": 100 * 2 * 64,
        "one token": 1024,
        "bytes": 100 * 1024 * 4,
        "two bytes": 100 * 1024 * 2,
        "heads of the full width": 100 * 2 * 8 * 512,
        "scores": 100 * 100 * 8,
        "weights": 2 * 512 * 512,
    },
    "grouped_parameters": {
        "all heads": 4 * 512**2,
        "only keys shared": 3 * 512**2 + 512 * 128,
        "without W_o": 512**2 + 2 * 512 * 128,
        "key heads of full width": 2 * 512**2 + 2 * 2 * 512**2,
        "one key head": 2 * 512**2 + 2 * 512 * 64,
        "quarter of all": 512**2,
        "keys once": 2 * 512**2 + 512 * 128,
        "W_o shrunk, too": 512**2 + 3 * 512 * 128,
        "with biases": 655360 + 512 + 512 + 256,
        "queries shrunk": 4 * 512 * 128,
    },
    "grouped_attention": {
        "turns, not blocks": _grouped(heads_in_turns, heads_in_turns),
        "keys in turns, values in blocks": _grouped(k_of=heads_in_turns),
        "values in turns, keys in blocks": _grouped(v_of=heads_in_turns),
        "first key head for all": _grouped(lambda x, n: x[:, :1], lambda x, n: x[:, :1]),
        "last key head for all": _grouped(lambda x, n: x[:, -1:], lambda x, n: x[:, -1:]),
        "mean of the key heads": _grouped(
            lambda x, n: x.mean(1, keepdim=True), lambda x, n: x.mean(1, keepdim=True)
        ),
        "no scale": _grouped(scale=lambda q, k: 1),
        "÷d for ÷√d": _grouped(scale=lambda q, k: q.shape[-1]),
        "root of the joined width": _grouped(scale=lambda q, k: (q.shape[-1] * q.shape[1]) ** 0.5),
        "root of the length": _grouped(scale=lambda q, k: k.shape[-2] ** 0.5),
        "softmax over the queries": _grouped(axis=-2),
        "softmax over the heads": _grouped(axis=1),
        "no softmax": _grouped(axis=None),
        "queries averaged": mean_queries,
        "key heads reversed": _grouped(
            lambda x, n: x.flip(1).repeat_interleave(n, 1),
            lambda x, n: x.flip(1).repeat_interleave(n, 1),
        ),
        "not repeated": lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        "groups of two": _grouped(
            lambda x, n: x.repeat_interleave(2, 1), lambda x, n: x.repeat_interleave(2, 1)
        ),
        "group axis kept": lambda q, k, v: groups_repeated(q, k, v).unflatten(1, (k.shape[1], -1)),
        "heads joined": lambda q, k, v: groups_repeated(q, k, v).transpose(1, 2).flatten(-2),
        "queries grouped in turns": lambda q, k, v: F.scaled_dot_product_attention(
            q.unflatten(1, (-1, k.shape[1])), k.unsqueeze(1), v.unsqueeze(1)
        ).flatten(1, 2),
        "grouped in turns, joined in blocks": lambda q, k, v: F.scaled_dot_product_attention(
            q.unflatten(1, (-1, k.shape[1])).transpose(1, 2), k.unsqueeze(2), v.unsqueeze(2)
        ).flatten(1, 2),
        "causal": lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True
        ),
        "damages the queries": damages_queries,
        "keys for values": lambda q, k, v: groups_repeated(q, k, k),
        "output and weights": lambda q, k, v: (groups_repeated(q, k, v), None),
        "spread along the keys": lambda q, k, v: F.scaled_dot_product_attention(
            q,
            k.flatten(1, 2)[:, None].expand(-1, q.shape[1], -1, -1),
            v.flatten(1, 2)[:, None].expand(-1, q.shape[1], -1, -1),
        ),
    },
}
