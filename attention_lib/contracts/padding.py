"""Contracts about padding: what stands there reaches nothing, and an empty row harms nobody."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib._arguments import require_mask, shape_of
from attention_lib.contracts._calls import (
    Attend,
    along_the_first_axis,
    movement,
    must_move,
    output_for,
    replaced,
    require_inputs,
    require_poison,
    with_gradients,
)
from attention_lib.contracts._report import NotTested
from attention_lib.masking import length_mask


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
    require_poison(poison)
    before = output_for(attend, queries, keys, values)
    others = [replaced(x, padding.unsqueeze(-1), poison) for x in (keys, values)]
    moved = movement(before, output_for(attend, queries, *others), tolerance)
    if moved:
        where, how = moved
        length = valid_lens[where[0]].item()
        raise AssertionError(
            f"padding leaks: with the keys and values from position {length} on replaced in "
            f"sequence {where[0]}, the output of query {where[-2]} at {where} {how}"
        )
    if not padding.any():
        raise NotTested(f"no key is padding, with lengths {valid_lens.tolist()}")
    others = [replaced(x, ~padding.unsqueeze(-1), None) for x in (keys, values)]
    must_move(
        before,
        output_for(attend, queries, *others),
        "no output moves when keys and values that may be read change",
        tolerance,
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
    require_inputs(attend, queries, keys, values)
    require_mask("real", real)
    fits = queries.dim() > 2 and queries.shape[-2] == keys.shape[-2]
    if not fits or real.shape != (len(keys), keys.shape[-2]):
        raise ValueError(
            f"real: expected one boolean a token, (batch, len), for queries {shape_of(queries)} "
            f"and keys {shape_of(keys)}, got {shape_of(real)}"
        )
    padded = output_for(attend, queries, keys, values, real)
    for sample, row in enumerate(real):
        short = [x[sample : sample + 1][..., row, :] for x in (queries, keys, values)]
        without = output_for(attend, *short, row[row].unsqueeze(0))
        moved = movement(padded[sample : sample + 1][..., row, :], without, tolerance)
        if moved:
            where, how = moved
            raise AssertionError(
                f"padding counts: without its {int((~row).sum())} places of padding, the output of "
                f"token {where[-2]} of sequence {sample} {how}; are positions counted in tokens?"
            )
    if real.all():
        raise NotTested("there is no padding to take away")
    first = real.cumsum(-1).eq(1) & real
    where_real = first.reshape(len(first), *[1] * (keys.dim() - 3), -1, 1)
    changed = [replaced(x, where_real, None) for x in (queries, keys, values)]
    # The outputs of the other real tokens: one that changed itself moves in any case.
    other = (real & ~first).reshape(len(first), *[1] * (keys.dim() - 3), -1, 1)
    moved_by = output_for(attend, *changed, real)
    must_move(
        torch.where(other, padded, 0.0),
        torch.where(other, moved_by, 0.0),
        "no output moves when another token changes",
        tolerance,
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
    queries = along_the_first_axis(queries, 1e6)
    seen = along_the_first_axis(keys, score / 1e6 * keys.shape[-1] ** 0.5)
    ones = torch.ones_like(values).masked_fill(padding, 0.0)
    empty = (valid_lens == 0).reshape(-1, *[1] * (keys.dim() - 1))
    plain = output_for(attend, queries * 0, keys * 0, ones)
    if movement(torch.ones_like(plain).masked_fill(empty, 0.0), plain, None):
        everywhere = ones.mean(dim=-2, keepdim=True).expand_as(plain)
        if movement(everywhere, plain, None):
            raise NotTested(
                "without scores the output is not the mean of the values that may be read: "
                "they are projected, or another mask is at work"
            )
        raise AssertionError("a score beats the mask: even without scores padding has its share")
    # The control: a key with this score has no weight, where another key has a score of 0.
    half, marks = seen.clone(), ones.clone()
    half[..., 1::2, :] = marks[..., 1::2, :] = 0.0
    must_move(
        output_for(attend, queries * 0, keys * 0, marks),
        output_for(attend, queries, half, marks),
        "no weight moves with the scores",
    )
    output = output_for(attend, queries, seen.masked_fill(padding, 0.0), ones)
    moved = movement(torch.ones_like(output).masked_fill(empty, 0.0), output, None)
    if moved:
        where, _ = moved
        share = 1 - output[where].item()
        raise AssertionError(
            f"a score beats the mask: with scores of {score:.0e} for all that may be seen, query "
            f"{where[-2]} of sequence {where[0]} gives padding the weight {share:.3g}; a mask "
            "is -inf, no large number"
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
    leaves, output = with_gradients(attend, queries, keys, values)
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


def _padding(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor
) -> Tensor:
    """Return which keys are padding, ``(batch, ..., len_k)``, of lengths that fit."""
    require_inputs(attend, queries, keys, values)
    valid = length_mask(valid_lens, keys.shape[-2])
    if valid_lens.dim() != 1 or valid_lens.shape[0] != keys.shape[0] or keys.dim() < 3:
        raise ValueError(
            f"valid_lens: expected one length a sequence, ({keys.shape[0]},), for keys "
            f"{shape_of(keys)}, got {shape_of(valid_lens)}"
        )
    return ~valid.reshape(len(valid), *[1] * (keys.dim() - 3), -1)  # (batch, 1 …, len_k)
