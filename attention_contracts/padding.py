"""Contracts about padding: what stands there reaches nothing, and an empty row harms nobody."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from attention_contracts._arguments import require_mask, shape_of
from attention_contracts._attention import Subject, contract, itself
from attention_contracts._call import FIRST, NAMES, Call, along, asserting, output_for, replaced
from attention_contracts._masks import within_length
from attention_contracts._report import NotTested, broken, untested


def _padded(
    core: Callable[..., None], subject: Subject, *, empty: bool = False, **options: float
) -> None:
    """Test an attention with its padding mask, perhaps with nothing to attend to in one row."""
    lens = subject.lens
    lens[1] *= not empty
    core(subject.call(lens), lens, **options)


@asserting
@contract(
    "padding, NaN", needs=["padding"], test=partial(_padded, poison=float("nan")), strict=True
)
@contract("padding, values", needs=["padding"], test=_padded)
def assert_padding_invariant(
    call: Call, valid_lens: Tensor, *, poison: float | None = None, tolerance: float | None = None
) -> None:
    """Change what stands in the padding and see that no output moves."""
    padding = _padding(call, valid_lens)  # (batch, ..., len_k, 1)
    after = call.changed(keys=padding, values=padding, poison=poison)
    if call.single:  # its padded queries have changed, too
        after = torch.where(padding, call.before, after)
    if moved := call.moved(after):
        where, how = moved
        inputs = "tokens" if call.single else "keys and values"
        place = {"where": where, "sequence": where[0], "query": where[-2]}
        length = valid_lens[where[0]].item()
        raise broken("padding leaks", inputs=inputs, length=length, **place, how=how)
    if not padding.any():
        raise NotTested(f"no key is padding, with lengths {valid_lens.tolist()}")
    after, rest = call.changed(keys=FIRST, values=FIRST), slice(int(call.single), None)
    call.moves(after, "no output moves when keys and values that may be read change", rest)


def _without_padding(core: Callable[..., None], subject: Subject) -> None:
    """Test each sample by itself: whether samples are mixed is for another contract to say."""
    real = within_length(subject.lens, subject.inputs[1].shape[-2])
    for sample in (~real).any(dim=-1).nonzero().flatten().tolist():
        call = subject.call()
        call.inputs = tuple(x[sample : sample + 1] for x in call.inputs)
        core(call, real[sample : sample + 1])


@asserting
@contract("padding removed", needs=["padding"], test=_without_padding)
def assert_padding_removable(call: Call, real: Tensor, *, tolerance: float | None = None) -> None:
    """Take the padding away and see that the outputs of the real tokens stay.

    The padding may stand on either side. On the left it moves every token on by some places, so
    positions have to be counted in tokens. There are as many queries as keys, and ``attend`` is
    called as ``attend(queries, keys, values, real)``.

    Parameters
    ----------
    real : torch.Tensor
        Boolean of shape ``(batch, len)``, True = no padding.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> def attend(queries, keys, values, real):
    ...     return scaled_dot_product_attention(queries, keys, values, mask=real[:, None])
    >>> x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_padding_removable(attend, x, x, x, torch.tensor([[False, True, True]]))
    """
    queries, keys, _ = call.inputs
    len_q, len_k = call.lengths
    require_mask("real", real)
    if queries.dim() < 3 or len_q != len_k or real.shape != (len(keys), len_k):
        raise ValueError(
            f"real: expected one boolean a token, (batch, len), for queries {shape_of(queries)} "
            f"and keys {shape_of(keys)}, got {shape_of(real)}"
        )
    call.each = (real,)
    for sample, row in enumerate(real):
        one = slice(sample, sample + 1)
        before = call.before[one][..., row, :]
        short = [x[one][..., row, :] for x in call.inputs]
        alone = output_for(call.attend, *short, row[row].unsqueeze(0))
        gone = int((~row).sum())
        call.stays(alone, "padding counts", before=before, gone=gone, sequence=sample)
    if real.all():
        raise NotTested("there is no padding to take away")
    first = _by_key(real.cumsum(-1).eq(1) & real, keys)
    # The outputs of the other real tokens: one that changed itself moves in any case.
    other = _by_key(real, keys) & ~first
    after = call.output(*(replaced(x, first) for x in call.inputs))
    after = torch.where(other, after, call.before)
    call.moves(after, "no output moves when another token changes")


@contract("empty rows", needs=["padding", "three"], test=partial(_padded, empty=True), strict=True)
def _answers_empty_rows(call: Call, valid_lens: Tensor) -> None:
    queries, keys, values = call.inputs
    assert_padding_invariant(call.attend, queries, keys, values, valid_lens)
    assert_survives_empty_rows(call.attend, queries, keys, values, valid_lens)


@asserting
def assert_survives_empty_rows(call: Call, valid_lens: Tensor) -> None:
    """See that a query with nothing to attend to gives no NaN, neither forward nor backward.

    The loss leaves the empty sequences out: a NaN there reaches the gradients all the same. One of
    ``valid_lens`` is 0.
    """
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
            known = {"empty": int(empty.int().argmax()), "name": name, "sequence": sequence}
            raise broken("an empty row spoils the batch", **known)


def _scores_alone(core: Callable[..., None], subject: Subject) -> None:
    """Test an attention without another mask than that for padding, if it can be had."""
    _padded(core, replace(subject, causal=False) if subject.adapted.maskable else subject)


@asserting
@contract("mask beats any score", needs=["padding", "three"], test=_scores_alone, plain=True)
def assert_mask_beats_any_score(call: Call, valid_lens: Tensor) -> None:
    """Score every key that may be seen far below -1e9, and see that padding gets no weight.

    Where a mask is a large negative number, as -1e9, a lower score loses against it. ``attend``
    has no projections; the inputs are float32 or float64, and their numbers are not used.
    """
    padding = _padding(call, valid_lens)
    queries, keys, values = call.inputs
    if queries.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"queries: expected float32 or float64, got dtype {queries.dtype}")
    score = -1e12
    ones = torch.ones_like(values).masked_fill(padding, 0.0)
    plain = call.output(queries * 0, keys * 0, ones)
    # Padding gets no weight if the mean of these values is 1, or 0 where nothing may be seen.
    empty = (valid_lens == 0).reshape(-1, *[1] * (keys.dim() - 1))
    wanted = torch.ones_like(plain).masked_fill(empty, 0.0)
    if call.moved(plain, before=wanted):
        if call.moved(plain, before=ones.mean(dim=-2, keepdim=True).expand_as(plain)):
            raise untested("no mean of values")
        raise broken("a score of 0 beats the mask")
    queries = along(queries, 0, 1e6)
    seen = along(keys, 0, score / 1e6 * keys.shape[-1] ** 0.5)
    # The control: a key with this score has no weight, where another key has a score of 0.
    half, marks = seen.clone(), ones.clone()
    half[..., 1::2, :] = marks[..., 1::2, :] = 0.0
    even = call.output(queries * 0, keys * 0, marks)
    uneven = call.output(queries, half, marks)
    call.moves(uneven, "no weight moves with the scores", before=even)
    output = call.output(queries, seen.masked_fill(padding, 0.0), ones)
    if moved := call.moved(output, before=wanted):
        where = moved[0]
        known = {"score": score, "query": where[-2], "sequence": where[0]}
        raise broken("a score beats the mask", **known, weight=1 - output[where].item())


@contract("packed documents", test=itself)
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
        blocks = blocks.tril() if subject.causal else blocks
        attend = partial(subject.adapted.call, allowed=blocks, real=None)
    else:
        raise NotTested("no way to pass documents: documents=lambda ids: {…} gives one")
    packed = output_for(attend, *inputs)
    second = slice(length // 2, None)
    alone = call.output(*(x[..., second, :] for x in call.inputs))
    call.moves(call.before[..., second, :], "without a mask nothing meets", before=alone)
    call.stays(packed[..., second, :], "documents meet", before=alone)


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
