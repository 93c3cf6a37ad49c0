"""Contracts about weights: what is read, how sharply, and whether the weights say so."""

import math

import torch
from torch import Tensor

from attention_contracts._arguments import require_finite, shape_of
from attention_contracts._call import ALL, Attend, Call, mode, normal_like
from attention_contracts._report import NotTested
from attention_contracts._subject import Subject
from attention_contracts.positions import scores_along


def assert_reads_values(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Change the values alone and see that the output moves.

    An attention that takes its values from the keys passes every test in which the two are
    the same.

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_reads_values(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    _reads_values(Call(attend, (queries, keys, values)))


def _reads_values(call: Call) -> None:
    if not call.moved(call.changed(values=ALL)):
        raise AssertionError(
            "the values are not read: with other values every output is the same; are they taken "
            "from the keys?"
        )


def assert_reads_queries(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Change the queries alone and see that the output moves.

    Softmax cancels whatever all keys share. A score in which query and key do not meet, as an
    additive score without its tanh, then gives the same weights to every query.

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_reads_queries(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    _reads_queries(Call(attend, (queries, keys, values)))


def _reads_queries(call: Call) -> None:
    if not call.moved(call.changed(ALL)):
        raise AssertionError(
            "the queries are not read: with other queries every output is the same; does a query "
            "meet each key, or is it only added to all scores alike?"
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
    scale : float, optional
        The factor that is right, not 0; ``None`` means ``1 / sqrt(d_k)``.

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_scaled(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    call = Call(attend, (queries, keys, values))
    if keys.shape[-2] < 2:
        raise ValueError(f"keys: expected at least two keys, got {shape_of(keys)}")
    d_k = queries.shape[-1]
    if scale is not None:
        require_finite("scale", scale, what="a number or None")
    right = d_k**-0.5 if scale is None else float(scale)
    if right == 0:
        raise ValueError(f"scale: expected another number than 0, got {scale!r}")
    factor, width = measured_scale(call)
    if not abs(factor - right) <= tolerance * abs(right):
        words = _scaled_by(factor, width, d_k)
        raise AssertionError(f"{words}, expected {right:.4g} for d_k = {d_k}")


def _has_the_right_scale(subject: Subject) -> str:
    call = subject.bare()
    factor, width = measured_scale(call, subject.places()[-1])
    names = ("scaling", "scale", "softmax_scale", "scale_factor")
    stored = [getattr(subject.attend, name, None) for name in names]
    stored = [1 / x if isinstance(x, float) and x > 1 else x for x in stored]  # a divisor
    right = subject.scale or next((x for x in stored if isinstance(x, float)), None)
    expected = width**-0.5 if right is None else right
    expected *= subject.adapted.lengthened**2
    if abs(factor - expected) <= 1e-2 * abs(expected):
        return f"the factor on the dot product is {factor:.4g}, for heads of width {width}"
    words = _scaled_by(factor, width, call.inputs[0].shape[-1])
    from_transformers = type(subject.attend).__module__.startswith("transformers.")
    if right is None and ("(" not in words or from_transformers):
        raise NotTested(f"{words}: scale={factor:.4g} if that is right")
    raise AssertionError(f"{words}, expected {expected:.4g} for heads of width {width}")


def measured_scale(call: Call, place: int | None = None) -> tuple[float, int]:
    """Return the factor on the dot product, and the width of a head.

    One query meets its own key, of several lengths; the score is read off the weight that it gains.
    """
    queries, keys, _ = call.inputs
    if call.moved(call.output(*call.inputs)):
        raise NotTested("the output differs from call to call, as under dropout")
    place = min(call.lengths) - 1 if place is None else place
    factors = []
    for size in (1.0, 2**-0.5):  # along the first coordinate, which one head has
        scores = scores_along(call, place, size * keys.shape[-1] ** 0.25)
        of_head = scores.abs() > 1e-3 * scores.abs().amax()
        if not (of_head == of_head[:1]).all() or not scores.abs().amax() > 1e-6:
            raise NotTested("the score is no dot product: it does not follow the first coordinate")
        factors.append(scores[of_head].mean().item() / (size**2 * keys.shape[-1] ** 0.5))
        if (scores[of_head] / scores[of_head][0] - 1).abs().max() > 1e-2:
            raise NotTested("the output is no mixture of the values: they are projected, or masked")
        width = int(of_head[0].sum())
    if abs(factors[0] - factors[1]) > 1e-2 * abs(factors[0]):
        raise NotTested("the score is no dot product: it does not grow as the product of lengths")
    return factors[0], round(width * queries.shape[-1] / scores.shape[-1])


def _scaled_by(factor: float, width: int, d_k: int) -> str:
    """Return in words what the factor is, and what mistake makes it so, if one does."""
    guesses = {
        "no scaling": 1.0,
        "division by d_k, not by its root": 1 / width,
        "twice the scale": 2 * width**-0.5,
        "half the scale": 0.5 * width**-0.5,
    }
    if abs(factor * width**0.5 - 0.5) < 0.01:
        guesses[f"the root of {4 * width} in place of {width}"] = factor
    if width != d_k:
        guesses["the root of the whole width, not of a head's"] = d_k**-0.5
    names = [name for name, guess in guesses.items() if abs(factor / guess - 1) < 0.02]
    because = f" ({', or '.join(names)})" if names and d_k > 1 else ""
    return f"scores are scaled by {factor:.4g}{because}"


def _groups_heads_in_order(subject: Subject) -> str:
    """Find out which head of keys, and which of values, each head of queries reads."""
    call = subject.bare()
    queries, keys, values = (torch.zeros_like(x) for x in call.inputs)
    len_k = call.lengths[1]
    groups = queries.shape[-1] // keys.shape[-1]
    if groups < 2:
        raise NotTested("as many heads of keys as of queries")
    width = measured_scale(call)[1]
    heads = range(queries.shape[-1] // width)
    values[..., 0] = 1.0
    outputs = call.output(queries, keys, values)[:, -1:].flatten(0, -2)
    of_values = {head for head in heads if outputs[:, head * width].any()}
    keys[..., len_k - 1, 0] = 1.0
    marks = torch.ones_like(values)
    marks[..., : len_k - 1, :] = 0.0
    even = call.output(queries, keys, marks)[:, -1:]
    of_keys = set()
    for head in heads:
        queries = torch.zeros_like(queries)
        queries[..., head * width] = 1.0
        if call.moved(call.output(queries, keys, marks)[:, -1:], original=even):
            of_keys.add(head)
    if of_keys != of_values:
        raise AssertionError(
            f"heads {sorted(of_keys)} of the queries read the first head of the keys, and heads "
            f"{sorted(of_values)} that of the values"
        )
    if of_keys != {*range(groups)}:
        # An order of its own is consistent; weights from elsewhere would be read wrongly.
        raise AssertionError(
            f"heads {sorted(of_keys)} of the queries share the first head of keys and values; "
            f"published weights expect {[*range(groups)]}"
        )
    return f"{groups} heads of queries share each head of keys"


def assert_rows_sum_to_one(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """See that weights are shares: none negative, each row summing to 1, or all 0 if masked.

    Examples
    --------
    >>> def attend(queries, keys, values):
    ...     weights = (queries @ keys.mT).softmax(dim=-1)
    ...     return weights @ values, weights
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_rows_sum_to_one(attend, x, x, x)
    """
    _rows_sum_to_one(Call(attend, (queries, keys, values), tolerance))


def _rows_sum_to_one(call: Call) -> None:
    weights = call.output_and_weights()[1]
    lowest = weights.amin().item()
    if not lowest >= 0:  # NaN is not
        because = "is a row masked as a whole?" if math.isnan(lowest) else "weights are shares"
        raise AssertionError(f"a weight is {lowest:.3g}, not from 0 to 1; {because}")
    sums = weights.double().sum(dim=-1, keepdim=True)  # (..., len_q, 1)
    expected = (sums != 0).to(weights.dtype)
    if moved := call.moved(sums.to(weights.dtype), original=expected):
        where = moved.where[:-1]
        raise AssertionError(
            f"the weights of row {where} sum to {sums[moved.where].item():.6g}, neither 1 nor 0"
        )


def _sums_of_rows(subject: Subject) -> str | None:
    """Test it again with a padding mask, if it takes one: a mask may replace another."""
    subject.needs_weights()
    return _or_a_sink(subject, subject.calls())


def _or_a_sink(subject: Subject, calls: list[Call]) -> str | None:
    for call in calls:
        try:
            _rows_sum_to_one(call)
        except AssertionError:
            weights = call.output_and_weights()[1]
            if not (weights >= 0).all() or weights.sum(dim=-1).amax() > 1 + 1e-4:
                raise
            if not _has_a_sink(subject.bare()):
                raise
            return "the weights of each query were added; a sink takes a part of them"
    return None


def _has_a_sink(call: Call) -> bool:
    """Whether rows lack what one more key would take: a part that is as large for any number.

    Without scores, weights of n keys sum to n / (n + sink). If all scores rise, so does the sum.
    """
    queries, keys, values = call.inputs
    queries, keys, ones = queries * 0, keys * 0, torch.ones_like(values)

    def odds(length: int, size: float = 0.0) -> Tensor:
        """Return the sum of the last query's weights, against what is missing to 1."""
        inputs = (queries + size, keys + size, ones)
        sums = call.output(*(x[..., :length, :] for x in inputs))[..., -1, :].double()
        return sums / (1 - sums)

    length = min(call.lengths)
    one, two = odds(length), odds(length // 2)
    if not ((one > 0) & one.isfinite()).all():
        return False
    if (one / two - length / (length // 2)).abs().max() > 1e-2:
        return False
    raised = odds(length, 0.5) / one
    if (raised - 1).abs().max() < 1e-3:
        raise AssertionError(
            "rows sum to less than 1, as if one more key stood there, whose score follows the "
            "largest: with all scores raised its share stays; exp(score - largest) needs "
            "exp(-largest) beside it, not 1"
        )
    return bool((raised > 0).all() and (raised > 1.01).any())


def _keeps_constant_values(subject: Subject) -> str | None:
    """Give all keys the same value: a mixture of them is that value again, whatever the scores."""
    call = subject.bare()
    queries, keys, values = call.inputs
    ones = torch.ones_like(values)
    even, output = call.output(queries * 0, keys * 0, ones), call.output(queries, keys, ones)
    if not even.any():
        raise NotTested("no output moves with the values")
    moved = call.moved(output, original=even)
    if not moved:
        return None
    if _has_a_sink(call):
        return "all values were the same; a sink takes a part of them"
    queries, keys = torch.zeros_like(queries), torch.zeros_like(keys)
    queries[..., 0] = keys[..., 0] = 2.0  # raises the scores of one head
    one_head = (call.output(queries, keys, ones) - even)[..., -1, :].flatten(0, -2)
    if (one_head > 1e-3).any() and (one_head < -1e-3).any():
        raise AssertionError(
            f"equal values do not come back: {moved}, and what one head gains another loses; is "
            "the softmax over the heads?"
        )
    raise NotTested(f"equal values do not come back, so these are no shares: {moved}")


def _sums_in_training(subject: Subject) -> None:
    subject.needs_module()
    subject.needs_weights()
    with mode(subject.attend, training=True):
        _or_a_sink(subject, [subject.call()])


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

    Examples
    --------
    >>> def attend(queries, keys, values):
    ...     weights = (queries @ keys.mT).softmax(dim=-1)
    ...     return weights @ values, weights
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_weights_explain_output(attend, x, x, x)
    """
    _weights_explain_output(Call(attend, (queries, keys, values), tolerance))


def _weights_explain_output(call: Call) -> None:
    queries, keys, values = call.inputs
    output, weights = call.output_and_weights()
    heads = weights.shape[-3] if weights.dim() == values.dim() + 1 else 1
    shared = output.shape[-1] // values.shape[-1] if heads > 1 else 1  # heads of grouped queries
    if output.shape[-1] % heads or weights.dim() not in (values.dim(), values.dim() + 1):
        raise ValueError(
            f"attend: expected weights (..., len_q, len_k), with heads or without, for values "
            f"{shape_of(values)}, got {shape_of(weights)}"
        )
    # Without scores every head has the same weights: projections of values still show.
    nothing, even = call.output_and_weights(queries * 0, keys * 0, values)
    if call.moved(nothing, original=_explained(even, values, shared)):
        raise NotTested(
            "weights times values is not the output even without any scores: values are projected"
        )
    if moved := call.moved(output, original=_explained(weights, values, shared)):
        raise AssertionError(
            f"the weights are not those that were used: at {moved.where} the output differs from "
            f"weights times values, it {moved.how}; are they averaged over heads, or dropped?"
        )


def _explained(weights: Tensor, values: Tensor, shared: int) -> Tensor:
    """Return weights times values, each head's share of the values' width."""
    if weights.dim() == values.dim():
        return weights @ values
    by_head: Tensor = values.unflatten(-1, (weights.shape[-3] // shared, -1)).transpose(-3, -2)  # type: ignore[no-untyped-call]
    return (weights @ by_head.repeat_interleave(shared, dim=-3)).transpose(-3, -2).flatten(-2)


def _explains_output(subject: Subject) -> None:
    subject.needs_weights()
    _weights_explain_output(subject.bare())


def assert_looks_around(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Give unrelated tokens and see that they do not all look at themselves.

    Where queries and keys are the tokens themselves, the product of a token with itself grows
    as the width, and that with another as its root: each token then reads itself alone.

    Examples
    --------
    >>> def attend(queries, keys, values):
    ...     weights = (queries @ keys.mT / 8).softmax(dim=-1)
    ...     return weights @ values, weights
    >>> x = torch.ones(1, 5, 64)
    >>> assert_looks_around(attend, x, x, x)
    Traceback (most recent call last):
        ...
    AssertionError: tokens look at themselves: 5 unrelated tokens of width 64 give themselves \
0.987 of their weight; are queries and keys projected?
    """
    call = Call(attend, (queries, keys, values))
    if not queries.shape == keys.shape == values.shape:
        raise ValueError(
            f"queries, keys, values: expected one shape, got {shape_of(queries)}, "
            f"{shape_of(keys)} and {shape_of(values)}"
        )
    tokens = normal_like(keys)
    weights = call.output_and_weights(tokens, tokens, tokens)[1]
    if (own_weight := weights.double().diagonal(dim1=-2, dim2=-1).mean().item()) > 0.5:
        count, width = keys.shape[-2:]
        raise AssertionError(
            f"tokens look at themselves: {count} unrelated tokens of width {width} give themselves "
            f"{own_weight:.3f} of their weight; are queries and keys projected?"
        )


CONTRACTS = {
    "reads values": lambda subject: _reads_values(subject.apart()),
    "reads queries": lambda subject: _reads_queries(subject.apart()),
    "scale": _has_the_right_scale,
    "grouped heads": _groups_heads_in_order,
    "rows sum to 1": _sums_of_rows,
    "equal values": _keeps_constant_values,
    "rows sum to 1, training": _sums_in_training,
    "weights explain output": _explains_output,
}
