"""Answers to the exercises of `mask-failures`."""

from fractions import Fraction

import numpy as np
import torch


def folded_loop(valid_lens, num_heads, len_k):
    out = torch.zeros(len(valid_lens) * num_heads, 1, len_k, dtype=torch.bool)
    for b, n in enumerate(valid_lens.tolist()):
        out[b * num_heads : (b + 1) * num_heads, :, :n] = True
    return out


def folded_einsum(valid_lens, num_heads, len_k):
    row = (torch.arange(len_k) < valid_lens[:, None]).long()
    spread = torch.einsum("bk,h->bhk", row, torch.ones(num_heads, dtype=torch.long))
    return spread.reshape(-1, 1, len_k).bool()


def folded_lists(valid_lens, num_heads, len_k):
    return torch.tensor(
        [[[j < n for j in range(len_k)]] for n in valid_lens.tolist() for _ in range(num_heads)]
    )


def folded_stack(valid_lens, num_heads, len_k):
    row = torch.arange(len_k) < valid_lens[:, None]
    return torch.stack([row] * num_heads, 1).flatten(0, 1).unsqueeze(1)


def _key(lens, n):
    return (torch.arange(n) < lens[:, None])[:, None]


def count_by_loop(real):
    out = torch.zeros(real.shape, dtype=torch.long)
    for b, row in enumerate(real.tolist()):
        place = 0
        for j, token in enumerate(row):
            if token:
                out[b, j] = place
                place += 1
    return out


def count_before(real):
    before = real.long()[:, None, :].expand(-1, real.shape[1], -1).tril(-1)
    return before.sum(-1)


def count_where(real):
    return torch.where(real, real.long().cumsum(1) - 1, 0)


def count_by_product(real):
    n = real.shape[1]
    upper = torch.ones(n, n).triu(1)
    return (real.float() @ upper).long()


def numpy_count(real):
    return torch.from_numpy(np.maximum(np.cumsum(real.numpy(), axis=1) - 1, 0))


def leak_by_equal(attend, queries, keys, values, mask):
    before = attend(queries, keys, values)
    out = torch.zeros(mask.shape[:2], dtype=torch.bool)
    for i in range(mask.shape[1]):
        seen = mask[:, i].unsqueeze(-1)
        k = torch.where(seen, keys, torch.nan)
        v = torch.where(seen, values, torch.nan)
        after = attend(queries, k, v)
        for b in range(len(mask)):
            out[b, i] = not torch.allclose(before[b, i], after[b, i], atol=1e-6)
    return out


def leak_sequence_by_sequence(attend, queries, keys, values, mask):
    rows = []
    for b in range(len(mask)):
        row = []
        for i in range(mask.shape[1]):
            k, v = keys.clone(), values.clone()
            k[b, ~mask[b, i]] = torch.nan
            v[b, ~mask[b, i]] = torch.nan
            same = torch.isclose(
                attend(queries, k, v)[b, i], attend(queries, keys, values)[b, i], atol=1e-6
            )
            row.append(not same.all())
        rows.append(row)
    return torch.tensor(rows)


def leak_by_maximum(attend, queries, keys, values, mask):
    before, out = attend(queries, keys, values), []
    for i in range(queries.shape[1]):
        k, v = (x.masked_fill(~mask[:, i, :, None], float("nan")) for x in (keys, values))
        gap = (attend(queries, k, v)[:, i] - before[:, i]).abs().amax(-1)
        out.append(torch.logical_not(gap <= 1e-5))
    return torch.stack(out, -1)


def leak_separately(attend, queries, keys, values, mask):
    before = attend(queries, keys, values)
    out = torch.zeros(mask.shape[:2], dtype=torch.bool)
    for i in range(mask.shape[1]):
        hidden = ~mask[:, i, :, None]
        for k, v in (
            (keys.masked_fill(hidden, torch.nan), values),
            (keys, values.masked_fill(hidden, torch.nan)),
        ):
            out[:, i] |= ~torch.isclose(attend(queries, k, v)[:, i], before[:, i], atol=1e-6).all(
                -1
            )
    return out


def _leaks(
    poison=torch.nan,
    poisoned="kv",
    hidden=lambda m, i: ~m[:, i],
    moved=lambda a, b: ~a.isclose(b, atol=1e-6).all(-1),
    tidy=lambda x: x,
    row=lambda x, i: x[:, i],
):
    def leaks(attend, queries, keys, values, mask):
        before, out = attend(queries, keys, values), []
        for i in range(mask.shape[1]):
            bad = hidden(mask, i)[..., None]
            k = keys.masked_fill(bad, poison) if "k" in poisoned else keys
            v = values.masked_fill(bad, poison) if "v" in poisoned else values
            out.append(moved(row(attend(queries, k, v), i), row(before, i)))
        return tidy(torch.stack(out, 1))

    return leaks


def poisoned_once(attend, queries, keys, values, mask):
    never = ~mask.any(1)[..., None]
    after = attend(
        queries, keys.masked_fill(never, torch.nan), values.masked_fill(never, torch.nan)
    )
    return ~after.isclose(attend(queries, keys, values), atol=1e-6).all(-1)


