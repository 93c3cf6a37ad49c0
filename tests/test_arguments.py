"""What all public functions promise alike: their signatures, and the same refusals in words.

``wrong_calls.txt`` is a table of wrong calls and of what each hears.
"""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

import attention_lib
from attention_lib import (
    AdditiveAttention,
    AdditiveScore,
    AddNorm,
    Attention,
    BilinearScore,
    DotProductAttention,
    MultiHeadAttention,
    _arguments,
    combine_masks,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    length_mask,
    masked_softmax,
    padding_mask,
    sample_scores,
    scaled_dot_product_attention,
    scaled_dot_scores,
)
from tests.strategies import assert_blames, meta, refusals

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
    "window_mask": "(len_q, len_k=None, *, window, device=None)",
    "document_mask": "(documents)",
    "combine_masks": "(*masks)",
    "soft_cap": "(scores, cap)",
    "alibi_slopes": "(num_heads)",
    "alibi_bias": "(num_heads, len_q, len_k=None, *, device=None)",
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
    "rotary_frequencies": "(d_k, base=10000.0)",
    "rotate_by_position": "(x, positions=None, *, base=10000.0, layout='pairs')",
    "rotary_scores": (
        "(queries, keys, query_positions=None, key_positions=None, *, scale=None, base=10000.0, "
        "layout='pairs')"
    ),
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
RAGGED = torch.nested.nested_tensor([torch.ones(LEN_K, D)] * BATCH, layout=torch.jagged)

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


# replaced arguments, exception, argument that is named
QUERIES_AND_KEYS = [
    ({"queries": [[1.0]]}, TypeError, "queries"),
    ({"keys": None}, TypeError, "keys"),
    (
        {"queries": torch.ones(BATCH, LEN_Q, D, dtype=torch.int64)},
        TypeError,
        "queries",
    ),
    (
        {"keys": torch.ones(BATCH, LEN_K, D, dtype=torch.bool)},
        TypeError,
        "keys",
    ),
    ({"queries": torch.ones(BATCH, LEN_Q, D).to_sparse()}, TypeError, "queries"),
    ({"keys": torch.ones(BATCH, LEN_K, D).to_sparse()}, TypeError, "keys"),
    ({"keys": RAGGED}, TypeError, "keys"),
    ({"keys": torch.ones(BATCH, LEN_K, D).to(torch.float8_e4m3fn)}, TypeError, "keys"),
    ({"queries": torch.ones(D)}, ValueError, "queries"),
    ({"keys": torch.ones(D)}, ValueError, "keys"),
    ({"keys": torch.ones(BATCH, LEN_K, D + 1)}, ValueError, "keys"),
    ({"queries": torch.ones(BATCH, LEN_Q, 0)}, ValueError, "queries"),
    (
        {"keys": torch.ones(BATCH, LEN_K, D, dtype=torch.float64)},
        TypeError,
        "keys",
    ),
    (
        {"keys": meta(BATCH, LEN_K, D)},
        ValueError,
        "keys",
    ),
    ({"keys": torch.ones(7, LEN_K, D)}, ValueError, "leading axes"),
]

VALUES = [
    ({"values": 1.0}, TypeError, "values"),
    (
        {"values": torch.ones(BATCH, LEN_K, D, dtype=torch.int32)},
        TypeError,
        "values",
    ),
    ({"values": torch.ones(BATCH, LEN_K, D).to_sparse()}, TypeError, "values"),
    ({"values": RAGGED}, TypeError, "values"),
    ({"values": torch.ones(D)}, ValueError, "values"),
    ({"values": torch.ones(BATCH, 7, D)}, ValueError, "values"),
    ({"values": torch.ones(7, LEN_K, D)}, ValueError, "leading axes"),
    (
        {"values": torch.ones(BATCH, LEN_K, D, dtype=torch.float16)},
        TypeError,
        "values",
    ),
    (
        {"values": meta(BATCH, LEN_K, D)},
        ValueError,
        "values",
    ),
]

