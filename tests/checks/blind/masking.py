"""Answers to the exercises of `masking`."""

import math

import numpy as np
import torch

from attention_lib import causal_mask


def fill_in_place(valid_lens, len_k):
    out = torch.zeros(len(valid_lens), len_k, dtype=torch.bool)
    for row, length in zip(out, valid_lens.tolist(), strict=True):
        row[length:] = True
    return out


def nested_lists(valid_lens, len_k):
    return torch.tensor([[j >= int(n) for j in range(len_k)] for n in valid_lens])


def loop_one_less(valid_lens, len_k):
    out = torch.ones(len(valid_lens), len_k, dtype=torch.bool)
    for b, n in enumerate(valid_lens.tolist()):
        out[b, : n - 1] = False
    return out


def own_maximum(valid_lens, len_k):
    return torch.arange(int(valid_lens.max())) >= valid_lens[:, None]


def _positions(n, valid_lens):
    return torch.arange(n, device=valid_lens.device)


def repaired_before(scores, mask):
    mask = mask.expand(scores.shape)
    some = mask.any(-1, keepdim=True)
    filled = scores.masked_fill(~mask, -torch.inf).masked_fill(~some, 0.0)
    return torch.softmax(filled, -1) * some


def visible_only(scores, mask):
    clean = torch.where(mask, scores, torch.zeros_like(scores))
    top = torch.where(mask, scores, -torch.inf).amax(-1, keepdim=True)
    top = torch.where(top.isinf(), torch.zeros_like(top), top)
    e = torch.where(mask, (clean - top).clamp(max=0).exp(), torch.zeros_like(scores))
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total == 0, torch.ones_like(total), total)


def row_by_row(scores, mask):
    mask = torch.broadcast_to(mask, scores.shape)
    out = torch.zeros_like(scores)
    flat, flat_mask, flat_out = (x.reshape(-1, scores.shape[-1]) for x in (scores, mask, out))
    rows = []
    for row, seen in zip(flat, flat_mask, strict=True):
        new = torch.zeros_like(row)
        if seen.any():
            new[seen] = torch.softmax(row[seen], 0)
        rows.append(new)
    return torch.stack(rows).reshape(flat_out.reshape(scores.shape).shape)


def nan_to_num_after(scores, mask):
    return scores.masked_fill(~mask, float("-inf")).softmax(-1).nan_to_num(0.0)


def lowest_then_zero(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)


def fills_the_scores(scores, mask):
    scores[~mask.expand_as(scores)] = -torch.inf
    return torch.where(mask, scores.softmax(-1), 0.0)


def fills_in_place(scores, mask):
    scores.masked_fill_(~mask, -torch.inf)
    return torch.where(mask, scores.softmax(-1), 0.0)


def adds_log_mask(scores, mask):
    return torch.where(mask, (scores + mask.to(scores.dtype).log()).softmax(-1), 0.0)


def multiplies_by_mask(scores, mask):
    return (scores * mask).softmax(-1)


def zero_after(scores, mask):
    return scores.softmax(-1) * mask


def renormalised(scores, mask):
    w = scores.softmax(-1) * mask
    return w / w.sum(-1, keepdim=True)


def renormalised_safely(scores, mask):
    w = torch.where(mask, scores.softmax(-1), 0.0)
    return w / w.sum(-1, keepdim=True).clamp(min=1e-9)


def bare(scores, mask):
    e = torch.where(mask, scores.exp(), 0.0)
    return e / e.sum(-1, keepdim=True).clamp(min=1e-30)


def minus_fill(value, after=False):
    def softmax(scores, mask):
        w = scores.masked_fill(~mask, value).softmax(-1)
        return torch.where(mask, w, 0.0) if after else w

    return softmax


def global_max(scores, mask):
    filled = torch.where(mask, scores, -torch.inf)
    e = (filled - filled.max()).exp()
    return torch.where(mask, e / e.sum(-1, keepdim=True), 0.0)


def max_of_all_keys(scores, mask):
    e = torch.where(mask, (scores - scores.amax(-1, keepdim=True)).exp(), 0.0)
    return e / e.sum(-1, keepdim=True).clamp(min=1e-38)


def float32_only(scores, mask):
    return torch.where(mask, scores.float().masked_fill(~mask, -torch.inf).softmax(-1), 0.0)


def rows_by_documents(documents):
    out = []
    for row in documents.tolist():
        n = len(row)
        out.append([[j <= i and row[i] == row[j] for j in range(n)] for i in range(n)])
    return torch.tensor(out)


def block_diagonal(documents):
    out = torch.zeros(*documents.shape, documents.shape[-1], dtype=torch.bool)
    for b, row in enumerate(documents):
        for number in row.unique():
            place = (row == number).nonzero().flatten()
            out[b, place[:, None], place[None, :]] = True
    return out.tril()


def _same(documents):
    return documents[:, :, None] == documents[:, None, :]


