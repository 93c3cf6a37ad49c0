"""Random calls of every attention: each gives what float64 gives.

The reference gives each query its own copy of the keys and values, with 0 where it may not look:
nothing that is masked can reach it, however it is computed. In the padding of our call stands NaN,
infinity or the largest number.

The tests run 500 examples, the same each time; ``ATTENTION_FUZZ=10000`` asks for 10 000, fresh ones
each time. ``nightly/test_fuzz.py`` calls the other functions, too.
"""

import os
from dataclasses import dataclass

import hypothesis
import pytest
import torch
from hypothesis import strategies as st

from attention_lib import (
    AdditiveAttention,
    Attention,
    BilinearScore,
    DotProductAttention,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    scaled_dot_product_attention,
    scaled_dot_scores,
    soft_cap,
)
from tests.strategies import (
    DTYPES,
    GRADIENT_TOLERANCE,
    INF,
    NAN,
    TOLERANCE,
    Case,
    cases,
    error,
    numbers,
)

# Of a causal mask where there are as many sequences as queries.
pytestmark = pytest.mark.filterwarnings("ignore:mask. .* is understood as")

EXAMPLES = int(os.environ.get("ATTENTION_FUZZ") or 500)
FRESH = "ATTENTION_FUZZ" in os.environ


def fuzz(share, strategy):
    """Give a test its share of the examples."""
    run = hypothesis.settings(
        max_examples=int(share * EXAMPLES),
        derandomize=not FRESH,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    return lambda test: run(hypothesis.given(strategy)(test))


# --- attention ---------------------------------------------------------------------------------


def one_by_one(score, queries, keys, values, visible):
    """Attend with a copy of keys and values for each query; ``score`` as for one query."""
    len_k = keys.shape[-2]
    seen = visible.unsqueeze(-1)  # (..., len_q, len_k, 1)
    own_keys = torch.where(seen, keys.unsqueeze(-3), 0.0)
    own_values = torch.where(seen, values.unsqueeze(-3), 0.0)
    sees = visible.any(dim=-1, keepdim=True)
    queries = torch.where(sees, queries, 0.0)
    scores = score(queries.unsqueeze(-2), own_keys).squeeze(-2)  # (..., len_q, len_k)
    if len_k == 0:
        return own_values.sum(dim=-2), scores
    scores = torch.where(visible, scores, torch.where(sees, -INF, 0.0).to(scores.dtype))
    weights = torch.where(visible, torch.softmax(scores, dim=-1), 0.0)
    return (weights.unsqueeze(-1) * own_values).sum(dim=-2), weights


def seeded(module, dtype):
    for seed, parameter in enumerate(module.parameters()):
        drawn = numbers(*parameter.shape, seed=seed + 20)
        parameter.data = (drawn / parameter.shape[-1]).to(dtype)
    return module.to(dtype)


def additive(d, dtype):
    made = seeded(AdditiveAttention(d, d, 3), dtype)
    return made, lambda q, k: plain_additive(made.score, q, k)


def plain_additive(score, queries, keys):
    weight_q, weight_k, direction = (
        x.weight.to(queries) for x in (score.W_q, score.W_k, score.w_v)
    )
    hidden = queries.unsqueeze(-2) @ weight_q.T + keys.unsqueeze(-3) @ weight_k.T
    return torch.tanh(hidden) @ direction[0]


def bilinear(d, dtype):
    made = Attention(seeded(BilinearScore(d, d), dtype))
    return made, lambda q, k: q @ made.score.W.to(q) @ k.mT


def plain_gaussian(queries, keys):
    return -(queries.unsqueeze(-2) - keys.unsqueeze(-3)).square().sum(dim=-1) / 2


# name -> d_k, dtype -> attention, the score by its formula
ATTENTIONS = {
    "function": lambda d, _: (scaled_dot_product_attention, lambda q, k: q / d**0.5 @ k.mT),
    "dot product": lambda d, _: (DotProductAttention(scale=0.3), lambda q, k: 0.3 * q @ k.mT),
    "any score": lambda d, _: (Attention(dot_scores), lambda q, k: q @ k.mT),
    "capped": lambda d, _: (
        Attention(lambda q, k: soft_cap(scaled_dot_scores(q, k), 5.0)),
        lambda q, k: torch.tanh(q / d**0.5 @ k.mT / 5) * 5,
    ),
    "gaussian": lambda d, _: (Attention(gaussian_scores), plain_gaussian),
    "cosine": lambda d, _: (
        Attention(cosine_scores),
        lambda q, k: torch.nn.functional.cosine_similarity(
            q.unsqueeze(-2), k.unsqueeze(-3), dim=-1, eps=1e-30
        ),
    ),
    "bilinear": bilinear,
    "additive": additive,
}


@dataclass(frozen=True)
class Call:
    """One random call of an attention, and what stands in its padding."""

    name: str
    case: Case
    dtype: torch.dtype
    need_weights: bool
    padding: float  # infinity stands for itself, 1 for the largest number

    def tensors(self):
        """Return queries, keys and values; the latter with strange numbers in the padding."""
        queries, *others = self.case.tensors(self.dtype)
        seen = self.case.visible.any(dim=-2)
        if seen.dim() == 3:  # by any head
            seen = seen.any(dim=1, keepdim=True).expand_as(seen)
        number = torch.finfo(self.dtype).max if self.padding == 1 else self.padding
        made = [queries]
        for x in others:
            at = seen.double().sum_to_size(x.shape[:-1]) == 0
            x = x.detach().masked_fill(at.unsqueeze(-1), number)
            made.append(x.requires_grad_())
        return made


@st.composite
def calls(draw):
    return Call(
        name=draw(st.sampled_from(sorted(ATTENTIONS))),
        case=draw(cases()),
        dtype=draw(st.sampled_from(DTYPES)),
        need_weights=draw(st.booleans()),
        padding=draw(st.sampled_from([0.0, NAN, INF, -INF, 1.0])),
    )


def gradients(output, weights, leaves, seed=1):
    """Go back from the output and the weights."""
    loss = (output * numbers(*output.shape, seed=seed, dtype=output.dtype)).sum()
    if weights is not None:
        of_weights = weights * numbers(*weights.shape, seed=seed + 1, dtype=weights.dtype)
        loss = loss + of_weights.sum()
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True)]


