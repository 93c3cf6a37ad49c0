"""The graders of "One head": right answers in many styles, wrong ones and what they hear."""

import math

import torch
from torch.nn.functional import scaled_dot_product_attention

from attention_lib.checks import one_head as check
from tests.checks.tables import judged


def test_the_table_has_the_cells_that_are_counted():
    keys = torch.arange(check.LEN_K) < check.LEN_K - check.PADDED_KEYS
    assert (~keys.expand(check.LEN_Q, -1)).sum() == check.masked_cells.right


# One head.


def by_the_formula(x, W_q, W_k, W_v, mask):
    Q, K, V = x @ W_q, x @ W_k, x @ W_v
    scores = Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-1])
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ V


def by_where_and_a_large_number(x, W_q, W_k, W_v, mask):
    scores = torch.einsum("bqd,bkd->bqk", x @ W_q, x @ W_k) * W_k.shape[1] ** -0.5
    return torch.where(mask, scores, torch.tensor(-1e9).to(x)).softmax(-1).matmul(x.matmul(W_v))


def by_pytorch(x, W_q, W_k, W_v, mask):
    return scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v, attn_mask=mask)


def by_loops(x, W_q, W_k, W_v, mask):
    output = x.new_zeros(*x.shape[:2], W_v.shape[1])
    for b, sentence in enumerate(x):
        keys, values = sentence @ W_k, sentence @ W_v
        for i, token in enumerate(sentence):
            seen = mask[b, i]
            scores = keys[seen] @ (token @ W_q) / W_k.shape[1] ** 0.5
            output[b, i] = scores.softmax(0) @ values[seen]
    return output


def by_renormalising(x, W_q, W_k, W_v, mask):
    scores = (x @ W_q) @ (x @ W_k).mT / W_q.shape[-1] ** 0.5
    shares = (scores - scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)).exp() * mask
    return shares / shares.sum(-1, keepdim=True) @ (x @ W_v)


def altered(masked=None, scale=None, weigh=None, values=None):
    """The formula with one part of it changed."""

    def head(x, W_q, W_k, W_v, mask):
        scores = (x @ W_q) @ (x @ W_k).mT
        scores = scale(scores, x, W_k, W_v) if scale else scores / W_k.shape[-1] ** 0.5
        scores = masked(scores, mask) if masked else scores.masked_fill(~mask, -torch.inf)
        weights = weigh(scores, mask) if weigh else scores.softmax(-1)
        return weights @ (values(x, W_k) if values else x @ W_v)

    return head


HEAD = [
    (altered(masked=lambda s, mask: s), "the mask has no effect"),
    (altered(masked=lambda s, mask: s.masked_fill(mask, -torch.inf)), "upside down"),
    (altered(masked=lambda s, mask: s.masked_fill(~mask.mT, -torch.inf)), "transposed"),
    (altered(masked=lambda s, mask: s * mask), "become 0, which is a score like any other"),
    (altered(masked=lambda s, mask: s.masked_fill(~mask, 0)), "become 0, which is a score"),
    (altered(masked=lambda s, mask: s.masked_fill(~mask, 1e-9)), "become 0, which is a score"),
    (altered(masked=lambda s, mask: s + mask), "added to the scores as 1 and 0"),
    (altered(masked=lambda s, mask: s.masked_fill(~mask, torch.inf)), "become +infinity"),
    (altered(masked=lambda s, mask: s.masked_fill(~mask.tril(), -torch.inf)), "a causal mask"),
    (altered(masked=lambda s, mask: s, weigh=lambda s, mask: s.softmax(-1) * mask),
     "the mask comes after softmax"),
    (altered(scale=lambda s, x, W_k, W_v: s), "not divided by the square root"),
    (altered(scale=lambda s, x, W_k, W_v: s / W_k.shape[1]), "by d_k, not by its square root"),
    (altered(scale=lambda s, x, W_k, W_v: s / x.shape[-1] ** 0.5), "the root of d_model"),
    (altered(scale=lambda s, x, W_k, W_v: s / W_v.shape[1] ** 0.5), "of the values' width"),
    (altered(scale=lambda s, x, W_k, W_v: s / x.shape[1] ** 0.5), "of the number of keys"),
    (altered(scale=lambda s, x, W_k, W_v: -s / W_k.shape[1] ** 0.5), "a minus sign too many"),
    (altered(weigh=lambda s, mask: s.softmax(-2)), "over the queries (dim=-2)"),
    (altered(weigh=lambda s, mask: s.softmax(0)), "over the batch (dim=0)"),
    (altered(weigh=lambda s, mask: s.softmax(-1).mT), "transposed before they meet the values"),
    (altered(values=lambda x, W_k: x @ W_k), "the keys are summed"),
    (altered(values=lambda x, W_k: x), "x is summed as it is"),
    (lambda x, W_q, W_k, W_v, mask: by_pytorch(x, W_q, W_q, W_v, mask), "made with W_q"),
    (lambda x, W_q, W_k, W_v, mask: by_pytorch(x, W_k, W_k, W_v, mask), "made with W_k"),
    (lambda x, W_q, W_k, W_v, mask: by_pytorch(x, W_k, W_q, W_v, mask), "are exchanged"),
    (lambda x, W_q, W_k, W_v, mask: by_pytorch(x, W_q.T, W_k.T, W_v.T, mask), "are transposed"),
    (lambda x, W_q, W_k, W_v, mask: (by_pytorch(x, W_q, W_k, W_v, mask), mask), "the first one"),
    (lambda x, W_q, W_k, W_v, mask: (x @ W_q @ (x @ W_k).mT).softmax(-1), "expected shape"),
    (lambda x, *rest: by_pytorch(x.mul_(2), *rest), "changed its input"),
]  # fmt: skip


