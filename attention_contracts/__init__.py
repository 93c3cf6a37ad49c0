"""Contracts: behaviours that any attention must show, whoever wrote it.

:func:`check` runs all that apply to an attention, :func:`check_model` to a whole model, and both
return a :class:`Report` of what is kept, what is broken, and what could not be tested and why:

>>> import torch
>>> def attend(queries, keys, values):
...     scores = queries @ keys.mT / queries.shape[-1] ** 0.5
...     return scores.softmax(dim=-1) @ values
>>> report = check(attend, causal=True)
>>> bool(report), report.broken[0].name
(False, 'causality')

Each function ``assert_…`` is one of these contracts, and all take the same:

attend : callable
    ``attend(queries, keys, values)`` returns the output, alone or first in a tuple, then the
    weights; its masks, and all that it needs besides, are bound.
queries, keys, values : torch.Tensor
    Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
valid_lens : torch.Tensor
    Integers of shape ``(batch,)``: keys from there on are padding.
poison : float, optional
    What replaces what must not be read; ``None`` means other random numbers, ``float("nan")`` is
    sharper. Attentions do not promise that NaN stays behind a causal mask: 0 times NaN is NaN.
tolerance : float, optional
    Largest difference, absolute and relative, that is no movement; ``None`` means
    ``torch.testing``'s for the dtype.

A broken contract raises an ``AssertionError`` that says what moved, where and by how much. None is
kept in silence: where nothing moves that should, it raises :class:`NotTested`.
"""

from attention_contracts._check import check
from attention_contracts._check_model import check_model
from attention_contracts._report import Finding, NotTested, Report
from attention_contracts.devices import assert_device_independent
from attention_contracts.learning import assert_forgets, assert_owns_parameters
from attention_contracts.order import (
    assert_causal,
    assert_decodes_like_prefill,
    assert_permutation_equivariant,
    assert_queries_independent,
    assert_window,
)
from attention_contracts.padding import (
    assert_mask_beats_any_score,
    assert_padding_invariant,
    assert_padding_removable,
    assert_survives_empty_rows,
)
from attention_contracts.positions import assert_rotary_layout
from attention_contracts.reading import (
    assert_looks_around,
    assert_reads_queries,
    assert_reads_values,
    assert_rows_sum_to_one,
    assert_scaled,
    assert_weights_explain_output,
)
from attention_contracts.running import (
    assert_batch_independent,
    assert_deterministic_in_eval,
    assert_differentiable,
    assert_pure,
)

__all__ = [
    "Finding",
    "NotTested",
    "Report",
    "assert_batch_independent",
    "assert_causal",
    "assert_decodes_like_prefill",
    "assert_deterministic_in_eval",
    "assert_device_independent",
    "assert_differentiable",
    "assert_forgets",
    "assert_looks_around",
    "assert_mask_beats_any_score",
    "assert_owns_parameters",
    "assert_padding_invariant",
    "assert_padding_removable",
    "assert_permutation_equivariant",
    "assert_pure",
    "assert_queries_independent",
    "assert_reads_queries",
    "assert_reads_values",
    "assert_rotary_layout",
    "assert_rows_sum_to_one",
    "assert_scaled",
    "assert_survives_empty_rows",
    "assert_weights_explain_output",
    "assert_window",
    "check",
    "check_model",
]
