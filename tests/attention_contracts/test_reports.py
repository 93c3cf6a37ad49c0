"""What public reports were about, rebuilt in a few lines: each was once called kept."""

import functools

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attention_contracts as contracts

attend = F.scaled_dot_product_attention


def triangle(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


class DroppedScores(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))

    def forward(self, x):
        scores = (self.q(x) @ self.k(x).mT / 4).masked_fill(~triangle(x.shape[1]), -torch.inf)
        return F.dropout(scores, 0.5, self.training).softmax(-1) @ self.v(x)


class CausalInEvaluation(DroppedScores):
    def forward(self, x, causal=None):
        causal = not self.training if causal is None else causal
        return attend(self.q(x), self.k(x), self.v(x), is_causal=causal)


class MasksQueries(DroppedScores):
    def forward(self, x, real):
        hidden = ~(real[:, :, None] & triangle(x.shape[1]))
        scores = (self.q(x) @ self.k(x).mT / 4).masked_fill(hidden, -torch.inf)
        return scores.softmax(-1) @ self.v(x)


class TwoPlanes(DroppedScores):
    """Masks that are the lowest number: two are added, or each place is hidden once."""

    def __init__(self, once=False):
        super().__init__()
        self.once = once

    def forward(self, x, real):
        keys, queries, order = real[:, None, :], real[:, :, None], triangle(x.shape[1])
        masks = [keys & queries & order] if self.once else [keys, queries, order]
        scores = self.q(x) @ self.k(x).mT / 4
        for mask in masks:
            scores = scores + torch.zeros_like(scores).masked_fill(~mask, torch.finfo(x.dtype).min)
        return scores.softmax(-1) @ self.v(x)


class TimesTheMask(DroppedScores):
    def forward(self, x, real):
        scores = (self.q(x) @ self.k(x).mT / 4).masked_fill(~real[:, None, :], -torch.inf)
        return scores.softmax(-1) @ self.v(x) * real[:, :, None]


class Exchanged(DroppedScores):
    def forward(self, x):
        return attend(self.k(x), self.q(x), self.v(x))


