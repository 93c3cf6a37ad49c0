"""What the library's tests share: seeded numbers, attention by loop, tolerances, random cases."""

import itertools
from dataclasses import dataclass

import pytest
import torch
from hypothesis import strategies as st

NAN, INF = float("nan"), float("inf")
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

# |ours - reference| <= tolerance * (1 + |reference|), the reference computed in float64.
# float16 and bfloat16: what PyTorch grants its own fused kernel on the CPU against plain
# arithmetic (test/test_transformers.py, test_scaled_dot_product_fused_attention_mask_vs_math_cpu,
# and for gradients test_scaled_dot_product_fused_attention_gqa_vs_math_cpu).
TOLERANCE = {
    torch.float64: 1e-10,
    torch.float32: 1e-5,
    torch.bfloat16: 5e-2,
    torch.float16: 1e-2,
}
# PyTorch's own softmax and products miss by 0.12 in bfloat16, where thirteen keys are equal, and by
# 1.3e-5 in float32, where thirteen queries are.
GRADIENT_TOLERANCE = TOLERANCE | {
    torch.float32: 3e-5,
    torch.bfloat16: 2e-1,
    torch.float16: 1e-1,
}


def name_of(value):
    """Name a case in pytest's report."""
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, list | tuple):
        return str(value)
    return getattr(value, "__name__", None)


def numbers(*shape, seed=0, dtype=torch.float64):
    """Draw standard normal numbers, the same on every machine."""
    drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return drawn.to(dtype)


def inputs(*shapes, dtype=torch.float64):
    """Draw one leaf a shape, ready for ``backward``."""
    return [
        numbers(*shape, seed=seed, dtype=dtype).requires_grad_()
        for seed, shape in enumerate(shapes)
    ]


def meta(*shape, dtype=torch.float32):
    """Make a tensor on another device than the CPU, on any machine."""
    return torch.empty(shape, dtype=dtype, device="meta")


def error(actual, reference):
    """Return the largest of |actual - reference| / (1 + |reference|); NaN where one is NaN."""
    assert actual.shape == reference.shape, (actual.shape, reference.shape)
    if not actual.numel():
        return 0.0
    actual, reference = actual.detach().double(), reference.detach().double()
    return ((actual - reference).abs() / (1 + reference.abs())).max().item()


def assert_close(actual, reference, tolerance=None):
    """See that two tensors agree to the tolerance of ``actual``'s dtype, and hold no NaN."""
    tolerance = TOLERANCE[actual.dtype] if tolerance is None else tolerance
    assert error(actual, reference) <= tolerance


def assert_refused(call, exception, words):
    """See that a call is refused with this very exception, and that it says all the words."""
    with pytest.raises(exception) as raised:
        call()
    assert raised.type is exception
    said = str(raised.value)
    assert all(word in said for word in words), f"{said!r} lacks one of {words}"


def assert_blames(call, exception, argument):
    """See that a call is refused with this very exception, and that it names the argument."""
    with pytest.raises(exception) as raised:
        call()
    assert raised.type is exception
    blamed = str(raised.value).partition(":")[0]
    assert argument in blamed, f"{raised.value!r} does not begin with {argument}"


def visible_by_loop(shape, valid_lens=None, mask=None):
    """Return the boolean tensor of ``shape`` that says which key a query may see, one by one."""
    visible = torch.ones(shape, dtype=torch.bool)
    allowed = visible if mask is None else mask.broadcast_to(shape)
    for index in itertools.product(*map(range, shape)):
        if valid_lens is not None:
            at = index[0] if valid_lens.dim() == 1 else (index[0], index[-2])
            visible[index] &= index[-1] < int(valid_lens[at])
        visible[index] &= bool(allowed[index])
    return visible


def attend_by_loop(score, queries, keys, values, visible):
    """Attend one query at a time, giving it the keys that it may see and no others."""
    leading, (len_q, len_k) = visible.shape[:-2], visible.shape[-2:]
    queries, keys, values = (x.expand(*leading, *x.shape[-2:]) for x in (queries, keys, values))
    outputs, rows = [], []
    for index in itertools.product(*map(range, leading), range(len_q)):
        at, query = index[:-1], index[-1]
        seen = visible[index].nonzero().flatten()
        row = queries.new_zeros(len_k)
        output = values.new_zeros(values.shape[-1])
        if len(seen):
            scores = score(queries[at][query : query + 1], keys[at][seen])[0]
            shares = (scores - scores.max()).exp()
            shares = shares / shares.sum()
            row = row.index_put((seen,), shares)
            output = (shares.unsqueeze(-1) * values[at][seen]).sum(dim=0)
        outputs.append(output)
        rows.append(row)
    if not outputs:
        return values.new_zeros(*leading, len_q, values.shape[-1]), queries.new_zeros(visible.shape)
    return (
        torch.stack(outputs).reshape(*leading, len_q, values.shape[-1]),
        torch.stack(rows).reshape(visible.shape),
    )


# --- random cases ----------------------------------------------------------------------------

LENGTHS = (1, 2, 3, 5, 7, 11, 13)
WIDTHS = (1, 2, 3, 5, 7, 11)
LAYOUTS = ("contiguous", "transposed", "strided", "offset", "expanded")
MASKS = (
    "none",
    "lengths",
    "lengths per query",
    "boolean",
    "causal",
    "lengths and causal",
    "lengths per query and boolean",
)


