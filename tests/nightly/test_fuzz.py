"""Random calls of the layer and of the other public functions.

The gate has random calls of the attentions (tests/test_fuzz.py), the layer and each function
against their formulas, and the table of wrong calls.
"""

import copy

import hypothesis
import pytest
import torch
from hypothesis import strategies as st

from attention_lib import (
    MultiHeadAttention,
    cosine_scores,
    dot_scores,
    entropy,
    gaussian_scores,
    rotary_scores,
    scaled_dot_scores,
    soft_cap,
    softmax_jacobian,
)
from tests.strategies import (
    DTYPES,
    GRADIENT_TOLERANCE,
    INF,
    LAYOUTS,
    NAN,
    TOLERANCE,
    error,
    laid_out,
    masks,
    numbers,
)
from tests.test_fuzz import fuzz, gradients, one_by_one, plain_gaussian, seeded

# Of a causal mask where there are as many sequences as queries.
pytestmark = pytest.mark.filterwarnings("ignore:mask. .* is understood as")

# --- multi-head attention ----------------------------------------------------------------------


@st.composite
def layer_calls(draw):
    """Draw a layer, its input and what stands at places that no query sees."""
    num_kv_heads, times = draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from([1, 2]))
    batch, len_q, len_k = (draw(st.sampled_from(some)) for some in ((1, 2), (0, 1, 3), (1, 2, 5)))
    shape = (batch, len_q, len_k)
    kind = draw(st.sampled_from(("none", "lengths", "lengths per query", "boolean", "causal")))
    return {
        "heads": (num_kv_heads * times, num_kv_heads, draw(st.sampled_from([1, 2, 3]))),
        "shape": shape,
        "dtype": draw(st.sampled_from([torch.float64, torch.float32])),
        "bias": draw(st.booleans()),
        "seed": draw(st.integers(0, 9999)),
        "visible": draw(masks(kind, shape)),
        "strange": draw(st.sampled_from([0.0, NAN, INF, -INF, 1e38])),
        "need_weights": draw(st.booleans()),
    }


