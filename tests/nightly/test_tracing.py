"""Every attention, compiled, exported, mapped and in forward mode, with every kind of mask.

Each gives there what it gives here, and keeps the promise about masked positions. The gate tries
six compiled calls of these, and vmap.
"""

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad

from attention_lib import (
    AdditiveScore,
    AddNorm,
    BilinearScore,
    KeyValueCache,
    PositionalEncoding,
    causal_mask,
    combine_masks,
    cosine_scores,
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
    scaled_dot_scores,
    soft_cap,
    softmax_jacobian,
    split_heads,
    window_mask,
)
from tests.strategies import assert_close, numbers
from tests.test_cache import D_MODEL, decoded, layer_of
from tests.tracing import (
    ATTENTIONS,
    MARKS,
    VISIBILITY,
    D,
    assert_same,
    check_compiled,
    check_mapped,
    drawn,
    paths,
    poisoned,
    seeded,
)

pytestmark = MARKS

pairs = pytest.mark.parametrize(
    ("name", "visibility"),
    [
        *((name, visibility) for name in ("function", "multi-head") for visibility in VISIBILITY),
        *(
            (name, "lengths and causal")
            for name in ATTENTIONS
            if name not in ("function", "multi-head")
        ),
    ],
)
# Without fullgraph it works there, too: in two graphs.
NO_PARTIAL = pytest.mark.xfail(
    torch.__version__.startswith("2.6."), reason="torch 2.6 compiles no call of a module's partial"
)


@pytest.mark.parametrize(
    ("name", "need_weights"),
    [
        *((name, True) for name in ATTENTIONS if name != "dot product"),
        pytest.param("dot product", True, marks=NO_PARTIAL),
        ("function", False),
        ("grouped heads", False),
    ],
)
def test_compiled_in_one_graph_for_all_lengths(name, need_weights):
    check_compiled(name, need_weights)


@paths
@pytest.mark.parametrize("visibility", VISIBILITY)
def test_compiled_with_each_kind_of_mask(visibility, need_weights):
    torch._dynamo.reset()
    made = ATTENTIONS["multi-head"]
    compiled = torch.compile(made, fullgraph=True, dynamic=True, backend="aot_eager")
    arguments = VISIBILITY[visibility] | {"need_weights": need_weights}
    inputs = [x.requires_grad_() for x in drawn("multi-head")]
    found, expected = compiled(*inputs, **arguments), made(*inputs, **arguments)
    assert_same(found, expected)
    for gradients in zip(
        torch.autograd.grad(found[0].sum(), inputs),
        torch.autograd.grad(expected[0].sum(), inputs),
        strict=True,
    ):
        assert_close(*gradients)


def test_compiled_steps_with_a_cache_equal_eager_ones():
    layer, x = layer_of(rotary_scores), numbers(1, 12, D_MODEL)
    expected, _ = layer(x, x, x, mask=causal_mask(12))
    torch._dynamo.reset()
    compiled, cache = torch.compile(layer, backend="eager"), KeyValueCache()
    assert_close(decoded(compiled, cache, x, [4] + [1] * 8), expected)


@paths
@pairs
def test_exported_attention_gives_the_same(name, visibility, need_weights):
    arguments = VISIBILITY[visibility] | {"need_weights": need_weights}
    attention = ATTENTIONS[name]
    exported = torch.export.export(attention, tuple(drawn(name)), arguments, strict=False)
    again = drawn(name, seed=5)
    assert_same(exported.module()(*again, **arguments), attention(*again, **arguments))
    tensors, clean = poisoned(name, visibility)
    found, _ = exported.module()(*tensors, **arguments)
    assert_close(found[clean], attention(*tensors, **arguments)[0][clean])


@paths
@pairs
def test_vmap_equals_calls_one_by_one(name, visibility, need_weights):
    check_mapped(name, visibility, need_weights)