def starts(documents):
    n = documents.shape[1]
    change = torch.zeros_like(documents, dtype=torch.bool)
    change[:, 1:] = documents[:, 1:] != documents[:, :-1]
    number = change.cumsum(-1)
    place = torch.arange(n)
    return (number[..., None] == number[:, None, :]) & (place[:, None] >= place)


def two_documents_only(documents):
    first = (documents == 0)[:, :, None] & (documents == 0)[:, None, :]
    second = (documents == 1)[:, :, None] & (documents == 1)[:, None, :]
    return (first | second).tril()


def hard_coded(documents):
    block = torch.block_diag(torch.ones(3, 3), torch.ones(2, 2)).tril().bool()
    return block.expand(documents.shape[0], 5, 5)


def multiplied_documents(documents):
    d = documents.to(torch.float32)
    return (d[:, :, None] * d[:, None, :] == d[:, :, None] ** 2).tril()


RIGHT = {
    "kept_cells": {
        "int": 12,
        "float": 12.0,
        "numpy": np.int64(12),
        "0-d tensor": torch.tensor(12),
    },
    "lowest_loss": {
        "float": math.log(3),
        "numpy": np.log(3),
        "0-d tensor": torch.tensor(3.0).log(),
        "rounded": 1.099,
    },
    "key_padding": {
        "comparison": lambda lens, n: torch.arange(n)[None, :] >= lens[:, None],
        "slices": fill_in_place,
        "lists": nested_lists,
        "cumulative sum": lambda lens, n: torch.ones(len(lens), n).cumsum(-1) > lens.unsqueeze(1),
        "logical_not": lambda lens, n: torch.logical_not(
            _positions(n, lens).expand(len(lens), -1) < lens.view(-1, 1)
        ),
    },
    "masked_softmax": {
        "repaired before": repaired_before,
        "exponentials of the visible keys": visible_only,
        "loop over rows": row_by_row,
        "nan_to_num afterwards, hidden NaN filled": nan_to_num_after,
        "the lowest number, then 0": lowest_then_zero,
    },
    "packed_mask": {
        "lists": rows_by_documents,
        "blocks": block_diagonal,
        "comparison and tril": lambda d: _same(d).tril(),
        "positions": starts,
        "logical_and": lambda d: torch.logical_and(
            torch.eq(d.unsqueeze(2), d.unsqueeze(1)),
            torch.ones(d.shape[1], d.shape[1]).tril().bool(),
        ),
    },
}