@fuzz(0.6, calls())
def test_random_calls_agree_with_float64(call):
    case, dtype = call.case, call.dtype
    attention, score = ATTENTIONS[call.name](case.shapes[0][-1], dtype)
    tensors, visible = call.tensors(), case.visible
    before = [x.detach().clone() for x in tensors]
    output, weights = attention(
        *tensors, case.valid_lens, mask=case.mask, need_weights=call.need_weights
    )
    assert output.shape == case.output_shape and output.dtype == dtype
    assert (weights is None) != call.need_weights
    exact = [x.double().requires_grad_() for x in before]
    expected, expected_weights = one_by_one(score, *exact, visible)
    assert error(output, expected) <= TOLERANCE[dtype]
    if weights is not None:
        assert weights.shape == case.visible_shape and weights.dtype == dtype
        assert not weights[~visible].any(), "a masked key has weight"
        assert error(weights, expected_weights) <= TOLERANCE[dtype]
    expected_weights = None if weights is None else expected_weights
    found = gradients(output, weights, tensors)
    wanted = gradients(expected, expected_weights, exact)
    for name, ours, theirs in zip(("queries", "keys", "values"), found, wanted, strict=True):
        assert error(ours, theirs) <= GRADIENT_TOLERANCE[dtype], f"the gradient of {name}"
    assert all(
        torch.equal(x.detach().nan_to_num(), was.nan_to_num())
        for x, was in zip(tensors, before, strict=True)
    ), "an argument was changed"
