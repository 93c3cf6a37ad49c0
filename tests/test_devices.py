"""The same on any device, proved without one: nothing is made elsewhere than where the inputs are.

The library runs on the meta device, where tensors have shapes and no numbers, and every operation
below autograd is looked at, on the way back, too: a tensor that it takes or makes on the CPU would
be an error on a GPU, or a wait for a copy; so would a generator of another device than what it
fills.
What is read, ``numbers_in``, cannot be read there: those paths have tests in ``test_tracing.py``.
"""

import inspect
from functools import partial

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import attention_lib
from attention_lib import (
    AdditiveAttention,
    AdditiveScore,
    AddNorm,
    Attention,
    BilinearScore,
    DotProductAttention,
    MultiHeadAttention,
    PositionalEncoding,
    alibi_bias,
    causal_mask,
    combine_masks,
    cosine_scores,
    cost,
    document_mask,
    dot_scores,
    effective_keys,
    entropy,
    gaussian_scores,
    length_mask,
    masked_softmax,
    merge_heads,
    padding_mask,
    rotary_scores,
    rotate_by_position,
    scaled_dot_product_attention,
    scaled_dot_scores,
    soft_cap,
    softmax_jacobian,
    split_heads,
    window_mask,
)
from tests.strategies import meta

D = 6


class OnlyOn(TorchDispatchMode):
    """See that every operation takes and makes tensors of one device alone."""

    def __init__(self, device):
        super().__init__()
        self.device = torch.device(device)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        drawn_with = [x for x in tree_leaves(kwargs) if isinstance(x, torch.Generator)]
        for x in (*tree_leaves((args, kwargs)), *tree_leaves(made), *drawn_with):
            # A number, not yet a tensor: the CPU hands it over with the call.
            number = isinstance(x, torch.Tensor) and x.dim() == 0
            if isinstance(x, (torch.Tensor, torch.Generator)) and not number:
                assert x.device == self.device, f"{func} has something on {x.device}"
        return made


def x(*shape):
    return meta(*shape).requires_grad_()


def integers(*shape):
    return meta(*shape, dtype=torch.int64)


def arguments():
    """Return queries, keys, values, lengths and mask."""
    mask = combine_masks(causal_mask(5, 7, "meta"), meta(7, dtype=torch.bool))
    return (x(2, 5, D), x(2, 7, D), x(2, 7, D), integers(2)), {"mask": mask}


def there(module):
    return module.to("meta")


def attend(attention, **options):
    given, mask = arguments()
    if isinstance(attention, torch.nn.Module):
        attention = there(attention)
    return partial(attention, **mask, **options), *given


