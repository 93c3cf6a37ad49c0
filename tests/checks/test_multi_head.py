"""The graders of "Many heads": right answers in many styles, wrong ones and what they hear."""

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from attention_lib import MultiHeadAttention
from attention_lib.checks import multi_head as check
from attention_lib.multihead import merge_heads, split_heads
from tests.checks.tables import judged


def size_of(**options):
    return sum(x.numel() for x in MultiHeadAttention(512, 8, **options).parameters())


def test_parameters_are_those_of_the_layer():
    assert check.layer_parameters(size_of())
    assert check.grouped_parameters(size_of(num_kv_heads=2))


# Cutting into heads.


def view_and_transpose(x, num_heads):
    return x.view(*x.shape[:2], num_heads, -1).transpose(1, 2)


def split_by_chunks(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def split_by_slices(x, num_heads):
    d_k = x.shape[-1] // num_heads
    return torch.stack([x[..., i * d_k : (i + 1) * d_k] for i in range(num_heads)], 1)


def split_by_numpy(x, num_heads):
    return torch.from_numpy(np.stack(np.split(x.numpy(), num_heads, axis=-1), axis=1))


def cut(x, num_heads, *shape):
    sizes = {"b": x.shape[0], "l": x.shape[1], "h": num_heads, "d": x.shape[2] // num_heads}
    return x.reshape([sizes[axis] for axis in shape])


SPLIT = [
    (lambda x, h: cut(x, h, *"bhld"), "the columns are not cut first"),
    (lambda x, h: cut(x, h, *"blhd"), "the axes are not swapped"),
    (lambda x, h: cut(x, h, *"bldh").permute(0, 3, 1, 2), "interleaved"),
    (lambda x, h: cut(x.mT, h, *"bhld"), "swapped before the width is cut"),
    (lambda x, h: split_heads(x, h).flatten(0, 1), "folded into the batch"),
    (lambda x, h: split_heads(x, h).transpose(0, 1), "the heads come before the batch"),
    (lambda x, h: split_heads(x, x.shape[-1] // h), "the two numbers are exchanged"),
    (lambda x, h: split_heads(x, h).flip(1), "in reverse order"),
    (lambda x, h: x.unsqueeze(1).expand(-1, h, -1, -1), "every head gets the whole vector"),
    (lambda x, h: x, "nothing is cut"),
    (lambda x, h: split_heads(x, h).mT, "each head is transposed"),
    (lambda x, h: split_heads(x, h).contiguous().view(-1, h, x.shape[1] * x.shape[2] // h),
     "expected shape"),
    (lambda x, h: x.chunk(h, dim=-1), "a tensor is expected, not a tuple of 2"),
    (lambda x, h: list(x.chunk(h, dim=-1)), "a tensor is expected, not a list of 2"),
    (lambda x, h: x.view(h, -1), "expected shape"),
    (lambda x, h: x.view(7, 7, 7), "raised RuntimeError"),
]  # fmt: skip


# Joining heads.


def transpose_and_reshape(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def merge_by_cat(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def merge_by_permute(x):
    batch, num_heads, length, d_k = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(batch, length, num_heads * d_k)


def merge_by_loops(x):
    out = x.new_empty(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])
    for i in range(x.shape[1]):
        out[..., i * x.shape[3] : (i + 1) * x.shape[3]] = x[:, i]
    return out


MERGE = [
    (lambda x: x.reshape(x.shape[0], x.shape[2], -1), "not swapped"),
    (lambda x: x.permute(0, 2, 3, 1).flatten(-2), "interleaved"),
    (lambda x: torch.stack(x.unbind(1), dim=-1).flatten(-2), "interleaved"),
    (lambda x: x.sum(dim=1), "added up"),
    (lambda x: x.mean(dim=1), "averaged"),
    (lambda x: x[:, 0], "the first head alone"),
    (lambda x: x.transpose(1, 2), "not yet one"),
    (lambda x: x.flatten(1, 2), "one below the other"),
    (lambda x: torch.cat(x.unbind(1), dim=1), "one below the other"),
    (lambda x: merge_heads(x.flip(1)), "reverse order"),
    (lambda x: merge_heads(x).transpose(0, 1), "the positions come before the batch"),
    (lambda x: x.amax(dim=1), "the largest of the heads"),
    (lambda x: merge_heads(x) + 1, "position 0, column 0: 1, should be 0"),
    (lambda x: merge_heads(x).mT, "transposed"),
    (lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1), "RuntimeError: view size"),
    (lambda x: torch.cat(x.unbind(1)), "expected shape"),
]


# A head's share.


def rows(W_o, i, d_v):
    return W_o[i * d_v : (i + 1) * d_v]


def share(heads, W_o, i):
    return heads[:, i] @ rows(W_o, i, heads.shape[-1])


def share_by_zeros(heads, W_o, i):
    alone = torch.zeros_like(heads)
    alone[:, i] = heads[:, i]
    return merge_heads(alone) @ W_o


def share_by_view(heads, W_o, i):
    return heads[:, i] @ W_o.view(heads.shape[1], -1, W_o.shape[1])[i]


def share_by_chunks(heads, W_o, i):
    return torch.einsum("bld,dm->blm", heads.unbind(1)[i], W_o.chunk(heads.shape[1])[i])


def share_by_difference(heads, W_o, i):
    others = heads.clone()
    others[:, i] = 0
    return merge_heads(heads) @ W_o - merge_heads(others) @ W_o


SHARE = [
    (lambda heads, W_o, i: heads[:, i], "W_o is forgotten"),
    (lambda heads, W_o, i: merge_heads(heads) @ W_o, "the whole output, the sum"),
    (lambda heads, W_o, i: merge_heads(heads) @ W_o / heads.shape[1], "divided by the number"),
    (lambda heads, W_o, i: share(heads, W_o, i) / heads.shape[1], "added, not averaged"),
    (lambda heads, W_o, i: heads[:, i] @ W_o[i :: heads.shape[1]], "in turns"),
    (lambda heads, W_o, i: heads[:, i] @ W_o[: heads.shape[-1]], "given the first rows"),
    (lambda heads, W_o, i: heads[:, i] @ W_o[i : i + heads.shape[-1]], "starts at row i;"),
    (lambda heads, W_o, i: share(heads, W_o, i - 1), "head before"),
    (lambda heads, W_o, i: heads.sum(1) @ rows(W_o, i, heads.shape[-1]), "added up before W_o"),
    (lambda heads, W_o, i: share_by_difference(heads, W_o, i) - merge_heads(heads) @ W_o,
     "position 0, column 0"),
    (lambda heads, W_o, i: merge_heads(heads) @ W_o - share(heads, W_o, i), "all other heads"),
    (lambda heads, W_o, i: heads[i] @ rows(W_o, i, heads.shape[-1]), "the first axis is the batch"),
    (lambda heads, W_o, i: heads[:, i] @ W_o, "the shapes do not meet"),
    (lambda heads, W_o, i: heads[:, i] @ rows(W_o, i + 1, heads.shape[-1]), "raised RuntimeError"),
    (lambda heads, W_o, i: heads[:, i] @ W_o[:, : heads.shape[-1]].T, "raised RuntimeError"),
    (lambda heads, W_o, i: -share(heads, W_o, i), "wrong sign"),
    (lambda heads, W_o, i: share(heads, W_o, i).mT, "transposed"),
]  # fmt: skip


# Grouped heads.


def attend(repeat_keys, repeat_values, **options):
    def answer(queries, keys, values):
        times = queries.shape[1] // keys.shape[1]
        keys, values = repeat_keys(keys, times), repeat_values(values, times)
        return scaled_dot_product_attention(queries, keys, values, **options)

    return answer


def blocks(x, times):
    return x.repeat_interleave(times, dim=1)


def turns(x, times):
    return x.repeat(1, times, 1, 1)


def first(x, times):
    return x[:, :1].repeat(1, x.shape[1] * times, 1, 1)


def last(x, times):
    return x[:, -1:].repeat(1, x.shape[1] * times, 1, 1)


def mean(x, times):
    return x.mean(1, keepdim=True).repeat(1, x.shape[1] * times, 1, 1)


def broadcast(queries, keys, values):
    queries = queries.unflatten(1, (keys.shape[1], -1))
    scores = queries @ keys.unsqueeze(2).mT / keys.shape[-1] ** 0.5
    return (scores.softmax(-1) @ values.unsqueeze(2)).flatten(1, 2)


def head_by_head(queries, keys, values):
    times = queries.shape[1] // keys.shape[1]
    found = [
        (queries[:, i] @ keys[:, i // times].mT / keys.shape[-1] ** 0.5).softmax(-1)
        @ values[:, i // times]
        for i in range(queries.shape[1])
    ]
    return torch.stack(found, dim=1)


def kernel(queries, keys, values):
    return scaled_dot_product_attention(queries, keys, values, enable_gqa=True)


def modulo(queries, keys, values):
    found = [queries[:, i] @ keys[:, i % keys.shape[1]].mT for i in range(queries.shape[1])]
    weights = (torch.stack(found, dim=1) / keys.shape[-1] ** 0.5).softmax(-1)
    return weights @ values.repeat(1, queries.shape[1] // keys.shape[1], 1, 1)


GROUPED = [
    (attend(turns, turns), "repeat_interleave"),
    (modulo, "repeat_interleave"),
    (attend(blocks, turns), "the values were repeated in turns"),
    (attend(turns, blocks), "the keys were repeated in turns"),
    (attend(first, first), "share the first key head"),
    (attend(last, last), "share the last key head"),
    (attend(mean, mean), "averaged"),
    (attend(blocks, blocks, scale=1.0), "not divided by the square root"),
    (lambda q, k, v: attend(blocks, blocks, scale=1 / k.shape[-1])(q, k, v), "by d_k, not"),
    (lambda q, k, v: attend(blocks, blocks)(q, k.flip(1), v.flip(1)), "in reverse order"),
    (lambda q, k, v: merge_heads(broadcast(q, k, v)), "joined already"),
    (lambda q, k, v: broadcast(q, k, v).mT, "transposed"),
    (lambda q, k, v: broadcast(q, k, v)[:, : k.shape[1]], "expected shape"),
    (lambda q, k, v: broadcast(q, k, v).transpose(1, 2), "expected shape"),
    (lambda q, k, v: (q @ k.mT).softmax(-1) @ v, "raised RuntimeError"),
    (lambda q, k, v: (broadcast(q, k, v), None), "the first one alone is right"),
]

test_right, test_wrong = judged(
    [
        *((check.split, answer) for answer in (split_heads, view_and_transpose, split_by_chunks)),
        (check.split, split_by_slices),
        (check.split, split_by_numpy),
        *((check.merge, answer) for answer in (merge_heads, transpose_and_reshape, merge_by_cat)),
        (check.merge, merge_by_permute),
        (check.merge, merge_by_loops),
        *((check.share_of_head, answer) for answer in (share, share_by_zeros, share_by_view)),
        (check.share_of_head, share_by_chunks),
        (check.share_of_head, share_by_difference),
        *((check.grouped_attention, answer) for answer in (broadcast, head_by_head, kernel)),
        (check.grouped_attention, attend(blocks, blocks)),
        *((check.grouped_parameters, n) for n in (655360, 655360.0, torch.tensor(655360))),
        (check.layer_parameters, np.int64(1048576)),
        (check.both_at_once, 1 / 2),
        (check.cache_size, 102400),
    ],
    [
        *((check.split, *row) for row in SPLIT),
        *((check.merge, *row) for row in MERGE),
        *((check.share_of_head, *row) for row in SHARE),
        *((check.grouped_attention, *row) for row in GROUPED),
        (check.layer_parameters, 3 * 512**2, "W_o is forgotten"),
        (check.layer_parameters, 8 * 4 * 512**2, "the heads share the width"),
        (check.layer_parameters, 4 * 512 * 64, "that is one head"),
        (check.layer_parameters, 4 * 512**2 + 4 * 512, "no biases"),
        (check.layer_parameters, 512**2, "one matrix"),
        (check.layer_parameters, 5 * 512**2, "too large"),
        (check.grouped_parameters, 4 * 512**2, "as many key-value heads"),
        (check.grouped_parameters, 512**2 + 3 * 512 * 128, "output matrix"),
        (check.grouped_parameters, 2 * 512**2 + 512 * 128, "a matrix each"),
        (check.grouped_parameters, 655360 + 1280, "no biases"),
        (check.grouped_parameters, 1, "too small"),
        (check.both_at_once, 1, "cannot give 1 twice"),
        (check.both_at_once, 0.2, "too small"),
        (check.cache_size, 51200, "twice that"),
        (check.cache_size, 153600, "queries are not kept"),
        (check.cache_size, 8 * 102400, "the eight heads share the width"),
        (check.cache_size, 80000, "weights are not kept"),
        (check.cache_size, 1024, "that is one token"),
    ],
)
