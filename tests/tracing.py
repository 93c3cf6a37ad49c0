"""Shared by the tests of tracing here and in nightly/: the attentions, their masks, one check."""

import pytest
import torch
from torch import nn

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

# What PyTorch says of its own parts while it traces.
MARKS = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13:RuntimeWarning"),
]

BATCH, LEN, D = 2, 5, 6


class Function(nn.Module):
    """The function as a module, which export wants."""

    def forward(self, queries, keys, values, valid_lens=None, **options):
        return scaled_dot_product_attention(queries, keys, values, valid_lens, **options)


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
    "causal by argument": {"causal": True},
    "lengths and causal": {"valid_lens": torch.tensor([3, 5]), "causal": True},
}


def drawn(name, seed=0):
    width = 12 if name == "grouped heads" else D
    return [numbers(BATCH, LEN, width, seed=seed + i) for i in range(3)]


def assert_same(found, expected):
    for ours, here in zip(found, expected, strict=True):
        assert (ours is None) == (here is None)
        if here is not None:
            assert torch.equal(ours.isnan(), here.isnan())
            assert_close(ours.nan_to_num(), here.nan_to_num())


paths = pytest.mark.parametrize("need_weights", [True, False])


def check_compiled(name, need_weights):
    """One graph for all lengths, with NaN in the padding, forward and backward."""
    attention = ATTENTIONS[name]
    torch._dynamo.reset()
    compiled = torch.compile(attention, fullgraph=True, dynamic=True, backend="eager")
    arguments = VISIBILITY["lengths and causal"] | {"need_weights": need_weights}
    spoiled = drawn(name)
    for x in spoiled[1:]:
        x[0, 3:] = NAN
    for given in (drawn(name), spoiled):
        inputs = [x.requires_grad_() for x in given]
        found, expected = compiled(*inputs, **arguments), attention(*inputs, **arguments)
        assert_same(found, expected)
        gradients = torch.autograd.grad(found[0].sum(), inputs)
        wanted = torch.autograd.grad(expected[0].sum(), inputs)
        for gradient, want in zip(gradients, wanted, strict=True):
            assert_close(gradient, want)
    longer = [torch.cat([x, x], dim=1) for x in drawn(name)]
    arguments = {"valid_lens": torch.tensor([3, 9]), "mask": causal_mask(2 * LEN)}
    assert_same(compiled(*longer, **arguments), attention(*longer, **arguments))