WRONG = {
    "kept_cells": {
        "all of the triangle": 15,
        "all real columns": 15.0,
        "the masked ones": 13,
        "real rows and columns": 6,
        "full rectangle 3 × 3": 9,
        "all": 25,
        "without the diagonal": 7,
        "without padded rows, plus two": 8,
    },
    "lowest_loss": {
        "log base 2": math.log2(3),
        "without the minus sign": -math.log(3),
        "1/3": 1 / 3,
        "half of it": math.log(3) / 2,
        "the chapter's language": math.log(2),
        "26 letters": math.log(26),
        "mean weighted once more": math.log(3) / 3,
        "log base 10": math.log10(3),
        "0": 0.0,
    },
    "key_padding": {
        "not turned round": lambda lens, n: torch.arange(n) < lens[:, None],
        "off by one, one hidden too few": lambda lens, n: torch.arange(n) > lens[:, None],
        "off by one, one hidden too many": lambda lens, n: torch.arange(n) >= lens[:, None] - 1,
        "loop ends one early": loop_one_less,
        "axis of the queries kept": lambda lens, n: (torch.arange(n) >= lens[:, None])[:, None],
        "axis of the batch missing": lambda lens, n: torch.arange(n) >= lens.max(),
        "transposed": lambda lens, n: (torch.arange(n) >= lens[:, None]).T,
        "floats": lambda lens, n: (torch.arange(n) >= lens[:, None]).float(),
        "integers": lambda lens, n: (torch.arange(n) >= lens[:, None]).long(),
        "−∞ for True": lambda lens, n: torch.zeros(len(lens), n).masked_fill(
            torch.arange(n) >= lens[:, None], -torch.inf
        ),
        "longest length for len_k": own_maximum,
        "padded on the left": lambda lens, n: torch.arange(n) < n - lens[:, None],
        "only the first hidden": lambda lens, n: torch.arange(n) == lens[:, None],
        "last valid key only": lambda lens, n: torch.arange(n) != lens[:, None] - 1,
        "first sequence for all": lambda lens, n: (torch.arange(n) >= lens[0]).expand(len(lens), n),
        "bitwise not of a number": lambda lens, n: ~(torch.arange(n) < lens[:, None]).long(),
        "squares only": lambda lens, n: torch.arange(n)[:, None] >= lens,
        "reversed lengths": lambda lens, n: torch.arange(n) >= lens.flip(0)[:, None],
        "square mask": lambda lens, n: (torch.arange(n) >= lens[:, None])[:, None].expand(
            -1, n, -1
        ),
        "four columns, as shown": lambda lens, n: torch.arange(4) >= lens[:, None],
        "causal mask": lambda lens, n: ~causal_mask(n)[: len(lens)],
        "everything ignored": lambda lens, n: torch.ones(len(lens), n, dtype=torch.bool),
        "nothing ignored": lambda lens, n: torch.zeros(len(lens), n, dtype=torch.bool),
    },
    "masked_softmax": {
        "empty row NaN": lambda s, m: s.masked_fill(~m, -torch.inf).softmax(-1),
        "−1e9": minus_fill(-1e9),
        "−1e9, then 0": minus_fill(-1e9, after=True),
        "−100, then 0": minus_fill(-100.0, after=True),
        "filled with 0": minus_fill(0.0),
        "lowest finite number": lambda s, m: s.masked_fill(~m, torch.finfo(s.dtype).min).softmax(
            -1
        ),
        "mask inverted": lambda s, m: torch.where(
            ~m, s.masked_fill(m, -torch.inf).softmax(-1), 0.0
        ),
        "scores times the mask": multiplies_by_mask,
        "zeroed after softmax": zero_after,
        "zeroed by where after softmax": lambda s, m: torch.where(m, s.softmax(-1), 0.0),
        "zeroed and divided": renormalised,
        "zeroed and divided, safely": renormalised_safely,
        "bare exponentials": bare,
        "maximum of the hidden keys, too": max_of_all_keys,
        "one maximum for all rows": global_max,
        "log of the mask added": adds_log_mask,
        "softmax over the queries": lambda s, m: torch.where(
            m, s.masked_fill(~m, -torch.inf).softmax(-2), 0.0
        ).nan_to_num(0),
        "softmax over the whole table": lambda s, m: torch.where(
            m,
            s.masked_fill(~m, -torch.inf).flatten(-2).softmax(-1).view_as(s),
            0.0,
        ).nan_to_num(0),
        "softmax over axis 1": lambda s, m: torch.where(
            m, s.masked_fill(~m, -torch.inf).softmax(1), 0.0
        ).nan_to_num(0),
        "fills the scores in place": fills_in_place,
        "assigns into the scores": fills_the_scores,
        "mean in an empty row": lambda s, m: (
            s.masked_fill(~m, -torch.inf).softmax(-1).nan_to_num(1 / s.shape[-1])
        ),
        "float32 always": float32_only,
        "adds the mask": lambda s, m: (s + m).softmax(-1),
        "subtracts the inverted mask": lambda s, m: (s - (~m).to(s.dtype)).softmax(-1),
        "no mask": lambda s, m: s.softmax(-1),
        "adds −1e9 times the mask": lambda s, m: (s + (1 - m.to(s.dtype)) * -1e9).softmax(-1),
        "logarithms": lambda s, m: s.masked_fill(~m, -torch.inf).log_softmax(-1),
        "−∞ times a mask": lambda s, m: (s + (~m) * -torch.inf).softmax(-1),
    },
    "packed_mask": {
        "only the documents": _same,
        "only causal": lambda d: causal_mask(d.shape[-1]).expand(d.shape[0], -1, -1),
        "or for and": lambda d: _same(d) | causal_mask(d.shape[-1]),
        "inverted": lambda d: ~_same(d).tril(),
        "diagonal hidden": lambda d: _same(d).tril(-1),
        "one step into the future": lambda d: _same(d).tril(1),
        "triu for tril": lambda d: _same(d).triu(),
        "floats": lambda d: _same(d).tril().float(),
        "only the first row of the batch": lambda d: _same(d)[0].tril(),
        "all as the first row": lambda d: _same(d[:1]).tril().expand(d.shape[0], -1, -1),
        "two documents at most": two_documents_only,
        "the example": hard_coded,
        "earlier documents visible": lambda d: (d[:, :, None] >= d[:, None, :]).tril(),
        "different documents": lambda d: (d[:, :, None] != d[:, None, :]).tril(),
        "a head axis too many": lambda d: _same(d).tril()[:, None],
        "compared with positions": lambda d: (d[:, :, None] == torch.arange(d.shape[1])).tril(),
        "tokens of document 0 for padding": lambda d: (_same(d) & (d != 0)[:, None]).tril(),
        "batch compared with batch": lambda d: (d[None] == d[:, None]).tril(),
        "products for equality": multiplied_documents,
        "neighbours only": lambda d: (
            _same(d).tril() & ~torch.ones(d.shape[1], d.shape[1], dtype=torch.bool).tril(-3)
        ),
        "−∞ and 0": lambda d: torch.zeros(*d.shape, d.shape[1]).masked_fill(
            ~_same(d).tril(), -torch.inf
        ),
        "distance of numbers below 2": lambda d: ((d[:, :, None] - d[:, None, :]).abs() < 2).tril(),
    },
}
