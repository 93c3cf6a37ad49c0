"""Answers to the exercises of `learned-alignment`."""

import math

import numpy as np
import torch
from torch.nn import functional as F


def _mask(valid_lens, len_k):
    return (torch.arange(len_k) < valid_lens[:, None])[:, None]


def look_loop(queries, states, W_k, W_v, valid_lens):
    outs, maps = [], []
    for text, n in zip(states, valid_lens.tolist(), strict=True):
        k, v = text[:n] @ W_k.T, text[:n] @ W_v.T
        w = torch.softmax(queries @ k.T / queries.shape[-1] ** 0.5, -1)
        outs.append(w @ v)
        maps.append(F.pad(w, (0, len(text) - n)))
    return torch.stack(outs), torch.stack(maps)


def look_einsum(queries, states, W_k, W_v, valid_lens):
    k = torch.einsum("bnm,dm->bnd", states, W_k)
    v = torch.einsum("bnm,dm->bnd", states, W_v)
    s = torch.einsum("qd,bnd->bqn", queries, k) * queries.shape[-1] ** -0.5
    w = s.masked_fill(~_mask(valid_lens, states.shape[1]), -torch.inf).softmax(-1)
    return torch.einsum("bqn,bnd->bqd", w, v), w


def look_linear(queries, states, W_k, W_v, valid_lens):
    k, v = F.linear(states, W_k), F.linear(states, W_v)
    q = queries.expand(len(states), -1, -1)
    s = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(queries.size(1))
    hidden = torch.where(_mask(valid_lens, states.shape[1]), 0.0, -torch.inf).to(s)
    w = F.softmax(s + hidden, dim=2)
    return torch.bmm(w, v), w


def look_matrix_first(queries, states, W_k, W_v, valid_lens):
    s = (queries @ W_k / queries.shape[-1] ** 0.5) @ states.mT
    w = torch.where(_mask(valid_lens, states.shape[1]), s, -torch.inf).softmax(-1)
    return (w @ states) @ W_v.T, w


def _look(
    scale=lambda q, x: q.shape[-1] ** 0.5,
    hide=lambda s, m: s.masked_fill(~m, -torch.inf),
    soft=lambda s, m: s.softmax(-1),
    keys=lambda x, W: x @ W.T,
    values=lambda x, W: x @ W.T,
    tidy=lambda o, w: (o, w),
    mask=_mask,
):
    def look(queries, states, W_k, W_v, valid_lens):
        k, v = keys(states, W_k), values(states, W_v)
        m = mask(valid_lens, states.shape[1])
        w = soft(hide(queries @ k.mT / scale(queries, states), m), m)
        return tidy(w @ v, w)

    return look


def left_padding(valid_lens, len_k):
    return (torch.arange(len_k) >= len_k - valid_lens[:, None])[:, None]


def exact_by_loop(digit_scores, digits):
    right = [bool((s.argmax(-1) == d).all()) for s, d in zip(digit_scores, digits, strict=True)]
    return sum(right) / len(right)


def exact_numpy(digit_scores, digits):
    return np.all(digit_scores.detach().numpy().argmax(-1) == digits.numpy(), axis=1).mean()


def hidden_by_logs(weights, key):
    s = weights.log()
    closed = torch.zeros(weights.shape[-1], dtype=torch.bool)
    closed[key] = True
    return s.masked_fill(closed, -torch.inf).softmax(-1)


def hidden_by_mask(weights, key):
    keep = torch.ones(weights.shape[-1], dtype=weights.dtype)
    keep[key] = 0
    return weights * keep / (weights * keep).sum(-1, keepdim=True)


def hidden_by_parts(weights, key):
    left, right = weights[..., :key], weights[..., key + 1 :]
    rest = torch.cat([left, right], -1)
    rest = rest / rest.sum(-1, keepdim=True)
    zero = torch.zeros_like(weights[..., :1])
    return torch.cat([rest[..., :key], zero, rest[..., key:]], -1)


def hidden_normalize(weights, key):
    return F.normalize(
        torch.where(torch.arange(weights.shape[-1]) == key, 0.0, weights), p=1, dim=-1
    )


def _hidden(finish, place=lambda w, key: (..., key), fill=0.0):
    def hidden(weights, key):
        kept = weights.clone()
        kept[place(weights, key)] = fill
        return finish(kept, weights, key)

    return hidden


def _divide(kept, weights, key):
    return kept / kept.sum(-1, keepdim=True)


def hidden_in_place(weights, key):
    weights[..., key] = 0
    return weights / weights.sum(-1, keepdim=True)


def one_less(weights, key):
    kept = weights.clone()
    kept[..., key] = 0
    return kept / (1 - weights[..., key])


