"""Wrong answers of readers who had not seen the graders, where most found no name at first.

Each was once told only which number differs, or what kind of error it raised. They stand here and
not in the files of their chapters because they are the hard ones: ``test_tables.py`` asks that few
of all answers hear no more than that.
"""

import math

import torch
from torch.nn import functional as F

from attention_lib import (
    causal_mask,
    length_mask,
    masked_softmax,
    merge_heads,
    sinusoidal_positions,
    split_heads,
)
from attention_lib.checks import (
    head_layouts,
    heatmaps,
    mask_failures,
    masking,
    multi_head,
    one_head,
    positions,
    scoring_functions,
    soft_lookup,
    softmax_gradient,
    train_a_reader,
    variance,
    variance_limits,
)
from tests.checks.tables import judged


def scores(q, k, divisor=None):
    return q @ k.mT / math.sqrt(divisor or q.shape[-1])


def attended(q, k, v):
    return scores(q, k).softmax(-1) @ v


def squares(x):
    return x.square().sum(-1)


def unit(x):
    return F.normalize(x, dim=-1)


def best(s):
    return s == s.amax(-1, keepdim=True)


def one_more(s):
    return s.exp() / (1 + s.exp().sum(-1, keepdim=True))


ATTENTION = [
    (lambda q, k, v: (q @ k.reshape(len(k), k.shape[2], -1) / q.shape[-1] ** 0.5).softmax(-1) @ v,
        "reshape and view"),
    (lambda q, k, v: (scores(k, q)).softmax(-1) @ v, "a row belongs to a query"),
    (lambda q, k, v: scores(q, k).softmax(-1).softmax(-1) @ v, "softmax is taken twice"),
    (lambda q, k, v: unit(scores(q, k)) @ v, "divided by its length"),
    (lambda q, k, v: scores(q, k).relu() @ v, "that is relu"),
    (lambda q, k, v: (-torch.cdist(q, k)).softmax(-1) @ v, "that is a distance"),
    (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), "causal mask"),
    (lambda q, k, v: v.gather(1, scores(q, k).argmax(-1, keepdim=True).expand(
        -1, -1, v.shape[-1])), "the best key's value"),
    (lambda q, k, v: attended(q, k, v) + q if q.shape[-1] == v.shape[-1] else attended(q, k, v),
        "`queries` is added"),
    (lambda q, k, v: attended(q, k, v)[0], "what stands first in the right result"),
    (lambda q, k, v: attended(q, k, v)[:, :, :1], "expected shape"),
]  # fmt: skip

HARD = [
    (lambda s: s.amax(-1, keepdim=True), "the best score"),
    (lambda s: best(s) / best(s).sum(-1), "keepdim=True keeps it"),
    (lambda s: s == s.max(-1).values, "keepdim=True keeps it"),
    (lambda s: s.softmax(-1).round(), "rounded to 0 and 1"),
    (lambda s: s * best(s), "the best scores stand there"),
    (lambda s: best(s) / best(s).float().mean(-1, keepdim=True), "by their mean"),
    (lambda s: best(s) / 2, "a tie of two"),
    (lambda s: (s >= s.amax(-1, keepdim=True) - 1e-6) / (s >= s.amax(-1, keepdim=True) - 1e-6).sum(
        -1, keepdim=True), "only close"),
    (lambda s: s.max(-1), "take `.values`"),
]  # fmt: skip

ABSTAIN = [
    (lambda q, k, v: F.pad(q @ k.mT, (0, 1), value=1.0).softmax(-1)[..., :-1] @ v,
        "the added score is 1"),
    (lambda q, k, v: (q @ k.mT).softmax(-1) @ v / 2, "sums to a half"),
    (lambda q, k, v: one_more(q @ k.mT).nan_to_num(0.0) @ v, "infinity over infinity is NaN"),
    (lambda q, k, v: (q @ k.mT).exp() / (1 + (q @ k.mT).exp().sum(-1)) @ v, "lost its axis"),
    (lambda q, k, v: F.pad(q @ k.mT, (0, 0, 0, 1)).softmax(-2)[:, :-1] @ v, "over the queries"),
    (lambda q, k, v: attended(q, k, v) * 0 + (q @ k.mT).softmax(-1) @ v
        * ((q @ k.mT).amax(-1, keepdim=True) >= 0), "sums to 1 or to 0"),
    (lambda q, k, v: (q @ k.mT).exp() / (1 + (q @ k.mT).exp().sum()) @ v, "over all rows"),
    (lambda q, k, v: F.pad(q @ k.mT, (1, 0)).softmax(-1)[..., :-1] @ v, "the 0 stands first"),
    (lambda q, k, v: F.pad(q @ k.mT, (0, 1)).softmax(-1)[..., 1:] @ v, "moved by one"),
    (lambda q, k, v: (q @ k.mT).sigmoid() @ v, "a sigmoid of each score"),
    (lambda q, k, v: F.pad(q @ k.mT, (0, 1)).softmax(-1), "these are the weights"),
]  # fmt: skip