MASKS = [
    (
        {"valid_lens": torch.ones(BATCH, LEN_K, dtype=torch.bool)},
        TypeError,
        "valid_lens",
    ),
    (
        {"mask": torch.ones(LEN_K, dtype=torch.int64)},
        TypeError,
        "mask",
    ),
    (
        {"mask": torch.tensor([[0, 1, 1, 0, 1]], dtype=torch.uint8)},
        TypeError,
        "mask",
    ),
    ({"mask": torch.ones(LEN_K)}, TypeError, "mask"),
    ({"mask": [True] * LEN_K}, TypeError, "mask"),
    ({"mask": torch.ones(LEN_Q, LEN_K, dtype=torch.bool).to_sparse()}, TypeError, "mask"),
    ({"valid_lens": torch.tensor([1, 2]).to_sparse()}, TypeError, "valid_lens"),
    ({"valid_lens": [1, 2]}, TypeError, "valid_lens"),
    (
        {"valid_lens": torch.tensor([1.0, 2.0])},
        TypeError,
        "valid_lens",
    ),
    ({"valid_lens": torch.tensor([1, -2])}, ValueError, "valid_lens"),
    ({"valid_lens": torch.tensor([6, 1])}, ValueError, "valid_lens"),
    ({"valid_lens": torch.tensor(3)}, ValueError, "valid_lens"),
    (
        {"valid_lens": torch.ones(BATCH, 1, 1, dtype=torch.int64)},
        ValueError,
        "valid_lens",
    ),
    ({"valid_lens": torch.tensor([1, 2, 3])}, ValueError, "valid_lens"),
    (
        {"valid_lens": torch.ones(BATCH, LEN_K, dtype=torch.int64)},
        ValueError,
        "valid_lens",
    ),
    (
        {"mask": torch.ones(LEN_Q, dtype=torch.bool)},
        ValueError,
        "mask",
    ),
    (
        {"mask": torch.ones(7, 1, LEN_Q, LEN_K, dtype=torch.bool)},
        ValueError,
        "mask",
    ),
    (
        {"mask": meta(LEN_Q, LEN_K, dtype=torch.bool)},
        ValueError,
        "mask",
    ),
    (
        {"valid_lens": meta(BATCH, dtype=torch.int64)},
        ValueError,
        "valid_lens",
    ),
]


def test_signatures():
    found = {}
    for name in SIGNATURES:
        owner, _, method = name.partition(".")
        value = getattr(attention_lib, owner)
        signature = inspect.signature(getattr(value, method) if method else value)
        bare = [x.replace(annotation=x.empty) for x in signature.parameters.values()]
        found[name] = str(inspect.Signature(bare))
    assert found == SIGNATURES


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_public_signature_has_types(name):
    """Python's own words for them: shapes stay in docstrings."""
    owner, _, method = name.partition(".")
    value = getattr(attention_lib, owner)
    value = getattr(value, method) if method else value
    called = value.__init__ if inspect.isclass(value) else value
    signature = inspect.signature(called)
    untyped = [x.name for x in signature.parameters.values() if x.annotation is x.empty]
    assert untyped in ([], ["self"]) and signature.return_annotation is not inspect.Signature.empty


def test_every_public_name_is_listed():
    assert {name.partition(".")[0] for name in SIGNATURES} == set(attention_lib.__all__)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(("replaced", "exception", "argument"), refusals(QUERIES_AND_KEYS))
def test_scores_refuse(name, replaced, exception, argument):
    given_now = given(**replaced)
    queries, keys = given_now["queries"], given_now["keys"]
    assert_blames(lambda: SCORES[name](queries, keys), exception, argument)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", ATTENTIONS)
@pytest.mark.parametrize(
    ("replaced", "exception", "argument"), refusals(QUERIES_AND_KEYS + VALUES + MASKS)
)
def test_attentions_refuse(name, replaced, exception, argument, need_weights):
    arguments = given(**replaced, need_weights=need_weights)
    assert_blames(lambda: ATTENTIONS[name](**arguments), exception, argument)


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


# --- the words themselves, once ---------------------------------------------------------------

X = torch.ones(2, 3)
MASK = torch.ones(5, 7, dtype=torch.bool)

