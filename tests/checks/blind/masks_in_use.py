"""Answers to the exercises of `masks-in-use`."""

import numpy as np
import torch


def window_lists(len_q, len_k, window):
    offset = len_k - len_q
    return torch.tensor(
        [[i + offset - window < j <= i + offset for j in range(len_k)] for i in range(len_q)]
    )


def window_slices(len_q, len_k, window):
    out = torch.zeros(len_q, len_k, dtype=torch.bool)
    for i in range(len_q):
        end = len_k - len_q + i + 1
        out[i, max(0, end - window) : end] = True
    return out


def window_tril(len_q, len_k, window):
    ones = torch.ones(len_q, len_k, dtype=torch.bool)
    offset = len_k - len_q
    return ones.tril(offset) & ones.triu(offset - window + 1)


def window_rows(len_q, len_k, window):
    i = torch.arange(len_k).unsqueeze(1)
    j = torch.arange(len_k).unsqueeze(0)
    return ((j <= i) & (j > i - window))[len_k - len_q :]


def _window(rule, offset=lambda q, k: k - q):
    def mask(len_q, len_k, window):
        i = torch.arange(len_q)[:, None] + offset(len_q, len_k)
        return rule(i - torch.arange(len_k), window)

    return mask


def prefix_lists(prefix_lens, length):
    return torch.tensor(
        [
            [[j <= i or j < n for j in range(length)] for i in range(length)]
            for n in prefix_lens.tolist()
        ]
    )


def prefix_loop(prefix_lens, length):
    out = torch.ones(length, length, dtype=torch.bool).tril().repeat(len(prefix_lens), 1, 1)
    for b, n in enumerate(prefix_lens):
        out[b, :, :n] = True
    return out


def _causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


def _key(lens, n):
    return (torch.arange(n) < lens[:, None])[:, None]


def numbered_by_loop(documents):
    out = torch.zeros_like(documents)
    for b, row in enumerate(documents.tolist()):
        for j in range(1, len(row)):
            out[b, j] = out[b, j - 1] + 1 if row[j] == row[j - 1] else 0
    return out


