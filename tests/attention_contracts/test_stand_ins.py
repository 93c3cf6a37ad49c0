"""Small stand-ins for published code that contracts once accused, missed or crashed on.

``tests/nightly/test_foreign_attentions.py`` runs the packages themselves.
"""

import re
import sys
from functools import partial
from types import ModuleType, SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attention_contracts as contracts
from attention_contracts.__main__ import main

pytest_plugins = ["attention_contracts.pytest_plugin"]
check = partial(contracts.check, length=8)  # a long sequence takes most of the time


def names(findings):
    return {finding.name for finding in findings}


def says(report, name):
    """Return what a report says about one contract, kept or not."""
    [finding] = [x for x in (*report.kept, *report.broken, *report.not_tested) if x.name == name]
    return finding.says or finding.how


def causal_mask(len_q, len_k):
    return torch.ones(len_q, len_k, dtype=torch.bool).tril(len_k - len_q)


class Layer(nn.Module):
    """Self-attention of four heads; two of keys and values with ``grouped``."""

    def __init__(self, width=16, grouped=False, repeat="interleave"):
        super().__init__()
        torch.manual_seed(0)
        shared = width // 2 if grouped else width
        self.q, self.k, self.v = nn.Linear(width, width), *(nn.Linear(width, shared) for _ in "kv")
        self.o = nn.Linear(width, width)
        self.repeat = repeat

    def heads(self, x):
        x = x.unflatten(-1, (-1, 4)).transpose(1, 2)
        times = 4 // x.shape[1]
        if self.repeat == "interleave":
            return x.repeat_interleave(times, dim=1)
        return x.repeat(1, times, 1, 1)

    def attend(self, x, allowed=None, scale=None, sinks=None):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        scores = q @ k.mT * (4**-0.5 if scale is None else scale)
        if allowed is not None and allowed.dtype == torch.bool:
            scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        elif allowed is not None:
            scores = scores + allowed
        if sinks is not None:
            scores = torch.cat([scores, sinks[:, None, None].expand(*scores.shape[:-1], 1)], dim=-1)
        weights = scores.softmax(dim=-1)[..., : x.shape[1]]
        return self.o((weights @ v).transpose(1, 2).flatten(-2)), weights

    def forward(self, x, real=None):
        mask = causal_mask(x.shape[1], x.shape[1])
        return self.attend(x, mask if real is None else mask & real[:, None, None])


class OwnMatrices(Layer):
    """The same with matrices of its own: one as in open_clip, or three."""

    def __init__(self, stacked, scale):
        super().__init__()
        self.scale_given = scale
        weights = [module.weight.detach() for module in (self.q, self.k, self.v)]
        self.names = ["in_proj_weight"] if stacked else ["W_q", "W_k", "W_v"]
        for name, weight in zip(
            self.names, [torch.cat(weights)] if stacked else weights, strict=True
        ):
            setattr(self, name, nn.Parameter(weight if stacked else weight.T.clone()))
        del self.q, self.k, self.v

    def forward(self, x):
        if self.names == ["in_proj_weight"]:
            parts = F.linear(x, self.in_proj_weight).chunk(3, dim=-1)
        else:
            parts = x @ self.W_q, torch.matmul(x, self.W_k), x.matmul(self.W_v)
        q, k, v = map(self.heads, parts)
        weights = (q @ k.mT * self.scale_given).softmax(dim=-1)
        return self.o((weights @ v).transpose(1, 2).flatten(-2))


# --- what a report says --------------------------------------------------------------------------


def test_the_first_line_answers_the_second_counts_and_the_third_has_the_bound():
    first, second, third, *rest = str(contracts.check(Layer(), True, length=130)).splitlines()
    assert first == "Good: all that could be tested is kept."
    counts = re.fullmatch(r"(2\d) kept, 0 broken, (\d+) not tested", second)
    assert third.endswith("up to 130 positions")
    headings = [line for line in rest if line and not line.startswith(" ")]
    assert headings == [f"kept ({counts[1]})", f"not tested ({counts[2]})"]


def test_lengths_cross_what_the_code_names():
    class Chunked(Layer):
        def __init__(self):
            super().__init__()
            self.chunk_size = 100

        def forward(self, x):
            places = torch.arange(x.shape[1])
            leak = (places[:, None] == 2 * self.chunk_size - 1) & (places == 2 * self.chunk_size)
            return self.attend(x, causal_mask(x.shape[1], x.shape[1]) | leak)

    report = contracts.check(Chunked(), causal=True, length=260)  # named, it has no time limit
    assert "chunk_size of 100" in report.subject
    assert "after query 199" in says(report, "causality")


