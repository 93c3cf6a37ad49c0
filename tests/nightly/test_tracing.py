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
    AdditiveAttention,
    AdditiveScore,
    AddNorm,
    Attention,
    BilinearScore,
    DotProductAttention,
    MultiHeadAttention,
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
    scaled_dot_product_attention,
    scaled_dot_scores,
    soft_cap,
    softmax_jacobian,
    split_heads,
    window_mask,
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
        *((name, visibility) for name in ("function", "multi-head") for visibility in VISIBILITY),
        *(
            (name, "lengths and causal")
            for name in ATTENTIONS
            if name not in ("function", "multi-head")
        ),
    ],
)
paths = pytest.mark.parametrize("need_weights", [True, False])
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
