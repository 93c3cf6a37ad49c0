"""Every attention, compiled and exported, with every kind of mask, gives what it gives here.

The gate tries three compiled calls of these.
"""

import pytest
import torch
from torch import nn

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
    drawn,
    paths,
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
    layer, x = layer_of("rotary"), numbers(1, 12, D_MODEL)
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


@pytest.mark.parametrize("visibility", ["all", "lengths per query", "lengths and causal"])
@pytest.mark.parametrize("name", [name for name in ATTENTIONS if name != "gaussian"])
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
    """Compiled for all lengths, and exported."""
    parts, tensors = Everything(), [drawn("function")[0], drawn("function")[1]]
    expected = parts(*tensors, DOCUMENTS)
    torch._dynamo.reset()
    compiled = torch.compile(parts, fullgraph=True, dynamic=True, backend="eager")
    assert_same(compiled(*tensors, DOCUMENTS), expected)
    longer = [torch.cat([x, x], dim=1) for x in (*tensors, DOCUMENTS)]
    assert_same(compiled(*longer), parts(*longer))
    exported = torch.export.export(parts, (*tensors, DOCUMENTS), strict=False)
    assert_same(exported.module()(*tensors, DOCUMENTS), expected)