def any_query_moved(attend, queries, keys, values, mask):
    out = _leaks()(attend, queries, keys, values, mask)
    return out.any(-1, keepdim=True).expand_as(out)


def all_at_once(attend, queries, keys, values, mask):
    before, out = attend(queries, keys, values), []
    for i in range(mask.shape[1]):
        bad = ~mask[:, i, :, None]
        after = attend(
            queries, keys.masked_fill(bad, torch.nan), values.masked_fill(bad, torch.nan)
        )
        out.append(~after.isclose(before, atol=1e-6).all(-1).all(-1))
    return torch.stack(out, 1)


def poisons_in_place(attend, queries, keys, values, mask):
    before, out = attend(queries, keys, values), []
    for i in range(mask.shape[1]):
        bad = ~mask[:, i]
        keys[bad], values[bad] = torch.nan, torch.nan
        out.append(~attend(queries, keys, values)[:, i].isclose(before[:, i], atol=1e-6).all(-1))
    return torch.stack(out, 1)


def first_sequence(attend, queries, keys, values, mask):
    out = _leaks()(attend, queries, keys, values, mask)
    return out[:1].expand_as(out)


RIGHT = {
    "repaired_weight": {
        "float": 0.625,
        "numpy": np.float64(0.5 / 0.8),
        "0-d tensor": torch.tensor(0.625),
        "fraction": Fraction(5, 8),
    },
    "folded_mask": {
        "loop": folded_loop,
        "einsum": folded_einsum,
        "lists": folded_lists,
        "stack": folded_stack,
        "repeat_interleave": lambda lens, h, n: (
            torch.arange(n) < lens.repeat_interleave(h).view(-1, 1, 1)
        ),
    },
    "token_positions": {
        "loop": count_by_loop,
        "tokens before": count_before,
        "where": count_where,
        "matrix product": count_by_product,
        "NumPy": numpy_count,
    },
    "leak_test": {
        "where and allclose": leak_by_equal,
        "sequence by sequence": leak_sequence_by_sequence,
        "largest difference": leak_by_maximum,
        "keys and values one after the other": leak_separately,
    },
}

