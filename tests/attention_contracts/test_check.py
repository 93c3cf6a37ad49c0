"""``check``, ``check_model``, the command and the fixture."""

import json
import re
import runpy
import sys
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attention_contracts as contracts
from attention_contracts.__main__ import main
from attention_lib.attention import DotProductAttention, scaled_dot_product_attention
from attention_lib.masking import causal_mask, length_mask
from attention_lib.multihead import MultiHeadAttention
from tests.attention_contracts.attentions import (
    KeepsWeights,
    adds_the_next_query,
    always_drops,
    divided_by_d,
    unscaled,
    wrong_axis,
)

pytest_plugins = ["attention_contracts.pytest_plugin"]


def names(findings):
    return {finding.name for finding in findings}


class SelfAttention(nn.Module):
    """One input; ``mistake`` is a break of one line."""

    def __init__(self, mistake=None):
        super().__init__()
        torch.manual_seed(0)
        self.mistake = mistake
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x, real=None):
        q, k, v = (y.unflatten(-1, (4, 4)).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        mask = causal_mask(x.shape[1])
        if self.mistake == "sees the next":
            mask = torch.ones_like(mask).tril(1)
        if real is not None:
            mask = mask & real[:, None, None]
        scale = {"unscaled": 1.0, "whole width": 0.25}.get(self.mistake)
        output = F.scaled_dot_product_attention(q, k, v, mask, scale=scale)
        return self.out(output.transpose(1, 2).flatten(-2))


LAYERS = nn.ModuleDict({"layers": nn.ModuleList([SelfAttention()])})


def padding(valid_lens, length):
    return {"real": length_mask(valid_lens, length).squeeze(1)}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "attend",
    [
        F.scaled_dot_product_attention,
        nn.MultiheadAttention(8, 2),
        nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True, bias=False),
        scaled_dot_product_attention,
        DotProductAttention(dropout=0.5),
        MultiHeadAttention(8, 4, num_kv_heads=2, bias=True),
    ],
    ids=lambda attend: type(attend).__name__,
)
def test_right_attentions_get_no_complaint(attend, causal):
    report = contracts.check(attend, causal)
    assert report, str(report)
    assert {"padding, values", "batch = single", "queries apart"} <= names(report.kept)
    assert ("causality" in names(report.kept)) == causal


def test_a_right_single_input_gets_no_complaint():
    report = contracts.check(SelfAttention(), causal=True, padding=padding, d_k=16)
    assert not report.broken, str(report)
    assert {"causality", "padding, values", "scale"} <= names(report.kept)


@pytest.mark.parametrize(
    ("attend", "contract", "says"),
    [
        (unscaled, "scale", r"no scaling"),
        (divided_by_d, "scale", r"division by d_k"),
        (always_drops, "evaluation twice", r"dropout"),
        (wrong_axis, "batch = single", r"samples are mixed"),
        (SelfAttention("sees the next"), "causality", r"query 0"),
        (SelfAttention("unscaled"), "scale", r"scaled by 1 \(no scaling"),
        (SelfAttention("whole width"), "scale", r"the root of the whole width"),
    ],
)
def test_what_is_broken_is_found(attend, contract, says):
    single = isinstance(attend, nn.Module)
    options = {"padding": padding, "d_k": 16, "causal": True} if single else {}
    report = contracts.check(attend, **options)
    [finding] = [finding for finding in report.broken if finding.name == contract]
    assert re.search(says, finding.says)
    assert finding.means and finding.chapter
    with pytest.raises(AssertionError, match=r"kept, \d broken, \d+ not tested"):
        report.raise_if_broken()


def test_mixed_queries_are_no_fault_of_the_causal_mask():
    broken = contracts.check(adds_the_next_query, causal=True).broken
    means = {finding.name: finding.means for finding in broken}
    assert means["causality"] == means["queries apart"]


def test_an_attention_that_takes_no_mask_is_not_called_padding_invariant():
    report = contracts.check(lambda x: nn.Identity()(x) + x.mean(dim=1, keepdim=True))
    assert "padding, values" in names(report.not_tested)
    assert "no way to pass padding" in str(report)


def test_what_needs_a_module_says_so_of_a_function():
    not_tested = contracts.check(F.scaled_dot_product_attention).not_tested
    reasons = {finding.name: finding.says for finding in not_tested}
    assert reasons["owns parameters"].startswith("a function: it has no parameters")


def test_what_others_do_not_promise_counts_only_if_strict():
    report = contracts.check(F.scaled_dot_product_attention)
    assert "padding, NaN" in names(report.not_tested)
    strict = contracts.check(F.scaled_dot_product_attention, strict=True)
    assert names(strict.broken) == {"padding, NaN"}
    assert "forgets" in names(contracts.check(KeepsWeights(), strict=True, d_k=10).broken)
    assert contracts.check(scaled_dot_product_attention, strict=True)


def test_modes_and_random_state_come_back():
    layer = nn.MultiheadAttention(8, 2, dropout=0.5)
    before = torch.random.get_rng_state()
    contracts.check(layer)
    assert layer.training and torch.equal(torch.random.get_rng_state(), before)


def test_positions_and_caches_of_a_single_input_are_tested():
    def right(x, cache=None, positions=None):
        places = torch.arange(x.shape[1]) if positions is None else positions
        offset = 0 if cache is None else cache.shape[1]
        memory = x if cache is None else torch.cat([cache, x], dim=1)
        turned = x * (1 + places + offset)[:, None]
        return scaled_dot_product_attention(turned, memory, memory, causal=True)[0], memory

    def wrong(x, cache=None, positions=None):
        output, memory = right(x, cache)
        return output + (0 if cache is None else 0.1), memory

    tested = {"cached = whole", "positions are read"}
    assert tested <= names(contracts.check(right, True).kept)
    assert tested <= names(contracts.check(wrong, True).broken)