@fuzz(0.2, layer_calls())
def test_random_calls_of_the_layer_agree_with_float64(call):
    """Against the same layer in float64 with 0 where nobody may look, one head after the other."""
    (num_heads, num_kv_heads, d_head), (batch, len_q, len_k) = call["heads"], call["shape"]
    (valid_lens, mask), dtype, d_model = call["visible"], call["dtype"], num_heads * d_head
    made = MultiHeadAttention(d_model, num_heads, num_kv_heads=num_kv_heads, bias=call["bias"])
    made, sizes = seeded(made, dtype), ((len_q, 0), (len_k, 1), (len_k, 2))
    tensors = [numbers(batch, n, d_model, seed=call["seed"] + i, dtype=dtype) for n, i in sizes]
    visible = torch.ones(batch, len_q, len_k, dtype=torch.bool)
    if valid_lens is not None:
        visible = visible & (torch.arange(len_k) < valid_lens.reshape(batch, -1, 1))
    visible = visible if mask is None else visible & mask
    unseen = ~visible.any(dim=1).unsqueeze(-1) & (len_q > 0)
    exact = [x.double().requires_grad_() for x in tensors]
    tensors = [
        tensors[0],
        *(torch.where(unseen, call["strange"], x).to(dtype) for x in tensors[1:]),
    ]
    for x in tensors:
        x.requires_grad_()

    output, weights = made(*tensors, valid_lens, mask=mask, need_weights=call["need_weights"])
    assert (weights is None) != call["need_weights"]
    parameters, wide = list(made.parameters()), copy.deepcopy(made).double()
    projected = [layer(x) for layer, x in zip((wide.W_q, wide.W_k, wide.W_v), exact, strict=True)]
    times = num_heads // num_kv_heads
    parts = [
        [
            x[..., i * d_head : (i + 1) * d_head]
            for x, i in zip(projected, (head, head // times, head // times), strict=True)
        ]
        for head in range(num_heads)
    ]
    pairs = [one_by_one(lambda q, k: q / d_head**0.5 @ k.mT, *some, visible) for some in parts]
    expected = wide.W_o(torch.cat([out for out, _ in pairs], dim=-1))
    expected_weights = torch.stack([w for _, w in pairs], dim=1)
    assert error(output, expected) <= TOLERANCE[dtype]
    if weights is not None:
        assert error(weights, expected_weights) <= TOLERANCE[dtype]
    else:
        expected_weights = None
    found = gradients(output, weights, [*tensors, *parameters])
    wanted = gradients(expected, expected_weights, [*exact, *wide.parameters()])
    for ours, theirs in zip(found, wanted, strict=True):
        assert error(ours, theirs) <= 10 * GRADIENT_TOLERANCE[dtype]


# --- the other functions -----------------------------------------------------------------------

# name -> our function of two matrices, and its formula
PAIRS = {
    "dot": (dot_scores, lambda q, k: q @ k.mT),
    "scaled": (scaled_dot_scores, lambda q, k: q @ k.mT / q.shape[-1] ** 0.5),
    "gaussian": (gaussian_scores, plain_gaussian),
    "cosine": (cosine_scores, lambda q, k: (q / q.norm(dim=-1, keepdim=True)) @ unit(k).mT),
    "rotary": (
        lambda q, k: rotary_scores(double_width(q), double_width(k)),
        lambda q, k: plain_rotary(double_width(q), double_width(k)),
    ),
    "capped": (lambda q, k: soft_cap(q @ k.mT, 3.0), lambda q, k: 3 * torch.tanh(q @ k.mT / 3)),
    "entropy": (
        lambda q, k: entropy(torch.softmax(q @ k.mT, dim=-1)),
        lambda q, k: -(torch.softmax(q @ k.mT, -1) * torch.log_softmax(q @ k.mT, -1)).sum(-1),
    ),
    "jacobian": (
        lambda q, k: softmax_jacobian(torch.softmax(q @ k.mT, dim=-1)),
        lambda q, k: plain_jacobian(torch.softmax(q @ k.mT, dim=-1)),
    ),
}


def unit(x):
    return x / x.norm(dim=-1, keepdim=True)


def double_width(x):
    return torch.cat([x, x.flip(-1)], dim=-1)


def plain_rotary(queries, keys):
    """Turn each pair as a complex number; the last query stands at the last key."""
    len_q, len_k, width = queries.shape[-2], keys.shape[-2], keys.shape[-1]
    turns = 10_000.0 ** -(torch.arange(0, width, 2).double() / width)

    def turned(x, first):
        places = torch.arange(first, first + x.shape[-2]).double()
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
        return pairs * torch.exp(1j * places[:, None] * turns)

    products = turned(queries, len_k - len_q) @ turned(keys, 0).mH
    return products.real / width**0.5


def plain_jacobian(weights):
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


@st.composite
def pairs_of_matrices(draw):
    leading = draw(st.sampled_from([(), (2,), (1, 3)]))
    len_q, len_k = draw(st.sampled_from([0, 1, 2, 5])), draw(st.sampled_from([1, 3, 7]))
    return {
        "name": draw(st.sampled_from(sorted(PAIRS))),
        "shapes": ((*leading, len_q, width := draw(st.integers(1, 6))), (*leading, len_k, width)),
        "layouts": [draw(st.sampled_from(LAYOUTS)) for _ in range(2)],
        "dtype": draw(st.sampled_from(DTYPES)),
        "size": draw(st.sampled_from([1e-3, 0.3, 1.0])),
        "seed": draw(st.integers(0, 9999)),
    }


@fuzz(0.1, pairs_of_matrices())
def test_random_calls_of_functions_agree_with_their_formulas(call):
    dtype, (ours, formula) = call["dtype"], PAIRS[call["name"]]
    tensors = [
        laid_out((call["size"] * numbers(*shape, seed=call["seed"] + i)).to(dtype), layout)
        for i, (shape, layout) in enumerate(zip(call["shapes"], call["layouts"], strict=True))
        if not (layout == "expanded" and shape[-2] == 0)
    ]
    hypothesis.assume(len(tensors) == 2)
    exact = [x.detach().double().requires_grad_() for x in tensors]
    tensors = [x.requires_grad_() for x in tensors]
    found, expected = ours(*tensors), formula(*exact)
    assert found.dtype == dtype and error(found, expected) <= 2 * TOLERANCE[dtype]
    pairs = zip(gradients(found, None, tensors), gradients(expected, None, exact), strict=True)
    # The cosine knows no lengths, so its slope is as steep as vectors are short.
    steepness = 1 / call["size"] if call["name"] == "cosine" else 1
    for one, other in pairs:
        assert error(one, other) <= 10 * steepness * GRADIENT_TOLERANCE[dtype]
