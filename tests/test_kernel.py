"""Without weights, PyTorch's fused kernel does the work, and it is called as it is fastest."""

import pytest
import torch
import torch.nn.functional as F

from attention_lib import (
    MultiHeadAttention,
    causal_mask,
    rotary_scores,
    scaled_dot_product_attention,
)
from tests.strategies import NAN, inputs, numbers
from tests.test_attention import ATTENTIONS, BATCH, FUSED, LEN_Q, VISIBILITY, D, attend, drawn
from workbook import cost


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
@pytest.mark.parametrize("score", [None, rotary_scores])
def test_without_weights_the_kernel_does_the_work_of_a_layer(score, training, kernel_calls):
    layer = MultiHeadAttention(12, 6, num_kv_heads=2, score=score, dropout=0.25).train(training)
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


def test_the_kernel_gets_is_causal_instead_of_a_causal_mask(kernel_calls):
    """Some of PyTorch's kernels refuse to be given both."""
    scaled_dot_product_attention(
        *inputs(*[(BATCH, LEN_Q, D)] * 3), mask=causal_mask(LEN_Q), need_weights=False
    )
    assert kernel_calls[0]["is_causal"] and kernel_calls[0]["attn_mask"] is None


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


def test_a_slice_of_a_causal_buffer_is_recognised_as_causal(kernel_calls):
    """The most common idiom, ``self.mask[:length, :length]``; a slice elsewhere is not causal."""
    buffer = torch.ones(9, 9, dtype=torch.bool).tril()
    x = inputs(*[(BATCH, LEN_Q, D)] * 3)
    for mask in (buffer[:LEN_Q, :LEN_Q], buffer.view(1, 9, 9)[:, :LEN_Q, :LEN_Q], buffer[2:7, 2:7]):
        scaled_dot_product_attention(*x, mask=mask, need_weights=False)
    for mask in (buffer[1:6, :LEN_Q], buffer[:LEN_Q, 1:6], buffer.T[:LEN_Q, :LEN_Q]):
        scaled_dot_product_attention(*x, mask=mask, need_weights=False)
    assert [call["is_causal"] for call in kernel_calls] == [True] * 3 + [False] * 3
    buffer[0, 1] = True
    scaled_dot_product_attention(*x, mask=buffer[:LEN_Q, :LEN_Q], need_weights=False)
    assert not kernel_calls[-1]["is_causal"]


def test_a_visible_nan_costs_the_kernel_no_more_memory(kernel_calls):
    """The kernel still does the work, and no tensor of all pairs is made for each head."""
    queries, keys, values = (numbers(2, 4, 512, 3) for _ in range(3))
    values[0, 0, 0, 0] = NAN
    peak = cost.peak_bytes(fused, queries, keys, values, torch.tensor([400, 512]))
    assert len(kernel_calls) == 1 and peak < 2 * 4 * 512 * 512  # a byte a pair would be more


def fused(queries, keys, values, valid_lens):
    return scaled_dot_product_attention(queries, keys, values, valid_lens, need_weights=False)[0]


def test_a_second_derivative_without_weights_is_refused_in_words():
    tensors = drawn()
    output = fused(*tensors, torch.tensor([3, 7]))
    with pytest.raises(RuntimeError, match="need_weights: expected True for a second derivative"):
        torch.autograd.grad(output.sum(), tensors, create_graph=True)
