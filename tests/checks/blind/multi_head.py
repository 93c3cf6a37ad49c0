"""Answers to the exercises of `multi-head`."""

from fractions import Fraction

import numpy as np
import torch
from torch.nn import functional as F


def merge_cat(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1)


def merge_loop(x):
    batch, heads, length, d_k = x.shape
    out = x.new_zeros(batch, length, heads * d_k)
    for h in range(heads):
        out[..., h * d_k : (h + 1) * d_k] = x[:, h]
    return out


def pair_interleaved(x):
    return x.permute(0, 2, 3, 1).flatten(-2)


def share_padded(outputs, W_o, i):
    only = torch.zeros_like(outputs)
    only[:, i] = outputs[:, i]
    return only.transpose(1, 2).flatten(-2) @ W_o


def share_sum(outputs, W_o, i):
    d_v = outputs.shape[-1]
    return sum(outputs[:, i, :, c, None] * W_o[i * d_v + c] for c in range(d_v))


def merged_share_wrong(outputs, W_o, i):
    d_v = outputs.shape[-1]
    return outputs.transpose(1, 2).flatten(-2)[..., i :: outputs.shape[1]] @ W_o[i * d_v :][:d_v]


def share_damages(outputs, W_o, i):
    d_v = outputs.shape[-1]
    W_o[: i * d_v] = 0
    W_o[(i + 1) * d_v :] = 0
    return outputs.transpose(1, 2).flatten(-2) @ W_o


def heads_loop(X, W_q, W_k, W_v, W_o, num_heads):
    d = X.shape[-1] // num_heads
    out = 0
    for h in range(num_heads):
        c = slice(h * d, (h + 1) * d)
        q, k, v = X @ W_q[:, c], X @ W_k[:, c], X @ W_v[:, c]
        w = torch.softmax(q @ k.transpose(1, 2) / d**0.5, -1)
        out = out + w @ v @ W_o[c]
    return out


def heads_einsum(X, W_q, W_k, W_v, W_o, num_heads):
    split = [W.unflatten(-1, (num_heads, -1)) for W in (W_q, W_k, W_v)]
    q, k, v = (torch.einsum("bnm,mhd->bhnd", X, W) for W in split)
    w = torch.einsum("bhid,bhjd->bhij", q, k).div(q.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("bhij,bhjd,hdm->bim", w, v, W_o.unflatten(0, (num_heads, -1)))


def heads_functional(X, W_q, W_k, W_v, W_o, num_heads):
    b, n, m = X.shape
    q, k, v = ((X @ W).view(b, n, num_heads, -1).transpose(1, 2) for W in (W_q, W_k, W_v))
    z = F.scaled_dot_product_attention(q, k, v)
    return z.transpose(1, 2).reshape(b, n, m) @ W_o


def heads_folded(X, W_q, W_k, W_v, W_o, num_heads):
    cut = lambda W: torch.cat((X @ W).chunk(num_heads, dim=-1))  # noqa: E731
    q, k, v = cut(W_q), cut(W_k), cut(W_v)
    w = torch.bmm(q, k.mT).div_(q.shape[-1] ** 0.5).softmax(-1)
    return torch.cat(torch.bmm(w, v).chunk(num_heads), dim=-1) @ W_o


def _heads(
    scale=lambda q, X, n: q.shape[-1] ** 0.5,
    axis=-1,
    merge=lambda z: z.transpose(1, 2).flatten(-2),
    split=lambda x, n: x.unflatten(-1, (n, -1)).transpose(1, 2),
    order="qkv",
    project=True,
    finish=None,
):
    def attend(X, W_q, W_k, W_v, W_o, num_heads):
        named = {"q": W_q, "k": W_k, "v": W_v}
        q, k, v = (split(X @ named[x], num_heads) for x in order)
        s = q @ k.mT / scale(q, X, num_heads)
        z = merge((s if axis is None else s.softmax(axis)) @ v)
        if finish:
            return finish(z, W_o)
        return z @ W_o if project else z

    return attend


def causal_heads(X, W_q, W_k, W_v, W_o, num_heads):
    q, k, v = ((X @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_q, W_k, W_v))
    z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return z.transpose(1, 2).flatten(-2) @ W_o


def averaged_heads(X, W_q, W_k, W_v, W_o, num_heads):
    q, k, v = ((X @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_q, W_k, W_v))
    w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1).mean(1, keepdim=True)
    return (w @ v).transpose(1, 2).flatten(-2) @ W_o