@paths
@pairs
def test_forward_mode_agrees_with_backward(name, visibility, need_weights):
    """jvp, as a transform and as dual numbers, against the transposed product of backward."""
    arguments = VISIBILITY[visibility] | {"need_weights": need_weights}
    tensors, tangents = drawn(name), drawn(name, seed=7)

    def run(*tensors):
        return ATTENTIONS[name](*tensors, **arguments)[0]

    output, slope = torch.func.jvp(run, tuple(tensors), tuple(tangents))
    inputs = [x.requires_grad_() for x in tensors]
    expected = run(*inputs)
    upstream = numbers(*expected.shape, seed=3)
    gradients = torch.autograd.grad(expected, inputs, upstream)
    across = sum((g * t).sum() for g, t in zip(gradients, tangents, strict=True))
    assert_close(output, expected)
    assert_close((slope * upstream).sum(), across, 1e-9)
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x.detach(), t) for x, t in zip(inputs, tangents, strict=True)]
        assert_close(forward_ad.unpack_dual(run(*duals)).tangent, slope)


@pytest.mark.parametrize("visibility", ["all", "lengths per query", "lengths and causal"])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_second_derivative_with_weights(name, visibility):
    arguments = VISIBILITY[visibility]
    inputs = [x.requires_grad_() for x in drawn(name)]

    def run(*tensors):
        return ATTENTIONS[name](*tensors, **arguments)[0]

    assert torch.autograd.gradgradcheck(run, inputs, fast_mode=True)


class Everything(nn.Module):
    """All that is public beside the attentions, in one graph, with masks that are made in it."""

    def __init__(self):
        super().__init__()
        self.add_norm, self.positions = AddNorm(D).double(), PositionalEncoding(D).double()
        self.bilinear, self.additive = seeded(BilinearScore(D, D)), seeded(AdditiveScore(D, D, 3))

    def forward(self, x, y, documents):
        x, y = self.add_norm(x, self.positions(y)), rotate_by_position(merge_heads(heads_of(y)))
        mask = combine_masks(
            causal_mask(x.shape[-2]),
            window_mask(x.shape[-2], window=3),
            document_mask(documents),
            padding_mask(documents, pad_id=2),
            length_mask(documents[:, 0] + 3, x.shape[-2]),
        )
        scores = [score(x, y) for score in (*SCORES, self.bilinear, self.additive)]
        capped = torch.stack([soft_cap(s, 5.0) for s in scores], dim=1)
        weights = masked_softmax(capped, mask=mask.unsqueeze(1))
        by_score = softmax_jacobian(weights).diagonal(dim1=-2, dim2=-1)
        return torch.cat([weights, by_score], -1), entropy(weights), effective_keys(weights)


def heads_of(x):
    return split_heads(x, 3)


SCORES = [dot_scores, scaled_dot_scores, gaussian_scores, cosine_scores, rotary_scores]
DOCUMENTS = torch.tensor([[0, 0, 1, 1, 2], [1, 1, 1, 0, 0]])


def test_all_other_parts_in_one_graph():
    """Compiled for all lengths, exported, over a new axis, forward mode, without numbers."""
    parts, tensors = Everything(), [drawn("function")[0], drawn("function")[1]]
    expected = parts(*tensors, DOCUMENTS)
    torch._dynamo.reset()
    compiled = torch.compile(parts, fullgraph=True, dynamic=True, backend="eager")
    assert_same(compiled(*tensors, DOCUMENTS), expected)
    longer = [torch.cat([x, x], dim=1) for x in (*tensors, DOCUMENTS)]
    assert_same(compiled(*longer), parts(*longer))
    exported = torch.export.export(parts, (*tensors, DOCUMENTS), strict=False)
    assert_same(exported.module()(*tensors, DOCUMENTS), expected)
    found = torch.func.vmap(parts)(*(torch.stack([x, x]) for x in (*tensors, DOCUMENTS)))
    assert_same([x[1] for x in found], expected)

    rates = numbers(*expected[0].shape, seed=3)

    def run(*tensors):  # the slope of an entropy is infinite where a weight is 0
        return (parts(*tensors, DOCUMENTS)[0] * rates).sum()

    _, slope = torch.func.jvp(run, tuple(tensors), tuple(tensors[::-1]))
    inputs = [x.requires_grad_() for x in tensors]
    gradients = torch.autograd.grad(run(*inputs), inputs)
    across = sum((g * t).sum() for g, t in zip(gradients, tensors[::-1], strict=True))
    assert_close(slope, across, 1e-9)
    assert torch.autograd.gradgradcheck(run, inputs, fast_mode=True)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        found = parts(*map(mode.from_tensor, (*tensors, DOCUMENTS)))
    assert [x.shape for x in found] == [x.shape for x in expected]
