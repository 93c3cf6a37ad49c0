"""Masks element by element, and a softmax that obeys them whatever stands behind them."""

import pytest
import torch
from torch.nn.attention.flex_attention import create_mask

from attention_lib import (
    DotProductAttention,
    MultiHeadAttention,
    causal_mask,
    combine_masks,
    document_mask,
    length_mask,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
    window_mask,
)
from tests.strategies import (
    DTYPES,
    INF,
    NAN,
    assert_close,
    booleans,
    inputs,
    meta,
    name_of,
    numbers,
    visible_by_loop,
)

BATCH, HEADS, LEN_Q, LEN_K = 2, 3, 5, 7
INTEGER_DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)

T, F = True, False

# valid_lens, len_k, mask
LENGTH_MASKS = [
    ([2, 0], 3, [[[T, T, F]], [[F, F, F]]]),
    ([[1, 3], [2, 0]], 3, [[[T, F, F], [T, T, T]], [[T, T, F], [F, F, F]]]),
    ([0], 0, [[[]]]),
]

# len_q, len_k, mask: the last query sees every key
CAUSAL_MASKS = [
    (3, 3, [[T, F, F], [T, T, F], [T, T, T]]),
    (2, 4, [[T, T, T, F], [T, T, T, T]]),
    (1, 4, [[T, T, T, T]]),
    (3, 2, [[F, F], [T, F], [T, T]]),
    (2, 0, [[], []]),
    (0, 2, []),
]

# valid_lens for BATCH and LEN_Q; shapes of boolean masks for (BATCH, HEADS, LEN_Q, LEN_K)
VALID_LENS = {
    "none": None,
    "one a sequence": torch.tensor([3, 0]),
    "one a query": torch.tensor([[0, 1, 3, 5, 7], [7, 2, 0, 0, 1]]),
}
MASK_SHAPES = [
    None,
    (),
    (LEN_K,),
    (1,),
    (LEN_Q, LEN_K),
    (LEN_Q, 1),
    (1, LEN_K),
    (HEADS, 1, 1),
    (HEADS, LEN_Q, LEN_K),
    (BATCH, 1, 1, LEN_K),
    (BATCH, 1, LEN_Q, 1),
    (BATCH, HEADS, LEN_Q, LEN_K),
]


@pytest.mark.parametrize(("valid_lens", "len_k", "expected"), LENGTH_MASKS, ids=name_of)
@pytest.mark.parametrize("dtype", INTEGER_DTYPES, ids=name_of)
def test_length_mask_hides_keys_beyond_each_length(valid_lens, len_k, expected, dtype):
    made = length_mask(torch.tensor(valid_lens, dtype=dtype), len_k)
    assert made.dtype == torch.bool
    assert made.tolist() == expected


@pytest.mark.parametrize(("len_q", "len_k", "expected"), CAUSAL_MASKS, ids=name_of)
def test_causal_mask_is_aligned_to_the_lower_right(len_q, len_k, expected):
    made = causal_mask(len_q, len_k)
    assert made.dtype == torch.bool and made.shape == (len_q, len_k)
    assert made.tolist() == expected


def test_causal_mask_of_one_length_is_square_and_on_the_device_asked_for():
    assert torch.equal(causal_mask(LEN_Q), causal_mask(LEN_Q, LEN_Q))
    assert causal_mask(LEN_Q, device=torch.device("meta")).device.type == "meta"


def test_masks_are_made_on_the_device_of_their_lengths():
    assert length_mask(meta(BATCH, dtype=torch.int64), LEN_K).device.type == "meta"
    assert window_mask(LEN_Q, window=2, device="meta").device.type == "meta"


def by_flex(rule, len_q, len_k, batch=None):
    """PyTorch's own form of a rule for query and key positions."""
    return create_mask(rule, batch, None, len_q, len_k, device="cpu").squeeze(1)


@pytest.mark.parametrize("window", [1, 2, 3, 9])
@pytest.mark.parametrize(("len_q", "len_k"), [(7, 7), (1, 5), (3, 7), (5, 2)])
def test_window_mask_shows_the_last_keys_up_to_the_own(len_q, len_k, window):
    own = len_k - len_q  # where the first query stands

    def rule(batch, head, query, key):
        return (key <= query + own) & (query + own - key < window)

    made = window_mask(len_q, len_k, window=window)
    assert made.dtype == torch.bool
    assert torch.equal(made, by_flex(rule, len_q, len_k)[0])
    assert torch.equal(window_mask(5, window=5), causal_mask(5))


