"""Random calls of every attention: each gives what float64 gives.

Each query gets its own copy of the keys and values, with 0 where it may not look: nothing that is
masked can reach the reference, however it is computed. Queries that see ordinary numbers alone get
ordinary results and gradients, whatever stands elsewhere: NaN, infinity, the largest numbers.

``make fuzz`` runs 10 000 examples, fresh ones each time, and the other functions too
(``nightly/test_fuzz.py``); the tests 500, the same each time.
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
    booleans,
    cases,
    error,
    laid_out,
    numbers,
)

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

# What may stand at strange places: a factor on the dtype's largest number, or a number itself.
STRANGE = (NAN, INF, -INF, "1", "-1", "0.5", "-0.03", "1e-8", "-1e-20", "root")


def strange_number(word, dtype):
    largest = torch.finfo(dtype).max
    if word == "root":
        return largest**0.5
    return float(word) * largest if isinstance(word, str) else word


@dataclass(frozen=True)
class Call:
    """One random call of an attention, and what stands where in its tensors."""

    name: str
    case: Case
    dtype: torch.dtype
    need_weights: bool
    strange: tuple  # for queries, keys, values: None, or (share of places, seed, what)

    def tensors(self):
        """Return queries, keys, values, and for each which places, (..., len), are strange."""
        made, places = [], []
        case = self.case
        rows = zip(case.shapes, case.layouts, self.strange, strict=True)
        for number, (shape, layout, strange) in enumerate(rows):
            x = numbers(*shape, seed=case.seed + number, dtype=self.dtype)
            at = torch.zeros(shape[:-1], dtype=torch.bool)
            if strange is not None:
                share, seed, what = strange
                at = booleans(shape[:-1], seed, share)
                one = at.unsqueeze(-1) & (torch.arange(shape[-1]) == seed % shape[-1])
                x = torch.where(one, strange_number(what, self.dtype), x).to(self.dtype)
                at = laid_out(at.unsqueeze(-1), layout).squeeze(-1)
            made.append(laid_out(x, layout).requires_grad_())
            places.append(at)
        return made, places


@st.composite
def calls(draw):
    name, dtype = draw(st.sampled_from(sorted(ATTENTIONS))), draw(st.sampled_from(DTYPES))
    strange = st.tuples(
        st.sampled_from([0.1, 0.3, 0.6]), st.integers(0, 999), st.sampled_from(STRANGE)
    )
    given = [draw(st.one_of(st.none(), strange)) for _ in range(3)]
    return Call(
        name=name,
        case=draw(cases()),
        dtype=dtype,
        need_weights=draw(st.booleans()),
        strange=tuple(given),
    )


def gradients(output, weights, rows, leaves, seed=1):
    """Go back from the outputs, and the weights, of some queries."""
    loss = (output * numbers(*output.shape, seed=seed, dtype=output.dtype))[rows].sum()
    if weights is not None:
        of_weights = weights * numbers(*weights.shape, seed=seed + 1, dtype=weights.dtype)
        loss = loss + of_weights[rows].sum()
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True)]


def summed(flags, shape):
    """Say what is true anywhere along the axes over which a tensor of ``shape`` broadcasts."""
    return flags.double().sum_to_size(shape) > 0


def last_seen(visible):
    """Return the number of the last key that any query sees."""
    return max(visible.flatten(0, -2).any(dim=0).nonzero().flatten().tolist(), default=-1)


def assert_agrees_with_float64(call):
    case, dtype = call.case, call.dtype
    attention, score = ATTENTIONS[call.name](case.shapes[0][-1], dtype)
    tensors, (in_queries, in_keys, in_values) = call.tensors()
    before = [x.detach().clone() for x in tensors]
    visible = case.visible
    sees = visible & (in_keys | in_values).unsqueeze(-2)
    clean = ~(sees.any(dim=-1) | (in_queries & visible.any(dim=-1)))  # (..., len_q)

    output, weights = attention(
        *tensors, case.valid_lens, mask=case.mask, need_weights=call.need_weights
    )
    assert output.shape == case.output_shape and output.dtype == dtype
    assert (weights is None) != call.need_weights
    exact = [x.double().requires_grad_() for x in before]
    expected, expected_weights = one_by_one(score, *exact, visible)
    if weights is None:
        expected_weights = None
    else:
        assert weights.shape == case.visible_shape and weights.dtype == dtype
        assert not weights[~visible].any(), "a masked key has weight"
    for ours, wanted in ((output, expected), (weights, expected_weights)):
        if ours is not None:
            assert error(ours[clean], wanted[clean]) <= TOLERANCE[dtype]
    found = gradients(output, weights, clean, tensors)
    expected, expected_weights = one_by_one(score, *exact, visible & clean.unsqueeze(-1))
    expected_weights = None if weights is None else expected_weights
    wanted = gradients(expected, expected_weights, clean, exact)
    # Where nothing hides a key from some the promise is arithmetic's: 0 times NaN is NaN.
    hides = not visible[..., : 1 + last_seen(visible)].all()
    spoils = torch.zeros_like(clean) if hides else ~clean
    through = (visible & spoils.unsqueeze(-1)).any(dim=-2)
    places = ((spoils, in_queries), (through, in_keys), (through, in_values))
    promised = [~summed(x, at.shape).unsqueeze(-1) for x, at in places]
    names = ("queries", "keys", "values")
    for name, ours, theirs, where in zip(names, found, wanted, promised, strict=True):
        ours, theirs = (torch.where(where, x, 0.0) for x in (ours, theirs))
        assert error(ours, theirs) <= GRADIENT_TOLERANCE[dtype], f"the gradient of {name}"
    assert all(
        torch.equal(x.detach().nan_to_num(), was.nan_to_num())
        for x, was in zip(tensors, before, strict=True)
    ), "an argument was changed"


def case(*shapes, valid_lens=None, mask=None, seed=0):
    """Write down a case that was found."""
    return Case(shapes, ("contiguous",) * 3, seed, None, "", valid_lens, mask)


ONE = ((1, 1, 1),) * 3
THREE = ((3, 1),) * 3
LAST = torch.tensor([[False], [False], [True]])
# What the search has found, each mended since.
FOUND = {
    "a NaN query that sees no key, and all keys cut off": Call(
        "dot product",
        case((1, 3, 1), *ONE[1:], valid_lens=torch.tensor([0])),
        torch.float16,
        need_weights=False,
        strange=((0.1, 0, NAN), None, None),
    ),
    "a mask of one column beside a visible NaN": Call(
        "additive",
        case(*THREE, mask=LAST),
        torch.float32,
        need_weights=False,
        strange=(None, None, (0.1, 0, NAN)),
    ),
    "a NaN query among others, and keys that nobody sees": Call(
        "any score",
        case((1, 3, 1), (1, 2, 1), (1, 2, 1), valid_lens=torch.tensor([1])),
        torch.float16,
        need_weights=False,
        strange=((0.1, 0, NAN), None, None),
    ),
    "an infinite score where nothing is seen": Call(
        "any score",
        case(*ONE, valid_lens=torch.tensor([0])),
        torch.float16,
        need_weights=False,
        strange=(None, (0.6, 253, "1"), None),
    ),
    "scores that are all -inf": Call(
        "gaussian",
        case((1, 1, 1), (1, 1, 1), (2, 1, 1), valid_lens=torch.tensor([0, 1])),
        torch.bfloat16,
        need_weights=False,
        strange=(None, (0.6, 332, "1"), None),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_calls_that_once_failed_agree_with_float64(name):
    assert_agrees_with_float64(FOUND[name])


@fuzz(0.6, calls())
def test_random_calls_agree_with_float64(call):
    assert_agrees_with_float64(call)
