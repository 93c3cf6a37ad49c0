"""The graders of "Lay out the heads": what is right in many styles, what is wrong and why."""

import torch
from torch.nn.functional import scaled_dot_product_attention

from attention_lib import MultiHeadAttention
from attention_lib.checks import head_layouts as check
from attention_lib.multihead import merge_heads, split_heads
from tests.checks.tables import judged


def test_parameters_are_those_of_the_layer():
    parameters = MultiHeadAttention(512, 8, num_kv_heads=2).parameters()
    assert check.grouped_parameters(sum(x.numel() for x in parameters))


# Lengths for folded heads.


def lengths_by_expand(valid_lens, num_heads):
    return valid_lens.unsqueeze(1).expand(-1, num_heads).flatten()


def lengths_by_list(valid_lens, num_heads):
    return torch.tensor([n for n in valid_lens.tolist() for _ in range(num_heads)])


def lengths_by_index(valid_lens, num_heads):
    return valid_lens[torch.arange(len(valid_lens) * num_heads) // num_heads]


LENGTHS = [
    (lambda lens, h: lens.repeat(h), "repeat puts the lengths in turns"),
    (lambda lens, h: torch.cat([lens] * h), "repeat puts the lengths in turns"),
    (lambda lens, h: lens[torch.arange(len(lens) * h) % len(lens)], "in turns"),
    (lambda lens, h: lens, "one length per sequence"),
    (lambda lens, h: lens * h, "multiplied"),
    (lambda lens, h: lens[:, None].expand(-1, h), "(batch, num_heads): flatten"),
    (lambda lens, h: lens.expand(h, -1), "(num_heads, batch)"),
    (lambda lens, h: lens.repeat_interleave(h).flip(0), "the last sequence comes first"),
    (lambda lens, h: lens.max().repeat(len(lens) * h), "the largest length"),
    (lambda lens, h: torch.arange(len(lens)).repeat_interleave(h), "the number of the sequence"),
    (lambda lens, h: lens.repeat_interleave(h) + 1, "row 0: 4, should be 3"),
    (lambda lens, h: lens.repeat_interleave(h + 1), "expected shape"),
    (lambda lens, h: lens.repeat_interleave(h)[:, None], "expected shape"),
]


# Interleaved projections.


def cut_by_view(projected, num_heads):
    batch, length, _ = projected.shape
    return projected.view(batch, length, num_heads, 3, -1).permute(3, 0, 2, 1, 4)


def cut_by_split(projected, num_heads):
    return split_heads(projected, num_heads).split(projected.shape[-1] // num_heads // 3, dim=-1)


def cut_by_loop(projected, num_heads):
    found = [[], [], []]
    for i, part in enumerate(projected.chunk(3 * num_heads, dim=-1)):
        found[i % 3].append(part)
    return tuple(torch.stack(parts, dim=1) for parts in found)


def cut_by_slices(projected, num_heads):
    parts = split_heads(projected, num_heads)
    d_k = parts.shape[-1] // 3
    return parts[..., :d_k], parts[..., d_k : 2 * d_k], parts[..., 2 * d_k :]


CUT = [
    (lambda x, h: tuple(split_heads(part, h) for part in x.chunk(3, -1)), "cuts a stacked matrix"),
    (lambda x, h: [x[..., i::3].unflatten(-1, (h, -1)).transpose(1, 2) for i in range(3)],
     "every third column"),
    (lambda x, h: x.reshape(x.shape[0], h, x.shape[1], -1).chunk(3, -1), "are not cut first"),
    (lambda x, h: [cut_by_view(x, h)[i] for i in (0, 2, 1)], "keys and values are exchanged"),
    (lambda x, h: [cut_by_view(x, h)[i] for i in (1, 0, 2)], "queries and keys are exchanged"),
    (lambda x, h: [cut_by_view(x, h)[i] for i in (2, 1, 0)], "queries and values are exchanged"),
    (lambda x, h: tuple(cut_by_view(x, h).transpose(2, 3)), "the axes are not swapped"),
    (split_heads, "cut each into its queries"),
    (lambda x, h: x.chunk(3, dim=-1), "no axis for the heads"),
    (lambda x, h: tuple(cut_by_view(x, h).flip(2)), "in reverse order"),
    (lambda x, h: cut_by_split(x, h)[:2], "expected"),
    (lambda x, h: x.view(h, 3, -1), "expected"),
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
        *((check.grouped_attention, answer) for answer in (broadcast, head_by_head, kernel)),
        (check.grouped_attention, attend(blocks, blocks)),
        *((check.grouped_parameters, n) for n in (655360, 655360.0, torch.tensor(655360))),
        (check.cache_size, 102400),
        *((check.folded_lengths, answer) for answer in (lengths_by_expand, lengths_by_list)),
        (check.folded_lengths, lengths_by_index),
        (check.folded_lengths, torch.repeat_interleave),
        *((check.cut_interleaved, answer) for answer in (cut_by_split, cut_by_loop)),
        (check.cut_interleaved, cut_by_slices),
        (check.cut_interleaved, lambda x, h: tuple(cut_by_view(x, h))),
    ],
    [
        *((check.folded_lengths, *row) for row in LENGTHS),
        *((check.cut_interleaved, *row) for row in CUT),
        *((check.grouped_attention, *row) for row in GROUPED),
        (check.grouped_parameters, 4 * 512**2, "as many key-value heads"),
        (check.grouped_parameters, 512**2 + 3 * 512 * 128, "output matrix"),
        (check.grouped_parameters, 2 * 512**2 + 512 * 128, "a matrix each"),
        (check.grouped_parameters, 655360 + 1280, "no biases"),
        (check.grouped_parameters, 1, "too small"),
        (check.cache_size, 51200, "twice that"),
        (check.cache_size, 153600, "queries are not kept"),
        (check.cache_size, 8 * 102400, "the eight heads share the width"),
        (check.cache_size, 80000, "weights are not kept"),
        (check.cache_size, 1024, "that is one token"),
    ],
)