# what refuses, with what -> what it says
WORDING = {
    "no tensor": (
        lambda: _arguments.require_tensor("x", [1.0], axes="(len,)"),
        "x: expected a torch.Tensor (len,), got list",
    ),
    "another rank": (
        lambda: _arguments.require_tensor("x", X, rank=4, axes="(a, b, c, d)"),
        "x: expected 4 axes (a, b, c, d), got shape (2, 3)",
    ),
    "too few axes": (
        lambda: _arguments.require_tensor("x", X, min_rank=3, axes="(batch, len, width)"),
        "x: expected at least 3 axes (batch, len, width), got shape (2, 3)",
    ),
    "no floating point": (
        lambda: _arguments.require_float("x", X.int()),
        "x: expected a floating-point tensor, got dtype torch.int32",
    ),
    "8 bits": (
        lambda: _arguments.require_float("x", X.to(torch.float8_e5m2)),
        "x: expected at least 16 bits a number, got dtype torch.float8_e5m2",
    ),
    "sparse": (
        lambda: _arguments.require_tensor("x", X.to_sparse()),
        "x: expected a dense tensor, got layout torch.sparse_coo",
    ),
    "nested": (
        lambda: _arguments.require_tensor("x", RAGGED),
        "x: expected a dense tensor, got a nested one",
    ),
    "another dtype": (
        lambda: _arguments.require_same_kind("y", X, "x", X.double()),
        "x: expected the dtype of y, torch.float32, got torch.float64",
    ),
    "another device": (
        lambda: _arguments.require_same_device("y", X, "x", meta(2, 3)),
        "x: expected the device of y, cpu, got meta",
    ),
    "another kind than the parameters": (
        lambda: _arguments.require_parameter_kind("x", X.half(), X),
        "x: expected the dtype of the module's parameters, torch.float32, got torch.float16",
    ),
    "another size": (
        lambda: _arguments.require_size("x", X, -1, 5, "features (d_k)"),
        "x: expected 5 features (d_k) on axis -1, got shape (2, 3)",
    ),
    "no count": (
        lambda: _arguments.require_count("x", 2.0),
        "x: expected a whole number, got 2.0",
    ),
    "too small a count": (
        lambda: _arguments.require_count("x", 0),
        "x: expected at least 1, got 0",
    ),
    "no number": (
        lambda: _arguments.require_positive("x", "1"),
        "x: expected a positive number, got '1'",
    ),
    "no positive number": (
        lambda: _arguments.require_positive("x", -1.5),
        "x: expected a positive number, got -1.5",
    ),
    "leading axes": (
        lambda: dot_scores(torch.ones(2, 3, 4), torch.ones(5, 3, 4)),
        "leading axes: expected shapes that broadcast, got queries (2, 3, 4), keys (5, 3, 4)",
    ),
    "no features": (
        lambda: dot_scores(torch.ones(2, 0), torch.ones(2, 0)),
        "queries: expected at least one feature, got (2, 0)",
    ),
    "another width": (
        lambda: dot_scores(torch.ones(2, 3), torch.ones(2, 4)),
        "keys: expected the width of queries on the last axis, got queries (2, 3) and keys (2, 4)",
    ),
    "not one value a key": (
        lambda: scaled_dot_product_attention(X, X, torch.ones(4, 3)),
        "values: expected one value a key (len_k on axis -2), got keys (2, 3) and values (4, 3)",
    ),
    "no scale": (
        lambda: scaled_dot_scores(X, X, scale="half"),
        "scale: expected a number or None, got 'half'",
    ),
    "an infinite scale": (
        lambda: scaled_dot_scores(X, X, scale=float("inf")),
        "scale: expected a finite number, got inf",
    ),
    "no score": (
        lambda: Attention("dot"),
        "score: expected a callable (queries, keys), got 'dot'",
    ),
    "scores of another shape": (
        lambda: Attention(lambda queries, keys: queries)(X, X, X),
        "score: expected scores of shape (2, 2) (..., len_q, len_k), got (2, 3)",
    ),
    "booleans for lengths": (
        lambda: length_mask(MASK, 7),
        "valid_lens: expected integer lengths, got booleans; a boolean tensor goes to mask=",
    ),
    "fractions for lengths": (
        lambda: length_mask(X, 7),
        "valid_lens: expected integer lengths, got dtype torch.float32",
    ),
    "lengths of another rank": (
        lambda: length_mask(torch.tensor(3), 7),
        "valid_lens: expected shape (batch,) or (batch, len_q), got ()",
    ),
    "lengths out of range": (
        lambda: length_mask(torch.tensor([-1, 8]), 7),
        "valid_lens: expected lengths from 0 to len_k = 7, got lengths from -1 to 8",
    ),
    "lengths without a batch": (
        lambda: masked_softmax(X, torch.tensor([1, 2])),
        "valid_lens: expected scores with a batch axis, got scores (2, 3)",
    ),
    "lengths for another batch": (
        lambda: masked_softmax(torch.ones(2, 5, 7), torch.tensor([1, 2, 3])),
        "valid_lens: expected shape (2,) or (2, 5) for scores (2, 5, 7), got (3,)",
    ),
    "integers for a mask": (
        lambda: masked_softmax(X, mask=torch.tensor([1, 0, 1])),
        "mask: expected booleans (True = may attend), got dtype torch.int64; integer lengths go "
        "to valid_lens=, and a 0/1 mask is written (tensor == 1) or (tensor == 0), as it means",
    ),
    "fractions for a mask": (
        lambda: masked_softmax(X, mask=X),
        "mask: expected booleans (True = may attend), got dtype torch.float32",
    ),
    "a mask of another shape": (
        lambda: masked_softmax(X, mask=MASK),
        "mask: expected a shape that broadcasts to the scores' (2, 3), got (5, 7)",
    ),
    "a mask elsewhere": (
        lambda: masked_softmax(X, mask=meta(3, dtype=torch.bool)),
        "mask: expected the device of the scores, cpu, got meta",
    ),
    "masks that do not fit each other": (
        lambda: combine_masks(MASK, None, MASK[:, :2]),
        "masks[2]: expected a shape that broadcasts with the masks before it, (5, 7), got (5, 2)",
    ),
    "tokens that are no ids": (
        lambda: padding_mask(X),
        "tokens: expected integer token ids, got dtype torch.float32",
    ),
    "heads that do not divide": (
        lambda: MultiHeadAttention(6, 4),
        "num_heads: expected a divisor of d_model, 6, got 4",
    ),
    "no layer of PyTorch's": (
        lambda: MultiHeadAttention.from_torch(torch.nn.Linear(1, 1)),
        "module: expected a torch.nn.MultiheadAttention, got Linear",
    ),
    "a layer of other widths": (
        lambda: MultiHeadAttention.from_torch(torch.nn.MultiheadAttention(6, 2, kdim=5)),
        "module: expected kdim and vdim equal to embed_dim 6, got kdim 5 and vdim 6",
    ),
    "a layer with keys of its own": (
        lambda: MultiHeadAttention.from_torch(torch.nn.MultiheadAttention(6, 2, add_bias_kv=True)),
        "module: expected no add_bias_kv and no add_zero_attn",
    ),
    "another shape than x": (
        lambda: AddNorm(3)(X, X[:1]),
        "sublayer_output: expected the shape of x, (2, 3), got (1, 3)",
    ),
    "no generator": (
        lambda: sample_scores(1, 1, 1, scale=1.0, generator=0),
        "generator: expected a torch.Generator, got int",
    ),
}


