"""Contracts about weights: what is read, how sharply, and whether the weights say so."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_contracts._arguments import require_finite, shape_of
from attention_contracts._attention import Subject, contract, itself, with_and_without_padding
from attention_contracts._call import ALL, Call, asserting, mode, normal_like
from attention_contracts._report import NotTested, broken, untested


@asserting
@contract("reads values", needs=["three"])
def assert_reads_values(call: Call) -> None:
    """Change the values alone and see that the output moves.

    An attention that takes its values from the keys passes every test in which the two are
    the same.
    """
    if not call.moved(call.changed(values=ALL)):
        raise broken("the values are not read")


@asserting
@contract("reads queries", needs=["three"])
def assert_reads_queries(call: Call) -> None:
    """Change the queries alone and see that the output moves.

    Softmax cancels whatever all keys share. A score in which query and key do not meet, as an
    additive score without its tanh, then gives the same weights to every query. There are at
    least two keys, and they differ.
    """
    if not call.moved(call.changed(ALL)):
        raise broken("the queries are not read")


@asserting
def assert_scaled(call: Call, *, scale: float | None = None, tolerance: float = 1e-3) -> None:
    """Read the factor on the dot product off the output and see that it is the right one.

    ``attend`` has no projections, and its last query sees every key, two at least. The shapes of
    the inputs are used, not their numbers.

    Parameters
    ----------
    scale : float, optional
        The factor that is right, not 0; ``None`` means ``1 / sqrt(d_k)``.
    tolerance : float
        Largest relative difference of the factor.
    """
    queries, keys, _ = call.inputs
    if keys.shape[-2] < 2:
        raise ValueError(f"keys: expected at least two keys, got {shape_of(keys)}")
    d_k = queries.shape[-1]
    if scale is not None:
        require_finite("scale", scale, what="a number or None")
    right = d_k**-0.5 if scale is None else float(scale)
    if right == 0:
        raise ValueError(f"scale: expected another number than 0, got {scale!r}")
    found, width = _measured_scale(call)
    if not abs(found - right) <= tolerance * abs(right):
        raise broken("wrong scale", found=_scaled_by(found, width, d_k), right=right, d_k=d_k)


@contract("scale", needs=["no window"], test=itself, plain=True)
def _has_the_right_scale(subject: Subject) -> None:
    call = subject.call()
    found, width = _measured_scale(call)
    stored = (getattr(subject.attend, name, None) for name in ("scaling", "scale", "softmax_scale"))
    right = subject.scale or next((x for x in stored if isinstance(x, float)), None)
    wanted = width**-0.5 if right is None else right
    if abs(found - wanted) <= 1e-2 * abs(wanted):
        return
    said = _scaled_by(found, width, call.inputs[0].shape[-1])
    if right is None and "(" not in said:
        raise NotTested(f"{said}: scale={found:.4g} if that is right")
    raise broken("wrong scale of a head", found=said, right=wanted, width=width)


def _measured_scale(call: Call) -> tuple[float, int]:
    """Read the factor on the dot product off the output, and the width of a head.

    The last query meets one key along its own direction, which only the first coordinate has, and
    zeros elsewhere.
    """
    queries, keys, values = call.inputs
    (len_q, len_k), d_k = call.lengths, queries.shape[-1]
    own = int(call.single)  # then the key's value, a small one, stands beside the first coordinate
    size = 1e-2 if call.single else 1.0
    keys_alike = 2 if call.single and len_q > 1 else 1  # the last token is such a key as well
    found = []
    for square in (d_k**0.5, d_k**0.5 / 2):  # of the length of the vectors
        first, last, marks = (torch.zeros_like(x) for x in (keys, queries, values))
        last[..., -1, 0] = first[..., 0, 0] = square**0.5
        marks[..., 0, :] = 1.0
        if call.single:
            last[..., 0, 0] = square**0.5
            last[..., 0, 1:] = size
        output = call.output(last, first, marks)
        share = (output[..., -1, own:].double() / size).flatten(0, -2)  # (rows, d_v)
        # Other heads do not see the first coordinate, so that all keys share their weight.
        head = (share - 1 / len_k).abs() > 1e-3
        same = torch.where(head, (share - share[:, :1]).abs(), 0.0).amax().item()
        mean = share[:, 0].mean().item()
        rest = 1 - keys_alike * mean
        if not (head == head[:1]).all() or same > 1e-3 or not mean > 0 or rest <= 0:
            raise NotTested("the output is no mixture of the values: they are projected, or masked")
        found.append(math.log(mean * (len_k - keys_alike) / rest) / square)
        width = int(head[0].sum()) + own
    if abs(found[0] - found[1]) > 1e-2 * abs(found[0]) or not width:
        raise NotTested("the score is no dot product: it does not grow as the product of lengths")
    return found[0], round(width * d_k / (share.shape[-1] + own))


def _scaled_by(found: float, width: int, d_k: int) -> str:
    """Return in words what the factor is, and what mistake makes it so, if one does."""
    guesses = {"no scaling": 1.0, "division by d_k, not by its root": 1 / width}
    if width != d_k:
        guesses["the root of the whole width, not of a head's"] = d_k**-0.5
    names = [name for name, guess in guesses.items() if abs(found / guess - 1) < 0.02]
    because = f" ({', or '.join(names)})" if names and d_k > 1 else ""
    return f"scores are scaled by {found:.4g}{because}"


def _in_training(core: Callable[[Call], None], subject: Subject) -> None:
    """Test a module in training mode."""
    with mode(subject.attend, training=True):
        core(subject.call())


@asserting
@contract("rows sum to 1, training", needs=["module", "weights"], test=_in_training, strict=True)
@contract("rows sum to 1", needs=["weights"], test=with_and_without_padding)
def assert_rows_sum_to_one(call: Call, *, tolerance: float | None = None) -> None:
    """See that weights are shares: none negative, each row summing to 1, or all 0 if masked."""
    weights = call.output_and_weights()[1]
    lowest = weights.amin().item()
    if not lowest >= 0:  # NaN is not
        because = "is a row masked as a whole?" if math.isnan(lowest) else "weights are shares"
        raise broken("no share", weight=lowest, because=because)
    sums = weights.double().sum(dim=-1, keepdim=True)  # (..., len_q, 1)
    wanted = (sums != 0).to(weights.dtype)
    if moved := call.moved(sums.to(weights.dtype), before=wanted):
        where = moved[0][:-1]
        raise broken("wrong sum", where=where, sum=sums[where].item())


@asserting
@contract("weights explain output", needs=["three", "weights"], plain=True)
def assert_weights_explain_output(call: Call, *, tolerance: float | None = None) -> None:
    """Multiply the weights that come back with the values and see that this is the output.

    Weights of several heads, ``(batch, num_heads, len_q, len_k)``, meet their share of the
    values' width, the first head the first columns. The mean over heads explains nothing.
    ``attend`` has no projections of values and output.
    """
    queries, keys, values = call.inputs
    output, weights = call.output_and_weights()
    heads = weights.shape[-3] if weights.dim() == values.dim() + 1 else 1
    if values.shape[-1] % heads or weights.dim() not in (values.dim(), values.dim() + 1):
        raise ValueError(
            f"attend: expected weights (..., len_q, len_k), with heads or without, for values "
            f"{shape_of(values)}, got {shape_of(weights)}"
        )
    # Without scores every head has the same weights: projections of values still show.
    nothing, even = call.output_and_weights(queries * 0, keys * 0, values)
    if call.moved(nothing, before=_explained(even, values)):
        raise untested("projected values")
    call.stays(output, "the weights are others", before=_explained(weights, values))


def _explained(weights: Tensor, values: Tensor) -> Tensor:
    """Return weights times values, each head's share of the values' width."""
    if weights.dim() == values.dim():
        return weights @ values
    parts: Tensor = values.unflatten(-1, (weights.shape[-3], -1)).transpose(-3, -2)  # type: ignore[no-untyped-call]
    return (weights @ parts).transpose(-3, -2).flatten(-2)


@asserting
def assert_looks_around(call: Call) -> None:
    """Give unrelated tokens and see that they do not all look at themselves.

    Where queries and keys are the tokens themselves, the product of a token with itself grows
    as the width, and that with another as its root: each token then reads itself alone. The three
    inputs have one shape, which is used, and not their numbers; projections are in ``attend``.

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
    queries, keys, values = call.inputs
    if not queries.shape == keys.shape == values.shape:
        raise ValueError(
            f"queries, keys, values: expected one shape, got {shape_of(queries)}, "
            f"{shape_of(keys)} and {shape_of(values)}"
        )
    tokens = normal_like(keys)
    weights = call.output_and_weights(tokens, tokens, tokens)[1]
    if (own := weights.double().diagonal(dim1=-2, dim2=-1).mean().item()) > 0.5:
        count, width = keys.shape[-2:]
        raise broken("tokens look at themselves", count=count, width=width, own=own)