def test_what_is_required_has_to_be_tested():
    report = check(Layer(), causal=True, require=["causality", "padding"])
    assert not report
    assert names(report.unmet) >= {"padding, values", "mask is read"}
    with pytest.raises(AssertionError, match=r"required\n  padding, values"):
        report.raise_if_broken()
    assert check(Layer(), causal=True, require=["causality", "own position"])
    with pytest.raises(ValueError, match=r"require: expected some of causality, .*, got 'masks'"):
        check(Layer(), require=["masks"])
    with pytest.raises(TypeError, match="require: expected a list"):
        check(Layer(), require="causality")


def test_a_mask_that_was_not_used_is_named():
    report = check(Layer(), causal=True)
    assert not report.notes
    module = Layer()
    module.forward = lambda x, attention_mask=None: module.attend(x)
    report = check(module)
    assert "attention_mask" in report.notes[0]
    assert "attention_mask" in says(report, "padding, values")


class AlwaysMasked(Layer):
    def forward(self, x, real):
        return self.attend(x, causal_mask(x.shape[1], x.shape[1]) & real[:, None, None])


@pytest.mark.parametrize("layer", [Layer, AlwaysMasked])
def test_the_documented_padding_loses_no_contract(layer):
    report = check(
        layer(), causal=True, padding=lambda lens, n: {"real": torch.arange(n) < lens[:, None]}
    )
    assert {"padding removed", "padding, values", "mask is read"} <= names(report.kept)


@pytest.mark.parametrize("arguments", [["--require", "padding"], ["--require", "causality"]])
def test_the_command_counts_what_is_required(arguments, capsys):
    name = "tests.attention_contracts.test_stand_ins:Layer"
    assert main([name, "--causal", *arguments]) == int("padding" in arguments)
    assert "kept, 0 broken" in capsys.readouterr().out


def test_the_command_compares_with_a_reference(capsys):
    here = "tests.attention_contracts.test_stand_ins"
    sdpa = "torch.nn.functional:scaled_dot_product_attention"
    assert main([f"{here}:twice_the_scale", "--like", sdpa, "--heads", "2", "--width", "8"]) == 1
    assert "like the reference" in capsys.readouterr().out


def twice_the_scale(queries, keys, values):
    return F.scaled_dot_product_attention(2 * queries, keys, values)


# --- layers of transformers ----------------------------------------------------------------------


@pytest.fixture
def published(monkeypatch):
    """Make a class look as if it were one of transformers."""
    home = ModuleType("transformers.models.stand_in")
    monkeypatch.setitem(sys.modules, home.__name__, home)

    def publish(kind):
        kind.__module__ = home.__name__
        setattr(home, kind.__name__, kind)
        return kind

    return publish


def test_a_mask_of_another_name_and_a_bias_in_the_second_place(published):
    """As T5Attention: unscaled, its argument is ``mask``, and a position bias comes back."""

    @published
    class StandInAttention(Layer):
        def forward(self, hidden_states, mask=None, position_bias=None):
            output, weights = self.attend(hidden_states, mask, scale=1.0)
            return output, torch.full_like(weights, -3.0), weights

    report = check(StandInAttention(), causal=True)
    assert not report.broken, str(report)
    assert {"causality", "padding, values", "rows sum to 1"} <= names(report.kept)
    assert "scale=1" in says(report, "scale")


def test_sinks_take_their_share(published):
    @published
    class StandInAttention(Layer):
        def __init__(self):
            super().__init__()
            self.sinks = nn.Parameter(torch.randn(4))

        def forward(self, hidden_states, attention_mask=None):
            return self.attend(hidden_states, attention_mask, sinks=self.sinks)

    report = check(StandInAttention(), causal=True)
    assert not report.broken, str(report)
    assert "a sink takes a part" in says(report, "rows sum to 1")


def test_a_window_is_part_of_the_mask_that_a_layer_is_given(published):
    @published
    class StandInAttention(Layer):
        def forward(self, hidden_states, attention_mask=None):
            return self.attend(hidden_states, attention_mask)

    report = check(StandInAttention(), causal=True, window=3)
    assert not report.broken and "window" in names(report.kept)