@pytest.mark.parametrize("name", WORDING)
def test_words(name):
    call, words = WORDING[name]
    with pytest.raises((TypeError, ValueError)) as raised:
        call()
    assert str(raised.value) == words


# --- the table of wrong calls -----------------------------------------------------------------

TABLE = Path(__file__).with_name("wrong_calls.txt").read_text(encoding="utf-8")
WRONG_CALLS = dict(re.findall(r"^(\S.*)\n    (\w+Error: .+)$", TABLE, flags=re.MULTILINE))
# what is at fault, what was expected, and what came
BLAMES = (
    r"(Type|Value)Error: [^:]+: expected .*[^,;][,;]? got .|TraitError: \w+\.\w+ must be .*; got ."
)


@pytest.fixture(scope="module")
def at_hand():
    """Return the names that the calls use."""
    from attention_lib import (
        alignment,
        contracts,
        cost,
        museum,
        notebook,
        palette,
        plots,
        published,
        reader,
        widgets,
    )

    x = torch.ones(2, 3, 4)
    modules = (alignment, contracts, cost, museum, notebook, palette, plots)
    modules += (published, reader, widgets)
    return {
        **{name: getattr(attention_lib, name) for name in attention_lib.__all__},
        **{module.__name__.rpartition(".")[2]: module for module in modules},
        **{"torch": torch, "np": np, "NAN": float("nan"), "INF": float("inf")},
        **{"x": x, "m": MultiHeadAttention(4, 2), "ids": torch.tensor([[1, 2, 0]])},
        **{"ax": Figure().subplots(), "W": torch.full((3, 4), 0.25)},
        **{"R": reader.load_reader(), "A": alignment.load_aligner()},
        "attend": lambda q, k, v: scaled_dot_product_attention(q, k, v),
    }


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_wrong_call(call, at_hand):
    """Refused with this very exception and these very words."""
    with pytest.raises(Exception) as raised:
        eval(call, dict(at_hand))
    assert f"{raised.type.__name__}: {raised.value}" == WRONG_CALLS[call]


def test_every_refusal_says_what_was_expected_and_what_came():
    assert [said for said in WRONG_CALLS.values() if not re.match(BLAMES, said)] == []


def test_the_table_is_read_to_its_end_and_meets_every_part():
    lines = TABLE.split("\n\n", 1)[1].splitlines()
    assert len(lines) == 2 * len(WRONG_CALLS) and len(WRONG_CALLS) >= 120
    without = {"device"}  # it takes nothing
    unmet = [name for name in attention_lib.__all__ if f"{name}(" not in TABLE]
    assert {*unmet} == without
    figures = [f"widgets.{name}(" for name in attention_lib.widgets.__all__]
    assert [figure for figure in figures if figure not in TABLE] == []