WRONG = {
    "repaired_weight": {
        "as printed": 0.5,
        "leak added": 0.6,
        "padding shared evenly": 0.7,
        "divided by all": 0.5 / 1.0 + 0.2,
        "softmax again": float(torch.tensor([0.5, 0.3]).softmax(0)[0]),
        "the second": 0.375,
        "times .8": 0.4,
        "ratio": 5 / 3,
        "half": 1.0,
    },
    "folded_mask": {
        "repeat": lambda lens, h, n: _key(lens.repeat(h), n),
        "inverted": lambda lens, h, n: ~_key(lens.repeat_interleave(h), n),
        "not repeated": lambda lens, h, n: _key(lens, n),
        "no axis for the queries": lambda lens, h, n: _key(lens.repeat_interleave(h), n)[:, 0],
        "an axis for the heads": lambda lens, h, n: _key(lens, n)[:, None].expand(-1, h, -1, -1),
        "one key too many": lambda lens, h, n: _key(lens.repeat_interleave(h) + 1, n),
        "one key too few": lambda lens, h, n: _key(lens.repeat_interleave(h) - 1, n),
        "square": lambda lens, h, n: _key(lens.repeat_interleave(h), n).expand(-1, n, -1),
        "axes of queries and keys exchanged": lambda lens, h, n: (
            _key(lens.repeat_interleave(h), n).mT
        ),
        "floats": lambda lens, h, n: _key(lens.repeat_interleave(h), n).float(),
        "−∞ and 0": lambda lens, h, n: torch.zeros(len(lens) * h, 1, n).masked_fill(
            ~_key(lens.repeat_interleave(h), n), -torch.inf
        ),
        "two heads": lambda lens, h, n: _key(lens.repeat_interleave(2), n),
        "longest length for len_k": lambda lens, h, n: _key(
            lens.repeat_interleave(h), int(lens.max())
        ),
        "padding on the left": lambda lens, h, n: _key(lens.repeat_interleave(h), n).flip(-1),
        "first length for all": lambda lens, h, n: _key(lens[:1].repeat(len(lens) * h), n),
        "lengths multiplied": lambda lens, h, n: _key((lens * h).repeat_interleave(h), n),
        "reversed": lambda lens, h, n: _key(lens.flip(0).repeat_interleave(h), n),
        "sorted": lambda lens, h, n: _key(lens.repeat(h).sort().values, n),
        "heads as queries": lambda lens, h, n: _key(lens, n).expand(-1, h, -1),
        "only the last valid key": lambda lens, h, n: (
            torch.arange(n) == lens.repeat_interleave(h)[:, None] - 1
        )[:, None],
        "batch for heads": lambda lens, h, n: _key(lens.repeat_interleave(len(lens)), n),
        "keys and heads exchanged": lambda lens, h, n: _key(lens.repeat_interleave(n), h),
    },
    "token_positions": {
        "counted from 1": lambda r: r.long().cumsum(-1),
        "negative padding": lambda r: r.long().cumsum(-1) - 1,
        "places": lambda r: torch.arange(r.shape[1]).expand(r.shape),
        "places of real tokens": lambda r: torch.arange(r.shape[1]) * r,
        "places less the padding's number": lambda r: (
            torch.arange(r.shape[1]) - (~r).sum(-1, keepdim=True)
        ).clamp(min=0),
        "padding counted": lambda r: ((~r).long().cumsum(-1) - 1).clamp(min=0),
        "counted down": lambda r: (r.long().flip(-1).cumsum(-1).flip(-1) - 1).clamp(min=0),
        "along the batch": lambda r: (r.long().cumsum(0) - 1).clamp(min=0),
        "first row for all": lambda r: count_by_loop(r[:1]).expand_as(r),
        "clamped too early": lambda r: r.long().cumsum(-1).clamp(min=1),
        "starts at the first token, ignores later padding": lambda r: (
            torch.arange(r.shape[1]) - r.to(torch.int8).argmax(-1, keepdim=True)
        ).clamp(min=0),
        "number of tokens": lambda r: r.sum(-1, keepdim=True).expand(r.shape),
        "floats": lambda r: count_by_loop(r).float(),
        "0 and 1": lambda r: r.long(),
        "counted on across rows": lambda r: (
            (r.long().flatten().cumsum(0) - 1).clamp(min=0).view(r.shape)
        ),
        "one too few": lambda r: (r.long().cumsum(-1) - 2).clamp(min=0),
        "previous place counted": lambda r: torch.nn.functional.pad(
            (~r).long().cumsum(-1)[:, :-1], (1, 0)
        ),
        "left padding only": lambda r: (
            torch.arange(r.shape[1]) - (r.shape[1] - r.sum(-1, keepdim=True))
        ).clamp(min=0),
        "right padding only": lambda r: torch.arange(r.shape[1]).expand(r.shape) * r,
        "true where first": lambda r: (r.long().cumsum(-1) == 1).long(),
        "minimum for maximum": lambda r: (r.long().cumsum(-1) - 1).clamp(max=0),
        "modulo": lambda r: (
            (r.long().cumsum(-1) - 1) % r.sum(-1, keepdim=True).clamp(min=1) * 1
            + (r.long().cumsum(-1) > 1).long()
        ),
    },
    "leak_test": {
        "keys only": _leaks(poisoned="k"),
        "values only": _leaks(poisoned="v"),
        "small poison": _leaks(poison=1e-7),
        "poison 0": _leaks(poison=0.0),
        "poison 100": _leaks(poison=100.0),
        "difference larger than": _leaks(moved=lambda a, b: ((a - b).abs() > 1e-5).any(-1)),
        "NaN counts as equal": _leaks(
            moved=lambda a, b: ~a.isclose(b, atol=1e-6, equal_nan=True).all(-1)
        ),
        "NaN only": _leaks(moved=lambda a, b: a.isnan().any(-1)),
        "all for any": _leaks(moved=lambda a, b: (~a.isclose(b, atol=1e-6)).all(-1)),
        "first number only": _leaks(moved=lambda a, b: ~a.isclose(b, atol=1e-6)[..., 0]),
        "mean of the output": _leaks(moved=lambda a, b: ~a.mean(-1).isclose(b.mean(-1), atol=1e-6)),
        "tolerance of a tenth, finite poison": _leaks(
            poison=10.0, moved=lambda a, b: ((a - b).abs() > 0.1).any(-1)
        ),
        "mask inverted": _leaks(hidden=lambda m, i: m[:, i]),
        "True = does not leak": _leaks(tidy=lambda x: ~x),
        "columns of the mask for rows": lambda a, q, k, v, m: _leaks(
            hidden=lambda m, i: ~m[:, :, i] if m.shape[1] == m.shape[2] else ~m[:, i]
        )(a, q, k, v, m),
        "first sequence's mask": _leaks(hidden=lambda m, i: ~m[:1, i].expand(m.shape[0], -1)),
        "first query's mask": _leaks(hidden=lambda m, i: ~m[:, 0]),
        "next query judged": _leaks(row=lambda x, i: x[:, (i + 1) % x.shape[1]]),
        "poisoned once, keys that nobody sees": poisoned_once,
        "all queries judged": all_at_once,
        "any query": any_query_moved,
        "one answer": lambda a, q, k, v, m: _leaks()(a, q, k, v, m).any(),
        "by sequence": lambda a, q, k, v, m: _leaks()(a, q, k, v, m).any(-1),
        "transposed": lambda a, q, k, v, m: _leaks()(a, q, k, v, m).T,
        "in place": poisons_in_place,
        "first sequence for all": first_sequence,
        "last query left out": lambda a, q, k, v, m: torch.cat(
            [_leaks()(a, q, k, v, m)[:, :-1], torch.zeros(len(m), 1, dtype=torch.bool)], 1
        ),
        "infinite poison": _leaks(poison=-torch.inf, poisoned="k"),
        "axis of the values kept": _leaks(moved=lambda a, b: ~a.isclose(b, atol=1e-6)),
    },
}