def one_head(X, W_q, W_k, W_v, W_o, num_heads):
    d = X.shape[-1] // num_heads
    return ((X @ W_q) @ (X @ W_k).mT / d**0.5).softmax(-1) @ (X @ W_v) @ W_o


def weights_returned(X, W_q, W_k, W_v, W_o, num_heads):
    q, k = ((X @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_q, W_k))
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)


def not_swapped(X, W_q, W_k, W_v, W_o, num_heads):
    q, k, v = ((X @ W).unflatten(-1, (num_heads, -1)) for W in (W_q, W_k, W_v))
    return ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v).flatten(-2) @ W_o


def cut_before_projecting(X, W_q, W_k, W_v, W_o, num_heads):
    d = X.shape[-1] // num_heads
    parts = []
    for h in range(num_heads):
        c = slice(h * d, (h + 1) * d)
        x = X[..., c]
        q, k, v = x @ W_q[c, c], x @ W_k[c, c], x @ W_v[c, c]
        parts.append((q @ k.mT / d**0.5).softmax(-1) @ v)
    return torch.cat(parts, -1) @ W_o


def values_not_projected(X, W_q, W_k, W_v, W_o, num_heads):
    q, k = ((X @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_q, W_k))
    v = X.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    return ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v).transpose(1, 2).flatten(-2) @ W_o


def one_head_short(X, W_q, W_k, W_v, W_o, num_heads):
    d = X.shape[-1] // num_heads
    out = torch.zeros_like(X)
    for h in range(num_heads - 1):
        c = slice(h * d, (h + 1) * d)
        q, k, v = X @ W_q[:, c], X @ W_k[:, c], X @ W_v[:, c]
        out[..., c] = (q @ k.mT / d**0.5).softmax(-1) @ v
    return out @ W_o


RIGHT = {
    "both_at_once": {
        "float": 0.5,
        "numpy": np.float64(0.5),
        "0-d tensor": torch.tensor(0.5),
        "fraction": Fraction(1, 2),
    },
    "layer_parameters": {
        "int": 1048576,
        "numpy": np.int64(4 * 512**2),
        "0-d tensor": torch.tensor(4 * 512**2),
        "float": 1048576.0,
    },
    "merge": {
        "cat": merge_cat,
        "loop": merge_loop,
        "transpose, contiguous, view": lambda x: (
            x.transpose(1, 2).contiguous().view(x.shape[0], x.shape[2], -1)
        ),
        "flatten": lambda x: x.movedim(1, 2).flatten(2),
        "einsum": lambda x: torch.einsum("bhnd->bnhd", x).flatten(-2),
    },
    "share_of_head": {
        "the other heads set to 0": share_padded,
        "unflattened matrix": lambda o, W, i: o[:, i] @ W.unflatten(0, (o.shape[1], -1))[i],
        "einsum": lambda o, W, i: torch.einsum(
            "bnd,dm->bnm", o[:, i], W.chunk(o.shape[1], dim=0)[i]
        ),
        "columns one by one": share_sum,
        "view": lambda o, W, i: torch.matmul(o.select(1, i), W.view(o.shape[1], o.shape[3], -1)[i]),
    },
    "multi_head": {
        "a loop over heads": heads_loop,
        "einsum": heads_einsum,
        "torch.nn.functional": heads_functional,
        "heads folded into the batch": heads_folded,
    },
}