# name -> what is called, and with what; only the call is watched
CALLS = {
    "AddNorm": lambda: (there(AddNorm(D, dropout=0.5)), x(2, D), x(2, D)),
    "AdditiveAttention": lambda: attend(AdditiveAttention(D, D, 3, dropout=0.5)),
    "AdditiveScore": lambda: (there(AdditiveScore(D, D, 3)), x(2, D), x(3, D)),
    "AdditiveScore in blocks": lambda: (there(AdditiveScore(D, D, 64)), x(2, 99, D), x(2, 200, D)),
    "Attention": lambda: attend(Attention(dot_scores, dropout=0.5)),
    "Attention with a gaussian score": lambda: attend(Attention(gaussian_scores)),
    "BilinearScore": lambda: (there(BilinearScore(D, D)), x(2, D), x(3, D)),
    "DotProductAttention": lambda: attend(DotProductAttention(dropout=0.5)),
    "DotProductAttention, fused": lambda: attend(DotProductAttention(), need_weights=False),
    "MultiHeadAttention": lambda: attend(MultiHeadAttention(D, 2, bias=True, dropout=0.5)),
    "MultiHeadAttention, fused": lambda: attend(
        MultiHeadAttention(D, 6, num_kv_heads=2), need_weights=False
    ),
    "MultiHeadAttention, from PyTorch and back": lambda: (
        lambda module: MultiHeadAttention.from_torch(module).to_torch().in_proj_weight,
        torch.nn.MultiheadAttention(D, 2, device="meta"),
    ),
    "PositionalEncoding": lambda: (there(PositionalEncoding(D, dropout=0.5)), x(2, 5, D)),
    "alibi_bias": lambda: (partial(alibi_bias, device="meta"), 3, 5, 7),
    "causal_mask": lambda: (causal_mask, 5, 7, "meta"),
    "combine_masks": lambda: (combine_masks, causal_mask(5, device="meta"), None),
    "cosine_scores": lambda: (cosine_scores, x(2, D), x(3, D)),
    "document_mask": lambda: (document_mask, integers(2, 5)),
    "dot_scores": lambda: (dot_scores, x(2, D), x(3, D)),
    "effective_keys": lambda: (effective_keys, x(2, 5)),
    "entropy": lambda: (entropy, x(2, 5)),
    "gaussian_scores": lambda: (gaussian_scores, x(2, D), x(3, D), 0.5),
    "length_mask": lambda: (length_mask, integers(2), 5),
    "masked_softmax": lambda: (masked_softmax, x(2, 3, 5), integers(2)),
    "merge_heads": lambda: (merge_heads, x(2, 3, 5, D)),
    "padding_mask": lambda: (padding_mask, integers(2, 5)),
    "rotary_scores": lambda: (rotary_scores, x(2, 5, D), x(2, 7, D)),
    "rotate_by_position": lambda: (rotate_by_position, x(2, 5, D), integers(5)),
    "scaled_dot_product_attention": lambda: attend(scaled_dot_product_attention),
    "scaled_dot_product_attention, fused": lambda: attend(
        scaled_dot_product_attention, need_weights=False
    ),
    "scaled_dot_scores": lambda: (scaled_dot_scores, x(2, D), x(3, D)),
    "soft_cap": lambda: (soft_cap, x(2, 3), 5.0),
    "softmax_jacobian": lambda: (softmax_jacobian, x(2, 5)),
    "split_heads": lambda: (split_heads, x(2, 5, D), 3),
    "window_mask": lambda: (partial(window_mask, window=2, device="meta"), 5, 7),
    "cost.attend_in_blocks": lambda: (cost.attend_in_blocks, x(5, D), x(7, D), x(7, D), 2),
    "cost.merge": lambda: (
        lambda *given: cost.merge(*[cost.read_block(*given)] * 2).output,
        *(x(5, D), x(7, D), x(7, D)),
    ),
}
# They take no tensor and no device, and say in their docstrings that what they make is on the CPU
# (``show`` brings a tensor there to print it, ``device`` and ``generator`` make none).
ON_THE_CPU = {"alibi_slopes", "rotary_frequencies", "sample_scores", "sinusoidal_positions"}
ON_THE_CPU |= {"device", "generator", "show"}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_made_elsewhere(name):
    call, *given = CALLS[name]()
    with OnlyOn("meta"):
        made = call(*given)
        for output in made if isinstance(made, tuple) else (made,):
            if output is not None and output.requires_grad:
                output.sum().backward(retain_graph=True)


def test_every_public_name_is_run_or_documented():
    run = {name.partition(",")[0].partition(" ")[0] for name in CALLS}
    assert {*attention_lib.__all__} - run == ON_THE_CPU
    for name in ("rotary_frequencies", "sample_scores", "sinusoidal_positions"):
        assert "on the CPU" in inspect.getdoc(getattr(attention_lib, name))


OFF = {
    "a tensor of the CPU": lambda q: q + torch.arange(5, device="cpu"),
    "a mask of the CPU": lambda q: q.masked_fill(torch.ones(5, dtype=torch.bool), 0.0),
    "one that is copied": lambda q: q * torch.ones(5).to(q.device),
    "a generator of another device": lambda q: torch.empty_like(q).uniform_(
        generator=torch.Generator("cpu")
    ),
    "only on the way back": lambda q: Late.apply(q),
}


class Late(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q):
        return q * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * torch.full(grad.shape, 2.0, device="cpu")


@pytest.mark.parametrize("name", OFF)
def test_what_is_made_elsewhere_is_seen(name):
    queries = x(3, 5)
    with pytest.raises((AssertionError, RuntimeError), match=r"cpu|device"), OnlyOn("meta"):
        output = OFF[name](queries)
        if output.requires_grad:
            output.sum().backward()
