"""Random cases against PyTorch: its fused kernel, and its multi-head module through from_torch.

PyTorch computes each reference in float64 from the same numbers; ours is compared in four dtypes,
with weights and without: outputs, weights and gradients. A table of the largest errors is printed
by ``python -m pytest tests/test_parity.py -s``.
"""

from collections import defaultdict
from dataclasses import dataclass

import hypothesis
import pytest
import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import nn

from attention_lib import DotProductAttention, MultiHeadAttention, scaled_dot_product_attention
from tests.strategies import (
    DTYPES,
    GRADIENT_TOLERANCE,
    LAYOUTS,
    LENGTHS,
    TOLERANCE,
    cases,
    error,
    laid_out,
    masks,
    name_of,
    numbers,
)

# Of a causal mask where there are as many sequences as queries.
pytestmark = pytest.mark.filterwarnings("ignore:mask. .* is understood as")

# Random cases for each of the four dtypes.
KERNEL_CASES, MODULE_CASES = 200, 80

WHAT = ("output", "weights", "gradients")


@pytest.fixture(scope="module")
def table():
    """Collect, for each reference and dtype, the largest errors; print them at the end."""
    rows = defaultdict(lambda: {"cases": 0} | dict.fromkeys(WHAT, 0.0))
    yield rows
    print("\n\nLargest |ours - reference| / (1 + |reference|), the reference in float64")
    print(f"{'against':<10}{'dtype':<10}{'cases':>6}" + "".join(f"{what:>11}" for what in WHAT))
    for (against, dtype), row in rows.items():
        errors = "".join(f"{row[what]:>11.1e}" for what in WHAT)
        print(f"{against:<10}{name_of(dtype):<10}{row['cases']:>6}{errors}")


def results(call, leaves, need_weights):
    """Run a call, and back from what it returns with random gradients."""
    output, weights = call()
    loss = (output * numbers(*output.shape, seed=1, dtype=output.dtype)).sum()
    if need_weights:
        loss = loss + (weights * numbers(*weights.shape, seed=2, dtype=weights.dtype)).sum()
    return output, weights, torch.autograd.grad(loss, leaves)


def compare(row, dtype, ours, reference):
    """Note the errors of one case, then see that none is too large."""
    for what, actual, expected in zip(WHAT, ours, reference, strict=True):
        if actual is None:
            continue
        tolerance = (GRADIENT_TOLERANCE if what == "gradients" else TOLERANCE)[dtype]
        pairs = zip(actual, expected, strict=True) if what == "gradients" else [(actual, expected)]
        for one, other in pairs:
            found = error(one, other)
            row[what] = max(row[what], found)
            assert found <= tolerance, f"{what} off by {found:.1e}, more than {tolerance:.0e}"


def run(strategy, count, check, row):
    """Check ``count`` random cases, the same on every machine."""

    @hypothesis.settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def one(case):
        row["cases"] += 1
        check(case)

    one()
    assert row["cases"] >= count, "hypothesis ran fewer cases than it was asked for"


# --- the function and the layer against the fused kernel ---------------------------------------