@pytest.mark.parametrize("lengthened", [1.0, 1.3])
def test_rotary_positions_by_kind_of_layer_that_lengthen_vectors(published, lengthened):
    def turn(x, angles):
        left, right = x.chunk(2, dim=-1)
        cos, sin = angles
        return torch.cat([left * cos - right * sin, left * sin + right * cos], dim=-1)

    class StandInRotaryEmbedding(nn.Module):
        def __init__(self, config):
            super().__init__()

        def forward(self, x, position_ids, layer_type):
            assert layer_type == "sliding"
            angles = position_ids[:, None, :, None] * 0.1 ** torch.arange(2)
            return lengthened * angles.cos(), lengthened * angles.sin()

    @published
    class StandInAttention(Layer):
        def __init__(self):
            super().__init__()
            self.config = SimpleNamespace(layer_types=["sliding"])
            self.layer_idx, self.scaling, self.wrong = 0, 0.5, False

        def forward(self, hidden_states, position_embeddings, attention_mask=None):
            q, k, v = (self.heads(part(hidden_states)) for part in (self.q, self.k, self.v))
            q = turn(q, position_embeddings)
            k = k if self.wrong else turn(k, position_embeddings)
            weights = (q @ k.mT / 2 + attention_mask).softmax(dim=-1)
            return self.o((weights @ v).transpose(1, 2).flatten(-2)), weights

    published(StandInRotaryEmbedding)
    layer = StandInAttention()
    report = check(layer, causal=True)
    assert not report.broken, str(report)
    assert {"positions shifted", "scale", "queries turn as keys"} <= names(report.kept)
    layer.wrong = True
    report = check(layer, causal=True)
    assert {"positions shifted", "queries turn as keys"} <= names(report.broken)


def test_a_wrapper_around_a_layer_is_called_as_the_layer(published):
    @published
    class StandInAttention(Layer):
        def forward(self, hidden_states, attention_mask=None):
            return self.attend(hidden_states, attention_mask)

    class Wrapper(nn.Module):
        def __init__(self):
            super().__init__()
            self.base_layer = StandInAttention()

        def forward(self, *args, **kwargs):
            return self.base_layer(*args, **kwargs)

    report = check(Wrapper(), causal=True)
    assert not report.broken and {"causality", "mask is read"} <= names(report.kept)


# --- other attentions ----------------------------------------------------------------------------


def test_a_kernel_without_gradients_is_not_called_broken():
    class NoWayBack(torch.autograd.Function):
        @staticmethod
        def forward(ctx, queries, keys, values):
            return F.scaled_dot_product_attention(queries, keys, values)

        @staticmethod
        def backward(ctx, gradient):
            raise NotImplementedError("on this device")

    report = check(lambda *qkv: NoWayBack.apply(*qkv))
    assert not report.broken
    assert "no gradients on this device" in says(report, "gradients")


@pytest.mark.parametrize("stacked", [True, False])
def test_projections_may_be_matrices_without_a_module(stacked):
    report = check(OwnMatrices(stacked, scale=4**-0.5))
    assert {"queries apart", "reads values", "scale", "values stay"} <= names(report.kept)
    assert not report.broken
    assert names(check(OwnMatrices(stacked, scale=0.25)).broken) == {"scale"}


def test_a_scale_that_a_layer_stores_may_be_a_divisor():
    class Divided(Layer):
        scale = 8.0

        def forward(self, x):
            return self.attend(x, scale=1 / self.scale)

    report = check(Divided())
    assert not report.broken and "scale" in names(report.kept)


def test_an_output_matrix_that_begins_as_zeros_is_no_mistake():
    layer = Layer()
    nn.init.zeros_(layer.o.weight)
    assert "weights are read" in names(check(layer, strict=True).kept)


def test_a_layer_of_three_widths():
    layer = nn.MultiheadAttention(16, 4, kdim=12, vdim=10, batch_first=True)
    report = check(layer, causal=True)
    assert not report.broken and len(report.kept) > 20


def test_positions_added_inside_are_no_mistake():
    def absolute(queries, keys, values):
        waves = torch.randn(keys.shape[-2:], generator=torch.Generator().manual_seed(0)).to(keys)
        return F.scaled_dot_product_attention(queries + waves, keys + waves, values)

    report = check(absolute)
    assert not report.broken
    assert re.match(r"positions inside, or a mask\? the order matters", says(report, "permutation"))


# --- a reference ---------------------------------------------------------------------------------


def test_a_reference_gets_the_same_weights():
    right = check(Layer(grouped=True), causal=True, like=Layer(grouped=True))
    assert "paired by name" in says(right, "like the reference")
    wrong = check(Layer(grouped=True, repeat="tile"), causal=True, like=Layer(grouped=True))
    assert names(wrong.broken) == {"like the reference"}