def _starts(documents):
    first = torch.ones_like(documents, dtype=torch.bool)
    first[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return first


def numbered_by_starts(documents):
    place = torch.arange(documents.shape[1]).expand_as(documents)
    return place - torch.where(_starts(documents), place, 0).cummax(-1).values


def numbered_by_argmax(documents):
    same = documents[:, :, None] == documents[:, None, :]
    return torch.arange(documents.shape[1]) - same.to(torch.int8).argmax(-1)


def numbered_by_counts(documents):
    rows = []
    for row in documents:
        _, counts = row.unique_consecutive(return_counts=True)
        rows.append(torch.cat([torch.arange(int(n)) for n in counts]))
    return torch.stack(rows)


def numbered_in_first_row(documents):
    return numbered_by_loop(documents[:1]).expand_as(documents).clone()


def doubled_starts(documents):
    place = torch.arange(documents.shape[1]).expand_as(documents)
    return place - torch.where(_starts(documents), place, 0).cummax(0).values


def skipped_by_loop(mask, size):
    blocks = [tile for band in mask.split(size, 0) for tile in band.split(size, 1)]
    return sum(not bool(tile.any()) for tile in blocks) / len(blocks)


def skipped_by_pooling(mask, size):
    pooled = torch.nn.functional.max_pool2d(mask[None, None].float(), size)
    return float((pooled == 0).float().mean())


def skipped_by_unfold(mask, size):
    tiles = mask.unfold(0, size, size).unfold(1, size, size)
    return np.mean(~tiles.reshape(*tiles.shape[:2], -1).any(-1).numpy())


def skipped_by_sums(mask, size):
    total = mask.long().view(mask.shape[0] // size, size, -1, size).sum((1, 3))
    return (total == 0).sum() / total.numel()


def _share(reduce, size_of=lambda s: s):
    def share(mask, size):
        s = size_of(size)
        tiles = mask.reshape(mask.shape[0] // s, s, mask.shape[1] // s, s).transpose(1, 2)
        return reduce(tiles.flatten(2))

    return share


RIGHT = {
    "reach": {
        "int": 19,
        "float": 19.0,
        "numpy": np.int64(19),
        "0-d tensor": torch.tensor(19),
    },
    "window_rule": {
        "lists": window_lists,
        "slices": window_slices,
        "tril and triu": window_tril,
        "last rows of a square": window_rows,
    },
    "prefix_rule": {
        "only prefix queries see the prefix": lambda lens, n: (
            _causal(n) | (_key(lens, n) & _key(lens, n).mT)
        ),
        "lists": prefix_lists,
        "loop": prefix_loop,
        "or": lambda lens, n: torch.logical_or(_causal(n), _key(lens, n)),
        "largest of two limits": lambda lens, n: (
            torch.arange(n)
            < torch.maximum(torch.arange(1, n + 1), lens.unsqueeze(-1)).unsqueeze(-1)
        ),
    },
    "restarting_positions": {
        "loop": numbered_by_loop,
        "starts": numbered_by_starts,
        "first token of the own document": numbered_by_argmax,
        "counts": numbered_by_counts,
    },
    "skipped_blocks": {
        "loop": skipped_by_loop,
        "pooling": skipped_by_pooling,
        "unfold, NumPy": skipped_by_unfold,
        "sums, 0-d tensor": skipped_by_sums,
    },
}

WRONG = {
    "reach": {
        "keys times layers": 24,
        "without itself": 18,
        "one layer": 4,
        "powers": 4**6,
        "keys plus layers": 10,
        "fence post": 20,
        "layers − 1": 16,
        "three layers times": 25,
    },
    "window_rule": {
        "one key too many": _window(lambda d, w: (d >= 0) & (d <= w)),
        "one key too few": _window(lambda d, w: (d >= 0) & (d < w - 1)),
        "own key hidden": _window(lambda d, w: (d > 0) & (d < w)),
        "own key hidden, one more behind": _window(lambda d, w: (d > 0) & (d <= w)),
        "future visible": _window(lambda d, w: d < w),
        "both sides": _window(lambda d, w: d.abs() < w),
        "past without a limit": _window(lambda d, w: d >= 0),
        "forward": _window(lambda d, w: (d <= 0) & (d > -w)),
        "inverted": _window(lambda d, w: ~((d >= 0) & (d < w))),
        "queries from the first key": _window(
            lambda d, w: (d >= 0) & (d < w), offset=lambda q, k: 0
        ),
        "one place further": _window(
            lambda d, w: (d >= 0) & (d < w), offset=lambda q, k: k - q + 1
        ),
        "one place back": _window(lambda d, w: (d >= 0) & (d < w), offset=lambda q, k: k - q - 1),
        "offset the wrong way": _window(lambda d, w: (d >= 0) & (d < w), offset=lambda q, k: q - k),
        "square, keys only": lambda q, k, w: window_lists(k, k, w),
        "square, queries only": lambda q, k, w: window_lists(q, q, w),
        "first rows of a square": lambda q, k, w: window_lists(k, k, w)[:q],
        "transposed": lambda q, k, w: window_lists(q, k, w).T,
        "floats": lambda q, k, w: window_lists(q, k, w).float(),
        "−∞ and 0": lambda q, k, w: torch.zeros(q, k).masked_fill(
            ~window_lists(q, k, w), -torch.inf
        ),
        "exactly the edge": _window(lambda d, w: d == w - 1),
        "blocks of window": lambda q, k, w: (
            ((torch.arange(k - q, k)[:, None] // w) == (torch.arange(k) // w))
            & (torch.arange(k - q, k)[:, None] >= torch.arange(k))
        ),
        "a window of four": lambda q, k, w: window_lists(q, k, 4),
        "tril without an offset": lambda q, k, w: (
            torch.ones(q, k, dtype=torch.bool).tril()
            & torch.ones(q, k, dtype=torch.bool).triu(1 - w)
        ),
        "half on each side": _window(lambda d, w: (d >= -(w // 2)) & (d <= w // 2)),
        "a batch axis": lambda q, k, w: window_lists(q, k, w)[None],
    },
    "prefix_rule": {
        "and for or": lambda lens, n: _causal(n) & _key(lens, n),
        "only causal": lambda lens, n: _causal(n).expand(len(lens), n, n),
        "only the prefix": lambda lens, n: _key(lens, n).expand(-1, n, -1),
        "inverted": lambda lens, n: ~(_causal(n) | _key(lens, n)),
        "prefix one too long": lambda lens, n: _causal(n) | _key(lens + 1, n),
        "prefix one too short": lambda lens, n: _causal(n) | _key(lens - 1, n),
        "rows for columns": lambda lens, n: _causal(n) | _key(lens, n).mT,
        "xor": lambda lens, n: _causal(n) ^ _key(lens, n),
        "future open": lambda lens, n: _causal(n).T | _key(lens, n),
        "diagonal closed": lambda lens, n: _causal(n).tril(-1) | _key(lens, n),
        "one step ahead": lambda lens, n: torch.ones(n, n).tril(1).bool() | _key(lens, n),
        "first length for all": lambda lens, n: (_causal(n) | _key(lens[:1], n)).expand(
            len(lens), n, n
        ),
        "longest length for all": lambda lens, n: (_causal(n) | _key(lens.max().view(1), n)).expand(
            len(lens), n, n
        ),
        "first sequence only": lambda lens, n: (_causal(n) | _key(lens, n))[0],
        "axis of heads": lambda lens, n: (_causal(n) | _key(lens, n))[:, None],
        "floats": lambda lens, n: (_causal(n) | _key(lens, n)).float(),
        "sum": lambda lens, n: _causal(n).long() + _key(lens, n),
        "prefix at the end": lambda lens, n: _causal(n) | _key(lens, n).flip(-1),
        "three tokens, as shown": lambda lens, n: (_causal(n) | (torch.arange(n) < 3)).expand(
            len(lens), n, n
        ),
        "causal only after the prefix, prefix blind": lambda lens, n: torch.where(
            _key(lens, n).mT, _key(lens, n), _causal(n) & ~_key(lens, n)
        ),
        "transposed": lambda lens, n: (_causal(n) | _key(lens, n)).mT,
        "−∞ and 0": lambda lens, n: torch.zeros(len(lens), n, n).masked_fill(
            ~(_causal(n) | _key(lens, n)), -torch.inf
        ),
    },
    "restarting_positions": {
        "counted from 1": lambda d: numbered_by_loop(d) + 1,
        "does not restart": lambda d: torch.arange(d.shape[1]).expand_as(d).clone(),
        "the documents": lambda d: d,
        "backwards": lambda d: numbered_by_loop(d.flip(-1)).flip(-1),
        "lengths": lambda d: (d[:, :, None] == d[:, None, :]).sum(-1),
        "lengths less one": lambda d: (d[:, :, None] == d[:, None, :]).sum(-1) - 1,
        "causal, not by document": lambda d: _causal(d.shape[1]).sum(-1).expand_as(d) - 1,
        "first row for all": numbered_in_first_row,
        "running count of starts": lambda d: _starts(d).cumsum(-1) - 1,
        "along the batch": doubled_starts,
        "negative at the start": lambda d: numbered_by_loop(d) - 1,
        "0 and 1 only": lambda d: (
            torch.arange(d.shape[1]) - (d == 1).to(torch.int8).argmax(-1, keepdim=True) * (d == 1)
        ),
        "3 and 2, as shown": lambda d: torch.tensor([0, 1, 2, 0, 1]).expand_as(d),
        "divided by document": lambda d: torch.arange(d.shape[1]) % (d + 1),
        "floats": lambda d: numbered_by_loop(d).float(),
        "continues by one": lambda d: torch.where(_starts(d), 0, torch.arange(d.shape[1])),
        "repeats of the previous token": lambda d: (~_starts(d)).long(),
        "first documents' length always": lambda d: (
            torch.arange(d.shape[1]) - (d != d[:, :1]) * (d == d[:, :1]).sum(-1, keepdim=True)
        ),
        "running count of repeats": lambda d: (~_starts(d)).cumsum(-1),
        "rows as columns": lambda d: numbered_by_loop(d.T.contiguous()).T,
        "mask, not its count": lambda d: (d[:, :, None] == d[:, None, :]).tril(),
        "count along the queries": lambda d: (d[:, :, None] == d[:, None, :]).tril().sum(-2) - 1,
        "place less document": lambda d: torch.arange(d.shape[1]) - d,
    },
    "skipped_blocks": {
        "all for any": _share(lambda t: (~t.all(-1)).double().mean()),
        "cells, not blocks": lambda m, s: (~m).double().mean(),
        "share that is computed": _share(lambda t: t.any(-1).double().mean()),
        "full blocks": _share(lambda t: t.all(-1).double().mean()),
        "inverted mask": _share(lambda t: (~(~t).any(-1)).double().mean()),
        "number of blocks": _share(lambda t: (~t.any(-1)).sum()),
        "number of the others": _share(lambda t: t.any(-1).sum()),
        "mean below a half": _share(lambda t: (t.double().mean(-1) < 0.5).double().mean()),
        "per cent": _share(lambda t: 100 * (~t.any(-1)).double().mean()),
        "divided by the cells": lambda m, s: _share(lambda t: (~t.any(-1)).sum())(m, s) / m.numel(),
        "divided by the block rows": lambda m, s: (
            _share(lambda t: (~t.any(-1)).sum())(m, s) / (m.shape[0] // s)
        ),
        "bands of rows": lambda m, s: (~m.reshape(-1, s * m.shape[1]).any(-1)).double().mean(),
        "empty rows": lambda m, s: (~m.any(-1)).double().mean(),
        "empty columns": lambda m, s: (~m.any(0)).double().mean(),
        "reshape without swapping": lambda m, s: (~m.reshape(-1, s * s).any(-1)).double().mean(),
        "axes exchanged": lambda m, s: (
            (~m.reshape(m.shape[0] // s, s, m.shape[1] // s, s).any(2).any(0)).double().mean()
        ),
        "size and count exchanged": lambda m, s: (
            (~m.reshape(s, m.shape[0] // s, s, m.shape[1] // s).any(3).any(1)).double().mean()
        ),
        "first cell of each block": lambda m, s: (~m[::s, ::s]).double().mean(),
        "last cell of each block": lambda m, s: (~m[s - 1 :: s, s - 1 :: s]).double().mean(),
        "corners": lambda m, s: (
            (~(m[::s, ::s] | m[s - 1 :: s, ::s] | m[::s, s - 1 :: s] | m[s - 1 :: s, s - 1 :: s]))
            .double()
            .mean()
        ),
        "diagonals": _share(
            lambda t: (~t[..., :: int(t.shape[-1] ** 0.5) + 1].any(-1)).double().mean()
        ),
        "square masks only": lambda m, s: skipped_by_loop(m[:, : m.shape[0]], s),
        "half of a causal mask": lambda m, s: (m.shape[0] // s - 1) / (2 * (m.shape[0] // s)),
        "a block of 2": _share(lambda t: (~t.any(-1)).double().mean(), size_of=lambda s: 2),
        "table of blocks": _share(lambda t: ~t.any(-1)),
        "1 or 0": _share(lambda t: (~t.any(-1)).any().double()),
    },
}