RIGHT = {
    "cross_attention": {
        "loop": look_loop,
        "einsum": look_einsum,
        "torch.nn.functional": look_linear,
        "matrices outside": look_matrix_first,
    },
    "exact_match": {
        "loop": exact_by_loop,
        "NumPy": exact_numpy,
        "product": lambda s, d: (s.argmax(-1) == d).prod(-1).float().mean(),
        "count of right digits": lambda s, d: (
            ((s.argmax(-1) == d).sum(1) == d.shape[1]).float().mean().item()
        ),
        "no digit wrong": lambda s, d: 1 - (s.max(-1).indices != d).any(-1).double().mean(),
    },
    "without_key": {
        "logarithms": hidden_by_logs,
        "a factor of 0": hidden_by_mask,
        "two parts": hidden_by_parts,
        "normalize": hidden_normalize,
    },
}

WRONG = {
    "cross_attention": {
        "no scale": _look(scale=lambda q, x: 1),
        "÷d for ÷√d": _look(scale=lambda q, x: q.shape[-1]),
        "times √d": _look(scale=lambda q, x: q.shape[-1] ** -0.5),
        "root of the states' width": _look(scale=lambda q, x: x.shape[-1] ** 0.5),
        "root of the number of queries": _look(scale=lambda q, x: q.shape[0] ** 0.5),
        "root of the text's length": _look(scale=lambda q, x: x.shape[1] ** 0.5),
        "no mask": _look(hide=lambda s, m: s),
        "mask inverted": _look(
            hide=lambda s, m: s.masked_fill(m, -torch.inf),
            soft=lambda s, m: s.softmax(-1).nan_to_num(0),
        ),
        "masked after softmax": _look(hide=lambda s, m: s, soft=lambda s, m: s.softmax(-1) * m),
        "filled with 0": _look(hide=lambda s, m: s * m),
        "padding on the left": _look(mask=left_padding),
        "one key too many": _look(mask=lambda n, k: _mask((n + 1).clamp(max=k), k)),
        "one key too few": _look(mask=lambda n, k: _mask((n - 1).clamp(min=1), k)),
        "first length for all": _look(mask=lambda n, k: _mask(n[:1], k)),
        "longest length for all": _look(mask=lambda n, k: _mask(n.max().view(1), k)),
        "softmax over the queries": _look(soft=lambda s, m: s.softmax(-2).nan_to_num(0)),
        "softmax over the batch": _look(soft=lambda s, m: s.softmax(0).nan_to_num(0)),
        "output only": _look(tidy=lambda o, w: o),
        "weights only": _look(tidy=lambda o, w: w),
        "weights first": _look(tidy=lambda o, w: (w, o)),
        "scores for weights": lambda q, x, W_k, W_v, n: (
            look_einsum(q, x, W_k, W_v, n)[0],
            q @ (x @ W_k.T).mT / q.shape[-1] ** 0.5,
        ),
        "matrix not transposed": _look(keys=lambda x, W: x @ W, values=lambda x, W: x @ W),
        "values not projected": _look(values=lambda x, W: x),
        "keys for values": lambda q, x, W_k, W_v, n: look_einsum(q, x, W_k, W_k, n),
        "values for keys": lambda q, x, W_k, W_v, n: look_einsum(q, x, W_v, W_v, n),
        "matrices exchanged": lambda q, x, W_k, W_v, n: look_einsum(q, x, W_v, W_k, n),
        "bare exponentials": _look(
            hide=lambda s, m: s.exp() * m, soft=lambda e, m: e / e.sum(-1, keepdim=True)
        ),
        "first text for all": lambda q, x, W_k, W_v, n: look_einsum(
            q, x[:1].expand_as(x), W_k, W_v, n
        ),
        "no softmax": _look(hide=lambda s, m: s * m, soft=lambda s, m: s),
        "masked queries": lambda q, x, W_k, W_v, n: _look(
            hide=lambda s, m: s.masked_fill(
                ~(torch.arange(s.shape[1]) < n[:, None])[:, :, None], -torch.inf
            ),
            soft=lambda s, m: s.softmax(-1).nan_to_num(0),
        )(q, x, W_k, W_v, n),
    },
    "exact_match": {
        "share of right digits": lambda s, d: (s.argmax(-1) == d).double().mean(),
        "any for all": lambda s, d: (s.argmax(-1) == d).any(-1).double().mean(),
        "all over the dates": lambda s, d: (s.argmax(-1) == d).all(0).double().mean(),
        "all of everything": lambda s, d: (s.argmax(-1) == d).all().double(),
        "share per date": lambda s, d: (s.argmax(-1) == d).double().mean(-1),
        "right or not, by date": lambda s, d: (s.argmax(-1) == d).all(-1),
        "number, not share": lambda s, d: (s.argmax(-1) == d).all(-1).sum(),
        "divided by all digits": lambda s, d: (s.argmax(-1) == d).all(-1).sum() / d.numel(),
        "per cent": lambda s, d: 100 * (s.argmax(-1) == d).all(-1).double().mean(),
        "wrong dates": lambda s, d: 1 - (s.argmax(-1) == d).all(-1).double().mean(),
        "argmax over the places": lambda s, d: (
            (s.argmax(1) == d[:, :1].expand(-1, s.shape[-1])).all(-1).double().mean()
        ),
        "argmin": lambda s, d: (s.argmin(-1) == d).all(-1).double().mean(),
        "argmax over everything": lambda s, d: (s.argmax() == d).all(-1).double().mean(),
        "first digit only": lambda s, d: (s.argmax(-1) == d)[:, 0].double().mean(),
        "last digit only": lambda s, d: (s.argmax(-1) == d)[:, -1].double().mean(),
        "last digit forgotten": lambda s, d: (s.argmax(-1) == d)[:, :-1].all(-1).double().mean(),
        "year only": lambda s, d: (s.argmax(-1) == d)[:, :4].all(-1).double().mean(),
        "power of the share": lambda s, d: (s.argmax(-1) == d).double().mean() ** d.shape[1],
        "product of the places' shares": lambda s, d: (s.argmax(-1) == d).double().mean(0).prod(),
        "more than half": lambda s, d: (
            ((s.argmax(-1) == d).double().mean(-1) > 0.5).double().mean()
        ),
        "order ignored": lambda s, d: (
            (s.argmax(-1).sort(-1).values == d.sort(-1).values).all(-1).double().mean()
        ),
        "sum of the digits": lambda s, d: (s.argmax(-1).sum(-1) == d.sum(-1)).double().mean(),
        "one wrong digit allowed": lambda s, d: (
            ((s.argmax(-1) == d).sum(-1) >= d.shape[1] - 1).double().mean()
        ),
        "integer division": lambda s, d: (s.argmax(-1) == d).all(-1).sum() // len(d),
        "softmax above a half": lambda s, d: (
            (s.softmax(-1).gather(-1, d[..., None])[..., 0] > 0.5).all(-1).double().mean()
        ),
        "mean probability": lambda s, d: (
            s.softmax(-1).gather(-1, d[..., None])[..., 0].prod(-1).mean()
        ),
    },
    "better_score": {"a": "a", "c": "c"},
    "without_key": {
        "not divided": _hidden(lambda k, w, i: k),
        "softmax again": _hidden(lambda k, w, i: k.softmax(-1)),
        "softmax of the weights, −∞": _hidden(lambda k, w, i: k.softmax(-1), fill=-torch.inf),
        "exponentials": _hidden(lambda k, w, i: k.exp() / k.exp().sum(-1, keepdim=True)),
        "shared evenly": _hidden(
            lambda k, w, i: (
                (k + w[..., i : i + 1] / (w.shape[-1] - 1)) * (torch.arange(w.shape[-1]) != i)
            )
        ),
        "shared evenly, the hidden one, too": _hidden(
            lambda k, w, i: k + w[..., i : i + 1] / w.shape[-1]
        ),
        "query's row hidden": _hidden(_divide, place=lambda w, i: (..., i, slice(None))),
        "batch hidden": _hidden(_divide, place=lambda w, i: (i,)),
        "next key": _hidden(_divide, place=lambda w, i: (..., (i + 1) % w.shape[-1])),
        "key counted from 1": _hidden(_divide, place=lambda w, i: (..., i - 1)),
        "key dropped": lambda w, i: (
            torch.cat([w[..., :i], w[..., i + 1 :]], -1)
            / torch.cat([w[..., :i], w[..., i + 1 :]], -1).sum(-1, keepdim=True)
        ),
        "in place": hidden_in_place,
        "1 − p without its axis": one_less,
        "divided by p": _hidden(lambda k, w, i: k / w[..., i : i + 1]),
        "multiplied by 1 − p": _hidden(lambda k, w, i: k * (1 - w[..., i : i + 1])),
        "divided along the queries": _hidden(lambda k, w, i: k / k.sum(-2, keepdim=True)),
        "divided by the sum of everything": _hidden(lambda k, w, i: k / k.sum()),
        "keepdim forgotten": _hidden(lambda k, w, i: k / k.sum(-1)),
        "divided by the largest": _hidden(lambda k, w, i: k / k.amax(-1, keepdim=True)),
        "all to the best": _hidden(
            lambda k, w, i: k + F.one_hot(k.argmax(-1), w.shape[-1]) * w[..., i : i + 1]
        ),
        "the key alone": _hidden(lambda k, w, i: w - k),
        "unchanged": lambda w, i: w.clone(),
        "length 1, squares": _hidden(lambda k, w, i: F.normalize(k, dim=-1)),
        "first two axes only": _hidden(_divide, place=lambda w, i: (0, ..., i)),
        "keys before it hidden": _hidden(
            lambda k, w, i: k / k.sum(-1, keepdim=True),
            place=lambda w, i: (..., slice(0, i + 1)),
        ),
    },
}