SCALED = [
    (lambda q, k: q @ k.permute(2, 1, 0) / q.shape[-1] ** 0.5, "turns all axes round"),
    (lambda q, k: q @ k.reshape(len(k), k.shape[2], -1) / q.shape[-1] ** 0.5, "reshape and view"),
    (lambda q, k: q * k / q.shape[-1] ** 0.5, "every query meets every"),
    (lambda q, k: q @ k.mT / (q.shape[-1] / 2), "is not half of it"),
    (lambda q, k: q @ k.mT / math.isqrt(q.shape[-1]), "rounded down"),
    (lambda q, k: q @ k.mT // q.shape[-1] ** 0.5, "`//` rounds"),
    (lambda q, k: q @ k.mT / len(q) ** 0.5, "len(queries)"),
    (lambda q, k: q @ k.mT / 8, "8 is the root of 64"),
    (lambda q, k: unit(q @ k.mT), "by its length"),
    (lambda q, k: torch.tensordot(q, k, ([-1], [-1])) / q.shape[-1] ** 0.5, "of all sentences"),
    (lambda q, k: (q @ k.mT).sqrt(), "it is d_k whose root"),
    (lambda q, k: (q[:, :, None] + k[:, None]).sum(-1) / q.shape[-1] ** 0.5, "are added"),
    (lambda q, k: torch.cdist(q, k) / q.shape[-1] ** 0.5, "that is a distance"),
    (lambda q, k: scores(q, k).round(decimals=3), "Nearly right"),
]

GAUSSIAN = [
    (lambda q, k: (q @ k.mT - squares(k)[:, None] / 2).exp(), "the exponential is taken already"),
    (lambda q, k: scores(q, k) - squares(k)[:, None] / 2, "divided by the root of d_k"),
    (lambda q, k: q @ k.mT - k.square().mean(-1)[:, None] / 2, "the mean of the squares"),
    (lambda q, k: q @ k.mT - k.sum(-1)[:, None] ** 2 / 2, "before they are squared"),
    (lambda q, k: q @ k.mT - k.square().sum(1)[:, None] / 2, "over the keys (dim=1)"),
    (lambda q, k: 2 * q @ k.mT - squares(k)[:, None] / 2, "is doubled"),
    (lambda q, k: unit(q) @ unit(k).mT, "the cosine"),
    (lambda q, k: (-(torch.cdist(q, k) ** 2) / 2).exp(), "the exponential is taken already"),
    (lambda q, k: q @ k.mT * squares(k)[:, None] / 2, "not multiplied or divided"),
    (lambda q, k: q @ k.mT / squares(k)[:, None], "not multiplied or divided"),
]


def additive(q, k, W_q, W_k, w_v, feature=torch.tanh, units=slice(None)):
    of_query, of_key = (q @ W_q.T)[..., units], (k @ W_k.T)[..., units]
    rows = [feature(of_query + key[:, None]) @ w_v[units] for key in of_key.unbind(1)]
    return torch.stack(rows, -1)


ADDITIVE = [
    (lambda q, k, W_q, W_k, w: additive(q, k, W_k, W_q, w), "W_q and W_k have changed places"),
    (lambda q, k, W_q, W_k, w: additive(q, k, W_q.T, W_k.T, w), "queries @ W_q.T"),
    (lambda *case: additive(*case, units=slice(1)), "only the first hidden feature"),
    (lambda *case: additive(*case, units=slice(-1, None)), "only the last hidden feature"),
    (lambda *case: additive(*case, feature=lambda x: x.tanh().abs()), "lose their sign"),
    (lambda q, k, W_q, W_k, w: additive(q, k, W_q, W_k, w**2), "are squared"),
]

PADDING = [
    (lambda lens, n: torch.arange(n) >= lens, "along the same axis"),
    (lambda lens, n: torch.arange(n) == lens[:, None], ">=, not =="),
    (lambda lens, n: torch.arange(n) != lens[:, None], ">=, not !="),
    (lambda lens, n: torch.arange(int(lens.max())) >= lens[:, None], "len_k says how wide"),
    (lambda lens, n: (torch.arange(n) < lens[:, None]).flip(-1), "the padding is the rest"),
    (lambda lens, n: torch.where(torch.arange(n) < lens[:, None], 0.0, -torch.inf),
        "a mask to add"),
]  # fmt: skip

MASKED = [
    (lambda s, m: (s + torch.where(m, 0.0, -torch.inf)).softmax(-1).nan_to_num(0), "is added"),
    (lambda s, m: (s - 1e9 * ~m).softmax(-1) * m, "what is added to NaN"),
    (lambda s, m: s.masked_fill(m, -torch.inf).softmax(-1).nan_to_num(0), "wrong way round"),
    (lambda s, m: torch.where(m, s, torch.inf).softmax(-1), "become +infinity"),
    (lambda s, m: s.softmax(-1).masked_fill(~m, 0), "after the softmax"),
    (lambda s, m: s.softmax(-1).masked_fill(~m, -torch.inf).softmax(-1).nan_to_num(0), "twice"),
    (lambda s, m: s[m.expand_as(s)].softmax(-1), "one long list"),
    (lambda s, m: (s.softmax(-1) * m / (s.softmax(-1) * m).sum(-1, keepdim=True)).nan_to_num(0),
        "hidden scores count before"),
]  # fmt: skip


def same(documents):
    return documents[:, :, None] == documents[:, None]


PACKED = [
    (lambda d: same(d).tril(1), "one too far"),
    (lambda d: same(d).tril().triu(-1), "one before it"),
    (lambda d: (same(d) & (d != 0)[:, None]).tril(), "taken for padding"),
    (lambda d: (same(d) & (d == 0)[:, None]).tril(), "only document 0"),
    (lambda d: (d[:, None] == d[None]).tril(), "rows of the batch are compared"),
    (lambda d: (d == d).tril(), "with itself alone"),
    (lambda d: (d[:, :, None] <= d[:, None]).tril(), "a larger number"),
    (lambda d: torch.stack([torch.block_diag(*[torch.ones(int(c), int(c)).tril() for c in
        row.unique(return_counts=True)[1]]) for row in d]).bool(), "by their numbers"),
]  # fmt: skip

FOLDED = [
    (lambda lens, h, n: length_mask(lens.repeat_interleave(h) // h, n), "with the number of heads"),
    (lambda lens, h, n: length_mask(lens.repeat_interleave(len(lens)), n), "as there are sequen"),
    (lambda lens, h, n: length_mask(lens.repeat(h).sort().values, n), "are sorted"),
    (lambda lens, h, n: length_mask(lens.repeat_interleave(h), int(lens.max())), "len_k says"),
    (lambda lens, h, n: length_mask(lens, n).repeat(1, h, 1), "on the queries' axis"),
    (lambda lens, h, n: ~length_mask(lens.repeat(h), n), "two mistakes"),
    (lambda lens, h, n: causal_mask(n).expand(len(lens) * h, -1, -1), "no effect"),
]

TOKENS = [
    (lambda real: real.sum(-1, keepdim=True) - 1, "the last position of each row"),
    (lambda real: torch.where(real, real.cumsum(-1) - 1, -1), "gets −1"),
    (lambda real: real.cumsum(-1).roll(1, -1), "roll brings"),
    (lambda real: torch.stack([row.nonzero().flatten() for row in real]), "these are the places"),
    (lambda real: torch.arange(real.shape[1]) * (torch.arange(real.shape[1]) < real.sum(
        -1, keepdim=True)), "taken to stand at the left"),
    (lambda real: real, "True and False come back"),
]  # fmt: skip


def leaks(attend, q, k, v, mask, moved=lambda a, b: ~a.isclose(b).all(-1)):
    before, found = attend(q, k, v), []
    for i, seen in enumerate(mask.unbind(1)):
        hidden = ~seen[..., None]
        after = attend(q, k.masked_fill(hidden, torch.nan), v.masked_fill(hidden, torch.nan))
        found.append(moved(before, after)[:, i])
    return torch.stack(found, 1)


def leaks_at_once(attend, q, k, v, mask):
    hidden = ~mask.all(1)[..., None]
    after = attend(q, k.masked_fill(hidden, torch.nan), v.masked_fill(hidden, torch.nan))
    return ~attend(q, k, v).isclose(after).all(-1)


LEAKS = [
    (lambda *case: leaks(*case, lambda a, b: b.isnan().any(-1)), "only NaN counts"),
    (lambda *case: leaks(*case, lambda a, b: ~a.isclose(b).any(-1)), "if any of its numbers"),
    (lambda *case: leaks(*case, lambda a, b: ~a.isclose(b)[..., 0]), "one column alone"),
    (lambda *case: leaks(*case, lambda a, b: ~a.isclose(b, 0.1, 0.1).all(-1)), "a small leak"),
    (lambda *case: leaks(*case).any(), "one answer comes back for many"),
    (lambda *case: leaks(*case).any(1), "one answer comes back for many"),
    (leaks_at_once, "the poison of others"),
]

UNIT = [
    (lambda q, k, s: q @ k.mT * s**2 / q.shape[-1] ** 0.5, "std² is multiplied"),
    (lambda q, k, s: (q @ k.mT - (q @ k.mT).mean()) / (q @ k.mT).std(), "these very numbers"),
    (lambda q, k, s: q @ k.mT / (q @ k.mT).std(-1, keepdim=True), "these very numbers"),
    (lambda q, k, s: scores(q / q.std(), k / k.std()), "these very numbers"),
    (lambda q, k, s: scores(q, k) / (2 * s), "squared, not doubled"),
    (lambda q, k, s: q @ k.mT / s**2 / q.shape[-1] ** 2, "not by d²"),
    (lambda q, k, s: scores(q, k) / s**3, "one factor too many"),
    (lambda q, k, s: q @ k.mT / s * s * q.shape[-1] ** 0.5, "in brackets"),
    (lambda q, k, s: scores(q - s, k - s), "std is subtracted"),
    (lambda q, k, s: q @ k / (s**2 * q.shape[-1] ** 0.5), "not transposed"),
    (lambda q, k, s: q @ k.mT / (s**2 * 8), "8 is the root of 64"),
]

NORMED = [
    (lambda q, k, g: unit(q) @ unit(k).mT / g, "divided by the gain"),
    (lambda q, k, g: g * unit(q) @ unit(k), "not transposed"),
    (lambda q, k, g: g * (q / q.norm(dim=-1)) @ (k / k.norm(dim=-1)).mT, "lost their axis"),
    (lambda q, k, g: g * (q @ k.mT) / (q.norm(dim=-1, keepdim=True) * k.norm(dim=-1, keepdim=True)),
        "along the queries' axis"),
    (lambda q, k, g: g * q @ k.mT / (q @ k.mT).abs().max(), "the largest score of all"),
    (lambda q, k, g: g * (q / (q.norm(dim=-1, keepdim=True) + 0.01)) @ (
        k / (k.norm(dim=-1, keepdim=True) + 0.01)).mT, "added to the lengths"),
    (lambda q, k, g: (g * unit(q) @ unit(k).mT).softmax(-1), "softmax is taken of the right"),
    (lambda q, k, g: (g * unit(q) @ unit(k).mT).abs(), "the sign is lost"),
]  # fmt: skip

SINK = [
    (lambda s: one_more(s).nan_to_num(0), "infinity over infinity"),
    (lambda s: s.clamp(max=80).exp() / (1 + s.clamp(max=80).exp().sum(-1, keepdim=True)),
        "cut off at a largest one"),
    (lambda s: (s.softmax(-1) - 1).relu(), "1 is subtracted"),
    (lambda s: F.pad(s, (0, 1), value=1.0).softmax(-1)[..., :-1], "the added score is 1"),
    (lambda s: F.pad(s, (1, 0)).softmax(-1)[..., :-1], "the 0 stands first"),
    (lambda s: s.exp() / (1 + s.exp().sum(-1)), "lost its axis"),
]  # fmt: skip


def weights_of(q, k):
    return scores(q, k).softmax(-1)


def slope(q, k, v):
    p = weights_of(q, k)
    return ((v - p @ v) * p[:, None]).T @ (k - p @ k) / len(q) ** 0.5


SLOPE = [
    (lambda q, k, v: weights_of(q, k) @ v, "the output itself"),
    (lambda q, k, v: slope(q, k, v) * (len(q) / len(k)) ** 0.5, "root of the number of keys"),
    (lambda q, k, v: slope(q, k, v) * len(k) / (len(k) - 1), "n − 1"),
    (lambda q, k, v: slope(q, k, v).sum(0), "summed along its first axis"),
    (lambda q, k, v: slope(q, k, v) * len(q), "multiplied by a size"),
]

BACKWARD = [
    (lambda p, g: p * (g - (p * g).sum(-1)), "lost its axis"),
    (lambda p, g: p - F.one_hot(g.argmax(-1), g.shape[-1]), "cross-entropy"),
    (lambda p, g: p * (g - (p * g).sum(-1, keepdim=True)) / p.shape[-1] ** 0.5, "by a root"),
    (lambda p, g: (p * (g - (p * g).sum(-1, keepdim=True))).relu(), "negative number became 0"),
]


def headed(x, W_q, W_k, W_v, mask, divisor=None):
    weights = masked_softmax(scores(x @ W_q, x @ W_k, divisor), mask=mask)
    return weights @ (x @ W_v)


HEAD = [
    (lambda *case: headed(*case[:-1], ~case[-1]), "upside down"),
    (lambda *case: headed(*case[:-1], case[-1].mT), "transposed: its rows are queries"),
    (lambda *case: headed(*case, divisor=1) / case[1].shape[-1] ** 0.5, "the output is divided"),
    (lambda x, a, b, c, m: scores(x @ a, x @ b).masked_fill(~m, 0) @ (x @ c), "with scores"),
    (lambda *case: headed(*case) * case[-1].diagonal(dim1=-2, dim2=-1)[..., None], "nobody reads"),
    (lambda *case: headed(*case[:-1], causal_mask(case[0].shape[1])), "`mask` has no effect"),
]

CROSS = [
    (lambda t, s: (s > 1)[:, None].expand(-1, t.shape[1], -1), "id 1 is taken"),
    (lambda t, s: (s != 0)[..., None] & (t != 0)[:, None], "two mistakes: queries go down"),
    (lambda t, s: (t == 0)[..., None] | (s == 0)[:, None], "two mistakes: True means"),
    (lambda t, s: length_mask((s != 0).sum(-1), s.shape[1]).expand(-1, t.shape[1], -1),
        "put at the right"),
    (lambda t, s: (s != 0)[:, None] | (t == 0)[..., None], "may look everywhere"),
    (lambda t, s: (t != 0)[..., None] == (s != 0)[:, None], "both padding, or both not"),
]  # fmt: skip


def flat(x):
    return x.shape[0], x.shape[2], -1


MERGE = [
    (lambda x: x.transpose(1, 2).view(*flat(x)), "`view` cannot join"),
    (lambda x: x.transpose(2, 3).reshape(*flat(x)), "axes 2 and 3 are swapped"),
    (lambda x: x.transpose(0, 1).reshape(*flat(x)), "axes 0 and 1 are swapped"),
    (lambda x: x.flatten(1), "one row"),
    (lambda x: x.flatten(0, 1), "in the batch's axis"),
    (lambda x: torch.cat(x.unbind(0), -1), "the batch is joined"),
    (lambda x: x.transpose(1, 2).reshape(len(x), -1, x.shape[2]), "two sizes"),
    (lambda x: x.squeeze(1), "squeeze takes away"),
]


def share(outputs, W_o, i):
    d = outputs.shape[-1]
    return outputs[:, i] @ W_o[i * d : (i + 1) * d]


SHARE = [
    (lambda o, W, i: o[:, 0] @ W.chunk(o.shape[1])[i], "whichever is asked for"),
    (lambda o, W, i: o[..., i] @ W, "column i of every head"),
    (lambda o, W, i: o[:, :, i] @ W.chunk(o.shape[1])[i], "position i of every head"),
    (lambda o, W, i: o[:, i] @ W[i], "W_o[i] is one row"),
    (lambda o, W, i: o[:, i] @ W.T.chunk(o.shape[1])[i], "columns of W_o"),
    (lambda o, W, i: o[:, i] @ W.chunk(o.shape[1], 1)[i], "columns of W_o"),
    (lambda o, W, i: share(o, W, o.shape[1] - 1 - i), "from the last"),
    (lambda o, W, i: sum(share(o, W, j) for j in range(i + 1)), "all heads up to i"),
    (lambda o, W, i: (merge_heads(o) @ W)[..., i * o.shape[-1] : (i + 1) * o.shape[-1]],
        "a block of the whole output"),
]  # fmt: skip


def layer(X, W_q, W_k, W_v, W_o, n, attend=attended):
    return merge_heads(attend(*(split_heads(X @ W, n) for W in (W_q, W_k, W_v)))) @ W_o


LAYER = [
    (lambda *case: layer(*case, attend=lambda q, k, v: F.scaled_dot_product_attention(
        q, k, v, is_causal=True)), "hides the later words"),
    (lambda *case: layer(*case) / case[-1], "divided by num_heads"),
    (lambda X, a, b, c, o, n: layer(X @ o, a, b, c, torch.eye(len(o)).to(o), n), "W_o comes first"),
    (lambda X, a, b, c, o, n: scores(split_heads(X @ a, n), split_heads(X @ b, n)).softmax(-1)
        .mean(1) @ (X @ c) @ o, "weights are averaged"),
    (lambda X, a, b, c, o, n: layer(X, a, b, c, o.T, n), "`W_o` is transposed"),
    (lambda X, *case: X + layer(X, *case), "`X` is added"),
]  # fmt: skip

LENGTHS = [
    (lambda lens, n: lens.repeat_interleave(n) // n, "with the number of heads"),
    (lambda lens, n: lens.repeat_interleave(len(lens)), "as there are sequences"),
    (lambda lens, n: lens.repeat_interleave(2), "it is taken to be 2"),
    (lambda lens, n: lens.repeat(n).sort().values, "are sorted"),
    (lambda lens, n: lens.repeat(n).view(len(lens), n).T.flatten(), "view cuts"),
    (lambda lens, n: lens.repeat(1, n), "one row of a table"),
    (lambda lens, n: lens.sum().expand(len(lens) * n), "the sum of the lengths"),
    (lambda lens, n: lens.repeat_interleave(n + 1), "one too large"),
]

CUT = [
    (lambda p, n: tuple(x.mT for x in split_heads(p, n).chunk(3, -1)), "each part is transposed"),
    (lambda p, n: tuple(merge_heads(x) for x in split_heads(p, n).chunk(3, -1)), "joined again"),
    (lambda p, n: split_heads(p, n).chunk(3, -1)[0], "One thing comes back"),
    (lambda p, n: tuple(split_heads(p, n).unbind(1)), "Not as many things"),
]


def grouped(q, k, v, times=None, dim=1, **options):
    times = times or q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(times, dim) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v, **options)


GROUPED = [
    (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), "do not line up"),
    (lambda *case: grouped(*case, dim=2), "do not line up"),
    (lambda *case: grouped(*case, dim=0), "do not line up"),
    (lambda *case: grouped(*case, times=2), "repeated twice"),
    (lambda q, k, v: grouped(q, k, v, times=k.shape[1]), "num_kv_heads times"),
    (lambda *case: grouped(*case, is_causal=True), "a causal mask"),
    (lambda q, k, v: grouped(q, k, v, scale=q.shape[1] ** -0.5), "the root of num_heads"),
    (lambda q, k, v: grouped(q, k, v, scale=v.shape[-1] ** -0.5), "the values' width"),
    (lambda q, k, v: grouped(q, k, v).unflatten(1, (k.shape[1], -1)), "an axis of their own"),
    (lambda q, k, v: grouped(q, k, v).unflatten(1, (k.shape[1], -1)).sum(2), "are added up"),
    (lambda q, k, v: F.scaled_dot_product_attention(q[:, : k.shape[1]], k, v), "as many query"),
]


def turned_by(x, angles, layout=lambda a, b, c, s: (a * c - b * s, a * s + b * c)):
    pair = layout(x[:, ::2], x[:, 1::2], angles.cos().to(x), angles.sin().to(x))
    return torch.stack(pair, -1).flatten(-2)


def speeds(x, base=10_000.0):
    return base ** (-torch.arange(0, x.shape[1], 2).double() / x.shape[1])


TURNED = [
    (lambda x, p: turned_by(x, p[:, None] * speeds(x), lambda a, b, c, s: (
        a * s - b * c, a * c + b * s)), "cos and sin have changed places"),
    (lambda x, p: x * (p[:, None] * speeds(x)).cos().repeat_interleave(2, -1).to(x),
        "terms with the sine"),
    (lambda x, p: turned_by(x, (p[:, None] * speeds(x)).flip(-1)), "reverse order"),
    (lambda x, p: turned_by(x, p[:, None].float().deg2rad() * speeds(x)), "for degrees"),
]  # fmt: skip


def on(x, delta, layout=lambda a, b, c, s: (a * c + b * s, b * c - a * s), rate=speeds):
    return turned_by(x, delta * rate(x), layout)


SHIFTED = [
    (lambda x, n: sinusoidal_positions(len(x) + max(n, 0) + 1, x.shape[1])[max(n, 0) + 1 :],
        "row 0"),
    (lambda x, n: x.roll(n, 0), "rolling"),
    (lambda x, n: x[n:], "rows are cut off"),
    (lambda x, n: on(x, n, lambda a, b, c, s: (b * c - a * s, a * c + b * s)), "in each pair"),
    (lambda x, n: on(x, n, lambda a, b, c, s: (a * s + b * c, b * s - a * c)), "of the angle have"),
    (lambda x, n: x * (n * speeds(x)).cos().repeat_interleave(2).to(x), "term with the sine"),
    (lambda x, n: x + (n * speeds(x)).repeat_interleave(2).to(x), "inside of them"),
    (lambda x, n: on(x[:1], n), "only the first row"),
    (lambda x, n: on(x, n, rate=lambda x: speeds(x, 1000.0)), "not 1000"),
    (lambda x, n: on(x, n, rate=lambda x: speeds(x).flip(0)), "reverse order"),
    (lambda x, n: torch.cat([on(row[None], n + i) for i, row in enumerate(x)]), "its own place"),
    (lambda x, n: on(x, n + 1), "one place too far"),
]  # fmt: skip


def surest(weights, real):
    return weights.amax(-1) * real[:, None]


SURENESS = [
    (lambda w, m: surest(w, m).sum((0, 2)) / len(w), "divide by real.sum()"),
    (lambda w, m: surest(w, m).sum((0, 2)) / w.shape[-1], "divide by real.sum()"),
    (lambda w, m: (w.amax(-1) * m).sum((0, 2)) / m.sum(), "real[:, None] lines up"),
    (lambda w, m: surest(w, m).amax((0, 2)), "the surest query of all"),
    (lambda w, m: surest(w, m).sum((0, 1)) / m.sum(), "the heads are summed"),
    (lambda w, m: surest(w, m).sum(-1) / m.sum(-1, keepdim=True), "for each sentence"),
    (lambda w, m: (w.mean(1).amax(-1) * m).sum() / m.sum(), "averaged first"),
    (lambda w, m: ((w * m[:, None, :, None]).sum((0, 2)) / m.sum()).amax(-1), "rows are averaged"),
    (lambda w, m: (surest(w * m[:, None, None], m)).sum((0, 2)) / m.sum(), "keys are left out"),
    (lambda w, m: (torch.special.entr(w).sum(-1) * m[:, None]).sum((0, 2)) / m.sum(), "entropy"),
    (lambda w, m: w.amax(-1).transpose(1, 2)[m].median(0).values, "the median"),
    (lambda w, m: surest(w[:1], m[:1]).sum((0, 2)) / m[:1].sum(), "Only what stands first"),
]

ROLLOUT = [
    (lambda w: w.prod(0), "entry by entry"),
    (lambda w: (w[-1] + torch.eye(w.shape[-1]).to(w)) / 2, "the last layer alone, with"),
    (lambda w: w.amax(0), "the largest treats"),
    (lambda w: torch.linalg.matrix_power((w.mean(0) + torch.eye(w.shape[-1]).to(w)) / 2, len(w)),
        "a mean treats"),
    (lambda w: rolled(w, lambda a, e: (a + e).softmax(-1)), "through softmax already"),
    (lambda w: rolled(w, lambda a, e: a - e), "is subtracted"),
    (lambda w: rolled(w, lambda a, e: 0.9 * a + 0.1 * e), "unequal parts"),
    (lambda w: F.normalize(rolled(w, torch.add), p=1, dim=0), "the columns are normalised"),
    (lambda w: torch.stack([rolled(w[: i + 1]) for i in range(len(w))]), "a map for each layer"),
    (lambda w: rolled(w).fill_diagonal_(0), "the diagonal is set to 0"),
]  # fmt: skip


def rolled(w, mix=lambda a, e: (a + e) / 2):
    eye = torch.eye(w.shape[-1]).to(w)
    total = eye
    for layer in w:
        total = mix(layer, eye) @ total
    return total


VALUED = [
    (lambda w, v: w + v.norm(dim=-1)[:, None], "added to the weights"),
    (lambda w, v: w @ v.norm(dim=-1)[..., None], "summed already"),
    (lambda w, v: w @ unit(v), "vectors of length 1"),
    (lambda w, v: w * v[..., 0][:, None], "the first entry"),
    (lambda w, v: w * v.norm(dim=-1)[:, None] ** 0.5, "the root is taken twice"),
    (lambda w, v: w * (v.norm(dim=-1) / v.norm(dim=-1).amax(-1, keepdim=True))[:, None],
        "by the largest of them"),
    (lambda w, v: v.norm(dim=-1)[:, None].expand(w.shape), "`weights` has no effect"),
]  # fmt: skip


def asked(s, it):
    return s[torch.arange(len(s)), it]


POINTING = [
    (lambda s, i, m: (asked(s, i).argmax(-1) != m).float().mean(), "the share of wrong answers"),
    (lambda s, i, m: F.mse_loss(asked(s, i).softmax(-1), F.one_hot(m, s.shape[-1]).to(s)),
        "the squared error"),
    (lambda s, i, m: F.binary_cross_entropy_with_logits(
        asked(s, i), F.one_hot(m, s.shape[-1]).to(s)), "by a sigmoid"),
    (lambda s, i, m: F.cross_entropy(s[:, i], m), "takes one row from each"),
    (lambda s, i, m: asked(s, i).softmax(-1)[torch.arange(len(m)), m].mean(), "the right word"),
    (lambda s, i, m: F.cross_entropy(asked(s, i), m, label_smoothing=0.1), "label smoothing"),
    (lambda s, i, m: F.cross_entropy(asked(s, i - 1), m), "the row before it"),
    (lambda s, i, m: F.cross_entropy(asked(s, i), m).exp(), "The exponential is taken"),
]  # fmt: skip

HELD_OUT = [
    (lambda h, n, a: h[n].all(-1).all(-1), "adjective is not looked at"),
    (lambda h, n, a: h[n, a[:, None]].sum(-1) == 2, "any number of nouns"),
    (lambda h, n, a: h[n, a[:, None]].sum(-1) == 1, "one pair is not all"),
    (lambda h, n, a: h[n, a[:, None]].float().mean(-1) > 0.5, "most of the pairs"),
    (lambda h, n, a: h[n[:, 0], a] & h[n[:, 1], a], "only the first two nouns"),
    (lambda h, n, a: h[n, a].all(-1), "do not line up"),
    (lambda h, n, a: h[a[:, None], n].all(-1), "have changed places"),
    (lambda h, n, a: h[n, a[:, None]].all(), "judged together"),
    (lambda h, n, a: torch.ones(len(n)).bool(), "every sentence"),
]


def zeroed(w, first, end):
    return w.index_fill(1, torch.arange(first, min(end, w.shape[1])), 0)


ABLATED = [
    (lambda w, n, h: zeroed(w, 0, (h + 1) * w.shape[1] // n), "up to it"),
    (lambda w, n, h: zeroed(w, h * w.shape[1] // n, w.shape[1]), "from it on"),
    (lambda w, n, h: zeroed(w, h, h + w.shape[1] // n), "they start at head * d_k"),
    (lambda w, n, h: w.chunk(n, 1)[h], "what the head brings"),
    (lambda w, n, h: (w + zeroed(w, h * w.shape[1] // n, (h + 1) * w.shape[1] // n)) / 2, "halved"),
    (lambda w, n, h: zeroed(w, h * w.shape[1] // n, (h + 1) * w.shape[1] // n) * n / (n - 1),
        "made larger"),
]  # fmt: skip

WRONG = [
    (grader, answer, said)
    for grader, rows in {
        soft_lookup.attention: ATTENTION,
        soft_lookup.hard_lookup: HARD,
        soft_lookup.attend_or_abstain: ABSTAIN,
        scoring_functions.scaled_scores: SCALED,
        scoring_functions.gaussian_by_product: GAUSSIAN,
        scoring_functions.frugal_additive_scores: ADDITIVE,
        masking.key_padding: PADDING,
        masking.masked_softmax: MASKED,
        masking.packed_mask: PACKED,
        mask_failures.folded_mask: FOLDED,
        mask_failures.token_positions: TOKENS,
        mask_failures.leak_test: LEAKS,
        variance.unit_scores: UNIT,
        variance_limits.qk_norm_scores: NORMED,
        variance_limits.softmax_with_sink: SINK,
        softmax_gradient.query_gradient: SLOPE,
        softmax_gradient.softmax_backward: BACKWARD,
        one_head.head: HEAD,
        one_head.cross_mask: CROSS,
        multi_head.merge: MERGE,
        multi_head.share_of_head: SHARE,
        multi_head.multi_head: LAYER,
        head_layouts.folded_lengths: LENGTHS,
        head_layouts.cut_interleaved: CUT,
        head_layouts.grouped_attention: GROUPED,
        positions.turned: TURNED,
        positions.shifted: SHIFTED,
        heatmaps.sureness: SURENESS,
        heatmaps.rollout: ROLLOUT,
        heatmaps.value_weighted: VALUED,
        train_a_reader.pointing_loss: POINTING,
        train_a_reader.held_out_sentences: HELD_OUT,
        train_a_reader.without_columns: ABLATED,
    }.items()
    for answer, said in rows
]

# Right, and once refused, or thought of by nobody who wrote a grader.


def by_sentence(attend, q, k, v, mask):
    """A test for leaks that asks sentence by sentence."""
    rows = zip(q.split(1), k.split(1), v.split(1), mask.split(1), strict=True)
    return torch.cat([leaks(attend, *row) for row in rows])


def by_query(attend, q, k, v, mask):
    """A test for leaks that asks query by query."""
    found = [
        leaks(
            attend, q[b : b + 1, i : i + 1], k[b : b + 1], v[b : b + 1], mask[b : b + 1, i : i + 1]
        )
        for b in range(len(q))
        for i in range(q.shape[1])
    ]
    return torch.cat(found).view(mask.shape[:2])


RIGHT = [
    (mask_failures.leak_test, by_sentence),
    (mask_failures.leak_test, by_query),
    (mask_failures.leak_test, leaks),
    (soft_lookup.attend_or_abstain, lambda q, k, v: (q @ k.mT - torch.logaddexp((q @ k.mT)
        .logsumexp(-1, keepdim=True), torch.zeros(()))).exp() @ v),
    (scoring_functions.gaussian_by_product, lambda q, k: torch.cat([q, -0.5 + 0 * q[..., :1]], -1)
        @ torch.cat([k, squares(k)[..., None]], -1).mT),
    (masking.packed_mask, lambda d: torch.from_numpy(
        d.numpy()[:, :, None] == d.numpy()[:, None]).tril()),
    (variance_limits.softmax_with_sink, lambda s: F.pad(s.double(), (0, 1)).softmax(-1)[..., :-1]),
    (heatmaps.rollout, rolled),
    (heatmaps.rollout, lambda w: rolled(w.double())),
    (heatmaps.sureness, lambda w, m: w.amax(-1).transpose(1, 2)[m].mean(0)),
    (train_a_reader.pointing_loss, lambda s, i, m: F.cross_entropy(asked(s.double(), i), m).item()),
    (train_a_reader.held_out_sentences, lambda h, n, a: h.numpy()[n.numpy(), a.numpy()[:, None]]
        .all(1)),
    (train_a_reader.without_columns, lambda w, n, h: w * (torch.arange(n) != h)
        .repeat_interleave(w.shape[1] // n)),
]  # fmt: skip

test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)
