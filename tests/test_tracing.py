"""Compiled graphs, vmap, tensors without numbers, wrapped and quantised projections.

Every public attention gives there what it gives here, and keeps its promise about masked
positions. (A length that is too large is not refused there.) Each night: ``nightly/``.
"""

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode

from attention_lib import (
    AdditiveAttention,
    MultiHeadAttention,
)
from tests.strategies import assert_close
from tests.tracing import (
    ATTENTIONS,
    BATCH,
    LEN,
    MARKS,
    VISIBILITY,
    D,
    check_compiled,
    check_mapped,
    drawn,
    paths,
)

pytestmark = MARKS

pairs = pytest.mark.parametrize(
    ("name", "visibility"),
    [
        *(("function", visibility) for visibility in VISIBILITY),
        ("multi-head", "lengths"),
        ("additive", "lengths and causal"),
    ],
)


@pytest.mark.parametrize(
    ("name", "need_weights"),
    [
        ("function", True),
        ("function", False),
        ("gaussian", True),
        ("additive", True),
        ("grouped heads", True),
        ("grouped heads", False),
    ],
)
def test_compiled_in_one_graph_for_all_lengths(name, need_weights):
    check_compiled(name, need_weights)


@paths
@pairs
def test_vmap_equals_calls_one_by_one(name, visibility, need_weights):
    check_mapped(name, visibility, need_weights)


@paths
@pairs
def test_meta_and_fake_tensors_get_shapes_and_dtypes(name, visibility, need_weights):
    """Meta and fake tensors: shapes and dtypes come out, and nothing is looked at."""
    attention, arguments = ATTENTIONS[name], VISIBILITY[visibility]
    expected = attention(*drawn(name), **arguments, need_weights=need_weights)
    on_meta = {key: value.to("meta") for key, value in arguments.items()}
    if not list(attention.parameters()):
        found = attention(
            *(x.to("meta") for x in drawn(name)), **on_meta, need_weights=need_weights
        )
        assert found[0].shape == expected[0].shape and found[0].device.type == "meta"
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = {key: mode.from_tensor(value) for key, value in arguments.items()}
        found = attention(*map(mode.from_tensor, drawn(name)), **fake, need_weights=need_weights)
    for got, want in zip(found, expected, strict=True):
        assert (got is None) == (want is None)
        assert want is None or (got.shape == want.shape and got.dtype == want.dtype)


class WithLoRA(nn.Module):
    """A projection wrapped as parameter-efficient tuning does: it has no ``weight``."""

    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


@paths
def test_projections_wrapped_for_lora_give_the_same(need_weights):
    made = MultiHeadAttention(D, 2)
    x, lens = torch.randn(BATCH, LEN, D, generator=torch.Generator().manual_seed(0)), [3, 0]
    expected, _ = made(x, x, x, torch.tensor(lens), need_weights=need_weights)
    for name in ("W_q", "W_k", "W_v", "W_o"):
        wrapped = WithLoRA(getattr(made, name))
        nn.init.zeros_(wrapped.up.weight)
        setattr(made, name, wrapped)
    found, _ = made(x, x, x, torch.tensor(lens), need_weights=need_weights)
    assert_close(found, expected, 1e-6)
    score = AdditiveAttention(D, D, 3)
    expected, _ = score(x, x, x)
    score.score.W_q, score.score.w_v = WithLoRA(score.score.W_q), WithLoRA(score.score.w_v)
    nn.init.zeros_(score.score.W_q.up.weight)
    nn.init.zeros_(score.score.w_v.up.weight)
    assert_close(score(x, x, x)[0], expected, 1e-6)


@paths
def test_quantised_projections_stay_close(need_weights):
    """As PyTorch quantises a model for the processor: weights of eight bits, behind a method."""
    torch.manual_seed(0)
    made = MultiHeadAttention(64, 4, bias=True).eval()
    x, lens = torch.randn(BATCH, LEN, 64), torch.tensor([3, 5])
    expected, _ = made(x, x, x, lens, need_weights=need_weights)
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        pytest.skip("this PyTorch quantises for no processor of this kind")
    small = torch.ao.quantization.quantize_dynamic(made, {nn.Linear}, dtype=torch.qint8)
    found, _ = small(x, x, x, lens, need_weights=need_weights)
    assert type(small.W_q) is not nn.Linear
    assert (found - expected).abs().max() < 0.05 * expected.abs().max()
