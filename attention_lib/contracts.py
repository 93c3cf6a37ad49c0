"""Contracts: behaviours that any attention must show, whoever wrote it.

Each function takes a callable ``attend(queries, keys, values)`` that returns the output, or a
pair of output and weights; bind what else it needs first:

>>> from attention_lib.attention import scaled_dot_product_attention
>>> from attention_lib.masking import causal_mask
>>> def attend(queries, keys, values):
...     mask = causal_mask(queries.shape[-2], keys.shape[-2])
...     return scaled_dot_product_attention(queries, keys, values, mask=mask)
>>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
>>> assert_causal(attend, x, x, x)

A broken contract raises an ``AssertionError`` that says what moved, where and by how much.
"""

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from attention_lib._arguments import (
    require_count,
    require_finite,
    require_float,
    require_tensor,
    shape_of,
)
from attention_lib.masking import length_mask, require_mask
from attention_lib.scoring import resolve_scale

__all__ = [
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
    "assert_reads_queries",
    "assert_reads_values",
    "assert_rotary_layout",
    "assert_rows_sum_to_one",
    "assert_scaled",
    "assert_survives_empty_rows",
    "assert_weights_explain_output",
    "assert_window",
]

Attend = Callable[[Tensor, Tensor, Tensor], Any]  # returns the output, or (output, weights)


def assert_causal(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    poison: float | None = None,
    tolerance: float | None = None,
) -> None:
    """Change the future and see that the past does not move.

    For each query in turn, everything after its position is replaced, in queries, keys and
    values; the outputs up to that query must stay. Positions are aligned to the lower right:
    the last query stands at the last key.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, its causal mask bound.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    poison : float, optional
        What replaces the future; ``None`` means other random numbers. ``float("nan")`` is
        the sharper test: a kernel that multiplies the future by 0 fails it.
    tolerance : float, optional
        Largest difference, absolute and relative, that is no movement; ``None`` means
        ``torch.testing``'s for the dtype.

    Raises
    ------
    AssertionError
        If an output moves.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_causal(scaled_dot_product_attention, x, x, x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    AssertionError: not causal: with every position after query 0 replaced, the output of ...
    """
    _require_inputs(attend, queries, keys, values)
    _require_poison(poison)
    len_q, len_k = queries.shape[-2], keys.shape[-2]
    before = _output(attend, queries, keys, values)
    for last in range(len_q - 1):
        cut = max(0, last + 1 + len_k - len_q)  # first key of the future
        after = _output(
            attend,
            _replaced(queries, _from(len_q, last + 1, queries.device), poison),
            _replaced(keys, _from(len_k, cut, keys.device), poison),
            _replaced(values, _from(len_k, cut, values.device), poison),
        )
        moved = _moved(before[..., : last + 1, :], after[..., : last + 1, :], tolerance)
        if moved:
            where, how = moved
            raise AssertionError(
                f"not causal: with every position after query {last} replaced, "
                f"the output of query {where[-2]} at {where} {how}"
            )


def assert_padding_invariant(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor,
    *,
    poison: float | None = None,
    tolerance: float | None = None,
) -> None:
    """Change what stands in the padding and see that no output moves.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, its lengths or padding mask bound.
    queries, keys, values : torch.Tensor
        Shapes ``(batch, ..., len_q, d_k)``, ``(batch, ..., len_k, d_k)``,
        ``(batch, ..., len_k, d_v)``.
    valid_lens : torch.Tensor
        Integers of shape ``(batch,)``: keys from there on are padding.
    poison : float, optional
        What replaces the padding; ``None`` means other random numbers. ``float("nan")`` is
        the sharper test.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If an output moves.
    ValueError
        If ``valid_lens`` has not one length a sequence.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> valid_lens = torch.tensor([2])
    >>> def attend(queries, keys, values):
    ...     return scaled_dot_product_attention(queries, keys, values, valid_lens)
    >>> x = torch.ones(1, 3, 4)
    >>> assert_padding_invariant(attend, x, x, x, valid_lens, poison=float("nan"))
    """
    padding = _padding(attend, queries, keys, values, valid_lens)  # (batch, ..., len_k)
    _require_poison(poison)
    before = _output(attend, queries, keys, values)
    replaced = [_replaced(x, padding.unsqueeze(-1), poison) for x in (keys, values)]
    moved = _moved(before, _output(attend, queries, *replaced), tolerance)
    if moved:
        where, how = moved
        length = valid_lens[where[0]].item()
        raise AssertionError(
            f"padding leaks: with the keys and values from position {length} on replaced in "
            f"sequence {where[0]}, the output of query {where[-2]} at {where} {how}"
        )


