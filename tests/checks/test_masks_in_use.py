"""The graders of "A mask is a rule": right answers in many styles, and wrong ones."""

import numpy as np
import pytest
import torch

from attention_lib import causal_mask, document_mask, length_mask, window_mask
from attention_lib.checks import masks_in_use as check
from tests.checks.tables import judged

# The window.


def window(len_q, len_k, window):
    behind = torch.arange(len_k - len_q, len_k)[:, None] - torch.arange(len_k)
    return (behind >= 0) & (behind < window)


def window_by_loops(len_q, len_k, window):
    mask = torch.zeros(len_q, len_k, dtype=torch.bool)
    for query in range(len_q):
        own = query + len_k - len_q
        mask[query, max(0, own - window + 1) : own + 1] = True
    return mask


def window_by_triangles(len_q, len_k, window):
    ones = torch.ones(len_q, len_k, dtype=torch.bool)
    return ones.tril(len_k - len_q) & ~ones.tril(len_k - len_q - window)


def window_of_the_whole(len_q, len_k, window):
    return window_mask(len_k, window=window)[len_k - len_q :]


def from_the_left(len_q, len_k, window):
    behind = torch.arange(len_q)[:, None] - torch.arange(len_k)
    return (behind >= 0) & (behind < window)


def distance(len_q, len_k):
    return torch.arange(len_k - len_q, len_k)[:, None] - torch.arange(len_k)


WINDOW = [
    (lambda q, k, w: window(q, k, w + 1), "one key too many"),
    (lambda q, k, w: window(q, k, w - 1), "one key too few"),
    (lambda q, k, w: causal_mask(q, k), "the causal mask"),
    (lambda q, k, w: distance(q, k) < w, "keys that lie ahead"),
    (lambda q, k, w: distance(q, k).abs() < w, "both sides"),
    (from_the_left, "the first query stands at the first key"),
    (lambda q, k, w: ~window(q, k, w), "wrong way round"),
    (lambda q, k, w: (distance(q, k) <= 0) & (distance(q, k) > -w), "looks ahead"),
    (lambda q, k, w: (distance(q, k) > 0) & (distance(q, k) <= w), "one of the window"),
    (lambda q, k, w: (distance(q, k) > 0) & (distance(q, k) < w), "distance 0"),
    (lambda q, k, w: distance(q, k) >= w, "beyond the window"),
    (lambda q, k, w: (torch.arange(k) >= k - w).expand(q, k), "of the last one"),
    (lambda q, k, w: window_mask(k, window=w), "a row for each key"),
    (lambda q, k, w: window(q, k, w).float(), "as numbers"),
    (lambda q, k, w: torch.ones(q, k).bool(), "query "),
    (lambda q, k, w: window(q, k, w)[:, None], "shape"),
]


# The prefix.


def prefix(prefix_lens, length):
    return causal_mask(length) | length_mask(prefix_lens, length)


def prefix_by_loops(prefix_lens, length):
    mask = torch.zeros(len(prefix_lens), length, length, dtype=torch.bool)
    for row, query, key in np.ndindex(*mask.shape):
        mask[row, query, key] = key <= query or key < prefix_lens[row]
    return mask


def prefix_by_maximum(prefix_lens, length):
    place = torch.arange(length)
    sees = torch.maximum(place[None] + 1, prefix_lens[:, None])  # (batch, len_q)
    return length_mask(sees, length)


def prefix_by_de_morgan(prefix_lens, length):
    place = torch.arange(length)
    return ~((place[:, None] < place) & (place >= prefix_lens[:, None, None]))


def prefix_by_where(prefix_lens, length):
    own = torch.arange(length) < prefix_lens[:, None, None]
    return torch.where(own, True, causal_mask(length))


def closed(prefix_lens, length):
    return length_mask(prefix_lens, length).expand(-1, length, -1)


