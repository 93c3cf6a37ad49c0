"""What all public functions promise alike: their signatures, and the same refusals in words."""

import inspect

import pytest
import torch

import attention_lib
from attention_lib import (
    AdditiveAttention,
    AdditiveScore,
    Attention,
    BilinearScore,
    DotProductAttention,
    MultiHeadAttention,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    scaled_dot_product_attention,
    scaled_dot_scores,
)
from tests.strategies import assert_refused, meta

FORWARD = "(self, queries, keys, values, valid_lens=None, *, mask=None, need_weights=True)"

SIGNATURES = {
    "dot_scores": "(queries, keys)",
    "scaled_dot_scores": "(queries, keys, scale=None)",
    "gaussian_scores": "(queries, keys, bandwidth=1.0)",
    "cosine_scores": "(queries, keys)",
    "BilinearScore": "(d_q, d_k)",
    "AdditiveScore": "(d_q, d_k, num_hiddens)",
    "length_mask": "(valid_lens, len_k)",
    "padding_mask": "(tokens, pad_id=0)",
    "causal_mask": "(len_q, len_k=None, device=None)",
    "combine_masks": "(*masks)",
    "masked_softmax": "(scores, valid_lens=None, *, mask=None)",
    "scaled_dot_product_attention": (
        "(queries, keys, values, valid_lens=None, *, mask=None, scale=None, need_weights=True)"
    ),
    "Attention": "(score, dropout=0.0)",
    "Attention.forward": FORWARD,
    "DotProductAttention": "(dropout=0.0, scale=None)",
    "DotProductAttention.forward": FORWARD,
    "AdditiveAttention": "(d_q, d_k, num_hiddens, dropout=0.0)",
    "AdditiveAttention.forward": FORWARD,
    "MultiHeadAttention": "(d_model, num_heads, *, num_kv_heads=None, dropout=0.0, bias=False)",
    "MultiHeadAttention.forward": FORWARD,
    "MultiHeadAttention.from_torch": "(module)",
    "MultiHeadAttention.to_torch": "(self, batch_first=True)",
    "AddNorm": "(d_model, dropout=0.0)",
    "AddNorm.forward": "(self, x, sublayer_output)",
    "sinusoidal_positions": "(length, d_model)",
    "PositionalEncoding": "(d_model, max_len=1024, dropout=0.0)",
    "PositionalEncoding.forward": "(self, x)",
    "softmax_jacobian": "(weights)",
    "entropy": "(weights)",
    "effective_keys": "(weights)",
    "sample_scores": "(d, len_k, rows, *, scale, generator)",
    "split_heads": "(x, num_heads)",
    "merge_heads": "(x)",
    "device": "()",
    "generator": "(seed)",
    "show": "(tensor, decimals=3)",
}

BATCH, LEN_Q, LEN_K, D = 2, 3, 5, 6

SCORES = {
    "dot_scores": dot_scores,
    "scaled_dot_scores": scaled_dot_scores,
    "gaussian_scores": gaussian_scores,
    "cosine_scores": cosine_scores,
    "BilinearScore": BilinearScore(D, D),
    "AdditiveScore": AdditiveScore(D, D, 7),
}

ATTENTIONS = {
    "scaled_dot_product_attention": scaled_dot_product_attention,
    "Attention": Attention(gaussian_scores),
    "DotProductAttention": DotProductAttention(),
    "AdditiveAttention": AdditiveAttention(D, D, 7),
    "MultiHeadAttention": MultiHeadAttention(D, 2),
}


def given(**replaced):
    """Return good arguments, some of them replaced by bad ones."""
    good = {
        "queries": torch.ones(BATCH, LEN_Q, D),
        "keys": torch.ones(BATCH, LEN_K, D),
        "values": torch.ones(BATCH, LEN_K, D),
    }
    return good | replaced


# replaced arguments, exception, words that must occur
QUERIES_AND_KEYS = [
    ({"queries": [[1.0]]}, TypeError, ["queries", "torch.Tensor", "list"]),
    ({"keys": None}, TypeError, ["keys", "torch.Tensor", "NoneType"]),
    (
        {"queries": torch.ones(BATCH, LEN_Q, D, dtype=torch.int64)},
        TypeError,
        ["queries", "floating-point", "torch.int64"],
    ),
    (
        {"keys": torch.ones(BATCH, LEN_K, D, dtype=torch.bool)},
        TypeError,
        ["keys", "floating-point", "torch.bool"],
    ),
    ({"queries": torch.ones(D)}, ValueError, ["queries", "expected", "axes", "(6,)"]),
    ({"keys": torch.ones(D)}, ValueError, ["keys", "expected", "axes", "(6,)"]),
    ({"keys": torch.ones(BATCH, LEN_K, D + 1)}, ValueError, ["keys", "expected", "(2, 5, 7)"]),
    ({"queries": torch.ones(BATCH, LEN_Q, 0)}, ValueError, ["queries", "feature", "(2, 3, 0)"]),
    (
        {"keys": torch.ones(BATCH, LEN_K, D, dtype=torch.float64)},
        TypeError,
        ["keys", "expected the dtype of", "torch.float32", "got torch.float64"],
    ),
    (
        {"keys": meta(BATCH, LEN_K, D)},
        ValueError,
        ["keys", "expected the device of", "cpu", "got meta"],
    ),
    ({"keys": torch.ones(7, LEN_K, D)}, ValueError, ["expected", "(7, 5, 6)"]),
]

