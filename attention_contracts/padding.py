"""Contracts about padding: what stands there reaches nothing, and an empty row harms nobody."""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from attention_contracts._arguments import require_mask, shape_of
from attention_contracts._call import (
    FIRST,
    NAMES,
    Attend,
    Call,
    along,
    output_for,
    replaced,
    require_poison,
)
from attention_contracts._masks import within_length
from attention_contracts._report import NotTested
from attention_contracts._subject import Subject


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

    Examples
    --------
    >>> lens = torch.tensor([1, 3])
    >>> def attend(queries, keys, values):
    ...     real = torch.arange(3) < lens[:, None, None]
    ...     return torch.nn.functional.scaled_dot_product_attention(queries, keys, values, real)
    >>> x = torch.ones(2, 3, 4)
    >>> assert_padding_invariant(attend, x, x, x, lens)
    """
    require_poison(poison)
    call = Call(attend, (queries, keys, values), tolerance)
    _hides_padding(call, valid_lens, poison)


def _hides_padding(call: Call, valid_lens: Tensor, poison: float | None = None) -> None:
    padding = _padding(call, valid_lens)  # (batch, ..., len_k, 1)
    output = call.changed(keys=padding, values=padding, poison=poison)
    if call.single:  # its padded queries have changed, too
        output = torch.where(padding, call.original, output)
    if moved := call.moved(output):
        inputs = "tokens" if call.single else "keys and values"
        sequence = moved.where[0]
        raise AssertionError(
            f"padding leaks: with the {inputs} from position {valid_lens[sequence].item()} on "
            f"replaced in sequence {sequence}, {moved}"
        )
    if not padding.any():
        raise NotTested(f"no key is padding, with lengths {valid_lens.tolist()}")
    output, others = call.changed(keys=FIRST, values=FIRST), slice(int(call.single), None)
    call.moves(output, "no output moves when keys and values that may be read change", others)


def _padding_values(subject: Subject, poison: float | None = None) -> None:
    subject.needs_padding()
    _hides_padding(subject.call(subject.lens), subject.lens, poison)


def _reads_its_mask(subject: Subject) -> None:
    """Give the mask of padding and see that it does something, and leaves real keys alone."""
    subject.needs_padding()
    lens = subject.lens
    without, masked = subject.call().original, subject.call(lens).original
    call = subject.call()
    nothing_hidden = subject.call(torch.full_like(lens, call.lengths[1])).original
    if moved := call.moved(nothing_hidden, original=without):
        raise AssertionError(
            f"a mask that hides nothing changes the output: with it, {moved}; is it inverted?"
        )
    if not call.moved(masked, original=without):
        raise AssertionError("the mask of padding is not read: with it every output is the same")
    unpadded = int(lens.argmax())  # the sequence without padding
    moved = call.moved(masked[unpadded], original=without[unpadded])
    if moved and int(lens[unpadded]) == call.lengths[1]:
        raise AssertionError(
            f"the sequence without padding moves when its mask is given: {moved.how}; is the mask "
            "inverted, or another sequence's?"
        )


def _removable(subject: Subject) -> None:
    """Test each sample by itself: whether samples are mixed is for another contract to say."""
    subject.needs_padding()
    real = within_length(subject.lens, subject.inputs[1].shape[-2])
    alone = subject.call()
    for sample in (~real).any(dim=-1).nonzero().flatten().tolist():
        call = subject.call()
        call.inputs = tuple(x[sample : sample + 1] for x in call.inputs)
        _gives_what_it_gives_alone(call, real[sample : sample + 1], alone)


def assert_padding_removable(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    real: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """Take the padding away and see that the outputs of the real tokens stay.

    The padding may stand on either side. On the left it moves every token on by some places, so
    positions have to be counted in tokens. There are as many queries as keys.

    Parameters
    ----------
    real : torch.Tensor
        Boolean of shape ``(batch, len)``, True = no padding.

    Examples
    --------
    >>> def attend(queries, keys, values, real):
    ...     mask = real[:, None]
    ...     return torch.nn.functional.scaled_dot_product_attention(queries, keys, values, mask)
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_padding_removable(attend, x, x, x, torch.tensor([[False, True, True]]))
    """
    call = Call(attend, (queries, keys, values), tolerance)
    len_q, len_k = call.lengths
    require_mask("real", real)
    if queries.dim() < 3 or len_q != len_k or real.shape != (len(keys), len_k):
        raise ValueError(
            f"real: expected one boolean a token, (batch, len), for queries {shape_of(queries)} "
            f"and keys {shape_of(keys)}, got {shape_of(real)}"
        )
    _gives_what_it_gives_alone(call, real, None)


def _gives_what_it_gives_alone(call: Call, real: Tensor, alone: Call | None) -> None:
    """Compare padded samples with the same without padding, called as ``alone`` without a mask."""
    call.each = (real,)
    for sample, row in enumerate(real):
        row_slice = slice(sample, sample + 1)
        expected = call.original[row_slice][..., row, :]
        short = [x[row_slice][..., row, :] for x in call.inputs]
        masks = [] if alone else [row[row].unsqueeze(0)]
        output = output_for(alone.attend if alone else call.attend, *short, *masks)
        if moved := call.moved(output, original=expected):
            raise AssertionError(
                f"padding counts: without its {int((~row).sum())} places of padding, the output "
                f"of token {moved.query} of sequence {sample} {moved.how}; are positions counted "
                "in tokens?"
            )
    if real.all():
        raise NotTested("there is no padding to take away")
    first_token = _by_key(real.cumsum(-1).eq(1) & real, call.inputs[1])
    # The outputs of the other real tokens: one that changed itself moves in any case.
    other_tokens = _by_key(real, call.inputs[1]) & ~first_token
    output = call.output(*(replaced(x, first_token) for x in call.inputs))
    output = torch.where(other_tokens, output, call.original)
    call.moves(output, "no output moves when another token changes")


def assert_survives_empty_rows(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor
) -> None:
    """See that a query with nothing to attend to gives no NaN, neither forward nor backward.

    The loss leaves the empty sequences out: a NaN there reaches the gradients all the same.

    Examples
    --------
    >>> lens = torch.tensor([0, 3])
    >>> def attend(queries, keys, values):
    ...     real = torch.arange(3) < lens[:, None, None]
    ...     scores = (queries @ keys.mT / 2).masked_fill(~real, -1e9)
    ...     return scores.softmax(dim=-1).masked_fill(~real, 0.0) @ values
    >>> x = torch.ones(2, 3, 4)
    >>> assert_survives_empty_rows(attend, x, x, x, lens)
    """
    _survives_empty_rows(Call(attend, (queries, keys, values)), valid_lens)


def _survives_empty_rows(call: Call, valid_lens: Tensor) -> None:
    _padding(call, valid_lens)
    empty = valid_lens == 0
    if not empty.any():
        raise ValueError(f"valid_lens: expected a 0 among the lengths, got {valid_lens.tolist()}")
    leaves, output = call.with_gradients()
    loss = output[~empty].double().square().sum()
    gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
    names = ("the output", *(f"the gradient of {name}" for name in NAMES))
    for name, x in zip(names, (output, *gradients), strict=True):
        if x is not None and not x.isfinite().all():
            sequence = int((~x.isfinite()).flatten(1).any(dim=1).int().argmax())
            raise AssertionError(
                f"an empty row spoils the batch: with nothing to attend to in sequence "
                f"{int(empty.int().argmax())}, {name} is NaN or infinite in sequence {sequence}"
            )


def _answers_empty_rows(subject: Subject) -> None:
    subject.needs_padding()
    lens = subject.lens
    lens[1] = 0
    call = subject.call(lens)
    _hides_padding(call, lens)
    _survives_empty_rows(call, lens)


def assert_mask_beats_any_score(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor
) -> None:
    """Score every key that may be seen far below -1e9, and see that padding gets no weight.

    Where a mask is a large negative number, as -1e9, a lower score loses against it.

    Examples
    --------
    >>> lens = torch.tensor([1, 3])
    >>> def attend(queries, keys, values):
    ...     real = torch.arange(3) < lens[:, None, None]
    ...     return torch.nn.functional.scaled_dot_product_attention(queries, keys, values, real)
    >>> x = torch.ones(2, 3, 4)
    >>> assert_mask_beats_any_score(attend, x, x, x, lens)
    """
    _mask_beats_any_score(Call(attend, (queries, keys, values)), valid_lens)


LOW = -1e12  # a score


def _mask_beats_any_score(call: Call, valid_lens: Tensor) -> None:
    padding = _padding(call, valid_lens)
    queries, keys, values = call.inputs
    if queries.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"queries: expected float32 or float64, got dtype {queries.dtype}")
    ones = torch.ones_like(values).masked_fill(padding, 0.0)
    equally_read = call.output(queries * 0, keys * 0, ones)
    # Padding gets no weight if the mean of these values is 1, or 0 where nothing may be seen.
    empty = (valid_lens == 0).reshape(-1, *[1] * (keys.dim() - 1))
    expected = torch.ones_like(equally_read).masked_fill(empty, 0.0)
    if call.moved(equally_read, original=expected):
        mean_of_all = torch.ones_like(equally_read) * ones.mean(dim=-2, keepdim=True)[..., :1]
        if call.moved(equally_read, original=mean_of_all):
            raise NotTested(
                "without scores the output is not the mean of the values that may be read: they "
                "are projected, or another mask or a sink is at work"
            )
        raise AssertionError("a score beats the mask: even without scores padding has its share")
    queries, low_keys = _lowest_scores(call, padding)
    output = call.output(queries, low_keys.masked_fill(padding, 0.0), ones)
    if moved := call.moved(output, original=expected):
        raise AssertionError(
            f"a score beats the mask: with scores of {LOW:.0e} for all that may be seen, query "
            f"{moved.query} of sequence {moved.where[0]} gives padding the weight "
            f"{1 - output[moved.where].item():.3g}; a mask is -inf, no large number"
        )


def _lowest_scores(call: Call, padding: Tensor) -> tuple[Tensor, Tensor]:
    """Return queries and keys that score low everywhere, along a coordinate where they really do.

    Positions may turn them. The control: one key of 0 among them, the first, takes all weight.
    """
    queries, keys, values = call.inputs
    width = keys.shape[-1]
    marks = torch.zeros_like(values)
    marks[..., FIRST, :] = 1.0
    even = call.output(queries * 0, keys * 0, marks)
    for coordinate in (0, -1):  # the last is turned most slowly
        high = along(queries, coordinate, 1e6)
        low = along(keys, coordinate, LOW / 1e6 * width**0.5)
        spared = low.clone()
        spared[..., FIRST, :] = 0.0
        weights = call.output(high, spared.masked_fill(padding, 0.0), marks)
        reading = weights[..., 1:, :] > 0.999
        alone = even[..., 1:, :] > 0.999  # the first key is all that may be seen
        moves = (weights - even)[..., 1:, :].abs() > 1e-3
        if moves.any() and (reading | alone | ~moves).all() and (reading & ~alone).any():
            return high, low
    raise NotTested("no weight moves with the scores")


def _beats_any_score(subject: Subject) -> None:
    """Test without another mask than that for padding, if it can be had."""
    subject.needs_padding()
    if subject.adapted.maskable:
        subject = replace(subject, causal=False, window=None)
    _mask_beats_any_score(subject.bare(subject.lens), subject.lens)


def _parts_documents(subject: Subject) -> None:
    """Two documents in one row give what the second gives alone."""
    call = subject.call()
    length = call.lengths[0]
    ids = (torch.arange(length, device=call.inputs[0].device) >= length // 2).long()
    ids = ids.expand(len(subject.lengths), -1)
    inputs = call.inputs
    if subject.documents is not None:
        attend = partial(subject.attend, **subject.documents(ids))
        inputs = inputs[: 1 if call.single else 3]
    elif subject.adapted.maskable:
        blocks = ids[:, :, None] == ids[:, None, :]
        order = subject.allowed(length, length, ids.device)
        blocks = blocks if order is None else blocks & order
        attend = partial(subject.adapted.call, allowed=blocks, real=None)
    else:
        raise NotTested("no way to pass documents: documents=lambda ids: {…} gives one")
    packed = output_for(attend, *inputs)
    second_document = slice(length // 2, None)
    alone = call.output(*(x[..., second_document, :] for x in call.inputs))
    if moved := call.moved(packed[..., second_document, :], original=alone):
        raise AssertionError(
            "documents meet: with another document before it in the row, the output of token "
            f"{moved.query} of a document {moved.how}"
        )
    call.moves(
        call.original[..., second_document, :], "without a mask nothing meets", original=alone
    )


def _by_key(mask: Tensor, keys: Tensor) -> Tensor:
    """Return booleans of each key, ``(batch, len_k)``, as ``(batch, 1 …, len_k, 1)``."""
    return mask.reshape(len(mask), *[1] * (keys.dim() - 3), -1, 1)


def _padding(call: Call, valid_lens: Tensor) -> Tensor:
    """Return which keys are padding, ``(batch, ..., len_k, 1)``, of lengths that fit."""
    keys = call.inputs[1]
    valid = within_length(valid_lens, keys.shape[-2])
    if valid_lens.dim() != 1 or valid_lens.shape[0] != keys.shape[0] or keys.dim() < 3:
        raise ValueError(
            f"valid_lens: expected one length a sequence, ({keys.shape[0]},), for keys "
            f"{shape_of(keys)}, got {shape_of(valid_lens)}"
        )
    return ~_by_key(valid, keys)


CONTRACTS = {
    "padding, values": _padding_values,
    "padding, NaN": partial(_padding_values, poison=float("nan")),
    "mask is read": _reads_its_mask,
    "padding removed": _removable,
    "empty rows": _answers_empty_rows,
    "mask beats any score": _beats_any_score,
    "packed documents": _parts_documents,
}
