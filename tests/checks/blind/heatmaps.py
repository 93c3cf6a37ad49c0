"""Answers to the exercises of `heatmaps`, and to `rollout`, which `train-a-reader` asks for."""

from fractions import Fraction

import numpy as np
import torch


def sure_by_lists(weights, real):
    out = []
    for h in range(weights.shape[1]):
        tops = [weights[b, h, i].max() for b, i in real.nonzero().tolist()]
        out.append(torch.stack(tops).mean())
    return torch.stack(out)


def sure_by_selection(weights, real):
    return weights.max(-1).values.permute(0, 2, 1)[real].mean(0)


def _sure(
    top=lambda w: w.amax(-1), count=lambda r: r.sum(), axes=(0, 2), seen=lambda r: r[:, None]
):
    return lambda w, real: (top(w) * seen(real)).sum(axes) / count(real)


def per_sentence_first(weights, real):
    top = weights.amax(-1) * real[:, None]
    return (top.sum(-1) / real.sum(-1)[:, None]).mean(0)


def masks_keys(weights, real):
    top = (weights * real[:, None, None, :]).amax(-1)
    return top.mean((0, 2))


def zeroes_in_place(weights, real):
    weights *= real[:, None, :, None]
    return weights.amax(-1).sum((0, 2)) / real.sum()


def columns_for_rows(weights, real):
    return (weights.amax(-2) * real[:, None]).sum((0, 2)) / real.sum()


def nan_where_padding(weights, real):
    return weights.amax(-1).masked_fill(~real[:, None], torch.nan).nanmedian()


def brings_by_loop(weights, values):
    out = torch.empty_like(weights)
    for b in range(weights.shape[0]):
        for j in range(weights.shape[2]):
            out[b, :, j] = weights[b, :, j] * values[b, j].pow(2).sum().sqrt()
    return out


def other_by_steps(weights, values):
    conditions = torch.cat([values, values.new_ones(len(values), 1)], 1)
    direction = torch.linalg.svd(conditions.T, full_matrices=True).Vh[-1]
    rows = []
    for row in weights:
        best = None
        for sign in (1, -1):
            d = sign * direction
            down = d < -1e-9
            step = (row[down] / -d[down]).min() * 0.5
            if best is None or (step * d).abs().max() > (best - row).abs().max():
                best = (row + step * d).clamp(min=0)
        rows.append(best)
    return torch.stack(rows)


def other_by_projection(weights, values):
    conditions = torch.cat([values, torch.ones_like(values[:, :1])], 1)
    n = len(values)
    keep = torch.eye(n, dtype=values.dtype) - conditions @ torch.linalg.pinv(conditions)
    away = keep @ torch.linalg.eigh(keep).eigenvectors[:, -1]
    room = torch.where(away < -1e-7, -weights / away, torch.inf).amin(-1, keepdim=True)
    back = torch.where(away > 1e-7, weights / away, torch.inf).amin(-1, keepdim=True)
    step = torch.where(room > back, 0.8 * room, -0.8 * back)
    return weights + step * away


def _direction(weights, values, ones=True, take=-1):
    parts = [values, torch.ones_like(values[:, :1])] if ones else [values]
    return torch.linalg.svd(torch.cat(parts, -1).T).Vh[take]


def room_for(weights, direction):
    return torch.where(direction < 0, -weights / direction, torch.inf).amin(-1, keepdim=True)


def other_in_double(weights, values):
    w, v = weights.double(), values.double()
    d = _direction(w, v)
    return (w + 0.7 * room_for(w, d) * d).to(weights.dtype)


def other_null_projection(weights, values):
    null = torch.linalg.svd(torch.cat([values, torch.ones_like(values[:, :1])], -1).T).Vh
    null = null[values.shape[1] + 1 :]
    d = null.sum(0)
    return weights + 0.9 * room_for(weights, d) * d


def no_room(step):
    return lambda w, v: w + step * _direction(w, v)


def one_room_for_all(weights, values):
    d = _direction(weights, values)
    return weights + 0.9 * room_for(weights, d).max() * d


def clamped(weights, values):
    return (weights + _direction(weights, values)).clamp(min=0)


def clamped_and_divided(weights, values):
    w = (weights + 0.5 * _direction(weights, values)).clamp(min=0)
    return w / w.sum(-1, keepdim=True)


def without_ones(weights, values):
    d = _direction(weights, values, ones=False)
    return weights + 0.9 * room_for(weights, d) * d