PREFIX = [
    (lambda p, n: causal_mask(n), "one for all sequences"),
    (lambda p, n: causal_mask(n).expand(len(p), n, n), "the prefix opens nothing"),
    (lambda p, n: causal_mask(n) & closed(p, n), "joined by and"),
    (lambda p, n: causal_mask(n) ^ closed(p, n), "exclusive or"),
    (closed, "only the prefix is open; what"),
    (lambda p, n: length_mask(p, n), "one row for all queries"),
    (lambda p, n: causal_mask(n) | ~closed(p, n), "open to all"),
    (lambda p, n: ~prefix(p, n), "wrong way round"),
    (lambda p, n: causal_mask(n) | (torch.arange(n) <= p[:, None, None]), "one key too long"),
    (lambda p, n: causal_mask(n) | (torch.arange(n) < p[:, None, None] - 1), "one key too short"),
    (lambda p, n: causal_mask(n) | closed(p, n).mT, "The prefix is a matter of keys"),
    (lambda p, n: causal_mask(n).mT | closed(p, n), "wrong way up"),
    (lambda p, n: causal_mask(n).tril(-1) | closed(p, n), "does not read itself"),
    (lambda p, n: prefix(p[:1], n).expand(len(p), n, n), "of the first"),
    (lambda p, n: torch.ones(len(p), n, n).bool(), "everything is open"),
    (lambda p, n: prefix(p, n).double(), "as numbers"),
]


# Positions that restart.


def restarted(documents):
    own_past = document_mask(documents) & causal_mask(documents.shape[-1])
    return own_past.sum(dim=-1) - 1


def restarted_by_loops(documents):
    positions = torch.zeros_like(documents)
    for row, place in np.ndindex(*documents.shape):
        if place and documents[row, place] == documents[row, place - 1]:
            positions[row, place] = positions[row, place - 1] + 1
    return positions


def restarted_by_starts(documents):
    place = torch.arange(documents.shape[1]).expand(documents.shape)
    first = documents.diff(dim=1, prepend=documents[:, :1] - 1) != 0
    return place - (place * first).cummax(dim=1).values


def restarted_by_argmax(documents):
    starts = document_mask(documents).int().argmax(dim=-1)
    return torch.arange(documents.shape[1]) - starts


def restarted_by_numpy(documents):
    same = documents.numpy()[:, :, None] == documents.numpy()[:, None, :]
    return torch.from_numpy(np.tril(same).sum(axis=-1) - 1)


def ends(documents):
    return (document_mask(documents) & causal_mask(documents.shape[1]).mT).sum(dim=-1) - 1


RESTARTED = [
    (lambda d: torch.arange(d.shape[1]).expand(d.shape), "through the whole row"),
    (lambda d: torch.arange(d.shape[1]), "through the whole row"),
    (lambda d: restarted(d) + 1, "positions count from 0"),
    (lambda d: document_mask(d).sum(dim=-1), "the length of the token's document"),
    (lambda d: document_mask(d).sum(dim=-1) - 1, "the last position of the document"),
    (ends, "from the end"),
    (lambda d: ends(d) + 1, "from the end"),
    (lambda d: torch.arange(d.shape[1]) - d, "not its number"),
    (lambda d: d, "the number of the document"),
    (lambda d: restarted(d[:1]).expand(d.shape), "of the first"),
    (lambda d: torch.zeros_like(d), "every token has position 0"),
    (lambda d: (d == d[:, :1]).cumsum(1) - 1, "only the first document"),
    (lambda d: restarted(d.flatten()).view(d.shape), "from one row to the next"),
    (lambda d: restarted(d).bool(), "numbers are asked for"),
    (lambda d: restarted(d)[0], "shape"),
    (lambda d: restarted(d).sum(dim=-1), "shape"),
]


# Blocks.


