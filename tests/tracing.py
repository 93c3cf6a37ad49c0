"""Shared by the tests of tracing here and in nightly/: the attentions, their masks, two checks."""

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

# What PyTorch says of its own parts while it traces or quantises.
MARKS = [
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


paths = pytest.mark.parametrize("need_weights", [True, False])


def check_compiled(name, need_weights):
    """One graph for all lengths, with each kind of mask and NaN behind it, forward and backward."""
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


def check_mapped(name, visibility, need_weights):
    """vmap and vmap of grad equal single calls, with NaN behind the mask."""
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