def laid_out(x, layout):
    """Return the same numbers (but for "expanded") in memory that is laid out otherwise."""
    if layout == "transposed":
        return x.transpose(-2, -1).contiguous().transpose(-2, -1)
    if layout == "strided":
        return x.repeat_interleave(2, dim=-1)[..., ::2]
    if layout == "offset":
        return torch.cat([x, x], dim=-2)[..., x.shape[-2] :, :]
    if layout == "expanded":
        return x[..., :1, :].expand(x.shape)
    return x


@dataclass(frozen=True)
class Case:
    """One random call of an attention; ``tensors(dtype)`` makes its queries, keys and values."""

    shapes: tuple  # of queries, keys, values
    layouts: tuple
    seed: int
    scale: float | None
    mask_kind: str
    valid_lens: torch.Tensor | None
    mask: torch.Tensor | None

    @property
    def visible_shape(self):
        leading = torch.broadcast_shapes(*(shape[:-2] for shape in self.shapes))
        return (*leading, self.shapes[0][-2], self.shapes[1][-2])

    @property
    def output_shape(self):
        return (*self.visible_shape[:-1], self.shapes[2][-1])

    @property
    def visible(self):
        """Return who may see whom, by plain broadcasting."""
        visible = torch.ones(self.visible_shape, dtype=torch.bool)
        if self.valid_lens is not None:
            len_k, inner = self.visible_shape[-1], len(self.visible_shape) - 3
            lens = self.valid_lens.reshape(len(self.valid_lens), *[1] * inner, -1, 1)
            visible = visible & (torch.arange(len_k) < lens)
        return visible if self.mask is None else visible & self.mask

    def tensors(self, dtype):
        made = []
        for number, (shape, layout) in enumerate(zip(self.shapes, self.layouts, strict=True)):
            x = numbers(*shape, seed=self.seed + number, dtype=dtype)
            made.append(laid_out(x, layout).requires_grad_())
        return made


def booleans(shape, seed, share):
    """Draw a boolean tensor in which about ``share`` is True."""
    drawn = torch.rand(shape, generator=torch.Generator().manual_seed(seed))
    return drawn < share


@st.composite
def masks(draw, kind, shape):
    """Draw ``(valid_lens, mask)`` of a kind for scores of ``shape``; some rows see nothing."""
    valid_lens = mask = None
    len_q, len_k = shape[-2:]
    if kind.startswith("lengths"):
        per_query = "per query" in kind
        count = shape[0] * (len_q if per_query else 1)
        lengths = draw(st.lists(st.integers(0, len_k), min_size=count, max_size=count))
        dtype = draw(st.sampled_from([torch.int64, torch.int32, torch.uint8]))
        valid_lens = torch.tensor(lengths, dtype=dtype)
        valid_lens = valid_lens.reshape(shape[0], len_q) if per_query else valid_lens
    if kind.endswith("causal"):
        mask = torch.ones(len_q, len_k, dtype=torch.bool).tril(len_k - len_q)
    if kind.endswith("boolean"):
        kept = draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
        mask_shape = [size if keep else 1 for size, keep in zip(shape, kept, strict=True)]
        mask_shape = mask_shape[draw(st.integers(0, len(shape))) :]
        share = draw(st.sampled_from([0.2, 0.7, 0.9]))
        mask = booleans(mask_shape, draw(st.integers(0, 999)), share)
        if mask.dim() >= 2 and draw(st.booleans()):
            mask[..., :1, :] = False  # the first query sees nothing
    return valid_lens, mask


@st.composite
def cases(draw):
    """Draw a case: ranks 2 to 5, prime sizes, broadcast leading axes, any layout and mask."""
    kind = draw(st.sampled_from(MASKS))
    rank = draw(st.integers(1 if kind.startswith("lengths") else 0, 3))
    leading = [draw(st.sampled_from([1, 2, 3])) for _ in range(rank)]
    len_q, len_k = draw(st.sampled_from(LENGTHS)), draw(st.sampled_from(LENGTHS))
    d_k, d_v = draw(st.sampled_from(WIDTHS)), draw(st.sampled_from(WIDTHS))
    shapes, layouts = [], []
    for last_two in ((len_q, d_k), (len_k, d_k), (len_k, d_v)):
        kept = draw(st.lists(st.booleans(), min_size=rank, max_size=rank))
        own = [size if keep else 1 for size, keep in zip(leading, kept, strict=True)]
        own = own[draw(st.integers(0, rank)) :] if draw(st.booleans()) else own
        shapes.append((*own, *last_two))
        layouts.append(draw(st.sampled_from(LAYOUTS)))
    common = torch.broadcast_shapes(*(shape[:-2] for shape in shapes))
    if kind.startswith("lengths") and not common:
        shapes[0] = (1, *shapes[0])
        common = (1,)
    valid_lens, mask = draw(masks(kind, (*common, len_q, len_k)))
    return Case(
        shapes=tuple(shapes),
        layouts=tuple(layouts),
        seed=draw(st.integers(0, 10**6)),
        scale=draw(st.sampled_from([None, None, 1.0, 0.3, -0.5, 0.0])),
        mask_kind=kind,
        valid_lens=valid_lens,
        mask=mask,
    )