WRONG = {
    "both_at_once": {
        "1": 1.0,
        "two": 2.0,
        "a quarter": 0.25,
        "a third": 1 / 3,
        "1/√2": 0.5**0.5,
        "0": 0.0,
        "per cent": 50,
    },
    "layer_parameters": {
        "without W_o": 3 * 512**2,
        "one matrix": 512**2,
        "heads counted again": 8 * 4 * 512**2,
        "width of a head": 4 * 512 * 64,
        "with biases": 4 * 512**2 + 4 * 512,
        "W_o counted per head": 3 * 512**2 + 8 * 512**2,
        "heads squared": 4 * 64**2 * 8,
        "in thousands": 1048,
        "rounded": 1_000_000,
    },
    "merge": {
        "plain reshape": lambda x: x.reshape(x.shape[0], x.shape[2], -1),
        "coordinates interleaved": pair_interleaved,
        "swaps length and width": lambda x: x.transpose(2, 3).reshape(x.shape[0], x.shape[2], -1),
        "swaps heads and width": lambda x: x.transpose(1, 3).flatten(-2),
        "swap, not joined": lambda x: x.transpose(1, 2),
        "not swapped, joined at the front": lambda x: x.flatten(1, 2),
        "sum over the heads": lambda x: x.sum(1),
        "mean over the heads": lambda x: x.mean(1),
        "first head": lambda x: x[:, 0],
        "heads in reverse": lambda x: x.flip(1).transpose(1, 2).flatten(-2),
        "heads joined along the length": lambda x: torch.cat(list(x.unbind(1)), dim=1),
        "permutation (0, 2, 3, 1)": lambda x: x.permute(0, 2, 3, 1).reshape(
            x.shape[0], x.shape[2], -1
        ),
        "permutation (2, 0, 1, 3)": lambda x: x.permute(2, 0, 1, 3).flatten(-2),
        "batch mixed with heads": lambda x: (
            x.transpose(0, 1).transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)
        ),
        "view of the transpose": lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1),
        "last head left out": lambda x: torch.cat([x[:, h] for h in range(x.shape[1] - 1)], -1),
        "first head left out": lambda x: torch.cat([x[:, h] for h in range(1, x.shape[1])], -1),
        "first head again and again": lambda x: x[:, 0].repeat(1, 1, x.shape[1]),
        "two heads only": lambda x: torch.cat([x[:, 0], x[:, 1]], -1),
        "first sentence only": lambda x: x[:1].transpose(1, 2).flatten(-2),
        "(len, batch) for (batch, len)": lambda x: x.transpose(1, 2).flatten(-2).transpose(0, 1),
        "stack": lambda x: torch.stack(list(x.unbind(1)), -1).flatten(-2),
        "flipped positions": lambda x: x.transpose(1, 2).flatten(-2).flip(1),
    },
    "share_of_head": {
        "columns for rows": lambda o, W, i: (
            o[:, i] @ W[:, i * o.shape[-1] : (i + 1) * o.shape[-1]].T
        ),
        "first rows for every head": lambda o, W, i: o[:, i] @ W[: o.shape[-1]],
        "rows strided": lambda o, W, i: o[:, i] @ W[i :: o.shape[1]],
        "one head further": lambda o, W, i: (
            o[:, i] @ W.unflatten(0, (o.shape[1], -1))[(i + 1) % o.shape[1]]
        ),
        "starts at i, not at i d_v": lambda o, W, i: o[:, i] @ W[i : i + o.shape[-1]],
        "counted from 1": lambda o, W, i: (
            o[:, i - 1] @ W[(i - 1) % o.shape[1] * o.shape[-1] :][: o.shape[-1]]
        ),
        "head along the length": lambda o, W, i: (
            o[:, :, i] @ W[i * o.shape[-1] : (i + 1) * o.shape[-1]]
        ),
        "head along the batch": lambda o, W, i: o[i] @ W[i * o.shape[-1] : (i + 1) * o.shape[-1]],
        "whole output": lambda o, W, i: o.transpose(1, 2).flatten(-2) @ W,
        "whole output over heads": lambda o, W, i: o.transpose(1, 2).flatten(-2) @ W / o.shape[1],
        "without the matrix": lambda o, W, i: o[:, i],
        "matrix transposed": lambda o, W, i: o[:, i] @ W.T[i * o.shape[-1] : (i + 1) * o.shape[-1]],
        "number of heads for width": lambda o, W, i: (
            o[:, i] @ W[i * o.shape[1] : (i + 1) * o.shape[1]]
        ),
        "reversed heads": lambda o, W, i: o[:, -1 - i] @ W.unflatten(0, (o.shape[1], -1))[-1 - i],
        "strided columns of the joined": merged_share_wrong,
        "damages W_o": share_damages,
        "first sentence only": lambda o, W, i: o[:1, i] @ W.unflatten(0, (o.shape[1], -1))[i],
        "head 0 always": lambda o, W, i: o[:, 0] @ W[: o.shape[-1]],
        "sum of the heads before": lambda o, W, i: (
            o[:, : i + 1].transpose(1, 2).flatten(-2) @ W[: (i + 1) * o.shape[-1]]
        ),
        "all but this head": lambda o, W, i: (
            o.transpose(1, 2).flatten(-2) @ W - o[:, i] @ W.unflatten(0, (o.shape[1], -1))[i]
        ),
        "summed over positions": lambda o, W, i: (
            o[:, i] @ W.unflatten(0, (o.shape[1], -1))[i]
        ).sum(1),
        "axis of the heads kept": lambda o, W, i: (
            o[:, i : i + 1] @ W[i * o.shape[-1] : (i + 1) * o.shape[-1]]
        ),
        "loses the last row": lambda o, W, i: (
            o[:, i, :, :-1] @ W[i * o.shape[-1] : (i + 1) * o.shape[-1] - 1]
        ),
        "mean of the rows": lambda o, W, i: o.mean(1) @ W.unflatten(0, (o.shape[1], -1))[i],
    },
    "multi_head": {
        "root of the model's width": _heads(scale=lambda q, X, n: X.shape[-1] ** 0.5),
        "no scale": _heads(scale=lambda q, X, n: 1),
        "÷d_k for ÷√d_k": _heads(scale=lambda q, X, n: q.shape[-1]),
        "root of the number of heads": _heads(scale=lambda q, X, n: n**0.5),
        "root of the length": _heads(scale=lambda q, X, n: X.shape[1] ** 0.5),
        "softmax over the queries": _heads(axis=-2),
        "softmax over the heads": _heads(axis=1),
        "no softmax": _heads(axis=None),
        "W_o forgotten": _heads(project=False),
        "W_o transposed": _heads(finish=lambda z, W: z @ W.T),
        "matrices from the left": lambda X, W_q, W_k, W_v, W_o, n: _heads()(
            X, W_q.T, W_k.T, W_v.T, W_o.T, n
        ),
        "not swapped back": _heads(merge=lambda z: z.reshape(z.shape[0], z.shape[2], -1)),
        "cut by a plain reshape": _heads(
            split=lambda x, n: x.reshape(x.shape[0], n, x.shape[1], -1)
        ),
        "heads interleaved": _heads(
            split=lambda x, n: x.unflatten(-1, (-1, n)).permute(0, 3, 1, 2),
        ),
        "heads interleaved at both ends": _heads(
            split=lambda x, n: x.unflatten(-1, (-1, n)).permute(0, 3, 1, 2),
            merge=lambda z: z.permute(0, 2, 3, 1).flatten(-2),
        ),
        "merge interleaved": _heads(merge=lambda z: z.permute(0, 2, 3, 1).flatten(-2)),
        "queries and keys exchanged": _heads(order="kqv"),
        "keys for values": _heads(order="qkk"),
        "queries for keys": _heads(order="qqv"),
        "one head": one_head,
        "weights averaged": averaged_heads,
        "causal mask": causal_heads,
        "returns the weights": weights_returned,
        "positions not before heads: heads attend to heads": not_swapped,
        "cuts before projecting": cut_before_projecting,
        "values not projected": values_not_projected,
        "last head left out": one_head_short,
        "residual added": lambda X, *rest: X + _heads()(X, *rest),
        "sum of the heads": _heads(merge=lambda z: z.sum(1).repeat(1, 1, z.shape[1])),
        "two heads always": lambda X, W_q, W_k, W_v, W_o, n: _heads()(X, W_q, W_k, W_v, W_o, 2),
    },
}