# The mask of cross-attention.


def keys_mask(target_ids, source_ids):
    return (source_ids != 0).unsqueeze(-2).expand(-1, target_ids.shape[1], -1)


def keys_by_repeat(target_ids, source_ids):
    return source_ids.ne(0)[:, None].repeat(1, target_ids.size(1), 1)


def keys_by_loops(target_ids, source_ids):
    tables = [
        [[i != 0 for i in source] for _ in target]
        for target, source in zip(target_ids, source_ids.tolist(), strict=True)
    ]
    return torch.tensor(tables)


def keys_by_ones(target_ids, source_ids):
    return torch.ones_like(target_ids).bool()[..., None] & (source_ids != 0)[:, None]


def queries_mask(target_ids, source_ids):
    return (target_ids != 0).unsqueeze(-1).expand(-1, -1, source_ids.shape[1])


def both(target_ids, source_ids):
    return keys_mask(target_ids, source_ids), queries_mask(target_ids, source_ids)


CROSS = [
    (queries_mask, "hides the rows of padded queries"),
    (lambda *ids: ~queries_mask(*ids), "marks the rows of padded queries"),
    (lambda *ids: ~keys_mask(*ids), "upside down"),
    (lambda *ids: both(*ids)[0] & both(*ids)[1], "need no mask"),
    (lambda *ids: both(*ids)[0] | both(*ids)[1], "joined by or"),
    (lambda target, source: (source != 0).unsqueeze(1), "spell out the shape"),
    (lambda target, source: source != 0, "each query needs a row of it"),
    (lambda *ids: torch.ones_like(keys_mask(*ids)), "nothing is masked"),
    (lambda target, source: target[:, :, None] == source[:, None], "equal ids are marked"),
    (lambda *ids: keys_mask(*ids).tril(), "causal, too"),
    (lambda *ids: keys_mask(*ids).int(), "expected dtype torch.bool"),
    (lambda *ids: keys_mask(*ids).float(), "expected dtype torch.bool"),
    (lambda *ids: keys_mask(*ids).mT, "transposed"),
    (lambda target, source: keys_mask(source, target), "the sentences are exchanged"),
    (lambda target, source: (source > 6)[:, None].expand(-1, target.shape[1], -1), "query 0, key"),
    (lambda target, source: target != source, "raised RuntimeError"),
]


test_right, test_wrong = judged(
    [
        (check.head, by_the_formula),
        (check.head, by_where_and_a_large_number),
        (check.head, by_pytorch),
        (check.head, by_loops),
        (check.head, by_renormalising),
        (check.cross_mask, keys_mask),
        (check.cross_mask, keys_by_repeat),
        (check.cross_mask, keys_by_loops),
        (check.cross_mask, keys_by_ones),
        *((check.masked_cells, n) for n in (8, 8.0, torch.tensor(8), torch.ones(8).sum())),
        (check.self_or_cross, "b"),
        *((check.exchanged_twice, x) for x in (0.33, 0.3302, 0.34)),
    ],
    [
        *((check.head, *row) for row in HEAD),
        *((check.cross_mask, *row) for row in CROSS),
        (check.masked_cells, 7, "counts the row of the padded query; a padding mask hides keys"),
        (check.masked_cells, 13, "as well"),
        (check.masked_cells, 2, "hidden from every query"),
        (check.masked_cells, 6, "leaves out the row"),
        (check.masked_cells, 20, "may be attended to"),
        (check.masked_cells, 28, "the whole table"),
        (check.masked_cells, 9, "too large"),
        (check.self_or_cross, "a", "counts keys"),
        (check.self_or_cross, "c", "queries go down"),
        (check.self_or_cross, "d", "heads"),
        (check.exchanged_twice, 0.67, "its weight for itself"),
        (check.exchanged_twice, 0.5, "not equal"),
        (check.exchanged_twice, 0.27, "not divided by the root"),
        (check.exchanged_twice, 0.73, "not divided, and"),
        (check.exchanged_twice, 0, "that is the score"),
        (check.exchanged_twice, 1, "never gives one key everything"),
    ],
)
