"""Without weights, PyTorch's fused kernel does the work, and it is called as it is fastest."""

import pytest
import torch
import torch.nn.functional as F

from attention_lib import (
    MultiHeadAttention,
    rotate_by_position,
    scaled_dot_product_attention,
)
from tests.strategies import inputs
from tests.test_attention import ATTENTIONS, BATCH, FUSED, LEN_Q, VISIBILITY, D, attend, drawn


@pytest.fixture
def kernel_calls(monkeypatch):
    """Count the calls of PyTorch's kernel."""
    calls, kernel = [], F.scaled_dot_product_attention

    def counted(*tensors, **options):
        calls.append(options | {"shapes": [tuple(x.shape) for x in tensors]})
        return kernel(*tensors, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    return calls


@pytest.mark.parametrize("visibility", ["all", "lengths", "causal", "no key for one sequence"])
@pytest.mark.parametrize("name", FUSED)
def test_without_weights_the_kernel_does_the_work(name, visibility, kernel_calls):
    attend(name, drawn(), *VISIBILITY[visibility], need_weights=True)
    assert not kernel_calls
    attend(name, drawn(), *VISIBILITY[visibility], need_weights=False)
    assert len(kernel_calls) == 1


def test_other_scores_never_call_the_kernel(kernel_calls):
    for name in ATTENTIONS.keys() - FUSED:
        attend(name, drawn(), None, None, need_weights=False)
    assert not kernel_calls


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("rotary", [None, rotate_by_position])
def test_without_weights_the_kernel_does_the_work_of_a_layer(rotary, training, kernel_calls):
    layer = MultiHeadAttention(12, 6, num_kv_heads=2, rotary=rotary, dropout=0.25).train(training)
    x = torch.ones(BATCH, LEN_Q, 12)
    layer(x, x, x, torch.tensor([3, 5]))
    assert not kernel_calls
    for lens in (torch.tensor([3, 5]), None):
        layer(x, x, x, lens, need_weights=False)
    assert [call["dropout_p"] for call in kernel_calls] == [0.25 if training else 0.0] * 2
    assert all(call["shapes"][0] == (BATCH, 6, LEN_Q, 2) for call in kernel_calls)


def test_the_kernel_gets_no_fully_masked_row(kernel_calls):
    """What it makes of one has changed from version to version: NaN, a mean, or 0."""
    lens = torch.tensor([[0, 2, 0, 5, 7], [7, 0, 5, 4, 1]])
    scaled_dot_product_attention(*drawn(), lens, need_weights=False)
    assert kernel_calls[0]["attn_mask"].any(dim=-1).all()


def test_the_kernel_hears_of_causality_where_it_means_the_same(kernel_calls):
    """As many keys as queries: the whole triangle. One query: it sees all. Else a mask."""
    for len_q, len_k in ((LEN_Q, LEN_Q), (1, LEN_Q), (3, LEN_Q)):
        shapes = (BATCH, len_q, D), (BATCH, len_k, D), (BATCH, len_k, D)
        scaled_dot_product_attention(*inputs(*shapes), causal=True, need_weights=False)
    assert [call["is_causal"] for call in kernel_calls] == [True, False, False]
    assert [call["attn_mask"] is None for call in kernel_calls] == [True, True, False]


@pytest.mark.parametrize(
    "leading", [((), ()), ((2,), ()), ((2, 3), (3,)), ((3, 3), (3,)), ((2, 1, 3), (5, 1))], ids=str
)
def test_the_kernel_gets_tensors_with_two_leading_axes(leading, kernel_calls):
    """The form in which it is fastest; lengths of 3, which a leading axis may have too."""
    queries, others = ((*axes, 3, D) for axes in leading)
    scaled_dot_product_attention(*inputs(queries, others, others), need_weights=False)
    batch, heads, *_ = kernel_calls[0]["shapes"][0]
    assert kernel_calls[0]["shapes"] == [(batch, heads, 3, D)] * 3
    assert batch * heads == torch.empty(torch.broadcast_shapes(*leading)).numel()