def skipped(mask, size):
    tiles = mask.reshape(mask.shape[0] // size, size, mask.shape[1] // size, size)
    return (~tiles.any(dim=3).any(dim=1)).double().mean()


def skipped_in_float32(mask, size):
    tiles = mask.view(mask.shape[0] // size, size, -1, size)
    return 1 - tiles.any(dim=3).any(dim=1).float().mean()


def skipped_by_loops(mask, size):
    rows, columns = mask.shape
    tiles = [mask[i : i + size, j : j + size]
             for i in range(0, rows, size) for j in range(0, columns, size)]  # fmt: skip
    return sum(not tile.any() for tile in tiles) / len(tiles)


def skipped_by_pooling(mask, size):
    best = torch.nn.functional.max_pool2d(mask[None].double(), size)
    return (best == 0).double().mean()


def skipped_by_unfold(mask, size):
    return 1 - mask.unfold(0, size, size).unfold(1, size, size).flatten(2).any(-1).double().mean()


def skipped_by_numpy(mask, size):
    tiles = mask.numpy().reshape(mask.shape[0] // size, size, -1, size)
    return float(1 - tiles.max(axis=(1, 3)).mean())


SKIPPED = [
    (lambda m, s: (~m).double().mean(), "the share of hidden pairs"),
    (lambda m, s: m.double().mean(), "the share of open pairs"),
    (lambda m, s: 1 - skipped(m, s), "blocks that are computed"),
    (lambda m, s: 1 - (-torch.nn.functional.max_pool2d(-m[None].double(), s)).mean(), "any, not"),
    (lambda m, s: (-torch.nn.functional.max_pool2d(-m[None].double(), s)).mean(), "throughout"),
    (lambda m, s: skipped(m, s) * (m.numel() // s**2), "number of skipped blocks"),
    (lambda m, s: 100 * skipped(m, s), "per cent"),
    (lambda m, s: 1 - m[::s, ::s].double().mean(), "first pair"),
    (lambda m, s: 1 - m[s - 1 :: s, s - 1 :: s].double().mean(), "last pair"),
    (lambda m, s: 1 - m.reshape(-1, s, s).any(-1).any(-1).double().mean(), "follow one another"),
    (lambda m, s: skipped(m, s) / s**2, "not by the number of pairs"),
    (lambda m, s: (1 - s / len(m)) / 2, "the causal mask alone"),
    (lambda m, s: m.any(), "numbers are asked for"),
    (lambda m, s: 0.375, "should be"),
    (lambda m, s: 1 - m.unflatten(-1, (-1, s)).any(-1).double().mean(), "a block has `size` quer"),
    (lambda m, s: 1 - m.unflatten(0, (-1, s)).any(1).double().mean(), "a block has `size` keys"),
    (lambda m, s: skipped(m[:, ::s], s), "0, should be 0.25"),
]

RIGHT = [
    *[(check.reach, x) for x in (19, 19.0, torch.tensor(19), np.int64(19), 6 * 3 + 1)],
    *[
        (check.window_rule, answer)
        for answer in (window, window_by_loops, window_by_triangles, window_of_the_whole)
    ],
    *[
        (check.prefix_rule, answer)
        for answer in (prefix, prefix_by_loops, prefix_by_maximum, prefix_by_de_morgan,
                       prefix_by_where)
    ],
    *[
        (check.restarting_positions, answer)
        for answer in (restarted, restarted_by_loops, restarted_by_starts, restarted_by_argmax,
                       restarted_by_numpy)
    ],
    *[
        (check.skipped_blocks, answer)
        for answer in (skipped, skipped_in_float32, skipped_by_loops, skipped_by_pooling,
                       skipped_by_unfold, skipped_by_numpy)
    ],
]  # fmt: skip

REACH = [
    (24, "six"), (25, "one of the four"), (18, "own position"), (4, "one layer"),
    (7, "two layers"), (16, "five layers"), (22, "seven layers"), (20, "counts once"),
    (10, "not 1"), (6, "number of layers"), (4096, "paths"), (12, "4 − 1"), (0, "too small"),
    (64, "too large"), ("19", "a number is expected"), (float("nan"), "NaN"),
]  # fmt: skip

WRONG = [
    *[(check.reach, *row) for row in REACH],
    *[(check.window_rule, *row) for row in WINDOW],
    *[(check.prefix_rule, *row) for row in PREFIX],
    *[(check.restarting_positions, *row) for row in RESTARTED],
    *[(check.skipped_blocks, *row) for row in SKIPPED],
]

test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)


def test_stubs_are_told_to_be_written():
    for grader, stub in (
        (check.reach, ...),
        (check.window_rule, lambda len_q, len_k, window: ...),
        (check.prefix_rule, lambda prefix_lens, length: ...),
        (check.restarting_positions, lambda documents: ...),
        (check.skipped_blocks, lambda mask, size: ...),
    ):
        assert repr(grader(stub)) == "Write it, then run this cell."


def test_the_quiz():
    assert check.quiz("b", 8, "c")
    assert not check.quiz("a", 8, "c")


@pytest.mark.parametrize(("layers", "keys"), [(6, 4)])
def test_the_reach_is_that_of_the_matrices(layers, keys):
    paths = torch.linalg.matrix_power(window_mask(64, window=keys).double(), layers)
    assert (paths[-1] > 0).sum() == check.reach.right
