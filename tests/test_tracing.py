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
    Attention,
    BilinearScore,
    DotProductAttention,
    MultiHeadAttention,
    causal_mask,
    cosine_scores,
    gaussian_scores,
    rotary_scores,
    scaled_dot_product_attention,
    soft_cap,
)
from tests.strategies import NAN, assert_close, booleans, numbers

# What PyTorch says of its own parts while it traces or quantises.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*quantize_per_tensor:UserWarning"),
    pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13:RuntimeWarning"),
]

BATCH, LEN, D = 2, 5, 6


class Function(nn.Module):
    """The function as a module, which export wants."""

    def forward(self, queries, keys, values, valid_lens=None, *, mask=None, need_weights=True):
        return scaled_dot_product_attention(
            queries, keys, values, valid_lens, mask=mask, need_weights=need_weights
        )


def seeded(module):
    for seed, parameter in enumerate(module.parameters()):
        parameter.data = numbers(*parameter.shape, seed=seed + 20) / 2
    return module


ATTENTIONS = {
    "function": Function(),
    "dot product": DotProductAttention(scale=0.3),
    "gaussian": Attention(gaussian_scores),
    "cosine": Attention(cosine_scores),
    "rotary, capped": Attention(lambda q, k: soft_cap(rotary_scores(q, k), 20.0)),
    "bilinear": Attention(seeded(BilinearScore(D, D))),
    "additive": seeded(AdditiveAttention(D, D, 3)),
    "multi-head": seeded(MultiHeadAttention(D, 3, bias=True)),
    "grouped heads": seeded(MultiHeadAttention(12, 6, num_kv_heads=2)),
}
VISIBILITY = {
    "all": {},
    "lengths": {"valid_lens": torch.tensor([3, 0])},
    "lengths per query": {"valid_lens": torch.tensor([[1, 2, 0, 5, 4], [3, 3, 1, 2, 5]])},
    "causal": {"mask": causal_mask(LEN)},
    "boolean": {"mask": booleans((BATCH, LEN, LEN), seed=1, share=0.5)},
    "lengths and causal": {"valid_lens": torch.tensor([3, 5]), "mask": causal_mask(LEN)},
}


def drawn(name, seed=0):
    width = 12 if name == "grouped heads" else D
    return [numbers(BATCH, LEN, width, seed=seed + i) for i in range(3)]


def poisoned(name, visibility):
    """The tensors with NaN at the last key; and the queries, (BATCH, LEN), that do not see it."""
    tensors = drawn(name)
    tensors[1][:, -1] = tensors[2][:, -1] = NAN
    _, weights = scaled_dot_product_attention(
        *drawn("function"), **{"valid_lens": None, "mask": None} | VISIBILITY[visibility]
    )
    return tensors, weights[..., -1] == 0


def assert_same(found, expected):
    for ours, here in zip(found, expected, strict=True):
        assert (ours is None) == (here is None)
        if here is not None:
            assert torch.equal(ours.isnan(), here.isnan())
            assert_close(ours.nan_to_num(), here.nan_to_num())


pairs = pytest.mark.parametrize(
    ("name", "visibility"),
    [
        *(("function", visibility) for visibility in VISIBILITY),
        ("multi-head", "lengths"),
        ("additive", "lengths and causal"),
    ],
)
paths = pytest.mark.parametrize("need_weights", [True, False])


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
    """With a mask of each kind, and a NaN behind it; the promise holds on the way back, too."""
    attention = ATTENTIONS[name]
    torch._dynamo.reset()
    compiled = torch.compile(attention, fullgraph=True, dynamic=True, backend="eager")
    visibility = "lengths and causal"
    tensors, clean = poisoned(name, visibility)
    for given in (drawn(name), tensors):
        inputs = [x.requires_grad_() for x in given]
        arguments = VISIBILITY[visibility] | {"need_weights": need_weights}
        found, expected = compiled(*inputs, **arguments), attention(*inputs, **arguments)
        assert_close(found[0][clean], expected[0][clean])
        gradients = torch.autograd.grad(found[0][clean].sum(), inputs)
        wanted = torch.autograd.grad(expected[0][clean].sum(), inputs)
        for gradient, want in zip(gradients, wanted, strict=True):
            assert_close(gradient, want)
    longer = [torch.cat([x, x], dim=1) for x in drawn(name)]
    arguments = {"valid_lens": torch.tensor([3, 9]), "mask": causal_mask(2 * LEN)}
    assert_same(compiled(*longer, **arguments), attention(*longer, **arguments))


@paths
@pairs
def test_vmap_equals_calls_one_by_one(name, visibility, need_weights):
    """Over an axis that the function knows nothing of; with NaN behind the mask, and its grad."""
    attention, many = ATTENTIONS[name], [torch.stack([x, 2 * x]) for x in drawn(name)]
    arguments = VISIBILITY[visibility] | {"need_weights": need_weights}

    def run(*tensors):
        return attention(*tensors, **arguments)[0]

    found = torch.func.vmap(run)(*many)
    for i in range(2):
        assert_close(found[i], run(*(x[i] for x in many)))
    tensors, clean = poisoned(name, visibility)
    if not clean.any():  # nothing is masked, nothing is promised
        return

    def loss(*tensors):
        return torch.where(clean.unsqueeze(-1), run(*tensors), 0.0).sum()

    gradients = torch.func.vmap(torch.func.grad(loss, (0, 1, 2)))(*(x[None] for x in tensors))
    inputs = [x.requires_grad_() for x in tensors]
    wanted = torch.autograd.grad(run(*inputs)[clean].sum(), inputs)
    for gradient, want in zip(gradients, wanted, strict=True):
        assert_close(gradient[0], want)


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
