"""Contracts refuse wrong calls in words: the argument, what was expected, what came."""

import pytest
import torch

import attention_contracts as contracts
from tests.attention_contracts import attentions

REFUSED = {
    "assert_rows_sum_to_one(unmasked, x, x, x)": (
        TypeError,
        r"attend: expected \(output, weights\), got no weights",
    ),
    "assert_causal(lambda *_: 'output', x, x, x)": (
        TypeError,
        r"attend: expected an output",
    ),
    "assert_causal(lambda q, k, v: v[..., :2, :], x, x, x)": (
        ValueError,
        r"attend: expected one output a query, 7 on axis -2, got \(3, 2, 10\)",
    ),
    "assert_padding_invariant(unmasked, x, x, x, torch.tensor([1]))": (
        ValueError,
        r"valid_lens: expected one length a sequence, \(3,\)",
    ),
    "assert_pure(unmasked, [1.0], x, x)": (
        TypeError,
        r"queries: expected a torch.Tensor",
    ),
    "assert_pure(3, x, x, x)": (
        TypeError,
        r"attend: expected a callable \(queries, keys, values\), got 3",
    ),
    "assert_causal(unmasked, x, x, x, poison='nan')": (
        TypeError,
        r"poison: expected a number .* got 'nan'",
    ),
    "assert_padding_invariant(unmasked, x, x, x, VALID_LENS, poison=True)": (
        TypeError,
        r"poison: expected a number .* got True",
    ),
    "assert_batch_independent(ours_with_lengths, x, x, x, VALID_LENS[:1])": (
        ValueError,
        r"for_each: expected 3 samples \(batch\), got shape \(1,\)",
    ),
    "assert_decodes_like_prefill(unmasked, x[:, :2], x, x)": (
        ValueError,
        r"keys: expected 2 keys, one a query",
    ),
    "assert_mask_beats_any_score(ours_padded, x.half(), x.half(), x.half(), VALID_LENS)": (
        TypeError,
        r"queries: expected float32 or float64, got dtype torch.float16",
    ),
    "assert_padding_removable(with_padding, x, x, x, VALID_LENS)": (
        TypeError,
        r"real: expected booleans \(True = may attend\), got dtype torch.int64",
    ),
    "assert_padding_removable(with_padding, x, x, x, REAL[:1])": (
        ValueError,
        r"real: expected one boolean a token, \(batch, len\), .* got \(1, 7\)",
    ),
    "assert_survives_empty_rows(ours_padded, x, x, x, VALID_LENS)": (
        ValueError,
        r"valid_lens: expected a 0 among the lengths, got \[5, 2, 7\]",
    ),
    "assert_owns_parameters(unmasked, x, x, x)": (
        TypeError,
        r"attend: expected a torch.nn.Module, got <function unmasked",
    ),
    "assert_looks_around(unmasked, x, x[:, :2], x)": (
        ValueError,
        r"queries, keys, values: expected one shape, got \(3, 7, 10\), \(3, 2, 10\)",
    ),
    "assert_looks_around(unmasked, x, x, x)": (
        TypeError,
        r"attend: expected \(output, weights\), got no weights",
    ),
    "assert_weights_explain_output(unmasked, x, x, x)": (
        TypeError,
        r"attend: expected \(output, weights\), got no weights",
    ),
    "assert_weights_explain_output(lambda q, k, v: (v, torch.ones(3, 4, 7, 7)), x, x, x)": (
        ValueError,
        r"attend: expected weights \(\.\.\., len_q, len_k\), .* got \(3, 4, 7, 7\)",
    ),
    "assert_window(window_of_3, x, x, x, window=7)": (
        ValueError,
        r"keys: expected more than 7 keys \(window\), got \(3, 7, 10\)",
    ),
    "assert_window(window_of_3, x, x, x, window=2.0)": (
        TypeError,
        r"window: expected",
    ),
    "assert_rotary_layout(rotary, x[..., :3], x[..., :3], x)": (
        ValueError,
        r"queries: expected an even width of at least 4, got \(3, 7, 3\)",
    ),
    "assert_rotary_layout(rotary, x, x, x, layout='rows')": (
        ValueError,
        r"layout: expected 'pairs' or 'halves', got 'rows'",
    ),
    "assert_causal(lambda *_: torch.ones(3), x, x, x)": (
        TypeError,
        r"attend: expected an output \(\.\.\., len_q, d_v\), .* got \(3,\)",
    ),
    "assert_causal(unmasked, x[0, 0], x, x)": (
        ValueError,
        r"queries: expected at least 2 axes \(\.\.\., len, width\), got shape \(10,\)",
    ),
    "assert_padding_removable(with_padding, x[0], x[0], x[0], SQUARE)": (
        ValueError,
        r"real: expected one boolean a token, .* for queries \(7, 10\)",
    ),
    "assert_padding_removable(with_padding, x[:, 1:], x, x, REAL)": (
        ValueError,
        r"real: expected one boolean a token, .* for queries \(3, 6, 10\)",
    ),
    "assert_scaled(unscaled, x, x[:, :1], x[:, :1])": (
        ValueError,
        r"keys: expected at least two keys",
    ),
    "check(3)": (TypeError, r"attend: expected a callable \(queries, keys, values\), got 3"),
    "check(unmasked, 1)": (TypeError, r"causal: expected"),
    "check(unmasked, lengths=(3, 7))": (ValueError, r"lengths: expected two at least, the first"),
    "check(unmasked, d_k=0)": (ValueError, r"d_k: expected at least 1"),
    "check(torch_module(), d_k=3)": (ValueError, r"attend: .* d_k= sets the width"),
    "check_model(unmasked)": (TypeError, r"model: expected"),
    "check_model(torch_module())": (ValueError, r"vocab_size: expected a number"),
}


@pytest.mark.parametrize("call", REFUSED)
def test_wrong_calls_are_refused_in_words(call):
    error, message = REFUSED[call]
    names = {**vars(attentions), **vars(contracts), "torch": torch}
    names["x"] = attentions.numbers(3, 7, 10)
    with pytest.raises(error, match=message):
        eval(call, names)