def assert_permutation_equivariant(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """Shuffle the queries and see the output shuffled alike; shuffle the memory and see nothing.

    Attention without positions and without a causal mask treats its keys as a set. Where
    there are as many queries as keys, both are shuffled alike, so that self-attention of one
    sequence can be tested too.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If an output differs from the shuffled one.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_permutation_equivariant(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    len_q, len_k = queries.shape[-2], keys.shape[-2]
    order_q = torch.randperm(len_q, generator=_generator(), device="cpu").to(queries.device)
    order_k = order_q
    if len_q != len_k:
        order_k = torch.randperm(len_k, generator=_generator(), device="cpu").to(keys.device)
    before = _output(attend, queries, keys, values)[..., order_q, :]
    after = _output(
        attend, queries[..., order_q, :], keys[..., order_k, :], values[..., order_k, :]
    )
    moved = _moved(before, after, tolerance)
    if moved:
        where, how = moved
        query = order_q[where[-2]].item()
        raise AssertionError(
            f"the order matters: with queries and memory shuffled, the output of query {query} "
            f"(now at {where}) {how}"
        )


def assert_rows_sum_to_one(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """See that weights are shares: none negative, each row summing to 1, or all 0 if masked.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``; returns ``(output, weights)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If a weight is negative or NaN, or a row has another sum.
    TypeError
        If ``attend`` returns no weights.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_rows_sum_to_one(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    weights = _pair(attend, queries, keys, values)[1]
    lowest = weights.amin().item()
    if not lowest >= 0:  # NaN is not
        raise AssertionError(f"a weight is {lowest:.3g}; weights are shares, from 0 to 1")
    sums = weights.double().sum(dim=-1, keepdim=True)  # (..., len_q, 1)
    moved = _moved((sums != 0).double().to(weights.dtype), sums.to(weights.dtype), tolerance)
    if moved:
        where = moved[0][:-1]
        raise AssertionError(
            f"the weights of row {where} sum to {sums[where].item():.6g}, neither 1 nor 0"
        )


def assert_pure(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """See that a call changes none of its inputs, and depends on no call before it.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If an input changes, or the same call gives another output later.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_pure(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    named = {"queries": queries, "keys": keys, "values": values}
    given = {name: x.clone() for name, x in named.items()}
    before = _output(attend, *given.values())
    for name, x in named.items():
        moved = _moved(x, given[name], 0.0)
        if moved:
            raise AssertionError(f"{name} changed in the call: at {moved[0]} it {moved[1]}")
    _output(attend, *[_replaced(x, _everywhere(x), None) for x in named.values()])
    moved = _moved(before, _output(attend, *[x.clone() for x in named.values()]), tolerance)
    if moved:
        raise AssertionError(
            "the same call gave another output after a call in between: "
            f"at {moved[0]} it {moved[1]}"
        )


def assert_deterministic_in_eval(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor
) -> None:
    """See that nothing is random in evaluation mode.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``. A ``torch.nn.Module`` is put in evaluation mode for
        the test, and back after; bind nothing around it, or put it there yourself.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.

    Raises
    ------
    AssertionError
        If two calls with different random states differ at all.

    Examples
    --------
    >>> from attention_lib.attention import DotProductAttention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_deterministic_in_eval(DotProductAttention(dropout=0.5), x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    modules = list(attend.modules()) if isinstance(attend, nn.Module) else []
    modes = [module.training for module in modules]
    devices = [queries.device] if queries.is_cuda else []
    try:
        for module in modules:
            module.training = False
        outputs = []
        for seed in (0, 1):
            with torch.random.fork_rng(devices):
                torch.manual_seed(seed)
                outputs.append(_output(attend, queries, keys, values))
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
    moved = _moved(outputs[0], outputs[1], 0.0)
    if moved:
        raise AssertionError(
            f"random in evaluation mode: with another random state the output at {moved[0]} "
            f"{moved[1]}; is dropout still on?"
        )


def assert_batch_independent(
    attend: Callable[..., Any],
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *for_each: Tensor,
    tolerance: float | None = None,
) -> None:
    """Give each sample of the batch alone and see that its output is the one it had in company.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values, *for_each)``.
    queries, keys, values : torch.Tensor
        Shapes ``(batch, ..., len_q, d_k)``, ``(batch, ..., len_k, d_k)``,
        ``(batch, ..., len_k, d_v)``.
    *for_each : torch.Tensor
        What else has one entry a sample, lengths or a mask: ``attend`` gets it, too, cut to
        the sample.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If an output differs.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x, valid_lens = torch.ones(2, 3, 4), torch.tensor([1, 3])
    >>> assert_batch_independent(scaled_dot_product_attention, x, x, x, valid_lens)
    """
    _require_inputs(attend, queries, keys, values)
    tensors = (queries, keys, values, *for_each)
    batch = len(queries)
    for name, x in zip(("keys", "values", *["for_each"] * len(for_each)), tensors[1:], strict=True):
        require_tensor(name, x, axes="(batch, ...)")
        if x.dim() == 0 or len(x) != batch:
            raise ValueError(f"{name}: expected {batch} samples (batch), got shape {shape_of(x)}")
    together = _output(attend, *tensors)
    for sample in range(batch):
        alone = _output(attend, *(x[sample : sample + 1] for x in tensors))
        moved = _moved(together[sample : sample + 1], alone, tolerance)
        if moved:
            where, how = moved
            raise AssertionError(
                f"samples are mixed: given alone, the output of sample {sample} at "
                f"{(sample, *where[1:])} {how}"
            )


def assert_decodes_like_prefill(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """Go through a sequence step by step, with a cache, and see the outputs of the whole pass.

    A step gives the new queries with all keys and values up to their position; steps are of
    one position, then of two.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, which makes its causal mask for the lengths that it
        gets.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len, d_k)``, ``(..., len, d_k)``, ``(..., len, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If a step gives another output than the whole pass.
    ValueError
        If there are not as many keys as queries.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> from attention_lib.masking import causal_mask
    >>> def attend(queries, keys, values):
    ...     mask = causal_mask(queries.shape[-2], keys.shape[-2])
    ...     return scaled_dot_product_attention(queries, keys, values, mask=mask)
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_decodes_like_prefill(attend, x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    length = queries.shape[-2]
    if keys.shape[-2] != length:
        raise ValueError(f"keys: expected {length} keys, one a query, got {shape_of(keys)}")
    whole = _output(attend, queries, keys, values)
    for size in (1, 2):
        for start in range(0, length, size):
            end = min(start + size, length)
            step = _output(
                attend, queries[..., start:end, :], keys[..., :end, :], values[..., :end, :]
            )
            moved = _moved(whole[..., start:end, :], step, tolerance)
            if moved:
                where, how = moved
                raise AssertionError(
                    f"decoding differs: in a step of {end - start} from position {start}, with "
                    f"{end} keys in the cache, the output of query {start + where[-2]} {how}"
                )


def assert_mask_beats_any_score(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor
) -> None:
    """Score every key that may be seen far below -1e9, and see that padding gets no weight.

    Where a mask is a large negative number, as -1e9, a lower score loses against it.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)`` without projections, its lengths bound.
    queries, keys, values : torch.Tensor
        Shapes ``(batch, ..., len_q, d_k)``, ``(batch, ..., len_k, d_k)``,
        ``(batch, ..., len_k, d_v)``, float32 or float64; their shapes are used, not their
        numbers.
    valid_lens : torch.Tensor
        Integers of shape ``(batch,)``: keys from there on are padding.

    Raises
    ------
    AssertionError
        If padding gets weight.
    TypeError
        If the dtype holds no such scores.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> valid_lens = torch.tensor([2])
    >>> def attend(queries, keys, values):
    ...     return scaled_dot_product_attention(queries, keys, values, valid_lens)
    >>> x = torch.ones(1, 3, 4)
    >>> assert_mask_beats_any_score(attend, x, x, x, valid_lens)
    """
    padding = _padding(attend, queries, keys, values, valid_lens).unsqueeze(-1)
    if queries.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"queries: expected float32 or float64, got dtype {queries.dtype}")
    score = -1e12
    queries = _along_the_first_axis(queries, 1e6)
    seen = _along_the_first_axis(keys, score / 1e6 * keys.shape[-1] ** 0.5)
    output = _output(
        attend,
        queries,
        seen.masked_fill(padding, 0.0),
        torch.ones_like(values).masked_fill(padding, 0.0),
    )
    empty = (valid_lens == 0).reshape(-1, *[1] * (output.dim() - 1))
    moved = _moved(torch.ones_like(output).masked_fill(empty, 0.0), output, None)
    if moved:
        where, _ = moved
        share = 1 - output[where].item()
        raise AssertionError(
            f"a score beats the mask: with scores of {score:.0e} for all that may be seen, query "
            f"{where[-2]} of sequence {where[0]} gives padding the weight {share:.3g}; a mask "
            "is -inf, no large number"
        )


def assert_reads_values(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Change the values alone and see that the output of each query moves.

    An attention that takes its values from the keys passes every test in which the two are
    the same.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.

    Raises
    ------
    AssertionError
        If no output moves.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_reads_values(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    before = _output(attend, queries, keys, values)
    after = _output(attend, queries, keys, _replaced(values, _everywhere(values), None))
    if not _moved(before, after, None):
        raise AssertionError(
            "the values are not read: with other values every output is the same; are they "
            "taken from the keys?"
        )


def assert_scaled(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    scale: float | None = None,
    tolerance: float = 1e-3,
) -> None:
    """Read the factor on the dot product off the output and see that it is the right one.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)`` without projections and without a mask.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``, at least two
        keys; their shapes are used, not their numbers.
    scale : float, optional
        The factor that is right; ``None`` means ``1 / sqrt(d_k)``.
    tolerance : float
        Largest relative difference of the factor.

    Raises
    ------
    AssertionError
        If the factor is another.
    TypeError, ValueError
        If there are fewer than two keys, or ``scale`` is no finite number other than 0.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_scaled(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    d_k, len_k = queries.shape[-1], keys.shape[-2]
    if len_k < 2:
        raise ValueError(f"keys: expected at least two keys, got {shape_of(keys)}")
    right = resolve_scale(scale, d_k)
    if right == 0:
        raise ValueError(f"scale: expected another number than 0, got {scale!r}")
    first = _from(len_k, 1, keys.device).logical_not()  # the key that is not 0, with value 1
    output = _output(
        attend,
        _along_the_first_axis(queries, 1 / right),  # its scaled score is 1
        _along_the_first_axis(keys, 1.0) * first,
        torch.ones_like(values) * first,
    )
    share = output[..., 0].double().mean()  # of the head that has the first coordinate
    found = right * torch.log(share * (len_k - 1) / (1 - share)).item()
    _require_tolerance(tolerance)
    if not abs(found - right) <= tolerance * abs(right):
        guesses = {"no scaling": 1.0, "division by d_k, not by its root": 1 / d_k}
        near = [name for name, guess in guesses.items() if abs(found / guess - 1) < 0.05]
        because = f" ({near[0]})" if near and d_k > 1 else ""
        raise AssertionError(
            f"scores are scaled by {found:.4g}{because}, expected {right:.4g} for d_k = {d_k}"
        )


def assert_reads_queries(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Change the queries alone and see that the output moves.

    Softmax cancels whatever all keys share. A score in which query and key do not meet, as an
    additive score without its tanh, then gives the same weights to every query.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``, at least two
        keys, which differ.

    Raises
    ------
    AssertionError
        If no output moves.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_reads_queries(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    before = _output(attend, queries, keys, values)
    after = _output(attend, _replaced(queries, _everywhere(queries), None), keys, values)
    if not _moved(before, after, None):
        raise AssertionError(
            "the queries are not read: with other queries every output is the same; does a "
            "query meet each key, or is it only added to all scores alike?"
        )


def assert_weights_explain_output(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """Multiply the weights that come back with the values and see that this is the output.

    Weights of several heads, ``(batch, num_heads, len_q, len_k)``, meet their share of the
    values' width, the first head the first columns. The mean over heads explains nothing.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)`` without projections of values and output; returns
        ``(output, weights)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If weights times values is not the output.
    TypeError
        If ``attend`` returns no weights.
    ValueError
        If their shape fits neither one head nor several.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_weights_explain_output(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    output, weights = _pair(attend, queries, keys, values)
    heads = weights.shape[-3] if weights.dim() == values.dim() + 1 else 1
    if values.shape[-1] % heads or weights.dim() not in (values.dim(), values.dim() + 1):
        raise ValueError(
            f"attend: expected weights (..., len_q, len_k), with heads or without, for values "
            f"{shape_of(values)}, got {shape_of(weights)}"
        )
    if weights.dim() == values.dim():
        explained = weights @ values
    else:
        parts = values.unflatten(-1, (heads, -1)).transpose(-3, -2)  # type: ignore[no-untyped-call]
        explained = (weights @ parts).transpose(-3, -2).flatten(-2)
    moved = _moved(explained, output, tolerance)
    if moved:
        raise AssertionError(
            f"the weights are not those that were used: at {moved[0]} the output differs from "
            f"weights times values, it {moved[1]}; are they averaged over heads, or dropped?"
        )


def assert_looks_around(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Give unrelated tokens and see that they do not all look at themselves.

    Where queries and keys are the tokens themselves, the product of a token with itself grows
    as the width, and that with another as its root: each token then reads itself alone.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, its projections inside; returns ``(output, weights)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len, d_model)``; their shapes are used, not their numbers: all three become
        the same random tokens.

    Raises
    ------
    AssertionError
        If a token gives more than half its weight to itself, on average.
    TypeError
        If ``attend`` returns no weights.
    ValueError
        If the three have different shapes.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 5, 64)
    >>> assert_looks_around(scaled_dot_product_attention, x, x, x)
    Traceback (most recent call last):
        ...
    AssertionError: tokens look at themselves: 5 unrelated tokens of width 64 give themselves \
0.987 of their weight; are queries and keys projected?
    """
    _require_inputs(attend, queries, keys, values)
    if not queries.shape == keys.shape == values.shape:
        raise ValueError(
            f"queries, keys, values: expected one shape, got {shape_of(queries)}, "
            f"{shape_of(keys)} and {shape_of(values)}"
        )
    tokens = _normal(keys)
    weights = _pair(attend, tokens, tokens, tokens)[1]
    own = weights.double().diagonal(dim1=-2, dim2=-1).mean().item()
    if own > 0.5:
        raise AssertionError(
            f"tokens look at themselves: {keys.shape[-2]} unrelated tokens of width "
            f"{keys.shape[-1]} give themselves {own:.3f} of their weight; are queries and keys "
            "projected?"
        )


def assert_padding_removable(
    attend: Callable[..., Any],
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    real: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """Take the padding away and see that the outputs of the real tokens stay.

    The padding may stand on either side. On the left it moves every token on by some places, so
    positions have to be counted in tokens.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values, real)``.
    queries, keys, values : torch.Tensor
        Shapes ``(batch, ..., len, d_k)``, as many queries as keys.
    real : torch.Tensor
        Boolean of shape ``(batch, len)``, True = no padding.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If an output of a real token moves.
    TypeError, ValueError
        If ``real`` is not boolean, or its shape does not fit.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> def attend(queries, keys, values, real):
    ...     return scaled_dot_product_attention(queries, keys, values, mask=real[:, None])
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_padding_removable(attend, x, x, x, torch.tensor([[False, True, True]]))
    """
    _require_inputs(attend, queries, keys, values)
    require_mask("real", real)
    fits = queries.dim() > 2 and queries.shape[-2] == keys.shape[-2]
    if not fits or real.shape != (len(keys), keys.shape[-2]):
        raise ValueError(
            f"real: expected one boolean a token, (batch, len), for queries {shape_of(queries)} "
            f"and keys {shape_of(keys)}, got {shape_of(real)}"
        )
    padded = _output(attend, queries, keys, values, real)
    for sample, row in enumerate(real):
        short = [x[sample : sample + 1][..., row, :] for x in (queries, keys, values)]
        alone = _output(attend, *short, row[row].unsqueeze(0))
        moved = _moved(padded[sample : sample + 1][..., row, :], alone, tolerance)
        if moved:
            where, how = moved
            raise AssertionError(
                f"padding counts: without its {int((~row).sum())} places of padding, the output of "
                f"token {where[-2]} of sequence {sample} {how}; are positions counted in tokens?"
            )


def assert_survives_empty_rows(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor
) -> None:
    """See that a query with nothing to attend to gives no NaN, neither forward nor backward.

    The loss leaves the empty sequences out: a NaN there reaches the gradients all the same.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, its lengths bound.
    queries, keys, values : torch.Tensor
        Shapes ``(batch, ..., len_q, d_k)``, ``(batch, ..., len_k, d_k)``,
        ``(batch, ..., len_k, d_v)``.
    valid_lens : torch.Tensor
        Integers of shape ``(batch,)``, a 0 among them.

    Raises
    ------
    AssertionError
        If an output or a gradient is NaN or infinite.
    ValueError
        If no length is 0.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> valid_lens = torch.tensor([0, 2])
    >>> def attend(queries, keys, values):
    ...     return scaled_dot_product_attention(queries, keys, values, valid_lens)
    >>> x = torch.ones(2, 3, 4)
    >>> assert_survives_empty_rows(attend, x, x, x, valid_lens)
    """
    _padding(attend, queries, keys, values, valid_lens)
    empty = valid_lens == 0
    if not empty.any():
        raise ValueError(f"valid_lens: expected a 0 among the lengths, got {valid_lens.tolist()}")
    leaves, output = _with_gradients(attend, queries, keys, values)
    gradients = torch.autograd.grad(
        output[~empty].double().square().sum(), leaves, allow_unused=True
    )
    names = ("the output", *(f"the gradient of {name}" for name in ("queries", "keys", "values")))
    for name, x in zip(names, (output, *gradients), strict=True):
        if x is not None and not x.isfinite().all():
            sequence = int((~x.isfinite()).flatten(1).any(dim=1).int().argmax())
            raise AssertionError(
                f"an empty row spoils the batch: with nothing to attend to in sequence "
                f"{int(empty.int().argmax())}, {name} is NaN or infinite in sequence {sequence}"
            )


def assert_differentiable(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """See that recording gradients changes no output, and that they reach what is read.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``; a module in the mode in which it is to be tested.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If the call fails with gradients recorded, its output differs, an input moves the output
        and gets no gradient, or a gradient is NaN or infinite.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_differentiable(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    inputs = {"queries": queries, "keys": keys, "values": values}
    without = _output(attend, *(x.clone() for x in inputs.values()))
    try:
        leaves, output = _with_gradients(attend, *inputs.values())
    except RuntimeError as error:
        said = str(error).partition("\n")[0]
        raise AssertionError(f"with gradients recorded the call fails: {said}") from error
    moved = _moved(without, output.detach(), tolerance)
    if moved:
        where, how = moved
        raise AssertionError(
            f"the output depends on whether gradients are recorded: with them, at {where} it {how}"
        )
    gradients: list[Tensor | None] = [None] * 3
    if output.requires_grad:
        loss = output.double().square().sum()
        gradients = list(torch.autograd.grad(loss, leaves, allow_unused=True))
    for (name, x), gradient in zip(inputs.items(), gradients, strict=True):
        if gradient is not None and not gradient.isfinite().all():
            raise AssertionError(f"the gradient of {name} is NaN or infinite")
        if gradient is None:
            others = inputs | {name: _replaced(x, _everywhere(x), None)}
            if _moved(without, _output(attend, *others.values()), tolerance):
                raise AssertionError(f"{name} move the output and get no gradient; is it detached?")


def assert_owns_parameters(
    attend: nn.Module, queries: Tensor, keys: Tensor, values: Tensor
) -> None:
    """See that all that is learned belongs to the module before its first call.

    Layers that are made in ``forward`` work, and are never trained nor saved; layers that are
    made at the first call come too late for an optimiser and for a seed.

    Parameters
    ----------
    attend : torch.nn.Module
        ``attend(queries, keys, values)``, fresh: not called before.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.

    Raises
    ------
    AssertionError
        If a parameter has no shape yet, or the output depends on one that the module did not have.
    TypeError
        If ``attend`` is no module.

    Examples
    --------
    >>> from attention_lib.multihead import MultiHeadAttention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_owns_parameters(MultiHeadAttention(4, 2), x, x, x)
    """
    if not isinstance(attend, nn.Module):
        raise TypeError(f"attend: expected a torch.nn.Module, got {attend!r}")
    _require_inputs(attend, queries, keys, values)
    named = dict(attend.named_parameters())
    late = [name for name, x in named.items() if nn.parameter.is_lazy(x)]
    if late:
        raise AssertionError(f"{', '.join(late)}: no shape before the first call; give sizes")
    leaves, output = _with_gradients(attend, queries, keys, values)
    known = {id(x) for x in (*leaves, *named.values())}
    strangers = [x for x in _leaves_of(output) if id(x) not in known]
    if strangers:
        shapes = ", ".join(sorted(shape_of(x) for x in strangers))
        raise AssertionError(
            f"learned but not owned: {len(strangers)} tensors of shape {shapes} were no parameters "
            "before the call; no optimiser trains them"
        )


def assert_forgets(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """See that nothing of a call's graph is alive once its output is gone.

    Weights that are stored on the module keep it all: the memory of the last call of every layer.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.

    Raises
    ------
    AssertionError
        If tensors of the graph are kept.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_forgets(scaled_dot_product_attention, x, x, x)
    """
    _require_inputs(attend, queries, keys, values)
    kept: list[weakref.ref[_Kept]] = []

    def keep(tensor: Tensor) -> _Kept:
        box = _Kept(tensor)
        kept.append(weakref.ref(box))
        return box

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda box: box.tensor):
        _with_gradients(attend, queries, keys, values)
    if any(box() for box in kept):
        gc.collect()  # takes its time: only where something may be a circle that nobody holds
    alive = sum(box() is not None for box in kept)
    if alive:
        raise AssertionError(
            f"the call is not forgotten: {alive} tensors of its graph are alive when its output is "
            "gone; are weights stored on the module?"
        )


def assert_device_independent(
    attend: Callable[..., Any], queries: Tensor, keys: Tensor, values: Tensor, *for_each: Tensor
) -> None:
    """Call with tensors on another device, and see that all is made where they are.

    No GPU is needed: PyTorch's device ``meta`` has shapes, dtypes and errors, and no numbers. An
    attention that looks at numbers, by ``.item()`` or through NumPy, fails there, too; on a GPU
    it would have to wait for them.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values, *for_each)``; of a module a copy is moved.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    *for_each : torch.Tensor
        What else goes to the device: lengths, or a mask.

    Raises
    ------
    AssertionError
        If the call fails there, or its output is elsewhere.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x, valid_lens = torch.ones(2, 3, 4), torch.tensor([1, 3])
    >>> assert_device_independent(scaled_dot_product_attention, x, x, x, valid_lens)
    """
    _require_inputs(attend, queries, keys, values)
    moved = copy.deepcopy(attend).to("meta") if isinstance(attend, nn.Module) else attend
    try:
        output = _output(moved, *(x.to("meta") for x in (queries, keys, values, *for_each)))
    except (RuntimeError, TypeError, ValueError) as error:
        said = str(error).partition("\n")[0]
        raise AssertionError(f"tied to a device: elsewhere the call fails: {said}") from error
    if output.device.type != "meta":
        raise AssertionError(
            f"tied to a device: with inputs elsewhere the output is on {output.device}"
        )


def assert_window(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, *, window: int
) -> None:
    """Count the keys that the last query reads and see that they are the last ``window``.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, its window bound.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``, more keys than
        the window holds.
    window : int
        How many keys a query may read, its own included.

    Raises
    ------
    AssertionError
        If the last query reads a key beyond, or does not read one of them.
    ValueError
        If there are not more keys than the window holds.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> from attention_lib.masking import window_mask
    >>> def attend(queries, keys, values):
    ...     mask = window_mask(queries.shape[-2], keys.shape[-2], window=2)
    ...     return scaled_dot_product_attention(queries, keys, values, mask=mask)
    >>> x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_window(attend, x, x, x, window=2)
    >>> assert_window(attend, x, x, x, window=3)
    Traceback (most recent call last):
        ...
    AssertionError: a window of 3 holds 3 keys: the last query does not read the key 2 places back
    """
    _require_inputs(attend, queries, keys, values)
    require_count("window", window)
    len_k = keys.shape[-2]
    if len_k <= window:
        raise ValueError(f"keys: expected more than {window} keys (window), got {shape_of(keys)}")
    before = _output(attend, queries, keys, values)[..., -1:, :]
    for back in range(len_k):
        where = (torch.arange(len_k, device=keys.device) == len_k - 1 - back).unsqueeze(-1)
        others = [keys if back < window else _replaced(keys, where, None)]
        others.append(_replaced(values, where, None))
        read = _moved(before, _output(attend, queries, *others)[..., -1:, :], None)
        if bool(read) != (back < window):
            raise AssertionError(
                f"a window of {window} holds {window} keys: the last query "
                f"{'reads' if read else 'does not read'} the key {back} places back"
            )


def assert_rotary_layout(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, *, layout: str = "pairs"
) -> None:
    """See that coordinates turn together only where the layout says so.

    A query along the first coordinate meets keys along another one. If the two are no pair, every
    score is 0 at every position. An attention that turns nothing passes.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)`` without projections; its score a dot product of vectors
        that are turned by their positions.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``, with
        ``d_k`` even and at least 4; the numbers of queries and keys are not used.
    layout : str
        As in :func:`~attention_lib.positions.rotate_by_position`: that of the weights.

    Raises
    ------
    AssertionError
        If coordinates of different pairs meet.
    ValueError
        If the width or the layout is none.

    Examples
    --------
    >>> from attention_lib.positions import rotary_scores
    >>> def attend(queries, keys, values):
    ...     return rotary_scores(queries, keys, layout="halves").softmax(dim=-1) @ values
    >>> x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_rotary_layout(attend, x, x, x, layout="halves")
    >>> assert_rotary_layout(attend, x, x, x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    AssertionError: not the layout 'pairs': coordinates 0 and 2 turn together, and the output ...
    """
    _require_inputs(attend, queries, keys, values)
    d_k = queries.shape[-1]
    if d_k % 2 or d_k < 4:
        raise ValueError(f"queries: expected an even width of at least 4, got {shape_of(queries)}")
    if layout not in ("pairs", "halves"):
        raise ValueError(f"layout: expected 'pairs' or 'halves', got {layout!r}")
    partner = 1 if layout == "pairs" else d_k // 2
    queries = _along_the_first_axis(queries, 10.0)
    nothing = torch.zeros_like(keys)
    even = _output(attend, queries, nothing, values)
    for other in range(1, d_k):
        if other == partner:
            continue
        along = nothing.clone()
        along[..., other] = 10.0
        moved = _moved(even, _output(attend, queries, along, values), None)
        if moved:
            raise AssertionError(
                f"not the layout {layout!r}: coordinates 0 and {other} turn together, and the "
                f"output at {moved[0]} {moved[1]}"
            )


def _along_the_first_axis(x: Tensor, size: float) -> Tensor:
    """Return vectors of this length along the first coordinate, as many as ``x`` has."""
    along = torch.zeros_like(x)
    along[..., 0] = size
    return along


def _padding(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor
) -> Tensor:
    """Return which keys are padding, ``(batch, ..., len_k)``, of lengths that fit."""
    _require_inputs(attend, queries, keys, values)
    valid = length_mask(valid_lens, keys.shape[-2])
    if valid_lens.dim() != 1 or valid_lens.shape[0] != keys.shape[0] or keys.dim() < 3:
        raise ValueError(
            f"valid_lens: expected one length a sequence, ({keys.shape[0]},), for keys "
            f"{shape_of(keys)}, got {shape_of(valid_lens)}"
        )
    return ~valid.reshape(len(valid), *[1] * (keys.dim() - 3), -1)  # (batch, 1 …, len_k)


def _require_inputs(attend: object, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    if not callable(attend):
        raise TypeError(f"attend: expected a callable (queries, keys, values), got {attend!r}")
    for name, x in (("queries", queries), ("keys", keys), ("values", values)):
        require_float(name, x, min_rank=2, axes="(..., len, width)")


def _require_poison(poison: object) -> None:
    if poison is not None and (isinstance(poison, bool) or not isinstance(poison, int | float)):
        raise TypeError(f'poison: expected a number as float("nan"), or None, got {poison!r}')


def _require_tolerance(tolerance: object) -> None:
    """Refuse what is no number of at least 0."""
    require_finite("tolerance", tolerance)
    if float(cast(float, tolerance)) < 0:
        raise ValueError(f"tolerance: expected at least 0, got {tolerance!r}")


class _Kept:
    """A tensor that a graph keeps for its backward pass, as something to look for."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()  # with its graph it would be a circle that never goes


def _with_gradients(attend: Callable[..., Any], *tensors: Tensor) -> tuple[list[Tensor], Tensor]:
    """Call with copies that require gradients; return them and the output."""
    leaves = [x.detach().clone().requires_grad_() for x in tensors]
    with torch.enable_grad():
        return leaves, _first(attend(*leaves), tensors[0])


def _leaves_of(output: Tensor) -> list[Tensor]:
    """Return the leaves of an output's graph: what its gradients would be added to."""
    found: list[Tensor] = []
    todo, seen = [output.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        todo += [before for before, _ in node.next_functions]
    return found


def _pair(attend: Callable[..., Any], *tensors: Tensor) -> tuple[Tensor, Tensor]:
    """Call, and return output and weights, which there have to be."""
    result = _call(attend, *tensors)
    weights = result[1] if isinstance(result, tuple) and len(result) > 1 else None
    if not isinstance(weights, torch.Tensor):
        raise TypeError("attend: expected (output, weights), got no weights")
    return _first(result, tensors[0]), weights


def _call(attend: Callable[..., Any], *tensors: Tensor) -> Any:
    with torch.no_grad():
        return attend(*tensors)


def _output(attend: Callable[..., Any], *tensors: Tensor) -> Tensor:
    return _first(_call(attend, *tensors), tensors[0]).clone()


def _first(result: Any, queries: Tensor) -> Tensor:
    """Return the output, alone or the first of several, of the shape that it has to have."""
    output = result[0] if isinstance(result, tuple) else result
    if not isinstance(output, torch.Tensor) or output.dim() < 2:
        got = shape_of(output) if isinstance(output, torch.Tensor) else type(output).__name__
        raise TypeError(
            f"attend: expected an output (..., len_q, d_v), or (output, weights), got {got}"
        )
    if output.shape[-2] != queries.shape[-2]:
        raise ValueError(
            f"attend: expected one output a query, {queries.shape[-2]} on axis -2, "
            f"got {shape_of(output)}"
        )
    return output


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _normal(x: Tensor) -> Tensor:
    """Return normal numbers like ``x``, the same ones on every device."""
    return torch.randn(x.shape, generator=_generator(), device="cpu").to(x)


def _everywhere(x: Tensor) -> Tensor:
    """Return True for every position."""
    return torch.ones((), dtype=torch.bool, device=x.device)


def _from(length: int, start: int, device: torch.device) -> Tensor:
    """Return True at the positions from ``start`` on, shape ``(length, 1)``."""
    return (torch.arange(length, device=device) >= start).unsqueeze(-1)


def _replaced(x: Tensor, where: Tensor, poison: float | None) -> Tensor:
    """Return a copy with other numbers at the positions where ``where`` is True."""
    if poison is not None:
        return x.masked_fill(where, poison)
    # At least 1 away from what stood there: no replacement can happen to be the same.
    return torch.where(where, x + 1 + _normal(x).abs() * 3, x)


def _moved(
    before: Tensor, after: Tensor, tolerance: float | None
) -> tuple[tuple[int, ...], str] | None:
    """Return where the largest movement beyond the tolerance is, and its size in words."""
    if tolerance is not None:
        _require_tolerance(tolerance)
    try:
        torch.testing.assert_close(after, before, equal_nan=True, rtol=tolerance, atol=tolerance)
    except AssertionError:
        change = (after.double() - before.double()).abs()
        change = change.masked_fill(after.isnan() & before.isnan(), 0.0)
        change = change.nan_to_num(nan=float("inf"))
        place = torch.unravel_index(change.argmax(), change.shape)
        size = change.max().item()
        how = "became NaN or infinite" if size == float("inf") else f"moved by {size:.3g}"
        return tuple(int(i) for i in place), how
    return None