def test_document_mask_shows_the_keys_of_the_own_document():
    documents = torch.tensor([[0, 0, 1, 1, 1, 4], [3, 1, 1, 3, 3, 3]])

    def rule(batch, head, query, key):
        return documents[batch, query] == documents[batch, key]

    made = document_mask(documents)
    assert made.dtype == torch.bool and torch.equal(made, by_flex(rule, 6, 6, batch=2))
    assert torch.equal(document_mask(documents[1].to(torch.uint8)), made[1])


def test_padding_mask_hides_the_padding_token():
    tokens = torch.tensor([[5, 0, 2, 0], [1, 1, 1, 1]])
    assert padding_mask(tokens).tolist() == [[[T, F, T, F]], [[T, T, T, T]]]
    assert padding_mask(tokens, pad_id=1).tolist() == [[[T, T, T, T]], [[F, F, F, F]]]
    assert padding_mask(tokens.to(torch.int32)).dtype == torch.bool


def test_combined_masks_are_their_and():
    assert combine_masks() is None
    assert combine_masks(None, None) is None
    column, row = torch.tensor([[T], [F]]), torch.tensor([T, F, T])
    assert combine_masks(None, column, row).tolist() == [[T, F, T], [F, F, F]]
    assert combine_masks(row, None, column, ~row).tolist() == [[F, F, F], [F, F, F]]
    assert column.tolist() == [[T], [F]] and row.tolist() == [T, F, T]


@pytest.mark.parametrize("mask_shape", MASK_SHAPES, ids=str)
@pytest.mark.parametrize("lens", VALID_LENS)
def test_masked_softmax_equals_a_softmax_over_the_visible_keys(lens, mask_shape):
    """Lengths and mask compose, whatever the mask's shape, and hold for every head."""
    shape, valid_lens = (BATCH, HEADS, LEN_Q, LEN_K), VALID_LENS[lens]
    mask = None if mask_shape is None else booleans(mask_shape, seed=5, share=0.6)
    (x,) = inputs(shape)
    weights = masked_softmax(x, valid_lens, mask=mask)
    visible = visible_by_loop(shape, valid_lens, mask)
    for row, seen, given in zip(
        weights.flatten(0, 2), visible.flatten(0, 2), x.flatten(0, 2), strict=True
    ):
        assert not row[~seen].any()
        if seen.any():
            assert_close(row[seen], given[seen].exp() / given[seen].exp().sum(), 1e-12)


def test_a_mask_with_two_meanings_is_not_read_in_silence():
    """(len_q, len_k) or (batch, len_k): a third axis says which, and so does another batch."""
    scores, mask = numbers(3, 3, 5), booleans((3, 5), seed=1, share=0.7)
    with pytest.warns(UserWarning, match=r"mask: \(3, 5\) is understood as \(len_q, len_k\)"):
        weights = masked_softmax(scores, mask=mask)
    assert torch.equal(weights, masked_softmax(scores, mask=mask.unsqueeze(0)))
    masked_softmax(scores, mask=mask.unsqueeze(1))
    masked_softmax(scores[:2], mask=mask)


def test_a_causal_mask_of_as_many_queries_as_sequences_has_one_meaning(recwarn):
    masked_softmax(numbers(3, 3, 5), mask=causal_mask(3, 5))
    masked_softmax(numbers(4, 4, 4), mask=causal_mask(4))
    assert not recwarn.list


@pytest.mark.parametrize(
    "attend",
    [
        lambda x, mask: masked_softmax(x, mask=mask),
        lambda x, mask: scaled_dot_product_attention(x, x, x, mask=mask),
        lambda x, mask: DotProductAttention()(x, x, x, mask=mask),
        lambda x, mask: MultiHeadAttention(3, 1).double()(x, x, x, mask=mask),
        lambda x, mask: torch.nn.ModuleList([MultiHeadAttention(3, 1).double()])[0](
            x, x, x, mask=mask, need_weights=False
        ),
    ],
)
def test_the_warning_points_at_the_call(attend):
    with pytest.warns(UserWarning, match="mask") as warned:
        attend(numbers(3, 3, 3), booleans((3, 3), seed=1, share=0.7))
    places = [(warning.filename, warning.lineno) for warning in warned]
    assert places == [(__file__, attend.__code__.co_firstlineno)]


