"""Contracts about weights: what is read, how sharply, and whether the weights say so."""

import math

import torch
from torch import Tensor

from attention_lib._arguments import shape_of
from attention_lib.contracts._calls import (
    Attend,
    everywhere,
    movement,
    normal_like,
    output_and_weights,
    output_for,
    replaced,
    require_inputs,
    require_tolerance,
)
from attention_lib.contracts._report import NotTested
from attention_lib.scoring import resolve_scale


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
    require_inputs(attend, queries, keys, values)
    before = output_for(attend, queries, keys, values)
    after = output_for(attend, queries, keys, replaced(values, everywhere(values), None))
    if not movement(before, after, None):
        raise AssertionError(
            "the values are not read: with other values every output is the same; are they "
            "taken from the keys?"
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
    require_inputs(attend, queries, keys, values)
    before = output_for(attend, queries, keys, values)
    after = output_for(attend, replaced(queries, everywhere(queries), None), keys, values)
    if not movement(before, after, None):
        raise AssertionError(
            "the queries are not read: with other queries every output is the same; does a "
            "query meet each key, or is it only added to all scores alike?"
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
        ``attend(queries, keys, values)`` without projections; its last query sees every key.
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
    require_inputs(attend, queries, keys, values)
    d_k, len_k = queries.shape[-1], keys.shape[-2]
    if len_k < 2:
        raise ValueError(f"keys: expected at least two keys, got {shape_of(keys)}")
    right = resolve_scale(scale, d_k)
    if right == 0:
        raise ValueError(f"scale: expected another number than 0, got {scale!r}")
    require_tolerance(tolerance)
    found, width = measured_scale(attend, queries, keys, values)
    if not abs(found - right) <= tolerance * abs(right):
        guess = scale_guess(found, width, d_k)
        because = f" ({guess})" if guess and d_k > 1 else ""
        raise AssertionError(
            f"scores are scaled by {found:.4g}{because}, expected {right:.4g} for d_k = {d_k}"
        )


def measured_scale(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, *, single: bool = False
) -> tuple[float, int]:
    """Read the factor on the dot product off the output, and the width of a head.

    The last query meets one key along its own direction, which only the first coordinate has, and
    zeros elsewhere. With ``single``, ``attend`` reads its queries alone, as keys and values, too.
    """
    len_q, len_k, d_k = queries.shape[-2], keys.shape[-2], queries.shape[-1]
    found = []
    for square in (d_k**0.5, d_k**0.5 / 2):  # of the length of the vectors
        first, last = torch.zeros_like(keys), torch.zeros_like(queries)
        last[..., -1, 0] = first[..., 0, 0] = square**0.5
        size = 1.0
        if single:  # the key's own value stands in the other coordinates, and is small
            size = 1e-2
            last[..., 0, 0] = square**0.5
            last[..., 0, 1:] = size
        marks = (torch.arange(len_k, device=values.device) == 0).to(values.dtype).unsqueeze(-1)
        output = output_for(attend, last, first, torch.ones_like(values) * marks)
        share = (output[..., -1, :].double() / size).flatten(0, -2)  # (rows, d_v)
        if single:
            share = share[:, 1:]
        # Other heads do not see the first coordinate, so that all keys share their weight.
        head = (share - 1 / len_k).abs() > 1e-3
        weight = share[:, :1]
        same = torch.where(head, (share - weight).abs(), 0.0).amax().item()
        twice = 2 if single and len_q > 1 else 1  # the last token is such a key as well
        rest = 1 - twice * weight.mean().item()
        if not (head == head[:1]).all() or same > 1e-3 or not weight.mean().item() > 0 or rest <= 0:
            raise NotTested("the output is no mixture of the values: they are projected, or masked")
        odds = weight.mean().item() * (len_k - twice) / rest
        found.append(math.log(odds) / square)
        width = int(head[0].sum()) + int(single)
    if abs(found[0] - found[1]) > 1e-2 * abs(found[0]) or not width:
        raise NotTested("the score is no dot product: it does not grow as the product of lengths")
    return found[0], round(width * d_k / (share.shape[-1] + int(single)))


def scale_guess(found: float, width: int, d_k: int) -> str:
    """Return what a wrong factor probably is, in words, or nothing."""
    guesses = {"no scaling": 1.0, "division by d_k, not by its root": 1 / width}
    if width != d_k:
        guesses["the root of the whole width, not of a head's"] = d_k**-0.5
    return ", or ".join(name for name, guess in guesses.items() if abs(found / guess - 1) < 0.02)


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
    require_inputs(attend, queries, keys, values)
    weights = output_and_weights(attend, queries, keys, values)[1]
    lowest = weights.amin().item()
    if not lowest >= 0:  # NaN is not
        raise AssertionError(f"a weight is {lowest:.3g}; weights are shares, from 0 to 1")
    sums = weights.double().sum(dim=-1, keepdim=True)  # (..., len_q, 1)
    moved = movement((sums != 0).double().to(weights.dtype), sums.to(weights.dtype), tolerance)
    if moved:
        where = moved[0][:-1]
        raise AssertionError(
            f"the weights of row {where} sum to {sums[where].item():.6g}, neither 1 nor 0"
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
    require_inputs(attend, queries, keys, values)
    output, weights = output_and_weights(attend, queries, keys, values)
    heads = weights.shape[-3] if weights.dim() == values.dim() + 1 else 1
    if values.shape[-1] % heads or weights.dim() not in (values.dim(), values.dim() + 1):
        raise ValueError(
            f"attend: expected weights (..., len_q, len_k), with heads or without, for values "
            f"{shape_of(values)}, got {shape_of(weights)}"
        )
    # Without scores every head has the same weights: projections of values still show.
    nothing = output_and_weights(attend, queries * 0, keys * 0, values)
    if movement(_explained(nothing[1], values), nothing[0], tolerance):
        raise NotTested(
            "weights times values is not the output even without any scores: values are projected"
        )
    moved = movement(_explained(weights, values), output, tolerance)
    if moved:
        raise AssertionError(
            f"the weights are not those that were used: at {moved[0]} the output differs from "
            f"weights times values, it {moved[1]}; are they averaged over heads, or dropped?"
        )


def _explained(weights: Tensor, values: Tensor) -> Tensor:
    """Return weights times values, each head's share of the values' width."""
    if weights.dim() == values.dim():
        return weights @ values
    parts: Tensor = values.unflatten(-1, (weights.shape[-3], -1)).transpose(-3, -2)  # type: ignore[no-untyped-call]
    return (weights @ parts).transpose(-3, -2).flatten(-2)


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
    require_inputs(attend, queries, keys, values)
    if not queries.shape == keys.shape == values.shape:
        raise ValueError(
            f"queries, keys, values: expected one shape, got {shape_of(queries)}, "
            f"{shape_of(keys)} and {shape_of(values)}"
        )
    tokens = normal_like(keys)
    weights = output_and_weights(attend, tokens, tokens, tokens)[1]
    own = weights.double().diagonal(dim1=-2, dim2=-1).mean().item()
    if own > 0.5:
        raise AssertionError(
            f"tokens look at themselves: {keys.shape[-2]} unrelated tokens of width "
            f"{keys.shape[-1]} give themselves {own:.3f} of their weight; are queries and keys "
            "projected?"
        )