def first_direction(weights, values):
    d = _direction(weights, values, take=0)
    return weights + 0.9 * room_for(weights, d) * d


def tiny_step(weights, values):
    d = _direction(weights, values)
    return weights + 1e-4 * room_for(weights, d) * d


def first_row_only(weights, values):
    out = weights.clone()
    d = _direction(weights, values)
    out[:1] += 0.9 * room_for(weights[:1], d) * d
    return out


def in_place_other(weights, values):
    d = _direction(weights, values)
    weights += 0.9 * room_for(weights, d) * d
    return weights


def rollout_einsum(weights):
    n = weights.shape[-1]
    mixed = 0.5 * weights + 0.5 * torch.eye(n, dtype=weights.dtype)
    total = mixed[0]
    for layer in mixed[1:]:
        total = torch.einsum("ij,jk->ik", layer, total)
    return total


def rollout_matrix_power(weights):
    mixed = (weights + torch.eye(weights.shape[-1]).to(weights)) / 2
    return torch.linalg.multi_dot([*mixed.flip(0), torch.eye(weights.shape[-1]).to(weights)])


def rollout_columns(weights):
    n = weights.shape[-1]
    columns = []
    for j in range(n):
        x = torch.zeros(n, dtype=weights.dtype)
        x[j] = 1
        for layer in weights:
            x = (x + layer @ x) / 2
        columns.append(x)
    return torch.stack(columns, 1)


def rollout_numpy(weights):
    total = np.eye(weights.shape[-1])
    for layer in weights.detach().numpy():
        total = (layer + np.eye(len(layer))) / 2 @ total
    return torch.from_numpy(total).to(weights.dtype)


def _rolled(mix, left=True, start=None):
    def rollout(weights):
        identity = torch.eye(weights.shape[-1], dtype=weights.dtype)
        total = identity
        for layer in weights if start is None else weights[start]:
            total = mix(layer, identity) @ total if left else total @ mix(layer, identity)
        return total

    return rollout


def _half(layer, identity):
    return (layer + identity) / 2


def damaging_rollout(weights):
    weights += torch.eye(weights.shape[-1], dtype=weights.dtype)
    weights /= 2
    total = weights[0]
    for layer in weights[1:]:
        total = layer @ total
    return total


def last_twice(weights):
    mixed = (weights + torch.eye(weights.shape[-1], dtype=weights.dtype)) / 2
    total = mixed[-1]
    for layer in mixed:
        total = layer @ total
    return total


RIGHT = {
    "brightest_cell": {
        "float": 0.3,
        "numpy": np.float64(0.3),
        "0-d tensor": torch.tensor(0.3),
        "fraction": Fraction(3, 10),
    },
    "sureness": {
        "lists": sure_by_lists,
        "selection": sure_by_selection,
        "einsum": lambda w, r: torch.einsum("bhi,bi->h", w.amax(-1), r.to(w.dtype)) / r.sum(),
        "where": lambda w, r: (
            torch.where(r.unsqueeze(1), w.max(dim=-1)[0], 0.0).sum(2).sum(0).div(r.sum())
        ),
    },
    "value_weighted": {
        "loops": brings_by_loop,
        "einsum": lambda w, v: torch.einsum("bqk,bk->bqk", w, v.norm(dim=2)),
        "a diagonal matrix": lambda w, v: w @ torch.diag_embed(v.pow(2).sum(-1).sqrt()),
        "linalg.norm": lambda w, v: torch.linalg.vector_norm(v, dim=-1)[:, None, :] * w,
        "length of each weighted value": lambda w, v: (w[..., None] * v[:, None]).norm(dim=-1),
    },
    "same_output": {
        "the better of both ways, row by row": other_by_steps,
        "a projection": other_by_projection,
        "in float64": other_in_double,
        "a sum of directions": other_null_projection,
    },
    "rollout": {
        "einsum": rollout_einsum,
        "multi_dot": rollout_matrix_power,
        "column by column": rollout_columns,
        "NumPy and back": rollout_numpy,
    },
}