def call_kernel(tensors, visible, scale):
    """Attend with PyTorch's kernel; with the identity for values it shows its weights."""
    leading, len_k = visible.shape[:-2], visible.shape[-1]
    queries, keys, values = (x.expand(*leading, *x.shape[-2:]) for x in tensors)
    identity = torch.eye(len_k, dtype=keys.dtype).expand(*leading, -1, -1)
    return tuple(
        F.scaled_dot_product_attention(queries, keys, x, attn_mask=visible, scale=scale)
        for x in (values, identity)
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_attention_agrees_with_pytorchs_fused_kernel(dtype, table):
    row = table["kernel", dtype]

    def check(case):
        visible = case.visible
        empty = ~visible.any(dim=-1)
        exact = [x.detach().double().requires_grad_() for x in case.tensors(dtype)]
        tensors = case.tensors(dtype)
        before = [x.detach().clone() for x in tensors]
        for need_weights in (True, False):
            options = {"mask": case.mask, "need_weights": need_weights}
            attend = DotProductAttention(scale=case.scale)
            if case.seed % 2:  # the layer and the function by turns
                attend, options["scale"] = scaled_dot_product_attention, case.scale
            ours = results(
                lambda attend=attend, options=options: attend(*tensors, case.valid_lens, **options),
                tensors,
                need_weights,
            )
            reference = results(
                lambda: call_kernel(exact, visible, case.scale), exact, need_weights
            )
            compare(row, dtype, ours, reference)
            assert not ours[0][empty].any(), "a row with nothing to attend to is not 0"
            assert ours[1] is None or not ours[1][~visible].any(), "a masked key has weight"
        assert all(torch.equal(x, was) for x, was in zip(tensors, before, strict=True))

    run(cases(), KERNEL_CASES, check, row)


# --- the multi-head layer against PyTorch's module ---------------------------------------------

MODULE_MASKS = (
    "none",
    "lengths",
    "lengths per query",
    "boolean",
    "causal",
    "lengths and causal",
    "lengths per query and boolean",
    "boolean per head",
    "lengths and boolean per head",
)


@dataclass(frozen=True)
class ModuleCase:
    """One random call of PyTorch's multi-head module."""

    num_heads: int
    d_head: int
    bias: bool
    batch_first: bool
    sizes: tuple  # batch, len_q, len_k
    layouts: tuple
    seed: int
    valid_lens: torch.Tensor | None
    mask: torch.Tensor | None  # four axes: per head

    @property
    def d_model(self):
        return self.num_heads * self.d_head

    @property
    def visible(self):
        """Return who may see whom in which head, by plain broadcasting."""
        batch, len_q, len_k = self.sizes
        visible = torch.ones(batch, self.num_heads, len_q, len_k, dtype=torch.bool)
        if self.valid_lens is not None:
            visible = visible & (torch.arange(len_k) < self.valid_lens.reshape(batch, 1, -1, 1))
        if self.mask is not None:
            visible = visible & (self.mask.unsqueeze(1) if self.mask.dim() == 3 else self.mask)
        return visible

    def module(self, dtype):
        made = nn.MultiheadAttention(
            self.d_model, self.num_heads, bias=self.bias, batch_first=self.batch_first, dtype=dtype
        )
        for number, parameter in enumerate(made.parameters(), start=10):
            drawn = numbers(*parameter.shape, seed=self.seed + number, dtype=dtype)
            parameter.data = drawn / self.d_model**0.5
        return made

    def tensors(self, dtype):
        batch, len_q, len_k = self.sizes
        drawn = (
            numbers(batch, length, self.d_model, seed=self.seed + number, dtype=dtype)
            for number, length in enumerate((len_q, len_k, len_k))
        )
        return [
            laid_out(x, layout).requires_grad_()
            for x, layout in zip(drawn, self.layouts, strict=True)
        ]


@st.composite
def module_cases(draw):
    """Draw a case: odd and prime sizes, any layout, every mask, for all heads or for each."""
    num_heads = draw(st.sampled_from([1, 2, 3, 5]))
    sizes = tuple(draw(st.sampled_from(lengths)) for lengths in ((1, 2, 3), LENGTHS, LENGTHS))
    kind = draw(st.sampled_from(MODULE_MASKS))
    per_head = kind.endswith(" per head")
    shape = (sizes[0], num_heads, *sizes[1:]) if per_head else sizes
    valid_lens, mask = draw(masks(kind.removesuffix(" per head"), shape))
    if per_head:
        mask = mask.reshape((1,) * (4 - mask.dim()) + mask.shape)
    return ModuleCase(
        num_heads=num_heads,
        d_head=draw(st.sampled_from([1, 2, 3, 5])),
        bias=draw(st.booleans()),
        batch_first=draw(st.booleans()),
        sizes=sizes,
        layouts=tuple(draw(st.sampled_from(LAYOUTS)) for _ in range(3)),
        seed=draw(st.integers(0, 10**6)),
        valid_lens=valid_lens,
        mask=mask,
    )


def call_module(module, tensors, visible):
    """Call PyTorch's module, whose mask says who may not; return its output and weights.

    Asked for weights it gives NaN in rows with nothing to attend to, so it sees such rows open
    and they are closed after. Without weights its kernel gives 0 there, as ours does.
    """
    empty = ~visible.any(dim=-1, keepdim=True)
    if not module.batch_first:
        tensors = [x.transpose(0, 1) for x in tensors]
    output, _ = module(*tensors, attn_mask=~visible.flatten(0, 1), need_weights=False)
    _, weights = module(
        *tensors, attn_mask=~(visible | empty).flatten(0, 1), average_attn_weights=False
    )
    output = output if module.batch_first else output.transpose(0, 1)
    return output, weights.masked_fill(empty, 0.0)


def as_stacked(ours, gradients):
    """Stack the gradients of our projections as PyTorch's module stacks its parameters."""
    named = dict(zip((name for name, _ in ours.named_parameters()), gradients, strict=True))
    parts = ("weight", "bias") if "W_q.bias" in named else ("weight",)
    stacked = [torch.cat([named[f"W_{letter}.{part}"] for letter in "qkv"]) for part in parts]
    return [*stacked, *(named[f"W_o.{part}"] for part in parts)]


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_the_layer_agrees_with_pytorchs_module(dtype, table):
    row = table["module", dtype]

    def check(case):
        visible = case.visible
        ours, tensors = MultiHeadAttention.from_torch(case.module(dtype)), case.tensors(dtype)
        theirs = case.module(dtype).double()
        exact = [x.detach().double().requires_grad_() for x in tensors]
        for need_weights in (True, False):
            reference = results(
                lambda: call_module(theirs, exact, visible),
                (*exact, *theirs.parameters()),
                need_weights,
            )
            output, weights, gradients = results(
                lambda need_weights=need_weights: ours(
                    *tensors, case.valid_lens, mask=case.mask, need_weights=need_weights
                ),
                (*tensors, *ours.parameters()),
                need_weights,
            )
            gradients = [*gradients[:3], *as_stacked(ours, gradients[3:])]
            compare(row, dtype, (output, weights, gradients), reference)
            assert weights is None or not weights[~visible].any(), "a masked key has weight"

    run(module_cases(), MODULE_CASES, check, row)


def test_at_least_a_thousand_cases_are_compared():
    assert len(DTYPES) * (KERNEL_CASES + MODULE_CASES) >= 1000


@pytest.mark.parametrize("wrong", [0.9999, 1.0001])
def test_a_scale_off_by_1e_4_fails_the_comparison(wrong, table):
    """The comparison can fail: float64 and float32 tell a scale that is off by 1e-4."""

    def check(case):
        exact = [x.detach().requires_grad_() for x in case.tensors(torch.float64)]
        scale = wrong * (case.shapes[0][-1] ** -0.5)
        ours = results(
            lambda: scaled_dot_product_attention(
                *exact, case.valid_lens, mask=case.mask, scale=scale
            ),
            exact,
            True,
        )
        reference = results(lambda: call_kernel(exact, case.visible, None), exact, True)
        compare(defaultdict(float), torch.float64, ours, reference)

    with pytest.raises(AssertionError, match="off by"):
        run(cases(), 20, check, {"cases": 0})