VALUES = [
    ({"values": 1.0}, TypeError, ["values", "torch.Tensor", "float"]),
    (
        {"values": torch.ones(BATCH, LEN_K, D, dtype=torch.int32)},
        TypeError,
        ["values", "floating-point", "torch.int32"],
    ),
    ({"values": torch.ones(D)}, ValueError, ["values", "expected", "axes", "(6,)"]),
    ({"values": torch.ones(BATCH, 7, D)}, ValueError, ["values", "(2, 5, 6)", "(2, 7, 6)"]),
    ({"values": torch.ones(7, LEN_K, D)}, ValueError, ["expected", "(7, 5, 6)"]),
    (
        {"values": torch.ones(BATCH, LEN_K, D, dtype=torch.float16)},
        TypeError,
        ["values", "expected the dtype of", "torch.float32", "got torch.float16"],
    ),
    (
        {"values": meta(BATCH, LEN_K, D)},
        ValueError,
        ["values", "expected the device of", "cpu", "got meta"],
    ),
]

MASKS = [
    (
        {"valid_lens": torch.ones(BATCH, LEN_K, dtype=torch.bool)},
        TypeError,
        ["valid_lens", "integer", "booleans", "mask="],
    ),
    (
        {"mask": torch.ones(LEN_K, dtype=torch.int64)},
        TypeError,
        ["mask", "booleans", "torch.int64", "valid_lens="],
    ),
    (
        {"mask": torch.tensor([[0, 1, 1, 0, 1]], dtype=torch.uint8)},
        TypeError,
        ["mask", "booleans", "torch.uint8", "valid_lens="],
    ),
    ({"mask": torch.ones(LEN_K)}, TypeError, ["mask", "booleans", "torch.float32"]),
    ({"mask": [True] * LEN_K}, TypeError, ["mask", "torch.Tensor", "list"]),
    ({"valid_lens": [1, 2]}, TypeError, ["valid_lens", "torch.Tensor", "list"]),
    (
        {"valid_lens": torch.tensor([1.0, 2.0])},
        TypeError,
        ["valid_lens", "integer", "torch.float32"],
    ),
    ({"valid_lens": torch.tensor([1, -2])}, ValueError, ["valid_lens", "0 to len_k = 5", "-2"]),
    ({"valid_lens": torch.tensor([6, 1])}, ValueError, ["valid_lens", "0 to len_k = 5", "6"]),
    ({"valid_lens": torch.tensor(3)}, ValueError, ["valid_lens", "(batch, len_q)", "()"]),
    (
        {"valid_lens": torch.ones(BATCH, 1, 1, dtype=torch.int64)},
        ValueError,
        ["valid_lens", "(batch, len_q)", "(2, 1, 1)"],
    ),
    ({"valid_lens": torch.tensor([1, 2, 3])}, ValueError, ["valid_lens", "(2,)", "(2, 3)", "(3,)"]),
    (
        {"valid_lens": torch.ones(BATCH, LEN_K, dtype=torch.int64)},
        ValueError,
        ["valid_lens", "(2,)", "(2, 3)", "got (2, 5)"],
    ),
    (
        {"mask": torch.ones(LEN_Q, dtype=torch.bool)},
        ValueError,
        ["mask", "broadcasts", "3, 5)", "got (3,)"],
    ),
    (
        {"mask": torch.ones(7, 1, LEN_Q, LEN_K, dtype=torch.bool)},
        ValueError,
        ["mask", "broadcasts", "3, 5)", "got (7, 1, 3, 5)"],
    ),
    (
        {"mask": meta(LEN_Q, LEN_K, dtype=torch.bool)},
        ValueError,
        ["mask", "device", "cpu", "got meta"],
    ),
    (
        {"valid_lens": meta(BATCH, dtype=torch.int64)},
        ValueError,
        ["valid_lens", "device", "cpu", "got meta"],
    ),
]


def test_signatures():
    found = {}
    for name in SIGNATURES:
        owner, _, method = name.partition(".")
        value = getattr(attention_lib, owner)
        found[name] = str(inspect.signature(getattr(value, method) if method else value))
    assert found == SIGNATURES


def test_every_public_name_is_listed():
    assert {name.partition(".")[0] for name in SIGNATURES} == set(attention_lib.__all__)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(("replaced", "exception", "words"), QUERIES_AND_KEYS)
def test_scores_refuse(name, replaced, exception, words):
    arguments = given(**replaced)
    assert_refused(lambda: SCORES[name](arguments["queries"], arguments["keys"]), exception, words)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", ATTENTIONS)
@pytest.mark.parametrize(("replaced", "exception", "words"), QUERIES_AND_KEYS + VALUES + MASKS)
def test_attentions_refuse(name, replaced, exception, words, need_weights):
    arguments = given(**replaced, need_weights=need_weights)
    assert_refused(lambda: ATTENTIONS[name](**arguments), exception, words)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_lengths_and_masks_are_keywords_that_cannot_change_places(name):
    arguments = given()
    with pytest.raises(TypeError, match="positional"):
        ATTENTIONS[name](*arguments.values(), None, torch.ones(LEN_Q, LEN_K, dtype=torch.bool))


@pytest.mark.parametrize("name", ATTENTIONS)
def test_good_arguments_are_taken(name):
    """The refusals above come from what was replaced, not from the rest."""
    output, weights = ATTENTIONS[name](
        **given(),
        valid_lens=torch.tensor([1, 5]),
        mask=torch.ones(LEN_Q, LEN_K, dtype=torch.bool),
    )
    assert output.shape == (BATCH, LEN_Q, D)
    assert weights.shape[-2:] == (LEN_Q, LEN_K)