def test_weights_are_paired_by_their_roles():
    class Mine(nn.Module):
        def __init__(self, scale=None):
            super().__init__()
            torch.manual_seed(1)
            self.qkv, self.out_proj = nn.Linear(16, 48), nn.Linear(16, 16)
            self.scale = scale

        def forward(self, x):
            parts = (y.unflatten(-1, (4, 4)).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
            output = F.scaled_dot_product_attention(*parts, scale=self.scale)
            return self.out_proj(output.transpose(1, 2).flatten(-2))

    reference = nn.MultiheadAttention(16, 4, batch_first=True)
    nn.init.normal_(reference.in_proj_bias)
    report = check(Mine(), like=reference)
    assert "paired as those of queries" in says(report, "like the reference")
    assert not report.broken
    report = check(Mine(scale=1.0), like=reference, scale=1.0)
    assert names(report.broken) == {"like the reference"}


def test_functions_are_compared_as_they_are():
    def mine(queries, keys, values):
        return (queries @ keys.mT / 8**0.5).softmax(dim=-1) @ values

    report = check(mine, like=F.scaled_dot_product_attention)
    assert "like the reference" in names(report.kept)


def test_weights_that_cannot_be_paired_are_no_verdict():
    without_bias = Layer()
    for part in (without_bias.q, without_bias.k, without_bias.v, without_bias.o):
        part.bias = None
    for mine, reference, reason in (
        (Layer(), nn.Linear(16, 16), "queries, keys, values and output could not be told apart"),
        (Layer(), Layer(grouped=True), r"weights of the keys are \(16, 16\) in one and \(8, 16\)"),
        (without_bias, Layer(), "queries of the reference have a bias, and yours have none"),
    ):
        report = check(mine, like=reference)
        assert "like the reference" in names(report.not_tested)
        assert re.search(reason, says(report, "like the reference"))


# --- models --------------------------------------------------------------------------------------


class Decoder(nn.Module):
    """Token ids to hidden states."""

    def __init__(self, config=None):
        super().__init__()
        torch.manual_seed(0)
        self.tokens, self.layers = nn.Embedding(50, 16), nn.ModuleList([Layer(), Layer()])
        self.config = config or SimpleNamespace(vocab_size=50, pad_token_id=0)

    def hidden(self, ids, real=None):
        x = self.tokens(ids)
        for layer in self.layers:
            x = x + layer(x, None if real is None else real.bool())[0]
        return x

    def forward(self, input_ids, attention_mask=None):
        return SimpleNamespace(last_hidden_state=self.hidden(input_ids, attention_mask))


def test_hidden_states_are_checked_as_logits_are():
    report = contracts.check_model(Decoder())
    assert not report.broken and {"future", "right padding"} <= names(report.kept)


def test_an_encoder_decoder_is_checked_in_its_decoder():
    class EncoderDecoder(Decoder):
        def __init__(self, leaks=False):
            super().__init__(SimpleNamespace(vocab_size=50, is_encoder_decoder=True))
            self.leaks = leaks

        def forward(self, input_ids, decoder_input_ids, decoder_attention_mask=None):
            source = self.tokens(input_ids).mean(dim=1, keepdim=True)
            x = self.hidden(decoder_input_ids, decoder_attention_mask) + source
            return SimpleNamespace(logits=x + self.leaks * x.roll(-1, dims=1))

    report = contracts.check_model(EncoderDecoder())
    assert "encoder-decoder" in report.subject
    assert not report.broken and "future" in names(report.kept)
    assert "future" in names(contracts.check_model(EncoderDecoder(leaks=True)).broken)


def test_a_model_of_last_logits_is_given_targets():
    """As nanoGPT's forward, which returns all logits only where it computes a loss."""

    class Nano(Decoder):
        def __init__(self):
            super().__init__(SimpleNamespace(block_size=24))

        def forward(self, idx, targets=None):
            assert idx.shape[1] <= self.config.block_size
            x = self.hidden(idx) @ self.tokens.weight.T
            return (x[:, -1:], None) if targets is None else (x, x.sum())

    report = contracts.check_model(Nano(), 50)
    assert not report.broken and "future" in names(report.kept)
    assert "up to 24 tokens" in report.subject

    class LastAlone(Decoder):
        def forward(self, idx):
            return self.hidden(idx)[:, -1:]

    with pytest.raises(ValueError, match="it is the last position alone"):
        contracts.check_model(LastAlone(), 50)


def test_a_block_beside_a_limit_is_crossed():
    config = SimpleNamespace(block_size=16, max_position_embeddings=512, max_window_layers=28)
    report = contracts.check_model(Decoder(config), 50)
    assert "up to 258 tokens (crossed: block_size of 16)" in report.subject


def test_check_says_that_a_model_is_for_check_model(attention_report):
    with pytest.raises(ValueError, match=r"a model on token ids: check_model\(Decoder\)"):
        check(Decoder())
    assert "future" in names(attention_report(Decoder()).kept)
    assert main(["tests.attention_contracts.test_stand_ins:Decoder", "--require", "future"]) == 0


def test_a_wrapped_model_keeps_its_arguments():
    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.base_model = Decoder()
            self.config = self.base_model.config

        def forward(self, input_ids=None, **kwargs):
            return self.base_model(input_ids, **kwargs)

    assert "right padding" in names(contracts.check_model(Wrapped()).kept)
