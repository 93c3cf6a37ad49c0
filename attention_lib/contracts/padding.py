"""Contracts about padding: what stands there reaches nothing, and an empty row harms nobody."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from attention_lib._arguments import require_mask, shape_of
from attention_lib.contracts._call import (
    ALL,
    FIRST,
    Call,
    along,
    movement,
    must_stay,
    output_for,
    replaced,
    require_poison,
)
from attention_lib.contracts._contract import asserting, contract, itself
from attention_lib.contracts._report import NotTested
from attention_lib.contracts._subject import Subject, needs_padding, needs_three
from attention_lib.masking import length_mask


def _padded(
    core: Callable[..., None], subject: Subject, *, empty: bool = False, **options: float
) -> None:
    """Test an attention with its padding mask, perhaps with nothing to attend to in one row."""
    lens = subject.lens
    lens[1] *= not empty
    core(subject.call(lens), lens, **options)


@asserting
@contract(
    "padding, NaN", needs=[needs_padding], test=partial(_padded, poison=float("nan")), strict=True
)
@contract("padding, values", needs=[needs_padding], test=_padded)
def assert_padding_invariant(
    call: Call,
    valid_lens: Tensor,
    *,
    poison: float | None = None,
    tolerance: float | None = None,
) -> None:
    """Change what stands in the padding and see that no output moves."""
    padding = _padding(call, valid_lens)  # (batch, ..., len_k, 1)
    require_poison(poison)
    after = call.changed(keys=padding, values=padding, poison=poison)
    before, what = call.before, "keys and values"
    if call.single:  # its padded queries have changed, too
        before, after = before.masked_fill(padding, 0.0), after.masked_fill(padding, 0.0)
        what = "tokens"
    moved = movement(before, after, call.tolerance)
    if moved:
        where, how = moved
        raise AssertionError(
            f"padding leaks: with the {what} from position {valid_lens[where[0]].item()} on "
            f"replaced in sequence {where[0]}, the output of query {where[-2]} at {where} {how}"
        )
    if not padding.any():
        raise NotTested(f"no key is padding, with lengths {valid_lens.tolist()}")
    rest = slice(1, None) if call.single else ALL
    after = call.changed(keys=FIRST, values=FIRST)
    call.moves(after, "no output moves when keys and values that may be read change", rest)


def _without_padding(core: Callable[..., None], subject: Subject) -> None:
    """Test each sample by itself: whether samples are mixed is for another contract to say."""
    real = length_mask(subject.lens, subject.inputs[1].shape[-2]).squeeze(1)
    for sample in (~real).any(dim=-1).nonzero().flatten().tolist():
        call = subject.call()
        call.inputs = tuple(x[sample : sample + 1] for x in call.inputs)
        core(call, real[sample : sample + 1])


@asserting
@contract("padding removed", needs=[needs_padding], test=_without_padding)
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
    together = output_for(call.attend, *call.inputs, real)
    for sample, row in enumerate(real):
        one = slice(sample, sample + 1)
        short = [x[one][..., row, :] for x in call.inputs]
        must_stay(
            together[one][..., row, :],
            output_for(call.attend, *short, row[row].unsqueeze(0)),
            "padding counts: without its {gone} places of padding, the output of token {query} of "
            "sequence {sample} {how}; are positions counted in tokens?",
            call.tolerance,
            gone=int((~row).sum()),
            sample=sample,
        )
    if real.all():
        raise NotTested("there is no padding to take away")
    first = _by_key(real.cumsum(-1).eq(1) & real, keys)
    # The outputs of the other real tokens: one that changed itself moves in any case.
    other = _by_key(real, keys) & ~first
    after = output_for(call.attend, *(replaced(x, first) for x in call.inputs), real)
    if not movement(together.where(other, 0.0), after.where(other, 0.0), call.tolerance):
        raise NotTested("no output moves when another token changes")


@contract(
    "empty rows", needs=[needs_padding, needs_three], test=partial(_padded, empty=True), strict=True
)
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
    names = ("the output", *(f"the gradient of {name}" for name in ("queries", "keys", "values")))
    for name, x in zip(names, (output, *gradients), strict=True):
        if x is not None and not x.isfinite().all():
            sequence = int((~x.isfinite()).flatten(1).any(dim=1).int().argmax())
            raise AssertionError(
                f"an empty row spoils the batch: with nothing to attend to in sequence "
                f"{int(empty.int().argmax())}, {name} is NaN or infinite in sequence {sequence}"
            )


def _scores_alone(core: Callable[..., None], subject: Subject) -> None:
    """Test an attention without its projections, and without another mask if it can be had."""
    plain = subject.plain()
    _padded(core, replace(plain, causal=False) if plain.adapted.maskable else plain)


@asserting
@contract("mask beats any score", needs=[needs_padding, needs_three], test=_scores_alone)
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
    if movement(wanted, plain):
        if movement(ones.mean(dim=-2, keepdim=True).expand_as(plain), plain):
            raise NotTested(
                "without scores the output is not the mean of the values that may be read: "
                "they are projected, or another mask is at work"
            )
        raise AssertionError("a score beats the mask: even without scores padding has its share")
    queries = along(queries, 0, 1e6)
    seen = along(keys, 0, score / 1e6 * keys.shape[-1] ** 0.5)
    # The control: a key with this score has no weight, where another key has a score of 0.
    half, marks = seen.clone(), ones.clone()
    half[..., 1::2, :] = marks[..., 1::2, :] = 0.0
    if not movement(call.output(queries * 0, keys * 0, marks), call.output(queries, half, marks)):
        raise NotTested("no weight moves with the scores")
    output = call.output(queries, seen.masked_fill(padding, 0.0), ones)
    moved = movement(wanted, output)
    if moved:
        where = moved[0]
        raise AssertionError(
            f"a score beats the mask: with scores of {score:.0e} for all that may be seen, query "
            f"{where[-2]} of sequence {where[0]} gives padding the weight "
            f"{1 - output[where].item():.3g}; a mask is -inf, no large number"
        )


@contract("packed documents", test=itself)
def _parts_documents(subject: Subject) -> None:
    """Two documents in one row give what the second gives alone."""
    call = subject.call()
    length = call.lengths[0]
    ids = (torch.arange(length, device=call.inputs[0].device) >= length // 2).long()
    ids = ids.expand(len(subject.lengths), -1)
    inputs = call.inputs[: 1 if subject.adapted.single else 3]
    if subject.documents is not None:
        packed = subject.attend(*inputs, **subject.documents(ids))
    elif subject.adapted.maskable:
        blocks = ids[:, :, None] == ids[:, None, :]
        blocks = blocks.tril() if subject.causal else blocks
        packed = subject.adapted.call(*subject.inputs, blocks, None)
    else:
        raise NotTested("no way to pass documents: documents=lambda ids: {…} gives one")
    packed = packed[0] if isinstance(packed, tuple) else packed
    second = slice(length // 2, None)
    alone = call.output(*(x[..., second, :] for x in call.inputs))
    if not movement(alone, call.before[..., second, :]):
        raise NotTested("without a mask nothing meets")
    must_stay(
        alone,
        packed[..., second, :].detach(),
        "documents meet: with another document before it in the row, the output of token {query} "
        "of a document {how}",
    )


def _by_key(mask: Tensor, keys: Tensor) -> Tensor:
    """Return booleans of each key, ``(batch, len_k)``, as ``(batch, 1 …, len_k, 1)``."""
    return mask.reshape(len(mask), *[1] * (keys.dim() - 3), -1, 1)


def _padding(call: Call, valid_lens: Tensor) -> Tensor:
    """Return which keys are padding, ``(batch, ..., len_k, 1)``, of lengths that fit."""
    keys = call.inputs[1]
    valid = length_mask(valid_lens, keys.shape[-2])
    if valid_lens.dim() != 1 or valid_lens.shape[0] != keys.shape[0] or keys.dim() < 3:
        raise ValueError(
            f"valid_lens: expected one length a sequence, ({keys.shape[0]},), for keys "
            f"{shape_of(keys)}, got {shape_of(valid_lens)}"
        )
    return ~_by_key(valid.squeeze(1), keys)