class Model(nn.Module):
    """A causal model with the form of Hugging Face's: mask, positions and a cache."""

    def __init__(self, mistake=None):
        super().__init__()
        torch.manual_seed(0)
        self.config = SimpleNamespace(vocab_size=50, pad_token_id=0)
        self.mistake = mistake
        self.tokens, self.places = nn.Embedding(50, 16), nn.Embedding(40, 16)
        self.read = nn.Linear(16, 16)

    def forward(
        self, ids, attention_mask=None, position_ids=None, past_key_values=None, use_cache=False
    ):
        offset = 0 if past_key_values is None else past_key_values.shape[1]
        if self.mistake == "counts anew":
            offset = 0
        if position_ids is None or self.mistake == "counts places":
            position_ids = torch.arange(ids.shape[1]).expand_as(ids) + offset
        x = self.tokens(ids) + self.places(position_ids)
        memory = x if past_key_values is None else torch.cat([past_key_values, x], dim=1)
        mask = causal_mask(x.shape[1], memory.shape[1])
        if self.mistake == "sees the next":
            mask = torch.ones_like(mask).tril(1)
        if attention_mask is not None and attention_mask.dim() == 2:
            mask = mask & attention_mask.bool()[:, None]
        elif attention_mask is not None:
            mask = mask & (attention_mask[:, 0] == 0)
        if self.mistake == "mixes texts":
            memory = memory - memory.mean(dim=0)
        output = scaled_dot_product_attention(x, self.read(memory), memory, mask=mask)[0]
        output = F.dropout(output, 0.1, self.training or self.mistake == "drops")
        cache = memory if use_cache else None
        return SimpleNamespace(logits=output @ self.tokens.weight.T, past_key_values=cache)


MODEL_BREAKS = {
    "sees the next": {"future", "cached, one token", "cached, chunks"},
    "counts places": {"left padding"},
    "counts anew": {"cached, one token", "cached, chunks"},
    "mixes texts": {"batch = single"},
    "drops": {"evaluation twice"},
}


def test_a_right_model_keeps_all_that_can_be_tested():
    report = contracts.check_model(Model())
    assert not report.broken, str(report)
    assert names(report.not_tested) == {"eager = fused", "positions shifted"}


@pytest.mark.parametrize("mistake", MODEL_BREAKS)
def test_what_a_model_breaks_is_found(mistake):
    assert MODEL_BREAKS[mistake] <= names(contracts.check_model(Model(mistake)).broken)


class TwoImplementations(Model):
    """Its attention is chosen by name, as Hugging Face's; ``mistake`` is that of the fused one."""

    def __init__(self, mistake=None):
        super().__init__()
        self.mistake_of = {"sdpa": mistake}
        self.config._attn_implementation = "eager"

    def set_attn_implementation(self, name):
        self.config._attn_implementation, self.mistake = name, self.mistake_of.get(name)


def test_a_models_two_implementations_are_compared_and_its_own_comes_back():
    kept = contracts.check_model(TwoImplementations()).kept
    assert any("sdpa gives what eager gives" in finding.how for finding in kept)
    model = TwoImplementations("sees the next")
    assert names(contracts.check_model(model).broken) == {"eager = fused"}
    assert model.config._attn_implementation == "eager"


class TwoAxesOfAMask(Model):
    def forward(self, ids, attention_mask=None, position_ids=None):
        if attention_mask is not None and attention_mask.dim() == 4:
            attention_mask = None
        return super().forward(ids, attention_mask, position_ids)


def test_two_texts_in_one_row_that_nothing_parts_are_no_verdict():
    assert "packed documents" in names(contracts.check_model(Model()).kept)
    assert "packed documents" in names(contracts.check_model(TwoAxesOfAMask()).not_tested)


def test_a_model_without_attention_is_not_called_causal():
    report = contracts.check_model(nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 50)), 50)
    assert {"future", "right padding", "cached, one token"} <= names(report.not_tested)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["torch.nn.functional:scaled_dot_product_attention", "--causal"], 0),
        (["tests.attention_contracts.attentions:unscaled"], 1),
        (["tests.attention_contracts.attentions:window_of_3", "--window", "3"], 0),
        (["tests.attention_contracts.attentions:window_of_3", "--window", "2"], 1),
        (["tests.attention_contracts.test_check:Model", "--model"], 0),
        (["tests.attention_contracts.test_check:LAYERS.layers.0", "--causal"], 0),
        (["tests.attention_contracts.attentions"], 2),
        (["no.such.module:name"], 2),
        (["tests.attention_contracts.attentions:D_MODEL"], 2),
    ],
)
def test_the_exit_code_of_the_command(arguments, code, capsys):
    assert main([*arguments, "--json"]) == code
    said = capsys.readouterr()
    if code == 2:
        assert said.err
    else:
        assert bool(json.loads(said.out)["broken"]) == bool(code)


def test_the_fixture_fails_where_a_contract_is_broken(attention_report):
    assert attention_report(F.scaled_dot_product_attention, causal=True).kept
    assert attention_report(Model(), vocab_size=50).kept
    counts = r"“scale” is broken\.\n15 kept, 1 broken, 27 not tested"
    with pytest.raises(AssertionError, match=counts):
        attention_report(unscaled)


def test_the_package_can_be_run_as_a_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["attention-contracts", "--help"])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_path(sys.modules["attention_contracts.__main__"].__file__, run_name="__main__")
    assert exit_.value.code == 0
    assert "usage: attention-contracts" in capsys.readouterr().out