WRONG = {
    "brightest_cell": {
        "the colour bar's end": 1.0,
        "the smallest": 0.1,
        "the span": 0.2,
        "the middle": 0.2 + 1e-9,
        "the sum": 0.4,
        "span over the largest": 2 / 3,
        "a third": 1 / 3,
        "per cent": 30.0,
    },
    "after_dropout": {"a": "a", "b": "b", "d": "d"},
    "sureness": {
        "padding counted in both": lambda w, r: w.amax(-1).mean((0, 2)),
        "padding counted below only": _sure(count=lambda r: r.numel()),
        "padding in the sum only": lambda w, r: w.amax(-1).sum((0, 2)) / r.sum(),
        "sentence by sentence": per_sentence_first,
        "padded keys hidden instead": masks_keys,
        "largest of each column": columns_for_rows,
        "heads averaged, too": lambda w, r: (w.amax(-1) * r[:, None]).sum() / r.sum(),
        "heads averaged, times heads": lambda w, r: (
            (w.amax(-1) * r[:, None]).mean().expand(w.shape[1]).clone()
        ),
        "one number per sentence": lambda w, r: (w.amax(-1) * r[:, None]).sum((1, 2)) / r.sum(-1),
        "divided by heads as well": _sure(count=lambda r: r.sum() * 2),
        "not divided": _sure(count=lambda r: 1),
        "divided by the number of sentences": _sure(count=lambda r: len(r)),
        "mean weight for the largest": _sure(top=lambda w: w.mean(-1)),
        "smallest weight": _sure(top=lambda w: w.amin(-1)),
        "sum of the row": _sure(top=lambda w: w.sum(-1)),
        "largest key, not its weight": _sure(top=lambda w: w.argmax(-1)),
        "mask inverted": lambda w, r: _sure()(w, ~r),
        "heads' axis at the end": lambda w, r: (w.amax(-1) * r[..., None]).sum((0, 2)) / r.sum(),
        "no axis for the heads": lambda w, r: (w.amax(-1) * r).sum((0, 2)) / r.sum(),
        "largest over the queries, too": lambda w, r: (w * r[:, None, :, None]).amax((0, 2, 3)),
        "damages the weights": zeroes_in_place,
        "median": nan_where_padding,
        "mean over queries first, then largest": lambda w, r: (
            (w * r[:, None, :, None]).sum((0, 2)) / r.sum()
        ).amax(-1),
        "entropy": _sure(top=lambda w: -(w * w.clamp(min=1e-9).log()).sum(-1)),
        "first sentence only": lambda w, r: sure_by_selection(w[:1], r[:1]),
        "integer division": lambda w, r: (w.amax(-1) * r[:, None]).sum((0, 2)) // r.sum(),
    },
    "value_weighted": {
        "length along the queries": lambda w, v: w * v.norm(dim=-1).unsqueeze(-1),
        "no axis for the queries": lambda w, v: w * v.norm(dim=-1),
        "length of each coordinate": lambda w, v: w * v.norm(dim=1).unsqueeze(1),
        "one length for all": lambda w, v: w * v.norm(),
        "length squared": lambda w, v: w * v.square().sum(-1).unsqueeze(-2),
        "sum of absolute values": lambda w, v: w * v.abs().sum(-1).unsqueeze(-2),
        "sum of the values": lambda w, v: w * v.sum(-1).unsqueeze(-2),
        "largest coordinate": lambda w, v: w * v.abs().amax(-1).unsqueeze(-2),
        "first coordinate": lambda w, v: w * v[..., 0].unsqueeze(-2),
        "root mean square": lambda w, v: w * v.square().mean(-1).sqrt().unsqueeze(-2),
        "the output": lambda w, v: w @ v,
        "length of the output": lambda w, v: (w @ v).norm(dim=-1, keepdim=True).expand_as(w),
        "rows made to sum to 1": lambda w, v: (
            (w * v.norm(dim=-1).unsqueeze(-2))
            / (w * v.norm(dim=-1).unsqueeze(-2)).sum(-1, keepdim=True)
        ),
        "weights squared": lambda w, v: w * w * v.norm(dim=-1).unsqueeze(-2),
        "divided by the length": lambda w, v: w / v.norm(dim=-1).unsqueeze(-2),
        "only the lengths": lambda w, v: v.norm(dim=-1).unsqueeze(-2).expand_as(w).clone(),
        "only the weights": lambda w, v: w,
        "first sentence's values": lambda w, v: w * v[0].norm(dim=-1),
        "transposed": lambda w, v: (w * v.norm(dim=-1).unsqueeze(-2)).mT,
        "added for multiplied": lambda w, v: w + v.norm(dim=-1).unsqueeze(-2),
        "damages the weights": lambda w, v: w.mul_(v.norm(dim=-1).unsqueeze(-2)),
        "unit values": lambda w, v: (
            w * torch.nn.functional.normalize(v, dim=-1).norm(dim=-1).unsqueeze(-2)
        ),
        "summed over the keys": lambda w, v: (w * v.norm(dim=-1).unsqueeze(-2)).sum(-1),
        "relative to the largest": lambda w, v: (
            w * (v.norm(dim=-1) / v.norm(dim=-1).max()).unsqueeze(-2)
        ),
        "length over the batch": lambda w, v: w * v.norm(dim=0).sum(-1),
    },
    "same_output": {
        "the same weights": lambda w, v: w,
        "a copy": lambda w, v: w.clone(),
        "a fixed step of 1": no_room(1.0),
        "a fixed step of a tenth": no_room(0.1),
        "a fixed step of a hundredth": no_room(0.01),
        "one room for all rows": one_room_for_all,
        "clamped": clamped,
        "clamped and divided": clamped_and_divided,
        "no column of ones": without_ones,
        "first direction for the last": first_direction,
        "far too short a step": tiny_step,
        "first row only": first_row_only,
        "in place": in_place_other,
        "equal weights": lambda w, v: torch.full_like(w, 1 / w.shape[-1]),
        "reversed": lambda w, v: w.flip(-1),
        "rolled": lambda w, v: w.roll(1, -1),
        "softmax of the weights": lambda w, v: w.softmax(-1),
        "least squares": lambda w, v: (w @ v) @ torch.linalg.pinv(v),
        "least squares with ones": lambda w, v: (
            torch.cat([w @ v, torch.ones_like(w[:, :1])], -1)
            @ torch.linalg.pinv(torch.cat([v, torch.ones_like(v[:, :1])], -1))
        ),
        "the direction alone": lambda w, v: _direction(w, v).expand_as(w).clone(),
        "wrong way": lambda w, v: w - 0.9 * room_for(w, _direction(w, v)) * _direction(w, v),
        "past the end": lambda w, v: w + 1.1 * room_for(w, _direction(w, v)) * _direction(w, v),
        "rows of random weights": lambda w, v: (
            torch.linspace(1, 2, w.numel()).to(w).view_as(w).softmax(-1)
        ),
        "half and half with equal weights": lambda w, v: (w + 1 / w.shape[-1]) / 2,
        "the output": lambda w, v: w @ v,
    },
    "rollout": {
        "first layer leftmost": _rolled(_half, left=False),
        "no residual path": _rolled(lambda a, i: a),
        "identity added, not halved": _rolled(lambda a, i: a + i),
        "halved, no identity": _rolled(lambda a, i: a / 2),
        "a tenth for a half": _rolled(lambda a, i: 0.9 * a + 0.1 * i),
        "mean over the layers": lambda w: w.mean(0),
        "mean over the layers, with the identity": lambda w: (
            (w.mean(0) + torch.eye(w.shape[-1], dtype=w.dtype)) / 2
        ),
        "product of cells": lambda w: w.prod(0),
        "transposed layers": _rolled(lambda a, i: (a.T + i) / 2),
        "transposed result": lambda w: _rolled(_half)(w).T,
        "first layer left out": _rolled(_half, start=slice(1, None)),
        "last layer left out": _rolled(_half, start=slice(None, -1)),
        "last layer only": _rolled(_half, start=slice(-1, None)),
        "two layers only": _rolled(_half, start=slice(0, 2)),
        "last layer twice": last_twice,
        "identity added at the end": lambda w: (
            (_rolled(lambda a, i: a)(w) + torch.eye(w.shape[-1], dtype=w.dtype)) / 2
        ),
        "elementwise product": lambda w: _half(w, torch.eye(w.shape[-1], dtype=w.dtype)).prod(0),
        "all layers": lambda w: torch.stack([_rolled(_half)(w[: i + 1]) for i in range(len(w))]),
        "rows left alone: columns divided": lambda w: _rolled(
            lambda a, i: (a + i) / (a + i).sum(0, keepdim=True)
        )(w),
        "damages the weights": damaging_rollout,
        "ones for the identity": _rolled(lambda a, i: (a + 1) / 2),
        "identity over n": _rolled(lambda a, i: (a + i / len(i)) / 2),
        "mixes once per pair": _rolled(lambda a, i: 0.5 * a + 0.5),
        "softmax of the mix": _rolled(lambda a, i: (a + i).softmax(-1)),
        "sum for the product": lambda w: (
            (w + torch.eye(w.shape[-1], dtype=w.dtype)).sum(0) / (2 * len(w))
        ),
    },
}