def in_chunks_of_256(queries, keys, values):
    places = torch.arange(queries.shape[-2])
    leak = (places[:, None] // 256 == places // 256) & (places >= 256)
    return attend(queries, keys, values, triangle(len(places)) | leak)


def mean_from_17_on(queries, keys, values):
    mean = values.mean(-2, keepdim=True).expand_as(queries)
    return attend(queries, keys, values) if keys.shape[-2] < 17 else mean


def wrong_beyond_128(queries, keys, values):
    late = torch.arange(queries.shape[-2])[:, None] > 128
    return attend(queries, keys, values) + 0.5 * late


def open_on_the_right(queries, keys, values):
    places = torch.arange(queries.shape[-2])
    return attend(queries, keys, values, places[:, None] - places < 4)


def one_more(queries, keys, values, right=True):
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5
    largest = scores.amax(-1, keepdim=True)
    largest = largest.clamp(min=0) if right else largest
    share = (scores - largest).exp()
    rest = (-largest).exp() if right else 1
    weights = share / (share.sum(-1, keepdim=True) + rest)
    return weights @ values, weights


def padding(valid_lens, length):
    return {"real": torch.arange(length) < valid_lens[:, None]}


PADDED = {"causal": True, "padding": padding, "length": 8}
one_more_after_the_largest = functools.partial(one_more, right=False)


@pytest.mark.parametrize(
    ("subject", "options", "contract", "says"),
    [
        (DroppedScores(), {"causal": True, "length": 8}, "training mode", "before the softmax"),
        (CausalInEvaluation(), {"causal": True, "length": 8}, "training mode", "not causal"),
        (MasksQueries(), PADDED, "gradients", "NaN"),
        (TwoPlanes(), PADDED, "masks in bfloat16", "-inf in a whole row"),
        (TwoPlanes().bfloat16(), PADDED, "masks in bfloat16", "-inf in a whole row"),
        (Exchanged(), {"length": 8}, "queries apart", "queries and keys are exchanged"),
        (in_chunks_of_256, {"causal": True, "length": 258}, "causality", "up to 258 positions"),
        (mean_from_17_on, {"length": 18}, "reads queries", "up to 18 positions"),
        (wrong_beyond_128, {"like": attend, "length": 130}, "like the reference", "up to 130"),
        (open_on_the_right, {"window": 4, "length": 8}, "window", "places after it"),
        (one_more_after_the_largest, {"length": 8}, "rows sum to 1", "follows the largest"),
    ],
)
def test_it_is_broken(subject, options, contract, says):
    broken = {x.name: x.says for x in contracts.check(subject, **options).broken}
    assert says in broken[contract]


@pytest.mark.parametrize(
    ("subject", "options"),
    [
        (attend, {"like": lambda x: attend(x, x, x)}),
        (one_more, {}),
        (TwoPlanes(once=True), {"causal": True, "padding": padding}),
        (TimesTheMask(), {"padding": padding}),
        (functools.partial(CausalInEvaluation(), causal=True), {"causal": True}),
    ],
)
def test_it_is_right(subject, options):
    report = contracts.check(subject, length=8, **options)
    assert report, str(report)


def test_what_was_asked_for_and_not_tested_is_no_good_news():
    report = contracts.check(attend, window=2048, length=8)
    assert not report.broken and not report
    assert [x.name for x in report.unmet] == ["window"]


@pytest.mark.parametrize("length", [4, 7])
def test_a_short_text_may_be_asked_for(length):
    assert contracts.check(attend, length=length)


def test_what_turns_nothing_is_not_called_turned():
    report = contracts.check(attend, causal=True, length=8)
    reasons = {x.name: x.says for x in report.not_tested}
    assert "nothing turns" in reasons["queries turn as keys"]
    assert "no order is seen" in reasons["order is seen"]


class Leaks(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.out = nn.Embedding(50, 32), nn.Linear(32, 50)

    def forward(self, ids):
        x = self.table(ids)
        return self.out(x + x.mean(1, keepdim=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_leak_is_seen_in_every_precision(dtype):
    report = contracts.check_model(Leaks().to(dtype), 50, length=16)
    assert "future" in {x.name for x in report.broken}


class Cached(nn.Module):
    """Logits and a cache in a tuple; a window of 15 keys where there should be 16."""

    def __init__(self, mistake=False):
        super().__init__()
        torch.manual_seed(0)
        self.mistake, self.table, self.places = mistake, nn.Embedding(50, 16), nn.Embedding(40, 16)

    def forward(self, ids, kv=None):
        start = 0 if kv is None else kv.shape[1]
        x = self.table(ids) + self.places(start + torch.arange(ids.shape[1]))
        memory = x if kv is None else torch.cat([kv, x], dim=1)
        len_q, len_k = ids.shape[1], memory.shape[1]
        seen = torch.ones(len_q, len_k, dtype=torch.bool).tril(start)
        seen = seen.triu(start - 15 + (self.mistake and kv is not None))
        return attend(x / 10, memory, memory, seen) @ self.table.weight.T, memory


def test_a_cache_in_a_tuple_is_found_and_a_window_one_short_is_named():
    assert "cached, one token" in {x.name for x in contracts.check_model(Cached(), 50).kept}
    broken = {x.name: x.means for x in contracts.check_model(Cached(True), 50).broken}
    assert "one key short" in broken["cached, one token"]


class Packed(nn.Module):
    """Reads its own text alone; its places go on from one text to the next."""

    def __init__(self, leaks=False):
        super().__init__()
        torch.manual_seed(0)
        self.leaks, self.table, self.places = leaks, nn.Embedding(50, 16), nn.Embedding(40, 16)

    def forward(self, ids, document_ids=None):
        x = self.table(ids) + self.places(torch.arange(ids.shape[1]))
        seen = triangle(ids.shape[1])
        if document_ids is not None and not self.leaks:
            seen = seen & (document_ids[:, :, None] == document_ids[:, None, :])
        return attend(x / 10, x, x, seen) @ self.table.weight.T


def test_texts_that_do_not_meet_are_not_said_to_meet():
    options = {"length": 16, "documents": lambda ids: {"document_ids": ids}}
    apart = contracts.check_model(Packed(), 50, **options)
    assert not apart and not apart.broken
    assert "does not read the first" in apart.unmet[0].says
    leaky = contracts.check_model(Packed(leaks=True), 50, **options)
    assert [x.name for x in leaky.broken] == ["packed documents"]