def test_masked_weights_computed_by_hand():
    ln2 = torch.tensor(2.0).log().item()
    x = torch.tensor([[0.0, ln2, 5.0, 2 * ln2]], dtype=torch.float64)
    weights = masked_softmax(x, mask=torch.tensor([T, T, F, T]))
    assert_close(weights, torch.tensor([[1 / 7, 2 / 7, 0, 4 / 7]], dtype=torch.float64), 1e-7)


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_a_fully_masked_row_has_weights_and_gradients_of_0(dtype):
    """Weights 0 and gradient 0; no NaN on the way, which anomaly mode would raise."""
    x = numbers(BATCH, LEN_Q, LEN_K, dtype=dtype).requires_grad_()
    for valid_lens, mask in ((torch.tensor([0, LEN_K]), None), (None, torch.tensor([[F]]))):
        x.grad = None
        with torch.autograd.set_detect_anomaly(True):
            weights = masked_softmax(x, valid_lens, mask=mask)
            (weights * numbers(BATCH, LEN_Q, LEN_K, seed=1, dtype=dtype)).sum().backward()
        assert weights.dtype == x.grad.dtype == dtype
        assert not weights[0].any() and not x.grad[0].any()
        assert weights.isfinite().all() and x.grad.isfinite().all()
        if valid_lens is not None:
            assert_close(weights[1].sum(dim=-1), torch.ones(LEN_Q))
            assert x.grad[1].any()


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("strange", [NAN, INF, -INF, "largest", "lowest"])
def test_masked_scores_change_no_weight_and_no_gradient(strange, dtype):
    finfo = torch.finfo(dtype)
    strange = {"largest": finfo.max, "lowest": finfo.min}.get(strange, strange)
    mask = booleans((BATCH, LEN_Q, LEN_K), seed=3, share=0.6)
    mask[0, 0] = False
    clean = numbers(BATCH, LEN_Q, LEN_K, dtype=dtype).requires_grad_()
    poisoned = clean.detach().masked_fill(~mask, strange).requires_grad_()
    upstream = numbers(BATCH, LEN_Q, LEN_K, seed=1, dtype=dtype)
    expected = masked_softmax(clean, mask=mask)
    (expected * upstream).sum().backward()
    with torch.autograd.set_detect_anomaly(True):
        weights = masked_softmax(poisoned, mask=mask)
        (weights * upstream).sum().backward()
    assert torch.equal(weights, expected)
    assert torch.equal(poisoned.grad, clean.grad)
    assert not poisoned.grad[~mask].any()


def test_a_visible_nan_makes_its_own_row_nan():
    x = torch.tensor([[1.0, NAN, 2.0], [1.0, NAN, 2.0]])
    weights = masked_softmax(x, mask=torch.tensor([[T, T, F], [T, F, T]]))
    assert weights[0].isnan().all()
    assert weights[1].isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_masked_softmax_without_a_mask_is_softmax(dtype):
    x = numbers(LEN_Q, LEN_K, dtype=dtype)
    assert torch.equal(masked_softmax(x), x.softmax(dim=-1))
    allowed = torch.ones(LEN_Q, LEN_K, dtype=torch.bool)
    assert torch.equal(masked_softmax(x, mask=allowed), x.softmax(dim=-1))


@pytest.mark.parametrize("shape", [(2, 3, 0), (0, 3, 5), (2, 0, 5), (0, 0)], ids=name_of)
def test_axes_of_length_zero_keep_their_shape(shape):
    (x,) = inputs(shape)
    valid_lens = torch.zeros(shape[0], dtype=torch.int64) if len(shape) == 3 else None
    allowed = torch.ones(shape[-2:], dtype=torch.bool)
    for arguments in ({}, {"valid_lens": valid_lens}, {"mask": allowed}):
        weights = masked_softmax(x, **arguments)
        weights.sum().backward()
        assert weights.shape == shape


def test_gradients_agree_with_finite_differences():
    (x,) = inputs((BATCH, LEN_Q, LEN_K))
    lens = torch.tensor([[0, 1, 3, 5, 7], [7, 2, 0, 0, 1]])
    mask = booleans((BATCH, LEN_Q, LEN_K), seed=4, share=0.7)

    def run(x):
        return masked_softmax(x, lens, mask=mask)

    assert torch.autograd.gradcheck(run, x)
    assert torch.autograd.gradgradcheck(run, x)
